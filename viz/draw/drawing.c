/* SPDX-License-Identifier: MIT
 *
 * Scripts and data files of pictures.
 */
#include "viz/draw/drawing.h"

#include <string.h>

txd_status txd_drawing_init(txd_drawing *out, txd_image_kind kind)
{
    *out = (txd_drawing){.kind = kind};
    txd_text_init(&out->script);
    return txd_arena_create(&out->arena);
}

void txd_drawing_finish(txd_drawing *drawing)
{
    txd_text_finish(&drawing->script);
    txd_arena_destroy(drawing->arena);
    drawing->arena = NULL;
    drawing->files = NULL;
    drawing->file_count = drawing->file_room = 0;
}

static txd_status make_room(txd_drawing *drawing)
{
    size_t room = drawing->file_room ? 2 * drawing->file_room : 8;
    txd_plot_file *files;

    if (drawing->file_count < drawing->file_room)
        return TXD_OK;
    files = txd_arena_alloc(drawing->arena, room, sizeof *files);
    if (!files)
        return TXD_ERR_MEMORY;
    if (drawing->file_count != 0)
        memcpy(files, drawing->files, drawing->file_count * sizeof *files);
    drawing->files = files;
    drawing->file_room = room;
    return TXD_OK;
}

txd_status txd_drawing_add(txd_drawing *drawing, const char *name, const void *bytes,
                           size_t count)
{
    txd_status status = make_room(drawing);

    if (status == TXD_OK)
        drawing->files[drawing->file_count++] = (txd_plot_file){name, bytes, count};
    else
        drawing->script.status = status;
    return status;
}

/* gnuplot escapes '<' and '&' of texts, but not the '>' of "]]>", with which no reader
 * of XML takes the file. */
static void close_sections(txd_text *out, const char *picture)
{
    const char *end;

    for (; (end = strstr(picture, "]]>")); picture = end + 3) {
        txd_text_add_bytes(out, picture, (size_t)(end - picture));
        txd_text_add(out, "]]&gt;");
    }
    txd_text_add(out, picture);
}

txd_status txd_drawing_image(txd_text *out, const txd_drawing *drawing)
{
    const txd_plot_job job = {.kind = drawing->kind,
                              .script = txd_text_get(&drawing->script),
                              .files = drawing->files,
                              .file_count = drawing->file_count};

    txd_text picture;
    txd_status status;

    TXD_TRY(txd_text_status(&drawing->script));
    if (drawing->kind != TXD_IMAGE_SVG)
        return txd_gnuplot_image(out, &job);
    txd_text_init(&picture);
    status = txd_gnuplot_image(&picture, &job);
    if (status == TXD_OK)
        close_sections(out, txd_text_get(&picture));
    txd_text_finish(&picture);
    return status == TXD_OK ? txd_text_status(out) : status;
}
