/* SPDX-License-Identifier: MIT
 *
 * A configuration in words: what a person wants to know of a model at a glance.
 */
#ifndef TXD_CLI_CONVENTIONS_H
#define TXD_CLI_CONVENTIONS_H

#include "cli/facts.h"

/* Adds the facts `parameters`, `sizes`, `attention`, `mask`, `positions`, `norm`,
 * `mlp`, `biases` and `head`. What differs between layers is told with the ranges of
 * layers that it holds for. */
txd_status txd_conventions_add(txd_facts *facts, const txd_config *config);

#endif
