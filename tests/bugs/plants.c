/* SPDX-License-Identifier: MIT
 *
 * What several tests of bugs plant.
 */
#include "bug.h"

#include <math.h>

#include "faults/wrap.h"

const txd_fault_use bug_everywhere = {.name = "planted by the test"};

enum { LONGEST = 64 };

/* One row; what it writes may lie where it reads. */
static txd_status renormalise(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    const txd_op_site *at = &args->at;
    double exponential[LONGEST], sum = 0;

    ck_assert_uint_le(args->keys, LONGEST);
    for (size_t j = 0; j < args->keys; j++)
        exponential[j] = exp(txd_wrap_get(at, args->masked, j)) / LONGEST;
    TXD_TRY(txd_below_softmax(ctx, args));
    for (size_t j = 0; j < args->keys; j++)
        if (txd_wrap_get(at, args->out, j) > 0) {
            txd_wrap_set(at, args->out, j, exponential[j]);
            sum += exponential[j];
        }
    for (size_t j = 0; sum > 0 && j < args->keys; j++)
        txd_wrap_set(at, args->out, j, txd_wrap_get(at, args->out, j) / sum);
    return TXD_OK;
}

static txd_status renormalised(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    return txd_wrap_softmax(ctx, args, renormalise);
}

txd_status bug_mask_then_renormalise(txd_plan *plan)
{
    static const struct txd_ops mine = {.softmax = renormalised};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

static void zeros_in_padding(txd_block *block)
{
    size_t each = txd_tensor_count(&block->value) / block->dims[0] / block->dims[1];

    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        if (block->pass->inputs->valid[i / each] == 0)
            bug_set(block, i, 0);
}

txd_status bug_zero_padding(txd_plan *plan)
{
    TXD_TRY(bug_edit(plan, TXD_POINT_ATTN_MERGED, 0, zeros_in_padding));
    return bug_edit(plan, TXD_POINT_ATTN_OUT, 0, zeros_in_padding);
}
