/* SPDX-License-Identifier: MIT
 *
 * With c = x - mean, v the mean of c^2 and r its factor: out = gain c r + bias.
 * Backward with g = gain d_out and S = sum g c: the gradient of c_j is g_j r + 2 S r'
 * c_j / n, that of x without its mean, where one is subtracted.
 */
#include "faults/norms.h"

#include <stdlib.h>

/* A row of the norm. */
struct row {
    const txd_op_site *at;
    const void *x, *gain;
    size_t first, width;
    double offset, mean, factor, slope;
};

static double centred(const struct row *r, size_t i)
{
    return txd_wrap_get(r->at, r->x, r->first + i) - r->mean;
}

static double gain_of(const struct row *r, size_t i)
{
    return r->offset + txd_wrap_get(r->at, r->gain, i);
}

static void measure(struct row *r, double eps, bool root_mean_square,
                    txd_norm_factor factor)
{
    double n = (double)r->width, squares = 0, sum = 0;

    r->mean = 0;
    for (size_t i = 0; i < r->width && !root_mean_square; i++)
        sum += centred(r, i);
    r->mean = sum / n;
    for (size_t i = 0; i < r->width; i++)
        squares += centred(r, i) * centred(r, i);
    r->factor = factor(squares / n, n, eps, &r->slope);
}

txd_status txd_norm_with(const struct txd_norm_args *a, txd_norm_factor factor)
{
    struct row r = {&a->at, a->x, a->gain, 0, a->width, a->offset, 0, 0, 0};

    for (; r.first < a->rows * a->width; r.first += a->width) {
        measure(&r, a->eps, a->root_mean_square, factor);
        for (size_t i = 0; i < a->width; i++) {
            double bias = a->bias == NULL ? 0 : txd_wrap_get(&a->at, a->bias, i);

            txd_wrap_set(&a->at, a->out, r.first + i,
                         gain_of(&r, i) * centred(&r, i) * r.factor + bias);
        }
    }
    return TXD_OK;
}

/* sums: of the gain's gradient, then of the bias's. */
static void row_back(const struct txd_norm_back_args *a, const struct row *r,
                     double *sums)
{
    double n = (double)a->width, along = 0, level = 0;

    for (size_t i = 0; i < a->width; i++) {
        double d = txd_wrap_get(&a->at, a->d_out, r->first + i), c = centred(r, i);

        sums[i] += d * c * r->factor;
        sums[a->width + i] += d;
        along += gain_of(r, i) * d * c;
        level += gain_of(r, i) * d * r->factor / n;
    }
    along *= 2 * r->slope / n;
    level *= a->root_mean_square ? 0 : 1; /* centred values themselves have no mean */
    for (size_t i = 0; i < a->width && a->d_x != NULL; i++) {
        size_t place = r->first + i;
        double g = gain_of(r, i) * txd_wrap_get(&a->at, a->d_out, place);
        double d = g * r->factor + along * centred(r, i) - level;

        txd_wrap_set(&a->at, a->d_x, place,
                     a->add ? txd_wrap_get(&a->at, a->d_x, place) + d : d);
    }
}

static void add(const txd_op_site *at, void *to, const double *sums, size_t count)
{
    for (size_t i = 0; to != NULL && i < count; i++)
        txd_wrap_set(at, to, i, txd_wrap_get(at, to, i) + sums[i]);
}

txd_status txd_norm_with_back(const struct txd_norm_back_args *a,
                              txd_norm_factor factor)
{
    struct row r = {&a->at, a->x, a->gain, 0, a->width, a->offset, 0, 0, 0};
    double *sums = calloc(a->width, 2 * sizeof *sums);

    if (sums == NULL)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the gradient of a gain");
    for (; r.first < a->rows * a->width; r.first += a->width) {
        measure(&r, a->eps, a->root_mean_square, factor);
        row_back(a, &r, sums);
    }
    add(&a->at, a->d_gain, sums, a->width);
    add(&a->at, a->d_bias, sums + a->width, a->width);
    free(sums);
    return TXD_OK;
}
