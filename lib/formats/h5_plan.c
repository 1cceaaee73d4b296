/* SPDX-License-Identifier: MIT
 *
 * How datasets lie in the file, and what that costs: pure arithmetic, no HDF5 calls.
 * A chunk index must never split (see TXD_H5_MAX_CHUNKS), so chunks grow where a step
 * has too many, and long runs of steps continue in a next dataset.
 */
#include <string.h>

#include "formats/h5_types_internal.h"

#define SIDE 256
/* Chunks up to this size may hold several steps: each of them writes the chunk again,
 * so that some datasets more come first, each of which keeps its index in memory. */
#define SMALL_CHUNK_BYTES 65536
#define FEW_PARTS 4

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t pieces(size_t length, size_t side)
{
    return length / side + (length % side != 0);
}

static txd_status count_chunks(size_t *out, const txd_h5_plan *plan, int first)
{
    size_t count = 1;

    for (int axis = first; axis < plan->rank; axis++)
        TXD_TRY(
            txd_size_mul(&count, count, pieces(plan->limit[axis], plan->chunk[axis])));
    *out = count;
    return TXD_OK;
}

static txd_status count_bytes(txd_h5_plan *plan)
{
    size_t bytes = plan->bytes;

    for (int axis = 0; axis < plan->rank; axis++)
        TXD_TRY(txd_size_mul(&bytes, bytes, plan->chunk[axis]));
    /* HDF5 holds the size of a chunk in 32 bits. */
    if (bytes > UINT32_MAX)
        return txd_fail(TXD_ERR_LIMIT, "a chunk would take %zu bytes, HDF5 has 4 GiB",
                        bytes);
    plan->chunk_bytes = bytes;
    return TXD_OK;
}

/* Doubles sides, the last axis first, until one step has few enough chunks. */
static txd_status fit_step(txd_h5_plan *plan, int first)
{
    TXD_TRY(count_chunks(&plan->chunks_per_step, plan, first));
    for (int axis = plan->rank - 1; axis >= first; axis--)
        while (plan->chunks_per_step > TXD_H5_MAX_CHUNKS &&
               plan->chunk[axis] < plan->limit[axis]) {
            plan->chunk[axis] = least(plan->chunk[axis] * 2, plan->limit[axis]);
            TXD_TRY(count_chunks(&plan->chunks_per_step, plan, first));
        }
    return count_bytes(plan);
}

static void fit_steps(txd_h5_plan *plan, size_t steps)
{
    size_t per_chunk = plan->rank == 1 ? least(SIDE, steps ? steps : SIDE) : 1;
    size_t most = TXD_H5_MAX_CHUNKS / plan->chunks_per_step * FEW_PARTS;

    plan->chunk_bytes *= per_chunk;
    while (pieces(steps, per_chunk) > most &&
           plan->chunk_bytes * 2 <= SMALL_CHUNK_BYTES) {
        per_chunk *= 2;
        plan->chunk_bytes *= 2;
    }
    plan->chunk[0] = per_chunk;
    plan->steps_per_part = per_chunk * (TXD_H5_MAX_CHUNKS / plan->chunks_per_step);
    plan->parts = steps ? pieces(steps, plan->steps_per_part) : 1;
}

static txd_status check_spec(const txd_dataset_spec *spec, int rank)
{
    if (!spec->path || !spec->path[0] || spec->path[0] == '/')
        return txd_fail(TXD_ERR_ARGUMENT, "dataset path \"%s\": expected a/b/c",
                        spec->path ? spec->path : "");
    if (spec->rank < 0 || rank > TXD_MAX_RANK)
        return txd_fail(TXD_ERR_ARGUMENT, "%s: %d axes with the step, at most %d",
                        spec->path, rank, TXD_MAX_RANK);
    if (strlen(spec->axes) != (size_t)rank)
        return txd_fail(TXD_ERR_ARGUMENT, "%s: axes \"%s\" for %d axes with the step",
                        spec->path, spec->axes, rank);
    return TXD_OK;
}

bool txd_h5_is_little_endian(void)
{
    const uint16_t one = 1;
    unsigned char first;

    memcpy(&first, &one, 1);
    return first == 1;
}

static bool is_tiled(const txd_h5_plan *plan, const txd_dataset_spec *spec)
{
    return spec->per_step && plan->rank >= 3 && plan->chunk[0] == 1 &&
           (spec->fill_zero || plan->chunk_bytes >= TXD_H5_TILE_LEAST) &&
           txd_h5_is_little_endian();
}

txd_status txd_h5_plan_make(txd_h5_plan *out, const txd_dataset_spec *spec)
{
    int first = spec->per_step ? 1 : 0;
    txd_h5_plan plan = {.rank = spec->rank + first, .chunked = spec->per_step};

    TXD_TRY(check_spec(spec, plan.rank));
    plan.bytes = txd_recording_element(spec->dtype);
    plan.limit[0] = plan.chunk[0] = 1;
    for (int axis = first; axis < plan.rank; axis++) {
        size_t now = spec->dims[axis - first], limit = spec->chunk_limit[axis - first];
        size_t longest = limit > now ? limit : now;

        plan.limit[axis] = longest ? longest : 1;
        plan.chunk[axis] =
            axis - first >= spec->rank - 2 ? least(SIDE, plan.limit[axis]) : 1;
        plan.chunked |= spec->growing[axis - first];
    }
    plan.steps_per_part = SIZE_MAX;
    plan.parts = 1;
    TXD_TRY(fit_step(&plan, first));
    if (spec->per_step) {
        fit_steps(&plan, spec->steps);
        plan.limit[0] = spec->steps;
    }
    plan.tiled = is_tiled(&plan, spec);
    *out = plan;
    return TXD_OK;
}
