/* SPDX-License-Identifier: MIT
 *
 * Fault: the scores are stored in float16, which ends at 65504. The rounding passes the
 * gradient as casts do, so that the backward entry stays what it is.
 */
#include "faults/wrap.h"

static txd_status scores(txd_ctx *ctx, const struct txd_scores_args *args)
{
    const txd_op_site *at = &args->at;

    TXD_TRY(txd_below_scores(ctx, args));
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; txd_wrap_has_row(at, r) && j < args->keys; j++) {
            size_t i = r * args->stride + j;

            txd_wrap_set(at, args->out, i,
                         txd_wrap_round(txd_wrap_get(at, args->out, i), TXD_F16));
        }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.scores = scores};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->backend != NULL && scene->backend->format == TXD_F16
               ? "needs another format than float16: this backend stores scores in it"
               : NULL;
}

const txd_fault txd_fault_fp16_scores = {
    .name = "fp16_scores",
    .sentence = "the scores are stored in float16: 11 bits, and inf above 65504",
    .symptom = "NaN in the middle of training, once a query and a key are long enough",
    .example = "wrong: scores = (q.half() @ k.half().T) * scale\n"
               "right: scores = ((q * scale) @ k.T).float()   # or bfloat16",
    .selectors = TXD_FAULT_TILES,
    .inapplicable = inapplicable,
    .plant = plant,
};
