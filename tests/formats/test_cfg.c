/* SPDX-License-Identifier: MIT
 *
 * model.cfg: what is read, what is refused and where, and assignments.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/settings.h"
#include "formats/cfg.h"
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

    ck_assert_msg(txd_cfg_parse(&root, pool(), "m.cfg", text) == TXD_OK, "%s: %s", text,
                  txd_message());
    return root;
}

static const txd_setting *find(const txd_setting *root, const char *path)
{
    const txd_setting *setting = txd_setting_find(root, path);

    ck_assert_msg(setting != NULL, "%s", path);
    return setting;
}

/* Refused, with a message that begins with `place` and holds `part`. */
static void refused(const char *text, const char *place, const char *part)
{
    txd_setting *root = NULL;

    ck_assert_msg(txd_cfg_parse(&root, pool(), "m.cfg", text) == TXD_ERR_CONFIG, "%s",
                  text);
    ck_assert_ptr_null(root);
    ck_assert_msg(strncmp(txd_message(), place, strlen(place)) == 0, "%s: %s", text,
                  txd_message());
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s: %s", text, txd_message());
}

static const char *write_file(const char *name, const char *text)
{
    const char *path = test_file(name);
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
    return path;
}

START_TEST(every_kind_of_value_is_read_with_its_line)
{
    txd_setting *root = parse("i = -5;\nbig = 5000000000L;\nhex = 0x10;\nr = 2.5e-3;\n"
                              "s = \"a\\x41\\n\" \"b\";\nt = TRUE;\n"
                              "l = ( 1, \"x\", [ 1.5 ], { k = 010; } ); # end");

    ck_assert_int_eq(find(root, "i")->integer, -5);
    ck_assert_double_eq(find(root, "i")->real, -5);
    ck_assert_int_eq(find(root, "big")->integer, 5000000000);
    ck_assert_int_eq(find(root, "hex")->integer, 16);
    ck_assert_double_eq(find(root, "r")->real, 2.5e-3);
    ck_assert_str_eq(find(root, "s")->string, "aA\nb");
    ck_assert(find(root, "t")->boolean);
    ck_assert_int_eq(find(root, "l.3.k")->integer, 10);
    ck_assert_int_eq(find(root, "l.3.k")->line, 7);
    ck_assert_str_eq(find(root, "l")->file, "m.cfg");
    ck_assert_uint_eq(find(root, "l")->count, 4);
    finish();
}
END_TEST

START_TEST(integers_that_libconfig_would_wrap_are_refused_with_their_line)
{
    refused("a = 1;\nb = 99999999999;", "m.cfg:2: ", "99999999999");
    refused("a = 1;\nb = 99999999999;", "m.cfg:2: ", "-2147483648 to 2147483647");
    refused("a = 4294967296;", "m.cfg:1: ", "accepted");
    refused("a = 2147483648;", "m.cfg:1: ", "accepted");
    refused("a = -2147483649;", "m.cfg:1: ", "accepted");
    refused("a = 9223372036854775808L;", "m.cfg:1: ", "accepted");
    refused("a = -9223372036854775809L;", "m.cfg:1: ", "accepted");
    refused("a = 0x80000000;", "m.cfg:1: ", "0x7fffffff");
    refused("a = 0xffffffffffffffffL;", "m.cfg:1: ", "accepted");
    refused("a = ( { b = [ 1, 99999999999 ]; } );", "m.cfg:1: ", "accepted");
    refused("/* \n */ a = /* 1 */ 99999999999;", "m.cfg:2: ", "accepted");
    refused("a = 1e999;", "m.cfg:1: a: ", "too large");
    refused("a = .;", "m.cfg:1: ", "digits");
    refused("a = -.e5;", "m.cfg:1: ", "digits");
    finish();
}
END_TEST

START_TEST(the_largest_integers_are_read_exactly)
{
    txd_setting *root = parse("a = 2147483647; b = -2147483648; c = 0x7fffffff;\n"
                              "d = 9223372036854775807L; e = -9223372036854775808L;");

    ck_assert_int_eq(find(root, "a")->integer, INT32_MAX);
    ck_assert_int_eq(find(root, "b")->integer, INT32_MIN);
    ck_assert_int_eq(find(root, "c")->integer, INT32_MAX);
    ck_assert_int_eq(find(root, "d")->integer, INT64_MAX);
    ck_assert_int_eq(find(root, "e")->integer, INT64_MIN);
    finish();
}
END_TEST

START_TEST(digits_in_names_strings_comments_and_reals_are_no_integers)
{
    txd_setting *root =
        parse("a99999999999 = \"99999999999 \\\" 99999999999\"; # 99999999999\n"
              "// 99999999999 \"\n/* 99999999999 \" \n99999999999 */\n"
              "b = 99999999999.0; c = 99999999999e1; d_-99999999999* = 1; "
              "x = \"#\"; y = \"\\\\\"; z = \"/*\";");

    ck_assert_uint_eq(root->count, 7);
    ck_assert_double_eq(find(root, "b")->real, 99999999999.0);
    ck_assert_str_eq(find(root, "y")->string, "\\");
    finish();
}
END_TEST

START_TEST(syntax_errors_name_the_line_and_a_remedy)
{
    refused("a = 1;\nb = ;\n", "m.cfg:2: syntax error", "expected");
    refused("a = 1;\n\na = 2;", "m.cfg:3: duplicate", "once");
    refused("a = [ 1, 2.0 ];", "m.cfg:1: ", "array");
    refused("a = ( 1, );", "m.cfg:1: ", "syntax");
    refused("g : {\n a = 1;\n", "m.cfg:", "bracket");
    refused("a = \"open;\n\n", "m.cfg:1: ", "no end");
    refused("a = 1; /* open\n", "m.cfg:1: ", "no end");
    refused("a = \"x\\x00y\";", "m.cfg:1: ", "\\x00");
    refused("\n@include \"x\"\n", "m.cfg:2: ", "files only");
    finish();
}
END_TEST

START_TEST(brackets_nested_too_deep_are_refused)
{
    char text[4000] = "a = ";

    memset(text + 4, '(', 2000);
    refused(text, "m.cfg:1: ", "nested");
    finish();
}
END_TEST

START_TEST(keys_are_case_sensitive_and_an_empty_text_is_an_empty_group)
{
    ck_assert_uint_eq(parse("A = 1; a = 2;")->count, 2);
    ck_assert_uint_eq(parse("")->count, 0);
    ck_assert_uint_eq(parse("# only a comment")->count, 0);
    finish();
}
END_TEST

START_TEST(an_included_file_is_found_beside_the_file_and_keeps_its_places)
{
    const char *path = write_file("m.cfg", "a = 1;\n@include \"part.inc\"\nz = 2;\n");
    const char *part = write_file("part.inc", "\nb = 3;\n");
    txd_setting *root = NULL;

    ck_assert_msg(txd_cfg_load(&root, pool(), path) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(find(root, "b")->line, 2);
    ck_assert_str_eq(find(root, "b")->file, part); /* can be opened */
    ck_assert_str_eq(find(root, "z")->file, path);
    ck_assert_int_eq(find(root, "z")->line, 3);
    finish();
}
END_TEST

static void load_refused(const char *path, txd_status status, const char *part)
{
    txd_setting *root = NULL;

    ck_assert_int_eq(txd_cfg_load(&root, pool(), path), status);
    ck_assert_ptr_null(root);
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
}

START_TEST(integers_in_included_files_are_scanned_too)
{
    const char *path = write_file("m.cfg", "g : {\n@include \"part.inc\"\n};\n");

    write_file("part.inc", "\n\nb = 99999999999;\n");
    load_refused(path, TXD_ERR_CONFIG, "part.inc:3: found the number 99999999999");
    write_file("part.inc", "b = 1; # no line feed");
    load_refused(path, TXD_ERR_CONFIG, "part.inc:1: this comment must end");
    write_file("part.inc", "\nb = = 2;\n");
    load_refused(path, TXD_ERR_CONFIG, test_file("part.inc:2: syntax error"));
    finish();
}
END_TEST

START_TEST(files_that_include_themselves_or_nothing_are_refused)
{
    const char *path = write_file("m.cfg", "@include \"m.cfg\"\n");

    load_refused(path, TXD_ERR_CONFIG, "include itself");
    path = write_file("m.cfg", "a = 1;\n@include \"absent.inc\"\n");
    load_refused(path, TXD_ERR_IO, "m.cfg:2: @include: ");
    path = write_file("m.cfg", "@include \"open\n");
    load_refused(path, TXD_ERR_CONFIG, "m.cfg:1: @include has no closing quote");
    finish();
}
END_TEST

START_TEST(what_is_no_text_file_is_refused_by_name)
{
    const char *path = test_file("zero.cfg");
    FILE *file = fopen(path, "w");

    fwrite("a = 1;\0b = 2;", 1, 13, file);
    fclose(file);
    load_refused(path, TXD_ERR_CONFIG, "zero byte at offset 6");
    load_refused(test_scratch(), TXD_ERR_IO, "a folder");
    load_refused(test_file("absent.cfg"), TXD_ERR_IO, "absent.cfg");
    ck_assert_int_eq(mkfifo(test_file("pipe"), 0600), 0);
    load_refused(test_file("pipe"), TXD_ERR_IO, "a named pipe");
    path = write_file("m.cfg", "@include \"pipe\"\n");
    load_refused(path, TXD_ERR_IO, "a named pipe");
    finish();
}
END_TEST

static void set(txd_setting *root, const char *assignment)
{
    ck_assert_msg(txd_cfg_set(root, pool(), assignment) == TXD_OK, "%s: %s", assignment,
                  txd_message());
}

START_TEST(an_assignment_replaces_adds_and_makes_groups)
{
    txd_setting *root = parse("a = 1; g : { x = 1; y = 2; }; l = ( { n = 1; } );");
    char place[64];

    set(root, "a=2.5");
    ck_assert_double_eq(find(root, "a")->real, 2.5);
    set(root, "g.x=[1, 2]");
    ck_assert_int_eq(find(root, "g.x.1")->integer, 2);
    ck_assert_int_eq(find(root, "g.y")->integer, 2);
    set(root, "mask.fill=-inf");
    ck_assert_str_eq(find(root, "mask.fill")->string, "-inf");
    set(root, "l.0.n=layers.*.attn.weights,logits");
    ck_assert_str_eq(find(root, "l.0.n")->string, "layers.*.attn.weights,logits");
    set(root, "l.1.n=true");
    ck_assert(find(root, "l.1.n")->boolean);
    set(root, "faults.0.name=mask_off_by_one");
    ck_assert_int_eq(find(root, "faults")->kind, TXD_SETTING_LIST);
    ck_assert_str_eq(find(root, "faults.0.name")->string, "mask_off_by_one");
    ck_assert_str_eq(
        txd_setting_place(place, sizeof place, find(root, "faults.0.name")),
        "--set: faults.0.name");
    ck_assert_str_eq(txd_setting_place(place, sizeof place, find(root, "g.x.1")),
                     "--set: g.x.1");
    finish();
}
END_TEST

START_TEST(values_of_an_assignment_are_cfg_values_or_words)
{
    static const struct {
        const char *assignment;
        txd_setting_kind kind;
        const char *string;
    } cases[] = {
        {"v=5", TXD_SETTING_INT, ""},
        {"v= 5 ", TXD_SETTING_INT, ""},
        {"v=5000000000L", TXD_SETTING_INT, ""},
        {"v=1e-5", TXD_SETTING_REAL, ""},
        {"v=\"5\"", TXD_SETTING_STRING, "5"},
        {"v=False", TXD_SETTING_BOOL, ""},
        {"v=( { a = 1; } )", TXD_SETTING_LIST, ""},
        {"v={ a = 1; }", TXD_SETTING_GROUP, ""},
        {"v=0:10", TXD_SETTING_STRING, "0:10"},
        {"v=*", TXD_SETTING_STRING, "*"},
        {"v=", TXD_SETTING_STRING, ""},
        {"v=a=b", TXD_SETTING_STRING, "a=b"},
        {"v=../x/model.npy", TXD_SETTING_STRING, "../x/model.npy"},
        {"v=layers/*", TXD_SETTING_STRING, "layers/*"},
        {"v=x\n@include \"y\"", TXD_SETTING_STRING, "x\n@include \"y\""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        txd_setting *root = parse("");

        set(root, cases[i].assignment);
        ck_assert_msg(find(root, "v")->kind == cases[i].kind, "%s",
                      cases[i].assignment);
        ck_assert_str_eq(find(root, "v")->string, cases[i].string);
    }
    finish();
}
END_TEST

START_TEST(a_malformed_assignment_leaves_the_tree_as_it_was)
{
    static const char *const wrong[] = {
        "",       "a",        "=1",       ".=1",   "a.=1",    ".a=1",
        "a b=1",  "a.b=1",    "1=1",      "l.x=1", "l.2=1",   "l.99999999999=1",
        "l.-1=1", "a=\"open", "a=(1",     "a={",   "new.1=1", "a=99999999999",
        "a=[1,",  "a=1; b=2", "g.q=(1,)", "g.1=1", "a..b=1",  "t\xc3\xa9=1",
    };
    txd_setting *root = parse("a = 1; g : { x = 1; }; l = ( 1 );");

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(txd_cfg_set(root, pool(), wrong[i]) == TXD_ERR_CONFIG, "%s",
                      wrong[i]);
        ck_assert_uint_eq(root->count, 3);
        ck_assert_int_eq(find(root, "a")->integer, 1);
        ck_assert_uint_eq(find(root, "g")->count, 1);
        ck_assert_uint_eq(find(root, "l")->count, 1);
    }
    finish();
}
END_TEST

TEST_MAIN(every_kind_of_value_is_read_with_its_line,
          integers_that_libconfig_would_wrap_are_refused_with_their_line,
          the_largest_integers_are_read_exactly,
          digits_in_names_strings_comments_and_reals_are_no_integers,
          syntax_errors_name_the_line_and_a_remedy,
          brackets_nested_too_deep_are_refused,
          keys_are_case_sensitive_and_an_empty_text_is_an_empty_group,
          an_included_file_is_found_beside_the_file_and_keeps_its_places,
          integers_in_included_files_are_scanned_too,
          files_that_include_themselves_or_nothing_are_refused,
          what_is_no_text_file_is_refused_by_name,
          an_assignment_replaces_adds_and_makes_groups,
          values_of_an_assignment_are_cfg_values_or_words,
          a_malformed_assignment_leaves_the_tree_as_it_was)
