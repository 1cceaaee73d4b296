/* SPDX-License-Identifier: MIT
 *
 * safetensors: real files first, then everything that a hostile header can claim.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/file.h"
#include "formats/safetensors.h"
#include "suite.h"

typedef struct blob {
    unsigned char bytes[70000];
    size_t count;
} blob;

static blob made;

/* A file with this header and `data` bytes 0, 1, 2, ... */
static const blob *make(const char *header, size_t data)
{
    size_t length = strlen(header);

    ck_assert_uint_lt(length + data + 8, sizeof made.bytes);
    for (int i = 0; i < 8; i++)
        made.bytes[i] = (unsigned char)((uint64_t)length >> (8 * i));
    memcpy(made.bytes + 8, header, length);
    for (size_t i = 0; i < data; i++)
        made.bytes[8 + length + i] = (unsigned char)i;
    made.count = 8 + length + data;
    return &made;
}

/* Parses a copy of exactly that size, so that sanitizers see its end. */
static txd_status parse(txd_trace **out, unsigned char **copy, const blob *b)
{
    *copy = malloc(b->count ? b->count : 1);
    ck_assert_ptr_nonnull(*copy);
    memcpy(*copy, b->bytes, b->count);
    return txd_safetensors_parse(out, "x.safetensors", *copy, b->count);
}

static void refused_as(txd_status status, const blob *b, const char *part)
{
    txd_trace *trace = NULL;
    unsigned char *copy;

    ck_assert_int_eq(parse(&trace, &copy, b), status);
    ck_assert_ptr_null(trace);
    ck_assert_msg(strstr(txd_message(), "x.safetensors") != NULL, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
    free(copy);
}

static void refused(const char *header, size_t data, const char *part)
{
    refused_as(TXD_ERR_FORMAT, make(header, data), part);
}

#define TENSOR(name, dtype, shape, offsets)                                            \
    "\"" name "\": {\"dtype\": \"" dtype "\", \"shape\": " shape                       \
    ", \"data_offsets\": " offsets "}"
#define F32_PAIR(offsets) TENSOR("a", "F32", "[2]", offsets)

START_TEST(real_weights_of_three_dtypes_agree_within_their_rounding)
{
    static const char *const names[] = {"stories260K/model.safetensors",
                                        "stories260K/model.f16.safetensors",
                                        "stories260K/model.bf16.safetensors"};
    static const double allowed[] = {0, 0x1p-11, 0x1p-8};
    static const txd_dtype dtypes[] = {TXD_F32, TXD_F16, TXD_BF16};
    txd_trace *traces[3] = {NULL};

    for (int k = 0; k < 3; k++) {
        const char *path = test_model(names[k]);

        if (!path)
            test_skip(TEST_NO_MODEL);
        ck_assert_msg(txd_safetensors_open(&traces[k], path) == TXD_OK, "%s",
                      txd_message());
        ck_assert_uint_eq(txd_trace_count(traces[k]), txd_trace_count(traces[0]));
    }
    for (size_t i = 0; i < txd_trace_count(traces[0]); i++) {
        static double exact[1 << 17], rounded[1 << 17];
        txd_trace_info info;
        size_t count, j;

        txd_trace_get(traces[0], &info, i);
        ck_assert_int_eq(info.dtype, TXD_F32);
        ck_assert_int_eq(txd_shape_count(&count, info.dims, info.rank), TXD_OK);
        ck_assert_int_eq(txd_trace_read_all(traces[0], exact, 1 << 17, i, TXD_F64),
                         TXD_OK);
        for (int k = 1; k < 3; k++) {
            txd_trace_info other;

            ck_assert_int_eq(txd_trace_find(traces[k], &j, info.name), TXD_OK);
            txd_trace_get(traces[k], &other, j);
            ck_assert_int_eq(other.dtype, dtypes[k]);
            ck_assert_mem_eq(other.dims, info.dims, sizeof info.dims);
            txd_trace_read_all(traces[k], rounded, 1 << 17, j, TXD_F64);
            for (size_t n = 0; n < count; n++)
                if (!(fabs(rounded[n] - exact[n]) <=
                      allowed[k] * fabs(exact[n]) + 0x1p-25))
                    ck_abort_msg("%s[%zu]", info.name, n);
        }
    }
    for (int k = 0; k < 3; k++)
        txd_trace_destroy(traces[k]);
}
END_TEST

START_TEST(gpt_nano_sort_has_its_tensors_in_order_of_their_data)
{
    const char *path = test_model("gpt-nano-sort/model.safetensors");
    txd_trace *trace = NULL;
    const char *before = NULL;

    if (!path)
        test_skip(TEST_NO_MODEL);
    ck_assert_msg(txd_safetensors_open(&trace, path) == TXD_OK, "%s", txd_message());
    ck_assert_uint_gt(txd_trace_count(trace), 10);
    for (size_t i = 0; i < txd_trace_count(trace); i++) {
        const char *view = txd_trace_view(trace, i);

        ck_assert_ptr_nonnull(view);
        ck_assert(!before || view > before);
        before = view;
    }
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(a_real_file_cut_anywhere_is_refused)
{
    const char *path = test_model("gpt-nano-sort/model.safetensors");
    txd_mapped mapped;
    txd_trace *trace = NULL;

    if (!path)
        test_skip(TEST_NO_MODEL);
    ck_assert_int_eq(txd_file_map(&mapped, path), TXD_OK);
    for (size_t count = 0; count < mapped.count; count += count < 3000 ? 1 : 997) {
        ck_assert_int_eq(txd_safetensors_parse(&trace, "cut", mapped.bytes, count),
                         TXD_ERR_FORMAT);
        ck_assert_ptr_null(trace);
    }
    ck_assert_int_eq(txd_safetensors_parse(&trace, "cut", mapped.bytes, mapped.count),
                     TXD_OK);
    txd_trace_destroy(trace);
    txd_file_unmap(&mapped);
}
END_TEST

START_TEST(a_small_file_is_read_with_its_metadata)
{
    static const char header[] = "{\"__metadata__\": {\"format\": \"pt\"}, "
        /* clang-format off */
        TENSOR("late", "U8", "[2, 2]", "[8, 12]") ", "
        F32_PAIR("[0, 8]") ", "
        TENSOR("none", "F16", "[0, 7]", "[8, 8]") ", "
        TENSOR("odd", "I32", "[]", "[12, 16]") "}   ";
    /* clang-format on */
    const blob *b = make(header, 16);
    static const char *const order[] = {"a", "none", "late", "odd"};
    txd_trace *trace = NULL;
    txd_trace_info info;
    unsigned char *copy, bytes[4];
    size_t start[] = {1, 0}, count[] = {1, 2};

    ck_assert_msg(parse(&trace, &copy, b) == TXD_OK, "%s", txd_message());
    ck_assert_uint_eq(txd_trace_count(trace), 4);
    for (size_t i = 0; i < 4; i++) {
        ck_assert_int_eq(txd_trace_get(trace, &info, i), TXD_OK);
        ck_assert_str_eq(info.name, order[i]);
    }
    ck_assert_int_eq(txd_trace_read(trace, bytes, 2, start, count, TXD_U8), TXD_OK);
    ck_assert_uint_eq(bytes[0], 10);
    ck_assert_uint_eq(bytes[1], 11);
    ck_assert_str_eq(txd_trace_meta(trace, "format"), "pt");
    ck_assert_ptr_null(txd_trace_meta(trace, "other"));
    txd_trace_destroy(trace);
    free(copy);
}
END_TEST

START_TEST(misaligned_data_is_read_but_not_viewed)
{
    const blob *b = make("{" TENSOR("b", "U8", "[1]", "[0, 1]") ", " TENSOR(
                             "a", "I32", "[1]", "[1, 5]") "}",
                         5);
    txd_trace *trace = NULL;
    unsigned char *copy;
    int32_t value;

    ck_assert_msg(parse(&trace, &copy, b) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_trace_read_all(trace, &value, 1, 1, TXD_I32), TXD_OK);
    ck_assert_int_eq(value, 0x04030201);
    ck_assert((uintptr_t)(copy + b->count - 4) % 4 == 0 || !txd_trace_view(trace, 1));
    txd_trace_destroy(trace);
    free(copy);
}
END_TEST

START_TEST(a_file_without_tensors_is_read)
{
    txd_trace *trace = NULL;
    unsigned char *copy;

    ck_assert_int_eq(parse(&trace, &copy, make("{}", 0)), TXD_OK);
    ck_assert_uint_eq(txd_trace_count(trace), 0);
    txd_trace_destroy(trace);
    free(copy);
}
END_TEST

START_TEST(foreign_dtypes_are_listed_and_refused_when_read)
{
    static const char *const headers[] = {
        "{" TENSOR("w", "F8_E4M3", "[4]", "[0, 4]") "}",
        "{" TENSOR("w", "F4", "[8]", "[0, 4]") "}",
        "{" TENSOR("w", "U16", "[2]", "[0, 4]") "}",
        "{" TENSOR("w", "Q7_Z", "[99]", "[0, 4]") "}",
    };

    for (int i = 0; i < 4; i++) {
        txd_trace *trace = NULL;
        txd_trace_info info;
        unsigned char *copy;
        double out[100];

        ck_assert_msg(parse(&trace, &copy, make(headers[i], 4)) == TXD_OK, "%s",
                      txd_message());
        ck_assert_int_eq(txd_trace_get(trace, &info, 0), TXD_OK);
        ck_assert_ptr_nonnull(info.foreign);
        ck_assert_int_eq(txd_trace_read_all(trace, out, 100, 0, TXD_F64),
                         TXD_ERR_UNSUPPORTED);
        ck_assert_ptr_nonnull(strstr(txd_message(), info.foreign));
        ck_assert_ptr_nonnull(strstr(txd_message(), "BF16"));
        ck_assert_ptr_null(txd_trace_view(trace, 0));
        txd_trace_destroy(trace);
        free(copy);
    }
    refused("{" TENSOR("w", "F8_E4M3", "[5]", "[0, 4]") "}", 4, "needs 5 bytes");
}
END_TEST

START_TEST(a_header_length_of_2_to_the_60_is_refused_by_byte_offset)
{
    blob b = *make("{}", 0);

    memset(b.bytes, 0, 8);
    b.bytes[7] = 0x10;
    refused_as(TXD_ERR_FORMAT, &b,
               "byte offset 0: header length 1152921504606846976, expected at most 2");
    memset(b.bytes, 0xff, 8);
    refused_as(TXD_ERR_FORMAT, &b, "byte offset 0");
}
END_TEST

START_TEST(an_empty_or_short_file_is_refused)
{
    blob b = {.count = 0};

    refused_as(TXD_ERR_FORMAT, &b, "at least 8 bytes, found 0");
    b.count = 7;
    refused_as(TXD_ERR_FORMAT, &b, "found 7");
    b.count = 8;
    refused_as(TXD_ERR_FORMAT, &b, "empty");
}
END_TEST

START_TEST(offsets_outside_the_file_are_refused)
{
    refused("{" F32_PAIR("[0, 8]") "}", 4, "only 4 bytes of data");
    refused("{" F32_PAIR("[9223372036854775800, 9223372036854775807]") "}", 8,
            "only 8 bytes");
    refused("{" F32_PAIR("[8, 0]") "}", 8, "0 <= begin <= end");
    refused("{" F32_PAIR("[-8, 0]") "}", 8, "0 <= begin <= end");
    refused("{" F32_PAIR("[0, 18446744073709551616]") "}", 8, "two integers");
    refused("{" F32_PAIR("[0.0, 8.0]") "}", 8, "two integers");
    refused("{" F32_PAIR("[0]") "}", 8, "two integers");
    refused("{" F32_PAIR("[]") "}", 8, "two integers");
    refused("{" F32_PAIR("[0, 4, 8]") "}", 8, "two integers");
    refused("{" F32_PAIR("8") "}", 8, "the list \"data_offsets\"");
}
END_TEST

START_TEST(overlaps_and_holes_are_refused_by_byte_offset)
{
    const char *overlap =
        "{" F32_PAIR("[0, 8]") ", " TENSOR("b", "F32", "[2]", "[4, 12]") "}";
    const char *hole =
        "{" F32_PAIR("[0, 8]") ", " TENSOR("b", "F32", "[1]", "[12, 16]") "}";
    char expected[80];

    snprintf(expected, sizeof expected, "begins at byte offset %zu, expected %zu",
             8 + strlen(overlap) + 4, 8 + strlen(overlap) + 8);
    refused(overlap, 12, expected);
    refused(overlap, 12, "overlaps");
    refused(hole, 16, "leaves a hole");
    refused("{" F32_PAIR("[4, 12]") "}", 12, "leaves a hole");
    refused("{" F32_PAIR("[0, 8]") "}", 9, "no tensor covers the 1 bytes");
    refused("{}", 1, "no tensor covers");
    refused("{" F32_PAIR("[0, 8]") ", " TENSOR("b", "F32", "[2]", "[0, 8]") "}", 8,
            "overlaps");
}
END_TEST

START_TEST(shapes_that_do_not_fit_their_bytes_are_refused)
{
    refused("{" TENSOR("a", "F32", "[3]", "[0, 8]") "}", 8, "needs 12 bytes");
    refused("{" TENSOR("a", "F32", "[4294967296, 4294967296]", "[0, 8]") "}", 8,
            "overflows");
    refused("{" TENSOR("a", "F32", "[4611686018427387904]", "[0, 8]") "}", 8,
            "overflows");
    refused("{" TENSOR("a", "F32", "[-2]", "[0, 8]") "}", 8, "integers from 0");
    refused("{" TENSOR("a", "F32", "[2.0]", "[0, 8]") "}", 8, "integers from 0");
    refused("{" TENSOR("a", "F32", "\"2\"", "[0, 8]") "}", 8, "the list \"shape\"");
    refused_as(TXD_ERR_UNSUPPORTED,
               make("{" TENSOR("a", "F32", "[1,1,1,1,1,1,1,1,2]", "[0, 8]") "}", 8),
               "9 axes");
}
END_TEST

START_TEST(malformed_headers_are_refused)
{
    refused("{" F32_PAIR("[0, 8]") ", " F32_PAIR("[0, 8]") "}", 8, "duplicate");
    refused("[]", 0, "JSON object");
    refused("{\"a\": 3}", 0, "an object with dtype");
    refused("{\"a\": {}}", 0, "the string \"dtype\", found none");
    refused("{\"a\": {\"dtype\": 3}}", 0, "the string \"dtype\", found something else");
    refused("{\"a\": {\"dtype\": \"F32\"}}", 0, "the list \"shape\"");
    refused("{\"a\": {\"dtype\": \"F32\\u0000\", \"shape\": [0], "
            "\"data_offsets\": [0, 0]}}",
            0, "dtype");
    refused("{\"__metadata__\": {\"a\": 1}}", 0, "strings only");
    refused("{\"__metadata__\": 1}", 0, "__metadata__");
    refused("{" TENSOR("", "F32", "[2]", "[0, 8]") "}", 8, "empty name");
    refused("{" TENSOR("a\\n", "F32", "[2]", "[0, 8]") "}", 8, "0x0a");
    refused("{" TENSOR("a\\u007f", "F32", "[2]", "[0, 8]") "}", 8, "0x7f");
    refused("{" TENSOR("a\\u0000b", "F32", "[2]", "[0, 8]") "}", 8, "NUL");
    refused("{", 0, "line 1");
}
END_TEST

START_TEST(what_is_no_regular_file_is_refused_by_name)
{
    txd_trace *trace = NULL;

    ck_assert_int_eq(txd_safetensors_open(&trace, test_scratch()), TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), "a folder"));
    ck_assert_int_eq(mkfifo(test_file("pipe"), 0600), 0);
    ck_assert_int_eq(txd_safetensors_open(&trace, test_file("pipe")), TXD_ERR_IO);
    ck_assert_int_eq(txd_safetensors_open(&trace, test_file("absent")), TXD_ERR_IO);
    ck_assert_int_eq(txd_file_replace(test_file("empty"), "", 0), TXD_OK);
    ck_assert_int_eq(txd_safetensors_open(&trace, test_file("empty")), TXD_ERR_FORMAT);
    ck_assert_ptr_null(trace);
}
END_TEST

TEST_MAIN(real_weights_of_three_dtypes_agree_within_their_rounding,
          gpt_nano_sort_has_its_tensors_in_order_of_their_data,
          a_real_file_cut_anywhere_is_refused, a_small_file_is_read_with_its_metadata,
          misaligned_data_is_read_but_not_viewed, a_file_without_tensors_is_read,
          foreign_dtypes_are_listed_and_refused_when_read,
          a_header_length_of_2_to_the_60_is_refused_by_byte_offset,
          an_empty_or_short_file_is_refused, offsets_outside_the_file_are_refused,
          overlaps_and_holes_are_refused_by_byte_offset,
          shapes_that_do_not_fit_their_bytes_are_refused, malformed_headers_are_refused,
          what_is_no_regular_file_is_refused_by_name)
