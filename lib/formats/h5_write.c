/* SPDX-License-Identifier: MIT
 *
 * Writing a block of one step: the conversion is ours (HDF5's would round and
 * saturate by other rules), so HDF5 only moves bytes.
 */
#include "formats/h5_types_internal.h"

#include <stdlib.h>
#include <string.h>

static txd_status check_block(const txd_h5_dataset *dataset, const size_t *start,
                              const size_t *count)
{
    int first = dataset->spec.per_step ? 1 : 0;

    for (int axis = first; axis < dataset->plan.rank; axis++) {
        bool grows = dataset->spec.growing[axis - first];
        size_t most = grows ? dataset->plan.limit[axis] : dataset->dims[axis];
        size_t begin = start[axis - first], length = count[axis - first];

        if (begin > most || length > most - begin)
            return txd_fail(TXD_ERR_ARGUMENT,
                            "%s: axis '%c' can have %zu elements, %zu were written "
                            "from %zu on",
                            dataset->spec.path, dataset->spec.axes[axis], most, length,
                            begin);
    }
    return TXD_OK;
}

/* Extends the open part so that the block fits. */
static txd_status extend(const txd_h5_writer *writer, txd_h5_dataset *dataset,
                         const hsize_t *start, const hsize_t *count)
{
    bool grew = false;

    for (int axis = 0; axis < dataset->plan.rank; axis++) {
        hsize_t end = start[axis] + count[axis];

        if (axis > 0 || !dataset->spec.per_step) {
            if (end > dataset->dims[axis])
                dataset->dims[axis] = end;
            end = dataset->dims[axis];
        }
        if (end > dataset->extent[axis]) {
            dataset->extent[axis] = end;
            grew = true;
        }
    }
    if (grew && H5Dset_extent(dataset->id, dataset->extent) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "extending a dataset");
    return TXD_OK;
}

static txd_status put(const txd_h5_writer *writer, const txd_h5_dataset *dataset,
                      const hsize_t *start, const hsize_t *count, const void *data)
{
    int rank = dataset->plan.rank;
    hid_t type = txd_h5_memory_type(&writer->types, dataset->spec.dtype);
    hid_t file, memory;
    herr_t done;

    if (rank == 0) {
        done = H5Dwrite(dataset->id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
        return done < 0 ? txd_h5_fail(TXD_ERR_IO, writer->file, "writing") : TXD_OK;
    }
    file = H5Screate_simple(rank, dataset->extent, NULL);
    memory = H5Screate_simple(rank, count, NULL);
    done = H5Sselect_hyperslab(file, H5S_SELECT_SET, start, NULL, count, NULL);
    if (done >= 0)
        done = H5Dwrite(dataset->id, type, memory, file, H5P_DEFAULT, data);
    if (done < 0) {
        txd_status status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing");

        H5Sclose(memory);
        H5Sclose(file);
        return status;
    }
    H5Sclose(memory);
    H5Sclose(file);
    return TXD_OK;
}

static txd_status put_as(const txd_h5_writer *writer, const txd_h5_dataset *dataset,
                         const txd_h5_block *block)
{
    txd_dtype stored = txd_h5_stored(&dataset->spec);
    bool rounds = dataset->spec.storage == TXD_STORAGE_F32R12;
    size_t elements = 1, bytes;
    txd_status status;
    void *converted;

    if (block->dtype == stored && !rounds)
        return put(writer, dataset, block->start, block->count, block->data);
    for (int axis = 0; axis < dataset->plan.rank; axis++)
        elements *= block->count[axis];
    TXD_TRY(txd_size_mul(&bytes, elements, txd_dtype_bytes(stored)));
    converted = malloc(bytes);
    if (!converted)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: %zu bytes to convert %s", bytes,
                        dataset->spec.path);
    txd_convert(converted, stored, block->data, block->dtype, elements);
    if (rounds)
        txd_pack_round12(converted, elements);
    status = put(writer, dataset, block->start, block->count, converted);
    free(converted);
    return status;
}

txd_status txd_h5_writer_write(txd_h5_writer *writer, size_t dataset_index, size_t step,
                               const size_t *start, const size_t *count,
                               const void *data, txd_dtype dtype)
{
    hsize_t file_start[TXD_MAX_RANK] = {0}, file_count[TXD_MAX_RANK] = {1};
    txd_h5_dataset *dataset;
    const txd_h5_block block = {dataset_index, file_start, file_count, data, dtype};
    bool nothing = false;
    int first;

    if (dataset_index >= writer->count)
        return txd_fail(TXD_ERR_ARGUMENT, "dataset %zu of %zu", dataset_index,
                        writer->count);
    dataset = &writer->datasets[dataset_index];
    first = dataset->spec.per_step ? 1 : 0;
    TXD_TRY(check_block(dataset, start, count));
    TXD_TRY(txd_h5_dataset_open(writer, dataset,
                                first ? step / dataset->plan.steps_per_part : 0));
    if (first)
        file_start[0] = step % dataset->plan.steps_per_part;
    for (int axis = first; axis < dataset->plan.rank; axis++) {
        file_start[axis] = start[axis - first];
        file_count[axis] = count[axis - first];
        nothing |= file_count[axis] == 0;
    }
    TXD_TRY(extend(writer, dataset, file_start, file_count));
    if (first && step + 1 > writer->steps)
        writer->steps = step + 1;
    if (nothing)
        return TXD_OK;
    if (dataset->plan.tiled)
        return txd_h5_tiles_write(writer, &block);
    if (txd_h5_is_whole(dataset, &block))
        return txd_h5_whole_write(writer, &block);
    dataset->is_dirty = true;
    return put_as(writer, dataset, &block);
}
