/* SPDX-License-Identifier: MIT
 *
 * The probes `stats`, `norms` and `rows`: every number in its place.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define SMALL                                                                          \
    "model : { preset = \"gpt2\"; vocab = 11; d_model = 6; n_heads = 3;"               \
    " n_layers = 2; d_ff = 7; max_seq_len = 8; };"

enum { VECTORS, MEAN, STD, MIN, MAX, L2, NONFINITE, FIELDS };

START_TEST(stats_are_rows_in_order_of_execution)
{
    fake_pass fake;
    txd_trace *trace;
    const char *const *sites;
    size_t dims[TXD_MAX_RANK], site = 0;
    double *values;

    fake_make(&fake, SMALL, 2, 5);
    trace = fake_one_step(&fake, test_file("s.h5"), "record = ({probe = \"stats\";});");
    values = fake_read(trace, "series/stats", dims);
    ck_assert_uint_eq(dims[0], 1);
    ck_assert_uint_eq(dims[2], TXD_STAT_COUNT_OF);
    sites = fake_strings(trace, "series/stats_sites", dims[1]);
    for (size_t i = 0; i < fake.stops; i++) {
        char name[96];

        if (txd_point_get(fake.order[i].point)->place == TXD_PLACE_INPUT)
            continue;
        txd_point_name(name, sizeof name, fake.order[i].point, fake.order[i].layer);
        ck_assert_str_eq(sites[site], name);
        for (size_t f = 0; f < TXD_STAT_COUNT_OF; f++)
            fake_same(values[site * TXD_STAT_COUNT_OF + f], fake.stats[i][f], name, f);
        site++;
    }
    ck_assert_uint_eq(site, dims[1]);
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(stats_of_selected_layers_only)
{
    fake_pass fake;
    txd_trace *trace;
    const char *const *sites;

    fake_make(&fake, SMALL, 1, 5);
    trace = fake_one_step(&fake, test_file("s.h5"),
                          "record = ({probe = \"stats\"; layers = \"1:\";"
                          " points = \"layers.*.attn.scores,logits\";});");
    sites = fake_strings(trace, "series/stats_sites", 2);
    ck_assert_str_eq(sites[0], "layers.1.attn.scores");
    ck_assert_str_eq(sites[1], "logits");
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* The row of `series/norms` for a point with vectors of `width`, computed plainly. */
static void expect_norms(double row[FIELDS], const fake_pass *fake, const double *value,
                         size_t width)
{
    double list[64], sum = 0, square = 0, deviation = 0, count = 0;

    memset(row, 0, FIELDS * sizeof *row);
    row[MIN] = INFINITY;
    for (size_t i = 0; i < fake->inputs.batch * fake->inputs.length; i++) {
        double norm = 0;

        for (size_t d = 0; d < width; d++)
            norm = hypot(norm, value[i * width + d]);
        if (!fake->inputs.valid[i])
            continue;
        if (!isfinite(norm)) {
            row[NONFINITE]++;
            continue;
        }
        list[(size_t)count++] = norm;
        sum += norm;
        square += norm * norm;
        row[MIN] = fmin(row[MIN], norm);
        row[MAX] = fmax(row[MAX], norm);
    }
    for (size_t i = 0; i < (size_t)count; i++)
        deviation += (list[i] - sum / count) * (list[i] - sum / count);
    row[VECTORS] = count;
    row[MEAN] = sum / count;
    row[STD] = sqrt(deviation / count);
    row[L2] = sqrt(square);
}

static void check_norms(const fake_pass *fake, const double *row, txd_point point,
                        int layer)
{
    double expected[FIELDS];

    expect_norms(expected, fake, fake_value(fake, point, layer), fake->config.d_model);
    for (size_t i = 0; i < FIELDS; i++)
        ck_assert_msg(txd_close(row[i], expected[i], 1e-12 * fabs(expected[i])),
                      "%s: field %zu: %.17g, expected %.17g",
                      txd_point_get(point)->name, i, row[i], expected[i]);
}

START_TEST(norms_are_taken_per_token_without_padding)
{
    fake_pass fake;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK];
    double *values;

    fake_make(&fake, SMALL, 2, 5);
    fake_fill(&fake, 2, 5, 3, 9);
    fake.dtype = TXD_F64;
    fake_value(&fake, TXD_POINT_RESID_POST, 1)[7] = NAN;
    fake_value(&fake, TXD_POINT_RESID_POST, 1)[9 * 6] = 1e30; /* padding */
    for (int i = 0; i < 12; i++) { /* squares that overflow, and that vanish */
        fake_value(&fake, TXD_POINT_RESID_PRE, 1)[i] = i < 6 ? 1e200 : 1e-200;
    }
    trace = fake_one_step(&fake, test_file("n.h5"), "record = ({probe = \"norms\";});");
    values = fake_read(trace, "series/norms", dims);
    ck_assert_uint_eq(dims[1], 3 + 2 * 3);
    ck_assert_uint_eq(dims[2], FIELDS);
    check_norms(&fake, values, TXD_POINT_EMBED_TOK, -1);
    check_norms(&fake, values + FIELDS, TXD_POINT_EMBED_POS, -1);
    check_norms(&fake, values + 2 * FIELDS, TXD_POINT_EMBED_OUT, -1);
    check_norms(&fake, values + 4 * FIELDS, TXD_POINT_RESID_MID, 0);
    ck_assert(txd_close(values[6 * FIELDS + MAX], sqrt(6) * 1e200, 1e186));
    ck_assert(txd_close(values[6 * FIELDS + MIN], sqrt(6) * 1e-200, 1e-214));
    check_norms(&fake, values + 8 * FIELDS, TXD_POINT_RESID_POST, 1);
    ck_assert(values[8 * FIELDS + NONFINITE] == 1);
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(norms_of_heads_and_of_row_tiles)
{
    fake_pass fake;
    txd_trace *trace;
    double *values;
    double expected = 0;
    const double *q;

    fake_make(&fake, SMALL, 2, 5);
    fake.dtype = TXD_F64;
    trace = fake_one_step(&fake, test_file("n.h5"),
                          "record = ({probe = \"norms\";"
                          " points = \"layers.1.attn.q,logits\";});");
    values = fake_read(trace, "series/norms", NULL);
    q = fake_value(&fake, TXD_POINT_ATTN_Q, 1);
    ck_assert(values[VECTORS] == 2 * 3 * 5);
    for (size_t i = 0; i < 2 * 3 * 5; i++)
        expected += hypot(q[2 * i], q[2 * i + 1]) / 30;
    ck_assert(txd_close(values[MEAN], expected, 1e-12));
    ck_assert(values[FIELDS + VECTORS] == 2 * 5);
    ck_assert(!fake_has(trace, "series/param"));
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(parameters_are_recorded_once_with_their_norm)
{
    const char *path = test_file("p.h5");
    const size_t fields = TXD_STAT_COUNT_OF + 1;
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    const char *const *sites;
    size_t dims[TXD_MAX_RANK];
    double *values;

    fake_make(&fake, SMALL, 1, 4);
    recorder =
        fake_record(&fake, path, "record = ({probe = \"norms\"; steps=\"1:\";});", 2);
    fake_step(&fake, recorder, 0);
    fake_step(&fake, recorder, 1);
    trace = fake_finish(recorder, path);
    values = fake_read(trace, "series/param", dims);
    ck_assert_uint_eq(dims[0], txd_params_count(fake.params));
    ck_assert_uint_eq(dims[1], fields);
    sites = fake_strings(trace, "series/param_sites", dims[0]);
    for (size_t i = 0; i < dims[0]; i++) {
        const double *stats = fake.param_stats[i];

        ck_assert_str_eq(sites[i], txd_params_at(fake.params, i)->name);
        for (size_t f = 0; f < TXD_STAT_COUNT_OF; f++)
            fake_same(values[i * fields + f], stats[f], sites[i], f);
        ck_assert(txd_close(values[i * fields + TXD_STAT_COUNT_OF],
                            stats[TXD_STAT_RMS] * sqrt(stats[TXD_STAT_COUNT]), 1e-9));
    }
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

static void check_column(const fake_pass *fake, const txd_trace *trace, txd_row column,
                         int layer, const char *heads)
{
    size_t dims[TXD_MAX_RANK], n = fake->inputs.length, h = fake->config.n_heads;
    size_t per_layer = fake->inputs.batch * h * n;
    char name[64];
    double *values;

    snprintf(name, sizeof name, "rows/%s", txd_row_get(column)->name);
    values = fake_read(trace, name, dims);
    ck_assert_uint_eq(dims[1], fake->config.n_layers);
    for (size_t i = 0; i < per_layer; i++) {
        double expected = fake->rows[layer][i * TXD_ROW_COUNT + (size_t)column];

        if (heads[i / n % h] != '1')
            expected = txd_row_get(column)->is_key ? -1 : (double)NAN;
        fake_same(values[(size_t)layer * per_layer + i], expected, name, i);
    }
    free(values);
}

START_TEST(every_row_statistic_lies_in_its_layer_and_head)
{
    /* Tiles, whole values, tiles that no worker takes since they are too long. */
    static const struct {
        size_t length, tile_rows;
        bool whole;
    } rounds[] = {{5, 2, false}, {5, 2, true}, {300, 256, false}, {300, 99, false}};

    for (size_t round = 0; round < 8; round++) {
        size_t length = rounds[round / 2].length;
        fake_pass fake;
        txd_trace *trace;
        txd_trace_info info;
        size_t entry;

        fake_make(&fake, SMALL, 2, length);
        fake_fill(&fake, 2, length, 2, 4);
        fake.dtype = round % 2 ? TXD_F64 : TXD_F32;
        fake.tile_rows = rounds[round / 2].tile_rows;
        fake.whole = rounds[round / 2].whole;
        trace =
            fake_one_step(&fake, test_file("r.h5"), "record = ({probe = \"rows\";});");
        for (int layer = 0; layer < 2; layer++)
            for (int c = 0; c < TXD_ROW_COUNT; c++)
                check_column(&fake, trace, (txd_row)c, layer, "111");
        ck_assert_int_eq(txd_trace_find(trace, &entry, "rows/peak_key"), TXD_OK);
        ck_assert_int_eq(txd_trace_get(trace, &info, entry), TXD_OK);
        ck_assert_int_eq(info.dtype, TXD_I32);
        ck_assert_str_eq(info.axes, "slbhq");
        txd_trace_destroy(trace);
        fake_free(&fake);
    }
}
END_TEST

START_TEST(rows_that_are_not_selected_stay_empty)
{
    fake_pass fake;
    txd_trace *trace;
    double *values;

    fake_make(&fake, SMALL, 2, 5);
    trace =
        fake_one_step(&fake, test_file("r.h5"),
                      "record = ({probe = \"rows\"; layers = \"1\"; heads=\"0,2\";});");
    check_column(&fake, trace, TXD_ROW_ENTROPY, 1, "101");
    check_column(&fake, trace, TXD_ROW_PEAK_KEY, 1, "101");
    values = fake_read(trace, "rows/entropy", NULL);
    for (size_t i = 0; i < 2 * 3 * 5; i++)
        ck_assert(isnan(values[i]));
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(stats_are_rows_in_order_of_execution, stats_of_selected_layers_only,
          norms_are_taken_per_token_without_padding, norms_of_heads_and_of_row_tiles,
          parameters_are_recorded_once_with_their_norm,
          every_row_statistic_lies_in_its_layer_and_head,
          rows_that_are_not_selected_stay_empty)
