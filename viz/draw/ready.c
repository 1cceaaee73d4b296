/* SPDX-License-Identifier: MIT
 *
 * Whether anything can be drawn, found out by drawing the least that there is.
 */
#include "viz/viz.h"

#include "viz/draw/gnuplot.h"

txd_status txd_plot_ready(void)
{
    static const char script[] =
        "set terminal pngcairo size 200,150 font 'DejaVu Sans,9'\n"
        "set output 'picture'\n"
        "plot [0:1][0:1] 0.5 notitle\n"
        "set output\n";
    txd_plot_job job = {.kind = TXD_IMAGE_PNG, .script = script};
    txd_text picture;
    txd_status status;

    txd_text_init(&picture);
    status = txd_gnuplot_image(&picture, &job);
    txd_text_finish(&picture);
    return status;
}
