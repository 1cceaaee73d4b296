/* SPDX-License-Identifier: MIT
 *
 * Drawings kept as files, for people who restyle them.
 */
#ifndef TXD_VIZ_DRAW_KEEP_H
#define TXD_VIZ_DRAW_KEEP_H

#include "viz/draw/drawing.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The first words of every script that is kept. */
#define TXD_KEPT_MARK "# A picture by txdiag"

/* Writes FOLDER/picture.gp, commented where people restyle, and its data as text beside
 * it (FOLDER/cells.txt ...); the folder is made if only it is missing. In it `gnuplot
 * picture.gp` draws picture.png (.svg, .pdf) again. Files of these names are replaced.
 */
txd_status txd_drawing_keep(const txd_drawing *drawing, const char *folder);

/* The script as it is kept: reads NAME.txt in place of binary files. */
void txd_kept_script(txd_text *out, const txd_drawing *drawing);

#ifdef __cplusplus
}
#endif

#endif
