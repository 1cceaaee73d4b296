/* SPDX-License-Identifier: MIT
 *
 * Kernels over float32 rows: the same source compiled for each instruction set, so that
 * all sets give the same bits (a NaN may carry another payload). Elements go through 16
 * lanes everywhere, sums through a fixed tree of them; no sum depends on alignment.
 *
 * Nothing outside the given elements is read or written. A result may lie where its
 * input does, never half across it. NaN and infinities behave as in the formulas.
 */
#ifndef TXD_OPS_KERNELS_H
#define TXD_OPS_KERNELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The mean of a row, 0 if it is not subtracted, and 1 / sqrt(variance + eps); and what
 * is added to the gain, for the caller to set. */
typedef struct txd_norm_scale {
    float mean, factor, offset;
} txd_norm_scale;

/* A row that goes back through its normalisation: txd_norm_back_args. */
typedef struct txd_norm_back_row {
    const float *x, *gain, *d_out;
    size_t width;
    txd_norm_scale scale;
    bool root_mean_square;
    bool add; /* to d_x */
} txd_norm_back_row;

/* What exponentials of a row come to: sums of 2^TXD_EXP_SHIFT exp(x - max), and of that
 * times x - max. */
struct txd_exp_sums {
    float sum, moment;
};
#define TXD_EXP_SHIFT 25

/* Of finite elements: their squares, the largest magnitude, how many are 0. */
struct txd_sizes {
    double squares;
    float largest;
    size_t zeros;
};

/* Of finite elements: mean, sum of (x - mean)^2, the least and the largest. */
struct txd_moments {
    double mean, deviation2;
    float low, high;
};

/* Of finite elements: their sum, that of their squares, the least and the largest; of
 * none infinity and -infinity. */
struct txd_totals {
    double sum, squares;
    float low, high;
};

/* Of finite weights: the same totals, the sum of weight * (first - place), the largest
 * and the first place where it is; places count from 0, and of none it is -1. */
struct txd_weight_sums {
    struct txd_totals total;
    double distance;
    float peak;
    int32_t peak_at;
};

/* The sum of x y over two rows, and that of |x y|. */
struct txd_products {
    double sum, size;
};

/* Of a row of weights: their sum, the largest |weight| outside of the run that is seen
 * (0 if there is none; NaN if one is), and whether all are finite. */
struct txd_row_scan {
    double sum;
    float hidden;
    bool finite;
};

/* Lines of a matrix, their begins `stride` elements apart. */
struct txd_lines {
    size_t count, stride;
};

/* Sums and largest elements of columns. */
struct txd_columns {
    const double *sum;
    const float *top;
};

typedef struct txd_kernels {
    const char *name; /* "avx512", "avx2", "portable" */

    /* out = exp(x), within 1.01 units in the last place, of subnormal results too. */
    void (*exp)(float *out, const float *x, size_t count);
    /* Whether no element is NaN or infinite; whether each is 0 or -0. */
    bool (*finite)(const float *x, size_t count);
    bool (*zero)(const float *x, size_t count);
    /* Whether each element with keep == 0 is. */
    bool (*zero_unless)(const float *x, const uint8_t *keep, size_t count);
    /* out = value; out = keep != 0 ? x : filling. */
    void (*fill)(float *out, size_t count, float value);
    void (*mask)(float *out, const float *x, const uint8_t *keep, size_t count,
                 float filling);

    /* The sum of squares, in double; the product of two rows, and the magnitudes of
     * its terms. */
    double (*squares)(const float *x, size_t count);
    /* False if an element is NaN or infinite: then the rest is of no use. */
    bool (*sizes)(struct txd_sizes *out, const float *x, size_t count);
    struct txd_products (*products)(const float *x, const float *y, size_t count);
    /* out = a + b; out = a * b; out = factor * x. */
    void (*add)(float *out, const float *a, const float *b, size_t count);
    void (*multiply)(float *out, const float *a, const float *b, size_t count);
    void (*scale)(float *out, const float *x, float factor, size_t count);
    /* out = act(x), d_x = d_out act'(x); kind is a txd_activation. */
    void (*activate)(float *out, const float *x, size_t count, int kind);
    void (*activate_back)(float *d_x, const float *d_out, const float *x, size_t count,
                          int kind);
    /* (x or 0) + factor |at[j] - from|; positions are not negative. */
    void (*slope)(float *out, const float *x, const int32_t *at, size_t count,
                  int32_t from, float factor);
    /* cap tanh(x / cap), and d_out / cosh(x / cap)^2. */
    void (*softcap)(float *out, const float *x, size_t count, float cap);
    void (*softcap_back)(float *d_x, const float *d_out, const float *x, size_t count,
                         float cap);
    /* out = (offset + gain) (x - mean) factor + bias; bias may be NULL. */
    txd_norm_scale (*norm_scale)(const float *x, size_t width, float eps,
                                 bool root_mean_square);
    void (*norm)(float *out, const float *x, const float *gain, const float *bias,
                 size_t width, txd_norm_scale scale);
    /* d_x of a row; d_gain += d_out (x - mean) factor and d_bias += d_out of some lanes
     * of it, either may be NULL. */
    void (*norm_back)(float *d_x, const txd_norm_back_row *row);
    void (*norm_params)(float *d_gain, float *d_bias, const float *d_out,
                        const float *x, size_t count, txd_norm_scale scale);
    /* cos and sin of position * speed, |position * speed| < 2^31: the double products
     * and results within 3 * 2^-53 of themselves, then rounded. */
    void (*turn)(float *cosine, float *sine, const double *speed, double position,
                 size_t count);
    /* Turns the pairs (x[i], x[second + i]), i < count <= second, by angles given as
     * cosine and sine. */
    void (*rotate)(float *out, const float *x, size_t second, const float *cosine,
                   const float *sine, size_t count);

    /* The largest element; NaN if there is one, -infinity of none. */
    float (*largest)(const float *x, size_t count);
    /* out = 2^TXD_EXP_SHIFT exp(x - largest), which is never subnormal, and 0 where
     * x - largest <= -104; NULL: nowhere. `largest` must be that. */
    struct txd_exp_sums (*exp_sums)(float *out, const float *x, size_t count,
                                    float largest);
    /* out = x * factor * then. */
    void (*scale_twice)(float *out, const float *x, size_t count, float factor,
                        float then);
    float (*dot)(const float *x, const float *y, size_t count);
    /* out = weights * (x - mean); out may also be weights. */
    void (*weigh)(float *out, const float *weights, const float *x, size_t count,
                  float mean);

    /* False if an element is NaN or infinite: then the sums are of no use. deviation2
     * is off by some count * 2^-53 of itself, and by as much more as the first element
     * is deviations from the mean, squared: give it some thousand elements at a time.
     */
    bool (*moments)(struct txd_moments *out, const float *x, size_t count);
    /* Each sum is off by up to (count + 80) * 2^-57 of that of the magnitudes of its
     * terms; `distance` of weights that are not negative by as much of itself, or
     * 2^-26. */
    bool (*totals)(struct txd_totals *out, const float *x, size_t count);
    bool (*weights)(struct txd_weight_sums *out, const float *x, size_t count,
                    double first);
    /* Of which [begin, end) are seen, begin <= end <= count. */
    void (*scan)(struct txd_row_scan *out, const float *x, size_t count, size_t begin,
                 size_t end);
    /* -sum of x log x over x > 0, x finite: each term within 2^-35 of itself. */
    double (*entropy)(const float *x, size_t count);
    /* Of each of `count` columns of these lines: its sum, and the largest element, NaN
     * if there is one, -infinity of none. */
    void (*columns)(double *sum, float *top, const float *x, size_t count,
                    struct txd_lines lines);
    /* The same of `count` runs of columns, of what `columns` made: the first begins at
     * 0, run i ends before ends[i], where the next one begins. */
    void (*column_runs)(double *sum, float *top, struct txd_columns from,
                        const uint32_t *ends, size_t count);

    /* Each becomes what it would be after a way through these formats and back: as
     * base/half.h says. */
    void (*round_bf16)(float *values, size_t count);
    void (*round_f16)(float *values, size_t count);
} txd_kernels;

/* The best set that this CPU runs. */
const txd_kernels *txd_kernels_here(void);

/* The i-th set that this CPU runs, the portable one first, the best one last; NULL past
 * the last. */
const txd_kernels *txd_kernels_at(size_t i);

#ifdef __cplusplus
}
#endif

#endif
