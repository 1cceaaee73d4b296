/* SPDX-License-Identifier: MIT
 *
 * .npz: archives stored and deflated, and those that lie about themselves.
 */
#include <stdlib.h>

#include "formats/file.h"
#include "formats/npz.h"
#include "npz_file.h"

static const float values[6] = {1, 2, 3, -4, 5.5f, 6};
static const unsigned char flags[2] = {1, 0};
static const npz_array pair[2] = {
    {"memory.npy", "<f4", "(2, 3)", values, sizeof values},
    {"valid.npy", "|b1", "(2,)", flags, sizeof flags},
};

static unsigned char bytes[100000];
static size_t count;

static void load(const char *path)
{
    FILE *file = fopen(path, "rb");

    ck_assert_ptr_nonnull(file);
    count = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
}

/* Parses a copy of exactly that size, so that sanitizers see its end. */
static txd_status parse(txd_trace **out, unsigned char **copy)
{
    *copy = malloc(count ? count : 1);
    ck_assert_ptr_nonnull(*copy);
    memcpy(*copy, bytes, count);
    return txd_npz_parse(out, "x.npz", *copy, count);
}

static void refused(txd_status status, const char *part)
{
    txd_trace *trace = NULL;
    unsigned char *copy;

    ck_assert_msg(parse(&trace, &copy) == status, "%s", txd_message());
    ck_assert_ptr_null(trace);
    ck_assert_msg(strncmp(txd_message(), "x.npz: ", 7) == 0, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
    free(copy);
}

/* A 32-bit field of the first record with this signature. */
static void patch(const char *signature, size_t offset, uint32_t value)
{
    size_t at = 0;

    while (at + 4 < count && memcmp(bytes + at, signature, 4) != 0)
        at++;
    ck_assert_uint_lt(at + offset + 4, count);
    for (size_t i = 0; i < 4; i++)
        bytes[at + offset + i] = (unsigned char)(value >> (8 * i));
}

static void check_pair(const char *path)
{
    txd_trace *trace;
    txd_trace_info info;
    float memory[6], part[2];
    int32_t valid[2];
    const size_t start[2] = {1, 1}, size[2] = {1, 2};

    ck_assert_msg(txd_npz_open(&trace, path) == TXD_OK, "%s", txd_message());
    ck_assert_uint_eq(txd_trace_count(trace), 2);
    ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
    ck_assert_str_eq(info.name, "memory");
    ck_assert_int_eq(info.dtype, TXD_F32);
    ck_assert_int_eq(info.rank, 2);
    ck_assert_uint_eq(info.dims[0], 2);
    ck_assert_uint_eq(info.dims[1], 3);
    ck_assert_int_eq(txd_trace_read_all(trace, memory, 6, 0, TXD_F32), TXD_OK);
    ck_assert_int_eq(memcmp(memory, values, sizeof values), 0);
    ck_assert_int_eq(txd_trace_read(trace, part, 0, start, size, TXD_F32), TXD_OK);
    ck_assert(part[0] == 5.5f && part[1] == 6);
    ck_assert_int_eq(txd_trace_read_all(trace, valid, 2, 1, TXD_I32), TXD_OK);
    ck_assert(valid[0] == 1 && valid[1] == 0);
    txd_trace_destroy(trace);
}

START_TEST(stored_and_deflated_archives_give_their_arrays)
{
    check_pair(npz_file("a.npz", pair, 2, false));
    check_pair(npz_file("b.npz", pair, 2, true));
}
END_TEST

/* Memory that goes is filled by the sanitizers. */
START_TEST(rows_that_were_let_go_can_be_read_again)
{
    const size_t start[2][2] = {{0, 0}, {1, 0}}, size[2] = {1, 3};
    float memory[6], row[3];
    txd_trace *trace;

    OK(txd_npz_open(&trace, npz_file("pair.npz", pair, 2, true)));
    for (size_t round = 0; round < 6; round++) {
        size_t i = round % 2;

        OK(txd_trace_read(trace, row, 0, start[i], size, TXD_F32));
        ck_assert_mem_eq(row, values + 3 * i, sizeof row);
        txd_trace_release(trace, 0, i, 1);
    }
    txd_trace_release(trace, 0, 0, 2);
    txd_trace_release(trace, 0, 2, 1); /* beyond it: nothing */
    txd_trace_release(trace, 9, 0, 1);
    OK(txd_trace_read_all(trace, memory, 6, 0, TXD_F32));
    ck_assert_mem_eq(memory, values, sizeof memory);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(an_array_that_cannot_be_read_does_not_hide_the_others)
{
    const npz_array arrays[2] = {{"words.npy", "<U2", "(1,)", values, 8}, pair[0]};
    txd_trace *trace;
    txd_trace_info info;
    float memory[6];

    ck_assert_msg(txd_npz_open(&trace, npz_file("a.npz", arrays, 2, true)) == TXD_OK,
                  "%s", txd_message());
    ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
    ck_assert_str_eq(info.name, "words");
    ck_assert_ptr_nonnull(strstr(info.foreign, "<U2"));
    ck_assert_int_eq(txd_trace_read_all(trace, memory, 6, 0, TXD_F32),
                     TXD_ERR_UNSUPPORTED);
    ck_assert_int_eq(txd_trace_read_all(trace, memory, 6, 1, TXD_F32), TXD_OK);
    ck_assert_int_eq(memcmp(memory, values, sizeof values), 0);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(what_is_no_archive_is_refused)
{
    count = 0;
    refused(TXD_ERR_FORMAT, "not a .npz file");
    memcpy(bytes, "\x93NUMPY\x01", 8);
    count = 8;
    refused(TXD_ERR_FORMAT, "expected a .npz archive, found a .npy array");
    memset(bytes, 0xff, count);
    refused(TXD_ERR_FORMAT, "not a .npz file");
    load(npz_file("a.npz", pair, 2, false));
    count /= 2;
    refused(TXD_ERR_FORMAT, "damaged");
}
END_TEST

/* 1.5 GB from 100 bytes: more than deflate packs. */
START_TEST(a_size_that_the_packed_bytes_cannot_hold_is_refused)
{
    load(npz_file("a.npz", pair, 2, true));
    patch("PK\1\2", 24, 1500000000);
    refused(TXD_ERR_FORMAT, "claims 1500000000 bytes");
    load(npz_file("a.npz", pair, 2, true));
    patch("PK\1\2", 24, 120);
    refused(TXD_ERR_FORMAT, "memory.npy: expected 120 bytes by the directory of the "
                            "archive, found fewer");
    load(npz_file("a.npz", pair, 2, true));
    patch("PK\1\2", 24, 60);
    refused(TXD_ERR_FORMAT, "memory.npy: expected 60 bytes by the directory of the "
                            "archive, found more");
}
END_TEST

static void check_sum_is_named(void)
{
    ck_assert_msg(strstr(txd_message(), ": memory.npy: it cannot be unpacked") &&
                      strstr(txd_message(), "CRC") && !strstr(txd_message(), ": x.npz"),
                  "%s", txd_message());
}

START_TEST(a_wrong_check_sum_is_refused)
{
    load(npz_file("a.npz", pair, 2, false));
    for (size_t i = 0; i + sizeof values < count; i++)
        if (memcmp(bytes + i, values, sizeof values) == 0)
            bytes[i] ^= 1;
    refused(TXD_ERR_FORMAT, "memory.npy");
    check_sum_is_named();
}
END_TEST

/* Opening reads the header of a long array alone. */
START_TEST(a_wrong_check_sum_of_a_long_array_is_refused_when_it_is_read)
{
    static float numbers[20000];
    const npz_array array = {"memory.npy", "<f4", "(20000,)", numbers, sizeof numbers};
    txd_trace *trace = NULL;
    unsigned char *copy;

    numbers[19999] = 7;
    load(npz_file("a.npz", &array, 1, false));
    ck_assert_uint_lt(count, sizeof bytes);
    for (size_t i = 0; i + sizeof *numbers < count; i++)
        if (memcmp(bytes + i, &numbers[19999], sizeof *numbers) == 0)
            bytes[i + 3] ^= 1;
    ck_assert_msg(parse(&trace, &copy) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_trace_read_all(trace, numbers, 20000, 0, TXD_F32),
                     TXD_ERR_FORMAT);
    check_sum_is_named();
    txd_trace_destroy(trace);
    free(copy);
}
END_TEST

/* Flags and method of the first member, by the directory of the archive. */
START_TEST(what_cannot_be_unpacked_is_refused_by_member)
{
    enum { ENCRYPTED = 1, BZIP2 = 12 << 16 };

    load(npz_file("a.npz", pair, 2, false));
    patch("PK\1\2", 8, ENCRYPTED);
    refused(TXD_ERR_UNSUPPORTED, "memory.npy: it is encrypted");
    load(npz_file("a.npz", pair, 2, false));
    patch("PK\1\2", 8, BZIP2);
    refused(TXD_ERR_UNSUPPORTED, "memory.npy: it is packed by method 12");
}
END_TEST

START_TEST(members_that_are_no_arrays_are_passed_over_and_too_many_refused)
{
    enum { MANY = 4097 };
    static npz_array arrays[MANY] = {{"readme.txt", "<f4", "(1,)", values, 4},
                                     {".npy", "<f4", "(1,)", values, 4}};
    static char names[MANY][16];
    txd_trace *trace;

    arrays[2] = pair[0];
    ck_assert_msg(txd_npz_open(&trace, npz_file("a.npz", arrays, 3, true)) == TXD_OK,
                  "%s", txd_message());
    ck_assert_uint_eq(txd_trace_count(trace), 1);
    txd_trace_destroy(trace);
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "a%d.npy", i);
        arrays[i] = (npz_array){names[i], "<f4", "(1,)", values, 4};
    }
    ck_assert_int_eq(txd_npz_open(&trace, npz_file("a.npz", arrays, MANY, false)),
                     TXD_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "4097 members; expected at most 4096"));
}
END_TEST

START_TEST(two_arrays_of_one_name_are_refused)
{
    const npz_array arrays[2] = {pair[0], {"memorx.npy", "<f4", "(1,)", values, 4}};

    load(npz_file("a.npz", arrays, 2, false));
    for (size_t i = 0; i + 6 < count; i++)
        if (memcmp(bytes + i, "memorx", 6) == 0)
            bytes[i + 5] = 'y';
    refused(TXD_ERR_FORMAT, "two arrays are named \"memory\"");
}
END_TEST

START_TEST(a_damaged_header_is_refused_by_member)
{
    const npz_array arrays[1] = {
        {"memory.npy", "<f4", "(2, 4)", values, sizeof values}};

    load(npz_file("a.npz", arrays, 1, true));
    refused(TXD_ERR_FORMAT, "memory.npy: byte offset");
}
END_TEST

TEST_MAIN(stored_and_deflated_archives_give_their_arrays,
          rows_that_were_let_go_can_be_read_again,
          an_array_that_cannot_be_read_does_not_hide_the_others,
          what_is_no_archive_is_refused,
          a_size_that_the_packed_bytes_cannot_hold_is_refused,
          a_wrong_check_sum_is_refused,
          a_wrong_check_sum_of_a_long_array_is_refused_when_it_is_read,
          what_cannot_be_unpacked_is_refused_by_member,
          members_that_are_no_arrays_are_passed_over_and_too_many_refused,
          two_arrays_of_one_name_are_refused, a_damaged_header_is_refused_by_member)
