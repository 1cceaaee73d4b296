/* SPDX-License-Identifier: MIT
 *
 * Operations of a device on arguments in the host's memory: what lets one trial test
 * both kinds of backends.
 */
#ifndef TXD_TESTS_CARRIED_H
#define TXD_TESTS_CARRIED_H

#include "ops/ops.h"

/* A table that puts the values of its arguments into memory of `device` (each operand
 * in an allocation of its own, as long as it is), calls the entry of `ops` and brings
 * all back, the cells between the rows of tiles included. The test fails where an entry
 * does, or writes to what it should only read. There are two such tables, which are
 * given in turns: not for several threads, whereas the entries are. */
const struct txd_ops *carried_ops(const txd_backend *device, const struct txd_ops *ops);

#endif
