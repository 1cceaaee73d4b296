/* SPDX-License-Identifier: MIT
 *
 * What measures, on shapes that the trials do not have: statistics of values of many
 * pieces, rows of weights that are long or not healthy.
 */
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "ops/cpu.h"
#include "ops/ref.h"
#include "suite.h"

static txd_ctx one = {.threads = 1};

/* ---- statistics ---- */

static void ck_stats(const struct txd_stats_args *args, const float *x, double *wide,
                     size_t count)
{
    struct txd_stats_part part, exact;
    struct txd_stats_args a = *args;
    double got[TXD_STAT_COUNT_OF], want[TXD_STAT_COUNT_OF];

    for (size_t i = 0; i < count; i++)
        wide[i] = (double)x[i];
    a.x = wide;
    a.part = &exact;
    ck_assert_int_eq(txd_ref64_stats(&one, &a), TXD_OK);
    a.x = x;
    a.part = &part;
    ck_assert_int_eq(txd_cpu32_stats(&one, &a), TXD_OK);
    txd_stats_final(want, &exact);
    txd_stats_final(got, &part);
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++)
        ck_assert_msg((isnan(want[i]) && isnan(got[i])) || want[i] == got[i] ||
                          fabs(got[i] - want[i]) <= 1e-12 * fabs(want[i]),
                      "%s of (%zu, %zu): %.17g instead of %.17g",
                      txd_stat_get((txd_stat)i)->name, a.rows, a.width, got[i],
                      want[i]);
}

START_TEST(statistics_of_many_pieces_are_those_of_the_whole)
{
    enum { MOST = 30000 };
    static const size_t widths[] = {1, 5, 64, 4095, 4096, 4097, 10000};
    static float x[MOST];
    static double wide[MOST];
    static uint8_t skip_row[MOST], skip_cell[MOST];

    for (size_t i = 0; i < MOST; i++) {
        skip_row[i] = i % 3 == 1;
        skip_cell[i] = i % 1000 < 90 || i % 7 == 0;
    }
    for (size_t s = 0; s < sizeof widths / sizeof *widths; s++)
        for (int bad = 0; bad < 3; bad++)
            for (int skip = 0; skip < 4; skip++) {
                size_t width = widths[s], rows = MOST / width;
                struct txd_stats_args a = {.rows = rows,
                                           .width = width,
                                           .stride = width,
                                           .flat_start = 11,
                                           .flat_stride = width + 5,
                                           .skip_row = skip & 1 ? skip_row : NULL,
                                           .skip_cell = skip & 2 ? skip_cell : NULL};

                for (size_t i = 0; i < MOST; i++)
                    x[i] = (float)(3 + txd_rng_normal(1, i));
                x[20011] = bad > 0 ? NAN : 0;
                x[20012] = bad > 0 ? INFINITY : 0;
                x[8500] = bad > 1 ? -INFINITY : 0;
                ck_stats(&a, x, wide, rows * width);
                a.width -= width > 5 ? 5 : 0; /* a gap between rows */
                ck_stats(&a, x, wide, rows * width);
            }
}
END_TEST

/* Deviations are a small part of what is squared; then nothing but a part of it. */
START_TEST(statistics_lose_nothing_where_all_elements_are_nearly_the_same)
{
    enum { ROWS_OF = 40, WIDTH = 300 };
    static float x[ROWS_OF * WIDTH];
    static double wide[ROWS_OF * WIDTH];
    static int32_t begin[ROWS_OF], end[ROWS_OF];
    const txd_spans spans = {begin, end, 0};

    for (double mean = 1; mean < 2e4; mean *= 2)
        for (int sign = -1; sign < 2; sign += 2) {
            struct txd_stats_args a = {
                .rows = ROWS_OF, .width = WIDTH, .stride = WIDTH};

            for (size_t i = 0; i < ROWS_OF * WIDTH; i++)
                x[i] = (float)(sign * (mean + txd_rng_normal(2, i)));
            ck_stats(&a, x, wide, ROWS_OF * WIDTH);
            for (size_t r = 0; r < ROWS_OF; r++) {
                begin[r] = (int32_t)(r % 3);
                end[r] = (int32_t)(WIDTH - 7 * r);
            }
            a.spans = &spans;
            ck_stats(&a, x, wide, ROWS_OF * WIDTH);
        }
    for (size_t i = 0; i < ROWS_OF * WIDTH; i++)
        x[i] = 0.1F;
    ck_stats(&(struct txd_stats_args){.rows = 1, .width = 9000, .stride = 9000}, x,
             wide, 9000);
    memset(x, 0, sizeof x);
    ck_stats(&(struct txd_stats_args){.rows = 9, .width = 100, .stride = 100}, x, wide,
             900);
}
END_TEST

/* ---- rows ---- */

enum { ROWS = 5, KEYS = 777 };

struct tile {
    float weights[ROWS * KEYS];
    double wide[ROWS * KEYS];
    uint8_t hidden[ROWS * KEYS];
    int32_t begin[ROWS], end[ROWS];
    double max[ROWS];
    txd_spans spans;
    struct txd_rows_args args;
};

/* Causal rows with a window, from query 400 on, over padding on both sides. */
static void make_tile(struct tile *t)
{
    const struct txd_hidden_sides sides = {TXD_HIDDEN_WINDOW, TXD_HIDDEN_FUTURE, 1010,
                                           1700};

    memset(t, 0, sizeof *t);
    t->spans = (txd_spans){t->begin, t->end, 1000};
    for (size_t r = 0; r < ROWS; r++) {
        t->begin[r] = (int32_t)(1100 + r);
        t->end[r] = (int32_t)(1401 + r);
        t->max[r] = (double)r;
        for (size_t j = 0; j < KEYS; j++) {
            size_t key = 1000 + j, i = r * KEYS + j;
            bool seen = key >= 1100 + r && key <= 1400 + r;

            t->weights[i] = seen ? (float)txd_rng_uniform(5, i) / 150 : 0;
            t->hidden[i] =
                key < 1010 || key >= 1700
                    ? TXD_HIDDEN_PADDING
                    : (key < 1100 + r ? TXD_HIDDEN_WINDOW : TXD_HIDDEN_FUTURE);
            t->hidden[i] = seen ? TXD_SEEN : t->hidden[i];
        }
    }
    t->args = (struct txd_rows_args){.at = {.first_query = 1400},
                                     .max = t->max,
                                     .lse = t->max,
                                     .spans = &t->spans,
                                     .sides = sides,
                                     .seen = t->begin,
                                     .first_seen = t->begin,
                                     .row_count = ROWS,
                                     .keys = KEYS,
                                     .stride = KEYS,
                                     .key_begin = 1000};
}

/* What a sweep of its own says of the seen cells, to the bit. */
static void ck_measured(const struct tile *t, const struct txd_rows_args *rows)
{
    static const uint8_t skip_row[ROWS] = {0, 0, 0, 1, 0};
    static double out[ROWS * TXD_ROW_COUNT];
    struct txd_stats_part apart, together;
    struct txd_stats_args measure = {.part = &apart,
                                     .x = t->weights,
                                     .skip_row = skip_row,
                                     .skip_cell = rows->hidden,
                                     .spans = rows->spans,
                                     .rows = ROWS,
                                     .width = KEYS,
                                     .stride = KEYS,
                                     .flat_start = 77,
                                     .flat_stride = 1000};
    struct txd_rows_args a = *rows;

    ck_assert_int_eq(txd_cpu32_stats(&one, &measure), TXD_OK);
    measure.part = &together;
    a.rows = out;
    a.measure = &measure;
    memset(&together, 0xff, sizeof together);
    ck_assert_int_eq(txd_cpu32_rows(&one, &a), TXD_OK);
    ck_assert(apart.count > 1000);
    ck_assert(memcmp(&apart, &together, sizeof apart) == 0);
    ck_assert(memcmp(out, rows->rows, sizeof out) == 0);
}

static void ck_rows(struct tile *t)
{
    static double got[2][ROWS * TXD_ROW_COUNT], want[ROWS * TXD_ROW_COUNT];
    struct txd_rows_args a = t->args;

    for (size_t i = 0; i < ROWS * KEYS; i++)
        t->wide[i] = (double)t->weights[i];
    a.weights = t->weights;
    a.rows = got[0];
    ck_assert_int_eq(txd_cpu32_rows(&one, &a), TXD_OK);
    ck_measured(t, &a);
    a.spans = NULL;
    a.hidden = t->hidden;
    a.rows = got[1];
    ck_assert_int_eq(txd_cpu32_rows(&one, &a), TXD_OK);
    ck_measured(t, &a);
    a.weights = t->wide;
    a.rows = want;
    ck_assert_int_eq(txd_ref64_rows(&one, &a), TXD_OK);
    for (size_t i = 0; i < ROWS * TXD_ROW_COUNT; i++)
        for (int way = 0; way < 2; way++)
            ck_assert_msg(
                (isnan(want[i]) && isnan(got[way][i])) || want[i] == got[way][i] ||
                    fabs(got[way][i] - want[i]) <= 0x1p-23 * fabs(want[i]),
                "%s of row %zu by %s: %.9g instead of %.9g",
                txd_row_get((txd_row)(i % TXD_ROW_COUNT))->name, i / TXD_ROW_COUNT,
                way == 0 ? "spans" : "map", got[way][i], want[i]);
}

START_TEST(rows_of_weights_are_measured_alike_by_spans_by_maps_and_by_the_reference)
{
    static struct tile t;

    make_tile(&t);
    ck_rows(&t);
    t.weights[2 * KEYS + 300] = 0.75f; /* two peaks */
    t.weights[2 * KEYS + 350] = 0.75f;
    ck_rows(&t);
    memset(t.weights + 3 * KEYS, 0, KEYS * sizeof(float));
    ck_rows(&t);
    for (size_t j = 0; j < KEYS; j++) /* hidden zeros are the largest */
        t.weights[4 * KEYS + j] *= -1;
    ck_rows(&t);
}
END_TEST

START_TEST(one_bad_weight_is_seen_wherever_it_is_and_whatever_hides_it)
{
    static const float bad[] = {NAN, INFINITY, -0x1p-149f, 0.5f};
    static struct tile t;

    make_tile(&t);
    for (size_t j = 0; j < KEYS; j += 3)
        for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
            float *weight = &t.weights[2 * KEYS + j], kept = *weight;

            *weight = bad[b];
            ck_rows(&t);
            *weight = kept;
        }
}
END_TEST

TEST_MAIN(statistics_of_many_pieces_are_those_of_the_whole,
          statistics_lose_nothing_where_all_elements_are_nearly_the_same,
          rows_of_weights_are_measured_alike_by_spans_by_maps_and_by_the_reference,
          one_bad_weight_is_seen_wherever_it_is_and_whatever_hides_it)
