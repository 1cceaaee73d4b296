/* SPDX-License-Identifier: MIT
 *
 * The verdicts on several files as one report, in one of the formats that people and
 * programs read. A format is one file: it is told when the report begins, of every
 * file that was judged, and when the report ends.
 */
#ifndef TXD_CHECKS_REPORT_H
#define TXD_CHECKS_REPORT_H

#include "checks/reports/waiver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A line of a text file; line 0 = none is known. */
typedef struct txd_source_line {
    const char *file;
    int line;
} txd_source_line;

/* One file, judged or not. */
typedef struct txd_judged {
    const char *source;        /* as it was named */
    const txd_result *results; /* NULL with an error */
    size_t count;
    const char *error;   /* why it could not be judged; NULL = it was */
    const char *remark;  /* lines for people below the verdicts; NULL = none */
    const char *warning; /* of the file as a whole, a sentence; NULL = none */
    void (*quote)(txd_text *out, void *self, const txd_finding *finding); /* or NULL */
    void *quotes;
    /* Where in a configuration a law's findings come from; NULL = no text file. */
    txd_source_line (*place)(const void *self, const char *law);
    const void *places;
} txd_judged;

typedef struct txd_format txd_format;

/* A report on the way; `text` is what there is to write, complete after its end. */
typedef struct txd_report {
    const txd_format *format;
    bool strict, verbose, to_file;
    bool brief; /* in text: txd_report_style */
    txd_text text;
    size_t files[4];                   /* by exit status: 0, 1, 2, 77 */
    size_t laws[TXD_VERDICT_OPEN + 1]; /* by verdict, over all files */
    size_t waived;                     /* findings, over all files */
    size_t warned;                     /* files with a warning as a whole */
    const txd_waivers *waivers;        /* that were applied; NULL = none */
    txd_json json;                     /* what formats keep between files */
    txd_text body;
    size_t tests, failures, errors, skipped;
} txd_report;

/* The formats by number, NULL past the end. */
const char *txd_format_name(size_t i);

/* Begins a report in the i-th format. `strict`: warnings count as failures; `to_file`:
 * the report is a file of its own. Finish once it was begun. */
void txd_report_begin(txd_report *out, size_t format, bool strict, bool verbose,
                      bool to_file);
void txd_report_add(txd_report *report, const txd_judged *judged);
void txd_report_end(txd_report *report);
void txd_report_finish(txd_report *report);

/* The exit status of all files: 1 if a law is broken in any; else 2 if one could not be
 * judged; else 77 if nothing was evaluated in one; else 0. */
int txd_report_exit(const txd_report *report);

/* "rules.cfg:7: the waiver of causality at layers.1.* matches nothing: remove it";
 * false, and nothing, of one that is in use. */
bool txd_report_unused(txd_text *out, const txd_waiver *waiver);

/* "2 files: 1 held, 1 broken; 44 laws: 41 passed, 1 failed, 2 skipped". */
void txd_report_total(txd_text *out, const txd_report *report);

#ifdef __cplusplus
}
#endif

#endif
