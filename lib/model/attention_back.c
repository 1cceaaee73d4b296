/* SPDX-License-Identifier: MIT
 *
 * Attention, backward, as a part of a block: from the gradient of what the part passes
 * on to that of what enters it, and of the memory.
 */
#include "model/attention.h"

#include <string.h>

#include "model/backward.h"

static txd_status offer(const struct txd_part *a, txd_point point)
{
    return txd_taps_offer_gradient(a->run, txd_part_point(a, point), a->layer);
}

/* From the output to the heads. */
static txd_status out_back(const struct txd_part *a)
{
    txd_run *run = a->run;
    txd_point merged = txd_part_point(a, TXD_POINT_ATTN_MERGED);
    struct txd_linear_back out = {.map = txd_part_out(a)};

    out.d_out = run->d_own[out.map.out];
    out.d_x = run->d_own[merged];
    TXD_TRY(txd_layer_linear_back(run, a->layer, &out));
    return offer(a, TXD_POINT_ATTN_MERGED);
}

static txd_status merge_back(const struct txd_part *a)
{
    txd_run *run = a->run;
    const txd_config *c = run->model->config;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    txd_point merged = txd_part_point(a, TXD_POINT_ATTN_MERGED);
    struct txd_heads_args args = {
        .at = txd_op_at(ops, TXD_OP_merge_heads_back, a->layer, merged),
        .out = run->d_own[txd_part_point(a, TXD_POINT_ATTN_HEADS)],
        .x = run->d_own[merged],
        .batch = run->batch,
        .length = run->length,
        .heads = c->n_heads,
        .width = c->value_dim,
    };

    TXD_TRY(ops->ops.merge_heads_back(&run->ctx, &args));
    return offer(a, TXD_POINT_ATTN_HEADS);
}

static txd_status rotate_back(const struct txd_part *a, txd_point to)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    txd_point out = txd_part_point(a, to);
    struct txd_rotate_args args = txd_part_rotation(a, to);
    size_t count = args.batch * args.heads * args.length * args.width;

    args.at = txd_op_at(ops, TXD_OP_rotate_back, a->layer, out);
    args.out = run->d_own[txd_point_that_turns(run->model->config, out)];
    args.x = run->d_own[out];
    if (txd_part_turns(a))
        return ops->ops.rotate_back(&run->ctx, &args);
    return txd_run_copy(run, args.out, args.x, count);
}

static txd_status project_back(const struct txd_part *a, txd_point point)
{
    txd_run *run = a->run;
    struct txd_layer_ops *ops = &run->layer_ops[a->layer];
    struct txd_part_map p = txd_part_map_of(a, point);
    struct txd_linear_back back = {.d_x = run->d_own[p.in],
                                   .add = txd_gradient_begun(run, p.in)};
    struct txd_heads_args split = txd_part_heads(a, &p);

    run->scratch = txd_run_home(run, p.out, a->layer)->scratch[1].memory;
    back.map = txd_part_linear(a, &p);
    back.d_out = run->scratch;
    split.at = txd_op_at(ops, TXD_OP_split_heads_back, a->layer, p.out);
    split.out = run->scratch;
    split.x = run->d_own[p.out];
    TXD_TRY(ops->ops.split_heads_back(&run->ctx, &split));
    return txd_layer_linear_back(run, a->layer, &back);
}

/* From q, k and v to what they are made from. */
static txd_status projections_back(const struct txd_part *a)
{
    TXD_TRY(offer(a, TXD_POINT_ATTN_V));
    TXD_TRY(project_back(a, TXD_POINT_ATTN_V));
    TXD_TRY(offer(a, TXD_POINT_ATTN_K));
    TXD_TRY(rotate_back(a, TXD_POINT_ATTN_K));
    TXD_TRY(offer(a, TXD_POINT_ATTN_Q));
    TXD_TRY(rotate_back(a, TXD_POINT_ATTN_Q));
    TXD_TRY(txd_part_normalise_back(a, TXD_POINT_ATTN_K_NORM));
    TXD_TRY(txd_part_normalise_back(a, TXD_POINT_ATTN_Q_NORM));
    TXD_TRY(offer(a, TXD_POINT_ATTN_K_PROJ));
    TXD_TRY(project_back(a, TXD_POINT_ATTN_K_PROJ));
    TXD_TRY(offer(a, TXD_POINT_ATTN_Q_PROJ));
    return project_back(a, TXD_POINT_ATTN_Q_PROJ);
}

txd_status txd_attention_again(txd_run *run, int layer, txd_attention_kind kind)
{
    struct txd_part a = txd_part_of(run, layer, kind);

    return txd_run_makes_again(run, a.joint.before, layer)
               ? txd_layer_norm(run, layer, a.joint.before)
               : TXD_OK;
}

txd_status txd_attention_backward(txd_run *run, int layer, txd_attention_kind kind)
{
    struct txd_part a = txd_part_of(run, layer, kind);

    TXD_TRY(txd_layer_join_back(run, layer, &a.joint));
    TXD_TRY(out_back(&a));
    TXD_TRY(merge_back(&a));
    TXD_TRY(txd_attend_back(run, layer, kind));
    TXD_TRY(projections_back(&a));
    return txd_layer_norm_back(run, layer, a.joint.before);
}
