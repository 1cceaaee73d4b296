/* SPDX-License-Identifier: MIT
 *
 * What becomes of scores, or logits, before their softmax, by kernels row for row.
 */
#include "ops/cpu.h"
#include "ops/kernels.h"
#include "ops/ref.h"

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

/* What a table says of all distances is looked up once in all: then a cell is one
 * number, at its distance. */
#define NEAR 512

struct near {
    float at[2 * NEAR + 1];
    int32_t farthest;
};

static void look_up(struct near *near, const struct txd_relative *t)
{
    const float *table = t->table;

    near->farthest = t->farthest < NEAR ? t->farthest : NEAR;
    for (int32_t d = -near->farthest; d <= near->farthest; d++)
        near->at[d + near->farthest] =
            table[(size_t)t->bucket_of[d + t->farthest] * t->heads + t->head];
}

static void relative_row(float *out, const float *scores, const struct near *near,
                         const int32_t *keys, size_t count, int32_t query)
{
    int32_t far = near->farthest;

    for (size_t j = 0; j < count; j++) {
        int64_t distance = (int64_t)keys[j] - query;
        int64_t cut = distance < -far ? -far : (distance > far ? far : distance);
        float bias = near->at[cut + far];

        out[j] = scores != NULL ? scores[j] + bias : bias;
    }
}

static const float *row_or_null(const float *x, size_t at)
{
    return x == NULL ? NULL : x + at;
}

static void add_relative(const struct txd_bias_args *a)
{
    struct near near;

    look_up(&near, a->relative);
    for (size_t r = 0; r < a->rows; r++)
        relative_row((float *)a->out + r * a->stride,
                     row_or_null(a->scores, r * a->stride), &near, a->key_positions,
                     a->keys, a->query_positions[r]);
}

txd_status txd_cpu32_bias(txd_ctx *ctx, const struct txd_bias_args *a)
{
    const txd_kernels *k = txd_kernels_here();

    if (a->relative != NULL && a->relative->farthest > NEAR)
        return txd_ref32_bias(ctx, a);
    if (a->relative != NULL)
        add_relative(a);
    for (size_t r = 0; a->relative == NULL && r < a->rows; r++)
        k->slope((float *)a->out + r * a->stride, row_or_null(a->scores, r * a->stride),
                 a->key_positions, a->keys, a->query_positions[r], (float)-a->slope);
    return TXD_OK;
}
