/* SPDX-License-Identifier: MIT
 *
 * The values that a row of bugs shows. For bug.c alone.
 */
#ifndef TXD_TESTS_BUGS_SHOWN_H
#define TXD_TESTS_BUGS_SHOWN_H

#include "bug.h"

enum { KEPT = 4096 };

/* A value at a point, as the last step made it. */
typedef struct watched {
    txd_point point;
    int layer;
    bool sums, gradient;
    int rank;
    size_t dims[TXD_MAX_RANK];
    double values[KEPT];
} watched;

typedef struct watch {
    watched kept[BUG_SHOWN];
    int count;
} watch;

/* For the points of a row, all zero; the tap that fills it. */
void watch_start(watch *w, const bug *b);
txd_tap watch_tap(watch *w);

/* Holds what was kept to these numbers, which are printed to half a unit of their last
 * digit; `roundoff` is the backend's, relative to them. */
void watch_expect(const bug *b, const watched *w, const bug_shown *shown,
                  const char *numbers, double roundoff);

#endif
