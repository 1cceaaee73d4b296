/* SPDX-License-Identifier: MIT
 *
 * The progress bar of a long run: on stderr, only if that is a terminal, only after
 * half a second.
 */
#ifndef TXD_CLI_PROGRESS_H
#define TXD_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef struct txd_progress {
    bool on, drawn;
    const char *of; /* "step" */
    size_t steps;
    double begun, last; /* seconds */
} txd_progress;

/* `wanted` is false for --quiet. */
void txd_progress_begin(txd_progress *progress, size_t steps, bool wanted);

/* The callback of txd_run_options (`self` is the txd_progress): draws now and then;
 * non-zero once two interrupts ask to stop in the middle of a step. */
int txd_progress_show(void *self, int step, size_t done, size_t total);

/* Removes the bar. */
void txd_progress_end(txd_progress *progress);

#endif
