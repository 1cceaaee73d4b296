/* SPDX-License-Identifier: MIT
 *
 * Fault: the sums of the output projection are divided among the threads, and what each
 * comes to is rounded before it is added: every number of threads has results of its
 * own.
 */
#include "faults/wrap.h"

/* A part per thread, and one for what is left over. */
static double sum_of(const struct txd_linear_args *args, size_t cell, size_t parts)
{
    const txd_op_site *at = &args->at;
    bool is_double = txd_wrap_of(at)->below.backend->dtype == TXD_F64;
    size_t row = cell / args->n, column = cell % args->n;
    double sum = args->bias == NULL ? 0 : txd_wrap_get(at, args->bias, column);

    for (size_t p = 0; p < parts; p++) {
        size_t begin = p * args->k / parts, end = (p + 1) * args->k / parts;
        double part = 0;

        for (size_t i = begin; i < end; i++)
            part += txd_wrap_get(at, args->x, row * args->k + i) *
                    txd_wrap_get(at, args->weight, column * args->k + i);
        sum += is_double ? part : (double)(float)part;
    }
    return sum;
}

static txd_status linear(txd_ctx *ctx, const struct txd_linear_args *args)
{
    size_t parts = (size_t)ctx->threads + 1;

    if (args->at.point != TXD_POINT_ATTN_OUT)
        return txd_below_linear(ctx, args);
    for (size_t cell = 0; cell < args->rows * args->n; cell++)
        txd_wrap_set(&args->at, args->out, cell, sum_of(args, cell, parts));
    return TXD_OK;
}

/* The sum is the same but for its roundings, and so is its gradient. */
static txd_status linear_back(txd_ctx *ctx, const struct txd_linear_back_args *args)
{
    return txd_below_linear_back(ctx, args);
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.linear = linear, .linear_back = linear_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_thread_dependent = {
    .name = "thread_dependent",
    .sentence = "the sums of the output projection are divided among the threads and "
                "rounded in parts: the result depends on how many there are",
    .symptom = "two machines, or two runs on a busy one, differ in the last digits; a "
               "comparison bit by bit is never clean",
    .example = "wrong: reduction(+: sum) over all threads, in whatever order\n"
               "right: the same parts in the same order, whoever computes them",
    .selectors = TXD_FAULT_LAYERS,
    .plant = plant,
};
