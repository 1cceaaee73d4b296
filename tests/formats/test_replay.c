/* SPDX-License-Identifier: MIT
 *
 * A replay gives taps what the live pass gave them: the same blocks in the same order
 * with the same bits, as far as they were recorded.
 */
#include <string.h>

#include "pass_log.h"
#include "suite.h"

#define EVERYTHING ((unsigned)(TXD_ASK_VALUE | TXD_ASK_ROWS | TXD_ASK_STATS))
#define FULL                                                                           \
    "record = ( { probe = \"full\"; points = \"*\"; }, { probe = \"rows\"; }, "        \
    "{ probe = \"stats\"; }, { probe = \"norms\"; points = \"*.weight\"; } );"

/* Grouped heads, a window, other value widths. */
static const char decoder[] =
    "model : { preset = \"llama\"; vocab = 40; d_model = 16; n_heads = 4; "
    "n_kv_heads = 2; n_layers = 3; d_ff = 24; value_dim = 6; }; "
    "mask : { window = 5; }; ";
static const size_t lengths[] = {9, 4, 11};

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

START_TEST(a_real_model_replays_bit_for_bit)
{
    static const size_t one[] = {27};
    recorded_pass pass = {
        .backend = "cpu32", .record = FULL, .lengths = one, .steps = 1, .batch = 1};

    pass.folder = test_model("stories260K");
    if (!pass.folder)
        test_skip(TEST_NO_MODEL);
    pass_compare(&pass, EVERYTHING, NULL, 0);
}
END_TEST

START_TEST(padded_batches_of_changing_lengths_replay_bit_for_bit)
{
    recorded_pass pass = made_pass(FULL);

    pass_compare(&pass, EVERYTHING, NULL, 0);
}
END_TEST

START_TEST(long_rows_replay_in_the_same_tiles)
{
    static const size_t one[] = {300};
    recorded_pass pass = made_pass("record = ( { probe = \"full\"; points = "
                                   "\"layers.1.attn.weights\"; } );");

    pass.lengths = one;
    pass.steps = pass.batch = 1;
    pass.padding = 0;
    pass_compare(&pass, TXD_ASK_VALUE, "layers.1.attn.weights", 0);
}
END_TEST

/* The default record: no whole values but weights and logits. */
/* ---- cross-attention ---- */

static const size_t memories[] = {6, 300, 2};

static recorded_pass crossed_pass(const char *record)
{
    recorded_pass pass = made_pass(record);

    pass.cfg = "model : { preset = \"mini\"; vocab = 40; d_model = 16; n_heads = 4; "
               "n_kv_heads = 2; n_layers = 2; d_ff = 24; value_dim = 6; "
               "max_seq_len = 16; cross = true; }; mask : { window = 5; }; ";
    pass.memory = memories;
    return pass;
}

START_TEST(cross_attention_to_memories_of_changing_lengths_replays_bit_for_bit)
{
    recorded_pass pass = crossed_pass(FULL);

    pass_compare(&pass, EVERYTHING, NULL, 0);
    pass.backend = "cpu32";
    pass_compare(&pass, EVERYTHING, NULL, 0);
    pass = crossed_pass("record = ( { probe = \"full\"; points = \"*\"; } );");
    pass_compare(&pass, EVERYTHING, "layers.*,logits,input.*", 1e-13);
}
END_TEST

START_TEST(its_rows_and_the_memory_replay_without_values)
{
    recorded_pass pass = crossed_pass("record = ( { probe = \"rows\"; }, "
                                      "{ probe = \"stats\"; } );");

    pass_compare(&pass, TXD_ASK_ROWS | TXD_ASK_STATS, "layers.*,input.memory", 0);
    pass_compare(&pass, TXD_ASK_VALUE | TXD_ASK_STATS, "input.memory", 0);
}
END_TEST

START_TEST(a_memory_that_is_not_small_keeps_its_validity_and_statistics)
{
    static const size_t one[] = {2}, large[] = {140000};
    const char *path = test_file("large.h5");
    recorded_pass pass =
        crossed_pass("record = ( { probe = \"rows\"; }, { probe = \"stats\"; } );");
    pass_log live, replayed;

    pass.lengths = one;
    pass.memory = large;
    pass.steps = 1;
    pass_log_init(&live, TXD_ASK_ROWS | TXD_ASK_STATS, "layers.1.cross.weights");
    pass_log_init(&replayed, EVERYTHING, "layers.1.cross.weights,input.memory");
    pass_record(path, &pass, &live);
    pass_replay(path, &replayed);
    ck_assert_str_eq(replayed.blocks[0].name, "input.memory");
    ck_assert_ptr_null(replayed.blocks[0].values);
    ck_assert(replayed.blocks[0].stats[TXD_STAT_COUNT] == (2 * 140000 - 3) * 16);
    ck_assert(replayed.blocks[1].rows[TXD_ROW_SEEN] == 140000);
    ck_assert(replayed.blocks[replayed.count - 1].rows[TXD_ROW_SEEN] == 140000 - 3);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}
END_TEST

static bool is_of_head(const logged_block *block, size_t head)
{
    return block->start[1] == head;
}

START_TEST(heads_and_steps_that_were_not_recorded_are_not_offered)
{
    const char *path = test_file("some.h5");
    recorded_pass pass = made_pass(
        "record = ( { probe = \"full\"; points = \"layers.*.attn.weights\"; "
        "heads = \"1\"; steps = \"1:\"; layers = \"0,2\"; }, { probe = \"rows\"; "
        "heads = \"2\"; layers = \"0,2\"; steps = \"1:\"; } );");
    pass_log live, replayed;
    size_t values = 0, rows = 0, last = 0;

    pass_log_init(&live, TXD_ASK_VALUE, "layers.*.attn.weights");
    pass_log_init(&replayed, TXD_ASK_VALUE | TXD_ASK_ROWS, "layers.*.attn.weights");
    pass_record(path, &pass, &live);
    pass_replay(path, &replayed);
    ck_assert_uint_gt(replayed.count, 0);
    for (size_t i = 0; i < replayed.count; i++) {
        const logged_block *block = &replayed.blocks[i];

        ck_assert_int_ge(block->site.step, 1);
        ck_assert_int_ne(block->site.layer, 1);
        ck_assert(is_of_head(block, 1) || is_of_head(block, 2) || block->last);
        ck_assert(!block->values || is_of_head(block, 1));
        values += block->values != NULL;
        rows += block->rows != NULL;
        last += block->last; /* though of head 3 */
        for (size_t e = 0; block->values && e < block->part[2] * block->part[3]; e++)
            ck_assert(block->values[e] >= 0); /* no fill value among them */
    }
    ck_assert_uint_eq(values, 2 * 2 * pass.batch); /* layers, steps, batch */
    ck_assert_uint_eq(rows, 2 * values);           /* head 1 from its weights */
    ck_assert_uint_eq(last, 2 * 2);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}
END_TEST

static void compare_earlier(txd_point earlier)
{
    const char *path = test_file("earlier.h5");
    recorded_pass pass = made_pass(FULL);
    pass_log live, replayed;

    pass_log_init(&live, TXD_ASK_VALUE, "layers.*.attn.weights");
    pass_log_init(&replayed, TXD_ASK_VALUE, "layers.*.attn.weights");
    live.earlier = replayed.earlier = earlier;
    pass_record(path, &pass, &live);
    pass_replay(path, &replayed);
    pass_log_same(&replayed, &live, TXD_ASK_VALUE, 0);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}

START_TEST(earlier_values_of_a_layer_are_at_hand)
{
    compare_earlier(TXD_POINT_ATTN_SCORES);
    compare_earlier(TXD_POINT_ATTN_K);
    compare_earlier(TXD_POINT_NORM1_OUT);
}
END_TEST

START_TEST(a_replay_says_what_it_can_offer)
{
    const char *path = test_file("offers.h5");
    recorded_pass pass = made_pass(
        "record = ( { probe = \"rows\"; layers = \"1\"; }, { probe = \"stats\"; "
        "points = \"layers.*.resid.pre\"; }, { probe = \"full\"; points = "
        "\"layers.2.attn.q\"; } );");
    pass_log none;
    txd_replay *replay;
    txd_trace *trace;

    pass_log_init(&none, 0, NULL);
    pass_record(path, &pass, &none);
    OK(txd_recording_open(&trace, path, NULL));
    OK(txd_replay_create(&replay, trace));
    ck_assert_uint_eq(txd_replay_steps(replay), 3);
    ck_assert_uint_eq(txd_replay_config(replay)->layers[0].window, 5);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_ATTN_WEIGHTS, 0), 0);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_ATTN_WEIGHTS, 1),
                      TXD_ASK_ROWS);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_RESID_PRE, 0), TXD_ASK_STATS);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_ATTN_Q, 2),
                      TXD_ASK_VALUE | TXD_ASK_STATS);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_ATTN_Q, 1), 0);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_ATTN_Q, 3), 0);
    ck_assert_uint_eq(txd_replay_offers(replay, TXD_POINT_LOGITS, -1), 0);
    ck_assert_uint_eq(txd_replay_offers_parameters(replay), 0);
    txd_replay_destroy(replay);
    txd_trace_destroy(trace);
    pass_log_finish(&none);
}
END_TEST

/* ---- recordings that do not fit their own configuration ---- */

static void expect_refusal(const char *config, const char *name, size_t last,
                           const char *part_of_message)
{
    const char *path = test_file("misfit.h5");
    txd_dataset_spec spec = {.path = name,
                             .axes = "sbhqk",
                             .point = "",
                             .unit = "",
                             .dtype = TXD_F32,
                             .per_step = true,
                             .rank = 4,
                             .dims = {1, 4, 3, last},
                             .steps = 1};
    const size_t start[4] = {0};
    static const float values[4096];
    txd_recording *recording;
    txd_replay *replay;
    txd_trace *trace;
    size_t id;

    OK(txd_recording_create(&recording, path, false));
    if (config)
        OK(txd_recording_meta(recording, "config", config));
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
        txd_replay_destroy(replay);
    }
    txd_trace_destroy(trace);
}

START_TEST(misfits_are_refused_with_the_expected_shape)
{
    const char *weights = "value/layers/2/attn/weights/full";

    expect_refusal(decoder, weights, 3, NULL);
    expect_refusal(NULL, weights, 3, "config");
    expect_refusal("model : {", weights, 3, "recorded config");
    expect_refusal(decoder, "value/layers/3/attn/weights/full", 3, "layers.3");
    expect_refusal(decoder, "value/layers/0/attn/q/full", 5, "(1, 1, 4, 3, 4)");
    expect_refusal(decoder, "value/layers/0/mlp/out/full", 5, "token, model width)");
}
END_TEST

/* ---- parameters ---- */

/* Statistics of parameters of these names, and one step of tokens. */
static void record_parameters(const char *path, const char *const *names, size_t count)
{
    static const int32_t tokens[4];
    static const double stats[8 * TXD_STAT_COUNT_OF];
    const size_t start[2] = {0};
    const txd_dataset_spec inputs = {.path = "input/tokens",
                                     .axes = "sbt",
                                     .point = "",
                                     .unit = "",
                                     .dtype = TXD_I32,
                                     .per_step = true,
                                     .rank = 2,
                                     .dims = {1, 4},
                                     .steps = 1};
    const txd_dataset_spec series = {.path = "series/param",
                                     .axes = "xy",
                                     .point = "",
                                     .unit = "",
                                     .dtype = TXD_F64,
                                     .rank = 2,
                                     .dims = {count, TXD_STAT_COUNT_OF},
                                     .steps = 1};
    txd_recording *recording;
    size_t ids[2];

    ck_assert_uint_le(count, 8);
    OK(txd_recording_create(&recording, path, false));
    OK(txd_recording_meta(recording, "config", decoder));
    OK(txd_recording_dataset(recording, &ids[0], &inputs));
    OK(txd_recording_write(recording, ids[0], 0, start, inputs.dims, tokens, TXD_I32));
    OK(txd_recording_dataset(recording, &ids[1], &series));
    OK(txd_recording_write(recording, ids[1], 0, start, series.dims, stats, TXD_F64));
    OK(txd_recording_strings(recording, "series/param_sites", names, count));
    OK(txd_recording_close(recording, true));
}

START_TEST(parameters_that_the_model_does_not_have_are_of_no_layer)
{
    static const char *const names[] = {
        "embed.tok.weight",        "layers.2.attn.q.weight",
        "layers.3.attn.q.weight",  "layers.99999999999999999999.attn.q.weight",
        "layers.-7.attn.q.weight", "layers.1.theirs",
        "theirs.0.weight",
    };
    static const int layers[] = {-1, 2, -1, -1, -1, -1, -1};
    const char *path = test_file("params.h5");
    size_t places = 0;
    pass_log log;

    record_parameters(path, names, sizeof names / sizeof *names);
    pass_log_init(&log, TXD_ASK_STATS, NULL);
    pass_replay(path, &log);
    ck_assert_uint_ge(log.count, sizeof names / sizeof *names);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        ck_assert_int_eq(log.blocks[i].site.kind, TXD_SITE_PARAMETER);
        ck_assert_str_eq(log.blocks[i].name, names[i]);
        ck_assert_int_eq(log.blocks[i].site.layer, layers[i]);
    }
    /* Of its tokens nothing else is recorded: four, one after the other. */
    for (size_t i = 0; i < log.count; i++)
        if (log.blocks[i].site.point == TXD_POINT_INPUT_POSITIONS)
            places += log.blocks[i].stats[TXD_STAT_MAX] == 3;
    ck_assert_uint_eq(places, 1);
    pass_log_finish(&log);
}
END_TEST

TEST_MAIN(a_real_model_replays_bit_for_bit,
          cross_attention_to_memories_of_changing_lengths_replays_bit_for_bit,
          its_rows_and_the_memory_replay_without_values,
          a_memory_that_is_not_small_keeps_its_validity_and_statistics,
          padded_batches_of_changing_lengths_replay_bit_for_bit,
          long_rows_replay_in_the_same_tiles,
          heads_and_steps_that_were_not_recorded_are_not_offered,
          earlier_values_of_a_layer_are_at_hand, a_replay_says_what_it_can_offer,
          misfits_are_refused_with_the_expected_shape,
          parameters_that_the_model_does_not_have_are_of_no_layer)
