/* SPDX-License-Identifier: MIT
 *
 * The loss that logits imply, in double.
 */
#include "checks/training/loss.h"
#include "checks/kept.h"

#include <math.h>

#define PIECE 256 /* elements that are read at once */

int32_t txd_loss_target_of(const txd_inputs *inputs, size_t cell, txd_loss_target which)
{
    size_t ahead = which == TXD_TARGET_NEXT ? 1 : which == TXD_TARGET_AFTER ? 2 : 0;

    if (cell % inputs->length + ahead >= inputs->length)
        return -1;
    for (size_t i = 0; i <= ahead; i++)
        if (!inputs->valid[cell + i])
            return -1;
    return inputs->tokens[cell + ahead];
}

/* The largest of a row, NaN if there is one; the largest magnitude that is finite. */
static double largest_of(double *magnitude, const txd_tensor *value, size_t first)
{
    size_t vocab = value->dims[2];
    const float *narrow = (const float *)value->data + first;
    struct txd_moments moments;
    double max = -INFINITY;

    *magnitude = 0;
    if (value->dtype == TXD_F32 &&
        txd_kernels_here()->moments(&moments, narrow, vocab)) {
        *magnitude = fmax(-(double)moments.low, (double)moments.high);
        return vocab > 0 ? (double)moments.high : max;
    }
    for (size_t i = 0; i < vocab; i++) {
        double z = txd_tensor_get(value, first + i);

        max = z > max || isnan(z) ? z : max;
        *magnitude = isfinite(z) ? fmax(*magnitude, fabs(z)) : *magnitude;
    }
    return max;
}

static double sum_exp(const txd_tensor *value, size_t first, double max)
{
    size_t vocab = value->dims[2];
    double z[PIECE], sum = 0;

    for (size_t i = 0; i < vocab; i += PIECE) {
        size_t count = vocab - i < PIECE ? vocab - i : PIECE;

        txd_kept_read(z, value, first + i, count);
        for (size_t j = 0; j < count; j++)
            sum += exp(z[j] - max);
    }
    return sum;
}

void txd_loss_imply(txd_loss_implied *out, const txd_block *block, size_t row,
                    size_t cell)
{
    const txd_tensor *value = &block->value;
    size_t vocab = value->dims[2];
    double max, sum;

    out->is_set = true;
    max = largest_of(&out->largest, value, row * vocab);
    if (!isfinite(max))
        out->largest = (double)NAN;
    sum = sum_exp(value, row * vocab, max);
    for (int t = 0; t < TXD_TARGETS; t++) {
        int32_t id = txd_loss_target_of(block->pass->inputs, cell, (txd_loss_target)t);

        out->loss[t] =
            id >= 0 && (size_t)id < vocab
                ? (max - txd_tensor_get(value, row * vocab + (size_t)id)) + log(sum)
                : (double)NAN;
    }
}
