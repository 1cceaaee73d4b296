/* SPDX-License-Identifier: MIT
 *
 * Figure: how far heads look: the mean weight of a key by its distance from the query,
 * a line per layer and the range of all heads behind them; of one layer a line per
 * head.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/figures.h"
#include "viz/read/distance.h"

enum { MOST_LEGEND = 12, MOST_TICS = 40 };

/* What the graphs are made of. */
typedef struct source {
    txd_weights weights;
    txd_distances *layers;
    txd_arena *arena;
} source;

/* Distance 0 has no logarithm: the axis is that of 1 + distance. */
static double place_of(double distance)
{
    return log2(1 + distance);
}

static double middle_of(size_t bin)
{
    size_t range[2];

    txd_distance_bin(range, bin);
    return place_of(((double)range[0] + (double)range[1] - 1) / 2);
}

static txd_status read_all(source *out, const txd_claim *claim,
                           const txd_figure_request *request, txd_arena *arena)
{
    txd_arena *scratch;
    txd_status status = TXD_OK;

    out->arena = arena;
    TXD_TRY(txd_weights_open(&out->weights, claim, TXD_ATTENTION_SELF, request));
    out->layers = txd_arena_alloc(arena, out->weights.layer_count, sizeof *out->layers);
    if (!out->layers)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_arena_create(&scratch));
    for (size_t i = 0; status == TXD_OK && i < out->weights.layer_count; i++) {
        txd_arena_reset(scratch);
        status = txd_distances_read(&out->layers[i], &out->weights,
                                    out->weights.layers[i], arena, scratch);
    }
    txd_arena_destroy(scratch);
    return status;
}

static const txd_distance_side *side_of(const txd_distances *of, bool after)
{
    return after ? &of->after : &of->before;
}

/* The mean over heads [first, end) that have such pairs; false if none has. */
static bool mean_of(double *out, const txd_distances *of, bool after, size_t bin,
                    const size_t heads[2])
{
    const txd_distance_side *side = side_of(of, after);
    double sum = 0;
    size_t count = 0;

    for (size_t head = heads[0]; head < heads[1]; head++) {
        if (side->pairs[head * of->bins + bin] == 0)
            continue;
        sum += side->means[head * of->bins + bin];
        count++;
    }
    *out = count ? sum / (double)count : 0;
    return count != 0;
}

static txd_status add_line(txd_graph *graph, const source *from, size_t layer,
                           bool after, const size_t heads[2])
{
    const txd_distances *of = &from->layers[layer];
    txd_line *line = &graph->lines[graph->line_count];
    bool is_head = heads[1] - heads[0] == 1;
    char name[60];

    snprintf(name, sizeof name, "layer %d", from->weights.layers[layer]);
    if (is_head)
        snprintf(name, sizeof name, "layer %d, head %zu", from->weights.layers[layer],
                 heads[0]);
    *line = (txd_line){.name = txd_arena_string(from->arena, name),
                       .x = txd_arena_alloc(from->arena, of->bins, sizeof *line->x),
                       .y = txd_arena_alloc(from->arena, of->bins, sizeof *line->y)};
    if (!line->name || !line->x || !line->y)
        return TXD_ERR_MEMORY;
    for (size_t bin = 0; bin < of->bins; bin++) {
        if (!mean_of(&line->y[line->count], of, after, bin, heads))
            continue;
        line->x[line->count++] = middle_of(bin);
    }
    graph->line_count++;
    return TXD_OK;
}

/* Of all layers together, where a query's keys all weigh the same. */
static txd_status add_alike(txd_graph *graph, const source *from, bool after)
{
    size_t bins = from->layers[0].bins;
    txd_line *line = &graph->lines[graph->line_count];

    *line = (txd_line){.name = "if all seen keys were alike",
                       .dashed = true,
                       .legend = !after,
                       .x = txd_arena_alloc(from->arena, bins, sizeof *line->x),
                       .y = txd_arena_alloc(from->arena, bins, sizeof *line->y)};
    if (!line->x || !line->y)
        return TXD_ERR_MEMORY;
    for (size_t bin = 0; bin < bins && !after; bin++) {
        double sum = 0, pairs = 0;

        for (size_t i = 0; i < from->weights.layer_count; i++) {
            const txd_distance_side *alike = &from->layers[i].alike;

            if (alike->pairs[bin] == 0)
                continue;
            sum += alike->means[bin] * alike->pairs[bin];
            pairs += alike->pairs[bin];
        }
        if (pairs == 0)
            continue;
        line->x[line->count] = middle_of(bin);
        line->y[line->count++] = sum / pairs;
    }
    graph->line_count++;
    return TXD_OK;
}

/* Of `count` lines the legend has some, if they are many: this is number `i`. */
static void name_some(const txd_graph *graph, size_t i, size_t count)
{
    size_t every = (count + MOST_LEGEND - 1) / MOST_LEGEND;
    txd_line *line = &graph->lines[graph->line_count - 1];

    line->legend = line->count != 0 && (i % every == 0 || i + 1 == count);
}

/* Each layer before its heads, so that colours go from the first layer to the last. A
 * line without a pair stays, so that a layer has one colour in both graphs. */
static txd_status add_lines(txd_graph *graph, const source *from, bool after)
{
    size_t layers = from->weights.layer_count, heads = from->weights.heads;
    size_t count = layers == 1 ? heads : layers;

    graph->lines =
        txd_arena_alloc(from->arena, layers * (heads + 1) + 1, sizeof *graph->lines);
    if (!graph->lines)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < layers; i++) {
        const size_t all[2] = {0, heads};

        if (layers > 1) {
            TXD_TRY(add_line(graph, from, i, after, all));
            name_some(graph, i, count);
        }
        for (size_t head = 0; head < heads; head++) {
            const size_t one[2] = {head, head + 1};

            TXD_TRY(add_line(graph, from, i, after, one));
            if (layers == 1)
                name_some(graph, head, count);
            else
                graph->lines[graph->line_count - 1].quiet = true;
        }
    }
    return add_alike(graph, from, after);
}

static bool has_points(const txd_graph *graph)
{
    for (size_t i = 0; i < graph->line_count; i++)
        if (graph->lines[i].count != 0)
            return true;
    return false;
}

/* Powers of two have labels; every bin has a name. */
static txd_status add_tics(txd_graph *graph, const source *from)
{
    size_t bins = from->layers[0].bins, count = 0, range[2], longest;
    txd_tic *tics = txd_arena_alloc(from->arena, bins + MOST_TICS, sizeof *tics);
    char text[60];

    if (!tics)
        return TXD_ERR_MEMORY;
    for (size_t bin = 0; bin < bins; bin++, count++) {
        txd_distance_bin(range, bin);
        snprintf(text, sizeof text, "distance %zu", range[0]);
        if (range[1] > range[0] + 1)
            snprintf(text, sizeof text, "distance %zu to %zu", range[0], range[1] - 1);
        tics[count] =
            (txd_tic){middle_of(bin), "", txd_arena_string(from->arena, text)};
        if (!tics[count].name)
            return TXD_ERR_MEMORY;
    }
    longest = from->weights.keys ? from->weights.keys - 1 : 0;
    for (size_t distance = 0; distance <= longest && count < bins + MOST_TICS;
         distance = distance ? 2 * distance : 1, count++) {
        snprintf(text, sizeof text, "distance %zu", distance);
        tics[count].x = place_of((double)distance);
        tics[count].name = txd_arena_string(from->arena, text);
        tics[count].label =
            tics[count].name ? tics[count].name + strlen("distance ") : NULL;
        if (!tics[count].label)
            return TXD_ERR_MEMORY;
    }
    graph->tics = tics;
    graph->tic_count = count;
    return TXD_OK;
}

static txd_status add_graph(txd_chart *chart, const source *from, bool after)
{
    txd_graph *graph = &chart->graphs[chart->graph_count];

    *graph = (txd_graph){.x_title = after ? "keys after the query, by distance"
                                          : "keys before the query, by distance (0 is "
                                            "its own)",
                         .y_title = "mean weight",
                         .logarithmic = true,
                         .ordered = from->weights.layer_count > 1,
                         .zero_is_well = true,
                         .place = "distance"};
    TXD_TRY(add_lines(graph, from, after));
    TXD_TRY(add_tics(graph, from));
    chart->graph_count += has_points(graph);
    return TXD_OK;
}

static txd_status describe(txd_chart *chart, const source *from,
                           const txd_figure_request *request)
{
    const txd_weights *weights = &from->weights;
    txd_text text;
    txd_status status;

    chart->title = "Weight of keys by their distance from the query";
    txd_text_init(&text);
    txd_text_addf(&text, "Mean over all pairs of a distance that the claimed mask lets "
                         "see, or that have weight although it hides them; ");
    if (weights->layer_count > 1)
        txd_text_add(&text, "lines: means over the heads of a layer; grey: from the "
                            "lowest to the highest head of any layer; ");
    else
        txd_text_addf(&text, "layer %d, a line per head; ", weights->layers[0]);
    txd_text_addf(&text, "step %zu, ", weights->step);
    if (request->batch < 0)
        txd_text_add(&text, "all batch rows");
    else
        txd_text_addf(&text, "batch %d", request->batch);
    txd_text_add(&text, "; both axes logarithmic");
    if (weights->every > 1)
        txd_text_addf(&text, "; one of %zu blocks of queries", weights->every);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        status = txd_chart_note(chart, true, TXD_COLOUR_QUIET, txd_text_get(&text));
    txd_text_finish(&text);
    return status == TXD_OK ? txd_chart_note_recording(chart, weights->claim->recording)
                            : status;
}

/* The first layer that is causal and of which a later key has weight; -1 = none. */
static int leaking_layer(const source *from)
{
    const txd_claim *claim = from->weights.claim;

    for (size_t i = 0; i < from->weights.layer_count; i++) {
        const txd_distances *of = &from->layers[i];
        int layer = from->weights.layers[i];

        if (!claim->configured || (size_t)layer >= claim->config.n_layers ||
            !claim->config.layers[layer].causal)
            continue;
        for (size_t j = 0; j < of->heads * of->bins; j++)
            if (of->after.pairs[j] != 0 && isfinite(of->after.means[j]))
                return layer;
    }
    return -1;
}

static txd_status note_leak(txd_chart *chart, const source *from)
{
    int layer = leaking_layer(from);
    char text[120];

    if (layer < 0)
        return TXD_OK;
    snprintf(text, sizeof text,
             "Keys after the query have weight in layer %d, though the claimed mask is "
             "causal",
             layer);
    return txd_chart_note(chart, false, TXD_COLOUR_LEAK, text);
}

static txd_status make(txd_chart *out, const txd_claim *claim, txd_arena *arena,
                       const txd_figure_request *request)
{
    source from;

    *out = (txd_chart){.arena = arena};
    TXD_TRY(read_all(&from, claim, request, arena));
    for (int after = 0; after < 2; after++)
        TXD_TRY(add_graph(out, &from, after));
    TXD_TRY(note_leak(out, &from));
    return describe(out, &from, request);
}

txd_status txd_chart_distance(txd_chart *out, txd_arena *arena,
                              const txd_trace *recording,
                              const txd_figure_request *request)
{
    size_t step = request->step < 0 ? 0 : (size_t)request->step;
    txd_claim claim;
    txd_status status = txd_claim_init(&claim, recording, step);

    if (status == TXD_OK)
        status = make(out, &claim, arena, request);
    txd_claim_finish(&claim);
    return status;
}

static txd_status draw(txd_drawing *out, const txd_trace *recording,
                       const txd_figure_request *request)
{
    return txd_chart_figure(out, txd_chart_distance, recording, request);
}

const txd_figure txd_figure_distance = {
    .name = "distance",
    .heading = "Weight by distance",
    .sentence = "how far heads look: mean weight of keys by distance, a line per layer",
    .usage = "txdiag plot REC.h5 distance -o FILE",
    .choices = "step layer batch",
    .draw = draw,
};
