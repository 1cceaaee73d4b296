/* SPDX-License-Identifier: MIT
 *
 * Fault: the MLP's matrices lie as (in, out) in memory and are read as (out, in). Of a
 * square matrix that is the transposed one; of another each row is a run of its
 * neighbours' elements.
 */
#include <stdlib.h>

#include "faults/wrap.h"

static bool is_of_mlp(const txd_op_site *at)
{
    return at->point == TXD_POINT_MLP_UP || at->point == TXD_POINT_MLP_GATE ||
           at->point == TXD_POINT_MLP_OUT;
}

/* Where the element that is read as number `place` lies in the right matrix (n, k). */
static size_t source_of(size_t place, size_t n, size_t k)
{
    return place % n * k + place / n;
}

static txd_status reserve(void **out, const txd_op_site *at, size_t count)
{
    *out = calloc(1, txd_wrap_bytes(at, count));
    return *out != NULL ? TXD_OK
                        : txd_fail(TXD_ERR_MEMORY,
                                   "weight_transposed: no memory for another matrix");
}

static txd_status misread(void **out, const txd_op_site *at, const void *weight,
                          size_t n, size_t k)
{
    TXD_TRY(reserve(out, at, n * k));
    for (size_t i = 0; i < n * k; i++)
        txd_wrap_set(at, *out, i, txd_wrap_get(at, weight, source_of(i, n, k)));
    return TXD_OK;
}

static txd_status linear(txd_ctx *ctx, const struct txd_linear_args *args)
{
    struct txd_linear_args other = *args;
    void *weight = NULL;
    txd_status status;

    if (!is_of_mlp(&args->at))
        return txd_below_linear(ctx, args);
    TXD_TRY(misread(&weight, &args->at, args->weight, args->n, args->k));
    other.weight = weight;
    status = txd_below_linear(ctx, &other);
    free(weight);
    return status;
}

static txd_status linear_back(txd_ctx *ctx, const struct txd_linear_back_args *args)
{
    struct txd_linear_back_args other = *args;
    const txd_op_site *at = &args->at;
    size_t n = args->n, k = args->k;
    void *weight = NULL, *gradient = NULL;
    txd_status status;

    if (!is_of_mlp(at))
        return txd_below_linear_back(ctx, args);
    TXD_TRY(misread(&weight, at, args->weight, n, k));
    status = reserve(&gradient, at, n * k);
    other.weight = weight;
    other.d_weight = args->d_weight == NULL ? NULL : gradient;
    if (status == TXD_OK)
        status = txd_below_linear_back(ctx, &other);
    for (size_t i = 0; status == TXD_OK && args->d_weight != NULL && i < n * k; i++) {
        size_t to = source_of(i, n, k);

        txd_wrap_set(at, args->d_weight, to,
                     txd_wrap_get(at, args->d_weight, to) +
                         txd_wrap_get(at, gradient, i));
    }
    free(gradient);
    free(weight);
    return status;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->d_ff > 1 && scene->claimed->d_model > 1
               ? NULL
               : "needs matrices of several rows and columns";
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.linear = linear, .linear_back = linear_back};

    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_weight_transposed = {
    .name = "weight_transposed",
    .sentence = "the MLP's matrices, stored (in, out), are read as (out, in)",
    .symptom =
        "a checkpoint gives nonsense; where matrices are square no shape is wrong",
    .example = "wrong: linear.weight = conv1d.weight.view(out, in)\n"
               "right: linear.weight = conv1d.weight.T",
    .selectors = TXD_FAULT_LAYERS,
    .inapplicable = inapplicable,
    .plant = plant,
};
