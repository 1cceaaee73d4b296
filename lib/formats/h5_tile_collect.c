/* SPDX-License-Identifier: MIT
 *
 * Collecting blocks into whole chunks, which we then write ourselves (h5_tiles.c):
 * HDF5 would pack them one by one, on one thread, and store the empty ones. What a
 * chunk was never given is its dataset's fill value; a chunk of which a part comes
 * after it was written is read back, so that order costs time alone.
 */
#include "formats/h5_tile_internal.h"

#include <stdlib.h>
#include <string.h>

static txd_h5_tile *find(const txd_h5_tiles *tiles, const txd_h5_piece *p)
{
    for (size_t i = tiles->active; i-- > 0;) {
        txd_h5_tile *tile = &tiles->list[i];

        if (tile->number == p->number && tile->dataset == p->block->dataset &&
            tile->part == p->part)
            return tile;
    }
    return NULL;
}

static txd_status grow(txd_h5_tiles *tiles)
{
    size_t wanted = tiles->capacity ? 2 * tiles->capacity : 64;
    txd_h5_tile *lists[2];

    if (tiles->made < tiles->capacity)
        return TXD_OK;
    lists[0] = realloc(tiles->list, wanted * sizeof *tiles->list);
    tiles->list = lists[0] ? lists[0] : tiles->list;
    lists[1] = realloc(tiles->other, wanted * sizeof *tiles->other);
    tiles->other = lists[1] ? lists[1] : tiles->other;
    if (!lists[0] || !lists[1])
        return txd_fail(TXD_ERR_MEMORY, "out of memory: %zu tiles", wanted);
    tiles->capacity = wanted;
    return TXD_OK;
}

/* An idle tile with room for so much, else any, else a new one, becomes the youngest
 * of the active ones. */
static txd_status take(txd_h5_tile **out, txd_h5_tiles *tiles, size_t bytes)
{
    size_t at = tiles->active;
    txd_h5_tile idle;

    while (at < tiles->made && tiles->list[at].bytes < bytes)
        at++;
    if (at == tiles->made)
        at = tiles->active;
    if (at == tiles->made) {
        TXD_TRY(grow(tiles));
        tiles->list[tiles->made++] = (txd_h5_tile){0};
    }
    idle = tiles->list[at];
    tiles->list[at] = tiles->list[tiles->active];
    tiles->list[tiles->active] = idle;
    *out = &tiles->list[tiles->active];
    return TXD_OK;
}

static txd_status make_room(txd_h5_tile *tile, size_t bytes, size_t rows)
{
    if (tile->bytes < bytes) {
        free(tile->data);
        tile->data = malloc(bytes);
        tile->bytes = tile->data ? bytes : 0;
    }
    if (tile->row_count < rows) {
        free(tile->rows);
        tile->rows = malloc(rows * sizeof *tile->rows);
    }
    if (!tile->data || !tile->rows) {
        tile->row_count = 0;
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a chunk of %zu bytes", bytes);
    }
    return TXD_OK;
}

/* What the file has of a chunk. */
static txd_status load(const txd_h5_writer *writer, const txd_h5_dataset *dataset,
                       txd_h5_tile *tile)
{
    const txd_h5_plan *plan = &dataset->plan;
    txd_dtype stored = txd_h5_stored(&dataset->spec);
    hsize_t count[TXD_MAX_RANK], whole[TXD_MAX_RANK], zero[TXD_MAX_RANK] = {0};
    size_t numbers = plan->chunk_bytes / plan->bytes;
    void *raw = malloc(plan->chunk_bytes);
    hid_t memory, file;
    herr_t done;

    if (!raw)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a chunk of %zu bytes",
                        plan->chunk_bytes);
    for (int axis = 0; axis < plan->rank; axis++) {
        hsize_t rest = dataset->extent[axis] - tile->offset[axis];

        whole[axis] = plan->chunk[axis];
        count[axis] = rest < whole[axis] ? rest : whole[axis];
    }
    memory = H5Screate_simple(plan->rank, whole, NULL);
    file = H5Screate_simple(plan->rank, dataset->extent, NULL);
    txd_h5_tile_complete(dataset, tile);
    txd_convert(raw, stored, tile->data, dataset->memory, numbers);
    H5Sselect_hyperslab(memory, H5S_SELECT_SET, zero, NULL, count, NULL);
    H5Sselect_hyperslab(file, H5S_SELECT_SET, tile->offset, NULL, count, NULL);
    done = H5Dread(dataset->id, txd_h5_memory_type(&writer->types, stored), memory,
                   file, H5P_DEFAULT, raw);
    if (done >= 0)
        txd_convert(tile->data, dataset->memory, raw, stored, numbers);
    free(raw);
    if (done < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "reading a chunk again");
    H5Sclose(memory);
    H5Sclose(file);
    return TXD_OK;
}

static void chunk_offset(hsize_t *offset, const txd_h5_piece *p)
{
    for (int axis = 0; axis < p->dataset->plan.rank; axis++)
        offset[axis] = p->chunk[axis] * p->dataset->plan.chunk[axis];
}

static bool is_in_file(const txd_h5_piece *p)
{
    hsize_t offset[TXD_MAX_RANK], bytes = 0;

    chunk_offset(offset, p);
    return H5Dget_chunk_storage_size(p->dataset->id, offset, &bytes) >= 0 && bytes > 0;
}

static txd_status begin(txd_h5_tile **out, txd_h5_writer *writer, const txd_h5_piece *p,
                        bool exists)
{
    const txd_h5_dataset *dataset = p->dataset;
    size_t numbers = dataset->plan.chunk_bytes / dataset->plan.bytes;
    size_t width = txd_dtype_bytes(dataset->memory);
    size_t rows = numbers / txd_h5_tile_width(dataset);
    txd_h5_tile *tile;

    if (width < dataset->plan.bytes)
        width = dataset->plan.bytes;
    TXD_TRY(take(&tile, &writer->tiles, numbers * width));
    TXD_TRY(make_room(tile, numbers * width, rows));
    tile->dataset = p->block->dataset;
    tile->part = p->part;
    tile->number = p->number;
    tile->row_count = rows;
    tile->whole = false;
    tile->exists = exists;
    memset(tile->rows, 0, rows * sizeof *tile->rows);
    chunk_offset(tile->offset, p);
    if (exists)
        TXD_TRY(load(writer, dataset, tile));
    writer->tiles.active++;
    writer->tiles.bytes += tile->bytes;
    *out = tile;
    return TXD_OK;
}

static txd_status write_piece(txd_h5_writer *writer, const txd_h5_piece *p)
{
    txd_h5_tiles *tiles = &writer->tiles;
    txd_h5_tile *tile = find(tiles, p);

    if (!tile) {
        bool exists = is_in_file(p);

        if (!exists && txd_h5_fill(&p->dataset->spec) == 0 && txd_h5_piece_is_zero(p))
            return TXD_OK;
        TXD_TRY(begin(&tile, writer, p, exists));
    }
    txd_h5_tile_copy(tile, tiles->row, p);
    if (!tile->whole && txd_h5_piece_ends(p)) {
        tile->whole = true;
        tiles->whole_bytes += tile->bytes;
    }
    TXD_TRY(txd_h5_tiles_drain(writer));
    /* It may have opened another part. */
    return txd_h5_dataset_open(writer, &writer->datasets[p->block->dataset], p->part);
}

static txd_status reserve_row(txd_h5_tiles *tiles, const txd_h5_dataset *dataset)
{
    size_t bytes = txd_h5_tile_width(dataset) * sizeof(double);
    unsigned char *row;

    if (bytes <= tiles->row_bytes)
        return TXD_OK;
    row = realloc(tiles->row, bytes);
    if (!row)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a row of %zu bytes", bytes);
    tiles->row = row;
    tiles->row_bytes = bytes;
    return TXD_OK;
}

txd_status txd_h5_tiles_write(txd_h5_writer *writer, const txd_h5_block *block)
{
    txd_h5_dataset *dataset = &writer->datasets[block->dataset];
    txd_h5_piece p = {.block = block, .dataset = dataset, .part = dataset->part};

    if (!dataset->has_memory) {
        txd_dtype stored = txd_h5_stored(&dataset->spec);

        dataset->has_memory = true;
        dataset->memory =
            stored == TXD_F16 && block->dtype == TXD_F32 ? TXD_F32 : stored;
    }
    TXD_TRY(reserve_row(&writer->tiles, dataset));
    txd_h5_piece_first(&p);
    do {
        txd_h5_piece_meet(&p);
        TXD_TRY(write_piece(writer, &p));
    } while (txd_h5_piece_next(&p));
    return TXD_OK;
}
