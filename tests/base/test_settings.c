/* SPDX-License-Identifier: MIT
 *
 * Readers and validation of settings; trees come from model.cfg text.
 */
#include <math.h>
#include <string.h>

#include "base/settings.h"
#include "formats/cfg.h"
#include "suite.h"

static txd_arena *arena;

static txd_setting *parse(const char *text)
{
    txd_setting *root = NULL;

    if (!arena)
        ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(txd_cfg_parse(&root, arena, "m.cfg", text) == TXD_OK, "%s",
                  txd_message());
    return root;
}

static void finish(void)
{
    txd_arena_destroy(arena);
    arena = NULL;
}

static const txd_key model_keys[] = {
    {"version", "int", "1", "", "", ""},
    {"model.d_model", "int", "64", "", "", "width (elsewhere hidden_size, n_embd)"},
    {"model.d_ff", "int", "256", "", "", ""},
    {"model.n_layers", "int", "2", "", "", ""},
    {"model.norm", "rms|layer", "rms", "", "", ""},
    {"model.layers[].range", "string", "", "", "", ""},
    {"model.layers[].window", "int", "", "", "", "keys (elsewhere sliding_window)"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
static const txd_key other_keys[] = {
    {"mask.window", "int", "0", "", "", ""},
    {"mask.causal", "bool", "true", "", "", ""},
    {"checks.row_sum.atol", "real", "1e-6", "", "", ""},
    {"input.tokens", "list", "", "", "", ""},
    {"input.text", "text", "", "", "", ""},
    {"input.free", "group", "", "", "", ""},
    {"faults[].name", "string", "", "", "", ""},
    {"names[]", "string", "", "", "", ""},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};
static const txd_key nothing[] = {{NULL, NULL, NULL, NULL, NULL, NULL}};
static const txd_key *const tables[] = {model_keys, nothing, other_keys, NULL};

static void refused(const char *text, const char *message)
{
    ck_assert_int_eq(txd_settings_validate(parse(text), tables), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(), message);
}

START_TEST(known_keys_of_all_tables_are_accepted)
{
    const char *text =
        "version = 1;\n"
        "model : { d_model = 64; norm = \"rms\"; layers = ( { range = \"0:2\"; "
        "window = 8; }, { range = \"2:\"; } ); };\n"
        "mask : { causal = false; };\n"
        "checks : { row_sum : { atol = 1; }; };\n"
        "input : { tokens = ( [1, 2], [3] ); free : { a = 1; b : { c = 2; }; }; };\n"
        "faults = ( { name = \"x\"; } );  names = [ \"a\", \"b\" ];\n";

    ck_assert_msg(txd_settings_validate(parse(text), tables) == TXD_OK, "%s",
                  txd_message());
    OK(txd_settings_validate(parse("input : { text = \"a\"; };"), tables));
    OK(txd_settings_validate(parse("input : { text = ( \"a\", \"b\" ); };"), tables));
    finish();
}
END_TEST

START_TEST(an_unknown_key_is_refused_with_its_line_and_the_nearest)
{
    refused("version = 1;\nmodel :\n{\n  d_modl = 3;\n};",
            "m.cfg:4: model.d_modl: unknown key \"d_modl\"; nearest: d_model");
    refused("faults = ( { name = \"a\"; },\n { nam = \"b\"; } );",
            "m.cfg:2: faults.1.nam: unknown key \"nam\"; nearest: name");
    refused("modle : { };", "m.cfg:1: modle: unknown key \"modle\"; nearest: model");
    refused("model : { layers = ( { rnage = \"0\"; } ); };",
            "m.cfg:1: model.layers.0.rnage: unknown key \"rnage\"; nearest: range");
    finish();
}
END_TEST

START_TEST(a_key_of_another_group_is_named_with_its_path)
{
    refused("model : { causal = true; };",
            "m.cfg:1: model.causal: unknown key \"causal\"; nearest: mask.causal");
    finish();
}
END_TEST

START_TEST(without_a_near_key_the_accepted_ones_are_listed)
{
    refused("mask : { temperature = 1; };",
            "m.cfg:1: mask.temperature: unknown key \"temperature\"; accepted here: "
            "window, causal");
    finish();
}
END_TEST

START_TEST(a_value_of_the_wrong_kind_is_refused)
{
    refused("model : { d_model = 1.5; };",
            "m.cfg:1: model.d_model: expected an integer, found a real number");
    refused("model = 3;", "m.cfg:1: model: expected a group in { } of d_model, d_ff, "
                          "n_layers, norm, layers, found an integer");
    refused("faults = \"x\";", "m.cfg:1: faults: expected a list in ( ) of groups in "
                               "{ } of name, found a string");
    refused("faults = ( 1 );",
            "m.cfg:1: faults.0: expected a group in { } of name, found an integer");
    refused("names = 1;", "m.cfg:1: names: expected a list in ( ), found an integer");
    refused("names = ( 1 );",
            "m.cfg:1: names.0: expected a string in double quotes, found an integer");
    refused("mask : { causal = 1; };",
            "m.cfg:1: mask.causal: expected true or false, found an integer");
    refused("model : { norm = \"rsm\"; };",
            "m.cfg:1: model.norm: expected rms|layer, found \"rsm\"; nearest: rms");
    refused("input : { text = 1; };",
            "m.cfg:1: input.text: expected a string in double quotes, or a list of "
            "them, found an integer");
    refused("input : { tokens = ( { a = 1; } ); };",
            "m.cfg:1: input.tokens.0: expected a plain value or a list, found a group");
    finish();
}
END_TEST

START_TEST(a_number_where_a_list_of_groups_belongs_leads_to_the_number_s_key)
{
    refused("model : { layers = 4; };",
            "m.cfg:1: model.layers: expected a list in ( ) of groups in { } of range, "
            "window, found an integer; is model.n_layers meant?");
    refused("model : { layers = \"4\"; };",
            "m.cfg:1: model.layers: expected a list in ( ) of groups in { } of range, "
            "window, found a string");
    finish();
}
END_TEST

START_TEST(a_name_that_other_programs_use_leads_to_ours)
{
    refused("model : { n_embd = 4; };",
            "m.cfg:1: model.n_embd: unknown key \"n_embd\"; here it is called d_model");
    refused("mask : { hidden_size = 4; };",
            "m.cfg:1: mask.hidden_size: unknown key \"hidden_size\"; here it is called "
            "model.d_model");
    refused("model : { layers = ( { sliding_window = 4; } ); };",
            "m.cfg:1: model.layers.0.sliding_window: unknown key \"sliding_window\"; "
            "here it is called window");
    ck_assert_ptr_null(txd_key_elsewhere(tables, "hidden"));
    ck_assert_ptr_null(txd_key_elsewhere(tables, ""));
    finish();
}
END_TEST

START_TEST(all_accepted_keys_are_listed_also_those_that_are_part_of_others)
{
    static const txd_key many[] = {
        {"a.n_layers", "int", "", "", "", ""},  {"a.layers[].x", "int", "", "", "", ""},
        {"a.norm_size", "int", "", "", "", ""}, {"a.norm", "int", "", "", "", ""},
        {NULL, NULL, NULL, NULL, NULL, NULL},
    };
    static const txd_key *const table[] = {many, NULL};

    ck_assert_int_eq(txd_settings_validate(parse("a : { unlike_any = 1; };"), table),
                     TXD_ERR_CONFIG);
    ck_assert_str_eq(
        txd_message(),
        "m.cfg:1: a.unlike_any: unknown key \"unlike_any\"; accepted here: "
        "n_layers, layers, norm_size, norm");
    finish();
}
END_TEST

START_TEST(readers_keep_the_default_of_what_is_absent)
{
    txd_setting *root = parse("a : { b = 1; };");
    int64_t integer = 5;
    double real = 6;
    bool boolean = true;
    const char *string = "s";
    int choice = 3;

    ck_assert_int_eq(txd_setting_int(&integer, root, "a.c", 0, 1), TXD_OK);
    ck_assert_int_eq(txd_setting_real(&real, root, "a.b.c", 0, 1), TXD_OK);
    ck_assert_int_eq(txd_setting_bool(&boolean, root, "x.y"), TXD_OK);
    ck_assert_int_eq(txd_setting_string(&string, root, ""), TXD_OK);
    ck_assert_int_eq(txd_setting_choice(&choice, root, "z", &string, 1), TXD_OK);
    ck_assert(integer == 5 && real == 6 && boolean && choice == 3);
    ck_assert_str_eq(string, "s");
    finish();
}
END_TEST

START_TEST(readers_name_place_expected_and_found)
{
    static const char *const words[] = {"left", "right"};
    txd_setting *root = parse("\nn = 0; x = 2.5; s = \"rigth\"; big = 5L; far = "
                              "2e30;\nl = ( 1, { q = 7; } );");
    int64_t integer = 9;
    size_t size = 9;
    double real = 9;
    bool boolean = false;
    const char *string = NULL;
    int choice = 9;

    ck_assert_int_eq(txd_setting_int(&integer, root, "n", 1, 100), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(),
                     "m.cfg:2: n: expected an integer from 1 to 100, found 0");
    ck_assert_int_eq(txd_setting_size(&size, root, "x", 1, SIZE_MAX), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(),
                     "m.cfg:2: x: expected an integer, at least 1, found 2.5");
    ck_assert_int_eq(txd_setting_real(&real, root, "x", 1e-6, 1e30), TXD_OK);
    real = 9;
    ck_assert_int_eq(txd_setting_real(&real, root, "n", 1e-6, 1e30), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(),
                     "m.cfg:2: n: expected a number, at least 1e-06, found 0");
    ck_assert_int_eq(txd_setting_real(&real, root, "far", 0, 1e30), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(),
                     "m.cfg:2: far: expected a number from 0 to 1e+30, found 2e+30");
    ck_assert_int_eq(txd_setting_real(&real, root, "x", 0, 1), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(),
                     "m.cfg:2: x: expected a number from 0 to 1, found 2.5");
    ck_assert_int_eq(txd_setting_real(&real, root, "s", -INFINITY, INFINITY),
                     TXD_ERR_CONFIG);
    ck_assert_int_eq(txd_setting_bool(&boolean, root, "n"), TXD_ERR_CONFIG);
    ck_assert_int_eq(txd_setting_string(&string, root, "n"), TXD_ERR_CONFIG);
    ck_assert_int_eq(txd_setting_choice(&choice, root, "s", words, 2), TXD_ERR_CONFIG);
    ck_assert_str_eq(txd_message(), "m.cfg:2: s: expected one of \"left\", \"right\", "
                                    "found the string \"rigth\"; nearest: \"right\"");
    ck_assert(integer == 9 && size == 9 && real == 9 && choice == 9 && !string);
    ck_assert_int_eq(txd_setting_real(&real, root, "n", 0, 1), TXD_OK);
    ck_assert_double_eq(real, 0);
    ck_assert_int_eq(txd_setting_size(&size, root, "l.1.q", 0, 7), TXD_OK);
    ck_assert_uint_eq(size, 7);
    ck_assert_int_eq(txd_setting_int(&integer, root, "big", 0, INT64_MAX), TXD_OK);
    ck_assert_int_eq(integer, 5);
    finish();
}
END_TEST

static void check_equal(const txd_setting *a, const txd_setting *b)
{
    ck_assert_int_eq(a->kind, b->kind);
    ck_assert_uint_eq(a->count, b->count);
    ck_assert_int_eq(a->boolean, b->boolean);
    ck_assert_int_eq(a->integer, b->integer);
    ck_assert(a->real == b->real && signbit(a->real) == signbit(b->real));
    ck_assert_uint_eq(a->string_length, b->string_length);
    ck_assert_str_eq(a->string, b->string);
    ck_assert(!a->name == !b->name && (!a->name || strcmp(a->name, b->name) == 0));
    for (a = a->child, b = b->child; a; a = a->next, b = b->next)
        check_equal(a, b);
}

START_TEST(a_printed_tree_parses_back_to_an_equal_tree)
{
    txd_setting *root = parse(
        "a = 1; b = -9223372036854775808L; c = 2147483648L; d = 1e300; e = 0.1;\n"
        "f = 3.0; g = -0.0; t = true; s = \"q\\\" \\\\ \\n\\t\\x7f\\x01 \xc3\xa9 "
        "\\q\";\n"
        "empty = \"\"; list = ( 1, ( ), [ 2, 3 ], { }, { x = ( ( 1 ) ); y = false; } "
        ");\n"
        "grp : { in : { deep : { er = 1; }; }; }; none = ( ); arr = [ 1.5, 2.0 ];\n"
        "*st-ar_9 = 0x7fffffff; big = 0x7fffffffffffffffL;");
    txd_text text;

    txd_text_init(&text);
    txd_settings_print(&text, root);
    ck_assert_int_eq(txd_text_status(&text), TXD_OK);
    check_equal(root, parse(txd_text_get(&text)));
    txd_text_finish(&text);
    finish();
}
END_TEST

START_TEST(what_the_syntax_lacks_is_left_out_or_written_as_a_string)
{
    txd_setting *root = parse("");
    txd_setting *infinite = txd_setting_add(arena, root, "x", TXD_SETTING_REAL);
    txd_text text;

    infinite->real = -INFINITY;
    txd_setting_add(arena, root, "null", TXD_SETTING_NULL);
    txd_setting_add(arena, root, "with.dot", TXD_SETTING_INT);
    txd_setting_add(arena, root, "true", TXD_SETTING_INT);
    txd_setting_add(arena, root, "", TXD_SETTING_INT);
    txd_text_init(&text);
    txd_settings_print(&text, root);
    ck_assert_str_eq(txd_text_get(&text), "x = \"-inf\";\n");
    txd_text_finish(&text);
    finish();
}
END_TEST

TEST_MAIN(known_keys_of_all_tables_are_accepted,
          an_unknown_key_is_refused_with_its_line_and_the_nearest,
          a_key_of_another_group_is_named_with_its_path,
          without_a_near_key_the_accepted_ones_are_listed,
          a_value_of_the_wrong_kind_is_refused,
          a_number_where_a_list_of_groups_belongs_leads_to_the_number_s_key,
          a_name_that_other_programs_use_leads_to_ours,
          all_accepted_keys_are_listed_also_those_that_are_part_of_others,
          readers_keep_the_default_of_what_is_absent,
          readers_name_place_expected_and_found,
          a_printed_tree_parses_back_to_an_equal_tree,
          what_the_syntax_lacks_is_left_out_or_written_as_a_string)
