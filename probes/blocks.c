/* SPDX-License-Identifier: MIT
 *
 * Small things about blocks and datasets that several probes need.
 */
#include "probes/common.h"

#define CHUNK_SIDE 256 /* on the last two axes: docs/recording.md */

size_t txd_block_rows(const txd_block *block)
{
    size_t rows = 1;

    for (int i = 0; i + 1 < block->value.rank; i++)
        rows *= block->value.dims[i];
    return rows;
}

size_t txd_block_heads(const txd_block *block)
{
    return block->value.dims[0] * block->value.dims[1];
}

size_t txd_block_head(const txd_block *block, size_t index)
{
    size_t batch = block->start[0] + index / block->value.dims[1];
    size_t head = block->start[1] + index % block->value.dims[1];

    return batch * block->dims[1] + head;
}

bool txd_block_is_valid(const txd_block *block, size_t batch, size_t token)
{
    const txd_inputs *inputs = block->pass->inputs;

    /* Gradients lie as their values do. */
    if (txd_point_is_of_memory(block->site->point))
        return inputs->memory_valid[batch * inputs->memory_length + token] != 0;
    return inputs->valid[batch * inputs->length + token] != 0;
}

void txd_block_read(double *out, const txd_block *block, size_t first, size_t count)
{
    txd_dtype dtype = block->value.dtype;

    txd_convert(out, TXD_F64,
                (const char *)block->value.data + first * txd_dtype_bytes(dtype), dtype,
                count);
}

txd_dtype txd_probe_real(const txd_probe_context *context)
{
    return context->dtype == TXD_F64 ? TXD_F64 : TXD_F32;
}

void txd_probe_grow(txd_dataset_spec *spec, const txd_probe_context *context, int axis,
                    size_t longest)
{
    spec->growing[axis] = true;
    spec->chunk_limit[axis] = longest;
    spec->dims[axis] = context->recording ? 0 : longest;
}

size_t txd_probe_left_out(const txd_dataset_spec *spec, size_t selected, size_t all)
{
    double bytes = (double)spec->steps * (double)txd_recording_element(spec->dtype);

    if (all == 0)
        return 0;
    for (int i = 0; i < spec->rank; i++) {
        size_t side = i < spec->rank - 2           ? 1
                      : spec->dims[i] < CHUNK_SIDE ? spec->dims[i]
                                                   : CHUNK_SIDE;

        bytes *= side ? (double)((spec->dims[i] + side - 1) / side * side) : 0;
    }
    return (size_t)(bytes * (double)(all - selected) / (double)all);
}

size_t txd_probe_dataset_bytes(const txd_probe_dataset *dataset)
{
    size_t bytes = txd_recording_estimate(&dataset->spec) + dataset->names;

    return bytes - (dataset->left_out < bytes ? dataset->left_out : 0);
}
