/* SPDX-License-Identifier: MIT
 *
 * A query sees the key at its own place. Whether the mask hides it, what the softmax
 * reads says; row statistics alone say it where a query sees only its own key, or where
 * no row of a head gives its own key anything.
 */
#include "checks/mask/seen.h"

/* Kinds: own key without weight; of these the only key; rows whose own key is hidden,
 * as the diagonal of a mask that is aligned to the top left corner ends before it. */
enum { SILENT, ALONE, TOP_LEFT };
/* So many rows without weight on their own key are no accident. */
#define ROWS_LEAST 4
#define SURELY_HIDDEN 1e-30

static void add_broken(txd_seen_tally *t, const txd_seen_row *row, bool is_alone)
{
    t->of[ALONE] += is_alone;
    txd_seen_add_broken(t, row,
                        &(txd_seen_break){.key = (int64_t)row->own, .measured = 1});
}

static void judge(txd_seen_tally *t, const txd_seen_row *row, txd_seen own)
{
    /* Beside a sink the only key may be left without weight. */
    bool is_alone = row->column[TXD_ROW_SEEN] == 1 && !row->block->pass->claimed->sinks;

    if (own == TXD_SEEN_NAN) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (own == TXD_SEEN_SHUT || (own == TXD_SEEN_SILENT && is_alone)) {
        add_broken(t, row, is_alone);
    } else if (own == TXD_SEEN_SILENT && !row->masked.data) {
        t->of[SILENT]++;
        t->at = t->of[SILENT] == 1 && t->broken == 0
                    ? (txd_law_place){row->block->site->step, (int64_t)row->batch,
                                      (int64_t)row->head, (int64_t)row->query,
                                      (int64_t)row->own}
                    : t->at;
    }
}

static bool is_claimed(const txd_seen_row *row)
{
    return row->own < row->keys && txd_seen_claim(row, row->own) == TXD_SEEN;
}

/* Query r sees key r, and none behind it up to its own, where there are more keys. */
static bool is_top_left(const txd_seen_row *row)
{
    if (row->own <= row->query || txd_seen_is_hidden(row, row->query))
        return false;
    for (size_t key = row->query + 1; key <= row->own; key++)
        if (!txd_seen_is_hidden(row, key))
            return false;
    return true;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    if (!is_claimed(row))
        return;
    t->of[TOP_LEFT] += is_top_left(row);
    judge(t, row, txd_seen_state(row, row->own));
}

static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    double weight = row->column[TXD_ROW_SELF];

    if (!is_claimed(row))
        return;
    judge(t, row,
          isnan(weight) ? TXD_SEEN_NAN
                        : (weight != 0 ? TXD_SEEN_OPEN : TXD_SEEN_SILENT));
}

static void settle(txd_seen_tally *heads, size_t count, const txd_pass *pass)
{
    for (size_t h = 0; h < count; h++) {
        txd_seen_tally *t = &heads[h];

        /* Without a row there is no pass. */
        if (t->of[SILENT] + t->broken < t->rows || t->of[SILENT] < ROWS_LEAST ||
            pass->tiny >= SURELY_HIDDEN || pass->claimed->sinks)
            continue;
        t->broken = t->rows;
        t->worst = 1;
        t->of[SILENT] = 0;
    }
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    (void)claimed;
    (void)layer;
    txd_law_say(finding,
                "query %lld does not see its own key; so in %llu of %llu rows of this "
                "layer",
                (long long)t->at.query, (unsigned long long)t->broken,
                (unsigned long long)t->rows);
    if (t->of[ALONE] > 0)
        txd_law_say(finding, ", %llu of which see no key at all",
                    (unsigned long long)t->of[ALONE]);
    if (t->of[TOP_LEFT] == t->broken)
        txd_law_say(finding, ": query r sees the keys up to r, the causal mask is "
                             "aligned to the top left corner instead of the bottom "
                             "right");
    else if (t->broken == t->rows)
        txd_law_say(finding, ": the mask hides the diagonal");
}

static const txd_seen_law law = {
    .name = "diagonal_open",
    .every_row = true,
    .look = look,
    .glance = glance,
    .settle = settle,
    .explain = explain,
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_diagonal_open = {
    .name = "diagonal_open",
    .law = "the mask does not hide a query's own key",
    .formula = "masked[q,q] is not what hides a key (-Inf, mask.fill); without "
               "attn.masked: w[q,q] > 0 where q sees only itself, and not 0 in all "
               "rows of a head",
    .causes = "triu with diagonal 0 instead of 1 (tril with -1), which hides the "
              "diagonal and "
              "leaves the first query without a key; a window that counts from the key "
              "before; an inverted mask",
    .look_next = "attn.masked of the named query at its own key; `finite`: the first "
                 "row is NaN where an empty row is",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"diagonal_masked", "mask_inverted",
                                    "fully_masked_row", NULL},
    .needs = txd_seen_needs,
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};
