/* SPDX-License-Identifier: MIT
 *
 * The probe `leaks`: attention to keys that the claimed mask hides, cell by cell.
 * Workers count, the calling thread lists: the worst of each block of query rows, so
 * many that every head of every layer has its share of the step's limit. A second
 * table holds the counts, so that what was dropped is known.
 */
#include "probes/common.h"
#include "probes/leak_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 1000

typedef struct leaks {
    txd_arena *arena;
    const txd_probe_use *use;
    txd_recording *recording;
    txd_probe_sites sites;
    txd_table cells, counts;
    size_t limit;
    size_t listed;         /* in this step */
    int64_t *found, *kept; /* (b, h) of the layer at hand */
    size_t heads;          /* entries of these */
    bool is_counting;
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

static bool takes(txd_site_kind kind, txd_point point)
{
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS;
}

static unsigned ask(void *self, const txd_site *site)
{
    const leaks *state = self;

    if (!txd_probe_takes_site(&txd_probe_leaks, state->use, site))
        return 0;
    return TXD_ASK_VALUE | TXD_ASK_ROWS;
}

static bool wants_head(const leaks *state, const txd_block *block, size_t index)
{
    return txd_probe_use_selects_head(&txd_probe_leaks, state->use, block->site,
                                      block->start[1] + index % block->value.dims[1]);
}

/* The slot: whether anything leaks at all. It is only then that merge looks again. */
static void reduce(void *slot, const void *self, const txd_block *block)
{
    uint64_t *count = slot;
    size_t heads = block->value.dims[0] * block->value.dims[1];

    if (!block->value.data)
        return;
    for (size_t i = 0; i < heads; i++)
        if (wants_head(self, block, i))
            *count += txd_leak_cells_count(block, i);
}

/* Cells that may have been listed once this block is done: equal shares of the limit
 * for all heads of all layers, what one leaves being there for those after it. */
static size_t allowed(const leaks *state, const txd_block *block, size_t batch,
                      size_t head)
{
    size_t layers = state->sites.count, batches = block->dims[0],
           heads = block->dims[1];
    size_t layer = txd_probe_sites_index(&state->sites, block->site);
    size_t end = block->start[2] + block->value.dims[2];
    double share = ((double)(layer * batches + batch) * (double)heads + (double)head +
                    (double)end / (double)block->dims[2]) /
                   ((double)layers * (double)batches * (double)heads);
    size_t total = (size_t)ceil((double)state->limit * share);

    return total < state->limit ? total : state->limit;
}

static txd_status add_cells(leaks *state, const txd_block *block,
                            const txd_leak_cell *list, size_t count)
{
    size_t row = txd_probe_sites_index(&state->sites, block->site);

    for (size_t i = 0; i < count; i++) {
        const txd_cell cells[] = {
            [STEP] = {.integer = block->site->step},
            [SITE] = {.text = state->sites.names[row]},
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
    size_t batch = block->start[0] + index / block->value.dims[1];
    size_t head = block->start[1] + index % block->value.dims[1];
    size_t entry = batch * block->dims[1] + head;
    size_t count = txd_leak_cells_count(block, index), limit, keep;
    txd_leak_cell *list;
    txd_status status;

    limit = allowed(state, block, batch, head);
    keep = limit > state->listed ? limit - state->listed : 0;
    keep = count < keep ? count : keep;
    state->found[entry] += (int64_t)count;
    state->kept[entry] += (int64_t)keep;
    state->listed += keep;
    if (keep == 0)
        return TXD_OK;
    list = malloc(keep * sizeof *list);
    if (!list)
        return txd_probe_no_memory("leaks");
    txd_leak_cells_worst(list, keep, block, index);
    status = add_cells(state, block, list, keep);
    free(list);
    return status;
}

static txd_status start_layer(leaks *state, const txd_block *block)
{
    size_t heads = block->dims[0] * block->dims[1];

    if (heads > state->heads) {
        state->found = txd_arena_alloc(state->arena, heads, sizeof(int64_t));
        state->kept = txd_arena_alloc(state->arena, heads, sizeof(int64_t));
        if (!state->found || !state->kept)
            return TXD_ERR_MEMORY;
        state->heads = heads;
    }
    memset(state->found, 0, heads * sizeof(int64_t));
    memset(state->kept, 0, heads * sizeof(int64_t));
    state->is_counting = true;
    return TXD_OK;
}

static txd_status end_layer(leaks *state, const txd_block *block)
{
    size_t row = txd_probe_sites_index(&state->sites, block->site);

    state->is_counting = false;
    for (size_t i = 0; i < block->dims[0] * block->dims[1]; i++) {
        const txd_cell cells[] = {
            [STEP] = {.integer = block->site->step},
            [SITE] = {.text = state->sites.names[row]},
            [LAYER] = {.integer = block->site->layer},
            [BATCH] = {.integer = (int64_t)(i / block->dims[1])},
            [HEAD] = {.integer = (int64_t)(i % block->dims[1])},
            [FOUND] = {.integer = state->found[i]},
            [KEPT] = {.integer = state->kept[i]},
        };

        if (state->found[i] > 0)
            TXD_TRY(txd_table_add(&state->counts, cells));
    }
    return TXD_OK;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    leaks *state = self;
    const uint64_t *count = slot;
    size_t heads = block->value.dims[0] * block->value.dims[1];

    if (txd_probe_sites_index(&state->sites, block->site) == state->sites.count)
        return TXD_OK;
    if (!block->value.data && txd_tensor_count(&block->value) > 0)
        return txd_fail(TXD_ERR_MISSING, "%s: the weights were not formed",
                        block->site->name);
    if (!state->is_counting)
        TXD_TRY(start_layer(state, block));
    for (size_t i = 0; count && *count > 0 && i < heads; i++)
        if (wants_head(state, block, i))
            TXD_TRY(list_head(state, block, i));
    return block->last ? end_layer(state, block) : TXD_OK;
}

static txd_status step_end(void *self, const txd_pass *pass)
{
    leaks *state = self;

    (void)pass;
    state->listed = 0;
    TXD_TRY(txd_table_write(&state->cells, state->recording));
    return txd_table_write(&state->counts, state->recording);
}

/* Leaks are faults: a plan expects none. */
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
    leaks *state = self;

    if (!state)
        return;
    txd_table_finish(&state->cells);
    txd_table_finish(&state->counts);
    txd_arena_destroy(state->arena);
    free(state);
}

static txd_status fill(leaks *state, const txd_probe_context *context)
{
    state->limit = DEFAULT_LIMIT;
    TXD_TRY(txd_probe_use_size(&state->limit, state->use, "limit", 1, 10000000));
    TXD_TRY(txd_arena_create(&state->arena));
    return txd_probe_sites_find(&state->sites, state->arena, &txd_probe_leaks,
                                state->use, context, TXD_SITE_VALUE);
}

static txd_status create(void **out, txd_tap *tap, const txd_probe_context *context,
                         const txd_probe_use *use)
{
    leaks *state = calloc(1, sizeof *state);
    txd_status status;

    if (!state)
        return txd_probe_no_memory("leaks");
    state->use = use;
    state->recording = context->recording;
    txd_table_init(&state->cells, "events/leaks", cell_columns,
                   sizeof cell_columns / sizeof *cell_columns);
    txd_table_init(&state->counts, "events/leak_counts", count_columns,
                   sizeof count_columns / sizeof *count_columns);
    status = fill(state, context);
    if (status != TXD_OK) {
        destroy(state);
        return status;
    }
    *tap = (txd_tap){.name = "leaks",
                     .self = state,
                     .ask = ask,
                     .slot_bytes = sizeof(uint64_t),
                     .reduce = reduce,
                     .merge = merge,
                     .step_end = step_end};
    *out = state;
    return TXD_OK;
}

const txd_probe txd_probe_leaks = {
    .name = "leaks",
    .sentence = "attention to keys that the claimed mask hides, cell by cell",
    .points = "layers.*.attn.weights",
    .takes = takes,
    .by_head = true,
    .plan = plan,
    .create = create,
    .destroy = destroy,
};
