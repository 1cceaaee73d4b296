/* SPDX-License-Identifier: MIT
 *
 * The bounds, each beside its reasoning. Rounding a parameter of the operation (eps,
 * scale) counts as one roundoff more. Storing is a rounding of its own only where the
 * format is narrower than what sums are accumulated in; else it counts one too many.
 */
#include "ops/bounds.h"

#include <math.h>

#include "ops/bounds_internal.h"

double txd_gamma(double n, double u)
{
    return n * u >= 1 ? (double)INFINITY : n * u / (1 - n * u);
}

double txd_stored_bound(double error, double out, txd_roundoff u)
{
    return error + u.store * (fabs(out) + error) + u.tiny;
}

double txd_product_bound(double n, double size, double c, txd_roundoff u)
{
    return txd_stored_bound(txd_gamma(n, u.accumulate) * size + n * u.lost, c, u);
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
 * relatively; then a handful of roundings, one more where the gain is a sum, and one of
 * its offset, which the sum can be smaller than. Without a mean delta is 0. */
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
        double factor = fabs(a->offset + gain[i]), z = fabs(x[i] - mean) / sd;
        double error = factor * delta / sd + core * (gamma + delta / sd) +
                       8 * u.accumulate * (core + fabs(shift)) +
                       u.accumulate * (core + fabs(a->offset) * z) * (a->offset != 0) +
                       u.lost * (4 + 4 * factor / sd);

        allowed[i] = txd_stored_bound(error, y[i], u);
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
        allowed[i] = txd_stored_bound(
            (TXD_LIBM + 8) * u.accumulate * (fabs(x[i]) + fabs(out[i])) + 4 * u.lost,
            out[i], u);
}

/* As if rounded once: ops/emulated.c. */
void txd_bound_pair(double *allowed, const struct txd_pair_args *a, txd_roundoff u)
{
    const double *out = a->out;

    for (size_t i = 0; i < a->count; i++)
        allowed[i] = txd_stored_bound(0, out[i], u);
}

void txd_bound_scale(double *allowed, const struct txd_scale_args *a, txd_roundoff u)
{
    const double *out = a->out;

    for (size_t i = 0; i < a->count; i++)
        allowed[i] =
            txd_stored_bound(2 * u.accumulate * fabs(out[i]) + u.lost, out[i], u);
}

/* `roundings` of what the pair is multiplied with, and of the products and the sum. */
static void rotate_pair(double *allowed, const double *x, const double *out,
                        const size_t lanes[2], double roundings, txd_roundoff u)
{
    double size = fabs(x[lanes[0]]) + fabs(x[lanes[1]]);
    double error = roundings * u.accumulate * size;

    for (int i = 0; i < 2; i++)
        allowed[lanes[i]] = txd_stored_bound(error + 4 * u.lost, out[lanes[i]], u);
}

void txd_bound_rotate(double *allowed, const struct txd_rotate_args *a, txd_roundoff u)
{
    size_t rows = a->batch * a->heads * a->length, half = a->rope_width / 2;
    double roundings = a->turns != NULL ? 6 * fabs(a->turns->factor) : 4;

    for (size_t r = 0; r < rows; r++) {
        const double *x = (const double *)a->x + r * a->width;
        const double *out = (const double *)a->out + r * a->width;
        double *row = allowed + r * a->width;

        for (size_t i = 0; i < a->width; i++)
            row[i] = 0;
        for (size_t i = 0; i < half; i++) {
            const size_t lanes[2] = {a->adjacent ? 2 * i : i,
                                     a->adjacent ? 2 * i + 1 : i + half};

            rotate_pair(row, x, out, lanes, roundings, u);
        }
    }
}

/* Taken in double, then rounded to what is accumulated in, then stored. */
void txd_bound_sinusoid(double *allowed, const struct txd_sinusoid_args *a,
                        txd_roundoff u)
{
    const double *out = a->out;
    double first = u.store > u.accumulate ? u.accumulate : 0;

    for (size_t i = 0; i < a->rows * a->width; i++)
        allowed[i] = txd_stored_bound(first * fabs(out[i]), out[i], u);
}

/* tanh turns a relative error of its argument into one that is no larger: two of the
 * quotient and the cap, those of tanh, and two more of the product. */
void txd_bound_softcap(double *allowed, const struct txd_softcap_args *a,
                       txd_roundoff u)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->width; j++) {
            size_t i = r * a->stride + j;
            double out = ((const double *)a->out)[i];

            allowed[i] = txd_stored_bound(
                (TXD_LIBM + 6) * u.accumulate * fabs(out) + 4 * u.lost, out, u);
        }
}

/* Slope, distance and their product; a table's numbers are copied. Then the bias is
 * stored, and so is the sum. */
void txd_bound_bias(double *allowed, const struct txd_bias_args *a, txd_roundoff u)
{
    double taken = a->relative != NULL ? 0 : 2 * u.accumulate;

    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            size_t i = r * a->stride + j;
            double out = ((const double *)a->out)[i];
            double score = a->scores ? ((const double *)a->scores)[i] : 0;
            double bias = fabs(out - score);

            bias = txd_stored_bound(taken * bias + u.lost, bias, u);
            allowed[i] = a->scores ? txd_stored_bound(bias, out, u) : bias;
        }
}

/* s - max is off by one roundoff of its size, which exp turns into a relative error of
 * that amount; the sum of n such terms, itself off by gamma_n, divides. Where every
 * step is stored the roundoffs are those of storage, one more for the difference, exp
 * and sum each: too large for a first-order bound. */
static double softmax_relative(const struct txd_softmax_args *a, double spread,
                               txd_roundoff u)
{
    double n = (double)(a->end - a->begin) + (a->sink != NULL);
    double sum = txd_gamma(n + 2 * TXD_LIBM + 2, u.accumulate), step;

    if (!a->same || u.store <= u.accumulate)
        return sum + 2 * u.accumulate * (spread + 1);
    step = exp((u.store + u.accumulate) * spread) * (1 + u.store);
    return step * step * (1 + u.store) / (1 - u.store) * (1 + sum) - 1;
}

/* The largest difference to the row's maximum; beyond 104, exp is 0 in float32. */
static double spread_of(const struct txd_softmax_args *a, size_t r)
{
    const double *masked = (const double *)a->masked + r * a->stride;
    double sink = a->sink != NULL ? *(const double *)a->sink : -INFINITY;
    double max = fmax(a->max[r], sink), spread = 0;

    if (max - sink < 104)
        spread = max - sink;
    for (size_t j = a->begin; j < a->end; j++)
        if (max - masked[j] < 104)
            spread = fmax(spread, max - masked[j]);
    return spread;
}

/* An exp, or its difference, that underflows loses up to `tiny` beside a sum of at
 * least 1. */
void txd_bound_softmax(double *allowed, const struct txd_softmax_args *a,
                       txd_roundoff u)
{
    const double *out = a->out;
    double n = (double)(a->end - a->begin), lost = a->same ? u.tiny : u.lost;

    for (size_t r = 0; r < a->rows; r++) {
        double relative = softmax_relative(a, spread_of(a, r), u);

        for (size_t j = 0; j < a->keys; j++) {
            double w = out[r * a->stride + j];

            allowed[r * a->stride + j] =
                txd_stored_bound(relative * fabs(w) + (n + 2) * lost, w, u);
        }
    }
}

/* Weights that are off by up to e relatively change -sum w log w by up to e (H + sum
 * w), and so does its sum of n terms; formed as log sum exp(d) - sum d exp(d) / sum
 * exp(d) the terms are of the size H and log n. A weight that is off by `lost`, or
 * lost, changes its term by that and by its logarithm. */
void txd_bound_entropy(double *allowed, const struct txd_softmax_args *a,
                       txd_roundoff u)
{
    double n = (double)a->keys;
    double lost = (n + 2) * (a->same ? u.tiny : u.lost) + u.tiny;

    for (size_t r = 0; r < a->rows; r++) {
        double relative = softmax_relative(a, spread_of(a, r), u) + u.store +
                          txd_gamma(n + 2, u.accumulate);

        allowed[r] =
            relative * (1 + a->entropy[r] + log(n + 1)) + n * lost * (1 - log(lost));
    }
}

/* The log of a sum that is off by gamma_V and by a roundoff of the largest difference
 * relatively, then two subtractions of the size of the logits. */
void txd_bound_loss(double *allowed, const struct txd_loss_args *a, txd_roundoff u)
{
    const double *out = a->out;

    for (size_t r = 0; r < a->rows; r++) {
        const double *logits = (const double *)a->logits + r * a->vocab;
        double largest = 0, error;

        for (size_t j = 0; j < a->vocab; j++)
            largest = fmax(largest, fabs(logits[j]));
        error = txd_gamma((double)a->vocab + TXD_LIBM, u.accumulate) +
                u.accumulate * (8 * largest + TXD_LIBM * fabs(out[r]) + TXD_LIBM);
        allowed[r] = txd_stored_bound(error, out[r], u);
    }
}
