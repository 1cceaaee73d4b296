/* SPDX-License-Identifier: MIT
 *
 * Logits are what the head's matrix makes of what the head reads, and the bias; then
 * capped and scaled as claimed. The product is recomputed in double from the actual
 * parameters, which a recording does not hold; cap and scale from logits_raw. How far
 * rounding can lead stands in checks/ends/head.c.
 *
 * Of a step up to TOKENS tokens are judged at IDS ids, both spread evenly.
 */
#include "checks/ends/head.h"
#include "checks/kept.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { IDS = 64, TOKENS = 8, TOKENS_LEAST = 2 };
/* Multiplications of a step. */
#define PRODUCTS 131072

/* What logits can be instead. */
typedef enum instead {
    WITHOUT_BIAS,
    WITHOUT_CAP,
    WITHOUT_SCALE,
    WITHOUT_BOTH,
    INSTEADS
} instead;

enum { PRODUCT, LOGIT, VALUES };

typedef struct tally {
    uint64_t judged, broken, inherited, fits[INSTEADS];
    double measured, allowed, ratio, found, expected; /* of the worst */
    double fe, ee, ff; /* sums over found and expected values */
    size_t id;
    txd_point out;
    txd_law_place at;
} tally;

typedef struct state {
    const txd_config *claimed;
    const txd_run_options *run; /* for the parameters; NULL on a recording */
    txd_point in;
    size_t tokens[TOKENS], ids[IDS], id_count;
    txd_kept_tokens judged;
    txd_kept inputs;
    double raw[TOKENS][IDS];
    bool has_raw[TOKENS];
    double *row; /* (width): of the matrix */
    int step;
    size_t batches;
    tally tallies[VALUES];
} state;

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;
    int last = (int)s->claimed->n_layers - 1;
    bool is_input = site->point == s->in && (site->layer < 0 || site->layer == last);

    if (site->kind != TXD_SITE_VALUE)
        return 0;
    return is_input || site->point == TXD_POINT_LOGITS ||
                   site->point == TXD_POINT_LOGITS_RAW
               ? TXD_ASK_VALUE
               : 0;
}

static void begin(state *s, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t wanted =
        txd_picks_wanted(PRODUCTS, IDS * txd_embed_width(s->claimed), TOKENS_LEAST);
    txd_picks picks = txd_picks_of(inputs->valid, inputs->batch * inputs->length,
                                   wanted < TOKENS ? wanted : TOKENS);
    size_t i;

    s->step = block->site->step;
    s->batches = inputs->batch;
    s->inputs.count = 0;
    s->judged = (txd_kept_tokens){s->tokens, 0, TOKENS, inputs->length};
    while (s->judged.count < TOKENS && txd_picks_next(&i, &picks)) {
        s->has_raw[s->judged.count] = false;
        s->tokens[s->judged.count++] = i;
    }
}

/* ---- one logit ---- */

static void count(tally *t, const state *s, txd_head_value value, double found,
                  const size_t place[2])
{
    double measured = fabs(found - value.exact);
    size_t token = s->tokens[place[0]];

    t->broken += !txd_within(measured, value.allowed);
    if (isfinite(found)) {
        t->fe += found * value.exact;
        t->ee += value.exact * value.exact;
        t->ff += found * found;
    }
    if (t->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, value.allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, value.allowed);
    t->measured = measured;
    t->allowed = value.allowed;
    t->found = found;
    t->expected = value.exact;
    t->id = s->ids[place[1]];
    t->at = (txd_law_place){s->step, (int64_t)(token / s->judged.length), -1,
                            (int64_t)(token % s->judged.length), -1};
}

/* What the law says is no number of the format: there `finite` speaks. */
static bool is_unjudgeable(txd_head_value value, double found, txd_roundoff u)
{
    return !isfinite(value.exact) ||
           (isinf(found) && fabs(value.exact) + value.allowed > u.largest);
}

static void judge_product(state *s, double found, const size_t place[2], txd_roundoff u)
{
    txd_params *params = s->run->params;
    size_t width = txd_embed_width(s->claimed), id = s->ids[place[1]];
    bool is_tied = s->claimed->tie_embeddings;
    const txd_param *matrix = txd_params_get(
        params, is_tied ? TXD_PARAM_EMBED_TOK : TXD_PARAM_HEAD_WEIGHT, -1);
    const txd_param *bias = txd_params_get(params, TXD_PARAM_HEAD_BIAS, -1);
    txd_head_product product = {.row = s->row,
                                .x = s->inputs.rows + place[0] * width,
                                .count = width,
                                .is_rounded = true};
    tally *t = &s->tallies[PRODUCT];
    txd_head_value value, bare;

    txd_kept_read(s->row, &matrix->value, id * width, width);
    bare = txd_head_multiply(&product, u);
    product.bias = bias ? txd_tensor_get(&bias->value, id) : 0;
    value = txd_head_multiply(&product, u);
    if (is_unjudgeable(value, found, u)) {
        t->inherited++;
        return;
    }
    t->fits[WITHOUT_BIAS] +=
        product.bias != 0 && txd_within(fabs(found - bare.exact), bare.allowed);
    count(t, s, value, found, place);
}

static txd_head_value logit_by(const state *s, double raw, bool is_capped,
                               bool is_scaled, txd_roundoff u)
{
    txd_config c = *s->claimed;
    double scale = c.logit_scale;

    /* An uncapped or unscaled logit keeps what the other one does: the cap stands
     * before the scale, with its share of it. */
    if (!is_scaled) {
        c.logit_softcap = scale == 0 ? c.logit_softcap : c.logit_softcap / scale;
        c.logit_scale = 1;
    }
    if (!is_capped)
        c.logit_softcap = 0;
    return txd_head_logit(&c, (txd_head_value){raw, 0}, u);
}

static void judge_logit(state *s, double found, const size_t place[2], txd_roundoff u)
{
    double raw = s->raw[place[0]][place[1]];
    txd_head_value value = logit_by(s, raw, true, true, u);
    tally *t = &s->tallies[LOGIT];

    if (is_unjudgeable(value, found, u)) {
        t->inherited++;
        return;
    }
    for (int i = WITHOUT_CAP; i < INSTEADS; i++) {
        txd_head_value other =
            logit_by(s, raw, i == WITHOUT_SCALE, i == WITHOUT_CAP, u);

        t->fits[i] += txd_within(fabs(found - other.exact), other.allowed);
    }
    count(t, s, value, found, place);
}

static void judge(state *s, const txd_block *block, double found, const size_t place[2])
{
    txd_roundoff u = txd_roundoff_of_format(block->pass->format);
    txd_point point = block->site->point;

    if (point == TXD_POINT_LOGITS_RAW) {
        s->raw[place[0]][place[1]] = found;
        s->has_raw[place[0]] = true;
    }
    if (point == txd_head_out(s->claimed) && s->run && s->inputs.count > 0)
        judge_product(s, found, place, u);
    else if (point == TXD_POINT_LOGITS && point != txd_head_out(s->claimed) &&
             s->has_raw[place[0]])
        judge_logit(s, found, place, u);
}

static void take_logits(state *s, const txd_block *block)
{
    const size_t *dims = block->value.dims;

    for (size_t i = 0; block->value.data && i < s->judged.count; i++) {
        size_t batch = s->tokens[i] / s->judged.length - block->start[0];
        size_t token = s->tokens[i] % s->judged.length - block->start[1];
        size_t row = (batch * dims[1] + token) * dims[2];

        if (batch >= dims[0] || token >= dims[1])
            continue;
        for (size_t id = 0; id < s->id_count; id++)
            judge(s, block, txd_tensor_get(&block->value, row + s->ids[id]),
                  (const size_t[2]){i, id});
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    txd_point point = block->site->point;

    (void)slot;
    if (block->site->step != s->step)
        begin(s, block);
    if (point != TXD_POINT_LOGITS && point != TXD_POINT_LOGITS_RAW)
        return txd_kept_take(&s->inputs, block, &s->judged);
    s->tallies[point == txd_head_out(s->claimed) ? PRODUCT : LOGIT].out = point;
    take_logits(s, block);
    return TXD_OK;
}

/* ---- findings ---- */

static void say_cause(txd_finding *finding, const tally *t)
{
    static const char *const words[INSTEADS] = {
        "the bias of the head is missing", "the cap is missing", "the scale is missing",
        "they are what the head makes, neither capped nor scaled"};
    double factor = t->ee > 0 ? t->fe / t->ee : 0;
    char text[32];

    for (int i = 0; i < INSTEADS; i++)
        if (t->fits[i] == t->judged) {
            txd_law_say(finding, ": %s", words[i]);
            return;
        }
    if (t->judged >= 2 && t->ff - factor * t->fe <= 1e-6 * t->ff &&
        fabs(factor - 1) > 1e-3)
        txd_law_say(finding, ": all of them are %s times what they should be",
                    txd_law_number(text, factor));
}

static txd_status add_value(txd_result *result, const state *s, int value)
{
    const tally *t = &s->tallies[value];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(t->out, -1, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", the logit of id %zu is %s, but %s %s; %" PRIu64
                " of %" PRIu64 " logits that were looked at are off",
                t->at.query, t->id, found,
                value == PRODUCT ? "the head's matrix and what it reads give"
                                 : "logits_raw, capped and scaled as claimed, is",
                expected, t->broken, t->judged);
    say_cause(&finding, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (int value = 0; value < VALUES; value++) {
        inherited += s->tallies[value].inherited;
        TXD_TRY(add_value(result, s, value));
    }
    if (result->verdict == TXD_VERDICT_PASS && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " logits have inputs or parameters that are not "
                        "finite: whether they are right cannot be said",
                        inherited);
    if (result->verdict == TXD_VERDICT_PASS && isinf(result->allowed))
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: the head is wider than the "
                                       "accumulation has digits (n u >= 1)");
    if (result->evaluated == 0)
        snprintf(result->note, sizeof result->note,
                 "the parameters are not at hand, nor is logits_raw beside logits: "
                 "`run` judges this law");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_kept_finish(&s->inputs);
    free(s->row);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    state *s = calloc(1, sizeof *s);

    if (s)
        s->row = calloc(txd_embed_width(c), sizeof *s->row);
    if (!s || !s->row) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "head_logits: no memory");
    }
    s->claimed = c;
    s->run = context->run && context->run->params ? context->run : NULL;
    s->in = txd_head_reads(c, txd_head_out(c));
    s->step = -1;
    s->id_count = c->vocab < IDS ? c->vocab : IDS;
    for (size_t i = 0; i < s->id_count; i++)
        s->ids[i] = i * c->vocab / s->id_count;
    *tap = (txd_tap){.name = "head_logits", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_head_logits = {
    .name = "head_logits",
    .law =
        "logits are the head's matrix times what the head reads, and the bias, capped "
        "and scaled as claimed",
    .formula =
        "|logits_raw - (W x + bias)| <= (gamma_{n+1}(u_acc) + gamma_{n+2}(2^-53) + "
        "u_store) |W||x| + u_store (|bias| + |y|); logits = scale cap/scale "
        "tanh(logits_raw scale / cap) within the roundings of both",
    .causes =
        "a cap or a scale of the logits that is left out, or done twice; a bias of "
        "the head that is not loaded; a head of another checkpoint; a head that "
        "reads another state",
    .look_next = "model.logit_softcap, model.logit_scale and model.head_bias of the "
                 "claimed configuration, and which matrix the head uses",
    .unit = "logits",
    .exact = true,
    .faults = (const char *const[]){"logit_softcap_missing", "logit_scale_missing",
                                    "tying_lost", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
