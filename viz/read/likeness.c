/* SPDX-License-Identifier: MIT
 *
 * Compares heads query by query, so that only a row of each is in memory. All pairs of
 * all heads are many: the number of queries follows from what a second can do.
 */
#include "viz/read/likeness.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Queries, and how many neighbours are read together: chunks of a compressed value are
 * unpacked whole, however little is read of them. */
enum { LEAST = 16, MOST = 64, RUN = 16 };

#define WORK 4e8      /* smaller-of-twos in about a second */
#define TOO_MUCH 1e10 /* with as few queries as there must be */
#define ROOM 16e6     /* weights of a run of all heads in memory */

typedef struct compare {
    const txd_weights *weights;
    size_t count, pairs;
    size_t (*places)[2]; /* batch row and query of each that is compared */
    size_t place_count;
    size_t most;        /* neighbours that are read together */
    double *values;     /* (most, keys) of one head */
    float *rows;        /* (most, count, keys) of a run */
    unsigned char *use; /* (most, count): the row was recorded and is finite */
    float *shared;      /* (place, pair); NaN = not known */
} compare;

/* Whether a query sees two keys or more; those about its own are tried first. */
static bool has_choice(const txd_weights *weights, size_t batch, size_t query)
{
    size_t own = query + weights->past, keys = weights->keys, seen = 0;
    txd_mask_view mask;

    if (!txd_weights_mask(&mask, weights, weights->layers[0], batch))
        return keys >= 2;
    for (size_t i = 0; i < keys && seen < 2; i++)
        seen += txd_mask_hides(&mask, query, (own + keys - i) % keys) == TXD_SEEN;
    return seen >= 2;
}

static size_t count_wanted(const compare *of)
{
    double one = (double)of->pairs * (double)of->weights->keys;
    double fit = one > 0 ? WORK / one : MOST;

    return fit > MOST ? MOST : fit < LEAST ? LEAST : (size_t)fit / RUN * RUN;
}

/* Of `found` places as many as are wanted, in runs that are evenly spaced. */
static void thin_places(compare *of, size_t found)
{
    size_t wanted = count_wanted(of), runs = wanted / RUN;

    of->place_count = found < wanted ? found : wanted;
    for (size_t i = 0; found > wanted && i < wanted; i++) {
        size_t end = (i / RUN + 1) * found / runs;

        memcpy(of->places[i], of->places[end - RUN + i % RUN], sizeof *of->places);
    }
}

/* All queries with a choice, then some of them. */
static txd_status choose_places(compare *out, size_t *all, txd_arena *arena)
{
    const txd_weights *weights = out->weights;
    size_t most = weights->batches * weights->queries, found = 0;

    if ((double)out->pairs * (double)weights->keys * LEAST > TOO_MUCH)
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
            !has_choice(weights, batch, query))
            continue;
        out->places[found][0] = batch;
        out->places[found++][1] = query;
    }
    *all = found;
    thin_places(out, found);
    return TXD_OK;
}

/* How many places from `first` on are neighbours. */
static size_t run_of(const compare *of, size_t first)
{
    const size_t *begin = of->places[first];
    size_t count = 1;

    while (count < of->most && first + count < of->place_count &&
           of->places[first + count][0] == begin[0] &&
           of->places[first + count][1] == begin[1] + count)
        count++;
    return count;
}

/* The rows of one head; sorted out if they cannot be compared. */
static txd_status read_head(const compare *to, txd_likeness *out, size_t number,
                            const size_t place[2], size_t rows)
{
    const txd_weights *weights = to->weights;
    const txd_weights_place from = {weights->layers[number / weights->heads], place[0],
                                    number % weights->heads, place[1], 0};
    bool is_there = txd_weights_has_head(weights, from.head);
    size_t keys = weights->keys;

    if (is_there)
        TXD_TRY(txd_weights_read(to->values, weights, &from, rows, keys));
    for (size_t r = 0; r < rows; r++) {
        size_t at = r * to->count + number;

        to->use[at] = is_there;
        for (size_t k = 0; is_there && k < keys; k++) {
            float value = (float)to->values[r * keys + k];

            to->rows[at * keys + k] = value;
            to->use[at] &= isfinite(value) != 0;
        }
        out->bad[number] |= is_there && !to->use[at];
    }
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

static void compare_row(const compare *to, size_t row, size_t place)
{
    size_t keys = to->weights->keys, pair = 0;
    const float *rows = to->rows + row * to->count * keys;
    const unsigned char *use = to->use + row * to->count;

    for (size_t i = 0; i < to->count; i++)
        for (size_t j = 0; j < i; j++, pair++)
            to->shared[place * to->pairs + pair] =
                use[i] && use[j] ? shared_by(rows + i * keys, rows + j * keys, keys)
                                 : (float)NAN;
}

static txd_status compare_all(const compare *to, txd_likeness *out)
{
    size_t rows;

    for (size_t first = 0; first < to->place_count; first += rows) {
        rows = run_of(to, first);
        for (size_t i = 0; i < to->count; i++)
            TXD_TRY(read_head(to, out, i, to->places[first], rows));
        for (size_t row = 0; row < rows; row++)
            compare_row(to, row, first + row);
    }
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

static txd_status make_room(compare *to, txd_arena *arena)
{
    double head = (double)to->weights->keys * (double)to->count;
    size_t keys = to->weights->keys;

    to->most = head * RUN < ROOM ? RUN : head < ROOM ? (size_t)(ROOM / head) : 1;
    to->values = txd_arena_alloc(arena, to->most * keys, sizeof *to->values);
    to->rows = txd_arena_alloc(arena, to->most * to->count * keys, sizeof *to->rows);
    to->use = txd_arena_alloc(arena, to->most * to->count, 1);
    to->shared =
        txd_arena_alloc(arena, to->place_count * to->pairs, sizeof *to->shared);
    return to->values && to->rows && to->use && to->shared ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_likeness_read(txd_likeness *out, const txd_weights *weights,
                             txd_arena *arena)
{
    size_t count = weights->layer_count * weights->heads;
    compare to = {.weights = weights, .count = count, .pairs = count * (count - 1) / 2};

    out->count = count;
    TXD_TRY(choose_places(&to, &out->of, arena));
    out->queries = to.place_count;
    out->mean = txd_arena_alloc(arena, count * count, sizeof *out->mean);
    out->low = txd_arena_alloc(arena, count * count, sizeof *out->low);
    out->bad = txd_arena_alloc(arena, count, 1);
    if (!out->mean || !out->low || !out->bad)
        return TXD_ERR_MEMORY;
    TXD_TRY(make_room(&to, arena));
    TXD_TRY(compare_all(&to, out));
    sum_up(out, &to);
    return TXD_OK;
}
