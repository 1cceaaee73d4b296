/* SPDX-License-Identifier: MIT
 *
 * Everything that the head of a GGUF file can claim and cannot be.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"
#include "formats/made_gguf.h"
#include "suite.h"

static struct made_gguf made;
static const uint64_t pair[] = {2}, shape23[] = {3, 2};

/* Parses a copy of exactly that size, so that sanitizers see its end. */
static txd_status parse(txd_trace **out, unsigned char **copy)
{
    *copy = malloc(made.used ? made.used : 1);
    ck_assert_ptr_nonnull(*copy);
    memcpy(*copy, made.bytes, made.used);
    return txd_gguf_parse(out, NULL, "x.gguf", *copy, made.used);
}

static void refused(txd_status status, const char *part)
{
    txd_trace *trace = NULL;
    unsigned char *copy;

    ck_assert_msg(parse(&trace, &copy) == status, "%s", txd_message());
    ck_assert_ptr_null(trace);
    ck_assert_msg(strncmp(txd_message(), "x.gguf: ", 8) == 0, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
    free(copy);
}

START_TEST(what_is_no_gguf_of_versions_2_and_3_is_refused)
{
    made.used = 0;
    refused(TXD_ERR_FORMAT, "byte offset 0");
    gguf_begin(&made, 3, 0, 0);
    made.bytes[0] = 'g';
    refused(TXD_ERR_FORMAT, "the four letters GGUF");
    gguf_begin(&made, 1, 0, 0);
    refused(TXD_ERR_UNSUPPORTED, "byte offset 4: GGUF version 1;");
    gguf_begin(&made, 4, 0, 0);
    refused(TXD_ERR_UNSUPPORTED, "versions 2 and 3 are read");
    gguf_begin(&made, 0x03000000, 0, 0);
    refused(TXD_ERR_UNSUPPORTED, "big-endian");
    gguf_begin(&made, 3, 0, 0);
    made.used = 23;
    refused(TXD_ERR_FORMAT, "byte offset 16: expected 8 bytes");
}
END_TEST

START_TEST(counts_beyond_the_file_are_refused)
{
    gguf_begin(&made, 3, UINT64_MAX, 0);
    refused(TXD_ERR_FORMAT,
            "byte offset 8: the number of tensors is 18446744073709551615");
    gguf_begin(&made, 3, 0, (uint64_t)1 << 60);
    refused(TXD_ERR_FORMAT, "byte offset 16: the number of metadata keys");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_array(&made, "list", 10, (uint64_t)1 << 61);
    refused(TXD_ERR_FORMAT, "byte offset 44: \"list\" claims 2305843009213693952");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_array(&made, "list", 10, 9);
    gguf_u64(&made, 1);
    refused(TXD_ERR_FORMAT, "byte offset 52: the value of \"list\" claims 9 elements");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_array(&made, "list", 8, 2);
    gguf_text(&made, "a");
    gguf_u64(&made, UINT64_MAX);
    refused(TXD_ERR_FORMAT, "byte offset 61: a string of \"list\" claims");
}
END_TEST

START_TEST(malformed_metadata_are_refused)
{
    gguf_begin(&made, 3, 0, 1);
    gguf_u64(&made, UINT64_MAX);
    gguf_u64(&made, 0);
    refused(TXD_ERR_FORMAT, "byte offset 24: a key claims 18446744073709551615 bytes");
    gguf_begin(&made, 3, 0, 1);
    gguf_text(&made, "");
    gguf_u64(&made, 0);
    refused(TXD_ERR_FORMAT, "a key claims 0 bytes, expected 1 to");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_u32(&made, "a\x1b[31m", 1);
    refused(TXD_ERR_FORMAT, "byte offset 33: a key holds the control character 0x1b");
    gguf_begin(&made, 3, 0, 2);
    gguf_put_u32(&made, "twice", 1);
    gguf_put_u32(&made, "twice", 2);
    refused(TXD_ERR_FORMAT, "the key \"twice\" is there twice");
    gguf_begin(&made, 3, 0, 1);
    gguf_text(&made, "k");
    gguf_u32(&made, 13);
    refused(TXD_ERR_UNSUPPORTED, "byte offset 33: the value of \"k\" has type 13");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_array(&made, "k", 9, 1);
    gguf_u64(&made, 0);
    refused(TXD_ERR_UNSUPPORTED, "an array of arrays");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_u32(&made, "general.alignment", 24);
    refused(TXD_ERR_FORMAT, "general.alignment is 24, expected a power of two");
    gguf_begin(&made, 3, 0, 1);
    gguf_put_f32(&made, "general.alignment", 32);
    refused(TXD_ERR_FORMAT, "no uint32");
}
END_TEST

static void one_tensor(uint32_t type, uint32_t rank, const uint64_t *shape)
{
    gguf_begin(&made, 3, 1, 0);
    gguf_put_tensor(&made, "w", type, rank, shape);
    gguf_end(&made);
}

START_TEST(tensors_that_do_not_fit_the_file_are_refused)
{
    static const uint64_t huge[] = {(uint64_t)1 << 32, (uint64_t)1 << 32};
    static const uint64_t whole[] = {(uint64_t)1 << 62, 0}, odd[] = {33, 2};
    static const uint64_t many[] = {(uint64_t)1 << 63};

    one_tensor(0, 2, shape23);
    made.used = 24 + 9 + 4 + 16 + 4 + 8 + 3 + 24 - 1; /* one byte short */
    refused(TXD_ERR_FORMAT, "byte offset 96: tensor \"w\" has 24 bytes, but the file");
    one_tensor(0, 2, huge);
    refused(TXD_ERR_FORMAT, "(4294967296, 4294967296) overflows");
    one_tensor(0, 2, whole);
    ck_assert_uint_gt(made.used, 0); /* no elements, whatever the other axis */
    one_tensor(0, 1, many);
    refused(TXD_ERR_FORMAT,
            "byte offset 37: an axis of tensor \"w\" has 9223372036854775808");
    one_tensor(8, 2, odd);
    refused(TXD_ERR_FORMAT, "rows of Q8_0 are multiples of 32 elements");
    one_tensor(99, 1, pair);
    refused(TXD_ERR_UNSUPPORTED, "tensor \"w\" has type 99, which is unknown");
    one_tensor(31, 1, pair);
    refused(TXD_ERR_UNSUPPORTED, "no longer in use");
    one_tensor(0, 9, (const uint64_t[9]){1, 1, 1, 1, 1, 1, 1, 1, 1});
    refused(TXD_ERR_FORMAT, "has 9 axes");
    one_tensor(0, 1, (const uint64_t[1]){1 << 20});
    refused(TXD_ERR_FORMAT, "is it truncated?");
}
END_TEST

/* Two tensors of eight bytes, the second listed at this offset. */
static void two_tensors(const char *second, uint64_t offset)
{
    gguf_begin(&made, 3, 2, 0);
    gguf_put_tensor(&made, "a", 0, 1, pair);
    gguf_put_tensor(&made, second, 0, 1, pair);
    made.used -= 8;
    gguf_u64(&made, offset);
    gguf_end(&made);
}

START_TEST(offsets_that_cannot_be_are_refused)
{
    two_tensors("b", 0);
    refused(TXD_ERR_FORMAT, "byte offset 96: tensor \"b\" overlaps the data before it");
    two_tensors("b", 64);
    refused(TXD_ERR_FORMAT,
            "byte offset 160: tensor \"b\" leaves a hole after the data "
            "before it, which end at byte offset 104");
    two_tensors("b", 4);
    refused(TXD_ERR_FORMAT, "expected a multiple of the alignment 32");
    two_tensors("b", UINT64_MAX - 31);
    refused(TXD_ERR_FORMAT, "claims 8 bytes at 18446744073709551584");
    two_tensors("a", 32);
    refused(TXD_ERR_FORMAT, "are named \"a\"");
}
END_TEST

TEST_MAIN(what_is_no_gguf_of_versions_2_and_3_is_refused,
          counts_beyond_the_file_are_refused, malformed_metadata_are_refused,
          tensors_that_do_not_fit_the_file_are_refused,
          offsets_that_cannot_be_are_refused)
