/* SPDX-License-Identifier: MIT
 *
 * float16 and bfloat16 against an independent computation: values by ldexp in double,
 * rounding by the processor's own round-to-even of a quotient. (test_half_numpy.py
 * holds them against numpy's.)
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/half.h"
#include "base/rng.h"
#include "suite.h"

typedef struct layout {
    int fraction, bias, top; /* fraction bits, exponent bias, largest exponent field */
    float (*widen)(uint16_t);
    uint16_t (*narrow)(float);
    uint16_t (*narrow_double)(double);
} layout;

static const layout f16 = {10, 15, 31, txd_f16_to_f32, txd_f32_to_f16, txd_f64_to_f16};
static const layout bf16 = {
    7, 127, 255, txd_bf16_to_f32, txd_f32_to_bf16, txd_f64_to_bf16};

static uint32_t bits_of(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static double value_of(const layout *l, unsigned bits)
{
    int exponent = (int)(bits >> l->fraction & (unsigned)l->top);
    double fraction = bits & ((1u << l->fraction) - 1);
    double sign = bits & 0x8000u ? -1 : 1;

    if (exponent == l->top)
        return fraction != 0 ? NAN : sign * INFINITY;
    if (exponent == 0)
        return sign * ldexp(fraction, 1 - l->bias - l->fraction);
    return sign *
           ldexp(ldexp(1, l->fraction) + fraction, exponent - l->bias - l->fraction);
}

/* The value that IEEE 754 wants for x, by division into quanta. */
static double rounded(const layout *l, double x)
{
    int exponent = x == 0 || isinf(x) ? 0 : ilogb(x);
    double quantum, largest, result;

    if (exponent < 1 - l->bias)
        exponent = 1 - l->bias;
    quantum = ldexp(1, exponent - l->fraction);
    result = isinf(x) ? x : rint(x / quantum) * quantum;
    largest =
        ldexp(2, l->top - 1 - l->bias) - ldexp(1, l->top - 1 - l->bias - l->fraction);
    return fabs(result) > largest ? copysign(INFINITY, x) : copysign(result, x);
}

static void check_result(const layout *l, double x, uint16_t bits)
{
    double got = value_of(l, bits), expected = rounded(l, x);

    if (isnan(x) ? isnan(got) && !signbit(x) == !(bits & 0x8000u)
                 : got == expected && !signbit(got) == !signbit(x))
        return;
    ck_abort_msg("%a became %a (0x%04x), expected %a", x, got, bits, expected);
}

static void check_narrowing(const layout *l, float x)
{
    check_result(l, (double)x, l->narrow(x));
    check_result(l, (double)x, l->narrow_double((double)x));
}

static void check_every_pattern(const layout *l)
{
    for (unsigned bits = 0; bits < 65536; bits++) {
        double expected = value_of(l, bits);
        float wide = l->widen((uint16_t)bits);

        unsigned again = l->narrow(wide);
        bool right = isnan(expected)
                         ? isnan(wide) && again == (bits | 1u << (l->fraction - 1))
                         : wide == expected && !signbit(wide) == !signbit(expected) &&
                               again == bits;

        if (!right)
            ck_abort_msg("0x%04x became %a, then 0x%04x", bits, wide, again);
    }
}

/* The doubles just beside a midpoint: by way of a rounded float they fall on it. */
static void check_double_tie(const layout *l, double middle, unsigned bits)
{
    double below = nextafter(middle, 0), above = nextafter(middle, INFINITY);

    ck_assert((double)(float)below == middle && (double)(float)above == middle);
    ck_assert_uint_eq(l->narrow_double(middle), bits + (bits & 1));
    ck_assert_uint_eq(l->narrow_double(below), bits);
    ck_assert_uint_eq(l->narrow_double(above), bits + 1);
    ck_assert_uint_eq(l->narrow_double(-below), bits | 0x8000u);
    ck_assert_uint_eq(l->narrow_double(-above), (bits + 1) | 0x8000u);
}

/* Midpoints between neighbours, and the floats just beside them. */
static void check_every_tie(const layout *l)
{
    unsigned infinity = (unsigned)l->top << l->fraction;

    for (unsigned bits = 0; bits < infinity; bits++) {
        double low = value_of(l, bits);
        double step =
            low == 0 || bits + 1 == infinity
                ? value_of(l, bits ? bits : 1) - value_of(l, bits ? bits - 1 : 0)
                : value_of(l, bits + 1) - low;
        double exact = low + step / 2;
        float middle = (float)exact;
        float beside[3] = {nextafterf(middle, -INFINITY), middle,
                           nextafterf(middle, INFINITY)};

        ck_assert_uint_eq(l->narrow(middle), bits + (bits & 1));
        for (int i = 0; i < 3; i++) {
            check_narrowing(l, beside[i]);
            check_narrowing(l, -beside[i]);
        }
        check_double_tie(l, exact, bits);
    }
}

static double double_of(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

static void check_random_patterns(const layout *l)
{
    uint64_t key = txd_rng_key(1, "half");

    for (uint64_t i = 0; i < 2000000; i++)
        check_narrowing(l, float_of((uint32_t)txd_rng_bits(key, i)));
}

/* Doubles of all sizes, those near the range of a half more often. */
static void check_random_doubles(const layout *l)
{
    uint64_t key = txd_rng_key(2, "half");

    for (uint64_t i = 0; i < 2000000; i++) {
        double x = double_of(txd_rng_bits(key, i));

        check_result(l, x, l->narrow_double(x));
        x = ldexp(txd_rng_normal(key, i), (int)(i % 320) - 160);
        check_result(l, x, l->narrow_double(x));
    }
}

/* Sign, quiet bit and the upper payload bits, whichever they are. */
static void check_nans(const layout *l)
{
    unsigned quiet = 1u << (l->fraction - 1), top = (unsigned)l->top << l->fraction;

    for (uint32_t i = 1; i < 1u << 23; i += 97) {
        for (uint32_t sign = 0; sign < 2; sign++) {
            uint32_t bits = sign << 31 | 0x7f800000u | i;
            uint64_t wide = (uint64_t)sign << 63 | 0x7ffull << 52 | (uint64_t)i << 29;
            unsigned expected = sign << 15 | top | quiet | i >> (23 - l->fraction);

            ck_assert_uint_eq(l->narrow(float_of(bits)), expected);
            ck_assert_uint_eq(l->narrow_double(double_of(wide)), expected);
        }
    }
    ck_assert_uint_eq(l->narrow_double(double_of(0x7ff0000000000001u)), top | quiet);
}

START_TEST(every_float16_widens_to_its_value_and_back)
{
    check_every_pattern(&f16);
}
END_TEST

START_TEST(many_float16_widen_to_the_bits_of_one_at_a_time)
{
    static uint16_t all[1 << 16];
    static float out[1 << 16];

    for (size_t i = 0; i < 1 << 16; i++)
        all[i] = (uint16_t)i;
    for (size_t first = 0; first < 20; first++) {
        memset(out, 0x55, sizeof out);
        txd_f16_load(out, all + first, (1 << 16) - 2 * first);
        for (size_t i = 0; i < (1 << 16) - 2 * first; i++)
            ck_assert_uint_eq(bits_of(out[i]), bits_of(txd_f16_to_f32(all[first + i])));
        ck_assert(first == 0 || bits_of(out[(1 << 16) - 2 * first]) == 0x55555555);
    }
}
END_TEST

START_TEST(many_floats_become_the_float16_of_one_at_a_time)
{
    static const uint32_t lower[] = {0,      1,      0xfff,  0x1000,
                                     0x1001, 0x2fff, 0x3000, 0xffff};
    static float values[1 << 16];
    static uint16_t out[(1 << 16) + 1];

    for (size_t round = 0; round < sizeof lower / sizeof *lower; round++) {
        for (uint32_t i = 0; i < 1 << 16; i++)
            values[i] = float_of(i << 16 | lower[round]);
        out[1 << 16] = 0x5555;
        txd_f16_store(out, values, 1 << 16);
        for (size_t i = 0; i < 1 << 16; i++)
            ck_assert_uint_eq(out[i], txd_f32_to_f16(values[i]));
        ck_assert_uint_eq(out[1 << 16], 0x5555);
    }
}
END_TEST

START_TEST(every_bfloat16_widens_to_its_value_and_back)
{
    check_every_pattern(&bf16);
}
END_TEST

START_TEST(every_tie_between_float16_neighbours_goes_to_even)
{
    check_every_tie(&f16);
}
END_TEST

START_TEST(every_tie_between_bfloat16_neighbours_goes_to_even)
{
    check_every_tie(&bf16);
}
END_TEST

START_TEST(random_floats_round_to_the_nearest_half)
{
    check_random_patterns(&f16);
    check_random_patterns(&bf16);
}
END_TEST

START_TEST(random_doubles_round_to_the_nearest_half_at_once)
{
    check_random_doubles(&f16);
    check_random_doubles(&bf16);
}
END_TEST

START_TEST(a_nan_keeps_its_sign_and_upper_payload_and_becomes_quiet)
{
    check_nans(&f16);
    check_nans(&bf16);
}
END_TEST

START_TEST(a_signalling_nan_with_low_payload_stays_a_nan)
{
    float signalling = float_of(0x7f800001u);

    ck_assert(isnan(txd_f16_to_f32(txd_f32_to_f16(signalling))));
    ck_assert(isnan(txd_bf16_to_f32(txd_f32_to_bf16(signalling))));
    ck_assert_uint_eq(txd_f32_to_f16(float_of(0xff800001u)) & 0x8000u, 0x8000u);
}
END_TEST

START_TEST(overflow_starts_at_half_a_step_beyond_the_largest_bfloat16)
{
    float largest = 0x1.fep127f, boundary = 0x1.ffp127f;

    ck_assert_uint_eq(txd_f32_to_bf16(largest), 0x7f7f);
    ck_assert_uint_eq(txd_f32_to_bf16(nextafterf(boundary, 0)), 0x7f7f);
    ck_assert_uint_eq(txd_f32_to_bf16(boundary), 0x7f80);
    ck_assert_uint_eq(txd_f64_to_bf16(nextafter((double)boundary, 0)), 0x7f7f);
    ck_assert_uint_eq(txd_f64_to_bf16(-1e300), 0xff80);
    ck_assert_uint_eq(txd_f32_to_bf16(INFINITY), 0x7f80);
}
END_TEST

START_TEST(overflow_starts_at_half_a_step_beyond_the_largest_float16)
{
    ck_assert_uint_eq(txd_f32_to_f16(65504.0f), 0x7bff);
    ck_assert_uint_eq(txd_f32_to_f16(nextafterf(65520.0f, 0)), 0x7bff);
    ck_assert_uint_eq(txd_f32_to_f16(65520.0f), 0x7c00);
    ck_assert_uint_eq(txd_f64_to_f16(nextafter(65520.0, 0)), 0x7bff);
    ck_assert_uint_eq(txd_f64_to_f16(-65520.0), 0xfc00);
    ck_assert_uint_eq(txd_f32_to_f16(-INFINITY), 0xfc00);
}
END_TEST

TEST_MAIN(every_float16_widens_to_its_value_and_back,
          many_float16_widen_to_the_bits_of_one_at_a_time,
          many_floats_become_the_float16_of_one_at_a_time,
          every_bfloat16_widens_to_its_value_and_back,
          every_tie_between_float16_neighbours_goes_to_even,
          every_tie_between_bfloat16_neighbours_goes_to_even,
          random_floats_round_to_the_nearest_half,
          random_doubles_round_to_the_nearest_half_at_once,
          a_nan_keeps_its_sign_and_upper_payload_and_becomes_quiet,
          a_signalling_nan_with_low_payload_stays_a_nan,
          overflow_starts_at_half_a_step_beyond_the_largest_bfloat16,
          overflow_starts_at_half_a_step_beyond_the_largest_float16)
