/* SPDX-License-Identifier: MIT
 *
 * Memory of a run: everything that a shape needs, carved from two allocations, values
 * from the backend's memory and all else from the host's, so that nothing is allocated
 * per layer or per step. The same walk first counts and then carves, so that a dry
 * run's estimate is what a run takes.
 */
#include <string.h>

#include "base/memory.h"
#include "model/cache_private.h"
#include "model/images.h"

/* Elements and rows of a row tile of the logits, at most; rows of a chunk of
 * statistics.
 */
#define LOGIT_ELEMENTS 4194304
#define LOGIT_ROWS 512
#define CHUNK_ROWS 256
#define MANY_KEYS 8192

struct region {
    char *base; /* NULL while only counting */
    size_t bytes;
};

struct carver {
    struct region values, host;
    txd_status status;
};

static bool is_counting(const struct carver *carver)
{
    return carver->host.base == NULL;
}

static void *carve_from(struct carver *carver, struct region *region, size_t count,
                        size_t size)
{
    size_t bytes, end;
    void *here = region->base == NULL ? NULL : region->base + region->bytes;

    if (carver->status == TXD_OK)
        carver->status = txd_size_mul(&bytes, count, size);
    if (carver->status == TXD_OK)
        carver->status = txd_size_add(&bytes, bytes, 63);
    if (carver->status == TXD_OK)
        carver->status = txd_size_add(&end, region->bytes, bytes / 64 * 64);
    if (carver->status != TXD_OK)
        return NULL;
    region->bytes = end;
    return here;
}

static void *carve(struct carver *carver, size_t count, size_t size)
{
    return carve_from(carver, &carver->host, count, size);
}

static void *carve_values(struct carver *carver, size_t count, size_t size)
{
    return carve_from(carver, &carver->values, count, size);
}

/* Enough that threads seldom wait for the merge; tiles of many keys take long and much
 * memory. */
size_t txd_run_flight(const txd_run *run, size_t longest)
{
    size_t threads = (size_t)run->ctx.threads;

    if (threads == 1)
        return 1;
    return longest > MANY_KEYS ? threads + 1 : 2 * threads;
}

static void carve_inputs(struct txd_run *run, struct carver *carver)
{
    size_t count = run->batch * run->length;

    run->actual.batch = run->batch;
    run->actual.length = run->length;
    run->actual.tokens = carve(carver, count, sizeof(int32_t));
    run->actual.positions = carve(carver, count, sizeof(int32_t));
    run->actual.valid = carve(carver, count, sizeof(int32_t));
    run->actual.document = carve(carver, count, sizeof(int32_t));
    run->actual.types = carve(carver, count, sizeof(int32_t));
    run->actual.memory_length = run->memory_length;
    run->actual.memory_valid =
        carve(carver, run->batch * run->memory_length, sizeof(int32_t));
    run->targets = carve(carver, count, sizeof(int32_t));
    run->padded = carve(carver, count, 1);
    run->padded_memory = carve(carver, run->batch * run->memory_length, 1);
    run->no_target = carve(carver, count, 1);
}

/* All values and gradients of the pass. */
static void carve_homes(struct txd_run *run, struct carver *carver)
{
    size_t bytes = 0;
    char *memory;

    if (carver->status == TXD_OK)
        carver->status = txd_run_lives(run);
    if (carver->status == TXD_OK)
        carver->status = txd_run_places(&bytes, run);
    memory = carve_values(carver, bytes, 1);
    if (memory != NULL)
        txd_run_settle(run, memory);
}

/* The longer of the two sequences that queries attend to; all that a cache may come to
 * hold, so that it grows without a new layout. */
static size_t longest(const struct txd_run *run)
{
    size_t own = run->length;

    if (run->options.cache != NULL && run->options.cache->capacity > own)
        own = run->options.cache->capacity;
    return run->memory_length > own ? run->memory_length : own;
}

static void carve_tile_back(const struct txd_run *run, struct carver *carver,
                            struct txd_tile *tile)
{
    size_t bytes = txd_dtype_bytes(run->model->backend->dtype);
    size_t keys = longest(run), cells = run->tile_rows * keys;

    for (size_t i = 0; i < run->arrays.gradients; i++)
        tile->gradients[i] = carve_values(carver, cells, bytes);
    tile->d_k = carve_values(carver, keys * run->model->config->head_dim, bytes);
    tile->d_v = carve_values(carver, keys * run->model->config->value_dim, bytes);
    tile->d_sink = carve_values(carver, 1, bytes);
    if (run->model->relative != NULL)
        tile->d_table = carve_values(
            carver, run->model->relative->buckets * run->model->relative->heads, bytes);
}

static void carve_tile(struct txd_run *run, struct carver *carver,
                       struct txd_tile *tile)
{
    size_t bytes = txd_dtype_bytes(run->model->backend->dtype);
    size_t rows = run->tile_rows, cells = rows * longest(run);
    struct txd_tile t = {0};

    for (size_t i = 0; i < run->arrays.values; i++)
        t.values[i] = carve_values(carver, cells, bytes);
    if (run->options.backward)
        carve_tile_back(run, carver, &t);
    t.seen = carve(carver, rows, sizeof(int32_t));
    t.first_seen = carve(carver, rows, sizeof(int32_t));
    t.entropy = carve(carver, rows, sizeof(double));
    t.row_statistics = carve(carver, rows * TXD_ROW_COUNT, sizeof(double));
    t.slots = carve(carver, TXD_TILE_POINTS, run->slot_offset[run->tap_count]);
    if (tile != NULL)
        *tile = t;
}

static void carve_cells(struct txd_run *run, struct carver *carver)
{
    size_t queries = run->batch * run->length;
    struct txd_cells *cells = &run->cells;

    for (int side = 0; side < 2; side++) {
        cells->visible[side] = carve(carver, queries, sizeof(int32_t));
        cells->used[side] = carve(carver, queries, sizeof(int32_t));
        cells->seen[side] = carve(carver, queries, sizeof(int32_t));
    }
    cells->sides = carve(carver, run->batch, sizeof *cells->sides);
    cells->is_regular = carve(carver, run->batch, sizeof *cells->is_regular);
}

/* Of masks that are no spans. Behind all else: most runs never touch it. */
static void carve_maps(struct txd_run *run, struct carver *carver)
{
    size_t cells = run->tile_rows * longest(run);

    for (size_t i = 0; i < run->flight; i++) {
        uint8_t *visible = carve(carver, cells, 1);
        uint8_t *used = carve(carver, cells, 1);
        uint8_t *hidden = carve(carver, cells, 1);

        if (is_counting(carver))
            continue;
        run->tiles[i].visible = visible;
        run->tiles[i].used = used;
        run->tiles[i].hidden = hidden;
    }
}

static void carve_attention(struct txd_run *run, struct carver *carver)
{
    size_t rows = run->batch * run->model->config->n_heads * run->length;

    run->max = carve(carver, rows, sizeof(double));
    run->lse = carve(carver, rows, sizeof(double));
    run->whole_rows = NULL;
    if (run->model->backend->attend != NULL && run->watch[TXD_SITE_VALUE].count > 0)
        run->whole_rows = carve(carver, txd_whole_heads(run) * run->length,
                                TXD_ROW_COUNT * sizeof(double));
    for (size_t i = 0; i < run->flight; i++)
        carve_tile(run, carver, is_counting(carver) ? NULL : &run->tiles[i]);
}

static size_t chunks_needed(const struct txd_run *run)
{
    const txd_config *c = run->model->config;
    size_t blocks = (longest(run) + CHUNK_ROWS - 1) / CHUNK_ROWS;

    return run->batch * c->n_heads * (blocks > 0 ? blocks : 1);
}

static void carve_backward(struct txd_run *run, struct carver *carver)
{
    size_t bytes = txd_dtype_bytes(run->model->backend->dtype);

    run->d_logits = NULL;
    if (!run->model->config->is_encoder)
        run->d_logits =
            carve_values(carver, run->logit_rows * run->model->config->vocab, bytes);
    run->d_parameters = carve_values(carver, 1, run->model->bytes);
}

static void carve_all(struct txd_run *run, struct carver *carver)
{
    size_t vocab = run->model->config->vocab, rows = LOGIT_ELEMENTS / vocab;
    size_t bytes = txd_dtype_bytes(run->model->backend->dtype);

    run->tile_rows = txd_attention_tile_rows(longest(run));
    if (run->tile_rows > run->length)
        run->tile_rows = run->length;
    run->flight = txd_run_flight(run, longest(run));
    rows = rows < 1 ? 1 : (rows < LOGIT_ROWS ? rows : LOGIT_ROWS);
    run->logit_rows = rows < run->length ? rows : run->length;
    run->chunk_rows = CHUNK_ROWS;
    carve_inputs(run, carver);
    carve_homes(run, carver);
    carve_attention(run, carver);
    carve_cells(run, carver);
    run->parts = carve(carver, chunks_needed(run), sizeof *run->parts);
    run->slot = carve(carver, 1, run->slot_offset[run->tap_count]);
    run->logits = NULL;
    if (!run->model->config->is_encoder)
        run->logits = carve_values(carver, run->logit_rows * vocab, bytes);
    run->raw_logits = run->logits;
    if (txd_point_exists(run->model->config, TXD_POINT_LOGITS_RAW))
        run->raw_logits = carve_values(carver, run->logit_rows * vocab, bytes);
    if (run->options.backward)
        carve_backward(run, carver);
    carve_maps(run, carver);
}

txd_extent txd_run_extent(const txd_run *run)
{
    return (txd_extent){run->batch, run->length, run->memory_length, run->past};
}

size_t txd_run_keys(const txd_run *run, txd_attention_kind kind)
{
    return kind == TXD_ATTENTION_CROSS ? run->memory_length : run->past + run->length;
}

static void set_extent(txd_run *run, const txd_extent *extent)
{
    run->batch = extent->batch;
    run->length = extent->length;
    run->past = extent->past;
    run->memory_length = run->model->config->cross ? extent->memory : 0;
}

/* What taps edit, or look at in tiles, has memory of its own. True if that is not what
 * it was. */
static bool note_wishes(txd_run *run)
{
    struct txd_tile_arrays arrays = txd_tile_arrays_needed(run);
    bool changed = arrays.values != run->arrays.values ||
                   arrays.gradients != run->arrays.gradients;

    run->arrays = arrays;

    for (size_t stop = 0; stop < run->stops; stop++) {
        unsigned wants = run->watch[TXD_SITE_VALUE].wishes[stop].all;
        uint8_t edited = (wants & TXD_ASK_EDIT) != 0;

        changed |= run->edited[stop] != edited;
        run->edited[stop] = edited;
    }
    return changed;
}

static bool has_extent(const txd_run *run, const txd_extent *extent)
{
    return run->memory != NULL && run->batch == extent->batch &&
           run->length == extent->length &&
           (!run->model->config->cross || run->memory_length == extent->memory);
}

txd_status txd_run_measure(struct txd_run_size *out, const txd_run *run,
                           const txd_extent *extent)
{
    struct txd_run copy = *run;
    struct carver carver = {.status = TXD_OK};

    set_extent(&copy, extent);
    note_wishes(&copy);
    carve_all(&copy, &carver);
    if (carver.status != TXD_OK)
        return carver.status;
    out->values = carver.values.bytes;
    out->host = carver.host.bytes;
    return TXD_OK;
}

static txd_status reserve(txd_run *run, const struct txd_run_size *bytes)
{
    const txd_backend *backend = run->model->backend;
    void *memory;

    if (bytes->host > run->host_bytes) {
        memory = txd_host_take(bytes->host);
        if (memory == NULL)
            return TXD_ERR_MEMORY;
        txd_memory_give(run->host_memory);
        run->host_memory = memory;
        run->host_bytes = bytes->host;
    }
    if (bytes->values > run->memory_bytes) {
        memory = backend->alloc(bytes->values);
        if (memory == NULL)
            return TXD_ERR_MEMORY;
        if (run->memory != NULL)
            backend->free(run->memory);
        run->memory = memory;
        run->memory_bytes = bytes->values;
    }
    return txd_images_reserve(run);
}

txd_status txd_run_shape(txd_run *run, const txd_extent *extent)
{
    struct carver carver = {.status = TXD_OK};
    struct txd_run_size bytes;
    bool changed = note_wishes(run);

    if (!changed && has_extent(run, extent)) {
        run->past = extent->past;
        return TXD_OK;
    }
    TXD_TRY(txd_run_measure(&bytes, run, extent));
    TXD_TRY(reserve(run, &bytes));
    set_extent(run, extent);
    carver.values.base = run->memory;
    carver.host.base = run->host_memory;
    carve_all(run, &carver);
    return TXD_OK;
}
