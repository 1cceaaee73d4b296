/* SPDX-License-Identifier: MIT
 *
 * Attention backward: gradients of queries and of sinks.
 */
#include "cuda/attend_back.h"

/* Shared memory, in floats: queries; gradients of the heads; keys or values; gradients
 * of scores; and queries' own. */
template <int WIDTH> struct attend_shared {
    static constexpr int stride = attend_sizes<WIDTH>::stride;
    static constexpr int rows = attend_sizes<WIDTH>::rows;
    static constexpr int d_out = rows * stride;
    static constexpr int keys = d_out + rows * stride;
    static constexpr int weights = keys + TXD_ATTEND_BLOCK * stride;
    static constexpr int queries = weights + rows * TXD_ATTEND_COLUMNS;
    static constexpr int floats =
        queries + rows * (int)(sizeof(attend_query) / sizeof(float));
};

/* A thread's part of its rows. */
struct attend_back_row {
    attend_state state;
    float base, mean;
};

/* The products of the tile at `first`: scale q.k, and the gradients of weights. Values
 * are in shared memory then. */
template <int WIDTH>
static __device__ void tile_products(float s[4][4], float d[4][4],
                                     const attend_view &view, float *shared, int first)
{
    using at = attend_shared<WIDTH>;
    unsigned kv = view.kv_head[blockIdx.y];
    int width = (int)view.width, value_width = (int)view.value_width;

    __syncthreads();
    attend_load<WIDTH>(shared + at::keys, view.k + kv * view.key_rows * view.width,
                       (size_t)first, TXD_ATTEND_BLOCK, view.keys, width);
    __syncthreads();
    attend_dots<WIDTH>(s, shared, shared + at::keys, width);
    __syncthreads();
    attend_load<WIDTH>(shared + at::keys,
                       view.v + kv * view.key_rows * view.value_width, (size_t)first,
                       TXD_ATTEND_BLOCK, view.keys, value_width);
    __syncthreads();
    attend_dots<WIDTH>(d, shared + at::d_out, shared + at::keys, value_width);
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int j = 0; j < 4; j++)
        s[i][j] *= view.scale;
}

/* First time: maxima, sums and means. */
template <int WIDTH>
static __device__ void sum_tile(attend_back_row rows[4], const attend_view &view,
                                float *shared, int first)
{
    using at = attend_shared<WIDTH>;
    const attend_query *queries = (const attend_query *)(shared + at::queries);
    float slope = attend_slope(view, blockIdx.y), s[4][4], d[4][4];

    tile_products<WIDTH>(s, d, view, shared, first);
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++) {
        const attend_query &query = queries[attend_row(i)];
        float factor;

        ATTEND_UNROLL
        for (int j = 0; j < 4; j++) {
            int key = first + attend_column(j);

            s[i][j] = attend_uses(query, key)
                          ? attend_masked(view, query, slope, key, s[i][j],
                                          attend_sees(query, key))
                          : -INFINITY;
        }
        factor = attend_step(&rows[i].state, s[i]);
        rows[i].mean *= factor;
        ATTEND_UNROLL
        for (int j = 0; j < 4; j++)
            if (attend_uses(query, first + attend_column(j)))
                rows[i].mean = fmaf(s[i][j], d[i][j], rows[i].mean);
    }
}

/* Second time: gradients of scores, and what they give to the queries. */
template <int WIDTH>
static __device__ void back_tile(float d_q[4][attend_sizes<WIDTH>::lanes],
                                 const attend_back_row rows[4], const attend_view &view,
                                 float *shared, int first, bool inner)
{
    using at = attend_shared<WIDTH>;
    const attend_query *queries = (const attend_query *)(shared + at::queries);
    unsigned kv = view.kv_head[blockIdx.y];
    float slope = attend_slope(view, blockIdx.y), s[4][4], d[4][4];

    tile_products<WIDTH>(s, d, view, shared, first);
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++) {
        const attend_query &query = queries[attend_row(i)];

        ATTEND_UNROLL
        for (int j = 0; j < 4; j++) {
            int key = first + attend_column(j), row = attend_row(i);
            float x, w, d_s = 0;

            if (attend_uses(query, key) && attend_sees(query, key)) {
                x = attend_masked(view, query, slope, key, s[i][j], true);
                w = attend_weight(view, x, rows[i].base, rows[i].state.sum);
                d_s = attend_score_back(view, w, d[i][j], rows[i].mean, rows[i].base,
                                        s[i][j]);
            }
            shared[at::weights + row * TXD_ATTEND_COLUMNS + attend_column(j)] = d_s;
        }
    }
    __syncthreads();
    attend_load<WIDTH>(shared + at::keys, view.k + kv * view.key_rows * view.width,
                       (size_t)first, TXD_ATTEND_BLOCK, view.keys, (int)view.width);
    __syncthreads();
    attend_mix<WIDTH>(d_q, shared + at::weights, shared + at::keys, inner,
                      [=](int row, int column) {
                          return attend_uses(queries[row], first + column) &&
                                 attend_sees(queries[row], first + column);
                      });
}

/* Threads of a row agree on what it is. */
static __device__ void close_rows(attend_back_row rows[4], const attend_view &view,
                                  const attend_back_view &back, size_t first_query)
{
    const float *sink = view.sink == NULL ? NULL : view.sink + blockIdx.y;

    for (int i = 0; i < 4; i++) {
        size_t query = first_query + attend_row(i);
        size_t row = blockIdx.y * view.queries + query;
        float factor = attend_close(&rows[i].state, &rows[i].base, sink);

        rows[i].mean = attend_across(rows[i].mean, txd_how_sum()) * factor;
        rows[i].mean = rows[i].base == -INFINITY ? 0 : rows[i].mean / rows[i].state.sum;
        if (attend_column(0) != 0 || query >= view.queries)
            continue;
        view.base[row] = rows[i].base;
        view.sum[row] = rows[i].state.sum;
        back.mean[row] = rows[i].mean;
    }
}

template <int WIDTH, typename Round>
__global__ void __launch_bounds__(attend_sizes<WIDTH>::threads)
    attend_back_queries(attend_view view, attend_back_view back)
{
    using at = attend_shared<WIDTH>;
    size_t first_query = (size_t)(gridDim.x - 1 - blockIdx.x) * at::rows;
    attend_hull hull = view.hulls[first_query / TXD_ATTEND_BLOCK];
    size_t head_row = blockIdx.y * view.queries;
    int begin = hull.from / TXD_ATTEND_BLOCK * TXD_ATTEND_BLOCK;
    float d_q[4][attend_sizes<WIDTH>::lanes];
    attend_back_row rows[4];
    TXD_SHARED(float, shared);

    attend_load<WIDTH>(shared, view.q + head_row * view.width, first_query, at::rows,
                       view.queries, (int)view.width);
    attend_load<WIDTH>(shared + at::d_out, back.d_out + head_row * view.value_width,
                       first_query, at::rows, view.queries, (int)view.value_width);
    for (int r = (int)threadIdx.x; r < at::rows; r += (int)blockDim.x)
        ((attend_query *)(shared + at::queries))[r] =
            attend_query_of(view, first_query + r);
    attend_clear<WIDTH>(d_q);
    for (int i = 0; i < 4; i++)
        rows[i] = {{-INFINITY, 0}, -INFINITY, 0};
    for (int first = begin; first < hull.to; first += TXD_ATTEND_BLOCK)
        sum_tile<WIDTH>(rows, view, shared, first);
    close_rows(rows, view, back, first_query);
    for (int first = begin; first < hull.to; first += TXD_ATTEND_BLOCK) {
        bool inner =
            first >= hull.inner_from && first + TXD_ATTEND_BLOCK <= hull.inner_to;

        back_tile<WIDTH>(d_q, rows, view, shared, first, inner);
    }
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++) {
        size_t query = first_query + attend_row(i);
        size_t lane = (size_t)attend_lane<WIDTH>(g);

        if (query < view.queries && lane < view.width)
            back.d_q[(head_row + query) * view.width + lane] =
                Round()(view.scale * d_q[i][g]);
    }
}

template <int WIDTH, typename Round>
static txd_status launch(const attend_view &view, const attend_back_view &back)
{
    using at = attend_shared<WIDTH>;
    unsigned blocks = (unsigned)((view.queries + at::rows - 1) / at::rows);

    TXD_TRY(attend_room((const void *)attend_back_queries<WIDTH, Round>, at::floats));
    TXD_LAUNCH((attend_back_queries<WIDTH, Round>), dim3(blocks, view.heads),
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

/* One block per head: what the sink has of each row, times the row's mean. */
template <typename Round>
static __global__ void attend_back_sinks(float *d_sink, attend_view view,
                                         attend_back_view back)
{
    float sum = 0, sink = view.sink[blockIdx.x];

    for (size_t q = threadIdx.x; q < view.queries; q += blockDim.x) {
        size_t row = blockIdx.x * view.queries + q;

        if (view.base[row] != -INFINITY)
            sum += expf(sink - view.base[row]) / view.sum[row] * back.mean[row];
    }
    sum = txd_block_sum(sum);
    if (threadIdx.x == 0)
        d_sink[blockIdx.x] = Round()(d_sink[blockIdx.x] - sum);
}

template <typename Round>
static txd_status attend_back_as(const struct txd_attend_back_args *a)
{
    attend_view view;
    attend_back_view back = {(const float *)a->d_out, NULL, (float *)a->d_q,
                             (float *)a->d_k, (float *)a->d_v};

    if (a->in.heads == 0 || a->in.queries == 0)
        return TXD_OK;
    TXD_TRY(attend_stage(&view, &a->in, Round()((float)a->in.fill)));
    back.mean =
        (float *)txd_cuda_workspace(a->in.heads * a->in.queries * sizeof(float));
    if (back.mean == NULL)
        return TXD_ERR_MEMORY;
    if (Round::rounds)
        TXD_TRY(ATTEND_BY_WIDTH(launch_bf16, view, view, back));
    else
        TXD_TRY(ATTEND_BY_WIDTH(launch_f32, view, view, back));
    if (a->d_sink != NULL) {
        TXD_LAUNCH((attend_back_sinks<Round>), view.heads, 256u, 0, (float *)a->d_sink,
                   view, back);
        TXD_TRY(txd_cuda_check("attend_back"));
    }
    return attend_back_keys(&view, &back, Round::rounds);
}

TXD_CUDA_ENTRIES(attend_back, attend_back)
