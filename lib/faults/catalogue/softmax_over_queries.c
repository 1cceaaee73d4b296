/* SPDX-License-Identifier: MIT
 *
 * Fault: the softmax is taken over the queries of each key instead of the keys of each
 * query: columns sum to 1. It acts where all queries of a head are one tile.
 */
#include <math.h>

#include "faults/wrap.h"

/* The score of a cell, -Inf where it takes no part. */
static double score_at(const struct txd_softmax_args *args, size_t r, size_t j)
{
    txd_span part = txd_span_of(args->spans, r, args->begin, args->end);

    return j >= part.begin && j < part.end
               ? txd_wrap_get(&args->at, args->masked, r * args->stride + j)
               : -INFINITY;
}

static void column(const struct txd_softmax_args *args, size_t j)
{
    double max = -INFINITY, sum = 0;

    for (size_t r = 0; r < args->rows; r++) {
        double score = score_at(args, r, j);

        max = score > max || isnan(score) ? score : max;
    }
    for (size_t r = 0; r < args->rows && max != -INFINITY; r++)
        sum += exp(score_at(args, r, j) - max);
    for (size_t r = 0; r < args->rows; r++)
        txd_wrap_set(&args->at, args->out, r * args->stride + j,
                     max == -INFINITY ? 0 : exp(score_at(args, r, j) - max) / sum);
}

/* Of the rows, as every softmax tells them. */
static void measure_row(const struct txd_softmax_args *args, size_t r)
{
    double max = -INFINITY, sum = 0;

    for (size_t j = 0; j < args->keys; j++) {
        double score = score_at(args, r, j);

        max = score > max || isnan(score) ? score : max;
    }
    for (size_t j = 0; j < args->keys && max != -INFINITY; j++)
        sum += exp(score_at(args, r, j) - max);
    args->max[r] = max;
    args->lse[r] = max == -INFINITY ? max : max + log(sum);
}

static bool is_selected(const txd_op_site *at)
{
    return at->point == TXD_POINT_ATTN_WEIGHTS && txd_wrap_has_tile(at);
}

/* The weights may lie where the scores do: a column is measured, then replaced. */
static txd_status softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    if (!is_selected(&args->at))
        return txd_below_softmax(ctx, args);
    for (size_t r = 0; r < args->rows; r++)
        measure_row(args, r);
    for (size_t j = 0; j < args->keys; j++)
        column(args, j);
    return TXD_OK;
}

static void column_back(const struct txd_softmax_back_args *args, size_t j)
{
    const txd_op_site *at = &args->at;
    double mean = 0;

    for (size_t r = 0; r < args->rows; r++)
        mean += txd_wrap_get(at, args->d_out, r * args->stride + j) *
                txd_wrap_get(at, args->weights, r * args->stride + j);
    for (size_t r = 0; r < args->rows; r++) {
        size_t cell = r * args->stride + j;
        txd_span part = txd_span_of(args->spans, r, args->begin, args->end);
        bool inside = j >= part.begin && j < part.end;
        double d = txd_wrap_get(at, args->weights, cell) *
                   (txd_wrap_get(at, args->d_out, cell) - mean);

        txd_wrap_set(at, args->d_masked, cell, inside ? d : 0);
    }
}

static txd_status softmax_back(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    if (!is_selected(&args->at))
        return txd_below_softmax_back(ctx, args);
    for (size_t j = 0; j < args->keys; j++)
        column_back(args, j);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.softmax = softmax,
                                        .softmax_back = softmax_back};

    return txd_plan_replace(plan, use, &mine);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    const txd_inputs *inputs = scene->inputs;
    size_t longest;

    if (scene->claimed->sinks)
        return "needs a model without sinks, which belong to rows";
    if (inputs == NULL)
        return NULL;
    longest =
        inputs->length > inputs->memory_length ? inputs->length : inputs->memory_length;
    if (inputs->length > txd_attention_tile_rows(longest))
        return "needs an input whose queries are one tile (128 at most)";
    return inputs->length > 1 ? NULL : "needs at least two tokens";
}

static const char *idle(const txd_fault_scene *scene, const txd_fault_use *use)
{
    for (size_t b = 0; b < scene->inputs->batch; b++)
        if (txd_range_has(&use->batch, b))
            for (size_t i = 1; i < scene->inputs->length; i++)
                if (scene->inputs->valid[b * scene->inputs->length + i])
                    return NULL;
    return "the queries are padding, or one alone";
}

const txd_fault txd_fault_softmax_over_queries = {
    .name = "softmax_over_queries",
    .sentence = "the softmax is taken over queries, not over keys: columns sum to 1",
    .symptom =
        "rows sum to anything; with a causal mask the last query gets little, the "
        "first its whole column",
    .example = "wrong: scores.softmax(dim=-2)\n"
               "right: scores.softmax(dim=-1)",
    .selectors = TXD_FAULT_LAYERS | TXD_FAULT_HEADS | TXD_FAULT_BATCH,
    .inapplicable = inapplicable,
    .idle = idle,
    .plant = plant,
};
