/* SPDX-License-Identifier: MIT
 *
 * How faults replace operations. A fault gives a table that holds only what it
 * replaces, forward entries with their backward ones:
 *
 *     static txd_status add(txd_ctx *ctx, const struct txd_pair_args *args) {...}
 *     static const struct txd_ops mine = {.add = add, .add_back = add_back};
 *
 * and plants it with txd_plan_wrap or txd_plan_replace; in two tables, where one of the
 * two entries needs what is below and the other does without. A replacement reaches
 * what it replaced by txd_below_add(ctx, args), which may be another fault's, and its
 * own use by txd_wrap_of(&args->at).
 */
#ifndef TXD_FAULTS_WRAP_H
#define TXD_FAULTS_WRAP_H

#include "faults/fault.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A fault at one layer. */
typedef struct txd_wrap {
    const txd_fault_use *use;
    const struct txd_ops *mine; /* the entries that are not NULL replace */
    const void *more;           /* the fault's own; must outlive the plan */
    struct txd_layer_ops below; /* the layer's table as it was */
} txd_wrap;

/* Puts the entries of `mine` around those of the layers that `use` selects: they call
 * what is below, so that faults add up. */
txd_status txd_plan_wrap(txd_plan *plan, const txd_fault_use *use,
                         const struct txd_ops *mine, const void *more);
/* The same for entries that do without what is below (in selected rows): they go under
 * all that wrap. ERR_INAPPLICABLE where another fault has replaced the same operation:
 * it would do nothing. */
txd_status txd_plan_replace(txd_plan *plan, const txd_fault_use *use,
                            const struct txd_ops *mine);

/* txd_plan_wrap for what stands outside of the layers: embeddings, final norm, head. */
txd_status txd_plan_wrap_ends(txd_plan *plan, const txd_fault_use *use,
                              const struct txd_ops *mine, const void *more);

static inline const txd_wrap *txd_wrap_of(const txd_op_site *at)
{
    return (const txd_wrap *)at->self;
}

/* Whether the batch row and head of a tile are selected; whether its row r is, too. */
bool txd_wrap_has_tile(const txd_op_site *at);
bool txd_wrap_has_row(const txd_op_site *at, size_t r);

/* Whether the addition at `at` is one to the residual stream: a the stream, b the
 * branch. */
bool txd_wrap_is_residual(const txd_op_site *at);

/* Calls `row` for each selected row of a tile, with arguments that hold that row alone;
 * for the others, what was replaced. */
txd_status txd_wrap_softmax(txd_ctx *ctx, const struct txd_softmax_args *args,
                            txd_status (*row)(txd_ctx *ctx,
                                              const struct txd_softmax_args *args));
txd_status txd_wrap_softmax_back(
    txd_ctx *ctx, const struct txd_softmax_back_args *args,
    txd_status (*row)(txd_ctx *ctx, const struct txd_softmax_back_args *args));

/* Element i of a value of this backend, and storing one, rounded as it stores. */
double txd_wrap_get(const txd_op_site *at, const void *values, size_t i);
void txd_wrap_set(const txd_op_site *at, void *values, size_t i, double value);
/* The nearest number of a format (TXD_F64, TXD_F32, TXD_BF16 or TXD_F16), rounded
 * once. */
double txd_wrap_round(double value, txd_dtype format);
/* Bytes of `count` elements. */
size_t txd_wrap_bytes(const txd_op_site *at, size_t count);

/* txd_below_NAME: the operation that was replaced. */
#define TXD_OP(name, arguments)                                                        \
    static inline txd_status txd_below_##name(                                         \
        txd_ctx *ctx, const struct txd_##arguments##_args *args)                       \
    {                                                                                  \
        const txd_wrap *wrap = txd_wrap_of(&args->at);                                 \
        struct txd_##arguments##_args below = *args;                                   \
                                                                                       \
        below.at.self = wrap->below.self[TXD_OP_##name];                               \
        return wrap->below.ops.name(ctx, &below);                                      \
    }
TXD_OPS(TXD_OP)
#undef TXD_OP

#ifdef __cplusplus
}
#endif

#endif
