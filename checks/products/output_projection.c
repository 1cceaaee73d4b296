/* SPDX-License-Identifier: MIT
 *
 * The attention's output is W_o times the merged heads, and the bias: recomputed in
 * double from the actual parameters. W_o is d_model x (heads x value width); a
 * checkpoint in which it is not does not get here.
 *
 * What is sampled and how far rounding can lead stands in checks/products/projection.h
 * and .c.
 */
#include "checks/products/projection.h"

static void add(txd_projections *p, txd_attention_kind kind)
{
    const txd_config *c = p->claimed;
    bool cross = kind == TXD_ATTENTION_CROSS;
    txd_projection map = {.out = txd_point_in(kind, TXD_POINT_ATTN_OUT),
                          .in = txd_point_in(kind, TXD_POINT_ATTN_MERGED),
                          .weight =
                              cross ? TXD_PARAM_CROSS_O_WEIGHT : TXD_PARAM_O_WEIGHT,
                          .bias = cross ? TXD_PARAM_CROSS_O_BIAS : TXD_PARAM_O_BIAS,
                          .heads = 1,
                          .width = c->d_model,
                          .columns = c->n_heads * c->value_dim,
                          .letter = cross ? "cross.o" : "o"};

    if (!c->out_bias)
        map.bias = TXD_PARAM_COUNT;
    txd_projections_add(p, &map);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *claimed = context->claimed;
    txd_projections maps = {.law = "output_projection", .claimed = claimed};

    add(&maps, TXD_ATTENTION_SELF);
    if (claimed->cross)
        add(&maps, TXD_ATTENTION_CROSS);
    return txd_projections_create(out, tap, &maps);
}

const txd_check txd_check_output_projection = {
    .name = "output_projection",
    .law = "the attention's output is W_o times the merged heads, and the bias",
    .formula = "attn.out = W_o attn.merged + bias within (gamma_{n+1}(u_acc) + "
               "gamma_{n+2}(2^-53) + u_store) |W||x| + u_store |y|, n = heads x value "
               "width",
    .causes = "the output projection forgotten, or applied to one head; a bias that is "
              "dropped; a square matrix that is transposed; the merge of the heads "
              "changed between the two",
    .look_next = "attn.o.weight, its shape d_model x (heads x value width), and what "
                 "is read instead of attn.merged",
    .unit = "values",
    .exact = true,
    .faults = (const char *const[]){"output_projection_missing", "bias_dropped", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = txd_projections_finish,
    .destroy = txd_projections_destroy,
};
