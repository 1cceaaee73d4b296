/* SPDX-License-Identifier: MIT
 *
 * Globs, ranges and nearest words.
 */
#include <stdint.h>
#include <string.h>

#include "base/select.h"
#include "suite.h"

START_TEST(a_star_matches_any_characters_dots_included)
{
    ck_assert(txd_glob("layers.*.attn.weights", "layers.11.attn.weights"));
    ck_assert(txd_glob("*", ""));
    ck_assert(txd_glob("*weights*", "layers.0.attn.weights"));
    ck_assert(txd_glob("l**s", "logits"));
    ck_assert(txd_glob("a*b*c", "a.b.b.c"));
    ck_assert(!txd_glob("a*b*c", "a.b.b.d"));
    ck_assert(!txd_glob("logits", "logits_raw"));
    ck_assert(!txd_glob("", "x"));
    ck_assert(txd_glob("", ""));
    ck_assert(!txd_glob("a?c", "abc"));
    ck_assert(!txd_glob("[ab]", "a"));
}
END_TEST

START_TEST(gradients_match_only_patterns_that_name_an_at_sign)
{
    ck_assert(!txd_glob("*", "logits@grad"));
    ck_assert(!txd_glob("logits*", "logits@grad"));
    ck_assert(txd_glob("*@grad", "logits@grad"));
    ck_assert(txd_glob("*@*", "logits@grad"));
    ck_assert(txd_glob_list("*, logits@grad", "logits@grad"));
    ck_assert(!txd_glob_list("*, x@grad", "logits@grad"));
}
END_TEST

START_TEST(many_stars_do_not_take_exponential_time)
{
    char pattern[201], name[2001];

    for (int i = 0; i < 200; i += 2)
        memcpy(pattern + i, "*a", 2);
    pattern[200] = '\0';
    memset(name, 'a', 2000);
    name[1999] = 'b';
    name[2000] = '\0';
    ck_assert(!txd_glob(pattern, name));
    name[1999] = 'a';
    ck_assert(txd_glob(pattern, name));
}
END_TEST

START_TEST(a_list_of_globs_matches_if_one_does)
{
    ck_assert(txd_glob_list("logits , layers.*.attn.weights", "layers.0.attn.weights"));
    ck_assert(txd_glob_list(" logits", "logits"));
    ck_assert(!txd_glob_list("logits,", ""));
    ck_assert(!txd_glob_list("", "logits"));
    ck_assert(!txd_glob_list(NULL, "logits"));
}
END_TEST

START_TEST(every_accepted_form_of_a_range_selects_what_it_says)
{
    txd_range range;

    ck_assert_int_eq(txd_range_parse(&range, "5"), TXD_OK);
    ck_assert(txd_range_has(&range, 5) && !txd_range_has(&range, 4));
    ck_assert_int_eq(txd_range_parse(&range, "0:10"), TXD_OK);
    ck_assert(txd_range_has(&range, 9) && !txd_range_has(&range, 10));
    ck_assert_int_eq(txd_range_parse(&range, "3:"), TXD_OK);
    ck_assert(txd_range_has(&range, 1u << 31) && !txd_range_has(&range, 2));
    ck_assert_int_eq(txd_range_parse(&range, "3:10:2"), TXD_OK);
    for (size_t i = 0; i < 12; i++)
        ck_assert_int_eq(txd_range_has(&range, i),
                         i == 3 || i == 5 || i == 7 || i == 9);
    ck_assert_int_eq(txd_range_parse(&range, "1::1000"), TXD_OK);
    ck_assert(txd_range_has(&range, 1) && txd_range_has(&range, 5001));
    ck_assert(!txd_range_has(&range, 0) && !txd_range_has(&range, 1000));
    ck_assert_int_eq(txd_range_parse(&range, "1, 4:6 ,9:"), TXD_OK);
    ck_assert_int_eq(range.count, 3);
    ck_assert(txd_range_has(&range, 5) && !txd_range_has(&range, 8));
    for (int i = 0; i < 4; i++) {
        const char *const everything[] = {NULL, "", "*", "2,*"};

        ck_assert_int_eq(txd_range_parse(&range, everything[i]), TXD_OK);
        ck_assert_int_eq(range.count, 0);
        ck_assert(txd_range_has(&range, 12345));
    }
}
END_TEST

START_TEST(what_is_no_range_is_refused_with_the_accepted_forms)
{
    const char *const wrong[] = {
        "a",
        "-1",
        "3:2",
        "3:3",
        ":4",
        "1,",
        ",1",
        "1;2",
        "1:2:0",
        "1:2:",
        "1::",
        "1:2x",
        "1:2:3:4",
        "0x1",
        "*,b",
        "1 2",
        "18446744073709551615",
        "99999999999999999999",
    };
    txd_range range = {.count = 9};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_msg(txd_range_parse(&range, wrong[i]) == TXD_ERR_CONFIG, "%s",
                      wrong[i]);
        ck_assert_ptr_nonnull(strstr(txd_message(), wrong[i]));
        ck_assert_ptr_nonnull(strstr(txd_message(), "accepted"));
        ck_assert_int_eq(range.count, 9);
    }
    ck_assert_int_eq(txd_range_parse(&range, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
                     TXD_OK);
    ck_assert_int_eq(txd_range_parse(&range, "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1"),
                     TXD_ERR_CONFIG);
}
END_TEST

START_TEST(the_nearest_word_is_a_typing_mistake_away_or_none)
{
    const char *const known[] = {"d_model", "d_ff", "n_heads", "n_layers"};

    ck_assert_str_eq(txd_nearest("d_modl", known, 4), "d_model");
    ck_assert_str_eq(txd_nearest("d_model", known, 4), "d_model");
    ck_assert_str_eq(txd_nearest("nheads", known, 4), "n_heads");
    ck_assert_str_eq(txd_nearest("n_layer", known, 4), "n_layers");
    ck_assert_ptr_null(txd_nearest("temperature", known, 4));
    ck_assert_ptr_null(txd_nearest("x", known, 0));
}
END_TEST

START_TEST(the_last_part_of_a_name_leads_to_the_whole)
{
    const char *const known[] = {"layers.*.attn.weights", "model.d_model"};

    ck_assert_str_eq(txd_nearest("attn.weights", known, 2), "layers.*.attn.weights");
    ck_assert_str_eq(txd_nearest("d_model", known, 2), "model.d_model");
    ck_assert_ptr_null(txd_nearest("odel", known, 2));
    ck_assert_ptr_null(txd_nearest("", known, 2));
}
END_TEST

START_TEST(the_same_last_part_is_nearer_than_a_similar_name)
{
    const char *const known[] = {"head",      "score_scale",          "rows",
                                 "input.pad", "precision.loss_scale", "model.cross",
                                 "steps/loss"};

    ck_assert_str_eq(txd_nearest("loss_scale", known, 7), "precision.loss_scale");
    ck_assert_str_eq(txd_nearest("pad", known, 7), "input.pad");
    ck_assert_str_eq(txd_nearest("cross", known, 7), "model.cross");
    ck_assert_str_eq(txd_nearest("loss", known, 7), "steps/loss");
}
END_TEST

START_TEST(a_typing_mistake_in_a_last_part_leads_to_the_whole)
{
    const char *const known[] = {"rows", "model.n_layers", "model.cross"};

    ck_assert_str_eq(txd_nearest("n_layer", known, 3), "model.n_layers");
    ck_assert_str_eq(txd_nearest("corss", known, 3), "model.cross");
    ck_assert_ptr_null(txd_nearest("pad", known, 3));
}
END_TEST

START_TEST(a_word_without_end_has_no_nearest)
{
    static char word[5000];
    const char *const known[] = {"a", word};

    memset(word, 'a', sizeof word - 1);
    ck_assert_ptr_null(txd_nearest(word, known, 2));
    ck_assert_str_eq(txd_nearest("b", known, 2), "a");
}
END_TEST

TEST_MAIN(a_star_matches_any_characters_dots_included,
          gradients_match_only_patterns_that_name_an_at_sign,
          many_stars_do_not_take_exponential_time, a_list_of_globs_matches_if_one_does,
          every_accepted_form_of_a_range_selects_what_it_says,
          what_is_no_range_is_refused_with_the_accepted_forms,
          the_nearest_word_is_a_typing_mistake_away_or_none,
          the_last_part_of_a_name_leads_to_the_whole,
          the_same_last_part_is_nearer_than_a_similar_name,
          a_typing_mistake_in_a_last_part_leads_to_the_whole,
          a_word_without_end_has_no_nearest)
