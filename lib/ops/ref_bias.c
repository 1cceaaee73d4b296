/* SPDX-License-Identifier: MIT
 *
 * Reference of what becomes of scores, or logits, before their softmax: soft
 * capping, and biases by distance.
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

/* Where the table has the number of a distance. */
static size_t place_of(const struct txd_relative *t, int64_t distance)
{
    int64_t far = t->farthest;
    int64_t cut = distance < -far ? -far : (distance > far ? far : distance);

    return (size_t)t->bucket_of[cut + far] * t->heads + t->head;
}

static int64_t distance_of(const int32_t *queries, const int32_t *keys, size_t r,
                           size_t j)
{
    return (int64_t)keys[j] - queries[r];
}

txd_status REF(bias)(txd_ctx *ctx, const struct txd_bias_args *a)
{
    const real *scores = a->scores, slope = (real)-a->slope;

    (void)ctx;
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            int64_t distance = distance_of(a->query_positions, a->key_positions, r, j);
            size_t i = r * a->stride + j;
            real bias = a->relative != NULL
                            ? ((const real *)
                                   a->relative->table)[place_of(a->relative, distance)]
                            : slope * (real)(distance < 0 ? -distance : distance);

            ((real *)a->out)[i] = scores != NULL ? scores[i] + bias : bias;
        }
    return TXD_OK;
}

txd_status REF(bias_back)(txd_ctx *ctx, const struct txd_bias_back_args *a)
{
    real *d_table = a->d_table;

    (void)ctx;
    for (size_t r = 0; d_table != NULL && r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            int64_t distance = distance_of(a->query_positions, a->key_positions, r, j);

            d_table[place_of(a->relative, distance)] +=
                ((const real *)a->d_out)[r * a->stride + j];
        }
    return TXD_OK;
}
