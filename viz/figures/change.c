/* SPDX-License-Identifier: MIT
 *
 * Figure: a value in two recordings of the same tokens and the difference, in colours
 * of its own: what a fault, a format or an edit did to it. The two share one scale.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/change.h"
#include "viz/figures/figures.h"
#include "viz/read/compared.h"
#include "viz/read/tile.h"

enum { SIDE = 330, CELLS = 240, LABELS = 22 };

enum { HERE, THERE, DIFFERENCE };

typedef struct change {
    const txd_figure_request *request;
    txd_arena *arena;
    const txd_trace *recordings[2];
    txd_map maps[TXD_MAPS];
    bool weights; /* a cell that is hidden and silent is 0 */
} change;

static txd_status name_title(txd_map *map, const txd_slice *slice)
{
    char title[TXD_SITE_BYTES + 60];
    char head[32] = "";

    if (slice->head >= 0)
        snprintf(head, sizeof head, ", head %d", slice->head);
    snprintf(title, sizeof title, "%s%s, in two recordings", slice->site, head);
    map->title = txd_arena_string(map->arena, title);
    return map->title ? TXD_OK : TXD_ERR_MEMORY;
}

/* One of the two. */
static txd_status fill_one(change *all, int which, txd_slice *slice, txd_claim *claim)
{
    txd_map *map = &all->maps[which];
    bool matrix;
    size_t lengths[2];
    txd_figure_request zoomed = *all->request;
    txd_mask_view mask;
    txd_blank blank = {.mask = NULL};

    TXD_TRY(txd_slice_find(slice, all->recordings[which], all->request));
    TXD_TRY(txd_claim_init(claim, all->recordings[which], slice->step));
    matrix = slice->row_axis >= 0 && slice->info.axes[slice->row_axis] == 'q' &&
             slice->info.axes[slice->column_axis] == 'k';
    lengths[0] = txd_axis_filled(claim, slice, slice->row_axis);
    lengths[1] = txd_axis_filled(claim, slice, slice->column_axis);
    *map =
        (txd_map){.arena = all->arena, .side = SIDE, .limit = CELLS, .square = matrix};
    if (matrix)
        txd_blank_of(&blank, &mask, claim, slice);
    all->weights = matrix && blank.silent == TXD_SILENT_ZERO;
    map->by_size = strstr(slice->site, "weights") == NULL;
    map->loud = blank.silent == TXD_SILENT_MASKED ? "not masked" : "not 0";
    TXD_TRY(name_title(map, slice));
    TXD_TRY(txd_tile_zoom(&zoomed, slice));
    TXD_TRY(txd_map_select(map, slice, &zoomed, lengths));
    if (map->rows.count <= LABELS && map->columns.count <= LABELS)
        TXD_TRY(txd_map_label(map, claim, slice));
    TXD_TRY(txd_map_fill(map, slice, &blank));
    if (!blank.mask)
        return TXD_OK;
    TXD_TRY(txd_map_find_edges(map, blank.mask));
    txd_map_grey_padding(map, &blank);
    return TXD_OK;
}

/* One scale for both: that of a map which holds the cells of the two. */
static txd_status share_scale(change *all)
{
    const txd_map *one = &all->maps[HERE];
    size_t cells = one->rows.cells * one->columns.cells;
    txd_map both = *one;

    both.rows.cells *= 2;
    both.cells = txd_arena_alloc(all->arena, 2 * cells, sizeof *both.cells);
    if (!both.cells)
        return TXD_ERR_MEMORY;
    for (int i = 0; i < 2; i++)
        memcpy(both.cells + (size_t)i * cells, all->maps[i].cells,
               cells * sizeof *both.cells);
    TXD_TRY(txd_map_scale(&both, all->request->scale, !one->by_size));
    for (int i = 0; i < 2; i++) {
        all->maps[i].cells = both.cells + (size_t)i * cells;
        all->maps[i].low = both.low;
        all->maps[i].high = both.high;
        all->maps[i].logarithmic = both.logarithmic;
    }
    return TXD_OK;
}

/* The other minus this: where the one is blank and the other is not, hidden weights are
 * 0, and of other values there is no difference. */
static txd_status subtract(change *all)
{
    const txd_map *here = &all->maps[HERE], *there = &all->maps[THERE];
    txd_map *map = &all->maps[DIFFERENCE];
    size_t cells = here->rows.cells * here->columns.cells;
    double largest = 0;

    *map = *here;
    map->cells = txd_arena_alloc(all->arena, cells, sizeof *map->cells);
    map->flags = txd_arena_alloc(all->arena, cells, 1);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    map->leaks = map->nonfinite = (txd_marks){.total = 0};
    for (size_t i = 0; i < cells; i++) {
        double a = here->cells[i], b = there->cells[i];
        int flags = here->flags[i] | there->flags[i];
        int bad = flags & TXD_FLAG_NONFINITE;

        map->flags[i] =
            (unsigned char)(flags & (TXD_FLAG_NONFINITE | TXD_FLAG_UNKNOWN));
        map->nonfinite.total += bad != 0;
        if (all->weights && !bad && isnan(a) != isnan(b)) {
            a = isnan(a) ? 0 : a;
            b = isnan(b) ? 0 : b;
        }
        map->cells[i] = bad ? (double)NAN : b - a;
        if (fabs(map->cells[i]) > largest) {
            largest = fabs(map->cells[i]);
            map->peak = (txd_peak){.row = i / map->columns.cells,
                                   .column = i % map->columns.cells};
        }
    }
    map->diverging = true;
    map->logarithmic = false;
    map->high = largest > 0 ? fmin(largest, 1e300) : 1;
    map->low = -map->high;
    map->peak.value = largest;
    return TXD_OK;
}

txd_status txd_change_note(txd_map *map, const txd_trace *const recordings[2])
{
    static const char *const names[] = {"this", "the other"};
    txd_text words;
    txd_status status = TXD_OK;

    if (txd_compared_same(recordings[HERE], recordings[THERE]) == TXD_ERR_CONFIG)
        TXD_TRY(txd_map_note(map, true, TXD_COLOUR_INK, txd_message()));
    for (int i = 0; i < 2 && status == TXD_OK; i++) {
        txd_text_init(&words);
        txd_text_addf(&words, "%s: ", names[i]);
        txd_recording_words(&words, recordings[i]);
        status = txd_text_status(&words);
        if (status == TXD_OK)
            status = txd_map_note(map, true, TXD_COLOUR_QUIET, txd_text_get(&words));
        txd_text_finish(&words);
    }
    return status;
}

static txd_status note_leaks(txd_map *map, const change *all)
{
    static const char *const names[] = {"this recording", "the other"};
    char line[200];

    for (int i = 0; i < 2; i++) {
        const txd_marks *leaks = &all->maps[i].leaks;

        if (leaks->total == 0)
            continue;
        snprintf(line, sizeof line,
                 "Marked in this colour: in %s %zu hidden %s %s; largest %.3g at %s "
                 "%zu, %s %zu",
                 names[i], leaks->total, leaks->total == 1 ? "cell is" : "cells are",
                 map->loud, leaks->worst, map->rows.title, leaks->row,
                 map->columns.title, leaks->column);
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_LEAK, line));
    }
    return TXD_OK;
}

static txd_status note_difference(txd_map *map, const txd_map *difference)
{
    size_t at = difference->peak.row * map->columns.cells + difference->peak.column;
    bool pooled =
        map->rows.cells != map->rows.count || map->columns.cells != map->columns.count;
    char line[240];

    if (!(difference->peak.value > 0))
        return txd_map_note(map, false, TXD_COLOUR_INK,
                            "The two are the same wherever both are finite");
    snprintf(line, sizeof line, "Largest difference%s: %+.3g at %s %zu, %s %zu",
             pooled ? " of two cells" : "", difference->cells[at], map->rows.title,
             map->rows.places[difference->peak.row * map->rows.count / map->rows.cells],
             map->columns.title,
             map->columns.places[difference->peak.column * map->columns.count /
                                 map->columns.cells]);
    return txd_map_note(map, false, TXD_COLOUR_INK, line);
}

static txd_status describe(change *all, const txd_slice *slice)
{
    static const char *const headings[] = {"this recording", "the other",
                                           "the other minus this"};
    txd_map *map = &all->maps[HERE];
    const txd_map *difference = &all->maps[DIFFERENCE];
    char line[120];

    for (int i = 0; i < TXD_MAPS; i++) {
        all->maps[i].heading = headings[i];
        if (i == HERE)
            continue;
        all->maps[i].rows.labels = NULL;
        all->maps[i].rows.tics = "";
    }
    map->no_bar = true;
    snprintf(line, sizeof line, "step %zu, batch %zu; difference from %.3g to %.3g",
             slice->step, slice->batch, difference->low, difference->high);
    TXD_TRY(txd_map_note_scale(map, line));
    TXD_TRY(txd_change_note(map, all->recordings));
    TXD_TRY(note_difference(map, difference));
    TXD_TRY(note_leaks(map, all));
    if (difference->nonfinite.total != 0)
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_NONFINITE,
                             "Marked in this colour: NaN or infinite"));
    TXD_TRY(txd_map_note_grey(map));
    return txd_map_note_edges(map);
}

static txd_status same_shape(const change *all)
{
    const txd_map *a = &all->maps[HERE], *b = &all->maps[THERE];

    if (a->rows.count == b->rows.count && a->columns.count == b->columns.count)
        return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG,
                    "%s: %zu x %zu in the first recording, %zu x %zu in the other",
                    all->request->site, a->rows.count, a->columns.count, b->rows.count,
                    b->columns.count);
}

/* One value of both, and the difference. */
static txd_status draw_value(txd_drawing *out, change *all)
{
    const txd_map *maps[TXD_MAPS];
    txd_claim claims[2] = {{.arena = NULL}, {.arena = NULL}};
    txd_slice slices[2];
    txd_status status = TXD_OK;

    for (int i = 0; i < 2 && status == TXD_OK; i++)
        status = fill_one(all, i, &slices[i], &claims[i]);
    for (int i = 0; i < 2; i++)
        txd_claim_finish(&claims[i]);
    TXD_TRY(status);
    TXD_TRY(same_shape(all));
    TXD_TRY(subtract(all));
    TXD_TRY(share_scale(all));
    TXD_TRY(describe(all, &slices[HERE]));
    for (int i = 0; i < TXD_MAPS; i++)
        maps[i] = &all->maps[i];
    return txd_maps_draw(out, maps, TXD_MAPS);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    txd_figure_request actual = *request;
    change all = {.request = &actual,
                  .arena = out->arena,
                  .recordings = {recording, request->other}};

    if (!request->other)
        return txd_fail(TXD_ERR_CONFIG, "change: needs a second recording of the same "
                                        "tokens: --other OTHER.h5");
    TXD_TRY(txd_compared_tokens(recording, request->other));
    if (strcmp(request->site, "change") == 0)
        actual.site = "layers.*.attn.weights";
    if (txd_site_is_weights(actual.site) && actual.head < 0)
        return txd_change_of_heads(out, recording, &actual);
    return draw_value(out, &all);
}

const txd_figure txd_figure_change = {
    .name = "change",
    .sentence =
        "a value in two recordings, before and after a fault, and the difference",
    .usage =
        "txdiag plot REC.h5 layers.1.attn.weights --head 1 --other OTHER.h5 -o FILE",
    .draw = draw,
};
