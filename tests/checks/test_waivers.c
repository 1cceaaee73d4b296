/* SPDX-License-Identifier: MIT
 *
 * Waivers: what they cover, until when, and what they cannot answer for.
 */
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/reports/waiver.h"

static txd_arena *arena;

/* A rules file, read as of a day; its status. */
static txd_status waivers_of(txd_waivers *out, const char *rules, const char *today)
{
    static const txd_key *const tables[] = {txd_waivers_keys, NULL};
    txd_setting *root;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(txd_cfg_parse(&root, arena, "rules.cfg", rules) == TXD_OK, "%s",
                  txd_message());
    TXD_TRY(txd_settings_validate(root, tables));
    return txd_waivers_read(out, root, today, arena);
}

static txd_finding finding_at(const char *site, txd_verdict verdict)
{
    txd_finding finding = {.verdict = verdict, .message = "what was found"};

    snprintf(finding.site, sizeof finding.site, "%s", site);
    return finding;
}

/* causality with two findings, and a finding of another law at the first's site. */
static size_t results_of(txd_result *results, txd_finding *findings)
{
    findings[0] = finding_at("layers.1.attn.weights", TXD_VERDICT_FAIL);
    findings[1] = finding_at("layers.2.attn.weights", TXD_VERDICT_WARN);
    findings[2] = findings[0];
    results[0] = (txd_result){.check = "causality",
                              .verdict = TXD_VERDICT_FAIL,
                              .findings = findings,
                              .finding_count = 2,
                              .finding_total = 9};
    results[1] = (txd_result){.check = "padding",
                              .verdict = TXD_VERDICT_FAIL,
                              .findings = findings + 2,
                              .finding_count = 1,
                              .finding_total = 1};
    return 2;
}

static const txd_result *waived(txd_waivers *waivers, const char *rules)
{
    static txd_result own[2];
    static txd_finding findings[3];
    const txd_result *results = own;
    size_t count = results_of(own, findings);

    ck_assert_msg(waivers_of(waivers, rules, "2026-12-01") == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_waivers_apply(&results, count, waivers, arena), TXD_OK);
    ck_assert_int_eq(findings[0].verdict, TXD_VERDICT_FAIL); /* not in place */
    ck_assert_int_eq(own[0].verdict, TXD_VERDICT_FAIL);
    return results;
}

#define ONE(law, site, expires)                                                        \
    "waivers : ( { law = \"" law "\"; site = \"" site                                  \
    "\"; reason = \"known\"; expires = \"" expires "\"; } );"

START_TEST(a_waiver_covers_its_law_at_its_sites_and_nothing_else)
{
    txd_waivers waivers;
    const txd_result *results =
        waived(&waivers, ONE("causality", "layers.1.*", "2026-12-01"));

    ck_assert_int_eq(results[0].findings[0].verdict, TXD_VERDICT_INFO);
    ck_assert_str_eq(results[0].findings[0].waived,
                     "waived until 2026-12-01: known (rules.cfg:1)");
    ck_assert_int_eq(results[0].findings[0].bare, TXD_VERDICT_FAIL);
    ck_assert_int_eq(results[0].findings[1].verdict, TXD_VERDICT_WARN);
    ck_assert_ptr_null(results[0].findings[1].waived);
    ck_assert_int_eq(results[0].verdict, TXD_VERDICT_WARN);
    ck_assert_int_eq(results[1].verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_null(results[1].findings[0].waived);
    ck_assert_uint_eq(waivers.items[0].covered, 1);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(without_a_site_it_covers_all_of_its_law)
{
    txd_waivers waivers;
    const txd_result *results =
        waived(&waivers, "waivers : ( { law = \"causality\"; reason = \"known\"; "
                         "expires = \"9999-12-31\"; } );");

    ck_assert_int_eq(results[0].verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(waivers.items[0].covered, 2);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(the_day_after_it_expires_a_waiver_fails_even_a_warning)
{
    txd_waivers waivers;
    const txd_result *results =
        waived(&waivers, ONE("causality", "layers.2.*", "2026-11-30"));

    ck_assert_int_eq(results[0].findings[1].verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(results[0].findings[1].bare, TXD_VERDICT_WARN);
    ck_assert_str_eq(results[0].findings[1].waived,
                     "its waiver expired on 2026-11-30: known (rules.cfg:1)");
    ck_assert_int_eq(results[0].verdict, TXD_VERDICT_FAIL);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(one_that_holds_counts_before_one_that_has_expired)
{
    txd_waivers waivers;
    const txd_result *results = waived(
        &waivers, "waivers : ( { law = \"causality\"; reason = \"old\"; expires = "
                  "\"2001-01-01\"; }, { law = \"causality\"; reason = \"new\"; "
                  "expires = \"9999-12-31\"; } );");

    ck_assert_int_eq(results[0].verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(waivers.items[0].covered, 0);
    ck_assert_uint_eq(waivers.items[1].covered, 2);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(what_matches_nothing_is_told_from_what_was_not_judged)
{
    txd_waivers waivers;

    waived(&waivers, ONE("causality", "layers.7.*", "9999-12-31"));
    ck_assert_uint_eq(waivers.items[0].covered, 0);
    ck_assert(waivers.items[0].is_judged);
    txd_arena_destroy(arena);
    waived(&waivers, ONE("finite", "*", "9999-12-31"));
    ck_assert(!waivers.items[0].is_judged);
    txd_arena_destroy(arena);
}
END_TEST

/* A law keeps 64 findings: of the others nobody knows the site. */
static txd_verdict verdict_of_many(const char *rules)
{
    txd_result own = {.check = "causality"};
    const txd_result *results = &own;
    txd_waivers waivers;
    txd_verdict verdict;

    for (int layer = 0; layer < 65; layer++) {
        txd_finding finding = finding_at("layers.1.attn.weights", TXD_VERDICT_FAIL);

        ck_assert_int_eq(txd_result_add(&own, &finding), TXD_OK);
    }
    ck_assert_int_eq(waivers_of(&waivers, rules, "2026-12-01"), TXD_OK);
    ck_assert_int_eq(txd_waivers_apply(&results, 1, &waivers, arena), TXD_OK);
    verdict = results[0].verdict;
    txd_arena_destroy(arena);
    free(own.findings);
    return verdict;
}

START_TEST(a_waiver_of_some_sites_cannot_answer_for_findings_that_were_not_kept)
{
    ck_assert_int_eq(verdict_of_many(ONE("causality", "layers.*", "9999-12-31")),
                     TXD_VERDICT_FAIL);
    ck_assert_int_eq(verdict_of_many(ONE("causality", "*", "9999-12-31")),
                     TXD_VERDICT_INFO);
}
END_TEST

START_TEST(open_and_skipped_laws_are_never_waived)
{
    static const txd_verdict verdicts[] = {TXD_VERDICT_OPEN, TXD_VERDICT_SKIP};
    txd_finding finding = finding_at("logits", TXD_VERDICT_FAIL);
    txd_waivers waivers;

    ck_assert_int_eq(
        waivers_of(&waivers, ONE("causality", "*", "9999-12-31"), "2026-12-01"),
        TXD_OK);
    for (size_t i = 0; i < 2; i++) {
        txd_result own = {.check = "causality",
                          .verdict = verdicts[i],
                          .findings = &finding,
                          .finding_count = 1,
                          .finding_total = 1};
        const txd_result *results = &own;

        ck_assert_int_eq(txd_waivers_apply(&results, 1, &waivers, arena), TXD_OK);
        ck_assert_int_eq(results[0].verdict, verdicts[i]);
    }
    txd_arena_destroy(arena);
}
END_TEST

static void expect_refused(const char *rules, const char *part)
{
    txd_waivers waivers;

    if (waivers_of(&waivers, rules, "2026-12-01") == TXD_OK)
        ck_abort_msg("accepted: %s", rules);
    if (!strstr(txd_message(), part))
        ck_abort_msg("%s: %s", rules, txd_message());
    txd_arena_destroy(arena);
}

START_TEST(a_waiver_that_is_not_whole_is_refused_by_file_and_line)
{
    expect_refused(ONE("causalty", "*", "2026-12-31"), "nearest: causality");
    expect_refused(ONE("*", "*", "2026-12-31"), "one law");
    expect_refused("waivers : (\n{ law = \"padding\"; expires = \"2026-12-31\"; } );",
                   "rules.cfg:2: waivers.0: a waiver gives its `reason`");
    expect_refused("waivers : ( { law = \"padding\"; reason = \" \"; expires = "
                   "\"2026-12-31\"; } );",
                   "`reason`");
    expect_refused("waivers : ( { law = \"padding\"; reason = \"known\"; } );",
                   "`expires`");
    expect_refused("waivers : ( { law = \"padding\"; until = \"known\"; } );", "until");
}
END_TEST

START_TEST(only_days_of_the_calendar_are_days)
{
    static const char *const wrong[] = {"2026-02-29", "2100-02-29", "2026-13-01",
                                        "2026-00-10", "2026-04-31", "2026-01-00",
                                        "2026-1-1",   "31.12.2026", "2026-12-31 ",
                                        "2026/12/31", "0000-01-01"};
    static const char *const right[] = {"2028-02-29", "2000-02-29", "9999-12-31"};
    txd_waivers waivers;
    char rules[256];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(rules, sizeof rules,
                 "waivers : ( { law = \"padding\"; reason = \"known\"; expires = "
                 "\"%s\"; } );",
                 wrong[i]);
        expect_refused(rules, "expected a day");
    }
    for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
        snprintf(rules, sizeof rules,
                 "waivers : ( { law = \"padding\"; reason = \"known\"; expires = "
                 "\"%s\"; } );",
                 right[i]);
        ck_assert_int_eq(waivers_of(&waivers, rules, "1999-01-01"), TXD_OK);
        txd_arena_destroy(arena);
    }
}
END_TEST

TEST_MAIN(a_waiver_covers_its_law_at_its_sites_and_nothing_else,
          without_a_site_it_covers_all_of_its_law,
          the_day_after_it_expires_a_waiver_fails_even_a_warning,
          one_that_holds_counts_before_one_that_has_expired,
          what_matches_nothing_is_told_from_what_was_not_judged,
          a_waiver_of_some_sites_cannot_answer_for_findings_that_were_not_kept,
          open_and_skipped_laws_are_never_waived,
          a_waiver_that_is_not_whole_is_refused_by_file_and_line,
          only_days_of_the_calendar_are_days)
