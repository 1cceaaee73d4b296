/* SPDX-License-Identifier: MIT
 *
 * A replay gives taps the gradients that the live pass gave them: the same blocks in
 * the same order with the same bits, as far as they were recorded.
 */
#include "conventions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "pass_log.h"
#include "suite.h"

#define EVERYTHING ((unsigned)(TXD_ASK_VALUE | TXD_ASK_STATS))
#define FULL                                                                           \
    "record = ( { probe = \"full\"; points = \"*,*@grad\"; }, { probe = \"stats\"; "   \
    "points = \"*,*@grad\"; } );"

static const char decoder[] =
    "model : { preset = \"llama\"; vocab = 40; d_model = 16; n_heads = 4; "
    "n_kv_heads = 2; n_layers = 3; d_ff = 24; value_dim = 6; }; "
    "mask : { window = 5; }; precision : { loss_scale = 8.0; }; ";
static const char translator[] =
    "model : { preset = \"mini\"; vocab = 40; d_model = 16; n_heads = 4; "
    "n_layers = 2; d_ff = 24; max_seq_len = 32; cross = true; "
    "norm_placement = \"post\"; }; ";
static const size_t lengths[] = {9, 4, 11}, rows[] = {5, 7, 3};

static recorded_pass made_pass(const char *record)
{
    return (recorded_pass){.cfg = decoder,
                           .backend = "ref64",
                           .record = record,
                           .lengths = lengths,
                           .steps = 3,
                           .batch = 2,
                           .padding = 3};
}

typedef struct logs {
    pass_log live, replayed;
} logs;

static void start(logs *l, unsigned asks, const char *points, txd_point later)
{
    pass_log_init(&l->live, asks, points);
    pass_log_init(&l->replayed, asks, points);
    l->live.later = l->replayed.later = later;
}

static void run(logs *l, const recorded_pass *pass)
{
    const char *path = test_file("pass.h5");

    pass_record(path, pass, &l->live);
    pass_replay(path, &l->replayed);
}

static void finish(logs *l)
{
    pass_log_finish(&l->live);
    pass_log_finish(&l->replayed);
}

static size_t count_kind(const pass_log *log, txd_site_kind kind)
{
    size_t count = 0;

    for (size_t i = 0; i < log->count; i++)
        count += log->blocks[i].site.kind == kind;
    return count;
}

static void compare(const recorded_pass *pass, unsigned asks, const char *points,
                    double tolerance)
{
    logs l;

    start(&l, asks, points, TXD_POINT_COUNT);
    run(&l, pass);
    pass_log_same(&l.replayed, &l.live, asks, tolerance);
    ck_assert_uint_gt(count_kind(&l.live, TXD_SITE_GRADIENT), 0);
    ck_assert_uint_gt(count_kind(&l.live, TXD_SITE_PARAMETER_GRADIENT), 0);
    finish(&l);
}

START_TEST(a_real_model_replays_its_gradients_bit_for_bit)
{
    static const size_t one[] = {27};
    recorded_pass pass = {
        .backend = "cpu32", .record = FULL, .lengths = one, .steps = 1, .batch = 1};

    pass.folder = test_model("stories260K");
    if (!pass.folder)
        test_skip(TEST_NO_MODEL);
    compare(&pass, EVERYTHING, "*,*@grad", 0);
}
END_TEST

START_TEST(padded_batches_of_changing_lengths_replay_their_gradients)
{
    recorded_pass pass = made_pass(FULL);

    compare(&pass, EVERYTHING, "*,*@grad", 0);
}
END_TEST

START_TEST(cross_attention_and_post_norm_replay_their_gradients)
{
    recorded_pass pass = made_pass(FULL);

    pass.cfg = translator;
    pass.memory = rows;
    compare(&pass, EVERYTHING, "*,*@grad", 0);
}
END_TEST

START_TEST(the_conventions_of_families_replay_bit_for_bit)
{
    for (size_t i = 0; i < CONVENTIONS; i++) {
        recorded_pass pass = made_pass(FULL);
        char cfg[512];

        snprintf(cfg, sizeof cfg,
                 "model : { %s vocab = 40; d_model = 16; n_heads = 4; n_layers = 2; "
                 "d_ff = 24; max_seq_len = 32; }; ",
                 conventions[i].model);
        pass.cfg = cfg;
        pass.memory = conventions[i].is_cross ? rows : NULL;
        compare(&pass, EVERYTHING, "*,*@grad", 0);
    }
}
END_TEST

/* Values and their gradients are stored in 16 bits, those of parameters in 32. */
START_TEST(gradients_in_16_bits_replay_bit_for_bit)
{
    static const char *const backends[] = {"bf16", "fp16"};

    for (int i = 0; i < 2; i++) {
        recorded_pass pass = made_pass(FULL);

        pass.backend = backends[i];
        compare(&pass, EVERYTHING, "*,*@grad", 0);
    }
}
END_TEST

START_TEST(statistics_of_gradients_follow_from_recorded_ones)
{
    recorded_pass pass =
        made_pass("record = ( { probe = \"full\"; points = \"*@grad\"; } );");

    compare(&pass, EVERYTHING, "*@grad", 1e-13);
}
END_TEST

START_TEST(statistics_of_gradients_replay_without_their_values)
{
    recorded_pass pass = made_pass(
        "record = ( { probe = \"stats\"; points = \"layers.*.resid.*@grad\"; }, "
        "{ probe = \"norms\"; points = \"*.weight@grad\"; } );");

    compare(&pass, TXD_ASK_STATS, "layers.*.resid.*@grad,*.weight@grad", 0);
}
END_TEST

/* What laws of size need: how many, how large, and how many are not finite. */
START_TEST(norms_of_gradients_give_the_statistics_that_they_have)
{
    recorded_pass pass = made_pass("record = ( { probe = \"grad_norm\"; } );");
    logs l;

    start(&l, TXD_ASK_STATS, "layers.*.resid.*@grad,*.weight@grad", TXD_POINT_COUNT);
    run(&l, &pass);
    ck_assert_uint_eq(l.live.count, l.replayed.count);
    ck_assert_uint_gt(l.live.count, 100);
    for (size_t i = 0; i < l.live.count; i++) {
        const double *live = l.live.blocks[i].stats,
                     *found = l.replayed.blocks[i].stats;

        ck_assert_str_eq(l.live.blocks[i].name, l.replayed.blocks[i].name);
        ck_assert(found[TXD_STAT_COUNT] == live[TXD_STAT_COUNT]);
        ck_assert(found[TXD_STAT_NONFINITE] == live[TXD_STAT_NONFINITE]);
        ck_assert(txd_close(found[TXD_STAT_RMS], live[TXD_STAT_RMS],
                            1e-12 * live[TXD_STAT_RMS]));
        ck_assert(isnan(found[TXD_STAT_MEAN]) && isnan(found[TXD_STAT_MAX]));
    }
    finish(&l);
}
END_TEST

static void compare_later(txd_point later, const char *points)
{
    recorded_pass pass = made_pass(FULL);
    logs l;

    start(&l, TXD_ASK_VALUE, points, later);
    run(&l, &pass);
    pass_log_same(&l.replayed, &l.live, TXD_ASK_VALUE, 0);
    ck_assert_uint_ge(l.live.count, 3 * 3); /* in each step: offered, and both */
    finish(&l);
}

START_TEST(later_gradients_and_their_values_are_at_hand)
{
    compare_later(TXD_POINT_ATTN_WEIGHTS, "layers.*.attn.scores@grad");
    compare_later(TXD_POINT_ATTN_HEADS, "layers.*.attn.scores@grad");
    compare_later(TXD_POINT_MLP_ACT, "layers.*.mlp.up@grad");
    compare_later(TXD_POINT_RESID_POST, "layers.*.mlp.up@grad");
    /* before the layers, on the way back: of the first */
    compare_later(TXD_POINT_RESID_PRE, "embed.*@grad");
    compare_later(TXD_POINT_MLP_UP, "embed.*@grad");
}
END_TEST

START_TEST(a_tap_that_wants_no_gradients_gets_none)
{
    recorded_pass pass = made_pass(FULL);
    logs l;

    start(&l, TXD_ASK_STATS, "*,*@grad", TXD_POINT_COUNT);
    l.live.tap.gradients = l.replayed.tap.gradients = false;
    run(&l, &pass);
    ck_assert_uint_gt(l.replayed.count, 0);
    ck_assert_uint_eq(count_kind(&l.replayed, TXD_SITE_GRADIENT), 0);
    ck_assert_uint_eq(count_kind(&l.replayed, TXD_SITE_PARAMETER_GRADIENT), 0);
    finish(&l);
}
END_TEST

START_TEST(a_replay_says_which_gradients_it_can_offer)
{
    const char *path = test_file("offers.h5");
    recorded_pass pass = made_pass(
        "record = ( { probe = \"stats\"; points = \"layers.*.resid.pre@grad\"; }, "
        "{ probe = \"full\"; points = \"layers.2.attn.q@grad\"; } );");
    const unsigned both = TXD_ASK_VALUE | TXD_ASK_STATS;
    pass_log none;
    txd_replay *replay;
    txd_trace *trace;

    pass_log_init(&none, 0, NULL);
    pass_record(path, &pass, &none);
    OK(txd_recording_open(&trace, path, NULL));
    OK(txd_replay_create(&replay, trace));
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_ATTN_Q, 2), 0);
    ck_assert_uint_eq(txd_replay_offers_gradient(replay, TXD_POINT_ATTN_Q, 2), both);
    ck_assert_uint_eq(txd_replay_offers_gradient(replay, TXD_POINT_ATTN_Q, 1), 0);
    ck_assert_uint_eq(txd_replay_offers_gradient(replay, TXD_POINT_ATTN_Q, 3), 0);
    ck_assert_uint_eq(txd_replay_offers_gradient(replay, TXD_POINT_RESID_PRE, 0),
                      TXD_ASK_STATS);
    ck_assert_uint_eq(txd_replay_offers_parameter_gradients(replay), 0);
    txd_replay_destroy(replay);
    txd_trace_destroy(trace);
    pass_log_finish(&none);
}
END_TEST

/* ---- recordings that do not fit their own configuration ---- */

static void expect_refusal(const char *name, size_t last, const char *part_of_message)
{
    txd_dataset_spec spec = {.path = name,
                             .axes = "src",
                             .point = "",
                             .unit = "",
                             .dtype = TXD_F32,
                             .per_step = true,
                             .rank = 2,
                             .dims = {16, last},
                             .steps = 1};
    const char *path = test_file("misfit.h5");
    const size_t start[2] = {0};
    static const float values[4096];
    txd_recording *recording;
    txd_replay *replay;
    txd_trace *trace;
    size_t id;

    OK(txd_recording_create(&recording, path, false));
    OK(txd_recording_meta(recording, "config", decoder));
    OK(txd_recording_dataset(recording, &id, &spec));
    OK(txd_recording_write(recording, id, 0, start, spec.dims, values, TXD_F32));
    OK(txd_recording_close(recording, true));
    OK(txd_recording_open(&trace, path, NULL));
    if (part_of_message) {
        ck_assert_int_eq(txd_replay_create(&replay, trace), TXD_ERR_FORMAT);
        ck_assert_msg(strstr(txd_message(), part_of_message) != NULL, "%s",
                      txd_message());
    } else {
        OK(txd_replay_create(&replay, trace));
        ck_assert_uint_ne(txd_replay_offers_parameter_gradients(replay), 0);
        txd_replay_destroy(replay);
    }
    txd_trace_destroy(trace);
}

START_TEST(misfits_are_refused_with_the_expected_shape)
{
    expect_refusal("grad/layers/2/attn/q/weight/full", 16, NULL);
    expect_refusal("grad/layers/2/attn/q/weight/full", 15, "src of (1, 16, 16)");
    expect_refusal("grad/layers/2/attn/q/full", 16,
                   "(step, batch, head, query, head width), found 3");
    expect_refusal("grad/layers/3/attn/q/full", 16,
                   "no such value; it has n_layers = 3");
}
END_TEST

TEST_MAIN(a_real_model_replays_its_gradients_bit_for_bit,
          padded_batches_of_changing_lengths_replay_their_gradients,
          cross_attention_and_post_norm_replay_their_gradients,
          the_conventions_of_families_replay_bit_for_bit,
          gradients_in_16_bits_replay_bit_for_bit,
          statistics_of_gradients_follow_from_recorded_ones,
          statistics_of_gradients_replay_without_their_values,
          norms_of_gradients_give_the_statistics_that_they_have,
          later_gradients_and_their_values_are_at_hand,
          a_tap_that_wants_no_gradients_gets_none,
          a_replay_says_which_gradients_it_can_offer,
          misfits_are_refused_with_the_expected_shape)
