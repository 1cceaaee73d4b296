/* SPDX-License-Identifier: MIT
 *
 * What the probes were told to record, by the attribute `record`. A dataset has a place
 * for every head and step, whether it was selected or not; those that were not hold
 * NaN, which must not be shown as values that are NaN.
 */
#ifndef TXD_VIZ_RECORDED_H
#define TXD_VIZ_RECORDED_H

#include "viz/read/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One head of a value in one step; -1 = whichever. */
typedef struct txd_recorded_part {
    const char *probe; /* "full" */
    const char *site;  /* "layers.3.attn.weights" */
    int layer, head;
    size_t step;
} txd_recorded_part;

/* False if the recording says that the part was not selected; true also if it says
 * nothing of the site. */
bool txd_recorded(const txd_trace *recording, const txd_recorded_part *part);

/* ERR_CONFIG, naming the heads or steps that are there, if a slice of a value, or of
 * pooled maps, is of a head or step that was not selected. */
txd_status txd_recorded_slice(const txd_slice *slice);

#ifdef __cplusplus
}
#endif

#endif
