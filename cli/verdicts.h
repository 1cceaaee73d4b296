/* SPDX-License-Identifier: MIT
 *
 * What verdicts do not say themselves: a planted fault that no law noticed, and laws
 * that a run judged but its recording cannot answer.
 */
#ifndef TXD_CLI_VERDICTS_H
#define TXD_CLI_VERDICTS_H

#include "checks/check.h"
#include "cli/session.h"

/* On stderr, of every planted fault of which each law that names it, and was selected,
 * passed or was skipped: exit 0 would look as if the fault were not there. Nothing is
 * said of a single fault if any law fails. */
void txd_verdicts_say_unnoticed(const txd_session *session, const txd_result *results,
                                size_t count);

/* True if a law says that it must notice a fault. */
bool txd_verdicts_name_fault(const char *law, const char *fault);

/* True if a law that names the fault gave another verdict than pass, info or skip. */
bool txd_verdicts_notice(const char *fault, const txd_result *results, size_t count);

/* A line on laws that could not be judged from what is recorded, and what would; adds
 * nothing if there are none. `path` is the recording's. */
void txd_verdicts_add_lacking(txd_text *out, const txd_trace *recording,
                              const char *path, const txd_result *results,
                              size_t count);

#endif
