/* SPDX-License-Identifier: MIT
 *
 * The memory of cross-attention: its padding, its length, and what the mask of the
 * block's own tokens must not do to it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cross.h"
#include "suite.h"

START_TEST(the_causal_mask_and_the_window_hide_no_row_of_the_memory)
{
    observed o = {0};
    const double *scores, *masked, *weights;

    cross_start(&o,
                "model : { preset = \"mini\"; " CROSS_BASE
                "}; mask : { causal = true; window = 2; "
                "};",
                "ref64", 5);
    OK(observe_memory(&o, 9, NULL));
    OK(observe_pass(&o));
    scores = cross_values(&o, "1", "cross.scores");
    masked = cross_values(&o, "1", "cross.masked");
    weights = cross_values(&o, "1", "cross.weights");
    ck_assert(memcmp(scores, masked, (size_t)2 * 4 * 5 * 9 * sizeof *scores) == 0);
    for (size_t i = 0; i < (size_t)2 * 4 * 5 * 9; i++)
        ck_assert(weights[i] > 0);
    for (size_t r = 0; r < (size_t)2 * 4 * 5; r++)
        ck_assert(observe_site(&o, "layers.1.cross.weights")
                      ->rows[r * TXD_ROW_COUNT + TXD_ROW_SEEN] == 9);
    observe_finish(&o);
}
END_TEST

START_TEST(what_stands_in_padding_of_the_memory_changes_no_bit)
{
    const size_t real[2] = {4, 7};
    observed plain = {0}, dirty = {0};

    cross_start(&plain, cross_variants[1], "cpu32", 5);
    cross_start(&dirty, cross_variants[1], "cpu32", 5);
    OK(observe_memory(&plain, 7, real));
    OK(observe_memory(&dirty, 7, real));
    for (size_t i = (size_t)4 * 24; i < (size_t)7 * 24; i++)
        ((double *)dirty.inputs.memory.data)[i] = i % 2 == 0 ? (double)NAN : 1e30;
    OK(observe_pass(&plain));
    OK(observe_pass(&dirty));
    cross_same_bits(&plain, &dirty,
                    "layers.*.cross.weights,layers.*.cross.heads,logits");
    ck_assert(observe_site(&dirty, "input.memory")->stats[TXD_STAT_NONFINITE] == 0);
    ck_assert(observe_site(&dirty, "layers.0.cross.v")->stats[TXD_STAT_NONFINITE] == 0);
    observe_finish(&plain);
    observe_finish(&dirty);
}
END_TEST

static void check_empty(const char *policy, double weight)
{
    const size_t real[2] = {0, 3};
    observed o = {0};
    const double *weights, *heads;
    char cfg[512];

    snprintf(cfg, sizeof cfg,
             "model : { preset = \"mini\"; " CROSS_BASE
             "}; mask : { masked_row = \"%s\"; };",
             policy);
    cross_start(&o, cfg, "ref64", 4);
    OK(observe_memory(&o, 5, real));
    OK(observe_pass(&o));
    weights = cross_values(&o, "0", "cross.weights");
    heads = cross_values(&o, "0", "cross.heads");
    for (size_t i = 0; i < (size_t)4 * 4 * 5; i++)
        ck_assert(weights[i] == weight || (isnan(weight) && isnan(weights[i])));
    for (size_t i = 0; i < (size_t)4 * 4 * 6; i++)
        ck_assert(isnan(weight) == isnan(heads[i]) && (weight != 0 || heads[i] == 0));
    for (size_t i = (size_t)4 * 4 * 5; i < (size_t)2 * 4 * 4 * 5; i++)
        ck_assert((i % 5 < 3) == (weights[i] > 0));
    observe_finish(&o);
}

START_TEST(a_memory_of_padding_alone_gives_rows_as_the_policy_says)
{
    check_empty("zero", 0);
    check_empty("nan", (double)NAN);
    check_empty("uniform", 0.2);
}
END_TEST

/* ---- steps and edits ---- */

START_TEST(the_memory_may_change_its_length_from_step_to_step)
{
    static const size_t lengths[][2] = {{5, 7}, {3, 300}, {9, 1}, {5, 7}};
    observed o = {0}, fresh = {0};
    txd_tap *taps[1] = {&o.tap};
    txd_run_options options = {.claimed = &o.config, .taps = taps, .tap_count = 1};

    OK(observe_cfg(&o, cross_variants[2], "cpu32"));
    OK(txd_run_create(&o.run, o.model, &options));
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        OK(observe_random(&o, 2, lengths[i][0]));
        OK(observe_memory(&o, lengths[i][1], NULL));
        o.sites = 0;
        memset(o.site, 0, OBSERVE_SITES * sizeof *o.site);
        OK(txd_run_pass(o.run, &o.inputs, (int)i));
        cross_start(&fresh, cross_variants[2], "cpu32", lengths[i][0]);
        OK(observe_memory(&fresh, lengths[i][1], NULL));
        OK(observe_pass(&fresh));
        cross_same_bits(&fresh, &o, "*");
        observe_finish(&fresh);
    }
    observe_finish(&o);
}
END_TEST

/* An edit forms the whole matrix: of queries by rows of the memory. */
START_TEST(an_edit_that_changes_nothing_changes_no_bit)
{
    static const txd_point points[] = {TXD_POINT_CROSS_SCORES, TXD_POINT_CROSS_WEIGHTS,
                                       TXD_POINT_CROSS_Q, TXD_POINT_CROSS_K};

    for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
        observed plain = {0}, formed = {0};
        struct probe p = {.point = points[i],
                          .layer = 1,
                          .factor = 1,
                          .bits = TXD_ASK_EDIT,
                          .need = TXD_POINT_COUNT};
        txd_tap tap = {.name = "p",
                       .self = &p,
                       .ask = steered_ask,
                       .needs = steered_needs,
                       .edit = steered_edit};

        cross_start(&plain, cross_variants[2], "ref64", 20);
        cross_start(&formed, cross_variants[2], "ref64", 20);
        OK(observe_memory(&plain, 300, NULL));
        OK(observe_memory(&formed, 300, NULL));
        OK(observe_pass(&plain));
        OK(pass_with(&formed, &tap, (size_t)3 * 2 * 4 * 20 * 300 * 8));
        ck_assert_uint_eq(p.edits, 1);
        cross_same_bits(&plain, &formed, "*");
        observe_finish(&plain);
        observe_finish(&formed);
    }
}
END_TEST

START_TEST(a_model_without_a_memory_to_attend_to_says_what_it_needs)
{
    observed o = {0};

    cross_start(&o, cross_variants[0], "ref64", 4);
    ck_assert_int_eq(observe_pass(&o), TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "input.memory"));
    OK(observe_memory(&o, 3, NULL));
    o.inputs.memory.dims[2] = 25;
    ck_assert_int_eq(observe_pass(&o), TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "d_model 24"));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(the_causal_mask_and_the_window_hide_no_row_of_the_memory,
          what_stands_in_padding_of_the_memory_changes_no_bit,
          a_memory_of_padding_alone_gives_rows_as_the_policy_says,
          the_memory_may_change_its_length_from_step_to_step,
          an_edit_that_changes_nothing_changes_no_bit,
          a_model_without_a_memory_to_attend_to_says_what_it_needs)
