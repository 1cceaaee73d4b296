/* SPDX-License-Identifier: MIT
 *
 * Recordings in which points were recorded in different steps, heads or layers: each
 * law judges where all that it reads is there, says so, and raises no alarm.
 */
#include "cfg_text.h"
#include "live.h"

#include <stdio.h>
#include <string.h>

#define DECODER                                                                        \
    "model : { preset = \"gpt2\"; vocab = 20; d_model = 8; n_heads = 2; d_ff = 8; "    \
    "n_layers = 2; max_seq_len = 8; }; input : { tokens = ( [1, 2, 3, 4, 5, 6], "      \
    "[7, 2, 9] ); steps = 2; }; "
#define FAMILY(conventions)                                                            \
    "model : { preset = \"gpt2\"; vocab = 20; d_model = 8; n_heads = 2; d_ff = 8; "    \
    "n_layers = 2; max_seq_len = 8; " conventions                                      \
    "}; weights : { init = ( { params = \"*\"; scheme = \"normal\"; std = 0.2; } ); "  \
    "}; input : { tokens = ( [1, 2, 3, 4, 5, 6], [7, 2, 9] ); steps = 2; }; "
#define CROSS                                                                          \
    "model : { preset = \"llama\"; vocab = 20; d_model = 16; n_heads = 4; d_ff = 8; "  \
    "n_layers = 2; max_seq_len = 8; cross = true; encoder_layers = 1; }; "             \
    "input : { tokens = ( [1, 2, 3, 4, 5, 6], [7, 2, 9] ); steps = 2; "                \
    "memory : { tokens = ( [3, 1, 2], [5, 4] ); }; }; "

/* What is recorded of all points, and of one. */
static const struct gap {
    const char *of_all, *of_one;
} gaps[] = {{"steps = \"0:1\";", ""},
            {"steps = \"1:2\";", "steps = \"0:1\";"},
            {"heads = \"0\";", "heads = \"1\";"},
            {"layers = \"0\";", "layers = \"1\";"}};

enum { GAPS = sizeof gaps / sizeof *gaps };

typedef struct judged {
    live run;
    txd_trace *trace;
    txd_checks *checks;
    const txd_result *results;
    size_t count;
} judged;

static void judge(judged *out, const char *cfg)
{
    live_record(&out->run, cfg, test_file("r.h5"));
    ck_assert_int_eq(txd_recording_open(&out->trace, out->run.record, NULL), TXD_OK);
    ck_assert_msg(txd_checks_recording(&out->checks, out->trace, NULL, NULL) == TXD_OK,
                  "%s: %s", cfg, txd_message());
    ck_assert_int_eq(txd_checks_finish(&out->results, &out->count, out->checks),
                     TXD_OK);
}

static const txd_result *result_of(const judged *j, const char *law)
{
    for (size_t i = 0; i < j->count; i++)
        if (strcmp(j->results[i].check, law) == 0)
            return &j->results[i];
    ck_abort_msg("no result of %s", law);
    return NULL;
}

static void finish(judged *j)
{
    txd_checks_destroy(j->checks);
    txd_trace_destroy(j->trace);
    live_finish(&j->run);
}

/* `point` (with its gradient) as one, all else as the others. */
static void record(char text[2048], const char *model, const char *point,
                   const struct gap *gap)
{
    snprintf(text, 2048,
             "%s record : ( { probe = \"full\"; points = \"*,*@grad\"; %s }, "
             "{ probe = \"full\"; points = \"*%s,*%s@grad\"; %s }, "
             "{ probe = \"norms\"; } );",
             model, gap->of_all, point, point, gap->of_one);
}

static void expect_no_alarm(const judged *j, const char *cfg)
{
    for (size_t i = 0; i < j->count; i++) {
        const txd_result *before = live_result(&j->run, j->results[i].check);

        ck_assert_int_ne(before->verdict, TXD_VERDICT_FAIL);
        ck_assert_int_ne(before->verdict, TXD_VERDICT_OPEN);
        ck_assert_msg(j->results[i].verdict == before->verdict ||
                          j->results[i].verdict == TXD_VERDICT_SKIP,
                      "%s: %s says %s: %s", cfg, j->results[i].check,
                      txd_verdict_name(j->results[i].verdict), j->results[i].note);
    }
}

static void try_points(const char *model, const struct gap *gap)
{
    const txd_config config = cfg_text_config(model);

    for (int p = 0; p < TXD_POINT_COUNT; p++) {
        const txd_point_info *info = txd_point_get((txd_point)p);
        char text[2048];
        judged j;

        if (info->place == TXD_PLACE_INPUT || !txd_point_exists(&config, (txd_point)p))
            continue;
        record(text, model, info->name, gap);
        judge(&j, text);
        expect_no_alarm(&j, text);
        finish(&j);
    }
    cfg_text_finish();
}

START_TEST(no_gap_between_two_points_is_an_alarm)
{
    for (int g = 0; g < GAPS; g++)
        try_points(DECODER, &gaps[g]);
    try_points(FAMILY("norm_placement = \"sandwich\"; embed_scale = 1.5; "), &gaps[1]);
    try_points(FAMILY("parallel = true; embed_norm = true; embed_dim = 6; "
                      "head_transform = true; logit_softcap = 3.0; "),
               &gaps[1]);
}
END_TEST

START_TEST(no_gap_in_cross_attention_is_an_alarm)
{
    static const char *const points[] = {
        "cross.q",       "cross.v",      "cross.scores",  "cross.masked",
        "cross.weights", "cross.merged", "norm_cross.out"};

    for (size_t p = 0; p < sizeof points / sizeof *points; p++)
        for (int g = 0; g < GAPS; g++) {
            char text[2048];
            judged j;

            record(text, CROSS, points[p], &gaps[g]);
            judge(&j, text);
            expect_no_alarm(&j, text);
            finish(&j);
        }
}
END_TEST

/* Laws, and a point that each reads: recorded in every step, the rest in the first. */
START_TEST(steps_in_which_all_is_there_are_judged)
{
    static const char *const laws[][2] = {{"softmax_precision", "attn.weights"},
                                          {"score_scale", "attn.scores"},
                                          {"head_merge", "attn.merged"},
                                          {"grad_row_sum", "attn.masked"},
                                          {"qkv_distinct", "attn.v"}};

    for (size_t i = 0; i < sizeof laws / sizeof *laws; i++) {
        const txd_result *result, *before;
        char text[2048];
        judged j;

        record(text, DECODER, laws[i][1], &gaps[0]);
        judge(&j, text);
        result = result_of(&j, laws[i][0]);
        before = live_result(&j.run, laws[i][0]);
        ck_assert_int_eq(before->verdict, TXD_VERDICT_PASS);
        ck_assert_msg(result->verdict == TXD_VERDICT_PASS, "%s: %s", laws[i][0],
                      result->note);
        ck_assert_uint_gt(result->evaluated, 0);
        if (strcmp(laws[i][0], "qkv_distinct") != 0) /* counts parts, not steps */
            ck_assert_uint_lt(result->evaluated, before->evaluated);
        ck_assert_msg(strstr(result->note, "not judged in steps and heads"), "%s: %s",
                      laws[i][0], result->note);
        finish(&j);
    }
}
END_TEST

START_TEST(what_was_never_recorded_together_is_skipped_with_the_reason)
{
    const txd_result *result;
    judged j;

    judge(&j, DECODER "record : ( "
                      "{ probe = \"full\"; points = \"*.attn.weights\"; heads = \"0\"; "
                      "}, { probe = \"full\"; points = \"*.attn.masked\"; "
                      "heads = \"1\"; } );");
    result = result_of(&j, "softmax_precision");
    ck_assert_int_eq(live_result(&j.run, "softmax_precision")->verdict,
                     TXD_VERDICT_PASS);
    ck_assert_int_eq(result->verdict, TXD_VERDICT_SKIP);
    ck_assert_msg(strstr(result->note, "no step (or head)"), "%s", result->note);
    finish(&j);
}
END_TEST

TEST_MAIN(no_gap_between_two_points_is_an_alarm, no_gap_in_cross_attention_is_an_alarm,
          steps_in_which_all_is_there_are_judged,
          what_was_never_recorded_together_is_skipped_with_the_reason)
