/* SPDX-License-Identifier: MIT
 *
 * The input group: tokens from lists, files and a random stream; padding and windows.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "formats/file.h"
#include "formats/input_source.h"
#include "suite.h"

#define MODEL                                                                          \
    "model : { vocab = 600; d_model = 12; n_heads = 6; n_layers = 2; "                 \
    "positions = \"none\"; };"
#define SHORT                                                                          \
    "model : { vocab = 600; d_model = 12; n_heads = 6; n_layers = 2; "                 \
    "max_seq_len = 3; };"

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

static void refused_in(const char *model, const char *input, const char *first,
                       const char *second)
{
    txd_config config = cfg_text_config(model);
    txd_input_source *source = NULL;
    txd_status status =
        txd_input_source_create(&source, cfg_text_tree(input), &config, 5);

    ck_assert_int_ne(status, TXD_OK);
    ck_assert_ptr_null(source);
    ck_message_has(first);
    ck_message_has(second);
    cfg_text_finish();
}

static void refused(const char *input, const char *first, const char *second)
{
    refused_in(MODEL, input, first, second);
}

static txd_inputs step_of(const txd_input_source *source, size_t step)
{
    txd_inputs inputs;

    ck_assert_msg(txd_input_source_step(&inputs, source, cfg_text_memory(), step) ==
                      TXD_OK,
                  "%s", txd_message());
    return inputs;
}

static void ck_numbers(const int32_t *found, size_t count, const int32_t *expected)
{
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(found[i] == expected[i], "at %zu: %d, expected %d", i,
                      (int)found[i], (int)expected[i]);
}

/* Writes a .npy of int32 into the test's folder and returns its name. */
static const char *write_npy(const char *header, const int32_t *ids, size_t count)
{
    static char input[4400];
    unsigned char bytes[512] = "\x93NUMPY\x01";
    const char *path = test_file("ids.npy");
    size_t length = strlen(header);

    bytes[8] = (unsigned char)length;
    memcpy(bytes + 10, header, length);
    memcpy(bytes + 10 + length, ids, count * sizeof *ids);
    ck_assert_int_eq(txd_file_replace(path, bytes, 10 + length + count * sizeof *ids),
                     TXD_OK);
    snprintf(input, sizeof input, "input : { file = \"%s\"; };", path);
    return input;
}

START_TEST(rows_are_padded_on_the_right)
{
    static const int32_t tokens[] = {1, 403, 7, 1, 9, 599};
    static const int32_t valid[] = {1, 1, 1, 1, 1, 0};
    static const int32_t positions[] = {0, 1, 2, 0, 1, 0};
    txd_input_source *source = open_text(
        MODEL, "input : { tokens = ( [1, 403, 7], [1, 9] ); pad_id = 599; };");
    txd_inputs inputs = step_of(source, 0);
    size_t batch, length;

    txd_input_source_shape(&batch, &length, source);
    ck_assert_uint_eq(batch, 2);
    ck_assert_uint_eq(length, 3);
    ck_assert_uint_eq(txd_input_source_steps(source), 1);
    ck_assert_uint_eq(inputs.batch, 2);
    ck_assert_uint_eq(inputs.length, 3);
    ck_numbers(inputs.tokens, 6, tokens);
    ck_numbers(inputs.valid, 6, valid);
    ck_numbers(inputs.positions, 6, positions);
    close_text(source);
}
END_TEST

START_TEST(rows_are_padded_on_the_left)
{
    static const int32_t tokens[] = {1, 403, 7, 0, 1, 9};
    static const int32_t valid[] = {1, 1, 1, 0, 1, 1};
    static const int32_t positions[] = {0, 1, 2, 0, 0, 1};
    txd_input_source *source = open_text(
        MODEL, "input : { tokens = ( [1, 403, 7], (1, 9) ); pad = \"left\"; };");
    txd_inputs inputs = step_of(source, 0);

    ck_numbers(inputs.tokens, 6, tokens);
    ck_numbers(inputs.valid, 6, valid);
    ck_numbers(inputs.positions, 6, positions);
    close_text(source);
}
END_TEST

START_TEST(one_flat_list_is_one_row)
{
    static const int32_t tokens[] = {4, 5, 6};
    txd_input_source *source = open_text(MODEL, "input : { tokens = [4, 5, 6]; };");
    txd_inputs inputs = step_of(source, 0);

    ck_assert_uint_eq(inputs.batch, 1);
    ck_assert_uint_eq(inputs.length, 3);
    ck_numbers(inputs.tokens, 3, tokens);
    close_text(source);
}
END_TEST

START_TEST(steps_are_successive_windows_of_every_row)
{
    static const int32_t first[] = {1, 2, 7, 8}, second[] = {3, 4, 9, 0};
    static const int32_t valid[] = {1, 1, 1, 0}, third[] = {5, 0};
    txd_input_source *source = open_text(
        MODEL, "input : { tokens = ( [1, 2, 3, 4, 5], [7, 8, 9] ); length = 2; };");
    txd_inputs inputs = step_of(source, 0);

    ck_assert_uint_eq(txd_input_source_steps(source), 3);
    ck_numbers(inputs.tokens, 4, first);
    inputs = step_of(source, 1);
    ck_numbers(inputs.tokens, 4, second);
    ck_numbers(inputs.valid, 4, valid);
    inputs = step_of(source, 2);
    ck_assert_uint_eq(inputs.length, 1);
    ck_numbers(inputs.tokens, 2, third);
    ck_assert_int_eq(inputs.valid[1], 0);
    ck_assert_int_eq(txd_input_source_step(&inputs, source, cfg_text_memory(), 3),
                     TXD_ERR_ARGUMENT);
    close_text(source);
}
END_TEST

START_TEST(steps_without_a_length_divide_the_longest_row)
{
    static const int32_t second[] = {3, 4};
    txd_input_source *source =
        open_text(MODEL, "input : { tokens = [1, 2, 3, 4, 5]; steps = 2; };");
    txd_inputs inputs = step_of(source, 1);
    size_t batch, length;

    txd_input_source_shape(&batch, &length, source);
    ck_assert_uint_eq(txd_input_source_steps(source), 2);
    ck_assert_uint_eq(length, 2);
    ck_numbers(inputs.tokens, 2, second);
    close_text(source);
    refused("input : { tokens = [1, 2, 3]; steps = 4; };", "input.steps", "3 tokens");
    refused("input : { tokens = [1, 2, 3]; steps = 3; length = 2; };", "input.steps",
            "windows of 2");
}
END_TEST

START_TEST(positions_and_documents_are_cut_and_padded_like_tokens)
{
    static const int32_t positions[] = {0, 0, 8}, documents[] = {0, 0, 3};
    txd_input_source *source = open_text(
        MODEL, "input : { tokens = ( [1, 2, 3, 4], [5] ); pad = \"left\"; positions = "
               "( [0, 1, 0, 8], [6] ); documents = ( [0, 0, 3, 3], [2] ); length = 3; "
               "};");
    txd_inputs inputs = step_of(source, 0);

    ck_assert_int_eq(inputs.positions[2], 0);
    ck_assert_int_eq(inputs.positions[5], 6);
    ck_assert_int_eq(inputs.document[2], 3);
    ck_assert_int_eq(inputs.document[5], 2);
    inputs = step_of(source, 1);
    ck_assert_int_eq(inputs.positions[0], positions[2]);
    ck_assert_int_eq(inputs.document[0], documents[2]);
    close_text(source);
    refused("input : { tokens = ( [1, 2], [3] ); positions = ( [0, 1] ); };",
            "input.positions", "2 rows of tokens");
    refused("input : { tokens = [1, 2]; documents = [0]; };", "input.documents",
            "1 numbers for 2 tokens");
}
END_TEST

START_TEST(types_are_cut_and_padded_like_tokens_and_are_those_of_the_model)
{
    static const int32_t types[] = {1, 0, 2, 0, 0, 1};
    txd_input_source *source = open_text(
        "model : { vocab = 9; d_model = 4; n_heads = 1; n_layers = 1; max_seq_len = 8; "
        "token_types = 3; }; ",
        "input : { tokens = ( [1, 2, 3, 4], [5] ); pad = \"left\"; types = ( [1, 0, 2, "
        "1], [1] ); length = 3; };");
    txd_inputs inputs = step_of(source, 0);

    ck_numbers(inputs.types, 6, types);
    close_text(source);
    refused("input : { tokens = ( [1, 2], [3] ); types = ( [0, 1] ); };", "input.types",
            "2 rows of tokens");
    refused("input : { tokens = [1, 2]; types = [0, 1]; };", "type 1",
            "model.token_types");
}
END_TEST

START_TEST(random_tokens_are_a_function_of_seed_and_step)
{
    static const char text[] = "input : { random : { batch = 3; length = 50; }; "
                               "steps = 2; };";
    txd_input_source *source = open_text(MODEL, text), *again = open_text(MODEL, text);
    txd_inputs a = step_of(source, 0), b = step_of(source, 1), c = step_of(again, 1);
    size_t different = 0, high = 0;

    ck_assert_uint_eq(a.batch, 3);
    ck_assert_uint_eq(a.length, 50);
    ck_numbers(b.tokens, 150, c.tokens);
    for (size_t i = 0; i < 150; i++) {
        different += a.tokens[i] != b.tokens[i];
        high += a.tokens[i] >= 300;
        ck_assert_int_ge(a.tokens[i], 0);
        ck_assert_int_lt(a.tokens[i], 600);
    }
    ck_assert_uint_gt(different, 130);
    ck_assert(high > 40 && high < 110);
    txd_input_source_destroy(again);
    close_text(source);
}
END_TEST

START_TEST(a_file_of_the_real_prompt_gives_its_tokens)
{
    const char *path = test_model("stories260K/golden/prompt_ids.npy");
    char text[4400];
    txd_input_source *source;
    txd_inputs inputs;

    if (!path)
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text, "input : { file = \"%s\"; };", path);
    source = open_text(MODEL, text);
    inputs = step_of(source, 0);
    ck_assert_uint_eq(inputs.batch, 1);
    ck_assert_uint_eq(inputs.length, 27);
    ck_assert_int_eq(inputs.tokens[0], 1); /* the beginning of a text */
    close_text(source);
}
END_TEST

START_TEST(a_file_of_rank_two_is_a_batch)
{
    static const int32_t ids[] = {1, 2, 3, 4, 5, 600};
    const char *text = write_npy(
        "{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }\n", ids, 6);
    txd_input_source *source;
    txd_inputs inputs;

    refused(text, "row 1, place 2", "600");
    text = write_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (1, 5), }\n",
                     ids, 5);
    source = open_text(MODEL, text);
    inputs = step_of(source, 0);
    ck_assert_uint_eq(inputs.batch, 1);
    ck_numbers(inputs.tokens, 5, ids);
    close_text(source);
}
END_TEST

START_TEST(files_that_are_no_tokens_are_refused)
{
    static const int32_t ids[8] = {0};

    refused(write_npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                      ids, 2),
            "ids.npy", "float32");
    refused(write_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,1,2), }\n",
                      ids, 4),
            "ids.npy", "(2, 1, 2)");
    refused(write_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,0), }\n",
                      ids, 0),
            "ids.npy", "no tokens");
    refused("input : { file = \"nothing.npy\"; };", "m.cfg:1: input.file",
            "nothing.npy");
}
END_TEST

START_TEST(a_file_is_looked_for_beside_the_cfg)
{
    static const int32_t ids[] = {7, 8};
    const char *cfg = test_file("m.cfg"), *text;
    txd_config config = cfg_text_config(MODEL);
    txd_input_source *source = NULL;
    txd_setting *root;

    write_npy("{'descr': '<i4', 'fortran_order': False, 'shape': (2,), }\n", ids, 2);
    text = "input : { file = \"ids.npy\"; };";
    ck_assert_int_eq(txd_file_replace(cfg, text, strlen(text)), TXD_OK);
    ck_assert_int_eq(txd_cfg_load(&root, cfg_text_memory(), cfg), TXD_OK);
    ck_assert_msg(txd_input_source_create(&source, root, &config, 1) == TXD_OK, "%s",
                  txd_message());
    ck_numbers(step_of(source, 0).tokens, 2, ids);
    close_text(source);
}
END_TEST

START_TEST(bad_inputs_are_refused_by_place)
{
    refused("seed = 1;", "m.cfg", "input is missing");
    refused("input : { pad = \"left\"; };", "m.cfg:1: input", "input is missing");
    refused("input : { tokens = [1]; file = \"x\"; };", "input.file", "one source");
    refused("input : { tokens = (\n [1, 2],\n [3, 600] ); };",
            "m.cfg:3: input.tokens.1.1", "0 to 599, found 600");
    refused("input : { tokens = [1, -2]; };", "input.tokens.1", "found -2");
    refused("input : { tokens = [1.0]; };", "input.tokens.0", "integer");
    refused("input : { tokens = ( [1], 2 ); };", "input.tokens.1", "expected a list");
    refused("input : { tokens = ( 1, [2] ); };", "input.tokens.1", "integer");
    refused("input : { tokens = []; };", "input.tokens", "empty");
    refused("input : { tokens = ( [1], [] ); };", "input.tokens.1", "empty");
    refused("input : { tokens = [1]; pad_id = 600; };", "input.pad_id", "600");
    refused("input : { random : { batch = 2; }; };", "input.random", "length");
    refused("input : { random : { length = 2; }; length = 3; };", "input.length",
            "remove");
    refused("input : { random : { length = 2; }; positions = [0, 1]; };",
            "input.positions", "random");
}
END_TEST

START_TEST(a_window_longer_than_the_positions_is_refused_by_step_and_row)
{
    txd_input_source *source;

    refused_in(SHORT, "input : { tokens = ( [1], [1, 2, 3, 4] ); };",
               "step 0: batch row 1 has 4 tokens", "3 positions");
    refused_in(SHORT, "input : { random : { length = 4; }; };", "4 tokens",
               "3 positions");
    refused_in(SHORT,
               "input : { tokens = [1, 2, 3, 4]; positions = [0, 1, 2, 3]; "
               "length = 2; };",
               "step 1", "position 3");
    source = open_text(SHORT, "input : { tokens = [1, 2, 3, 4]; length = 3; };");
    ck_assert_uint_eq(txd_input_source_steps(source), 2);
    close_text(source);
}
END_TEST

TEST_MAIN(rows_are_padded_on_the_right, rows_are_padded_on_the_left,
          one_flat_list_is_one_row, steps_are_successive_windows_of_every_row,
          steps_without_a_length_divide_the_longest_row,
          positions_and_documents_are_cut_and_padded_like_tokens,
          types_are_cut_and_padded_like_tokens_and_are_those_of_the_model,
          random_tokens_are_a_function_of_seed_and_step,
          a_file_of_the_real_prompt_gives_its_tokens, a_file_of_rank_two_is_a_batch,
          files_that_are_no_tokens_are_refused, a_file_is_looked_for_beside_the_cfg,
          bad_inputs_are_refused_by_place,
          a_window_longer_than_the_positions_is_refused_by_step_and_row)
