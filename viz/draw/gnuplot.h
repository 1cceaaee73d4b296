/* SPDX-License-Identifier: MIT
 *
 * Runs gnuplot on a script and data files, in a private folder, and returns the
 * picture's bytes. Nothing of the caller's (paths, strings) reaches gnuplot but
 * through the script, whose strings script.h quotes.
 */
#ifndef TXD_VIZ_GNUPLOT_H
#define TXD_VIZ_GNUPLOT_H

#include "viz/draw/script.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A data file, by the name that the script uses for it (no folders). */
typedef struct txd_plot_file {
    const char *name;
    const void *bytes;
    size_t count;
} txd_plot_file;

typedef struct txd_plot_job {
    txd_image_kind kind;
    const char *script; /* must `set output 'picture'` */
    const txd_plot_file *files;
    size_t file_count;
    double seconds; /* after which gnuplot is killed; 0 = 120 */
} txd_plot_job;

/* Appends the picture's bytes to `out`. ERR_MISSING, naming the packages, when gnuplot
 * or every font is missing; ERR_LIMIT when it took too long; ERR_IO with gnuplot's own
 * words when it complained. */
txd_status txd_gnuplot_image(txd_text *out, const txd_plot_job *job);

#ifdef __cplusplus
}
#endif

#endif
