/* SPDX-License-Identifier: MIT
 *
 * How the stops of a pass hang together: what each reads, and what is done in one go.
 * Stops are numbers, as in run->order.
 */
#ifndef TXD_MODEL_RUN_STOPS_H
#define TXD_MODEL_RUN_STOPS_H

#include "model/operands.h"
#include "model/run_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first and the last stop of the work in tiles that a stop is a part of; the stop
 * itself where it is none. */
size_t txd_stops_first_of_work(const txd_run *run, size_t stop);
size_t txd_stops_last_of_work(const txd_run *run, size_t stop);

/* What a layer passes on. */
size_t txd_stops_end_of_layer(const txd_run *run, size_t layer);

/* The stop of a point as it is seen from another; -1 if there is none. Behind the
 * layers only the last one is at hand; before them, on the way back, the first. */
int txd_stops_seen_from(const txd_run *run, size_t stop, txd_point point);

/* The stops whose values the operation at a stop reads; returns how many. */
size_t txd_stops_operands(size_t out[TXD_OPERANDS], const txd_run *run, size_t stop);

/* The stop whose value is repeated at a stop, where nobody edits the repetition; the
 * stop itself where its value is its own. */
size_t txd_stops_repeated(const txd_run *run, size_t stop);

#ifdef __cplusplus
}
#endif

#endif
