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
    for (size_t i = 0; i < series->sites.count * series->fields; i++)
        series->values[i] = NAN;
    series->is_set = false;
}

static txd_dataset_spec describe(char path[64], const txd_probe_context *context,
                                 const txd_series_spec *spec,
                                 const txd_probe_sites *sites)
{
    snprintf(path, 64, "series/%s", spec->name);
    return (txd_dataset_spec){
        .path = path,
        .axes = spec->per_step ? "sxy" : "xy",
        .point = "",
        .unit = "",
        .dtype = TXD_F64,
        .per_step = spec->per_step,
        .rank = 2,
        .dims = {sites->count, count_fields(spec->fields)},
        .steps = spec->per_step ? context->steps : 1,
        .fields = spec->fields,
    };
}

txd_status txd_series_create(txd_series *out, txd_arena *arena,
                             const txd_probe_context *context,
                             const txd_series_spec *spec, const txd_probe_sites *sites)
{
    txd_series series = {.recording = context->recording, .sites = *sites};
    char path[64], names[64];
    txd_dataset_spec dataset = describe(path, context, spec, sites);

    series.fields = dataset.dims[1];
    series.values =
        txd_arena_alloc(arena, sites->count * series.fields, sizeof(double));
    if (!series.values)
        return TXD_ERR_MEMORY;
    clear(&series);
    if (sites->count > 0) {
        snprintf(names, sizeof names, "series/%s_sites", spec->name);
        TXD_TRY(txd_recording_dataset(series.recording, &series.dataset, &dataset));
        TXD_TRY(
            txd_recording_strings(series.recording, names, sites->names, sites->count));
    }
    *out = series;
    return TXD_OK;
}

double *txd_series_row(txd_series *series, const txd_site *site)
{
    size_t row = txd_probe_sites_index(&series->sites, site);

    if (row == series->sites.count)
        return NULL;
    series->is_set = true;
    return series->values + row * series->fields;
}

txd_status txd_series_write(txd_series *series, int step)
{
    const size_t start[2] = {0, 0};
    const size_t count[2] = {series->sites.count, series->fields};

    if (!series->is_set)
        return TXD_OK;
    TXD_TRY(txd_recording_write(series->recording, series->dataset, (size_t)step, start,
                                count, series->values, TXD_F64));
    clear(series);
    return TXD_OK;
}

txd_status txd_series_plan(const txd_probe_context *context,
                           const txd_series_spec *spec, const txd_probe_sites *sites,
                           txd_probe_add add, void *self)
{
    char path[64];
    txd_probe_dataset dataset = {.name = path};

    if (sites->count == 0)
        return TXD_OK;
    dataset.spec = describe(path, context, spec, sites);
    for (size_t i = 0; i < sites->count; i++)
        dataset.names += strlen(sites->names[i]) + 1;
    return add(self, &dataset);
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
