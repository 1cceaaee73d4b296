/* SPDX-License-Identifier: MIT
 *
 * Scores against q.k: the cells of one head judged and regressed, and the names of
 * wrong scales. For the files of this folder only.
 */
#ifndef TXD_CHECKS_SCORE_H
#define TXD_CHECKS_SCORE_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* KV heads that are tried in place of the right one. */
#define TXD_SCORE_GROUPS 32

/* One head of one layer; all zero = nothing seen. */
typedef struct txd_score_tally {
    uint64_t judged, broken;
    double rr, sr, ss; /* sums over judged cells: r = q.k, s = score */
    double measured, allowed, score, expected; /* of the worst cell */
    double ratio;                              /* measured / allowed */
    txd_law_place at;
    /* Broken cells for which the keys of all KV heads were tried; those that each
     * explains. */
    uint32_t tried, group[TXD_SCORE_GROUPS];
    txd_status status; /* of asking for q and k */
} txd_score_tally;

/* Judges head `head` (counted in the block) of a block of attn.scores. */
void txd_score_judge(txd_score_tally *tally, const txd_block *block, size_t head);
void txd_score_join(txd_score_tally *to, const txd_score_tally *tally);

/* Worst cell: measured / allowed. */
double txd_score_ratio(const txd_score_tally *tally);

/* True if one slope through 0 explains all but a millionth of the scores. */
bool txd_score_is_line(const txd_score_tally *tally);

/* The KV head whose keys explain all that was tried; -1 if none does. */
int txd_score_source(const txd_score_tally *tally);

/* Appends ": no scale at all", ": 1/sqrt(d_model)", ... every candidate that the slope
 * fits; nothing if none does. */
void txd_score_name(txd_finding *finding, const txd_config *config, double scale,
                    double slope);

#ifdef __cplusplus
}
#endif

#endif
