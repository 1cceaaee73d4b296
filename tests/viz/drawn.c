/* SPDX-License-Identifier: MIT */
/*
 * drawn.c: looks into drawings.
 */
#include "drawn.h"

#include <check.h>
#include <string.h>

static const txd_plot_file *find(const txd_drawing *drawing, const char *name)
{
    for (size_t i = 0; i < drawing->file_count; i++)
        if (strcmp(drawing->files[i].name, name) == 0)
            return &drawing->files[i];
    return NULL;
}

bool drawn_has(const txd_drawing *drawing, const char *name)
{
    return find(drawing, name) != NULL;
}

const void *drawn_file(const txd_drawing *drawing, const char *name, size_t *bytes)
{
    const txd_plot_file *file = find(drawing, name);

    ck_assert_msg(file != NULL, "no data file \"%s\"", name);
    *bytes = file->count;
    return file->bytes;
}

const double *drawn_numbers(const txd_drawing *drawing, const char *name, size_t *count)
{
    size_t bytes;
    const double *numbers = drawn_file(drawing, name, &bytes);

    *count = bytes / sizeof *numbers;
    return numbers;
}

void drawn_says(const txd_drawing *drawing, const char *words)
{
    const char *script = txd_text_get(&drawing->script);

    ck_assert_msg(strstr(script, words) != NULL, "no \"%s\" in:\n%.3500s", words,
                  script);
}

bool drawn_words(const txd_drawing *drawing, const char *words)
{
    static const char begin[] = "set label '", end[] = "' at screen";
    const char *script = txd_text_get(&drawing->script), *at = script;
    bool found = strstr(script, words) != NULL;
    txd_text labels;

    txd_text_init(&labels);
    while ((at = strstr(at, begin))) {
        at += sizeof begin - 1;
        txd_text_add_bytes(&labels, at, (size_t)(strstr(at, end) - at));
        txd_text_add(&labels, " ");
    }
    found |= strstr(txd_text_get(&labels), words) != NULL;
    txd_text_finish(&labels);
    return found;
}

void drawn_has_words(const txd_drawing *drawing, const char *words)
{
    ck_assert_msg(drawn_words(drawing, words), "no \"%s\" in:\n%.3500s", words,
                  txd_text_get(&drawing->script));
}
