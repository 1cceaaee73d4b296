/* SPDX-License-Identifier: MIT
 *
 * The trace interface over the trace in memory.
 */
#include <string.h>

#include "base/trace.h"
#include "suite.h"

static txd_trace *make(void)
{
    txd_trace *trace = NULL;
    float values[6] = {0, 1, 2, 3, 4, 5};
    int64_t scalar = 42;
    size_t dims[] = {2, 3}, none[] = {0, 3};
    txd_tensor matrix = txd_tensor_make(TXD_F32, values, 2, dims);
    txd_tensor number = txd_tensor_make(TXD_I64, &scalar, 0, NULL);
    txd_tensor empty = txd_tensor_make(TXD_F32, NULL, 2, none);

    ck_assert_int_eq(txd_trace_memory(&trace), TXD_OK);
    ck_assert_int_eq(txd_trace_memory_add(trace, "matrix", "td", &matrix), TXD_OK);
    ck_assert_int_eq(txd_trace_memory_add(trace, "number", "", &number), TXD_OK);
    ck_assert_int_eq(txd_trace_memory_add(trace, "empty", "td", &empty), TXD_OK);
    memset(values, 0xff, sizeof values); /* entries are copies */
    return trace;
}

START_TEST(entries_keep_their_order_names_and_values)
{
    txd_trace *trace = make();
    txd_trace_info info;
    double out[6];
    size_t i;

    ck_assert_uint_eq(txd_trace_count(trace), 3);
    ck_assert_int_eq(txd_trace_find(trace, &i, "number"), TXD_OK);
    ck_assert_uint_eq(i, 1);
    ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
    ck_assert_str_eq(info.axes, "td");
    ck_assert_ptr_null(info.foreign);
    ck_assert_int_eq(txd_trace_read_all(trace, out, 6, 0, TXD_F64), TXD_OK);
    for (int k = 0; k < 6; k++)
        ck_assert_double_eq(out[k], k);
    ck_assert_int_eq(txd_trace_read_all(trace, out, 1, 1, TXD_F64), TXD_OK);
    ck_assert_double_eq(out[0], 42);
    ck_assert_int_eq(txd_trace_read_all(trace, out, 0, 2, TXD_F64), TXD_OK);
    ck_assert_ptr_nonnull(txd_trace_view(trace, 0));
    ck_assert_ptr_null(txd_trace_view(trace, 3));
    ck_assert_ptr_null(txd_trace_meta(trace, "anything"));
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(a_block_is_read_from_its_place)
{
    txd_trace *trace = make();
    size_t start[] = {0, 1}, count[] = {2, 2};
    float out[4];

    ck_assert_int_eq(txd_trace_read(trace, out, 0, start, count, TXD_F32), TXD_OK);
    ck_assert_float_eq(out[0], 1);
    ck_assert_float_eq(out[1], 2);
    ck_assert_float_eq(out[2], 4);
    ck_assert_float_eq(out[3], 5);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(a_block_outside_the_entry_is_refused)
{
    txd_trace *trace = make();
    size_t start[] = {0, 2}, count[] = {2, 2}, far[] = {SIZE_MAX, 0}, two[] = {2, 2};
    float out[6];

    ck_assert_int_eq(txd_trace_read(trace, out, 0, start, count, TXD_F32),
                     TXD_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "matrix: axis 1"));
    ck_assert_int_eq(txd_trace_read(trace, out, 0, far, two, TXD_F32),
                     TXD_ERR_ARGUMENT);
    ck_assert_int_eq(txd_trace_read_all(trace, out, 5, 0, TXD_F32), TXD_ERR_ARGUMENT);
    ck_assert_int_eq(txd_trace_read_all(trace, out, 6, 9, TXD_F32), TXD_ERR_ARGUMENT);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(a_name_that_is_not_there_is_missing)
{
    txd_trace *trace = make();
    size_t i = 77;

    ck_assert_int_eq(txd_trace_find(trace, &i, "matri"), TXD_ERR_MISSING);
    ck_assert_uint_eq(i, 77);
    txd_trace_destroy(trace);
    txd_trace_destroy(NULL);
}
END_TEST

START_TEST(many_entries_fit)
{
    txd_trace *trace = make();
    int32_t value = 3;
    txd_tensor tensor = txd_tensor_make(TXD_I32, &value, 0, NULL);

    for (int i = 0; i < 1000; i++)
        ck_assert_int_eq(txd_trace_memory_add(trace, "again", "", &tensor), TXD_OK);
    ck_assert_uint_eq(txd_trace_count(trace), 1003);
    txd_trace_destroy(trace);
}
END_TEST

TEST_MAIN(entries_keep_their_order_names_and_values, a_block_is_read_from_its_place,
          a_block_outside_the_entry_is_refused, a_name_that_is_not_there_is_missing,
          many_entries_fit)
