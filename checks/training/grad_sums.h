/* SPDX-License-Identifier: MIT
 *
 * How large the gradients of one step are, layer by layer: what the law `grad_range`
 * judges, and the evidence for why. For the files of this folder only.
 */
#ifndef TXD_CHECKS_GRAD_SUMS_H
#define TXD_CHECKS_GRAD_SUMS_H

#include "checks/law.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parts of a layer's parameters. */
typedef enum txd_grad_part {
    TXD_GRAD_ATTENTION,
    TXD_GRAD_CROSS,
    TXD_GRAD_MLP,
    TXD_GRAD_NORMS,
    TXD_GRAD_PARTS
} txd_grad_part;

/* Parameters whose gradients were seen: the sum of the squares of what is finite. */
typedef struct txd_grad_sum {
    double square, nonfinite;
    size_t seen;
} txd_grad_sum;

typedef struct txd_grad_layer {
    txd_grad_sum part[TXD_GRAD_PARTS];
    double largest_square; /* of one parameter, and which */
    char largest[96];
    double into, out; /* norms of resid.post@grad and resid.pre@grad; NaN = not known */
    /* What part of the gradient of the stream after a residual sum is in that before
     * it, the least of the layer's sums: near 1 where the stream is added; NaN =
     * not known. */
    double kept;
} txd_grad_layer;

/* A parameter outside of the layers; or all of a layer of the encoder, by the name
 * "encoder.layers.0@grad". */
typedef struct txd_grad_outside {
    char name[96]; /* "" = not seen */
    double square, nonfinite;
} txd_grad_outside;

typedef struct txd_grad_sums {
    const txd_config *claimed;
    int step;      /* -1 = nothing yet */
    bool has_loss; /* some token predicts another */
    txd_grad_layer *layers;
    txd_grad_outside *outside;
    size_t outside_count;            /* seen in this step */
    size_t expected[TXD_GRAD_PARTS]; /* parameters that a layer has */
} txd_grad_sums;

txd_status txd_grad_sums_create(txd_grad_sums *out, const txd_config *claimed);
void txd_grad_sums_finish(txd_grad_sums *sums);
/* Starts a step. */
void txd_grad_sums_begin(txd_grad_sums *sums, const txd_pass *pass);

/* Takes the statistics of a gradient of a parameter, or of the stream. */
void txd_grad_sums_take(txd_grad_sums *sums, const txd_block *block);

/* The points that txd_grad_share_of needs at a point of the stream, ended by
 * TXD_POINT_COUNT. */
const txd_point *txd_grad_needs(const txd_config *claimed, txd_point point);
/* What of a gradient of the stream comes from the one behind it; all zero is none. */
typedef struct txd_grad_share {
    double product, square;
} txd_grad_share;
/* Takes the share from a block of a gradient of the stream. */
void txd_grad_share_of(txd_grad_share *out, const txd_block *block);
/* Keeps the least share of the layer. */
void txd_grad_sums_share(txd_grad_sums *sums, const txd_site *site,
                         const txd_grad_share *share);

/* True if all parameters of a layer were seen. */
bool txd_grad_is_whole(const txd_grad_sums *sums, size_t layer);
/* True if one of its parts is 0 that must not be. */
bool txd_grad_is_cut(const txd_grad_sums *sums, const txd_pass *pass, size_t layer);
/* True if a parameter outside of the layers, or a layer of the encoder, may have no
 * gradient by right. */
bool txd_grad_may_be_zero(const txd_pass *pass, const char *name);
/* The norm of a layer's gradient, and how many of its elements are not finite. */
double txd_grad_norm(const txd_grad_layer *layer);
double txd_grad_nonfinite(const txd_grad_layer *layer);

/* What the evidence says of a size (grad_cause.c): the parts of a layer that are 0;
 * placement of the norms, and residual; the loss scale, of gradients that are lost or
 * beyond bounds. */
void txd_grad_say_zero(txd_finding *finding, const txd_grad_sums *sums, size_t layer);
void txd_grad_say_causes(txd_finding *finding, const txd_grad_sums *sums, size_t layer);
void txd_grad_say_scale(txd_finding *finding, const txd_pass *pass, bool is_lost);

#ifdef __cplusplus
}
#endif

#endif
