/* SPDX-License-Identifier: MIT
 *
 * The probe `nonfinite`: a row for every site, parameters too, that holds NaN or
 * infinities, in order of execution, so that the first row is where trouble starts.
 */
#include "probes/common.h"

#include <stdlib.h>
#include <string.h>

typedef struct nonfinite {
    txd_arena *arena;
    const txd_probe_use *use;
    txd_recording *recording;
    txd_probe_sites values, params; /* names that outlive the blocks */
    txd_table table;
} nonfinite;

enum { STEP, SITE, LAYER, BATCH, HEAD, ROW, COLUMN, INDEX, VALUE, COUNT, ELEMENTS };

static const txd_table_column columns[] = {
    [STEP] = {"step", TXD_CELL_INT},         [SITE] = {"site", TXD_CELL_TEXT},
    [LAYER] = {"layer", TXD_CELL_INT},       [BATCH] = {"batch", TXD_CELL_INT},
    [HEAD] = {"head", TXD_CELL_INT},         [ROW] = {"row", TXD_CELL_INT},
    [COLUMN] = {"column", TXD_CELL_INT},     [INDEX] = {"index", TXD_CELL_INT},
    [VALUE] = {"value", TXD_CELL_REAL},      [COUNT] = {"count", TXD_CELL_INT},
    [ELEMENTS] = {"elements", TXD_CELL_INT},
};

static bool takes(txd_site_kind kind, txd_point point)
{
    return kind == TXD_SITE_PARAMETER || txd_point_get(point)->place != TXD_PLACE_INPUT;
}

static unsigned ask(void *self, const txd_site *site)
{
    const nonfinite *state = self;

    if (!txd_probe_takes_site(&txd_probe_nonfinite, state->use, site))
        return 0;
    return TXD_ASK_STATS;
}

/* Where element `index` lies: the batch row, the head, the token and the last axis;
 * of a parameter its row and column. What there is none of stays -1. */
static void locate(txd_cell *cells, const txd_block *block, size_t index)
{
    const char *axes = "";
    int rank = block->value.rank;

    if (block->site->kind == TXD_SITE_VALUE)
        axes = txd_point_get(block->site->point)->axes;
    for (int i = rank - 1; i >= 0; i--) {
        int64_t place = (int64_t)(index % block->dims[i]);

        index /= block->dims[i];
        if (axes[0] && i == 0)
            cells[BATCH].integer = place;
        else if (axes[0] && (axes[i] == 'h' || axes[i] == 'g'))
            cells[HEAD].integer = place;
        else if (i == rank - 1 && !(axes[0] && axes[i] == 't'))
            cells[COLUMN].integer = place;
        else
            cells[ROW].integer = place;
    }
}

static const char *lasting_name(const nonfinite *state, const txd_site *site)
{
    const txd_probe_sites *sites =
        site->kind == TXD_SITE_PARAMETER ? &state->params : &state->values;
    size_t i = txd_probe_sites_index(sites, site);

    return i < sites->count ? sites->names[i] : NULL;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    nonfinite *state = self;
    const double *stats = block->stats;
    const char *name;
    txd_cell cells[sizeof columns / sizeof *columns];

    (void)slot;
    if (!stats || stats[TXD_STAT_NONFINITE] <= 0)
        return TXD_OK;
    name = lasting_name(state, block->site);
    if (!name)
        return TXD_OK;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        cells[i] = (txd_cell){.integer = -1};
    cells[STEP].integer = block->site->step;
    cells[SITE].text = name;
    cells[LAYER].integer = block->site->layer;
    cells[INDEX].integer = (int64_t)stats[TXD_STAT_FIRST];
    cells[VALUE].real = stats[TXD_STAT_FIRST_VALUE];
    cells[COUNT].integer = (int64_t)stats[TXD_STAT_NONFINITE];
    cells[ELEMENTS].integer = (int64_t)stats[TXD_STAT_COUNT];
    if (stats[TXD_STAT_FIRST] >= 0)
        locate(cells, block, (size_t)stats[TXD_STAT_FIRST]);
    return txd_table_add(&state->table, cells);
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    nonfinite *state = self;

    (void)pass;
    return txd_table_write(&state->table, state->recording);
}

/* How many rows there will be, nobody knows; in a healthy model there are none. */
static txd_status plan(const txd_probe_context *context, const txd_probe_use *use,
                       txd_probe_add add, void *self)
{
    (void)context;
    (void)use;
    (void)add;
    (void)self;
    return TXD_OK;
}

static void destroy(void *self)
{
    nonfinite *state = self;

    if (!state)
        return;
    txd_table_finish(&state->table);
    txd_arena_destroy(state->arena);
    free(state);
}

static txd_status fill(nonfinite *state, const txd_probe_context *context)
{
    TXD_TRY(txd_arena_create(&state->arena));
    TXD_TRY(txd_probe_sites_find(&state->values, state->arena, &txd_probe_nonfinite,
                                 state->use, context, TXD_SITE_VALUE));
    return txd_probe_sites_find(&state->params, state->arena, &txd_probe_nonfinite,
                                state->use, context, TXD_SITE_PARAMETER);
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    nonfinite *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_probe_no_memory("nonfinite");
    state->use = use;
    state->recording = context->recording;
    txd_table_init(&state->table, "events/nonfinite", columns,
                   sizeof columns / sizeof *columns);
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "nonfinite",
                     .self = state,
                     .ask = ask,
                     .merge = merge,
                     .step_end = step_end};
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_nonfinite = {
    .name = "nonfinite",
    .sentence = "where NaN and infinities are, the first of each value and parameter",
    .points = "*",
    .takes = takes,
    .plan = plan,
    .create = create,
    .destroy = destroy,
};
