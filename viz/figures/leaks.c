/* SPDX-License-Identifier: MIT
 *
 * Figure: which layers and heads give weight to keys that the claimed mask hides, how
 * much, and at which queries and keys. A healthy model leaves it white.
 */
#include <math.h>
#include <stdio.h>

#include "viz/figures/figures.h"
#include "viz/figures/head_blocks.h"
#include "viz/read/leaks.h"

enum { SIDE = 360, PLACES = 120 };

typedef struct leak_map {
    txd_arena *arena, *scratch;
    const txd_figure_request *request;
    txd_leaks leaks[2]; /* of self- and cross-attention, if recorded */
    size_t kinds;
    txd_map maps[TXD_MAPS];
    size_t count;
} leak_map;

static txd_status number_axis(txd_axis *axis, txd_arena *arena, const int *numbers,
                              size_t count, size_t cells)
{
    axis->count = count;
    axis->cells = count < cells ? count : cells;
    axis->places = txd_arena_alloc(arena, count, sizeof *axis->places);
    if (!axis->places)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        axis->places[i] = numbers ? (size_t)numbers[i] : i;
    return TXD_OK;
}

static txd_status make_cells(txd_map *map)
{
    size_t cells = map->rows.cells * map->columns.cells;

    map->cells = txd_arena_alloc(map->arena, cells, sizeof *map->cells);
    map->flags = txd_arena_alloc(map->arena, cells, 1);
    if (!map->cells || !map->flags)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < cells; i++)
        map->cells[i] = NAN;
    return TXD_OK;
}

static const char *const attentions[] = {"self-attention", "cross-attention"};

/* Layers by heads. */
static txd_status add_heads(leak_map *all, const txd_leaks *leaks)
{
    txd_map *map = &all->maps[all->count++];

    *map = (txd_map){.arena = all->arena, .side = SIDE, .square = true};
    map->heading = txd_arena_string(all->arena, attentions[leaks->kind]);
    if (!map->heading)
        return TXD_ERR_MEMORY;
    map->rows.title = "layer";
    map->columns.title = "head";
    TXD_TRY(number_axis(&map->rows, all->arena, leaks->layers, leaks->layer_count,
                        TXD_MAP_CELLS));
    TXD_TRY(number_axis(&map->columns, all->arena, NULL, leaks->heads, TXD_MAP_CELLS));
    TXD_TRY(make_cells(map));
    for (size_t i = 0; i < leaks->layer_count * leaks->heads; i++) {
        size_t row = i / leaks->heads * map->rows.cells / map->rows.count;
        size_t column = i % leaks->heads * map->columns.cells / map->columns.count;
        size_t at = row * map->columns.cells + column;
        double share = leaks->shares[i];

        if (isnan(share))
            map->flags[at] |= TXD_FLAG_UNKNOWN;
        if (!(share > 0))
            continue;
        map->cells[at] = fmax(share, isnan(map->cells[at]) ? 0 : map->cells[at]);
        map->flags[at] |= TXD_FLAG_LEAK;
        map->leaks.total++;
    }
    map->title = "leaks";
    TXD_TRY(txd_map_scale(map, TXD_SCALE_LOG, false));
    map->no_bar = map->leaks.total == 0;
    return txd_map_rule(map);
}

/* Whether all layers have one mask, so that its edges can be drawn for all of them. */
static bool same_masks(const txd_leaks *leaks)
{
    const txd_config *config = &leaks->claim->config;

    for (size_t i = 1; leaks->kind == TXD_ATTENTION_SELF && i < leaks->layer_count;
         i++) {
        size_t a = (size_t)leaks->layers[0], b = (size_t)leaks->layers[i];

        if (!leaks->claim->configured || b >= config->n_layers ||
            config->layers[a].causal != config->layers[b].causal ||
            config->layers[a].window != config->layers[b].window)
            return false;
    }
    return true;
}

static bool find_mask(txd_mask_view *out, const txd_leaks *leaks)
{
    const txd_claim_block block = {.kind = leaks->kind,
                                   .layer = leaks->layer,
                                   .batch = leaks->batch,
                                   .queries = leaks->queries,
                                   .keys = leaks->keys};

    return txd_claim_mask(out, leaks->claim, &block);
}

static txd_status head_places(txd_map *map, const txd_leaks *leaks, bool complete)
{
    char line[120];

    snprintf(line, sizeof line, "%s %s, batch %zu",
             complete ? "sum over heads of" : "largest of each query, summed, of",
             attentions[leaks->kind], leaks->batch);
    map->heading = txd_arena_string(map->arena, line);
    return map->heading ? TXD_OK : TXD_ERR_MEMORY;
}

/* In a fine map a single cell would be overlooked. */
static void ring_largest(txd_map *map, const txd_leaks *leaks)
{
    size_t row = leaks->query * map->rows.cells / leaks->queries;
    size_t column = leaks->key * map->columns.cells / leaks->keys;

    if (row >= map->rows.cells || column >= map->columns.cells)
        return;
    map->flags[row * map->columns.cells + column] |= TXD_FLAG_LEAK;
    map->leaks.total = 1;
}

/* Queries by keys, of the batch row with the largest leak. */
static txd_status add_places(leak_map *all, const txd_leaks *leaks)
{
    txd_map *map = &all->maps[all->count++];
    txd_leak_sums sums;
    txd_mask_view mask;

    *map = (txd_map){.arena = all->arena, .side = SIDE, .square = true};
    map->rows.title = "query";
    map->columns.title = leaks->kind == TXD_ATTENTION_CROSS ? "memory row" : "key";
    TXD_TRY(number_axis(&map->rows, all->arena, NULL, leaks->queries, PLACES));
    TXD_TRY(number_axis(&map->columns, all->arena, NULL, leaks->keys, PLACES));
    TXD_TRY(make_cells(map));
    sums = (txd_leak_sums){.cells = {map->rows.cells, map->columns.cells},
                           .sums = txd_arena_alloc(all->arena,
                                                   map->rows.cells * map->columns.cells,
                                                   sizeof(double))};
    if (!sums.sums)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_leaks_sum(&sums, leaks, leaks->batch, all->scratch));
    for (size_t i = 0; i < map->rows.cells * map->columns.cells; i++)
        if (sums.sums[i] > 0)
            map->cells[i] = sums.sums[i];
    if (map->rows.cells > TXD_MAP_LABELS || map->columns.cells > TXD_MAP_LABELS)
        ring_largest(map, leaks);
    TXD_TRY(head_places(map, leaks, sums.complete));
    if (same_masks(leaks) && find_mask(&mask, leaks))
        TXD_TRY(txd_map_find_edges(map, &mask));
    map->title = "leaks";
    return txd_map_scale(map, TXD_SCALE_LOG, false);
}

/* "layer 1, head 0, batch 0: query 2 gives 0.86 to key 3, a later key". */
static txd_status note_largest(txd_map *map, const txd_leaks *leaks)
{
    static const char *const reasons[] = {
        [TXD_SEEN] = "",
        [TXD_HIDDEN_PADDING] = ", which is padding",
        [TXD_HIDDEN_DOCUMENT] = ", of another document",
        [TXD_HIDDEN_FUTURE] = ", a later key",
        [TXD_HIDDEN_WINDOW] = ", which is outside of the window",
    };
    txd_hidden reason = TXD_SEEN;
    txd_mask_view mask;
    char line[300];

    if (leaks->rows == 0)
        return TXD_OK;
    if (find_mask(&mask, leaks))
        reason = txd_mask_hides(&mask, leaks->query, leaks->key);
    snprintf(line, sizeof line,
             "Ringed: %s gives hidden keys weight in %zu %s (a query of a head). The "
             "largest: layer %d, head %zu, batch %zu: query %zu gives %.3g to %s "
             "%zu%s",
             attentions[leaks->kind], leaks->rows, leaks->rows == 1 ? "row" : "rows",
             leaks->layer, leaks->head, leaks->batch, leaks->query, leaks->largest,
             leaks->kind == TXD_ATTENTION_CROSS ? "memory row" : "key", leaks->key,
             reasons[reason]);
    return txd_map_note(map, false, TXD_COLOUR_LEAK, line);
}

/* Heads of layers of which nothing is known. */
static size_t count_unknown(const txd_leaks *leaks)
{
    size_t count = 0;

    for (size_t i = 0; i < leaks->layer_count * leaks->heads; i++)
        count += isnan(leaks->shares[i]) != 0;
    return count;
}

/* What is not known is not healthy. */
static const char *title(const leak_map *all)
{
    size_t rows = 0, heads = 0, unknown = 0;

    for (size_t i = 0; i < all->kinds; i++) {
        rows += all->leaks[i].rows;
        heads += all->leaks[i].layer_count * all->leaks[i].heads;
        unknown += count_unknown(&all->leaks[i]);
    }
    return rows               ? "Leaks: weight of keys that the mask hides"
           : unknown == heads ? "Leaks: nothing is known of them"
           : unknown          ? "No leaks in what is known"
                              : "No leaks: no hidden key has any weight";
}

static txd_status describe(leak_map *all, const txd_trace *recording)
{
    txd_map *map = &all->maps[0];
    size_t rows = all->leaks[0].rows + (all->kinds > 1 ? all->leaks[1].rows : 0);
    char line[200];

    map->title = title(all);
    snprintf(line, sizeof line, "step %zu%s", all->leaks[0].step,
             rows ? "; by layer and head: mean over queries of their weight on hidden "
                    "keys; colours logarithmic"
                  : "");
    TXD_TRY(txd_map_note(map, true, TXD_COLOUR_QUIET, line));
    TXD_TRY(txd_map_note_recording(map, recording));
    for (size_t i = 0; i < all->kinds; i++)
        TXD_TRY(note_largest(map, &all->leaks[i]));
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        all->maps[all->count - 1].hidden
                            ? "White: exactly 0. Grey: nothing is known. Lines: the "
                              "edge of the claimed mask"
                            : "White: exactly 0. Grey: nothing is known");
}

/* Puts the maps together: heads of each attention, then the places of the worse one. */
static txd_status assemble(leak_map *all, const txd_claim *claim)
{
    const txd_leaks *worse = &all->leaks[0];
    txd_status status = TXD_OK;

    for (int kind = 0; kind < 2; kind++) {
        txd_leaks *leaks = &all->leaks[all->kinds];

        status = txd_leaks_read(leaks, claim, (txd_attention_kind)kind, all->request,
                                all->scratch);
        if (status == TXD_OK)
            all->kinds++;
        else if (status != TXD_ERR_MISSING)
            return status;
    }
    if (all->kinds == 0)
        return status;
    for (size_t i = 0; i < all->kinds; i++) {
        TXD_TRY(add_heads(all, &all->leaks[i]));
        if (all->leaks[i].largest > worse->largest)
            worse = &all->leaks[i];
    }
    return worse->rows != 0 ? add_places(all, worse) : TXD_OK;
}

static txd_status draw_claimed(txd_drawing *out, const txd_claim *claim,
                               const txd_figure_request *request)
{
    leak_map all = {.arena = out->arena, .request = request};
    const txd_map *maps[TXD_MAPS];
    txd_status status;

    TXD_TRY(txd_arena_create(&all.scratch));
    status = assemble(&all, claim);
    txd_arena_destroy(all.scratch);
    if (status != TXD_OK)
        return status;
    TXD_TRY(describe(&all, claim->recording));
    for (size_t i = 0; i < all.count; i++)
        maps[i] = &all.maps[i];
    return txd_maps_draw(out, maps, all.count);
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_draw_claimed(out, recording, request, draw_claimed);
}

const txd_figure txd_figure_leaks = {
    .name = "leaks",
    .sentence = "which layers and heads give hidden keys weight, how much, and where",
    .usage = "txdiag plot REC.h5 leaks -o FILE",
    .heading = "Leaks",
    .laws = "causality padding documents window causal_alignment",
    .choices = "step layer batch",
    .draw = draw,
};
