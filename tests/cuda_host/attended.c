/* SPDX-License-Identifier: MIT */
#include "attended.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "model/config.h"
#include "ops/bounds.h"
#include "ops/bounds_internal.h"
#include "ops/kernels.h"

static void *take(struct attended *a, size_t count, size_t size)
{
    void *memory = txd_arena_alloc(a->arena, count > 0 ? count : 1, size);

    if (memory == NULL)
        abort();
    return memory;
}

struct attended_part attended_part(struct attended *a, size_t count)
{
    return (struct attended_part){take(a, count, sizeof(double)),
                                  take(a, count, sizeof(double)), count};
}

static double *numbers(struct attended *a, size_t count, const char *name,
                       txd_dtype format)
{
    double *out = take(a, count, sizeof(double));
    uint64_t key = txd_rng_key(a->is.queries * 1000 + a->is.width, name);

    for (size_t i = 0; i < count; i++) {
        float value = (float)txd_rng_normal(key, i);

        if (format == TXD_BF16)
            txd_kernels_here()->round_bf16(&value, 1);
        out[i] = (double)value;
    }
    return out;
}

static void make_inputs(struct attended *a, txd_dtype format)
{
    const struct attended_case *is = &a->is;
    size_t rows = is->heads * is->queries, keys = is->kv_heads * is->keys;

    a->q = numbers(a, rows * is->width, "q", format);
    a->k = numbers(a, keys * is->width, "k", format);
    a->v = numbers(a, keys * is->value_width, "v", format);
    a->d_out = numbers(a, rows * is->value_width, "d_out", format);
    a->sinks = numbers(a, is->heads, "sinks", format);
    a->scale = (double)(float)(1 / sqrt((double)is->width));
    if (is->planted != 0)
        a->k[is->keys / 2 * is->width] = (double)is->planted;
    a->kv_head = take(a, is->heads, sizeof *a->kv_head);
    a->slopes = take(a, is->heads, sizeof *a->slopes);
    for (size_t h = 0; h < is->heads; h++) {
        a->kv_head[h] = (uint32_t)(h * is->kv_heads / is->heads);
        a->slopes[h] = ldexp(1, -(int)h - 2);
    }
}

static txd_mask_view mask_of(const struct attended *a, bool causal)
{
    return (txd_mask_view){.causal = causal,
                           .window = a->is.window,
                           .query_positions =
                               a->positions + (a->is.keys - a->is.queries),
                           .key_positions = a->positions,
                           .key_valid = a->valid,
                           .past = a->is.keys - a->is.queries};
}

static void make_spans(struct attended *a)
{
    const struct attended_case *is = &a->is;
    const size_t shape[2] = {is->queries, is->keys};
    struct txd_hidden_sides sides;
    txd_mask_view actual, claimed;

    a->positions = take(a, is->keys, sizeof(int32_t));
    a->valid = take(a, is->keys, sizeof(int32_t));
    a->padded = take(a, is->queries, 1);
    for (size_t i = 0; i < 2; i++) {
        a->visible[i] = take(a, is->queries, sizeof(int32_t));
        a->used[i] = take(a, is->queries, sizeof(int32_t));
        a->seen[i] = take(a, is->queries, sizeof(int32_t));
    }
    for (size_t k = 0; k < is->keys; k++) {
        a->positions[k] = (int32_t)k;
        a->valid[k] = k >= is->padded;
        if (k >= is->keys - is->queries)
            a->padded[k - (is->keys - is->queries)] = k < is->padded;
    }
    actual = mask_of(a, is->causal);
    claimed = mask_of(a, is->claims_causal);
    if (!txd_mask_spans(a->visible[0], a->visible[1], &sides, &actual, shape) ||
        !txd_mask_spans(a->seen[0], a->seen[1], &a->sides, &claimed, shape))
        abort();
    for (size_t q = 0; q < is->queries; q++) {
        bool empty = a->visible[0][q] >= a->visible[1][q];
        bool all = is->fill != 0 || (empty && is->masked_row != TXD_MASKED_ROW_ZERO);

        a->used[0][q] = all ? 0 : a->visible[0][q];
        a->used[1][q] = all ? (int32_t)is->keys : a->visible[1][q];
    }
}

/* ---- a row ---- */

struct row {
    size_t head, query, keys; /* keys: that are used */
    const double *q, *k, *v;  /* k, v from the first of these on */
    double *weights;          /* of these */
    double *scores;           /* (keys): before the cap */
    double max, lse;
    int32_t first;
};

static struct row row_of(struct attended *a, size_t head, size_t query)
{
    const struct attended_case *is = &a->is;
    int32_t first = a->used[0][query], end = a->used[1][query];
    size_t row = head * is->queries + query;
    size_t key = a->kv_head[head] * is->keys + (size_t)first;

    return (struct row){.head = head,
                        .query = query,
                        .keys = end > first ? (size_t)(end - first) : 0,
                        .q = a->q + row * is->width,
                        .k = a->k + key * is->width,
                        .v = a->v + key * is->value_width,
                        .weights = a->weights + row * is->keys + first,
                        .first = first};
}

static double fill_of(const struct attended *a)
{
    return a->is.fill != 0 ? a->is.fill : -INFINITY;
}

static const struct txd_ops *reference(void)
{
    const txd_backend *backend;

    if (txd_backend_find(&backend, "ref64") != TXD_OK)
        abort();
    return &backend->ops;
}

static void raise_to(double *most, const double *off, const uint8_t *visible,
                     size_t keys)
{
    double largest = 0;

    for (size_t k = 0; k < keys; k++)
        if (visible[k] && !(off[k] <= largest))
            largest = off[k];
    *most += largest;
}

/* masked: what the softmax reads of the used keys; a->delta of the row. */
static void score_row(struct attended *a, const struct row *r, double *masked)
{
    const struct attended_case *is = &a->is;
    const struct txd_ops *ops = reference();
    double *off = take(a, r->keys, sizeof(double));
    uint8_t *visible = take(a, r->keys, 1);
    double *delta = &a->delta[r->head * is->queries + r->query];
    struct txd_scores_args scores = {.out = masked,
                                     .q = r->q,
                                     .k = r->k,
                                     .rows = 1,
                                     .keys = r->keys,
                                     .width = is->width,
                                     .stride = r->keys,
                                     .scale = a->scale};
    struct txd_softcap_args cap = {.out = masked,
                                   .x = masked,
                                   .cap = is->cap,
                                   .rows = 1,
                                   .width = r->keys,
                                   .stride = r->keys};
    struct txd_bias_args bias = {.out = masked,
                                 .scores = masked,
                                 .query_positions =
                                     a->positions + (is->keys - is->queries) + r->query,
                                 .key_positions = a->positions + r->first,
                                 .slope = a->slopes[r->head],
                                 .rows = 1,
                                 .keys = r->keys,
                                 .stride = r->keys};
    struct txd_mask_args mask = {.out = masked,
                                 .scores = masked,
                                 .visible = visible,
                                 .rows = 1,
                                 .keys = r->keys,
                                 .stride = r->keys,
                                 .fill = fill_of(a)};

    for (size_t k = 0; k < r->keys; k++)
        visible[k] = r->first + (int32_t)k >= a->visible[0][r->query] &&
                     r->first + (int32_t)k < a->visible[1][r->query];
    (void)ops->scores(NULL, &scores);
    txd_bound_scores(off, &scores, a->u);
    raise_to(delta, off, visible, r->keys);
    memcpy(r->scores, masked, r->keys * sizeof *masked);
    if (is->cap != 0) {
        (void)ops->softcap(NULL, &cap);
        txd_bound_softcap(off, &cap, a->u);
        raise_to(delta, off, visible, r->keys);
    }
    if (is->slopes) {
        double *sum = take(a, r->keys, sizeof(double));

        bias.out = sum;
        (void)ops->bias(NULL, &bias);
        txd_bound_bias(off, &bias, a->u);
        raise_to(delta, off, visible, r->keys);
        memcpy(masked, sum, r->keys * sizeof *masked);
    }
    (void)ops->mask(NULL, &mask);
}

double attended_relative(const struct attended *a, size_t head, size_t query)
{
    double n = (double)a->is.keys, delta = a->delta[head * a->is.queries + query];
    double steps = n / 32 + 3, spread = a->spread[head * a->is.queries + query];

    return txd_gamma(n + steps * (TXD_LIBM + 2), a->u.accumulate) +
           4 * a->u.accumulate * (spread + 1) + 2 * delta;
}

static void tell_row(struct attended *a, const struct row *r, double entropy)
{
    const struct attended_case *is = &a->is;
    size_t at = (r->head * is->queries + r->query) * TXD_ROW_COUNT;
    double e = attended_relative(a, r->head, r->query), far = 0, sum = 0;
    int32_t seen = a->seen[1][r->query] - a->seen[0][r->query];
    int32_t first_seen = seen > 0 ? a->seen[0][r->query] : -1;
    txd_spans spans = {a->seen[0] + r->query, a->seen[1] + r->query, r->first};
    struct txd_rows_args args = {
        .at = {.first_query = (int)(is->keys - is->queries + r->query)},
        .rows = a->rows.value + at,
        .weights = r->weights,
        .max = &r->max,
        .lse = &r->lse,
        .entropy = &entropy,
        .spans = &spans,
        .sides = a->sides,
        .seen = (int32_t[]){seen > 0 ? seen : 0},
        .first_seen = &first_seen,
        .row_count = 1,
        .keys = r->keys,
        .stride = r->keys,
        .key_begin = (size_t)r->first};
    double *off = a->rows.off + at, *value = a->rows.value + at;

    (void)reference()->rows(NULL, &args);
    for (size_t k = 0; k < r->keys; k++) {
        sum += r->weights[k];
        far += r->weights[k] *
               fabs((double)args.at.first_query - (double)(r->first + (int32_t)k));
    }
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        off[c] = txd_row_get((txd_row)c)->is_key ? 0 : e * fabs(value[c]) + 1e-36;
    off[TXD_ROW_SUM] = e * sum;
    off[TXD_ROW_MAX] = a->delta[at / TXD_ROW_COUNT];
    off[TXD_ROW_LSE] = e + off[TXD_ROW_MAX] + 2 * a->u.accumulate * fabs(r->lse);
    off[TXD_ROW_ENTROPY] = e * (1 + entropy + log((double)is->keys + 1));
    off[TXD_ROW_DISTANCE] = e * far;
    off[TXD_ROW_NONFINITE] = off[TXD_ROW_SEEN] = off[TXD_ROW_FUTURE_COUNT] =
        off[TXD_ROW_PADDING_COUNT] = 0;
    for (int c = 0; c < TXD_ROW_COUNT; c++)
        if (off[c] > 0)
            off[c] += a->u.accumulate * fabs(value[c]);
}

static void mix_row(struct attended *a, const struct row *r, txd_roundoff store)
{
    const struct attended_case *is = &a->is;
    size_t at = (r->head * is->queries + r->query) * is->value_width;
    double e = attended_relative(a, r->head, r->query) +
               txd_gamma((double)is->keys, a->u.accumulate);

    for (size_t f = 0; f < is->value_width; f++) {
        double sum = 0, size = 0;

        for (size_t k = 0; k < r->keys; k++) {
            sum += r->weights[k] * r->v[k * is->value_width + f];
            size += fabs(r->weights[k] * r->v[k * is->value_width + f]);
        }
        a->out.value[at + f] = sum;
        a->out.off[at + f] = txd_stored_bound(e * size, sum, store);
    }
}

static void make_row(struct attended *a, struct row *r, txd_roundoff store)
{
    const struct attended_case *is = &a->is;
    double *masked = take(a, r->keys, sizeof(double)), entropy = 0, least = INFINITY;
    double *spread = &a->spread[r->head * is->queries + r->query];
    struct txd_softmax_args softmax = {.out = r->weights,
                                       .masked = masked,
                                       .max = &r->max,
                                       .lse = &r->lse,
                                       .sink = is->sink ? a->sinks + r->head : NULL,
                                       .entropy = &entropy,
                                       .rows = 1,
                                       .keys = r->keys,
                                       .stride = r->keys,
                                       .end = r->keys,
                                       .masked_row = is->masked_row};

    r->scores = a->scores + (r->head * is->queries + r->query) * is->keys + r->first;
    score_row(a, r, masked);
    (void)reference()->softmax(NULL, &softmax);
    for (size_t k = 0; k < r->keys; k++)
        if (r->max - masked[k] < 104)
            least = fmin(least, masked[k]);
    if (is->sink)
        least = fmin(least, a->sinks[r->head]);
    *spread = isfinite(least)
                  ? fmax(r->max, is->sink ? a->sinks[r->head] : r->max) - least
                  : 0;
    a->lse[r->head * is->queries + r->query] = r->lse;
    a->max[r->head * is->queries + r->query] = r->max;
    mix_row(a, r, store);
    tell_row(a, r, entropy);
}

static void pool_row(struct attended *a, const struct row *r)
{
    const struct attended_case *is = &a->is;
    double e = attended_relative(a, r->head, r->query) + 1e-15 * (double)is->keys;
    size_t c = is->cells, i = ((r->query + 1) * c - 1) / is->queries;

    if (c == 0 || a->padded[r->query])
        return;
    for (size_t k = 0; k < r->keys; k++) {
        size_t key = k + (size_t)r->first, j = ((key + 1) * c - 1) / is->keys;
        size_t at = (r->head * c + i) * c + j;

        a->sums.value[at] += r->weights[k];
        a->sums.off[at] += e * r->weights[k] + 1e-36;
        if (r->weights[k] > a->tops.value[at])
            a->tops.value[at] = r->weights[k];
        a->tops.off[at] = fmax(a->tops.off[at], e * r->weights[k] + 1e-36);
    }
}

static void make_results(struct attended *a, txd_dtype format)
{
    const struct attended_case *is = &a->is;
    size_t rows = is->heads * is->queries;

    a->u = txd_roundoff_of_format(TXD_F32);
    a->weights = take(a, rows * is->keys, sizeof(double));
    a->scores = take(a, rows * is->keys, sizeof(double));
    a->delta = take(a, rows, sizeof(double));
    a->spread = take(a, rows, sizeof(double));
    a->max = take(a, rows, sizeof(double));
    a->lse = take(a, rows, sizeof(double));
    a->out = attended_part(a, rows * is->value_width);
    a->rows = attended_part(a, rows * TXD_ROW_COUNT);
    a->sums = attended_part(a, is->heads * is->cells * is->cells);
    a->tops = attended_part(a, is->heads * is->cells * is->cells);
    for (size_t h = 0; h < is->heads; h++)
        for (size_t q = 0; q < is->queries; q++) {
            struct row r = row_of(a, h, q);

            make_row(a, &r, txd_roundoff_of_format(format));
            pool_row(a, &r);
        }
}

struct attended *attended_make(const struct attended_case *is, txd_dtype format)
{
    txd_arena *arena;
    struct attended *a;

    if (txd_arena_create(&arena) != TXD_OK)
        abort();
    a = txd_arena_alloc(arena, 1, sizeof *a);
    a->is = *is;
    a->arena = arena;
    a->format = format;
    make_inputs(a, format);
    make_spans(a);
    make_results(a, format);
    return a;
}

void attended_free(struct attended *a)
{
    txd_arena_destroy(a->arena);
}
