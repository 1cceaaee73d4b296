/* SPDX-License-Identifier: MIT
 *
 * What a bound model and a run hold; for the decoder's own files.
 */
#ifndef TXD_MODEL_RUN_PRIVATE_H
#define TXD_MODEL_RUN_PRIVATE_H

#include "model/block.h"
#include "model/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters of one layer in the backend's memory; NULL where the model has none. */
struct txd_attention_weights {
    const void *q, *q_bias, *k, *k_bias, *v, *v_bias, *o, *o_bias;
};

struct txd_layer_weights {
    struct txd_attention_weights attention[2]; /* by txd_attention_kind */
    const void *gate, *gate_bias, *up, *up_bias, *down, *down_bias;
};

/* Where a parameter lies, and where its gradient does in the memory of gradients. */
struct txd_model_param {
    txd_param_id id;
    int layer;
    const char *data;
    size_t bytes, offset;
};

struct txd_model {
    const txd_backend *backend;
    const txd_config *config; /* the actual one */
    txd_arena *arena;
    void *memory; /* all parameters, from the backend; NULL where the master copies are
                     what the backend stores and are read in place */
    size_t bytes; /* of all parameters as the backend stores them */
    struct txd_model_param *params; /* in the order of txd_params_at */
    size_t param_count;
    const char **places; /* by (layer or 0, id): where it lies; NULL if there is none */
    struct txd_layer_weights *layers;
    const struct txd_relative *relative; /* of head 0; NULL without such positions */
    const struct txd_turns **turns; /* (n_layers); NULL where the base says it all */
    const void *embed_tok, *embed_pos, *head;
};

/* A parameter in the backend's memory; NULL if the model has none such. `layer` is -1
 * for those outside of layers. */
const void *txd_model_parameter(const struct txd_model *model, txd_param_id id,
                                int layer);

/* One tile of attention in flight: a block of query rows of one head. Columns of all
 * arrays are the computed keys [key_begin, key_end); [begin, end), counted from
 * key_begin, take part in the softmax. */
struct txd_tile {
    txd_attention_kind kind;
    size_t index; /* among the layer's */
    size_t batch, head, first, rows;
    size_t key_begin, keys, begin, end;
    void *values[TXD_TILE_POINTS],
        *gradients[TXD_TILE_POINTS]; /* arrays of rows x keys; NULL where none is */
    /* By TXD_TILE_*: scores to weights, which may be the same array one after the
     * other, and their gradients. NULL where nobody looks at a bias. */
    void *value[TXD_TILE_POINTS], *gradient[TXD_TILE_POINTS];
    /* In the backward half: the tile's parts of the gradients of keys and of values (a
     * row per key of [begin, end)) and of the sink, and what the softmax gave. */
    void *d_k, *d_v, *d_sink, *d_table;
    const void *softmax; /* = weights unless somebody edited them */
    /* Which cells the mask shows; which take part; why the claimed mask hides one (a
     * txd_hidden). Of a mask that is a run of keys per query, the spans say the same
     * and the maps are not formed. */
    bool is_regular;
    struct txd_tile_spans {
        txd_spans visible, used, seen;         /* columns are the tile's */
        txd_spans visible_inside, used_inside; /* column 0 is `begin` */
        struct txd_hidden_sides sides;
    } spans;
    uint8_t *visible, *used, *hidden;
    int32_t *seen, *first_seen;
    double *row_statistics;
    double *entropy; /* (rows): of the softmax, if it says so */
    struct txd_stats_part parts[TXD_TILE_POINTS];
    bool measured;   /* the last of them, together with the rows */
    bool is_counted; /* all of them, without values */
    char *slots;     /* of the taps, for these three points */
};

/* The bits of a tap that is to be shown something. */
#define TXD_ASK_READS (TXD_ASK_VALUE | TXD_ASK_STATS | TXD_ASK_FINITE | TXD_ASK_ROWS)
/* Those that are answered by block->part and block->stats. */
#define TXD_ASK_MEASURES (TXD_ASK_STATS | TXD_ASK_FINITE)

/* Which of a tile's arrays its values and their gradients are in, by TXD_TILE_*. How
 * many arrays that makes. */
struct txd_tile_arrays {
    uint8_t value[TXD_TILE_POINTS], gradient[TXD_TILE_POINTS];
    uint8_t values, gradients;
};
#define TXD_NO_ARRAY UINT8_MAX

/* The cells of one attention as spans, a row per batch row: [begin, end) of each query.
 */
struct txd_cells {
    int32_t *visible[2], *used[2], *seen[2]; /* (b, q) each */
    struct txd_hidden_sides *sides;          /* (b): of the claimed mask */
    bool *is_regular;                        /* (b) */
};

/* What the taps want at one stop of a step. */
struct txd_wish {
    unsigned all;     /* the bits of all taps together */
    unsigned *of_tap; /* one per tap */
};

/* The sites of one kind. */
struct txd_watch {
    txd_site *sites;
    struct txd_wish *wishes; /* one per site */
    size_t count;            /* 0: this run has none of the kind */
};

/* When something is in memory. Time counts stops: stop s is time s on the way there and
 * 2 * stops - 1 - s on the way back. What ends and what begins at the same time never
 * share memory. */
struct txd_stay {
    size_t first, last; /* first > last: never */
    size_t bytes, offset;
    void *memory; /* NULL if it is never there */
};

/* Where the whole value of a stop is, and its gradient. */
struct txd_home {
    size_t root;   /* the stop whose value it is: its own, or the one that it repeats */
    size_t needed; /* the last time on the way back at which it is read; 0 = not */
    struct txd_stay value; /* of a root */
    struct txd_stay again; /* made again on the way back instead of kept */
    struct txd_stay gradient;
    struct txd_stay scratch[2]; /* for the operation that makes it, there and back */
};

/* The statistics of a value that others repeat. */
struct txd_counted {
    size_t pass; /* in which they were taken: run->passes; 0 = never */
    const void *data;
    bool whole; /* not only of what is finite */
    double stats[TXD_STAT_COUNT_OF];
};

struct txd_run {
    const txd_model *model;
    txd_run_options options;
    txd_ctx ctx;
    txd_arena *arena;
    txd_tap *const *taps;
    size_t tap_count;
    struct txd_layer_ops *layer_ops; /* n_layers + 1: the last is for no layer */
    txd_stop *order;
    size_t stops;
    /* By txd_site_kind: VALUE and GRADIENT have a site per stop, PARAMETER_GRADIENT one
     * per parameter, PARAMETER none. */
    struct txd_watch watch[4];
    unsigned *parameter_asks; /* one per tap */
    bool parameters_offered;
    int *stop_of; /* (point, layer + 1): stop number, -1 where there is none */
    txd_pass pass;

    /* Of the current shape. */
    void *memory; /* of the backend: values */
    size_t memory_bytes;
    void *host_memory; /* all else, on the host */
    size_t host_bytes;
    struct txd_images *images; /* of values on the host; NULL where they are there */
    size_t batch, length;
    size_t memory_length;   /* rows of what cross-attention attends to; 0 without */
    size_t past;            /* tokens of earlier calls that are attended to */
    txd_inputs attended;    /* of a run with a cache: the inputs with all their keys */
    txd_inputs actual;      /* inputs after edits */
    int32_t *targets;       /* input.labels */
    uint8_t *padded;        /* (b, t): 1 where input.valid is 0 */
    uint8_t *padded_memory; /* (b, memory_length): the same of the memory */
    uint8_t *no_target;
    struct txd_home *homes;        /* one per stop */
    struct txd_counted *counted;   /* one per stop; used by roots */
    size_t passes;                 /* begun so far */
    struct txd_stay **stays;       /* room for those of all homes */
    uint8_t *edited;               /* by stop: taps edit it (as the homes know) */
    void *own[TXD_POINT_COUNT];    /* where each untiled point of the current layer is
                                      formed; NULL where it repeats another's value */
    void *value[TXD_POINT_COUNT];  /* its value in the current layer */
    bool is_again;                 /* values are made again: nobody is offered them */
    double *max, *lse;             /* (b, h, q) of the current layer */
    double *whole_rows;            /* of txd_whole_heads heads: attention_whole.c */
    struct txd_tile_arrays arrays; /* as many as some attention needs */
    struct txd_cells cells;        /* of the current attention */
    struct txd_tile *tiles;        /* those in flight, over their own memory */
    bool *made;                    /* (flight), to work in */
    struct txd_tile *formed_tiles; /* the same, aimed at `formed` */
    struct txd_stats_part *parts;  /* of a whole value, by chunk */
    size_t flight, tile_rows, chunk_rows, logit_rows;
    void *scratch;       /* of the operation that is called */
    char *slot;          /* one per tap, for whole values */
    size_t *slot_offset; /* of each tap; [tap_count] = total */
    void *logits;        /* a row tile */
    void *raw_logits;    /* what the head makes of it; where that is all, the same */
    void *formed;        /* memory of `planes` */
    size_t formed_bytes; /* of it */
    void **planes;       /* (layer, attention kind): where somebody
                            edits one of them, the values of tiles as
                            (b, h, q, k) each; else NULL */
    struct txd_stats_part tile_stats[TXD_TILE_POINTS];
    struct txd_stats_part logit_stats[2]; /* raw, logits */
    txd_point stream_end;                 /* what the pass makes of the stream */
    double loss;

    /* The backward half: gradients of the points of the current layer and of those
     * outside of layers, in their own buffers; in `gradient` once they are complete. */
    void *d_own[TXD_POINT_COUNT], *gradient[TXD_POINT_COUNT];
    bool begun[TXD_POINT_COUNT]; /* something has reached it (txd_gradient_begun) */
    void *d_logits;              /* a row tile; then of what the head makes */
    void *d_parameters;          /* laid out by the offsets of the model's parameters */
};

/* Where an operation is called. */
txd_op_site txd_op_at(const struct txd_layer_ops *ops, txd_op op, int layer,
                      txd_point point);

/* Stop number of a point in a layer (-1 if not per layer); -1 if it does not exist. */
int txd_run_stop(const txd_run *run, txd_point point, int layer);
/* What is wanted there, or of its gradient: TXD_ASK_* bits of all taps. */
unsigned txd_run_wants(const txd_run *run, txd_point point, int layer);
unsigned txd_run_wants_gradient(const txd_run *run, txd_point point, int layer);

/* Asks all taps about all sites for this step; ERR_INAPPLICABLE if one would edit what
 * cannot be edited. */
txd_status txd_taps_ask(txd_run *run, int step);
/* Edits, and reads, of one block by the taps that want them at a site. */
txd_status txd_taps_edit_block(txd_run *run, const struct txd_wish *wish,
                               txd_block *block);
txd_status txd_taps_read(txd_run *run, const unsigned *asks, txd_block *block);
/* Offers parameters once, before the first step; their gradients at the end of one. */
txd_status txd_taps_parameters(txd_run *run);
txd_status txd_taps_parameter_gradients(txd_run *run);
/* Edits, then reads, of the whole value at a point; run->value holds it. */
txd_status txd_taps_offer(txd_run *run, txd_point point, int layer);
/* The same of its gradient, which is complete from here on; run->d_own holds it. */
txd_status txd_taps_offer_gradient(txd_run *run, txd_point point, int layer);
/* Statistics as the wishes of all taps at a site say: whole ones, or no more than what
 * there is of NaN and infinities. The first is of float32, and false, with nothing
 * done, where the statistics must be whole. */
bool txd_taps_count_finite(const struct txd_stats_args *args, unsigned wishes);
txd_status txd_taps_measure(const txd_backend *backend,
                            const struct txd_stats_args *args, unsigned wishes);
/* The TXD_STAT_COUNT_OF statistics of a whole value. */
txd_status txd_taps_stats(double *out, txd_run *run, txd_point point,
                          const txd_tensor *value, unsigned wishes);
/* Only the edits, over `data` as the whole value of a tiled point. */
txd_status txd_taps_edit(txd_run *run, txd_point point, int layer, void *data);
/* On a worker: reduces one part of an attention tile (a TXD_TILE_*), or its gradient,
 * into its slots. */
txd_status txd_taps_reduce_tile(const txd_run *run, struct txd_tile *tile, int layer,
                                txd_site_kind kind, int which);
/* What statistics of one part of a tile, or its gradient, are taken of: `data`. */
struct txd_stats_args txd_tile_counted(const txd_run *run, struct txd_tile *tile,
                                       int which, const void *data);
/* True if a tap names `point` in its needs at another. */
bool txd_tap_names(const txd_tap *tap, txd_point at, txd_point point);
/* In index order, one at a time, on some thread: merges it. */
txd_status txd_taps_merge_tile(txd_run *run, struct txd_tile *tile, int layer,
                               txd_site_kind kind, bool last);
/* Reads of a row tile of the logits of one batch row, or of its gradient. */
struct txd_logit_tile {
    size_t batch, first, rows;
    bool last;
};
txd_status txd_taps_offer_logits(txd_run *run, const struct txd_logit_tile *tile,
                                 txd_site_kind kind, txd_point point);
txd_status txd_taps_step_end(txd_run *run);

/* What `earlier` and `gradient` may look into: whole values, or one tile. */
struct txd_block_source {
    const txd_run *run;
    const struct txd_tile *tile;             /* NULL, or of attention */
    const struct txd_logit_tile *logit_tile; /* NULL, or of the logits */
};
/* A block at a stop with nothing but what belongs to its site set. */
txd_block txd_taps_block(const struct txd_block_source *source, txd_site_kind kind,
                         int stop);
/* One of its parts, or its gradient. */
txd_tensor txd_tile_tensor(const txd_run *run, const struct txd_tile *tile,
                           txd_site_kind kind, txd_point point);

/* When each value and gradient of a pass is in memory, by what reads it, and by what
 * taps name (run_lives.c); then where, in *bytes together (run_places.c). */
txd_status txd_run_lives(txd_run *run);
txd_status txd_run_places(size_t *bytes, txd_run *run);
/* Gives the homes their memory; and the run those outside of layers. */
void txd_run_settle(txd_run *run, char *memory);
/* Those of one layer: no value of it yet; all values that are kept, and no gradient. */
void txd_run_enter(txd_run *run, int layer);
void txd_run_enter_back(txd_run *run, int layer);
/* The home of a point; NULL if the pass has none such. */
struct txd_home *txd_run_home(const txd_run *run, txd_point point, int layer);
/* True if the way back makes the value again. */
bool txd_run_makes_again(const txd_run *run, txd_point point, int layer);

/* True if a layer caps its scores. */
bool txd_layer_caps(const txd_run *run, int layer);
/* Heads of a batch row whose attention is done at once, without tiles. */
size_t txd_whole_heads(const txd_run *run);
/* What of a tile some attention needs in arrays of their own (attention_arrays.c). */
struct txd_tile_arrays txd_tile_arrays_needed(const txd_run *run);
/* Memory for a shape and for what taps edit in this step (run_layout.c). */
txd_status txd_run_shape(txd_run *run, const txd_extent *extent);
/* How many tiles are in the making or wait to be merged, for the longer of the two
 * sequences. */
size_t txd_run_flight(const txd_run *run, size_t longest);
/* Bytes that a shape needs: of the backend's memory, and of the host's beside it. */
struct txd_run_size {
    size_t values, host;
};
txd_status txd_run_measure(struct txd_run_size *out, const txd_run *run,
                           const txd_extent *extent);
/* Memory for the (b, h, q, k) values of this step that somebody edits; ERR_LIMIT beyond
 * the limit. run_form.c */
txd_status txd_run_form(txd_run *run);
/* The place among the planes of a point that the model has. */
size_t txd_run_plane(const txd_run *run, txd_attention_kind kind, int which);
txd_status txd_run_form_measure(size_t *out, const txd_run *run,
                                const txd_extent *extent);
/* Parameters that have gradients: the model's, then those of the run's encoder alone.
 * The run that sums the i-th, and which of its own it is. */
size_t txd_run_parameters(const txd_run *run);
const txd_run *txd_run_of_parameter(size_t *own, const txd_run *run, size_t i);
/* Rounds values as the backend stores them: what was made by no operation of it. */
txd_status txd_run_store(txd_run *run, void *values, size_t count);
/* The extent of the current pass; how many keys its queries attend to. */
txd_extent txd_run_extent(const txd_run *run);
size_t txd_run_keys(const txd_run *run, txd_attention_kind kind);

/* The operations of a layer; of none, if it is -1. */
static inline struct txd_layer_ops *txd_run_ops(const txd_run *run, int layer)
{
    return &run->layer_ops[layer < 0 ? (int)run->model->config->n_layers : layer];
}

/* What layer 0 reads (embeddings.c); from what the last one makes to the loss
 * (head.c). */
txd_status txd_head_forward(txd_run *run);
txd_status txd_embeddings_forward(txd_run *run);
/* The sublayers of a block (attention.c, mlp.c): read run->value, offer every point. */
txd_status txd_attention_forward(txd_run *run, int layer, txd_attention_kind kind);
txd_status txd_mlp_forward(txd_run *run, int layer);
/* A whole pass over run->actual (decoder.c), and back (backward.c). */
txd_status txd_decoder_forward(txd_run *run);
txd_status txd_decoder_backward(txd_run *run);
/* Calls back after `done` layers, those of the way back included. */
txd_status txd_run_progress(txd_run *run, size_t done);
/* Moves the value of a point, which is another's, to memory of its own if it has any:
 * where a tap edits it. */
txd_status txd_run_repeat(txd_run *run, txd_point point, size_t count);
/* Copies elements within the backend's memory. */
txd_status txd_run_copy(const txd_run *run, void *to, const void *from, size_t count);

/* Shared by the sublayers: a norm (`layer` is -1 outside of layers; TXD_POINT_COUNT is
 * none, and nothing is done), a linear map, and what comes behind the sublayer's
 * output: the norm over it, the branch, the residual sum, the norm of that. */
struct txd_norm_args txd_norm_here(txd_run *run, int layer, txd_point norm);
txd_status txd_layer_norm(txd_run *run, int layer, txd_point norm);
txd_status txd_layer_join(txd_run *run, int layer, const txd_sublayer *part);

struct txd_linear_map {
    txd_point out; /* TXD_POINT_COUNT: writes to `buffer`, offers nothing */
    void *buffer;
    const void *x, *weight, *bias;
    size_t n, k;
    size_t rows; /* 0: one per token */
};
txd_status txd_layer_linear(txd_run *run, int layer, const struct txd_linear_map *map);

#ifdef __cplusplus
}
#endif

#endif
