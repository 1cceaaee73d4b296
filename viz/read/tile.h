/* SPDX-License-Identifier: MIT
 *
 * Tiles: one block of queries and keys of a value, recorded by the probe `tile` where
 * the whole was too large. The root attribute `tiles` says where each lies.
 */
#ifndef TXD_VIZ_TILE_H
#define TXD_VIZ_TILE_H

#include "viz/read/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The dataset of the tile of a site ("layers.3.attn.weights"); its name lives as long
 * as the recording. NULL = none was recorded, or where it lies is not known. */
const char *txd_tile_site(const txd_trace *recording, const char *site);

/* True of the name of such a dataset. */
bool txd_tile_is(const char *site);

/* Makes a slice of a tile's dataset one of the value that it is a block of: its name,
 * its lengths, and from where to where something is there. ERR_FORMAT if the recording
 * does not say where the tile lies. */
txd_status txd_tile_place(txd_slice *slice);

/* True if a request names a range of queries or of keys, and all of both lies within
 * the tile. */
bool txd_tile_holds(const txd_trace *recording, const char *tile,
                    const txd_figure_request *request);

/* Of a slice that is no tile nothing. Else what the request leaves open becomes what
 * the tile has; ERR_CONFIG, naming that, if more is asked for. */
txd_status txd_tile_zoom(txd_figure_request *request, const txd_slice *slice);

/* "queries 31000 to 31255, keys 0 to 255" of the tile of a site; nothing if there is
 * none. */
void txd_tile_words(txd_text *out, const txd_trace *recording, const char *site);

#ifdef __cplusplus
}
#endif

#endif
