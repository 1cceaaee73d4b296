/* SPDX-License-Identifier: MIT
 *
 * How a block is put together: where the norms stand, what its parts read, what they
 * add to. Each convention is a row of a table here; the decoder, its way back, the
 * lifetimes of values and the laws ask, so that they cannot disagree.
 */
#ifndef TXD_MODEL_BLOCK_H
#define TXD_MODEL_BLOCK_H

#include "model/params.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The parts of a block, in order of execution; the first two are the txd_attention_kind
 * of the same number. */
typedef enum txd_sublayer_kind {
    TXD_SUBLAYER_ATTENTION,
    TXD_SUBLAYER_CROSS,
    TXD_SUBLAYER_MLP,
    TXD_SUBLAYER_COUNT
} txd_sublayer_kind;

/* The points of a part. All but stream, input, out and branch can be none, which is
 * TXD_POINT_COUNT. */
typedef struct txd_sublayer {
    txd_sublayer_kind kind;
    txd_point stream; /* what the residual adds the branch to */
    txd_point before; /* the part's own norm of the stream */
    txd_point input;  /* what its projections read */
    txd_point out;    /* what its last projection makes */
    txd_point over;   /* the norm of that */
    txd_point branch; /* that, or `out`, times the residual scale */
    txd_point
        beside;      /* the branch of the part beside it, which the sum takes in, too */
    txd_point sum;   /* stream + branch: none where another part adds the branch */
    txd_point after; /* the norm of the sum */
} txd_sublayer;

/* True if blocks of this configuration have the part. */
bool txd_sublayer_exists(const txd_config *config, txd_sublayer_kind kind);
/* A part as the configuration puts it together; also of one that does not exist. */
txd_sublayer txd_sublayer_of(const txd_config *config, txd_sublayer_kind kind);
/* The part that makes `out`, `branch`, `sum`, or one of the norms; false if none does.
 */
bool txd_sublayer_with(txd_sublayer *out, const txd_config *config, txd_point point);

/* What the embeddings are the sum of, in order: the token's part, its position,
 * its type. Returns how many. */
#define TXD_EMBED_TERMS 3
size_t txd_embed_terms(txd_point out[TXD_EMBED_TERMS], const txd_config *config);
/* What layer 0 reads. */
txd_point txd_embed_end(const txd_config *config);

/* What the next block reads; what the pass makes of the stream. */
txd_point txd_stream_after_layer(const txd_config *config);
txd_point txd_stream_end(const txd_config *config);

/* What `head.dense`, `head.in` or the output head (txd_head_out) read. */
txd_point txd_head_reads(const txd_config *config, txd_point out);
/* What the output head makes: `logits_raw` where that is not what it comes to. */
txd_point txd_head_out(const txd_config *config);

/* True for the output of a norm. Its gain and bias; what it reads. */
bool txd_point_is_norm(txd_point point);
txd_param_id txd_norm_gain(txd_point norm);
txd_param_id txd_norm_bias(txd_point norm);
txd_point txd_input_of_norm(const txd_config *config, txd_point norm);
/* All norms, by all conventions: those of a block, in order, and those outside of
 * layers. */
extern const size_t txd_norm_point_count;
txd_point txd_norm_point(size_t i);

#ifdef __cplusplus
}
#endif

#endif
