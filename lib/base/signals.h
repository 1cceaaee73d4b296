/* SPDX-License-Identifier: MIT
 *
 * Signals that end a program (SIGINT, SIGTERM, SIGHUP), held back while something
 * stands half-made in a folder: between txd_signals_hold and txd_signals_release they
 * wait, and then do what they would have done. Per thread.
 */
#ifndef TXD_BASE_SIGNALS_H
#define TXD_BASE_SIGNALS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_signals {
    unsigned held; /* those that this hold took, and the release gives back */
} txd_signals;

/* Holds may be nested. Each needs its release. */
void txd_signals_hold(txd_signals *out);
void txd_signals_release(const txd_signals *signals);

/* Whether one of them waits: time to tidy up. */
bool txd_signals_waiting(void);

#ifdef __cplusplus
}
#endif

#endif
