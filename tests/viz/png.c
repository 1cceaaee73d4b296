/* SPDX-License-Identifier: MIT */
/*
 * png.c: chunks, inflate, the five filters.
 */
#include "png.h"

#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t big_endian(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 |
           (uint32_t)bytes[2] << 8 | bytes[3];
}

/* All IDAT chunks one after the other. */
static unsigned char *join_data(size_t *count, const unsigned char *bytes, size_t size)
{
    unsigned char *data = malloc(size);

    ck_assert_ptr_nonnull(data);
    *count = 0;
    for (size_t at = 8; at + 12 <= size;) {
        size_t length = big_endian(bytes + at);

        ck_assert_uint_le(length, size - at - 12);
        if (memcmp(bytes + at + 4, "IDAT", 4) == 0) {
            memcpy(data + *count, bytes + at + 8, length);
            *count += length;
        }
        at += 12 + length;
    }
    return data;
}

static int paeth(int left, int up, int corner)
{
    int guess = left + up - corner;
    int a = abs(guess - left), b = abs(guess - up), c = abs(guess - corner);

    return a <= b && a <= c ? left : b <= c ? up : corner;
}

static void unfilter(unsigned char *row, const unsigned char *above, size_t bytes,
                     size_t channels, int filter)
{
    for (size_t i = 0; i < bytes; i++) {
        int left = i >= channels ? row[i - channels] : 0;
        int up = above ? above[i] : 0;
        int corner = above && i >= channels ? above[i - channels] : 0;
        int add = filter == 0   ? 0
                  : filter == 1 ? left
                  : filter == 2 ? up
                  : filter == 3 ? (left + up) / 2
                                : paeth(left, up, corner);

        row[i] = (unsigned char)(row[i] + add);
    }
}

void png_read(png *out, const void *bytes, size_t count)
{
    static const unsigned char magic[8] = {137, 'P', 'N', 'G', 13, 10, 26, 10};
    const unsigned char *from = bytes, *above = NULL;
    unsigned char *data, *raw;
    size_t size, channels, stride;
    uLongf length;

    ck_assert_uint_gt(count, 33);
    ck_assert_mem_eq(from, magic, sizeof magic);
    out->width = big_endian(from + 16);
    out->height = big_endian(from + 20);
    ck_assert_int_eq(from[24], 8);
    ck_assert(from[25] == 2 || from[25] == 6);
    ck_assert_int_eq(from[28], 0);
    channels = from[25] == 2 ? 3 : 4;
    stride = out->width * channels + 1;
    data = join_data(&size, from, count);
    length = stride * out->height;
    raw = malloc(length);
    out->pixels = malloc(out->width * out->height * sizeof *out->pixels);
    ck_assert(raw && out->pixels);
    ck_assert_int_eq(uncompress(raw, &length, data, size), Z_OK);
    ck_assert_uint_eq(length, stride * out->height);
    for (size_t y = 0; y < out->height; y++) {
        unsigned char *row = raw + y * stride + 1;

        unfilter(row, above, stride - 1, channels, row[-1]);
        above = row;
        for (size_t x = 0; x < out->width; x++)
            out->pixels[y * out->width + x] = (uint32_t)row[x * channels] << 16 |
                                              (uint32_t)row[x * channels + 1] << 8 |
                                              row[x * channels + 2];
    }
    free(raw);
    free(data);
}

void png_free(png *picture)
{
    free(picture->pixels);
    picture->pixels = NULL;
}

png_box png_differ(const png *a, const png *b)
{
    png_box box = {a->width, a->height, 0, 0, 0};

    ck_assert_uint_eq(a->width, b->width);
    ck_assert_uint_eq(a->height, b->height);
    for (size_t i = 0; i < a->width * a->height; i++) {
        size_t x = i % a->width, y = i / a->width;

        if (a->pixels[i] == b->pixels[i])
            continue;
        box.left = x < box.left ? x : box.left;
        box.right = x > box.right ? x : box.right;
        box.top = y < box.top ? y : box.top;
        box.bottom = y > box.bottom ? y : box.bottom;
        box.pixels++;
    }
    return box;
}

size_t png_count(const png *picture, uint32_t colour)
{
    size_t count = 0;

    for (size_t i = 0; i < picture->width * picture->height; i++)
        count += picture->pixels[i] == colour;
    return count;
}
