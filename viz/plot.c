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

/* Without a head, weights of several heads are laid out; a '*' of any other site needs
 * its layer. */
static txd_status choose(const txd_figure **out, const txd_trace *recording,
                         const txd_figure_request *request)
{
    bool star = strchr(request->site, '*') && request->layer < 0;
    txd_figure_request one = *request;
    txd_slice slice;

    *out = &txd_figure_overview;
    if (is_weights(request->site) && request->head < 0) {
        if (star)
            return TXD_OK;
        one.head = 0;
        if (txd_slice_find(&slice, recording, &one) != TXD_OK ||
            (slice.head >= 0 && slice.info.dims[txd_axis_of(&slice.info, 'h')] > 1))
            return TXD_OK; /* the overview also knows pooled maps */
    }
    TXD_TRY(txd_slice_find(&slice, recording, request));
    *out = txd_axis_of(&slice.info, 'q') == slice.row_axis && slice.row_axis >= 0 &&
                   txd_axis_of(&slice.info, 'k') == slice.column_axis
               ? &txd_figure_head
               : &txd_figure_matrix;
    return TXD_OK;
}

txd_status txd_plot(const txd_trace *recording, const txd_figure_request *request)
{
    const txd_figure *figure;
    txd_image_kind kind;
    txd_text picture;
    txd_status status;

    TXD_TRY(txd_image_kind_of(&kind, request->path));
    if (!request->site || !*request->site)
        return txd_site_unknown(recording, "(no site)");
    TXD_TRY(choose(&figure, recording, request));
    txd_text_init(&picture);
    status = figure->image(&picture, recording, request);
    if (status == TXD_OK)
        status = txd_file_replace(request->path, picture.data, picture.length);
    txd_text_finish(&picture);
    return status;
}
