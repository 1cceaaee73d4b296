/* SPDX-License-Identifier: MIT
 *
 * HDF5 reads what it is told by a file, and a damaged one can break it (1.10 does by a
 * flipped bit). While a recording of unknown origin is open, a fault of the processor
 * is the end of the program with a message and exit status 2, not a crash.
 */
#ifndef TXD_CLI_GUARD_H
#define TXD_CLI_GUARD_H

/* From here on a crash is blamed on `path`, which must stay. */
void txd_guard_begin(const char *path);

/* A crash is a crash again. */
void txd_guard_end(void);

#endif
