/* SPDX-License-Identifier: MIT
 *
 * Where the head is tied, the logit of a token is what the head reads times the row by
 * which that token is embedded. Tokens that occur show their rows: so values alone
 * tell whether the head is still the embedding, and no parameter is needed. How far
 * rounding can lead stands in checks/ends/head.c.
 *
 * A bias of the head is a parameter: where a recording does not tell it, the logit of
 * an id may lie beside the product by as much as at the first token that is judged.
 *
 * Of a step IDS ids are looked at, of up to TOKENS tokens, spread evenly.
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
/* Logits that are enough to speak of a correlation. */
#define SAMPLES_LEAST 16

typedef struct tally {
    uint64_t judged, broken, inherited;
    uint64_t without_bias; /* of those judged, as without the bias that is known */
    double measured, allowed, ratio, found, expected; /* of the worst */
    int32_t id;
    txd_point out; /* where it was judged */
    txd_law_place at;
    double n, f, e, ff, fe, ee; /* sums over found and expected logits */
} tally;

typedef struct state {
    const txd_config *claimed;
    txd_point in;
    int32_t ids[IDS];
    size_t id_count, where[IDS], tokens[TOKENS];
    txd_kept_tokens places, judged; /* of the ids; of the tokens */
    txd_kept rows, inputs;
    double *bias;                            /* (vocab); NULL: not known, or none */
    double beside[IDS], beside_allowed[IDS]; /* where the bias is not known */
    bool has_beside;
    int step;
    size_t batches;
    tally tally;
} state;

static bool is_bias(const txd_site *site)
{
    return site->kind == TXD_SITE_PARAMETER && site->layer < 0 &&
           txd_law_param(site->name, -1) == TXD_PARAM_HEAD_BIAS;
}

static bool is_input(const state *s, const txd_site *site)
{
    int last = (int)s->claimed->n_layers - 1;

    return site->point == s->in && (site->layer < 0 || site->layer == last);
}

static unsigned ask(void *self, const txd_site *site)
{
    const state *s = self;

    if (is_bias(site))
        return TXD_ASK_VALUE | TXD_ASK_STATS;
    if (site->kind != TXD_SITE_VALUE)
        return 0;
    return site->point == TXD_POINT_EMBED_TOK || site->point == TXD_POINT_LOGITS ||
                   site->point == TXD_POINT_LOGITS_RAW || is_input(s, site)
               ? TXD_ASK_VALUE
               : 0;
}

/* ---- what is looked at ---- */

/* A recording may have ids that the claimed vocabulary lacks. */
static void add_id(state *s, int32_t id, size_t place)
{
    if (id < 0 || (size_t)id >= s->claimed->vocab)
        return;
    for (size_t i = 0; i < s->id_count; i++)
        if (s->ids[i] == id)
            return;
    s->ids[s->id_count] = id;
    s->where[s->id_count++] = place;
}

static void choose(state *s, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    size_t cells = inputs->batch * inputs->length, wanted, i;
    txd_picks picks = txd_picks_of(inputs->valid, cells, IDS);

    s->step = block->site->step;
    s->batches = inputs->batch;
    s->id_count = s->rows.count = s->inputs.count = 0;
    s->has_beside = false;
    while (s->id_count < IDS && txd_picks_next(&i, &picks))
        add_id(s, inputs->tokens[i], i);
    s->places = (txd_kept_tokens){s->where, s->id_count, IDS, inputs->length};
    wanted =
        txd_picks_wanted(PRODUCTS, IDS * txd_embed_width(s->claimed), TOKENS_LEAST);
    picks = txd_picks_of(inputs->valid, cells, wanted < TOKENS ? wanted : TOKENS);
    s->judged = (txd_kept_tokens){s->tokens, 0, TOKENS, inputs->length};
    while (s->judged.count < TOKENS && txd_picks_next(&i, &picks))
        s->tokens[s->judged.count++] = i;
}

/* ---- judging ---- */

static txd_head_value expect(const state *s, size_t id, size_t token, double bias,
                             const txd_block *block)
{
    size_t width = txd_embed_width(s->claimed);
    const txd_head_product product = {.row = s->rows.rows + id * width,
                                      .x = s->inputs.rows + token * width,
                                      .count = width,
                                      .bias = bias};
    txd_roundoff u = txd_roundoff_of_format(block->pass->format);
    txd_head_value value = txd_head_multiply(&product, u);

    return block->site->point == txd_head_out(s->claimed)
               ? value
               : txd_head_logit(s->claimed, value, u);
}

static void add_sums(tally *t, double found, double expected)
{
    if (!isfinite(found))
        return;
    t->n++;
    t->f += found;
    t->e += expected;
    t->ff += found * found;
    t->fe += found * expected;
    t->ee += expected * expected;
}

static void judge(state *s, const txd_block *block, size_t id, size_t token,
                  double found)
{
    tally *t = &s->tally;
    bool is_unknown = s->claimed->head_bias && !s->bias;
    double bias = s->bias ? s->bias[s->ids[id]] : 0, measured;
    txd_head_value value = expect(s, id, token, bias, block), bare;

    if (!isfinite(value.exact) ||
        (isinf(found) && fabs(value.exact) + value.allowed > block->pass->largest)) {
        t->inherited++;
        return;
    }
    if (is_unknown && !s->has_beside) {
        s->beside[id] = found - value.exact;
        s->beside_allowed[id] = value.allowed;
        return;
    }
    if (is_unknown) {
        value.exact += s->beside[id];
        value.allowed += s->beside_allowed[id];
    }
    bare = expect(s, id, token, 0, block);
    measured = fabs(found - value.exact);
    t->broken += !txd_within(measured, value.allowed);
    t->without_bias += bias != 0 && txd_within(fabs(found - bare.exact), bare.allowed);
    add_sums(t, found, value.exact);
    if (t->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, value.allowed), t->ratio))
        return;
    t->ratio = txd_law_ratio(measured, value.allowed);
    t->measured = measured;
    t->allowed = value.allowed;
    t->found = found;
    t->expected = value.exact;
    t->id = s->ids[id];
    t->at = (txd_law_place){s->step, (int64_t)(s->tokens[token] / s->judged.length), -1,
                            (int64_t)(s->tokens[token] % s->judged.length), -1};
}

static void take_logits(state *s, const txd_block *block)
{
    const size_t *dims = block->value.dims;

    if (!block->value.data || s->rows.count == 0 || s->inputs.count == 0)
        return;
    s->tally.out = block->site->point;
    for (size_t i = 0; i < s->judged.count; i++) {
        size_t batch = s->tokens[i] / s->judged.length - block->start[0];
        size_t token = s->tokens[i] % s->judged.length - block->start[1];
        size_t row = (batch * dims[1] + token) * dims[2];

        if (batch >= dims[0] || token >= dims[1])
            continue;
        for (size_t id = 0; id < s->id_count; id++)
            judge(s, block, id, i,
                  txd_tensor_get(&block->value, row + (size_t)s->ids[id]));
        s->has_beside = true;
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    txd_point point = block->site->point;

    (void)slot;
    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_law_vector(&s->bias, block, s->claimed->vocab);
    if (point == TXD_POINT_EMBED_TOK) {
        choose(s, block);
        return txd_kept_take(&s->rows, block, &s->places);
    }
    if (block->site->step != s->step)
        return TXD_OK; /* without embeddings */
    if (point != TXD_POINT_LOGITS && point != TXD_POINT_LOGITS_RAW)
        return txd_kept_take(&s->inputs, block, &s->judged);
    take_logits(s, block);
    return TXD_OK;
}

/* ---- words ---- */

static void say_cause(txd_finding *finding, const tally *t)
{
    double factor = t->ee > 0 ? t->fe / t->ee : 0, rest = t->ff - factor * t->fe;
    double ff = t->n * t->ff - t->f * t->f, ee = t->n * t->ee - t->e * t->e;
    double r = (t->n * t->fe - t->f * t->e) / sqrt(ff * ee);
    char text[32];

    if (t->without_bias == t->judged)
        txd_law_say(finding, ": the bias of the head is missing");
    else if (t->n >= 2 && rest <= 1e-6 * t->ff && fabs(factor - 1) > 1e-3)
        txd_law_say(finding, ": all logits are %s times what they should be",
                    txd_law_number(text, factor));
    else if (t->n >= SAMPLES_LEAST && isfinite(r) && r >= 0.9)
        txd_law_say(finding,
                    ": they correlate by %.3f with what they should be: the head was "
                    "the embedding once, and has drifted from it",
                    r);
    else if (t->n >= SAMPLES_LEAST && isfinite(r))
        txd_law_say(finding,
                    ": they correlate by %.3f with what they should be: the head is "
                    "another matrix than the embedding, the tie is lost",
                    r);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    const tally *t = &s->tally;
    txd_finding finding;
    char found[32], expected[32];

    result->evaluated = t->judged;
    result->worst = t->measured;
    result->allowed = t->allowed;
    if (t->broken == 0 && t->inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " logits have an embedding or an input of the head "
                        "that is not finite: whether they are right cannot be said",
                        t->inherited);
    if (t->broken == 0 && t->judged > 0 && isinf(t->allowed))
        return txd_fail(TXD_ERR_LIMIT, "no bound exists: the head is wider than the "
                                       "accumulation has digits (n u >= 1)");
    if (t->judged == 0)
        snprintf(result->note, sizeof result->note,
                 "not recorded in one step: logits, %s and embed.tok",
                 txd_point_get(s->in)->name);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(t->out, -1, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", the logit of id %d is %s, but %s times the "
                "embedding of that id is %s; %" PRIu64 " of %" PRIu64
                " logits that were looked at are off",
                t->at.query, (int)t->id, found, txd_point_get(s->in)->name, expected,
                t->broken, t->judged);
    say_cause(&finding, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_kept_finish(&s->rows);
    txd_kept_finish(&s->inputs);
    free(s->bias);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "tied_head: no memory");
    s->claimed = context->claimed;
    s->in = txd_head_reads(s->claimed, txd_head_out(s->claimed));
    s->step = -1;
    *tap = (txd_tap){.name = "tied_head", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->tie_embeddings
               ? NULL
               : "the claimed head is a matrix of its own (tie_embeddings = false)";
}

#define WITH(logits, in)                                                               \
    {TXD_POINT_##logits, TXD_ASK_VALUE}, {TXD_POINT_##in, TXD_ASK_VALUE},              \
    {                                                                                  \
        TXD_POINT_EMBED_TOK, TXD_ASK_VALUE                                             \
    }
#define OR                                                                             \
    {                                                                                  \
        TXD_POINT_COUNT, 0                                                             \
    }

/* What the head reads is the last of these that a model has (model/block.h). */
static const struct txd_check_need wanted[] = {
    WITH(LOGITS_RAW, HEAD_IN),    OR, WITH(LOGITS_RAW, HEAD_NORM), OR,
    WITH(LOGITS_RAW, FINAL_NORM), OR, WITH(LOGITS_RAW, NORM2_OUT), OR,
    WITH(LOGITS_RAW, RESID_POST), OR, WITH(LOGITS, HEAD_IN),       OR,
    WITH(LOGITS, HEAD_NORM),      OR, WITH(LOGITS, FINAL_NORM),    OR,
    WITH(LOGITS, NORM2_OUT),      OR, WITH(LOGITS, RESID_POST),    {TXD_POINT_COUNT, 1},
};

const txd_check txd_check_tied_head = {
    .name = "tied_head",
    .law = "a tied head is the token embedding: a logit is its token's embedding times "
           "what the head reads",
    .formula =
        "|logits[t, i] - (x[t] . embed.tok of id i + bias[i])| <= (gamma_{n+1}(u_acc) "
        "+ "
        "gamma_{n+2}(2^-53)) (|x||e| + |bias|) + u_store (|bias| + |logit|); capped "
        "and scaled "
        "logits within the roundings of the cap and the scale, too",
    .causes = "a tie that was not made when the model was loaded (a flag that is read "
              "at another place), so that the head stays as drawn; a head that was "
              "trained apart from the embedding; a head of another checkpoint",
    .look_next = "whether the head's matrix and the embedding table are one memory "
                 "after loading; model.tie_embeddings",
    .unit = "logits",
    .exact = true,
    .faults = (const char *const[]){"tying_lost", NULL},
    .needs = wanted,
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
