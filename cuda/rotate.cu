/* SPDX-License-Identifier: MIT
 *
 * Head layout and rotation by positions (formulas: ops/args.h; the reference:
 * ops/ref_rest.c). Angles are taken in double: a float angle at position 100000 is off
 * by 0.004 rad.
 */
#include "cuda/quads.h"

/* The most planes (batch rows and heads) that the second side of a grid counts. */
#define PLANES 32768u

static unsigned planes_of(size_t count)
{
    return count < PLANES ? (unsigned)count : PLANES;
}

/* ---- heads ---- */

/* Row (b, t, h) of one layout is row (b, h, t) of the other. A plane is a (b, h). */
static __global__ void swap_heads(float *out, const float *x, struct txd_heads_args a,
                                  bool split, bool fit)
{
    size_t fours = (a.width + TXD_QUAD - 1) / TXD_QUAD;
    size_t step = (size_t)gridDim.x * blockDim.x;

    for (size_t plane = blockIdx.y; plane < a.batch * a.heads; plane += gridDim.y)
        for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
             e < a.length * fours; e += step) {
            size_t t = e / fours, i = TXD_QUAD * (e % fours);
            size_t outer =
                ((plane / a.heads * a.length + t) * a.heads + plane % a.heads) *
                a.width;
            size_t inner = (plane * a.length + t) * a.width;

            txd_store(out + (split ? inner : outer), i, a.width, fit,
                      txd_load(x + (split ? outer : inner), i, a.width, fit, 0));
        }
}

static txd_status swap_all(const char *name, const struct txd_heads_args *a, bool split)
{
    bool fit = txd_quads_fit_rows(a->out, a->width) && txd_quads_fit(a->x);
    size_t planes = a->batch * a->heads, fours = a->length * txd_quads_of(a->width);

    if (planes == 0 || fours == 0)
        return TXD_OK;
    TXD_LAUNCH(swap_heads, dim3(txd_cuda_blocks(fours, TXD_THREADS), planes_of(planes)),
               TXD_THREADS, 0, (float *)a->out, (const float *)a->x, *a, split, fit);
    return txd_cuda_check(name);
}

static txd_status split_heads_any(const struct txd_heads_args *a)
{
    return swap_all("split_heads", a, true);
}

static txd_status merge_heads_any(const struct txd_heads_args *a)
{
    return swap_all("merge_heads", a, false);
}

static txd_status split_heads_back_any(const struct txd_heads_args *a)
{
    return swap_all("split_heads_back", a, false);
}

static txd_status merge_heads_back_any(const struct txd_heads_args *a)
{
    return swap_all("merge_heads_back", a, true);
}

TXD_CUDA_ENTRIES_ANY(split_heads, heads)
TXD_CUDA_ENTRIES_ANY(merge_heads, heads)
TXD_CUDA_ENTRIES_ANY(split_heads_back, heads)
TXD_CUDA_ENTRIES_ANY(merge_heads_back, heads)

/* ---- rotate ---- */

namespace
{
struct turning {
    float *out;
    const float *x;
    const int32_t *positions;
    const double *speed; /* of each pair; NULL: by the base */
    double base, sign;
    float factor;
    bool adjacent;
    size_t batch, heads, length, width, pairs;
    size_t heads_each; /* that a thread turns by one angle */
};

struct turn {
    float cosine, sine;
};
} // namespace

static __device__ inline struct turn turn_of(const struct turning &a, size_t token,
                                             size_t pair)
{
    double speed = a.speed != NULL
                       ? a.speed[pair]
                       : pow(a.base, -2.0 * (double)pair / (2.0 * (double)a.pairs));
    double sine, cosine, angle = a.sign * a.positions[token] * speed;

    sincos(angle, &sine, &cosine);
    return {(float)cosine * a.factor, (float)sine * a.factor};
}

/* One pair of lanes of a row, or one of those behind the pairs, which pass. */
template <typename Round>
static __device__ inline void turn_lane(const struct turning &a, size_t row,
                                        size_t lane, struct turn by)
{
    size_t first = a.adjacent ? 2 * lane : lane;
    size_t second = a.adjacent ? 2 * lane + 1 : lane + a.pairs;
    const float *x = a.x + row * a.width;
    float *out = a.out + row * a.width, x1, x2;

    if (lane >= a.pairs) {
        out[lane + a.pairs] = Round()(x[lane + a.pairs]);
        return;
    }
    x1 = x[first];
    x2 = x[second];
    out[first] = Round()(x1 * by.cosine - x2 * by.sine);
    out[second] = Round()(x2 * by.cosine + x1 * by.sine);
}

/* A thread per token and lane; the second side of the grid counts groups of heads. */
template <typename Round> static __global__ void rotate_lanes(struct turning a)
{
    size_t lanes = a.width - a.pairs, step = (size_t)gridDim.x * blockDim.x;
    size_t first = blockIdx.y * a.heads_each, end = first + a.heads_each;

    end = end < a.heads ? end : a.heads;
    for (size_t e = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
         e < a.batch * a.length * lanes; e += step) {
        size_t token = e / lanes, lane = e % lanes;
        size_t b = token / a.length, t = token % a.length;
        struct turn by = {1, 0};

        if (lane < a.pairs)
            by = turn_of(a, token, lane);
        for (size_t h = first; h < end; h++)
            turn_lane<Round>(a, (b * a.heads + h) * a.length + t, lane, by);
    }
}

/* Angles cost more than the turning: many heads for each, but enough threads. */
#define ENOUGH 262144u

static size_t heads_each(const struct turning *a)
{
    size_t threads = a->batch * a->length * (a->width - a->pairs);
    size_t groups = (ENOUGH + threads - 1) / threads;

    if (groups > a->heads)
        groups = a->heads;
    if (groups > PLANES)
        groups = PLANES;
    return (a->heads + groups - 1) / groups;
}

/* By the positions, or back by them: `sign` is 1 or -1. */
template <typename Round>
static txd_status rotate_all(const char *name, const struct txd_rotate_args *args,
                             double sign)
{
    size_t tokens = args->batch * args->length, pairs = args->rope_width / 2;
    struct turning a = {(float *)args->out,
                        (const float *)args->x,
                        NULL,
                        NULL,
                        args->base,
                        sign,
                        1,
                        args->adjacent,
                        args->batch,
                        args->heads,
                        args->length,
                        args->width,
                        pairs,
                        0};
    dim3 blocks;

    if (tokens * args->heads * args->width == 0)
        return TXD_OK;
    a.positions =
        (const int32_t *)txd_cuda_stage(args->positions, tokens * sizeof *a.positions);
    if (args->turns != NULL) {
        a.factor = (float)args->turns->factor;
        a.speed =
            (const double *)txd_cuda_stage(args->turns->speed, pairs * sizeof *a.speed);
    }
    if (a.positions == NULL || (args->turns != NULL && a.speed == NULL))
        return TXD_ERR_MEMORY;
    a.heads_each = heads_each(&a);
    blocks.x = txd_cuda_blocks(tokens * (a.width - pairs), TXD_THREADS);
    blocks.y = (unsigned)((a.heads + a.heads_each - 1) / a.heads_each);
    TXD_LAUNCH((rotate_lanes<Round>), blocks, TXD_THREADS, 0, a);
    return txd_cuda_check(name);
}

template <typename Round> static txd_status rotate_as(const struct txd_rotate_args *a)
{
    return rotate_all<Round>("rotate", a, 1);
}

template <typename Round>
static txd_status rotate_back_as(const struct txd_rotate_args *a)
{
    return rotate_all<Round>("rotate_back", a, -1);
}

TXD_CUDA_ENTRIES(rotate, rotate)
TXD_CUDA_ENTRIES(rotate_back, rotate)
