/* SPDX-License-Identifier: MIT
 *
 * The memory of cross-attention in `input`: from files, random, from tokens for an
 * encoder; and what does not fit the model.
 */
#include <math.h>
#include <stdio.h>

#include "base/rng.h"
#include "cfg_text.h"
#include "formats/file.h"
#include "formats/input_source.h"
#include "npz_file.h"

#define SIZES                                                                          \
    "vocab = 60; d_model = 3; n_heads = 1; n_layers = 2; positions = \"none\"; "
#define CROSS "model : { " SIZES "cross = true; };"
#define ENCODER "model : { " SIZES "cross = true; encoder_layers = 1; };"
#define TWO "tokens = ( [1, 2, 3], [4, 5] ); "

static txd_input_source *open_text(const char *model, const char *input)
{
    txd_config config = cfg_text_config(model);
    txd_input_source *source = NULL;

    ck_assert_msg(txd_input_source_create(&source, cfg_text_tree(input), &config, 5) ==
                      TXD_OK,
                  "%s", txd_message());
    return source;
}

static void close_text(txd_input_source *source)
{
    txd_input_source_destroy(source);
    cfg_text_finish();
}

static void refused(const char *model, const char *input, const char *first,
                    const char *second)
{
    txd_config config = cfg_text_config(model);
    txd_input_source *source = NULL;

    ck_assert_int_ne(txd_input_source_create(&source, cfg_text_tree(input), &config, 5),
                     TXD_OK);
    ck_assert_ptr_null(source);
    ck_message_has(first);
    ck_message_has(second);
    cfg_text_finish();
}

static txd_inputs step_of(const txd_input_source *source, size_t step)
{
    txd_inputs inputs;

    ck_assert_msg(txd_input_source_step(&inputs, source, cfg_text_memory(), step) ==
                      TXD_OK,
                  "%s", txd_message());
    return inputs;
}

/* input : { two rows of tokens; memory : { file = path; more }; }; */
static const char *with_file(const char *path, const char *more)
{
    static char text[5000];

    snprintf(text, sizeof text, "input : { " TWO "memory : { file = \"%s\"; %s }; };",
             path, more);
    return text;
}

static void ck_shape(const txd_inputs *inputs, size_t batch, size_t length)
{
    ck_assert_uint_eq(inputs->memory_length, length);
    ck_assert_int_eq(inputs->memory.rank, 3);
    ck_assert_uint_eq(inputs->memory.dims[0], batch);
    ck_assert_uint_eq(inputs->memory.dims[1], length);
    ck_assert_uint_eq(inputs->memory.dims[2], 3);
}

static void ck_valid(const txd_inputs *inputs, const char *expected)
{
    for (size_t i = 0; expected[i]; i++)
        ck_assert_msg(inputs->memory_valid[i] == expected[i] - '0',
                      "place %zu of %s is %d", i, expected,
                      (int)inputs->memory_valid[i]);
}

/* ---- files ---- */

static const float one[6] = {1, 2, 3, 4, 5, 6};
static const double two[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const int64_t both[4] = {1, 0, 1, 1};

START_TEST(an_archive_gives_each_batch_row_its_memory)
{
    const npz_array arrays[] = {
        {"memory.npy", "<f8", "(2, 2, 3)", two, sizeof two},
        {"valid.npy", "<i8", "(2, 2)", both, sizeof both},
        {"notes.npy", "<U2", "(1,)", two, 8},
    };
    txd_input_source *source =
        open_text(CROSS, with_file(npz_file("m.npz", arrays, 3, true), ""));
    txd_inputs inputs = step_of(source, 0);

    ck_assert_uint_eq(txd_input_source_memory(source), 2);
    ck_shape(&inputs, 2, 2);
    ck_assert_int_eq(inputs.memory.dtype, TXD_F64);
    for (size_t i = 0; i < 12; i++)
        ck_assert(txd_tensor_get(&inputs.memory, i) == two[i]);
    ck_valid(&inputs, "1011");
    close_text(source);
}
END_TEST

START_TEST(a_memory_without_a_batch_is_that_of_every_row)
{
    const unsigned char real[2] = {1, 0};
    const npz_array arrays[] = {{"memory.npy", "<f4", "(2, 3)", one, sizeof one},
                                {"valid.npy", "|b1", "(2,)", real, sizeof real}};
    txd_input_source *source =
        open_text(CROSS, with_file(npz_file("m.npz", arrays, 2, false), ""));
    txd_inputs inputs = step_of(source, 0);

    ck_shape(&inputs, 2, 2);
    for (size_t i = 0; i < 12; i++)
        ck_assert(txd_tensor_get(&inputs.memory, i) == one[i % 6]);
    ck_valid(&inputs, "1010");
    close_text(source);
}
END_TEST

START_TEST(a_npy_file_of_halves_and_counts_of_real_rows)
{
    static const unsigned short halves[6] = {0x3c00, 0x4000, 0x7e00, 0xbc00, 0, 0x7bff};
    const npz_array array = {"", "<f2", "(2, 3)", halves, sizeof halves};
    unsigned char bytes[200];
    size_t count = npz_array_bytes(bytes, &array);
    const char *path = test_file("m.npy");
    txd_input_source *source;
    txd_inputs inputs;

    ck_assert_int_eq(txd_file_replace(path, bytes, count), TXD_OK);
    source = open_text(CROSS, with_file(path, "valid = (1, 0);"));
    inputs = step_of(source, 0);
    ck_shape(&inputs, 2, 2);
    ck_assert(txd_tensor_get(&inputs.memory, 1) == 2);
    ck_assert(isnan(txd_tensor_get(&inputs.memory, 2)));
    ck_assert(txd_tensor_get(&inputs.memory, 11) == 65504);
    ck_valid(&inputs, "1000");
    close_text(source);
}
END_TEST

static void refused_array(const char *shape, const char *descr, size_t bytes,
                          const char *first, const char *second)
{
    static const unsigned char zeros[400];
    const npz_array array = {"memory.npy", descr, shape, zeros, bytes};

    refused(CROSS, with_file(npz_file("m.npz", &array, 1, true), ""), first, second);
}

static void refused_valid(const char *shape, const char *descr, const void *data,
                          size_t bytes, const char *part)
{
    const npz_array arrays[] = {{"memory.npy", "<f4", "(2, 3)", one, sizeof one},
                                {"valid.npy", descr, shape, data, bytes}};

    refused(CROSS, with_file(npz_file("m.npz", arrays, 2, false), ""),
            "input.memory.file", part);
}

START_TEST(arrays_that_do_not_fit_are_refused)
{
    const npz_array other = {"x.npy", "<f4", "(2, 3)", one, sizeof one};

    refused_array("(2, 4)", "<f4", 32, "m.npz: the memory is 4 wide", "d_model is 3");
    refused_array("(3, 2, 3)", "<f4", 72, "has 3 batch rows", "the tokens have 2");
    refused_array("(3,)", "<f4", 12, "expected a memory of shape", "found (3)");
    refused_array("()", "<f4", 4, "expected a memory of shape", "found ()");
    refused_array("(0, 3)", "<f4", 0, "expected a memory of shape", "found (0, 3)");
    refused_array("(2, 3)", "<i8", 48, "float64, float32 or float16", "found int64");
    refused_valid("(3,)", "|b1", one, 3, "\"valid\" of bool or integers");
    refused_valid("(3, 2)", "|b1", one, 6, "found (3, 2) of uint8");
    refused_valid("(2,)", "<f4", one, 8, "found (2) of float32");
    refused_valid("(2,)", "<i8", two, 16, "expected 1 for a real row or 0");
    refused(CROSS, with_file(npz_file("m.npz", &other, 1, false), ""),
            "expected an array \"memory\"", "found x");
    refused(CROSS, with_file(test_file("none.npz"), ""), "m.cfg:1: input.memory.file",
            "none.npz");
}
END_TEST

START_TEST(rows_are_said_to_be_real_in_one_place)
{
    const npz_array arrays[] = {{"memory.npy", "<f4", "(2, 3)", one, sizeof one},
                                {"valid.npy", "<i8", "(2, 2)", both, sizeof both}};

    refused(CROSS, with_file(npz_file("m.npz", arrays, 2, false), "valid = (1, 1);"),
            "an array \"valid\"", "input.memory.valid");
}
END_TEST

/* ---- random ---- */

START_TEST(a_random_memory_is_a_function_of_seed_and_step)
{
    txd_input_source *source =
        open_text(CROSS, "input : { random : { batch = 2; length = 3; }; steps = 2; "
                         "memory : { random : { length = 4; std = 0.5; }; "
                         "valid = (4, 2); }; };");
    uint64_t key = txd_rng_key(5, "input.memory.random");

    for (size_t step = 0; step < 2; step++) {
        txd_inputs inputs = step_of(source, step);

        ck_shape(&inputs, 2, 4);
        ck_valid(&inputs, "11111100");
        for (size_t i = 0; i < 24; i++)
            ck_assert(txd_tensor_get(&inputs.memory, i) ==
                      (double)(float)(txd_rng_normal(key, step * 24 + i) * 0.5));
    }
    close_text(source);
}
END_TEST

/* ---- for an encoder ---- */

START_TEST(an_encoder_reads_tokens_with_padding_of_their_own)
{
    static const int32_t tokens[] = {9, 7, 8, 1, 2, 3};
    txd_input_source *source = open_text(
        ENCODER, "input : { " TWO "steps = 3; length = 1; memory : { tokens = "
                 "( [7, 8], [1, 2, 3] ); pad = \"left\"; pad_id = 9; }; };");

    for (size_t step = 0; step < 3; step++) {
        txd_inputs inputs = step_of(source, step), read;

        ck_shape(&inputs, 2, 3);
        ck_valid(&inputs, "011111");
        ck_assert_int_eq(
            txd_input_source_encoder(&read, source, cfg_text_memory(), step), TXD_OK);
        ck_assert_uint_eq(read.length, 3);
        ck_assert_int_eq(memcmp(read.tokens, tokens, sizeof tokens), 0);
        ck_assert_int_eq(read.positions[1], 0);
        ck_assert_int_eq(read.positions[2], 1);
    }
    close_text(source);
}
END_TEST

START_TEST(random_tokens_for_an_encoder_have_the_decoders_batch)
{
    txd_input_source *source = open_text(
        ENCODER, "input : { " TWO "memory : { random : { length = 4; }; }; };");
    txd_inputs inputs = step_of(source, 0), read;
    uint64_t key = txd_rng_key(5, "input.memory.random");

    ck_shape(&inputs, 2, 4);
    ck_valid(&inputs, "11111111");
    ck_assert_int_eq(txd_input_source_encoder(&read, source, cfg_text_memory(), 0),
                     TXD_OK);
    ck_assert_uint_eq(read.batch, 2);
    ck_assert_uint_eq(read.length, 4);
    for (size_t i = 0; i < 8; i++)
        ck_assert_int_eq(read.tokens[i], (int32_t)(60 * txd_rng_uniform(key, i)));
    close_text(source);
}
END_TEST

START_TEST(what_does_not_fit_the_model_is_refused_by_place)
{
    static const char *const plain = "model : { " SIZES "};";

    refused(CROSS, "input : { " TWO "};", "m.cfg:1: input: model.cross needs a memory",
            "input.memory");
    refused(plain, "input : { " TWO "memory : { random : { length = 4; }; }; };",
            "m.cfg:1: input.memory: the model has no cross-attention", "model.cross");
    refused(CROSS, "input : { " TWO "memory : { valid = (1, 1); }; };",
            "input.memory: the memory is missing", "memory.npz");
    refused(CROSS, "input : { " TWO "memory : { random : { std = 1.0; }; }; };",
            "input.memory.random: length is missing", "rows");
    refused(CROSS,
            "input : { " TWO "memory : { random : { length = 4; }; file = \"x\"; "
            "}; };",
            "input.memory.random: the memory has one source", "");
    refused(CROSS, "input : { " TWO "memory : { tokens = ( [1], [2] ); }; };",
            "input.memory.tokens: there is no encoder", "model.encoder_layers");
    refused(CROSS,
            "input : { " TWO "memory : { random : { length = 4; }; pad = \"left\"; "
            "}; };",
            "input.memory.pad: there is no encoder", "");
    refused(CROSS,
            "input : { " TWO "memory : { random : { length = 4; }; valid = (4); "
            "}; };",
            "input.memory.valid: expected a list", "2 batch rows");
    refused(CROSS,
            "input : { " TWO "memory : { random : { length = 4; }; valid = (4, "
            "5); }; };",
            "input.memory.valid.1", "0 to 4 rows");
    refused(CROSS, "input : { " TWO "memory : { random : { length = 90000000; }; }; };",
            "input.memory.random: 2 batch rows of 90000000", "expected at most");
    refused(ENCODER, "input : { " TWO "memory : { tokens = ( [1, 60], [2] ); }; };",
            "input.memory.tokens.0.1", "0 to 59, found 60");
    refused(ENCODER, "input : { " TWO "memory : { tokens = ( [1, 2] ); }; };",
            "input.memory: 1 rows of tokens for the encoder", "2 for the decoder");
    refused(ENCODER,
            "input : { " TWO "memory : { random : { length = 4; std = 2.0; }; "
            "}; };",
            "input.memory.random.std: the memory is what the encoder makes", "");
    refused(ENCODER, "input : { " TWO "memory : { pad = \"left\"; }; };",
            "input.memory: the input is missing", "input.memory.tokens");
}
END_TEST

TEST_MAIN(an_archive_gives_each_batch_row_its_memory,
          a_memory_without_a_batch_is_that_of_every_row,
          a_npy_file_of_halves_and_counts_of_real_rows,
          arrays_that_do_not_fit_are_refused, rows_are_said_to_be_real_in_one_place,
          a_random_memory_is_a_function_of_seed_and_step,
          an_encoder_reads_tokens_with_padding_of_their_own,
          random_tokens_for_an_encoder_have_the_decoders_batch,
          what_does_not_fit_the_model_is_refused_by_place)
