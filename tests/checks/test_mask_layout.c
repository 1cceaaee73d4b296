/* SPDX-License-Identifier: MIT
 *
 * The law mask_layout on hand-made weights of two samples, of nine and of five tokens:
 * masks that are tiled, exchanged, or merely wrong.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

typedef enum layout {
    RIGHT,     /* own masks */
    TILED,     /* M0, M1, M0, M1 */
    EXCHANGED, /* each sample has the other's */
    UNPADDED,  /* all keys that are not later */
    LONGER,    /* the first, where head 2 of the second sample is, alone */
} layout;

/* How many keys a query of sample b, head h sees. */
static size_t real_of(layout how, size_t b, size_t h)
{
    const size_t lengths[2] = {9, 5};

    switch (how) {
    case TILED: /* heads are even in number: b HEADS + h */
        return lengths[(b * HEADS + h) % 2];
    case EXCHANGED:
        return lengths[1 - b];
    case UNPADDED:
        return LENGTH;
    case LONGER:
        return b == 1 && h == 2 ? 9 : lengths[b];
    default:
        return lengths[b];
    }
}

static void fill(driver *d, double *weights, double *masked, layout how)
{
    for (size_t i = 0; i < driver_count(d, TXD_POINT_ATTN_WEIGHTS); i++) {
        size_t k = i % LENGTH, h = i / LENGTH / LENGTH % HEADS;
        size_t b = i / LENGTH / LENGTH / HEADS, seen = real_of(how, b, h);

        weights[i] = k < seen ? 1 / (double)seen : 0;
        masked[i] = k < seen ? 0 : -INFINITY;
    }
}

static unsigned weights_alone(const void *self, txd_site_kind kind, txd_point point,
                              int layer)
{
    (void)self;
    (void)layer;
    return kind == TXD_SITE_VALUE && point == TXD_POINT_ATTN_WEIGHTS
               ? TXD_ASK_VALUE | TXD_ASK_ROWS
               : 0;
}

static void start(driver *d, const int lengths[2])
{
    driver_init(d);
    driver_inputs(d, 2, lengths, false);
    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l].causal = false;
}

static const txd_result *run(driver *d, int layer, layout how, double spoil)
{
    driver_start(d, "mask_layout");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);
        double *masked = driver_random(d, TXD_POINT_ATTN_MASKED, 3);

        fill(d, weights, masked, l == layer ? how : RIGHT);
        if (l == layer && isnan(spoil))
            weights[driver_at(d, 0, 1, 3, 3)] = masked[driver_at(d, 0, 1, 3, 3)] = NAN;
        if (!d->offers)
            driver_offer(d, TXD_POINT_ATTN_MASKED, l, masked);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}

static const int ragged[2] = {9, 5};

START_TEST(tiled_masks_are_found_in_every_layer_with_the_wrong_sample)
{
    for (int offers = 0; offers < 2; offers++)
        for (int layer = 0; layer < LAYERS; layer++) {
            driver d;
            const txd_result *r;

            start(&d, ragged);
            d.offers = offers ? weights_alone : NULL;
            r = run(&d, layer, TILED, 0);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_int_eq(r->findings[0].layer, layer);
            ck_assert_int_eq(r->findings[0].batch, 0);
            ck_assert_int_eq(r->findings[0].head, 1);
            /* odd heads of sample 0, even ones of sample 1 */
            ck_assert_uint_eq(r->finding_total, 2 * 9 + 2 * 5);
            ck_assert_ptr_nonnull(
                strstr(r->findings[0].message, "the mask of batch row 1 shows"));
            ck_assert_ptr_nonnull(strstr(r->findings[0].message, "[M0, M1, .."));
            driver_finish(&d);
        }
}
END_TEST

START_TEST(exchanged_samples_are_found_and_are_no_tiles)
{
    driver d;
    const txd_result *r;

    start(&d, ragged);
    r = run(&d, 1, EXCHANGED, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, HEADS * (9 + 5));
    ck_assert_ptr_null(strstr(r->findings[0].message, "[M0"));
    driver_finish(&d);
}
END_TEST

START_TEST(one_head_with_the_mask_of_a_longer_sample_is_found)
{
    driver d;
    const txd_result *r;

    start(&d, ragged);
    r = run(&d, 2, LONGER, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, 5);
    ck_assert_int_eq(r->findings[0].batch, 1);
    ck_assert_int_eq(r->findings[0].head, 2);
    driver_finish(&d);
}
END_TEST

/* Padding that is not masked looks like the mask of the longer sample. */
START_TEST(padding_that_is_not_masked_is_no_layout)
{
    driver d;
    const txd_result *r;

    start(&d, ragged);
    r = run(&d, 1, UNPADDED, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * (9 + 5));
    driver_finish(&d);
}
END_TEST

START_TEST(own_masks_pass_and_samples_of_one_length_have_one_mask)
{
    const int equal[2] = {9, 9};
    driver d;
    const txd_result *r;

    start(&d, ragged);
    ck_assert_int_eq(run(&d, -1, RIGHT, 0)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
    start(&d, equal);
    r = run(&d, -1, RIGHT, 0);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_str_eq(r->note, "all sequences of the input have the same mask");
    driver_finish(&d);
}
END_TEST

START_TEST(a_nan_is_open_and_not_a_pass)
{
    driver d;

    start(&d, ragged);
    ck_assert_int_eq(run(&d, 0, RIGHT, NAN)->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(tiled_masks_are_found_in_every_layer_with_the_wrong_sample,
          exchanged_samples_are_found_and_are_no_tiles,
          one_head_with_the_mask_of_a_longer_sample_is_found,
          padding_that_is_not_masked_is_no_layout,
          own_masks_pass_and_samples_of_one_length_have_one_mask,
          a_nan_is_open_and_not_a_pass)
