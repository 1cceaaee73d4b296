/* SPDX-License-Identifier: MIT
 *
 * The arguments of attention on the device.
 */
#include "cuda/attend.h"

/* As model/config.h numbers what becomes of a row without a largest value. */
enum { ROW_ZERO, ROW_NAN, ROW_UNIFORM };

/* Of a block of queries; one that is not full has no inner part. */
static __global__ void attend_hulls(attend_hull *out, attend_view view)
{
    for (size_t b = (size_t)blockIdx.x * blockDim.x + threadIdx.x; b < view.blocks;
         b += (size_t)gridDim.x * blockDim.x) {
        size_t first = b * TXD_ATTEND_BLOCK, end = first + TXD_ATTEND_BLOCK;
        attend_hull hull = {INT32_MAX, 0, 0, INT32_MAX};

        for (size_t q = first; q < end && q < view.queries; q++) {
            int32_t from = view.used.begin[q], to = view.used.end[q];

            if (from < to) {
                hull.from = min(hull.from, from);
                hull.to = max(hull.to, to);
            }
            hull.inner_from = max(hull.inner_from, max(from, view.visible.begin[q]));
            hull.inner_to = min(hull.inner_to, min(to, view.visible.end[q]));
        }
        if (hull.to == 0)
            hull.from = 0;
        if (end > view.queries)
            hull.inner_to = 0;
        out[b] = hull;
    }
}

static float empty_weight(const struct txd_attend_heads *in)
{
    if (in->masked_row == ROW_NAN)
        return NAN;
    return in->masked_row == ROW_UNIFORM ? 1 / (float)in->keys : 0;
}

static txd_status stage_bias(attend_view *out, const struct txd_attend_heads *in)
{
    if (in->slopes == NULL)
        return TXD_OK;
    out->slopes =
        (const double *)txd_cuda_stage(in->slopes, in->heads * sizeof(double));
    out->query_positions = (const int32_t *)txd_cuda_stage(
        in->query_positions, in->queries * sizeof(int32_t));
    out->key_positions =
        (const int32_t *)txd_cuda_stage(in->key_positions, in->keys * sizeof(int32_t));
    return out->slopes == NULL || out->query_positions == NULL ||
                   out->key_positions == NULL
               ? TXD_ERR_MEMORY
               : TXD_OK;
}

static txd_status make_room(attend_view *out)
{
    size_t rows = out->heads * out->queries;
    attend_hull *hulls =
        (attend_hull *)txd_cuda_workspace(out->blocks * sizeof(attend_hull));

    out->max = (float *)txd_cuda_workspace(3 * rows * sizeof(float));
    if (hulls == NULL || out->max == NULL)
        return TXD_ERR_MEMORY;
    out->base = out->max + rows;
    out->sum = out->base + rows;
    out->hulls = hulls;
    TXD_LAUNCH(attend_hulls, txd_cuda_blocks(out->blocks, 64), 64u, 0, hulls, *out);
    return txd_cuda_check("attend");
}

txd_status attend_stage(attend_view *out, const struct txd_attend_heads *in, float fill)
{
    *out = attend_view();
    out->q = (const float *)in->q;
    out->k = (const float *)in->k;
    out->v = (const float *)in->v;
    out->sink = (const float *)in->sink;
    out->queries = in->queries;
    out->keys = in->keys;
    out->key_rows = in->key_rows;
    out->width = in->width;
    out->value_width = in->value_width;
    out->heads = (unsigned)in->heads;
    out->kv_heads = (unsigned)in->kv_heads;
    out->blocks = (unsigned)((in->queries + TXD_ATTEND_BLOCK - 1) / TXD_ATTEND_BLOCK);
    out->scale = (float)in->scale;
    out->cap = (float)in->cap;
    out->fill = fill;
    out->empty = empty_weight(in);
    out->kv_head =
        (const uint32_t *)txd_cuda_stage(in->kv_head, in->heads * sizeof(uint32_t));
    if (out->kv_head == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(stage_bias(out, in));
    TXD_TRY(txd_cuda_spans_stage(&out->visible, &in->visible, in->queries));
    TXD_TRY(txd_cuda_spans_stage(&out->used, &in->used, in->queries));
    return make_room(out);
}
