/* SPDX-License-Identifier: MIT
 *
 * Blocks that are all there is of their chunks go to the file chunk by chunk: HDF5
 * would copy them into its cache row by row, look them up again and write the same.
 */
#include "formats/h5_tile_internal.h"

#include <stdlib.h>
#include <string.h>

/* Chunks are bytes as they lie in memory. Of those that hold several steps or go
 * through filters there is more to be known. */
bool txd_h5_is_whole(const txd_h5_dataset *dataset, const txd_h5_block *block)
{
    const txd_h5_plan *plan = &dataset->plan;

    if (!plan->chunked || dataset->deflate || !txd_h5_is_little_endian() ||
        block->dtype != txd_h5_stored(&dataset->spec) ||
        dataset->spec.storage == TXD_STORAGE_F32R12 ||
        (dataset->spec.per_step && plan->chunk[0] != 1))
        return false;
    for (int axis = 0; axis < plan->rank; axis++) {
        size_t end = block->start[axis] + block->count[axis];

        if (block->start[axis] % plan->chunk[axis] != 0 ||
            (end % plan->chunk[axis] != 0 && end != dataset->extent[axis]))
            return false;
    }
    return true;
}

static txd_status reserve(txd_h5_writer *writer, size_t bytes)
{
    unsigned char *grown;

    if (bytes <= writer->chunk_bytes)
        return TXD_OK;
    grown = realloc(writer->chunk, bytes);
    if (!grown)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a chunk of %zu bytes", bytes);
    writer->chunk = grown;
    writer->chunk_bytes = bytes;
    return TXD_OK;
}

/* What of the chunk lies behind the dataset's extent is fill. */
static void fill(unsigned char *chunk, const txd_h5_dataset *dataset)
{
    size_t width = dataset->plan.bytes, bytes = dataset->plan.chunk_bytes;
    double value = txd_h5_fill(&dataset->spec);

    txd_convert(chunk, txd_h5_stored(&dataset->spec), &value, TXD_F64, 1);
    for (size_t done = width, more; done < bytes; done += more) {
        more = done < bytes - done ? done : bytes - done;
        memcpy(chunk + done, chunk, more);
    }
}

/* The chunk as it is to lie in the file; the block's own memory where that does. */
static const unsigned char *chunk_of(const txd_h5_writer *writer, const txd_h5_piece *p)
{
    const txd_h5_plan *plan = &p->dataset->plan;
    int last = plan->rank - 1;
    size_t numbers = plan->chunk_bytes / plan->bytes, all = 1;

    for (int axis = 0; axis < plan->rank; axis++)
        all *= p->block->count[axis];
    if (all == numbers && p->rows * p->count[last] == numbers)
        return p->block->data;
    if (p->rows * p->count[last] < numbers)
        fill(writer->chunk, p->dataset);
    for (size_t i = 0; i < p->rows; i++) {
        size_t row;
        const unsigned char *from = txd_h5_piece_row(&row, p, i);

        memcpy(writer->chunk + row * plan->chunk[last] * plan->bytes, from,
               p->count[last] * plan->bytes);
    }
    return writer->chunk;
}

static txd_status write_chunk(const txd_h5_writer *writer, const txd_h5_piece *p)
{
    hsize_t offset[TXD_MAX_RANK];

    for (int axis = 0; axis < p->dataset->plan.rank; axis++)
        offset[axis] = p->chunk[axis] * p->dataset->plan.chunk[axis];
    if (H5Dwrite_chunk(p->dataset->id, H5P_DEFAULT, 0, offset,
                       p->dataset->plan.chunk_bytes, chunk_of(writer, p)) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "writing");
    return TXD_OK;
}

txd_status txd_h5_whole_write(txd_h5_writer *writer, const txd_h5_block *block)
{
    const txd_h5_dataset *dataset = &writer->datasets[block->dataset];
    txd_h5_piece p = {.block = block, .dataset = dataset};

    TXD_TRY(reserve(writer, dataset->plan.chunk_bytes));
    txd_h5_piece_first(&p);
    do {
        txd_h5_piece_meet(&p);
        TXD_TRY(write_chunk(writer, &p));
    } while (txd_h5_piece_next(&p));
    return TXD_OK;
}
