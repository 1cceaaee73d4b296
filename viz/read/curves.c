/* SPDX-License-Identifier: MIT
 *
 * Series and steps of a recording. Another program may have written them: whatever
 * does not fit is refused, nothing is assumed.
 */
#include "viz/read/curves.h"

#include <stdio.h>
#include <string.h>

#define MAX_NUMBERS ((size_t)1 << 26)

static size_t count_fields(const char *fields)
{
    size_t count = 1;

    for (; *fields; fields++)
        count += *fields == ',';
    return count;
}

static txd_status no_fit(const char *name, const char *what)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: %s", name, what);
}

static txd_status read_shape(txd_curves *out, const char *name)
{
    txd_trace_info info;
    size_t total;

    TXD_TRY(txd_trace_get(out->recording, &info, out->entry));
    if (info.rank != 2 && info.rank != 3)
        return no_fit(name, "expected the axes step, site, field");
    out->has_steps = info.rank == 3;
    out->steps = out->has_steps ? info.dims[0] : 1;
    if (out->site_count != info.dims[info.rank - 2])
        return no_fit(name, "its list of sites has another length");
    if (out->field_count != info.dims[info.rank - 1])
        return no_fit(name, "its attribute fields has another length");
    if (txd_size_mul(&total, out->steps, out->site_count) != TXD_OK ||
        total > MAX_NUMBERS)
        return no_fit(name, "has more numbers than a picture can show");
    return TXD_OK;
}

txd_status txd_curves_open(txd_curves *out, txd_arena *arena,
                           const txd_trace *recording, const char *name)
{
    char key[96];

    *out = (txd_curves){.recording = recording, .arena = arena};
    if (txd_trace_find(recording, &out->entry, name) != TXD_OK)
        return txd_fail(TXD_ERR_MISSING,
                        "%s: not recorded; to record it, in model.cfg: record = ( { "
                        "probe = \"%s\"; } );",
                        name, strncmp(name, "series/", 7) == 0 ? name + 7 : name);
    snprintf(key, sizeof key, "%s_sites", name);
    if (txd_trace_strings(recording, &out->sites, &out->site_count, key) != TXD_OK)
        return no_fit(name, "the names of its sites were not recorded");
    snprintf(key, sizeof key, "%s" TXD_META_FIELDS, name);
    out->fields = txd_trace_meta(recording, key);
    if (!out->fields)
        return no_fit(name, "has no attribute fields, which names its columns");
    out->field_count = count_fields(out->fields);
    return read_shape(out, name);
}

bool txd_curves_find(size_t *out, const txd_curves *curves, const char *site)
{
    for (size_t i = 0; i < curves->site_count; i++)
        if (strcmp(curves->sites[i], site) == 0) {
            *out = i;
            return true;
        }
    return false;
}

/* The number of a field in the list of them; the number of fields if it is not there.
 */
static size_t field_number(const char *fields, const char *field)
{
    size_t number = 0, length = strlen(field);

    for (const char *at = fields; *at; number++) {
        size_t bytes = strcspn(at, ",");

        if (bytes == length && memcmp(at, field, length) == 0)
            return number;
        at += bytes + (at[bytes] == ',');
    }
    return number;
}

txd_status txd_curves_read(double **out, const txd_curves *curves, const char *field)
{
    size_t total = curves->steps * curves->site_count, skip = curves->has_steps ? 0 : 1;
    size_t start[3] = {0, 0, field_number(curves->fields, field)};
    size_t count[3] = {curves->steps, curves->site_count, 1};
    double *values;

    if (start[2] >= curves->field_count)
        return txd_fail(TXD_ERR_MISSING, "no field \"%s\" was recorded, only %s", field,
                        curves->fields);
    values = txd_arena_alloc(curves->arena, total, sizeof *values);
    if (!values)
        return TXD_ERR_MEMORY;
    *out = values;
    return total == 0 ? TXD_OK
                      : txd_trace_read(curves->recording, values, curves->entry,
                                       start + skip, count + skip, TXD_F64);
}

/* Few layers, mostly in order: insertion keeps both lists together. */
static void insert(int *layers, size_t *rows, size_t found, int layer, size_t row)
{
    size_t at = found;

    for (; at > 0 && layers[at - 1] > layer; at--) {
        layers[at] = layers[at - 1];
        rows[at] = rows[at - 1];
    }
    layers[at] = layer;
    rows[at] = row;
}

txd_status txd_curves_layers(int **layers, size_t **rows, size_t *count,
                             const txd_curves *curves, const char *site)
{
    size_t found = 0;

    *layers = txd_arena_alloc(curves->arena, curves->site_count, sizeof **layers);
    *rows = txd_arena_alloc(curves->arena, curves->site_count, sizeof **rows);
    if (!*layers || !*rows)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < curves->site_count; i++) {
        int layer = txd_site_layer_in(site, curves->sites[i]);

        if (layer >= 0)
            insert(*layers, *rows, found++, layer, i);
    }
    *count = found;
    return TXD_OK;
}

txd_status txd_step_numbers(int64_t **out, txd_arena *arena, const txd_trace *recording,
                            size_t steps)
{
    const size_t start = 0;
    txd_trace_info info;
    size_t entry;

    *out = txd_arena_alloc(arena, steps, sizeof **out);
    if (!*out)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < steps; i++)
        (*out)[i] = (int64_t)i;
    if (steps == 0 || txd_trace_find(recording, &entry, "steps/step") != TXD_OK ||
        txd_trace_get(recording, &info, entry) != TXD_OK || info.rank != 1 ||
        info.dims[0] < steps)
        return TXD_OK;
    return txd_trace_read(recording, *out, entry, &start, &steps, TXD_I64);
}

/* Number `i` of `count` places is one of `chosen` evenly spaced ones, ends included. */
static bool is_chosen(size_t i, size_t count, size_t chosen)
{
    size_t nearest;

    if (count <= chosen)
        return true;
    nearest = (i * (chosen - 1) + (count - 1) / 2) / (count - 1);
    return nearest * (count - 1) / (chosen - 1) == i;
}

void txd_lines_thin(txd_line *lines, size_t count)
{
    size_t drawn = count < TXD_STEP_LINES ? count : TXD_STEP_LINES, next = 0;

    for (size_t i = 0; i < count; i++) {
        lines[i].quiet = !is_chosen(i, count, TXD_STEP_LINES);
        lines[i].legend = !lines[i].quiet && is_chosen(next, drawn, 8);
        next += !lines[i].quiet;
    }
}

void txd_lines_words(txd_text *out, size_t steps)
{
    txd_text_addf(out, "%zu step%s", steps, steps == 1 ? "" : "s");
    if (steps > TXD_STEP_LINES)
        txd_text_addf(out, ", %d of them as lines, the range of all in grey",
                      TXD_STEP_LINES);
}
