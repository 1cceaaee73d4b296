/* SPDX-License-Identifier: MIT
 *
 * Waivers: findings that somebody knows of, and answers for, until a day. They stand in
 * a rules file; none is for ever, so that none is forgotten.
 */
#ifndef TXD_CHECKS_WAIVER_H
#define TXD_CHECKS_WAIVER_H

#include "checks/check.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_waiver {
    const char *law;
    const char *site; /* globs with commas between them */
    const char *reason;
    const char *expires; /* "2027-03-31": the last day on which it holds */
    const char *words;   /* "waived until 2027-03-31: why (rules.cfg:7)" */
    const char *file;    /* where it stands */
    int line;
    bool is_expired;
    bool is_judged; /* some file was judged by its law */
    size_t covered; /* findings, of all files so far */
} txd_waiver;

typedef struct txd_waivers {
    txd_waiver *items;
    size_t count;
} txd_waivers;

/* The keys of the list `waivers` of a rules file. */
extern const txd_key txd_waivers_keys[];

/* Reads `waivers` of a validated tree (NULL = none) as of `today` ("2026-12-01").
 * Everything in `arena`. */
txd_status txd_waivers_read(txd_waivers *out, const txd_setting *root,
                            const char *today, txd_arena *arena);

/* Makes *results copies in `arena` in which findings that a waiver covers are
 * information, and those that an expired one covers are failures, both saying so; the
 * verdicts of the laws follow. Where a law found more layers than it lists, a waiver of
 * some sites cannot answer for the rest: then the verdict stays. */
txd_status txd_waivers_apply(const txd_result **results, size_t count,
                             txd_waivers *waivers, txd_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
