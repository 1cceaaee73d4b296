/* SPDX-License-Identifier: MIT
 *
 * The bounds, each beside its reasoning. Rounding a parameter of the operation (eps,
 * scale) to the storage type counts as one roundoff more.
 */
#include "ops/bounds.h"

#include <math.h>

#include "ops/bounds_internal.h"

txd_roundoff txd_roundoff_of(const txd_backend *backend)
{
    double tiny = backend->dtype == TXD_F64 ? 0x1p-1074 : 0x1p-149;
    txd_roundoff u = {backend->u_accumulate, backend->u_store, tiny};

    return u;
}

double txd_gamma(double n, double u)
{
    return n * u >= 1 ? (double)INFINITY : n * u / (1 - n * u);
}

double txd_product_bound(double n, double size, double c, txd_roundoff u)
{
    double sum = txd_gamma(n, u.accumulate) * size;

    return sum + u.store * (fabs(c) + sum) + (n + 1) * u.tiny;
}

void txd_bound_linear(double *allowed, const struct txd_linear_args *a, txd_roundoff u)
{
    const double *x = a->x, *w = a->weight, *bias = a->bias, *out = a->out;

    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->n; j++) {
            double size = bias == NULL ? 0 : fabs(bias[j]);

            for (size_t i = 0; i < a->k; i++)
                size += fabs(x[r * a->k + i] * w[j * a->k + i]);
            allowed[r * a->n + j] =
                txd_product_bound((double)a->k + 1, size, out[r * a->n + j], u);
        }
}

void txd_bound_scores(double *allowed, const struct txd_scores_args *a, txd_roundoff u)
{
    const double *q = a->q, *k = a->k, *out = a->out;

    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            double size = 0;

            for (size_t i = 0; i < a->width; i++)
                size += fabs(q[r * a->width + i] * k[j * a->width + i]);
            allowed[r * a->stride + j] = txd_product_bound(
                (double)a->width + 2, size * fabs(a->scale), out[r * a->stride + j], u);
        }
}

void txd_bound_mix(double *allowed, const struct txd_mix_args *a, txd_roundoff u)
{
    const double *w = a->weights, *v = a->v, *out = a->out;

    for (size_t r = 0; r < a->rows; r++)
        for (size_t f = 0; f < a->width; f++) {
            double size = 0;

            for (size_t j = 0; j < a->keys; j++)
                if (a->used[r * a->stride + j])
                    size += fabs(w[r * a->stride + j] * v[j * a->width + f]);
            allowed[r * a->width + f] =
                txd_product_bound((double)a->keys, size, out[r * a->width + f], u);
        }
}

/* With d = x - mean: the mean is off by gamma_n mean|x|, so each d by at most delta =
 * gamma_{n+1} (mean|x| + |x|); the variance by 2 max(delta) / sd and gamma_{n+2}
 * relatively; then a handful of roundings. Without a mean delta is 0. */
static void norm_row_bound(double *allowed, const struct txd_norm_args *a, size_t r,
                           txd_roundoff u)
{
    const double *x = (const double *)a->x + r * a->width;
    const double *y = (const double *)a->out + r * a->width;
    const double *gain = a->gain, *bias = a->bias;
    double n = (double)a->width, mean = 0, size = 0, largest = 0, squares = 0, sd;
    double gamma = txd_gamma(n + 8, u.accumulate), delta = 0;

    for (size_t i = 0; i < a->width; i++) {
        mean += a->root_mean_square ? 0 : x[i] / n;
        size += fabs(x[i]) / n;
        largest = fmax(largest, fabs(x[i]));
    }
    for (size_t i = 0; i < a->width; i++)
        squares += (x[i] - mean) * (x[i] - mean) / n;
    sd = sqrt(squares + a->eps);
    if (!a->root_mean_square)
        delta = gamma * (size + largest);
    for (size_t i = 0; i < a->width; i++) {
        double shift = bias == NULL ? 0 : bias[i], core = fabs(y[i] - shift);

        allowed[i] = fabs(gain[i]) * delta / sd + core * (gamma + delta / sd) +
                     8 * u.store * (core + fabs(shift)) +
                     u.tiny * (4 + 4 * fabs(gain[i]) / sd);
    }
}

void txd_bound_norm(double *allowed, const struct txd_norm_args *a, txd_roundoff u)
{
    for (size_t r = 0; r < a->rows; r++)
        norm_row_bound(allowed + r * a->width, a, r, u);
}

/* The sums 1 + erf, 1 + tanh and 1 + exp are off by a few roundoffs of 1 or more: what
 * cancels there is lost relative to |x|, not to the result. */
void txd_bound_activate(double *allowed, const struct txd_activate_args *a,
                        txd_roundoff u)
{
    const double *x = a->x, *out = a->out;

    for (size_t i = 0; i < a->count; i++)
        allowed[i] =
            (TXD_LIBM + 8) * u.store * (fabs(x[i]) + fabs(out[i])) + 4 * u.tiny;
}

void txd_bound_pair(double *allowed, const struct txd_pair_args *a, txd_roundoff u)
{
    const double *out = a->out;

    for (size_t i = 0; i < a->count; i++)
        allowed[i] = u.store * fabs(out[i]) + u.tiny;
}

void txd_bound_scale(double *allowed, const struct txd_scale_args *a, txd_roundoff u)
{
    const double *out = a->out;

    for (size_t i = 0; i < a->count; i++)
        allowed[i] = 3 * u.store * fabs(out[i]) + u.tiny;
}

static double rotate_pair_bound(const double *x, size_t first, size_t second,
                                txd_roundoff u)
{
    return 4 * u.store * (fabs(x[first]) + fabs(x[second])) + 4 * u.tiny;
}

void txd_bound_rotate(double *allowed, const struct txd_rotate_args *a, txd_roundoff u)
{
    size_t rows = a->batch * a->heads * a->length, half = a->rope_width / 2;

    for (size_t r = 0; r < rows; r++) {
        const double *x = (const double *)a->x + r * a->width;
        double *row = allowed + r * a->width;

        for (size_t i = 0; i < a->width; i++)
            row[i] = 0;
        for (size_t i = 0; i < half; i++) {
            size_t first = a->adjacent ? 2 * i : i;
            size_t second = a->adjacent ? 2 * i + 1 : i + half;

            row[first] = row[second] = rotate_pair_bound(x, first, second, u);
        }
    }
}

void txd_bound_sinusoid(double *allowed, const struct txd_sinusoid_args *a,
                        txd_roundoff u)
{
    const double *out = a->out;

    for (size_t i = 0; i < a->rows * a->width; i++)
        allowed[i] = u.store * fabs(out[i]) + u.tiny;
}

/* s - max is off by one roundoff of its size, which exp turns into a relative error of
 * that amount; the sum of n such terms, itself off by gamma_n, divides. */
void txd_bound_softmax(double *allowed, const struct txd_softmax_args *a,
                       txd_roundoff u)
{
    const double *out = a->out, *masked = a->masked;
    double n = (double)(a->end - a->begin);

    for (size_t r = 0; r < a->rows; r++) {
        double spread = 0, relative;

        for (size_t j = a->begin; j < a->end; j++) {
            double below = a->max[r] - masked[r * a->stride + j];

            if (below < 104) /* beyond, exp is 0 in float32 */
                spread = fmax(spread, below);
        }
        relative =
            txd_gamma(n + 2 * TXD_LIBM + 2, u.accumulate) + 2 * u.store * (spread + 1);
        for (size_t j = 0; j < a->keys; j++)
            allowed[r * a->stride + j] =
                relative * fabs(out[r * a->stride + j]) + n * u.tiny + 2 * u.tiny;
    }
}

/* The log of a sum that is off by gamma_V and by a roundoff of the largest difference
 * relatively, then two subtractions of the size of the logits. */
void txd_bound_loss(double *allowed, const struct txd_loss_args *a, txd_roundoff u)
{
    const double *out = a->out;

    for (size_t r = 0; r < a->rows; r++) {
        const double *logits = (const double *)a->logits + r * a->vocab;
        double largest = 0;

        for (size_t j = 0; j < a->vocab; j++)
            largest = fmax(largest, fabs(logits[j]));
        allowed[r] = txd_gamma((double)a->vocab + TXD_LIBM, u.accumulate) +
                     u.store * (8 * largest + TXD_LIBM * fabs(out[r]) + TXD_LIBM) +
                     u.tiny;
    }
}
