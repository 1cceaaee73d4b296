/* SPDX-License-Identifier: MIT
 *
 * Measures how far two recordings of one model are apart: which values both have, and
 * what stands in for those that only one has in full.
 */
#include "viz/read/compared.h"

#include <math.h>
#include <string.h>

#include "viz/read/curves.h"

enum { MOST_STEPS = 64 };

#define MOST_VALUES 0x1p36 /* of one point, that are compared */

/* Everything that a measurement needs, besides what it gives. */
typedef struct measuring {
    txd_compared *out;
    txd_arena *arena;
    txd_claim *claims; /* of the common steps */
    double loss_scales[2];
    bool sparse; /* heads or steps were selected: NaN stands for the others */
    size_t capacity;
} measuring;

bool txd_error_is_gradient(const txd_error *error)
{
    return txd_ends_in(error->name, TXD_GRADIENT_SUFFIX);
}

size_t txd_compared_end(const txd_compared *compared, size_t begin)
{
    const txd_error *first = &compared->errors[begin];
    size_t end = begin;

    while (end < compared->count && compared->errors[end].kind == first->kind &&
           strcmp(compared->errors[end].name, first->name) == 0)
        end++;
    return end;
}

static txd_dtype format_of(const txd_trace *recording)
{
    return txd_recording_format(txd_trace_meta(recording, "dtype"));
}

static void choose_reference(txd_compared *out, const txd_trace *first,
                             const txd_trace *second)
{
    double coarse[2] = {txd_roundoff_of_format(format_of(first)).store,
                        txd_roundoff_of_format(format_of(second)).store};

    out->swapped = coarse[0] < coarse[1];
    out->reference = out->swapped ? first : second;
    out->measured = out->swapped ? second : first;
    out->formats[0] = txd_recording_dtype(format_of(out->reference));
    out->formats[1] = txd_recording_dtype(format_of(out->measured));
    out->roundoff = txd_roundoff_of_format(format_of(out->measured)).store;
}

/* "full\tpoints\tlayers\theads\tsteps" with anything but '*' for the last two. */
static bool is_sparse(const txd_trace *recording)
{
    const char *record = txd_trace_meta(recording, "record");

    for (const char *line = record; line && *line;) {
        size_t bytes = strcspn(line, "\n");
        bool whole = bytes > 4 && memcmp(line + bytes - 4, "\t*\t*", 4) == 0;

        if (strncmp(line, "full\t", 5) == 0 && !whole)
            return true;
        line += bytes + (line[bytes] == '\n');
    }
    return false;
}

static txd_status steps_of(size_t *out, const txd_trace *recording)
{
    static const char *const names[] = {"steps/step", "input/tokens"};
    txd_trace_info info;
    size_t entry, shape[TXD_REPLAY_SHAPE] = {0};

    for (size_t i = 0; i < 2; i++)
        if (txd_trace_find(recording, &entry, names[i]) == TXD_OK &&
            txd_trace_get(recording, &info, entry) == TXD_OK && info.rank > 0) {
            *out = info.dims[0];
            return TXD_OK;
        }
    TXD_TRY(txd_replay_shape(shape, recording));
    *out = shape[0];
    return TXD_OK;
}

/* --- which values --- */

static txd_status add_error(measuring *m, const txd_pair *pair, const char *name,
                            txd_error_kind kind, int layer)
{
    txd_error *error = &m->out->errors[m->out->count];
    char general[TXD_SITE_BYTES];

    if (m->out->count == m->capacity)
        return txd_fail(TXD_ERR_LIMIT, "more values than a report can compare");
    txd_site_generalise(general, name);
    *error = (txd_error){
        .name = txd_arena_string(m->arena, general), .layer = layer, .kind = kind};
    if (!error->name)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_pair_sum(error, m->out, pair, m->claims));
    if (error->elements == 0)
        return TXD_OK;
    m->out->count++;
    if (layer >= 0 && (size_t)layer >= m->out->layers)
        m->out->layers = (size_t)layer + 1;
    return TXD_OK;
}

/* A file of kilobytes can claim more than can be read in a day. */
static bool is_readable(const txd_trace_info *info, size_t steps)
{
    double values = (double)steps;

    for (int axis = 1; axis < info->rank; axis++)
        values *= (double)info->dims[axis];
    return values <= MOST_VALUES;
}

/* True, with what both have of it, if both have the entry in the same shape. */
static bool find_pair(txd_pair *out, const measuring *m, const char *name)
{
    const txd_trace *const both[2] = {m->out->reference, m->out->measured};
    txd_trace_info infos[2];

    *out = (txd_pair){.scales = {1, 1}, .layer = -1, .fixed_axis = -1};
    for (int i = 0; i < 2; i++)
        if (txd_trace_find(both[i], &out->entries[i], name) != TXD_OK ||
            txd_trace_get(both[i], &infos[i], out->entries[i]) != TXD_OK ||
            infos[i].foreign || infos[i].rank < 1)
            return false;
    for (int axis = 1; axis < infos[0].rank; axis++)
        if (infos[1].rank != infos[0].rank || infos[0].dims[axis] == 0 ||
            infos[0].dims[axis] != infos[1].dims[axis])
            return false;
    out->info = infos[0];
    return infos[0].rank == infos[1].rank && infos[0].dims[0] >= m->out->common &&
           infos[1].dims[0] >= m->out->common;
}

/* Values and gradients are named with dots; everything else has a path. */
static txd_status add_full(measuring *m, const txd_trace_info *info)
{
    bool is_real = info->dtype != TXD_I32 && info->dtype != TXD_I64;
    bool is_memory = strcmp(info->name, "input/memory") == 0; /* an input with values */
    txd_point point;
    txd_pair pair;
    int layer;

    if ((strchr(info->name, '/') && !is_memory) || !is_real ||
        (is_memory && find_pair(&pair, m, "input.memory")) ||
        !find_pair(&pair, m, info->name) || !is_readable(info, m->out->common))
        return TXD_OK;
    layer = txd_site_layer(info->name);
    if (strstr(info->name, ".attn.") || strstr(info->name, ".cross."))
        pair.layer = layer;
    if (txd_point_parse_gradient(&point, &layer, info->name) == TXD_OK)
        memcpy(pair.scales, m->loss_scales, sizeof pair.scales);
    layer = txd_site_layer(info->name);
    pair.nan_is_nothing =
        m->sparse || strcmp(info->name, "loss.token") == 0 ||
        (txd_axis_of(info, 'k') >= 0 && txd_ends_in(info->name, TXD_GRADIENT_SUFFIX));
    return add_error(m, &pair, is_memory ? "input.memory" : info->name, TXD_ERROR_FULL,
                     layer);
}

static bool has_error(const txd_compared *compared, const char *name, int layer)
{
    for (size_t i = 0; i < compared->count; i++)
        if (compared->errors[i].layer == layer &&
            strcmp(compared->errors[i].name, name) == 0)
            return true;
    return false;
}

static const char *weights_of(const char *rows)
{
    return txd_site_attention(rows) == TXD_ATTENTION_CROSS ? "layers.*.cross.weights"
                                                           : "layers.*.attn.weights";
}

/* Row statistics, of layers whose weights are not in both. */
static txd_status add_rows(measuring *m)
{
    static const char *const names[] = {"rows/entropy",   "rows/lse",
                                        "rows/peak",      "cross_rows/entropy",
                                        "cross_rows/lse", "cross_rows/peak"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        txd_pair pair;
        int axis;

        if (!find_pair(&pair, m, names[i]))
            continue;
        axis = txd_axis_of(&pair.info, 'l');
        if (axis < 1)
            continue;
        pair.fixed_axis = axis;
        pair.nan_is_nothing = true;
        for (size_t layer = 0; layer < pair.info.dims[axis]; layer++) {
            pair.fixed = layer;
            if (!has_error(m->out, weights_of(names[i]), (int)layer))
                TXD_TRY(add_error(m, &pair, names[i], TXD_ERROR_ROWS, (int)layer));
        }
    }
    return TXD_OK;
}

/* A value of which both know the rms at least, and not more. */
static txd_status add_rms(measuring *m, const txd_curves curves[2],
                          double *const rms[2], size_t row)
{
    const char *name = curves[0].sites[row];
    char general[TXD_SITE_BYTES];
    size_t other;
    txd_error *error = &m->out->errors[m->out->count];
    double difference = 0, reference = 0;

    txd_site_generalise(general, name);
    if (txd_ends_in(name, TXD_GRADIENT_SUFFIX) || m->out->count == m->capacity ||
        has_error(m->out, general, txd_site_layer(name)) ||
        !txd_curves_find(&other, &curves[1], name))
        return TXD_OK;
    *error = (txd_error){.name = txd_arena_string(m->arena, general),
                         .layer = txd_site_layer(name),
                         .kind = TXD_ERROR_STATS,
                         .elements = m->out->common};
    for (size_t step = 0; step < m->out->common; step++) {
        double a = rms[0][step * curves[0].site_count + row];
        double b = rms[1][step * curves[1].site_count + other];

        if (isnan(a) && isnan(b))
            continue;
        error->nonfinite += !isfinite(a) || !isfinite(b);
        error->largest = fmax(error->largest, fabs(a - b));
        difference += (a - b) * (a - b);
        reference += a * a;
    }
    error->relative = error->nonfinite  ? (double)NAN
                      : difference == 0 ? 0
                                        : sqrt(difference) / sqrt(reference);
    m->out->count++;
    if (error->layer >= 0 && (size_t)error->layer >= m->out->layers)
        m->out->layers = (size_t)error->layer + 1;
    return error->name ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status add_stats(measuring *m)
{
    const txd_trace *const both[2] = {m->out->reference, m->out->measured};
    txd_curves curves[2];
    double *rms[2];

    for (int i = 0; i < 2; i++) {
        if (txd_curves_open(&curves[i], m->arena, both[i], "series/stats") != TXD_OK ||
            !curves[i].has_steps || curves[i].steps < m->out->common ||
            txd_curves_read(&rms[i], &curves[i], "rms") != TXD_OK)
            return TXD_OK;
    }
    for (size_t row = 0; row < curves[0].site_count; row++)
        TXD_TRY(add_rms(m, curves, rms, row));
    return TXD_OK;
}

/* --- order --- */

/* Gradients come from the last layer to the first. */
static void insert(txd_error *sorted, size_t begin, size_t end, const txd_error *error)
{
    size_t at = end;

    for (; at > begin && sorted[at - 1].layer > error->layer; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = *error;
}

/* Errors of one name next to each other, names as they came first. */
static txd_status gather(txd_compared *out, txd_arena *arena)
{
    txd_error *sorted = txd_arena_alloc(arena, out->count, sizeof *sorted);
    bool *is_done = txd_arena_alloc(arena, out->count, sizeof *is_done);
    size_t kept = 0;

    if (!sorted || !is_done)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < out->count; i++) {
        const txd_error *first = &out->errors[i];
        size_t begin = kept;

        for (size_t j = i; j < out->count && !is_done[i]; j++) {
            const txd_error *next = &out->errors[j];

            if (is_done[j] || next->kind != first->kind ||
                strcmp(next->name, first->name) != 0)
                continue;
            insert(sorted, begin, kept++, next);
            is_done[j] = j != i;
        }
    }
    out->errors = sorted;
    return TXD_OK;
}

static txd_status measure(measuring *m)
{
    const txd_trace *reference = m->out->reference;
    size_t entries = txd_trace_count(reference);

    for (size_t i = 0; i < entries; i++) {
        txd_trace_info info;

        TXD_TRY(txd_trace_get(reference, &info, i));
        TXD_TRY(add_full(m, &info));
    }
    TXD_TRY(add_rows(m));
    TXD_TRY(add_stats(m));
    if (m->out->count == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "the recordings have no value in common to compare: record the "
                        "same in both, for example record = ( { probe = \"full\"; "
                        "points = \"layers.*.resid.post,logits\"; } );");
    return gather(m->out, m->arena);
}

static txd_status prepare(measuring *m)
{
    const txd_trace *const both[2] = {m->out->reference, m->out->measured};
    txd_curves curves;
    size_t sites = 0;

    for (int i = 0; i < 2; i++) {
        txd_claim claim;
        txd_status status = txd_claim_init(&claim, both[i], 0);

        m->loss_scales[i] =
            status == TXD_OK && claim.configured ? claim.config.loss_scale : 1;
        txd_claim_finish(&claim);
        TXD_TRY(status);
        TXD_TRY(steps_of(&m->out->steps[i], both[i]));
    }
    m->out->common =
        m->out->steps[0] < m->out->steps[1] ? m->out->steps[0] : m->out->steps[1];
    if (m->out->common > MOST_STEPS)
        m->out->common = MOST_STEPS;
    m->sparse = is_sparse(both[0]) || is_sparse(both[1]);
    if (txd_curves_open(&curves, m->arena, both[0], "series/stats") == TXD_OK)
        sites = curves.site_count;
    m->capacity = txd_trace_count(both[0]) + sites + 6 * 1024;
    m->out->errors = txd_arena_alloc(m->arena, m->capacity, sizeof *m->out->errors);
    m->claims = txd_arena_alloc(m->arena, m->out->common, sizeof *m->claims);
    return m->out->errors && m->claims ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_compared_measure(txd_compared *out, txd_arena *arena,
                                const txd_trace *first, const txd_trace *second)
{
    measuring m = {.out = out, .arena = arena};
    txd_status status;
    size_t made = 0;

    *out = (txd_compared){.count = 0};
    TXD_TRY(txd_compared_same(first, second));
    choose_reference(out, first, second);
    status = prepare(&m);
    for (; made < out->common && status == TXD_OK; made++)
        status = txd_claim_init(&m.claims[made], out->reference, made);
    if (status == TXD_OK)
        status = measure(&m);
    for (size_t i = 0; i < made; i++)
        txd_claim_finish(&m.claims[i]);
    return status;
}
