/* SPDX-License-Identifier: MIT
 *
 * Attention, forward, as a part of a block: norm, projections, rotation, the attended
 * heads (attention_waves.c), output projection, residual. Positions, validity and
 * documents are data; nothing here knows what "causal" means.
 */
#include "model/attention.h"

static txd_status project(txd_run *run, int layer, txd_point out,
                          const struct txd_linear_map *map, size_t heads)
{
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_heads_args split = {
        .at = txd_op_at(ops, TXD_OP_split_heads, layer, out),
        .out = run->own[out],
        .x = run->scratch,
        .batch = run->batch,
        .length = run->length,
        .heads = heads,
        .width = map->n / heads,
    };

    TXD_TRY(txd_layer_linear(run, layer, map));
    TXD_TRY(ops->ops.split_heads(&run->ctx, &split));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, layer);
}

/* The rotated value, or the projection itself where nothing turns. */
static txd_status rotate(txd_run *run, int layer, txd_point out, txd_point in,
                         size_t heads)
{
    const txd_layer_config *c = &run->model->config->layers[layer];
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    size_t width = run->model->config->head_dim;
    struct txd_rotate_args args = {
        .at = txd_op_at(ops, TXD_OP_rotate, layer, out),
        .out = run->own[out],
        .x = run->value[in],
        .positions = run->actual.positions,
        .batch = run->batch,
        .heads = heads,
        .length = run->length,
        .width = width,
        .rope_width = c->rotary ? c->rope_width : 0,
        .base = c->rope_base,
        .adjacent = c->rope_pairing == TXD_PAIRING_ADJACENT,
    };

    run->value[out] = run->value[in];
    if (c->rotary || (txd_run_wants(run, out, layer) & TXD_ASK_EDIT)) {
        TXD_TRY(ops->ops.rotate(&run->ctx, &args));
        run->value[out] = run->own[out];
    }
    return txd_taps_offer(run, out, layer);
}

static txd_status project_all(txd_run *run, int layer, const void *x)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    struct txd_linear_map q = {
        TXD_POINT_COUNT,          run->scratch, x, w->q, w->q_bias,
        c->n_heads * c->head_dim, c->d_model};
    struct txd_linear_map k = {
        TXD_POINT_COUNT, run->scratch, x, w->k, w->k_bias, c->n_kv_heads * c->head_dim,
        c->d_model};
    struct txd_linear_map v = {
        TXD_POINT_COUNT, run->scratch, x, w->v, w->v_bias, c->n_kv_heads * c->value_dim,
        c->d_model};

    TXD_TRY(project(run, layer, TXD_POINT_ATTN_Q_PROJ, &q, c->n_heads));
    TXD_TRY(project(run, layer, TXD_POINT_ATTN_K_PROJ, &k, c->n_kv_heads));
    TXD_TRY(rotate(run, layer, TXD_POINT_ATTN_Q, TXD_POINT_ATTN_Q_PROJ, c->n_heads));
    TXD_TRY(rotate(run, layer, TXD_POINT_ATTN_K, TXD_POINT_ATTN_K_PROJ, c->n_kv_heads));
    return project(run, layer, TXD_POINT_ATTN_V, &v, c->n_kv_heads);
}

static txd_status merge_heads(txd_run *run, int layer)
{
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[layer];
    struct txd_heads_args args = {
        .at = txd_op_at(ops, TXD_OP_merge_heads, layer, TXD_POINT_ATTN_MERGED),
        .out = run->own[TXD_POINT_ATTN_MERGED],
        .x = run->value[TXD_POINT_ATTN_HEADS],
        .batch = run->batch,
        .length = run->length,
        .heads = c->n_heads,
        .width = c->value_dim,
    };

    TXD_TRY(ops->ops.merge_heads(&run->ctx, &args));
    run->value[TXD_POINT_ATTN_MERGED] = run->own[TXD_POINT_ATTN_MERGED];
    return txd_taps_offer(run, TXD_POINT_ATTN_MERGED, layer);
}

txd_status txd_attention_forward(txd_run *run, int layer)
{
    const txd_config *c = run->model->config;
    const struct txd_layer_weights *w = &run->model->layers[layer];
    bool pre = c->norm_placement == TXD_PLACEMENT_PRE;
    struct txd_linear_map out = {
        TXD_POINT_ATTN_OUT,       NULL, NULL, w->o, w->o_bias, c->d_model,
        c->n_heads * c->value_dim};

    if (pre)
        TXD_TRY(txd_layer_norm(run, layer, TXD_POINT_NORM1_OUT, TXD_POINT_RESID_PRE));
    TXD_TRY(project_all(run, layer,
                        run->value[pre ? TXD_POINT_NORM1_OUT : TXD_POINT_RESID_PRE]));
    TXD_TRY(txd_attend(run, layer));
    run->value[TXD_POINT_ATTN_HEADS] = run->own[TXD_POINT_ATTN_HEADS];
    TXD_TRY(txd_taps_offer(run, TXD_POINT_ATTN_HEADS, layer));
    TXD_TRY(merge_heads(run, layer));
    out.x = run->value[TXD_POINT_ATTN_MERGED];
    TXD_TRY(txd_layer_linear(run, layer, &out));
    TXD_TRY(txd_layer_branch(run, layer, TXD_POINT_ATTN_BRANCH, TXD_POINT_ATTN_OUT));
    TXD_TRY(txd_layer_residual(run, layer, TXD_POINT_RESID_MID, TXD_POINT_ATTN_BRANCH,
                               TXD_POINT_RESID_PRE));
    if (!pre)
        TXD_TRY(txd_layer_norm(run, layer, TXD_POINT_NORM1_OUT, TXD_POINT_RESID_MID));
    return TXD_OK;
}
