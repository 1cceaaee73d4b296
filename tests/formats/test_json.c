/* SPDX-License-Identifier: MIT
 *
 * JSON read (through jansson) and written (by our writer), one against the other.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "formats/json_read.h"
#include "suite.h"

static txd_arena *arena;

static txd_arena *pool(void)
{
    if (!arena)
        ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    return arena;
}

static void finish(void)
{
    txd_arena_destroy(arena);
    arena = NULL;
}

static txd_setting *parse(const char *text)
{
    txd_setting *root = NULL;

    ck_assert_msg(txd_json_parse(&root, pool(), "x.json", text, strlen(text)) == TXD_OK,
                  "%s: %s", text, txd_message());
    return root;
}

static const txd_setting *find(const txd_setting *root, const char *path)
{
    const txd_setting *setting = txd_setting_find(root, path);

    ck_assert_msg(setting != NULL, "%s", path);
    return setting;
}

static void refused(const char *text, const char *part)
{
    txd_setting *root = NULL;

    ck_assert_msg(txd_json_parse(&root, pool(), "x.json", text, strlen(text)) ==
                      TXD_ERR_FORMAT,
                  "%s", text);
    ck_assert_ptr_null(root);
    ck_assert_msg(strncmp(txd_message(), "x.json: ", 8) == 0, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s: %s", text, txd_message());
}

START_TEST(every_kind_of_value_is_read)
{
    txd_setting *root =
        parse("{\"i\": 9007199254740993, \"r\": -0.5, \"t\": true, \"n\": null,"
              " \"s\": \"a\\u0000b\", \"l\": [1, [2, {\"x\": 3}]], \"\": 4}");

    ck_assert_int_eq(find(root, "i")->integer, 9007199254740993);
    ck_assert_double_eq(find(root, "r")->real, -0.5);
    ck_assert(find(root, "t")->boolean);
    ck_assert_int_eq(find(root, "n")->kind, TXD_SETTING_NULL);
    ck_assert_uint_eq(find(root, "s")->string_length, 3);
    ck_assert_mem_eq(find(root, "s")->string, "a\0b", 4);
    ck_assert_int_eq(find(root, "l.1.1.x")->integer, 3);
    ck_assert_uint_eq(root->count, 7);
    ck_assert_int_eq(parse("[1]")->kind, TXD_SETTING_LIST);
    ck_assert_int_eq(parse("3")->integer, 3);
    ck_assert_int_eq(parse("null")->kind, TXD_SETTING_NULL);
    finish();
}
END_TEST

START_TEST(a_string_with_a_zero_byte_is_not_silently_cut_by_a_reader)
{
    const char *string = "kept";

    ck_assert_int_eq(txd_setting_string(&string, parse("{\"s\": \"a\\u0000b\"}"), "s"),
                     TXD_ERR_CONFIG);
    ck_assert_str_eq(string, "kept");
    finish();
}
END_TEST

/* transformers writes this one for a tokenizer without a limit. */
START_TEST(integers_beyond_int64_are_reals)
{
    txd_setting *root =
        parse("{\"max\": 1000000000000000019884624838656,\n"
              " \"\\\"9\": [18446744073709551615, -9223372036854775809],"
              " \"s\": \"\\\\\", \"t\": \"18446744073709551615\","
              " \"i\": 9223372036854775807, \"n\": "
              "-9223372036854775808}");
    size_t size = 7;

    ck_assert_int_eq(find(root, "max")->kind, TXD_SETTING_REAL);
    ck_assert_double_eq_tol(find(root, "max")->real, 1e30, 1e15);
    ck_assert_double_eq_tol(find(root, "\"9.0")->real, 18446744073709551615.0, 4096);
    ck_assert_double_eq_tol(find(root, "\"9.1")->real, -9223372036854775809.0, 4096);
    ck_assert_str_eq(find(root, "t")->string, "18446744073709551615");
    ck_assert_int_eq(find(root, "i")->integer, INT64_MAX);
    ck_assert_int_eq(find(root, "n")->integer, INT64_MIN);
    ck_assert_int_eq(txd_setting_size(&size, root, "max", 0, SIZE_MAX), TXD_ERR_CONFIG);
    ck_assert_msg(strstr(txd_message(), "an integer") != NULL, "%s", txd_message());
    ck_assert_uint_eq(size, 7);
    refused("{\"a\": 18446744073709551615,\n \"b\": 1e400}", "line 2, column 11");
    refused("{\"a\": 18446744073709551615, \"b", "line 1");
    finish();
}
END_TEST

START_TEST(malformed_json_is_refused_with_line_and_column)
{
    char deep[5001];

    refused("", "empty");
    refused("{\n  \"a\": 1,\n  \"a\": 2\n}", "line 3");
    refused("{\"a\": NaN}", "line 1, column");
    refused("{\"a\": 1e400}", "overflow");
    refused("{\"a\": 1", "line 1");
    refused("{\"a\": 1} x", "end of file");
    refused("{\"a\": \"\xff\"}", "decode byte 0xff");
    refused("{\"a\\u0000b\": 1}", "NUL");
    refused("{'a': 1}", "line 1");
    memset(deep, '[', sizeof deep - 1);
    deep[sizeof deep - 1] = '\0';
    refused(deep, "depth");
    finish();
}
END_TEST

START_TEST(what_the_writer_writes_is_read_back)
{
    const double numbers[] = {0.1, -0.0, 5e-324, 1.7976931348623157e308, 1e15, 1.0 / 3};
    txd_text text;
    txd_json json;
    txd_setting *root;

    for (int indent = 0; indent <= 2; indent += 2) {
        txd_text_init(&text);
        txd_json_init(&json, &text, indent);
        txd_json_open_object(&json);
        txd_json_key(&json, "numbers");
        txd_json_open_array(&json);
        for (int i = 0; i < 6; i++)
            txd_json_number(&json, numbers[i]);
        txd_json_close_array(&json);
        txd_json_key(&json, "empty");
        txd_json_open_object(&json);
        txd_json_close_object(&json);
        txd_json_key(&json, "least");
        txd_json_int(&json, INT64_MIN);
        txd_json_key(&json, "quote\"d\n\x01");
        txd_json_string(&json, "tab\t back\\ \xc3\xa9 \xf0\x9f\x98\x80 del\x7f");
        txd_json_key(&json, "none");
        txd_json_string(&json, NULL);
        txd_json_key(&json, "yes");
        txd_json_bool(&json, true);
        txd_json_close_object(&json);
        ck_assert_int_eq(txd_text_status(&text), TXD_OK);
        root = parse(txd_text_get(&text));
        for (size_t i = 0; i < 6; i++) {
            char path[16];

            snprintf(path, sizeof path, "numbers.%zu", i);
            ck_assert(find(root, path)->real == numbers[i]);
        }
        ck_assert_uint_eq(find(root, "empty")->count, 0);
        ck_assert_int_eq(find(root, "least")->integer, INT64_MIN);
        ck_assert_str_eq(find(root, "quote\"d\n\x01")->string,
                         "tab\t back\\ \xc3\xa9 \xf0\x9f\x98\x80 del\x7f");
        ck_assert_int_eq(find(root, "none")->kind, TXD_SETTING_NULL);
        ck_assert(find(root, "yes")->boolean);
        txd_text_finish(&text);
    }
    finish();
}
END_TEST

START_TEST(bytes_that_are_not_utf8_become_replacement_characters)
{
    static const char *const bad[] = {
        "\x80",
        "\xc0\xaf",
        "\xc3",
        "\xe0\x80\xaf",
        "\xed\xa0\x80",
        "\xf4\x90\x80\x80",
        "\xf8\x88\x80\x80\x80",
        "\xff",
        "\xf0\x9f\x98",
        "a\xe2\x82",
    };
    txd_text text;
    txd_json json;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        txd_text_init(&text);
        txd_json_init(&json, &text, 0);
        txd_json_string(&json, bad[i]);
        ck_assert_ptr_nonnull(
            strstr(parse(txd_text_get(&text))->string, "\xef\xbf\xbd"));
        txd_text_finish(&text);
    }
    finish();
}
END_TEST

START_TEST(nan_and_infinities_are_written_as_strings)
{
    txd_text text;
    txd_json json;

    txd_text_init(&text);
    txd_json_init(&json, &text, 0);
    txd_json_open_array(&json);
    txd_json_number(&json, NAN);
    txd_json_number(&json, INFINITY);
    txd_json_number(&json, -INFINITY);
    txd_json_close_array(&json);
    ck_assert_str_eq(txd_text_get(&text), "[\"NaN\", \"Infinity\", \"-Infinity\"]");
    txd_text_finish(&text);
}
END_TEST

START_TEST(the_configurations_of_the_real_models_are_read)
{
    const char *stories = test_model("stories260K/config.json");
    const char *sort = test_model("gpt-nano-sort/config.json");
    txd_setting *root = NULL;
    char place[4096];

    if (!stories || !sort)
        test_skip(TEST_NO_MODEL);
    ck_assert_msg(txd_json_load(&root, pool(), stories) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(find(root, "num_hidden_layers")->kind, TXD_SETTING_INT);
    txd_setting_place(place, sizeof place, find(root, "num_hidden_layers"));
    ck_assert_ptr_nonnull(strstr(place, "config.json: num_hidden_layers"));
    ck_assert_msg(txd_json_load(&root, pool(), sort) == TXD_OK, "%s", txd_message());
    finish();
}
END_TEST

TEST_MAIN(every_kind_of_value_is_read,
          a_string_with_a_zero_byte_is_not_silently_cut_by_a_reader,
          integers_beyond_int64_are_reals,
          malformed_json_is_refused_with_line_and_column,
          what_the_writer_writes_is_read_back,
          bytes_that_are_not_utf8_become_replacement_characters,
          nan_and_infinities_are_written_as_strings,
          the_configurations_of_the_real_models_are_read)
