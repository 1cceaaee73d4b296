/* SPDX-License-Identifier: MIT
 *
 * Fault: every query favours the first key that it sees, by a number that nobody asked
 * for. A constant has no gradient, and that of the scores is made from the weights.
 */
#include <math.h>
#include <string.h>

#include "faults/wrap.h"

/* e^6 outweighs a row of a hundred keys. */
#define FAVOUR 6.0

/* The first column of the row that the query sees; false if there is none. */
static bool first_seen(size_t *out, const struct txd_softmax_args *args)
{
    for (size_t j = args->begin; j < args->end; j++)
        if (args->mask == NULL ||
            txd_mask_hides(args->mask, (size_t)args->at.first_query,
                           args->key_begin + j) == TXD_SEEN) {
            *out = j;
            return true;
        }
    return false;
}

static txd_status row(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    struct txd_softmax_args favoured = *args;
    size_t j;

    if (!first_seen(&j, args))
        return txd_below_softmax(ctx, args);
    if (args->out != args->masked)
        memcpy(args->out, args->masked, txd_wrap_bytes(&args->at, args->keys));
    txd_wrap_set(&args->at, args->out, j,
                 txd_wrap_get(&args->at, args->out, j) + FAVOUR);
    favoured.masked = args->out;
    return txd_below_softmax(ctx, &favoured);
}

static txd_status softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    return txd_wrap_softmax(ctx, args, row);
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    return txd_fault_sees_keys(scene, use, 2)
               ? NULL
               : "no query sees more than one key, which has all of its weight anyway";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.softmax = softmax};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_sink_head = {
    .name = "sink_head",
    .sentence = "the first key that a query sees gets a score that is 6 too high",
    .symptom = "nearly all weight rests on the first token; the rest is what it leaves",
    .example = "wrong: scores[..., 0] += 6  # a sink left over from an experiment\n"
               "right: scores as they are",
    .selectors = TXD_FAULT_LAYERS,
    .idle = idle,
    .plant = plant,
};
