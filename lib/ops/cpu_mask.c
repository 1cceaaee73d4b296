/* SPDX-License-Identifier: MIT
 *
 * The masks of the CPU backend: copies by kernels. Where the cells that count are one
 * run per row, and the result lies where the input does, only the others are touched.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"

/* One row: from, where it counts, else filling. */
static void mask_row(float *out, const float *from, const txd_span *seen, size_t keys,
                     float filling)
{
    const txd_kernels *k = txd_kernels_here();

    k->fill(out, seen->begin, filling);
    if (out != from)
        memcpy(out + seen->begin, from + seen->begin,
               (seen->end - seen->begin) * sizeof *out);
    k->fill(out + seen->end, keys - seen->end, filling);
}

txd_status txd_cpu32_mask(txd_ctx *ctx, const struct txd_mask_args *a)
{
    const txd_kernels *k = txd_kernels_here();

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        const float *scores = (const float *)a->scores + r * a->stride;
        float *out = (float *)a->out + r * a->stride;
        txd_span seen = txd_span_of(a->spans, r, 0, a->keys);

        if (a->spans != NULL)
            mask_row(out, scores, &seen, a->keys, (float)a->fill);
        else
            k->mask(out, scores, a->visible + r * a->stride, a->keys, (float)a->fill);
    }
    return TXD_OK;
}

txd_status txd_cpu32_mask_back(txd_ctx *ctx, const struct txd_mask_back_args *a)
{
    struct txd_mask_args forward = {.out = a->d_scores,
                                    .scores = a->d_out,
                                    .visible = a->visible,
                                    .spans = a->spans,
                                    .rows = a->rows,
                                    .keys = a->keys,
                                    .stride = a->stride};

    return txd_cpu32_mask(ctx, &forward);
}
