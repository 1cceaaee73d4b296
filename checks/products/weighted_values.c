/* SPDX-License-Identifier: MIT
 *
 * The heads are the weights times the values of their own KV head. With n the weights
 * of a row, y the sum taken here in double of the weights and values that the pass had,
 * S the sum of the absolute terms, u_a and u_s the roundoffs of accumulation and
 * storage:
 *   |heads - y| <= E + u_s (|y| + E) + tiny, E = (gamma_n(u_a) + gamma_n(2^-53)) S
 *                                                + n lost.
 * Some queries of every head are judged: who reads the values of another head does it
 * for all queries. Weights come before heads, so those of the queries are kept.
 */
#include "checks/products/weighted.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

typedef struct state {
    const txd_config *claimed;
    txd_weighted_rows rows;
    txd_weighted_tally *tallies; /* (layers, 2) */
    txd_weighted_head *heads;    /* (layers, 2, heads) */
    uint32_t *groups;            /* (layers, 2, heads, groups) */
    double *work;                /* (2, width) */
    size_t batches;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    txd_point point = txd_point_in_self(site->point);

    (void)self;
    return site->kind == TXD_SITE_VALUE &&
                   (point == TXD_POINT_ATTN_WEIGHTS || point == TXD_POINT_ATTN_HEADS)
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point operands[2][3] = {
        {TXD_POINT_ATTN_K, TXD_POINT_ATTN_V, TXD_POINT_COUNT},
        {TXD_POINT_CROSS_K, TXD_POINT_CROSS_V, TXD_POINT_COUNT}};

    (void)self;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_HEADS)
        return NULL;
    return operands[txd_point_attention(point)];
}

/* Keys of earlier calls, in a cache, are not at hand. */
static bool has_all_keys(const txd_block *block)
{
    return txd_point_attention(block->site->point) == TXD_ATTENTION_CROSS ||
           block->pass->inputs->past == 0;
}

static txd_status judge(state *s, const txd_block *block)
{
    txd_attention_kind kind = txd_point_attention(block->site->point);
    size_t part = txd_law_part(block->site);
    txd_weighted_values values = {.heads = block->value,
                                  .claimed = s->claimed,
                                  .pass = block->pass,
                                  .step = block->site->step,
                                  .sums = s->work,
                                  .sizes = s->work + s->claimed->value_dim};

    if (!block->value.data || s->rows.part != part ||
        s->rows.step != block->site->step || !has_all_keys(block))
        return TXD_OK;
    if (txd_block_earlier(&values.v, block, txd_point_in(kind, TXD_POINT_ATTN_V)) !=
        TXD_OK)
        return TXD_OK; /* not recorded in this layer */
    if (txd_block_earlier(&values.k, block, txd_point_in(kind, TXD_POINT_ATTN_K)) !=
        TXD_OK)
        values.k.data = NULL;
    txd_weighted_judge(&s->tallies[part], &s->rows, &values);
    s->rows.count = s->rows.cell_count = 0;
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    s->batches = block->pass->inputs->batch;
    if (txd_point_in_self(block->site->point) == TXD_POINT_ATTN_WEIGHTS)
        return has_all_keys(block) ? txd_weighted_take(&s->rows, block) : TXD_OK;
    return judge(s, block);
}

/* ---- findings ---- */

/* The KV head whose values explain all that was tried of a head; -1 if none does. */
static int64_t source_of(const state *s, const txd_weighted_head *head)
{
    for (size_t g = 0; head->tried > 0 && g < s->claimed->n_kv_heads; g++)
        if (head->group[g] == head->tried)
            return (int64_t)g;
    return -1;
}

/* True if every broken head reads what a rule says. */
static bool follows(const state *s, const txd_weighted_tally *t, bool is_tiled)
{
    size_t groups = s->claimed->n_kv_heads;

    for (size_t h = 0; h < s->claimed->n_heads; h++) {
        size_t index = h / groups < groups ? h / groups : groups - 1;

        if (t->heads[h].tried > 0 &&
            source_of(s, &t->heads[h]) != (int64_t)(is_tiled ? h % groups : index))
            return false;
    }
    return true;
}

static void say_source(txd_finding *finding, const state *s,
                       const txd_weighted_tally *t)
{
    int64_t source = source_of(s, &t->heads[t->at.head]);
    bool is_tiled = follows(s, t, true), is_index = follows(s, t, false);

    if (is_tiled)
        txd_law_say(finding, ": the KV heads are tiled over the query heads (0 1 0 1) "
                             "instead of repeated (0 0 1 1)");
    if (is_index)
        txd_law_say(finding,
                    "%s the KV head is taken as head / n_kv_heads instead of head / "
                    "(n_heads / n_kv_heads)",
                    is_tiled ? ", or" : ":");
    if (!is_tiled && !is_index && source >= 0)
        txd_law_say(finding, ": it reads the values of KV head %" PRId64, source);
}

static void say_cause(txd_finding *finding, const state *s, const txd_weighted_tally *t)
{
    double factor = t->yy > 0 ? t->fy / t->yy : 0;
    char text[32];

    if (source_of(s, &t->heads[t->at.head]) >= 0)
        say_source(finding, s, t);
    else if (t->is_keys == t->tried)
        txd_law_say(finding, ": it is the weights times the keys, attn.k");
    else if (t->is_twice == t->tried)
        txd_law_say(finding, ": the values are repeated along the tokens (0 0 1 1) "
                             "instead of the heads");
    else if (t->yy > 0 && t->ff - t->fy * factor <= 1e-6 * t->ff)
        txd_law_say(finding, ": all are %s times what they should be",
                    txd_law_number(text, factor));
    else
        txd_law_say(finding, ": no other KV head, nor the keys, explain it");
}

static txd_status add_part(txd_result *result, const state *s, size_t part)
{
    const txd_weighted_tally *t = &s->tallies[part];
    txd_attention_kind kind = (txd_attention_kind)(part % 2);
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(txd_point_in(kind, TXD_POINT_ATTN_HEADS), (int)(part / 2),
                              &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding, "query %" PRId64 ", lane %zu is %s, ", t->at.query, t->lane,
                found);
    txd_law_say(&finding, "the weights times the values of KV head %zu give %s",
                txd_kv_head_of(s->claimed, (size_t)t->at.head), expected);
    txd_law_say(&finding, "; %" PRIu64 " of %" PRIu64 " elements are off", t->broken,
                t->judged);
    say_cause(&finding, s, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++) {
        inherited += s->tallies[part].inherited;
        TXD_TRY(add_part(result, s, part));
    }
    if (inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " elements come from weights or values that are "
                        "not finite: whether they are right cannot be said",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    txd_weighted_finish(&s->rows);
    free(s->tallies);
    free(s->heads);
    free(s->groups);
    free(s->work);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    size_t parts = 2 * c->n_layers, heads = parts * c->n_heads;
    size_t width = c->value_dim > c->head_dim ? c->value_dim : c->head_dim;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->tallies = calloc(parts, sizeof *s->tallies);
        s->heads = calloc(heads, sizeof *s->heads);
        s->groups = calloc(heads * c->n_kv_heads, sizeof *s->groups);
        s->work = calloc(2 * width, sizeof *s->work);
    }
    if (!s || !s->tallies || !s->heads || !s->groups || !s->work) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "weighted_values: no memory");
    }
    for (size_t i = 0; i < heads; i++)
        s->heads[i].group = s->groups + i * c->n_kv_heads;
    for (size_t i = 0; i < parts; i++)
        s->tallies[i].heads = s->heads + i * c->n_heads;
    s->claimed = c;
    *tap = (txd_tap){.name = "weighted_values",
                     .self = s,
                     .ask = ask,
                     .needs = needs,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_weighted_values = {
    .name = "weighted_values",
    .law = "every head is its weights times the values of its own KV head",
    .formula =
        "attn.heads[b, h, q] = sum_k attn.weights[b, h, q, k] attn.v[b, g, k], g = h / "
        "(n_heads / n_kv_heads), within E + u_store (|y| + E), E = (gamma_n(u_acc) + "
        "gamma_n(2^-53)) sum |w v|, n = keys with a weight; cross.* alike",
    .causes = "KV heads that are tiled over the query heads instead of repeated; a KV "
              "head that is taken as head / n_kv_heads; values that are repeated along "
              "the tokens; the keys in place of the values; something that is mixed "
              "into the values behind the mask, or a dropout of the weights that is "
              "not the one that was recorded",
    .look_next = "attn.v and attn.weights of the named head: which rows of which KV "
                 "head it reads",
    .unit = "elements",
    .exact = true,
    .faults = (const char *const[]){"kv_heads_tiled", "kv_index_wrong", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_V, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_CROSS_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_V, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
