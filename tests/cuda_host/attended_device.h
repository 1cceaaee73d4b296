/* SPDX-License-Identifier: MIT
 *
 * Attention (attended.h) on a backend of the module under the emulation.
 */
#ifndef TXD_TESTS_ATTENDED_DEVICE_H
#define TXD_TESTS_ATTENDED_DEVICE_H

#include "attended.h"

void emulated_order(uint64_t order); /* emulated.h */

struct attended_device {
    const struct attended *of;
    const txd_backend *backend;
    void *memory; /* of the device: all values */
    size_t bytes;
    struct txd_attend_args args;
    struct txd_attend_back_args back;
    struct txd_attend_pool pool;
    /* Of the host, in the shapes of the expected results. */
    double *out, *rows, *sums, *tops, *max, *lse, *d_q, *d_k, *d_v, *d_sink;
    bool finite;
};

/* cuda32, or cudabf16. */
const txd_backend *attended_backend(txd_dtype format);

struct attended_device attended_upload(const struct attended *a);
void attended_device_free(struct attended_device *there);
/* Runs them, all results fetched. */
void attended_attend(struct attended_device *there);
void attended_attend_back(struct attended_device *there);
/* Whether all results have the same bits. */
bool attended_same(const struct attended_device *a, const struct attended_device *b);

#endif
