/* SPDX-License-Identifier: MIT
 *
 * What a run will need, compared with what the machine has: Linux promises more than
 * it has, and ends the program, or another one, when the promise is called in.
 */
#ifndef TXD_CLI_MEMORY_H
#define TXD_CLI_MEMORY_H

#include "txd.h"

/* ERR_MEMORY if `bytes` for `what` ("the parameters") are more than the machine has;
 * `remedy` says what to make smaller. */
txd_status txd_memory_allows(double bytes, const char *what, const char *remedy);

/* Bytes that a pass beside a bound model may take. */
double txd_memory_beside(void);

#endif
