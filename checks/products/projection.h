/* SPDX-License-Identifier: MIT
 *
 * Linear maps of a layer recomputed from the actual parameters, on a sample: what the
 * laws head_split, output_projection and mlp_linear share. For the files of this folder
 * only.
 *
 * The sample: of every head as many lanes, spread evenly, as make up to
 * TXD_PROJECTION_ROWS rows of the matrix, at least one; 4 to TXD_PROJECTION_TOKENS
 * valid tokens of a step, spread evenly over the batch, as many as make up to
 * TXD_PROJECTION_PRODUCTS products. Small models are judged whole.
 */
#ifndef TXD_CHECKS_PROJECTION_H
#define TXD_CHECKS_PROJECTION_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    TXD_PROJECTION_TOKENS = 16,
    TXD_PROJECTION_ROWS = 128,
    TXD_PROJECTION_PRODUCTS = 131072,
    TXD_PROJECTION_TURNED = 8, /* rows of the transposed matrix */
    TXD_PROJECTION_MAPS = 6
};

/* One linear map; its output at `out` is (b, heads, t, width), or (b, t, width) with
 * one head. */
typedef struct txd_projection {
    txd_point out, in;         /* `in` of the same layer, or input.memory */
    txd_param_id weight, bias; /* TXD_PARAM_COUNT: none */
    size_t first;              /* its first row in the weight and in the bias */
    size_t heads, width;
    size_t columns;     /* width of its input */
    const char *letter; /* "q", "cross.q": for messages */
} txd_projection;

/* What explains values that are not the map's. */
typedef enum txd_projection_cause {
    TXD_CAUSE_NONE,
    TXD_CAUSE_VIEW,       /* (t, h, e) in memory taken for (h, t, e) */
    TXD_CAUSE_SOURCE,     /* another head, or another of the maps */
    TXD_CAUSE_BIAS,       /* the bias is missing */
    TXD_CAUSE_TRANSPOSED, /* x W instead of x W^T */
    TXD_CAUSE_ABSENT,     /* x itself */
    TXD_CAUSE_FACTOR,     /* all values are `factor` times what they should be */
} txd_projection_cause;

/* One map of one layer. */
typedef struct txd_projection_tally {
    uint64_t judged, broken, inherited;
    double measured, allowed, ratio, value, expected; /* of the worst */
    txd_law_place at;
    size_t lane;
    txd_projection_cause cause;
    size_t source_map, source_head;
    double factor;
} txd_projection_tally;

/* The rows of one map that are kept: `lanes` of each head. */
typedef struct txd_projection_rows {
    void *rows;   /* (heads, lanes, columns) as `dtype`; NULL = not offered */
    double *bias; /* (heads, lanes); NULL = none or not offered */
    /* Row i of (turned, columns) is what row txd_projection_turned(i) reads if the
     * memory holds (in, out) and is taken for (out, in). */
    double *misread;
    size_t turned;
    size_t lanes;
    txd_dtype dtype;
} txd_projection_rows;

typedef struct txd_projections {
    const char *law;
    const txd_config *claimed;
    txd_projection maps[TXD_PROJECTION_MAPS];
    txd_point needs[TXD_PROJECTION_MAPS][2]; /* `in`, ended */
    size_t map_count;
    size_t columns;                /* the most that a map has */
    txd_projection_rows *kept;     /* (layers, maps) */
    txd_projection_tally *tallies; /* (layers, maps) */
    double *x;                     /* (tokens, columns): the sampled inputs */
    float *narrow;                 /* (columns): one of them */
    size_t batches;
    bool is_late; /* the input is not formed before the output */
} txd_projections;

/* Adds a map to those of a law that is being set up. */
void txd_projections_add(txd_projections *p, const txd_projection *map);
/* `create` of the law that p->law names, once law, claimed, columns and maps are set;
 * its `finish` and `destroy`. The state is a copy of *p. */
txd_status txd_projections_create(void **out, txd_tap *tap, const txd_projections *p);
txd_status txd_projections_finish(void *self, txd_result *result);
void txd_projections_destroy(void *self);

/* ---- between the two files ---- */

/* A block under judgement. */
typedef struct txd_projection_job {
    const txd_projections *p;
    const txd_block *block;
    size_t map;
    txd_tensor input;
    size_t length;                        /* tokens of a batch row of the map */
    size_t tokens[TXD_PROJECTION_TOKENS]; /* b length + t */
    size_t token_count;
    const float *narrow; /* the input at hand, if it is of floats; or NULL */
    double size;         /* and the sum of its magnitudes */
} txd_projection_job;

/* What a lane should be, and how far from it rounding can lead. */
typedef struct txd_projection_value {
    double exact, bias, allowed;
} txd_projection_value;

const txd_projection_rows *txd_projection_kept(const txd_projection_job *job,
                                               size_t map);
/* Which of the kept rows (heads, lanes) has row i of `misread`. */
size_t txd_projection_turned(const txd_projection *map, const txd_projection_rows *kept,
                             size_t i);
/* Fills `misread`, once `lanes` is set. */
txd_status txd_projection_keep_misread(txd_projection_rows *kept,
                                       const txd_projections *p,
                                       const txd_projection *map,
                                       const txd_tensor *weight);
/* Lane j of the kept ones. */
size_t txd_projection_lane(const txd_projection *map, const txd_projection_rows *kept,
                           size_t j);
/* Kept lane j of head h of map `map` at an input row of doubles; of floats, if one is
 * at hand. */
txd_projection_value txd_projection_compute(const txd_projection_job *job, size_t map,
                                            size_t h, size_t j, const double *x);
/* What stands in the block at token i of the sample. */
double txd_projection_found(const txd_projection_job *job, size_t i, size_t h,
                            size_t j);
/* Row `token` (b length + t) of the input, as doubles into `out`. */
void txd_projection_input(double *out, const txd_projection_job *job, size_t token);

/* Names the cause of a block in which something is off, into its tally. */
txd_status txd_projection_explain(txd_projection_tally *tally,
                                  const txd_projection_job *job);
/* Appends it in words. */
void txd_projection_say_cause(txd_finding *finding, const txd_projections *p,
                              const txd_projection_tally *tally);

#ifdef __cplusplus
}
#endif

#endif
