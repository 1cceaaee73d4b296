/* SPDX-License-Identifier: MIT
 *
 * The laws on backends that round what they store: healthy models stay silent, the
 * bounds are those of the format and no wider, faults are found all the same, and a
 * recording says what the run said.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conventions.h"
#include "driver.h"
#include "live.h"

#define EVERYTHING                                                                     \
    "record : ( { probe = \"full\"; points = \"*\"; }, { probe = \"rows\"; }, "        \
    "{ probe = \"stats\"; points = \"*\"; }, { probe = \"norms\"; } ); "
#define RAGGED "input : { tokens = ([1, 5, 9, 2, 7, 3, 11, 40], [4, 4, 8]); }; "

static const char *const precisions[] = {
    "precision : { backend = \"bf16\"; }; ",
    "precision : { backend = \"fp16\"; }; ",
    "precision : { backend = \"bf16\"; softmax = \"same\"; }; ",
    "precision : { backend = \"fp16\"; softmax = \"same\"; }; ",
};
#define PRECISIONS (sizeof precisions / sizeof *precisions)

/* A cfg of one of the real models, or NULL. */
static const char *real_model(char *text, size_t bytes, const char *name)
{
    const char *folder = test_model(name);

    if (!folder)
        return NULL;
    snprintf(text, bytes, "model : { from = \"%s\"; }; ", folder);
    return text;
}

/* No law of `only` (NULL = all) fails or warns, and those of the list `judging` judge
 * something. */
static void expect_silence_of(const char *cfg, const char *only, const char *judging)
{
    for (size_t p = 0; p < PRECISIONS; p++) {
        char text[2048];
        live l;

        snprintf(text, sizeof text, "%s%s", cfg, precisions[p]);
        live_run(&l, text, only);
        for (size_t i = 0; i < l.count; i++) {
            const txd_result *r = &l.results[i];
            bool must = txd_glob_list(judging, r->check);

            ck_assert_msg(r->verdict == TXD_VERDICT_PASS ||
                              (!must && (r->verdict == TXD_VERDICT_SKIP ||
                                         r->verdict == TXD_VERDICT_INFO)),
                          "%s: %s: %s\n%s", r->check, txd_verdict_name(r->verdict),
                          r->finding_count ? r->findings[0].message : r->note, text);
        }
        live_finish(&l);
    }
}

static void expect_silence(const char *cfg, const char *judging)
{
    expect_silence_of(cfg, NULL, judging);
}

#define JUDGING                                                                        \
    "row_sum,causality,finite,residual_sum,score_scale,head_merge,head_split,"         \
    "output_projection,norm_output,mask_fill"

START_TEST(real_models_are_healthy_in_bfloat16_and_float16)
{
    char text[1024], model[512];

    if (!real_model(model, sizeof model, "stories260K"))
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text, "%sinput : { random = { batch = 2; length = 60; }; }; ",
             model);
    expect_silence(text, JUDGING);
    if (!real_model(model, sizeof model, "gpt-nano-sort"))
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text,
             "%sinput : { tokens = ([0, 1, 2, 1, 0, 2, 0, 0, 1], [2, 1]); }; ", model);
    expect_silence(text, JUDGING ",padding,position_norm");
}
END_TEST

START_TEST(the_presets_are_healthy_in_bfloat16_and_float16)
{
    const char *presets[] = {"mini", "gpt2", "llama"};

    for (size_t i = 0; i < 6; i++) {
        char text[1024];

        snprintf(text, sizeof text,
                 "model : { preset = \"%s\"; vocab = 64; d_model = 32; n_heads = 4; "
                 "n_layers = 4; max_seq_len = 64; residual_scale = 0.7; "
                 "norm_placement = \"%s\"; }; " RAGGED,
                 presets[i / 2], i % 2 ? "post" : "pre");
        expect_silence(text, JUDGING ",padding");
    }
}
END_TEST

/* Sinks are rounded as other parameters are; large ones by more than the softmax. */
START_TEST(large_sinks_are_healthy_in_bfloat16_and_float16)
{
    expect_silence(
        "model : { preset = \"gpt2\"; sinks = true; vocab = 64; d_model = 32; n_heads "
        "= "
        "4; n_layers = 4; max_seq_len = 64; }; weights : { init = ( { params = \"*\"; "
        "scheme = \"normal\"; std = 0.2; }, { params = \"*.attn.sink.weight\"; scheme "
        "= "
        "\"normal\"; std = 8.0; } ); }; " RAGGED,
        "row_sum,softmax_precision");
}
END_TEST

START_TEST(the_conventions_of_families_are_healthy_in_bfloat16_and_float16)
{
    for (size_t i = 0; i < CONVENTIONS; i++) {
        const struct convention *c = &conventions[i];
        char text[1024];

        snprintf(
            text, sizeof text,
            "model : { %s vocab = 64; d_model = 32; n_heads = 4; n_layers = 3; "
            "max_seq_len = 64; }; weights : { init = ( { params = \"*\"; scheme = "
            "\"normal\"; std = 0.2; } ); }; input : { tokens = ([1, 5, 9, 2, 7, 3, "
            "11, 40], [4, 4, 8], [3, 1, 2, 9, 60]); %s }; ",
            c->model, c->is_cross ? "memory : { random : { length = 7; }; };" : "");
        expect_silence_of(text, live_watching(), JUDGING ",padding");
    }
}
END_TEST

static const txd_result *find(const txd_result *results, size_t count, const char *law)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].check, law) == 0)
            return &results[i];
    ck_abort_msg("no result of %s", law);
    return NULL;
}

/* What a recording can answer, it answers as the run did. */
static void expect_same(const live *l, const char *path)
{
    const txd_result *results;
    txd_checks *checks;
    txd_trace *trace;
    size_t count, same = 0;

    ck_assert_int_eq(txd_recording_open(&trace, path, NULL), TXD_OK);
    ck_assert_int_eq(txd_checks_recording(&checks, trace, NULL, NULL), TXD_OK);
    ck_assert_int_eq(txd_checks_finish(&results, &count, checks), TXD_OK);
    for (size_t i = 0; i < count; i++) {
        const txd_result *again = &results[i];
        const txd_result *first = find(l->results, l->count, again->check);

        if (again->verdict == TXD_VERDICT_SKIP)
            continue;
        ck_assert_msg(again->verdict == first->verdict, "%s: %s, then %s", again->check,
                      txd_verdict_name(first->verdict),
                      txd_verdict_name(again->verdict));
        if (!txd_glob_list(JUDGING, again->check))
            continue;
        same++;
        ck_assert_uint_eq(again->evaluated, first->evaluated);
        ck_assert_msg(again->worst == first->worst && again->allowed == first->allowed,
                      "%s: %a of %a, then %a of %a", again->check, first->worst,
                      first->allowed, again->worst, again->allowed);
    }
    ck_assert_uint_ge(same, 6);
    txd_checks_destroy(checks);
    txd_trace_destroy(trace);
}

START_TEST(a_recording_in_bfloat16_or_float16_gives_what_the_run_gave)
{
    char model[512];

    if (!real_model(model, sizeof model, "stories260K"))
        test_skip(TEST_NO_MODEL);
    for (size_t p = 0; p < PRECISIONS; p++) {
        char text[2048];
        live l;

        snprintf(text, sizeof text, "%s%s%s%s", model, precisions[p], RAGGED,
                 EVERYTHING);
        live_record(&l, text, test_file("r.h5"));
        expect_same(&l, l.record);
        live_finish(&l);
    }
}
END_TEST

/* Arithmetic that is off by far more than the format explains. */
START_TEST(faults_are_found_in_bfloat16_and_float16)
{
    static const char *const found[][2] = {
        {"mask_off_by_one", "causality"}, {"mask_after_softmax", "row_sum"},
        {"scale_missing", "score_scale"}, {"residual_missing", "residual_sum"},
        {"padding_ignored", "padding"},   {"mask_missing", "causality"}};

    for (size_t p = 0; p < PRECISIONS; p++)
        for (size_t f = 0; f < sizeof found / sizeof *found; f++) {
            char text[2048];
            live l;

            snprintf(text, sizeof text,
                     "model : { preset = \"gpt2\"; vocab = 64; d_model = 32; n_heads = "
                     "4; n_layers = 3; max_seq_len = 64; }; %s%s"
                     "faults : ( { name = \"%s\"; layers = 1; } );",
                     RAGGED, precisions[p], found[f][0]);
            live_run(&l, text, found[f][1]);
            ck_assert_ptr_null(l.inapplicable);
            ck_assert_msg(live_result(&l, found[f][1])->verdict == TXD_VERDICT_FAIL,
                          "%s", text);
            live_finish(&l);
        }
}
END_TEST

/* ---- the bounds themselves ---- */

/* Shifts the row sum of head 0, query 8, which sees 9 keys. */
static double shift;
static void shift_row(driver *d, double *weights)
{
    weights[driver_at(d, 0, 0, 8, 0)] += shift;
}

static txd_verdict judge_shift(txd_dtype format, txd_softmax_precision softmax,
                               double off)
{
    driver d;
    txd_verdict verdict;

    driver_init(&d);
    txd_pass_set_format(&d.pass, format);
    for (int l = 0; l < LAYERS; l++)
        d.config.layers[l].softmax = softmax;
    shift = off;
    verdict = driver_run_weights(&d, "row_sum", 1, shift_row)->verdict;
    driver_finish(&d);
    return verdict;
}

START_TEST(a_row_may_be_off_by_one_rounding_or_two_if_every_step_rounds)
{
    const txd_dtype formats[] = {TXD_BF16, TXD_F16};
    const double units[] = {0x1p-8, 0x1p-11};

    for (int i = 0; i < 2; i++)
        for (int sign = -1; sign < 2; sign += 2) {
            double u = sign * units[i];
            txd_dtype f = formats[i];

            ck_assert_int_eq(judge_shift(f, TXD_SOFTMAX_FLOAT32, 0.98 * u),
                             TXD_VERDICT_PASS);
            ck_assert_int_eq(judge_shift(f, TXD_SOFTMAX_FLOAT32, 1.02 * u),
                             TXD_VERDICT_FAIL);
            ck_assert_int_eq(judge_shift(f, TXD_SOFTMAX_SAME, 1.98 * u),
                             TXD_VERDICT_PASS);
            ck_assert_int_eq(judge_shift(f, TXD_SOFTMAX_SAME, 2.05 * u),
                             TXD_VERDICT_FAIL);
        }
}
END_TEST

static double *constant(driver *d, txd_point point, double value)
{
    double *data = driver_random(d, point, 1);

    for (size_t i = 0; i < driver_count(d, point); i++)
        data[i] = value;
    return data;
}

/* resid.pre + attn.branch = resid.mid, all elements alike. */
static txd_verdict judge_sum(txd_dtype format, double in, double branch, double out)
{
    driver d;
    txd_verdict verdict;

    driver_init(&d);
    txd_pass_set_format(&d.pass, format);
    driver_start(&d, "residual_sum");
    driver_offer(&d, TXD_POINT_RESID_PRE, 0, constant(&d, TXD_POINT_RESID_PRE, in));
    driver_offer(&d, TXD_POINT_ATTN_BRANCH, 0,
                 constant(&d, TXD_POINT_ATTN_BRANCH, branch));
    driver_offer(&d, TXD_POINT_RESID_MID, 0, constant(&d, TXD_POINT_RESID_MID, out));
    verdict = driver_result(&d)->verdict;
    driver_finish(&d);
    return verdict;
}

START_TEST(a_sum_too_large_for_the_format_is_not_blamed_on_the_residual)
{
    ck_assert_int_eq(judge_sum(TXD_F16, 60000, 6000, INFINITY), TXD_VERDICT_SKIP);
    ck_assert_int_eq(judge_sum(TXD_BF16, 60000, 6000, INFINITY), TXD_VERDICT_FAIL);
    ck_assert_int_eq(judge_sum(TXD_F16, 60000, 5000, INFINITY), TXD_VERDICT_FAIL);
    ck_assert_int_eq(judge_sum(TXD_F16, 60000, 5000, 65024), TXD_VERDICT_PASS);
    ck_assert_int_eq(judge_sum(TXD_F16, 60000, 5000, 64960), TXD_VERDICT_FAIL);
}
END_TEST

static txd_verdict judge_score(txd_dtype format, double q, double score)
{
    driver d;
    txd_verdict verdict;

    driver_init(&d);
    txd_pass_set_format(&d.pass, format);
    for (int l = 0; l < LAYERS; l++)
        d.config.layers[l].score_scale = 0.5;
    driver_start(&d, "score_scale");
    driver_offer(&d, TXD_POINT_ATTN_Q, 0, constant(&d, TXD_POINT_ATTN_Q, q));
    driver_offer(&d, TXD_POINT_ATTN_K, 0, constant(&d, TXD_POINT_ATTN_K, 1));
    driver_offer(&d, TXD_POINT_ATTN_SCORES, 0,
                 constant(&d, TXD_POINT_ATTN_SCORES, score));
    verdict = driver_result(&d)->verdict;
    driver_finish(&d);
    return verdict;
}

START_TEST(a_score_is_rounded_once_and_may_overflow)
{
    double exact = 0.5 * WIDTH; /* of q = k = 1 */

    ck_assert_int_eq(judge_score(TXD_BF16, 1, exact * (1 + 0x1p-8)), TXD_VERDICT_PASS);
    ck_assert_int_eq(judge_score(TXD_BF16, 1, exact * (1 + 1.05 * 0x1p-8)),
                     TXD_VERDICT_FAIL);
    ck_assert_int_eq(judge_score(TXD_F16, 1, exact * (1 + 1.05 * 0x1p-11)),
                     TXD_VERDICT_FAIL);
    ck_assert_int_eq(judge_score(TXD_F16, 20000, INFINITY), TXD_VERDICT_SKIP);
    ck_assert_int_eq(judge_score(TXD_BF16, 20000, INFINITY), TXD_VERDICT_FAIL);
}
END_TEST

TEST_MAIN(real_models_are_healthy_in_bfloat16_and_float16,
          the_presets_are_healthy_in_bfloat16_and_float16,
          the_conventions_of_families_are_healthy_in_bfloat16_and_float16,
          large_sinks_are_healthy_in_bfloat16_and_float16,
          a_recording_in_bfloat16_or_float16_gives_what_the_run_gave,
          faults_are_found_in_bfloat16_and_float16,
          a_row_may_be_off_by_one_rounding_or_two_if_every_step_rounds,
          a_sum_too_large_for_the_format_is_not_blamed_on_the_residual,
          a_score_is_rounded_once_and_may_overflow)
