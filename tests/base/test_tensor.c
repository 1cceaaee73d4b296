/* SPDX-License-Identifier: MIT
 *
 * Conversions of every pair of dtypes, checked sizes, blocks of tensors.
 */
#include <math.h>
#include <string.h>

#include "base/half.h"
#include "base/tensor.h"
#include "suite.h"

static const txd_dtype all[] = {TXD_F64, TXD_F32, TXD_F16, TXD_BF16,
                                TXD_I64, TXD_I32, TXD_U8};
#define ALL (sizeof all / sizeof *all)

START_TEST(small_integers_survive_every_pair_of_dtypes)
{
    for (size_t a = 0; a < ALL; a++) {
        for (size_t b = 0; b < ALL; b++) {
            unsigned char from[8 * 300 + 1], to[8 * 300 + 1];
            int64_t numbers[300];
            txd_tensor result = {.dtype = all[b], .rank = 0, .data = to + 1};

            for (int i = 0; i < 300; i++)
                numbers[i] = i % 120;
            /* Odd addresses: mapped files need not be aligned. */
            txd_convert(from + 1, all[a], numbers, TXD_I64, 300);
            txd_convert(to + 1, all[b], from + 1, all[a], 300);
            for (size_t i = 0; i < 300; i++)
                ck_assert_msg(txd_tensor_get(&result, i) == (double)(i % 120),
                              "%s to %s at %zu: %g", txd_dtype_name(all[a]),
                              txd_dtype_name(all[b]), i, txd_tensor_get(&result, i));
        }
    }
}
END_TEST

START_TEST(doubles_round_once_on_the_way_to_16_bits)
{
    /* Just above a tie: by way of a rounded float they would fall on the tie. */
    double above[] = {1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40, 0x1p-25 + 0x1p-70,
                      0x1p-134 + 0x1p-180};
    uint16_t got;

    txd_convert(&got, TXD_F16, &above[0], TXD_F64, 1);
    ck_assert(txd_f16_to_f32(got) == 1 + 0x1p-10f);
    txd_convert(&got, TXD_BF16, &above[1], TXD_F64, 1);
    ck_assert(txd_bf16_to_f32(got) == 1 + 0x1p-7f);
    txd_convert(&got, TXD_F16, &above[2], TXD_F64, 1);
    ck_assert(txd_f16_to_f32(got) == 0x1p-24f);
    txd_convert(&got, TXD_BF16, &above[3], TXD_F64, 1);
    ck_assert(txd_bf16_to_f32(got) == 0x1p-133f);
}
END_TEST

START_TEST(large_integers_round_once_on_the_way_to_bfloat16)
{
    int64_t above = ((int64_t)1 << 62) + ((int64_t)1 << 54) + 1;
    int64_t values[] = {above, -above, above - 2, -(above - 2)};
    float expected[] = {0x1.02p62f, -0x1.02p62f, 0x1p62f, -0x1p62f};

    for (int i = 0; i < 4; i++) {
        uint16_t got;

        txd_convert(&got, TXD_BF16, &values[i], TXD_I64, 1);
        ck_assert_msg(txd_bf16_to_f32(got) == expected[i], "%d: %a", i,
                      txd_bf16_to_f32(got));
    }
}
END_TEST

START_TEST(reals_become_integers_by_truncation_and_saturation)
{
    double from[] = {NAN, INFINITY, -INFINITY, 1e300, -1.9, 1.9, 254.99, 2147483647.5};
    int64_t wide[] = {0, INT64_MAX, INT64_MIN, INT64_MAX, -1, 1, 254, 2147483647};
    int32_t middle[] = {0, INT32_MAX, INT32_MIN, INT32_MAX, -1, 1, 254, INT32_MAX};
    uint8_t narrow[] = {0, 255, 0, 255, 0, 1, 254, 255};
    int64_t i64[8];
    int32_t i32[8];
    uint8_t u8[8];

    txd_convert(i64, TXD_I64, from, TXD_F64, 8);
    txd_convert(i32, TXD_I32, from, TXD_F64, 8);
    txd_convert(u8, TXD_U8, from, TXD_F64, 8);
    ck_assert_mem_eq(i64, wide, sizeof wide);
    ck_assert_mem_eq(i32, middle, sizeof middle);
    ck_assert_mem_eq(u8, narrow, sizeof narrow);
}
END_TEST

START_TEST(integers_are_exact_and_saturate_among_themselves)
{
    int64_t from[] = {9007199254740993, -5, INT64_MIN, 300};
    int64_t same[4];
    int32_t i32[4];
    uint8_t u8[4];

    txd_convert(same, TXD_I64, from, TXD_I64, 4);
    txd_convert(i32, TXD_I32, from, TXD_I64, 4);
    txd_convert(u8, TXD_U8, from, TXD_I64, 4);
    ck_assert_mem_eq(same, from, sizeof from);
    ck_assert_int_eq(i32[0], INT32_MAX);
    ck_assert_int_eq(i32[2], INT32_MIN);
    ck_assert_uint_eq(u8[1], 0);
    ck_assert_uint_eq(u8[3], 255);
}
END_TEST

START_TEST(a_conversion_in_place_between_equal_sizes_works)
{
    float values[600];
    int32_t integers[600];

    for (int i = 0; i < 600; i++)
        values[i] = (float)i + 0.5f;
    txd_convert(values, TXD_I32, values, TXD_F32, 600);
    memcpy(integers, values, sizeof integers);
    for (int i = 0; i < 600; i++)
        ck_assert_int_eq(integers[i], i);
}
END_TEST

START_TEST(a_block_is_cut_out_of_the_right_place)
{
    int32_t data[3 * 4 * 5], out[2 * 2 * 3];
    size_t dims[] = {3, 4, 5}, start[] = {1, 2, 1}, count[] = {2, 2, 3};
    txd_tensor tensor = txd_tensor_make(TXD_I32, data, 3, dims);
    size_t n = 0;

    for (int i = 0; i < 60; i++)
        data[i] = i;
    txd_tensor_block(out, TXD_I32, &tensor, start, count);
    for (int i = 1; i < 3; i++)
        for (int j = 2; j < 4; j++)
            for (int k = 1; k < 4; k++)
                ck_assert_int_eq(out[n++], (i * 4 + j) * 5 + k);
    tensor.rank = 0;
    txd_tensor_block(out, TXD_I32, &tensor, NULL, NULL);
    ck_assert_int_eq(out[0], 0);
}
END_TEST

START_TEST(a_shape_that_overflows_is_refused_and_leaves_the_count_alone)
{
    size_t huge[] = {SIZE_MAX / 2, 3}, empty[] = {SIZE_MAX, 0, SIZE_MAX};
    size_t count = 7, sum = 7;

    ck_assert_int_eq(txd_shape_count(&count, huge, 2), TXD_ERR_LIMIT);
    ck_assert_uint_eq(count, 7);
    ck_assert_int_eq(txd_shape_count(&count, empty, 3), TXD_OK);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(txd_shape_count(&count, NULL, 0), TXD_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(txd_size_add(&sum, SIZE_MAX, 1), TXD_ERR_LIMIT);
    ck_assert_uint_eq(sum, 7);
}
END_TEST

START_TEST(a_shape_is_written_and_cut_at_the_end_of_the_buffer)
{
    size_t dims[] = {2, 8, 27, 27};
    char text[64], small[8];

    ck_assert_str_eq(txd_shape_text(text, sizeof text, dims, 4), "(2, 8, 27, 27)");
    ck_assert_str_eq(txd_shape_text(text, sizeof text, dims, 0), "()");
    ck_assert_str_eq(txd_shape_text(small, sizeof small, dims, 4), "(2, 8, ");
}
END_TEST

TEST_MAIN(small_integers_survive_every_pair_of_dtypes,
          doubles_round_once_on_the_way_to_16_bits,
          large_integers_round_once_on_the_way_to_bfloat16,
          reals_become_integers_by_truncation_and_saturation,
          integers_are_exact_and_saturate_among_themselves,
          a_conversion_in_place_between_equal_sizes_works,
          a_block_is_cut_out_of_the_right_place,
          a_shape_that_overflows_is_refused_and_leaves_the_count_alone,
          a_shape_is_written_and_cut_at_the_end_of_the_buffer)
