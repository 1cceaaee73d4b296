/* SPDX-License-Identifier: MIT
 *
 * The law grad_range on passes of shallow and deep models.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

static void expect_live(const char *preset, const char *placement, size_t layers,
                        const char *fault, txd_verdict verdict)
{
    const txd_result *r;
    char text[1024];
    live l;

    snprintf(
        text, sizeof text,
        "model : { preset = \"%s\"; vocab = 32; d_model = 16; n_heads = 2; n_layers "
        "= %zu; d_ff = 32; max_seq_len = 32; norm_placement = \"%s\"; }; input : { "
        "random = { batch = 1; length = 20; }; }; record : ( { probe = "
        "\"grad_norm\"; } ); %s",
        preset, layers, placement, fault);
    live_run(&l, text, "grad_range");
    r = live_result(&l, "grad_range");
    ck_assert_msg(r->verdict == verdict, "%s %s %zu: %s: %s", preset, placement, layers,
                  txd_verdict_name(r->verdict),
                  r->finding_count ? r->findings[0].message : r->note);
    ck_assert_uint_eq(r->evaluated, layers);
    if (verdict == TXD_VERDICT_FAIL) {
        ck_assert_str_eq(r->findings[0].site, "layers.1@grad");
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "is cut off from it"));
        ck_assert_uint_eq(r->finding_total, 1);
    }
    live_finish(&l);
}

START_TEST(presets_pass_at_any_depth_and_fail_where_a_layer_is_cut_off)
{
    const char *presets[] = {"mini", "gpt2", "llama"}, *placements[] = {"pre", "post"};
    const size_t depths[] = {2, 12, 24};

    for (int p = 0; p < 3; p++)
        for (int where = 0; where < 2; where++)
            for (int d = 0; d < 3; d++) {
                expect_live(presets[p], placements[where], depths[d], "",
                            TXD_VERDICT_PASS);
                expect_live(presets[p], placements[where], depths[d],
                            "faults : ( { name = \"grad_zeroed\"; layers = \"1\"; } );",
                            TXD_VERDICT_FAIL);
            }
}
END_TEST

START_TEST(without_a_backward_half_the_law_is_skipped_with_the_remedy)
{
    live l;

    live_run(&l,
             "model : { preset = \"mini\"; vocab = 32; d_model = 16; n_heads = 2; "
             "n_layers = 2; d_ff = 32; max_seq_len = 32; }; "
             "input : { random = { batch = 1; length = 20; }; };",
             "grad_range");
    ck_assert_int_eq(live_result(&l, "grad_range")->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(live_result(&l, "grad_range")->note, "grad_norm"));
    live_finish(&l);
}
END_TEST

static unsigned ask_branch(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_GRADIENT && site->layer == 0 &&
                   site->point == TXD_POINT_MLP_BRANCH
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status spoil_branch(void *self, txd_block *block)
{
    (void)self;
    ((float *)block->value.data)[0] = NAN;
    return TXD_OK;
}

/* The norm of such a layer is that of its finite elements, which may be none: here any
 * ratio would be told. */
START_TEST(a_first_layer_that_is_not_finite_tells_nothing_of_depth)
{
    txd_tap tap = {
        .name = "spoil", .gradients = true, .ask = ask_branch, .edit = spoil_branch};
    const txd_result *r;
    live l;

    live_edit(&l,
              "model : { preset = \"mini\"; vocab = 32; d_model = 16; n_heads = 2; "
              "n_layers = 3; d_ff = 32; max_seq_len = 32; }; input : { random = { "
              "batch = 1; length = 20; }; }; record : ( { probe = \"grad_norm\"; } ); "
              "checks : { grad_range : { vanish_ratio = 1.0; vanish_first = 1e30; "
              "explode_ratio = 1.0; }; };",
              "grad_range", &tap);
    r = live_result(&l, "grad_range");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "layers.0@grad");
    for (size_t i = 0; i < r->finding_count; i++)
        ck_assert_ptr_nonnull(strstr(r->findings[i].message, "NaN or infinite"));
    ck_assert_ptr_null(strstr(r->note, "norm of the first"));
    live_finish(&l);
}
END_TEST

TEST_MAIN(presets_pass_at_any_depth_and_fail_where_a_layer_is_cut_off,
          a_first_layer_that_is_not_finite_tells_nothing_of_depth,
          without_a_backward_half_the_law_is_skipped_with_the_remedy)
