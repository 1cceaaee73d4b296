/* SPDX-License-Identifier: MIT
 *
 * Taps: how anything observes or edits a pass. A tap is asked once per site what it
 * wants (ask), and only then are values formed and offered (observe). A pass without
 * taps does no extra work.
 *
 * Values come in blocks: a whole value, or a tile of one (a few query rows of one
 * head; a few rows of the logits). Reading is split so that it can use all cores and
 * still give the same result for any number of threads: `reduce` runs on worker
 * threads, is pure, and writes only its slot; `merge` runs in index order, one at a
 * time (but see `independent`), that of whole values on the calling thread, that of
 * tiles on some thread, while others compute what follows. The same taps are fed by a
 * live pass (model/run.h) and by a recording (formats/replay.h).
 */
#ifndef TXD_MODEL_TAPS_H
#define TXD_MODEL_TAPS_H

#include "model/inputs.h"
#include "model/points.h"
#include "ops/mask.h"
#include "ops/rows.h"
#include "ops/stats.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a tap can ask for at a site (bits). */
enum {
    TXD_ASK_VALUE = 1,   /* the value itself (block->value.data) */
    TXD_ASK_ROWS = 2,    /* row statistics; at attn.weights only (block->rows) */
    TXD_ASK_STATS = 4,   /* statistics of the whole value (block->stats, last block) */
    TXD_ASK_EDIT = 8,    /* to change the value before anything reads it (no
                            parameter: edit those before they are bound) */
    TXD_ASK_HIDDEN = 16, /* hidden cells too; at attn.weights only, overruled by
                            mask.evaluate_hidden = "never" */
    TXD_ASK_FINITE = 32, /* in live passes: what there is of NaN and infinities. As
                            STATS, but where all is finite only the counts are told,
                            which costs a third; mean and all that are NaN then */
};

typedef enum txd_site_kind {
    TXD_SITE_PARAMETER, /* offered once, before the first step; step = 0 */
    TXD_SITE_VALUE,
    /* Only where a pass has a backward half, and only to taps with `gradients`: the
     * gradient of the loss with respect to a value or a parameter, complete, in order
     * of execution: those of values from the last to the first, then the parameters'.
     * Values' are multiplied by pass->loss_scale, as computed; parameters' are not. */
    TXD_SITE_GRADIENT,
    TXD_SITE_PARAMETER_GRADIENT,
} txd_site_kind;

/* True for the two kinds of gradients; true for the two kinds of parameters. */
bool txd_site_is_gradient(txd_site_kind kind);
bool txd_site_is_parameter(txd_site_kind kind);

typedef struct txd_site {
    txd_site_kind kind;
    int step;
    txd_point point; /* of values and their gradients */
    int layer;       /* -1 if not per layer, or of an encoder */
    /* Place in the order of execution among its kind: stop number (of gradients,
     * counted from the last stop), or number of the parameter. */
    size_t index;
    const char *name; /* "layers.3.attn.weights", "layers.0.attn.q.weight@grad" */
} txd_site;

/* Query rows of the tiles in which attention is offered, the last one of a head apart;
 * `longest` is the longer of the tokens and the rows of the memory. */
size_t txd_attention_tile_rows(size_t longest);

/* What holds for a whole pass and outlives every block of it. */
typedef struct txd_pass {
    const txd_config *claimed;
    const txd_inputs *inputs; /* of this step, as given (before edits) */
    txd_dtype dtype;          /* of values in memory: TXD_F64 or TXD_F32 */
    txd_dtype format;         /* to which what is stored is rounded */
    /* Roundoffs of storage and accumulation, the smallest and the largest positive
     * number that can be stored: those of the backend's format. */
    double u_store, u_accumulate, tiny, largest;
    double loss_scale; /* by which gradients of values are multiplied; 1 = as is */
    int step;
} txd_pass;

/* Sets what follows from the format of stored values (TXD_F64, TXD_F32, TXD_BF16,
 * TXD_F16): dtype to largest. What else follows: txd_roundoff_of_format. */
void txd_pass_set_format(txd_pass *pass, txd_dtype format);

typedef struct txd_block txd_block;
struct txd_stats_part; /* ops/args.h */

struct txd_block {
    const txd_site *site;
    const txd_pass *pass;
    /* The part that this block holds; axes as of the point. data is NULL if nobody
     * asked for VALUE, or if a recording lacks it. */
    txd_tensor value;
    size_t dims[TXD_MAX_RANK];  /* of the whole value */
    size_t start[TXD_MAX_RANK]; /* where this part begins */
    bool last;                  /* the last block of this site in this step */
    /* (rows of this block, TXD_ROW_COUNT) or NULL; rows of padded queries are NaN,
     * their keys -1. Values are rounded to pass->dtype. */
    const double *rows;
    /* TXD_STAT_COUNT_OF statistics of the whole value; in the last block, else NULL */
    const double *stats;
    /* Statistics of this part of a value that comes in parts, or NULL: of what is
     * judged (no padded queries, no cells that the claimed mask hides). */
    const struct txd_stats_part *part;
    /* Of a tile: the columns in each row that the claimed mask shows (txd_span_of),
     * where they are one run; else NULL. */
    const txd_spans *seen;
    /* Earlier values of the same layer and step that the tap named in `needs`. */
    txd_status (*earlier)(txd_tensor *out, const txd_block *block, txd_point point);
    txd_status (*gradient)(txd_tensor *out, const txd_block *block, txd_point point);
    const void *source; /* of `earlier` and `gradient`; not for taps */
    /* Being called; by its needs `earlier` and `gradient` go. Or NULL. */
    const struct txd_tap *tap;
};

/* The whole value (or, for a tiled point, the same tile) at an earlier point of this
 * block's layer; behind the layers, of the last; at gradients before them, of the
 * first. ERR_MISSING if the tap does not name it in its needs, if it does not exist, or
 * is not recorded. */
txd_status txd_block_earlier(txd_tensor *out, const txd_block *block, txd_point point);

/* At a gradient site: the gradient of a later point of the same layer (or tile), which
 * was formed before this one. The same rules as above. */
txd_status txd_block_gradient(txd_tensor *out, const txd_block *block, txd_point point);

typedef struct txd_tap {
    const char *name;
    void *self;
    bool gradients; /* to be asked about sites of gradients too */
    /* The bits this tap wants at a site; called before the first step, for every
     * site, and again at each step. 0 = leave it alone. NULL = nothing. */
    unsigned (*ask)(void *self, const txd_site *site);
    /* Earlier points whose values the callbacks use when offered `point`, and later
     * ones whose gradients they use; ended by TXD_POINT_COUNT. NULL = none. Asked about
     * all points when memory is divided: what nobody names may be overwritten. */
    const txd_point *(*needs)(void *self, txd_point point);
    /* EDIT: changes block->value in place (always the whole value); runs before any
     * reader, on the calling thread. Inputs must stay such that tables can be indexed
     * by them. The logits and gradients of tiled points cannot be edited
     * (ERR_INAPPLICABLE): replace the operation. */
    txd_status (*edit)(void *self, txd_block *block);
    /* Bytes of a slot; reduce is skipped if 0 or NULL. Slots arrive zeroed. */
    size_t slot_bytes;
    void (*reduce)(void *slot, const void *self, const txd_block *block);
    /* slot is NULL if there was no reduce. A failure stops the run. */
    txd_status (*merge)(void *self, const txd_block *block, const void *slot);
    /* merge touches nothing that other taps touch: blocks that are offered whole may go
     * to several such taps at the same time, to each on some thread, in order; and the
     * tiles of a recording to all of them one by one, on some thread, in order. */
    bool independent;
    /* After the last block of a step. NULL = nothing. */
    txd_status (*step_end)(void *self, const txd_pass *pass);
} txd_tap;

#ifdef __cplusplus
}
#endif

#endif
