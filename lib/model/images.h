/* SPDX-License-Identifier: MIT
 *
 * The host's images of what a run has in the memory of its backend: taps read and edit
 * them. Where that memory is the host's, an image is the value itself, and nothing is
 * copied.
 */
#ifndef TXD_MODEL_IMAGES_H
#define TXD_MODEL_IMAGES_H

#include "model/run_private.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Room for the images of the memory of values and of that of formed values, of so many
 * bytes (0: none, yet): places in it are those in the memory. */
txd_status txd_images_create(txd_run *run);
txd_status txd_images_reserve(txd_run *run);
void txd_images_destroy(txd_run *run);
/* Bytes of the images of so many bytes of values. */
size_t txd_images_bytes(const txd_run *run, size_t values);
/* Whole values that were read before are to be read again: others may lie there. */
void txd_images_forget(const txd_run *run);

/* Where the image of a value is; with its elements as they are now. */
void *txd_image_of(const txd_run *run, const void *data);
txd_status txd_image_read(void **out, const txd_run *run, const void *data,
                          size_t count);
/* The same of a whole value, or its gradient (`kind`), at a stop: read once, by the
 * first of several threads. */
txd_status txd_image_read_whole(void **out, const txd_run *run, txd_site_kind kind,
                                int stop, const txd_tensor *value);
/* What was written to its image becomes the value. */
txd_status txd_image_write(const txd_run *run, void *data, size_t count);

#ifdef __cplusplus
}
#endif

#endif
