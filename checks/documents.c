/* SPDX-License-Identifier: MIT
 *
 * Sequences that are packed side by side do not see each other: no query gives weight
 * to a key of another document. Positions that begin anew in each of them shift angles;
 * they hide nothing.
 */
#include "checks/seen.h"

enum { WHOLLY = 0 }; /* kind: rows that see all that only the documents hide */

/* True if the query would see the key if all were one document. */
static bool only_documents_hide(const txd_seen_row *row, size_t key)
{
    txd_mask_view mask = row->mask;

    mask.key_document = NULL;
    return txd_mask_hides(&mask, row->query, key) == TXD_SEEN;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    size_t cells = 0, open = 0, apart = 0, apart_open = 0;
    txd_seen_break worst = {.key = -1};
    bool has_nan = false;

    for (size_t key = 0; key < row->keys; key++) {
        txd_seen seen;

        if (txd_seen_claim(row, key) != TXD_HIDDEN_DOCUMENT)
            continue;
        seen = txd_seen_state(row, key);
        has_nan |= seen == TXD_SEEN_NAN;
        cells++;
        open += seen == TXD_SEEN_OPEN;
        if (only_documents_hide(row, key)) {
            apart++;
            apart_open += seen == TXD_SEEN_OPEN;
        }
        if (seen == TXD_SEEN_OPEN && fabs(txd_seen_weight(row, key)) > worst.measured) {
            worst.measured = fabs(txd_seen_weight(row, key));
            worst.key = (int64_t)key;
        }
    }
    t->unknown += has_nan && open == 0;
    t->rows += cells > 0 && (!has_nan || open > 0);
    if (open == 0)
        return;
    t->of[WHOLLY] += apart > 0 && apart_open == apart;
    txd_seen_add_broken(t, row, &worst);
}

/* Documents stand one after the other: the first or the last key is of another. */
static bool has_others(const txd_seen_row *row)
{
    const int32_t *documents = row->mask.key_document;
    int32_t own = row->mask.query_document[row->query];

    return documents[0] != own || documents[row->keys - 1] != own;
}

/* A row's statistics name the hidden key with the largest weight. */
static void glance(txd_seen_tally *t, const txd_seen_row *row)
{
    double most = row->column[TXD_ROW_HIDDEN_MAX];
    double key = row->column[TXD_ROW_HIDDEN_KEY];

    if (!has_others(row))
        return;
    if (isnan(most)) {
        t->unknown++;
        return;
    }
    t->rows++;
    if (most > 0 && key >= 0 && key < (double)row->keys &&
        txd_seen_claim(row, (size_t)key) == TXD_HIDDEN_DOCUMENT)
        txd_seen_add_broken(t, row,
                            &(txd_seen_break){.key = (int64_t)key, .measured = most});
}

static void explain(txd_finding *finding, const txd_seen_tally *t,
                    const txd_config *claimed, int layer)
{
    char weight[32];

    (void)claimed;
    (void)layer;
    txd_law_say(finding,
                "query %lld gives the weight %s to key %lld of another document; %llu "
                "of %llu rows of this layer do so",
                (long long)t->at.query, txd_law_number(weight, t->worst),
                (long long)t->at.key, (unsigned long long)t->broken,
                (unsigned long long)t->rows);
    if (t->of[WHOLLY] == t->broken)
        txd_law_say(finding, ", to every key that only the documents hide: documents "
                             "are not masked");
}

static const txd_seen_law law = {
    .name = "documents",
    .look = look,
    .glance = glance,
    .explain = explain,
    .nothing = "every sequence of the input is one document",
};

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    return txd_seen_create(out, tap, &law, context->claimed);
}

const txd_check txd_check_documents = {
    .name = "documents",
    .law = "no query gives weight to a key of another document",
    .formula = "w[q,j] = 0 exactly for every j of another document than q's",
    .causes =
        "sequences packed into one row without a mask that keeps them apart; positions "
        "that begin anew in each document taken for such a mask; document ids that "
        "are not passed on, or compared along the wrong axis",
    .look_next = "attn.masked of the named query; editing one document must not move "
                 "the others at all",
    .unit = "rows",
    .faults = (const char *const[]){"documents_ignored", NULL},
    .needs = txd_seen_needs,
    .create = create,
    .finish = txd_seen_finish,
    .destroy = txd_seen_destroy,
};
