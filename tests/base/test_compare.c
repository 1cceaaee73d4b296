/* SPDX-License-Identifier: MIT
 *
 * The comparator fails unless it is proven close.
 */
#include <math.h>

#include "base/compare.h"
#include "suite.h"

START_TEST(nan_is_close_to_nothing)
{
    ck_assert(!txd_close(NAN, 0, INFINITY));
    ck_assert(!txd_close(0, NAN, INFINITY));
    ck_assert(!txd_close(NAN, NAN, INFINITY));
    ck_assert(!txd_close(NAN, INFINITY, 1));
    ck_assert(!txd_within(NAN, INFINITY));
}
END_TEST

START_TEST(an_infinity_is_close_only_to_the_same_infinity)
{
    ck_assert(txd_close(INFINITY, INFINITY, 0));
    ck_assert(txd_close(-INFINITY, -INFINITY, 0));
    ck_assert(!txd_close(INFINITY, -INFINITY, INFINITY));
    ck_assert(!txd_close(INFINITY, 1e308, INFINITY));
    ck_assert(!txd_close(1e308, INFINITY, INFINITY));
}
END_TEST

START_TEST(a_nan_or_negative_allowance_proves_nothing)
{
    ck_assert(!txd_close(1, 1, NAN));
    ck_assert(!txd_close(1, 1, -1e-300));
    ck_assert(!txd_within(0, NAN));
    ck_assert(!txd_within(1, 0.5));
    ck_assert(txd_within(0.5, 0.5));
    ck_assert(txd_close(1, 1, 0));
    ck_assert(txd_close(0.0, -0.0, 0));
    ck_assert(!txd_close(1e308, -1e308, 1e308));
}
END_TEST

START_TEST(a_comparison_counts_and_finds_the_first_and_the_worst)
{
    double value[] = {1, 2.5, 3, NAN, 50}, expected[] = {1, 2, 3, 4, 5};
    size_t dims[] = {5};
    txd_tensor a = txd_tensor_make(TXD_F64, value, 1, dims);
    txd_tensor b = txd_tensor_make(TXD_F64, expected, 1, dims);
    txd_comparison result;

    ck_assert_int_eq(txd_compare(&result, &a, &b, 0, 0.1), TXD_OK);
    ck_assert_uint_eq(result.count, 5);
    ck_assert_uint_eq(result.failures, 3);
    ck_assert_uint_eq(result.first, 1);
    ck_assert_uint_eq(result.worst, 3);
    ck_assert(isnan(result.worst_error));
    value[3] = 4;
    ck_assert_int_eq(txd_compare(&result, &a, &b, 0, 0.1), TXD_OK);
    ck_assert_uint_eq(result.worst, 4);
    ck_assert_double_eq(result.worst_error, 45);
    ck_assert_double_eq_tol(result.worst_ratio, 450, 1e-9);
}
END_TEST

START_TEST(equal_tensors_have_no_failure_even_with_no_allowance)
{
    float value[] = {1, -INFINITY, 0};
    size_t dims[] = {3};
    txd_tensor a = txd_tensor_make(TXD_F32, value, 1, dims);
    txd_comparison result;

    ck_assert_int_eq(txd_compare(&result, &a, &a, 0, 0), TXD_OK);
    ck_assert_uint_eq(result.failures, 0);
    ck_assert_uint_eq(result.first, 3);
    ck_assert_double_eq(result.worst_error, 0);
    ck_assert_double_eq(result.worst_ratio, 0);
}
END_TEST

START_TEST(relative_allowance_is_of_the_expected_value_across_dtypes)
{
    float value[] = {101, 99};
    int32_t expected[] = {100, 100};
    size_t dims[] = {2};
    txd_tensor a = txd_tensor_make(TXD_F32, value, 1, dims);
    txd_tensor b = txd_tensor_make(TXD_I32, expected, 1, dims);
    txd_comparison result;

    ck_assert_int_eq(txd_compare(&result, &a, &b, 0.01, 0), TXD_OK);
    ck_assert_uint_eq(result.failures, 0);
    ck_assert_int_eq(txd_compare(&result, &a, &b, 0.009, 0), TXD_OK);
    ck_assert_uint_eq(result.failures, 2);
}
END_TEST

START_TEST(int64_values_that_share_a_double_still_differ)
{
    int64_t value = 9007199254740993, expected = 9007199254740992;
    txd_tensor a = txd_tensor_make(TXD_I64, &value, 0, NULL);
    txd_tensor b = txd_tensor_make(TXD_I64, &expected, 0, NULL);
    txd_comparison result;

    ck_assert_int_eq(txd_compare(&result, &a, &b, 0, 0), TXD_OK);
    ck_assert_uint_eq(result.failures, 1);
    ck_assert_double_eq(result.worst_error, 1);
}
END_TEST

START_TEST(different_shapes_are_an_error_and_empty_ones_count_zero)
{
    double data[6] = {0};
    size_t two[] = {2, 3}, three[] = {3, 2}, none[] = {0, 3};
    txd_tensor a = txd_tensor_make(TXD_F64, data, 2, two);
    txd_tensor b = txd_tensor_make(TXD_F64, data, 2, three);
    txd_tensor c = txd_tensor_make(TXD_F64, data, 2, none);
    txd_comparison result;

    ck_assert_int_eq(txd_compare(&result, &a, &b, 0, 1), TXD_ERR_ARGUMENT);
    ck_assert_str_eq(txd_message(), "shapes differ: expected (3, 2), found (2, 3)");
    ck_assert_int_eq(txd_compare(&result, &c, &c, 0, 1), TXD_OK);
    ck_assert_uint_eq(result.count, 0);
}
END_TEST

TEST_MAIN(nan_is_close_to_nothing, an_infinity_is_close_only_to_the_same_infinity,
          a_nan_or_negative_allowance_proves_nothing,
          a_comparison_counts_and_finds_the_first_and_the_worst,
          equal_tensors_have_no_failure_even_with_no_allowance,
          relative_allowance_is_of_the_expected_value_across_dtypes,
          int64_values_that_share_a_double_still_differ,
          different_shapes_are_an_error_and_empty_ones_count_zero)
