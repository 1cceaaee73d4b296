/* SPDX-License-Identifier: MIT
 *
 * Which faults can act in the model of a session.
 */
#ifndef TXD_CLI_POSSIBLE_FAULTS_H
#define TXD_CLI_POSSIBLE_FAULTS_H

#include "cli/session.h"

/* Tries each fault of the catalogue alone, with its own strength and everywhere, as
 * `run` does: (*reasons)[i] is NULL if the i-th can act on one of the first steps, or
 * why it cannot. What only the values of the weights tell is not known here. The
 * reasons live in the session's arena. */
txd_status txd_possible_faults(const char *const **reasons, txd_session *session);

#endif
