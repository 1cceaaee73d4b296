/* SPDX-License-Identifier: MIT
 *
 * Recordings, written and read back: values bit for bit, names and order, long runs
 * in parts, tables.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_internal.h"
#include "made_recording.h"
#include "suite.h"

/* ---- values ---- */

static void expect_same_bits(txd_dtype dtype, const void *data, size_t count)
{
    const char *path = test_file("bits.h5");
    size_t bytes = count * txd_dtype_bytes(dtype);
    txd_dataset_spec spec = made_spec_of("value/logits/full", "sbtv", dtype, 3);
    void *read = malloc(bytes);
    txd_trace_info info;
    txd_trace *trace;
    size_t entry;

    spec.dims[0] = spec.dims[1] = 1;
    spec.dims[2] = count;
    made_record_one(path, &spec, data, dtype);
    trace = made_open_complete(path);
    entry = made_entry_of(trace, "logits", &info);
    ck_assert_int_eq(info.dtype, dtype);
    ck_assert_str_eq(info.axes, "sbtv");
    memset(read, 0x55, bytes);
    OK(txd_trace_read_all(trace, read, count, entry, dtype));
    ck_assert_msg(memcmp(read, data, bytes) == 0, "%s", txd_dtype_name(dtype));
    txd_trace_destroy(trace);
    free(read);
}

START_TEST(every_dtype_comes_back_bit_for_bit)
{
    const double f64[] = {0.1, -0.0, NAN, INFINITY, -5e-324, 1.7976931348623157e308};
    const float f32[] = {0.1F, -0.0F, NAN, -INFINITY, 1e-45F, 3.4e38F};
    const uint16_t f16[] = {0x0001, 0x8000, 0x7bff, 0x7c00, 0x7e00, 0x3555};
    const uint16_t bf16[] = {0x0001, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, 0x3eab};
    const int64_t i64[] = {INT64_MIN, -1, 0, 1, ((int64_t)1 << 53) + 1, INT64_MAX};
    const int32_t i32[] = {INT32_MIN, -1, 0, 1, 2, INT32_MAX};
    const uint8_t u8[] = {0, 1, 2, 127, 128, 255};

    expect_same_bits(TXD_F64, f64, 6);
    expect_same_bits(TXD_F32, f32, 6);
    expect_same_bits(TXD_F16, f16, 6);
    expect_same_bits(TXD_BF16, bf16, 6);
    expect_same_bits(TXD_I64, i64, 6);
    expect_same_bits(TXD_I32, i32, 6);
    expect_same_bits(TXD_U8, u8, 6);
}
END_TEST

START_TEST(written_values_are_converted_as_tensors_are)
{
    const char *path = test_file("converted.h5");
    const double data[] = {1.0 / 3, 65519.0, 65520.0, -1e-9};
    txd_dataset_spec spec = made_spec_of("value/x/full", "sbt", TXD_F16, 2);
    uint16_t expected[4], read[4];
    txd_trace_info info;
    txd_trace *trace;

    spec.dims[0] = 1;
    spec.dims[1] = 4;
    made_record_one(path, &spec, data, TXD_F64);
    txd_convert(expected, TXD_F16, data, TXD_F64, 4);
    trace = made_open_complete(path);
    OK(txd_trace_read_all(trace, read, 4, made_entry_of(trace, "x", &info), TXD_F16));
    ck_assert_mem_eq(read, expected, sizeof expected);
    txd_trace_destroy(trace);
}
END_TEST

static void expect_growing(const char *path, bool fill_zero)
{
    txd_trace *trace = made_open_complete(path);
    txd_trace_info info;
    float read[100];
    size_t entry = made_entry_of(trace, "layers.0.attn.weights", &info);

    ck_assert_int_eq(info.rank, 5);
    ck_assert_mem_eq(info.dims, ((size_t[]){2, 1, 2, 5, 5}), 5 * sizeof(size_t));
    OK(txd_trace_read_all(trace, read, 100, entry, TXD_F32));
    for (size_t h = 0; h < 2; h++)
        for (size_t q = 0; q < 5; q++)
            for (size_t k = 0; k < 5; k++) {
                float value = read[(h * 5 + q) * 5 + k];

                if (q < 3 && k < 3)
                    ck_assert(value == (float)((h * 3 + q) * 3 + k) + 0.5F);
                else
                    ck_assert(fill_zero ? value == 0 : isnan(value));
            }
    ck_assert(read[99] == 149.5F);
    txd_trace_destroy(trace);
}

START_TEST(longer_steps_extend_and_the_rest_is_fill)
{
    const char *path = test_file("growing.h5");

    made_record_growing(path, true);
    expect_growing(path, true);
    made_record_growing(path, false);
    expect_growing(path, false);
}
END_TEST

START_TEST(blocks_outside_the_declared_extent_are_refused)
{
    txd_recording *recording = made_new_recording(test_file("outside.h5"));
    txd_dataset_spec spec = made_spec_of("value/x/full", "sbt", TXD_F32, 2);
    const size_t beyond[] = {0, 3}, two[] = {1, 2};
    const float values[2] = {1, 2};
    size_t id;

    spec.dims[0] = 1;
    spec.dims[1] = 4;
    OK(txd_recording_dataset(recording, &id, &spec));
    ck_assert_int_eq(
        txd_recording_write(recording, id, 0, beyond, two, values, TXD_F32),
        TXD_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "value/x/full"));
    OK(txd_recording_write(recording, id, 0, made_origin, two, values, TXD_F32));
    OK(txd_recording_close(recording, true));
}
END_TEST

/* ---- parts ---- */

START_TEST(long_runs_continue_in_further_datasets_and_read_as_one)
{
    enum { HEADS = 600, STEPS = 3, SIDE = 100 };
    const char *path = test_file("parts.h5");
    txd_recording *recording = made_new_recording(path);
    txd_dataset_spec spec =
        made_spec_of("value/layers/0/attn/q/full", "sbhqe", TXD_F32, 4);
    const size_t across[] = {1, 0, HEADS - 1, 0, 0}, count[] = {2, 1, 1, 1, 2};
    const size_t last[] = {0, HEADS - 1, 0, 0}, head[] = {1, 1, 2, 2};
    float read[4];
    txd_trace_info info;
    txd_trace *trace;
    txd_h5_plan plan;
    size_t id, entry;

    spec.steps = STEPS;
    memcpy(spec.dims, (size_t[]){1, HEADS, SIDE, SIDE}, 4 * sizeof(size_t));
    OK(txd_h5_plan_make(&plan, &spec));
    ck_assert_uint_eq(plan.steps_per_part, 1);
    OK(txd_recording_dataset(recording, &id, &spec));
    for (size_t step = 0; step < STEPS; step++) {
        const float values[] = {(float)step, 1, 2, 3};

        OK(txd_recording_write(recording, id, step, last, head, values, TXD_F32));
    }
    OK(txd_recording_close(recording, true));
    trace = made_open_complete(path);
    ck_assert_uint_eq(txd_trace_count(trace), 1 + 4); /* and step, batch, head, query */
    entry = made_entry_of(trace, "layers.0.attn.q", &info);
    ck_assert_uint_eq(info.dims[0], STEPS);
    OK(txd_trace_read(trace, read, entry, across, count, TXD_F32));
    for (size_t i = 0; i < 4; i++)
        ck_assert(read[i] == (float)(i % 2 ? 1 : 1 + i / 2));
    txd_trace_destroy(trace);
}
END_TEST

static size_t pieces(size_t length, size_t side)
{
    return (length + side - 1) / side;
}

START_TEST(no_chunk_index_can_split)
{
    static const size_t lengths[] = {1, 27, 256, 257, 1024, 5000, 50257};
    static const size_t heads[] = {1, 8, 32, 300};
    static const size_t steps[] = {1, 50, 999, 100000};

    for (size_t i = 0; i < 7 * 4 * 4; i++) {
        size_t length = lengths[i % 7], h = heads[i / 7 % 4], chunks = 1;
        txd_dataset_spec spec = made_spec_of("value/x/full", "sbhqk", TXD_F32, 4);
        txd_h5_plan plan;

        spec.steps = steps[i / 28];
        memcpy(spec.dims, (size_t[]){2, h, 1, 1}, 4 * sizeof(size_t));
        spec.growing[2] = spec.growing[3] = true;
        spec.chunk_limit[2] = spec.chunk_limit[3] = length;
        if (txd_h5_plan_make(&plan, &spec) != TXD_OK) {
            /* A single step of more than 1000 chunks of 4 GiB. */
            ck_assert_uint_gt(2 * h * length / 1000 * length, (size_t)1 << 30);
            continue;
        }
        for (int axis = 1; axis < 5; axis++) {
            ck_assert_uint_le(plan.chunk[axis],
                              axis > 2 ? length : spec.dims[axis - 1]);
            chunks *= pieces(axis > 2 ? length : spec.dims[axis - 1], plan.chunk[axis]);
        }
        ck_assert_uint_le(chunks * pieces(plan.steps_per_part, plan.chunk[0]), 1000);
        ck_assert_uint_ge(plan.parts * plan.steps_per_part, spec.steps);
        ck_assert_uint_ge(plan.chunk[4], length < 256 ? length : 256);
    }
}
END_TEST

/* ---- tables, strings, metadata ---- */

START_TEST(tables_strings_and_metadata_come_back)
{
    const char *path = test_file("tables.h5");
    txd_recording *recording = made_new_recording(path);
    const char *const names[] = {"layers.0.attn.weights", "",
                                 "na\xc3\xafve \xe2\x82\xac"};
    const char *const *read;
    double values[3] = {1.5, NAN, -2};
    int64_t steps[3] = {7, -1, ((int64_t)1 << 53) + 1};
    const txd_column columns[] = {{.name = "value", .dtype = TXD_F64, .data = values},
                                  {.name = "step", .dtype = TXD_I64, .data = steps},
                                  {.name = "site", .strings = names}};
    txd_trace_info info;
    txd_trace *trace;
    double got[6];
    size_t count;

    OK(txd_recording_meta(recording, "config", "first"));
    OK(txd_recording_meta(recording, "config", "model : { vocab = 3; };\n"));
    OK(txd_recording_meta_int(recording, "seed", -5));
    OK(txd_recording_append(recording, "events/leaks", columns, 3, 0));
    OK(txd_recording_append(recording, "events/leaks", columns, 3, 3));
    OK(txd_recording_append(recording, "events/leaks", columns, 3, 2));
    ck_assert_int_eq(txd_recording_append(recording, "events/leaks", columns, 2, 1),
                     TXD_ERR_ARGUMENT);
    OK(txd_recording_strings(recording, "series/stats_sites", names, 3));
    OK(txd_recording_close(recording, true));

    trace = made_open_complete(path);
    ck_assert_str_eq(txd_trace_meta(trace, "config"), "model : { vocab = 3; };\n");
    ck_assert_str_eq(txd_trace_meta(trace, "seed"), "-5");
    ck_assert_str_eq(txd_trace_meta(trace, "complete"), "1");
    ck_assert_str_eq(txd_trace_meta(trace, "txdiag_schema"), "1");
    ck_assert_ptr_null(txd_trace_meta(trace, "nothing"));
    OK(txd_trace_read_all(trace, got, 5,
                          made_entry_of(trace, "events/leaks/value", &info), TXD_F64));
    ck_assert(got[0] == 1.5 && isnan(got[1]) && got[3] == 1.5 && isnan(got[4]));
    ck_assert_uint_eq(info.dims[0], 5);
    OK(txd_recording_read_strings(&read, &count, trace, "events/leaks/site"));
    ck_assert_uint_eq(count, 5);
    ck_assert_str_eq(read[2], names[2]);
    ck_assert_str_eq(read[3], names[0]);
    OK(txd_recording_read_strings(&read, &count, trace, "series/stats_sites"));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(read[1], "");
    ck_assert_int_eq(txd_recording_read_strings(&read, &count, trace, "none"),
                     TXD_ERR_MISSING);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(a_complete_table_costs_no_chunk_index)
{
    const char *path = test_file("table.h5");
    txd_recording *recording = made_new_recording(path);
    const char *const names[] = {"row_sum", "", "causality"};
    double values[3] = {1.5, NAN, -2};
    int32_t steps[3] = {7, -1, 12};
    const txd_column columns[] = {{.name = "worst", .dtype = TXD_F64, .data = values},
                                  {.name = "step", .dtype = TXD_I32, .data = steps},
                                  {.name = "name", .strings = names}};
    size_t before = txd_recording_bytes(recording), count, index = 24 + 1024 * 8;
    const char *const *read;
    txd_trace_info info;
    txd_trace *trace;
    double got[3];

    OK(txd_recording_table(recording, "checks/laws", columns, 3, 3));
    OK(txd_recording_table(recording, "checks/findings", columns, 3, 0));
    OK(txd_recording_flush(recording));
    ck_assert_uint_lt(txd_recording_bytes(recording) - before, index);
    OK(txd_recording_close(recording, true));

    trace = made_open_complete(path);
    OK(txd_trace_read_all(trace, got, 3,
                          made_entry_of(trace, "checks/laws/worst", &info), TXD_F64));
    ck_assert(got[0] == 1.5 && isnan(got[1]) && got[2] == -2);
    OK(txd_trace_read_all(trace, got, 3,
                          made_entry_of(trace, "checks/laws/step", &info), TXD_F64));
    ck_assert(got[0] == 7 && got[1] == -1 && got[2] == 12);
    OK(txd_recording_read_strings(&read, &count, trace, "checks/laws/name"));
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(read[2], "causality");
    OK(txd_recording_read_strings(&read, &count, trace, "checks/findings/name"));
    ck_assert_uint_eq(count, 0);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(values_come_in_the_order_of_execution)
{
    static const char *const paths[] = {"rows/entropy",
                                        "value/logits/full",
                                        "value/layers/10/resid/post/full",
                                        "value/layers/2/resid/post/full",
                                        "value/layers/2/attn/q/full",
                                        "value/embed/tok/full"};
    static const char *const expected[] = {
        "embed.tok", "layers.2.attn.q", "layers.2.resid.post", "layers.10.resid.post",
        "logits",    "rows/entropy"};
    const char *path = test_file("order.h5");
    txd_recording *recording = made_new_recording(path);
    const float one = 1;
    txd_trace *trace;
    size_t id;

    OK(txd_recording_meta(recording, "config",
                          "model : { preset = \"mini\"; vocab = 16; d_model = 8; "
                          "n_heads = 2; n_layers = 11; };\n"));
    for (size_t i = 0; i < 6; i++) {
        txd_dataset_spec spec = made_spec_of(paths[i], "s", TXD_F32, 0);

        OK(txd_recording_dataset(recording, &id, &spec));
        OK(txd_recording_write(recording, id, 0, made_origin, made_origin, &one,
                               TXD_F32));
    }
    OK(txd_recording_close(recording, true));
    trace = made_open_complete(path);
    for (size_t i = 0, at = 0; i < txd_trace_count(trace); i++) {
        txd_trace_info info;

        OK(txd_trace_get(trace, &info, i));
        if (strncmp(info.name, "dims/", 5) != 0)
            ck_assert_str_eq(info.name, expected[at++]);
    }
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(a_format_goes_by_one_name_and_is_read_by_two)
{
    const txd_dtype formats[] = {TXD_F64, TXD_F32, TXD_F16, TXD_BF16};

    for (int i = 0; i < 4; i++) {
        ck_assert_int_eq(txd_recording_format(txd_recording_dtype(formats[i])),
                         formats[i]);
        ck_assert_int_eq(txd_recording_format(txd_dtype_name(formats[i])), formats[i]);
    }
    ck_assert_str_eq(txd_recording_dtype(TXD_BF16), "bf16");
    ck_assert_int_eq(txd_recording_format(NULL), TXD_F32);
    ck_assert_int_eq(txd_recording_format("float8"), TXD_F32);
    ck_assert_uint_eq(txd_recording_element(TXD_BF16), 4);
    ck_assert_uint_eq(txd_recording_element(TXD_F16), 2);
}
END_TEST

START_TEST(names_of_fields_are_metadata_of_their_entry)
{
    txd_dataset_spec spec = made_spec_of("series/stats", "sxy", TXD_F64, 2);
    const char *path = test_file("fields.h5");
    const double values[6] = {1, 2, 3, 4, 5, 6};
    txd_trace *trace;

    spec.dims[0] = 3;
    spec.dims[1] = 2;
    spec.fields = "mean,std";
    made_record_one(path, &spec, values, TXD_F64);
    trace = made_open_complete(path);
    ck_assert_str_eq(txd_trace_meta(trace, "series/stats:fields"), "mean,std");
    ck_assert_ptr_null(txd_trace_meta(trace, "series/stat:fields"));
    ck_assert_ptr_null(txd_trace_meta(trace, ":fields"));
    txd_trace_destroy(trace);
}
END_TEST

TEST_MAIN(names_of_fields_are_metadata_of_their_entry,
          a_format_goes_by_one_name_and_is_read_by_two,
          every_dtype_comes_back_bit_for_bit,
          written_values_are_converted_as_tensors_are,
          longer_steps_extend_and_the_rest_is_fill,
          blocks_outside_the_declared_extent_are_refused,
          long_runs_continue_in_further_datasets_and_read_as_one,
          no_chunk_index_can_split, tables_strings_and_metadata_come_back,
          a_complete_table_costs_no_chunk_index, values_come_in_the_order_of_execution)
