/* SPDX-License-Identifier: MIT */
/*
 * drawn.h: what a drawing holds, before gnuplot has seen it.
 */
#ifndef TXD_TESTS_VIZ_DRAWN_H
#define TXD_TESTS_VIZ_DRAWN_H

#include "viz/draw/drawing.h"

/* The bytes of a data file; fails the test if there is none of this name. */
const void *drawn_file(const txd_drawing *drawing, const char *name, size_t *bytes);

/* The same as doubles. */
const double *drawn_numbers(const txd_drawing *drawing, const char *name,
                            size_t *count);

/* Whether there is a file of this name. */
bool drawn_has(const txd_drawing *drawing, const char *name);

/* Fails the test unless the script holds `words`. */
void drawn_says(const txd_drawing *drawing, const char *words);

/* Whether the words stand in the script, or in its labels one after the other: lines
 * of notes end anywhere. And the same as a test. */
bool drawn_words(const txd_drawing *drawing, const char *words);
void drawn_has_words(const txd_drawing *drawing, const char *words);

#endif
