/* SPDX-License-Identifier: MIT
 *
 * A small recording run with many kinds of datasets, whose values are functions of
 * their place, and the proof that a file holds them: for tests that interrupt it.
 */
#ifndef TXD_TESTS_CRASH_RUN_H
#define TXD_TESTS_CRASH_RUN_H

#include "formats/recording.h"

#define CRASH_STEPS 7

/* With `wide`, one dataset more, which continues in a next one after four steps. Off
 * at the start. */
void crash_choose(bool wide);

/* Writes all steps to `path`, setting *acknowledged after every flush, then verdicts,
 * and closes. */
txd_status crash_write(const char *path, bool force, volatile int *acknowledged);

/* Opens path (or its .part) and asserts that every step up to `acknowledged` is there
 * bit for bit. With acknowledged < 0 only that reading it returns. */
void crash_verify(const char *path, int acknowledged);

#endif
