/* SPDX-License-Identifier: MIT
 *
 * Which keys are seen where there are more keys than queries: calls with a cache that
 * the law makes itself. Recordings of such calls: tests/h5/test_more_keys.py.
 */
#include <stdio.h>
#include <string.h>

#include "planting.h"

static const char *const faults[] = {"mask_top_left", "cache_newest_hidden",
                                     "cache_hole"};

START_TEST(a_fault_of_one_head_is_found_at_that_head)
{
    static const char *const words[] = {"top left corner", "keys of earlier calls",
                                        "slots of a cache are skipped"};

    for (int f = 0; f < 3; f++)
        for (int head = 0; head < 4; head += 3) {
            char rest[64];
            trial t = {SUBJECT_LLAMA, faults[f], 2, rest, NULL};
            const txd_result *r;
            live l;

            snprintf(rest, sizeof rest, "heads = \"%d\";", head);
            ck_assert(trial_run(&l, &t, "causal_alignment"));
            expect_trip(&l, &t, "causal_alignment");
            r = live_result(&l, "causal_alignment");
            ck_assert(r->findings[0].measured >= 1 && r->allowed == 0);
            ck_assert_int_eq(r->findings[0].head, head);
            ck_assert_int_eq(r->findings[0].step, 1);
            ck_assert_msg(strstr(r->findings[0].message, words[f]) != NULL, "%s",
                          r->findings[0].message);
            live_finish(&l);
        }
}
END_TEST

#define MODEL                                                                          \
    "model : { preset = \"mini\"; vocab = 9; d_model = 8; n_heads = 2; n_layers = 2; " \
    "d_ff = 8; max_seq_len = 16; }; "

static void expect(const char *cfg, txd_verdict verdict, const char *note)
{
    const txd_result *r;
    live l;

    live_run(&l, cfg, "causal_alignment");
    r = live_result(&l, "causal_alignment");
    ck_assert_msg(r->verdict == verdict, "%s: %s", txd_verdict_name(r->verdict),
                  r->note);
    ck_assert_msg(strstr(r->note, note) != NULL, "%s", r->note);
    live_finish(&l);
}

/* 2 layers of 2 heads, calls of 4, 3 and 0 tokens: 3 rows each. */
START_TEST(it_judges_the_rows_of_later_calls)
{
    live l;

    live_run(&l, MODEL "input : { tokens = ([1, 2, 3, 4, 5, 6, 7]); };",
             "causal_alignment");
    ck_assert_int_eq(live_result(&l, "causal_alignment")->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(live_result(&l, "causal_alignment")->evaluated, 2 * 2 * 3);
    live_finish(&l);
}
END_TEST

START_TEST(what_has_no_later_call_is_skipped)
{
    expect(MODEL "input : { tokens = ([1]); };", TXD_VERDICT_SKIP, "offered nothing");
    expect(MODEL "mask : { causal = false; }; input : { tokens = ([1, 2, 3]); };",
           TXD_VERDICT_SKIP, "not causal");
}
END_TEST

START_TEST(windows_padding_and_documents_are_no_cut)
{
    expect(MODEL "mask : { window = 2; }; input : { tokens = ([1, 2, 3, 4, 5, 6, 7], "
                 "[1, 2, 3]); };",
           TXD_VERDICT_PASS, "");
    expect(MODEL
           "mask : { window = 2; evaluate_hidden = \"never\"; }; input : { tokens = "
           "([1, 2, 3, 4, 5, 6, 7], [1, 2, 3]); pad = \"left\"; };",
           TXD_VERDICT_PASS, "");
    expect(MODEL "mask : { fill = -30.0; }; input : { tokens = ([1, 2, 3, 4, 5, 6, 7], "
                 "[1, 2, 3]); pad = \"left\"; };",
           TXD_VERDICT_PASS, "");
}
END_TEST

START_TEST(a_nan_is_never_a_pass)
{
    expect(MODEL "input : { tokens = ([1, 2, 3, 4, 5, 6, 7]); }; faults : ( { name = "
                 "\"nan_in_weights\"; layers = 0; } );",
           TXD_VERDICT_OPEN, "NaN");
}
END_TEST

TEST_MAIN(a_fault_of_one_head_is_found_at_that_head, it_judges_the_rows_of_later_calls,
          what_has_no_later_call_is_skipped, windows_padding_and_documents_are_no_cut,
          a_nan_is_never_a_pass)
