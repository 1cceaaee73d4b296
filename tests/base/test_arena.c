/* SPDX-License-Identifier: MIT
 *
 * The arena: alignment, zeroing, reuse, accounting, refusal.
 */
#include <stdint.h>
#include <string.h>

#include "base/arena.h"
#include "suite.h"

static bool all(const unsigned char *bytes, size_t count, unsigned value)
{
    for (size_t i = 0; i < count; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

static txd_arena *make(void)
{
    txd_arena *arena = NULL;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    return arena;
}

START_TEST(every_allocation_is_aligned_zeroed_and_apart_from_the_others)
{
    txd_arena *arena = make();
    unsigned char *kept[200];

    for (size_t i = 0; i < 200; i++) {
        size_t bytes = i * i * 7 % 9000 + 1;

        ck_assert_ptr_nonnull(txd_arena_string(arena, "odd"));
        kept[i] = txd_arena_alloc(arena, bytes, 1);
        ck_assert_ptr_nonnull(kept[i]);
        ck_assert_uint_eq((uintptr_t)kept[i] % 64, 0);
        ck_assert(all(kept[i], bytes, 0));
        memset(kept[i], (int)i, bytes);
    }
    for (size_t i = 0; i < 200; i++)
        ck_assert(all(kept[i], i * i * 7 % 9000 + 1, (unsigned)i));
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(memory_is_zeroed_again_after_a_reset)
{
    txd_arena *arena = make();

    for (int round = 0; round < 4; round++) {
        size_t sizes[] = {100, 4000, 70, 5000}, bytes = sizes[round];
        unsigned char *small = txd_arena_alloc(arena, bytes, 1);
        unsigned char *large = txd_arena_alloc(arena, 300000, 1);

        ck_assert(all(large, 300000, 0));
        ck_assert(all(small, bytes, 0));
        memset(small, 0xff, bytes);
        memset(large, 0xff, 300000);
        txd_arena_reset(arena);
        ck_assert_uint_eq(txd_arena_used(arena), 0);
    }
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(the_peak_outlives_a_reset)
{
    txd_arena *arena = make();
    size_t used;

    txd_arena_alloc(arena, 1000, 8);
    used = txd_arena_used(arena);
    ck_assert_uint_ge(used, 8000);
    ck_assert_uint_le(used, 8000 + 64);
    txd_arena_reset(arena);
    txd_arena_alloc(arena, 1, 1);
    ck_assert_uint_eq(txd_arena_peak(arena), used);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(a_product_that_overflows_is_refused_with_a_message)
{
    txd_arena *arena = make();

    ck_assert_ptr_null(txd_arena_alloc(arena, SIZE_MAX / 2, 3));
    ck_assert_ptr_nonnull(strstr(txd_message(), "out of memory"));
    ck_assert_ptr_null(txd_arena_alloc(arena, SIZE_MAX / 2 + 1, 1));
    ck_assert_ptr_nonnull(txd_arena_alloc(arena, 10, 10));
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(nothing_is_a_valid_request)
{
    txd_arena *arena = make();

    ck_assert_ptr_nonnull(txd_arena_alloc(arena, 0, 8));
    ck_assert_ptr_nonnull(txd_arena_alloc(arena, 8, 0));
    ck_assert_str_eq(txd_arena_string(arena, ""), "");
    txd_arena_destroy(arena);
    txd_arena_destroy(NULL);
}
END_TEST

TEST_MAIN(every_allocation_is_aligned_zeroed_and_apart_from_the_others,
          memory_is_zeroed_again_after_a_reset, the_peak_outlives_a_reset,
          a_product_that_overflows_is_refused_with_a_message,
          nothing_is_a_valid_request)
