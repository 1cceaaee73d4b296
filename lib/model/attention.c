/* SPDX-License-Identifier: MIT
 *
 * Attention, to the block's own tokens or to a memory, forward, as a part of a block:
 * norm, projections, rotation, the attended heads (attention_tiles.c), output
 * projection, residual. Positions, validity and documents are data; nothing here knows
 * what "causal" means.
 */
#include "model/attention.h"
#include "model/cache_private.h"

struct txd_part txd_part_of(txd_run *run, int layer, txd_attention_kind kind)
{
    return (struct txd_part){
        .run = run,
        .layer = layer,
        .kind = kind,
        .weights = &run->model->layers[layer].attention[kind],
        .joint = txd_sublayer_of(run->model->config, (txd_sublayer_kind)kind),
    };
}

txd_point txd_part_point(const struct txd_part *a, txd_point point)
{
    return txd_point_in(a->kind, point);
}

/* Queries come from the stream, keys and values from what is attended to. */
static bool of_memory(const struct txd_part *a, txd_point point)
{
    bool queries = point == TXD_POINT_ATTN_Q_PROJ || point == TXD_POINT_ATTN_Q_NORM ||
                   point == TXD_POINT_ATTN_Q;

    return a->kind == TXD_ATTENTION_CROSS && !queries;
}

struct txd_part_map txd_part_map_of(const struct txd_part *a, txd_point point)
{
    const txd_config *c = a->run->model->config;
    const struct txd_attention_weights *w = a->weights;
    bool memory = of_memory(a, point);
    struct txd_part_map p = {
        .out = txd_part_point(a, point),
        .in = memory ? TXD_POINT_INPUT_MEMORY : a->joint.input,
        .heads = c->n_kv_heads,
        .tokens = memory ? a->run->memory_length : a->run->length,
        .width = point == TXD_POINT_ATTN_V ? c->value_dim : c->head_dim,
        .weight = w->v,
        .bias = w->v_bias,
    };

    if (point == TXD_POINT_ATTN_Q_PROJ) {
        p.heads = c->n_heads;
        p.weight = w->q;
        p.bias = w->q_bias;
    } else if (point == TXD_POINT_ATTN_K_PROJ) {
        p.weight = w->k;
        p.bias = w->k_bias;
    }
    return p;
}

struct txd_linear_map txd_part_linear(const struct txd_part *a,
                                      const struct txd_part_map *p)
{
    return (struct txd_linear_map){
        .out = TXD_POINT_COUNT,
        .buffer = a->run->scratch,
        .x = a->run->value[p->in],
        .weight = p->weight,
        .bias = p->bias,
        .n = p->heads * p->width,
        .k = a->run->model->config->d_model,
        .rows = a->run->batch * p->tokens,
    };
}

struct txd_heads_args txd_part_heads(const struct txd_part *a,
                                     const struct txd_part_map *p)
{
    return (struct txd_heads_args){
        .batch = a->run->batch,
        .length = p->tokens,
        .heads = p->heads,
        .width = p->width,
    };
}

struct txd_rotate_args txd_part_rotation(const struct txd_part *a, txd_point to)
{
    txd_run *run = a->run;
    const txd_config *c = run->model->config;
    const txd_layer_config *layer = &c->layers[a->layer];

    return (struct txd_rotate_args){
        .positions = run->actual.positions,
        .batch = run->batch,
        .heads = to == TXD_POINT_ATTN_Q ? c->n_heads : c->n_kv_heads,
        .length = of_memory(a, to) ? run->memory_length : run->length,
        .width = c->head_dim,
        .rope_width = layer->rope_width,
        .base = layer->rope_base,
        .adjacent = layer->rope_pairing == TXD_PAIRING_ADJACENT,
        .turns = run->model->turns[a->layer],
    };
}

bool txd_part_turns(const struct txd_part *a)
{
    return a->run->model->config->layers[a->layer].rotary &&
           a->kind == TXD_ATTENTION_SELF;
}

struct txd_linear_map txd_part_out(const struct txd_part *a)
{
    const txd_config *c = a->run->model->config;

    return (struct txd_linear_map){
        .out = a->joint.out,
        .x = a->run->value[txd_part_point(a, TXD_POINT_ATTN_MERGED)],
        .weight = a->weights->o,
        .bias = a->weights->o_bias,
        .n = c->d_model,
        .k = c->n_heads * c->value_dim,
    };
}

static txd_status project(const struct txd_part *a, txd_point point)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    struct txd_part_map p = txd_part_map_of(a, point);
    struct txd_linear_map map;
    struct txd_heads_args split = txd_part_heads(a, &p);

    run->scratch = txd_run_home(run, p.out, a->layer)->scratch[0].memory;
    map = txd_part_linear(a, &p);
    split.at = txd_op_at(ops, TXD_OP_split_heads, a->layer, p.out);
    split.out = run->own[p.out];
    split.x = run->scratch;
    TXD_TRY(txd_layer_linear(run, a->layer, &map));
    TXD_TRY(ops->ops.split_heads(&run->ctx, &split));
    run->value[p.out] = run->own[p.out];
    return txd_taps_offer(run, p.out, a->layer);
}

/* The rotated value, or the projection itself where nothing turns: rows of a memory
 * have no place in the sequence of the queries. */
static txd_status rotate(const struct txd_part *a, txd_point to)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    txd_point out = txd_part_point(a, to);
    txd_point from = txd_point_that_turns(run->model->config, out);
    struct txd_rotate_args args = txd_part_rotation(a, to);

    args.at = txd_op_at(ops, TXD_OP_rotate, a->layer, out);
    args.out = run->own[out];
    args.x = run->value[from];
    run->value[out] = run->value[from];
    if (txd_part_turns(a)) {
        TXD_TRY(ops->ops.rotate(&run->ctx, &args));
        run->value[out] = run->own[out];
    } else {
        TXD_TRY(txd_run_repeat(run, out,
                               args.batch * args.heads * args.length * args.width));
    }
    return txd_taps_offer(run, out, a->layer);
}

/* What later calls attend to, as it is attended to here. */
static txd_status keep(const struct txd_part *a, txd_point point)
{
    return a->run->options.cache != NULL && a->kind == TXD_ATTENTION_SELF
               ? txd_cache_keep(a->run->options.cache, a->run, a->layer, point)
               : TXD_OK;
}

static txd_status project_all(const struct txd_part *a)
{
    TXD_TRY(project(a, TXD_POINT_ATTN_Q_PROJ));
    TXD_TRY(project(a, TXD_POINT_ATTN_K_PROJ));
    TXD_TRY(txd_part_normalise(a, TXD_POINT_ATTN_Q_NORM));
    TXD_TRY(txd_part_normalise(a, TXD_POINT_ATTN_K_NORM));
    TXD_TRY(rotate(a, TXD_POINT_ATTN_Q));
    TXD_TRY(rotate(a, TXD_POINT_ATTN_K));
    TXD_TRY(keep(a, TXD_POINT_ATTN_K));
    TXD_TRY(project(a, TXD_POINT_ATTN_V));
    return keep(a, TXD_POINT_ATTN_V);
}

static txd_status merge_heads(const struct txd_part *a)
{
    txd_run *run = a->run;
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    txd_point out = txd_part_point(a, TXD_POINT_ATTN_MERGED);
    struct txd_heads_args args = {
        .at = txd_op_at(ops, TXD_OP_merge_heads, a->layer, out),
        .out = run->own[out],
        .x = run->value[txd_part_point(a, TXD_POINT_ATTN_HEADS)],
        .batch = run->batch,
        .length = run->length,
        .heads = c->n_heads,
        .width = c->value_dim,
    };

    TXD_TRY(ops->ops.merge_heads(&run->ctx, &args));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, a->layer);
}

static txd_status attended_heads(const struct txd_part *a)
{
    txd_run *run = a->run;
    txd_point heads = txd_part_point(a, TXD_POINT_ATTN_HEADS);

    TXD_TRY(txd_attend(run, a->layer, a->kind));
    run->value[heads] = run->own[heads];
    return txd_taps_offer(run, heads, a->layer);
}

txd_status txd_attention_forward(txd_run *run, int layer, txd_attention_kind kind)
{
    struct txd_part a = txd_part_of(run, layer, kind);
    struct txd_linear_map out;

    TXD_TRY(txd_layer_norm(run, layer, a.joint.before));
    TXD_TRY(project_all(&a));
    TXD_TRY(attended_heads(&a));
    TXD_TRY(merge_heads(&a));
    out = txd_part_out(&a);
    TXD_TRY(txd_layer_linear(run, layer, &out));
    return txd_layer_join(run, layer, &a.joint);
}
