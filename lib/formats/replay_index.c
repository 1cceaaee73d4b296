/* SPDX-License-Identifier: MIT
 *
 * Reading the index of a recording: which entry belongs to which stop of a pass. The
 * file may come from anybody, so nothing is believed that the configuration does not
 * bear out.
 */
#include <stdio.h>
#include <string.h>

#include "formats/replay_internal.h"

static txd_status read_use(txd_replay_use *out, char *line)
{
    char *fields[5] = {line, NULL, NULL, NULL, NULL};

    for (int i = 1; i < 5; i++) {
        fields[i] = strchr(fields[i - 1], '\t');
        if (!fields[i])
            return txd_fail(TXD_ERR_FORMAT,
                            "attribute \"record\": expected five "
                            "columns (probe, points, layers, heads, steps): \"%.80s\"",
                            line);
        *fields[i]++ = '\0';
    }
    out->probe = fields[0];
    out->points = fields[1];
    TXD_TRY(txd_range_parse(&out->layers, fields[2]));
    TXD_TRY(txd_range_parse(&out->heads, fields[3]));
    return txd_range_parse(&out->steps, fields[4]);
}

static txd_status read_uses(txd_replay *replay)
{
    const char *text = txd_trace_meta(replay->trace, "record");
    char *line, *next;
    size_t lines = 1;

    if (!text)
        return TXD_OK;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    replay->uses = txd_arena_alloc(replay->arena, lines, sizeof *replay->uses);
    line = txd_arena_string(replay->arena, text);
    if (!replay->uses || !line)
        return TXD_ERR_MEMORY;
    for (; *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        else
            next = line + strlen(line);
        if (read_use(&replay->uses[replay->use_count], line) != TXD_OK)
            return txd_fail(TXD_ERR_FORMAT, "%s", txd_message());
        replay->use_count++;
    }
    return TXD_OK;
}

static txd_status make_stops(txd_replay *replay)
{
    size_t layers = replay->config.n_layers + 1, count;
    txd_stop *order;

    TXD_TRY(txd_points_order(&order, &count, replay->arena, &replay->config));
    TXD_TRY(txd_params_describe(&replay->shapes, &replay->config));
    replay->stops =
        txd_arena_alloc(replay->arena, 2 * count + txd_params_count(replay->shapes),
                        sizeof *replay->stops);
    replay->stop_of = txd_arena_alloc(replay->arena, TXD_POINT_COUNT * layers,
                                      sizeof *replay->stop_of);
    if (!replay->stops || !replay->stop_of)
        return TXD_ERR_MEMORY;
    replay->value_count = replay->stop_count = count;
    for (size_t i = 0; i < TXD_POINT_COUNT * layers; i++)
        replay->stop_of[i] = TXD_REPLAY_NONE;
    for (size_t i = 0; i < count; i++) {
        txd_replay_stop *stop = &replay->stops[i];
        char name[96];

        txd_point_name(name, sizeof name, order[i].point, order[i].layer);
        stop->site = (txd_site){.kind = TXD_SITE_VALUE,
                                .point = order[i].point,
                                .layer = order[i].layer,
                                .index = i,
                                .name = txd_arena_string(replay->arena, name)};
        if (!stop->site.name)
            return TXD_ERR_MEMORY;
        stop->value = TXD_REPLAY_NONE;
        for (int s = 0; s < TXD_REPLAY_SERIES; s++)
            stop->row[s] = TXD_REPLAY_NONE;
        replay
            ->stop_of[(size_t)order[i].point * layers + (size_t)(order[i].layer + 1)] =
            i;
    }
    return txd_replay_add_gradients(replay);
}

static txd_status take_values(txd_replay *replay)
{
    size_t count = txd_trace_count(replay->trace);

    for (size_t i = 0; i < count; i++) {
        txd_trace_info info;
        txd_point point;
        size_t stop;
        int layer;

        TXD_TRY(txd_trace_get(replay->trace, &info, i));
        stop = txd_replay_parse(replay, info.name);
        if (stop == TXD_REPLAY_NONE) {
            if (!txd_point_of_name(&point, &layer, info.name) &&
                !txd_point_of_gradient(&point, &layer, info.name))
                continue;
            return txd_replay_no_value(replay, info.name);
        }
        TXD_TRY(txd_replay_check_value(replay, &info, stop));
        replay->stops[stop].value = i;
    }
    return TXD_OK;
}

/* Values that were recorded as an input are those of the point. */
static void take_memory_values(txd_replay *replay)
{
    size_t stop = txd_replay_stop_of(replay, TXD_POINT_INPUT_MEMORY, -1);

    if (stop != TXD_REPLAY_NONE && replay->stops[stop].value == TXD_REPLAY_NONE)
        replay->stops[stop].value = replay->memory_values;
}

static txd_status check_rows(const txd_replay *replay, size_t entry)
{
    const txd_config *c = &replay->config;
    txd_trace_info info;

    TXD_TRY(txd_trace_get(replay->trace, &info, entry));
    if (info.rank != 5 || info.dims[1] != c->n_layers || info.dims[2] > replay->batch ||
        info.dims[3] != c->n_heads || info.dims[4] > replay->length)
        return txd_replay_no_fit(&info, "slbhq with the layers, heads and lengths");
    return TXD_OK;
}

static txd_status take_rows(txd_replay *replay, txd_attention_kind kind)
{
    replay->has_rows[kind] = kind == TXD_ATTENTION_SELF || replay->config.cross;
    for (int c = 0; c < TXD_ROW_COUNT; c++) {
        char name[64];

        snprintf(name, sizeof name, "%srows/%s",
                 kind == TXD_ATTENTION_CROSS ? "cross_" : "",
                 txd_row_get((txd_row)c)->name);
        replay->rows[kind][c] = txd_replay_find(replay, name);
        if (replay->rows[kind][c] == TXD_REPLAY_NONE)
            replay->has_rows[kind] = false;
        else
            TXD_TRY(check_rows(replay, replay->rows[kind][c]));
    }
    return TXD_OK;
}

/* The rows of a series. */
typedef struct site_list {
    const char *const *names;
    size_t count;
} site_list;

/* A series has a row per site and at least so many fields. */
static txd_status take_series(const txd_replay *replay, size_t *entry, site_list *sites,
                              const char *series, size_t fields)
{
    char list[64];
    txd_trace_info info;

    *entry = txd_replay_find(replay, series);
    *sites = (site_list){NULL, 0};
    if (*entry == TXD_REPLAY_NONE)
        return TXD_OK;
    TXD_TRY(txd_trace_get(replay->trace, &info, *entry));
    snprintf(list, sizeof list, "%s_sites", series);
    if (txd_trace_strings(replay->trace, &sites->names, &sites->count, list) != TXD_OK)
        return txd_fail(TXD_ERR_FORMAT, "%s: its list of sites cannot be read: %s",
                        series, txd_message());
    if (info.rank < 2 || info.rank > 3 || info.dims[info.rank - 2] != sites->count ||
        info.dims[info.rank - 1] < fields)
        return txd_replay_no_fit(&info, "a row per site and the statistics as fields");
    return TXD_OK;
}

static txd_status take_stats(txd_replay *replay)
{
    static const struct {
        const char *name;
        size_t fields;
    } series[TXD_REPLAY_SERIES] = {
        [TXD_REPLAY_STATS] = {"series/stats", TXD_STAT_COUNT_OF},
        [TXD_REPLAY_PARAM_GRAD] = {"series/param_grad", TXD_STAT_COUNT_OF},
        [TXD_REPLAY_GRAD_NORM] = {"series/grad_norm", TXD_REPLAY_NORM_FIELDS}};
    site_list sites;

    TXD_TRY(take_series(replay, &replay->params, &sites, "series/param",
                        TXD_STAT_COUNT_OF));
    replay->param_names = sites.names;
    replay->param_count = sites.count;
    for (int s = 0; s < TXD_REPLAY_SERIES; s++) {
        TXD_TRY(take_series(replay, &replay->series[s], &sites, series[s].name,
                            series[s].fields));
        for (size_t i = 0; i < sites.count; i++) {
            size_t stop = txd_replay_parse(replay, sites.names[i]);

            if (stop != TXD_REPLAY_NONE)
                replay->stops[stop].row[s] = i;
        }
    }
    return TXD_OK;
}

txd_status txd_replay_index(txd_replay *replay)
{
    txd_trace_info info;

    TXD_TRY(txd_replay_read_claim(replay));
    TXD_TRY(read_uses(replay));
    TXD_TRY(make_stops(replay));
    TXD_TRY(txd_replay_take_shape(replay));
    if (replay->lengths != TXD_REPLAY_NONE) {
        TXD_TRY(txd_trace_get(replay->trace, &info, replay->lengths));
        if (info.rank != 1)
            return txd_replay_no_fit(&info, "one axis");
        /* An interrupted step may have its tokens but not its row here. */
        if (info.dims[0] < replay->steps)
            replay->steps = info.dims[0];
    }
    TXD_TRY(take_values(replay));
    take_memory_values(replay);
    TXD_TRY(take_rows(replay, TXD_ATTENTION_SELF));
    TXD_TRY(take_rows(replay, TXD_ATTENTION_CROSS));
    return take_stats(replay);
}
