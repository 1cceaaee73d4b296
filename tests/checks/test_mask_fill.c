/* SPDX-License-Identifier: MIT
 *
 * The law mask_fill on hand-made scores and masked scores.
 */
#include "driver.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* What is done to the masked scores (b, h, q, k) of one layer. */
typedef void (*plant)(driver *d, double *masked, const double *scores);

static bool is_seen(driver *d, int layer, size_t b, size_t q, size_t k)
{
    txd_mask_view mask = txd_mask_of(&d->config.layers[layer], &d->inputs, b);

    return txd_mask_hides(&mask, q, k) == TXD_SEEN;
}

/* The cells that are masked: fill where hidden. */
static double *masked_of(driver *d, int layer, const double *scores)
{
    size_t n = LENGTH, count = driver_count(d, TXD_POINT_ATTN_MASKED);
    double *masked = txd_arena_alloc(d->arena, count, sizeof *masked);

    for (size_t i = 0; i < count; i++)
        masked[i] = is_seen(d, layer, i / (HEADS * n * n), i / n % n, i % n)
                        ? scores[i]
                        : d->config.layers[layer].fill;
    return masked;
}

static const txd_result *run(driver *d, int layer, plant change)
{
    driver_start(d, "mask_fill");
    for (int l = 0; l < LAYERS; l++) {
        double *scores = driver_random(d, TXD_POINT_ATTN_SCORES, 5 + (uint64_t)l);
        double *masked = masked_of(d, l, scores);

        if (l == layer && change)
            change(d, masked, scores);
        driver_offer(d, TXD_POINT_ATTN_SCORES, l, scores);
        driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
    }
    return driver_result(d);
}

static void set_fill(driver *d, double fill)
{
    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l].fill = fill;
}

/* Applies `change` to every hidden cell of the planted value. */
static void each_hidden(driver *d, double *masked, const double *scores,
                        double (*change)(double score))
{
    size_t n = LENGTH, count = driver_count(d, TXD_POINT_ATTN_MASKED);

    for (size_t i = 0; i < count; i++)
        if (!is_seen(d, 0, i / (HEADS * n * n), i / n % n, i % n))
            masked[i] = change(scores[i]);
}

static double as_score(double score)
{
    return score;
}

static double minus_ten(double score)
{
    (void)score;
    return -10;
}

static void keep(driver *d, double *masked, const double *scores)
{
    each_hidden(d, masked, scores, as_score);
}

static void weaken(driver *d, double *masked, const double *scores)
{
    each_hidden(d, masked, scores, minus_ten);
}

static void hide_one(driver *d, double *masked, const double *scores)
{
    (void)scores;
    masked[driver_at(d, 0, 2, 5, 3)] = d->config.layers[0].fill;
}

static void change_one(driver *d, double *masked, const double *scores)
{
    size_t at = driver_at(d, 0, 2, 5, 3);

    masked[at] = nextafter(scores[at], INFINITY);
}

static void nan_where_visible(driver *d, double *masked, const double *scores)
{
    (void)scores;
    masked[driver_at(d, 0, 2, 5, 3)] = NAN;
}

static void nan_where_hidden(driver *d, double *masked, const double *scores)
{
    (void)scores;
    masked[driver_at(d, 0, 2, 5, 7)] = NAN;
}

START_TEST(healthy_masks_pass_with_any_fill_that_is_low_enough)
{
    const double fills[] = {-INFINITY, -1e9, -FLT_MAX, -1e4};

    for (int i = 0; i < 4; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        set_fill(&d, fills[i]);
        r = run(&d, -1, NULL);
        ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "fill %g: %s", fills[i],
                      r->finding_count ? r->findings[0].message : r->note);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH * LENGTH);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(what_is_wrong_is_named_in_every_layer)
{
    const struct {
        plant change;
        double fill;
        const char *words;
    } cases[] = {
        {keep, -INFINITY,
         "instead of -Inf; 144 of 144 hidden cells of this layer are "
         "so: it is not masked; a hidden key would get the weight 0."},
        {keep, -1e9, "it is not masked"},
        {weaken, -INFINITY, ": the fill is -10; a hidden key would get the weight "},
        {hide_one, -INFINITY, "query 5, key 3 is visible, but its score"},
        {hide_one, -1e9,
         "1 of 180 visible cells of this layer are so: it is hidden "
         "although the claimed mask shows it"},
        {change_one, -INFINITY, "query 5, key 3 is visible, but its score"},
        {nan_where_visible, -INFINITY, "became NaN"},
        {nan_where_hidden, -INFINITY, "became NaN instead of -Inf"},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int layer = 0; layer < LAYERS; layer++) {
            driver d;
            const txd_result *r;

            driver_init(&d);
            set_fill(&d, cases[c].fill);
            r = run(&d, layer, cases[c].change);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert(!(r->findings[0].measured <= r->findings[0].allowed));
            ck_assert_msg(strstr(r->findings[0].message, cases[c].words) != NULL,
                          "case %zu: %s", c, r->findings[0].message);
            driver_finish(&d);
        }
}
END_TEST

START_TEST(the_head_of_a_wrong_cell_is_named)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, 1, hide_one);
    ck_assert_int_eq(r->findings[0].head, 2);
    ck_assert_int_eq(r->findings[0].query, 5);
    ck_assert_int_eq(r->findings[0].key, 3);
    driver_finish(&d);
}
END_TEST

/* Query 0 sees key 0 alone: with its score s the others get e^-5 / (e^s + 8 e^-5). */
START_TEST(a_fill_as_claimed_that_is_too_weak_fails_with_the_weight_it_gives)
{
    driver d;
    const txd_result *r;
    double *scores, *masked;

    driver_init(&d);
    set_fill(&d, -5);
    driver_start(&d, "mask_fill");
    scores = driver_random(&d, TXD_POINT_ATTN_SCORES, 5);
    for (size_t h = 0; h < HEADS; h++)
        scores[driver_at(&d, 0, h, 0, 0)] = -2;
    masked = masked_of(&d, 0, scores);
    driver_offer(&d, TXD_POINT_ATTN_SCORES, 0, scores);
    driver_offer(&d, TXD_POINT_ATTN_MASKED, 0, masked);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_double_eq_tol(r->worst, exp(-5) / (exp(-2) + 8 * exp(-5)), 1e-15);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                 "hidden keys hold -5 beside a largest visible score "
                                 "of -2: too weak"));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "32 of 36 rows"));
    driver_finish(&d);
}
END_TEST

/* Half of the smallest number is exp(-103.97) in float32, exp(-17.3) in float16,
 * exp(-92.9) in bfloat16, exp(-745.1) in float64; some row has a weight of that. */
START_TEST(how_weak_is_too_weak_follows_from_the_format)
{
    const struct {
        txd_dtype format;
        double passes, fails;
    } formats[] = {{TXD_F32, -105, -101},
                   {TXD_F16, -18, -15},
                   {TXD_BF16, -94, -90},
                   {TXD_F64, -746, -742}};

    for (int i = 0; i < 8; i++) {
        driver d;
        double *scores, *masked;

        driver_init(&d);
        set_fill(&d, i % 2 ? formats[i / 2].fails : formats[i / 2].passes);
        txd_pass_set_format(&d.pass, formats[i / 2].format);
        driver_start(&d, "mask_fill");
        scores = driver_random(&d, TXD_POINT_ATTN_SCORES, 5);
        memset(scores, 0, driver_count(&d, TXD_POINT_ATTN_SCORES) * sizeof *scores);
        masked = masked_of(&d, 0, scores);
        driver_offer(&d, TXD_POINT_ATTN_SCORES, 0, scores);
        driver_offer(&d, TXD_POINT_ATTN_MASKED, 0, masked);
        ck_assert_int_eq(driver_result(&d)->verdict,
                         i % 2 ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_fill_above_a_visible_score_is_a_warning_where_nothing_leaks)
{
    driver d;
    const txd_result *r;
    double *scores, *masked;

    driver_init(&d);
    set_fill(&d, -1e4);
    driver_start(&d, "mask_fill");
    scores = driver_random(&d, TXD_POINT_ATTN_SCORES, 5);
    scores[driver_at(&d, 0, 1, 6, 2)] = -6e4;
    masked = masked_of(&d, 0, scores);
    driver_offer(&d, TXD_POINT_ATTN_SCORES, 0, scores);
    driver_offer(&d, TXD_POINT_ATTN_MASKED, 0, masked);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
    ck_assert_int_eq(r->findings[0].query, 6);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message,
                                 "the fill -1e+04 is not far below the lowest visible "
                                 "score -6e+04"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_nan_score_that_stays_nan_breaks_the_law_instead_of_passing)
{
    driver d;
    const txd_result *r;
    double *scores;

    driver_init(&d);
    driver_start(&d, "mask_fill");
    scores = driver_random(&d, TXD_POINT_ATTN_SCORES, 5);
    scores[driver_at(&d, 0, 1, 6, 2)] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_SCORES, 0, scores);
    driver_offer(&d, TXD_POINT_ATTN_MASKED, 0, masked_of(&d, 0, scores));
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    ck_assert_ptr_nonnull(strstr(r->note, "1 visible scores are NaN"));
    driver_finish(&d);
}
END_TEST

/* Hidden cells but the first are NaN before and behind the mask. */
static const txd_result *run_without(driver *d, double fill, txd_evaluate_hidden how)
{
    size_t n = LENGTH;
    double *scores, *masked;

    driver_init(d);
    d->config.evaluate_hidden = how;
    set_fill(d, fill);
    driver_start(d, "mask_fill");
    scores = driver_random(d, TXD_POINT_ATTN_SCORES, 5);
    masked = masked_of(d, 0, scores);
    for (size_t i = 0; i < driver_count(d, TXD_POINT_ATTN_MASKED); i++)
        if (i % n > i / n % n + 1)
            scores[i] = masked[i] = NAN;
    driver_offer(d, TXD_POINT_ATTN_SCORES, 0, scores);
    driver_offer(d, TXD_POINT_ATTN_MASKED, 0, masked);
    return driver_result(d);
}

START_TEST(hidden_cells_that_a_recording_has_nothing_of_are_not_judged)
{
    const size_t n = LENGTH;
    driver d;
    const txd_result *r;

    r = run_without(&d, -INFINITY, TXD_HIDDEN_NEVER);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, HEADS * (n * (n + 1) / 2 + n - 1));
    driver_finish(&d);
    r = run_without(&d, -10, TXD_HIDDEN_NEVER);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "would get the weight"));
    driver_finish(&d);
    /* Up to 512 keys, all are computed. */
    for (int i = 0; i < 2; i++) {
        r = run_without(&d, -INFINITY, i ? TXD_HIDDEN_AUTO : TXD_HIDDEN_ALWAYS);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(padded_queries_and_cells_that_were_not_computed_are_not_judged)
{
    const int lengths[1] = {6};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    d.key_begin = 1;
    d.key_limit = 8;
    r = run(&d, -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * 6 * 7);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(healthy_masks_pass_with_any_fill_that_is_low_enough,
          what_is_wrong_is_named_in_every_layer, the_head_of_a_wrong_cell_is_named,
          a_fill_as_claimed_that_is_too_weak_fails_with_the_weight_it_gives,
          how_weak_is_too_weak_follows_from_the_format,
          a_fill_above_a_visible_score_is_a_warning_where_nothing_leaks,
          a_nan_score_that_stays_nan_breaks_the_law_instead_of_passing,
          hidden_cells_that_a_recording_has_nothing_of_are_not_judged,
          padded_queries_and_cells_that_were_not_computed_are_not_judged)
