/* SPDX-License-Identifier: MIT
 *
 * From a site to the figure that draws it, and from the picture to its file.
 */
#include <string.h>

#include "viz/figures.h"

static const char weights[] = ".attn.weights";

static bool is_weights(const char *site)
{
    size_t length = strlen(site), tail = sizeof weights - 1;

    return length > tail && strcmp(site + length - tail, weights) == 0;
}

/* Weights that were not recorded in full are drawn from the pooled maps, which most
 * recordings of long inputs have instead. */
static txd_status choose_pooled(const txd_figure **out, txd_figure_request *request,
                                const txd_trace *recording)
{
    txd_figure_request pooled = *request;
    txd_point point;
    txd_slice slice;

    pooled.site = "pooled/max";
    if (pooled.layer < 0)
        (void)txd_point_parse(&point, &pooled.layer, request->site);
    if (txd_slice_find(&slice, recording, &pooled) != TXD_OK)
        return txd_slice_find(&slice, recording, request); /* its message */
    *request = pooled;
    *out = &txd_figure_matrix;
    return TXD_OK;
}

static bool has_heads(const txd_slice *slice)
{
    int axis = txd_axis_of(&slice->info, 'h');

    return axis >= 0 && slice->info.dims[axis] > 1;
}

/* Without a head, weights of several heads are laid out; a '*' of any other site needs
 * its layer. */
txd_status txd_figure_choose(const txd_figure **out, txd_figure_request *request,
                             const txd_trace *recording)
{
    bool star = strchr(request->site, '*') && request->layer < 0;
    bool weighs = is_weights(request->site);
    txd_figure_request one = *request;
    txd_slice slice;
    size_t pooled;
    txd_status status;

    *out = &txd_figure_overview;
    if (weighs && star && request->head < 0)
        return TXD_OK;
    one.head = weighs && request->head < 0 ? 0 : request->head;
    status = txd_slice_find(&slice, recording, &one);
    if (status == TXD_ERR_CONFIG && weighs && !star &&
        txd_trace_find(recording, &pooled, "pooled/max") == TXD_OK)
        return request->head < 0 ? TXD_OK : choose_pooled(out, request, recording);
    if (status != TXD_OK)
        return txd_slice_find(&slice, recording, request); /* its message */
    if (weighs && request->head < 0 && has_heads(&slice))
        return TXD_OK;
    *out = slice.row_axis >= 0 && txd_axis_of(&slice.info, 'q') == slice.row_axis &&
                   txd_axis_of(&slice.info, 'k') == slice.column_axis
               ? &txd_figure_head
               : &txd_figure_matrix;
    return TXD_OK;
}

txd_status txd_plot(const txd_trace *recording, const txd_figure_request *request)
{
    txd_figure_request actual = *request;
    const txd_figure *figure;
    txd_image_kind kind;
    txd_text picture;
    txd_status status;

    TXD_TRY(txd_image_kind_of(&kind, request->path));
    if (!request->site || !*request->site)
        return txd_site_unknown(recording, "(no site)");
    TXD_TRY(txd_figure_choose(&figure, &actual, recording));
    txd_text_init(&picture);
    status = figure->image(&picture, recording, &actual);
    if (status == TXD_OK)
        status = txd_file_replace(request->path, picture.data, picture.length);
    txd_text_finish(&picture);
    return status;
}
