/* SPDX-License-Identifier: MIT
 *
 * Products of attention tiles of the CPU backend through CBLAS. They are called from
 * within a loop over tiles and have no threads of their own.
 *
 * Cells that do not count must not be multiplied with what may be NaN. Where they hold
 * zeros and all else is finite, one product over all cells adds nothing but zeros.
 */
#include <cblas.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

/* A matrix that is multiplied, and the cells of it that count. */
struct cells {
    const float *value;
    const uint8_t *used;
    const txd_spans *spans;
    size_t rows, keys, stride;
};

static bool zero_unless_used(const struct cells *c)
{
    const txd_kernels *k = txd_kernels_here();
    bool zero = true;

    for (size_t r = 0; r < c->rows && zero; r++) {
        const float *row = c->value + r * c->stride;
        txd_span used;

        if (c->spans == NULL) {
            zero = k->zero_unless(row, c->used + r * c->stride, c->keys);
            continue;
        }
        used = txd_span_of(c->spans, r, 0, c->keys);
        zero = k->zero(row, used.begin) && k->zero(row + used.end, c->keys - used.end);
    }
    return zero;
}

static bool all_finite(const void *x, size_t count)
{
    return txd_kernels_here()->finite(x, count);
}

txd_status txd_cpu32_scores(txd_ctx *ctx, const struct txd_scores_args *a)
{
    (void)ctx;
    if (a->rows > 0 && a->keys > 0)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)a->rows, (int)a->keys,
                    (int)a->width, (float)a->scale, a->q, (int)a->width, a->k,
                    (int)a->width, 0.0f, a->out, (int)a->stride);
    return TXD_OK;
}

/* True if multiplying the hidden cells too adds nothing but zeros. */
static bool hidden_add_nothing(const struct txd_scores_back_args *a)
{
    struct cells cells = {a->d_out, a->visible, a->spans, a->rows, a->keys, a->stride};

    return (a->visible == NULL && a->spans == NULL) ||
           (all_finite(a->q, a->rows * a->width) &&
            all_finite(a->k, a->keys * a->width) && zero_unless_used(&cells));
}

txd_status txd_cpu32_scores_back(txd_ctx *ctx, const struct txd_scores_back_args *a)
{
    if (a->rows == 0 || a->keys == 0 || a->width == 0 || !hidden_add_nothing(a))
        return txd_ref32_scores_back(ctx, a);
    if (a->d_q != NULL)
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)a->rows,
                    (int)a->width, (int)a->keys, (float)a->scale, a->d_out,
                    (int)a->stride, a->k, (int)a->width, a->add ? 1.0f : 0.0f, a->d_q,
                    (int)a->width);
    if (a->d_k != NULL)
        cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a->keys,
                    (int)a->width, (int)a->rows, (float)a->scale, a->d_out,
                    (int)a->stride, a->q, (int)a->width, 1.0f, a->d_k, (int)a->width);
    return TXD_OK;
}

/* True if multiplying the unused cells too adds nothing but zeros. */
static bool unused_add_nothing(const struct txd_mix_args *a)
{
    struct cells cells = {a->weights, a->used, a->spans, a->rows, a->keys, a->stride};

    return all_finite(a->v, a->keys * a->width) && zero_unless_used(&cells);
}

txd_status txd_cpu32_mix(txd_ctx *ctx, const struct txd_mix_args *a)
{
    if (a->rows == 0 || a->keys == 0 || a->width == 0 || !unused_add_nothing(a))
        return txd_ref32_mix(ctx, a);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)a->rows, (int)a->width,
                (int)a->keys, 1.0f, a->weights, (int)a->stride, a->v, (int)a->width,
                0.0f, a->out, (int)a->width);
    return TXD_OK;
}

/* Each cell is a product of its own: unused ones are computed, and then put to 0. */
static txd_status mix_back_weights(txd_ctx *ctx, const struct txd_mix_back_args *a)
{
    struct txd_mask_back_args unused = {.d_scores = a->d_weights,
                                        .d_out = a->d_weights,
                                        .visible = a->used,
                                        .spans = a->spans,
                                        .rows = a->rows,
                                        .keys = a->keys,
                                        .stride = a->stride};

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)a->rows, (int)a->keys,
                (int)a->width, 1.0f, a->d_out, (int)a->width, a->v, (int)a->width, 0.0f,
                a->d_weights, (int)a->stride);
    return txd_cpu32_mask_back(ctx, &unused);
}

txd_status txd_cpu32_mix_back(txd_ctx *ctx, const struct txd_mix_back_args *a)
{
    struct txd_mix_back_args values = *a;
    struct cells cells = {a->weights, a->used, a->spans, a->rows, a->keys, a->stride};

    if (a->rows == 0 || a->keys == 0 || a->width == 0)
        return txd_ref32_mix_back(ctx, a);
    if (a->d_weights != NULL)
        TXD_TRY(mix_back_weights(ctx, a));
    if (a->d_v == NULL)
        return TXD_OK;
    values.d_weights = NULL;
    if (!all_finite(a->d_out, a->rows * a->width) || !zero_unless_used(&cells))
        return txd_ref32_mix_back(ctx, &values);
    cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)a->keys, (int)a->width,
                (int)a->rows, 1.0f, a->weights, (int)a->stride, a->d_out, (int)a->width,
                1.0f, a->d_v, (int)a->width);
    return TXD_OK;
}
