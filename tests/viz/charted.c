/* SPDX-License-Identifier: MIT */
/*
 * charted.c: makes charts as figures do.
 */
#include "charted.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "checks/check.h"

txd_figure_request charted_request(const char *name, int step)
{
    return (txd_figure_request){
        .site = name, .layer = -1, .head = -1, .step = step, .batch = -1};
}

txd_arena *charted_chart(txd_chart *out, const fake *recording, txd_chart_maker maker,
                         int step)
{
    const txd_figure_request request = charted_request("", step);
    txd_arena *arena;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_msg(maker(out, arena, recording->trace, &request) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_chart_settle(out), TXD_OK);
    return arena;
}

const txd_line *charted_line(const txd_graph *graph, const char *name)
{
    for (size_t i = 0; i < graph->line_count; i++)
        if (strcmp(graph->lines[i].name, name) == 0)
            return &graph->lines[i];
    return NULL;
}

bool charted_note(const txd_chart *chart, const char *words)
{
    for (size_t i = 0; i < chart->below_count; i++)
        if (strstr(chart->below[i].text, words))
            return true;
    return false;
}

/* The files of the figure's drawing hold the points of the chart's lines, in order. */
void charted_check(const fake *recording, const char *name, const txd_chart *chart,
                   int step)
{
    const txd_figure_request request = charted_request(name, step);
    const txd_figure *figure = txd_figure_find(name);
    txd_drawing drawing;
    size_t file = 0;

    ck_assert_ptr_nonnull(figure);
    ck_assert_ptr_nonnull(figure->heading);
    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_SVG), TXD_OK);
    ck_assert_msg(figure->draw(&drawing, recording->trace, &request) == TXD_OK, "%s",
                  txd_message());
    for (size_t g = 0; g < chart->graph_count; g++)
        for (size_t i = 0; i < chart->graphs[g].line_count; i++, file++) {
            const txd_line *line = &chart->graphs[g].lines[i];
            const double *pairs = drawing.files[file].bytes;

            ck_assert_uint_lt(file, drawing.file_count);
            ck_assert_uint_eq(drawing.files[file].count,
                              2 * line->count * sizeof *pairs);
            for (size_t j = 0; j < line->count; j++)
                ck_assert(pairs[2 * j] == line->x[j] && pairs[2 * j + 1] == line->y[j]);
        }
    ck_assert_uint_eq(file, drawing.file_count);
    txd_drawing_finish(&drawing);
}

void charted_missing(const fake *recording, const char *name, const char *words)
{
    const txd_figure_request request = charted_request(name, -1);
    txd_drawing drawing;

    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_SVG), TXD_OK);
    ck_assert_int_eq(txd_figure_find(name)->draw(&drawing, recording->trace, &request),
                     TXD_ERR_MISSING);
    ck_assert_msg(strstr(txd_message(), words) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), words);
    txd_drawing_finish(&drawing);
}

double charted_threshold(const char *path)
{
    const txd_key *const *tables;
    txd_arena *arena;
    size_t count;
    double found = NAN;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_checks_keys(&tables, &count, arena), TXD_OK);
    for (size_t i = 0; i < count; i++)
        for (const txd_key *k = tables[i]; k->path; k++)
            found = strcmp(k->path, path) == 0 ? strtod(k->fallback, NULL) : found;
    txd_arena_destroy(arena);
    return found;
}
