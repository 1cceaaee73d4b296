/* SPDX-License-Identifier: MIT
 *
 * More keys than queries, as with a cache of earlier calls: the causal mask ends at the
 * last key, not at the last column of a square. Each query sees the newest key that it
 * may see, and as many keys as it may see.
 */
#include "checks/mask/alignment.h"
#include "checks/experiments/calls.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

static const char *inapplicable(const txd_check_context *context)
{
    if (!context->run && !context->has_past)
        return "every step has as many keys as queries: there is nothing to align";
    for (size_t l = 0; l < context->claimed->n_layers; l++)
        if (context->claimed->layers[l].causal)
            return NULL;
    return "the claimed mask is not causal (mask.causal = false)";
}

static unsigned ask(void *self, const txd_site *site)
{
    const txd_alignment *s = self;

    if (!s->is_asking || site->kind != TXD_SITE_VALUE ||
        (site->point != TXD_POINT_ATTN_MASKED &&
         site->point != TXD_POINT_ATTN_WEIGHTS) ||
        !s->claimed->layers[site->layer].causal)
        return 0;
    return TXD_ASK_VALUE;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    (void)slot;
    return txd_alignment_look(self, block);
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    txd_alignment_step_end(self, pass);
    return TXD_OK;
}

/* ---- what it says ---- */

static void say_cause(txd_finding *finding, const txd_alignment_tally *t)
{
    uint64_t cut = t->broken - t->holed;

    if (cut == 0)
        txd_law_say(finding,
                    ": the newest are seen, others between are not, as where slots of "
                    "a cache are skipped");
    else if (t->like.corner == cut)
        txd_law_say(finding,
                    ": query r sees r + 1 keys, the mask is aligned to the top left "
                    "corner; with k keys and q queries its diagonal begins at k - q");
    else if (t->like.own == cut)
        txd_law_say(finding,
                    ": nothing behind the keys of earlier calls is seen, the valid "
                    "length of the cache is that before the call");
    else if (t->like.one == cut)
        txd_law_say(finding, ": every row is one key short, that of its own token");
}

static txd_status add_layer(txd_result *result, const txd_alignment *s, size_t layer)
{
    const txd_alignment_tally *t = &s->layers[layer];
    txd_finding finding =
        txd_law_finding(t->by_weights ? TXD_POINT_ATTN_WEIGHTS : TXD_POINT_ATTN_MASKED,
                        (int)layer, &t->at);

    if (t->broken == 0)
        return TXD_OK;
    if (t->by_weights)
        finding.head = -1;
    txd_law_say_place(&finding, s->batches);
    if (t->newest == t->at.key)
        txd_law_say(&finding, "query %" PRId64 " sees %" PRId64 " of %" PRId64 " keys",
                    t->at.query, t->seen, t->may);
    else if (t->newest < 0)
        txd_law_say(&finding,
                    "query %" PRId64 " sees no key, it may see up to %" PRId64,
                    t->at.query, t->at.key);
    else
        txd_law_say(&finding,
                    "the newest key that query %" PRId64 " sees is %" PRId64
                    ", it may see up to %" PRId64,
                    t->at.query, t->newest, t->at.key);
    txd_law_say(&finding, "; %" PRIu64 " of %" PRIu64 " rows are so", t->broken,
                t->rows);
    say_cause(&finding, t);
    finding.measured = fabs(
        (double)(t->newest == t->at.key ? t->may - t->seen : t->at.key - t->newest));
    if (finding.measured > result->worst)
        result->worst = finding.measured;
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const txd_alignment *s = self;

    result->evaluated = s->rows;
    for (size_t l = 0; l < s->claimed->n_layers; l++)
        TXD_TRY(add_layer(result, s, l));
    if (s->steps == 0)
        snprintf(result->note, sizeof result->note,
                 "every pass has as many keys as queries: there is nothing to align");
    else if (s->unknown > 0)
        snprintf(result->note, sizeof result->note,
                 "%" PRIu64 " rows hold NaN where keys may be seen, and are not judged",
                 s->unknown);
    if (s->unknown > 0 && result->verdict == TXD_VERDICT_PASS)
        result->verdict = TXD_VERDICT_OPEN;
    return TXD_OK;
}

static void destroy(void *self)
{
    txd_alignment_destroy(self);
}

/* A prompt in two pieces, and a token. */
static txd_status watch(void *self, txd_experiment *experiment, txd_tap *tap)
{
    txd_alignment *s = self;
    txd_calls calls = {.tap = tap};

    s->is_asking = true;
    if (experiment->inputs.length < 2)
        return TXD_OK;
    txd_calls_of_chunks(&calls, experiment->inputs.length);
    return txd_calls_make(experiment, &calls);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    txd_alignment *s;

    TXD_TRY(txd_alignment_create(&s, context->claimed));
    s->is_asking = context->has_past || (context->run && context->run->cache);
    *tap = (txd_tap){.name = "causal_alignment",
                     .self = s,
                     .ask = ask,
                     .merge = merge,
                     .independent = true,
                     .step_end = step_end};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_causal_alignment = {
    .name = "causal_alignment",
    .law = "where there are more keys than queries, the last query sees the newest key",
    .formula = "with k keys and q queries, query r sees k - q + r + 1 keys, the newest "
               "of which is key k - q + r (fewer behind a window, padding and the "
               "borders of documents); every key that the claimed mask shows is seen",
    .causes = "a causal mask made as a square and cut (tril(ones(q, k)) without the "
              "diagonal k - q: aligned to the top left corner); a cache whose valid "
              "length is read before the call's own keys are in it; slots of a cache "
              "that are skipped",
    .look_next = "attn.masked of the same query: which keys read -inf; how the mask of "
                 "a step with a cache is made",
    .unit = "rows",
    .softmax_rows = true,
    .faults = (const char *const[]){"mask_top_left", "cache_newest_hidden",
                                    "cache_hole", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_WEIGHTS, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .inapplicable = inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
    .watch = watch,
};
