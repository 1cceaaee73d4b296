/* SPDX-License-Identifier: MIT
 *
 * The probe `full`: what a pass showed is what the recording holds, whole or in part.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "fake_pass.h"
#include "suite.h"

#define SMALL                                                                          \
    "model : { preset = \"llama\"; vocab = 11; d_model = 12; n_heads = 4;"             \
    " n_kv_heads = 2; head_dim = 6; value_dim = 5; n_layers = 3; d_ff = 7; };"
#define ONE_HEAD                                                                       \
    "model : { preset = \"llama\"; vocab = 5; d_model = 4; n_heads = 1;"               \
    " n_layers = 1; d_ff = 4; };"

static double rounded(const fake_pass *fake, double value)
{
    return fake->dtype == TXD_F32 ? (double)(float)value : value;
}

/* One step of an entry is the fake value; returns how many elements were compared. */
static size_t compare(const fake_pass *fake, const txd_trace *trace, txd_point point,
                      int layer)
{
    size_t dims[TXD_MAX_RANK], count = fake_count(fake, point);
    const double *expected = fake_value(fake, point, layer);
    char name[96];
    double *values;

    txd_point_name(name, sizeof name, point, layer);
    values = fake_read(trace, name, dims);
    ck_assert_uint_eq(dims[0], 1);
    for (size_t i = 0; i < count; i++)
        fake_same(values[i], rounded(fake, expected[i]), name, i);
    free(values);
    return count;
}

START_TEST(every_point_is_recorded_as_it_was_read)
{
    for (int round = 0; round < 3; round++) {
        fake_pass fake;
        txd_trace *trace;
        size_t compared = 0;

        fake_make(&fake, SMALL, 2, 5);
        fake_fill(&fake, 2, 5, 2, 3);
        fake.dtype = round == 1 ? TXD_F64 : TXD_F32;
        fake.whole = round == 2;
        fake.tile_rows = 2;
        fake_value(&fake, TXD_POINT_RESID_MID, 1)[3] = NAN;
        fake_value(&fake, TXD_POINT_ATTN_MASKED, 2)[9] = -INFINITY;
        fake_value(&fake, TXD_POINT_MLP_OUT, 0)[0] = -0.0;
        trace = fake_one_step(&fake, test_file("full.h5"),
                              "record = ({probe = \"full\"; points = \"*\";});");
        for (size_t i = 0; i < fake.stops; i++)
            compared += compare(&fake, trace, fake.order[i].point, fake.order[i].layer);
        ck_assert_uint_gt(compared, 1000);
        txd_trace_destroy(trace);
        fake_free(&fake);
    }
}
END_TEST

START_TEST(dtype_and_axes_are_those_of_the_value)
{
    static const struct {
        const char *name, *axes;
        txd_dtype dtype;
    } expected[] = {
        {"input.tokens", "sbt", TXD_I32},
        {"layers.2.attn.k", "sbgke", TXD_F64},
        {"layers.0.attn.weights", "sbhqk", TXD_F64},
        {"logits", "sbtv", TXD_F64},
        {"loss.token", "sbt", TXD_F64},
    };
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 5);
    fake.dtype = TXD_F64;
    trace = fake_one_step(&fake, test_file("full.h5"),
                          "record = ({probe = \"full\"; points = \"*\";});");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        txd_trace_info info;
        size_t entry;

        ck_assert_int_eq(txd_trace_find(trace, &entry, expected[i].name), TXD_OK);
        ck_assert_int_eq(txd_trace_get(trace, &info, entry), TXD_OK);
        ck_assert_str_eq(info.axes, expected[i].axes);
        ck_assert_int_eq(info.dtype, expected[i].dtype);
    }
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

static long long file_bytes(const char *path)
{
    struct stat about;

    ck_assert_int_eq(stat(path, &about), 0);
    return (long long)about.st_size;
}

/* 600 keys are 3 x 3 tiles of 256; the 3 above the diagonal hold nothing but +0. */
START_TEST(empty_tiles_of_weights_are_left_out_and_read_as_zero)
{
    const long long tile = 256 * 256 * 4;
    long long bytes[4];

    for (int round = 0; round < 4; round++) {
        const char *path = test_file("full.h5");
        fake_pass fake;
        txd_trace *trace;

        fake_make(&fake, ONE_HEAD, 1, 600);
        fake.skip_hidden = round == 1;
        if (round == 2) /* a zero with a sign is not nothing: its tile is stored */
            fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0)[599] = -0.0;
        for (size_t i = 0; round == 3 && i < 600 * 600; i++)
            fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0)[i] = 0.5;
        trace = fake_one_step(&fake, path,
                              "record = ({probe = \"full\";"
                              " points = \"*.attn.weights\";});");
        compare(&fake, trace, TXD_POINT_ATTN_WEIGHTS, 0);
        if (round == 2) {
            double *values = fake_read(trace, "layers.0.attn.weights", NULL);

            ck_assert(signbit(values[599]));
            free(values);
        }
        txd_trace_destroy(trace);
        fake_free(&fake);
        bytes[round] = file_bytes(path);
    }
    ck_assert_int_eq(bytes[1], bytes[0]);
    ck_assert_int_ge(bytes[2], bytes[0] + tile);
    ck_assert_int_lt(bytes[2], bytes[0] + 2 * tile);
    ck_assert_int_ge(bytes[3], bytes[0] + 3 * tile);
}
END_TEST

START_TEST(heads_that_are_not_selected_stay_nan)
{
    fake_pass fake;
    txd_trace *trace;
    double *weights, *keys;
    const double *expected;

    fake_make(&fake, SMALL, 2, 5);
    fake.skip_hidden = true;
    fake.tile_rows = 3;
    trace = fake_one_step(&fake, test_file("full.h5"),
                          "record = ({probe = \"full\"; heads = \"0,3\";"
                          " points = \"*.attn.weights,*.attn.k\"; layers = \"1\";});");
    weights = fake_read(trace, "layers.1.attn.weights", NULL);
    expected = fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 1);
    for (size_t i = 0; i < 2 * 4 * 5 * 5; i++) {
        size_t head = i / 25 % 4;

        fake_same(weights[i], head == 0 || head == 3 ? expected[i] : (double)NAN,
                  "weights", i);
    }
    /* Query heads 0 and 3 read the KV heads 0 and 1: both of them. */
    keys = fake_read(trace, "layers.1.attn.k", NULL);
    expected = fake_value(&fake, TXD_POINT_ATTN_K, 1);
    for (size_t i = 0; i < fake_count(&fake, TXD_POINT_ATTN_K); i++)
        fake_same(keys[i], expected[i], "keys", i);
    ck_assert(!fake_has(trace, "layers.0.attn.weights"));
    free(weights);
    free(keys);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(a_kv_head_is_recorded_if_a_selected_query_head_reads_it)
{
    fake_pass fake;
    txd_trace *trace;
    double *keys;
    const double *expected;

    fake_make(&fake, SMALL, 2, 5);
    trace = fake_one_step(&fake, test_file("full.h5"),
                          "record = ({probe = \"full\"; heads = \"2\";"
                          " points = \"layers.0.attn.k\";});");
    keys = fake_read(trace, "layers.0.attn.k", NULL);
    expected = fake_value(&fake, TXD_POINT_ATTN_K, 0);
    for (size_t i = 0; i < fake_count(&fake, TXD_POINT_ATTN_K); i++)
        fake_same(keys[i], i / 30 % 2 == 1 ? expected[i] : (double)NAN, "keys", i);
    free(keys);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(steps_of_different_lengths_share_a_dataset)
{
    const char *path = test_file("full.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK];
    double *values, expected[2][3 * 12];

    fake_make(&fake, SMALL, 1, 3);
    recorder = fake_record(
        &fake, path, "record = ({probe = \"full\"; points = \"final.norm\";});", 2);
    for (int step = 0; step < 2; step++) {
        fake_fill(&fake, 1, step == 0 ? 2 : 3, 0, 5);
        memset(expected[step], 0, sizeof expected[step]);
        memcpy(expected[step], fake_value(&fake, TXD_POINT_FINAL_NORM, -1),
               fake_count(&fake, TXD_POINT_FINAL_NORM) * sizeof(double));
        fake_step(&fake, recorder, step);
    }
    trace = fake_finish(recorder, path);
    values = fake_read(trace, "final.norm", dims);
    ck_assert_uint_eq(dims[0], 2);
    ck_assert_uint_eq(dims[2], 3);
    for (size_t i = 0; i < 3 * 12; i++) {
        fake_same(values[i], i < 24 ? expected[0][i] : (double)NAN, "step 0", i);
        fake_same(values[36 + i], expected[1][i], "step 1", i);
    }
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* The extent is the data's, never the longest that was declared. */
START_TEST(a_dataset_is_no_longer_than_its_data)
{
    const char *path = test_file("full.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK];

    fake_make(&fake, SMALL, 1, 9);
    recorder = fake_record(&fake, path, "record = ({probe = \"full\";});", 5);
    fake_fill(&fake, 1, 4, 0, 5);
    fake_step(&fake, recorder, 0);
    trace = fake_finish(recorder, path);
    free(fake_read(trace, "layers.0.attn.weights", dims));
    ck_assert_uint_eq(dims[0], 1);
    ck_assert_uint_eq(dims[3], 4);
    ck_assert_uint_eq(dims[4], 4);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* Nothing of such a step is stored, but it is there: a law that judged it in the pass
 * must find it in the file. */
START_TEST(a_step_whose_weights_are_all_zero_is_recorded_as_zeros)
{
    const char *path = test_file("full.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK];
    double *values;

    fake_make(&fake, ONE_HEAD, 1, 5);
    recorder = fake_record(&fake, path, "record = ({probe = \"full\";});", 2);
    for (int step = 0; step < 2; step++) {
        fake_fill(&fake, 1, step == 0 ? 3 : 5, 0, 5);
        if (step == 1)
            memset(fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0), 0,
                   25 * sizeof(double));
        fake_step(&fake, recorder, step);
    }
    trace = fake_finish(recorder, path);
    values = fake_read(trace, "layers.0.attn.weights", dims);
    ck_assert_uint_eq(dims[0], 2);
    ck_assert_uint_eq(dims[3], 5);
    ck_assert_uint_eq(dims[4], 5);
    for (size_t i = 0; i < 25; i++)
        ck_assert_double_eq(values[25 + i], 0);
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(steps_that_are_not_selected_stay_nan)
{
    const char *path = test_file("full.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK], count;
    const double *expected;
    double *values;

    fake_make(&fake, SMALL, 1, 3);
    recorder =
        fake_record(&fake, path, "record = ({probe = \"full\"; steps = \"1\";});", 3);
    for (int step = 0; step < 3; step++)
        fake_step(&fake, recorder, step);
    trace = fake_finish(recorder, path);
    values = fake_read(trace, "layers.0.attn.weights", dims);
    expected = fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0);
    count = fake_count(&fake, TXD_POINT_ATTN_WEIGHTS);
    ck_assert_uint_eq(dims[0], 2);
    for (size_t i = 0; i < count; i++) {
        ck_assert(isnan(values[i]));
        fake_same(values[count + i], expected[i], "step 1", i);
    }
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(overlapping_uses_fill_one_dataset)
{
    fake_pass fake;
    txd_trace *trace;
    double *weights;
    const double *expected;

    fake_make(&fake, SMALL, 1, 4);
    trace = fake_one_step(&fake, test_file("full.h5"),
                          "record = ({probe = \"full\"; points = \"*.weights\";"
                          " heads = \"1\";}, {probe = \"full\"; heads = \"2\";"
                          " points = \"layers.*.attn.weights,logits\";});");
    weights = fake_read(trace, "layers.2.attn.weights", NULL);
    expected = fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 2);
    for (size_t i = 0; i < 4 * 16; i++)
        fake_same(weights[i], i / 16 == 1 || i / 16 == 2 ? expected[i] : (double)NAN,
                  "weights", i);
    ck_assert_uint_gt(compare(&fake, trace, TXD_POINT_LOGITS, -1), 0);
    free(weights);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(every_point_is_recorded_as_it_was_read, dtype_and_axes_are_those_of_the_value,
          empty_tiles_of_weights_are_left_out_and_read_as_zero,
          heads_that_are_not_selected_stay_nan,
          a_kv_head_is_recorded_if_a_selected_query_head_reads_it,
          steps_of_different_lengths_share_a_dataset,
          a_dataset_is_no_longer_than_its_data,
          a_step_whose_weights_are_all_zero_is_recorded_as_zeros,
          steps_that_are_not_selected_stay_nan, overlapping_uses_fill_one_dataset)
