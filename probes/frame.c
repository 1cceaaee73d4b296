/* SPDX-License-Identifier: MIT
 *
 * The frame of every probe: from a descriptor and its uses to a tap that fills a
 * recording, or to the list of datasets that it would fill. What is special about a
 * probe is in its own file.
 */
#include <stdlib.h>

#include "probes/common.h"

static unsigned ask(void *self, const txd_site *site)
{
    const txd_probe_frame *frame = self;
    const txd_probe *probe = frame->probe;
    /* Parameters are offered once, before any step. */
    int step = site->kind == TXD_SITE_PARAMETER ? -1 : site->step;

    if (!txd_probe_use_selects(probe, frame->use, site->name, site->layer, step) ||
        txd_probe_row(frame, site) == frame->sites[site->kind].count)
        return 0;
    return probe->ask(site->kind, site->point);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    txd_probe_frame *frame = self;
    const txd_probe *probe = frame->probe;

    if (!frame->is_open[block->site->point] && probe->begin)
        TXD_TRY(probe->begin(self, block));
    frame->is_open[block->site->point] = !block->last;
    if (probe->merge)
        TXD_TRY(probe->merge(self, block, slot));
    return block->last && probe->end ? probe->end(self, block) : TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    txd_probe_frame *frame = self;

    for (txd_series *series = frame->series; series; series = series->next)
        TXD_TRY(txd_series_write(series, pass->step));
    for (txd_table *table = frame->tables; table; table = table->next)
        TXD_TRY(txd_table_write(table));
    return TXD_OK;
}

void txd_probe_destroy(txd_probe_frame *frame)
{
    if (!frame)
        return;
    for (txd_room *room = frame->rooms; room; room = room->next)
        free(room->data);
    txd_arena_destroy(frame->arena);
    free(frame);
}

static txd_status read_number(txd_probe_frame *frame)
{
    const txd_probe_number *number = &frame->probe->number;

    frame->number = number->usual;
    for (const txd_probe_use *use = frame->use; use && number->key; use = use->next)
        if (use->setting)
            TXD_TRY(txd_setting_size(&frame->number, use->setting, number->key,
                                     number->low, number->high));
    return TXD_OK;
}

static txd_status fill(txd_probe_frame *frame)
{
    TXD_TRY(read_number(frame));
    TXD_TRY(txd_arena_create(&frame->arena));
    for (int kind = 0; kind < TXD_SITE_KINDS; kind++)
        TXD_TRY(txd_probe_sites_find(&frame->sites[kind], frame->arena, frame->probe,
                                     frame->use, frame->context, (txd_site_kind)kind));
    frame->tap.gradients = frame->sites[TXD_SITE_GRADIENT].count > 0 ||
                           frame->sites[TXD_SITE_PARAMETER_GRADIENT].count > 0;
    return frame->probe->fill ? frame->probe->fill(frame) : TXD_OK;
}

txd_status txd_probe_create(txd_probe_frame **out, const txd_probe *probe,
                            const txd_probe_use *use, const txd_probe_context *context)
{
    txd_probe_frame *frame = calloc(1, probe->state_bytes);
    txd_status status;

    if (!frame)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the probe %s", probe->name);
    frame->probe = probe;
    frame->use = use;
    frame->context = context;
    frame->tap = (txd_tap){.name = probe->name,
                           .self = frame,
                           .ask = ask,
                           .slot_bytes = probe->slot_bytes,
                           .reduce = probe->reduce,
                           .merge = merge,
                           .step_end = step_end};
    status = fill(frame);
    if (status == TXD_OK)
        *out = frame;
    else
        txd_probe_destroy(frame);
    return status;
}

txd_status txd_probe_make(size_t *number, const txd_probe_frame *frame,
                          const txd_probe_dataset *dataset)
{
    const txd_probe_context *context = frame->context;

    if (context->recording)
        return txd_recording_dataset(context->recording, number, &dataset->spec);
    return context->listing->add(context->listing->self, dataset);
}

txd_status txd_probe_make_layers(size_t *number, const txd_probe_frame *frame,
                                 const txd_dataset_spec *spec, txd_attention_kind kind)
{
    const txd_probe_context *context = frame->context;
    const txd_probe_sites *sites = &frame->sites[TXD_SITE_VALUE];
    size_t all = context->claimed->n_layers * context->steps, selected = 0;
    txd_probe_dataset dataset = {.name = spec->point, .spec = *spec};

    for (size_t i = 0; !context->recording && i < sites->count; i++) {
        if (txd_point_attention(sites->list[i].point) != kind)
            continue;
        for (size_t step = 0; step < context->steps; step++)
            selected += txd_probe_use_selects(frame->probe, frame->use, sites->names[i],
                                              sites->list[i].layer, (int)step);
    }
    dataset.left_out = txd_probe_left_out(spec, selected, all);
    return txd_probe_make(number, frame, &dataset);
}

bool txd_probe_has_point(const txd_probe_frame *frame, txd_point point)
{
    const txd_probe_sites *sites = &frame->sites[TXD_SITE_VALUE];

    for (size_t i = 0; i < sites->count; i++)
        if (sites->list[i].point == point)
            return true;
    return false;
}

txd_status txd_probe_reserve(txd_room *room, txd_probe_frame *frame, size_t count,
                             size_t size)
{
    size_t bytes;
    void *grown;

    TXD_TRY(txd_size_mul(&bytes, count, size));
    if (bytes <= room->bytes)
        return TXD_OK;
    grown = realloc(room->data, bytes);
    if (!grown)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the probe %s",
                        frame->probe->name);
    if (!room->data) {
        room->next = frame->rooms;
        frame->rooms = room;
    }
    room->data = grown;
    room->bytes = bytes;
    return TXD_OK;
}
