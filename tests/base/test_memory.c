/* SPDX-License-Identifier: MIT
 *
 * Memory of every size: zeroed, aligned, whole, given back.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "suite.h"

#define MIB ((size_t)1 << 20)

/* Around the size from which pieces are mapped. */
static const size_t sizes[] = {0,           1,       63,          64,
                               65,          1000003, 4 * MIB - 1, 4 * MIB,
                               4 * MIB + 1, 6 * MIB, 33 * MIB + 7};

#define SIZES (sizeof sizes / sizeof *sizes)

START_TEST(memory_is_zeroed_aligned_and_apart_whatever_its_size)
{
    unsigned char *pieces[SIZES];

    for (size_t i = 0; i < SIZES; i++) {
        pieces[i] = txd_memory_take(sizes[i]);
        ck_assert_ptr_nonnull(pieces[i]);
        ck_assert_uint_eq((uintptr_t)pieces[i] % 64, 0);
        for (size_t b = 0; b < sizes[i]; b++)
            if (pieces[i][b] != 0)
                ck_abort_msg("byte %zu of %zu is %d", b, sizes[i], pieces[i][b]);
        memset(pieces[i], (int)i + 1, sizes[i]);
    }
    for (size_t i = 0; i < SIZES; i++) {
        for (size_t b = 0; b < sizes[i]; b++)
            if (pieces[i][b] != i + 1)
                ck_abort_msg("byte %zu of %zu is %d", b, sizes[i], pieces[i][b]);
        txd_memory_give(pieces[i]);
    }
    txd_memory_give(NULL);
}
END_TEST

START_TEST(what_was_given_back_comes_zeroed_again)
{
    for (int round = 0; round < 3; round++)
        for (size_t i = 1; i < SIZES; i++) {
            unsigned char *piece = txd_memory_take(sizes[i]);

            ck_assert_int_eq(piece[0], 0);
            ck_assert_int_eq(piece[sizes[i] - 1], 0);
            piece[0] = piece[sizes[i] - 1] = 1;
            txd_memory_give(piece);
        }
}
END_TEST

/* Pages of this process: in its address space, or resident in memory. */
static long pages(bool resident)
{
    FILE *file = fopen("/proc/self/statm", "r");
    long size = 0, here = 0;

    if (file == NULL)
        return -1;
    if (fscanf(file, "%ld %ld", &size, &here) != 2)
        size = here = -1;
    fclose(file);
    return resident ? here : size;
}

START_TEST(large_memory_costs_nothing_until_it_is_used_and_nothing_after)
{
    long page = sysconf(_SC_PAGESIZE), address, resident;
    void *first;

    if (pages(false) < 0)
        test_skip("no /proc/self/statm here");
    first = txd_memory_take(256 * MIB);
    ck_assert_ptr_nonnull(first);
    resident = pages(true);
    txd_memory_give(txd_memory_take(256 * MIB));
    txd_memory_give(first);
    address = pages(false);
    for (int i = 0; i < 20; i++) {
        void *memory = txd_memory_take(256 * MIB);

        ck_assert_ptr_nonnull(memory);
        ck_assert_int_lt((pages(true) - resident) * page, (long)(8 * MIB));
        txd_memory_give(memory);
    }
    ck_assert_int_lt((pages(false) - address) * page, (long)(8 * MIB));
}
END_TEST

START_TEST(too_much_is_refused)
{
    ck_assert_ptr_null(txd_memory_take(SIZE_MAX));
    ck_assert_ptr_null(txd_memory_take(SIZE_MAX - 100));
    ck_assert_ptr_null(txd_memory_take(SIZE_MAX / 2));
}
END_TEST

TEST_MAIN(memory_is_zeroed_aligned_and_apart_whatever_its_size,
          what_was_given_back_comes_zeroed_again,
          large_memory_costs_nothing_until_it_is_used_and_nothing_after,
          too_much_is_refused)
