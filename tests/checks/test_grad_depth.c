/* SPDX-License-Identifier: MIT
 *
 * The law grad_range on passes of shallow and deep models.
 */
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

TEST_MAIN(presets_pass_at_any_depth_and_fail_where_a_layer_is_cut_off,
          without_a_backward_half_the_law_is_skipped_with_the_remedy)
