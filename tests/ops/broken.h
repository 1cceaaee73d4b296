/* SPDX-License-Identifier: MIT
 *
 * A table that is wrong in every entry: each calls ref32 and then does one small wrong
 * thing to what came out.
 */
#ifndef TXD_TESTS_BROKEN_H
#define TXD_TESTS_BROKEN_H

#include "ops/ops.h"

extern const struct txd_ops broken_ops;

/* Which result of a backward entry is harmed, and how many each has. */
extern size_t broken_result;
size_t broken_results(txd_op op);

#endif
