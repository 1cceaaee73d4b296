/* SPDX-License-Identifier: MIT
 *
 * The probe `pooled` against pooling written down cell by cell.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define MODEL                                                                          \
    "model : { preset = \"llama\"; vocab = 11; d_model = 4; n_heads = 2;"              \
    " n_layers = 2; d_ff = 4; };"

/* Mean and maximum of the cell (i, j) of one head; keys beyond a tile's last query
 * were not computed with skip_hidden. */
static void pool_cell(double out[2], const fake_pass *fake, int layer,
                      const size_t place[4], size_t side)
{
    size_t n = fake->inputs.length, count = 0;
    size_t head = place[0] * fake->config.n_heads + place[1];
    const double *weights = fake_value(fake, TXD_POINT_ATTN_WEIGHTS, layer);

    out[0] = 0;
    out[1] = -INFINITY;
    for (size_t q = place[2] * n / side; q < (place[2] + 1) * n / side; q++) {
        size_t computed = (q / fake->tile_rows + 1) * fake->tile_rows;

        if (!fake->inputs.valid[place[0] * n + q])
            continue;
        for (size_t k = place[3] * n / side; k < (place[3] + 1) * n / side; k++) {
            double weight = weights[(head * n + q) * n + k];

            weight = fake->dtype == TXD_F32 ? (double)(float)weight : weight;
            if (fake->skip_hidden && k >= computed)
                continue;
            count++;
            out[0] += weight;
            out[1] =
                isnan(weight) || isnan(out[1]) ? (double)NAN : fmax(out[1], weight);
        }
    }
    out[0] = count ? out[0] / (double)count : (double)NAN;
    out[1] = count ? out[1] : (double)NAN;
}

/* The file rounds to what the values are of. */
static void near(const fake_pass *fake, double value, double expected, const char *what,
                 size_t index)
{
    double rounded = fake->dtype == TXD_F32 ? 0x1.0001p-24 : 1e-13;

    ck_assert_msg((isnan(value) && isnan(expected)) ||
                      txd_close(value, expected, 1e-15 + rounded * fabs(expected)),
                  "%s[%zu]: %.17g, expected %.17g", what, index, value, expected);
}

/* All cells of both datasets; returns how many held a number. */
static size_t compare(const fake_pass *fake, const txd_trace *trace, size_t side)
{
    size_t heads = fake->config.n_heads, dims[TXD_MAX_RANK], numbers = 0;
    double *mean = fake_read(trace, "pooled/mean", dims);
    double *max = fake_read(trace, "pooled/max", NULL);
    size_t all = dims[0] * dims[1] * dims[2] * dims[3] * dims[4] * dims[5];

    ck_assert_uint_eq(dims[1], fake->config.n_layers);
    ck_assert_uint_eq(dims[4], side);
    ck_assert_uint_eq(dims[5], side);
    for (size_t i = 0; i < all; i++) {
        size_t cell = i % (side * side), head = i / (side * side) % heads;
        size_t batch = i / (side * side * heads) % fake->inputs.batch;
        size_t layer = i / (side * side * heads * fake->inputs.batch);
        double expected[2];

        pool_cell(expected, fake, (int)layer,
                  (const size_t[]){batch, head, cell / side, cell % side}, side);
        near(fake, mean[i], expected[0], "mean", i);
        near(fake, max[i], expected[1], "max", i);
        numbers += !isnan(expected[0]);
    }
    free(mean);
    free(max);
    return numbers;
}

static const struct {
    size_t batch, length, padding, tile_rows;
    bool whole, skip_hidden;
    const char *record;
    size_t side;
} trials[] = {
    {2, 5, 2, 256, false, false, "record = ({probe = \"pooled\";});", 5},
    {1, 1, 0, 256, false, false, "record = ({probe = \"pooled\";});", 1},
    {1, 64, 0, 7, false, false, "record = ({probe = \"pooled\";});", 64},
    {1, 65, 3, 64, false, true, "record = ({probe = \"pooled\";});", 64},
    {1, 65, 3, 64, true, false, "record = ({probe = \"pooled\";});", 64},
    {1, 300, 5, 256, false, true, "record = ({probe = \"pooled\";});", 64},
    {1, 300, 5, 64, false, true, "record = ({probe = \"pooled\"; cells = 7;});", 7},
    {2, 9, 9, 4, false, true, "record = ({probe = \"pooled\"; cells = 4;});", 4},
    {1, 300, 0, 256, false, true, "record = ({probe = \"pooled\"; cells = 256;});",
     256},
    {1, 300, 70, 30, false, false, "record = ({probe = \"pooled\"; cells = 1;});", 1},
    {1, 520, 41, 64, false, true, "record = ({probe = \"pooled\"; cells = 2;});", 2},
};

START_TEST(cells_hold_mean_and_maximum_of_what_was_computed)
{
    const size_t count = sizeof trials / sizeof *trials;

    for (size_t run = 0; run < 2 * count; run++) {
        size_t i = run / 2;
        fake_pass fake;
        txd_trace *trace;

        fake_make(&fake, MODEL, trials[i].batch, trials[i].length);
        fake_fill(&fake, trials[i].batch, trials[i].length, trials[i].padding, 2);
        fake.dtype = run % 2 ? TXD_F32 : TXD_F64;
        fake.tile_rows = trials[i].tile_rows;
        fake.whole = trials[i].whole;
        fake.skip_hidden = trials[i].skip_hidden;
        trace = fake_one_step(&fake, test_file("p.h5"), trials[i].record);
        ck_assert_uint_gt(compare(&fake, trace, trials[i].side), 0);
        txd_trace_destroy(trace);
        fake_free(&fake);
    }
}
END_TEST

static void check_nan(txd_dtype dtype)
{
    fake_pass fake;
    txd_trace *trace;
    double *max;

    fake_make(&fake, MODEL, 1, 40);
    fake.dtype = dtype;
    fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 1)[39 * 40] = NAN; /* head 0, query 39 */
    fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 1)[38 * 40 + 1] = 3;
    trace = fake_one_step(&fake, test_file("p.h5"),
                          "record = ({probe = \"pooled\"; cells = 2;});");
    compare(&fake, trace, 2);
    max = fake_read(trace, "pooled/max", NULL);
    ck_assert(isnan(max[1 * 2 * 4 + 2]));
    free(max);
    txd_trace_destroy(trace);
    fake_free(&fake);
}

START_TEST(a_nan_is_not_pooled_away)
{
    check_nan(TXD_F64);
    check_nan(TXD_F32);
}
END_TEST

START_TEST(shorter_steps_have_fewer_cells)
{
    const char *path = test_file("p.h5");
    const size_t lengths[2] = {3, 400};
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK];
    double *mean, expected[2];

    fake_make(&fake, MODEL, 1, 400);
    fake.dtype = TXD_F64;
    fake.tile_rows = 64;
    recorder = fake_record(&fake, path, "record = ({probe = \"pooled\";});", 2);
    for (int step = 0; step < 2; step++) {
        fake_fill(&fake, 1, lengths[step], 0, 4);
        fake_step(&fake, recorder, step);
    }
    trace = fake_finish(recorder, path);
    mean = fake_read(trace, "pooled/mean", dims);
    ck_assert_uint_eq(dims[4], 64);
    for (size_t i = 0; i < 64 * 64; i++)
        ck_assert((i / 64 < 3 && i % 64 < 3) == !isnan(mean[i]));
    pool_cell(expected, &fake, 0, (const size_t[]){0, 0, 63, 5}, 64);
    near(&fake, mean[2 * 2 * 64 * 64 + 63 * 64 + 5], expected[0], "mean", 0);
    free(mean);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(heads_that_are_not_selected_stay_nan)
{
    fake_pass fake;
    txd_trace *trace;
    double *mean;

    fake_make(&fake, MODEL, 1, 4);
    trace = fake_one_step(&fake, test_file("p.h5"),
                          "record = ({probe = \"pooled\"; heads = \"1\";});");
    mean = fake_read(trace, "pooled/mean", NULL);
    for (size_t i = 0; i < 2 * 2 * 16; i++)
        ck_assert(isnan(mean[i]) == (i / 16 % 2 == 0));
    ck_assert_ptr_nonnull(strstr(txd_trace_meta(trace, "pooled"), "min(64, N)"));
    free(mean);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(cells_hold_mean_and_maximum_of_what_was_computed, a_nan_is_not_pooled_away,
          shorter_steps_have_fewer_cells, heads_that_are_not_selected_stay_nan)
