/* SPDX-License-Identifier: MIT
 *
 * The mask hides; it is not a number that is added. Of a row in which every shown score
 * moved by one small constant and every hidden one by another, the mask was added as it
 * stood: True and False as 1 and 0. Rows still sum to 1, and hidden keys only lose a
 * factor e.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>

/* Further from 0 a constant is a fill, if a weak one. */
#define LARGEST 4.0

enum { ON_SHOWN, ON_HIDDEN }; /* kinds: where the constant is that is not 0 */

/* What was added to some scores of a row. */
typedef struct shift {
    double low, high, slack; /* slack: by which rounding moves one of them */
    size_t count;
} shift;

static void add(shift *s, double difference, double slack)
{
    s->low = s->count == 0 || difference < s->low ? difference : s->low;
    s->high = s->count == 0 || !(difference <= s->high) ? difference : s->high;
    s->slack = slack > s->slack ? slack : s->slack;
    s->count++;
}

static bool is_constant(const shift *s)
{
    return s->count > 0 && s->high - s->low <= 2 * s->slack &&
           fabs(s->low) <= LARGEST && fabs(s->high) <= LARGEST;
}

static bool is_zero(const shift *s)
{
    return fabs(s->low) <= s->slack && fabs(s->high) <= s->slack;
}

/* One cell alone has a constant, whatever was done to it. */
static bool is_added(const shift *shown, const shift *hidden)
{
    double apart = fabs(shown->low - hidden->low);

    if (!is_constant(shown) || !is_constant(hidden) ||
        apart <= 2 * (shown->slack + hidden->slack))
        return false;
    return is_zero(shown) ? hidden->count > 1 : shown->count > 1;
}

/* False if the row holds a NaN. */
static bool measure(shift *shown, shift *hidden, const txd_seen_row *row)
{
    double u = row->block->pass->u_store;
    txd_law_place at = {row->block->site->step, (int64_t)row->batch, (int64_t)row->head,
                        (int64_t)row->query, -1};

    for (size_t key = row->begin; key < row->end; key++) {
        bool is_shown = txd_seen_claim(row, key) == TXD_SEEN;
        double masked = txd_seen_masked(row, key), score, allowed;

        if (!is_shown && isinf(masked) && masked < 0) {
            add(hidden, masked, 0);
            continue;
        }
        at.key = (int64_t)key;
        score =
            txd_mask_score(&allowed, row->before, row->first + key - row->begin, &at);
        if (isnan(masked) && isnan(score) && !is_shown && row->lacks_hidden)
            continue;
        if (isnan(masked) || isnan(score))
            return false;
        add(is_shown ? shown : hidden, masked - score,
            2 * (allowed + u * (fabs(masked) + fabs(score))));
    }
    return true;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    shift shown = {0}, hidden = {0};

    if (!measure(&shown, &hidden, row)) {
        t->unknown++;
        return;
    }
    if (shown.count == 0 || hidden.count == 0)
        return;
    t->rows++;
    if (!is_added(&shown, &hidden))
        return;
    t->of[is_zero(&shown) ? ON_HIDDEN : ON_SHOWN]++;
    txd_seen_add_broken(
        t, row,
        &(txd_seen_break){.key = -1,
                          .measured = fmax(fabs(shown.high), fabs(hidden.high)),
                          .found = is_zero(&shown) ? 0 : shown.high,
                          .expected = is_zero(&hidden) ? 0 : hidden.high});
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    char shown[32], hidden[32];

    (void)claimed;
    (void)layer;
    txd_law_say(finding,
                "query %" PRId64 ": the mask adds %s to the scores of the keys that it "
                "should show and %s to those that it should hide; %" PRIu64
                " of %" PRIu64 " rows of this layer are so: it is added as a number",
                t->at.query, txd_law_number(shown, t->found),
                txd_law_number(hidden, t->expected), t->broken, t->rows);
    if (t->of[ON_HIDDEN] == t->broken)
        txd_law_say(finding, ", in which True means hide");
    else if (t->of[ON_SHOWN] == t->broken)
        txd_law_say(finding, ", in which True means keep");
}

static const txd_seen_law law = {
    .name = "mask_added",
    .judges_cross = true,
    .of_masked = true,
    .look = look,
    .explain = explain,
    .nothing =
        "no query of this input has both seen and hidden keys that were computed",
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_mask_added = {
    .name = "mask_added",
    .law = "the mask hides keys; it is not added to the scores as a number",
    .formula =
        "not: masked - score is one constant of at most 4 over all keys that the "
        "claim shows, and another such constant over all that it hides, each "
        "within rounding",
    .causes =
        "a boolean or integer mask added to the scores (True is 1) where an additive "
        "one "
        "of 0 and -Inf is expected; 1 - mask without the factor that makes it a fill",
    .look_next = "the dtype of the mask where it meets the scores",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"mask_added", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_BIAS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_SCORES, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_BIAS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};
