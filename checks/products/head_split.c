/* SPDX-License-Identifier: MIT
 *
 * Queries, keys and values of a head are the rows of the projection that belong to this
 * head, at the token where they stand: recomputed in double from the actual parameters
 * and the value that the projection read: the norm's output, with post-norm placement
 * the stream, and the memory for keys and values of cross-attention.
 *
 * What is sampled and how far rounding can lead stands in checks/products/projection.h
 * and .c.
 */
#include "checks/products/projection.h"

static void add_self(txd_projections *p, txd_point in)
{
    const txd_config *c = p->claimed;
    bool fused = c->qkv == TXD_QKV_FUSED;
    size_t q_rows = c->n_heads * c->head_dim, k_rows = c->n_kv_heads * c->head_dim;
    txd_projection maps[3] = {
        {TXD_POINT_ATTN_Q_PROJ, in, TXD_PARAM_Q_WEIGHT, TXD_PARAM_Q_BIAS, 0, c->n_heads,
         c->head_dim, c->d_model, "q"},
        {TXD_POINT_ATTN_K_PROJ, in, TXD_PARAM_K_WEIGHT, TXD_PARAM_K_BIAS, 0,
         c->n_kv_heads, c->head_dim, c->d_model, "k"},
        {TXD_POINT_ATTN_V, in, TXD_PARAM_V_WEIGHT, TXD_PARAM_V_BIAS, 0, c->n_kv_heads,
         c->value_dim, c->d_model, "v"},
    };

    for (size_t m = 0; m < 3; m++) {
        if (fused) {
            maps[m].weight = TXD_PARAM_QKV_WEIGHT;
            maps[m].bias = TXD_PARAM_QKV_BIAS;
            maps[m].first = m == 0 ? 0 : (m == 1 ? q_rows : q_rows + k_rows);
        }
        if (!c->qkv_bias)
            maps[m].bias = TXD_PARAM_COUNT;
        txd_projections_add(p, &maps[m]);
    }
}

static void add_cross(txd_projections *p, txd_point in)
{
    const txd_config *c = p->claimed;
    txd_projection maps[3] = {
        {TXD_POINT_CROSS_Q_PROJ, in, TXD_PARAM_CROSS_Q_WEIGHT, TXD_PARAM_CROSS_Q_BIAS,
         0, c->n_heads, c->head_dim, c->d_model, "cross.q"},
        {TXD_POINT_CROSS_K_PROJ, TXD_POINT_INPUT_MEMORY, TXD_PARAM_CROSS_K_WEIGHT,
         TXD_PARAM_CROSS_K_BIAS, 0, c->n_kv_heads, c->head_dim, c->d_model, "cross.k"},
        {TXD_POINT_CROSS_V, TXD_POINT_INPUT_MEMORY, TXD_PARAM_CROSS_V_WEIGHT,
         TXD_PARAM_CROSS_V_BIAS, 0, c->n_kv_heads, c->value_dim, c->d_model, "cross.v"},
    };

    for (size_t m = 0; m < 3; m++) {
        if (!c->qkv_bias)
            maps[m].bias = TXD_PARAM_COUNT;
        txd_projections_add(p, &maps[m]);
    }
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *claimed = context->claimed;
    txd_projections maps = {.law = "head_split", .claimed = claimed};

    add_self(&maps, txd_sublayer_of(claimed, TXD_SUBLAYER_ATTENTION).input);
    if (claimed->cross)
        add_cross(&maps, txd_sublayer_of(claimed, TXD_SUBLAYER_CROSS).input);
    return txd_projections_create(out, tap, &maps);
}

const txd_check txd_check_head_split = {
    .name = "head_split",
    .law = "queries, keys and values of a head are its own rows of the projection",
    .formula =
        "attn.q_proj[b, h, t, e] = W_q[h e_count + e] . x[b, t] + bias, x = "
        "norm1.out (without a norm before: resid.pre), within (gamma_{d+1}(u_acc) + "
        "gamma_{d+2}(2^-53) + u_store) |W||x| + u_store |y|; k, v and cross.* alike",
    .causes = "a view of (b, t, h e) as (b, h, t, e) without the transpose; a "
              "transposed tensor whose memory is read as if it were contiguous; q, k "
              "and v taken from a fused matrix in another order; heads permuted, or "
              "key and value heads tiled instead of repeated; a bias that is dropped; "
              "a square matrix that is transposed",
    .look_next = "the place where the projection is split in heads; the layout of the "
                 "fused matrix",
    .unit = "values",
    .exact = true,
    .faults = (const char *const[]){"head_split_view", "bias_dropped", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_CROSS_V, TXD_ASK_VALUE},
                                             {TXD_POINT_NORM1_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_NORM_CROSS_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_NORM1_OUT, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 0},
                                             {TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_K_PROJ, TXD_ASK_VALUE},
                                             {TXD_POINT_ATTN_V, TXD_ASK_VALUE},
                                             {TXD_POINT_RESID_PRE, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = txd_projections_finish,
    .destroy = txd_projections_destroy,
};
