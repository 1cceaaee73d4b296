/* SPDX-License-Identifier: MIT
 *
 * Series: a (site, field) table of numbers per step, with the names of its sites
 * beside it. One dataset for a whole model keeps recordings small and slices short.
 */
#include "probes/common.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static size_t count_fields(const char *fields)
{
    size_t count = 1;

    for (; *fields; fields++)
        count += *fields == ',';
    return count;
}

static void clear(txd_series *series)
{
    size_t count = series->frame->sites[series->kind].count * series->fields;

    for (size_t i = 0; i < count; i++)
        series->values[i] = NAN;
    series->is_set = false;
}

static txd_dataset_spec describe(const char *path, const txd_series *series,
                                 const char *fields)
{
    bool per_step = series->kind == TXD_SITE_VALUE;

    return (txd_dataset_spec){
        .path = path,
        .axes = per_step ? "sxy" : "xy",
        .point = "",
        .unit = "",
        .dtype = TXD_F64,
        .per_step = per_step,
        .rank = 2,
        .dims = {series->frame->sites[series->kind].count, series->fields},
        .steps = per_step ? series->frame->context->steps : 1,
        .fields = fields,
    };
}

/* The dataset, and the names of its rows beside it. */
static txd_status make(txd_series *series, const char *name, const char *fields)
{
    const txd_probe_sites *sites = &series->frame->sites[series->kind];
    txd_recording *recording = series->frame->context->recording;
    char path[64], names[64];
    txd_probe_dataset dataset = {.name = path};

    snprintf(path, sizeof path, "series/%s", name);
    snprintf(names, sizeof names, "series/%s_sites", name);
    dataset.spec = describe(path, series, fields);
    for (size_t i = 0; i < sites->count; i++)
        dataset.names += strlen(sites->names[i]) + 1;
    TXD_TRY(txd_probe_make(&series->dataset, series->frame, &dataset));
    return recording
               ? txd_recording_strings(recording, names, sites->names, sites->count)
               : TXD_OK;
}

txd_status txd_series_create(txd_series *out, txd_probe_frame *frame, const char *name,
                             const char *fields, txd_site_kind kind)
{
    size_t count = frame->sites[kind].count;
    txd_series series = {.frame = frame,
                         .kind = kind,
                         .fields = count_fields(fields),
                         .next = frame->series};

    if (count == 0)
        return TXD_OK;
    series.values =
        txd_arena_alloc(frame->arena, count * series.fields, sizeof(double));
    if (!series.values)
        return TXD_ERR_MEMORY;
    clear(&series);
    TXD_TRY(make(&series, name, fields));
    *out = series;
    frame->series = out;
    return TXD_OK;
}

double *txd_series_row(txd_series *series, const txd_site *site)
{
    series->is_set = true;
    return series->values + txd_probe_row(series->frame, site) * series->fields;
}

txd_status txd_series_write(txd_series *series, int step)
{
    const size_t start[2] = {0, 0};
    const size_t count[2] = {series->frame->sites[series->kind].count, series->fields};

    if (!series->is_set)
        return TXD_OK;
    TXD_TRY(txd_recording_write(series->frame->context->recording, series->dataset,
                                series->kind == TXD_SITE_VALUE ? (size_t)step : 0,
                                start, count, series->values, TXD_F64));
    clear(series);
    return TXD_OK;
}

const char *txd_series_stat_fields(txd_arena *arena, const char *more)
{
    txd_text text;
    char *fields = NULL;

    txd_text_init(&text);
    for (int i = 0; i < TXD_STAT_COUNT_OF; i++)
        txd_text_addf(&text, "%s%s", i ? "," : "", txd_stat_get((txd_stat)i)->name);
    txd_text_add(&text, more);
    if (txd_text_status(&text) == TXD_OK)
        fields = txd_arena_string(arena, txd_text_get(&text));
    else
        txd_fail(TXD_ERR_MEMORY, "no memory for the names of statistics");
    txd_text_finish(&text);
    return fields;
}
