/* SPDX-License-Identifier: MIT
 *
 * Feeds taps from a recording as a live pass would: the same sites, in order of
 * execution, with whatever the recording has of each (values, row statistics,
 * statistics). What was not recorded is left NULL in the block, or not offered; what
 * follows from recorded values (statistics, row statistics) is computed from them.
 */
#ifndef TXD_FORMATS_REPLAY_H
#define TXD_FORMATS_REPLAY_H

#include "base/trace.h"
#include "formats/recording.h"
#include "model/taps.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_replay txd_replay;

/* Reads the recording's claimed configuration and index. The trace must outlive the
 * replay. ERR_FORMAT, naming what is missing, if it is no recording. */
txd_status txd_replay_create(txd_replay **out, const txd_trace *recording);
void txd_replay_destroy(txd_replay *replay); /* NULL is allowed */

const txd_config *txd_replay_config(const txd_replay *replay);
size_t txd_replay_steps(const txd_replay *replay);
/* True if queries of some step attend to keys of earlier calls. */
bool txd_replay_has_past(const txd_replay *replay);
/* To which the recorded pass rounded what it stored. */
txd_dtype txd_replay_format(const txd_replay *replay);
/* By what recorded values have fewer digits than that; TXD_STORAGE_EXACT: they have
 * not. */
txd_storage txd_replay_storage(const txd_replay *replay);

/* The TXD_ASK_* bits that the recording can answer at a point of a layer (-1 for
 * points that are not per layer), or for parameters. */
unsigned txd_replay_offers(const txd_replay *replay, txd_point point, int layer);
unsigned txd_replay_offers_parameters(const txd_replay *replay);
/* The same for gradients. Statistics of which only `grad_norm` was recorded are NaN
 * but for the count, the root mean square and what is not finite. */
unsigned txd_replay_offers_gradient(const txd_replay *replay, txd_point point,
                                    int layer);
unsigned txd_replay_offers_parameter_gradients(const txd_replay *replay);

/* {steps, batch rows, tokens, rows of memory, keys} as the recorded values themselves
 * have them, for recordings without `input/tokens`; 0 where no value says. There are
 * more keys than tokens where a cache had those of earlier calls. */
#define TXD_REPLAY_SHAPE 5
txd_status txd_replay_shape(size_t out[TXD_REPLAY_SHAPE], const txd_trace *recording);

/* How many datasets have names that no part of a recording has, so that nobody reads
 * them; the name of the first (valid as long as the trace), or NULL. */
size_t txd_replay_strangers(const char **first, const txd_replay *replay);

/* The threads to feed on, 0 = all (the default); nothing that taps see depends on it.
 */
void txd_replay_set_threads(txd_replay *replay, int threads);

/* One pass over the whole recording, memory bounded by a few tiles per site and thread.
 */
txd_status txd_replay_feed(txd_replay *replay, txd_tap *const *taps, size_t count);

#ifdef __cplusplus
}
#endif

#endif
