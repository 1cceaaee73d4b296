/* SPDX-License-Identifier: MIT
 *
 * From a site to the figure that draws it, and from the picture to its file.
 */
#include <string.h>

#include "viz/draw/keep.h"
#include "viz/figures/figures.h"
#include "viz/read/tile.h"

static const char *pooled_site(const txd_figure_request *request)
{
    return txd_pooled_site_by(txd_site_attention(request->site), request->pool);
}

/* True for weights that were not recorded in full, where pooled maps were: the rule for
 * long inputs. */
static bool only_pooled(const txd_trace *recording, const txd_figure_request *request)
{
    char site[TXD_SITE_BYTES];
    size_t entry;

    txd_site_of_layer(site, request->site, request->layer);
    return txd_site_is_weights(request->site) &&
           txd_trace_find(recording, &entry, site) != TXD_OK &&
           txd_trace_find(recording, &entry, pooled_site(request)) == TXD_OK;
}

/* The tile of a value that was not recorded in full, unless it is weights of which
 * pooled maps show more than the tile would. */
static void turn_to_tile(txd_figure_request *request, const txd_trace *recording)
{
    char site[TXD_SITE_BYTES];
    const char *tile;
    size_t entry;

    txd_site_of_layer(site, request->site, request->layer);
    if (txd_trace_find(recording, &entry, site) == TXD_OK ||
        !(tile = txd_tile_site(recording, site)))
        return;
    if (only_pooled(recording, request) &&
        (request->head < 0 || !txd_tile_holds(recording, tile, request)))
        return;
    request->site = tile;
}

static txd_status choose_pooled(const txd_figure **out, txd_figure_request *request,
                                const txd_trace *recording)
{
    txd_figure_request pooled = *request;
    txd_slice slice;
    txd_point point;
    int layer = -1;

    *out = &txd_figure_overview;
    if (request->head < 0)
        return TXD_OK;
    if (!strchr(request->site, '*')) {
        TXD_TRY(txd_point_parse(&point, &layer, request->site));
        if (request->layer >= 0 && request->layer != layer)
            return txd_slice_find(&slice, recording, request); /* its message */
        pooled.layer = layer;
    }
    pooled.site = pooled_site(request);
    if (txd_slice_find(&slice, recording, &pooled) != TXD_OK)
        return txd_fail(TXD_ERR_CONFIG, "%s, of which %s", request->site,
                        txd_message());
    *request = pooled;
    *out = &txd_figure_matrix;
    return TXD_OK;
}

static bool has_heads(const txd_slice *slice)
{
    int axis = txd_axis_of(&slice->info, 'h');

    return axis >= 0 && slice->info.dims[axis] > 1;
}

/* Figures by name, and sites that are not one value, but numbers over layers or steps.
 */
static const txd_figure *choose_whole(const txd_figure_request *request)
{
    const txd_figure *figure = txd_figure_find(request->site);

    if (figure && figure->heading)
        return figure;
    for (size_t i = 0; (figure = txd_figure_at(i)); i++)
        if (figure->draws && figure->draws(request))
            return figure;
    return NULL;
}

/* Names of figures that are not drawn so: of a site that is to be named, or of one
 * recording alone. */
static txd_status check_name(const txd_figure_request *request)
{
    const txd_figure *figure = txd_figure_find(request->site);

    if (!figure || figure == &txd_figure_change || figure == &txd_figure_errors)
        return TXD_OK;
    if (!figure->heading)
        return txd_fail(TXD_ERR_CONFIG, "%s is drawn of a site that you name: %s",
                        figure->name, figure->usage);
    if (request->other)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s is drawn of one recording. Of two: errors, change (weights "
                        "of all heads), or a site, such as layers.0.attn.weights",
                        figure->name);
    return TXD_OK;
}

/* Of two recordings it is the change from one to the other that is drawn, or how far
 * they are apart by layer. Without a head, weights of several heads are laid out; a '*'
 * of any other site needs its layer. */
txd_status txd_figure_choose(const txd_figure **out, txd_figure_request *request,
                             const txd_trace *recording)
{
    bool star = strchr(request->site, '*') && request->layer < 0;
    txd_figure_request one;
    txd_slice slice;
    bool weighs;

    TXD_TRY(check_name(request));
    *out = strcmp(request->site, txd_figure_errors.name) == 0 ? &txd_figure_errors
           : request->other || strcmp(request->site, "change") == 0
               ? &txd_figure_change
               : choose_whole(request);
    if (*out)
        return TXD_OK;
    if (!star)
        turn_to_tile(request, recording);
    one = *request;
    weighs = txd_site_is_weights(request->site);
    *out = &txd_figure_overview;
    if (weighs && star && request->head < 0)
        return TXD_OK;
    if (!star && only_pooled(recording, request))
        return choose_pooled(out, request, recording);
    if (weighs && request->head < 0 &&
        txd_slice_find(&slice, recording, request) != TXD_OK)
        one.head = 0; /* heads are not an axis to draw, but panels */
    TXD_TRY(txd_slice_find(&slice, recording, &one));
    if (weighs && request->head < 0 && has_heads(&slice))
        return TXD_OK;
    *out = slice.row_axis >= 0 && txd_axis_of(&slice.info, 'q') == slice.row_axis &&
                   txd_axis_of(&slice.info, 'k') == slice.column_axis
               ? &txd_figure_head
               : &txd_figure_matrix;
    return TXD_OK;
}

/* The memory as it came in is an input, as a recorded value it is a point. */
static void name_input(txd_figure_request *request, const txd_trace *recording)
{
    static const char given[] = "input/memory";
    size_t entry;

    if (strcmp(request->site, "input.memory") == 0 &&
        txd_trace_find(recording, &entry, request->site) != TXD_OK &&
        txd_trace_find(recording, &entry, given) == TXD_OK)
        request->site = given;
}

/* "entropy: it heeds no --head, but --step --layer": a choice without effect would look
 * as if it had one. */
static txd_status refuse(const txd_figure *figure, const char *choice)
{
    const char *at = figure->choices ? figure->choices : "";
    txd_text words;
    txd_status status;

    txd_text_init(&words);
    while (*at) {
        size_t length = strcspn(at, " ");

        txd_text_addf(&words, "%s--%.*s", words.length ? ", " : "", (int)length, at);
        at += length + strspn(at + length, " ");
    }
    status =
        txd_fail(TXD_ERR_CONFIG, "%s: --%s is no choice of this figure: it has %s",
                 figure->name, choice, words.length ? txd_text_get(&words) : "none");
    txd_text_finish(&words);
    return status;
}

static txd_status check_choices(const txd_figure *figure,
                                const txd_figure_request *request)
{
    const struct {
        const char *name;
        bool is_made;
    } choices[] = {
        {"layer", request->layer >= 0},
        {"head", request->head >= 0},
        {"step", request->step >= 0},
        {"batch", request->batch >= 0},
        {"query", request->query.count > 0},
        {"key", request->key.count > 0},
        {"scale", request->scale != TXD_SCALE_AUTO},
        {"pool", request->pool != TXD_POOL_MAX},
    };
    const char *heeded = figure->choices ? figure->choices : "";

    for (size_t i = 0; figure->heading && i < sizeof choices / sizeof *choices; i++)
        if (choices[i].is_made && !strstr(heeded, choices[i].name))
            return refuse(figure, choices[i].name);
    return TXD_OK;
}

txd_status txd_plot(const txd_trace *recording, const txd_figure_request *request)
{
    txd_figure_request actual = *request;
    const txd_figure *figure;
    txd_image_kind kind = TXD_IMAGE_PNG;
    txd_drawing drawing;
    txd_text picture;
    txd_status status;

    if (request->path || !request->keep)
        TXD_TRY(txd_image_kind_of(&kind, request->path));
    if (!request->site || !*request->site)
        return txd_site_unknown(recording, "");
    name_input(&actual, recording);
    TXD_TRY(txd_figure_choose(&figure, &actual, recording));
    TXD_TRY(check_choices(figure, request));
    txd_text_init(&picture);
    status = txd_drawing_init(&drawing, kind);
    if (status == TXD_OK)
        status = figure->draw(&drawing, recording, &actual);
    if (status == TXD_OK && request->keep)
        status = txd_drawing_keep(&drawing, request->keep);
    if (status == TXD_OK && request->path)
        status = txd_drawing_image(&picture, &drawing);
    if (status == TXD_OK && request->path)
        status = txd_file_replace(request->path, picture.data, picture.length);
    txd_drawing_finish(&drawing);
    txd_text_finish(&picture);
    return status;
}
