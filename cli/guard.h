/* SPDX-License-Identifier: MIT
 *
 * HDF5 reads what it is told by a file, and a damaged one can break it or lead it in
 * circles (1.10 does both by a flipped bit). While a recording of unknown origin is
 * open, a fault of the processor is the end of the program with a message and exit
 * status 2, not a crash; so is an opening without an end.
 */
#ifndef TXD_CLI_GUARD_H
#define TXD_CLI_GUARD_H

#include "txd.h"

/* From here on a crash is blamed on `path`, and the time runs. */
void txd_guard_begin(const char *path);

/* A crash is a crash again, and time does not matter. */
void txd_guard_end(void);

/* txd_recording_open, guarded until txd_guard_end, whatever it returns; time runs
 * until it returns. */
txd_status txd_guard_open(txd_trace **out, const char *path, bool *partial);

#endif
