/* SPDX-License-Identifier: MIT
 *
 * Rows and statistics of a replay: recorded ones, and those that follow from recorded
 * values.
 */
#include <math.h>
#include <string.h>

#include "pass_log.h"
#include "suite.h"

#define EVERYTHING ((unsigned)(TXD_ASK_VALUE | TXD_ASK_ROWS | TXD_ASK_STATS))

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

START_TEST(rows_and_statistics_replay_without_values)
{
    const char *path = test_file("default.h5");
    recorded_pass pass = made_pass("record = ( { probe = \"rows\"; }, "
                                   "{ probe = \"stats\"; } );");
    unsigned asks = TXD_ASK_ROWS | TXD_ASK_STATS;
    pass_log live, replayed;

    pass_log_init(&live, asks, "layers.*");
    pass_log_init(&replayed, EVERYTHING, "layers.*");
    pass_record(path, &pass, &live);
    pass_replay(path, &replayed);
    pass_log_same(&replayed, &live, asks, 0);
    for (size_t i = 0; i < replayed.count; i++)
        ck_assert_ptr_null(replayed.blocks[i].values);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}
END_TEST

START_TEST(rows_and_statistics_follow_from_recorded_values)
{
    recorded_pass pass = made_pass("record = ( { probe = \"full\"; points = "
                                   "\"*\"; } );");

    pass_compare(&pass, EVERYTHING, "layers.*,logits,loss.token,embed.*,input.*",
                 1e-13);
}
END_TEST

/* Those of float32 by the kernels of the pass, but for the entropy. */
START_TEST(rows_of_floats_follow_from_recorded_scores_and_weights)
{
    recorded_pass pass = made_pass("record = ( { probe = \"full\"; points = "
                                   "\"layers.*.attn.*\"; } );");

    pass.backend = "cpu32";
    pass_compare(&pass, EVERYTHING, "layers.*.attn.weights", 2e-6);
}
END_TEST

/* Which hidden cells were computed all the same nothing in the file tells. */
START_TEST(rows_over_cells_that_were_not_computed_follow_from_values)
{
    recorded_pass pass =
        made_pass("record = ( { probe = \"full\"; points = "
                  "\"layers.*.attn.masked,layers.*.attn.weights\"; } );");
    const char *path = test_file("pass.h5");
    pass_log live, replayed;
    size_t uncounted = 0;

    pass.cfg = "model : { preset = \"llama\"; vocab = 40; d_model = 16; n_heads = 4; "
               "n_layers = 3; d_ff = 24; }; mask : { evaluate_hidden = \"never\"; };";
    pass_log_init(&live, TXD_ASK_ROWS, "layers.*.attn.weights");
    pass_log_init(&replayed, TXD_ASK_ROWS, "layers.*.attn.weights");
    pass_record(path, &pass, &live);
    pass_replay(path, &replayed);
    for (size_t i = 0; i < live.count; i++) {
        live.blocks[i].part[3] =
            live.blocks[i].dims[3]; /* of which some were computed */
        live.blocks[i].start[3] = 0;
        for (size_t r = 0; r < live.blocks[i].part[2]; r++) {
            double *row = live.blocks[i].rows + r * TXD_ROW_COUNT;

            uncounted += row[TXD_ROW_FUTURE_COUNT] > 0;
            if (!isnan(row[TXD_ROW_SEEN]))
                row[TXD_ROW_FUTURE_COUNT] = row[TXD_ROW_PADDING_COUNT] = 0;
        }
    }
    ck_assert_uint_gt(uncounted, 0);
    pass_log_same(&replayed, &live, TXD_ASK_ROWS, 1e-13);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}
END_TEST

/* Where the first one is, and what it is, is found in the values. */
START_TEST(the_first_that_is_not_finite_follows_from_recorded_values)
{
    recorded_pass pass = made_pass("record = ( { probe = \"full\"; points = "
                                   "\"*\"; } );");
    pass_log live, replayed;
    size_t later = 0, logits = 0;

    pass.cfg = "model : { preset = \"llama\"; vocab = 40; d_model = 16; n_heads = 4; "
               "n_layers = 3; d_ff = 24; layers = ( { range = \"1\"; score_scale = "
               "1e30; } ); }; weights : { init = ( { params = \"layers.1.attn.q.weight,"
               "layers.1.attn.k.weight\"; scheme = \"normal\"; std = 3e3; } ); };";
    pass.backend = "cpu32";
    pass_compare(&pass, TXD_ASK_STATS, "layers.*,logits", 1e-13);
    pass_log_init(&live, TXD_ASK_STATS, "layers.1.*,logits");
    pass_log_init(&replayed, TXD_ASK_STATS, "layers.1.*,logits");
    pass_record(test_file("pass.h5"), &pass, &live);
    pass_replay(test_file("pass.h5"), &replayed);
    for (size_t i = 0; i < replayed.count; i++) {
        const logged_block *block = &replayed.blocks[i];
        double first = block->stats ? block->stats[TXD_STAT_FIRST] : -1;

        later += block->site.point != TXD_POINT_LOGITS && first > 0;
        logits += block->site.point == TXD_POINT_LOGITS && first > 0;
    }
    ck_assert_uint_gt(later, 0);
    ck_assert_uint_gt(logits, 0);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}
END_TEST

START_TEST(what_of_statistics_was_left_out_is_not_offered)
{
    recorded_pass pass = made_pass(
        "record = ( { probe = \"stats\"; points = "
        "\"layers.*.resid.pre\"; steps = "
        "\"1\"; }, { probe = \"norms\"; points = \"layers.1.*.weight\"; } );");
    pass_log live, replayed;
    size_t parameters = 0, values = 0;

    pass_log_init(&live, TXD_ASK_STATS, NULL);
    pass_log_init(&replayed, TXD_ASK_STATS, NULL);
    pass_record(test_file("pass.h5"), &pass, &live);
    pass_replay(test_file("pass.h5"), &replayed);
    for (size_t i = 0; i < replayed.count; i++) {
        const logged_block *block = &replayed.blocks[i];

        if (block->site.kind == TXD_SITE_PARAMETER) {
            ck_assert_msg(txd_glob("layers.1.*.weight", block->name), "%s",
                          block->name);
            ck_assert(block->stats[TXD_STAT_COUNT] > 0);
            parameters++;
        } else if (block->site.layer >= 0) {
            ck_assert_int_eq(block->site.point, TXD_POINT_RESID_PRE);
            ck_assert_int_eq(block->site.step, 1);
            ck_assert(block->stats[TXD_STAT_COUNT] > 0);
            values++;
        }
    }
    ck_assert_uint_eq(parameters, 9);
    ck_assert_uint_eq(values, 3);
    pass_log_finish(&live);
    pass_log_finish(&replayed);
}
END_TEST

TEST_MAIN(rows_and_statistics_replay_without_values,
          rows_and_statistics_follow_from_recorded_values,
          rows_of_floats_follow_from_recorded_scores_and_weights,
          rows_over_cells_that_were_not_computed_follow_from_values,
          the_first_that_is_not_finite_follows_from_recorded_values,
          what_of_statistics_was_left_out_is_not_offered)
