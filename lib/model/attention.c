/* SPDX-License-Identifier: MIT
 *
 * Attention, to the block's own tokens or to a memory, forward, as a part of a block:
 * norm, projections, rotation, the attended heads (attention_waves.c), output
 * projection, residual. Positions, validity and documents are data; nothing here knows
 * what "causal" means.
 */
#include "model/attention.h"

#include <string.h>

struct attention {
    txd_run *run;
    int layer;
    txd_attention_kind kind;
    const struct txd_attention_weights *weights;
};

static txd_point point_of(const struct attention *a, txd_point point)
{
    return txd_point_in(a->kind, point);
}

/* Queries come from the stream, keys and values from what is attended to. */
static size_t tokens_of(const struct attention *a, txd_point point)
{
    bool queries = point == TXD_POINT_ATTN_Q_PROJ || point == TXD_POINT_ATTN_Q;

    return queries || a->kind == TXD_ATTENTION_SELF ? a->run->length
                                                    : a->run->memory_length;
}

static txd_status project(const struct attention *a, txd_point point,
                          struct txd_linear_map map, size_t heads)
{
    txd_run *run = a->run;
    txd_point out = point_of(a, point);
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    struct txd_heads_args split = {
        .at = txd_op_at(ops, TXD_OP_split_heads, a->layer, out),
        .out = run->own[out],
        .x = run->scratch,
        .batch = run->batch,
        .length = tokens_of(a, point),
        .heads = heads,
        .width = map.n / heads,
    };

    map.out = TXD_POINT_COUNT;
    map.buffer = run->scratch;
    map.rows = split.batch * split.length;
    map.k = run->model->config->d_model;
    TXD_TRY(txd_layer_linear(run, a->layer, &map));
    TXD_TRY(ops->ops.split_heads(&run->ctx, &split));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, a->layer);
}

/* The rotated value, or the projection itself where nothing turns: rows of a memory
 * have no place in the sequence of the queries. */
static txd_status rotate(const struct attention *a, txd_point to, txd_point from,
                         size_t heads)
{
    txd_run *run = a->run;
    const txd_layer_config *c = &run->model->config->layers[a->layer];
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    bool turns = c->rotary && a->kind == TXD_ATTENTION_SELF;
    txd_point out = point_of(a, to);
    struct txd_rotate_args args = {
        .at = txd_op_at(ops, TXD_OP_rotate, a->layer, out),
        .out = run->own[out],
        .x = run->value[point_of(a, from)],
        .positions = run->actual.positions,
        .batch = run->batch,
        .heads = heads,
        .length = tokens_of(a, to),
        .width = run->model->config->head_dim,
        .rope_width = turns ? c->rope_width : 0,
        .base = c->rope_base,
        .adjacent = c->rope_pairing == TXD_PAIRING_ADJACENT,
    };
    size_t count = args.batch * heads * args.length * args.width;

    run->value[out] = run->value[point_of(a, from)];
    if (turns) {
        TXD_TRY(ops->ops.rotate(&run->ctx, &args));
        run->value[out] = run->own[out];
    } else if (txd_run_wants(run, out, a->layer) & TXD_ASK_EDIT) {
        memcpy(args.out, args.x, count * txd_dtype_bytes(run->model->backend->dtype));
        run->value[out] = run->own[out];
    }
    return txd_taps_offer(run, out, a->layer);
}

static txd_status project_all(const struct attention *a, const void *x,
                              const void *attended)
{
    const txd_config *c = a->run->model->config;
    const struct txd_attention_weights *w = a->weights;
    struct txd_linear_map q = {
        .x = x, .weight = w->q, .bias = w->q_bias, .n = c->n_heads * c->head_dim};
    struct txd_linear_map k = {.x = attended,
                               .weight = w->k,
                               .bias = w->k_bias,
                               .n = c->n_kv_heads * c->head_dim};
    struct txd_linear_map v = {.x = attended,
                               .weight = w->v,
                               .bias = w->v_bias,
                               .n = c->n_kv_heads * c->value_dim};

    TXD_TRY(project(a, TXD_POINT_ATTN_Q_PROJ, q, c->n_heads));
    TXD_TRY(project(a, TXD_POINT_ATTN_K_PROJ, k, c->n_kv_heads));
    TXD_TRY(rotate(a, TXD_POINT_ATTN_Q, TXD_POINT_ATTN_Q_PROJ, c->n_heads));
    TXD_TRY(rotate(a, TXD_POINT_ATTN_K, TXD_POINT_ATTN_K_PROJ, c->n_kv_heads));
    return project(a, TXD_POINT_ATTN_V, v, c->n_kv_heads);
}

static txd_status merge_heads(const struct attention *a)
{
    txd_run *run = a->run;
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    txd_point out = point_of(a, TXD_POINT_ATTN_MERGED);
    struct txd_heads_args args = {
        .at = txd_op_at(ops, TXD_OP_merge_heads, a->layer, out),
        .out = run->own[out],
        .x = run->value[point_of(a, TXD_POINT_ATTN_HEADS)],
        .batch = run->batch,
        .length = run->length,
        .heads = c->n_heads,
        .width = c->value_dim,
    };

    TXD_TRY(ops->ops.merge_heads(&run->ctx, &args));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, a->layer);
}

static txd_status attended_heads(const struct attention *a)
{
    txd_run *run = a->run;
    txd_point heads = point_of(a, TXD_POINT_ATTN_HEADS);

    TXD_TRY(txd_attend(run, a->layer, a->kind));
    run->value[heads] = run->own[heads];
    return txd_taps_offer(run, heads, a->layer);
}

static txd_status add_branch(const struct attention *a, txd_point stream)
{
    txd_run *run = a->run;
    const txd_config *c = run->model->config;
    txd_point branch = point_of(a, TXD_POINT_ATTN_BRANCH);
    struct txd_linear_map out = {
        .out = point_of(a, TXD_POINT_ATTN_OUT),
        .x = run->value[point_of(a, TXD_POINT_ATTN_MERGED)],
        .weight = a->weights->o,
        .bias = a->weights->o_bias,
        .n = c->d_model,
        .k = c->n_heads * c->value_dim,
    };

    TXD_TRY(txd_layer_linear(run, a->layer, &out));
    TXD_TRY(txd_layer_branch(run, a->layer, branch, out.out));
    return txd_layer_residual(run, a->layer, txd_stream_after_attention(a->kind),
                              branch, stream);
}

txd_status txd_attention_forward(txd_run *run, int layer, txd_attention_kind kind)
{
    const txd_config *c = run->model->config;
    struct attention a = {run, layer, kind, &run->model->layers[layer].attention[kind]};
    bool pre = c->norm_placement == TXD_PLACEMENT_PRE;
    txd_point stream = txd_stream_into_attention(c, kind);
    struct txd_norm_map norm = {txd_norm_of_attention(kind),
                                pre ? stream : txd_stream_after_attention(kind),
                                a.weights->norm_gain, a.weights->norm_bias};
    const void *x;

    if (pre)
        TXD_TRY(txd_layer_norm(run, layer, &norm));
    x = run->value[pre ? norm.out : stream];
    TXD_TRY(project_all(
        &a, x, kind == TXD_ATTENTION_CROSS ? run->value[TXD_POINT_INPUT_MEMORY] : x));
    TXD_TRY(attended_heads(&a));
    TXD_TRY(merge_heads(&a));
    TXD_TRY(add_branch(&a, stream));
    return pre ? TXD_OK : txd_layer_norm(run, layer, &norm);
}
