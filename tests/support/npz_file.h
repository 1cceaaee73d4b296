/* SPDX-License-Identifier: MIT */
/*
 * npz_file.h: archives of arrays in the folder of the running test, as numpy.savez and
 * savez_compressed write them. For tests that link libzip.
 */
#ifndef TXD_TESTS_NPZ_FILE_H
#define TXD_TESTS_NPZ_FILE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zip.h>

#include "suite.h"

typedef struct npz_array {
    const char *member; /* "memory.npy" */
    const char *descr, *shape;
    const void *data;
    size_t bytes;
} npz_array;

/* The bytes of a .npy file; returns how many. */
static inline size_t npz_array_bytes(unsigned char *out, const npz_array *array)
{
    char header[200];
    int length = snprintf(header, sizeof header,
                          "{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n",
                          array->descr, array->shape);

    memcpy(out, "\x93NUMPY\x01\x00", 8);
    out[8] = (unsigned char)length;
    out[9] = 0;
    memcpy(out + 10, header, (size_t)length);
    if (array->bytes > 0)
        memcpy(out + 10 + length, array->data, array->bytes);
    return 10 + (size_t)length + array->bytes;
}

/* Writes an archive; returns its path. */
static inline const char *npz_file(const char *name, const npz_array *arrays,
                                   size_t count, bool deflate)
{
    const char *path = test_file(name);
    zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, NULL);

    ck_assert_ptr_nonnull(zip);
    for (size_t i = 0; i < count; i++) {
        unsigned char *bytes = malloc(256 + arrays[i].bytes);
        zip_int64_t at;

        ck_assert_ptr_nonnull(bytes);
        at = zip_file_add(
            zip, arrays[i].member,
            zip_source_buffer(zip, bytes, npz_array_bytes(bytes, &arrays[i]), 1), 0);
        ck_assert_int_ge(at, 0);
        ck_assert_int_eq(
            zip_set_file_compression(zip, (zip_uint64_t)at,
                                     deflate ? ZIP_CM_DEFLATE : ZIP_CM_STORE, 0),
            0);
    }
    ck_assert_int_eq(zip_close(zip), 0);
    return path;
}

#endif
