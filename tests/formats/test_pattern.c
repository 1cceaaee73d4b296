/* SPDX-License-Identifier: MIT
 *
 * Patterns of tokenizers: what PCRE2 reads otherwise than the libraries that they were
 * written for, text that is not UTF-8, and bounds on what a match may take.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/pattern_internal.h"
#include "suite.h"

/* The matches of a pattern, joined by '|'. */
static void matches(const char *regex, const char *text, size_t count,
                    const char *expected)
{
    txd_pattern *pattern = NULL;
    txd_spans spans = {0};
    txd_text joined;

    OK(txd_pattern_create(&pattern, regex, strlen(regex)));
    OK(txd_pattern_find(&spans, pattern, text, count));
    txd_text_init(&joined);
    for (size_t i = 0; i < spans.count; i++) {
        txd_text_add(&joined, i ? "|" : "");
        txd_text_add_bytes(&joined, text + spans.at[i].begin,
                           spans.at[i].end - spans.at[i].begin);
    }
    ck_assert_msg(strcmp(txd_text_get(&joined), expected) == 0, "%s: \"%s\"", regex,
                  txd_text_get(&joined));
    txd_text_finish(&joined);
    free(spans.at);
    txd_pattern_destroy(pattern);
}

static void finds(const char *regex, const char *text, const char *expected)
{
    matches(regex, text, strlen(text), expected);
}

static void refuses(const char *regex, const char *part)
{
    txd_pattern *pattern = NULL;

    ck_assert_int_eq(txd_pattern_create(&pattern, regex, strlen(regex)),
                     TXD_ERR_UNSUPPORTED);
    ck_assert_ptr_null(pattern);
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
}

START_TEST(blanks_digits_and_words_are_those_of_unicode)
{
    finds("\\s+",
          "a\xC2\x85"
          "b\xE3\x80\x80"
          "c\xE1\xA0\x8E"
          "d",
          "\xC2\x85|\xE3\x80\x80");
    finds("[^\\s]+",
          "a\xC2\x85"
          "b\xE1\xA0\x8E"
          "c",
          "a|b\xE1\xA0\x8E"
          "c");
    finds("\\S", "\xC2\x85x", "x");
    finds("\\d", "1\xD9\xA3\xC2\xB2", "1|\xD9\xA3");
    finds("\\w+", "n\xCC\x83o_x-y", "n\xCC\x83o_x|y");
    finds("[\\w-]+", "n\xCC\x83o_x-y", "n\xCC\x83o_x-y");
}
END_TEST

START_TEST(a_set_within_a_set_is_the_union)
{
    finds(" ?[^(\\s|[.,!?])]+", "Hi there, (you)|me", "Hi| there|you|me");
    finds("[\\[\\]x]+", "a[x]b", "[x]");
    refuses("[a[^b]]", "excluding set");
    refuses("[a&&b]", "intersection");
    refuses("[[:alpha:]]", "by name");
}
END_TEST

START_TEST(what_is_not_a_pattern_says_where)
{
    refuses("(a", "character 2");
    refuses("[a", "character");
}
END_TEST

START_TEST(text_that_is_not_utf8_matches_nothing_and_divides)
{
    matches("\\p{L}+|.",
            "ab\xFF"
            "cd\xE4\xBD",
            7, "ab|cd");
    matches("[^b]b", "\0b\0a", 4, "");
    matches("[^\\x{0}b]+", "xb\0yb\0", 6, "x|y");
}
END_TEST

START_TEST(empty_matches_advance)
{
    finds("(?=b)", "abab", "|");
    finds("x*", "ax", "|x|");
}
END_TEST

START_TEST(a_match_that_would_take_forever_is_an_error)
{
    txd_pattern *pattern = NULL;
    txd_spans spans = {0};
    char text[60];

    memset(text, 'a', sizeof text - 1);
    text[sizeof text - 1] = '!';
    OK(txd_pattern_create(&pattern, "(a|aa)+$", 8));
    ck_assert_int_eq(txd_pattern_find(&spans, pattern, text, sizeof text),
                     TXD_ERR_LIMIT);
    free(spans.at);
    txd_pattern_destroy(pattern);
}
END_TEST

START_TEST(a_long_text_takes_time_in_proportion)
{
    size_t count = (size_t)4 << 20;
    char *text = malloc(count);
    txd_pattern *pattern = NULL;
    txd_spans spans = {0};

    ck_assert_ptr_nonnull(text);
    for (size_t i = 0; i < count; i++)
        text[i] = i % 4 == 3 ? ' ' : 'a';
    OK(txd_pattern_create(&pattern, " ?\\p{L}+|\\s+(?!\\S)|\\s+", 23));
    OK(txd_pattern_find(&spans, pattern, text, count));
    ck_assert_uint_eq(spans.count, count / 4 + 1); /* the last blank alone */
    free(spans.at);
    free(text);
    txd_pattern_destroy(pattern);
}
END_TEST

START_TEST(letters_become_lower_case)
{
    txd_text text;

    txd_text_init(&text);
    OK(txd_pattern_lower(&text, "A\xC3\x84\xC4\xB0\xCE\xA3 \xFFZ\xE2\x85\xA7", 13));
    ck_assert_str_eq(txd_text_get(&text),
                     "a\xC3\xA4i\xCC\x87\xCF\x83 \xFFz\xE2\x85\xB7");
    txd_text_finish(&text);
}
END_TEST

TEST_MAIN(blanks_digits_and_words_are_those_of_unicode, a_set_within_a_set_is_the_union,
          what_is_not_a_pattern_says_where,
          text_that_is_not_utf8_matches_nothing_and_divides, empty_matches_advance,
          a_match_that_would_take_forever_is_an_error,
          a_long_text_takes_time_in_proportion, letters_become_lower_case)
