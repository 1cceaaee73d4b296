/* SPDX-License-Identifier: MIT
 *
 * Two recordings at a glance: how far apart each head is. For the figure `change`.
 */
#ifndef TXD_VIZ_CHANGE_H
#define TXD_VIZ_CHANGE_H

#include "viz/draw/map.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What is planted in both, as notes above, and how their models differ, if they do. */
txd_status txd_change_note(txd_map *map, const txd_trace *const recordings[2]);

/* Layers by heads: the largest difference of two weights of the attention that the
 * request's site names, in recording and request->other. ERR_MISSING if either has not
 * recorded them in full. */
txd_status txd_change_of_heads(txd_drawing *out, const txd_trace *recording,
                               const txd_figure_request *request);

#ifdef __cplusplus
}
#endif

#endif
