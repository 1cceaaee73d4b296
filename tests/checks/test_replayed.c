/* SPDX-License-Identifier: MIT
 *
 * Judging a recording gives what judging the run gave, finding by finding, wherever the
 * recording holds the evidence; what it does not hold is skipped by name.
 */
#include "alike.h"

#include <stdio.h>
#include <string.h>

#define STORIES                                                                        \
    "input : { tokens = ([1, 403, 407, 261, 378, 269, 12, 500, 33, 2, 9], "            \
    "[1, 44, 301, 302, 303, 8, 77]); steps = 1; }; "
#define SORT                                                                           \
    "input : { tokens = ([0, 1, 2, 1, 0, 2, 0, 0, 1, 1, 2], [2, 1, 1, 0, 0, 2]); }; "
#define EVERYTHING                                                                     \
    "record : ( { probe = \"full\"; points = \"*,*@grad\"; }, { probe = \"rows\"; }, " \
    "{ probe = \"stats\"; points = \"*,*@grad\"; }, { probe = \"norms\"; } ); "

enum { TEXT = 4096 };

typedef struct replayed {
    txd_trace *trace;
    txd_checks *checks;
    const txd_result *results;
    size_t count;
} replayed;

static void judge_again(replayed *r, const char *path, const txd_setting *rules)
{
    ck_assert_msg(txd_recording_open(&r->trace, path, NULL) == TXD_OK, "%s",
                  txd_message());
    ck_assert_msg(txd_checks_recording(&r->checks, r->trace, rules, NULL) == TXD_OK,
                  "%s", txd_message());
    ck_assert_int_eq(txd_checks_finish(&r->results, &r->count, r->checks), TXD_OK);
}

static void finish(replayed *r)
{
    txd_checks_destroy(r->checks);
    txd_trace_destroy(r->trace);
}

static const txd_result *result_of(const replayed *r, const char *law)
{
    for (size_t i = 0; i < r->count; i++)
        if (strcmp(r->results[i].check, law) == 0)
            return &r->results[i];
    ck_abort_msg("no result of %s", law);
    return NULL;
}

/* Both models under one fault (NULL = none), recorded by `record`. */
static void expect_equal(const char *fault, const char *layer, const char *record)
{
    const char *const models[] = {"stories260K", "gpt-nano-sort"};
    const char *const inputs[] = {STORIES, SORT};

    for (int m = 0; m < 2; m++) {
        char text[TEXT], faults[256] = "";
        replayed r;
        live l;

        if (fault)
            snprintf(faults, sizeof faults, "faults : ( { name = \"%s\"; %s } );",
                     fault, layer);
        snprintf(text, sizeof text, "model : { from = \"%s\"; }; %s %s %s",
                 test_model(models[m]), inputs[m], record, faults);
        live_record(&l, text, test_file("r.h5"));
        if (!l.inapplicable) {
            judge_again(&r, l.record, NULL);
            ck_assert_uint_eq(l.count, r.count);
            for (size_t i = 0; i < l.count; i++)
                alike_expect(&l.results[i], &r.results[i]);
            finish(&r);
        }
        live_finish(&l);
    }
}

static bool has_models(void)
{
    return test_model("stories260K") && test_model("gpt-nano-sort");
}

START_TEST(a_healthy_recording_gives_what_the_run_gave)
{
    if (!has_models())
        test_skip(TEST_NO_MODEL);
    expect_equal(NULL, "", EVERYTHING);
    expect_equal(NULL, "", "precision : { backend = \"ref64\"; }; " EVERYTHING);
}
END_TEST

START_TEST(a_recording_of_every_fault_gives_what_the_run_gave)
{
    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (size_t i = 0; txd_fault_at(i); i++) {
        bool has_layers =
            (txd_fault_selectors(txd_fault_at(i)) & TXD_FAULT_LAYERS) != 0;

        expect_equal(txd_fault_name(txd_fault_at(i)),
                     has_layers ? "layers = \"1\";" : "", EVERYTHING);
    }
}
END_TEST

/* The laws that the default record can answer give the same verdict, the rest is
 * skipped and named. */
START_TEST(the_default_record_answers_five_laws)
{
    const char *const answered[] = {"row_sum", "causality", "padding", "finite",
                                    "position_norm"};
    char text[TEXT];
    replayed r;
    live l;

    if (!has_models())
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text, "model : { from = \"%s\"; }; " SORT,
             test_model("gpt-nano-sort"));
    live_record(&l, text, test_file("r.h5"));
    judge_again(&r, l.record, NULL);
    for (size_t i = 0; i < sizeof answered / sizeof *answered; i++) {
        ck_assert_int_eq(live_result(&l, answered[i])->verdict, TXD_VERDICT_PASS);
        ck_assert_msg(result_of(&r, answered[i])->verdict == TXD_VERDICT_PASS, "%s: %s",
                      answered[i], result_of(&r, answered[i])->note);
    }
    ck_assert_int_eq(result_of(&r, "residual_sum")->verdict, TXD_VERDICT_SKIP);
    ck_assert_str_eq(result_of(&r, "score_scale")->note,
                     "not recorded: attn.scores, attn.q, attn.k");
    finish(&r);
    live_finish(&l);
}
END_TEST

START_TEST(the_weights_alone_are_enough_for_the_laws_of_weights)
{
    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (int fault = 0; fault < 3; fault++) {
        const char *names[] = {"mask_off_by_one", "mask_after_softmax",
                               "padding_ignored"};
        const char *laws[] = {"causality", "row_sum", "padding"};
        char text[TEXT];
        replayed r;
        live l;

        snprintf(
            text, sizeof text,
            "model : { from = \"%s\"; }; " STORIES
            "record : ( { probe = \"full\"; points = \"layers.*.attn.weights\"; } );"
            "faults : ( { name = \"%s\"; layers = \"3\"; heads = \"6\"; } );",
            test_model("stories260K"), names[fault]);
        live_record(&l, text, test_file("r.h5"));
        judge_again(&r, l.record, NULL);
        alike_expect(live_result(&l, laws[fault]), result_of(&r, laws[fault]));
        ck_assert_int_eq(result_of(&r, laws[fault])->findings[0].head, 6);
        ck_assert_int_eq(txd_checks_exit(r.results, r.count, false), 1);
        finish(&r);
        live_finish(&l);
    }
}
END_TEST

START_TEST(a_recording_of_one_layer_is_judged_in_that_layer)
{
    char text[TEXT];
    replayed r;
    live l;

    if (!has_models())
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text,
             "model : { from = \"%s\"; }; " STORIES
             "record : ( { probe = \"full\"; points = \"layers.2.*\"; } );",
             test_model("stories260K"));
    live_record(&l, text, test_file("r.h5"));
    judge_again(&r, l.record, NULL);
    ck_assert_int_eq(result_of(&r, "residual_sum")->verdict, TXD_VERDICT_PASS);
    ck_assert_ptr_nonnull(
        strstr(result_of(&r, "residual_sum")->note, "judged in 1 of 5 layers"));
    ck_assert_int_eq(result_of(&r, "score_scale")->verdict, TXD_VERDICT_PASS);
    finish(&r);
    live_finish(&l);
}
END_TEST

/* The gains of drawn weights are all 1: their statistics say so. */
START_TEST(norms_of_drawn_weights_are_judged_from_the_statistics_of_the_gains)
{
    const char *const norms[] = {"rmsnorm", "layernorm"};
    const char *const laws[] = {"norm_output", "norm_moments"};

    for (int i = 0; i < 2; i++) {
        char text[TEXT];
        replayed r;
        live l;

        snprintf(
            text, sizeof text,
            "model : { preset = \"mini\"; vocab = 512; d_model = 16; n_heads = 4; "
            "n_layers = 2; max_seq_len = 64; norm = \"%s\"; bias = true; }; " STORIES
            "record : ( { probe = \"full\"; points = \"*\"; }, "
            "{ probe = \"norms\"; } );",
            norms[i]);
        live_record(&l, text, test_file("r.h5"));
        judge_again(&r, l.record, NULL);
        for (int law = 0; law < 2; law++) {
            const txd_result *result = result_of(&r, laws[law]);

            ck_assert_int_eq(live_result(&l, laws[law])->verdict, TXD_VERDICT_PASS);
            ck_assert_msg(result->verdict == TXD_VERDICT_PASS, "%s", result->note);
            alike_expect_numbers(live_result(&l, laws[law]), result);
        }
        finish(&r);
        live_finish(&l);
    }
}
END_TEST

/* That nothing is trained yet, and how the weights were drawn, is in the recording. */
START_TEST(drawn_weights_are_judged_by_weights_init_in_the_default_record)
{
    const char *const laws[] = {"projection_std", "attention_collapse"};

    for (int faulty = 0; faulty < 2; faulty++) {
        char text[TEXT];
        replayed r;
        live l;

        snprintf(
            text, sizeof text,
            "model : { preset = \"gpt2\"; vocab = 512; d_model = 16; n_heads = 4; "
            "n_layers = 2; max_seq_len = 64; }; " STORIES
            "weights : { init = ( { params = \"*\"; scheme = \"xavier_normal\"; }, "
            "{ params = \"*.o.weight\"; scheme = \"normal\"; std = 0.1; } ); }; "
            "faults : ( %s );",
            faulty ? "{ name = \"init_too_large\"; layers = \"1\"; }" : "");
        live_record(&l, text, test_file("r.h5"));
        judge_again(&r, l.record, NULL);
        ck_assert_int_eq(live_result(&l, "projection_std")->verdict,
                         faulty ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS);
        for (int law = 0; law < 2; law++)
            alike_expect_numbers(live_result(&l, laws[law]), result_of(&r, laws[law]));
        finish(&r);
        live_finish(&l);
    }
}
END_TEST

START_TEST(an_encoders_parameters_and_their_gradients_are_judged_too)
{
    const char *const last = "encoder.final_norm.weight@grad";
    size_t entry, before;
    replayed r;
    live l;

    live_record(&l,
                "model : { preset = \"mini\"; vocab = 512; d_model = 16; n_heads = 4; "
                "n_layers = 2; max_seq_len = 64; cross = true; encoder_layers = 2; "
                "bias = true; }; "
                "input : { tokens = ([1, 403, 407, 261], [1, 44]); "
                "memory : { tokens = ([7, 8, 9, 10, 3], [5, 6]); }; }; " EVERYTHING,
                test_file("r.h5"));
    judge_again(&r, l.record, NULL);
    ck_assert_uint_eq(l.count, r.count);
    for (size_t i = 0; i < l.count; i++)
        if (!alike_by_parameters(l.results[i].check))
            alike_expect(&l.results[i], &r.results[i]);
    ck_assert_int_eq(result_of(&r, "grad_range")->verdict, TXD_VERDICT_PASS);
    ck_assert_int_eq(txd_trace_find(r.trace, &entry, last), TXD_OK);
    ck_assert_int_eq(txd_trace_find(r.trace, &before, last + strlen("encoder.")),
                     TXD_OK);
    ck_assert_uint_gt(entry, before);
    finish(&r);
    live_finish(&l);
}
END_TEST

START_TEST(the_thresholds_of_the_run_hold_unless_rules_win)
{
    txd_setting *rules;
    txd_arena *arena;
    char text[TEXT];
    replayed r;
    live l;

    if (!has_models())
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text,
             "model : { from = \"%s\"; }; " SORT
             "checks : { position_norm : { factor = 1.0; }; };",
             test_model("gpt-nano-sort"));
    live_record(&l, text, test_file("r.h5"));
    ck_assert_int_eq(live_result(&l, "position_norm")->verdict, TXD_VERDICT_FAIL);
    judge_again(&r, l.record, NULL);
    ck_assert_int_eq(result_of(&r, "position_norm")->verdict, TXD_VERDICT_FAIL);
    finish(&r);
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_cfg_parse(&rules, arena, "rules.cfg",
                                   "checks : { position_norm : { factor = 5.0; }; };"),
                     TXD_OK);
    judge_again(&r, l.record, rules);
    ck_assert_int_eq(result_of(&r, "position_norm")->verdict, TXD_VERDICT_PASS);
    finish(&r);
    txd_arena_destroy(arena);
    live_finish(&l);
}
END_TEST

TEST_MAIN(a_healthy_recording_gives_what_the_run_gave,
          a_recording_of_every_fault_gives_what_the_run_gave,
          the_default_record_answers_five_laws,
          the_weights_alone_are_enough_for_the_laws_of_weights,
          a_recording_of_one_layer_is_judged_in_that_layer,
          norms_of_drawn_weights_are_judged_from_the_statistics_of_the_gains,
          drawn_weights_are_judged_by_weights_init_in_the_default_record,
          an_encoders_parameters_and_their_gradients_are_judged_too,
          the_thresholds_of_the_run_hold_unless_rules_win)
