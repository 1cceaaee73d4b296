/* SPDX-License-Identifier: MIT
 *
 * Compares heads query by query, so that only a row of each is in memory. All pairs of
 * all heads are many: the number of queries follows from what a second can do.
 */
#include "viz/read/likeness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST = 16, MOST = 64 };

#define WORK 4e8      /* smaller-of-twos in about a second */
#define TOO_MUCH 1e10 /* with as few queries as there must be */

typedef struct compare {
    const txd_weights *weights;
    size_t count, pairs;
    size_t (*places)[2]; /* batch row and query of each that is compared */
    size_t place_count;
    float *rows;        /* (count, keys) of one query */
    unsigned char *use; /* (count): the row was recorded and is finite */
    float *shared;      /* (place, pair); NaN = not known */
} compare;

static size_t seen_keys(const txd_weights *weights, size_t batch, size_t query)
{
    txd_mask_view mask;
    size_t seen = 0;

    if (!txd_weights_mask(&mask, weights, weights->layers[0], batch))
        return weights->keys;
    for (size_t key = 0; key < weights->keys; key++)
        seen += txd_mask_hides(&mask, query, key) == TXD_SEEN;
    return seen;
}

/* All queries with a choice, then some of them. */
static txd_status choose_places(compare *out, size_t *all, txd_arena *arena)
{
    const txd_weights *weights = out->weights;
    size_t most = weights->batches * weights->queries, found = 0;
    double one = (double)out->pairs * (double)weights->keys;
    double fit = one > 0 ? WORK / one : MOST;
    size_t wanted = fit > MOST ? MOST : fit < LEAST ? LEAST : (size_t)fit;

    if (one * LEAST > TOO_MUCH)
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu heads over %zu keys are too many to compare with each "
                        "other: choose a layer with --layer",
                        out->count, weights->keys);
    out->places = txd_arena_alloc(arena, most, sizeof *out->places);
    if (!out->places)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < most; i++) {
        size_t batch = weights->first_batch + i / weights->queries;
        size_t query = i % weights->queries;

        if (!txd_weights_valid(weights, batch, query) ||
            seen_keys(weights, batch, query) < 2)
            continue;
        out->places[found][0] = batch;
        out->places[found++][1] = query;
    }
    *all = found;
    out->place_count = found < wanted ? found : wanted;
    for (size_t i = 0; found > wanted && i < wanted; i++)
        memcpy(out->places[i], out->places[(i + 1) * found / wanted - 1],
               sizeof *out->places);
    return TXD_OK;
}

/* The row of one head; sorted out if it cannot be compared. */
static txd_status read_row(const compare *to, txd_likeness *out, size_t number,
                           const size_t place[2], double *values)
{
    const txd_weights *weights = to->weights;
    const txd_weights_place from = {weights->layers[number / weights->heads], place[0],
                                    number % weights->heads, place[1], 0};
    float *row = to->rows + number * weights->keys;

    to->use[number] = txd_weights_has_head(weights, from.head);
    if (!to->use[number])
        return TXD_OK;
    TXD_TRY(txd_weights_read(values, weights, &from, 1, weights->keys));
    for (size_t k = 0; k < weights->keys; k++) {
        row[k] = (float)values[k];
        to->use[number] &= isfinite(row[k]) != 0;
    }
    out->bad[number] |= !to->use[number];
    return TXD_OK;
}

/* Four sums, so that they need not wait for each other. */
static float shared_by(const float *a, const float *b, size_t keys)
{
    float sums[4] = {0, 0, 0, 0};
    size_t k = 0;

    for (; k + 4 <= keys; k += 4)
        for (size_t i = 0; i < 4; i++)
            sums[i] += a[k + i] < b[k + i] ? a[k + i] : b[k + i];
    for (; k < keys; k++)
        sums[0] += a[k] < b[k] ? a[k] : b[k];
    return sums[0] + sums[1] + (sums[2] + sums[3]);
}

static txd_status compare_query(const compare *to, txd_likeness *out, size_t place,
                                double *values)
{
    size_t keys = to->weights->keys, pair = 0;

    for (size_t i = 0; i < to->count; i++)
        TXD_TRY(read_row(to, out, i, to->places[place], values));
    for (size_t i = 0; i < to->count; i++)
        for (size_t j = 0; j < i; j++, pair++)
            to->shared[place * to->pairs + pair] =
                to->use[i] && to->use[j]
                    ? shared_by(to->rows + i * keys, to->rows + j * keys, keys)
                    : (float)NAN;
    return TXD_OK;
}

static int by_value(const void *left, const void *right)
{
    double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

static void sum_pair(double *mean, double *low, const compare *from, size_t pair)
{
    double sorted[MOST], sum = 0;
    size_t count = 0;

    for (size_t i = 0; i < from->place_count; i++) {
        double value = (double)from->shared[i * from->pairs + pair];

        if (isnan(value))
            continue;
        sorted[count++] = value;
        sum += value;
    }
    *mean = *low = (double)NAN;
    if (count == 0)
        return;
    qsort(sorted, count, sizeof *sorted, by_value);
    *mean = sum / (double)count;
    *low = sorted[(count + 9) / 10 - 1];
}

static void sum_up(txd_likeness *out, const compare *from)
{
    size_t pair = 0;

    for (size_t i = 0; i < out->count; i++) {
        out->mean[i * out->count + i] = out->low[i * out->count + i] = (double)NAN;
        for (size_t j = 0; j < i; j++, pair++) {
            size_t at = i * out->count + j, other = j * out->count + i;

            sum_pair(&out->mean[at], &out->low[at], from, pair);
            out->mean[other] = out->mean[at];
            out->low[other] = out->low[at];
        }
    }
}

txd_status txd_likeness_read(txd_likeness *out, const txd_weights *weights,
                             txd_arena *arena)
{
    size_t count = weights->layer_count * weights->heads;
    compare to = {.weights = weights, .count = count, .pairs = count * (count - 1) / 2};
    double *values = txd_arena_alloc(arena, weights->keys, sizeof *values);

    out->count = count;
    TXD_TRY(choose_places(&to, &out->of, arena));
    out->queries = to.place_count;
    out->mean = txd_arena_alloc(arena, count * count, sizeof *out->mean);
    out->low = txd_arena_alloc(arena, count * count, sizeof *out->low);
    out->bad = txd_arena_alloc(arena, count, 1);
    to.rows = txd_arena_alloc(arena, count * weights->keys, sizeof *to.rows);
    to.use = txd_arena_alloc(arena, count, 1);
    to.shared = txd_arena_alloc(arena, to.place_count * to.pairs, sizeof *to.shared);
    if (!values || !out->mean || !out->low || !out->bad || !to.rows || !to.use ||
        !to.shared)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < to.place_count; i++)
        TXD_TRY(compare_query(&to, out, i, values));
    sum_up(out, &to);
    return TXD_OK;
}
