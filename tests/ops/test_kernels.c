/* SPDX-License-Identifier: MIT
 *
 * The kernels: the same bits from every set, nothing touched beyond the rows, and what
 * each is worth against the formula in double.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel_frame.h"
#include "suite.h"

/* ---- every set, every length, every place ---- */

static void run_exp(const txd_kernels *k, const struct kernel_row *row)
{
    k->exp(row->out, row->x, row->count);
}

static void run_scans(const txd_kernels *k, const struct kernel_row *row)
{
    row->numbers[0] = k->finite(row->x, row->count);
    row->numbers[1] = k->zero(row->x, row->count);
    row->numbers[2] = k->zero_unless(row->x, row->bytes, row->count);
}

static void run_fill(const txd_kernels *k, const struct kernel_row *row)
{
    k->fill(row->out, row->count, -0.0f);
}

static void run_mask(const txd_kernels *k, const struct kernel_row *row)
{
    k->mask(row->out, row->x, row->bytes, row->count, -INFINITY);
}

static void run_exp_sums(const txd_kernels *k, const struct kernel_row *row)
{
    float largest = k->largest(row->x, row->count);
    struct txd_exp_sums alone = k->exp_sums(NULL, row->x, row->count, largest),
                        sums = k->exp_sums(row->out, row->x, row->count, largest);

    row->numbers[0] = (double)largest;
    row->numbers[1] = (double)sums.sum;
    row->numbers[2] = (double)sums.moment;
    row->numbers[3] = (double)alone.sum;
    row->numbers[4] = (double)alone.moment;
}

static void run_scale_twice(const txd_kernels *k, const struct kernel_row *row)
{
    k->scale_twice(row->out, row->x, row->count, 0x1p-20f, 3);
}

static void run_dot(const txd_kernels *k, const struct kernel_row *row)
{
    row->numbers[0] = (double)k->dot(row->x, row->y, row->count);
}

static void run_weigh(const txd_kernels *k, const struct kernel_row *row)
{
    k->weigh(row->out, row->y, row->x, row->count, 0.3f);
}

static void run_moments(const txd_kernels *k, const struct kernel_row *row)
{
    struct txd_moments m;

    if (!k->moments(&m, row->x, row->count))
        return;
    row->numbers[0] = m.mean;
    row->numbers[1] = m.deviation2;
    row->numbers[2] = (double)m.low;
    row->numbers[3] = (double)m.high;
}

static void run_weights(const txd_kernels *k, const struct kernel_row *row)
{
    struct txd_weight_sums w;

    if (!k->weights(&w, row->x, row->count, 7))
        return;
    row->numbers[0] = w.total.sum;
    row->numbers[1] = w.distance;
    row->numbers[2] = (double)w.peak;
    row->numbers[3] = w.peak_at;
    row->numbers[4] = w.total.squares;
    row->numbers[5] = (double)w.total.low;
    row->numbers[6] = (double)w.total.high;
}

static void run_totals(const txd_kernels *k, const struct kernel_row *row)
{
    struct txd_totals t;

    if (!k->totals(&t, row->x, row->count))
        return;
    row->numbers[0] = t.sum;
    row->numbers[1] = t.squares;
    row->numbers[2] = (double)t.low;
    row->numbers[3] = (double)t.high;
}

static void run_entropy(const txd_kernels *k, const struct kernel_row *row)
{
    row->numbers[0] = k->entropy(row->x, row->count);
}

/* The row as lines of every length, and those as runs of every width. */
static void run_columns(const txd_kernels *k, const struct kernel_row *row)
{
    double sum[KERNEL_LENGTHS], runs[KERNEL_LENGTHS];
    float top[KERNEL_LENGTHS], tops[KERNEL_LENGTHS];
    uint32_t ends[KERNEL_LENGTHS];

    for (size_t i = 0; i < row->count; i++)
        row->out[i] = 0;
    for (size_t width = 1; width <= row->count; width++) {
        struct txd_lines lines = {row->count / width, width};
        size_t count = 0;

        k->columns(sum, top, row->x, width, lines);
        for (size_t end = 0; end < width; count++) {
            end += (count + width) % 41 + (count % 3 != 0);
            end = end < width ? end : width;
            ends[count] = (uint32_t)end;
        }
        k->column_runs(runs, tops, (struct txd_columns){sum, top}, ends, count);
        for (size_t i = 0; i < width; i++) {
            row->out[i] = top[i];
            row->numbers[(i + width) % KERNEL_NUMBERS] += sum[i];
        }
        for (size_t i = 0; i < count; i++) {
            row->out[i] = row->out[i] + tops[i] * (float)(i + 1);
            row->numbers[(i + width) % KERNEL_NUMBERS] += runs[i];
        }
    }
}

static void run_products(const txd_kernels *k, const struct kernel_row *row)
{
    struct txd_products p = k->products(row->x, row->y, row->count);

    row->numbers[0] = p.sum;
    row->numbers[1] = p.size;
}

/* Every way to cut a row in hidden and seen cells that a block can tell apart. */
static void run_scan(const txd_kernels *k, const struct kernel_row *row)
{
    double *numbers = row->numbers;

    for (size_t i = 0; i < 8; i++) {
        size_t begin = i % 2 * (row->count / 3);
        size_t end = i / 2 < 3 ? row->count - i / 2 * (row->count - begin) / 2 : begin;
        struct txd_row_scan scan;

        k->scan(&scan, row->x, row->count, begin, end);
        numbers[3 * i] = scan.sum;
        numbers[3 * i + 1] = (double)scan.hidden;
        numbers[3 * i + 2] = scan.finite;
    }
}

static void run_sizes(const txd_kernels *k, const struct kernel_row *row)
{
    struct txd_sizes sizes;

    row->numbers[0] = k->sizes(&sizes, row->x, row->count);
    if (row->numbers[0] == 0)
        return;
    row->numbers[1] = sizes.squares;
    row->numbers[2] = (double)sizes.largest;
    row->numbers[3] = (double)sizes.zeros;
}

static void run_slope(const txd_kernels *k, const struct kernel_row *row)
{
    int32_t at[KERNEL_LENGTHS];

    for (size_t i = 0; i < row->count; i++)
        at[i] = (int32_t)(i * 7 % 50);
    k->slope(row->out, row->count % 2 == 0 ? row->x : NULL, at, row->count, 21, -0.3f);
}

static void run_softcap(const txd_kernels *k, const struct kernel_row *row)
{
    k->softcap(row->out, row->x, row->count, 0.7f);
}

static void run_softcap_back(const txd_kernels *k, const struct kernel_row *row)
{
    k->softcap_back(row->out, row->x, row->y, row->count, 0.7f);
}

static const struct kernel_case cases[] = {
    {"slope", run_slope, true},
    {"softcap", run_softcap, true},
    {"softcap_back", run_softcap_back, true},
    {"exp", run_exp, true},
    {"scans", run_scans, false},
    {"fill", run_fill, false},
    {"mask", run_mask, true},
    {"exp_sums", run_exp_sums, true},
    {"scale_twice", run_scale_twice, true},
    {"dot", run_dot, false},
    {"weigh", run_weigh, true},
    {"moments", run_moments, false},
    {"weights", run_weights, false},
    {"entropy", run_entropy, false},
    {"columns", run_columns, false},
    {"sizes", run_sizes, false},
    {"products", run_products, false},
    {"scan", run_scan, false},
    {"totals", run_totals, false},
};

START_TEST(every_set_gives_the_bits_of_the_portable_one)
{
    kernel_cases_agree(cases, sizeof cases / sizeof *cases);
}
END_TEST

START_TEST(the_portable_set_comes_first_and_the_one_in_use_last)
{
    const txd_kernels *last = txd_kernels_at(0);

    ck_assert_str_eq(last->name, "portable");
    for (size_t i = 0; txd_kernels_at(i) != NULL; i++)
        last = txd_kernels_at(i);
    ck_assert_ptr_eq(last, txd_kernels_here());
}
END_TEST

/* ---- exp ---- */

/* What a float at this value is apart from the next. */
static double unit_at(double value)
{
    return value < (double)FLT_MIN ? 0x1p-149 : ldexp(0x1p-23, ilogb(value));
}

/* Infinite where the largest number is near or passed, finite elsewhere. */
static bool may_be(float value, double exact)
{
    double edge = (double)FLT_MAX, unit = unit_at(edge);

    return isinf(value) ? exact > edge - unit : value >= 0 && exact < edge + unit;
}

START_TEST(exp_is_within_its_units_in_the_last_place_subnormal_results_included)
{
    enum { BLOCK = 64, STEP = 5003 };
    float x[BLOCK], out[BLOCK];
    double worst = 0;
    uint32_t bits = 0;

    for (bool over = false; !over;) {
        for (size_t i = 0; i < BLOCK; i++, bits += STEP) {
            over = over || bits > UINT32_MAX - STEP;
            memcpy(&x[i], &bits, sizeof bits);
        }
        txd_kernels_here()->exp(out, x, BLOCK);
        for (size_t i = 0; i < BLOCK; i++) {
            double exact = exp((double)x[i]), unit = unit_at(exact);

            if (isnan(x[i]) ? !isnan(out[i]) : !may_be(out[i], exact))
                ck_abort_msg("exp(%a) is %a", (double)x[i], (double)out[i]);
            if (isfinite(out[i]))
                worst = fmax(worst, fabs((double)out[i] - exact) / unit);
        }
    }
    ck_assert_double_le(worst, 1.01);
    ck_assert_double_gt(worst, 0.5); /* the best that rounding alone could do */
}
END_TEST

START_TEST(exp_of_0_is_1_and_of_minus_infinity_0)
{
    const float x[] = {0, -0.0f, -INFINITY, INFINITY, -1000, -103.9f, 1000};
    float out[7];

    for (size_t i = 0; txd_kernels_at(i) != NULL; i++) {
        txd_kernels_at(i)->exp(out, x, 7);
        ck_assert(out[0] == 1 && out[1] == 1);
        ck_assert(out[2] == 0 && !signbit(out[2]));
        ck_assert(out[3] == INFINITY && out[6] == INFINITY);
        ck_assert(out[4] == 0);
        ck_assert(out[5] == 0x1p-149f);
    }
}
END_TEST

/* ---- scans ---- */

START_TEST(a_scan_finds_one_element_among_many_wherever_it_is)
{
    enum { LENGTH = 1100 };
    static float x[LENGTH];

    for (size_t s = 0; txd_kernels_at(s) != NULL; s++) {
        const txd_kernels *k = txd_kernels_at(s);

        memset(x, 0, sizeof x);
        x[3] = -0.0f;
        ck_assert(k->finite(x, LENGTH) && k->zero(x, LENGTH));
        ck_assert(k->finite(x, 0) && k->zero(x, 0));
        for (size_t i = 0; i < LENGTH; i++) {
            x[i] = 0x1p-149f;
            ck_assert(k->finite(x, LENGTH) && !k->zero(x, LENGTH));
            x[i] = -FLT_MAX;
            ck_assert(k->finite(x, LENGTH) && !k->zero(x, LENGTH));
            x[i] = i % 3 == 0 ? NAN : (i % 3 == 1 ? INFINITY : -INFINITY);
            ck_assert(!k->finite(x, LENGTH) && !k->zero(x, LENGTH));
            ck_assert(k->finite(x, i) && k->zero(x, i));
            x[i] = 0;
        }
    }
}
END_TEST

START_TEST(a_scan_of_what_is_left_finds_one_element_among_many_unless_it_is_kept)
{
    enum { LENGTH = 1100 };
    static float x[LENGTH];
    static uint8_t keep[LENGTH];

    for (size_t s = 0; txd_kernels_at(s) != NULL; s++) {
        const txd_kernels *k = txd_kernels_at(s);

        memset(x, 0, sizeof x);
        for (size_t i = 0; i < LENGTH; i++) {
            x[i] = i % 2 == 0 ? NAN : 0x1p-149f;
            keep[i] = 0;
            ck_assert(!k->zero_unless(x, keep, LENGTH));
            keep[i] = (uint8_t)(1 + i % 255);
            ck_assert(k->zero_unless(x, keep, LENGTH));
            x[i] = -0.0f;
        }
    }
}
END_TEST

START_TEST(a_mask_keeps_what_counts_and_fills_the_rest)
{
    enum { LENGTH = 53 };
    float x[LENGTH], out[LENGTH];
    uint8_t keep[LENGTH];

    for (size_t i = 0; i < LENGTH; i++) {
        x[i] = (float)i;
        keep[i] = i % 3 == 0 ? (uint8_t)(i + 1) : 0;
    }
    for (size_t s = 0; txd_kernels_at(s) != NULL; s++) {
        txd_kernels_at(s)->mask(out, x, keep, LENGTH, -5);
        for (size_t i = 0; i < LENGTH; i++)
            ck_assert(out[i] == (i % 3 == 0 ? (float)i : -5));
        txd_kernels_at(s)->fill(out, LENGTH - 1, 7);
        for (size_t i = 0; i < LENGTH - 1; i++)
            ck_assert(out[i] == 7);
        ck_assert(out[LENGTH - 1] != 7);
    }
}
END_TEST

TEST_MAIN(every_set_gives_the_bits_of_the_portable_one,
          the_portable_set_comes_first_and_the_one_in_use_last,
          exp_is_within_its_units_in_the_last_place_subnormal_results_included,
          exp_of_0_is_1_and_of_minus_infinity_0,
          a_scan_finds_one_element_among_many_wherever_it_is,
          a_scan_of_what_is_left_finds_one_element_among_many_unless_it_is_kept,
          a_mask_keeps_what_counts_and_fills_the_rest)
