/* SPDX-License-Identifier: MIT
 *
 * A picture before gnuplot has drawn it: a script and its data files. What figures
 * make; it becomes the bytes of an image, or a folder to draw from by hand.
 */
#ifndef TXD_VIZ_DRAW_DRAWING_H
#define TXD_VIZ_DRAW_DRAWING_H

#include "viz/draw/gnuplot.h"
#include "viz/viz.h"

#ifdef __cplusplus
extern "C" {
#endif

struct txd_drawing {
    txd_arena *arena; /* of the data, and of whatever the figure needs until it is drawn
                       */
    txd_image_kind kind;
    txd_text script;
    txd_plot_file *files;
    size_t file_count, file_room;
};

/* An empty drawing; the caller finishes it, also after a failure. */
txd_status txd_drawing_init(txd_drawing *out, txd_image_kind kind);
void txd_drawing_finish(txd_drawing *drawing);

/* A data file by the name that the script uses for it; `name` and `bytes` live as long
 * as the drawing (in its arena, say). ERR_MEMORY also sticks to the script. */
txd_status txd_drawing_add(txd_drawing *drawing, const char *name, const void *bytes,
                           size_t count);

/* Appends the picture's bytes, as txd_gnuplot_image does. */
txd_status txd_drawing_image(txd_text *out, const txd_drawing *drawing);

#ifdef __cplusplus
}
#endif

#endif
