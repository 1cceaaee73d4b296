/* SPDX-License-Identifier: MIT
 *
 * float16 and bfloat16 against an independent computation: values by ldexp in double,
 * rounding by the processor's own round-to-even of a quotient.
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
} layout;

static const layout f16 = {10, 15, 31, txd_f16_to_f32, txd_f32_to_f16};
static const layout bf16 = {7, 127, 255, txd_bf16_to_f32, txd_f32_to_bf16};

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

static void check_narrowing(const layout *l, float x)
{
    uint16_t bits = l->narrow(x);
    double got = value_of(l, bits), expected = rounded(l, (double)x);

    if (isnan(x) ? isnan(got) : got == expected && !signbit(got) == !signbit(x))
        return;
    ck_abort_msg("%a (0x%08x) became %a, expected %a", x, bits_of(x), got, expected);
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
        float middle = (float)(low + step / 2);
        float beside[3] = {nextafterf(middle, -INFINITY), middle,
                           nextafterf(middle, INFINITY)};

        for (int i = 0; i < 3; i++) {
            check_narrowing(l, beside[i]);
            check_narrowing(l, -beside[i]);
        }
    }
}

static void check_random_patterns(const layout *l)
{
    uint64_t key = txd_rng_key(1, "half");

    for (uint64_t i = 0; i < 2000000; i++)
        check_narrowing(l, float_of((uint32_t)txd_rng_bits(key, i)));
}

START_TEST(every_float16_widens_to_its_value_and_back)
{
    check_every_pattern(&f16);
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

START_TEST(a_signalling_nan_with_low_payload_stays_a_nan)
{
    float signalling = float_of(0x7f800001u);

    ck_assert(isnan(txd_f16_to_f32(txd_f32_to_f16(signalling))));
    ck_assert(isnan(txd_bf16_to_f32(txd_f32_to_bf16(signalling))));
    ck_assert_uint_eq(txd_f32_to_f16(float_of(0xff800001u)) & 0x8000u, 0x8000u);
}
END_TEST

START_TEST(overflow_starts_at_half_a_step_beyond_the_largest_float16)
{
    ck_assert_uint_eq(txd_f32_to_f16(65504.0f), 0x7bff);
    ck_assert_uint_eq(txd_f32_to_f16(nextafterf(65520.0f, 0)), 0x7bff);
    ck_assert_uint_eq(txd_f32_to_f16(65520.0f), 0x7c00);
    ck_assert_uint_eq(txd_f32_to_f16(-INFINITY), 0xfc00);
}
END_TEST

TEST_MAIN(every_float16_widens_to_its_value_and_back,
          every_bfloat16_widens_to_its_value_and_back,
          every_tie_between_float16_neighbours_goes_to_even,
          every_tie_between_bfloat16_neighbours_goes_to_even,
          random_floats_round_to_the_nearest_half,
          a_signalling_nan_with_low_payload_stays_a_nan,
          overflow_starts_at_half_a_step_beyond_the_largest_float16)
