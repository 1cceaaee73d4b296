/* SPDX-License-Identifier: MIT
 *
 * Queries, keys and values are made by three different matrices. For every KV head g:
 * its rows of W_k against the rows of W_q of the first query head of its group, its
 * rows of W_v against the same, and W_k against W_v; |cosine| of each pair. The same
 * of the values that they give, which is all that a recording has: attn.q_proj,
 * attn.k_proj and attn.v over valid tokens, some of many (trio.c), without their means
 * where there are biases. The larger cosine of the two is judged. The queries of
 * cross-attention are of other tokens than its keys and values: there only the last
 * pair has values.
 */
#include "checks/products/trio.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Of the entropy of equal weights: worth a word beside a finding. Rows of a layer that
 * are read for it. */
#define NEARLY_UNIFORM 0.95
#define ROWS_READ 1024

static const char *const words[TXD_ROLE_COUNT] = {"query", "key", "value"};

typedef struct state {
    const txd_config *claimed;
    double similar;
    txd_trio trio;
    double *entropy; /* (parts, 2): sum of entropy / log(seen keys), rows */
} state;

/* What is alike, in one attention. */
typedef struct alike {
    size_t group, pair;
    double cosine;
    uint64_t broken, judged, inherited;
} alike;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (site->kind == TXD_SITE_PARAMETER)
        return txd_trio_wants(site) ? TXD_ASK_VALUE : 0;
    if (site->kind != TXD_SITE_VALUE)
        return 0;
    if (txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS)
        return TXD_ASK_ROWS;
    return txd_point_in_self(site->point) == TXD_POINT_ATTN_V ? TXD_ASK_VALUE : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point others[] = {TXD_POINT_ATTN_Q_PROJ, TXD_POINT_ATTN_K_PROJ,
                                       TXD_POINT_COUNT};
    static const txd_point cross[] = {TXD_POINT_CROSS_Q_PROJ, TXD_POINT_CROSS_K_PROJ,
                                      TXD_POINT_COUNT};

    (void)self;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_V)
        return NULL;
    return txd_point_attention(point) == TXD_ATTENTION_CROSS ? cross : others;
}

/* Sums some entropies, each of the largest that it could be, and how many these are. */
static void reduce(void *slot, const void *self, const txd_block *block)
{
    double *to = slot;
    size_t all = block->dims[0] * block->dims[1] * block->dims[2];
    size_t every = all / ROWS_READ + 1;
    txd_law_row row = {0};

    (void)self;
    while (txd_law_row_next(&row, block))
        if (row.query % every == every - 1 && row.column[TXD_ROW_SEEN] > 1) {
            to[0] += row.column[TXD_ROW_ENTROPY] / log(row.column[TXD_ROW_SEEN]);
            to[1]++;
        }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const double *sums = slot;
    state *s = self;
    double *entropy;

    if (block->site->kind == TXD_SITE_PARAMETER)
        return txd_trio_add_parameter(&s->trio, block);
    if (txd_point_in_self(block->site->point) == TXD_POINT_ATTN_V)
        return txd_trio_add_values(&s->trio, block);
    entropy = s->entropy + 2 * txd_law_part(block->site);
    entropy[0] += sums[0];
    entropy[1] += sums[1];
    return TXD_OK;
}

static alike look_for_alike(const state *s, size_t part)
{
    alike found = {.cosine = -1};

    for (size_t g = 0; g < s->trio.groups; g++)
        for (size_t p = 0; p < s->trio.pair_count; p++) {
            double cosine = 0;

            if (!txd_trio_cosine(&cosine, &s->trio, part, g, p))
                continue;
            found.judged++;
            found.inherited += isnan(cosine);
            found.broken += !isnan(cosine) && !txd_within(cosine, s->similar);
            if (cosine > found.cosine) {
                found.cosine = cosine;
                found.group = g;
                found.pair = p;
            }
        }
    return found;
}

static txd_status add_part(txd_result *result, const state *s, size_t part,
                           const alike *found)
{
    const double *entropy = s->entropy + 2 * part;
    const txd_role *roles = txd_trio_pairs[found->pair];
    bool is_query = roles[0] == TXD_ROLE_Q;
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;
    char number[32];

    at.head = (int64_t)found->group;
    finding = txd_law_finding(
        txd_point_in((txd_attention_kind)(part % 2),
                     roles[1] == TXD_ROLE_K ? TXD_POINT_ATTN_K_PROJ : TXD_POINT_ATTN_V),
        (int)(part / 2), &at);
    finding.measured = found->cosine;
    finding.allowed = s->similar;
    txd_law_say(
        &finding,
        "KV head %zu: its %s matrix is the %s matrix of %shead %zu (cosine %s); "
        "%" PRIu64 " of %" PRIu64 " pairs of this layer are alike",
        found->group, words[roles[1]], words[roles[0]], is_query ? "" : "KV ",
        is_query ? found->group * s->trio.share : found->group,
        txd_law_number(number, found->cosine), found->broken, found->judged);
    if (entropy[1] > 0 && entropy[0] / entropy[1] > NEARLY_UNIFORM)
        txd_law_say(&finding,
                    "; the attention of the layer has %.1f %% of the entropy of equal "
                    "weights",
                    100 * entropy[0] / entropy[1]);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += found->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    result->allowed = s->similar;
    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++) {
        alike found = look_for_alike(s, part);

        result->evaluated += found.judged;
        inherited += found.inherited;
        if (found.cosine > result->worst)
            result->worst = found.cosine;
        if (found.broken > 0)
            TXD_TRY(add_part(result, s, part, &found));
    }
    if (result->verdict == TXD_VERDICT_PASS && inherited > 0)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " pairs of matrices or values are not finite: "
                        "nothing shows that they differ",
                        inherited);
    if (result->evaluated == 0)
        snprintf(result->note, sizeof result->note,
                 "matrices of so few elements are alike by chance; and so few lanes "
                 "or tokens tell nothing without the parameters, which a recording "
                 "does not hold");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_trio_finish(&s->trio);
    free(s->entropy);
    free(s);
}

static txd_status prepare(state *s, const txd_check_context *context)
{
    s->claimed = context->claimed;
    s->entropy = calloc(s->claimed->n_layers * 4, sizeof *s->entropy);
    if (!s->entropy)
        return txd_fail(TXD_ERR_MEMORY, "qkv_distinct: no memory");
    TXD_TRY(
        txd_threshold_read(&s->similar, TXD_THRESHOLD_QKV_DISTINCT_SIMILAR, context));
    return txd_trio_init(&s->trio, s->claimed);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "qkv_distinct: no memory");
    status = prepare(s, context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "qkv_distinct",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = 2 * sizeof *s->entropy,
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_qkv_distinct = {
    .name = "qkv_distinct",
    .law = "queries, keys and values are made by three different matrices",
    .formula =
        "|cosine| <= similar = 0.999 between W_k of KV head g, W_v of it and W_q "
        "of the first query head of its group, and between the values that they "
        "give",
    .causes = "one shared projection for queries, keys and values; the same tensor "
              "loaded under two names; values computed from the projection of the keys",
    .look_next = "attn.q.weight, attn.k.weight and attn.v.weight of the layer (or the "
                 "rows of attn.qkv.weight): which of them are one",
    .unit = "pairs",
    .faults = (const char *const[]){"shared_qkv", "values_from_keys", NULL},
    .keys = txd_keys_qkv_distinct,
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_CROSS_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_V, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_V, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_ROWS},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
