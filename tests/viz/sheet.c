/* SPDX-License-Identifier: MIT */
/*
 * sheet.c: finds blocks by their frames, not by the code that placed them.
 */
#include "sheet.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

const void *sheet_file(const sheet *from, const char *name)
{
    for (size_t i = 0; i < from->drawing.file_count; i++)
        if (strcmp(from->drawing.files[i].name, name) == 0)
            return from->drawing.files[i].bytes;
    return NULL;
}

void sheet_open(sheet *out, const fake *recording, const char *name)
{
    const txd_figure_request request = {.site = name,
                                        .layer = -1,
                                        .head = -1,
                                        .step = -1,
                                        .batch = -1,
                                        .path = "a.png"};
    const char *at;
    double x, y;

    memset(out, 0, sizeof *out);
    ck_assert_int_eq(txd_drawing_init(&out->drawing, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_msg(txd_figure_find(name)->draw(&out->drawing, recording->trace,
                                              &request) == TXD_OK,
                  "%s", txd_message());
    out->cells = sheet_file(out, "cells");
    at = strstr(txd_text_get(&out->drawing.script), "'cells' binary array=(");
    ck_assert(out->cells && at && sscanf(at, "%*[^(](%zu", &out->width) == 1);
    at = txd_text_get(&out->drawing.script);
    while ((at = strstr(at, "set object rectangle from ")) != NULL) {
        ck_assert_int_eq(sscanf(at, "set object rectangle from %lf,%lf", &x, &y), 2);
        ck_assert_uint_lt(out->blocks, SHEET_BLOCKS);
        out->left[out->blocks] = (size_t)(x + 0.5);
        out->top[out->blocks++] = (size_t)(y + 0.5);
        at++;
    }
}

void sheet_close(sheet *from)
{
    txd_drawing_finish(&from->drawing);
}

double sheet_cell(const sheet *from, size_t block, size_t row, size_t column)
{
    ck_assert_uint_lt(block, from->blocks);
    return from
        ->cells[(from->top[block] + row) * from->width + from->left[block] + column];
}

bool sheet_says(const sheet *from, const char *words)
{
    return strstr(txd_text_get(&from->drawing.script), words) != NULL;
}
