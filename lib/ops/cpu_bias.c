/* SPDX-License-Identifier: MIT
 *
 * What becomes of scores, or logits, before their softmax, by kernels row for row.
 */
#include "ops/cpu.h"
#include "ops/kernels.h"

txd_status txd_cpu32_softcap(txd_ctx *ctx, const struct txd_softcap_args *a)
{
    const txd_kernels *k = txd_kernels_here();

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        k->softcap((float *)a->out + r * a->stride, (const float *)a->x + r * a->stride,
                   a->width, (float)a->cap);
    return TXD_OK;
}

txd_status txd_cpu32_softcap_back(txd_ctx *ctx, const struct txd_softcap_back_args *a)
{
    const txd_kernels *k = txd_kernels_here();

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        size_t row = r * a->stride;

        k->softcap_back((float *)a->d_x + row, (const float *)a->d_out + row,
                        (const float *)a->x + row, a->width, (float)a->cap);
    }
    return TXD_OK;
}
