/* SPDX-License-Identifier: MIT
 *
 * Figures hand gnuplot binary data, because that is fast. Here each such source of the
 * script is turned into one that reads text: pairs as two columns, a map of numbers as
 * a matrix, an image of colours as a list of places and bytes.
 */
#include "viz/draw/keep.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* "'cells' binary array=(12,12) dx=0.5 ... format='%double' using 1 " of a script. */
typedef struct source {
    const txd_plot_file *file;
    const char *begin, *end; /* of it in the script */
    bool grid;               /* else a list of records */
    size_t columns, rows;    /* of the grid; or numbers and records */
    double step, origin;     /* of the grid's places, on both axes */
    bool bytes;              /* else doubles */
    const char *using;       /* what follows "using ", up to `end` */
    size_t values;           /* per place, of a grid */
} source;

static const char *const endings[] = {
    [TXD_IMAGE_PNG] = "png", [TXD_IMAGE_SVG] = "svg", [TXD_IMAGE_PDF] = "pdf"};

static size_t count_of(const char *at, const char *end, char what)
{
    size_t count = 0;

    for (; at < end; at++)
        count += *at == what;
    return count;
}

/* The number after a word of the source; `fallback` if it is not there. */
static double number_after(const source *from, const char *word, double fallback)
{
    const char *at = strstr(from->begin, word);

    return at && at < from->end ? strtod(at + strlen(word), NULL) : fallback;
}

/* False if the text at `at` is no source that can be turned. */
static bool read_source(source *out, const char *at, const txd_drawing *drawing)
{
    for (size_t i = 0; i < drawing->file_count && *at == '\''; i++) {
        const char *name = drawing->files[i].name, *after = at + 1 + strlen(name);
        const char *format, *line = at + strcspn(at, "\n"), *word;

        if (strncmp(at + 1, name, strlen(name)) != 0 ||
            strncmp(after, "' binary ", 9) != 0)
            continue;
        format = strstr(after, "format='");
        word = strstr(after, " using ");
        if (!format || !word || word > line)
            return false;
        *out = (source){.file = &drawing->files[i], .begin = at};
        out->using = word + 7;
        out->end = out->using + strcspn(out->using, " \n");
        out->bytes = strncmp(format, "format='%uchar", 14) == 0;
        out->grid = strncmp(after, "' binary array=(", 16) == 0;
        out->values = count_of(out->using, out->end, ':') + 1;
        out->step = number_after(out, " dx=", 1);
        out->origin = number_after(out, " origin=(", 0);
        if (out->grid)
            return sscanf(after, "' binary array=(%zu,%zu)", &out->columns,
                          &out->rows) == 2;
        out->columns = count_of(format, word, '%');
        return sscanf(after, "' binary record=(%zu)", &out->rows) == 1;
    }
    return false;
}

/* A matrix gives places and value as columns 1, 2 and 3. */
static bool is_matrix(const source *from)
{
    return from->grid && from->values == 1;
}

static void add_place(txd_text *out, const source *from, int column)
{
    if (from->step == 1 && from->origin == 0) {
        txd_text_addf(out, "%d", column);
        return;
    }
    txd_text_addf(out, "($%d*", column);
    txd_text_add_real(out, from->step);
    txd_text_add(out, from->origin < 0 ? "" : "+");
    txd_text_add_real(out, from->origin);
    txd_text_add(out, ")");
}

static void add_source(txd_text *out, const source *from)
{
    txd_text_addf(out, "'%s.txt' %susing ", from->file->name,
                  is_matrix(from) ? "matrix " : "");
    if (!from->grid) {
        txd_text_add_bytes(out, from->using, (size_t)(from->end - from->using));
        return;
    }
    add_place(out, from, 1);
    txd_text_add(out, ":");
    add_place(out, from, 2);
    for (size_t i = 0; i < from->values; i++)
        txd_text_addf(out, ":%zu", i + 3);
}

/* Digits enough to read back as the same number; most were float32. */
static void add_number(txd_text *out, const source *from, size_t i)
{
    double value;

    if (from->bytes) {
        txd_text_addf(out, "%d", ((const unsigned char *)from->file->bytes)[i]);
        return;
    }
    memcpy(&value, (const double *)from->file->bytes + i, sizeof value);
    if (isnan(value))
        txd_text_add(out, "NaN");
    else if (value == (double)(float)value)
        txd_text_addf(out, "%.9g", value);
    else
        txd_text_addf(out, "%.17g", value);
}

static void add_data(txd_text *out, const source *from)
{
    size_t across = is_matrix(from) || !from->grid ? from->columns : from->values;
    size_t places =
        is_matrix(from) || !from->grid ? from->rows : from->columns * from->rows;

    txd_text_addf(out, "# %s\n",
                  is_matrix(from) ? "a row of cells per line, the upper first; NaN is "
                                    "blank"
                  : from->grid    ? "column, row, red, green, blue (and opacity) of a "
                                    "pixel, the upper left one first"
                                  : "a place per line, as the script draws it");
    for (size_t i = 0; i < places; i++) {
        if (from->grid && !is_matrix(from))
            txd_text_addf(out, "%zu %zu ", i % from->columns, i / from->columns);
        for (size_t j = 0; j < across; j++) {
            txd_text_add(out, j ? " " : "");
            add_number(out, from, i * across + j);
        }
        txd_text_add(out, "\n");
    }
}

/* What people change, by how its first line begins. */
static const struct {
    const char *line, *comment;
} places[] = {
    {"set terminal", "Format, size in pixels and font. For a paper: pdfcairo, and a "
                     "size in inches."},
    {"set palette", "The colours, from the lowest value to the highest."},
    {"set lmargin", "The place of the picture in the sheet."},
    {"set xrange", "The axes; of a map the first row is on top."},
    {"set cbrange", "The range of the colours."},
    {"set logscale cb", "The scale of the colours."},
    {"set colorbox", "The bar of colours."},
    {"set label", "Title, notes and titles of axes: text, place, size, colour."},
    {"set xtics", "Numbers or labels along the axes."},
    {"plot", "The data, as text files beside this one, and how they are drawn."},
};
enum { PLACES = sizeof places / sizeof *places };

static void add_comment(txd_text *out, const char *line, bool done[PLACES])
{
    for (size_t i = 0; i < PLACES; i++) {
        if (done[i] || strncmp(line, places[i].line, strlen(places[i].line)) != 0)
            continue;
        txd_text_addf(out, "\n# %s\n", places[i].comment);
        done[i] = true;
    }
}

void txd_kept_script(txd_text *out, const txd_drawing *drawing)
{
    static const char output[] = "set output 'picture'\n";
    bool done[PLACES] = {false};
    const char *at, *line;
    txd_text script;

    txd_text_init(&script);
    txd_clean_glyphs(&script, txd_text_get(&drawing->script), drawing->kind);
    at = line = txd_text_get(&script);
    txd_text_addf(out,
                  TXD_KEPT_MARK ": `gnuplot picture.gp` in this folder draws "
                                "picture.%s again.\n"
                                "# Places are fractions of the sheet, out of its size "
                                "in pixels. Of blank cells\n"
                                "# gnuplot says that they are undefined values.\n",
                  endings[drawing->kind]);
    while (*at) {
        source from;

        if (at == line)
            add_comment(out, at, done);
        if (at == line && strncmp(at, output, sizeof output - 1) == 0) {
            txd_text_addf(out, "set output 'picture.%s'\n", endings[drawing->kind]);
            at += sizeof output - 1;
            line = at;
        } else if (read_source(&from, at, drawing)) {
            add_source(out, &from);
            at = from.end;
        } else {
            txd_text_add_bytes(out, at, 1);
            line = *at++ == '\n' ? at : line;
        }
    }
    if (txd_text_status(&drawing->script) != TXD_OK ||
        txd_text_status(&script) != TXD_OK)
        out->status = TXD_ERR_MEMORY;
    txd_text_finish(&script);
}

static txd_status write_file(const char *folder, const char *name, const char *ending,
                             const txd_text *text)
{
    txd_status status = txd_text_status(text);
    txd_text path;

    txd_text_init(&path);
    txd_text_addf(&path, "%s/%s%s", folder, name, ending);
    if (status == TXD_OK)
        status = txd_text_status(&path);
    if (status == TXD_OK)
        status = txd_file_replace(txd_text_get(&path), text->data, text->length);
    txd_text_finish(&path);
    return status;
}

/* The data of the first source that reads a file; as it is where none is known. */
static txd_status write_data(const char *folder, const txd_drawing *drawing,
                             const txd_plot_file *file)
{
    source from = {0};
    txd_status status;
    txd_text text;

    for (const char *at = txd_text_get(&drawing->script); *at; at++)
        if (*at == '\'' && read_source(&from, at, drawing) && from.file == file)
            break;
        else
            from.file = NULL;
    txd_text_init(&text);
    if (from.file)
        add_data(&text, &from);
    else
        txd_text_add_bytes(&text, file->bytes, file->count);
    status = write_file(folder, file->name, from.file ? ".txt" : "", &text);
    txd_text_finish(&text);
    return status;
}

txd_status txd_drawing_keep(const txd_drawing *drawing, const char *folder)
{
    txd_status status = TXD_OK;
    txd_text script;

    if (mkdir(folder, 0777) != 0 && errno != EEXIST)
        return txd_fail(TXD_ERR_IO, "cannot make folder %s: %s", folder,
                        strerror(errno));
    for (size_t i = 0; i < drawing->file_count && status == TXD_OK; i++)
        status = write_data(folder, drawing, &drawing->files[i]);
    txd_text_init(&script);
    txd_kept_script(&script, drawing);
    if (status == TXD_OK)
        status = write_file(folder, "picture.gp", "", &script);
    txd_text_finish(&script);
    return status;
}
