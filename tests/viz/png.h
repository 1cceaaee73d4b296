/* SPDX-License-Identifier: MIT */
/*
 * png.h: reads the pictures that tests draw. Nothing but what gnuplot writes: 8 bits
 * per channel, not interlaced.
 */
#ifndef TXD_TESTS_VIZ_PNG_H
#define TXD_TESTS_VIZ_PNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct png {
    size_t width, height;
    uint32_t *pixels; /* 0xRRGGBB, row by row from the top */
} png;

/* Fails the running test if the bytes are no such picture. */
void png_read(png *out, const void *bytes, size_t count);
void png_free(png *picture);

/* The smallest box that holds all pixels in which two pictures differ. */
typedef struct png_box {
    size_t left, top, right, bottom; /* the last column and row included */
    size_t pixels;                   /* that differ; 0 = none, the box is empty */
} png_box;

png_box png_differ(const png *a, const png *b);

/* The number of pixels of a colour. */
size_t png_count(const png *picture, uint32_t colour);

#endif
