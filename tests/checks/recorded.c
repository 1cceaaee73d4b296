/* SPDX-License-Identifier: MIT
 *
 * Recordings, judged.
 */
#include "recorded.h"

#include <stdio.h>
#include <string.h>

static const char *told_by(const txd_result *r)
{
    return r->finding_count > 0 ? r->findings[0].message : r->note;
}

txd_verdict recorded_verdict(const live *l, const char *law, char *text, size_t bytes)
{
    const txd_check_select select = {.only = law, .threads = 1};
    const txd_result *results;
    txd_verdict verdict;
    txd_checks *checks;
    txd_trace *trace;
    size_t count;

    OK(txd_recording_open(&trace, l->record, NULL));
    OK(txd_checks_recording(&checks, trace, NULL, &select));
    OK(txd_checks_finish(&results, &count, checks));
    ck_assert_uint_eq(count, 1);
    verdict = results->verdict;
    snprintf(text, bytes, "%s", told_by(results));
    txd_checks_destroy(checks);
    txd_trace_destroy(trace);
    return verdict;
}

void recorded_expect(const char *cfg, const char *law, txd_verdict verdict,
                     const char *words)
{
    const txd_result *run;
    char text[1024];
    txd_verdict replayed;
    live l;

    live_record(&l, cfg, test_file("r.h5"));
    ck_assert_msg(!l.inapplicable, "%s", l.inapplicable);
    run = live_result(&l, law);
    replayed = recorded_verdict(&l, law, text, sizeof text);
    ck_assert_msg(run->verdict == verdict, "run: %s: %s %s\n%s", law,
                  txd_verdict_name(run->verdict), told_by(run), cfg);
    ck_assert_msg(replayed == verdict, "recording: %s: %s %s\n%s", law,
                  txd_verdict_name(replayed), text, cfg);
    ck_assert_msg(!words || strstr(told_by(run), words), "%s", told_by(run));
    ck_assert_msg(!words || strstr(text, words), "%s", text);
    live_finish(&l);
}
