/* SPDX-License-Identifier: MIT
 *
 * The bounds of the backward entries, each beside its reasoning. What is added to is
 * one term more of the sum; its size is at most that of the result and of the other
 * terms together.
 */
#include "ops/bounds.h"

#include <math.h>

#include "ops/bounds_internal.h"

static void clear(double *allowed, size_t count)
{
    for (size_t i = 0; allowed != NULL && i < count; i++)
        allowed[i] = 0;
}

/* Results of sums. */
struct sums {
    const void *out;
    size_t count;
    double n;   /* terms of each */
    bool added; /* to what was there */
};

/* Turns the magnitudes of sums into bounds. */
static void finish(double *allowed, struct sums s, txd_roundoff u)
{
    const double *out = s.out;

    for (size_t i = 0; allowed != NULL && i < s.count; i++) {
        double size = s.added ? 2 * allowed[i] + fabs(out[i]) : allowed[i];

        allowed[i] = txd_product_bound(s.n, size, out[i], u);
    }
}

/* Rows that share an id are added one by one; ids that no row has are not touched. */
void txd_bound_embed_back(double *d_table, const struct txd_embed_back_args *a,
                          txd_roundoff u)
{
    const double *d_out = a->d_out, *out = a->d_table;

    for (size_t r = 0; r < a->rows; r++) {
        double *row = d_table + (size_t)a->ids[r] * a->width;
        size_t same = 0;

        for (size_t i = 0; i < a->width; i++)
            row[i] = 0;
        for (size_t other = 0; other < a->rows; other++) {
            same += a->ids[other] == a->ids[r];
            for (size_t i = 0; a->ids[other] == a->ids[r] && i < a->width; i++)
                row[i] += fabs(d_out[other * a->width + i]);
        }
        finish(row,
               (struct sums){out + (size_t)a->ids[r] * a->width, a->width, (double)same,
                             true},
               u);
    }
}

void txd_bound_linear_back(double *d_x, double *d_weight, double *d_bias,
                           const struct txd_linear_back_args *a, txd_roundoff u)
{
    const double *d_out = a->d_out, *x = a->x, *w = a->weight;

    clear(d_x, a->rows * a->k);
    clear(d_weight, a->n * a->k);
    clear(d_bias, a->n);
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->n; j++) {
            double d = fabs(d_out[r * a->n + j]);

            for (size_t i = 0; d_x != NULL && i < a->k; i++)
                d_x[r * a->k + i] += fabs(d * w[j * a->k + i]);
            for (size_t i = 0; d_weight != NULL && i < a->k; i++)
                d_weight[j * a->k + i] += fabs(d * x[r * a->k + i]);
            if (d_bias != NULL)
                d_bias[j] += d;
        }
    finish(d_x, (struct sums){a->d_x, a->rows * a->k, (double)a->n + 1, a->add}, u);
    finish(d_weight, (struct sums){a->d_weight, a->n * a->k, (double)a->rows + 1, true},
           u);
    finish(d_bias, (struct sums){a->d_bias, a->n, (double)a->rows, true}, u);
}

/* What one row of a norm's backward pass is made of. */
struct norm_terms {
    const double *x, *d_out;
    double mean, sd, delta, relative; /* as of txd_bound_norm: of d, and of s */
};

static struct norm_terms norm_terms(const struct txd_norm_back_args *a, size_t r,
                                    txd_roundoff u)
{
    struct norm_terms t = {.x = (const double *)a->x + r * a->width,
                           .d_out = (const double *)a->d_out + r * a->width};
    double n = (double)a->width, size = 0, largest = 0, squares = 0;
    double gamma = txd_gamma(n + 8, u.accumulate);

    for (size_t i = 0; i < a->width; i++) {
        t.mean += a->root_mean_square ? 0 : t.x[i] / n;
        size += fabs(t.x[i]) / n;
        largest = fmax(largest, fabs(t.x[i]));
    }
    for (size_t i = 0; i < a->width; i++)
        squares += (t.x[i] - t.mean) * (t.x[i] - t.mean) / n;
    t.sd = sqrt(squares + a->eps);
    t.delta = a->root_mean_square ? 0 : gamma * (size + largest);
    t.relative = gamma + t.delta / t.sd;
    return t;
}

/* |y| and the error of y = d / s. */
static double normal_of(double *error, const struct norm_terms *t, size_t i)
{
    double y = fabs(t->x[i] - t->mean) / t->sd;

    *error = t->delta / t->sd + y * t->relative;
    return y;
}

/* No less than the gain; where that is a sum, so much more that all that is taken
 * relative to it holds for its terms, too. */
static double gain_bound(const struct txd_norm_back_args *a, size_t i)
{
    double gain = ((const double *)a->gain)[i];

    return a->offset == 0 ? fabs(gain)
                          : fabs(a->offset + gain) + fabs(a->offset) + fabs(gain);
}

/* With g = gain d_out: the means of g and of g y are off by gamma_n of the means of
 * their magnitudes, the second by y's own error too. */
static void norm_x_bound(double *allowed, const struct txd_norm_back_args *a, size_t r,
                         txd_roundoff u)
{
    struct norm_terms t = norm_terms(a, r, u);
    const double *d_x = (const double *)a->d_x + r * a->width;
    double n = (double)a->width, gamma = txd_gamma(n + 4, u.accumulate);
    double level = 0, along = 0, along_error = 0, error, y;

    for (size_t i = 0; i < a->width; i++) {
        double g = gain_bound(a, i) * fabs(t.d_out[i]);

        y = normal_of(&error, &t, i);
        level += a->root_mean_square ? 0 : g / n;
        along += g * y / n;
        along_error += g * (error + gamma * y) / n;
    }
    for (size_t i = 0; i < a->width; i++) {
        double g = gain_bound(a, i) * fabs(t.d_out[i]), size;

        y = normal_of(&error, &t, i);
        size = g + level + y * along;
        error = gamma * level + error * along + y * along_error +
                (t.relative + 5 * u.accumulate) * size + (n + 4) * u.lost;
        error /= t.sd;
        if (a->add)
            error += u.accumulate * (fabs(d_x[i]) + size / t.sd);
        allowed[i] = txd_stored_bound(error, d_x[i], u);
    }
}

static void norm_params_bound(double *d_gain, double *d_bias,
                              const struct txd_norm_back_args *a, txd_roundoff u)
{
    double n = (double)a->rows + 3, error;

    clear(d_gain, a->width);
    clear(d_bias, a->width);
    for (size_t r = 0; r < a->rows; r++) {
        struct norm_terms t = norm_terms(a, r, u);

        for (size_t i = 0; i < a->width; i++) {
            if (d_gain != NULL)
                d_gain[i] += fabs(t.d_out[i]) * normal_of(&error, &t, i);
            if (d_bias != NULL)
                d_bias[i] += fabs(t.d_out[i]);
        }
    }
    finish(d_gain, (struct sums){a->d_gain, a->width, n, true}, u);
    finish(d_bias, (struct sums){a->d_bias, a->width, n, true}, u);
    for (size_t r = 0; d_gain != NULL && r < a->rows; r++) {
        struct norm_terms t = norm_terms(a, r, u);

        for (size_t i = 0; i < a->width; i++) {
            (void)normal_of(&error, &t, i);
            d_gain[i] += fabs(t.d_out[i]) * (error + u.lost) * (1 + u.store);
        }
    }
}

void txd_bound_norm_back(double *d_x, double *d_gain, double *d_bias,
                         const struct txd_norm_back_args *a, txd_roundoff u)
{
    for (size_t r = 0; d_x != NULL && r < a->rows; r++)
        norm_x_bound(d_x + r * a->width, a, r, u);
    norm_params_bound(d_gain, d_bias, a, u);
}

/* The slopes and the terms that they are sums of are at most 1.13: x phi(x) is at most
 * 0.25, x^3 phi(x) 0.47, x sigmoid(x) sigmoid(-x) 0.23, and likewise for tanh. Each
 * term has at most two library functions, and errors of their arguments that come to
 * less than 3 roundoffs of the result. */
void txd_bound_activate_back(double *d_x, const struct txd_activate_back_args *a,
                             txd_roundoff u)
{
    const double *d_out = a->d_out, *out = a->d_x;

    for (size_t i = 0; i < a->count; i++)
        d_x[i] = txd_stored_bound(
            ((TXD_LIBM + 10) * u.accumulate + 16 * u.lost) * fabs(d_out[i]), out[i], u);
}

/* Errors of z = x / cap are multiplied by z times the slope of 1 / cosh(z)^2, at most
 * 0.9; exp and five more roundings of a number up to 1. */
void txd_bound_softcap_back(double *d_x, const struct txd_softcap_back_args *a,
                            txd_roundoff u)
{
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->width; j++) {
            size_t i = r * a->stride + j;
            double d = fabs(((const double *)a->d_out)[i]);

            d_x[i] =
                txd_stored_bound(((TXD_LIBM + 12) * u.accumulate + 16 * u.lost) * d,
                                 ((const double *)a->d_x)[i], u);
        }
}

/* As many additions as there are cells, at most. */
void txd_bound_bias_back(double *d_table, const struct txd_bias_back_args *a,
                         txd_roundoff u)
{
    const struct txd_relative *t = a->relative;
    double cells = (double)a->rows * (double)a->keys;

    for (size_t i = 0; i < t->buckets * t->heads; i++)
        d_table[i] = fabs(((const double *)a->d_table)[i]);
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            int64_t far = t->farthest;
            int64_t at = (int64_t)a->key_positions[j] - a->query_positions[r] + far;

            at = at < 0 ? 0 : (at > 2 * far ? 2 * far : at);
            d_table[(size_t)t->bucket_of[at] * t->heads + t->head] +=
                2 * fabs(((const double *)a->d_out)[r * a->stride + j]);
        }
    for (size_t i = 0; i < t->buckets * t->heads; i++) {
        double out = ((const double *)a->d_table)[i];
        double error = txd_gamma(cells + 1, u.accumulate) * d_table[i];

        d_table[i] =
            i % t->heads == t->head && cells > 0 ? txd_stored_bound(error, out, u) : 0;
    }
}

void txd_bound_multiply_back(double *d_a, double *d_b,
                             const struct txd_pair_back_args *a, txd_roundoff u)
{
    const double *of_a = a->d_a, *of_b = a->d_b;

    for (size_t i = 0; d_a != NULL && i < a->count; i++)
        d_a[i] = txd_stored_bound(0, of_a[i], u);
    for (size_t i = 0; d_b != NULL && i < a->count; i++)
        d_b[i] = txd_stored_bound(0, of_b[i], u);
}

/* Scaling costs two roundoffs of each term, or of each sum. An underflow of scale d_out
 * counts as often as q or k is large. */
void txd_bound_scores_back(double *d_q, double *d_k,
                           const struct txd_scores_back_args *a, txd_roundoff u)
{
    const double *d_out = a->d_out, *q = a->q, *k = a->k;
    double lost = u.lost / u.accumulate;

    clear(d_q, a->rows * a->width);
    clear(d_k, a->keys * a->width);
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            double d = fabs(d_out[r * a->stride + j] * a->scale) + lost;

            if (a->visible != NULL && !a->visible[r * a->stride + j])
                continue;
            for (size_t i = 0; d_q != NULL && i < a->width; i++)
                d_q[r * a->width + i] += fabs(d * k[j * a->width + i]);
            for (size_t i = 0; d_k != NULL && i < a->width; i++)
                d_k[j * a->width + i] += fabs(d * q[r * a->width + i]);
        }
    finish(d_q, (struct sums){a->d_q, a->rows * a->width, (double)a->keys + 3, a->add},
           u);
    finish(d_k, (struct sums){a->d_k, a->keys * a->width, (double)a->rows + 3, true},
           u);
}

void txd_bound_mix_back(double *d_weights, double *d_v,
                        const struct txd_mix_back_args *a, txd_roundoff u)
{
    const double *d_out = a->d_out, *w = a->weights, *v = a->v, *cells = a->d_weights;

    clear(d_v, a->keys * a->width);
    for (size_t r = 0; r < a->rows; r++)
        for (size_t j = 0; j < a->keys; j++) {
            size_t at = r * a->stride + j;
            double size = 0;

            if (d_weights != NULL)
                d_weights[at] = 0;
            for (size_t f = 0; a->used[at] && f < a->width; f++) {
                size += fabs(d_out[r * a->width + f] * v[j * a->width + f]);
                if (d_v != NULL)
                    d_v[j * a->width + f] += fabs(w[at] * d_out[r * a->width + f]);
            }
            if (d_weights != NULL && a->used[at])
                d_weights[at] = txd_product_bound((double)a->width, size, cells[at], u);
        }
    finish(d_v, (struct sums){a->d_v, a->keys * a->width, (double)a->rows + 1, true},
           u);
}

/* The sum is off by gamma_keys of its magnitude; a difference and a product follow. */
void txd_bound_softmax_back(double *d_masked, const struct txd_softmax_back_args *a,
                            txd_roundoff u)
{
    const double *d_out = a->d_out, *w = a->weights, *out = a->d_masked;
    double n = (double)(a->end - a->begin), gamma = txd_gamma(n + 3, u.accumulate);

    for (size_t r = 0; r < a->rows; r++) {
        double size = 0;

        for (size_t j = a->begin; j < a->end; j++)
            size += fabs(d_out[r * a->stride + j] * w[r * a->stride + j]);
        for (size_t j = 0; j < a->keys; j++) {
            size_t at = r * a->stride + j;
            bool empty = isinf(a->max[r]) && a->max[r] < 0;
            bool inside = j >= a->begin && j < a->end && !empty;
            double error = gamma * fabs(w[at]) * (fabs(d_out[at]) + size) +
                           n * u.lost * fabs(w[at]);

            d_masked[at] = inside ? txd_stored_bound(error, out[at], u) : 0;
        }
    }
}

/* A sum over a row, exp of a difference, a product, a sum over rows. */
void txd_bound_sink_back(double *d_sink, const struct txd_sink_back_args *a,
                         txd_roundoff u)
{
    const double *d_out = a->d_out, *w = a->weights, sink = *(const double *)a->sink;
    double out = *(const double *)a->d_sink, size = 0, bent = 0, gamma;

    for (size_t r = 0; r < a->rows; r++) {
        double row = 0, p = exp(sink - a->lse[r]);

        if (isinf(a->max[r]) && a->max[r] < 0)
            continue;
        for (size_t j = a->begin; j < a->end; j++)
            row += fabs(d_out[r * a->stride + j] * w[r * a->stride + j]);
        size += p * row;
        bent += p * row * 2 * u.accumulate * (fabs(sink - a->lse[r]) + 1);
    }
    gamma = txd_gamma((double)(a->rows + a->keys) + TXD_LIBM + 8, u.accumulate);
    *d_sink = txd_stored_bound(gamma * (fabs(out) + 2 * size) + bent +
                                   (double)(a->rows + a->keys) * u.lost,
                               out, u);
}

/* Probabilities are off as softmax is: by one roundoff of the largest difference that
 * exp does not turn into 0, and by gamma_vocab for the sum. */
void txd_bound_loss_back(double *d_logits, const struct txd_loss_back_args *a,
                         txd_roundoff u)
{
    const double *d_out = a->d_out, *out = a->d_logits;
    double gamma = txd_gamma((double)a->vocab + 2 * TXD_LIBM + 4, u.accumulate);

    for (size_t r = 0; r < a->rows; r++) {
        const double *logits = (const double *)a->logits + r * a->vocab;
        double max = -INFINITY, sum = 0, spread = 0;

        for (size_t j = 0; j < a->vocab; j++)
            max = fmax(max, logits[j]);
        for (size_t j = 0; j < a->vocab; j++) {
            sum += exp(logits[j] - max);
            if (max - logits[j] < 104)
                spread = fmax(spread, max - logits[j]);
        }
        for (size_t j = 0; j < a->vocab; j++) {
            double p = exp(logits[j] - max) / sum;
            double one = (int64_t)j == a->targets[r] ? 1 : 0;
            double relative = gamma + 2 * u.accumulate * (spread + 1);
            size_t at = r * a->vocab + j;
            double error =
                fabs(d_out[r]) * (relative * p + 2 * u.accumulate * one + 4 * u.lost);

            d_logits[at] = a->targets[r] < 0 ? 0 : txd_stored_bound(error, out[at], u);
        }
    }
}
