/* SPDX-License-Identifier: MIT
 *
 * What the law `finite` keeps of the parameters: which are not finite themselves, how
 * large the others are, and which of them an operation reads.
 */
#include "checks/ranges/finite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which parameters make a point: weight and bias; where the model has no such weight,
 * those that take its place: of a fused projection, or the table that the output head
 * is tied to. */
static const struct reader {
    txd_point point;
    txd_param_id weight, bias, fused, fused_bias;
} readers[] = {
    {TXD_POINT_EMBED_TOK, TXD_PARAM_EMBED_TOK, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_EMBED_POS, TXD_PARAM_EMBED_POS, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_ATTN_Q_PROJ, TXD_PARAM_Q_WEIGHT, TXD_PARAM_Q_BIAS, TXD_PARAM_QKV_WEIGHT,
     TXD_PARAM_QKV_BIAS},
    {TXD_POINT_ATTN_K_PROJ, TXD_PARAM_K_WEIGHT, TXD_PARAM_K_BIAS, TXD_PARAM_QKV_WEIGHT,
     TXD_PARAM_QKV_BIAS},
    {TXD_POINT_ATTN_V, TXD_PARAM_V_WEIGHT, TXD_PARAM_V_BIAS, TXD_PARAM_QKV_WEIGHT,
     TXD_PARAM_QKV_BIAS},
    {TXD_POINT_ATTN_Q_NORM, TXD_PARAM_Q_NORM_WEIGHT, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_ATTN_K_NORM, TXD_PARAM_K_NORM_WEIGHT, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_CROSS_Q_NORM, TXD_PARAM_CROSS_Q_NORM_WEIGHT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_CROSS_K_NORM, TXD_PARAM_CROSS_K_NORM_WEIGHT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_ATTN_BIAS, TXD_PARAM_RELATIVE_WEIGHT, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_ATTN_WEIGHTS, TXD_PARAM_SINK_WEIGHT, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_ATTN_OUT, TXD_PARAM_O_WEIGHT, TXD_PARAM_O_BIAS, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_CROSS_Q_PROJ, TXD_PARAM_CROSS_Q_WEIGHT, TXD_PARAM_CROSS_Q_BIAS,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_CROSS_K_PROJ, TXD_PARAM_CROSS_K_WEIGHT, TXD_PARAM_CROSS_K_BIAS,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_CROSS_V, TXD_PARAM_CROSS_V_WEIGHT, TXD_PARAM_CROSS_V_BIAS,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_CROSS_OUT, TXD_PARAM_CROSS_O_WEIGHT, TXD_PARAM_CROSS_O_BIAS,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_MLP_GATE, TXD_PARAM_GATE_WEIGHT, TXD_PARAM_GATE_BIAS, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_MLP_UP, TXD_PARAM_UP_WEIGHT, TXD_PARAM_UP_BIAS, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_MLP_OUT, TXD_PARAM_DOWN_WEIGHT, TXD_PARAM_DOWN_BIAS, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_EMBED_TYPE, TXD_PARAM_EMBED_TYPE, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_EMBED_IN, TXD_PARAM_EMBED_IN_WEIGHT, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_HEAD_DENSE, TXD_PARAM_HEAD_DENSE_WEIGHT, TXD_PARAM_HEAD_DENSE_BIAS,
     TXD_PARAM_COUNT, TXD_PARAM_COUNT},
    {TXD_POINT_HEAD_IN, TXD_PARAM_HEAD_IN_WEIGHT, TXD_PARAM_COUNT, TXD_PARAM_COUNT,
     TXD_PARAM_COUNT},
    {TXD_POINT_LOGITS, TXD_PARAM_HEAD_WEIGHT, TXD_PARAM_HEAD_BIAS, TXD_PARAM_EMBED_TOK,
     TXD_PARAM_HEAD_BIAS},
};

enum { READERS = sizeof readers / sizeof *readers };

static double *slot(const txd_finite_params *p, txd_param_id id, int layer)
{
    return &p->largest[(size_t)(layer + 1) * TXD_PARAM_COUNT + id];
}

/* What the rules of `weights` promise of the token table, if it was drawn by them. */
static txd_status expect_tokens(txd_finite_params *p, const txd_check_context *context)
{
    size_t count = (p->claimed->n_layers + 1) * TXD_PARAM_COUNT;
    txd_params_draw *draws;
    txd_status status;

    if (!context->is_drawn || !txd_param_exists(p->claimed, TXD_PARAM_EMBED_TOK))
        return TXD_OK;
    draws = calloc(count, sizeof *draws);
    if (!draws)
        return txd_fail(TXD_ERR_MEMORY, "finite: no memory");
    status = txd_params_expect(draws, p->claimed, context->weights);
    if (status == TXD_OK)
        p->promised =
            hypot(draws[TXD_PARAM_EMBED_TOK].mean, draws[TXD_PARAM_EMBED_TOK].std);
    free(draws);
    return status;
}

txd_status txd_finite_params_init(txd_finite_params *p,
                                  const txd_check_context *context)
{
    size_t count = (context->claimed->n_layers + 1) * TXD_PARAM_COUNT;
    txd_status status;

    *p = (txd_finite_params){
        .claimed = context->claimed, .tokens = (double)NAN, .promised = (double)NAN};
    p->largest = calloc(count, sizeof *p->largest);
    if (!p->largest)
        return txd_fail(TXD_ERR_MEMORY, "finite: no memory");
    for (size_t i = 0; i < count; i++)
        p->largest[i] = (double)NAN;
    status = expect_tokens(p, context);
    if (status != TXD_OK)
        txd_finite_params_finish(p);
    return status;
}

void txd_finite_params_finish(txd_finite_params *p)
{
    free(p->largest);
    p->largest = NULL;
}

void txd_finite_params_add(txd_finite_params *p, const txd_block *block)
{
    txd_nonfinite site;
    txd_param_id id;

    txd_nonfinite_read(&site, block);
    id = txd_law_param(site.name, site.layer);
    if (id != TXD_PARAM_COUNT && (size_t)(site.layer + 1) <= p->claimed->n_layers)
        *slot(p, id, site.layer) = site.largest;
    if (id == TXD_PARAM_EMBED_TOK)
        p->tokens = block->stats[TXD_STAT_RMS];
    if (site.count == 0)
        return;
    if (p->bad_count < TXD_BAD_PARAMETERS_KEPT)
        p->bad[p->bad_count] = site;
    p->bad_count++;
}

size_t txd_finite_params_kept(const txd_finite_params *p)
{
    return p->bad_count < TXD_BAD_PARAMETERS_KEPT ? p->bad_count
                                                  : TXD_BAD_PARAMETERS_KEPT;
}

/* What makes a point, the norms' included; false if no parameter does. What the output
 * head makes has a name of its own where it is not the logits. */
static bool reader_of(struct reader *out, const txd_config *claimed, txd_point point)
{
    if (point == txd_head_out(claimed))
        point = TXD_POINT_LOGITS;
    else if (point == TXD_POINT_LOGITS)
        return false;
    if (txd_point_is_norm(point)) {
        *out = (struct reader){point, txd_norm_gain(point), txd_norm_bias(point),
                               TXD_PARAM_COUNT, TXD_PARAM_COUNT};
        return true;
    }
    for (size_t i = 0; i < READERS; i++) {
        *out = readers[i];
        if (out->point == point)
            return true;
    }
    return false;
}

static bool reads(const txd_config *claimed, txd_point point, txd_param_id id)
{
    struct reader r;
    bool is_separate;

    if (!reader_of(&r, claimed, point) || id == TXD_PARAM_COUNT ||
        !txd_param_exists(claimed, id))
        return false;
    is_separate = txd_param_exists(claimed, r.weight);
    return is_separate ? id == r.weight || id == r.bias
                       : id == r.fused || id == r.fused_bias;
}

/* Points of no layer come before all layers, or after. */
static int stage_of(const txd_finite_params *p, txd_point point, int layer)
{
    if (layer >= 0)
        return layer;
    return point < TXD_POINT_RESID_PRE ? -1 : (int)p->claimed->n_layers;
}

/* By the order of points within a layer, which is that of pre-norm blocks: good enough
 * for a parameter that the operation at hand does not read. */
static bool is_read_before(const txd_finite_params *p, const txd_nonfinite *parameter,
                           txd_param_id id, const txd_nonfinite *site)
{
    int stage = stage_of(p, site->point, site->layer);
    /* the table that all layers read */
    int layer = id == TXD_PARAM_RELATIVE_WEIGHT ? 0 : parameter->layer;

    if (id == TXD_PARAM_COUNT)
        return true; /* an encoder's: before everything */
    for (int point = 0; point < TXD_POINT_COUNT; point++) {
        int own = stage_of(p, (txd_point)point, layer);

        if (reads(p->claimed, (txd_point)point, id) &&
            (own < stage || (own == stage && point <= (int)site->point)))
            return true;
    }
    return false;
}

const txd_nonfinite *txd_finite_params_guilty(bool *is_operand,
                                              const txd_finite_params *p,
                                              const txd_nonfinite *site)
{
    const txd_nonfinite *before = NULL;

    *is_operand = false;
    for (size_t i = 0; i < txd_finite_params_kept(p); i++) {
        const txd_nonfinite *parameter = &p->bad[i];
        txd_param_id id = txd_law_param(parameter->name, parameter->layer);

        if ((site->layer == parameter->layer || id == TXD_PARAM_RELATIVE_WEIGHT) &&
            reads(p->claimed, site->point, id)) {
            *is_operand = true;
            return parameter;
        }
        if (is_read_before(p, parameter, id, site))
            before = parameter;
    }
    return before;
}

double txd_finite_params_largest(const txd_finite_params *p, txd_point point, int layer,
                                 int which)
{
    txd_param_id id, fused;
    struct reader r;

    if (!reader_of(&r, p->claimed, point))
        return 0;
    id = which ? r.bias : r.weight;
    fused = which ? r.fused_bias : r.fused;
    if (id == TXD_PARAM_COUNT || !txd_param_exists(p->claimed, id))
        id = fused;
    if (id == TXD_PARAM_COUNT || !txd_param_exists(p->claimed, id))
        return 0;
    return *slot(p, id, txd_param_per_layer(id) ? layer : -1);
}
