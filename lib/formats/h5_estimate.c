/* SPDX-License-Identifier: MIT
 *
 * What datasets cost in the file, before there is one: chunks and chunk indices as
 * HDF5 lays them out, descriptions by what their parts take.
 */
#include <string.h>

#include "formats/h5_types_internal.h"

/* Sizes of HDF5's own structures (its format specification, version 1 of all). */
#define OBJECT_HEADER 16
#define NODE_HEADER 24
#define POINTER 8
#define HEAP_OBJECT 16 /* header of one variable-length value */
/* A group with its name index: header, B-tree node, symbol table node, local heap. */
#define GROUP_BYTES (40 + 544 + 328 + 120)
/* Messages of a dataset's header besides attributes: extent, type, fill, layout. */
#define DATASET_MESSAGES 100
/* Header of an attribute with its type and extent, without name and value. */
#define ATTRIBUTE_BYTES 40

/* Nodes have their full size from the first chunk on. */
static size_t index_bytes(const txd_h5_plan *plan)
{
    size_t children = 2 * TXD_H5_ISTORE_K;
    size_t key = 8 + POINTER * ((size_t)plan->rank + 1);

    return NODE_HEADER + children * POINTER + (children + 1) * key;
}

static size_t text_bytes(const char *name, const char *value)
{
    return ATTRIBUTE_BYTES + strlen(name) + 16 + HEAP_OBJECT +
           (strlen(value ? value : "") + 8) / 8 * 8;
}

static size_t description_bytes(const txd_dataset_spec *spec, const txd_h5_plan *plan)
{
    size_t rank = (size_t)plan->rank, bytes = OBJECT_HEADER + DATASET_MESSAGES;

    bytes += rank * 24; /* extent, largest extent, chunk side */
    bytes += text_bytes("axes", spec->axes) + text_bytes("point", spec->point) +
             text_bytes("dtype", "float32") + text_bytes("unit", spec->unit);
    bytes += ATTRIBUTE_BYTES + 16;
    if (spec->fields)
        bytes += text_bytes("fields", spec->fields);
    /* Labels and scales: a value per axis, and back references. */
    bytes += 2 * ATTRIBUTE_BYTES + 32 + rank * (2 * 16 + 2 * (HEAP_OBJECT + 8) + 16);
    return bytes + 40; /* its place in its group */
}

size_t txd_recording_estimate(const txd_dataset_spec *spec)
{
    size_t steps = spec->steps ? spec->steps : 1, data, chunks;
    txd_h5_plan plan;

    if (txd_h5_plan_make(&plan, spec) != TXD_OK)
        return SIZE_MAX;
    if (spec->per_step)
        chunks = (steps / plan.chunk[0] + (steps % plan.chunk[0] != 0)) *
                 plan.chunks_per_step;
    else
        chunks = plan.chunks_per_step;
    if (!plan.chunked) {
        data = plan.bytes;
        for (int axis = 0; axis < plan.rank; axis++)
            if (txd_size_mul(&data, data, spec->dims[axis]) != TXD_OK)
                return SIZE_MAX;
    } else if (txd_size_mul(&data, chunks, plan.chunk_bytes) != TXD_OK ||
               txd_size_add(&data, data, plan.parts * index_bytes(&plan)) != TXD_OK)
        return SIZE_MAX;
    /* The group that "full" lies in is its own, and those above it are shared. */
    if (strncmp(spec->path, "value/", strlen("value/")) == 0 ||
        strncmp(spec->path, "grad/", strlen("grad/")) == 0 ||
        strncmp(spec->path, "tile/", strlen("tile/")) == 0)
        data += 2 * GROUP_BYTES;
    if (txd_size_add(&data, data, plan.parts * description_bytes(spec, &plan)) !=
        TXD_OK)
        return SIZE_MAX;
    return data;
}

size_t txd_recording_estimate_empty(void)
{
    /* Superblock; the groups, scales and texts that every run makes. */
    return 100 + 7 * GROUP_BYTES + 7 * 600 + 4096;
}
