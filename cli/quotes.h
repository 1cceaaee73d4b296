/* SPDX-License-Identifier: MIT
 *
 * What the tokens of findings stand for, on the terminal: query 5 " once", key 6 "
 * upon".
 */
#ifndef TXD_CLI_QUOTES_H
#define TXD_CLI_QUOTES_H

#include "checks/check.h"
#include "formats/input_source.h"

/* One of the first two, not owned. Starts as zeros otherwise. */
typedef struct txd_quotes {
    const txd_trace *recording;
    const txd_input_source *source;
    txd_arena *arena; /* of a step of the source */
    txd_inputs inputs;
    size_t step;
} txd_quotes;

/* For a txd_report_style; `self` is a txd_quotes. Appends nothing where pieces are not
 * known. */
void txd_quotes_add(txd_text *out, void *self, const txd_finding *finding);
void txd_quotes_finish(txd_quotes *quotes);

#endif
