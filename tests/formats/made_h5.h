/* SPDX-License-Identifier: MIT
 *
 * Recordings with datasets as other programs may lay them out: any chunks, filters,
 * types and fill values, chunks that were never written or written raw.
 */
#ifndef TXD_TESTS_MADE_H5_H
#define TXD_TESTS_MADE_H5_H

#include <hdf5.h>

#include "formats/recording.h"

#define MADE_RANK 3

typedef struct made_layout {
    const char *name;
    hid_t type;               /* in the file */
    hsize_t chunk[MADE_RANK]; /* chunk[0] == 0: in one piece */
    int filters[3];           /* H5Z_FILTER_*, 0 = no more */
    double fill;
    hsize_t skip; /* every so manieth chunk is not written; 0: all are */
} made_layout;

/* One dataset "value/x/full" of `dims`, element i being made_value(i) where it was
 * written; `*wanted` (malloc, double) is what reading must give. */
void made_h5(const char *path, const made_layout *layout, const hsize_t dims[MADE_RANK],
             double **wanted);
double made_value(size_t i);

/* A file with the attributes of a recording, to be closed by the caller. */
hid_t made_h5_begin(const char *path);
hid_t made_h5_filtered(hid_t file, const char *name, const made_layout *layout,
                       const hsize_t dims[MADE_RANK]);

#endif
