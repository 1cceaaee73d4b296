/* SPDX-License-Identifier: MIT
 *
 * Gradients of attention, by the chain rule over the weights that attended.c made, and
 * how far from them float32 may be: the gradient of a score is w (g - m) times the
 * slope of the cap, g the weight's gradient and m the mean of these. With w off by e
 * relatively, g and m by gamma_n of the sizes that they are sums of, it is off by (3 e
 * + gamma + what the slope is off by) w (|g| + |m|), and what sums of it give by that
 * and a gamma of their own.
 */
#include "attended.h"

#include <math.h>

#include "model/config.h"
#include "ops/bounds.h"
#include "ops/bounds_internal.h"

/* A row of weights' gradients, and their sizes. */
struct slope {
    double value, size;
};

struct back {
    struct attended *a;
    size_t head, query, row;
    double relative; /* of scores' gradients */
};

static struct slope weight_slope(const struct back *b, size_t key)
{
    const struct attended_case *is = &b->a->is;
    const double *d_out = b->a->d_out + b->row * is->value_width;
    const double *v =
        b->a->v + (b->a->kv_head[b->head] * is->keys + key) * is->value_width;
    struct slope g = {0, 0};

    for (size_t f = 0; f < is->value_width; f++) {
        g.value += d_out[f] * v[f];
        g.size += fabs(d_out[f] * v[f]);
    }
    return g;
}

static bool is_used(const struct back *b, size_t key)
{
    return (int32_t)key >= b->a->used[0][b->query] &&
           (int32_t)key < b->a->used[1][b->query];
}

static bool is_visible(const struct back *b, size_t key)
{
    return is_used(b, key) && (int32_t)key >= b->a->visible[0][b->query] &&
           (int32_t)key < b->a->visible[1][b->query];
}

static double cap_slope(const struct back *b, size_t key)
{
    double score = b->a->scores[b->row * b->a->is.keys + key], c;

    if (b->a->is.cap == 0)
        return 1;
    c = cosh(score / b->a->is.cap);
    return 1 / (c * c);
}

static struct slope mean_of(const struct back *b)
{
    struct slope mean = {0, 0};

    for (size_t k = 0; k < b->a->is.keys; k++) {
        struct slope g;

        if (!is_used(b, k))
            continue;
        g = weight_slope(b, k);
        mean.value += b->a->weights[b->row * b->a->is.keys + k] * g.value;
        mean.size += b->a->weights[b->row * b->a->is.keys + k] * g.size;
    }
    return mean;
}

static void add(struct attended_part *part, size_t i, double value, double off)
{
    part->value[i] += value;
    part->off[i] += off;
}

/* What one cell gives to the gradients of its query, key and value. */
static void cell_back(const struct back *b, size_t key, struct slope mean)
{
    struct attended *a = b->a;
    const struct attended_case *is = &a->is;
    size_t kv = a->kv_head[b->head] * is->keys + key;
    double w = a->weights[b->row * is->keys + key], d, off, many, e;
    struct slope g = weight_slope(b, key);

    many = txd_gamma((double)(is->keys + is->queries * is->heads), a->u.accumulate);
    e = attended_relative(a, b->head, b->query);
    for (size_t f = 0; f < is->value_width; f++) {
        double part = w * a->d_out[b->row * is->value_width + f];

        add(&a->d_v, kv * is->value_width + f, part, (e + many) * fabs(part));
    }
    if (!is_visible(b, key) || a->max[b->row] == -INFINITY)
        return;
    d = w * (g.value - mean.value) * cap_slope(b, key) * a->scale;
    off = w * (g.size + mean.size) * cap_slope(b, key) * a->scale;
    off *= b->relative + many;
    for (size_t i = 0; i < is->width; i++) {
        double q = a->q[b->row * is->width + i], k = a->k[kv * is->width + i];

        add(&a->d_q, b->row * is->width + i, d * k, off * fabs(k));
        add(&a->d_k, kv * is->width + i, d * q, off * fabs(q));
    }
}

static void row_back(struct back *b)
{
    struct attended *a = b->a;
    const struct attended_case *is = &a->is;
    double e = attended_relative(a, b->head, b->query);
    double steps = (double)(is->keys + is->value_width) + 4 * TXD_LIBM + 16;
    struct slope mean = mean_of(b);

    b->relative = 3 * e + txd_gamma(steps, a->u.accumulate);
    if (is->cap != 0)
        b->relative += 20 * a->u.accumulate + 4 * a->delta[b->row] / is->cap;
    for (size_t k = 0; k < is->keys; k++)
        if (is_used(b, k))
            cell_back(b, k, mean);
    if (is->sink && a->max[b->row] != -INFINITY) {
        double share = exp(a->sinks[b->head] - a->lse[b->row]);

        add(&a->d_sink, b->head, -share * mean.value,
            (b->relative + txd_gamma((double)is->queries, a->u.accumulate)) * share *
                mean.size);
    }
}

/* What the results are stored with. */
static void store(struct attended_part *part, txd_roundoff u)
{
    for (size_t i = 0; i < part->count; i++)
        part->off[i] = txd_stored_bound(part->off[i] + 1e-36, part->value[i], u);
}

void attended_backward(struct attended *a)
{
    const struct attended_case *is = &a->is;
    size_t rows = is->heads * is->queries, keys = is->kv_heads * is->keys;
    txd_roundoff u = txd_roundoff_of_format(a->format);

    a->d_q = attended_part(a, rows * is->width);
    a->d_k = attended_part(a, keys * is->width);
    a->d_v = attended_part(a, keys * is->value_width);
    a->d_sink = attended_part(a, is->heads);
    for (size_t r = 0; r < rows; r++) {
        struct back b = {a, r / is->queries, r % is->queries, r, 0};

        row_back(&b);
    }
    store(&a->d_q, u);
    store(&a->d_k, u);
    store(&a->d_v, u);
    store(&a->d_sink, u);
}
