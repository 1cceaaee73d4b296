/* SPDX-License-Identifier: MIT
 *
 * Recordings as other programs may lay them out.
 */
#include "made_h5.h"
#include "suite.h"

#include <stdlib.h>
#include <string.h>

#define CONFIG                                                                         \
    "model : { preset = \"gpt2\"; vocab = 20; d_model = 8; n_heads = 2; n_layers = "   \
    "2; "                                                                              \
    "max_seq_len = 8; };"

/* Exact in every type of at least 16 bits. */
double made_value(size_t i)
{
    return (double)(i * 7919 % 1999) - 999;
}

static void put_text(hid_t file, const char *key, const char *value)
{
    hid_t type = H5Tcopy(H5T_C_S1), space = H5Screate(H5S_SCALAR), attribute;

    H5Tset_size(type, H5T_VARIABLE);
    attribute = H5Acreate2(file, key, type, space, H5P_DEFAULT, H5P_DEFAULT);
    ck_assert(attribute >= 0 && H5Awrite(attribute, type, &value) >= 0);
    H5Aclose(attribute);
    H5Sclose(space);
    H5Tclose(type);
}

hid_t made_h5_begin(const char *path)
{
    hid_t file = H5Fcreate(path, H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);

    ck_assert(file >= 0);
    put_text(file, "txdiag_schema", "1");
    put_text(file, "config", CONFIG);
    return file;
}

hid_t made_h5_filtered(hid_t file, const char *name, const made_layout *layout,
                       const hsize_t dims[MADE_RANK])
{
    hid_t list = H5Pcreate(H5P_DATASET_CREATE), links = H5Pcreate(H5P_LINK_CREATE);
    hid_t space = H5Screate_simple(MADE_RANK, dims, NULL), id;

    H5Pset_create_intermediate_group(links, 1);
    H5Pset_fill_value(list, H5T_NATIVE_DOUBLE, &layout->fill);
    if (layout->chunk[0])
        H5Pset_chunk(list, MADE_RANK, layout->chunk);
    for (int i = 0; i < 3 && layout->filters[i]; i++)
        switch (layout->filters[i]) {
        case H5Z_FILTER_SHUFFLE:
            H5Pset_shuffle(list);
            break;
        case H5Z_FILTER_DEFLATE:
            H5Pset_deflate(list, 1);
            break;
        default:
            H5Pset_fletcher32(list);
        }
    id = H5Dcreate2(file, name, layout->type, space, links, list, H5P_DEFAULT);
    ck_assert_msg(id >= 0, "%s", layout->name);
    H5Sclose(space);
    H5Pclose(links);
    H5Pclose(list);
    return id;
}

typedef struct box {
    hsize_t start[MADE_RANK], count[MADE_RANK];
} box;

static size_t place_of(const hsize_t dims[MADE_RANK], const hsize_t at[MADE_RANK])
{
    return (size_t)((at[0] * dims[1] + at[1]) * dims[2] + at[2]);
}

static void write_box(hid_t id, const box *b, const hsize_t dims[MADE_RANK],
                      double *wanted)
{
    size_t count = (size_t)(b->count[0] * b->count[1] * b->count[2]), n = 0;
    double *values = malloc(count * sizeof *values);
    hid_t file = H5Dget_space(id), memory = H5Screate_simple(MADE_RANK, b->count, NULL);
    hsize_t at[MADE_RANK];

    ck_assert_ptr_nonnull(values);
    for (at[0] = b->start[0]; at[0] < b->start[0] + b->count[0]; at[0]++)
        for (at[1] = b->start[1]; at[1] < b->start[1] + b->count[1]; at[1]++)
            for (at[2] = b->start[2]; at[2] < b->start[2] + b->count[2]; at[2]++) {
                size_t i = place_of(dims, at);

                values[n++] = wanted[i] = made_value(i);
            }
    H5Sselect_hyperslab(file, H5S_SELECT_SET, b->start, NULL, b->count, NULL);
    ck_assert(H5Dwrite(id, H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, values) >= 0);
    H5Sclose(memory);
    H5Sclose(file);
    free(values);
}

/* Chunk by chunk, each as far as it lies within the extent. */
static void write_chunks(hid_t id, const made_layout *layout,
                         const hsize_t dims[MADE_RANK], double *wanted)
{
    const hsize_t *side = layout->chunk;
    hsize_t nth = 0;
    box b;

    for (b.start[0] = 0; b.start[0] < dims[0]; b.start[0] += side[0])
        for (b.start[1] = 0; b.start[1] < dims[1]; b.start[1] += side[1])
            for (b.start[2] = 0; b.start[2] < dims[2]; b.start[2] += side[2], nth++) {
                for (int axis = 0; axis < MADE_RANK; axis++) {
                    hsize_t left = dims[axis] - b.start[axis];

                    b.count[axis] = left < side[axis] ? left : side[axis];
                }
                if (layout->skip == 0 || nth % layout->skip != 0)
                    write_box(id, &b, dims, wanted);
            }
}

void made_h5(const char *path, const made_layout *layout, const hsize_t dims[MADE_RANK],
             double **wanted)
{
    size_t count = (size_t)(dims[0] * dims[1] * dims[2]);
    hid_t file = made_h5_begin(path);
    hid_t id = made_h5_filtered(file, "value/x/full", layout, dims);
    const box all = {{0, 0, 0}, {dims[0], dims[1], dims[2]}};

    *wanted = malloc(count * sizeof **wanted);
    ck_assert_ptr_nonnull(*wanted);
    for (size_t i = 0; i < count; i++)
        (*wanted)[i] = layout->fill;
    if (layout->chunk[0])
        write_chunks(id, layout, dims, *wanted);
    else if (layout->skip == 0)
        write_box(id, &all, dims, *wanted);
    H5Dclose(id);
    ck_assert(H5Fclose(file) >= 0);
}
