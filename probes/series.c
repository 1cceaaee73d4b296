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

static bool has_kind(const txd_series *series, int kind)
{
    return (series->spec.kinds & TXD_KIND(kind)) != 0;
}

/* Parameters are offered once, all else in every step. */
static bool is_per_step(const txd_series *series)
{
    return !has_kind(series, TXD_SITE_PARAMETER);
}

static void clear(txd_series *series)
{
    for (size_t i = 0; i < series->rows * series->fields; i++)
        series->values[i] = NAN;
    series->is_set = false;
}

static txd_dataset_spec describe(const char *path, const txd_series *series)
{
    bool per_step = is_per_step(series);

    return (txd_dataset_spec){
        .path = path,
        .axes = per_step ? "sxy" : "xy",
        .point = "",
        .unit = "",
        .dtype = TXD_F64,
        .per_step = per_step,
        .rank = 2,
        .dims = {series->rows, series->fields},
        .steps = per_step ? series->frame->context->steps : 1,
        .fields = series->spec.fields,
    };
}

/* The rows' names: sites kind by kind, which is their order of execution, and groups.
 */
static const char **names_of(const txd_series *series)
{
    const char **names =
        txd_arena_alloc(series->frame->arena, series->rows, sizeof *names);
    size_t count = 0;

    for (int kind = 0; names && kind < TXD_SITE_KINDS; kind++) {
        const txd_probe_sites *sites = &series->frame->sites[kind];

        for (size_t i = 0; has_kind(series, kind) && i < sites->count; i++)
            names[count++] = sites->names[i];
    }
    for (size_t i = 0; names && i < series->spec.group_count; i++)
        names[count++] = series->spec.groups[i];
    return names;
}

/* The dataset, and the names of its rows beside it. */
static txd_status make(txd_series *series)
{
    txd_recording *recording = series->frame->context->recording;
    const char **names = names_of(series);
    char path[64], list[64];
    txd_probe_dataset dataset = {.name = path};

    if (!names)
        return TXD_ERR_MEMORY;
    snprintf(path, sizeof path, "series/%s", series->spec.name);
    snprintf(list, sizeof list, "series/%s_sites", series->spec.name);
    dataset.spec = describe(path, series);
    for (size_t i = 0; i < series->rows; i++)
        dataset.names += strlen(names[i]) + 1;
    TXD_TRY(txd_probe_make(&series->dataset, series->frame, &dataset));
    return recording ? txd_recording_strings(recording, list, names, series->rows)
                     : TXD_OK;
}

txd_status txd_series_create(txd_series *out, txd_probe_frame *frame,
                             const txd_series_spec *spec)
{
    txd_series series = {.frame = frame,
                         .spec = *spec,
                         .fields = count_fields(spec->fields),
                         .rows = spec->group_count,
                         .next = frame->series};

    for (int kind = 0; kind < TXD_SITE_KINDS; kind++)
        if (has_kind(&series, kind))
            series.rows += frame->sites[kind].count;
    if (series.rows == 0)
        return TXD_OK;
    series.values =
        txd_arena_alloc(frame->arena, series.rows * series.fields, sizeof(double));
    if (!series.values)
        return TXD_ERR_MEMORY;
    clear(&series);
    TXD_TRY(make(&series));
    *out = series;
    frame->series = out;
    return TXD_OK;
}

double *txd_series_row(txd_series *series, const txd_site *site)
{
    size_t row = txd_probe_row(series->frame, site);

    for (int kind = 0; kind < (int)site->kind; kind++)
        if (has_kind(series, kind))
            row += series->frame->sites[kind].count;
    series->is_set = true;
    return series->values + row * series->fields;
}

double *txd_series_group(txd_series *series, size_t group)
{
    size_t row = series->rows - series->spec.group_count + group;

    series->is_set = true;
    return series->values + row * series->fields;
}

txd_status txd_series_write(txd_series *series, int step)
{
    const size_t start[2] = {0, 0};
    const size_t count[2] = {series->rows, series->fields};

    if (!series->is_set)
        return TXD_OK;
    TXD_TRY(txd_recording_write(series->frame->context->recording, series->dataset,
                                is_per_step(series) ? (size_t)step : 0, start, count,
                                series->values, TXD_F64));
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
