/* SPDX-License-Identifier: MIT
 *
 * The linear maps, their sizes, and the two bounds on the size of an output.
 */
#include "checks/products/projection_spread.h"

#include <math.h>
#include <stdlib.h>

/* -log of the probability with which drawn weights may be outside of their bounds. */
#define UNLIKELY 21

/* ---- the maps ---- */

static void add(txd_spread *s, txd_spread_map map, bool has_bias)
{
    if (!has_bias)
        map.bias = map.drawn_bias = TXD_PARAM_COUNT;
    map.all = map.all ? map.all : map.outs;
    s->maps[s->map_count++] = map;
}

static void add_attention(txd_spread *s, txd_point in)
{
    const txd_config *c = s->claimed;
    bool fused = c->qkv == TXD_QKV_FUSED;
    size_t q = c->n_heads * c->head_dim, k = c->n_kv_heads * c->head_dim;
    size_t v = c->n_kv_heads * c->value_dim, all = fused ? q + k + v : 0;
    const struct {
        txd_point out;
        txd_param_id weight, bias;
        size_t outs;
        const char *letter;
    } parts[] = {
        {TXD_POINT_ATTN_Q_PROJ, TXD_PARAM_Q_WEIGHT, TXD_PARAM_Q_BIAS, q, "W_q"},
        {TXD_POINT_ATTN_K_PROJ, TXD_PARAM_K_WEIGHT, TXD_PARAM_K_BIAS, k, "W_k"},
        {TXD_POINT_ATTN_V, TXD_PARAM_V_WEIGHT, TXD_PARAM_V_BIAS, v, "W_v"},
    };

    for (int i = 0; i < 3; i++)
        add(s,
            (txd_spread_map){.out = parts[i].out,
                             .in = in,
                             .weight = fused ? TXD_PARAM_QKV_WEIGHT : parts[i].weight,
                             .bias = fused ? TXD_PARAM_QKV_BIAS : parts[i].bias,
                             .drawn = parts[i].weight,
                             .drawn_bias = parts[i].bias,
                             .outs = parts[i].outs,
                             .ins = c->d_model,
                             .all = all,
                             .in_table = true,
                             .letter = parts[i].letter},
            c->qkv_bias);
    add(s,
        (txd_spread_map){TXD_POINT_ATTN_OUT, TXD_POINT_ATTN_MERGED, TXD_PARAM_O_WEIGHT,
                         TXD_PARAM_O_BIAS, TXD_PARAM_O_WEIGHT, TXD_PARAM_O_BIAS,
                         c->d_model, c->n_heads * c->value_dim, 0, true, true, "W_o"},
        c->out_bias);
}

static void add_cross(txd_spread *s, txd_point in)
{
    const txd_config *c = s->claimed;
    size_t q = c->n_heads * c->head_dim, k = c->n_kv_heads * c->head_dim;

    add(s,
        (txd_spread_map){TXD_POINT_CROSS_Q_PROJ, in, TXD_PARAM_CROSS_Q_WEIGHT,
                         TXD_PARAM_CROSS_Q_BIAS, TXD_PARAM_CROSS_Q_WEIGHT,
                         TXD_PARAM_CROSS_Q_BIAS, q, c->d_model, 0, true, false, "W_q"},
        c->qkv_bias);
    add(s,
        (txd_spread_map){TXD_POINT_CROSS_K_PROJ, TXD_POINT_INPUT_MEMORY,
                         TXD_PARAM_CROSS_K_WEIGHT, TXD_PARAM_CROSS_K_BIAS,
                         TXD_PARAM_CROSS_K_WEIGHT, TXD_PARAM_CROSS_K_BIAS, k,
                         c->d_model, 0, true, false, "W_k"},
        c->qkv_bias);
    add(s,
        (txd_spread_map){
            TXD_POINT_CROSS_V, TXD_POINT_INPUT_MEMORY, TXD_PARAM_CROSS_V_WEIGHT,
            TXD_PARAM_CROSS_V_BIAS, TXD_PARAM_CROSS_V_WEIGHT, TXD_PARAM_CROSS_V_BIAS,
            c->n_kv_heads * c->value_dim, c->d_model, 0, true, false, "W_v"},
        c->qkv_bias);
    add(s,
        (txd_spread_map){TXD_POINT_CROSS_OUT, TXD_POINT_CROSS_MERGED,
                         TXD_PARAM_CROSS_O_WEIGHT, TXD_PARAM_CROSS_O_BIAS,
                         TXD_PARAM_CROSS_O_WEIGHT, TXD_PARAM_CROSS_O_BIAS, c->d_model,
                         c->n_heads * c->value_dim, 0, true, true, "W_o"},
        c->out_bias);
}

static void add_mlp(txd_spread *s, txd_point in)
{
    const txd_config *c = s->claimed;

    if (c->gated)
        add(s,
            (txd_spread_map){TXD_POINT_MLP_GATE, in, TXD_PARAM_GATE_WEIGHT,
                             TXD_PARAM_GATE_BIAS, TXD_PARAM_GATE_WEIGHT,
                             TXD_PARAM_GATE_BIAS, c->d_ff, c->d_model, 0, false, false,
                             "the gate"},
            c->mlp_bias);
    add(s,
        (txd_spread_map){TXD_POINT_MLP_UP, in, TXD_PARAM_UP_WEIGHT, TXD_PARAM_UP_BIAS,
                         TXD_PARAM_UP_WEIGHT, TXD_PARAM_UP_BIAS, c->d_ff, c->d_model, 0,
                         false, false, "the up projection"},
        c->mlp_bias);
    add(s,
        (txd_spread_map){TXD_POINT_MLP_OUT, TXD_POINT_MLP_ACT, TXD_PARAM_DOWN_WEIGHT,
                         TXD_PARAM_DOWN_BIAS, TXD_PARAM_DOWN_WEIGHT,
                         TXD_PARAM_DOWN_BIAS, c->d_model, c->d_ff, 0, false, false,
                         "the down projection"},
        c->mlp_bias);
}

txd_status txd_spread_init(txd_spread *out, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    size_t all = (c->n_layers + 1) * TXD_PARAM_COUNT;

    *out = (txd_spread){.claimed = c, .is_drawn = context->is_drawn};
    add_attention(out, txd_sublayer_of(c, TXD_SUBLAYER_ATTENTION).input);
    if (c->cross)
        add_cross(out, txd_sublayer_of(c, TXD_SUBLAYER_CROSS).input);
    add_mlp(out, txd_sublayer_of(c, TXD_SUBLAYER_MLP).input);
    out->draws = calloc(all, sizeof *out->draws);
    out->params = calloc(all, sizeof *out->params);
    if (!out->draws || !out->params) {
        txd_spread_finish(out);
        return txd_fail(TXD_ERR_MEMORY, "projection_std: no memory");
    }
    return out->is_drawn ? txd_params_expect(out->draws, c, context->weights) : TXD_OK;
}

void txd_spread_finish(txd_spread *spread)
{
    free(spread->draws);
    free(spread->params);
    spread->draws = NULL;
    spread->params = NULL;
}

/* ---- sizes ---- */

bool txd_spread_wants(const txd_spread *s, const txd_site *site)
{
    txd_param_id id = TXD_PARAM_COUNT;

    if (site->kind == TXD_SITE_PARAMETER)
        id = txd_law_param(site->name, site->layer);
    for (size_t m = 0; m < s->map_count; m++) {
        const txd_spread_map *map = &s->maps[m];

        if (site->kind == TXD_SITE_VALUE
                ? site->point == map->in || site->point == map->out
                : id != TXD_PARAM_COUNT && (id == map->weight || id == map->bias))
            return true;
    }
    return false;
}

static size_t index_of(int layer, txd_param_id id)
{
    return (size_t)(layer + 1) * TXD_PARAM_COUNT + id;
}

void txd_spread_take(txd_spread *s, const txd_site *site, const double *stats)
{
    txd_spread_size size = {stats[TXD_STAT_RMS], stats[TXD_STAT_COUNT] > 0,
                            stats[TXD_STAT_NONFINITE] == 0};

    if (site->kind == TXD_SITE_PARAMETER)
        s->params[index_of(site->layer, txd_law_param(site->name, site->layer))] = size;
    else
        s->values[site->point] = size;
}

/* The memory is the same for all layers. */
void txd_spread_forget(txd_spread *s)
{
    txd_spread_size memory = s->values[TXD_POINT_INPUT_MEMORY];

    for (int point = 0; point < TXD_POINT_COUNT; point++)
        s->values[point] = (txd_spread_size){0};
    s->values[TXD_POINT_INPUT_MEMORY] = memory;
}

/* ---- bounds ---- */

/* Weights drawn at random about 0, for which alone the two sides are known. */
static const txd_params_draw *draw_of(const txd_spread *s, int layer, size_t m)
{
    const txd_params_draw *draw = &s->draws[index_of(layer, s->maps[m].drawn)];

    return s->is_drawn && draw->mean == 0 && draw->std_error > 0 ? draw : NULL;
}

static double drawn_bias(const txd_spread *s, int layer, const txd_spread_map *map)
{
    const txd_params_draw *draw;

    if (map->bias == TXD_PARAM_COUNT)
        return 0;
    draw = &s->draws[index_of(layer, map->drawn_bias)];
    return sqrt(draw->mean * draw->mean + draw->std * draw->std);
}

/* Below so many of the smallest number of the format, values are multiples of it with
 * few digits, or 0: their size says nothing. */
#define FEW_DIGITS 64

/* The f below or above 1 with f - 1 - log f = 2 t / n. */
static double edge_of(double n, bool above)
{
    double target = 2.0 * UNLIKELY / n;
    double inner = 1, outer = above ? 2 + 2 * target : exp(-1 - target);

    for (int i = 0; i < 60; i++) {
        double f = (inner + outer) / 2;

        if (f - 1 - log(f) < target)
            inner = f;
        else
            outer = f;
    }
    return outer;
}

static void judge_drawn(txd_spread_finding *out, const txd_spread *s, int layer,
                        const txd_spread_map *map, const txd_params_draw *draw)
{
    double core = sqrt((double)map->ins) * draw->std * out->input;
    double bias = drawn_bias(s, layer, map);
    double low = sqrt(edge_of((double)map->outs, false)),
           high = sqrt(edge_of((double)map->outs, true));

    out->is_drawn = true;
    out->weight = draw->std;
    out->predicted = sqrt(core * core + bias * bias);
    out->off = out->measured / out->predicted;
    out->allowed = (core + bias) * high / out->predicted;
    if (out->off < 1) {
        double least = fmax(0, core * low - bias * high);

        out->off = 1 / out->off;
        out->allowed = least > 0 ? out->predicted / least : INFINITY;
    }
    out->is_broken = !txd_within(out->off, out->allowed);
}

/* The weights themselves, which show a wrong deviation sooner than what they make. A
 * fused matrix may have parts of several deviations: then as many elements of one count
 * as have the same standard error. */
static void judge_weights(txd_spread_finding *out, const txd_spread_map *map,
                          const txd_params_draw *draw, double rms)
{
    double elements = (double)map->all * (double)map->ins;
    double error = draw->std_error / draw->std;
    double n = fmin(elements, 1 / (2 * error * error));
    bool is_larger = rms > draw->std;
    double off = is_larger ? rms / draw->std : draw->std / rms;
    double edge = sqrt(edge_of(n, is_larger)), allowed = is_larger ? edge : 1 / edge;

    if (!txd_law_is_worse(txd_law_ratio(off, allowed),
                          txd_law_ratio(out->off, out->allowed)))
        return;
    out->off = off;
    out->allowed = allowed;
    out->is_broken = !txd_within(off, allowed);
}

static void judge_possible(txd_spread_finding *out, const txd_spread *s,
                           const txd_spread_map *map, double bias)
{
    double part = sqrt((double)map->all / (double)map->outs);
    double rounding =
        txd_law_gamma((double)map->ins + 2, s->u_accumulate) + 8 * s->u_store + 1e-9;

    out->predicted =
        ((double)map->ins * out->weight * out->input + bias) * part * (1 + rounding);
    out->off = out->measured / out->uncorrelated;
    out->allowed = out->predicted / out->uncorrelated;
    if (out->uncorrelated == 0) {
        out->off = out->measured;
        out->allowed = 0;
    }
    out->is_broken = !txd_within(out->off, out->allowed);
}

bool txd_spread_judge(txd_spread_finding *out, const txd_spread *s, int layer, size_t m)
{
    const txd_spread_map *map = &s->maps[m];
    const txd_params_draw *draw = draw_of(s, layer, m);
    const txd_spread_size *y = &s->values[map->out], *x = &s->values[map->in];
    const txd_spread_size *w = &s->params[index_of(layer, map->weight)];
    bool has_bias = map->bias != TXD_PARAM_COUNT;
    const txd_spread_size none = {0, true, true};
    const txd_spread_size *b =
        has_bias ? &s->params[index_of(layer, map->bias)] : &none;

    if (!y->is_there || !x->is_there || !w->is_there || !b->is_there)
        return false;
    out->is_inherited = !x->is_finite || !w->is_finite || !b->is_finite;
    if (out->is_inherited)
        return false;
    out->measured = y->is_finite ? y->rms : (double)NAN;
    out->input = x->rms;
    out->weight = w->rms;
    out->uncorrelated =
        sqrt((double)map->ins * w->rms * w->rms * x->rms * x->rms + b->rms * b->rms);
    if (draw) {
        judge_drawn(out, s, layer, map, draw);
        judge_weights(out, map, &s->draws[index_of(layer, map->weight)], w->rms);
    } else {
        judge_possible(out, s, map, b->rms);
    }
    out->is_lost =
        out->measured < FEW_DIGITS * s->tiny && out->predicted < FEW_DIGITS * s->tiny;
    return !out->is_lost;
}

double txd_spread_table_factor(const txd_spread *s, int layer, size_t m)
{
    const txd_spread_map *map = &s->maps[m];
    const txd_params_draw *draw = draw_of(s, layer, m);
    double table = sqrt(2 / ((double)map->ins + (double)map->outs));

    if (!draw || !map->in_table)
        return 0;
    if (map->is_output)
        table /= sqrt((double)s->claimed->n_heads);
    return draw->std / table;
}

void txd_spread_say_cause(txd_finding *finding, const txd_spread *s,
                          const txd_spread_finding *f, int layer, size_t m)
{
    const txd_spread_map *map = &s->maps[m];
    const txd_params_draw *whole = &s->draws[index_of(layer, map->weight)];
    double factor = s->params[index_of(layer, map->weight)].rms / whole->std;
    double times = f->measured / f->predicted;
    char name[64], made[32], drawn[32];

    txd_param_name(name, sizeof name, map->weight, layer);
    if (!f->is_drawn)
        txd_law_say(finding, ": it was made from something else, or scaled");
    else if (fabs(factor / times - 1) < 0.25)
        txd_law_say(finding,
                    ", %s times as much: %s itself is %s times what it is "
                    "drawn with",
                    txd_law_number(made, times), name, txd_law_number(drawn, factor));
    else if (fabs(factor - 1) < 0.25)
        txd_law_say(finding,
                    ", %s times as much: %s is as drawn, the projection is not "
                    "what it makes of its input",
                    txd_law_number(made, times), name);
}
