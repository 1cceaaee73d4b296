/* SPDX-License-Identifier: MIT
 *
 * Norms of queries and keys. Over the lanes of a head they are taken where these lie;
 * over those of all heads together, of the heads side by side, as the projection made
 * them: from what the taps may have edited back through the split, and split after it.
 */
#include "model/attention.h"

#include "model/backward.h"

/* One of the two, of one attention. */
struct normed {
    txd_point out, in;
    const void *gain;
    size_t heads, tokens, width; /* width: of a head */
    bool together;               /* over all heads */
    size_t bytes;                /* of the value */
};

static struct normed normed_of(const struct txd_part *a, txd_point norm)
{
    const txd_run *run = a->run;
    const txd_config *c = run->model->config;
    bool queries = norm == TXD_POINT_ATTN_Q_NORM;
    bool cross = a->kind == TXD_ATTENTION_CROSS;
    txd_param_id q = cross ? TXD_PARAM_CROSS_Q_NORM_WEIGHT : TXD_PARAM_Q_NORM_WEIGHT;
    txd_param_id k = cross ? TXD_PARAM_CROSS_K_NORM_WEIGHT : TXD_PARAM_K_NORM_WEIGHT;
    struct normed n = {
        .out = txd_part_point(a, norm),
        .in =
            txd_part_point(a, queries ? TXD_POINT_ATTN_Q_PROJ : TXD_POINT_ATTN_K_PROJ),
        .gain = txd_model_parameter(run->model, queries ? q : k, a->layer),
        .heads = queries ? c->n_heads : c->n_kv_heads,
        .tokens = cross && !queries ? run->memory_length : run->length,
        .width = c->head_dim,
        .together = c->qk_norm == TXD_QK_NORM_WIDTH,
    };

    n.bytes =
        run->batch * n.heads * n.tokens * n.width * txd_dtype_bytes(run->pass.dtype);
    return n;
}

/* Rows are those of heads, or of tokens. */
static struct txd_norm_args norm_args(const struct txd_part *a, const struct normed *n)
{
    const txd_config *c = a->run->model->config;
    size_t each = n->together ? n->tokens : n->heads * n->tokens;

    return (struct txd_norm_args){
        .at = txd_op_at(&a->run->layer_ops[a->layer], TXD_OP_norm, a->layer, n->out),
        .gain = n->gain,
        .rows = a->run->batch * each,
        .width = n->together ? n->heads * n->width : n->width,
        .sequence = each,
        .eps = c->layers[a->layer].norm_eps,
        .offset = c->norm_offset,
        .root_mean_square = c->norm == TXD_NORM_RMS,
    };
}

/* Heads side by side (b, t, heads x width), or apart (b, heads, t, width). */
static txd_status lay_out(const struct txd_part *a, const struct normed *n, void *out,
                          const void *x, bool apart)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    struct txd_heads_args args = {
        .at = txd_op_at(ops, apart ? TXD_OP_split_heads : TXD_OP_split_heads_back,
                        a->layer, n->out),
        .out = out,
        .x = x,
        .batch = run->batch,
        .length = n->tokens,
        .heads = n->heads,
        .width = n->width,
    };

    return (apart ? ops->ops.split_heads : ops->ops.split_heads_back)(&run->ctx, &args);
}

txd_status txd_part_normalise(const struct txd_part *a, txd_point norm)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    struct txd_norm_args args;
    struct normed n;
    char *memory;

    if (!txd_point_exists(run->model->config, txd_part_point(a, norm)))
        return TXD_OK;
    n = normed_of(a, norm);
    args = norm_args(a, &n);
    args.out = run->own[n.out];
    args.x = run->value[n.in];
    if (n.together) {
        memory = txd_run_home(run, n.out, a->layer)->scratch[0].memory;
        TXD_TRY(lay_out(a, &n, memory, run->value[n.in], false));
        args.x = memory;
        args.out = memory + n.bytes;
    }
    TXD_TRY(ops->ops.norm(&run->ctx, &args));
    if (n.together)
        TXD_TRY(lay_out(a, &n, run->own[n.out], args.out, true));
    run->value[n.out] = run->own[n.out];
    return txd_taps_offer(run, n.out, a->layer);
}

txd_status txd_part_normalise_back(const struct txd_part *a, txd_point norm)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    struct txd_norm_args there;
    struct txd_norm_back_args args;
    struct normed n;
    char *memory;

    if (!txd_point_exists(run->model->config, txd_part_point(a, norm)))
        return TXD_OK;
    n = normed_of(a, norm);
    TXD_TRY(txd_taps_offer_gradient(run, n.out, a->layer));
    there = norm_args(a, &n);
    args = (struct txd_norm_back_args){
        .at = txd_op_at(ops, TXD_OP_norm_back, a->layer, n.out),
        .d_x = run->d_own[n.in],
        .d_gain = txd_gradient_of(run, n.gain),
        .d_out = run->d_own[n.out],
        .x = run->value[n.in],
        .gain = n.gain,
        .rows = there.rows,
        .width = there.width,
        .sequence = there.sequence,
        .eps = there.eps,
        .offset = there.offset,
        .root_mean_square = there.root_mean_square,
    };
    if (!n.together)
        return ops->ops.norm_back(&run->ctx, &args);
    memory = txd_run_home(run, n.out, a->layer)->scratch[1].memory;
    TXD_TRY(lay_out(a, &n, memory, run->value[n.in], false));
    TXD_TRY(lay_out(a, &n, memory + n.bytes, run->d_own[n.out], false));
    args.x = memory;
    args.d_out = memory + n.bytes;
    args.d_x = memory + 2 * n.bytes;
    TXD_TRY(ops->ops.norm_back(&run->ctx, &args));
    return lay_out(a, &n, run->d_own[n.in], args.d_x, true);
}
