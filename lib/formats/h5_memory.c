/* SPDX-License-Identifier: MIT
 *
 * What HDF5 keeps in memory while a recording is written. The metadata cache evicts
 * nothing (h5_writer.c says why), so that it grows to all chunk indices and headers.
 */
#include "formats/h5_types_internal.h"

#define LARGE_CHUNK ((size_t)1 << 20)
#define COLUMN_CHUNK 512 /* rows (h5_table.c) */

/* A chunk index in memory (HDF5 1.10.8, H5Dbtree.c): a key of 272 bytes and an address
 * per child, of which only those of chunks are ever touched, the node as it is in the
 * file, and a buffer of that size to encode it. */
#define NATIVE_CHILD (272 + 8)

/* Measured: an open chunked dataset beside that, with its property lists. */
#define OPEN_BYTES ((size_t)40 << 10)

/* Measured: the open file. */
#define BASE_BYTES ((size_t)7 << 20)

size_t txd_h5_cache_bytes(const txd_h5_plan *plan)
{
    /* Chunks that are written whole never come into it. */
    size_t chunk = plan->chunked && !plan->tiled ? plan->chunk_bytes : 0;
    size_t bytes = chunk > LARGE_CHUNK ? chunk : 2 * chunk;

    return bytes < TXD_H5_SMALL_CACHE ? TXD_H5_SMALL_CACHE : bytes;
}

void txd_recording_memory_add(txd_recording_memory *memory,
                              const txd_dataset_spec *spec)
{
    size_t steps = spec->steps ? spec->steps : 1, chunks, data, cache;
    txd_h5_plan plan;

    if (txd_h5_plan_make(&plan, spec) != TXD_OK)
        return;
    chunks = plan.chunks_per_step;
    if (spec->per_step)
        chunks *= (steps + plan.chunk[0] - 1) / plan.chunk[0];
    data = plan.chunked ? chunks * plan.chunk_bytes : 0;
    cache = txd_h5_cache_bytes(&plan);
    memory->kept += 2 * (txd_recording_estimate(spec) - data);
    if (plan.chunked)
        memory->kept += plan.parts * OPEN_BYTES + chunks * NATIVE_CHILD;
    if (cache > data)
        cache = data;
    *(cache > TXD_H5_SMALL_CACHE ? &memory->large : &memory->small) += cache;
    if (!plan.tiled)
        return;
    memory->tiles += plan.chunks_per_step * plan.chunk_bytes;
    if (plan.chunk_bytes > memory->tile)
        memory->tile = plan.chunk_bytes;
}

txd_dataset_spec txd_recording_column(size_t rows)
{
    size_t chunks = rows / COLUMN_CHUNK + 1;

    return (txd_dataset_spec){.path = "table/column",
                              .axes = "n",
                              .point = "",
                              .unit = "",
                              .dtype = TXD_F64,
                              .rank = 1,
                              .dims = {chunks * COLUMN_CHUNK},
                              .growing = {true},
                              .chunk_limit = {COLUMN_CHUNK},
                              .steps = 1};
}

txd_dataset_spec txd_recording_complete_column(size_t rows)
{
    return (txd_dataset_spec){.path = "table/column",
                              .axes = "n",
                              .point = "",
                              .unit = "",
                              .dtype = TXD_F64,
                              .rank = 1,
                              .dims = {rows},
                              .steps = 1};
}

size_t txd_recording_memory_total(const txd_recording_memory *memory)
{
    size_t large =
        memory->large < TXD_H5_CACHE_BUDGET ? memory->large : TXD_H5_CACHE_BUDGET;
    /* Blocks come in order, so that few chunks are begun at a time. */
    size_t most = TXD_H5_TILES_BATCH + 4 * memory->tile;

    return BASE_BYTES + memory->kept + memory->small + large +
           (memory->tiles < most ? memory->tiles : most);
}
