/* SPDX-License-Identifier: MIT
 *
 * Chunks on their way to the file: packed by all threads, written by one, in the order
 * in which they were begun, so that the file does not depend on the number of threads.
 * A chunk of which all bits would be +0 is left to the fill value, if that is +0.
 */
#include "formats/h5_tile_internal.h"

#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

/* Filters in their order: bit 0 the shuffle, bit 1 deflate. */
#define NO_FILTERS 3

/* Elementary operations per number, for txd_parallel. */
#define DEFLATE_WORK 60.0
#define ROUND_WORK 6.0

/* Some active tiles, all packed and written together. */
typedef struct batch {
    txd_h5_writer *writer;
    size_t first, count; /* in the list */
} batch;

static txd_pack_plan plan_of(const txd_h5_dataset *dataset, const txd_h5_tile *tile)
{
    return (txd_pack_plan){
        .from = dataset->memory,
        .to = txd_h5_stored(&dataset->spec),
        .count = dataset->plan.chunk_bytes / dataset->plan.bytes,
        .round12 = dataset->spec.storage == TXD_STORAGE_F32R12,
        .drop_zeros = txd_h5_fill(&dataset->spec) == 0 && !tile->exists,
        .deflate = dataset->deflate,
    };
}

static txd_status pack(void *self, size_t i, int worker)
{
    const batch *b = self;
    txd_h5_tiles *tiles = &b->writer->tiles;
    txd_h5_tile *tile = &tiles->list[b->first + i];
    const txd_h5_dataset *dataset = &b->writer->datasets[tile->dataset];
    const txd_pack_plan plan = plan_of(dataset, tile);

    txd_h5_tile_complete(dataset, tile);
    tile->packed = txd_pack(tile->data, &tiles->packers[worker], &plan);
    return TXD_OK;
}

/* How much there is to do per tile; and room to do it. */
static txd_status prepare(double *work, const batch *b)
{
    txd_h5_tiles *tiles = &b->writer->tiles;
    bool deflate = false;
    size_t bytes = 0;

    *work = 0;
    for (size_t i = 0; i < b->count; i++) {
        const txd_h5_tile *tile = &tiles->list[b->first + i];
        const txd_pack_plan plan = plan_of(&b->writer->datasets[tile->dataset], tile);
        bool spare = plan.deflate || plan.from != plan.to;

        *work += (plan.deflate                           ? DEFLATE_WORK
                  : plan.round12 || plan.from != plan.to ? ROUND_WORK
                                                         : 0) *
                 (double)plan.count;
        deflate |= plan.deflate;
        if (spare && txd_pack_bytes(&plan) > bytes)
            bytes = txd_pack_bytes(&plan);
    }
    *work /= (double)b->count;
    if (!tiles->packers)
        tiles->packers = calloc((size_t)tiles->threads, sizeof *tiles->packers);
    if (!tiles->packers)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a recording");
    for (int i = 0; i < tiles->threads; i++)
        TXD_TRY(txd_packer_reserve(&tiles->packers[i], bytes, deflate));
    return TXD_OK;
}

static txd_status write_tile(txd_h5_writer *writer, const txd_h5_tile *tile)
{
    txd_h5_dataset *dataset = &writer->datasets[tile->dataset];
    uint32_t skipped = dataset->deflate && tile->packed.plain ? NO_FILTERS : 0;

    if (tile->packed.bytes == 0)
        return TXD_OK;
    TXD_TRY(txd_h5_dataset_open(writer, dataset, tile->part));
    if (H5Dwrite_chunk(dataset->id, H5P_DEFAULT, skipped, tile->offset,
                       tile->packed.bytes, tile->data) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "writing");
    return TXD_OK;
}

static txd_status write_batch(batch *b)
{
    txd_ctx ctx = {.threads = b->writer->tiles.threads};
    double work;

    if (b->count == 0)
        return TXD_OK;
    TXD_TRY(prepare(&work, b));
    TXD_TRY(txd_parallel(&ctx, b->count, work, pack, b));
    for (size_t i = 0; i < b->count; i++)
        TXD_TRY(write_tile(b->writer, &b->writer->tiles.list[b->first + i]));
    return TXD_OK;
}

/* Brings the chosen ones behind those that stay active, both in their order: writing
 * makes them idle. */
static size_t choose(txd_h5_tiles *tiles, bool whole, size_t oldest)
{
    size_t stay = 0, go = 0, bytes = 0;
    txd_h5_tile *list = tiles->other;

    for (int pass = 0; pass < 2; pass++)
        for (size_t i = 0; i < tiles->active; i++) {
            const txd_h5_tile *tile = &tiles->list[i];
            bool chosen = i < oldest || (whole && tile->whole);

            if (chosen != (pass == 1))
                continue;
            list[stay + go] = *tile;
            stay += !chosen;
            go += chosen;
            bytes += chosen ? 0 : tile->bytes;
        }
    memcpy(list + tiles->active, tiles->list + tiles->active,
           (tiles->made - tiles->active) * sizeof *list);
    tiles->other = tiles->list;
    tiles->list = list;
    tiles->active = stay;
    tiles->bytes = bytes;
    return go;
}

static txd_status write_chosen(txd_h5_writer *writer, bool whole, size_t oldest)
{
    txd_h5_tiles *tiles = &writer->tiles;
    batch b = {.writer = writer};

    if (tiles->active == 0)
        return TXD_OK;
    b.count = choose(tiles, whole, oldest);
    b.first = tiles->active;
    tiles->whole_bytes = 0;
    for (size_t i = 0; i < tiles->active; i++)
        if (tiles->list[i].whole)
            tiles->whole_bytes += tiles->list[i].bytes;
    return write_batch(&b);
}

txd_status txd_h5_tiles_drain(txd_h5_writer *writer)
{
    txd_h5_tiles *tiles = &writer->tiles;
    bool is_full = tiles->bytes > TXD_H5_TILES_BUDGET;

    if (tiles->whole_bytes >= TXD_H5_TILES_BATCH || (is_full && tiles->whole_bytes > 0))
        return write_chosen(writer, true, 0);
    /* They may not be what all of them were taken for: read back if not. */
    return is_full ? write_chosen(writer, false, (tiles->active + 1) / 2) : TXD_OK;
}

txd_status txd_h5_tiles_flush(txd_h5_writer *writer)
{
    return write_chosen(writer, false, writer->tiles.active);
}

void txd_h5_tiles_finish(txd_h5_writer *writer)
{
    txd_h5_tiles *tiles = &writer->tiles;

    for (size_t i = 0; i < tiles->made; i++) {
        free(tiles->list[i].data);
        free(tiles->list[i].rows);
    }
    for (int i = 0; tiles->packers && i < tiles->threads; i++)
        txd_packer_finish(&tiles->packers[i]);
    free(tiles->list);
    free(tiles->other);
    free(tiles->packers);
    free(tiles->row);
    *tiles = (txd_h5_tiles){0};
}
