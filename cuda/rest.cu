/* SPDX-License-Identifier: MIT
 *
 * Everything that is done value by value: activations and their slopes, sums, products
 * and scalings (formulas: ops/args.h; the reference: ops/ref_rest.c). A thread reads
 * all that it needs of four elements before it writes them: results may lie on
 * operands.
 */
#include "cuda/quads.h"

/* out = function(x). */
template <typename Round, typename Function>
static __global__ void map_one(float *out, const float *x, size_t count, bool fit,
                               Function function)
{
    for (size_t i = txd_grid_begin(); i < count; i += txd_grid_step()) {
        txd_quad quad = txd_load(x, i, count, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++)
            quad.at[k] = Round()(function(quad.at[k]));
        txd_store(out, i, count, fit, quad);
    }
}

template <typename Round, typename Function>
static txd_status map_all(const char *name, void *out, const void *x, size_t count,
                          Function function)
{
    bool fit = txd_quads_fit(out) && txd_quads_fit(x);

    if (count == 0)
        return TXD_OK;
    TXD_LAUNCH((map_one<Round, Function>), txd_quad_blocks(count), TXD_THREADS, 0,
               (float *)out, (const float *)x, count, fit, function);
    return txd_cuda_check(name);
}

/* out = function(a, b). */
template <typename Round, typename Function>
static __global__ void map_two(float *out, const float *a, const float *b, size_t count,
                               bool fit, Function function)
{
    for (size_t i = txd_grid_begin(); i < count; i += txd_grid_step()) {
        txd_quad left = txd_load(a, i, count, fit, 0);
        txd_quad right = txd_load(b, i, count, fit, 0);

        for (unsigned k = 0; k < TXD_QUAD; k++)
            left.at[k] = Round()(function(left.at[k], right.at[k]));
        txd_store(out, i, count, fit, left);
    }
}

template <typename Round, typename Function>
static txd_status map_both(const char *name, void *out, const void *a, const void *b,
                           size_t count, Function function)
{
    bool fit = txd_quads_fit(out) && txd_quads_fit(a) && txd_quads_fit(b);

    if (count == 0)
        return TXD_OK;
    TXD_LAUNCH((map_two<Round, Function>), txd_quad_blocks(count), TXD_THREADS, 0,
               (float *)out, (const float *)a, (const float *)b, count, fit, function);
    return txd_cuda_check(name);
}

/* ---- activations ---- */

/* In the order of txd_activation (model/config.h). */
enum { GELU, GELU_TANH, RELU, SILU };

#define ROOT_HALF 0.70710678118654752440f
#define ROOT_2_PI 0.79788456080286535588f
#define CUBIC 0.044715f

namespace
{
struct activation {
    int kind;

    __device__ float operator()(float x) const
    {
        switch (kind) {
        case GELU:
            return 0.5f * x * (1 + erff(x * ROOT_HALF));
        case GELU_TANH:
            return 0.5f * x * (1 + tanhf(ROOT_2_PI * (x + CUBIC * x * x * x)));
        case RELU:
            return x < 0 ? 0 : x;
        default:
            return x / (1 + expf(-x));
        }
    }
};
} // namespace

template <typename Round>
static txd_status activate_as(const struct txd_activate_args *a)
{
    return map_all<Round>("activate", a->out, a->x, a->count, activation{a->kind});
}

TXD_CUDA_ENTRIES(activate, activate)

/* The slope of x sigmoid(z), where z has slope 1 + cubic x^2 times `rise`. Written so
 * that nothing cancels or overflows: 1 - sigmoid(z) as sigmoid(-z). */
static __device__ inline float sigmoid_slope(float x, float z, float rise, float cubic)
{
    float up = 1 / (1 + expf(-z)), down = 1 / (1 + expf(z));
    float bell = up * x * down * rise;

    return up + (bell + cubic * (bell * x * x));
}

/* d_out act'(x). */
namespace
{
struct activation_back {
    int kind;

    __device__ float slope(float x) const
    {
        switch (kind) {
        case GELU: /* Phi(x) + x phi(x), phi(0) = sqrt(2/pi) / 2 */
            return 0.5f * (1 + erff(x * ROOT_HALF)) +
                   x * 0.5f * ROOT_2_PI * expf(-0.5f * x * x);
        case GELU_TANH: /* (1 + tanh(z)) / 2 = sigmoid(2 z) */
            return sigmoid_slope(x, 2 * ROOT_2_PI * (x + CUBIC * x * x * x),
                                 2 * ROOT_2_PI, 3 * CUBIC);
        case RELU:
            return x > 0 ? 1 : (isnan(x) ? x : 0);
        default:
            return sigmoid_slope(x, x, 1, 0);
        }
    }

    __device__ float operator()(float d_out, float x) const
    {
        return d_out * slope(x);
    }
};
} // namespace

template <typename Round>
static txd_status activate_back_as(const struct txd_activate_back_args *a)
{
    return map_both<Round>("activate_back", a->d_x, a->d_out, a->x, a->count,
                           activation_back{a->kind});
}

TXD_CUDA_ENTRIES(activate_back, activate_back)

/* ---- pairs ---- */

namespace
{
struct product {
    __device__ float operator()(float a, float b) const
    {
        return a * b;
    }
};
} // namespace

template <typename Round> static txd_status multiply_as(const struct txd_pair_args *a)
{
    return map_both<Round>("multiply", a->out, a->a, a->b, a->count, product());
}

TXD_CUDA_ENTRIES(multiply, pair)

namespace
{
struct sum {
    __device__ float operator()(float a, float b) const
    {
        return a + b;
    }
};
} // namespace

template <typename Round> static txd_status add_as(const struct txd_pair_args *a)
{
    return map_both<Round>("add", a->out, a->a, a->b, a->count, sum());
}

TXD_CUDA_ENTRIES(add, pair)

/* Either result may be NULL, or lie on d_out. */
template <typename Round>
static __global__ void products_back(float *d_a, float *d_b, const float *d_out,
                                     const float *a, const float *b, size_t count,
                                     bool fit)
{
    for (size_t i = txd_grid_begin(); i < count; i += txd_grid_step()) {
        txd_quad d = txd_load(d_out, i, count, fit, 0), left = d, right = d;

        if (d_a != NULL)
            left = txd_load(b, i, count, fit, 0);
        if (d_b != NULL)
            right = txd_load(a, i, count, fit, 0);
        for (unsigned k = 0; k < TXD_QUAD; k++) {
            left.at[k] = Round()(d.at[k] * left.at[k]);
            right.at[k] = Round()(d.at[k] * right.at[k]);
        }
        if (d_a != NULL)
            txd_store(d_a, i, count, fit, left);
        if (d_b != NULL)
            txd_store(d_b, i, count, fit, right);
    }
}

template <typename Round>
static txd_status multiply_back_as(const struct txd_pair_back_args *a)
{
    bool fit = txd_quads_fit(a->d_a) && txd_quads_fit(a->d_b) &&
               txd_quads_fit(a->d_out) && txd_quads_fit(a->a) && txd_quads_fit(a->b);

    if (a->count == 0)
        return TXD_OK;
    TXD_LAUNCH((products_back<Round>), txd_quad_blocks(a->count), TXD_THREADS, 0,
               (float *)a->d_a, (float *)a->d_b, (const float *)a->d_out,
               (const float *)a->a, (const float *)a->b, a->count, fit);
    return txd_cuda_check("multiply_back");
}

TXD_CUDA_ENTRIES(multiply_back, pair_back)

static txd_status copy_to(void *to, const void *from, size_t count)
{
    if (to == NULL || to == from || count == 0)
        return TXD_OK;
    return txd_cuda_try("add_back",
                        cudaMemcpyAsync(to, from, count * sizeof(float),
                                        cudaMemcpyDeviceToDevice, txd_cuda_stream()));
}

static txd_status add_back_any(const struct txd_pair_back_args *a)
{
    TXD_TRY(copy_to(a->d_a, a->d_out, a->count));
    return copy_to(a->d_b, a->d_out, a->count);
}

TXD_CUDA_ENTRIES_ANY(add_back, pair_back)

/* ---- scale ---- */

namespace
{
struct scaling {
    float factor;

    __device__ float operator()(float x) const
    {
        return factor * x;
    }
};
} // namespace

template <typename Round> static txd_status scale_as(const struct txd_scale_args *a)
{
    return map_all<Round>("scale", a->out, a->x, a->count, scaling{(float)a->factor});
}

template <typename Round>
static txd_status scale_back_as(const struct txd_scale_args *a)
{
    return scale_as<Round>(a);
}

TXD_CUDA_ENTRIES(scale, scale)
TXD_CUDA_ENTRIES(scale_back, scale)
