/* SPDX-License-Identifier: MIT
 *
 * A text on the command line.
 */
#ifndef TXD_CLI_TEXT_OPERAND_H
#define TXD_CLI_TEXT_OPERAND_H

#include "txd.h"

/* Appends the operand itself; what @FILE holds; or, for -, standard input. */
txd_status txd_text_operand(txd_text *out, const char *operand);

#endif
