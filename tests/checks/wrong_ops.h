/* SPDX-License-Identifier: MIT
 *
 * Operations in float32 as people do them wrongly, for the layer that a plan replaces
 * them in, and values of one token that are set on their way.
 */
#ifndef TXD_TESTS_CHECKS_WRONG_OPS_H
#define TXD_TESTS_CHECKS_WRONG_OPS_H

#include "live.h"

/* The query whose row the masks below close. */
enum { CLOSED_QUERY = 4 };

/* What is installed holds this; `below` is set by the installer. */
typedef struct wrong_op {
    struct txd_layer_ops below;
    double start;     /* of a softmax: what its largest score begins at */
    bool is_constant; /* that is subtracted, whatever the scores are */
    bool is_guarded;  /* a sum of 0 gives weights of 0 */
    txd_point masked; /* of a mask: the attention it is of */
    size_t padded;    /* of a mask: keys of the second batch row that it hides */
} wrong_op;

/* scores + fill + fill, rounded to float16, in all cells of the closed query. */
void wrong_mask_twice(struct txd_layer_ops *ops, void *self);
/* Hides the first `padded` keys of the second batch row, besides what is hidden. */
void wrong_mask_padding(struct txd_layer_ops *ops, void *self);
/* exp(x - max) / sum, max by the fields above. */
void wrong_softmax(struct txd_layer_ops *ops, void *self);
/* (e^2x - 1) / (e^2x + 1), and its derivative 4 e^2x / (e^2x + 1)^2. */
void wrong_softcap(struct txd_layer_ops *ops, void *self);
void wrong_softcap_back(struct txd_layer_ops *ops, void *self);
/* No eps. */
void wrong_norm(struct txd_layer_ops *ops, void *self);
void wrong_norm_back(struct txd_layer_ops *ops, void *self);
/* The mask that hides `padded` keys; backward, exp(x - max) of rows without keys. */
void wrong_empty_back(struct txd_layer_ops *ops, void *self);
/* The weights are made again as exp(x) / sum. */
void wrong_softmax_back(struct txd_layer_ops *ops, void *self);
/* Another order of the same sums: nothing is wrong with it. */
void other_order(struct txd_layer_ops *ops, void *self);

/* Sets all features of one token at a point of a layer. */
typedef struct wrong_token {
    txd_point point;
    int layer;
    size_t batch, token;
    double value;
    int set; /* how often */
} wrong_token;

/* The tap that does; `token` must outlive it. */
txd_tap wrong_token_tap(wrong_token *token);

#endif
