/* SPDX-License-Identifier: MIT
 *
 * The laws in words, made from their descriptors: for `explain`, and as docs/laws.md.
 */
#ifndef TXD_CLI_LAWS_H
#define TXD_CLI_LAWS_H

#include "checks/check.h"

/* "`attn.scores`, `attn.masked`": what it reads, of each of its alternatives. `quote`
 * stands before and behind each name. */
void txd_laws_needs(txd_text *out, const txd_check *law, const char *quote);

/* "a recording, or a live pass": on what it can be judged. */
const char *txd_laws_kind(const txd_check *law);

/* "a derived bound", or its thresholds: where what it allows comes from. */
void txd_laws_allowance(txd_text *out, const txd_check *law, const char *quote);

/* Appends the page. */
void txd_laws_add(txd_text *out);

#endif
