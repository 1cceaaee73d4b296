/* SPDX-License-Identifier: MIT
 *
 * What is added to the scores of an attention for the distance of query and key.
 */
#ifndef TXD_MODEL_BIAS_H
#define TXD_MODEL_BIAS_H

#include "model/points.h"

#ifdef __cplusplus
extern "C" {
#endif

/* True if something is. */
bool txd_has_bias(const txd_config *config, txd_attention_kind kind);

/* ALiBi: -slope times the distance. Of `heads` heads, a power of two, the slopes are
 * 2^(-8/heads), its square and so on; otherwise those of the power of two below, and
 * for the rest every other one of the power above (Press et al. 2021). */
double txd_alibi_slope(size_t head, size_t heads);

/* Fields that are 0 get what 0 stands for. */
void txd_relative_resolve(txd_config *config);

/* The bucket of a distance (key - query) in a stack, which looks both ways unless its
 * first layer is causal: near distances have one each, farther ones share by their
 * logarithm, and from relative_distance on all are one (Raffel et al. 2020). */
int32_t txd_relative_bucket(const txd_config *config, int64_t distance);

#ifdef __cplusplus
}
#endif

#endif
