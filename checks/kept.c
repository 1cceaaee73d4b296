/* SPDX-License-Identifier: MIT
 *
 * Rows of values and vectors of parameters, kept in double.
 */
#include "checks/kept.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Room for `count` elements of `size` bytes; the old contents are lost. */
static txd_status reserve(void **memory, size_t *capacity, size_t count, size_t size)
{
    size_t bytes;
    void *fresh;

    if (count <= *capacity)
        return TXD_OK;
    TXD_TRY(txd_size_mul(&bytes, count, size));
    fresh = malloc(bytes);
    if (!fresh)
        return txd_fail(TXD_ERR_MEMORY, "no memory for %zu bytes that laws keep",
                        bytes);
    free(*memory);
    *memory = fresh;
    *capacity = count;
    return TXD_OK;
}

txd_status txd_kept_choose(txd_kept_tokens *out, const int32_t *valid, size_t batch,
                           size_t length, size_t limit)
{
    size_t cells = batch * length, real = 0, seen = 0, stride;
    void *index = out->index;
    txd_status status;

    for (size_t i = 0; i < cells; i++)
        real += valid[i] != 0;
    stride = (real + limit - 1) / limit;
    stride = stride < 1 ? 1 : stride;
    out->count = 0;
    out->length = length;
    status = reserve(&index, &out->capacity, (real + stride - 1) / stride,
                     sizeof *out->index);
    out->index = index;
    if (status != TXD_OK)
        return status;
    for (size_t i = 0; i < cells; i++)
        if (valid[i] && seen++ % stride == 0)
            out->index[out->count++] = i;
    return TXD_OK;
}

void txd_kept_read(double *out, const txd_tensor *value, size_t first, size_t width)
{
    if (value->dtype == TXD_F64) {
        memcpy(out, (const double *)value->data + first, width * sizeof *out);
    } else if (value->dtype == TXD_F32) {
        const float *from = (const float *)value->data + first;

        for (size_t i = 0; i < width; i++)
            out[i] = (double)from[i];
    } else {
        for (size_t i = 0; i < width; i++)
            out[i] = txd_tensor_get(value, first + i);
    }
}

txd_status txd_kept_take(txd_kept *out, const txd_block *block,
                         const txd_kept_tokens *tokens)
{
    const txd_tensor *value = &block->value;
    size_t heads = value->rank == 4 ? value->dims[1] : 1;
    size_t length = value->dims[value->rank - 2], width = value->dims[value->rank - 1];
    void *rows = out->rows;
    txd_status status;

    out->count = 0;
    if (!value->data)
        return TXD_OK;
    status = reserve(&rows, &out->capacity, tokens->count * heads * width,
                     sizeof *out->rows);
    out->rows = rows;
    if (status != TXD_OK)
        return status;
    for (size_t i = 0; i < tokens->count; i++)
        for (size_t h = 0; h < heads; h++) {
            size_t b = tokens->index[i] / length, t = tokens->index[i] % length;

            txd_kept_read(out->rows + (i * heads + h) * width, value,
                          ((b * heads + h) * length + t) * width, width);
        }
    out->count = tokens->count;
    out->width = heads * width;
    return TXD_OK;
}

bool txd_kept_is_finite(const double *row, size_t width)
{
    for (size_t i = 0; i < width; i++)
        if (!isfinite(row[i]))
            return false;
    return true;
}

void txd_kept_finish(txd_kept *kept)
{
    free(kept->rows);
    *kept = (txd_kept){0};
}

void txd_kept_tokens_finish(txd_kept_tokens *tokens)
{
    free(tokens->index);
    *tokens = (txd_kept_tokens){0};
}

/* All elements are one number, as far as statistics can say. */
static bool is_constant(const double *stats, size_t count)
{
    return stats && stats[TXD_STAT_COUNT] == (double)count &&
           stats[TXD_STAT_NONFINITE] == 0 && stats[TXD_STAT_MIN] == stats[TXD_STAT_MAX];
}

txd_status txd_law_vector(double **out, const txd_block *block, size_t count)
{
    const txd_tensor *value = &block->value;
    bool has_values = value->data && txd_tensor_count(value) == count;
    double *vector;

    if (!has_values && !is_constant(block->stats, count))
        return TXD_OK;
    vector = malloc((count + 1) * sizeof *vector);
    if (!vector)
        return txd_fail(TXD_ERR_MEMORY, "no memory to keep %s", block->site->name);
    if (has_values)
        txd_kept_read(vector, value, 0, count);
    for (size_t i = 0; !has_values && i < count; i++)
        vector[i] = block->stats[TXD_STAT_MIN];
    free(*out);
    *out = vector;
    return TXD_OK;
}
