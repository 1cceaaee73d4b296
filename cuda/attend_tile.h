/* SPDX-License-Identifier: MIT
 *
 * What a block of threads does with one tile of attention (attend.h).
 */
#ifndef TXD_CUDA_ATTEND_TILE_H
#define TXD_CUDA_ATTEND_TILE_H

#include "cuda/attend.h"

/* The rows and columns of a thread. */
static __device__ inline int attend_row(int i)
{
    return (int)threadIdx.x / 16 * 4 + i;
}

static __device__ inline int attend_column(int j)
{
    return (int)threadIdx.x % 16 + 16 * j;
}

/* The lanes of a head that `g` of a thread's sums are of. */
template <int WIDTH> static __device__ inline int attend_lane(int g)
{
    constexpr int vector = attend_sizes<WIDTH>::vector;

    return (g / vector * 16 + (int)threadIdx.x % 16) * vector + g % vector;
}

/* Over the 16 threads that share rows; every one has the result. */
template <typename T, typename How> __device__ T attend_across(T value, How how)
{
    for (int lanes = 8; lanes > 0; lanes /= 2)
        value = how(value, __shfl_xor_sync(TXD_ALL_LANES, value, lanes));
    return value;
}

/* Rows first .. first + count - 1 of `from` (all, width); 0 beyond the last one, and
 * beyond the width up to a multiple of 4. */
template <int WIDTH>
static __device__ void attend_load(float *to, const float *from, size_t first,
                                   int count, size_t all, int width)
{
    constexpr int stride = attend_sizes<WIDTH>::stride;
    int vectors = (width + 3) / 4;
    bool dense = width % 4 == 0;

    for (int i = (int)threadIdx.x; i < count * vectors; i += (int)blockDim.x) {
        int row = i / vectors, lane = i % vectors * 4;
        const float *x = from + (first + row) * width + lane;
        float4 value = make_float4(0, 0, 0, 0);

        if (first + row < all) {
            if (dense) {
                value = *(const float4 *)x;
            } else {
                value.x = x[0];
                value.y = lane + 1 < width ? x[1] : 0;
                value.z = lane + 2 < width ? x[2] : 0;
                value.w = lane + 3 < width ? x[3] : 0;
            }
        }
        *(float4 *)(to + row * stride + lane) = value;
    }
}

/* s = rows of a times rows of b, over `width` lanes in order. */
template <int WIDTH>
static __device__ inline void attend_dots(float s[4][4], const float *a, const float *b,
                                          int width)
{
    constexpr int stride = attend_sizes<WIDTH>::stride;

    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int j = 0; j < 4; j++)
        s[i][j] = 0;
    ATTEND_UNROLL_4
    for (int d = 0; d < width; d += 4) {
        float4 x[4], y[4];

        ATTEND_UNROLL
        for (int i = 0; i < 4; i++) {
            x[i] = *(const float4 *)(a + attend_row(i) * stride + d);
            y[i] = *(const float4 *)(b + attend_column(i) * stride + d);
        }
        ATTEND_UNROLL
        for (int i = 0; i < 4; i++)
            ATTEND_UNROLL
        for (int j = 0; j < 4; j++) {
            s[i][j] = fmaf(x[i].x, y[j].x, s[i][j]);
            s[i][j] = fmaf(x[i].y, y[j].y, s[i][j]);
            s[i][j] = fmaf(x[i].z, y[j].z, s[i][j]);
            s[i][j] = fmaf(x[i].w, y[j].w, s[i][j]);
        }
    }
}

/* One more product: sums += weight * x for each lane of the thread. */
template <int WIDTH>
static __device__ inline void attend_add(float *sums, float weight, const float *x)
{
    ATTEND_UNROLL
    for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++)
        sums[g] = fmaf(weight, x[g], sums[g]);
}

template <int WIDTH>
static __device__ inline void attend_lanes(float *x, const float *row)
{
    constexpr int vector = attend_sizes<WIDTH>::vector;

    ATTEND_UNROLL
    for (int g = 0; g < attend_sizes<WIDTH>::lanes; g += vector) {
        const float *from = row + attend_lane<WIDTH>(g);

        if (vector == 4) {
            float4 four = *(const float4 *)from;

            x[g] = four.x;
            x[g + 1] = four.y;
            x[g + 2] = four.z;
            x[g + (vector > 3 ? 3 : 0)] = four.w;
        } else {
            float2 two = *(const float2 *)from;

            x[g] = two.x;
            x[g + 1] = two.y;
        }
    }
}

/* sums (a thread's rows and lanes) += weights (rows, TXD_ATTEND_COLUMNS) times x (
 * TXD_ATTEND_BLOCK rows), columns in order; of those for which has(row, column) alone,
 * unless `all` have: others are never multiplied. */
template <int WIDTH, typename Has>
static __device__ inline void attend_mix(float sums[4][attend_sizes<WIDTH>::lanes],
                                         const float *weights, const float *x, bool all,
                                         Has has)
{
    for (int first = 0; first < TXD_ATTEND_BLOCK; first += 4) {
        alignas(16) float part[4][4];

        ATTEND_UNROLL
        for (int i = 0; i < 4; i++)
            *(float4 *)part[i] =
                *(const float4 *)(weights + attend_row(i) * TXD_ATTEND_COLUMNS + first);
        ATTEND_UNROLL
        for (int j = 0; j < 4; j++) {
            float lanes[attend_sizes<WIDTH>::lanes];

            attend_lanes<WIDTH>(lanes, x + (first + j) * attend_sizes<WIDTH>::stride);
            ATTEND_UNROLL
            for (int i = 0; i < 4; i++)
                if (all || has(attend_row(i), first + j))
                    attend_add<WIDTH>(sums[i], part[i][j], lanes);
        }
    }
}

template <int WIDTH>
static __device__ inline void attend_clear(float sums[4][attend_sizes<WIDTH>::lanes])
{
    ATTEND_UNROLL
    for (int i = 0; i < 4; i++)
        ATTEND_UNROLL
    for (int g = 0; g < attend_sizes<WIDTH>::lanes; g++)
        sums[i][g] = 0;
}

/* ---- a cell ---- */

/* What is known of a query. */
struct attend_query {
    int32_t visible_from, visible_to, used_from, used_to, position;
};

/* One that uses no key, where there is none such. */
static __device__ inline attend_query attend_query_of(const attend_view &view, size_t q)
{
    attend_query query = {0, 0, 0, 0, 0};

    if (q >= view.queries)
        return query;
    query.visible_from = view.visible.begin[q];
    query.visible_to = view.visible.end[q];
    query.used_from = view.used.begin[q];
    query.used_to = view.used.end[q];
    query.position = view.slopes != NULL ? view.query_positions[q] : 0;
    return query;
}

static __device__ inline bool attend_sees(const attend_query &query, int key)
{
    return key >= query.visible_from && key < query.visible_to;
}

static __device__ inline bool attend_uses(const attend_query &query, int key)
{
    return key >= query.used_from && key < query.used_to;
}

/* What the softmax reads of a used cell, of scale q.k. */
static __device__ inline float attend_masked(const attend_view &view,
                                             const attend_query &query, float slope,
                                             int key, float score, bool seen)
{
    float x = score;

    if (!seen)
        return view.fill;
    if (view.cap != 0)
        x = view.cap * tanhf(x / view.cap);
    if (view.slopes != NULL) {
        long long away = (long long)view.key_positions[key] - query.position;

        x -= slope * (float)(away < 0 ? -away : away);
    }
    return x;
}

static __device__ inline float attend_slope(const attend_view &view, unsigned head)
{
    return view.slopes != NULL ? (float)view.slopes[head] : 0;
}

/* The weight of a used cell, of what the softmax reads there. */
static __device__ inline float attend_weight(const attend_view &view, float masked,
                                             float base, float sum)
{
    return base == -INFINITY ? view.empty : expf(masked - base) / sum;
}

/* ---- a row while its keys go by ---- */

struct attend_state {
    float max, sum; /* sum: of this thread's columns */
};

/* Takes the masked scores of a row's columns, -inf where one is not used; makes of them
 * exp(score - maximum). Returns what sums so far are to be multiplied with. */
static __device__ inline float attend_step(attend_state *state, float x[4])
{
    float largest = state->max, base, factor, sum = 0;
    txd_how_max larger;

    ATTEND_UNROLL
    for (int j = 0; j < 4; j++)
        largest = larger(x[j], largest);
    largest = attend_across(largest, larger);
    base = largest == -INFINITY ? 0 : largest;
    factor = state->max == largest ? 1 : expf(state->max - base);
    ATTEND_UNROLL
    for (int j = 0; j < 4; j++) {
        x[j] = expf(x[j] - base);
        sum += x[j];
    }
    state->sum = state->sum * factor + sum;
    state->max = largest;
    return factor;
}

/* Once all keys went by: the row's whole sum, with the sink; returns what other sums
 * are to be multiplied with. *base as in attend_view. */
static __device__ inline float attend_close(attend_state *state, float *base,
                                            const float *sink)
{
    float factor = 1;

    state->sum = attend_across(state->sum, txd_how_sum());
    *base = state->max;
    if (sink == NULL || state->max == -INFINITY)
        return factor;
    if (*sink > state->max) {
        *base = *sink;
        factor = expf(state->max - *base);
    }
    state->sum = state->sum * factor + expf(*sink - *base);
    return factor;
}

#endif
