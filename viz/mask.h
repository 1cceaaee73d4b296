/* SPDX-License-Identifier: MIT
 *
 * A picture of masks (viz/read/masks.h), which need no recording.
 */
#ifndef TXD_VIZ_MASK_H
#define TXD_VIZ_MASK_H

#include "viz/draw/drawing.h"
#include "viz/read/masks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counts the masks and makes one sheet of them, titled `title`. */
txd_status txd_masks_draw(txd_drawing *out, txd_masks *masks, const char *title);

/* The same into a file, which is written aside and renamed; its ending says the format.
 */
txd_status txd_masks_plot(txd_masks *masks, const char *title, const char *path);

#ifdef __cplusplus
}
#endif

#endif
