/* SPDX-License-Identifier: MIT
 *
 * The law empty_row on hand-made rows, and the three policies for a query that sees no
 * key, in cross-attention over a memory of padding.
 */
#include "driver.h"
#include "live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void empty(driver *d, double *weights)
{
    memset(weights + driver_at(d, 0, 3, 8, 0), 0, LENGTH * sizeof *weights);
}

START_TEST(a_row_without_weight_is_found_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = driver_run_weights(&d, "empty_row", layer, empty);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert_int_eq(r->findings[0].head, 3);
        ck_assert_int_eq(r->findings[0].query, 8);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "sees 9 keys"));
        driver_finish(&d);
    }
}
END_TEST

static void almost_empty(driver *d, double *weights)
{
    empty(d, weights);
    weights[driver_at(d, 0, 3, 8, 5)] = 1e-300;
}

START_TEST(a_row_with_any_weight_is_not_empty)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(driver_run_weights(&d, "empty_row", 1, almost_empty)->verdict,
                     TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

START_TEST(beside_sinks_a_row_may_vanish)
{
    driver d;

    driver_init(&d);
    d.config.sinks = true;
    ck_assert_int_eq(driver_run_weights(&d, "empty_row", 1, empty)->verdict,
                     TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

static void make_nan(driver *d, double *weights)
{
    weights[driver_at(d, 0, 0, 8, 3)] = NAN;
}

START_TEST(a_nan_is_open_and_not_a_pass)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(driver_run_weights(&d, "empty_row", 2, make_nan)->verdict,
                     TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

/* ---- real passes ---- */

/* Batch row 1 has a memory of padding alone. */
static void print_cfg(char *text, size_t bytes, const char *policy)
{
    snprintf(
        text, bytes,
        "precision : { backend = \"cpu32\"; }; model : { preset = \"gpt2\"; vocab = "
        "17; d_model = 16; n_heads = 2; n_layers = 1; d_ff = 16; max_seq_len = 8; "
        "cross = true; }; mask : { masked_row = \"%s\"; }; "
        "input : { tokens = ([1, 2, 3], [4, 5, 6]); memory : { random : { length = "
        "4; }; valid = [4, 0]; }; };",
        policy);
}

START_TEST(every_policy_for_empty_rows_passes_where_it_is_claimed)
{
    static const char *const policies[] = {"zero", "uniform", "nan"};

    for (size_t i = 0; i < 3; i++) {
        char text[1024];
        const txd_result *r;
        live l;

        print_cfg(text, sizeof text, policies[i]);
        live_run(&l, text, "empty_row");
        r = live_result(&l, "empty_row");
        ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%s: %s", policies[i], r->note);
        ck_assert_uint_eq(r->evaluated, 2 * (2 * 2 * 3)); /* both attentions */
        live_finish(&l);
    }
}
END_TEST

static unsigned ask_cross(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_CROSS_WEIGHTS
               ? TXD_ASK_EDIT
               : 0;
}

/* Row 2 of the empty memory: (b, h, q, k) of 2, 2, 3, 4. */
static txd_status edit_cross(void *self, txd_block *block)
{
    float *row = (float *)block->value.data + ((1 * 2 + 1) * 3 + 2) * 4;

    memcpy(row, self, 4 * sizeof *row);
    return TXD_OK;
}

static void expect_broken(const char *policy, float row[4])
{
    txd_tap tap = {.name = "rows", .self = row, .ask = ask_cross, .edit = edit_cross};
    char text[1024], words[64];
    const txd_result *r;
    live l;

    print_cfg(text, sizeof text, policy);
    snprintf(words, sizeof words, "not what mask.masked_row = \"%s\" gives", policy);
    live_edit(&l, text, "empty_row", &tap);
    r = live_result(&l, "empty_row");
    ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s", policy);
    ck_assert_str_eq(r->findings[0].site, "layers.0.cross.weights");
    ck_assert_int_eq(r->findings[0].batch, 1);
    ck_assert_int_eq(r->findings[0].head, 1);
    ck_assert_int_eq(r->findings[0].query, 2);
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                  r->findings[0].message);
    live_finish(&l);
}

START_TEST(another_policy_than_the_claimed_one_is_found)
{
    expect_broken("zero", (float[]){0.25F, 0.25F, 0.25F, 0.25F});
    expect_broken("zero", (float[]){NAN, NAN, NAN, NAN});
    expect_broken("zero", (float[]){0.5F, -0.5F, 0, 0});
    expect_broken("uniform", (float[]){0, 0, 0, 0});
    expect_broken("uniform", (float[]){0.2501F, 0.2499F, 0.25F, 0.25F});
    expect_broken("uniform", (float[]){NAN, 0.25F, 0.25F, 0.25F});
    expect_broken("nan", (float[]){0, 0, 0, 0});
}
END_TEST

TEST_MAIN(a_row_without_weight_is_found_in_every_layer,
          a_row_with_any_weight_is_not_empty, beside_sinks_a_row_may_vanish,
          a_nan_is_open_and_not_a_pass,
          every_policy_for_empty_rows_passes_where_it_is_claimed,
          another_policy_than_the_claimed_one_is_found)
