/* SPDX-License-Identifier: MIT
 *
 * .npy: golden arrays first, then headers of all versions and of none.
 */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/file.h"
#include "formats/npy.h"
#include "suite.h"

static unsigned char made[70000];

/* A file of this version, with this header text and `data` bytes 0, 1, 2, ... */
static size_t make(int version, const char *header, size_t data)
{
    size_t length = strlen(header), start = version == 1 ? 10 : 12;

    memcpy(made, "\x93NUMPY", 6);
    made[6] = (unsigned char)version;
    made[7] = 0;
    for (size_t i = 8; i < start; i++)
        made[i] = (unsigned char)((uint32_t)length >> (8 * (i - 8)));
    memcpy(made + start, header, length);
    for (size_t i = 0; i < data; i++)
        made[start + length + i] = (unsigned char)i;
    return start + length + data;
}

/* Parses a copy of exactly that size, so that sanitizers see its end. */
static txd_status parse(txd_trace **out, unsigned char **copy, size_t count)
{
    *copy = malloc(count ? count : 1);
    ck_assert_ptr_nonnull(*copy);
    memcpy(*copy, made, count);
    return txd_npy_parse(out, "x.npy", *copy, count);
}

static void refused(txd_status status, size_t count, const char *part)
{
    txd_trace *trace = NULL;
    unsigned char *copy;

    ck_assert_msg(parse(&trace, &copy, count) == status, "%s", txd_message());
    ck_assert_ptr_null(trace);
    ck_assert_msg(strncmp(txd_message(), "x.npy: ", 7) == 0, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
    free(copy);
}

static void malformed(const char *header, const char *part)
{
    refused(TXD_ERR_FORMAT, make(1, header, 8), part);
}

#define DICT(descr, order, shape)                                                      \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }"

static void read_golden(const char *folder)
{
    const char *path = test_model(folder);
    DIR *entries;
    struct dirent *entry;
    int files = 0;

    ck_assert_ptr_nonnull(path);
    entries = opendir(path);
    ck_assert_ptr_nonnull(entries);
    while ((entry = readdir(entries))) {
        char file[4096];
        txd_trace *trace = NULL;
        txd_trace_info info;
        size_t count;
        double *values;

        if (!strstr(entry->d_name, ".npy"))
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        ck_assert_msg(txd_npy_open(&trace, file) == TXD_OK, "%s", txd_message());
        ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
        ck_assert_str_eq(info.name, "array");
        ck_assert_int_eq(txd_shape_count(&count, info.dims, info.rank), TXD_OK);
        values = malloc(count * sizeof *values);
        ck_assert_ptr_nonnull(values);
        ck_assert_int_eq(txd_trace_read_all(trace, values, count, 0, TXD_F64), TXD_OK);
        for (size_t i = 0; i < count; i++)
            if (isnan(values[i]))
                ck_abort_msg("%s[%zu]", file, i);
        free(values);
        txd_trace_destroy(trace);
        files++;
    }
    closedir(entries);
    ck_assert_int_gt(files, 3);
}

START_TEST(every_golden_array_is_read)
{
    if (!test_model("stories260K/golden") || !test_model("gpt-nano-sort/golden"))
        test_skip(TEST_NO_MODEL);
    read_golden("gpt-nano-sort/golden");
    read_golden("stories260K/golden");
}
END_TEST

START_TEST(the_golden_weights_are_rows_that_sum_to_one)
{
    const char *path = test_model("gpt-nano-sort/golden/own_fp64_attSm.npy");
    txd_trace *trace = NULL;
    txd_trace_info info;
    double row[512];
    size_t start[TXD_MAX_RANK] = {0}, count[TXD_MAX_RANK];
    double sum = 0;

    if (!path)
        test_skip(TEST_NO_MODEL);
    ck_assert_msg(txd_npy_open(&trace, path) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
    ck_assert_int_eq(info.dtype, TXD_F64);
    for (int i = 0; i < info.rank; i++)
        count[i] = i == info.rank - 1 ? info.dims[i] : 1;
    start[info.rank - 2] = info.dims[info.rank - 2] - 1;
    ck_assert_uint_le(count[info.rank - 1], 512);
    ck_assert_int_eq(txd_trace_read(trace, row, 0, start, count, TXD_F64), TXD_OK);
    for (size_t i = 0; i < count[info.rank - 1]; i++)
        sum += row[i];
    ck_assert_double_le(fabs(sum - 1), 1e-14);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(versions_orders_of_keys_and_spellings_are_accepted)
{
    static const struct {
        int version;
        const char *header;
        int rank;
    } cases[] = {
        {1, DICT("<i4", "False", "(2,)") "   \n", 1},
        {2, DICT("<i4", "False", "(2,)") "\n", 1},
        {3, DICT("<i4", "False", "(2,)"), 1},
        {1, "{ \"shape\" : ( 1 , 2 ) , 'fortran_order':False,'descr':\"<f4\"}\n", 2},
        {1, DICT("<i8", "False", "()"), 0},
        {1, DICT("<f8", "True", "(1L,)"), 1},
        {1, DICT("|u1", "False", "(2, 2, 2)"), 3},
        {1, DICT("<f2", "False", "(4,)"), 1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        txd_trace *trace = NULL;
        txd_trace_info info;
        unsigned char *copy;
        size_t count = make(cases[i].version, cases[i].header, 8);

        ck_assert_msg(parse(&trace, &copy, count) == TXD_OK, "%s: %s", cases[i].header,
                      txd_message());
        ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
        ck_assert_int_eq(info.rank, cases[i].rank);
        txd_trace_destroy(trace);
        free(copy);
    }
}
END_TEST

START_TEST(what_is_not_read_says_what_was_found)
{
    refused(TXD_ERR_UNSUPPORTED, make(1, DICT(">f4", "False", "(2,)"), 8), ">f4");
    refused(TXD_ERR_UNSUPPORTED, make(1, DICT("|O", "False", "(1,)"), 8), "|O");
    refused(TXD_ERR_UNSUPPORTED, make(1, DICT("<c8", "False", "(1,)"), 8), "astype");
    refused(TXD_ERR_UNSUPPORTED, make(1, DICT("<f4", "True", "(1, 2)"), 8), "Fortran");
    refused(TXD_ERR_UNSUPPORTED, make(1, "{'descr': [('a', '<f4')], }", 8),
            "structured");
    refused(TXD_ERR_UNSUPPORTED, make(4, DICT("<f4", "False", "(2,)"), 8),
            "version 4.0");
    refused(TXD_ERR_UNSUPPORTED,
            make(1, DICT("|u1", "False", "(1,1,1,1,1,1,1,1,8)"), 8), "axes");
}
END_TEST

START_TEST(a_shape_that_does_not_fit_the_data_is_refused_by_byte_offset)
{
    malformed(DICT("<f4", "False", "(3,)"), "needs 12 bytes, found 8; is the file");
    malformed(DICT("<f4", "False", "(1,)"), "needs 4 bytes, found 8");
    malformed(DICT("<f4", "False", "(4294967296, 4294967296)"), "byte offset");
    malformed(DICT("<f4", "False", "(18446744073709551616,)"), "fits in 64 bits");
    malformed(DICT("<f4", "False", "(-2,)"), "a size");
    malformed(DICT("<f4", "False", "(4611686018427387906,)"), "needs");
}
END_TEST

START_TEST(malformed_headers_are_refused_by_byte_offset)
{
    malformed("", "a dict");
    malformed("{", "a string");
    malformed("{}", "keys descr");
    malformed("{'descr': '<f4', 'fortran_order': False}", "keys descr");
    malformed("{'descr': '<f4', 'descr': '<f4'}", "once each");
    malformed("{'other': 1}", "once each");
    malformed("{'descr", "a closing quote");
    malformed("{'descr': '<f4', 'fortran_order': Maybe}", "True or False");
    malformed("{'descr' '<f4'}", "':'");
    malformed("{'descr': '<f4' 'shape'", "',' or '}'");
    malformed("{'shape': (1 2)", "',' or ')'");
    malformed("{'shape': 3", "parentheses");
    malformed(DICT("<f4", "False", "(2,)") " x", "the end of the header");
    malformed("{'descr': '<f4444444444444444444444444444444444444'}", "a short string");
    malformed("{'descr': '\x01'}", "plain characters");
}
END_TEST

START_TEST(a_file_cut_anywhere_is_refused)
{
    size_t count = make(1, DICT("<f4", "False", "(2,)") "\n", 8);

    for (size_t cut = 0; cut < count; cut++) {
        unsigned char *copy;
        txd_trace *trace = NULL;

        ck_assert_int_eq(parse(&trace, &copy, cut), TXD_ERR_FORMAT);
        free(copy);
    }
    made[8] = made[9] = 0xff;
    refused(TXD_ERR_FORMAT, count, "a header of 65535 bytes");
    made[6] = 2;
    made[10] = made[11] = 0xff;
    refused(TXD_ERR_FORMAT, count, "a header of 4294967295 bytes");
}
END_TEST

START_TEST(what_is_no_npy_file_is_refused_by_name)
{
    txd_trace *trace = NULL;

    ck_assert_int_eq(txd_npy_open(&trace, test_scratch()), TXD_ERR_IO);
    ck_assert_int_eq(txd_file_replace(test_file("e"), "", 0), TXD_OK);
    ck_assert_int_eq(txd_npy_open(&trace, test_file("e")), TXD_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "found an empty file"));
    ck_assert_int_eq(txd_npy_parse(&trace, "x.npy", "PK\3\4", 4), TXD_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "x.npy: expected a .npy array, found"));
    ck_assert_int_eq(txd_npy_parse(&trace, "x.npy", "\x93NUM", 4), TXD_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "not a .npy file"));
    ck_assert_ptr_null(trace);
}
END_TEST

TEST_MAIN(every_golden_array_is_read, the_golden_weights_are_rows_that_sum_to_one,
          versions_orders_of_keys_and_spellings_are_accepted,
          what_is_not_read_says_what_was_found,
          a_shape_that_does_not_fit_the_data_is_refused_by_byte_offset,
          malformed_headers_are_refused_by_byte_offset, a_file_cut_anywhere_is_refused,
          what_is_no_npy_file_is_refused_by_name)
