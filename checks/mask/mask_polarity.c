/* SPDX-License-Identifier: MIT
 *
 * What a query sees is not the complement of what it should see. A row is inverted if
 * no key that the claim shows gets weight, while all keys do that it hides for one
 * reason: a mask that is merely lost leaves the shown keys their weight.
 */
#include "checks/mask/seen.h"

#include <inttypes.h>

enum { REASONS = TXD_HIDDEN_WINDOW + 1 };

/* Keys of a row by what the claim says of them. */
typedef struct sides {
    size_t count[REASONS], open[REASONS];
    double most; /* the largest weight of a hidden key */
    int64_t key;
    size_t nan;
} sides;

static sides sides_of(const txd_seen_row *row)
{
    sides s = {.key = -1, .most = -1};

    for (size_t key = row->begin; key < row->end; key++) {
        txd_hidden why = txd_seen_claim(row, key);
        txd_seen seen = txd_seen_state(row, key);

        s.count[why]++;
        s.open[why] += seen == TXD_SEEN_OPEN;
        s.nan += seen == TXD_SEEN_NAN;
        if (why == TXD_SEEN || seen != TXD_SEEN_OPEN ||
            !(fabs(txd_seen_weight(row, key)) > s.most))
            continue;
        s.most = fabs(txd_seen_weight(row, key));
        s.key = (int64_t)key;
    }
    return s;
}

static bool is_inverted(const sides *s)
{
    for (int why = TXD_SEEN + 1; why < REASONS; why++)
        if (s->count[why] > 0 && s->open[why] == s->count[why])
            return s->open[TXD_SEEN] == 0;
    return false;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    sides s = sides_of(row);
    size_t hidden = row->end - row->begin - s.count[TXD_SEEN];

    if (s.count[TXD_SEEN] == 0 || hidden == 0)
        return;
    if (s.nan > 0) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (is_inverted(&s))
        txd_seen_add_broken(t, row,
                            &(txd_seen_break){.key = s.key,
                                              .measured = s.most,
                                              .found = (double)s.count[TXD_SEEN]});
}

/* All the weight of a row is on hidden keys. */
static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    const double *column = row->column;
    double hidden = column[TXD_ROW_HIDDEN_SUM], sum = column[TXD_ROW_SUM];
    double key = column[TXD_ROW_HIDDEN_KEY];

    if (column[TXD_ROW_SEEN] == 0 || column[TXD_ROW_SEEN] >= (double)row->keys)
        return;
    if (isnan(hidden)) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (hidden > 0 && key >= 0 && column[TXD_ROW_FIRST] == 0 &&
        column[TXD_ROW_SELF] == 0 &&
        sum - hidden <= txd_law_gamma((double)row->keys, row->block->pass->u_store))
        txd_seen_add_broken(t, row,
                            &(txd_seen_break){.key = (int64_t)key,
                                              .measured = column[TXD_ROW_HIDDEN_MAX],
                                              .found = column[TXD_ROW_SEEN]});
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    char weight[32];

    (void)claimed;
    (void)layer;
    txd_law_say(finding,
                "query %" PRId64
                " gives nothing to the %.0f keys that it should see and "
                "all to hidden ones, %s of it to key %" PRId64 "; %" PRIu64
                " of %" PRIu64 " rows of this layer do so: the mask is inverted",
                t->at.query, t->found, txd_law_number(weight, t->worst), t->at.key,
                t->broken, t->rows);
}

static const txd_seen_law law = {
    .name = "mask_polarity",
    .look = look,
    .glance = glance,
    .explain = explain,
    .nothing =
        "no query of this input has both seen and hidden keys that were computed",
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_mask_polarity = {
    .name = "mask_polarity",
    .law = "what a query sees is not the complement of what it should see",
    .formula = "not: w[q,j] = 0 for every key that the claim shows, and w[q,j] > 0 for "
               "every key that it hides for one reason (later, padding, another "
               "document, behind the window)",
    .causes =
        "a boolean mask in which True means keep, given to an interface in which "
        "True means hide (or the reverse); a mask inverted twice on one code path",
    .look_next = "the convention of the mask argument: what True (or 1) means where it "
                 "is made, and where it is read",
    .unit = "rows",
    .faults = (const char *const[]){"mask_inverted", NULL},
    .needs = txd_seen_needs,
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};
