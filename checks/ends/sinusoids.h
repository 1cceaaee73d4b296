/* SPDX-License-Identifier: MIT
 *
 * Sinusoidal positions by their formula, and by formulas that stand in its place. For
 * the files of this folder only.
 */
#ifndef TXD_CHECKS_SINUSOIDS_H
#define TXD_CHECKS_SINUSOIDS_H

#include "checks/kept.h"

#ifdef __cplusplus
extern "C" {
#endif

/* sin (even lanes) or cos (odd ones) of position / 10000^(times 2i / width). */
double txd_sinusoid(int32_t position, size_t lane, size_t width, double times);

/* What all rows are instead, within `allowed`; "" if that is not known. */
const char *txd_sinusoids_instead(const txd_kept *kept, const txd_kept_tokens *tokens,
                                  const txd_inputs *inputs, double allowed);

#ifdef __cplusplus
}
#endif

#endif
