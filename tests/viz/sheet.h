/* SPDX-License-Identifier: MIT */
/*
 * sheet.h: what a figure of blocks draws, read from its script and its data as gnuplot
 * reads them.
 */
#ifndef TXD_TESTS_VIZ_SHEET_H
#define TXD_TESTS_VIZ_SHEET_H

#include "fake.h"
#include "viz/draw/drawing.h"

enum { SHEET_BLOCKS = 12 };

typedef struct sheet {
    txd_drawing drawing;
    const double *cells;
    size_t width, blocks, left[SHEET_BLOCKS], top[SHEET_BLOCKS];
} sheet;

/* The figure of this name, of the whole recording. The caller closes it. */
void sheet_open(sheet *out, const fake *recording, const char *name);
void sheet_close(sheet *from);

/* A cell of block number `block`, in the order in which the script frames them. */
double sheet_cell(const sheet *from, size_t block, size_t row, size_t column);

/* Whether the script holds these words. */
bool sheet_says(const sheet *from, const char *words);

/* A data file; NULL = there is none. */
const void *sheet_file(const sheet *from, const char *name);

#endif
