/* SPDX-License-Identifier: MIT
 *
 * The law head_merge on hand-made heads.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

enum { BATCH = 2, VALUES = 5 };

static const int lengths[BATCH] = {LENGTH, 6};

static size_t in_merged(size_t b, size_t t, size_t h, size_t f)
{
    return ((b * LENGTH + t) * HEADS + h) * VALUES + f;
}

static size_t in_heads(size_t b, size_t h, size_t t, size_t f)
{
    return ((b * HEADS + h) * LENGTH + t) * VALUES + f;
}

/* Where element (b, t, h, f) of a merged value comes from. */
typedef size_t (*origin)(size_t b, size_t t, size_t h, size_t f);

static size_t healthy(size_t b, size_t t, size_t h, size_t f)
{
    return in_heads(b, h, t, f);
}

static size_t viewed(size_t b, size_t t, size_t h, size_t f)
{
    return in_merged(b, t, h, f);
}

/* Memory (t, h, f), read as (h, t, f). */
static size_t packed(size_t b, size_t t, size_t h, size_t f)
{
    size_t row = h * LENGTH + t;

    return in_heads(b, row % HEADS, row / HEADS, f);
}

static size_t reversed(size_t b, size_t t, size_t h, size_t f)
{
    return in_heads(b, HEADS - 1 - h, t, f);
}

static size_t interleaved(size_t b, size_t t, size_t h, size_t f)
{
    return in_heads(b, (h * VALUES + f) % HEADS, t, (h * VALUES + f) / HEADS);
}

static size_t next_token(size_t b, size_t t, size_t h, size_t f)
{
    return in_heads(b, h, (t + 1) % LENGTH, f);
}

static double *merged_from(driver *d, const double *heads, origin from)
{
    double *merged =
        txd_arena_alloc(d->arena, BATCH * LENGTH * HEADS * VALUES, sizeof *merged);

    for (size_t b = 0; b < BATCH; b++)
        for (size_t t = 0; t < LENGTH; t++)
            for (size_t h = 0; h < HEADS; h++)
                for (size_t f = 0; f < VALUES; f++)
                    merged[in_merged(b, t, h, f)] = heads[from(b, t, h, f)];
    return merged;
}

/* All layers healthy, except that layer `layer` is merged by `from`. */
static const txd_result *run(driver *d, int layer, origin from)
{
    driver_init(d);
    d->config.value_dim = VALUES;
    driver_inputs(d, BATCH, lengths, false);
    driver_start(d, "head_merge");
    for (int l = 0; l < LAYERS; l++) {
        double *heads = driver_random(d, TXD_POINT_ATTN_HEADS, 3 + (uint64_t)l);

        driver_offer(d, TXD_POINT_ATTN_HEADS, l, heads);
        driver_offer(d, TXD_POINT_ATTN_MERGED, l,
                     merged_from(d, heads, l == layer ? from : healthy));
    }
    return driver_result(d);
}

START_TEST(heads_side_by_side_pass_and_every_element_is_judged)
{
    driver d;
    const txd_result *r = run(&d, -1, NULL);

    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * (LENGTH + 6) * HEADS * VALUES);
    driver_finish(&d);
}
END_TEST

START_TEST(a_wrong_order_is_named_in_every_layer)
{
    const struct {
        origin from;
        const char *words;
    } cases[] = {
        {viewed, "the transpose is missing"},
        {packed, "whose strides were ignored"},
        {reversed, "the heads are in another order: head"},
        {interleaved, "the lanes of all heads are interleaved"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layer = 0; layer < LAYERS; layer++) {
            driver d;
            const txd_result *r = run(&d, layer, cases[i].from);

            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert_msg(strstr(r->findings[0].message, cases[i].words) != NULL, "%s",
                          r->findings[0].message);
            driver_finish(&d);
        }
}
END_TEST

START_TEST(an_order_that_nothing_explains_fails_without_a_name)
{
    driver d;
    const txd_result *r = run(&d, 1, next_token);

    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "300 of 300 elements"));
    ck_assert_ptr_null(strstr(r->findings[0].message, "elements are off:"));
    driver_finish(&d);
}
END_TEST

/* One element of token (1, 4), head 2, lane 3 in layer 1 is changed to `value`; of the
 * heads, too, if `source`. */
static const txd_result *run_with(driver *d, double value, bool source)
{
    driver_init(d);
    d->config.value_dim = VALUES;
    driver_inputs(d, BATCH, lengths, false);
    driver_start(d, "head_merge");
    for (int l = 0; l < LAYERS; l++) {
        double *heads = driver_random(d, TXD_POINT_ATTN_HEADS, 3 + (uint64_t)l);
        double *merged;

        if (source && l == 1)
            heads[in_heads(1, 2, 4, 3)] = value;
        merged = merged_from(d, heads, healthy);
        if (l == 1)
            merged[in_merged(1, 4, 2, 3)] = value;
        driver_offer(d, TXD_POINT_ATTN_HEADS, l, heads);
        driver_offer(d, TXD_POINT_ATTN_MERGED, l, merged);
    }
    return driver_result(d);
}

START_TEST(one_wrong_element_is_found_and_located)
{
    const double values[] = {7, NAN, INFINITY};

    for (int i = 0; i < 3; i++) {
        driver d;
        const txd_result *r = run_with(&d, values[i], false);

        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_str_eq(r->findings[0].site, "layers.1.attn.merged");
        ck_assert_int_eq(r->findings[0].batch, 1);
        ck_assert_int_eq(r->findings[0].head, 2);
        ck_assert_int_eq(r->findings[0].query, 4);
        ck_assert_ptr_nonnull(
            strstr(r->findings[0].message, "token 4, lane 3 of the head"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_nan_of_the_heads_breaks_the_law_and_an_infinity_does_not)
{
    driver d;

    ck_assert_int_eq(run_with(&d, NAN, true)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
    ck_assert_int_eq(run_with(&d, INFINITY, true)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

START_TEST(cross_attention_is_judged_alike)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.config.value_dim = VALUES;
    d.config.cross = true;
    driver_inputs(&d, BATCH, lengths, false);
    driver_start(&d, "head_merge");
    for (int l = 0; l < LAYERS; l++) {
        double *heads = driver_random(&d, TXD_POINT_ATTN_HEADS, 3 + (uint64_t)l);
        double *cross = driver_random(&d, TXD_POINT_CROSS_HEADS, 9 + (uint64_t)l);

        driver_offer(&d, TXD_POINT_ATTN_HEADS, l, heads);
        driver_offer(&d, TXD_POINT_ATTN_MERGED, l, merged_from(&d, heads, healthy));
        driver_offer(&d, TXD_POINT_CROSS_HEADS, l, cross);
        driver_offer(&d, TXD_POINT_CROSS_MERGED, l,
                     merged_from(&d, cross, l == 1 ? viewed : healthy));
    }
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->evaluated, 2 * LAYERS * (LENGTH + 6) * HEADS * VALUES);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_str_eq(r->findings[0].site, "layers.1.cross.merged");
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "the transpose is missing"));
    driver_finish(&d);
}
END_TEST

TEST_MAIN(cross_attention_is_judged_alike,
          heads_side_by_side_pass_and_every_element_is_judged,
          a_wrong_order_is_named_in_every_layer,
          an_order_that_nothing_explains_fails_without_a_name,
          one_wrong_element_is_found_and_located,
          a_nan_of_the_heads_breaks_the_law_and_an_infinity_does_not)
