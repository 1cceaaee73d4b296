/* SPDX-License-Identifier: MIT
 *
 * What a report of many broken or open laws comes down to: where to begin, and lines
 * that say the same once.
 */
#include "suite.h"

#include <stdio.h>
#include <string.h>

#include "checks/check.h"

START_TEST(laws_that_are_open_for_one_reason_share_a_line_unless_it_is_verbose)
{
    const txd_report_style verbose = {.verbose = true};
    txd_finding finding = {.verdict = TXD_VERDICT_INFO, .site = "logits"};
    txd_result results[6] = {
        {.check = "row_sum", .verdict = TXD_VERDICT_OPEN, .note = "3 rows hold NaN"},
        {.check = "causality", .verdict = TXD_VERDICT_OPEN, .note = "no bound exists"},
        {.check = "padding", .verdict = TXD_VERDICT_OPEN, .note = "see `finite`"},
        {.check = "mask_fill", .verdict = TXD_VERDICT_SKIP, .note = "no bound exists"},
        {.check = "headroom", .verdict = TXD_VERDICT_OPEN, .note = "no bound exists"},
        {.check = "head_logits",
         .verdict = TXD_VERDICT_OPEN,
         .note = "no bound exists",
         .findings = &finding,
         .finding_count = 1,
         .finding_total = 1},
    };
    const char *at;
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 6, NULL);
    at = txd_text_get(&text);
    ck_assert_ptr_nonnull(strstr(at, "SKIP mask_fill      no bound exists\n"));
    ck_assert_ptr_nonnull(strstr(at, " 3 rows hold NaN; so too: padding\n"));
    ck_assert_ptr_nonnull(strstr(at, " no bound exists; so too: headroom\n"));
    ck_assert_ptr_nonnull(strstr(at, "OPEN head_logits")); /* has something to show */
    ck_assert_ptr_null(strstr(at, "OPEN padding"));
    ck_assert_ptr_null(strstr(at, "OPEN headroom"));
    ck_assert_ptr_nonnull(strstr(at, "6 laws: 5 open, 1 skipped\n"));
    txd_text_finish(&text);
    txd_report_text(&text, NULL, results, 6, &verbose);
    at = txd_text_get(&text);
    ck_assert_ptr_null(strstr(at, "so too"));
    ck_assert_ptr_nonnull(strstr(at, "OPEN padding"));
    ck_assert_ptr_nonnull(strstr(at, "OPEN headroom"));
    txd_text_finish(&text);
}
END_TEST

typedef const char *failure[2]; /* the law, the site */

/* The summary of laws that fail at these sites, one finding each. */
static void expect(const failure *laws, size_t count, const char *expected)
{
    txd_finding places[4];
    txd_result results[4];
    txd_text text;

    for (size_t i = 0; i < count; i++) {
        places[i] = (txd_finding){.verdict = TXD_VERDICT_FAIL, .layer = -1};
        snprintf(places[i].site, sizeof places[i].site, "%s", laws[i][1]);
        if (strncmp(laws[i][1], "layers.", 7) == 0)
            places[i].layer = laws[i][1][7] - '0';
        results[i] = (txd_result){.check = laws[i][0],
                                  .verdict = TXD_VERDICT_FAIL,
                                  .findings = &places[i],
                                  .finding_count = 1,
                                  .finding_total = 1};
    }
    txd_text_init(&text);
    txd_report_text(&text, NULL, results, count, NULL);
    ck_assert_msg(strstr(txd_text_get(&text), expected), "%s, not %s",
                  txd_text_get(&text), expected);
    txd_text_finish(&text);
}

START_TEST(the_summary_says_where_to_begin_by_the_order_of_execution)
{
    const failure layers[] = {{"head_merge", "layers.2.attn.merged"},
                              {"causality", "layers.1.attn.weights"},
                              {"mask_fill", "layers.1.attn.masked"},
                              {"head_logits", "logits"}};
    const failure before[] = {{"norm_output", "layers.0.norm1.out"},
                              {"embedding_sum", "embed.out"}};
    const failure parameter[] = {{"norm_output", "layers.1.norm1.out"},
                                 {"finite", "layers.1.attn.q.weight"}};

    expect(layers, 4, "4 failed; begin with mask_fill: layers.1.attn.masked\n");
    expect(before, 2, "begin with embedding_sum: embed.out\n");
    expect(parameter, 2, "begin with finite: layers.1.attn.q.weight\n");
}
END_TEST

START_TEST(one_broken_law_needs_no_word_of_where_to_begin)
{
    const failure one[] = {{"causality", "layers.1.attn.weights"}};

    expect(one, 1, "1 law: 1 failed\n");
}
END_TEST

START_TEST(gradients_are_formed_from_the_end_and_behind_all_values)
{
    const failure both[] = {{"grad_row_sum", "layers.2.attn.masked@grad"},
                            {"head_logits", "logits"}};
    const failure backward[] = {{"grad_row_sum", "layers.0.attn.masked@grad"},
                                {"grad_range", "layers.1.attn.q.weight@grad"},
                                {"grad_row_sum", "layers.2.attn.masked@grad"}};

    expect(both, 2, "begin with head_logits: logits\n");
    expect(backward, 3, "begin with grad_row_sum: layers.2.attn.masked@grad\n");
}
END_TEST

START_TEST(laws_that_judge_a_pass_come_before_experiments)
{
    const failure mixed[] = {{"future_perturbation", "layers.0.norm1.out"},
                             {"norm_output", "final.norm"}};
    const failure experiments[] = {{"gradcheck", "layers.0.attn.q.weight@grad"},
                                   {"batch_invariance", "layers.1.norm1.out"}};

    expect(mixed, 2, "begin with norm_output: final.norm\n");
    expect(experiments, 2, "begin with batch_invariance: layers.1.norm1.out\n");
}
END_TEST

/* Of a key that is -Inf although it is shown the mask's laws say why; of a NaN none. */
START_TEST(at_one_site_finite_is_first_only_where_it_leaves_laws_open)
{
    txd_finding place = {
        .verdict = TXD_VERDICT_FAIL, .site = "layers.1.attn.masked", .layer = 1};
    txd_result results[3] = {
        {.check = "mask_fill", .verdict = TXD_VERDICT_FAIL},
        {.check = "finite", .verdict = TXD_VERDICT_FAIL},
        {.check = "row_sum", .verdict = TXD_VERDICT_OPEN, .note = "see `finite`"}};
    txd_text text;

    for (size_t i = 0; i < 2; i++) {
        results[i].findings = &place;
        results[i].finding_count = results[i].finding_total = 1;
    }
    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 2, NULL);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "; begin with mask_fill: "));
    txd_text_finish(&text);
    txd_report_text(&text, NULL, results, 3, NULL);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "; begin with finite: "));
    txd_text_finish(&text);
}
END_TEST

START_TEST(neither_what_is_waived_nor_a_later_step_is_where_to_begin)
{
    txd_finding places[3] = {
        {.verdict = TXD_VERDICT_INFO, .site = "embed.out", .layer = -1},
        {.verdict = TXD_VERDICT_FAIL, .site = "layers.1.attn.masked", .layer = 1},
        {.verdict = TXD_VERDICT_FAIL, .site = "layers.0.attn.masked", .step = 1}};
    txd_result results[3] = {{.check = "embedding_sum", .verdict = TXD_VERDICT_INFO},
                             {.check = "mask_fill", .verdict = TXD_VERDICT_FAIL},
                             {.check = "finite", .verdict = TXD_VERDICT_FAIL}};
    txd_text text;

    for (size_t i = 0; i < 3; i++) {
        results[i].findings = &places[i];
        results[i].finding_count = results[i].finding_total = 1;
    }
    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 3, NULL);
    ck_assert_ptr_nonnull(
        strstr(txd_text_get(&text), "; begin with mask_fill: layers.1.attn.masked\n"));
    txd_text_finish(&text);
}
END_TEST

TEST_MAIN(laws_that_are_open_for_one_reason_share_a_line_unless_it_is_verbose,
          the_summary_says_where_to_begin_by_the_order_of_execution,
          one_broken_law_needs_no_word_of_where_to_begin,
          gradients_are_formed_from_the_end_and_behind_all_values,
          laws_that_judge_a_pass_come_before_experiments,
          at_one_site_finite_is_first_only_where_it_leaves_laws_open,
          neither_what_is_waived_nor_a_later_step_is_where_to_begin)
