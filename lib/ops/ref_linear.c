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

/* Lanes are independent, rows are not: several may have one id. */
static txd_status embed_stripe(void *self, size_t stripe, int worker)
{
    const struct txd_embed_back_args *a = self;
    size_t begin = stripe * LANES, end = begin + LANES;
    const real *d_out = a->d_out;
    real *d_table = a->d_table;

    (void)worker;
    if (end > a->width)
        end = a->width;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t i = begin; i < end; i++)
            d_table[(size_t)a->ids[r] * a->width + i] += d_out[r * a->width + i];
    return TXD_OK;
}

txd_status REF(embed_back)(txd_ctx *ctx, const struct txd_embed_back_args *a)
{
    struct txd_embed_back_args copy = *a;
    size_t stripes = (a->width + LANES - 1) / LANES;

    return txd_parallel(ctx, stripes, 4.0 * LANES * (double)a->rows, embed_stripe,
                        &copy);
}

static real dot(const real *x, const real *y, size_t count)
{
    real sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += x[i] * y[i];
    return sum;
}

static txd_status linear_row(void *self, size_t r, int worker)
{
    const struct txd_linear_args *a = self;
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
    struct txd_linear_args copy = *a;

    return txd_parallel(ctx, a->rows, 8.0 * (double)(a->n * a->k), linear_row, &copy);
}

/* One row of d_x: the rows of weight, each as often as d_out says. */
static txd_status linear_back_row(void *self, size_t r, int worker)
{
    const struct txd_linear_back_args *a = self;
    const real *d_out = (const real *)a->d_out + r * a->n, *weight = a->weight;
    real *d_x = (real *)a->d_x + r * a->k;

    (void)worker;
    if (!a->add)
        memset(d_x, 0, a->k * sizeof(real));
    for (size_t j = 0; j < a->n; j++)
        for (size_t i = 0; i < a->k; i++)
            d_x[i] += d_out[j] * weight[j * a->k + i];
    return TXD_OK;
}

/* One output's row of d_weight, and its d_bias, over all rows in ascending order. */
static txd_status linear_back_output(void *self, size_t j, int worker)
{
    const struct txd_linear_back_args *a = self;
    const real *d_out = a->d_out, *x = a->x;
    real *d_weight = a->d_weight, *d_bias = a->d_bias;

    (void)worker;
    for (size_t r = 0; r < a->rows; r++) {
        real d = d_out[r * a->n + j];

        if (d_bias != NULL)
            d_bias[j] += d;
        for (size_t i = 0; d_weight != NULL && i < a->k; i++)
            d_weight[j * a->k + i] += d * x[r * a->k + i];
    }
    return TXD_OK;
}

txd_status REF(linear_back)(txd_ctx *ctx, const struct txd_linear_back_args *a)
{
    struct txd_linear_back_args copy = *a;
    double row = 2.0 * (double)(a->n * a->k), output = 2.0 * (double)(a->rows * a->k);

    if (a->d_x != NULL)
        TXD_TRY(txd_parallel(ctx, a->rows, row, linear_back_row, &copy));
    if (a->d_weight == NULL && a->d_bias == NULL)
        return TXD_OK;
    return txd_parallel(ctx, a->n, output, linear_back_output, &copy);
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

static void scores_back_cell(const struct txd_scores_back_args *a, size_t r, size_t j)
{
    const real *q = (const real *)a->q + r * a->width;
    const real *k = (const real *)a->k + j * a->width;
    real d = (real)a->scale * ((const real *)a->d_out)[r * a->stride + j];
    real *d_q = a->d_q, *d_k = a->d_k;

    for (size_t i = 0; d_q != NULL && i < a->width; i++)
        d_q[r * a->width + i] += d * k[i];
    for (size_t i = 0; d_k != NULL && i < a->width; i++)
        d_k[j * a->width + i] += d * q[i];
}

txd_status REF(scores_back)(txd_ctx *ctx, const struct txd_scores_back_args *a)
{
    (void)ctx;
    if (a->d_q != NULL && !a->add)
        memset(a->d_q, 0, a->rows * a->width * sizeof(real));
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++)
            if ((a->visible == NULL && a->spans == NULL) || CELL(a, visible, r, j))
                scores_back_cell(a, r, j);
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
            if (!CELL(a, used, r, j))
                continue;
            for (size_t f = 0; f < a->width; f++)
                row[f] += weights[r * a->stride + j] * v[j * a->width + f];
        }
    }
    return TXD_OK;
}

txd_status REF(mix_back)(txd_ctx *ctx, const struct txd_mix_back_args *a)
{
    const real *d_out = a->d_out, *weights = a->weights, *v = a->v;
    real *d_weights = a->d_weights, *d_v = a->d_v;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            const real *d_row = d_out + r * a->width;
            size_t at = r * a->stride + j;
            bool used = CELL(a, used, r, j);

            if (d_weights != NULL)
                d_weights[at] = used ? dot(d_row, v + j * a->width, a->width) : 0;
            if (d_v == NULL || !used)
                continue;
            for (size_t f = 0; f < a->width; f++)
                d_v[j * a->width + f] += weights[at] * d_row[f];
        }
    return TXD_OK;
}
