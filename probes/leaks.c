/* SPDX-License-Identifier: MIT
 *
 * The probe `leaks`: attention to keys that the claimed mask hides, cell by cell.
 * Workers count, the merge lists: the worst of each block of query rows, so
 * many that every head of every layer has its share of the step's limit. A second
 * table holds the counts, so that what was dropped is known.
 */
#include <math.h>

#include "probes/common.h"
#include "probes/leak_cells.h"

/* Of a head of the layer at hand. */
typedef struct tally {
    int64_t found, kept;
} tally;

typedef struct leaks {
    txd_probe_frame frame; /* number: the limit of rows per step */
    txd_table cells, counts;
    txd_room tallies; /* (b, h) */
    txd_room worst;   /* cells of a block */
} leaks;

enum { STEP, SITE, LAYER, BATCH, HEAD, QUERY, KEY, VALUE, KIND };

static const txd_table_column cell_columns[] = {
    [STEP] = {"step", TXD_CELL_INT},   [SITE] = {"site", TXD_CELL_TEXT},
    [LAYER] = {"layer", TXD_CELL_INT}, [BATCH] = {"batch", TXD_CELL_INT},
    [HEAD] = {"head", TXD_CELL_INT},   [QUERY] = {"query", TXD_CELL_INT},
    [KEY] = {"key", TXD_CELL_INT},     [VALUE] = {"value", TXD_CELL_REAL},
    [KIND] = {"kind", TXD_CELL_TEXT},
};

enum { FOUND = HEAD + 1, KEPT };

static const txd_table_column count_columns[] = {
    [STEP] = {"step", TXD_CELL_INT},   [SITE] = {"site", TXD_CELL_TEXT},
    [LAYER] = {"layer", TXD_CELL_INT}, [BATCH] = {"batch", TXD_CELL_INT},
    [HEAD] = {"head", TXD_CELL_INT},   [FOUND] = {"found", TXD_CELL_INT},
    [KEPT] = {"listed", TXD_CELL_INT},
};

static const char *const kinds[] = {
    [TXD_SEEN] = "seen",
    [TXD_HIDDEN_PADDING] = "padding",
    [TXD_HIDDEN_DOCUMENT] = "document",
    [TXD_HIDDEN_FUTURE] = "future",
    [TXD_HIDDEN_WINDOW] = "window",
};

static unsigned ask(txd_site_kind kind, txd_point point)
{
    bool takes =
        kind == TXD_SITE_VALUE && txd_point_in_self(point) == TXD_POINT_ATTN_WEIGHTS;

    return takes ? TXD_ASK_VALUE | TXD_ASK_ROWS : 0;
}

/* Leaks are faults: a dry run expects none. */
static txd_status fill(void *self)
{
    leaks *state = self;
    const txd_probe_context *context = state->frame.context;

    txd_table_create(&state->counts, &state->frame, "events/leak_counts", count_columns,
                     sizeof count_columns / sizeof *count_columns);
    txd_table_create(&state->cells, &state->frame, "events/leaks", cell_columns,
                     sizeof cell_columns / sizeof *cell_columns);
    state->counts.most = state->frame.sites[TXD_SITE_VALUE].count * context->batch *
                         context->claimed->n_heads;
    state->cells.most = state->frame.number;
    return TXD_OK;
}

/* The slot: whether anything leaks at all. It is only then that merge looks again. */
static void reduce(void *slot, const void *self, const txd_block *block)
{
    uint64_t *count = slot;

    for (size_t i = 0; block->value.data && i < txd_block_heads(block); i++)
        if (txd_probe_wants_head(self, block, i))
            *count += txd_leak_cells_count(block, i);
}

/* Cells that may have been listed once this block is done: equal shares of the limit
 * for all heads of all layers, what one leaves being there for those after it. */
static size_t allowed(const leaks *state, const txd_block *block, size_t head)
{
    size_t limit = state->frame.number, heads = block->dims[0] * block->dims[1];
    size_t layers = state->frame.sites[TXD_SITE_VALUE].count;
    size_t layer = txd_probe_row(&state->frame, block->site);
    size_t end = block->start[2] + block->value.dims[2];
    double share = ((double)layer * (double)heads + (double)head +
                    (double)end / (double)block->dims[2]) /
                   ((double)layers * (double)heads);
    size_t total = (size_t)ceil((double)limit * share);

    return total < limit ? total : limit;
}

static txd_status add_cells(leaks *state, const txd_block *block,
                            const txd_leak_cell *list, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const txd_cell cells[] = {
            [STEP] = {.integer = block->site->step},
            [SITE] = {.text = txd_probe_name(&state->frame, block->site)},
            [LAYER] = {.integer = block->site->layer},
            [BATCH] = {.integer = (int64_t)list[i].batch},
            [HEAD] = {.integer = (int64_t)list[i].head},
            [QUERY] = {.integer = (int64_t)list[i].query},
            [KEY] = {.integer = (int64_t)list[i].key},
            [VALUE] = {.real = list[i].weight},
            [KIND] = {.text = kinds[list[i].kind]},
        };

        TXD_TRY(txd_table_add(&state->cells, cells));
    }
    return TXD_OK;
}

static txd_status list_head(leaks *state, const txd_block *block, size_t index)
{
    size_t head = txd_block_head(block, index);
    tally *one = (tally *)state->tallies.data + head;
    size_t count = txd_leak_cells_count(block, index);
    size_t limit = allowed(state, block, head), listed = state->cells.rows;
    size_t keep = limit > listed ? limit - listed : 0;

    keep = count < keep ? count : keep;
    one->found += (int64_t)count;
    one->kept += (int64_t)keep;
    TXD_TRY(
        txd_probe_reserve(&state->worst, &state->frame, keep, sizeof(txd_leak_cell)));
    if (keep > 0)
        txd_leak_cells_worst(state->worst.data, keep, block, index);
    return add_cells(state, block, state->worst.data, keep);
}

static txd_status begin(void *self, const txd_block *block)
{
    leaks *state = self;
    size_t heads = block->dims[0] * block->dims[1];

    TXD_TRY(txd_probe_reserve(&state->tallies, &state->frame, heads, sizeof(tally)));
    for (size_t i = 0; i < heads; i++)
        ((tally *)state->tallies.data)[i] = (tally){.found = 0};
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    leaks *state = self;
    const uint64_t *count = slot;

    if (!block->value.data && txd_tensor_count(&block->value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the weights were not formed",
                        block->site->name);
    for (size_t i = 0; count && *count > 0 && i < txd_block_heads(block); i++)
        if (txd_probe_wants_head(&state->frame, block, i))
            TXD_TRY(list_head(state, block, i));
    return TXD_OK;
}

static txd_status end(void *self, const txd_block *block)
{
    leaks *state = self;
    const tally *heads = state->tallies.data;

    for (size_t i = 0; i < block->dims[0] * block->dims[1]; i++) {
        const txd_cell cells[] = {
            [STEP] = {.integer = block->site->step},
            [SITE] = {.text = txd_probe_name(&state->frame, block->site)},
            [LAYER] = {.integer = block->site->layer},
            [BATCH] = {.integer = (int64_t)(i / block->dims[1])},
            [HEAD] = {.integer = (int64_t)(i % block->dims[1])},
            [FOUND] = {.integer = heads[i].found},
            [KEPT] = {.integer = heads[i].kept},
        };

        if (heads[i].found > 0)
            TXD_TRY(txd_table_add(&state->counts, cells));
    }
    return TXD_OK;
}

const txd_probe txd_probe_leaks = {
    .name = "leaks",
    .sentence = "attention to keys that the claimed mask hides, cell by cell",
    .points = "layers.*.attn.weights,layers.*.cross.weights",
    .ask = ask,
    .by_head = true,
    .number = {"limit", 1000, 1, 10000000},
    .state_bytes = sizeof(leaks),
    .fill = fill,
    .begin = begin,
    .slot_bytes = sizeof(uint64_t),
    .reduce = reduce,
    .merge = merge,
    .end = end,
};
