/* SPDX-License-Identifier: MIT
 *
 * Fault: a transposed view is read as if its memory were packed. The attention kernel
 * stores its output as (b, t, h, f) and hands out a view of it as (b, h, t, f); the
 * merge, a kernel that asks for no strides, takes the memory for (b, h, t, f) and
 * transposes once more.
 */
#include <string.h>

#include "faults/wrap.h"

/* Row (t, h) of the merged value comes from row h length + t of memory, where that
 * row's own token and head are. `back` moves the other way. */
static void move(const struct txd_heads_args *args, bool back)
{
    size_t rows = args->length * args->heads;
    size_t bytes = txd_wrap_bytes(&args->at, args->width);

    for (size_t i = 0; i < args->batch * rows; i++) {
        size_t batch = i / rows * rows;
        size_t token = i % rows / args->heads, head = i % args->heads;
        size_t memory = head * args->length + token;
        size_t inner =
            batch + memory % args->heads * args->length + memory / args->heads;

        memcpy((char *)args->out + (back ? inner : i) * bytes,
               (const char *)args->x + (back ? i : inner) * bytes, bytes);
    }
}

static txd_status merge(txd_ctx *ctx, const struct txd_heads_args *args)
{
    (void)ctx;
    move(args, false);
    return TXD_OK;
}

static txd_status merge_back(txd_ctx *ctx, const struct txd_heads_args *args)
{
    (void)ctx;
    move(args, true);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.merge_heads = merge,
                                        .merge_heads_back = merge_back};

    return txd_plan_replace(plan, use, &mine);
}

const txd_fault txd_fault_strides_ignored = {
    .name = "strides_ignored",
    .sentence = "the merge reads the heads, a transposed view, as if they were packed",
    .symptom = "right in one memory layout and wrong in the other; lengths that are "
               "padded (and so copied) hide it",
    .example =
        "wrong: kernel(heads.data_ptr())                 # strides not looked at\n"
        "right: kernel(heads.contiguous().data_ptr())",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = txd_fault_needs_heads,
    .idle = txd_fault_idle_at_one_token,
    .plant = plant,
};
