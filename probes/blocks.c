/* SPDX-License-Identifier: MIT
 *
 * Small things about blocks and datasets that several probes need.
 */
#include "probes/common.h"

size_t txd_block_rows(const txd_block *block)
{
    size_t rows = 1;

    for (int i = 0; i + 1 < block->value.rank; i++)
        rows *= block->value.dims[i];
    return rows;
}

bool txd_block_is_valid(const txd_block *block, size_t batch, size_t token)
{
    const txd_inputs *inputs = block->pass->inputs;

    return inputs->valid[batch * inputs->length + token] != 0;
}

void txd_block_read(double *out, const txd_block *block, size_t first, size_t count)
{
    txd_dtype dtype = block->value.dtype;

    txd_convert(out, TXD_F64,
                (const char *)block->value.data + first * txd_dtype_bytes(dtype), dtype,
                count);
}

void txd_probe_grow(txd_dataset_spec *spec, const txd_probe_context *context, int axis,
                    size_t longest)
{
    spec->growing[axis] = true;
    spec->chunk_limit[axis] = longest;
    spec->dims[axis] = context->recording ? 0 : longest;
}
