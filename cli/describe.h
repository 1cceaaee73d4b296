/* SPDX-License-Identifier: MIT
 *
 * Sentences about points and faults that `list` and `explain` share.
 */
#ifndef TXD_CLI_DESCRIBE_H
#define TXD_CLI_DESCRIBE_H

#include "txd.h"

/* "attention weights ...; (b, h, q, k) in every layer" into `text`; returns it. */
char *txd_describe_point(char *text, size_t bytes, txd_point point);

/* "what goes wrong [layers, heads]" into `text`; returns it. */
char *txd_describe_fault(char *text, size_t bytes, const txd_fault *fault);

/* "layers, heads": the selectors that a fault takes; "none". Returns `text`. */
char *txd_describe_selectors(char *text, size_t bytes, const txd_fault *fault);

/* "batch row": what a letter of a point's axes stands for. */
const char *txd_describe_axis(txd_point point, char letter);

#endif
