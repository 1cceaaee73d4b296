/* SPDX-License-Identifier: MIT
 *
 * Names of axes, as the dimension scale convention of HDF5 wants them: labels on each
 * axis, and scales in /dims that hold the indices. The attributes are written here
 * and not by H5DSattach_scale, which reads and rewrites the list of all users of a
 * scale for every axis of every dataset. HDF5's group structures should not change
 * once steps are flushed, so scales have their full length from the start.
 */
#include "formats/h5_types_internal.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An attribute must stay below 64 KiB: 16 bytes per user. */
#define MAX_USERS 4000

/* In place of 'k' where the keys are rows of the memory, which has its own length. */
#define MEMORY 'K'

static const struct axis_name {
    char letter;
    bool scaled; /* a person would look up an index here */
    const char *name;
} axis_names[] = {
    {'s', true, "step"},         {'l', true, "layer"},   {'b', true, "batch"},
    {'t', true, "position"},     {'q', true, "query"},   {'k', true, "key"},
    {'h', true, "head"},         {'g', true, "kv_head"}, {'e', false, "head_width"},
    {'f', false, "value_width"}, {'d', false, "width"},  {'m', false, "mlp_width"},
    {'v', false, "vocabulary"},  {'i', false, "row"},    {'j', false, "column"},
    {'n', false, "number"},      {'x', false, "site"},   {'y', false, "field"},
    {'r', false, "out"},         {'c', false, "in"},     {MEMORY, true, "memory"},
};

static const struct axis_name *find_name(char letter)
{
    for (size_t i = 0; i < sizeof axis_names / sizeof *axis_names; i++)
        if (axis_names[i].letter == letter)
            return &axis_names[i];
    return NULL;
}

static txd_status fill_scale(const txd_h5_writer *writer, hid_t id, size_t length)
{
    int32_t *indices = malloc(length * sizeof *indices);
    herr_t done;

    if (!indices)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: %zu indices", length);
    for (size_t i = 0; i < length; i++)
        indices[i] = (int32_t)i;
    done = H5Dwrite(id, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, indices);
    free(indices);
    return done < 0 ? txd_h5_fail(TXD_ERR_IO, writer->file, "writing /dims") : TXD_OK;
}

static txd_status make_scale(txd_h5_writer *writer, txd_h5_scale *scale,
                             const struct axis_name *axis, size_t length)
{
    hsize_t extent = length;
    hid_t space = H5Screate_simple(1, &extent, NULL);
    txd_status status = TXD_OK;
    char path[32];

    snprintf(path, sizeof path, "dims/%s", axis->name);
    *scale = (txd_h5_scale){.letter = axis->letter, .length = length};
    scale->id = H5Dcreate2(writer->id, path, H5T_STD_I32LE, space, writer->links,
                           H5P_DEFAULT, H5P_DEFAULT);
    if (scale->id < 0)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "making /dims");
    H5Sclose(space);
    TXD_TRY(status);
    writer->scale_count++;
    if (H5DSset_scale(scale->id, axis->name) < 0 ||
        H5Rcreate(&scale->reference, writer->id, path, H5R_OBJECT, -1) < 0)
        return txd_h5_fail(TXD_ERR_IO, writer->file, "making /dims");
    return fill_scale(writer, scale->id, length);
}

/* *out = the scale for an axis of this length, or NULL: one length per letter. */
static txd_status find_scale(txd_h5_writer *writer, txd_h5_scale **out, char letter,
                             size_t length)
{
    const struct axis_name *axis = find_name(letter);

    *out = NULL;
    if (!axis || !axis->scaled || length == 0 || length > INT32_MAX)
        return TXD_OK;
    for (size_t i = 0; i < writer->scale_count; i++)
        if (writer->scales[i].letter == letter) {
            if (writer->scales[i].length == length)
                *out = &writer->scales[i];
            return TXD_OK;
        }
    if (writer->scale_count == TXD_H5_MAX_SCALES)
        return TXD_OK;
    TXD_TRY(make_scale(writer, &writer->scales[writer->scale_count], axis, length));
    *out = &writer->scales[writer->scale_count - 1];
    return TXD_OK;
}

static txd_status add_user(txd_h5_scale *scale, hobj_ref_t dataset, int axis)
{
    if (scale->count == MAX_USERS)
        return TXD_OK;
    TXD_TRY(txd_h5_grow(&scale->users, &scale->capacity, scale->count,
                        sizeof *scale->users));
    memset(&scale->users[scale->count], 0, sizeof *scale->users);
    scale->users[scale->count].dataset = dataset;
    scale->users[scale->count++].axis = axis;
    scale->changed = true;
    return TXD_OK;
}

static herr_t put_array(hid_t object, const char *name, hid_t type, size_t count,
                        const void *values)
{
    hsize_t extent = count;
    hid_t space = H5Screate_simple(1, &extent, NULL);
    hid_t attribute = H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    herr_t done = attribute < 0 ? -1 : H5Awrite(attribute, type, values);

    /* A close would clear the error stack that a failure is told from. */
    if (done < 0)
        return -1;
    H5Sclose(space);
    return H5Aclose(attribute);
}

static txd_status put_labels(const txd_h5_writer *writer, hid_t dataset,
                             const char *axes)
{
    const char *labels[TXD_MAX_RANK];
    size_t rank = strlen(axes);
    hid_t type = H5Tcopy(H5T_C_S1);
    herr_t done;

    for (size_t i = 0; i < rank; i++) {
        const struct axis_name *axis = find_name(axes[i]);

        labels[i] = axis ? axis->name : "";
    }
    done = H5Tset_size(type, H5T_VARIABLE);
    if (done >= 0)
        done = put_array(dataset, "DIMENSION_LABELS", type, rank, labels);
    if (done < 0) {
        txd_status status = txd_h5_fail(TXD_ERR_IO, writer->file, "labelling axes");

        H5Tclose(type);
        return status;
    }
    H5Tclose(type);
    return TXD_OK;
}

/* Attaches scales[axis], where there is one. */
static txd_status put_scales(const txd_h5_writer *writer, hid_t dataset, size_t rank,
                             txd_h5_scale *const *scales)
{
    hvl_t lists[TXD_MAX_RANK];
    hid_t type = H5Tvlen_create(H5T_STD_REF_OBJ);
    hobj_ref_t self;
    txd_status status = TXD_OK;

    if (type < 0 || H5Rcreate(&self, dataset, ".", H5R_OBJECT, -1) < 0)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "attaching scales");
    for (size_t i = 0; i < rank && status == TXD_OK; i++) {
        lists[i].len = scales[i] ? 1 : 0;
        lists[i].p = scales[i] ? &scales[i]->reference : NULL;
        if (scales[i])
            status = add_user(scales[i], self, (int)i);
    }
    if (status == TXD_OK && put_array(dataset, "DIMENSION_LIST", type, rank, lists) < 0)
        status = txd_h5_fail(TXD_ERR_IO, writer->file, "attaching scales");
    H5Tclose(type);
    return status;
}

/* The letters by which axes are named and scaled here. */
static void name_axes(char letters[TXD_MAX_RANK + 1], const txd_dataset_spec *spec)
{
    bool memory =
        strstr(spec->point, "cross.") || strcmp(spec->point, "input.memory") == 0;

    snprintf(letters, TXD_MAX_RANK + 1, "%s", spec->axes);
    for (char *c = letters; memory && *c; c++)
        *c = *c == 'k' ? MEMORY : *c;
}

txd_status txd_h5_dims_describe(txd_h5_writer *writer, hid_t dataset,
                                const txd_dataset_spec *spec, const size_t *limit)
{
    txd_h5_scale *scales[TXD_MAX_RANK] = {NULL};
    char axes[TXD_MAX_RANK + 1];
    size_t rank, attached = 0;

    name_axes(axes, spec);
    rank = strlen(axes);
    if (rank == 0)
        return TXD_OK;
    TXD_TRY(put_labels(writer, dataset, axes));
    for (size_t i = 0; i < rank; i++) {
        TXD_TRY(find_scale(writer, &scales[i], axes[i], limit[i]));
        attached += scales[i] != NULL;
    }
    return attached ? put_scales(writer, dataset, rank, scales) : TXD_OK;
}

static hid_t make_user_type(void)
{
    hid_t type = H5Tcreate(H5T_COMPOUND, sizeof(txd_h5_back_reference));

    if (H5Tinsert(type, "dataset", offsetof(txd_h5_back_reference, dataset),
                  H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(type, "dimension", offsetof(txd_h5_back_reference, axis),
                  H5T_NATIVE_INT) < 0) {
        H5Tclose(type);
        return H5I_INVALID_HID;
    }
    return type;
}

txd_status txd_h5_dims_flush(txd_h5_writer *writer)
{
    static const char name[] = "REFERENCE_LIST";

    for (size_t i = 0; i < writer->scale_count; i++) {
        txd_h5_scale *scale = &writer->scales[i];
        hid_t type;
        herr_t done = 0;

        if (!scale->changed)
            continue;
        type = make_user_type();
        if (H5Aexists(scale->id, name) > 0)
            done = H5Adelete(scale->id, name);
        if (done >= 0)
            done = put_array(scale->id, name, type, scale->count, scale->users);
        if (done < 0) {
            txd_status status = txd_h5_fail(TXD_ERR_IO, writer->file, "writing /dims");

            H5Tclose(type);
            return status;
        }
        H5Tclose(type);
        scale->changed = false;
    }
    return TXD_OK;
}

void txd_h5_dims_close(txd_h5_writer *writer)
{
    for (size_t i = 0; i < writer->scale_count; i++) {
        H5Dclose(writer->scales[i].id);
        free(writer->scales[i].users);
        writer->scales[i].users = NULL;
    }
    writer->scale_count = 0;
}
