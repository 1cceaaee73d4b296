/* SPDX-License-Identifier: MIT
 *
 * Which faults can act in the model of a session.
 */
#ifndef TXD_CLI_POSSIBLE_FAULTS_H
#define TXD_CLI_POSSIBLE_FAULTS_H

#include "cli/session.h"

/* Whether a fault can act on one of the first steps. */
typedef struct txd_possible_fault {
    const char *reason;  /* why it cannot, in the session's arena; NULL = it can */
    bool by_experiments; /* only in passes that `check` and `run --experiments` make */
} txd_possible_fault;

/* Tries each fault of the catalogue alone, with its own strength and everywhere, as
 * `check` does: (*out)[i] is of the i-th. What only the values of the weights tell is
 * not known here. The list lives in the session's arena. */
txd_status txd_possible_faults(const txd_possible_fault **out, txd_session *session);

#endif
