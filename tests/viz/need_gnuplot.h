/* SPDX-License-Identifier: MIT */
/*
 * need_gnuplot.h: for tests that look at pictures.
 */
#ifndef TXD_TESTS_VIZ_NEED_GNUPLOT_H
#define TXD_TESTS_VIZ_NEED_GNUPLOT_H

#include "suite.h"
#include "viz/viz.h"

/* Ends the test as skipped if nothing can be drawn here. Only in the body of the test
 * itself. */
#define NEED_GNUPLOT                                                                   \
    do {                                                                               \
        if (txd_plot_ready() == TXD_ERR_MISSING)                                       \
            test_skip("no gnuplot with fonts");                                        \
    } while (0)

#endif
