/* SPDX-License-Identifier: MIT
 *
 * Attention backward: gradients of keys and values. A block of threads has the keys of
 * one block, and goes over the queries of its group's heads, head after head, so that
 * each sum has one order.
 */
#include "cuda/attend_back.h"

/* What is known of a query whose row was summed up. */
struct attend_back_query {
    attend_query cells;
    float base, sum, mean;
};

/* Shared memory, in floats: keys; values; queries or gradients of the heads; weights or
 * gradients of scores; and queries' own. */
template <int WIDTH> struct attend_shared {
    static constexpr int stride = attend_sizes<WIDTH>::stride;
    static constexpr int rows = attend_sizes<WIDTH>::rows;
    static constexpr int values = rows * stride;
    static constexpr int other = values + rows * stride;
    static constexpr int weights = other + TXD_ATTEND_BLOCK * stride;
    static constexpr int queries = weights + rows * TXD_ATTEND_COLUMNS;
    static constexpr int floats =
        queries + TXD_ATTEND_BLOCK * (int)(sizeof(attend_back_query) / sizeof(float));
};

/* Queries first .. first + TXD_ATTEND_BLOCK - 1 of a head. */
struct attend_queries {
    unsigned head;
    size_t first;
};

template <int WIDTH>
static __device__ void load_queries(float *shared, const attend_view &view,
                                    const attend_back_view &back,
                                    const attend_queries &at_queries)
{
    using at = attend_shared<WIDTH>;
    attend_back_query *queries = (attend_back_query *)(shared + at::queries);
    size_t head_row = at_queries.head * view.queries;

    attend_load<WIDTH>(shared + at::other, view.q + head_row * view.width,
                       at_queries.first, TXD_ATTEND_BLOCK, view.queries,
                       (int)view.width);
    for (int r = (int)threadIdx.x; r < TXD_ATTEND_BLOCK; r += (int)blockDim.x) {
        size_t query = at_queries.first + r;
        bool is = query < view.queries;

        queries[r].cells = attend_query_of(view, query);
        queries[r].base = is ? view.base[head_row + query] : 0;
        queries[r].sum = is ? view.sum[head_row + query] : 1;
        queries[r].mean = is ? back.mean[head_row + query] : 0;
    }
}

/* Weights and gradients of scores of a thread's cells, 0 where there is none. */
static __device__ inline void cells_back(float w[4][4], float d[4][4],
                                         const attend_view &view,
                                         const attend_back_query *queries,
                                         unsigned head, int first_key)
{
    float slope = attend_slope(view, head);

    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int j = 0; j < 4; j++) {
        const attend_back_query &q = queries[attend_column(j)];
        int key = first_key + attend_row(i);
        bool used = attend_uses(q.cells, key);
        bool seen = used && attend_sees(q.cells, key);
        float score = view.scale * w[i][j], x = 0;

        if (used)
            x = attend_masked(view, q.cells, slope, key, score, seen);
        w[i][j] = used ? attend_weight(view, x, q.base, q.sum) : 0;
        d[i][j] =
            seen ? attend_score_back(view, w[i][j], d[i][j], q.mean, q.base, score) : 0;
    }
}

static __device__ inline void keep(float *weights, const float x[4][4])
{
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int j = 0; j < 4; j++)
        weights[attend_row(i) * TXD_ATTEND_COLUMNS + attend_column(j)] = x[i][j];
}

/* One block of queries. */
template <int WIDTH>
static __device__ void
queries_back(float d_k[4][attend_sizes<WIDTH>::lanes],
             float d_v[4][attend_sizes<WIDTH>::lanes], const attend_view &view,
             const attend_back_view &back, float *shared,
             const attend_queries &at_queries, int first_key, bool inner)
{
    using at = attend_shared<WIDTH>;
    const attend_back_query *queries =
        (const attend_back_query *)(shared + at::queries);
    size_t head_row = at_queries.head * view.queries;
    float w[4][4], d[4][4];

    __syncthreads();
    load_queries<WIDTH>(shared, view, back, at_queries);
    __syncthreads();
    attend_dots<WIDTH>(w, shared, shared + at::other, (int)view.width);
    __syncthreads();
    attend_load<WIDTH>(shared + at::other, back.d_out + head_row * view.value_width,
                       at_queries.first, TXD_ATTEND_BLOCK, view.queries,
                       (int)view.value_width);
    __syncthreads();
    attend_dots<WIDTH>(d, shared + at::values, shared + at::other,
                       (int)view.value_width);
    cells_back(w, d, view, queries, at_queries.head, first_key);
    keep(shared + at::weights, w);
    __syncthreads();
    attend_mix<WIDTH>(d_v, shared + at::weights, shared + at::other, inner,
                      [=](int row, int column) {
                          return attend_uses(queries[column].cells, first_key + row);
                      });
    __syncthreads();
    keep(shared + at::weights, d);
    attend_load<WIDTH>(shared + at::other, view.q + head_row * view.width,
                       at_queries.first, TXD_ATTEND_BLOCK, view.queries,
                       (int)view.width);
    __syncthreads();
    attend_mix<WIDTH>(d_k, shared + at::weights, shared + at::other, inner,
                      [=](int row, int column) {
                          return attend_uses(queries[column].cells, first_key + row) &&
                                 attend_sees(queries[column].cells, first_key + row);
                      });
}

template <int WIDTH, typename Round>
static __device__ void
add_rows(float *to, const float sums[4][attend_sizes<WIDTH>::lanes],
         const attend_view &view, size_t first_key, size_t width, float factor)
{
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++) {
        size_t key = first_key + attend_row(i);
        size_t lane = (size_t)attend_lane<WIDTH>(g);
        float *cell = to + (blockIdx.y * view.key_rows + key) * width + lane;

        if (key < view.keys && lane < width)
            *cell = Round()(*cell + factor * sums[i][g]);
    }
}

/* Block x of the grid has the x-th block of keys, y the head of keys and values. */
template <int WIDTH, typename Round>
__global__ void __launch_bounds__(attend_sizes<WIDTH>::threads)
    attend_back_of_keys(attend_view view, attend_back_view back)
{
    using at = attend_shared<WIDTH>;
    size_t first_key = (size_t)blockIdx.x * at::rows;
    int first = (int)first_key, end = first + at::rows;
    float d_k[4][attend_sizes<WIDTH>::lanes], d_v[4][attend_sizes<WIDTH>::lanes];
    TXD_SHARED(float, shared);

    attend_load<WIDTH>(shared, view.k + blockIdx.y * view.key_rows * view.width,
                       first_key, at::rows, view.keys, (int)view.width);
    attend_load<WIDTH>(shared + at::values,
                       view.v + blockIdx.y * view.key_rows * view.value_width,
                       first_key, at::rows, view.keys, (int)view.value_width);
    attend_clear<WIDTH>(d_k);
    attend_clear<WIDTH>(d_v);
    for (unsigned head = 0; head < view.heads; head++) {
        if (view.kv_head[head] != blockIdx.y)
            continue;
        for (unsigned b = 0; b < view.blocks; b++) {
            attend_hull hull = view.hulls[b];
            attend_queries queries = {head, (size_t)b * TXD_ATTEND_BLOCK};

            if (hull.to <= first || hull.from >= end)
                continue;
            queries_back<WIDTH>(d_k, d_v, view, back, shared, queries, first,
                                first >= hull.inner_from && end <= hull.inner_to);
        }
    }
    add_rows<WIDTH, Round>(back.d_k, d_k, view, first_key, view.width, view.scale);
    add_rows<WIDTH, Round>(back.d_v, d_v, view, first_key, view.value_width, 1);
}

template <int WIDTH, typename Round>
static txd_status launch(const attend_view &view, const attend_back_view &back)
{
    using at = attend_shared<WIDTH>;
    unsigned blocks = (unsigned)((view.keys + at::rows - 1) / at::rows);

    TXD_TRY(attend_room((const void *)attend_back_of_keys<WIDTH, Round>, at::floats));
    TXD_LAUNCH((attend_back_of_keys<WIDTH, Round>), dim3(blocks, view.kv_heads),
               (unsigned)attend_sizes<WIDTH>::threads, at::floats * sizeof(float), view,
               back);
    return txd_cuda_check("attend_back");
}

template <int WIDTH>
static txd_status launch_f32(const attend_view &view, const attend_back_view &back)
{
    return launch<WIDTH, txd_round_f32>(view, back);
}

template <int WIDTH>
static txd_status launch_bf16(const attend_view &view, const attend_back_view &back)
{
    return launch<WIDTH, txd_round_bf16>(view, back);
}

txd_status attend_back_keys(const attend_view *view, const attend_back_view *back,
                            bool rounds)
{
    if (view->keys == 0)
        return TXD_OK;
    return rounds ? ATTEND_BY_WIDTH(launch_bf16, *view, *view, *back)
                  : ATTEND_BY_WIDTH(launch_f32, *view, *view, *back);
}
