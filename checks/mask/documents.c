/* SPDX-License-Identifier: MIT
 *
 * Sequences that are packed side by side do not see each other: no query gives weight
 * to a key of another document. Positions that begin anew in each of them shift angles;
 * they hide nothing.
 */
#include "checks/mask/seen.h"

/* Two ways in which only the documents hide a key: the query would see it if all were
 * one document, by positions, which may begin anew in each, or by places. Kinds: rows
 * that have such a key, and of these those that see all of them. */
enum { BY_POSITIONS, BY_PLACES, WAYS };
enum { APART = 0, WHOLLY = WAYS };

static bool only_documents_hide(const txd_seen_row *row, size_t key, int way)
{
    txd_mask_view mask = row->mask;
    const int32_t places[2] = {(int32_t)row->own, (int32_t)key};

    mask.key_document = NULL;
    if (way == BY_POSITIONS || mask.key_valid[key] == 0)
        return txd_mask_hides(&mask, row->query, key) == TXD_SEEN;
    mask.query_positions = places;
    mask.key_positions = places + 1;
    mask.key_valid += key;
    return txd_mask_hides(&mask, 0, 0) == TXD_SEEN;
}

static void look(txd_seen_tally *t, const txd_seen_row *row)
{
    size_t cells = 0, open = 0, apart[WAYS] = {0}, shut[WAYS] = {0};
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
        for (int way = 0; way < WAYS; way++)
            if (only_documents_hide(row, key, way)) {
                apart[way]++;
                shut[way] += seen != TXD_SEEN_OPEN;
            }
        if (seen == TXD_SEEN_OPEN && fabs(txd_seen_weight(row, key)) > worst.measured) {
            worst.measured = fabs(txd_seen_weight(row, key));
            worst.key = (int64_t)key;
        }
    }
    t->unknown += has_nan && open == 0;
    t->rows += cells > 0 && (!has_nan || open > 0);
    for (int way = 0; way < WAYS; way++) {
        t->of[APART + way] += apart[way] > 0;
        t->of[WHOLLY + way] += apart[way] > 0 && shut[way] == 0;
    }
    if (open == 0)
        return;
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
    int way = WAYS;

    (void)claimed;
    (void)layer;
    for (int w = WAYS - 1; w >= 0; w--) /* the way of fewer rows fits better */
        if (t->of[WHOLLY + w] == t->broken &&
            (way == WAYS || t->of[APART + w] <= t->of[APART + way]))
            way = w;
    txd_law_say(finding,
                "query %lld gives the weight %s to key %lld of another document; %llu "
                "of %llu rows of this layer do so",
                (long long)t->at.query, txd_law_number(weight, t->worst),
                (long long)t->at.key, (unsigned long long)t->broken,
                (unsigned long long)t->rows);
    if (way < WAYS)
        txd_law_say(finding,
                    ", of %llu that have a key which only the documents hide, to every "
                    "such key: documents are not masked",
                    (unsigned long long)t->of[APART + way]);
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
