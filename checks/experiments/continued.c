/* SPDX-License-Identifier: MIT
 *
 * What tokens have at every point, in calls of a run with a cache and in one pass: the
 * same but for rounding, as the sums of a call have other blocks.
 */
#include "checks/experiments/continued.h"

#include <stdio.h>

#include "checks/experiments/versus.h"

const char *txd_continued_inapplicable(const txd_check_context *context)
{
    return txd_experiment_causal_layers(context->claimed) < context->claimed->n_layers
               ? "tokens see later ones (mask.causal = false): in calls these are not "
                 "there yet"
               : NULL;
}

/* The calls under way. */
typedef struct trial {
    txd_versus versus;
    txd_capture call;
} trial;

static const char *cause(txd_point point, bool is_exact)
{
    (void)is_exact;
    switch (txd_point_in_self(point)) {
    case TXD_POINT_EMBED_POS:
    case TXD_POINT_EMBED_OUT:
    case TXD_POINT_ATTN_Q:
    case TXD_POINT_ATTN_K:
        return "its position is another: earlier calls are counted twice, or not at "
               "all";
    case TXD_POINT_ATTN_HEADS:
        return "queries, keys and values of the call are right: it sees other keys "
               "than "
               "in one pass, or what the cache holds of earlier calls is not what they "
               "were";
    default:
        return "what forms it takes in other tokens, and all that it reads had not "
               "moved";
    }
}

/* A real token of the whole is one of the call. */
static void pair(txd_versus *v, size_t first, size_t count)
{
    const txd_inputs *all = v->inputs;

    v->count = 0;
    for (size_t i = 0; i < all->batch * count; i++) {
        size_t whole = i / count * all->length + first + i % count;

        if (all->valid[whole])
            v->pairs[v->count++] = (txd_token_pair){whole, i};
    }
}

/* The next call is kept in the place of this one, which its run knows. */
static txd_status judge_call(void *self, size_t first, size_t count)
{
    trial *t = self;
    unsigned what = t->call.what;

    if (t->versus.result->finding_count > 0)
        return TXD_OK; /* what comes behind the first call that is wrong is wrong, too
                        */
    pair(&t->versus, first, count);
    TXD_TRY(txd_versus_judge(&t->versus, &t->call, false));
    txd_capture_finish(&t->call);
    return txd_capture_init(&t->call, t->versus.e, what);
}

static txd_status make_calls(trial *t, const txd_continued *continued)
{
    txd_calls calls = {.tap = &t->call.tap, .after = judge_call, .self = t};
    txd_status status;

    continued->divide(&calls, t->versus.inputs->length);
    status = txd_capture_init(&t->call, t->versus.e, t->versus.plain.what);
    if (status == TXD_OK)
        status = txd_calls_make(t->versus.e, &calls);
    txd_capture_finish(&t->call);
    return status;
}

txd_status txd_continued_examine(txd_experiment *e, txd_result *result,
                                 const txd_continued *continued)
{
    trial t = {
        .versus = {.e = e, .result = result, .how = continued->how, .cause = cause}};
    txd_status status;

    if (e->inputs.length < 2) {
        snprintf(result->note, sizeof result->note,
                 "one token is a whole sequence: there is nothing to continue");
        return TXD_OK;
    }
    status = txd_versus_begin(&t.versus, &e->inputs, true);
    if (status == TXD_OK)
        status = make_calls(&t, continued);
    txd_versus_finish(&t.versus);
    return status;
}
