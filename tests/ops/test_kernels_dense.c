/* SPDX-License-Identifier: MIT
 *
 * The kernels of what is dense: pairs, activations, norms, rotation. The same bits from
 * every set, and what each is worth against the formula in double.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/rng.h"
#include "kernel_frame.h"
#include "suite.h"

enum { GELU, GELU_TANH, RELU, SILU, KINDS };

/* ---- every set, every length, every place ---- */

static void run_add(const txd_kernels *k, const struct kernel_row *row)
{
    k->add(row->out, row->x, row->y, row->count);
}

static void run_multiply(const txd_kernels *k, const struct kernel_row *row)
{
    k->multiply(row->out, row->x, row->y, row->count);
}

static void run_scale(const txd_kernels *k, const struct kernel_row *row)
{
    k->scale(row->out, row->x, 0.3f, row->count);
}

#define RUN_KIND(name, kind)                                                           \
    static void run_##name(const txd_kernels *k, const struct kernel_row *row)         \
    {                                                                                  \
        k->activate(row->out, row->x, row->count, kind);                               \
    }                                                                                  \
    static void run_##name##_back(const txd_kernels *k, const struct kernel_row *row)  \
    {                                                                                  \
        k->activate_back(row->out, row->x, row->y, row->count, kind);                  \
    }

RUN_KIND(gelu, GELU)
RUN_KIND(gelu_tanh, GELU_TANH)
RUN_KIND(relu, RELU)
RUN_KIND(silu, SILU)

static void run_norm_scale(const txd_kernels *k, const struct kernel_row *row)
{
    for (int root = 0; root < 2; root++) {
        txd_norm_scale s = k->norm_scale(row->x, row->count, 1e-5f, root == 1);

        row->numbers[2 * root] = (double)s.mean;
        row->numbers[2 * root + 1] = (double)s.factor;
    }
}

static void run_squares(const txd_kernels *k, const struct kernel_row *row)
{
    row->numbers[0] = k->squares(row->x, row->count);
}

static const txd_norm_scale scale = {0.125f, 1.5f, 0.625f};

static void run_norm(const txd_kernels *k, const struct kernel_row *row)
{
    k->norm(row->out, row->x, row->y, NULL, row->count, scale);
}

static void run_norm_biased(const txd_kernels *k, const struct kernel_row *row)
{
    k->norm(row->out, row->x, row->y, row->y, row->count, scale);
}

static void norm_back(const txd_kernels *k, const struct kernel_row *row, bool add)
{
    txd_norm_back_row back = {.x = row->x,
                              .gain = row->y,
                              .d_out = row->x,
                              .width = row->count,
                              .scale = scale,
                              .root_mean_square = !add,
                              .add = add};

    k->norm_back(row->out, &back);
}

static void run_norm_back(const txd_kernels *k, const struct kernel_row *row)
{
    norm_back(k, row, false);
}

static void run_norm_back_added(const txd_kernels *k, const struct kernel_row *row)
{
    norm_back(k, row, true);
}

static void run_norm_gain(const txd_kernels *k, const struct kernel_row *row)
{
    k->norm_params(row->out, NULL, row->x, row->y, row->count, scale);
}

static void run_norm_bias(const txd_kernels *k, const struct kernel_row *row)
{
    k->norm_params(NULL, row->out, row->x, row->y, row->count, scale);
}

/* The halves of a row lie side by side; an odd element is left alone. */
static void run_rotate(const txd_kernels *k, const struct kernel_row *row)
{
    size_t half = row->count / 2;

    k->rotate(row->out, row->x, half, row->y, row->y + half, half);
    if (row->count % 2 == 1)
        row->out[2 * half] = 0;
}

static void run_turn(const txd_kernels *k, const struct kernel_row *row)
{
    double speed[KERNEL_LENGTHS];
    float sine[KERNEL_LENGTHS];

    for (size_t i = 0; i < row->count; i++) {
        double x = (double)row->x[i]; /* what is no angle is none here */

        speed[i] = fabs(x) < 1e6 ? x : 1;
    }
    k->turn(row->out, sine, speed, 1021, row->count);
    for (size_t i = 0; i < row->count; i++)
        row->out[i] += 3 * sine[i];
}

static const struct kernel_case cases[] = {
    {"add", run_add, true},
    {"multiply", run_multiply, true},
    {"scale", run_scale, true},
    {"gelu", run_gelu, true},
    {"gelu_tanh", run_gelu_tanh, true},
    {"relu", run_relu, true},
    {"silu", run_silu, true},
    {"gelu_back", run_gelu_back, true},
    {"gelu_tanh_back", run_gelu_tanh_back, true},
    {"relu_back", run_relu_back, true},
    {"silu_back", run_silu_back, true},
    {"squares", run_squares, false},
    {"norm_scale", run_norm_scale, false},
    {"norm", run_norm, true},
    {"norm with a bias", run_norm_biased, true},
    {"norm_back", run_norm_back, false},
    {"norm_back added", run_norm_back_added, false},
    {"norm_params gain", run_norm_gain, false},
    {"norm_params bias", run_norm_bias, false},
    {"rotate", run_rotate, false},
    {"turn", run_turn, false},
};

START_TEST(every_set_gives_the_bits_of_the_portable_one)
{
    kernel_cases_agree(cases, sizeof cases / sizeof *cases);
}
END_TEST

/* ---- activations ---- */

/* Of x sigmoid(z): z, and its slope over that of x. */
static double argument(double *rise, double x, int kind)
{
    const double root = 1.5957691216057308, cubic = 0.044715; /* 2 sqrt(2 / pi) */

    *rise = kind == SILU ? 1 : root * (1 + 3 * cubic * x * x);
    return kind == SILU ? x : root * (x + cubic * x * x * x);
}

static double exact_value(double x, int kind)
{
    double rise;

    if (kind == RELU)
        return x < 0 ? 0 : x;
    if (kind == GELU)
        return 0.5 * x * erfc(-x * 0.70710678118654752440);
    return x / (1 + exp(-argument(&rise, x, kind)));
}

static double exact_slope(double x, int kind)
{
    double rise, z, up, down;

    if (kind == RELU)
        return x > 0;
    if (kind == GELU)
        return 0.5 * erfc(-x * 0.70710678118654752440) +
               x * exp(-x * x / 2) * 0.39894228040143267794;
    z = argument(&rise, x, kind);
    up = 1 / (1 + exp(-z));
    down = 1 / (1 + exp(z));
    return down == 0 || up == 0 ? up : up + up * x * down * rise;
}

enum { BLOCK = 64, STEP = 5003 };

/* The next floats of all that there are; false past the last. */
static bool next_floats(float x[BLOCK], uint32_t *bits)
{
    for (size_t i = 0; i < BLOCK; i++, *bits += STEP) {
        if (*bits > UINT32_MAX - STEP)
            return false;
        memcpy(&x[i], bits, sizeof *bits);
    }
    return true;
}

/* The largest error in roundoffs of x, or of what the slope multiplies. */
static double worst_of(int kind, bool back)
{
    float x[BLOCK], out[BLOCK], ones[BLOCK];
    uint32_t bits = 0;
    double worst = 0;

    for (size_t i = 0; i < BLOCK; i++)
        ones[i] = 1;
    while (next_floats(x, &bits)) {
        if (back)
            txd_kernels_here()->activate_back(out, ones, x, BLOCK, kind);
        else
            txd_kernels_here()->activate(out, x, BLOCK, kind);
        for (size_t i = 0; i < BLOCK; i++) {
            double value = (double)x[i], size = back ? 1 : fabs(value) + 0x1p-120;
            double exact = back ? exact_slope(value, kind) : exact_value(value, kind);
            double error = fabs((double)out[i] - exact) / size;

            if (isnan(x[i]))
                ck_assert(isnan(out[i]));
            else if (isfinite(x[i]))
                worst = error <= worst ? worst : error; /* NaN is the worst */
        }
    }
    return worst * 0x1p24;
}

START_TEST(activations_are_within_six_roundoffs_of_what_they_are_given)
{
    for (int kind = 0; kind < KINDS; kind++) {
        double worst = worst_of(kind, false);

        ck_assert_msg(worst <= 6, "kind %d: %g roundoffs", kind, worst);
        ck_assert(kind == RELU ? worst == 0 : worst > 0.5);
    }
}
END_TEST

START_TEST(slopes_of_activations_are_within_six_roundoffs_of_1)
{
    for (int kind = 0; kind < KINDS; kind++) {
        double worst = worst_of(kind, true);

        ck_assert_msg(worst <= 6, "kind %d: %g roundoffs", kind, worst);
        ck_assert(kind == RELU ? worst == 0 : worst > 0.5);
    }
}
END_TEST

/* The normal distribution's tail does not cancel, as it does in 1 + erf(x). */
START_TEST(gelu_of_a_negative_number_keeps_its_digits)
{
    for (int i = 1; i < 1200; i++) {
        float x = -0.01f * (float)i, out;
        double exact = exact_value((double)x, GELU);

        txd_kernels_here()->activate(&out, &x, 1, GELU);
        ck_assert_double_le(fabs((double)out / exact - 1), 100 * 0x1p-24);
    }
}
END_TEST

START_TEST(infinities_and_signs_of_zero_are_those_of_the_formula)
{
    const float x[] = {0, -0.0f, INFINITY, -INFINITY};
    float out[4], slope[4], ones[4] = {1, 1, 1, 1};

    for (size_t s = 0; txd_kernels_at(s) != NULL; s++)
        for (int kind = 0; kind < KINDS; kind++) {
            txd_kernels_at(s)->activate(out, x, 4, kind);
            txd_kernels_at(s)->activate_back(slope, ones, x, 4, kind);
            ck_assert(out[0] == 0 && !signbit(out[0]));
            ck_assert(out[1] == 0 && signbit(out[1]));
            ck_assert(out[2] == INFINITY);
            ck_assert(kind == RELU ? out[3] == 0 : isnan(out[3]));
            ck_assert(slope[0] == (kind == RELU ? 0 : 0.5f) && slope[1] == slope[0]);
            ck_assert(kind == RELU ? slope[2] == 1 : isnan(slope[2]));
        }
}
END_TEST

/* ---- rotation ---- */

/* All but rounded twice the way of libm, whose own double results are off by up to a
 * unit; quarters of turns of both signs, and angles near their edges. */
START_TEST(cosines_and_sines_are_the_rounded_ones_up_to_2_to_the_31)
{
    enum { ROUNDS = 40000, ANGLES = 7 };
    double speed[ANGLES];
    float cosine[ANGLES], sine[ANGLES];
    size_t other = 0;

    for (int round = 0; round < ROUNDS; round++) {
        double position = ldexp(txd_rng_uniform(7, (uint64_t)round) - 0.5, round % 32);

        for (size_t i = 0; i < ANGLES; i++) {
            double quarters = floor(position / 1.5707963267948966);

            speed[i] = txd_rng_uniform(8, (uint64_t)round * ANGLES + i);
            if (i == 0 && position != 0)
                speed[i] = quarters * 1.5707963267948966 / position;
            if (i == 1 && position != 0)
                speed[i] = (quarters + 0.5) * 1.5707963267948966 / position;
            if (fabs(speed[i]) > 1)
                speed[i] = 1;
        }
        txd_kernels_here()->turn(cosine, sine, speed, position, ANGLES);
        for (size_t i = 0; i < ANGLES; i++) {
            double angle = position * speed[i];
            double c = cos(angle), s = sin(angle);

            ck_assert(fabs((double)cosine[i] - c) <= (0x1p-24 + 0x1p-50) * fabs(c));
            ck_assert(fabs((double)sine[i] - s) <= (0x1p-24 + 0x1p-50) * fabs(s));
            other += cosine[i] != (float)c || sine[i] != (float)s;
        }
    }
    ck_assert_uint_le(other, 1);
}
END_TEST

/* ---- norms ---- */

/* |error| of a sum of n, all terms of one sign, in roundoffs of it: far less than n. */
START_TEST(sums_of_norms_are_summed_by_lanes)
{
    enum { WIDTH = 100003 };
    static float x[WIDTH];
    double mean = 0, squares = 0;

    for (size_t i = 0; i < WIDTH; i++) {
        x[i] = (float)(3 + txd_rng_normal(1, i));
        mean += (double)x[i] / WIDTH;
    }
    for (size_t i = 0; i < WIDTH; i++)
        squares += ((double)x[i] - mean) * ((double)x[i] - mean) / WIDTH;
    for (size_t s = 0; txd_kernels_at(s) != NULL; s++) {
        txd_norm_scale n = txd_kernels_at(s)->norm_scale(x, WIDTH, 1e-5f, false);

        ck_assert_double_le(fabs((double)n.mean / mean - 1), 400 * 0x1p-24);
        ck_assert_double_le(fabs((double)n.factor * sqrt(squares + 1e-5) - 1),
                            400 * 0x1p-24);
    }
}
END_TEST

START_TEST(squares_are_summed_in_double)
{
    enum { WIDTH = 10007 };
    static float x[WIDTH];
    double squares = 0;

    for (size_t i = 0; i < WIDTH; i++) {
        x[i] = (float)(txd_rng_normal(1, i) * (i % 9 == 0 ? 1e25 : 1e-20));
        squares += (double)x[i] * (double)x[i];
    }
    for (size_t s = 0; txd_kernels_at(s) != NULL; s++)
        ck_assert_double_le(fabs(txd_kernels_at(s)->squares(x, WIDTH) / squares - 1),
                            1e-13);
}
END_TEST

TEST_MAIN(every_set_gives_the_bits_of_the_portable_one,
          activations_are_within_six_roundoffs_of_what_they_are_given,
          slopes_of_activations_are_within_six_roundoffs_of_1,
          gelu_of_a_negative_number_keeps_its_digits,
          infinities_and_signs_of_zero_are_those_of_the_formula,
          cosines_and_sines_are_the_rounded_ones_up_to_2_to_the_31,
          sums_of_norms_are_summed_by_lanes, squares_are_summed_in_double)
