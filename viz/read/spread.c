/* SPDX-License-Identifier: MIT
 *
 * Statistics say which values there are and how many of their elements are not finite;
 * events say which came first, and where in it. Parameters have events alone, before
 * all values: they are wrong before the pass begins.
 */
#include "viz/read/spread.h"

#include <math.h>
#include <string.h>

#include "viz/read/curves.h"
#include "viz/read/slice.h"
#include "viz/read/table.h"

enum { MOST_VALUES = 1 << 20, MOST_LAYERS = 4096 };

/* Rows of /events/nonfinite. */
typedef struct events {
    const char **sites;
    double *step, *layer, *batch, *head, *row, *column, *value, *count, *elements;
    size_t rows;
} events;

static txd_status read_events(events *out, txd_arena *arena, const txd_trace *recording)
{
    static const char table[] = "events/nonfinite/";
    const struct {
        double **column;
        const char *name;
    } columns[] = {
        {&out->step, "step"},   {&out->layer, "layer"}, {&out->batch, "batch"},
        {&out->head, "head"},   {&out->row, "row"},     {&out->column, "column"},
        {&out->value, "value"}, {&out->count, "count"}, {&out->elements, "elements"}};
    char name[64];

    TXD_TRY(txd_table_rows(&out->rows, recording, "events/nonfinite/site"));
    TXD_TRY(txd_table_texts(&out->sites, arena, out->rows, recording,
                            "events/nonfinite/site"));
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        strcat(strcpy(name, table), columns[i].name);
        TXD_TRY(
            txd_table_numbers(columns[i].column, arena, out->rows, recording, name));
    }
    return TXD_OK;
}

static bool is_gradient(const char *site)
{
    return strstr(site, TXD_GRADIENT_SUFFIX) != NULL;
}

static bool is_parameter(const char *site)
{
    txd_point point;
    int layer;

    return !is_gradient(site) && !txd_point_of_name(&point, &layer, site);
}

/* The row of a site, which is made where there is none yet. */
static txd_status find_row(txd_spread_row **out, txd_spread *spread, const char *site)
{
    char general[TXD_SITE_BYTES];
    bool of_layers = txd_site_layer(site) >= 0;
    const char *name = general;
    txd_spread_row *row;

    txd_site_generalise(general, site);
    if (of_layers)
        name += strlen("layers.*.");
    for (size_t i = 0; i < spread->count; i++) {
        *out = &spread->rows[i];
        if ((*out)->of_layers == of_layers && strcmp((*out)->name, name) == 0)
            return TXD_OK;
    }
    row = &spread->rows[spread->count];
    *row = (txd_spread_row){.name = txd_arena_string(spread->arena, name),
                            .of_layers = of_layers,
                            .shares = txd_arena_alloc(spread->arena,
                                                      of_layers ? spread->layers : 1,
                                                      sizeof *row->shares)};
    if (!row->name || !row->shares)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < (of_layers ? spread->layers : 1); i++)
        row->shares[i] = NAN;
    spread->count++;
    *out = row;
    return TXD_OK;
}

/* Elements of a site, and how many of them are not finite. */
static txd_status put(txd_spread *spread, const char *site, double bad, double elements)
{
    int layer = txd_site_layer(site);
    txd_spread_row *row;
    double *share;

    if (layer >= (int)spread->layers || isnan(bad))
        return TXD_OK;
    TXD_TRY(find_row(&row, spread, site));
    share = &row->shares[layer < 0 ? 0 : layer];
    spread->known += isnan(*share);
    spread->broken += bad > 0 && !(*share > 0);
    row->broken |= bad > 0;
    *share = bad > 0 ? fmin(1, bad / fmax(elements, bad)) : fmax(*share, 0);
    return TXD_OK;
}

static bool of_step(const events *all, size_t i, size_t step)
{
    return is_parameter(all->sites[i]) || !(fabs(all->step[i] - (double)step) > 0);
}

/* Events of the step: parameters, or all others. */
static txd_status put_events(txd_spread *spread, const events *all, bool parameters)
{
    for (size_t i = 0; i < all->rows; i++) {
        const char *site = all->sites[i];

        if (*site == '\0' || !of_step(all, i, spread->step) ||
            is_parameter(site) != parameters)
            continue;
        TXD_TRY(put(spread, site, all->count[i], all->elements[i]));
        spread->first = spread->first ? spread->first : site;
        spread->last = site;
    }
    return TXD_OK;
}

/* What the statistics hold, of all steps. */
typedef struct statistics {
    txd_curves curves;
    double *count, *bad;
} statistics;

static txd_status read_statistics(statistics *out, bool *is_there, txd_arena *arena,
                                  const txd_trace *recording)
{
    size_t entry;

    *is_there = txd_trace_find(recording, &entry, "series/stats") == TXD_OK;
    if (!*is_there)
        return TXD_OK;
    TXD_TRY(txd_curves_open(&out->curves, arena, recording, "series/stats"));
    TXD_TRY(txd_curves_read(&out->count, &out->curves, "count"));
    return txd_curves_read(&out->bad, &out->curves, "nonfinite");
}

static txd_status put_statistics(txd_spread *spread, const statistics *all)
{
    const txd_curves *curves = &all->curves;

    for (size_t i = 0; i < curves->site_count && spread->step < curves->steps; i++) {
        size_t at = spread->step * curves->site_count + i;

        TXD_TRY(put(spread, curves->sites[i], all->bad[at], all->count[at]));
        if (!(all->bad[at] > 0) || spread->has_events)
            continue;
        spread->first = spread->first ? spread->first : curves->sites[i];
        spread->last = curves->sites[i];
    }
    return TXD_OK;
}

/* The first step in which something is not finite; else the first of all. */
static size_t choose_step(const txd_spread *spread, const events *all,
                          const statistics *numbers)
{
    size_t sites = numbers->curves.site_count, chosen = SIZE_MAX;

    for (size_t i = 0; i < all->rows; i++)
        if (all->step[i] >= 0 && all->step[i] < (double)chosen)
            chosen = (size_t)all->step[i];
    for (size_t i = 0; spread->has_statistics && i < numbers->curves.steps * sites; i++)
        if (numbers->bad[i] > 0 && i / sites < chosen)
            chosen = i / sites;
    return chosen == SIZE_MAX ? 0 : chosen;
}

static void add_place(txd_text *out, const char *what, double place)
{
    if (place >= 0)
        txd_text_addf(out, ", %s %.0f", what, place);
}

/* Where in the first value. */
static txd_status describe_first(txd_spread *spread, const events *all)
{
    txd_text words;

    spread->first_row = spread->count;
    for (size_t i = 0; spread->first && i < spread->count; i++) {
        txd_spread_row *row;

        TXD_TRY(find_row(&row, spread, spread->first));
        spread->first_row = (size_t)(row - spread->rows);
    }
    spread->first_layer = spread->first ? txd_site_layer(spread->first) : -1;
    txd_text_init(&words);
    for (size_t i = 0; i < all->rows && spread->first; i++) {
        if (all->sites[i] != spread->first || !of_step(all, i, spread->step))
            continue;
        txd_text_addf(&words, "%s",
                      isnan(all->value[i]) ? "NaN"
                      : all->value[i] < 0  ? "-Inf"
                                           : "Inf");
        add_place(&words, "batch", all->batch[i]);
        add_place(&words, "head", all->head[i]);
        add_place(&words, is_parameter(spread->first) ? "row" : "token", all->row[i]);
        add_place(&words, is_parameter(spread->first) ? "column" : "element",
                  all->column[i]);
        txd_text_addf(&words, "; %.0f of %.0f elements", all->count[i],
                      all->elements[i]);
        break;
    }
    spread->first_words = txd_arena_string(spread->arena, txd_text_get(&words));
    txd_text_finish(&words);
    return spread->first_words ? TXD_OK : TXD_ERR_MEMORY;
}

/* Room for a row per site, and one column more than the largest layer. */
static txd_status make_room(txd_spread *out, const events *all,
                            const statistics *numbers)
{
    size_t sites = all->rows + numbers->curves.site_count;

    if (sites > MOST_VALUES)
        return txd_fail(TXD_ERR_LIMIT, "%zu values are more than a picture can show",
                        sites);
    out->layers = 1;
    for (size_t i = 0; i < sites; i++) {
        const char *site =
            i < all->rows ? all->sites[i] : numbers->curves.sites[i - all->rows];
        size_t layers = (size_t)(txd_site_layer(site) + 1);

        if (layers > out->layers && layers <= MOST_LAYERS)
            out->layers = layers;
    }
    out->rows = txd_arena_alloc(out->arena, sites, sizeof *out->rows);
    return out->rows ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_spread_read(txd_spread *out, txd_arena *arena,
                           const txd_trace *recording, int step)
{
    statistics numbers = {.count = NULL};
    events all;

    *out = (txd_spread){.arena = arena};
    TXD_TRY(read_events(&all, arena, recording));
    out->has_events = all.rows != 0;
    TXD_TRY(read_statistics(&numbers, &out->has_statistics, arena, recording));
    if (!out->has_events && !out->has_statistics)
        return txd_fail(TXD_ERR_MISSING,
                        "nonfinite: nothing recorded tells which values are finite; to "
                        "record it, in model.cfg: record = ( { probe = \"stats\"; }, { "
                        "probe = \"nonfinite\"; } );");
    if (step >= 0 && out->has_statistics)
        TXD_TRY(txd_choice(&out->step, "step", step, numbers.curves.steps));
    out->step = step >= 0 ? (size_t)step : choose_step(out, &all, &numbers);
    TXD_TRY(make_room(out, &all, &numbers));
    TXD_TRY(put_events(out, &all, true));
    if (out->has_statistics)
        TXD_TRY(put_statistics(out, &numbers));
    TXD_TRY(put_events(out, &all, false));
    return describe_first(out, &all);
}
