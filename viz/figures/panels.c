/* SPDX-License-Identifier: MIT
 *
 * The small maps of the overview. Weights in full are exact and are taken while they
 * can be read in about a second; else the pooled maps, in which a cell stands for many
 * pairs and is hidden only if all of them are.
 */
#include "viz/figures/panels.h"
#include "viz/read/recorded.h"

#include <string.h>

#define FULL_VALUES ((size_t)1 << 28) /* most weights that are read in full */

/* All layers of "layers.*.x" (or the one that is chosen) and their number of heads. */
static txd_status find_full(txd_panels *panels, size_t *values,
                            const txd_figure_request *request)
{
    char name[TXD_SITE_BYTES];
    txd_trace_info info;
    size_t entry;
    int axis;

    if (request->layer < 0 && strchr(request->site, '*')) {
        TXD_TRY(txd_site_layers(&panels->layers, &panels->layer_count,
                                panels->claim->arena, panels->recording,
                                request->site));
    } else {
        txd_slice slice;
        txd_figure_request one = *request;

        one.head = 0;
        TXD_TRY(txd_slice_find(&slice, panels->recording, &one));
        panels->layers = txd_arena_alloc(panels->claim->arena, 1, sizeof(int));
        if (!panels->layers)
            return TXD_ERR_MEMORY;
        panels->layers[0] = slice.layer;
        panels->layer_count = 1;
    }
    if (panels->layer_count == 0)
        return txd_site_unknown(panels->recording, request->site);
    txd_site_of_layer(name, request->site, panels->layers[0]);
    TXD_TRY(txd_trace_find(panels->recording, &entry, name));
    TXD_TRY(txd_trace_get(panels->recording, &info, entry));
    axis = txd_axis_of(&info, 'h');
    if (axis < 0 || txd_axis_of(&info, 'q') < 0 || txd_axis_of(&info, 'k') < 0)
        return txd_fail(TXD_ERR_CONFIG, "%s: has no attention heads to lay out",
                        request->site);
    panels->heads = info.dims[axis];
    *values = panels->layer_count * panels->heads;
    *values *= info.dims[txd_axis_of(&info, 'q')];
    *values *= info.dims[txd_axis_of(&info, 'k')];
    return TXD_OK;
}

/* Layer that the site itself names; -1 for '*'. */
static int named_layer(const txd_figure_request *request)
{
    txd_point point;
    int layer;

    if (request->layer >= 0 || strchr(request->site, '*'))
        return request->layer;
    return txd_point_parse(&point, &layer, request->site) == TXD_OK ? layer : -1;
}

static txd_status find_pooled(txd_panels *panels, const txd_figure_request *request)
{
    const char *pooled_site = txd_pooled_site_by(panels->kind, request->pool);
    int only = named_layer(request);
    txd_trace_info info;
    size_t entry, layers, first;

    TXD_TRY(txd_trace_find(panels->recording, &entry, pooled_site));
    TXD_TRY(txd_trace_get(panels->recording, &info, entry));
    if (info.rank != 6 || strcmp(info.axes, "slbhij") != 0)
        return txd_fail(TXD_ERR_FORMAT, "%s: axes \"%s\", expected \"slbhij\"",
                        pooled_site, info.axes);
    layers = info.dims[1];
    TXD_TRY(txd_choice(&first, "layer", only, layers));
    panels->pooled = true;
    panels->layer_count = only < 0 ? layers : 1;
    panels->heads = info.dims[3];
    panels->pooling = txd_pooling_of(panels->claim, pooled_site, &info);
    panels->layers =
        txd_arena_alloc(panels->claim->arena, panels->layer_count, sizeof(int));
    panels->hidden = txd_arena_alloc(
        panels->claim->arena, panels->pooling.cells[0] * panels->pooling.cells[1], 1);
    if (!panels->layers || !panels->hidden)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < panels->layer_count; i++)
        panels->layers[i] = (int)(first + i);
    panels->request.site = pooled_site;
    return TXD_OK;
}

txd_status txd_panels_find(txd_panels *out, const txd_claim *claim,
                           const txd_figure_request *request)
{
    txd_attention_kind kind = txd_site_attention(request->site);
    size_t values = 0, entry;
    bool has_pooled = txd_site_is_weights(request->site) &&
                      txd_trace_find(claim->recording, &entry,
                                     txd_pooled_site_by(kind, request->pool)) == TXD_OK;
    txd_status status;

    *out = (txd_panels){.recording = claim->recording,
                        .claim = claim,
                        .kind = kind,
                        .request = *request,
                        .hidden_layer = -1};
    status = find_full(out, &values, request);
    if ((status == TXD_ERR_CONFIG || values > FULL_VALUES) && has_pooled)
        return find_pooled(out, request);
    return status;
}

static bool same_mask(const txd_panels *panels, int a, int b)
{
    const txd_claim *claim = panels->claim;
    const txd_layer_config *layers = claim->config.layers;

    return a >= 0 && b >= 0 && claim->configured &&
           (size_t)b < claim->config.n_layers &&
           (panels->kind == TXD_ATTENTION_CROSS ||
            (layers[a].causal == layers[b].causal &&
             layers[a].window == layers[b].window));
}

static void blank_pooled(txd_blank *out, txd_panels *panels, const txd_slice *slice)
{
    if (same_mask(panels, panels->hidden_layer, slice->layer)) {
        *out = (txd_blank){.is_pooled = true,
                           .pooled = panels->hidden,
                           .pooled_side = panels->pooling.cells[1]};
        return;
    }
    txd_blank_pooled(out, panels->hidden, &panels->pooling, panels->claim, slice);
    panels->hidden_layer = out->pooled ? slice->layer : -1;
}

txd_status txd_panels_fill(txd_map *map, txd_panels *panels, int layer, size_t head,
                           size_t limit)
{
    size_t lengths[2] = {panels->pooling.cells[0], panels->pooling.cells[1]};
    txd_figure_request request = panels->request;
    txd_mask_view mask;
    txd_slice slice;
    txd_blank blank;

    request.layer = layer;
    request.head = (int)head;
    map->limit = limit;
    TXD_TRY(txd_slice_find(&slice, panels->recording, &request));
    if (panels->pooled) {
        TXD_TRY(txd_pooled_zoom(&request, &panels->pooling, &slice));
        blank_pooled(&blank, panels, &slice);
    } else {
        lengths[0] = txd_axis_filled(panels->claim, &slice, slice.row_axis);
        lengths[1] = txd_axis_filled(panels->claim, &slice, slice.column_axis);
        txd_blank_of(&blank, &mask, panels->claim, &slice);
        map->by_size = strstr(slice.site, "weights") == NULL;
    }
    map->loud = blank.silent == TXD_SILENT_MASKED ? "not masked" : "not 0";
    TXD_TRY(txd_map_select(map, &slice, &request, lengths));
    if (txd_recorded_slice(&slice) != TXD_OK) {
        panels->missing++;
        return TXD_OK;
    }
    TXD_TRY(txd_map_fill(map, &slice, &blank));
    if (!panels->pooled)
        return TXD_OK;
    TXD_TRY(txd_peak_of_rows(&map->peak, panels->claim, &slice));
    if (!txd_range_has(&panels->request.query, map->peak.row) ||
        !txd_range_has(&panels->request.key, map->peak.column))
        map->peak.times = 0;
    return txd_mark_rows(map, panels->claim, &slice, &panels->pooling,
                         &panels->leaks_by_row);
}
