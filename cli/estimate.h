/* SPDX-License-Identifier: MIT
 *
 * What a run would record and cost: `run --dry-run`.
 */
#ifndef TXD_CLI_ESTIMATE_H
#define TXD_CLI_ESTIMATE_H

#include "cli/session.h"

/* Prints points, shapes, bytes on disk and peak memory of a bound session. Returns an
 * exit status. */
int txd_estimate_print(txd_session *session, const txd_options *options);

#endif
