/* SPDX-License-Identifier: MIT
 *
 * A heat map of one two-dimensional value: filled from a slice of a recording, in
 * memory bounded by the picture and not by the value, then drawn.
 */
#ifndef TXD_VIZ_MAP_H
#define TXD_VIZ_MAP_H

#include "viz/read/claim.h"
#include "viz/draw/drawing.h"
#include "viz/read/slice.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TXD_MAP_LABELS = 64,      /* longest axis on which every place is labelled */
    TXD_MAP_CELLS = 700,      /* most cells per axis; more places share cells */
    TXD_PEAK_STANDS_OUT = 20, /* times an even share; less is not worth a word */
    TXD_FLAG_LEAK = 1,        /* a hidden cell that is not silent */
    TXD_FLAG_NONFINITE = 2,
    TXD_FLAG_UNKNOWN = 4, /* nothing is known of the cell */
    TXD_MAPS = 3,         /* most maps on one sheet */
};

#define TXD_MAP_VALUES 0x1p36

typedef struct txd_axis {
    size_t *places; /* `count` selected places of the value, ascending */
    size_t count;
    size_t cells; /* drawn: `count`, or fewer, then each holds several places */
    const char *title;
    char **labels;    /* one per cell; NULL = numbers */
    const char *tics; /* instead of both: gnuplot's list "'0' 3, '1' 9", "" = none; or
                         NULL */
} txd_axis;

/* Places that deserve a mark: how many, and the worst (or first). */
typedef struct txd_marks {
    size_t total, row, column; /* places of the value, not cells */
    double worst;
} txd_marks;

/* The weight that is the largest multiple of an even share, 1 over the `seen` keys that
 * its query may see: a head that looks evenly has none far above 1, and row 0 is 1. */
typedef struct txd_peak {
    double times, value;
    size_t row, column, seen;
} txd_peak;

/* A line of text under or over the map. */
typedef struct txd_note {
    const char *text, *colour;
} txd_note;

enum { TXD_MAP_NOTES = 6 };

typedef struct txd_map {
    txd_arena *arena; /* of everything in it; not owned */
    txd_axis rows, columns;
    double *cells;        /* rows x columns; NaN = blank */
    unsigned char *flags; /* the same shape: TXD_FLAG_* */
    txd_marks leaks, nonfinite;
    txd_peak peak; /* times 0 = not known */
    double
        pointed[2]; /* its row and column in cells, for arrows outside of the frame */
    bool is_pointed;
    double low, high; /* of the colours */
    bool logarithmic, square;
    size_t limit; /* most cells per axis; 0 = TXD_MAP_CELLS */
    size_t side;  /* pixels that an axis should take; 0 = TXD_MAP_CELLS */
    /* Over each of several maps on a sheet; all have one, or none. */
    const char *heading;
    bool no_bar;    /* the scale of colours is shown beside another map */
    bool diverging; /* colours of differences, white at 0 */
    /* Why each cell is hidden, as txd_hidden, for the lines along the edges of the
     * mask; NULL = none are drawn. */
    const unsigned char *hidden;
    const char *loud;  /* what a marked hidden cell is: "not 0" */
    const char *extra; /* more commands for the script; NULL = none */
    bool by_size; /* shared cells hold the value largest in size, not the largest */
    bool mean;    /* or the mean of what the mask lets see */
    const char *title;
    txd_note above[TXD_MAP_NOTES], below[TXD_MAP_NOTES];
    size_t above_count, below_count;
} txd_map;

/* Which cells of a value are hidden, and what a hidden cell may hold. */
typedef struct txd_blank {
    const txd_mask_view *mask; /* NULL = not known, nothing is blank */
    /* A pooled value has NaN in cells that got nothing. Instead of the mask: 1 where a
     * whole cell is hidden, in rows of `pooled_side`; NULL = not known. */
    bool is_pooled;
    const unsigned char *pooled;
    size_t pooled_side;
    enum {
        TXD_SILENT_ZERO,   /* weights: exactly 0 */
        TXD_SILENT_MASKED, /* masked scores: the fill, or -Inf */
        TXD_SILENT_ANY,    /* scores: whatever, nobody reads it */
    } silent;
    double fill;
    const int32_t *query_valid; /* rows of padded queries are judged by nobody */
} txd_blank;

/* Selects the places of both axes. `lengths` cuts an axis to what the step filled;
 * 0 = all of it. Axis titles are words for the axes' letters. */
txd_status txd_map_select(txd_map *map, const txd_slice *slice,
                          const txd_figure_request *request, const size_t lengths[2]);

/* Reads the slice into cells, flags and marks. ERR_LIMIT for more than TXD_MAP_VALUES
 * places, which nobody waits for. */
txd_status txd_map_fill(txd_map *map, const txd_slice *slice, const txd_blank *blank);

/* Sets the range of colours from the cells; `from_zero` starts a linear one at 0. An
 * automatic scale is logarithmic if a linear one would be as good as black.
 * ERR_CONFIG if the scale is logarithmic and there are values below 0. */
txd_status txd_map_scale(txd_map *map, txd_scale scale, bool from_zero);

/* "colours linear from 0 to 0.83" as a note above. */
txd_status txd_map_note_scale(txd_map *map, const char *before);

/* Adds a cleaned line above or below, in the map's arena. */
txd_status txd_map_note(txd_map *map, bool above, const char *colour, const char *text);

/* Names the peak below and points at it, if it is drawn and stands out, and the map is
 * too fine to be read cell by cell. `cell` says in which row and column of a pooled map
 * it is; NULL: the map is of the weights themselves. */
txd_status txd_map_note_peak(txd_map *map, const size_t cell[2]);

/* The arrows to the peak; nothing if none is to be pointed at. */
void txd_map_point(txd_text *out, const txd_map *map, const txd_sheet *sheet,
                   const txd_box *panel);

/* The notes that explain blanks, rings and crosses. */
txd_status txd_map_note_marks(txd_map *map, const char *hidden_by);

/* Sets map->hidden by the mask, of which a cell is hidden if all its places are. */
txd_status txd_map_find_edges(txd_map *map, const txd_mask_view *mask);

/* The note that tells the lines of map->hidden apart. */
txd_status txd_map_note_edges(txd_map *map);

/* Writes the script and its data files; the map's arena is the drawing's. */
txd_status txd_map_draw(txd_drawing *out, const txd_map *map);

/* The same of 1 to TXD_MAPS maps beside each other. Title and notes are the first's. */
txd_status txd_maps_draw(txd_drawing *out, const txd_map *const *maps, size_t count);

#ifdef __cplusplus
}
#endif

#endif
