/* SPDX-License-Identifier: MIT
 *
 * A query that sees keys gives them weight, and one that sees none gives what
 * mask.masked_row says: no weight, the same to all, or NaN. From row statistics, of
 * every row.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>

/* Kinds of rows: all masked scores -Inf; no weight although some are not; no key to see
 * by the claim, and something else than it says. */
enum { MASKED, VANISHED, POLICY };

static const txd_layer_config *layer_of(const txd_seen_row *row)
{
    return &row->block->pass->claimed->layers[row->block->site->layer];
}

static bool is_near_1(const txd_seen_row *row, double x)
{
    const txd_pass *pass = row->block->pass;
    double n = (double)row->keys;

    return txd_within(fabs(x - 1), txd_law_gamma(n + 2, pass->u_accumulate) +
                                       txd_law_gamma(2, pass->u_store) +
                                       2 * n * pass->tiny);
}

/* A query to which the claim shows no key. */
static bool follows_policy(const txd_seen_row *row)
{
    double sum = row->column[TXD_ROW_SUM], peak = row->column[TXD_ROW_PEAK];

    switch (layer_of(row)->masked_row) {
    case TXD_MASKED_ROW_ZERO:
        return sum == 0 && peak == 0;
    case TXD_MASKED_ROW_UNIFORM:
        return is_near_1(row, sum) && is_near_1(row, peak * (double)row->keys);
    default:
        return isnan(sum);
    }
}

/* Beside a sink the weights of a row may vanish. */
static bool has_sink(const txd_seen_row *row)
{
    const txd_config *claimed = row->block->pass->claimed;

    return claimed->sinks &&
           txd_point_attention(row->block->site->point) == TXD_ATTENTION_SELF;
}

static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    double sum = row->column[TXD_ROW_SUM], max = row->column[TXD_ROW_MAX];
    int kind = -1;

    if (row->column[TXD_ROW_SEEN] == 0)
        kind = follows_policy(row) ? -1 : POLICY;
    else if (isinf(max) && max < 0)
        kind = MASKED;
    else if (sum == 0 && !has_sink(row))
        kind = VANISHED;
    else if (isnan(sum)) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (kind < 0)
        return;
    t->of[kind]++;
    txd_seen_add_broken(t, row,
                        &(txd_seen_break){.key = -1,
                                          .measured = row->column[TXD_ROW_SEEN],
                                          .found = sum,
                                          .expected = max});
}

static const char *policy_word(const txd_config *claimed, int layer)
{
    switch (claimed->layers[layer].masked_row) {
    case TXD_MASKED_ROW_ZERO:
        return "zero";
    case TXD_MASKED_ROW_UNIFORM:
        return "uniform";
    default:
        return "nan";
    }
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    char text[32];

    if (t->of[POLICY] == t->broken)
        txd_law_say(
            finding,
            "query %" PRId64 " sees no key, and its weights sum to %s, which is "
            "not what mask.masked_row = \"%s\" gives",
            t->at.query, txd_law_number(text, t->found), policy_word(claimed, layer));
    else
        txd_law_say(finding,
                    "query %" PRId64
                    " sees %.0f key%s by the claim, but its row is empty",
                    t->at.query, t->worst, t->worst == 1 ? "" : "s");
    txd_law_say(finding, "; %" PRIu64 " of %" PRIu64 " rows of this layer are so",
                t->broken, t->rows);
    if (t->of[MASKED] > 0)
        txd_law_say(finding, ": the mask hides every key");
    else if (t->of[VANISHED] > 0)
        txd_law_say(finding,
                    ": its exponentials vanish, although the softmax has a largest "
                    "score of %s",
                    txd_law_number(text, t->expected));
}

static const txd_seen_law law = {
    .name = "empty_row",
    .judges_cross = true,
    .glance = glance,
    .explain = explain,
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_empty_row = {
    .name = "empty_row",
    .law = "a query that sees keys has no empty row, and an empty row is what "
           "mask.masked_row says",
    .formula =
        "where the claim shows a key: not all masked scores are -Inf, and sum w > "
        "0; where it shows none: all w = 0, all w = 1 / keys, or all NaN",
    .causes =
        "masks that leave no key together although neither does alone (padding on the "
        "left and a causal mask; a diagonal that is hidden); -Inf added to -Inf; a "
        "lowest number of the format, which makes an empty row uniform; a constant "
        "above the scores in place of -Inf",
    .look_next = "attn.masked of the named query, and which mask hides its own key; "
                 "`finite` for the NaN that comes of it",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"fully_masked_row", "diagonal_masked",
                                    "mask_fill_finite", "sentinel_above_scores", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
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
