/* SPDX-License-Identifier: MIT
 *
 * How the probe `full` lays values out in a recording, and what that will cost: the
 * tiles of attention weights that stay zero under the claimed mask cost nothing.
 */
#include <stdio.h>
#include <string.h>

#include "probes/full.h"

#define MOST_CHUNKS 1000 /* per dataset: docs/recording.md */

/* Rows and columns of a parameter: (out, in). */
static const char *axes_of(const txd_site *site, size_t rank)
{
    if (!txd_site_is_parameter(site->kind))
        return txd_point_get(site->point)->axes;
    return rank == 1 ? "r" : "rc";
}

/* That of the heads, or 0. */
static char head_axis(const txd_site *site)
{
    char axis = axes_of(site, 2)[1];

    return axis == 'g' || axis == 'h' ? axis : '\0';
}

static bool grows(char axis)
{
    return axis == 't' || axis == 'q' || axis == 'k';
}

/* True if the mask hides all keys of a tile from all its queries (unpadded input). */
static bool is_hidden(const txd_layer_config *layer, const size_t query[2],
                      const size_t key[2])
{
    if (layer->causal && key[0] >= query[1])
        return true;
    if (layer->window == 0)
        return false;
    return query[0] + 1 >= key[1] + layer->window ||
           key[0] + 1 >= query[1] + layer->window;
}

/* Bytes of the tiles of one head that stay unwritten. The file has at most
 * MOST_CHUNKS chunks per step, so tiles of large matrices are wider. */
static size_t hidden_bytes(const txd_probe_context *context,
                           const txd_layer_config *layer, txd_dtype dtype)
{
    size_t n = context->length, count = 0;
    size_t heads = context->batch * context->claimed->n_heads;
    size_t rows = n < TXD_FULL_TILE ? n : TXD_FULL_TILE, columns = rows;

    while (heads * ((n + rows - 1) / rows) * ((n + columns - 1) / columns) >
               MOST_CHUNKS &&
           rows < n) {
        size_t *side = columns < n ? &columns : &rows;

        *side = 2 * *side < n ? 2 * *side : n;
    }
    for (size_t q = 0; q < n; q += rows) {
        for (size_t k = 0; k < n; k += columns) {
            const size_t query[2] = {q, q + rows < n ? q + rows : n};
            const size_t key[2] = {k, k + columns < n ? k + columns : n};

            count += is_hidden(layer, query, key);
        }
    }
    return count * rows * columns * txd_recording_element(dtype);
}

bool txd_full_is_weights(const txd_site *site)
{
    return site->kind == TXD_SITE_VALUE &&
           txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS;
}

bool txd_full_wants(const txd_probe_frame *frame, const txd_site *site, size_t head)
{
    const txd_config *claimed = frame->context->claimed;
    char axis = head_axis(site);
    size_t group = axis == 'g' ? claimed->n_heads / claimed->n_kv_heads : 1;

    if (!axis)
        return txd_probe_use_selects(frame->probe, frame->use, site->name, site->layer,
                                     site->step);
    for (size_t i = 0; i < group; i++)
        if (txd_probe_use_selects_head(frame->probe, frame->use, site,
                                       head * group + i))
            return true;
    return false;
}

/* How many (step, head) pairs are recorded, of how many. */
static size_t count_parts(size_t *all, const txd_probe_frame *frame, txd_site site)
{
    const txd_config *config = frame->context->claimed;
    char axis = head_axis(&site);
    size_t heads = axis == 'h' ? config->n_heads : axis == 'g' ? config->n_kv_heads : 1;
    size_t steps = frame->context->steps, count = 0;

    for (site.step = 0; (size_t)site.step < steps; site.step++)
        for (size_t head = 0; head < heads; head++)
            count += txd_full_wants(frame, &site, head);
    *all = steps * heads;
    return count;
}

static size_t left_out(const txd_probe_frame *frame, const txd_site *site,
                       const txd_dataset_spec *spec)
{
    const txd_probe_context *context = frame->context;
    size_t selected, all;

    /* Of a memory nobody knows yet what is padding. */
    if (spec->fill_zero && txd_point_attention(site->point) == TXD_ATTENTION_CROSS)
        return 0;
    if (spec->fill_zero)
        return hidden_bytes(context, &context->claimed->layers[site->layer],
                            spec->dtype) *
               context->batch * context->claimed->n_heads * context->steps;
    if (txd_probe_is_whole(frame, site))
        return 0;
    selected = count_parts(&all, frame, *site);
    return txd_probe_left_out(spec, selected, all);
}

/* In the file; inputs are needed as they are. */
static void store(txd_dataset_spec *spec, const txd_probe_context *context)
{
    if (txd_storage_apply(&spec->dtype, context->how.storage))
        spec->storage = context->how.storage;
}

/* Shape and dtype of what is recorded at a site. */
static void describe(txd_dataset_spec *spec, const txd_probe_frame *frame,
                     const txd_site *site)
{
    const txd_probe_context *context = frame->context;
    const txd_extent extent = {context->batch, context->length, context->memory, 0};
    const txd_param *param;

    spec->dtype = context->dtype;
    if (txd_site_is_parameter(site->kind)) {
        /* Summed up in at least 32 bits, and never rounded to fewer. */
        spec->dtype = txd_probe_real(context);
        param = txd_params_at((txd_params *)context->params, site->index);
        spec->rank = param->value.rank;
        memcpy(spec->dims, param->value.dims, sizeof param->value.dims);
        store(spec, context);
        return;
    }
    if (txd_point_get(site->point)->place == TXD_PLACE_INPUT)
        spec->dtype = TXD_I32;
    else if (txd_site_is_gradient(site->kind) || site->point != TXD_POINT_INPUT_MEMORY)
        store(spec, context);
    spec->fill_zero = txd_full_is_weights(site) && txd_probe_is_whole(frame, site);
    spec->rank = txd_point_dims(spec->dims, context->claimed, site->point, &extent);
}

/* "layers.3.attn.weights" becomes "value/layers/3/attn/weights/full"; with "@grad" it
 * becomes "grad/layers/...". */
static void path_of(char *path, size_t bytes, const txd_site *site)
{
    bool is_gradient = txd_site_is_gradient(site->kind);

    snprintf(path, bytes, "%s/%.*s/full", is_gradient ? "grad" : "value",
             (int)strcspn(site->name, "@"), site->name);
    for (char *dot = path; (dot = strchr(dot, '.'));)
        *dot = '/';
}

txd_status txd_full_make(size_t *number, const txd_probe_frame *frame,
                         const txd_site *site)
{
    const txd_probe_context *context = frame->context;
    char path[TXD_SITE_NAME_BYTES + 16], axes[16];
    txd_probe_dataset dataset = {.name = site->name};
    txd_dataset_spec *spec = &dataset.spec;

    *spec = (txd_dataset_spec){.path = path,
                               .axes = axes,
                               .point = site->name,
                               .unit = "",
                               .per_step = true,
                               .steps = context->steps};
    path_of(path, sizeof path, site);
    describe(spec, frame, site);
    snprintf(axes, sizeof axes, "s%s", axes_of(site, (size_t)spec->rank));
    for (int i = 0; i < spec->rank; i++)
        if (grows(axes[i + 1]))
            txd_probe_grow(spec, context, i, spec->dims[i]);
    if (!context->recording)
        dataset.left_out = left_out(frame, site, spec);
    return txd_probe_make(number, frame, &dataset);
}
