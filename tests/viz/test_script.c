/* SPDX-License-Identifier: MIT */
/*
 * Text of scripts: whatever a recording holds becomes one harmless line.
 */
#include "suite.h"

#include <string.h>

#include "viz/read/curves.h"
#include "viz/draw/script.h"

static void check_clean(const char *text, size_t limit, const char *expected)
{
    txd_text out;

    txd_text_init(&out);
    txd_clean(&out, text, limit);
    ck_assert_str_eq(txd_text_get(&out), expected);
    txd_text_finish(&out);
}

START_TEST(control_characters_become_visible)
{
    check_clean("a\nb\tc\r\x1b[0m\x7f", 100, "a\\nb\\tc\\r\\x1b[0m\\x7f");
    check_clean("\xC2\x85next", 100, "\xEF\xBF\xBDnext");
}
END_TEST

START_TEST(invalid_utf8_is_replaced_byte_by_byte)
{
    check_clean("\xff", 100, "\xEF\xBF\xBD");
    check_clean("a\xc3", 100, "a\xEF\xBF\xBD");
    check_clean("\xc0\xaf", 100, "\xEF\xBF\xBD\xEF\xBF\xBD");
    check_clean("\xed\xa0\x80x", 100, "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx");
    check_clean("\xf4\x90\x80\x80", 100,
                "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    check_clean("\xe2\x82", 100, "\xEF\xBF\xBD\xEF\xBF\xBD");
}
END_TEST

START_TEST(marks_that_turn_the_direction_are_replaced)
{
    check_clean("a\xE2\x80\xAE"
                "b\xE2\x81\xA6"
                "c\xE2\x80\x8F\xEF\xBB\xBF",
                100,
                "a\xEF\xBF\xBD"
                "b\xEF\xBF\xBD"
                "c\xEF\xBF\xBD\xEF\xBF\xBD");
}
END_TEST

START_TEST(good_text_of_all_scripts_stays)
{
    const char *text = "Grüße 日本語 🙂 ▁once Ġupon שלום";

    check_clean(text, 100, text);
}
END_TEST

/* gnuplot's cairo terminals paint over the picture where no font has a character. */
static void check_glyphs(const char *text, txd_image_kind kind, const char *expected)
{
    txd_text out;

    txd_text_init(&out);
    txd_clean_glyphs(&out, text, kind);
    ck_assert_str_eq(txd_text_get(&out), expected);
    txd_text_finish(&out);
}

START_TEST(what_a_font_may_not_have_is_written_as_its_code)
{
    const char *kept = "Grüße Ωмир ▁once Ġupon ␣ “x” … → ≤ █ \xEF\xBF\xBD\n";

    check_glyphs(kept, TXD_IMAGE_PNG, kept);
    check_glyphs("5 日本x", TXD_IMAGE_PNG, "5 <U+65E5 672C>x");
    check_glyphs("5 日本x", TXD_IMAGE_PDF, "5 <U+65E5 672C>x");
    check_glyphs("5 日本x", TXD_IMAGE_SVG, "5 日本x");
    check_glyphs("🙂", TXD_IMAGE_PNG, "<U+1F642>");
    check_glyphs("שלום5", TXD_IMAGE_PNG, "<U+05E9 05DC 05D5…>5");
    check_glyphs("␊", TXD_IMAGE_PNG, "<U+240A>");
}
END_TEST

/* Every character there is: none that is outside the fonts' common part goes through.
 */
START_TEST(no_character_beyond_the_fonts_reaches_a_bitmap)
{
    txd_text in, out;

    txd_text_init(&in);
    for (unsigned code = 0x3000; code < 0x20000; code++) {
        const unsigned char bytes[4] = {
            (unsigned char)(code < 0x10000 ? 0xE0 | code >> 12 : 0xF0 | code >> 18),
            (unsigned char)(0x80 | (code >> (code < 0x10000 ? 6 : 12) & 0x3F)),
            (unsigned char)(0x80 | (code >> (code < 0x10000 ? 0 : 6) & 0x3F)),
            (unsigned char)(0x80 | (code & 0x3F))};

        txd_text_add_bytes(&in, bytes, code < 0x10000 ? 3 : 4);
        txd_text_add(&in, " ");
    }
    txd_text_init(&out);
    txd_clean_glyphs(&out, txd_text_get(&in), TXD_IMAGE_PNG);
    ck_assert_int_eq(txd_text_status(&out), TXD_OK);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&out), "<U+1FFFD> "));
    for (const char *at = txd_text_get(&out); *at; at++)
        if ((unsigned char)*at >= 0x80) {
            if (strncmp(at, "\xEF\xBF\xBD", 3) != 0)
                ck_abort_msg("%.20s", at);
            at += 2;
        }
    txd_text_finish(&in);
    txd_text_finish(&out);
}
END_TEST

START_TEST(long_text_ends_in_an_ellipsis)
{
    check_clean("abcdef", 6, "abcdef");
    check_clean("abcdefg", 6, "abcde…");
    check_clean("日本語日本語", 3, "日本…");
}
END_TEST

START_TEST(strings_keep_quotes_apart_and_hold_no_newline)
{
    txd_text out;

    txd_text_init(&out);
    txd_script_string(&out, "it's `touch x` \"$(y)\" \\n\n!touch z");
    ck_assert_str_eq(txd_text_get(&out),
                     "'it'.\"'\".'s `touch x` \"$(y)\" \\n\\n!touch z'");
    txd_text_finish(&out);
    txd_text_init(&out);
    txd_script_string(&out, "''a'");
    ck_assert_str_eq(txd_text_get(&out), "''.\"''\".'a'.\"'\".''");
    txd_text_finish(&out);
}
END_TEST

START_TEST(lines_break_between_words_and_long_words_break_anywhere)
{
    txd_arena *arena;
    char **lines;
    size_t count;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_wrap(&lines, &count, arena, "one two three", 8), TXD_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(lines[0], "one two");
    ck_assert_str_eq(lines[1], "three");
    ck_assert_int_eq(txd_wrap(&lines, &count, arena, "abcdefghij", 4), TXD_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(lines[2], "ij");
    ck_assert_int_eq(txd_wrap(&lines, &count, arena, "日本語日", 4), TXD_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(lines[1], "語日");
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(a_picture_without_a_known_ending_is_refused)
{
    txd_image_kind kind = TXD_IMAGE_PDF;

    ck_assert_int_eq(txd_image_kind_of(&kind, "a.png"), TXD_OK);
    ck_assert_int_eq(kind, TXD_IMAGE_PNG);
    ck_assert_int_eq(txd_image_kind_of(&kind, "a.b.svg"), TXD_OK);
    ck_assert_int_eq(kind, TXD_IMAGE_SVG);
    ck_assert_int_eq(txd_image_kind_of(&kind, "a.jpg"), TXD_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(txd_message(), ".png, .svg or .pdf"));
    ck_assert_int_eq(txd_image_kind_of(&kind, "png"), TXD_ERR_ARGUMENT);
    ck_assert_int_eq(txd_image_kind_of(&kind, NULL), TXD_ERR_ARGUMENT);
    ck_assert_int_eq(kind, TXD_IMAGE_SVG);
}
END_TEST

/* Names come from the file: whatever they are, they stay inside quotes. */
START_TEST(names_in_a_chart_stay_text)
{
    static char name[] = "it's `touch x` 100%\n!touch y\"";
    static double x[2] = {0, 1}, y[2] = {1, 2};
    const txd_tic tics[2] = {{0, name, NULL}, {1, "", name}};
    txd_line line = {.name = name, .x = x, .y = y, .count = 2, .legend = true};
    txd_chart chart = {.title = name, .graph_count = 1};
    txd_drawing drawing;
    txd_text picture;
    txd_status status;

    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    chart.arena = drawing.arena;
    chart.graphs[0] = (txd_graph){.x_title = name,
                                  .y_title = name,
                                  .lines = &line,
                                  .line_count = 1,
                                  .tics = tics,
                                  .tic_count = 2,
                                  .level_count = 1,
                                  .levels = {{name, "#000000", 1.5}}};
    ck_assert_int_eq(txd_chart_note(&chart, true, "#000000", name), TXD_OK);
    ck_assert_int_eq(txd_chart_draw(&drawing, &chart), TXD_OK);
    ck_assert_ptr_null(strstr(txd_text_get(&drawing.script), "\n!"));
    ck_assert_ptr_null(strstr(txd_text_get(&drawing.script), "t's"));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&drawing.script), "100%%"));
    txd_text_init(&picture);
    status = txd_drawing_image(&picture, &drawing);
    ck_assert_msg(status == TXD_OK || status == TXD_ERR_MISSING, "%s", txd_message());
    txd_text_finish(&picture);
    txd_drawing_finish(&drawing);
}
END_TEST

TEST_MAIN(control_characters_become_visible, invalid_utf8_is_replaced_byte_by_byte,
          marks_that_turn_the_direction_are_replaced, good_text_of_all_scripts_stays,
          what_a_font_may_not_have_is_written_as_its_code,
          no_character_beyond_the_fonts_reaches_a_bitmap, long_text_ends_in_an_ellipsis,
          strings_keep_quotes_apart_and_hold_no_newline,
          lines_break_between_words_and_long_words_break_anywhere,
          a_picture_without_a_known_ending_is_refused, names_in_a_chart_stay_text)
