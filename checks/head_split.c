/* SPDX-License-Identifier: MIT
 *
 * Queries, keys and values of a head are the rows of the projection that belong to this
 * head, at the token where they stand: recomputed in double from the actual parameters
 * and the value that the projection read. With post-norm placement that is resid.pre.
 *
 * What is sampled and how far rounding can lead stands in checks/projection.h and .c.
 */
#include "checks/projection.h"

#include <stdlib.h>

static const txd_point *needs(void *self, txd_point point)
{
    static const txd_point pre[] = {TXD_POINT_NORM1_OUT, TXD_POINT_COUNT};
    static const txd_point post[] = {TXD_POINT_RESID_PRE, TXD_POINT_COUNT};
    const txd_projections *p = self;

    for (size_t m = 0; m < p->map_count; m++)
        if (point == p->maps[m].out)
            return p->input == TXD_POINT_NORM1_OUT ? pre : post;
    return NULL;
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

static void set_maps(txd_projections *p)
{
    const txd_config *c = p->claimed;
    bool fused = c->qkv == TXD_QKV_FUSED, bias = c->qkv_bias;
    size_t q_rows = c->n_heads * c->head_dim, k_rows = c->n_kv_heads * c->head_dim;
    const txd_projection separate[TXD_PROJECTION_MAPS] = {
        {TXD_POINT_ATTN_Q_PROJ, TXD_PARAM_Q_WEIGHT, TXD_PARAM_Q_BIAS, 0, c->n_heads,
         c->head_dim, "q"},
        {TXD_POINT_ATTN_K_PROJ, TXD_PARAM_K_WEIGHT, TXD_PARAM_K_BIAS, 0, c->n_kv_heads,
         c->head_dim, "k"},
        {TXD_POINT_ATTN_V, TXD_PARAM_V_WEIGHT, TXD_PARAM_V_BIAS, 0, c->n_kv_heads,
         c->value_dim, "v"},
    };

    for (size_t m = 0; m < TXD_PROJECTION_MAPS; m++) {
        p->maps[m] = separate[m];
        if (fused) {
            p->maps[m].weight = TXD_PARAM_QKV_WEIGHT;
            p->maps[m].bias = TXD_PARAM_QKV_BIAS;
            p->maps[m].first = m == 0 ? 0 : (m == 1 ? q_rows : q_rows + k_rows);
        }
        if (!bias)
            p->maps[m].bias = TXD_PARAM_COUNT;
    }
    p->map_count = TXD_PROJECTION_MAPS;
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *claimed = context->claimed;
    bool pre = claimed->norm_placement == TXD_PLACEMENT_PRE;
    txd_projections *p = calloc(1, sizeof *p);
    txd_status status;

    if (!p)
        return txd_fail(TXD_ERR_MEMORY, "head_split: no memory");
    p->law = "head_split";
    p->claimed = claimed;
    p->input = pre ? TXD_POINT_NORM1_OUT : TXD_POINT_RESID_PRE;
    p->columns = claimed->d_model;
    set_maps(p);
    status = txd_projections_init(p);
    if (status != TXD_OK) {
        free(p);
        return status;
    }
    *tap = (txd_tap){
        .name = "head_split", .self = p, .ask = ask, .needs = needs, .merge = merge};
    *out = p;
    return TXD_OK;
}

const txd_check txd_check_head_split = {
    .name = "head_split",
    .law = "queries, keys and values of a head are its own rows of the projection",
    .formula = "attn.q_proj[b, h, t, e] = W_q[h e_count + e] . x[b, t] + bias, x = "
               "norm1.out (post-norm: resid.pre), within (gamma_{d+1}(u_acc) + "
               "gamma_{d+2}(2^-53) + u_store) |W||x| + u_store |y|; k and v alike",
    .causes = "a view of (b, t, h e) as (b, h, t, e) without the transpose; a "
              "transposed tensor whose memory is read as if it were contiguous; q, k "
              "and v taken from a fused matrix in another order; heads permuted, or "
              "key and value heads tiled instead of repeated; a bias that is dropped; "
              "a square matrix that is transposed",
    .look_next = "the place where the projection is split in heads; the layout of the "
                 "fused matrix",
    .unit = "values",
    .faults = (const char *const[]){"head_split_view", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_ATTN_Q_PROJ, TXD_ASK_VALUE},
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
    .finish = finish,
    .destroy = destroy,
};
