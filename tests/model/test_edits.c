/* SPDX-License-Identifier: MIT
 *
 * Taps that edit: before every reader, with the earlier values that they name, and the
 * same bits when whole matrices are formed for them.
 */
#include <string.h>

#include "observe.h"
#include "steered.h"
#include "suite.h"

START_TEST(an_edit_runs_before_every_read_and_changes_what_follows)
{
    observed plain = {0}, edited = {0};
    struct probe p = {.point = TXD_POINT_ATTN_OUT,
                      .layer = 0,
                      .factor = 2,
                      .bits = TXD_ASK_EDIT | TXD_ASK_VALUE,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p",
                   .self = &p,
                   .ask = steered_ask,
                   .needs = steered_needs,
                   .edit = steered_edit,
                   .merge = steered_merge};
    const double *before, *after, *mid, *pre;

    prepare(&plain, 5);
    OK(observe_pass(&plain));
    prepare(&edited, 5);
    OK(pass_with(&edited, &tap, 0));
    ck_assert(p.edited_before_read);
    before = observe_site(&plain, "layers.0.attn.out")->values;
    after = observe_site(&edited, "layers.0.attn.out")->values;
    mid = observe_site(&edited, "layers.0.resid.mid")->values;
    pre = observe_site(&edited, "layers.0.resid.pre")->values;
    for (size_t i = 0; i < (size_t)2 * 5 * 24; i++) {
        ck_assert(after[i] == 2 * before[i]);
        ck_assert(mid[i] == pre[i] + after[i]);
    }
    observe_finish(&plain);
    observe_finish(&edited);
}
END_TEST

START_TEST(an_edit_of_the_branch_leaves_the_output_before_it_alone)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_BRANCH,
                      .layer = 1,
                      .factor = 3,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_ATTN_OUT,
                      .needs = {TXD_POINT_ATTN_OUT}};
    txd_tap tap = {.name = "p",
                   .self = &p,
                   .ask = steered_ask,
                   .needs = steered_needs,
                   .edit = steered_edit};
    const struct observed_site *out, *branch;
    double sum = 0;

    prepare(&o, 5);
    OK(pass_with(&o, &tap, 0));
    out = observe_site(&o, "layers.1.attn.out");
    branch = observe_site(&o, "layers.1.attn.branch");
    for (size_t i = 0; i < out->count; i++) {
        ck_assert(branch->values[i] == 3 * out->values[i]);
        sum += out->values[i];
    }
    ck_assert(txd_close(p.need_sum, sum, 1e-12));
    observe_finish(&o);
}
END_TEST

static void forming_keeps_the_bits(txd_point point)
{
    observed plain = {0}, formed = {0};
    struct probe p = {.point = point,
                      .layer = 1,
                      .factor = 1,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p",
                   .self = &p,
                   .ask = steered_ask,
                   .needs = steered_needs,
                   .edit = steered_edit};

    prepare(&plain, 300);
    OK(observe_pass(&plain));
    prepare(&formed, 300);
    OK(pass_with(&formed, &tap, 0));
    ck_assert_uint_eq(p.edits, 1);
    for (size_t i = 0; i < plain.sites; i++) {
        struct observed_site *a = &plain.site[i];
        struct observed_site *b = observe_site(&formed, a->name);

        ck_assert_msg(memcmp(a->values, b->values, a->count * sizeof(double)) == 0,
                      "%s differs", a->name);
    }
    observe_finish(&plain);
    observe_finish(&formed);
}

START_TEST(an_edit_that_changes_nothing_changes_no_bit)
{
    forming_keeps_the_bits(TXD_POINT_ATTN_SCORES);
    forming_keeps_the_bits(TXD_POINT_ATTN_WEIGHTS);
}
END_TEST

START_TEST(an_edit_of_weights_shows_in_rows_and_in_what_is_summed)
{
    observed plain = {0}, edited = {0};
    struct probe p = {.point = TXD_POINT_ATTN_WEIGHTS,
                      .layer = 0,
                      .factor = 0.5,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_ATTN_V,
                      .needs = {TXD_POINT_ATTN_V}};
    txd_tap tap = {.name = "p",
                   .self = &p,
                   .ask = steered_ask,
                   .needs = steered_needs,
                   .edit = steered_edit};
    const struct observed_site *heads, *half;

    prepare(&plain, 7);
    OK(observe_pass(&plain));
    prepare(&edited, 7);
    OK(pass_with(&edited, &tap, 0));
    heads = observe_site(&plain, "layers.0.attn.heads");
    half = observe_site(&edited, "layers.0.attn.heads");
    for (size_t i = 0; i < heads->count; i++)
        ck_assert(txd_close(half->values[i], heads->values[i] / 2, 1e-15));
    ck_assert(txd_close(
        observe_site(&edited, "layers.0.attn.weights")->rows[TXD_ROW_SUM], 0.5, 1e-15));
    observe_finish(&plain);
    observe_finish(&edited);
}
END_TEST

START_TEST(forming_whole_matrices_stops_at_the_byte_limit)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_SCORES,
                      .layer = 0,
                      .factor = 1,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p",
                   .self = &p,
                   .ask = steered_ask,
                   .needs = steered_needs,
                   .edit = steered_edit};

    prepare(&o, 20);
    ck_assert_int_eq(pass_with(&o, &tap, 3 * 2 * 4 * 20 * 20 * 8 - 1), TXD_ERR_LIMIT);
    ck_assert_uint_eq(p.edits, 0);
    OK(pass_with(&o, &tap, 3 * 2 * 4 * 20 * 20 * 8));
    observe_finish(&o);
}
END_TEST

START_TEST(a_value_that_a_tap_does_not_name_is_not_given_to_it)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_ATTN_BRANCH,
                      .layer = 1,
                      .factor = 3,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_ATTN_OUT,
                      .needs = {TXD_POINT_ATTN_V}};
    txd_tap tap = {.name = "p",
                   .self = &p,
                   .ask = steered_ask,
                   .needs = steered_needs,
                   .edit = steered_edit};

    prepare(&o, 5);
    ck_assert_int_eq(pass_with(&o, &tap, 0), TXD_ERR_MISSING);
    ck_assert_ptr_nonnull(strstr(txd_message(), "attn.out"));
    observe_finish(&o);
}
END_TEST

START_TEST(the_logits_are_never_whole_and_are_not_edited)
{
    observed o = {0};
    struct probe p = {.point = TXD_POINT_LOGITS,
                      .layer = -1,
                      .factor = 2,
                      .bits = TXD_ASK_EDIT,
                      .need = TXD_POINT_COUNT};
    txd_tap tap = {.name = "p", .self = &p, .ask = steered_ask, .edit = steered_edit};

    prepare(&o, 5);
    ck_assert_int_eq(pass_with(&o, &tap, 0), TXD_ERR_INAPPLICABLE);
    ck_assert_ptr_nonnull(strstr(txd_message(), "logits is never whole"));
    observe_finish(&o);
}
END_TEST

static unsigned edit_parameters(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_PARAMETER ? TXD_ASK_EDIT : 0;
}

START_TEST(parameters_are_not_edited_by_taps)
{
    observed o = {0};
    txd_tap tap = {.name = "p", .ask = edit_parameters};
    txd_tap *taps[1] = {&tap};
    txd_run_options options = {.claimed = &o.config, .taps = taps, .tap_count = 1};

    prepare(&o, 5);
    options.params = o.params;
    OK(txd_run_create(&o.run, o.model, &options));
    ck_assert_int_eq(txd_run_pass(o.run, &o.inputs, 0), TXD_ERR_INAPPLICABLE);
    ck_assert_ptr_nonnull(strstr(txd_message(), "embed.tok.weight cannot be edited"));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(an_edit_runs_before_every_read_and_changes_what_follows,
          an_edit_of_the_branch_leaves_the_output_before_it_alone,
          an_edit_that_changes_nothing_changes_no_bit,
          an_edit_of_weights_shows_in_rows_and_in_what_is_summed,
          forming_whole_matrices_stops_at_the_byte_limit,
          a_value_that_a_tap_does_not_name_is_not_given_to_it,
          the_logits_are_never_whole_and_are_not_edited,
          parameters_are_not_edited_by_taps)
