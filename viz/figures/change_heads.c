/* SPDX-License-Identifier: MIT
 *
 * The largest difference of two attention weights, head by head: where to look first.
 * Hidden keys count too, because a leak is a difference.
 */
#include <math.h>
#include <stdio.h>

#include "viz/draw/map.h"
#include "viz/figures/change.h"
#include "viz/figures/figures.h"
#include "viz/read/weights.h"

enum { SIDE = 480, BLOCK_ROWS = 128, BLOCK_VALUES = 1 << 20 };

#define MOST_VALUES 0x1p36 /* that are compared: all are, or a leak could be missed */

typedef struct heads_change {
    const txd_figure_request *request;
    txd_arena *arena, *scratch;
    txd_weights of[2];
    txd_map map;
    double largest;
    txd_weights_place at;
} heads_change;

static txd_status check_size(const txd_weights *weights, const char *site)
{
    double values = (double)weights->layer_count * (double)weights->batches *
                    (double)weights->heads * (double)weights->queries *
                    (double)weights->keys;

    if (values <= MOST_VALUES)
        return TXD_OK;
    return txd_fail(TXD_ERR_LIMIT,
                    "%s: %.2g weights are too many to compare: choose a layer with "
                    "--layer, or one head with --head, --query and --key",
                    site, values);
}

static txd_status open_both(heads_change *all, const txd_claim claims[2])
{
    txd_attention_kind kind = txd_site_attention(all->request->site);
    const txd_weights *a = &all->of[0], *b = &all->of[1];

    for (int i = 0; i < 2; i++)
        TXD_TRY(txd_weights_open(&all->of[i], &claims[i], kind, all->request));
    if (a->heads != b->heads || a->queries != b->queries || a->keys != b->keys ||
        a->batches != b->batches)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: %zu heads of %zu x %zu in the first recording, %zu of %zu "
                        "x %zu in the other",
                        all->request->site, a->heads, a->queries, a->keys, b->heads,
                        b->queries, b->keys);
    return check_size(a, all->request->site);
}

static bool has_layer(const txd_weights *weights, int layer)
{
    for (size_t i = 0; i < weights->layer_count; i++)
        if (weights->layers[i] == layer)
            return true;
    return false;
}

/* Differences of a block; NaN if a value of the two is not finite. */
static double compare(heads_change *all, const txd_weights_place *from, size_t rows,
                      const double *a, const double *b)
{
    size_t keys = all->of[0].keys;
    double largest = 0;

    for (size_t i = 0; i < rows * keys; i++) {
        double difference = fabs(a[i] - b[i]);

        if (!txd_weights_valid(&all->of[0], from->batch, from->query + i / keys))
            continue;
        if (!isfinite(difference))
            return NAN;
        if (difference > all->largest) {
            all->largest = difference;
            all->at = *from;
            all->at.query += i / keys;
            all->at.key = i % keys;
        }
        largest = fmax(largest, difference);
    }
    return largest;
}

/* One head in all batch rows that were asked for. */
static txd_status measure_head(double *out, heads_change *all, txd_weights_place place)
{
    const txd_weights *weights = &all->of[0];
    size_t most = BLOCK_VALUES / (weights->keys ? weights->keys : 1);
    size_t block = most < 1 ? 1 : most < BLOCK_ROWS ? most : BLOCK_ROWS;
    double *a = txd_arena_alloc(all->scratch, block * weights->keys, sizeof *a);
    double *b = txd_arena_alloc(all->scratch, block * weights->keys, sizeof *b);

    if (!a || !b)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < weights->batches; i++) {
        place.batch = weights->first_batch + i;
        for (place.query = 0; place.query < weights->queries; place.query += block) {
            size_t rows = weights->queries - place.query;
            double found;

            rows = rows < block ? rows : block;
            TXD_TRY(txd_weights_read(a, weights, &place, rows, weights->keys));
            TXD_TRY(txd_weights_read(b, &all->of[1], &place, rows, weights->keys));
            found = compare(all, &place, rows, a, b);
            *out = isnan(found) || isnan(*out) ? (double)NAN : fmax(*out, found);
        }
    }
    return TXD_OK;
}

static txd_status select_axes(txd_map *map, const txd_weights *weights)
{
    txd_axis *axes[2] = {&map->rows, &map->columns};
    size_t counts[2] = {weights->layer_count, weights->heads};

    for (int i = 0; i < 2; i++) {
        axes[i]->count = axes[i]->cells = counts[i];
        axes[i]->places = txd_arena_alloc(map->arena, counts[i], sizeof(size_t));
        if (!axes[i]->places)
            return TXD_ERR_MEMORY;
        for (size_t j = 0; j < counts[i]; j++)
            axes[i]->places[j] = i ? j : (size_t)weights->layers[j];
    }
    map->rows.title = "layer";
    map->columns.title = "head";
    map->cells = txd_arena_alloc(map->arena, counts[0] * counts[1], sizeof(double));
    map->flags = txd_arena_alloc(map->arena, counts[0] * counts[1], 1);
    return map->cells && map->flags ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status measure(heads_change *all)
{
    const txd_weights *weights = &all->of[0];
    txd_map *map = &all->map;

    TXD_TRY(select_axes(map, weights));
    for (size_t i = 0; i < weights->layer_count * weights->heads; i++) {
        txd_weights_place place = {.layer = weights->layers[i / weights->heads],
                                   .head = i % weights->heads};
        double found = 0;

        map->cells[i] = NAN;
        txd_arena_reset(all->scratch);
        if (!has_layer(&all->of[1], place.layer) ||
            !txd_weights_has_head(weights, place.head) ||
            !txd_weights_has_head(&all->of[1], place.head)) {
            map->flags[i] = TXD_FLAG_UNKNOWN;
            continue;
        }
        TXD_TRY(measure_head(&found, all, place));
        if (isnan(found)) {
            map->flags[i] = TXD_FLAG_NONFINITE;
            map->nonfinite.total++;
        } else if (found > 0) {
            map->cells[i] = found;
        }
    }
    return TXD_OK;
}

static txd_status describe(heads_change *all, const txd_trace *recording)
{
    txd_map *map = &all->map;
    const txd_trace *both[2] = {recording, all->request->other};
    char line[240];

    snprintf(line, sizeof line, "step %d; largest difference of two weights, by head",
             all->request->step < 0 ? 0 : all->request->step);
    TXD_TRY(txd_map_note_scale(map, line));
    TXD_TRY(txd_change_note(map, both));
    if (all->largest > 0) {
        snprintf(
            line, sizeof line,
            "Largest: %.3g in layer %d, head %zu, batch %zu, at query %zu, %s %zu",
            all->largest, all->at.layer, all->at.head, all->at.batch, all->at.query,
            all->of[0].kind == TXD_ATTENTION_CROSS ? "memory row" : "key", all->at.key);
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_INK, line));
    }
    if (map->nonfinite.total != 0)
        TXD_TRY(txd_map_note(map, false, TXD_COLOUR_NONFINITE,
                             "Ringed: heads with weights that are NaN or infinite"));
    return txd_map_note(map, false, TXD_COLOUR_QUIET,
                        "White: the same in both, bit for bit. Grey: not recorded in "
                        "both");
}

static txd_status draw_both(txd_drawing *out, heads_change *all,
                            const txd_trace *recording)
{
    txd_map *map = &all->map;

    TXD_TRY(measure(all));
    map->title = all->largest > 0 || map->nonfinite.total
                     ? "Attention weights in two recordings"
                     : "Attention weights are the same in both recordings";
    TXD_TRY(txd_map_scale(map, all->request->scale, true));
    map->no_bar = !(all->largest > 0);
    TXD_TRY(txd_map_rule(map));
    TXD_TRY(describe(all, recording));
    return txd_map_draw(out, map);
}

txd_status txd_change_of_heads(txd_drawing *out, const txd_trace *recording,
                               const txd_figure_request *request)
{
    heads_change all = {.request = request,
                        .arena = out->arena,
                        .map = {.arena = out->arena, .side = SIDE, .square = true}};
    size_t step = request->step < 0 ? 0 : (size_t)request->step;
    txd_claim claims[2] = {{.arena = NULL}, {.arena = NULL}};
    txd_status status;

    TXD_TRY(txd_arena_create(&all.scratch));
    status = txd_claim_init(&claims[0], recording, step);
    if (status == TXD_OK)
        status = txd_claim_init(&claims[1], request->other, step);
    if (status == TXD_OK)
        status = open_both(&all, claims);
    if (status == TXD_OK)
        status = draw_both(out, &all, recording);
    for (int i = 0; i < 2; i++)
        txd_claim_finish(&claims[i]);
    txd_arena_destroy(all.scratch);
    return status;
}
