/* SPDX-License-Identifier: MIT
 *
 * Datasets: making them with their description, opening the part that a step lies in,
 * and writing blocks. Handles stay open between writes; those with large chunks are
 * closed now and then, since HDF5 keeps a chunk in memory per open dataset.
 */
#include "formats/h5_types_internal.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

txd_status txd_h5_grow(void *items, size_t *capacity, size_t count, size_t size)
{
    size_t wanted = *capacity ? *capacity * 2 : 8;
    void *old, *grown;

    if (count < *capacity)
        return TXD_OK;
    memcpy(&old, items, sizeof old);
    grown = realloc(old, wanted * size);
    if (!grown)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: %zu items", wanted);
    memcpy(items, &grown, sizeof grown);
    *capacity = wanted;
    return TXD_OK;
}

static bool is_real(txd_dtype dtype)
{
    return dtype == TXD_F64 || dtype == TXD_F32 || dtype == TXD_F16 ||
           dtype == TXD_BF16;
}

txd_dtype txd_h5_stored(const txd_dataset_spec *spec)
{
    return spec->dtype == TXD_BF16 ? TXD_F32 : spec->dtype;
}

double txd_h5_fill(const txd_dataset_spec *spec)
{
    if (spec->fill_zero || spec->dtype == TXD_U8)
        return 0.0;
    return is_real(spec->dtype) ? (double)NAN : -1.0;
}

static txd_status part_path(char *text, size_t bytes, const txd_h5_dataset *dataset,
                            size_t part)
{
    int length = part == 0 ? snprintf(text, bytes, "%s", dataset->spec.path)
                           : snprintf(text, bytes, "%s.%zu", dataset->spec.path, part);

    if (length < 0 || (size_t)length >= bytes)
        return txd_fail(TXD_ERR_LIMIT, "dataset path of %d bytes: %.40s...", length,
                        dataset->spec.path);
    return TXD_OK;
}

static hid_t make_creation_list(const txd_h5_dataset *dataset)
{
    const txd_h5_plan *plan = &dataset->plan;
    double fill = txd_h5_fill(&dataset->spec);
    hid_t list = H5Pcreate(H5P_DATASET_CREATE);
    hsize_t chunk[TXD_MAX_RANK];

    for (int axis = 0; axis < plan->rank; axis++)
        chunk[axis] = plan->chunk[axis];
    H5Pset_obj_track_times(list, false);
    if (H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &fill) < 0 ||
        (plan->chunked && H5Pset_chunk(list, plan->rank, chunk) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    if (dataset->deflate &&
        (H5Pset_shuffle(list) < 0 || H5Pset_deflate(list, TXD_PACK_LEVEL) < 0)) {
        H5Pclose(list);
        return H5I_INVALID_HID;
    }
    return list;
}

static hid_t make_access_list(const txd_h5_dataset *dataset)
{
    hid_t list = H5Pcreate(H5P_DATASET_ACCESS);

    /* Whole chunks go out first: they are written once. Not 1.0 for that: HDF5 1.10
     * then never gets to chunks that are written in part, and the cache has no bound.
     */
    H5Pset_chunk_cache(list, dataset->cache_bytes > TXD_H5_SMALL_CACHE ? 53 : 211,
                       dataset->cache_bytes, 0.75);
    return list;
}

static hid_t make_space(const txd_h5_dataset *dataset)
{
    const txd_h5_plan *plan = &dataset->plan;
    int first = dataset->spec.per_step ? 1 : 0;
    hsize_t extent[TXD_MAX_RANK], most[TXD_MAX_RANK];

    if (plan->rank == 0)
        return H5Screate(H5S_SCALAR);
    for (int axis = 0; axis < plan->rank; axis++) {
        bool grows = axis < first || dataset->spec.growing[axis - first];

        extent[axis] = axis < first ? 0 : dataset->dims[axis];
        most[axis] = grows ? H5S_UNLIMITED : extent[axis];
    }
    return H5Screate_simple(plan->rank, extent, most);
}

static txd_status describe(txd_h5_writer *writer, const txd_h5_dataset *dataset,
                           hid_t id, size_t part)
{
    const txd_dataset_spec *spec = &dataset->spec;
    const char *dtype = txd_recording_dtype(spec->dtype);

    TXD_TRY(txd_h5_put_text(writer, id, "axes", spec->axes));
    TXD_TRY(txd_h5_put_text(writer, id, "point", spec->point));
    TXD_TRY(txd_h5_put_text(writer, id, "dtype", dtype));
    TXD_TRY(txd_h5_put_text(writer, id, "unit", spec->unit));
    TXD_TRY(txd_h5_put_real(writer, id, "fill", txd_h5_fill(spec)));
    if (spec->storage != TXD_STORAGE_EXACT)
        TXD_TRY(
            txd_h5_put_text(writer, id, "storage", txd_storage_name(spec->storage)));
    if (spec->fields)
        TXD_TRY(txd_h5_put_text(writer, id, "fields", spec->fields));
    if (part != 0)
        TXD_TRY(txd_h5_put_int(writer, id, "first_step",
                               (int64_t)(part * dataset->plan.steps_per_part)));
    return txd_h5_dims_describe(writer, id, spec, dataset->plan.limit);
}

static txd_status make_part(txd_h5_writer *writer, txd_h5_dataset *dataset, size_t part)
{
    char path[512];
    hid_t space, create, access;
    txd_status status = TXD_OK;

    TXD_TRY(part_path(path, sizeof path, dataset, part));
    space = make_space(dataset);
    create = make_creation_list(dataset);
    access = make_access_list(dataset);
    dataset->id = H5Dcreate2(writer->id, path,
                             txd_h5_file_type(&writer->types, dataset->spec.dtype),
                             space, writer->links, create, access);
    if (dataset->id < 0)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "making a dataset");
    H5Sclose(space);
    H5Pclose(create);
    H5Pclose(access);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "%s", path);
    dataset->part = part;
    dataset->made = part + 1;
    for (int axis = 0; axis < dataset->plan.rank; axis++)
        dataset->extent[axis] = dataset->dims[axis];
    if (dataset->spec.per_step)
        dataset->extent[0] = 0;
    return describe(writer, dataset, dataset->id, part);
}

txd_status txd_h5_dataset_close(txd_h5_writer *writer, txd_h5_dataset *dataset)
{
    hid_t id = dataset->id;

    if (id < 0)
        return TXD_OK;
    dataset->id = H5I_INVALID_HID;
    if (dataset->cache_bytes > TXD_H5_SMALL_CACHE)
        writer->cached -= dataset->cache_bytes;
    if (H5Dclose(id) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "writing");
    return TXD_OK;
}

static txd_status close_large(txd_h5_writer *writer)
{
    for (size_t i = 0; i < writer->count; i++)
        if (writer->datasets[i].cache_bytes > TXD_H5_SMALL_CACHE)
            TXD_TRY(txd_h5_dataset_close(writer, &writer->datasets[i]));
    return TXD_OK;
}

static txd_status reopen_part(txd_h5_writer *writer, txd_h5_dataset *dataset,
                              size_t part)
{
    char path[512];
    txd_status status = TXD_OK;
    hid_t access, space;

    TXD_TRY(part_path(path, sizeof path, dataset, part));
    access = make_access_list(dataset);
    dataset->id = H5Dopen2(writer->id, path, access);
    if (dataset->id < 0)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "opening a dataset");
    H5Pclose(access);
    TXD_TRY(status);
    dataset->part = part;
    space = H5Dget_space(dataset->id);
    H5Sget_simple_extent_dims(space, dataset->extent, NULL);
    H5Sclose(space);
    return TXD_OK;
}

txd_status txd_h5_dataset_open(txd_h5_writer *writer, txd_h5_dataset *dataset,
                               size_t part)
{
    if (dataset->id >= 0 && dataset->part == part)
        return TXD_OK;
    TXD_TRY(txd_h5_dataset_close(writer, dataset));
    if (dataset->cache_bytes > TXD_H5_SMALL_CACHE) {
        if (writer->cached + dataset->cache_bytes > TXD_H5_CACHE_BUDGET)
            TXD_TRY(close_large(writer));
        writer->cached += dataset->cache_bytes;
    }
    if (part < dataset->made)
        return reopen_part(writer, dataset, part);
    while (dataset->made < part) {
        TXD_TRY(make_part(writer, dataset, dataset->made));
        H5Dclose(dataset->id);
        dataset->id = H5I_INVALID_HID;
    }
    return make_part(writer, dataset, part);
}

static txd_status copy_spec(txd_h5_writer *writer, txd_dataset_spec *out,
                            const txd_dataset_spec *spec)
{
    *out = *spec;
    out->path = txd_arena_string(writer->arena, spec->path);
    out->axes = txd_arena_string(writer->arena, spec->axes);
    out->point = txd_arena_string(writer->arena, spec->point ? spec->point : "");
    out->unit = txd_arena_string(writer->arena, spec->unit ? spec->unit : "");
    if (spec->fields)
        out->fields = txd_arena_string(writer->arena, spec->fields);
    return out->path && out->axes && out->point && out->unit &&
                   (!spec->fields || out->fields)
               ? TXD_OK
               : TXD_ERR_MEMORY;
}

/* All parts of the declared steps are made now: making one later changes the group
 * that holds the earlier ones, which a kill could then damage. */
static txd_status make_parts(txd_h5_writer *writer, txd_h5_dataset *dataset)
{
    for (size_t part = 0; part < dataset->plan.parts; part++)
        TXD_TRY(txd_h5_dataset_open(writer, dataset, part));
    return dataset->plan.parts > 1 ? txd_h5_dataset_open(writer, dataset, 0) : TXD_OK;
}

txd_status txd_h5_writer_dataset(txd_h5_writer *writer, size_t *out,
                                 const txd_dataset_spec *spec)
{
    txd_h5_dataset *dataset;
    int first = spec->per_step ? 1 : 0;

    TXD_TRY(txd_h5_grow(&writer->datasets, &writer->capacity, writer->count,
                        sizeof *writer->datasets));
    dataset = &writer->datasets[writer->count];
    memset(dataset, 0, sizeof *dataset);
    dataset->id = H5I_INVALID_HID;
    TXD_TRY(txd_h5_plan_make(&dataset->plan, spec));
    TXD_TRY(copy_spec(writer, &dataset->spec, spec));
    for (int axis = first; axis < dataset->plan.rank; axis++)
        dataset->dims[axis] = spec->dims[axis - first];
    dataset->cache_bytes = txd_h5_cache_bytes(&dataset->plan);
    dataset->deflate = writer->tiles.deflate && dataset->plan.tiled &&
                       dataset->plan.chunk_bytes >= TXD_H5_TILE_LEAST;
    writer->count++;
    TXD_TRY(make_parts(writer, dataset));
    *out = writer->count - 1;
    return TXD_OK;
}
