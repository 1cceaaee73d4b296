/* SPDX-License-Identifier: MIT
 *
 * What stands for minus infinity lies below every real score, and far enough for its
 * weight to be 0. A number that hides (all hidden keys of a row hold the same) is
 * compared with the scores beside it; one that the softmax takes for the largest score
 * shows where all exponentials of a row have vanished.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>

/* Kinds of rows: the softmax subtracts more than any score; the number lies above shown
 * scores; it is so near that hidden keys get weight. */
enum { ABOVE, WITHIN, WEAK };

/* The masked scores of a row. */
typedef struct range {
    double low, high;     /* of shown keys that are finite */
    double hidden, other; /* what hidden keys hold: the first, and another; or NaN */
    double weight;        /* the largest of a hidden key */
    int64_t key;          /* which */
    bool is_shown_too;    /* a shown key holds the same */
    size_t shown, hides;  /* keys: shown ones, and hidden ones that are no NaN */
    double top;           /* of all keys */
} range;

static void add_hidden(range *r, double masked, double weight, size_t key)
{
    r->hides++;
    if (isnan(r->hidden))
        r->hidden = masked;
    else if (masked != r->hidden)
        r->other = masked;
    if (r->key >= 0 && !(fabs(weight) > r->weight))
        return;
    r->weight = fabs(weight);
    r->key = (int64_t)key;
}

static range range_of(const txd_seen_row *row)
{
    range r = {.low = INFINITY,
               .high = -INFINITY,
               .hidden = NAN,
               .other = NAN,
               .weight = -1,
               .key = -1,
               .top = -INFINITY};

    for (size_t key = row->begin; key < row->end; key++) {
        double masked = txd_seen_masked(row, key);

        if (isnan(masked))
            continue;
        r.top = masked > r.top ? masked : r.top;
        if (txd_seen_claim(row, key) != TXD_SEEN) {
            add_hidden(&r, masked, txd_seen_weight(row, key), key);
        } else if (isfinite(masked)) {
            r.low = masked < r.low ? masked : r.low;
            r.high = masked > r.high ? masked : r.high;
            r.shown++;
        }
    }
    for (size_t key = row->begin; key < row->end && isfinite(r.hidden); key++)
        r.is_shown_too |= txd_seen_claim(row, key) == TXD_SEEN &&
                          txd_seen_masked(row, key) == r.hidden;
    return r;
}

static void add(txd_seen_tally *t, const txd_seen_row *row, int kind,
                const txd_seen_break *what)
{
    t->of[kind]++;
    txd_seen_add_broken(t, row, what);
}

/* Beside a sink the weights of a row may vanish, but nothing is subtracted that is more
 * than the largest score `top` (NaN: not known). */
static bool has_vanished(const txd_seen_row *row, double top)
{
    double max = row->column[TXD_ROW_MAX];

    if (row->column[TXD_ROW_SUM] != 0 || !isfinite(max) ||
        row->column[TXD_ROW_SEEN] == 0)
        return false;
    return !row->block->pass->claimed->sinks || max - top > 1e-2 * (1 + fabs(top));
}

/* A row without any weight. One that has a constant above its scores measures how far
 * that is; of another it is known that the sum is off by 1. */
static void add_vanished(txd_seen_tally *t, const txd_seen_row *row, double high)
{
    double max = row->column[TXD_ROW_MAX];

    add(t, row, ABOVE,
        &(txd_seen_break){.key = -1,
                          .measured = max > high ? max - high : 1,
                          .found = max,
                          .expected = high});
}

/* A number that hides, if all hidden keys hold it, more than one, and no shown one. */
static void judge_number(txd_seen_tally *t, const txd_seen_row *row, const range *r)
{
    txd_seen_break what = {.key = r->key, .found = r->hidden, .expected = r->low};

    if (r->hides < 2 || !isnan(r->other) || r->is_shown_too || isinf(r->hidden))
        return;
    if (r->weight > 0) {
        what.measured = r->weight;
        add(t, row, r->hidden >= r->low ? WITHIN : WEAK, &what);
    } else if (r->hidden >= r->low) {
        what.measured = r->hidden - r->low;
        add(t, row, WITHIN, &what);
    }
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    range r;

    if (!row->masked.data || isnan(row->column[TXD_ROW_SUM])) {
        t->unknown += row->masked.data != NULL;
        return;
    }
    r = range_of(row);
    if (r.shown == 0)
        return;
    t->rows++;
    if (has_vanished(row, r.top))
        add_vanished(t, row, r.high);
    else
        judge_number(t, row, &r);
}

static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    if (isnan(row->column[TXD_ROW_SUM])) {
        t->unknown++;
        return;
    }
    t->rows += row->column[TXD_ROW_SEEN] > 0;
    if (has_vanished(row, NAN))
        add_vanished(t, row, NAN);
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    char found[32], expected[32], weight[32];

    (void)claimed;
    (void)layer;
    txd_law_say(finding, "query %" PRId64 ": ", t->at.query);
    txd_law_number(found, t->found);
    txd_law_number(expected, t->expected);
    if (t->of[ABOVE] > 0 && !(t->found > t->expected))
        txd_law_say(finding,
                    "its weights sum to exactly 0, although the largest score is %s: "
                    "they are taken away behind the softmax, or it subtracts more than "
                    "any score",
                    found);
    else if (t->of[ABOVE] > 0)
        txd_law_say(
            finding,
            "all exponentials vanish, for the softmax takes %s for the largest "
            "score, but that is %s: a constant stands for minus infinity that is "
            "above the scores",
            found, expected);
    else if (t->of[WITHIN] > 0)
        txd_law_say(finding,
                    "hidden keys hold %s, which is not below the lowest score %s",
                    found, expected);
    else
        txd_law_say(finding,
                    "hidden keys hold %s beside a lowest score of %s, too near: key "
                    "%" PRId64 " gets the weight %s",
                    found, expected, t->at.key, txd_law_number(weight, t->worst));
    txd_law_say(finding, "; %" PRIu64 " of %" PRIu64 " rows of this layer are so",
                t->broken, t->rows);
}

static const txd_seen_law law = {
    .name = "mask_sentinel",
    .look = look,
    .glance = glance,
    .explain = explain,
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_mask_sentinel = {
    .name = "mask_sentinel",
    .law = "what stands for minus infinity is below every score, and far enough",
    .formula = "where all hidden keys of a row hold one number: it is below the lowest "
               "shown score, and their weights are exactly 0; sum w > 0 where the "
               "largest score is finite",
    .causes =
        "a finite constant (-1e4, -5e4, -1e9) in place of -Inf where real scores come "
        "near or below it; a running maximum that begins at such a constant",
    .look_next =
        "mask.fill, and the range of attn.scores; in a kernel, what its running "
        "maximum begins with",
    .unit = "rows",
    .softmax_rows = true,
    .faults =
        (const char *const[]){"sentinel_above_scores", "mask_fill_too_weak", NULL},
    .needs = txd_seen_needs,
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};
