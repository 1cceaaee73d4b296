/* SPDX-License-Identifier: MIT
 *
 * What HDF5 keeps in memory while a recording is written. The metadata cache evicts
 * nothing (h5_writer.c says why), so that it grows to all chunk indices and headers.
 */
#include "formats/h5_internal.h"

#include "formats/recording.h"

#define LARGE_CHUNK ((size_t)1 << 20)

size_t txd_h5_cache_bytes(const txd_h5_plan *plan)
{
    size_t chunk = plan->chunked ? plan->chunk_bytes : 0;
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
    memory->kept += txd_recording_estimate(spec) - data;
    *(cache > TXD_H5_SMALL_CACHE ? &memory->large : &memory->small) +=
        cache < data ? cache : data;
}

size_t txd_recording_memory_total(const txd_recording_memory *memory)
{
    size_t large =
        memory->large < TXD_H5_CACHE_BUDGET ? memory->large : TXD_H5_CACHE_BUDGET;

    return memory->kept + memory->small + large;
}
