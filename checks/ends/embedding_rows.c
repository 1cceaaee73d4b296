/* SPDX-License-Identifier: MIT
 *
 * Equal tokens have equal embeddings, and so have equal positions and equal types:
 * exactly, for they are looked up. In a run they are the rows of the tables (rounded
 * once, where the format has fewer digits); sinusoidal positions are sin and cos of
 * position / 10000^(2i / width), interleaved, within the roundings of a table.
 *
 * Of many tokens some are judged, as many as make up ELEMENTS_JUDGED elements.
 */
#include "checks/kept.h"
#include "checks/sample.h"
#include "checks/ends/sinusoids.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of each value, per step; tokens at least. */
#define ELEMENTS_JUDGED 8192
#define TOKENS_LEAST 8

enum { TOKEN, POSITION, TYPE, VALUES };
static const txd_point points[VALUES] = {TXD_POINT_EMBED_TOK, TXD_POINT_EMBED_POS,
                                         TXD_POINT_EMBED_TYPE};
static const txd_param_id tables[VALUES] = {TXD_PARAM_EMBED_TOK, TXD_PARAM_EMBED_POS,
                                            TXD_PARAM_EMBED_TYPE};
static const char *const words[VALUES] = {"id", "position", "type"};

typedef struct tally {
    uint64_t judged, broken, inherited; /* elements */
    double measured, allowed, ratio, found, expected;
    size_t channel;
    int64_t twin; /* token to which it was held; -1: the table */
    int32_t id;
    txd_law_place at;
    char cause[160];
} tally;

typedef struct state {
    const txd_config *claimed;
    const txd_run_options *run; /* for the tables; NULL on a recording */
    txd_kept_tokens tokens;
    txd_kept kept;
    double *row; /* (d_model): of a table */
    tally tallies[VALUES];
    int step;
    size_t batches;
    txd_roundoff u;
    double slack; /* of sinusoids: roundoffs of double, of their angles */
} state;

static int value_of(txd_point point)
{
    int value = 0;

    while (value < VALUES && points[value] != point)
        value++;
    return value;
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && value_of(site->point) < VALUES
               ? TXD_ASK_VALUE
               : 0;
}

static int32_t id_of(const txd_inputs *inputs, int value, size_t cell)
{
    if (value == TOKEN)
        return inputs->tokens[cell];
    return value == POSITION ? inputs->positions[cell] : inputs->types[cell];
}

/* ---- what a row should be ---- */

static bool is_sinusoidal(const state *s, int value)
{
    return value == POSITION && s->claimed->positions == TXD_POSITIONS_SINUSOIDAL;
}

/* Row `id` of the table into s->row; false if there is none at hand. */
static bool read_table(state *s, int value, int32_t id)
{
    size_t width = s->kept.width, row = (size_t)id;
    const txd_param *table;

    if (is_sinusoidal(s, value)) {
        for (size_t i = 0; i < width; i++)
            s->row[i] = txd_sinusoid(id, i, width, 1);
        return true;
    }
    table = s->run ? txd_params_get(s->run->params, tables[value], -1) : NULL;
    if (!table)
        return false;
    row += value == POSITION ? s->claimed->position_offset : 0;
    if ((row + 1) * width > txd_tensor_count(&table->value))
        return false;
    txd_kept_read(s->row, &table->value, row * width, width);
    return true;
}

/* Of what is looked up, only the rounding to a format of fewer digits; angles and their
 * sine are taken in double, then rounded to what is accumulated in, then stored. */
static double allowed_for(const state *s, int value, double expected)
{
    double coarse = s->u.store > 0x1p-24 ? s->u.store : 0;

    if (is_sinusoidal(s, value))
        return (s->u.accumulate + s->u.store) * fabs(expected) + s->slack + s->u.tiny;
    return coarse > 0 ? coarse * fabs(expected) + s->u.tiny : 0;
}

/* ---- judging ---- */

static void judge_row(tally *t, state *s, const double *expected, size_t row,
                      bool is_table)
{
    const double *found = s->kept.rows + row * s->kept.width;
    int value = (int)(t - s->tallies);

    for (size_t i = 0; i < s->kept.width; i++) {
        double allowed = is_table ? allowed_for(s, value, expected[i]) : 0;
        double measured = found[i] == expected[i] ? 0 : fabs(found[i] - expected[i]);

        if (!isfinite(expected[i]) ||
            (isinf(found[i]) && fabs(expected[i]) + allowed > s->u.largest)) {
            t->inherited++;
            continue;
        }
        t->broken += !txd_within(measured, allowed);
        if (t->judged++ > 0 &&
            !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio))
            continue;
        t->ratio = txd_law_ratio(measured, allowed);
        t->measured = measured;
        t->allowed = allowed;
        t->found = found[i];
        t->expected = expected[i];
        t->channel = i;
        t->at =
            (txd_law_place){s->step, (int64_t)(s->tokens.index[row] / s->tokens.length),
                            -1, (int64_t)(s->tokens.index[row] % s->tokens.length), -1};
        t->twin = is_table ? -1 : t->twin;
    }
}

/* The first row of the same id that is kept; `row` itself if there is none before. */
static size_t twin_of(const state *s, const txd_inputs *inputs, int value, size_t row)
{
    int32_t id = id_of(inputs, value, s->tokens.index[row]);
    size_t first = 0;

    while (first < row && id_of(inputs, value, s->tokens.index[first]) != id)
        first++;
    return first;
}

static void judge_kept(state *s, const txd_inputs *inputs, int value)
{
    tally *t = &s->tallies[value];

    for (size_t row = 0; row < s->kept.count; row++) {
        size_t twin = twin_of(s, inputs, value, row);
        int32_t id = id_of(inputs, value, s->tokens.index[row]);
        uint64_t broken = t->broken;

        if (twin < row) {
            int64_t before = t->twin;

            t->twin = (int64_t)s->tokens.index[twin];
            judge_row(t, s, s->kept.rows + twin * s->kept.width, row, false);
            t->twin = t->broken > broken ? t->twin : before;
        } else if (read_table(s, value, id)) {
            judge_row(t, s, s->row, row, true);
        }
        if (broken == 0 && t->broken > 0)
            t->id = id;
    }
}

/* ---- what it is instead ---- */

static bool has_row(const state *s, size_t row, const txd_tensor *table, size_t other,
                    int value)
{
    for (size_t i = 0; i < s->kept.width; i++) {
        double found = s->kept.rows[row * s->kept.width + i];
        double stored = txd_tensor_get(table, other * s->kept.width + i);

        if (!txd_within(fabs(found - stored), allowed_for(s, value, stored)))
            return false;
    }
    return true;
}

/* The row of the table that stands at the first broken id instead. */
static void explain_table(tally *t, const state *s, const txd_inputs *inputs, int value)
{
    const txd_param *table =
        s->run ? txd_params_get(s->run->params, tables[value], -1) : NULL;
    size_t rows = table ? txd_tensor_count(&table->value) / s->kept.width : 0, row = 0;

    while (id_of(inputs, value, s->tokens.index[row]) != t->id)
        row++;
    for (size_t other = 0; other < rows && !t->cause[0]; other++)
        if (has_row(s, row, &table->value, other, value))
            snprintf(t->cause, sizeof t->cause, "%s %d has row %zu of the table",
                     words[value], (int)t->id, other);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const txd_inputs *inputs = block->pass->inputs;
    int value = value_of(block->site->point);
    uint64_t broken;
    tally *t;

    (void)slot;
    if (value == VALUES || (value == TYPE && !inputs->types))
        return TXD_OK;
    t = &s->tallies[value];
    broken = t->broken;
    if (block->site->step != s->step) {
        s->step = block->site->step;
        s->batches = inputs->batch;
        s->u = txd_roundoff_of_format(block->pass->format);
        TXD_TRY(txd_kept_choose(
            &s->tokens, inputs->valid, inputs->batch, inputs->length,
            txd_picks_wanted(ELEMENTS_JUDGED, s->claimed->d_model, TOKENS_LEAST)));
    }
    TXD_TRY(txd_kept_take(&s->kept, block, &s->tokens));
    s->slack = 0x1p-50;
    for (size_t i = 0; i < s->tokens.count; i++)
        s->slack =
            fmax(s->slack,
                 0x1p-50 * (1 + fabs((double)inputs->positions[s->tokens.index[i]])));
    judge_kept(s, inputs, value);
    /* The first step in which something is off says why. */
    if (broken == 0 && t->broken > 0 && is_sinusoidal(s, value))
        snprintf(t->cause, sizeof t->cause, "%s",
                 txd_sinusoids_instead(&s->kept, &s->tokens, inputs,
                                       4 * allowed_for(s, POSITION, 1)));
    else if (broken == 0 && t->broken > 0)
        explain_table(t, s, inputs, value);
    s->kept.count = 0;
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add_value(txd_result *result, const state *s, int value)
{
    const tally *t = &s->tallies[value];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0 &&
        txd_law_is_worse(t->ratio, txd_law_ratio(result->worst, result->allowed))) {
        result->worst = t->measured;
        result->allowed = t->allowed;
    }
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(points[value], -1, &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding, "token %" PRId64 ", channel %zu is %s, but ", t->at.query,
                t->channel, found);
    if (t->twin >= 0)
        txd_law_say(&finding, "that of another token of the same %s is %s",
                    words[value], expected);
    else
        txd_law_say(&finding, "the %s of its %s is %s",
                    is_sinusoidal(s, value) ? "sinusoid" : "row of the table",
                    words[value], expected);
    txd_law_say(&finding, "; %" PRIu64 " of %" PRIu64 " elements are off", t->broken,
                t->judged);
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

    for (int value = 0; value < VALUES; value++) {
        inherited += s->tallies[value].inherited;
        TXD_TRY(add_value(result, s, value));
    }
    if (result->verdict == TXD_VERDICT_PASS && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " elements of embeddings are not finite: whether "
                        "they are right cannot be said",
                        inherited);
    if (result->evaluated == 0)
        snprintf(result->note, sizeof result->note,
                 "no embedding was recorded of two tokens that have one in common");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_kept_finish(&s->kept);
    txd_kept_tokens_finish(&s->tokens);
    free(s->row);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    size_t width = txd_embed_width(c) > c->d_model ? txd_embed_width(c) : c->d_model;
    state *s = calloc(1, sizeof *s);

    if (s)
        s->row = calloc(width, sizeof *s->row);
    if (!s || !s->row) {
        free(s);
        return txd_fail(TXD_ERR_MEMORY, "embedding_rows: no memory");
    }
    s->claimed = c;
    s->run = context->run && context->run->params ? context->run : NULL;
    s->step = -1;
    for (int value = 0; value < VALUES; value++)
        s->tallies[value].twin = -1;
    *tap = (txd_tap){.name = "embedding_rows", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_embedding_rows = {
    .name = "embedding_rows",
    .law =
        "equal tokens, positions and types have equal embeddings, which are the rows "
        "of their tables; sinusoids are those of the formula",
    .formula =
        "embed.tok[t] = embed.tok[s] exactly where the tokens are equal, and "
        "table[token] "
        "within a rounding to the format; embed.pos and embed.type alike; sinusoidal: "
        "|pos[2i] - sin(p / 10000^(2i/d))|, |pos[2i+1] - cos(...)| <= (u_acc + "
        "u_store) "
        "|value| + 2^-50 (1 + p)",
    .causes =
        "positions that begin at 1, or at the padding; a table that is looked up "
        "with other ids; an exponent of sinusoids that counts by twos twice, or is "
        "divided as an integer; noise or dropout on embeddings",
    .look_next = "the ids with which the table is read, beside input.tokens and "
                 "input.positions",
    .unit = "elements",
    .exact = true,
    .faults =
        (const char *const[]){"sinusoid_exponent", "positions_count_padding",
                              "positions_not_reset", "positions_of_first_row", NULL},
    .needs =
        (const struct txd_check_need[]){
            {TXD_POINT_COUNT, TXD_ASK_VALUE | TXD_ASK_STATS}, {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
