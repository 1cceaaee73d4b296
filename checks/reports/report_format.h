/* SPDX-License-Identifier: MIT
 *
 * What a format of reports is, and the words that all of them share. For the files of
 * this folder only.
 */
#ifndef TXD_CHECKS_REPORT_FORMAT_H
#define TXD_CHECKS_REPORT_FORMAT_H

#include "checks/law.h"
#include "checks/reports/report.h"

#ifdef __cplusplus
extern "C" {
#endif

struct txd_format {
    const char *name;
    void (*begin)(txd_report *report);
    void (*add)(txd_report *report, const txd_judged *judged);
    void (*end)(txd_report *report);
};

extern const txd_format txd_format_text, txd_format_json, txd_format_junit,
    txd_format_tap, txd_format_sarif;

/* The exit status of one file alone. */
int txd_report_status(const txd_judged *judged, bool strict);

/* Where to begin if more than one law fails: the finding at the earliest site in order
 * of execution, and its law in *law. Laws that judge a pass come before experiments,
 * which tell that something is wrong more than where. NULL = nowhere. */
const txd_finding *txd_report_begin_with(const char **law, const txd_result *results,
                                         size_t count);

/* "416 rows; worst 1.2e-07, allowed 1e-06". */
void txd_report_measure(txd_text *out, const txd_result *result);

/* " by checks.row_sum.atol"; nothing where 0 is allowed. */
void txd_report_allowance(txd_text *out, const txd_result *result);

/* "layers.2.attn.weights, step 3: head 5: query 6 sees key 7". */
void txd_report_finding(txd_text *out, const txd_finding *finding, bool verbose);

/* What the tokens of a finding stand for, behind `before`; or nothing. */
void txd_report_quote(txd_text *out, const txd_judged *judged,
                      const txd_finding *finding, const char *before);

/* What all findings say, a line each, and where to look next. */
void txd_report_details(txd_text *out, const txd_judged *judged,
                        const txd_result *result, bool verbose);

/* "41 passed, 1 failed, 2 skipped", of counts by verdict. */
void txd_report_counts(txd_text *out, const size_t *seen);

/* How many findings are waived. */
size_t txd_report_waived(const txd_result *results, size_t count);

/* What waives a law that would make the exit status 1 else; NULL if nothing does. */
const char *txd_report_waiver(const txd_report *report, const txd_result *result);

/* True if a result makes the exit status 1. */
bool txd_report_is_broken(const txd_report *report, const txd_result *result);

#ifdef __cplusplus
}
#endif

#endif
