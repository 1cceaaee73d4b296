/* SPDX-License-Identifier: MIT
 *
 * A memory from a file: the arrays `memory` and `valid` of a .npz archive, or a .npy
 * file. NaN is data like any other here; the laws speak of it.
 */
#include <string.h>

#include "formats/file.h"
#include "formats/input_internal.h"
#include "formats/npy.h"
#include "formats/npz.h"

/* An open file: the arrays of an archive, or the one of a .npy file. */
struct arrays {
    const char *path;
    txd_trace *trace;
    bool archive;
};

static txd_status find_array(txd_trace_info *info, size_t *i,
                             const struct arrays *arrays, const char *name)
{
    size_t count = txd_trace_count(arrays->trace);
    txd_trace_info first = {.name = "nothing"};

    if (!arrays->archive)
        *i = 0;
    else if (txd_trace_find(arrays->trace, i, name) != TXD_OK) {
        if (count > 0)
            TXD_TRY(txd_trace_get(arrays->trace, &first, 0));
        return txd_fail(TXD_ERR_MISSING,
                        "%s: expected an array \"%s\", found %s%s: save it as "
                        "numpy.savez(file, memory=x, valid=v)",
                        arrays->path, name, first.name, count > 1 ? " and others" : "");
    }
    TXD_TRY(txd_trace_get(arrays->trace, info, *i));
    return info->foreign ? txd_fail(TXD_ERR_UNSUPPORTED, "%s", info->foreign) : TXD_OK;
}

static txd_status check_shape(const struct txd_memory_source *source,
                              const txd_trace_info *info, const char *path)
{
    const size_t *dims = info->dims;
    size_t width = info->rank > 0 ? dims[info->rank - 1] : 0;
    bool batched = info->rank == 3;
    char shape[128];

    txd_shape_text(shape, sizeof shape, dims, info->rank);
    if (info->dtype != TXD_F64 && info->dtype != TXD_F32 && info->dtype != TXD_F16)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: a memory is float64, float32 or float16, found %s", path,
                        txd_dtype_name(info->dtype));
    if ((info->rank != 2 && !batched) || dims[info->rank - 2] == 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected a memory of shape (rows, d_model) or (batch, "
                        "rows, d_model), found %s",
                        path, shape);
    if (width != source->config->d_model)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: the memory is %zu wide, d_model is %zu; its rows are read "
                        "by projections of that width",
                        path, width, source->config->d_model);
    if (batched && dims[0] != source->batch)
        return txd_fail(TXD_ERR_CONFIG,
                        "%s: the memory has %zu batch rows, the tokens have %zu", path,
                        dims[0], source->batch);
    if (!txd_memory_fits(source, dims[info->rank - 2]))
        return txd_fail(TXD_ERR_LIMIT,
                        "%s: a memory of %s: expected at most %zu numbers", path, shape,
                        TXD_MEMORY_ELEMENTS);
    return TXD_OK;
}

/* A memory without an axis for the batch is that of every row. */
static void repeat(void *data, size_t bytes, size_t batch)
{
    for (size_t b = 1; b < batch; b++)
        memcpy((char *)data + b * bytes, data, bytes);
}

static txd_status read_values(struct txd_memory_source *source,
                              const struct arrays *arrays)
{
    txd_trace_info info;
    size_t i, row, count;
    txd_dtype dtype;
    void *data;

    TXD_TRY(find_array(&info, &i, arrays, "memory"));
    TXD_TRY(check_shape(source, &info, arrays->path));
    dtype = info.dtype == TXD_F64 ? TXD_F64 : TXD_F32;
    source->length = info.dims[info.rank - 2];
    row = source->length * source->config->d_model;
    count = source->batch * row;
    data = txd_arena_alloc(source->arena, count, txd_dtype_bytes(dtype));
    if (!data)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_trace_read_all(arrays->trace, data, count, i, dtype));
    if (info.rank == 2)
        repeat(data, row * txd_dtype_bytes(dtype), source->batch);
    source->values = txd_tensor_make(
        dtype, data, 3,
        (size_t[3]){source->batch, source->length, source->config->d_model});
    return txd_memory_make_valid(source);
}

/* True for the dtypes that 0 and 1 are saved as. */
static bool is_flag(txd_dtype dtype)
{
    return dtype == TXD_U8 || dtype == TXD_I32 || dtype == TXD_I64;
}

static txd_status read_valid(struct txd_memory_source *source,
                             const struct arrays *arrays)
{
    size_t i, count = source->batch * source->length;
    txd_trace_info info;
    char shape[128];
    bool batched;

    if (!arrays->archive || txd_trace_find(arrays->trace, &i, "valid") != TXD_OK)
        return TXD_OK;
    TXD_TRY(find_array(&info, &i, arrays, "valid"));
    batched = info.rank == 2 && info.dims[0] == source->batch;
    if (!is_flag(info.dtype) || (info.rank != 1 && !batched) ||
        info.dims[info.rank - 1] != source->length)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected an array \"valid\" of bool or integers of shape "
                        "(%zu) or (%zu, %zu), as the memory has rows, found %s of %s",
                        arrays->path, source->length, source->batch, source->length,
                        txd_shape_text(shape, sizeof shape, info.dims, info.rank),
                        txd_dtype_name(info.dtype));
    TXD_TRY(txd_trace_read_all(arrays->trace, source->valid, count, i, TXD_I32));
    if (!batched)
        repeat(source->valid, source->length * sizeof *source->valid, source->batch);
    for (size_t r = 0; r < count; r++)
        if (source->valid[r] != 0 && source->valid[r] != 1)
            return txd_fail(TXD_ERR_FORMAT,
                            "%s: valid: batch row %zu, place %zu: expected 1 for a "
                            "real row or 0 for padding, found %d",
                            arrays->path, r / source->length, r % source->length,
                            (int)source->valid[r]);
    return TXD_OK;
}

/* By what it is, or else by what it is called: a file may have lost its beginning. */
static bool is_archive(const char *path, const txd_mapped *mapped)
{
    static const char ending[] = ".npz";
    size_t length = strlen(path), tail = sizeof ending - 1;

    if (mapped->count >= 2 && memcmp(mapped->bytes, "PK", 2) == 0)
        return true;
    return length >= tail && strcmp(path + length - tail, ending) == 0 &&
           (mapped->count == 0 || mapped->bytes[0] != 0x93);
}

txd_status txd_memory_from_file(struct txd_memory_source *source, const char *path,
                                bool counted)
{
    struct arrays arrays = {.path = path};
    txd_mapped mapped;
    txd_status status;
    size_t i;

    TXD_TRY(txd_file_map(&mapped, path));
    arrays.archive = is_archive(path, &mapped);
    status = arrays.archive
                 ? txd_npz_parse(&arrays.trace, path, mapped.bytes, mapped.count)
                 : txd_npy_parse(&arrays.trace, path, mapped.bytes, mapped.count);
    if (status == TXD_OK)
        status = read_values(source, &arrays);
    if (status == TXD_OK)
        status = read_valid(source, &arrays);
    if (status == TXD_OK && counted && arrays.archive &&
        txd_trace_find(arrays.trace, &i, "valid") == TXD_OK)
        status = txd_fail(TXD_ERR_CONFIG,
                          "%s: it has an array \"valid\"; remove that, or "
                          "input.memory.valid",
                          path);
    txd_trace_destroy(arrays.trace);
    txd_file_unmap(&mapped);
    return status;
}
