/* SPDX-License-Identifier: MIT
 *
 * GGUF: real files first, then what files may hold.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/file.h"
#include "formats/gguf.h"
#include "formats/made_gguf.h"
#include "formats/quants.h"
#include "formats/safetensors.h"
#include "suite.h"

static struct made_gguf made;
static const uint64_t shape8[] = {256, 3, 2};

/* Parses a copy of exactly that size, so that sanitizers see its end. */
static txd_status parse(txd_trace **out, const txd_gguf **gguf, unsigned char **copy)
{
    *copy = malloc(made.used ? made.used : 1);
    ck_assert_ptr_nonnull(*copy);
    memcpy(*copy, made.bytes, made.used);
    return txd_gguf_parse(out, gguf, "x.gguf", *copy, made.used);
}

START_TEST(a_real_file_holds_the_tensors_of_the_safetensors)
{
    const char *path = test_model("stories260K/stories260K-f32.gguf");
    txd_trace *trace = NULL, *same = NULL;
    const txd_gguf *gguf;
    txd_trace_info info, other;
    size_t i, j, count;
    static double a[1 << 16], b[1 << 16];

    if (!path)
        test_skip(TEST_NO_MODEL);
    OK(txd_gguf_open(&trace, &gguf, path));
    OK(txd_safetensors_open(&same, test_model("stories260K/model.safetensors")));
    ck_assert_uint_eq(txd_trace_count(trace), 47);
    ck_assert_str_eq(txd_trace_meta(trace, "general.architecture"), "llama");
    ck_assert_str_eq(txd_trace_meta(trace, "llama.block_count"), "5");
    ck_assert_uint_eq(txd_gguf_version(gguf), 3);
    OK(txd_trace_find(trace, &i, "blk.3.ffn_down.weight"));
    OK(txd_trace_find(same, &j, "model.layers.3.mlp.down_proj.weight"));
    OK(txd_trace_get(trace, &info, i));
    OK(txd_trace_get(same, &other, j));
    ck_assert_int_eq(info.rank, 2);
    ck_assert_mem_eq(info.dims, other.dims, sizeof info.dims);
    OK(txd_shape_count(&count, info.dims, info.rank));
    OK(txd_trace_read_all(trace, a, 1 << 16, i, TXD_F64));
    OK(txd_trace_read_all(same, b, 1 << 16, j, TXD_F64));
    ck_assert_mem_eq(a, b, count * sizeof *a);
    txd_trace_destroy(trace);
    txd_trace_destroy(same);
}
END_TEST

START_TEST(real_files_of_all_kinds_open_to_their_last_byte)
{
    static const char *const names[] = {"stories260K/stories260K-f16.gguf",
                                        "stories260K/stories260K-q4_0.gguf",
                                        "stories260K/stories260K-q4_1.gguf",
                                        "stories260K/stories260K-q8_0.gguf",
                                        "llama.cpp-vocab/ggml-vocab-gpt-2.gguf",
                                        "llama.cpp-vocab/ggml-vocab-starcoder.gguf",
                                        "llama.cpp-vocab/ggml-vocab-llama-spm.gguf"};
    static float values[1 << 16];

    if (!test_model(names[0]))
        test_skip(TEST_NO_MODEL);
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        txd_trace *trace = NULL;
        const txd_gguf *gguf;
        const txd_gguf_value *tokens;
        txd_gguf_strings strings;
        size_t strings_count = 0, length;
        const char *text;

        OK(txd_gguf_open(&trace, &gguf, test_model(names[k])));
        ck_assert_uint_eq(txd_trace_count(trace), k < 4 ? 47 : 0);
        for (size_t i = 0; i < txd_trace_count(trace); i++) {
            size_t last = (1 << 16) - 1;

            memset(values, 0xff, sizeof values); /* NaN */
            OK(txd_trace_read_all(trace, values, last, i, TXD_F32));
            ck_assert(isfinite(values[0]));
        }
        tokens = txd_gguf_find(gguf, "tokenizer.ggml.tokens");
        ck_assert_ptr_nonnull(tokens);
        strings = txd_gguf_strings_of(tokens);
        while (txd_gguf_strings_next(&strings, &text, &length))
            strings_count++;
        ck_assert_uint_eq(strings_count, tokens->count);
        ck_assert_uint_ge(strings_count, 512);
        txd_trace_destroy(trace);
    }
}
END_TEST

START_TEST(a_real_file_cut_anywhere_is_refused)
{
    const char *path = test_model("stories260K/stories260K-q4_0.gguf");
    txd_mapped mapped;
    txd_trace *trace = NULL;

    if (!path)
        test_skip(TEST_NO_MODEL);
    OK(txd_file_map(&mapped, path));
    for (size_t count = 0; count < mapped.count; count += count < 30000 ? 7 : 997) {
        ck_assert_int_eq(txd_gguf_parse(&trace, NULL, "cut", mapped.bytes, count),
                         TXD_ERR_FORMAT);
        ck_assert_ptr_null(trace);
        ck_assert_msg(strstr(txd_message(), "byte offset") != NULL, "%s",
                      txd_message());
    }
    OK(txd_gguf_parse(&trace, NULL, "cut", mapped.bytes, mapped.count));
    txd_trace_destroy(trace);
    txd_file_unmap(&mapped);
}
END_TEST

/* One of every type of value. */
static void make_values(uint32_t version)
{
    static const uint64_t bits[] = {
        200, 0x80, 65535, 0x8000,     4000000000u,       0x80000000, 0,
        1,   0,    0,     UINT64_MAX, (uint64_t)1 << 63, 0};
    static const int widths[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
    const double real = -2.5;
    char key[32];

    gguf_begin(&made, version, 0, 15);
    for (uint32_t type = 0; type <= 12; type++) {
        if (type == 8 || type == 9)
            continue;
        snprintf(key, sizeof key, "a.type%u", (unsigned)type);
        gguf_text(&made, key);
        gguf_u32(&made, type);
        if (type == 6)
            gguf_u32(&made, 0x3727c5ac); /* 1e-5 as float32 */
        else if (type == 12)
            memcpy(made.bytes + made.used, &real, 8), made.used += 8;
        else
            for (int i = 0; i < widths[type]; i++)
                made.bytes[made.used++] = (unsigned char)(bits[type] >> (8 * i));
    }
    gguf_put_string(&made, "a.text", "caf\xc3\xa9");
    gguf_put_array(&made, "a.list", 4, 3);
    for (uint32_t i = 0; i < 3; i++)
        gguf_u32(&made, 10 * i);
    gguf_put_array(&made, "a.words", 8, 3);
    gguf_text(&made, "one");
    gguf_text(&made, "");
    gguf_text(&made, "three");
    gguf_put_u32(&made, "a.text.below", 5);
}

START_TEST(values_of_all_types_are_read_in_both_versions)
{
    for (uint32_t version = 2; version <= 3; version++) {
        txd_trace *trace = NULL;
        const txd_gguf *gguf = NULL;
        unsigned char *copy;
        const txd_gguf_value *words;
        txd_gguf_strings strings;
        size_t length = 9;
        const char *text;

        make_values(version);
        OK(parse(&trace, &gguf, &copy));
        ck_assert_uint_eq(txd_gguf_count(gguf), 15);
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.type0"), 0), 200);
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.type1"), 0), -128);
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.type3"), 0), -32768);
        ck_assert(txd_gguf_real(txd_gguf_find(gguf, "a.type4"), 0) == 4e9);
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.type5"), 0),
                         INT32_MIN);
        ck_assert(txd_gguf_real(txd_gguf_find(gguf, "a.type6"), 0) == (double)1e-5f);
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.type10"), 0),
                         INT64_MAX); /* saturated */
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.type11"), 0),
                         INT64_MIN);
        ck_assert(txd_gguf_real(txd_gguf_find(gguf, "a.type12"), 0) == -2.5);
        ck_assert_int_eq(txd_gguf_integer(txd_gguf_find(gguf, "a.list"), 2), 20);
        ck_assert_ptr_null(txd_gguf_find(gguf, "a.none"));
        ck_assert_str_eq(txd_trace_meta(trace, "a.type6"), "1e-05");
        ck_assert_str_eq(txd_trace_meta(trace, "a.type7"), "true");
        ck_assert_str_eq(txd_trace_meta(trace, "a.text"), "caf\xc3\xa9");
        ck_assert_ptr_null(txd_trace_meta(trace, "a.list"));
        words = txd_gguf_find(gguf, "a.words");
        strings = txd_gguf_strings_of(words);
        ck_assert(txd_gguf_strings_next(&strings, &text, &length) && length == 3);
        ck_assert_ptr_eq(text, words->bytes + 8); /* in the file itself */
        ck_assert(txd_gguf_strings_next(&strings, &text, &length) && length == 0);
        ck_assert(txd_gguf_strings_next(&strings, &text, &length) && length == 5);
        ck_assert(!txd_gguf_strings_next(&strings, &text, &length));
        txd_trace_destroy(trace);
        free(copy);
    }
}
END_TEST

START_TEST(the_metadata_are_a_tree_by_the_dots_of_their_keys)
{
    txd_trace *trace = NULL;
    const txd_gguf *gguf = NULL;
    txd_setting *root = NULL;
    txd_arena *arena = NULL;
    unsigned char *copy;
    double real = 0;
    size_t size = 0;
    const char *text = NULL;

    make_values(3);
    OK(parse(&trace, &gguf, &copy));
    OK(txd_arena_create(&arena));
    OK(txd_gguf_settings(&root, arena, gguf));
    OK(txd_setting_real(&real, root, "a.type6", 0, 1));
    ck_assert(real == 1e-5); /* what was meant, not its float32 */
    OK(txd_setting_size(&size, root, "a.list.2", 0, 100));
    ck_assert_uint_eq(size, 20);
    OK(txd_setting_string(&text, root, "a.text"));
    ck_assert_str_eq(text, "caf\xc3\xa9");
    ck_assert_int_eq(txd_setting_find(root, "a.words")->kind, TXD_SETTING_NULL);
    ck_assert_ptr_null(txd_setting_find(root, "a.text.below"));
    ck_assert_int_eq(txd_setting_size(&size, root, "a.type4", 0, 100), TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "x.gguf: a.type4"));
    txd_arena_destroy(arena);
    txd_trace_destroy(trace);
    free(copy);
}
END_TEST

START_TEST(any_part_of_blocks_is_what_the_whole_has_there)
{
    static const uint32_t types[] = {0, 8, 12, 14};

    for (size_t k = 0; k < 4; k++) {
        size_t start[3] = {0, 1, 0}, count[3] = {2, 2, 0};
        static double whole[2 * 3 * 256], part[2 * 2 * 256];
        txd_trace *trace = NULL;
        txd_trace_info info;
        unsigned char *copy;

        gguf_begin(&made, 3, 1, 0);
        gguf_put_tensor(&made, "w", types[k], 3, shape8);
        gguf_end(&made);
        OK(parse(&trace, NULL, &copy));
        OK(txd_trace_get(trace, &info, 0));
        ck_assert_int_eq(info.rank, 3);
        ck_assert(info.dims[0] == 2 && info.dims[1] == 3 && info.dims[2] == 256);
        ck_assert_int_eq(info.dtype, TXD_F32);
        ck_assert((types[k] == 0) == (info.stored == NULL));
        OK(txd_trace_read_all(trace, whole, 2 * 3 * 256, 0, TXD_F64));
        for (start[2] = 0; start[2] < 256; start[2] += 29)
            for (count[2] = 0; count[2] <= 256 - start[2]; count[2] += 31) {
                size_t at = 0;

                OK(txd_trace_read(trace, part, 0, start, count, TXD_F64));
                for (size_t i = 0; i < count[0]; i++)
                    for (size_t j = 0; j < count[1]; j++)
                        for (size_t n = 0; n < count[2]; n++, at++)
                            ck_assert(
                                memcmp(&part[at],
                                       &whole[(i * 3 + j + 1) * 256 + start[2] + n],
                                       sizeof *part) == 0);
            }
        txd_trace_destroy(trace);
        free(copy);
    }
}
END_TEST

START_TEST(types_that_are_known_but_not_read_are_listed)
{
    txd_trace *trace = NULL;
    txd_trace_info info;
    unsigned char *copy;
    float out[512];

    gguf_begin(&made, 3, 1, 0);
    gguf_put_tensor(&made, "w", 16, 1, shape8);
    gguf_end(&made);
    OK(parse(&trace, NULL, &copy));
    OK(txd_trace_get(trace, &info, 0));
    ck_assert_str_eq(info.foreign, "IQ2_XXS");
    ck_assert_uint_eq(info.bytes, 66);
    ck_assert_int_eq(txd_trace_read_all(trace, out, 512, 0, TXD_F32),
                     TXD_ERR_UNSUPPORTED);
    ck_assert_ptr_nonnull(strstr(txd_message(), "IQ2_XXS"));
    ck_assert_ptr_nonnull(strstr(txd_message(), "Q4_K"));
    ck_assert_ptr_null(txd_trace_view(trace, 0));
    txd_trace_destroy(trace);
    free(copy);
}
END_TEST

TEST_MAIN(a_real_file_holds_the_tensors_of_the_safetensors,
          real_files_of_all_kinds_open_to_their_last_byte,
          a_real_file_cut_anywhere_is_refused,
          values_of_all_types_are_read_in_both_versions,
          the_metadata_are_a_tree_by_the_dots_of_their_keys,
          any_part_of_blocks_is_what_the_whole_has_there,
          types_that_are_known_but_not_read_are_listed)
