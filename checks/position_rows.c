/* SPDX-License-Identifier: MIT
 *
 * Position embeddings that are added are those of the token's position: of learned ones
 * the row position + offset of the table, of sinusoids the formula. A recording has no
 * table: there tokens of one position must have one row.
 *
 * Of many tokens some are judged, as many as make up ELEMENTS_JUDGED elements.
 */
#include "checks/kept.h"
#include "checks/law.h"
#include "checks/sample.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#define ELEMENTS_JUDGED 8192
#define TOKENS_LEAST 8
/* Positions among which the one that was used is looked for. */
#define POSITIONS_TRIED 4096

typedef struct state {
    const txd_config *claimed;
    const txd_tensor *table; /* learned, of a live run; else NULL */
    txd_kept_tokens tokens;
    txd_kept rows;
    int step;
    const int32_t *positions; /* of this step */
    double u, tiny;
    uint64_t judged, broken;
    double measured, allowed, ratio, found, expected; /* of the worst */
    size_t channel;
    txd_law_place at;
    char cause[200];
} state;

static bool is_sinusoidal(const state *s)
{
    return s->claimed->positions == TXD_POSITIONS_SINUSOIDAL;
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_EMBED_POS
               ? TXD_ASK_VALUE
               : 0;
}

/* ---- what a row should be ---- */

static double angle_of(const state *s, int64_t position, size_t pair)
{
    return (double)position *
           pow(10000, -2 * (double)pair / (double)s->claimed->d_model);
}

/* Element i of the row of a position; NaN where there is none. */
static double value_of(const state *s, int64_t position, size_t i)
{
    size_t width = s->claimed->d_model;
    int64_t row = position + (int64_t)s->claimed->position_offset;
    double angle;

    if (s->table)
        return row >= 0 && (size_t)row < s->table->dims[0]
                   ? txd_tensor_get(s->table, (size_t)row * width + i)
                   : (double)NAN;
    angle = angle_of(s, position, i / 2);
    return i % 2 == 0 ? sin(angle) : cos(angle);
}

/* The rounding to store it, and of a sinusoid those of its angle and of both libraries'
 * functions. */
static double allowed_of(const state *s, int64_t position, size_t i, double value)
{
    double exact = is_sinusoidal(s) ? 0x1p-50 * (1 + angle_of(s, position, i / 2)) : 0;

    return s->u * fabs(value) + s->tiny + exact;
}

static int64_t position_of(const state *s, size_t token)
{
    return s->positions[s->tokens.index[token]];
}

static const double *row_of(const state *s, size_t token)
{
    return s->rows.rows + token * s->rows.width;
}

static bool is_row_of(const state *s, size_t token, int64_t position)
{
    for (size_t i = 0; i < s->rows.width; i++) {
        double value = value_of(s, position, i);

        if (!txd_within(fabs(row_of(s, token)[i] - value),
                        allowed_of(s, position, i, value)))
            return false;
    }
    return true;
}

/* ---- why ---- */

/* The position whose row a token has (below 0 before the offset), if there is one
 * among those tried. */
static bool find_position(int64_t *out, const state *s, size_t token)
{
    int64_t first = -(int64_t)s->claimed->position_offset;

    for (*out = first; *out < first + POSITIONS_TRIED; ++*out)
        if (is_row_of(s, token, *out))
            return true;
    return false;
}

static bool is_shifted(const state *s, int64_t by)
{
    for (size_t t = 0; t < s->tokens.count; t++)
        if (!is_row_of(s, t, position_of(s, t) + by))
            return false;
    return true;
}

/* Whether sine and cosine of every pair are of one angle, and of all pairs of one. */
static void look_at_pairs(const state *s, size_t token, bool *is_circle, bool *is_one)
{
    const double *row = row_of(s, token);

    *is_circle = *is_one = s->rows.width > 2;
    for (size_t i = 0; i + 1 < s->rows.width; i += 2) {
        double square = row[i] * row[i] + row[i + 1] * row[i + 1];

        *is_circle &= txd_within(fabs(square - 1), 8 * s->u + 0x1p-48);
        *is_one &= txd_within(fabs(row[i] - row[0]), s->u);
    }
}

static void explain(state *s, size_t token)
{
    int64_t found;
    bool is_found = find_position(&found, s, token), is_circle, is_one;
    int64_t by = found - position_of(s, token);

    if (is_found && is_shifted(s, by))
        snprintf(s->cause, sizeof s->cause,
                 ": all rows are those of positions that differ by %" PRId64
                 " (another model.position_offset, or positions that begin elsewhere)",
                 by);
    else if (is_found)
        snprintf(s->cause, sizeof s->cause,
                 ": the row is that of position %" PRId64
                 "; others are right, or differ otherwise (padding that is counted, "
                 "documents that go on counting, positions of another row)",
                 found);
    if (is_found || !is_sinusoidal(s))
        return;
    look_at_pairs(s, token, &is_circle, &is_one);
    if (is_one)
        snprintf(
            s->cause, sizeof s->cause,
            ": all pairs of lanes have one angle: the exponent is 0, as where it is "
            "divided as integers are");
    else
        snprintf(s->cause, sizeof s->cause,
                 is_circle ? ": each pair has an angle, but another: base or exponent"
                           : ": sine and cosine of a pair are of different angles: the "
                             "exponent of lane i is not that of pair i / 2");
}

/* ---- judging ---- */

static void judge_element(state *s, size_t token, size_t i, double expected,
                          double allowed)
{
    double found = row_of(s, token)[i], measured = fabs(found - expected);

    s->broken += !txd_within(measured, allowed);
    if (s->judged++ > 0 &&
        !txd_law_is_worse(txd_law_ratio(measured, allowed), s->ratio))
        return;
    s->ratio = txd_law_ratio(measured, allowed);
    s->measured = measured;
    s->allowed = allowed;
    s->found = found;
    s->expected = expected;
    s->channel = i;
    s->at.step = s->step;
    s->at.batch = (int64_t)(s->tokens.index[token] / s->tokens.length);
    s->at.query = (int64_t)(s->tokens.index[token] % s->tokens.length);
}

/* The first token of the same position; itself if there is none before it. */
static size_t first_of(const state *s, size_t token)
{
    size_t first = 0;

    while (position_of(s, first) != position_of(s, token))
        first++;
    return first;
}

static void judge_token(state *s, size_t token)
{
    int64_t position = position_of(s, token);
    size_t first = first_of(s, token);
    uint64_t broken = s->broken;

    if (!is_sinusoidal(s) && !s->table) {
        for (size_t i = 0; first < token && i < s->rows.width; i++)
            judge_element(s, token, i, row_of(s, first)[i], s->tiny);
        if (broken == 0 && s->broken > 0)
            snprintf(s->cause, sizeof s->cause,
                     ", as at another token of position %" PRId64, position);
        return;
    }
    for (size_t i = 0; i < s->rows.width; i++) {
        double value = value_of(s, position, i);

        judge_element(s, token, i, value, allowed_of(s, position, i, value));
    }
    if (broken == 0 && s->broken > 0)
        explain(s, token);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    const txd_inputs *inputs = block->pass->inputs;

    (void)slot;
    if (!block->value.data)
        return TXD_OK;
    s->step = block->site->step;
    s->positions = inputs->positions;
    s->u = txd_roundoff_of_format(block->pass->format).store;
    s->tiny = block->pass->tiny;
    TXD_TRY(txd_kept_choose(
        &s->tokens, inputs->valid, inputs->batch, inputs->length,
        txd_picks_wanted(ELEMENTS_JUDGED, s->claimed->d_model, TOKENS_LEAST)));
    TXD_TRY(txd_kept_take(&s->rows, block, &s->tokens));
    for (size_t t = 0; t < s->tokens.count; t++)
        judge_token(s, t);
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    txd_finding finding;
    char found[32], expected[32];

    result->evaluated = s->judged;
    result->worst = s->measured;
    result->allowed = s->allowed;
    if (!is_sinusoidal(s) && !s->table)
        snprintf(result->note, sizeof result->note,
                 "a recording has no table: tokens of one position are held to the "
                 "first of them");
    if (s->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(TXD_POINT_EMBED_POS, -1, &s->at);
    finding.measured = s->measured;
    finding.allowed = s->allowed;
    txd_law_numbers(found, s->found, expected, s->expected);
    txd_law_say(&finding,
                "token %" PRId64 ", channel %zu is %s, but that of its position is %s; "
                "%" PRIu64 " of %" PRIu64 " elements are off%s",
                s->at.query, s->channel, found, expected, s->broken, s->judged,
                s->cause);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += s->broken - 1;
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_kept_finish(&s->rows);
    txd_kept_tokens_finish(&s->tokens);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_param *table = NULL;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "position_rows: no memory");
    s->claimed = context->claimed;
    s->at = (txd_law_place)TXD_LAW_NOWHERE;
    if (context->run && context->run->params)
        table = txd_params_get(context->run->params, TXD_PARAM_EMBED_POS, -1);
    s->table = table ? &table->value : NULL;
    *tap = (txd_tap){.name = "position_rows", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->positions == TXD_POSITIONS_LEARNED ||
                   context->claimed->positions == TXD_POSITIONS_SINUSOIDAL
               ? NULL
               : "this model adds no position embeddings";
}

const txd_check txd_check_position_rows = {
    .name = "position_rows",
    .law = "the position embedding of a token is that of its position",
    .formula =
        "embed.pos[b, t] = table[position + model.position_offset], one rounding; "
        "of sinusoids sin and cos of position / 10000^(2i/d), within 2^-50 (1 + "
        "angle) and one rounding; recorded, tokens of one position have one row",
    .causes = "positions that count padding, that go on in the next document, or are "
              "those of another row; a table whose first rows are for something else; "
              "an exponent of sinusoids that is doubled, divided as integers are, or "
              "that of the lane instead of the pair",
    .look_next = "input.positions of the named token; model.position_offset; how the "
                 "table of sinusoids is made",
    .unit = "elements",
    .exact = true,
    .faults = (const char *const[]){"positions_count_padding", "positions_not_reset",
                                    "positions_of_first_row", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_EMBED_POS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
