/* SPDX-License-Identifier: MIT
 *
 * The probe `nonfinite`: a row for every site, parameters too, that holds NaN or
 * infinities, in order of execution, so that the first row is where trouble starts.
 */
#include "probes/common.h"

typedef struct nonfinite {
    txd_probe_frame frame;
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

static unsigned ask(txd_site_kind kind, txd_point point)
{
    if (kind == TXD_SITE_VALUE && txd_point_get(point)->place == TXD_PLACE_INPUT)
        return 0;
    return TXD_ASK_STATS;
}

/* How many rows there will be, nobody knows; in a healthy model there are none. */
static txd_status fill(void *self)
{
    nonfinite *state = self;

    txd_table_create(&state->table, &state->frame, "events/nonfinite", columns,
                     sizeof columns / sizeof *columns);
    return TXD_OK;
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

static txd_status end(void *self, const txd_block *block)
{
    nonfinite *state = self;
    const double *stats = block->stats;
    txd_cell cells[sizeof columns / sizeof *columns];

    if (!stats || stats[TXD_STAT_NONFINITE] <= 0)
        return TXD_OK;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        cells[i] = (txd_cell){.integer = -1};
    cells[STEP].integer = block->site->step;
    cells[SITE].text = txd_probe_name(&state->frame, block->site);
    cells[LAYER].integer = block->site->layer;
    cells[INDEX].integer = (int64_t)stats[TXD_STAT_FIRST];
    cells[VALUE].real = stats[TXD_STAT_FIRST_VALUE];
    cells[COUNT].integer = (int64_t)stats[TXD_STAT_NONFINITE];
    cells[ELEMENTS].integer = (int64_t)stats[TXD_STAT_COUNT];
    if (stats[TXD_STAT_FIRST] >= 0)
        locate(cells, block, (size_t)stats[TXD_STAT_FIRST]);
    return txd_table_add(&state->table, cells);
}

const txd_probe txd_probe_nonfinite = {
    .name = "nonfinite",
    .sentence = "where NaN and infinities are, the first of each value and parameter",
    .points = "*",
    .ask = ask,
    .state_bytes = sizeof(nonfinite),
    .fill = fill,
    .end = end,
};
