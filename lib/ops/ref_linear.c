/* SPDX-License-Identifier: MIT
 *
 * Reference products: embedding rows, linear maps, attention scores, weighted sums.
 * Sums run over the contracted index in ascending order.
 */
#include <string.h>

#include "ops/real.h"

txd_status REF(embed)(txd_ctx *ctx, const struct txd_embed_args *a)
{
    const real *table = a->table;
    real *out = a->out;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        memcpy(out + r * a->width, table + (size_t)a->ids[r] * a->width,
               a->width * sizeof(real));
    return TXD_OK;
}

static real dot(const real *x, const real *y, size_t count)
{
    real sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

struct linear_job {
    const struct txd_linear_args *a;
};

static txd_status linear_row(void *self, size_t r, int worker)
{
    const struct txd_linear_args *a = ((struct linear_job *)self)->a;
    const real *x = a->x, *weight = a->weight, *bias = a->bias;
    real *out = a->out;

    (void)worker;
    for (size_t j = 0; j < a->n; j++) {
        real y = dot(x + r * a->k, weight + j * a->k, a->k);

        out[r * a->n + j] = bias != NULL ? y + bias[j] : y;
    }
    return TXD_OK;
}

txd_status REF(linear)(txd_ctx *ctx, const struct txd_linear_args *a)
{
    struct linear_job job = {a};

    return txd_parallel(ctx, a->rows, 8.0 * (double)(a->n * a->k), linear_row, &job);
}

txd_status REF(scores)(txd_ctx *ctx, const struct txd_scores_args *a)
{
    const real *q = a->q, *k = a->k;
    real *out = a->out;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++)
            out[r * a->stride + j] =
                (real)a->scale * dot(q + r * a->width, k + j * a->width, a->width);
    return TXD_OK;
}

txd_status REF(mix)(txd_ctx *ctx, const struct txd_mix_args *a)
{
    const real *weights = a->weights, *v = a->v;
    real *out = a->out;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++) {
        real *row = out + r * a->width;

        for (size_t f = 0; f < a->width; f++)
            row[f] = 0;
        for (size_t j = 0; j < a->keys; j++) {
            if (!a->used[r * a->stride + j])
                continue;
            for (size_t f = 0; f < a->width; f++)
                row[f] += weights[r * a->stride + j] * v[j * a->width + f];
        }
    }
    return TXD_OK;
}
