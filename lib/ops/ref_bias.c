/* SPDX-License-Identifier: MIT
 *
 * Reference of what becomes of scores, or logits, before their softmax: soft capping.
 */
#include "ops/real.h"

txd_status REF(softcap)(txd_ctx *ctx, const struct txd_softcap_args *a)
{
    const real cap = (real)a->cap;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->width; j++) {
            size_t i = r * a->stride + j;

            ((real *)a->out)[i] = cap * REAL(tanh)(((const real *)a->x)[i] / cap);
        }
    return TXD_OK;
}

/* 1 / cosh(z)^2, by what neither cancels nor overflows. */
static real bell(real z)
{
    real e = REAL(exp)(-2 * REAL(fabs)(z));

    return 4 * e / ((1 + e) * (1 + e));
}

txd_status REF(softcap_back)(txd_ctx *ctx, const struct txd_softcap_back_args *a)
{
    const real cap = (real)a->cap;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->width; j++) {
            size_t i = r * a->stride + j;

            ((real *)a->d_x)[i] =
                ((const real *)a->d_out)[i] * bell(((const real *)a->x)[i] / cap);
        }
    return TXD_OK;
}
