/* SPDX-License-Identifier: MIT
 *
 * A session's recorder: what its probes write, and what else a recording says.
 */
#ifndef TXD_CLI_RECORD_H
#define TXD_CLI_RECORD_H

#include "cli/session.h"

/* Thins what is recorded to recording.max_bytes, and says so on stderr. */
txd_status txd_session_fit(txd_session *session, const txd_options *options);

/* Creates PATH.part for a bound session, with all that is known before the first step.
 * The caller owns *out, also after a failure (NULL if there is none then). */
txd_status txd_session_recorder(txd_recorder **out, const txd_session *session,
                                const txd_options *options, const char *path);

#endif
