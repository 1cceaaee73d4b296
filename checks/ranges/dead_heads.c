/* SPDX-License-Identifier: MIT
 *
 * Heads that give nothing: their output is exactly 0 at every token that sees a key. A
 * model has such a head if it was pruned, never loaded, or if its values are never
 * written. A head that gave something once is no longer looked at.
 */
#include <math.h>
#include <stdlib.h>

#include "checks/law.h"

typedef struct head {
    bool is_alive;
    uint64_t tokens; /* at which it was 0 although the query sees a key */
    int step;
} head;

typedef struct state {
    const txd_config *claimed;
    head *heads; /* (2 layers, heads): by txd_law_part */
    uint64_t spoilt;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE &&
                   txd_point_in_self(site->point) == TXD_POINT_ATTN_HEADS
               ? TXD_ASK_VALUE
               : 0;
}

/* A query that may see no key gives nothing by right. */
static bool sees(const txd_block *block, size_t batch, size_t query)
{
    txd_span run;

    return !txd_law_run_of(&run, block, batch, query) || run.end > run.begin;
}

/* Whether the head is 0 there; *is_undefined if it is not finite. */
static bool is_zero(bool *is_undefined, const txd_tensor *value, size_t first,
                    size_t width)
{
    for (size_t i = 0; i < width; i++) {
        double x = txd_tensor_get(value, first + i);

        *is_undefined = !isfinite(x);
        if (*is_undefined || x != 0)
            return false;
    }
    return true;
}

static void look_at(head *h, state *s, const txd_block *block, size_t batch,
                    size_t number)
{
    const size_t *dims = block->dims;
    const int32_t *valid = block->pass->inputs->valid + batch * dims[2];
    bool is_undefined;

    for (size_t q = 0; q < dims[2] && !h->is_alive; q++) {
        size_t first = ((batch * dims[1] + number) * dims[2] + q) * dims[3];

        if (!valid[q])
            continue;
        if (!is_zero(&is_undefined, &block->value, first, dims[3])) {
            s->spoilt += is_undefined;
            h->is_alive = true;
        } else if (sees(block, batch, q)) {
            h->tokens++;
        }
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    head *heads = s->heads + txd_law_part(block->site) * s->claimed->n_heads;

    (void)slot;
    if (!block->value.data)
        return TXD_OK;
    for (size_t h = 0; h < block->dims[1]; h++) {
        heads[h].step = block->site->step;
        for (size_t b = 0; b < block->dims[0]; b++)
            look_at(&heads[h], s, block, b, h);
    }
    return TXD_OK;
}

static bool is_dead(const head *h)
{
    return !h->is_alive && h->tokens > 0;
}

/* One finding for the dead heads of an attention; nothing if there are none. */
static txd_status judge(txd_result *result, const state *s, size_t part)
{
    const head *heads = s->heads + part * s->claimed->n_heads;
    size_t dead = 0, first = 0, judged = 0;
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;

    for (size_t h = 0; h < s->claimed->n_heads; h++) {
        judged += heads[h].is_alive || heads[h].tokens > 0;
        if (is_dead(&heads[h]))
            first = dead++ == 0 ? h : first;
    }
    result->evaluated += judged;
    if (dead == 0)
        return TXD_OK;
    at.step = heads[first].step;
    at.head = (int64_t)first;
    finding = txd_law_finding(part % 2 ? TXD_POINT_CROSS_HEADS : TXD_POINT_ATTN_HEADS,
                              (int)(part / 2), &at);
    finding.measured = (double)dead;
    finding.allowed = 0;
    result->worst = fmax(result->worst, (double)dead);
    txd_law_say(&finding, "head %zu", first);
    if (dead > 1)
        txd_law_say(&finding, " and %zu other%s of %zu give", dead - 1,
                    dead == 2 ? "" : "s", s->claimed->n_heads);
    else
        txd_law_say(&finding, " gives");
    txd_law_say(&finding,
                " exactly 0 at all of %llu tokens: its values are 0, or are never "
                "written",
                (unsigned long long)heads[first].tokens);
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    for (size_t part = 0; part < 2 * s->claimed->n_layers; part++)
        TXD_TRY(judge(result, s, part));
    if (s->spoilt > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_LIMIT, "attn.heads is not finite: see `finite`");
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->heads);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "dead_heads: no memory");
    s->claimed = context->claimed;
    s->heads = calloc(2 * s->claimed->n_layers * s->claimed->n_heads, sizeof *s->heads);
    if (!s->heads) {
        destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "dead_heads: no memory");
    }
    *tap = (txd_tap){.name = "dead_heads",
                     .self = s,
                     .ask = ask,
                     .merge = merge,
                     .independent = true};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_dead_heads = {
    .name = "dead_heads",
    .law = "every head gives something",
    .formula =
        "attn.heads[b, h, t, :] is not exactly 0 at all real tokens t that see a "
        "key",
    .causes = "rows of W_v that are 0 (pruned, or never loaded), a buffer of values "
              "that is never written, weights that are all 0",
    .look_next = "attn.v and attn.weights of the named head",
    .unit = "heads",
    .faults = (const char *const[]){"head_dead", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_HEADS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
