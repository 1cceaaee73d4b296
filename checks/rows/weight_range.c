/* SPDX-License-Identifier: MIT
 *
 * A weight is a share: not below 0, not above 1. Each is e / S with S the sum of all e
 * of its row, which is computed to a relative gamma_{n-1}; the quotient and what is
 * stored of it are rounded once (a softmax that stores every step rounds S, too). So no
 * weight is above 1 by more than gamma_{n+2}(u_acc) + gamma_s(u_store), and none is
 * negative by any rounding.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>

/* Kinds of rows: a weight above 1; one below 0; above 1 in a row of one key alone; rows
 * in which a key has no weight that the softmax did not read as hidden. */
enum { HIGH, NEGATIVE, SINGLE, DROPPED };

static double bound_of(const txd_seen_row *row)
{
    const txd_pass *pass = row->block->pass;
    const txd_layer_config *layer = &pass->claimed->layers[row->block->site->layer];
    double n = (double)row->keys, steps = layer->softmax == TXD_SOFTMAX_SAME ? 2 : 1;

    return txd_law_gamma(n + 2, pass->u_accumulate) +
           txd_law_gamma(steps, pass->u_store);
}

static void add_high(txd_seen_tally *t, const txd_seen_row *row, int64_t key,
                     double weight)
{
    t->of[HIGH]++;
    t->of[SINGLE] += row->column && row->column[TXD_ROW_SEEN] == 1;
    txd_seen_add_broken(t, row,
                        &(txd_seen_break){.key = key,
                                          .measured = weight,
                                          .allowed = 1 + bound_of(row),
                                          .found = weight});
}

/* The lowest and the highest weight of a row. */
typedef struct ends {
    double low, high;
    int64_t key_low, key_high;
    bool has_nan, is_dropped;
} ends;

static ends ends_of(const txd_seen_row *row)
{
    ends e = {INFINITY, -INFINITY, -1, -1, false, false};

    for (size_t key = row->begin; key < row->end; key++) {
        double weight = txd_seen_weight(row, key);

        if (isnan(weight)) {
            e.has_nan |= txd_seen_state(row, key) == TXD_SEEN_NAN;
            continue;
        }
        e.is_dropped |= weight == 0 && row->masked.data &&
                        txd_seen_state(row, key) == TXD_SEEN_SILENT;
        if (weight < e.low) {
            e.low = weight;
            e.key_low = (int64_t)key;
        }
        if (weight > e.high) {
            e.high = weight;
            e.key_high = (int64_t)key;
        }
    }
    return e;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    double bound = bound_of(row);
    ends e = ends_of(row);

    if (e.has_nan || isinf(bound)) {
        t->unknown++;
        return;
    }
    t->rows++;
    t->of[DROPPED] += e.is_dropped;
    if (e.low < 0) {
        t->of[NEGATIVE]++;
        txd_seen_add_broken(
            t, row,
            &(txd_seen_break){.key = e.key_low, .measured = -e.low, .found = e.low});
    } else if (e.high > -INFINITY && !txd_within(e.high, 1 + bound)) {
        add_high(t, row, e.key_high, e.high);
    }
}

static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    double bound = bound_of(row), peak = row->column[TXD_ROW_PEAK];
    double key = row->column[TXD_ROW_PEAK_KEY];

    if (isnan(peak) || isnan(row->column[TXD_ROW_SUM]) || isinf(bound)) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (!txd_within(peak, 1 + bound))
        add_high(t, row, key >= 0 ? (int64_t)key : -1, peak);
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    char weight[32], one[32], rate[32];

    (void)claimed;
    (void)layer;
    txd_law_numbers(weight, t->found, one, t->found < 0 ? 0 : 1);
    txd_law_say(finding,
                "query %" PRId64 " gives key %" PRId64
                " the weight %s, which is %s %s; "
                "%" PRIu64 " of %" PRIu64 " rows of this layer are so",
                t->at.query, t->at.key, weight, t->found < 0 ? "below" : "above", one,
                t->broken, t->rows);
    if (t->of[NEGATIVE] == 0 && t->found > 1 &&
        (t->of[SINGLE] > 0 || t->of[DROPPED] > 0))
        txd_law_say(
            finding,
            "%s: as where dropout is at work, which leaves 1 / (1 - p) times the "
            "others (of a weight of 1: p = %s)",
            t->of[DROPPED] > 0 ? ", and keys that are not masked have none" : "",
            txd_law_number(rate, 1 - 1 / t->found));
}

static const txd_seen_law law = {
    .name = "weight_range",
    .judges_cross = true,
    .look = look,
    .glance = glance,
    .explain = explain,
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

#define VALUES (TXD_ASK_VALUE | TXD_ASK_ROWS)

const txd_check txd_check_weight_range = {
    .name = "weight_range",
    .law = "attention weights are shares: from 0 to 1",
    .formula =
        "0 <= w[q,j] <= 1 + gamma_{n+2}(u_acc) + gamma_s(u_store), n keys, s = 1, "
        "or 2 with precision.softmax = \"same\"",
    .causes =
        "dropout that is still at work where nothing is trained (weights of 0, the "
        "others "
        "times 1 / (1 - p)), or weights recorded after it in training, where they are "
        "right; no softmax at all, or one over another axis; a sum that stands still "
        "in bfloat16",
    .look_next =
        "`row_sum`; whether two passes give the same weights; in which mode the "
        "model was when it was recorded",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"dropout_in_eval", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, VALUES},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_WEIGHTS, VALUES},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, VALUES},
                                             {TXD_POINT_CROSS_WEIGHTS, VALUES},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, VALUES},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, VALUES},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};
