/* SPDX-License-Identifier: MIT
 *
 * How fast the pairs of lanes of a layer turn with the position.
 */
#ifndef TXD_MODEL_ROPE_H
#define TXD_MODEL_ROPE_H

#include "model/config.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Fields of a layer that are 0 get what 0 stands for. */
void txd_rope_resolve(txd_layer_config *layer);

/* False if position / rope_base^(2i/rope_width) is all there is to it. */
bool txd_rope_is_scaled(const txd_layer_config *layer);

/* out (rope_width / 2): radians per position of each pair, by the layer's scaling. */
void txd_rope_speeds(double *out, const txd_layer_config *layer);

#ifdef __cplusplus
}
#endif

#endif
