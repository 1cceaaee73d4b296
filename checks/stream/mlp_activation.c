/* SPDX-License-Identifier: MIT
 *
 * What the down projection reads is the claimed function of what the up projection or
 * the gate has made: mlp.gate_act = f(mlp.gate), mlp.act = mlp.gate_act x mlp.up; in an
 * MLP without a gate mlp.act = f(mlp.up); before the output head head.act =
 * f(head.dense). A gate_act that a recording lacks is made from the gate.
 *
 * Of many tokens some are judged, as many as make up ELEMENTS_JUDGED elements, and of
 * those every n-th lane: a wrong function is wrong everywhere.
 */
#include "checks/stream/activation.h"
#include "checks/kept.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each value, per step; tokens at least. */
#define ELEMENTS_JUDGED 4096
#define TOKENS_LEAST 4

enum { GATED, ACTED, HEAD, VALUES };
static const txd_point outputs[VALUES] = {TXD_POINT_MLP_GATE_ACT, TXD_POINT_MLP_ACT,
                                          TXD_POINT_HEAD_ACT};
static const txd_point operands[] = {TXD_POINT_MLP_GATE, TXD_POINT_MLP_UP,
                                     TXD_POINT_HEAD_DENSE};

typedef struct tally {
    uint64_t judged, broken, inherited;
    double measured, allowed, ratio, found, expected; /* of the worst */
    size_t width, lane;
    txd_law_place at;
    char cause[160];
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies; /* (layers + 1, VALUES) */
    txd_kept_tokens tokens;
    txd_kept kept[TXD_POINT_COUNT]; /* of this layer */
    int step, layer;
    size_t batches;
    double largest; /* number of the format */
} state;

static bool is_of_law(txd_point point)
{
    for (size_t i = 0; i < VALUES; i++)
        if (outputs[i] == point || operands[i] == point)
            return true;
    return false;
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && is_of_law(site->point) ? TXD_ASK_VALUE : 0;
}

static tally *tally_of(const state *s, int layer, int value)
{
    size_t place = layer < 0 ? s->claimed->n_layers : (size_t)layer;

    return &s->tallies[place * VALUES + (size_t)value];
}

/* ---- one value ---- */

/* What it is made from: f of x, or x alone, times a factor if there is one. All but x
 * can be NULL. */
typedef struct maker {
    const double *x, *factor, *gate, *up; /* the latter for explanations alone */
    bool is_activated;
} maker;

static const double *rows_of(const state *s, txd_point point)
{
    return s->kept[point].count > 0 ? s->kept[point].rows : NULL;
}

/* x is NULL if something is missing. */
static maker maker_of(const state *s, int value)
{
    maker m = {.gate = rows_of(s, TXD_POINT_MLP_GATE),
               .up = rows_of(s, TXD_POINT_MLP_UP),
               .is_activated = true};

    if (value == HEAD)
        m.x = rows_of(s, TXD_POINT_HEAD_DENSE);
    else if (value == GATED)
        m.x = m.gate;
    else if (!s->claimed->gated)
        m.x = m.up;
    else if (m.up) {
        m.factor = m.up;
        m.x = rows_of(s, TXD_POINT_MLP_GATE_ACT);
        m.is_activated = m.x == NULL;
        m.x = m.x ? m.x : m.gate;
    }
    return m;
}

static txd_activated_value value_of(const maker *m, txd_activated kind, size_t i,
                                    txd_roundoff u)
{
    txd_activated_value value = {m->x[i], 0};

    if (m->is_activated)
        value = txd_activate(kind, m->x[i], u);
    return m->factor ? txd_activated_times(value, m->factor[i], u) : value;
}

static void judge_element(tally *t, const state *s, txd_activated_value value,
                          double found, size_t i)
{
    size_t row = i / t->width;
    double measured = fabs(found - value.exact);

    if (!isfinite(value.exact) ||
        (isinf(found) && fabs(value.exact) + value.allowed > s->largest)) {
        t->inherited++;
        return;
    }
    t->broken += !txd_within(measured, value.allowed);
    if (t->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, value.allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, value.allowed);
    t->measured = measured;
    t->allowed = value.allowed;
    t->found = found;
    t->expected = value.exact;
    t->lane = i % t->width;
    t->at = (txd_law_place){s->step, (int64_t)(s->tokens.index[row] / s->tokens.length),
                            -1, (int64_t)(s->tokens.index[row] % s->tokens.length), -1};
}

/* ---- what it is instead ---- */

typedef struct evidence {
    const txd_kept *out;
    size_t step; /* every so many-th element */
    txd_roundoff u;
} evidence;

/* Every element that was judged is the maker's. */
static bool fits(const evidence *e, const maker *m, txd_activated kind)
{
    bool any = false;

    for (size_t i = 0; m->x && i < e->out->count * e->out->width; i += e->step) {
        txd_activated_value value = value_of(m, kind, i, e->u);

        if (!txd_within(fabs(e->out->rows[i] - value.exact), value.allowed))
            return false;
        any |= value.exact != 0;
    }
    return any;
}

static bool explain_function(tally *t, const evidence *e, const maker *m,
                             txd_activated claimed)
{
    for (int kind = 0; m->is_activated && kind < TXD_ACTIVATED_COUNT; kind++)
        if (kind != (int)claimed && fits(e, m, (txd_activated)kind)) {
            snprintf(t->cause, sizeof t->cause, "it is %s, not %s",
                     txd_activated_name((txd_activated)kind),
                     txd_activated_name(claimed));
            return true;
        }
    return false;
}

static void explain(tally *t, const evidence *e, const maker *m, txd_activated claimed)
{
    const struct {
        maker maker;
        const char *words;
    } others[] = {
        {{.x = m->x, .is_activated = m->is_activated},
         "mlp.up is missing: it is the activated gate alone"},
        {{.x = m->up}, "the gate is missing: it is mlp.up"},
        {{.x = m->gate, .factor = m->up}, "the gate is not activated"},
        {{.x = m->up, .factor = m->gate, .is_activated = true},
         "mlp.up is activated, and the gate is not: they changed places"},
        {{.x = m->up, .is_activated = true},
         "the gate is missing: it is the activated mlp.up"},
    };

    if (explain_function(t, e, m, claimed) || !m->factor)
        return;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (fits(e, &others[i].maker, claimed) &&
            (!others[i].maker.factor || m->gate)) {
            snprintf(t->cause, sizeof t->cause, "%s", others[i].words);
            return;
        }
}

static void judge(state *s, int layer, int value, const txd_pass *pass)
{
    const txd_kept *out = &s->kept[outputs[value]];
    txd_activated claimed = (txd_activated)s->claimed->activation;
    maker m = maker_of(s, value);
    tally *t = tally_of(s, layer, value);
    uint64_t broken = t->broken;
    evidence e = {out, 1, txd_roundoff_of_format(pass->format)};

    if (!m.x || out->count == 0)
        return;
    e.step = out->count * out->width / ELEMENTS_JUDGED;
    e.step = e.step < 1 ? 1 : e.step;
    t->width = out->width;
    s->largest = e.u.largest;
    for (size_t i = 0; i < out->count * out->width; i += e.step) {
        txd_activated_value expected = value_of(&m, claimed, i, e.u);

        judge_element(t, s, expected, out->rows[i], i);
    }
    /* The first step in which something is off says why. */
    if (broken == 0 && t->broken > 0)
        explain(t, &e, &m, claimed);
}

/* ---- layers ---- */

static txd_status begin(state *s, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t wanted = txd_picks_wanted(ELEMENTS_JUDGED, s->claimed->d_ff, TOKENS_LEAST);

    for (int point = 0; point < TXD_POINT_COUNT; point++)
        s->kept[point].count = 0;
    s->layer = block->site->layer;
    if (block->site->step == s->step)
        return TXD_OK;
    s->step = block->site->step;
    s->batches = inputs->batch;
    return txd_kept_choose(&s->tokens, inputs->valid, inputs->batch, inputs->length,
                           wanted);
}

/* Operands come before what is made from them. */
static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const txd_site *site = block->site;

    (void)slot;
    if (site->step != s->step || site->layer != s->layer)
        TXD_TRY(begin(s, block));
    TXD_TRY(txd_kept_take(&s->kept[site->point], block, &s->tokens));
    for (int value = 0; value < VALUES; value++)
        if (outputs[value] == site->point)
            judge(s, site->layer, value, block->pass);
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add_value(txd_result *result, const state *s, int layer, int value)
{
    const tally *t = tally_of(s, layer, value);
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(outputs[value], layer, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", lane %zu is %s, but what it is made from gives %s; "
                "%" PRIu64 " of %" PRIu64 " elements are off",
                t->at.query, t->lane, found, expected, t->broken, t->judged);
    if (t->cause[0])
        txd_law_say(&finding, ": %s", t->cause);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t i = 0; i <= s->claimed->n_layers; i++)
        for (int value = 0; value < VALUES; value++) {
            int layer = i == s->claimed->n_layers ? -1 : (int)i;

            inherited += tally_of(s, layer, value)->inherited;
            TXD_TRY(add_value(result, s, layer, value));
        }
    if (result->verdict == TXD_VERDICT_PASS && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " elements are made from what is not finite: "
                        "whether they are right cannot be said",
                        inherited);
    if (result->evaluated == 0)
        snprintf(result->note, sizeof result->note,
                 "not recorded: mlp.act with what it is made from");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    for (int point = 0; point < TXD_POINT_COUNT; point++)
        txd_kept_finish(&s->kept[point]);
    txd_kept_tokens_finish(&s->tokens);
    free(s->tallies);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    size_t count = (context->claimed->n_layers + 1) * VALUES;
    state *s = calloc(1, sizeof *s);

    if (s)
        s->tallies = calloc(count, sizeof *s->tallies);
    if (!s || !s->tallies) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "mlp_activation: no memory");
    }
    s->claimed = context->claimed;
    s->step = -1;
    s->layer = -2;
    *tap = (txd_tap){.name = "mlp_activation", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_mlp_activation = {
    .name = "mlp_activation",
    .law = "what the MLP's down projection reads is the claimed activation, times the "
           "other half of a gated MLP",
    .formula = "|mlp.act - f(mlp.up)| <= 12 u_acc (|x| + |f(x)|) + u_store |f(x)|; "
               "gated: mlp.gate_act = f(mlp.gate) alike, mlp.act = mlp.gate_act x "
               "mlp.up, one rounding; head.act = f(head.dense)",
    .causes = "gelu by erf where the tanh approximation was trained, or the other way "
              "round; quick gelu; the activation on the wrong half of a gated MLP, or "
              "one half left out",
    .look_next = "model.activation and model.gated of the claimed configuration; the "
                 "approximation that the code's gelu uses by default",
    .unit = "elements",
    .exact = true,
    .faults = (const char *const[]){"gelu_variant", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
