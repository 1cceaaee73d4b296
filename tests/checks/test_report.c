/* SPDX-License-Identifier: MIT
 *
 * The reports: text that people read, JSON that reads back, tables in a recording.
 */
#include "suite.h"

#include <math.h>
#include <string.h>

#include "checks/check.h"

static const txd_finding leak = {.verdict = TXD_VERDICT_FAIL,
                                 .site = "layers.2.attn.weights",
                                 .step = 0,
                                 .layer = 2,
                                 .batch = 0,
                                 .head = 5,
                                 .query = 6,
                                 .key = 7,
                                 .measured = 0.031,
                                 .allowed = 0,
                                 .message = "head 5: query 6 sees key 7"};

static const txd_finding nan_finding = {.verdict = TXD_VERDICT_FAIL,
                                        .site = "logits",
                                        .step = 3,
                                        .layer = -1,
                                        .batch = -1,
                                        .head = -1,
                                        .query = -1,
                                        .key = -1,
                                        .measured = NAN,
                                        .allowed = INFINITY,
                                        .message = "a \"quoted\" word\n"};

static txd_finding findings[2];

static size_t make(txd_result *results)
{
    findings[0] = leak;
    findings[1] = nan_finding;
    results[0] = (txd_result){.check = "row_sum",
                              .verdict = TXD_VERDICT_PASS,
                              .worst = 2.1e-7,
                              .allowed = 1e-6,
                              .evaluated = 8640};
    results[1] = (txd_result){.check = "causality",
                              .verdict = TXD_VERDICT_FAIL,
                              .findings = findings,
                              .finding_count = 2,
                              .finding_total = 40,
                              .worst = NAN,
                              .evaluated = 1,
                              .not_computed = 12,
                              .look_next = "attn.masked"};
    results[2] = (txd_result){.check = "padding",
                              .verdict = TXD_VERDICT_SKIP,
                              .note = "no padding in the input"};
    return 3;
}

START_TEST(the_text_has_a_line_per_law_its_findings_and_a_summary)
{
    txd_result results[3];
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, "run.h5", results, make(results), NULL);
    ck_assert_str_eq(
        txd_text_get(&text),
        "run.h5\n"
        "PASS row_sum        (8640 rows; worst 2.1e-07, allowed 1e-06)\n"
        "SKIP padding        no padding in the input\n"
        "FAIL causality      (1 cell; worst NaN, allowed 0; 12 more were not computed "
        "by this path)\n"
        "     causality: layers.2.attn.weights: head 5: query 6 sees key 7\n"
        "     causality: logits, step 3: a \"quoted\" word\n\n"
        "     40 places in all; the worst of each layer is listed\n"
        "     look next: attn.masked\n"
        "3 laws: 1 passed, 1 failed, 1 skipped\n");
    txd_text_finish(&text);
}
END_TEST

START_TEST(what_is_broken_stands_last_next_to_the_summary)
{
    static const txd_verdict verdicts[] = {TXD_VERDICT_FAIL, TXD_VERDICT_OPEN,
                                           TXD_VERDICT_PASS, TXD_VERDICT_WARN,
                                           TXD_VERDICT_INFO, TXD_VERDICT_SKIP};
    txd_result results[6];
    const char *at;
    txd_text text;

    for (size_t i = 0; i < 6; i++)
        results[i] = (txd_result){.check = "padding", .verdict = verdicts[i]};
    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 6, NULL);
    at = txd_text_get(&text);
    for (size_t i = 0; i < 6; i++) {
        static const char *const order[] = {"PASS", "SKIP", "INFO",
                                            "OPEN", "WARN", "FAIL"};

        ck_assert_msg(strncmp(at, order[i], 4) == 0, "%s", txd_text_get(&text));
        at = strchr(at, '\n') + 1;
    }
    ck_assert_str_eq(at, "6 laws: 1 passed, 1 failed, 1 warned, 1 for information, 1 "
                         "open, 1 skipped\n");
    txd_text_finish(&text);
}
END_TEST

START_TEST(a_threshold_is_named_and_a_bound_where_it_was_broken)
{
    txd_result results[] = {
        {.check = "row_sum", .allowed = 1e-6, .allowance = "checks.row_sum.atol"},
        {.check = "score_scale", .allowed = 1e-6, .allowance = "a derived bound"},
        {.check = "causality", .verdict = TXD_VERDICT_FAIL, .allowance = "exact"},
        {.check = "norm_output",
         .verdict = TXD_VERDICT_FAIL,
         .allowed = 1e-6,
         .allowance = "a derived bound",
         .note = "a note"},
    };
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 4, NULL);
    ck_assert_str_eq(
        txd_text_get(&text),
        "PASS row_sum        (0 rows; worst 0, allowed 1e-06) by checks.row_sum.atol\n"
        "PASS score_scale    (0 cells; worst 0, allowed 1e-06)\n"
        "FAIL causality      (0 cells; worst 0, allowed 0)\n"
        "FAIL norm_output    (0 tokens; worst 0, allowed 1e-06) by a derived bound; a "
        "note\n"
        "4 laws: 2 passed, 2 failed\n");
    txd_text_finish(&text);
}
END_TEST

START_TEST(a_brief_report_only_counts_what_held_and_what_was_skipped)
{
    txd_result results[3];
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, "run.h5", results, make(results),
                    &(txd_report_style){.brief = true});
    ck_assert_ptr_null(strstr(txd_text_get(&text), "PASS"));
    ck_assert_ptr_null(strstr(txd_text_get(&text), "SKIP"));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "FAIL causality"));
    ck_assert_ptr_nonnull(
        strstr(txd_text_get(&text), "3 laws: 1 passed, 1 failed, 1 skipped\n"));
    txd_text_finish(&text);
    txd_report_text(&text, "run.h5", results, 3,
                    &(txd_report_style){.brief = true, .verbose = true});
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "PASS row_sum"));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "SKIP padding"));
    txd_text_finish(&text);
    txd_report_text(&text, "run.h5", results + 2, 1, /* nothing else is to be said */
                    &(txd_report_style){.brief = true});
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "SKIP padding"));
    txd_text_finish(&text);
}
END_TEST

START_TEST(a_report_of_skips_alone_says_that_nothing_was_evaluated)
{
    txd_result results[3];
    txd_text text;

    make(results);
    txd_text_init(&text);
    txd_report_text(&text, "run.h5", results + 2, 1, NULL);
    ck_assert_ptr_nonnull(
        strstr(txd_text_get(&text), "1 law: 1 skipped; nothing was evaluated\n"));
    txd_text_finish(&text);
}
END_TEST

START_TEST(laws_that_are_skipped_for_one_reason_share_a_line_unless_it_is_verbose)
{
    const txd_report_style verbose = {.verbose = true};
    txd_result results[4] = {
        {.check = "row_sum", .verdict = TXD_VERDICT_SKIP, .note = "one"},
        {.check = "causality", .verdict = TXD_VERDICT_SKIP, .note = "another"},
        {.check = "padding", .verdict = TXD_VERDICT_SKIP, .note = "one"},
        {.check = "finite", .verdict = TXD_VERDICT_SKIP, .note = "one"},
    };
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 4, NULL);
    ck_assert_str_eq(txd_text_get(&text),
                     "SKIP row_sum        one; so too: padding, finite\n"
                     "SKIP causality      another\n"
                     "4 laws: 4 skipped; nothing was evaluated\n");
    txd_text_finish(&text);
    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 4, &verbose);
    ck_assert_str_eq(txd_text_get(&text), "SKIP row_sum        one\n"
                                          "SKIP causality      another\n"
                                          "SKIP padding        one\n"
                                          "SKIP finite         one\n"
                                          "4 laws: 4 skipped; nothing was evaluated\n");
    txd_text_finish(&text);
}
END_TEST

/* A law may judge two things: the line of the law tells the worst of one of them. */
START_TEST(numbers_of_a_finding_are_told_where_those_of_the_law_are_others)
{
    txd_finding finding = {.measured = 16, .allowed = 10};
    txd_result result = {.check = "row_sum",
                         .verdict = TXD_VERDICT_FAIL,
                         .evaluated = 1,
                         .worst = 1,
                         .allowed = 2,
                         .findings = &finding,
                         .finding_count = 1,
                         .finding_total = 1};
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, NULL, &result, 1, NULL);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "measured 16, allowed 10\n"));
    txd_text_finish(&text);
    result.worst = 16;
    txd_report_text(&text, NULL, &result, 1, NULL);
    ck_assert_ptr_null(strstr(txd_text_get(&text), "measured"));
    txd_text_finish(&text);
}
END_TEST

START_TEST(what_is_not_finite_is_where_to_begin)
{
    txd_result results[3] = {
        {.check = "row_sum", .verdict = TXD_VERDICT_FAIL},
        {.check = "finite", .verdict = TXD_VERDICT_FAIL},
        {.check = "norm_output", .verdict = TXD_VERDICT_OPEN, .note = "not finite"},
    };
    txd_text text;

    txd_text_init(&text);
    txd_report_text(&text, NULL, results, 3, NULL);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "OPEN norm_output"));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text),
                                 "3 laws: 2 failed, 1 open; begin with finite: the "
                                 "others may follow from it\n"));
    txd_text_finish(&text);
    txd_report_text(&text, NULL, results, 2, NULL); /* no NaN came of it */
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "2 laws: 2 failed\n"));
    txd_text_finish(&text);
    txd_report_text(&text, NULL, results, 0, NULL);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "no law is left"));
    txd_text_finish(&text);
}
END_TEST

static const txd_setting *read_back(txd_arena *arena, const txd_text *text)
{
    txd_setting *root = NULL;

    ck_assert_msg(txd_json_parse(&root, arena, "report", txd_text_get(text),
                                 text->length) == TXD_OK,
                  "%s", txd_message());
    return root;
}

static const char *string_at(const txd_setting *root, const char *path)
{
    const txd_setting *setting = txd_setting_find(root, path);

    ck_assert_msg(setting != NULL, "no %s", path);
    return setting->kind == TXD_SETTING_NULL ? "null" : setting->string;
}

static double number_at(const txd_setting *root, const char *path)
{
    const txd_setting *setting = txd_setting_find(root, path);

    ck_assert_msg(setting != NULL, "no %s", path);
    return setting->real;
}

START_TEST(the_json_reads_back_with_everything_in_it)
{
    txd_result results[3];
    const txd_setting *root;
    txd_arena *arena;
    txd_text text;
    txd_json json;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    txd_text_init(&text);
    txd_json_init(&json, &text, 2);
    txd_report_json(&json, "run.h5", results, make(results), false);
    root = read_back(arena, &text);
    ck_assert_double_eq(number_at(root, "schema"), 1);
    ck_assert_double_eq(number_at(root, "exit"), 1);
    ck_assert_str_eq(string_at(root, "source"), "run.h5");
    ck_assert_uint_eq(txd_setting_find(root, "results")->count, 3);
    ck_assert_str_eq(string_at(root, "results.0.check"), "row_sum");
    ck_assert_str_eq(string_at(root, "results.0.verdict"), "pass");
    ck_assert_double_eq(number_at(root, "results.0.worst"), 2.1e-7);
    ck_assert_str_eq(string_at(root, "results.1.worst"), "NaN");
    ck_assert_double_eq(number_at(root, "results.1.findings"), 40);
    ck_assert_str_eq(string_at(root, "results.2.note"), "no padding in the input");
    ck_assert_uint_eq(txd_setting_find(root, "findings")->count, 2);
    ck_assert_str_eq(string_at(root, "findings.0.site"), "layers.2.attn.weights");
    ck_assert_double_eq(number_at(root, "findings.0.head"), 5);
    ck_assert_double_eq(number_at(root, "findings.0.measured"), 0.031);
    ck_assert_str_eq(string_at(root, "findings.1.head"), "null");
    ck_assert_str_eq(string_at(root, "findings.1.measured"), "NaN");
    ck_assert_str_eq(string_at(root, "findings.1.allowed"), "Infinity");
    ck_assert_str_eq(string_at(root, "findings.1.message"), "a \"quoted\" word\n");
    ck_assert_double_eq(number_at(root, "summary.fail"), 1);
    txd_text_finish(&text);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(a_recording_keeps_the_verdicts_and_the_findings)
{
    txd_result results[3];
    txd_recording *recording;
    const char *const *strings;
    txd_trace *trace;
    size_t count, at;
    int64_t heads[2];

    ck_assert_msg(txd_recording_create(&recording, test_file("r.h5"), false) == TXD_OK,
                  "%s", txd_message());
    ck_assert_msg(txd_report_record(recording, results, make(results)) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_recording_close(recording, true), TXD_OK);
    ck_assert_msg(txd_recording_open(&trace, test_file("r.h5"), NULL) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(
        txd_recording_read_strings(&strings, &count, trace, "checks/laws/verdict"),
        TXD_OK);
    ck_assert_uint_eq(count, 3);
    ck_assert_str_eq(strings[1], "fail");
    ck_assert_int_eq(
        txd_recording_read_strings(&strings, &count, trace, "checks/findings/message"),
        TXD_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_str_eq(strings[0], leak.message);
    ck_assert_int_eq(txd_trace_find(trace, &at, "checks/findings/head"), TXD_OK);
    ck_assert_int_eq(txd_trace_read_all(trace, heads, 2, at, TXD_I64), TXD_OK);
    ck_assert_int_eq(heads[0], 5);
    ck_assert_int_eq(heads[1], -1);
    txd_trace_destroy(trace);
}
END_TEST

TEST_MAIN(the_text_has_a_line_per_law_its_findings_and_a_summary,
          what_is_broken_stands_last_next_to_the_summary,
          a_threshold_is_named_and_a_bound_where_it_was_broken,
          a_brief_report_only_counts_what_held_and_what_was_skipped,
          laws_that_are_skipped_for_one_reason_share_a_line_unless_it_is_verbose,
          numbers_of_a_finding_are_told_where_those_of_the_law_are_others,
          what_is_not_finite_is_where_to_begin,
          a_report_of_skips_alone_says_that_nothing_was_evaluated,
          the_json_reads_back_with_everything_in_it,
          a_recording_keeps_the_verdicts_and_the_findings)
