/* SPDX-License-Identifier: MIT
 *
 * Attention forward: heads, maxima and sums of rows, in one pass over the keys.
 */
#include "cuda/attend_tile.h"

/* Shared memory, in floats: the queries; keys, then values; weights; and queries' own.
 */
template <int WIDTH> struct attend_shared {
    static constexpr int stride = attend_sizes<WIDTH>::stride;
    static constexpr int rows = attend_sizes<WIDTH>::rows;
    static constexpr int keys = rows * stride;
    static constexpr int weights = keys + TXD_ATTEND_BLOCK * stride;
    static constexpr int queries = weights + rows * TXD_ATTEND_COLUMNS;
    static constexpr int floats =
        queries + rows * (int)(sizeof(attend_query) / sizeof(float));
};

/* What one thread has of a row of the tile at `first`: masked scores, or -inf where the
 * key is not used; *strange if one of a seen cell is not finite. */
static __device__ inline void attend_finish(float s[4], const attend_view &view,
                                            const attend_query &query, float slope,
                                            int first, bool *strange)
{
    ATTEND_UNROLL
    for (int j = 0; j < 4; j++) {
        int key = first + attend_column(j);
        bool used = attend_uses(query, key), seen = used && attend_sees(query, key);
        float score = view.scale * s[j];

        s[j] = used ? attend_masked(view, query, slope, key, score, seen) : -INFINITY;
        *strange |= seen && !(isfinite(score) && isfinite(s[j]));
    }
}

/* Weights and sums of one block of keys. */
template <int WIDTH>
static __device__ void attend_keys(float out[4][attend_sizes<WIDTH>::lanes],
                                   attend_state state[4], const attend_view &view,
                                   float *shared, int first, bool inner, bool *strange)
{
    using at = attend_shared<WIDTH>;
    unsigned kv = view.kv_head[blockIdx.y];
    const attend_query *queries = (const attend_query *)(shared + at::queries);
    float slope = attend_slope(view, blockIdx.y), s[4][4];
    int width = (int)view.width, value_width = (int)view.value_width;

    attend_load<WIDTH>(shared + at::keys, view.k + kv * view.key_rows * view.width,
                       (size_t)first, TXD_ATTEND_BLOCK, view.keys, width);
    __syncthreads();
    attend_dots<WIDTH>(s, shared, shared + at::keys, width);
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++) {
        int row = attend_row(i);
        float factor;

        attend_finish(s[i], view, queries[row], slope, first, strange);
        factor = attend_step(&state[i], s[i]);
        ATTEND_UNROLL
        for (int j = 0; j < 4; j++)
            shared[at::weights + row * TXD_ATTEND_COLUMNS + attend_column(j)] = s[i][j];
        ATTEND_UNROLL
        for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++)
            out[i][g] *= factor;
    }
    __syncthreads();
    attend_load<WIDTH>(shared + at::keys,
                       view.v + kv * view.key_rows * view.value_width, (size_t)first,
                       TXD_ATTEND_BLOCK, view.keys, value_width);
    __syncthreads();
    attend_mix<WIDTH>(
        out, shared + at::weights, shared + at::keys, inner,
        [=](int row, int column) { return attend_uses(queries[row], first + column); });
    __syncthreads();
}

/* Rows without a largest value: their used cells have the weight view.empty. */
template <int WIDTH>
static __device__ void attend_fill(float out[4][attend_sizes<WIDTH>::lanes],
                                   const attend_state state[4], const attend_view &view,
                                   float *shared, const attend_hull &hull)
{
    using at = attend_shared<WIDTH>;
    unsigned kv = view.kv_head[blockIdx.y];
    const attend_query *queries = (const attend_query *)(shared + at::queries);
    float *is_empty = shared + at::weights; /* of rows: 1 or 0 */

    for (int i = 0; i < 4; i++) {
        bool empty = state[i].max == -INFINITY;

        if (attend_column(0) == 0)
            is_empty[attend_row(i)] = empty ? 1 : 0;
        for (int g = 0; g < attend_sizes<WIDTH>::lanes && empty; g++)
            out[i][g] = 0;
    }
    for (int first = hull.from / TXD_ATTEND_BLOCK * TXD_ATTEND_BLOCK; first < hull.to;
         first += TXD_ATTEND_BLOCK) {
        __syncthreads();
        attend_load<WIDTH>(
            shared + at::keys, view.v + kv * view.key_rows * view.value_width,
            (size_t)first, TXD_ATTEND_BLOCK, view.keys, (int)view.value_width);
        __syncthreads();
        for (int column = 0; column < TXD_ATTEND_BLOCK; column++) {
            float lanes[attend_sizes<WIDTH>::lanes];

            attend_lanes<WIDTH>(lanes, shared + at::keys + column * at::stride);
            for (int i = 0; i < 4; i++)
                if (is_empty[attend_row(i)] != 0 &&
                    attend_uses(queries[attend_row(i)], first + column))
                    attend_add<WIDTH>(out[i], view.empty, lanes);
        }
    }
}

template <int WIDTH, typename Round>
static __device__ void attend_store(float *to, const attend_view &view, size_t query,
                                    const float *out, float sum)
{
    float *row = to + (blockIdx.y * view.queries + query) * view.value_width;

    ATTEND_UNROLL
    for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++) {
        size_t lane = (size_t)attend_lane<WIDTH>(g);

        if (lane < view.value_width)
            row[lane] = Round()(out[g] / sum);
    }
}

/* Block x of the grid has the x-th block of queries from the end, which has the most
 * keys where the mask is causal; y the head. */
template <int WIDTH, typename Round>
__global__ void __launch_bounds__(attend_sizes<WIDTH>::threads)
    attend_heads(attend_view view, float *to)
{
    using at = attend_shared<WIDTH>;
    size_t first_query = (size_t)(gridDim.x - 1 - blockIdx.x) * at::rows;
    attend_hull hull = view.hulls[first_query / TXD_ATTEND_BLOCK];
    float out[4][attend_sizes<WIDTH>::lanes];
    attend_state state[4];
    bool strange = false, empty = false;
    TXD_SHARED(float, shared);

    attend_load<WIDTH>(shared, view.q + blockIdx.y * view.queries * view.width,
                       first_query, at::rows, view.queries, (int)view.width);
    for (int r = (int)threadIdx.x; r < at::rows; r += (int)blockDim.x)
        ((attend_query *)(shared + at::queries))[r] =
            attend_query_of(view, first_query + r);
    attend_clear<WIDTH>(out);
    for (int i = 0; i < 4; i++)
        state[i] = {-INFINITY, 0};
    for (int first = hull.from / TXD_ATTEND_BLOCK * TXD_ATTEND_BLOCK; first < hull.to;
         first += TXD_ATTEND_BLOCK) {
        bool inner =
            first >= hull.inner_from && first + TXD_ATTEND_BLOCK <= hull.inner_to;

        attend_keys<WIDTH>(out, state, view, shared, first, inner, &strange);
    }
    for (int i = 0; i < 4; i++)
        empty |=
            state[i].max == -INFINITY && first_query + attend_row(i) < view.queries;
    if (view.empty != 0 && txd_block_any(empty))
        attend_fill<WIDTH>(out, state, view, shared, hull);
    for (int i = 0; i < 4; i++) {
        size_t query = first_query + attend_row(i);
        size_t at_row = blockIdx.y * view.queries + query;
        float base, factor, largest = state[i].max;

        factor = attend_close(&state[i], &base,
                              view.sink == NULL ? NULL : view.sink + blockIdx.y);
        for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++)
            out[i][g] *= factor;
        if (query >= view.queries)
            continue;
        attend_store<WIDTH, Round>(to, view, query, out[i],
                                   largest == -INFINITY ? 1 : state[i].sum);
        strange |= largest == -INFINITY ? view.empty != view.empty
                                        : !isfinite(state[i].sum) || !isfinite(base);
        if (attend_column(0) != 0)
            continue;
        view.max[at_row] = largest;
        view.base[at_row] = base;
        view.sum[at_row] = state[i].sum;
    }
    if (strange && view.strange != NULL)
        atomicMax(view.strange, 1);
}

template <int WIDTH, typename Round>
static txd_status launch(const attend_view &view, float *to)
{
    using at = attend_shared<WIDTH>;
    unsigned blocks = (unsigned)((view.queries + at::rows - 1) / at::rows);

    TXD_TRY(attend_room((const void *)attend_heads<WIDTH, Round>, at::floats));
    TXD_LAUNCH((attend_heads<WIDTH, Round>), dim3(blocks, view.heads),
               (unsigned)attend_sizes<WIDTH>::threads, at::floats * sizeof(float), view,
               to);
    return txd_cuda_check("attend");
}

template <int WIDTH> static txd_status launch_f32(const attend_view &view, float *to)
{
    return launch<WIDTH, txd_round_f32>(view, to);
}

template <int WIDTH> static txd_status launch_bf16(const attend_view &view, float *to)
{
    return launch<WIDTH, txd_round_bf16>(view, to);
}

/* Log-sum-exp and maximum, in double as the host has them. */
static __global__ void attend_tell(double *max, double *lse, attend_view view)
{
    size_t all = view.heads * view.queries;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < all;
         i += (size_t)gridDim.x * blockDim.x) {
        bool empty = view.base[i] == -INFINITY;

        max[i] = (double)view.max[i];
        lse[i] = empty ? (double)-INFINITY : (double)(view.base[i] + logf(view.sum[i]));
    }
}

static txd_status tell(const attend_view &view, const struct txd_attend_args *a)
{
    size_t all = view.heads * view.queries;
    double *out;

    if (a->max == NULL && a->lse == NULL)
        return TXD_OK;
    out = (double *)txd_cuda_result(2 * all * sizeof(double));
    if (out == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(attend_tell, txd_cuda_blocks(all, 256), 256u, 0, out, out + all, view);
    TXD_TRY(txd_cuda_check("attend"));
    if (a->max != NULL)
        TXD_TRY(txd_cuda_fetch(a->max, out, all * sizeof(double)));
    return a->lse == NULL ? TXD_OK
                          : txd_cuda_fetch(a->lse, out + all, all * sizeof(double));
}

static txd_status watch(attend_view *view)
{
    view->strange = (int *)txd_cuda_result(sizeof(int));
    if (view->strange == NULL)
        return TXD_ERR_MEMORY;
    return txd_cuda_try(
        "attend", cudaMemsetAsync(view->strange, 0, sizeof(int), txd_cuda_stream()));
}

template <typename Round> static txd_status attend_as(const struct txd_attend_args *a)
{
    attend_view view;
    int strange = 0;

    if (a->in.heads == 0 || a->in.queries == 0)
        return TXD_OK;
    TXD_TRY(attend_stage(&view, &a->in, Round()((float)a->in.fill)));
    if (a->finite != NULL)
        TXD_TRY(watch(&view));
    if (Round::rounds)
        TXD_TRY(ATTEND_BY_WIDTH(launch_bf16, view, view, (float *)a->out));
    else
        TXD_TRY(ATTEND_BY_WIDTH(launch_f32, view, view, (float *)a->out));
    TXD_TRY(tell(view, a));
    TXD_TRY(attend_measure(&view, a));
    if (a->finite == NULL)
        return TXD_OK;
    TXD_TRY(txd_cuda_fetch(&strange, view.strange, sizeof strange));
    *a->finite = strange == 0;
    return TXD_OK;
}

TXD_CUDA_ENTRIES(attend, attend)
