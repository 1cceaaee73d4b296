/* SPDX-License-Identifier: MIT
 *
 * What a replay knows of a recording, and what one pass over it holds. Internal to
 * formats/.
 */
#ifndef TXD_FORMATS_REPLAY_INTERNAL_H
#define TXD_FORMATS_REPLAY_INTERNAL_H

#include <pthread.h>

#include "base/select.h"
#include "formats/replay.h"
#include "model/params.h"
#include "ops/ops.h"

#define TXD_REPLAY_NONE SIZE_MAX
#define TXD_REPLAY_ROWS 256 /* of a row tile of the logits */
/* What a tap can be given of a recording. */
#define TXD_REPLAY_READS ((unsigned)(TXD_ASK_VALUE | TXD_ASK_ROWS | TXD_ASK_STATS))

/* One line of the attribute `record`: what a probe was told to record. */
typedef struct txd_replay_use {
    const char *probe, *points;
    txd_range layers, heads, steps;
} txd_replay_use;

/* Where statistics may be, the best first: grad_norm has some of them. */
typedef enum txd_replay_series {
    TXD_REPLAY_STATS,
    TXD_REPLAY_PARAM_GRAD,
    TXD_REPLAY_GRAD_NORM,
    TXD_REPLAY_SERIES
} txd_replay_series;

/* Fields of grad_norm: count, l2, rms, max_abs, zeros, nonfinite. */
enum { TXD_REPLAY_NORM_FIELDS = 6 };

typedef struct txd_replay_stop {
    txd_site site;
    size_t value;                  /* entry with the full values, or TXD_REPLAY_NONE */
    size_t row[TXD_REPLAY_SERIES]; /* of each series, or TXD_REPLAY_NONE */
} txd_replay_stop;

struct txd_replay {
    const txd_trace *trace;
    txd_arena *arena;
    txd_config config;
    /* In order of execution: values, their gradients from the last to the first, and
     * gradients of parameters. */
    txd_replay_stop *stops;
    size_t value_count, stop_count;
    size_t *stop_of;    /* (point, layer + 1): stop number or TXD_REPLAY_NONE */
    txd_params *shapes; /* of the parameters, without values */
    size_t rows[2][TXD_ROW_COUNT];            /* by txd_attention_kind */
    bool has_rows[2];                         /* every column */
    size_t series[TXD_REPLAY_SERIES], params; /* entries */
    const char *const *param_names;
    size_t param_count;
    size_t tokens, positions, valid, document, types;   /* entries */
    size_t lengths, key_lengths;                        /* entries */
    size_t memory_values, memory_valid, memory_lengths; /* entries */
    size_t steps, batch, length, memory; /* memory: rows of it, 0 without */
    size_t keys;          /* that queries attend to: more than `length` with a cache */
    txd_dtype format;     /* of stored values */
    txd_storage storage;  /* that made them coarser */
    txd_replay_use *uses; /* NULL: everything in the file was recorded everywhere */
    size_t use_count;
    int threads; /* 0 = all */
};

/* Reads everything above from replay->trace (replay_index.c). */
txd_status txd_replay_index(txd_replay *replay);

/* The claimed configuration and the format; then, of values, whether they are of its
 * shapes and digits, and why there is none of a name (replay_claim.c). */
txd_status txd_replay_read_claim(txd_replay *replay);
txd_status txd_replay_check_value(const txd_replay *replay, const txd_trace_info *info,
                                  size_t stop);
txd_status txd_replay_no_value(const txd_replay *replay, const char *name);

/* Steps, batch, length and memory, and the entries of the inputs (replay_shape.c). */
txd_status txd_replay_take_shape(txd_replay *replay);
/* The entry of this name, or TXD_REPLAY_NONE. */
size_t txd_replay_find(const txd_replay *replay, const char *name);
txd_status txd_replay_no_fit(const txd_trace_info *info, const char *expected);

size_t txd_replay_stop_of(const txd_replay *replay, txd_point point, int layer);
/* The same of the value or, if so, of its gradient. */
size_t txd_replay_stop_at(const txd_replay *replay, bool is_gradient, txd_point point,
                          int layer);
/* The bits that the recording can answer at a stop. */
unsigned txd_replay_offers_at(const txd_replay *replay, size_t stop);
/* The shape of the value at a stop, at most; returns the rank. */
int txd_replay_dims(size_t dims[TXD_MAX_RANK], const txd_replay *replay, size_t stop,
                    const txd_extent *extent);

/* Stops of gradients, and which entries and rows are theirs (replay_gradients.c). */
txd_status txd_replay_add_gradients(txd_replay *replay);
/* The stop of a site by its name, or TXD_REPLAY_NONE. */
size_t txd_replay_parse(const txd_replay *replay, const char *name);

/* Heads that must have been recorded. */
enum { TXD_REPLAY_ANY_HEAD = -2, TXD_REPLAY_ALL_HEADS = -1 };

/* True if `probe` recorded this site at this step (-1: at any) and head. */
bool txd_replay_recorded(const txd_replay *replay, const char *probe,
                         const txd_site *site, int step, int head);

/* Whether statistics that were not recorded may be taken of the value: an infinity of
 * what was stored in a narrower range need not be the pass's. */
bool txd_replay_takes_stats(const txd_replay *replay, const txd_replay_stop *stop);

/* Puts the recording's path in front of the message of a failure. */
txd_status txd_replay_name_file(const txd_replay *replay, txd_status status);

/* Memory that grows and is used again. */
typedef struct txd_replay_buffer {
    void *data;
    size_t bytes;
} txd_replay_buffer;
txd_status txd_replay_reserve(txd_replay_buffer *buffer, size_t count, size_t size);

typedef struct txd_replay_attention txd_replay_attention;
typedef struct txd_replay_tile txd_replay_tile;

/* What the claimed mask hides in the attention of a layer: of each batch row spans,
 * unless it is none of those that spans can say. (b, q) each, in one buffer. */
typedef struct txd_replay_cells {
    txd_replay_buffer memory;
    int32_t *begin, *end, *seen, *first_seen;
    struct txd_hidden_sides *sides; /* (b) */
    bool *is_regular;               /* (b) */
} txd_replay_cells;

/* One pass over the recording. */
typedef struct txd_feed {
    const txd_replay *replay;
    txd_tap *const *taps;
    size_t count;
    txd_ctx ctx;
    unsigned *asks;       /* (stop, tap) in this step */
    unsigned *param_asks; /* (tap) */
    txd_replay_buffer slot;
    size_t *slot_at;  /* (tap): where in the slots of a tile */
    size_t slots;     /* bytes of those of all taps */
    txd_arena *arena; /* of the inputs of this step */
    txd_inputs inputs;
    txd_pass pass;
    /* Taps that look for earlier values do so on all threads. */
    pthread_mutex_t lock;
    txd_replay_buffer value[2][TXD_POINT_COUNT]; /* whole ones of this layer: values,
                                                    gradients */
    bool loaded[2][TXD_POINT_COUNT];
    txd_replay_buffer part, marks;
    txd_replay_buffer rows; /* recorded: (column, b, h, q) of a layer */
    int rows_layer;         /* whose they are: 2 x layer + kind; -1 = nobody's */
    txd_replay_cells cells; /* of the attention that is being fed */
    /* Values of all bands: values, gradients; bytes of each of them. */
    void *band_memory[2][TXD_TILE_POINTS];
    size_t band_bytes[2][TXD_TILE_POINTS];
    struct txd_replay_band *bands;
    size_t band_count;                       /* of this wave */
    size_t band_capacity, band_rows;         /* of the most rows */
    size_t *spare_memory;                    /* parts of band_memory without a band */
    txd_replay_buffer padded, padded_memory; /* (b, t), (b, k) */
} txd_feed;

/* Fills feed->inputs and feed->pass for a step (replay_inputs.c). */
txd_status txd_feed_inputs(txd_feed *feed, int step);

/* The bits of a tap or, with taps together, of all that ask at a stop. */
unsigned txd_feed_wants(const txd_feed *feed, size_t stop);

/* A block at a stop with its site and pass, and its dims for this step. */
txd_block txd_feed_block(const txd_feed *feed, size_t stop);
/* Hands a block to every tap that asked for something of `offers`. */
txd_status txd_feed_read(txd_feed *feed, const unsigned *asks, unsigned offers,
                         const txd_block *block);

/* Reads the whole value (or gradient) at a stop of a point into feed->value
 * (replay_value.c). ERR_MISSING if it was not recorded, or for TXD_REPLAY_NONE. */
txd_status txd_feed_load(txd_feed *feed, txd_tensor *out, size_t stop);
/* Reads a block of a point's value as the pass's dtype; start without the step. */
txd_status txd_feed_load_block(const txd_feed *feed, void *out, size_t stop,
                               const size_t *start, const size_t *count);
/* The reference's statistics of a part, in the arithmetic of the pass. */
void txd_feed_take(const txd_feed *feed, const struct txd_stats_args *args);
/* True if the file holds the value at this stop and step, of this head. */
bool txd_feed_has(const txd_feed *feed, size_t stop, int head);
/* What a stop can offer in this step. */
typedef struct txd_feed_offer {
    bool has_value, has_stats;
    bool can_take; /* statistics that were not recorded follow from the value */
    unsigned bits;
    double stats[TXD_STAT_COUNT_OF]; /* if has_stats */
} txd_feed_offer;
txd_status txd_feed_offers(const txd_feed *feed, txd_feed_offer *out, size_t stop);
txd_status txd_feed_whole(txd_feed *feed, size_t stop);
/* Lets a block of the step find values and gradients that come before it. */
void txd_feed_look_back(txd_block *block, txd_feed *feed);
/* The tiles of a stop of the logits, and of the one behind it that is one, too. */
txd_status txd_feed_logits(txd_feed *feed, size_t stop);
txd_status txd_feed_parameter_gradient(txd_feed *feed, size_t stop);
/* The layer in which a site outside of the layers finds values of them. */
int txd_feed_layer(const txd_feed *feed, const txd_site *site, txd_point point);

/* Scores to weights of an attention of a layer, tile by tile, or their
 * gradients, the other way (replay_bands.c): of the one that the site is of. */
txd_status txd_feed_attention(txd_feed *feed, const txd_site *site);
void txd_feed_free_bands(txd_feed *feed);

/* The points of the tiles of an attention of a layer in this step, by TXD_TILE_*. */
struct txd_replay_attention {
    txd_feed *feed;
    txd_attention_kind kind;
    int layer;
    bool is_gradient;
    size_t keys;                   /* tokens, or rows of the memory */
    size_t stops[TXD_TILE_POINTS]; /* TXD_REPLAY_NONE where the model has none */
    unsigned wants[TXD_TILE_POINTS];
    txd_feed_offer offers[TXD_TILE_POINTS];
    bool any_head[TXD_TILE_POINTS]; /* the value of at least some heads is there */
    bool has_rows;
    struct txd_stats_part stats[TXD_TILE_POINTS];
};

/* Which cells of a tile are hidden, by spans or else by a map of txd_hidden. */
typedef struct txd_replay_marks {
    txd_spans spans;
    struct txd_hidden_sides sides;
    uint8_t *hidden; /* (rows, keys), NULL where the spans say it */
    const int32_t *seen, *first_seen;
} txd_replay_marks;

/* Some query rows of a head, in which taps are shown an attention. */
struct txd_replay_tile {
    struct txd_replay_band *band;
    size_t first, rows;
    bool last; /* of the attention */
    bool is_marked;
    txd_replay_marks marks;
    txd_block blocks[TXD_TILE_POINTS];
    unsigned bits[TXD_TILE_POINTS]; /* what they offer */
    bool has_part[TXD_TILE_POINTS];
    struct txd_stats_part parts[TXD_TILE_POINTS];
    txd_replay_buffer map, rows_out, recorded, slots;
};

/* Tiles of one head that are read at once, on one thread. */
#define TXD_REPLAY_BAND_TILES 4
typedef struct txd_replay_band {
    txd_replay_attention *job;
    size_t index; /* which part of feed->band_memory it has */
    size_t batch, head, first, rows;
    bool is_complete;                /* measured, not yet merged */
    bool loaded[2][TXD_TILE_POINTS]; /* values, gradients */
    txd_replay_tile tiles[TXD_REPLAY_BAND_TILES];
    size_t tile_count;
} txd_replay_band;

/* Fills feed->cells (replay_cells.c), then the marks of a tile from them. */
txd_status txd_feed_cells(txd_feed *feed, txd_attention_kind kind, int layer);
txd_status txd_feed_marks(txd_replay_tile *tile);
static inline txd_hidden txd_replay_hides(const txd_replay_marks *marks, size_t row,
                                          size_t key, size_t keys)
{
    if (marks->hidden)
        return (txd_hidden)marks->hidden[row * keys + key];
    return txd_span_hides(&marks->spans, &marks->sides, row, key);
}

/* Reads and measures what is asked for in a tile, and reduces it; then hands it to the
 * taps, on the calling thread, in the order of the tiles (replay_tile.c). */
txd_status txd_tile_measure(txd_replay_tile *tile);
txd_status txd_tile_merge(txd_replay_tile *tile);
/* What a tile has at the stop of one of the points of its attention. */
txd_status txd_feed_tile_value(txd_tensor *out, txd_replay_tile *tile, size_t stop);

/* Reads the recorded row statistics of a layer, unless there are too many to be held;
 * then those of a tile: *out is (rows, TXD_ROW_COUNT), or NULL if they cannot be had
 * (replay_rows.c). In either case `measure` (NULL = nothing) of the weights is taken.
 */
txd_status txd_feed_load_rows(txd_feed *feed, txd_attention_kind kind, int layer);
txd_status txd_feed_rows(const double **out, txd_replay_tile *tile,
                         const struct txd_stats_args *measure);

#endif
