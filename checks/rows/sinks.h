/* SPDX-License-Identifier: MIT
 *
 * The sinks of a model's heads, for laws that judge what softmax makes of a row. For
 * the files of this folder only.
 */
#ifndef TXD_CHECKS_SINKS_H
#define TXD_CHECKS_SINKS_H

#include "checks/kept.h"

#ifdef __cplusplus
extern "C" {
#endif

/* (layers): the logits of its heads, or NULL where they are not known. */
typedef struct txd_sinks {
    double **of_layer;
    size_t layers, heads;
} txd_sinks;

txd_status txd_sinks_create(txd_sinks *out, const txd_config *claimed);
void txd_sinks_destroy(txd_sinks *sinks);
/* True if the attention of this point has them, by the claimed configuration. */
bool txd_sinks_are_in(const txd_config *claimed, txd_point point);
/* True at the parameter sites that txd_sinks_take keeps. */
bool txd_sinks_wants(const txd_site *site);
txd_status txd_sinks_take(txd_sinks *sinks, const txd_block *block);

/* What the keys have of a row together, by its statistics: 1, or what a sink leaves
 * them; and the entropy of the weights over that. */
double txd_sinks_share(const txd_config *claimed, const double *column);
double txd_sinks_entropy(const txd_config *claimed, const double *column);

#ifdef __cplusplus
}
#endif

#endif
