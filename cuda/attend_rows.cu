/* SPDX-License-Identifier: MIT
 *
 * A second pass over the keys, where somebody looks: the same scores once more, now
 * with the maximum and the sum of each row at hand.
 */
#include "cuda/attend_pool.h"
#include "cuda/attend_rows.h"

/* What is asked for, passed by value. */
struct attend_asked {
    double *rows; /* (heads, queries, TXD_ROW_COUNT) or NULL */
    struct txd_cuda_spans seen;
    struct txd_hidden_sides sides;
    int64_t place; /* of query 0 among the keys */
    struct attend_map map;
};

template <int WIDTH> struct attend_shared {
    static constexpr int stride = attend_sizes<WIDTH>::stride;
    static constexpr int rows = attend_sizes<WIDTH>::rows;
    static constexpr int keys = rows * stride;
    static constexpr int queries = keys + TXD_ATTEND_BLOCK * stride;
    static constexpr int lines =
        queries + rows * (int)(sizeof(attend_query) / sizeof(float));
    static constexpr int floats =
        lines + rows * (int)(sizeof(attend_line) / sizeof(float));
};

static __device__ void begin_line(attend_line *line, const attend_view &view,
                                  const attend_asked &asked, size_t query)
{
    bool is = query < view.queries, told = is && asked.rows != NULL;
    size_t at = blockIdx.y * view.queries + query;

    line->base = is ? view.base[at] : -INFINITY;
    line->sum = is ? view.sum[at] : 1;
    line->log_sum = log((double)line->sum);
    line->seen_from = told ? asked.seen.begin[query] : 0;
    line->seen_to = told ? asked.seen.end[query] : 0;
    line->first = line->self = 0;
    attend_hidden_clear(&line->hidden);
}

/* What the row says of a used cell but whether it is hidden. */
static __device__ inline void take(attend_share *share, attend_line *line, float w,
                                   double log_w, int key, int64_t place)
{
    share->sum += (double)w;
    share->entropy += attend_entropy(w, log_w);
    share->distance += (double)w * (double)(place - key);
    share->strange += !isfinite(w);
    share->peak = attend_higher(share->peak, {w, key});
    if (key == line->seen_from && line->seen_from < line->seen_to)
        line->first = w;
    if (key == place)
        line->self = w;
}

/* One thread's part of a row in the tile at `first`. s: scores, then weights. */
static __device__ inline void
row_of_tile(attend_share *share, float s[4], attend_line *line, const attend_view &view,
            const attend_asked &asked, const attend_query &query, size_t q, int first)
{
    float slope = attend_slope(view, blockIdx.y);
    attend_hidden hidden;
    bool hides = false;

    attend_hidden_clear(&hidden);
    ATTEND_UNROLL
    for (int j = 0; j < 4; j++) {
        int key = first + attend_column(j);
        bool used = attend_uses(query, key), seen = attend_sees(query, key);
        float x =
            used ? attend_masked(view, query, slope, key, view.scale * s[j], seen) : 0;
        double log_w = line->base == -INFINITY
                           ? log((double)view.empty)
                           : (double)x - (double)line->base - line->log_sum;

        s[j] = used ? attend_weight(view, x, line->base, line->sum) : 0;
        if (!used || asked.rows == NULL)
            continue;
        take(share, line, s[j], log_w, key, asked.place + (int64_t)q);
        if (key >= line->seen_from && key < line->seen_to)
            continue;
        hides = true;
        attend_hidden_add(&hidden, s[j], key,
                          txd_cuda_span_hides(asked.seen, asked.sides, q, (size_t)key));
    }
    if (__ballot_sync(TXD_ALL_LANES, hides) != 0)
        attend_hidden_merge(line, hidden);
}

static __device__ inline attend_share whole(attend_share share)
{
    txd_how_sum sum;

    share.sum = attend_across(share.sum, sum);
    share.entropy = attend_across(share.entropy, sum);
    share.distance = attend_across(share.distance, sum);
    share.strange = attend_across(share.strange, sum);
    share.peak = attend_highest(share.peak);
    return share;
}

template <int WIDTH>
__global__ void __launch_bounds__(attend_sizes<WIDTH>::threads)
    attend_look(attend_view view, attend_asked asked)
{
    using at = attend_shared<WIDTH>;
    size_t first_query = (size_t)(gridDim.x - 1 - blockIdx.x) * at::rows;
    attend_hull hull = view.hulls[first_query / TXD_ATTEND_BLOCK];
    unsigned kv = view.kv_head[blockIdx.y];
    attend_share shares[4];
    TXD_SHARED(float, shared);
    attend_query *queries = (attend_query *)(shared + at::queries);
    attend_line *lines = (attend_line *)(shared + at::lines);

    attend_load<WIDTH>(shared, view.q + blockIdx.y * view.queries * view.width,
                       first_query, at::rows, view.queries, (int)view.width);
    for (int r = (int)threadIdx.x; r < at::rows; r += (int)blockDim.x) {
        queries[r] = attend_query_of(view, first_query + r);
        begin_line(&lines[r], view, asked, first_query + r);
    }
    for (int i = 0; i < 4; i++)
        shares[i] = {0, 0, 0, {-INFINITY, -1}, 0};
    for (int first = hull.from / TXD_ATTEND_BLOCK * TXD_ATTEND_BLOCK; first < hull.to;
         first += TXD_ATTEND_BLOCK) {
        float s[4][4];

        __syncthreads();
        attend_load<WIDTH>(shared + at::keys, view.k + kv * view.key_rows * view.width,
                           (size_t)first, TXD_ATTEND_BLOCK, view.keys, (int)view.width);
        __syncthreads();
        attend_dots<WIDTH>(s, shared, shared + at::keys, (int)view.width);
        ATTEND_UNROLL
        for (int i = 0; i < 4; i++) {
            int row = attend_row(i);

            row_of_tile(&shares[i], s[i], &lines[row], view, asked, queries[row],
                        first_query + row, first);
        }
        if (asked.map.sums != NULL)
            attend_pool(asked.map, s, first_query, (size_t)first);
    }
    __syncthreads();
    for (int i = 0; i < 4 && asked.rows != NULL; i++) {
        attend_share share = whole(shares[i]);
        size_t query = first_query + attend_row(i);
        size_t row = blockIdx.y * view.queries + query;

        if (attend_column(0) == 0 && query < view.queries)
            attend_row_store(asked.rows + row * TXD_ROW_COUNT, lines[attend_row(i)],
                             share, view.max[row]);
    }
}

template <int WIDTH>
static txd_status look(const attend_view &view, const attend_asked &asked)
{
    using at = attend_shared<WIDTH>;
    unsigned blocks = (unsigned)((view.queries + at::rows - 1) / at::rows);

    TXD_TRY(attend_room((const void *)attend_look<WIDTH>, at::floats));
    TXD_LAUNCH((attend_look<WIDTH>), dim3(blocks, view.heads),
               (unsigned)attend_sizes<WIDTH>::threads, at::floats * sizeof(float), view,
               asked);
    return txd_cuda_check("attend");
}

/* ---- the heatmap ---- */

/* The lines of a row of cells, in order. */
static __global__ void attend_pooled(double *sums, double *tops, attend_map map,
                                     size_t heads)
{
    size_t cells = map.queries.cells * map.keys.cells;
    txd_how_max larger;

    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < heads * cells;
         i += (size_t)gridDim.x * blockDim.x) {
        size_t head = i / cells, row = i % cells / map.keys.cells;
        size_t begin = attend_cell_begin(row, map.queries) / ATTEND_STRIP;
        size_t end = (attend_cell_begin(row + 1, map.queries) - 1) / ATTEND_STRIP;
        double sum = 0;
        float top = 0;

        for (size_t strip = begin; strip <= end; strip++) {
            size_t at =
                (head * map.lines + strip + row) * map.keys.cells + i % map.keys.cells;

            sum += map.sums[at];
            top = larger(map.tops[at], top);
        }
        sums[i] = sum;
        tops[i] = (double)top;
    }
}

static txd_status make_map(attend_map *map, const attend_view *view,
                           const struct txd_attend_pool *pool)
{
    size_t strips = (view->queries + ATTEND_STRIP - 1) / ATTEND_STRIP, count;
    char *memory;

    map->queries = {pool->query_cells, view->queries};
    map->keys = {pool->key_cells, view->keys};
    map->lines = strips + pool->query_cells;
    map->padded = (const uint8_t *)txd_cuda_stage(pool->padded, view->queries);
    count = view->heads * map->lines * pool->key_cells;
    memory = (char *)txd_cuda_workspace(count * (sizeof(double) + sizeof(float)));
    if (map->padded == NULL || memory == NULL)
        return TXD_ERR_MEMORY;
    map->sums = (double *)memory;
    map->tops = (float *)(memory + count * sizeof(double));
    return txd_cuda_try(
        "attend", cudaMemsetAsync(memory, 0, count * (sizeof(double) + sizeof(float)),
                                  txd_cuda_stream()));
}

static txd_status fetch_map(const attend_map &map, const attend_view *view,
                            const struct txd_attend_pool *pool)
{
    size_t count = view->heads * pool->query_cells * pool->key_cells;
    double *out = (double *)txd_cuda_result(2 * count * sizeof(double));

    if (out == NULL)
        return TXD_ERR_MEMORY;
    TXD_LAUNCH(attend_pooled, txd_cuda_blocks(count, 256), 256u, 0, out, out + count,
               map, (size_t)view->heads);
    TXD_TRY(txd_cuda_check("attend"));
    TXD_TRY(txd_cuda_fetch(pool->sums, out, count * sizeof(double)));
    return txd_cuda_fetch(pool->tops, out + count, count * sizeof(double));
}

txd_status attend_measure(const attend_view *view, const struct txd_attend_args *a)
{
    size_t bytes = view->heads * view->queries * TXD_ROW_COUNT * sizeof(double);
    attend_asked asked = attend_asked();

    if (a->rows == NULL && a->pool == NULL)
        return TXD_OK;
    asked.sides = a->sides;
    asked.place = a->at.first_query;
    if (a->rows != NULL) {
        TXD_TRY(txd_cuda_spans_stage(&asked.seen, &a->seen, view->queries));
        asked.rows = (double *)txd_cuda_result(bytes);
        if (asked.rows == NULL)
            return TXD_ERR_MEMORY;
    }
    if (a->pool != NULL)
        TXD_TRY(make_map(&asked.map, view, a->pool));
    TXD_TRY(ATTEND_BY_WIDTH(look, *view, *view, asked));
    if (a->rows != NULL)
        TXD_TRY(txd_cuda_fetch(a->rows, asked.rows, bytes));
    return a->pool == NULL ? TXD_OK : fetch_map(asked.map, view, a->pool);
}
