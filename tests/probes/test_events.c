/* SPDX-License-Identifier: MIT
 *
 * The probes `nonfinite` and `leaks`: what they find, where, and that healthy passes
 * leave no trace.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define SMALL                                                                          \
    "model : { preset = \"gpt2\"; vocab = 11; d_model = 6; n_heads = 3;"               \
    " n_layers = 3; d_ff = 7; max_seq_len = 8; };"

/* Element `row` of a column of numbers. */
static double cell(const txd_trace *trace, const char *table, const char *column,
                   size_t row)
{
    char name[64];
    size_t dims[TXD_MAX_RANK];
    double *values, value;

    snprintf(name, sizeof name, "events/%s/%s", table, column);
    values = fake_read(trace, name, dims);
    ck_assert_uint_lt(row, dims[0]);
    value = values[row];
    free(values);
    return value;
}

static size_t row_count(const txd_trace *trace, const char *table)
{
    char name[64];
    size_t dims[TXD_MAX_RANK];

    snprintf(name, sizeof name, "events/%s/step", table);
    if (!fake_has(trace, name))
        return 0;
    free(fake_read(trace, name, dims));
    return dims[0];
}

static size_t stop_of(const fake_pass *fake, txd_point point, int layer)
{
    for (size_t i = 0; i < fake->stops; i++)
        if (fake->order[i].point == point && fake->order[i].layer == layer)
            return i;
    ck_abort_msg("no such stop");
    return 0;
}

static void poison(double *stats, double first, double value, double count)
{
    stats[TXD_STAT_NONFINITE] = count;
    stats[TXD_STAT_FIRST] = first;
    stats[TXD_STAT_FIRST_VALUE] = value;
}

static void expect_places(const txd_trace *trace, size_t row, const double *places)
{
    static const char *const columns[] = {"layer", "batch",  "head",
                                          "row",   "column", "index"};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        ck_assert_msg(cell(trace, "nonfinite", columns[i], row) == places[i],
                      "row %zu, %s: %g, expected %g", row, columns[i],
                      cell(trace, "nonfinite", columns[i], row), places[i]);
}

START_TEST(nonfinite_values_are_listed_in_order_of_execution)
{
    fake_pass fake;
    txd_trace *trace;
    const char *const *sites;
    size_t param;

    fake_make(&fake, SMALL, 2, 5);
    for (param = 0; strcmp(txd_params_at(fake.params, param)->name,
                           "layers.1.mlp.up.weight") != 0;)
        param++;
    poison(fake.param_stats[param], 6 * 4 + 5, NAN, 2);
    poison(fake.stats[stop_of(&fake, TXD_POINT_LOGITS, -1)], (1 * 5 + 4) * 11 + 10,
           -INFINITY, 1);
    poison(fake.stats[stop_of(&fake, TXD_POINT_ATTN_SCORES, 2)],
           ((1 * 3 + 2) * 5 + 3) * 5 + 1, INFINITY, 7);
    poison(fake.stats[stop_of(&fake, TXD_POINT_LOSS_TOKEN, -1)], 9, NAN, 1);
    trace =
        fake_one_step(&fake, test_file("e.h5"), "record = ({probe = \"nonfinite\";});");
    ck_assert_uint_eq(row_count(trace, "nonfinite"), 4);
    sites = fake_strings(trace, "events/nonfinite/site", 4);
    ck_assert_str_eq(sites[0], "layers.1.mlp.up.weight");
    ck_assert_str_eq(sites[1], "layers.2.attn.scores");
    ck_assert_str_eq(sites[2], "logits");
    ck_assert_str_eq(sites[3], "loss.token");
    expect_places(trace, 0, (const double[]){1, -1, -1, 4, 5, 29});
    expect_places(trace, 1, (const double[]){2, 1, 2, 3, 1, 141});
    expect_places(trace, 2, (const double[]){-1, 1, -1, 4, 10, 109});
    expect_places(trace, 3, (const double[]){-1, 1, -1, 4, -1, 9});
    ck_assert(isnan(cell(trace, "nonfinite", "value", 0)));
    ck_assert(cell(trace, "nonfinite", "value", 1) == INFINITY);
    ck_assert(cell(trace, "nonfinite", "value", 2) == -INFINITY);
    ck_assert(cell(trace, "nonfinite", "count", 1) == 7);
    ck_assert(cell(trace, "nonfinite", "elements", 1) ==
              fake.stats[stop_of(&fake, TXD_POINT_ATTN_SCORES, 2)][TXD_STAT_COUNT]);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(healthy_passes_have_no_events)
{
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 2, 5);
    fake_fill(&fake, 2, 5, 2, 1);
    trace = fake_one_step(&fake, test_file("e.h5"),
                          "record = ({probe = \"nonfinite\";}, {probe = \"leaks\";});");
    for (size_t i = 0; i < txd_trace_count(trace); i++) {
        txd_trace_info info;

        ck_assert_int_eq(txd_trace_get(trace, &info, i), TXD_OK);
        ck_assert_msg(strncmp(info.name, "events", 6) != 0, "%s", info.name);
    }
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

static double *weight(const fake_pass *fake, int layer, const size_t at[4])
{
    size_t n = fake->inputs.length, h = fake->config.n_heads;

    return fake_value(fake, TXD_POINT_ATTN_WEIGHTS, layer) +
           ((at[0] * h + at[1]) * n + at[2]) * n + at[3];
}

static void expect_leak(const txd_trace *trace, size_t row, const double *expected)
{
    static const char *const columns[] = {"layer", "batch", "head",
                                          "query", "key",   "value"};

    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        ck_assert_msg(cell(trace, "leaks", columns[i], row) == expected[i],
                      "row %zu, %s: %g, expected %g", row, columns[i],
                      cell(trace, "leaks", columns[i], row), expected[i]);
}

/* One leak of every kind; a padded query that leaks is nobody's business. */
START_TEST(leaks_are_found_cell_by_cell_with_their_kind)
{
    for (int round = 0; round < 2; round++) {
        fake_pass fake;
        txd_trace *trace;
        const char *const *kinds, *const *sites;

        fake_make(&fake, SMALL "mask : { window = 3; };", 2, 6);
        fake.inputs.valid[11] = 0;
        fake.inputs.document[3] = fake.inputs.document[4] = fake.inputs.document[5] = 1;
        for (int layer = 0; layer < 3; layer++)
            memset(fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, layer), 0,
                   2 * 3 * 36 * sizeof(double));
        fake.tile_rows = 2;
        fake.whole = round == 1;
        *weight(&fake, 0, (const size_t[]){1, 1, 2, 11 - 6}) = 0.25; /* padded key */
        *weight(&fake, 1, (const size_t[]){0, 0, 4, 2}) = 0.5;    /* another document */
        *weight(&fake, 1, (const size_t[]){1, 2, 0, 1}) = -0.125; /* the future */
        *weight(&fake, 2, (const size_t[]){1, 0, 4, 1}) = 0.0625; /* the window */
        *weight(&fake, 2, (const size_t[]){1, 0, 5, 0}) = 1;      /* padded query */
        *weight(&fake, 2, (const size_t[]){1, 0, 4, 3}) = 1;      /* may be seen */
        trace =
            fake_one_step(&fake, test_file("e.h5"), "record = ({probe = \"leaks\";});");
        ck_assert_uint_eq(row_count(trace, "leaks"), 4);
        kinds = fake_strings(trace, "events/leaks/kind", 4);
        sites = fake_strings(trace, "events/leaks/site", 4);
        expect_leak(trace, 0, (const double[]){0, 1, 1, 2, 5, 0.25});
        expect_leak(trace, 1, (const double[]){1, 0, 0, 4, 2, 0.5});
        expect_leak(trace, 2, (const double[]){1, 1, 2, 0, 1, -0.125});
        expect_leak(trace, 3, (const double[]){2, 1, 0, 4, 1, 0.0625});
        ck_assert_str_eq(kinds[0], "padding");
        ck_assert_str_eq(kinds[1], "document");
        ck_assert_str_eq(kinds[2], "future");
        ck_assert_str_eq(kinds[3], "window");
        ck_assert_str_eq(sites[3], "layers.2.attn.weights");
        ck_assert_uint_eq(row_count(trace, "leak_counts"), 4);
        txd_trace_destroy(trace);
        fake_free(&fake);
    }
}
END_TEST

START_TEST(the_worst_of_a_row_comes_first_and_nan_is_worst)
{
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 6);
    *weight(&fake, 1, (const size_t[]){0, 0, 1, 2}) = 0.1;
    *weight(&fake, 1, (const size_t[]){0, 0, 1, 3}) = NAN;
    *weight(&fake, 1, (const size_t[]){0, 0, 1, 4}) = -0.5;
    *weight(&fake, 1, (const size_t[]){0, 0, 0, 4}) = 0.01;
    fake.dtype = TXD_F64;
    trace = fake_one_step(&fake, test_file("e.h5"), "record = ({probe = \"leaks\";});");
    ck_assert_uint_eq(row_count(trace, "leaks"), 4);
    expect_leak(trace, 0, (const double[]){1, 0, 0, 0, 4, 0.01});
    ck_assert(isnan(cell(trace, "leaks", "value", 1)));
    expect_leak(trace, 2, (const double[]){1, 0, 0, 1, 4, -0.5});
    expect_leak(trace, 3, (const double[]){1, 0, 0, 1, 2, 0.1});
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* Every query sees everything: 15 leaks in each of the 9 heads, but 27 rows. */
START_TEST(each_head_has_its_share_of_the_limit_and_all_are_counted)
{
    fake_pass fake;
    txd_trace *trace;
    double listed = 0;

    fake_make(&fake, SMALL, 1, 6);
    fake.dtype = TXD_F64;
    fake.tile_rows = 4;
    for (int layer = 0; layer < 3; layer++)
        for (size_t i = 0; i < 3 * 36; i++)
            fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, layer)[i] =
                (double)(1 + i % 36) / 64;
    trace = fake_one_step(&fake, test_file("e.h5"),
                          "record = ({probe = \"leaks\"; limit = 27;});");
    ck_assert_uint_eq(row_count(trace, "leaks"), 27);
    ck_assert_uint_eq(row_count(trace, "leak_counts"), 9);
    for (size_t i = 0; i < 9; i++) {
        ck_assert(cell(trace, "leak_counts", "layer", i) == (double)(i / 3));
        ck_assert(cell(trace, "leak_counts", "head", i) == (double)(i % 3));
        ck_assert(cell(trace, "leak_counts", "found", i) == 15);
        ck_assert(cell(trace, "leak_counts", "listed", i) == 3);
        listed += cell(trace, "leak_counts", "listed", i);
    }
    ck_assert(listed == 27);
    /* Of the first four queries of a head the worst two: query 3, keys 5 and 4. */
    expect_leak(trace, 0, (const double[]){0, 0, 0, 3, 5, 24. / 64});
    expect_leak(trace, 1, (const double[]){0, 0, 0, 3, 4, 23. / 64});
    expect_leak(trace, 2, (const double[]){0, 0, 0, 4, 5, 30. / 64});
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* 90 x 89 / 2 leaks of one head in no order, of which the 100 worst are kept. */
START_TEST(the_worst_of_many_are_kept)
{
    const size_t n = 90, kept = 100;
    fake_pass fake;
    txd_trace *trace;
    double *values, sum = 0, expected = 0;
    size_t dims[TXD_MAX_RANK], larger = 0;

    fake_make(&fake,
              "model : { preset = \"llama\"; vocab = 5; d_model = 2; n_heads = 1;"
              " n_layers = 1; d_ff = 4; };",
              1, n);
    fake.dtype = TXD_F64;
    /* 7919 i modulo the prime 8101 never repeats: the values are all different. */
    for (size_t i = 0; i < n * n; i++)
        fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0)[i] =
            (double)(1 + i * 7919 % 8101) * (i % 2 ? 1 : -1);
    trace = fake_one_step(&fake, test_file("e.h5"),
                          "record = ({probe = \"leaks\"; limit = 100;});");
    values = fake_read(trace, "events/leaks/value", dims);
    ck_assert_uint_eq(dims[0], kept);
    for (size_t i = 0; i < kept; i++)
        sum += fabs(values[i]);
    for (size_t i = 0; i < n * n; i++) {
        const double *weights = fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0);

        larger = 0;
        for (size_t j = 0; j < n * n; j++)
            larger += j % n > j / n && fabs(weights[j]) > fabs(weights[i]);
        if (i % n > i / n && larger < kept)
            expected += fabs(weights[i]);
    }
    ck_assert(sum == expected && sum > 0);
    ck_assert(cell(trace, "leak_counts", "found", 0) == (double)(n * (n - 1) / 2));
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(leaks_of_selected_heads_only)
{
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 6);
    fake.dtype = TXD_F64;
    for (size_t head = 0; head < 3; head++)
        *weight(&fake, 1, (const size_t[]){0, head, 1, 2}) = 0.5;
    trace = fake_one_step(&fake, test_file("e.h5"),
                          "record = ({probe = \"leaks\"; heads = \"1\";});");
    ck_assert_uint_eq(row_count(trace, "leaks"), 1);
    expect_leak(trace, 0, (const double[]){1, 0, 1, 1, 2, 0.5});
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(events_of_later_steps_are_appended)
{
    const char *path = test_file("e.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 6);
    recorder = fake_record(
        &fake, path, "record = ({probe = \"leaks\"; limit = 1; steps=\"1:\";});", 3);
    *weight(&fake, 0, (const size_t[]){0, 0, 1, 2}) = 0.5;
    for (int step = 0; step < 3; step++)
        fake_step(&fake, recorder, step);
    trace = fake_finish(recorder, path);
    ck_assert_uint_eq(row_count(trace, "leaks"), 2);
    ck_assert(cell(trace, "leaks", "step", 0) == 1);
    ck_assert(cell(trace, "leaks", "step", 1) == 2);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(nonfinite_values_are_listed_in_order_of_execution,
          healthy_passes_have_no_events, leaks_are_found_cell_by_cell_with_their_kind,
          the_worst_of_a_row_comes_first_and_nan_is_worst,
          each_head_has_its_share_of_the_limit_and_all_are_counted,
          the_worst_of_many_are_kept, leaks_of_selected_heads_only,
          events_of_later_steps_are_appended)
