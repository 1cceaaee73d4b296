/* SPDX-License-Identifier: MIT
 *
 * The attention's output is W_o times the merged heads, and the bias: recomputed in
 * double from the actual parameters. W_o is d_model x (heads x value width); a
 * checkpoint in which it is not does not get here.
 *
 * What is sampled and how far rounding can lead stands in checks/projection.h and .c.
 */
#include "checks/projection.h"

#include <stdlib.h>

static const txd_point *needs(void *self, txd_point point)
{
    return txd_projections_needs(self, point);
}

static unsigned ask(void *self, const txd_site *site)
{
    return txd_projections_ask(self, site);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    (void)slot;
    return txd_projections_merge(self, block);
}

static txd_status finish(void *self, txd_result *result)
{
    return txd_projections_result(result, self);
}

static void destroy(void *self)
{
    txd_projections_finish(self);
    free(self);
}

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
                          .letter = cross ? "cross.o" : "o"};

    if (!c->out_bias)
        map.bias = TXD_PARAM_COUNT;
    txd_projections_add(p, &map);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *claimed = context->claimed;
    txd_projections *p = calloc(1, sizeof *p);
    txd_status status;

    if (!p)
        return txd_fail(TXD_ERR_MEMORY, "output_projection: no memory");
    p->law = "output_projection";
    p->claimed = claimed;
    p->columns = claimed->n_heads * claimed->value_dim;
    add(p, TXD_ATTENTION_SELF);
    if (claimed->cross)
        add(p, TXD_ATTENTION_CROSS);
    status = txd_projections_init(p);
    if (status != TXD_OK) {
        free(p);
        return status;
    }
    *tap = (txd_tap){.name = "output_projection",
                     .self = p,
                     .ask = ask,
                     .needs = needs,
                     .merge = merge};
    *out = p;
    return TXD_OK;
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
    .faults = (const char *const[]){"output_projection_missing", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_MERGED, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
