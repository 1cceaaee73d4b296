/* SPDX-License-Identifier: MIT
 *
 * The law head_logits: caps and scales on hand-made logits, products in models.
 */
#include "driver.h"
#include "recorded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { VOCAB = 11, COUNT = LENGTH * VOCAB };

/* What is claimed (0 = none), what is done, and one logit that is off. */
typedef struct made {
    double cap, scale;
    double cap_done, scale_done;
    double off;
    bool nan_raw;
} made;

static double logit(double raw, double cap, double scale)
{
    scale = scale == 0 ? 1 : scale;
    return cap == 0 ? scale * raw : cap * tanh(scale * raw / cap);
}

static const txd_result *run(driver *d, const made *m)
{
    double *raw = driver_numbers(d, COUNT, 3);
    double *logits = txd_arena_alloc(d->arena, COUNT, sizeof *logits);

    d->config.logit_softcap = m->cap;
    d->config.logit_scale = m->scale;
    driver_start(d, "head_logits");
    for (size_t i = 0; i < COUNT; i++) {
        raw[i] *= 8;
        logits[i] = logit(raw[i], m->cap_done, m->scale_done);
    }
    logits[2 * VOCAB + 7] += m->off;
    if (m->nan_raw)
        raw[2 * VOCAB + 7] = NAN;
    driver_offer(d, TXD_POINT_LOGITS_RAW, -1, raw);
    driver_offer(d, TXD_POINT_LOGITS, -1, logits);
    return driver_result(d);
}

static void expect(const made *m, txd_verdict verdict, const char *words)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, m);
    ck_assert_msg(r->verdict == verdict, "%s: %s %s", txd_verdict_name(r->verdict),
                  r->note, r->finding_count ? r->findings[0].message : "");
    ck_assert_msg(!words || strstr(r->findings[0].message, words), "%s",
                  r->finding_count ? r->findings[0].message : r->note);
    driver_finish(&d);
}

START_TEST(claimed_caps_and_scales_pass_and_tokens_are_judged_at_all_ids)
{
    const made cases[] = {{.cap = 5, .cap_done = 5},
                          {.scale = 0.3, .scale_done = 0.3},
                          {.scale = -2, .scale_done = -2},
                          {5, 0.3, 5, 0.3, 0, false}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &cases[i]);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, 8 * VOCAB);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_cap_or_a_scale_that_is_missing_is_named)
{
    expect(&(made){.cap = 5}, TXD_VERDICT_FAIL, ": the cap is missing");
    expect(&(made){.scale = 0.3}, TXD_VERDICT_FAIL, ": the scale is missing");
    expect(&(made){5, 0.3, 0, 0.3, 0, false}, TXD_VERDICT_FAIL, ": the cap is missing");
    expect(&(made){5, 0.3, 0, 0, 0, false}, TXD_VERDICT_FAIL,
           "neither capped nor scaled");
    expect(&(made){.scale = 0.3, .scale_done = 0.6}, TXD_VERDICT_FAIL,
           "2 times what they should be");
    expect(&(made){.scale = 2, .scale_done = 2, .cap_done = 30}, TXD_VERDICT_FAIL,
           NULL);
}
END_TEST

/* The cap and the product are off by a dozen roundoffs of at most 8. */
START_TEST(one_logit_is_found_as_soon_as_it_is_beyond_rounding)
{
    made m = {.cap = 5, .cap_done = 5, .off = 1e-16};

    expect(&m, TXD_VERDICT_PASS, NULL);
    m.off = 2e-14;
    expect(&m, TXD_VERDICT_FAIL, "token 2, the logit of id 7 is");
    m.off = NAN;
    expect(&m, TXD_VERDICT_FAIL, "the logit of id 7 is NaN");
}
END_TEST

START_TEST(what_the_head_makes_that_is_not_finite_leaves_it_open)
{
    expect(&(made){.cap = 5, .cap_done = 5, .nan_raw = true}, TXD_VERDICT_OPEN, NULL);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {2};
    driver d;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    ck_assert_int_eq(run(&d, &(made){.cap = 5, .cap_done = 5, .off = 1})->verdict,
                     TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

#define CFG(model, fault)                                                              \
    "model : { preset = \"gpt2\"; vocab = 101; d_model = 16; n_heads = 2; n_layers = " \
    "1; d_ff = 8; max_seq_len = 16; " model " }; input : { tokens = ([1, 5, 9, 2], "   \
    "[4, 8]); }; weights : { init = ( { params = \"*\"; scheme = \"normal\"; std = "   \
    "0.5; } ); }; " fault " record : ( { probe = \"full\"; points = \"*\"; } );"
#define BOTH(model)                                                                    \
    {                                                                                  \
        CFG(model, ""), CFG(model, FAULT("tying_lost"))                                \
    }
#define CAPPED "logit_softcap = 5.0; logit_scale = 0.3; head_bias = true;"
#define FAULT(name) "faults = ( { name = \"" name "\"; } );"

START_TEST(a_recording_tells_caps_and_scales_as_the_run_does)
{
    recorded_expect(CFG(CAPPED, ""), "head_logits", TXD_VERDICT_PASS, NULL);
    recorded_expect(CFG(CAPPED, FAULT("logit_scale_missing")), "head_logits",
                    TXD_VERDICT_FAIL, "the scale is missing");
    recorded_expect(CFG(CAPPED, FAULT("logit_softcap_missing")), "head_logits",
                    TXD_VERDICT_FAIL, "the cap is missing");
}
END_TEST

START_TEST(a_run_judges_the_product_of_every_kind_of_head)
{
    const char *const models[][2] = {
        BOTH(""), BOTH("tie_embeddings = false; head_bias = true;"),
        BOTH("head_transform = true; head_bias = true;"),
        BOTH("embed_dim = 8; logit_scale = 0.3;"), BOTH("norm_placement = \"post\";")};
    live l;

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        live_run(&l, models[i][0], "head_logits");
        ck_assert_int_eq(l.results->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_ge(l.results->evaluated, 6 * 64);
        live_finish(&l);
        live_run(&l, models[i][1], "head_logits");
        ck_assert(l.inapplicable || l.results->verdict == TXD_VERDICT_FAIL);
        ck_assert_int_eq(l.inapplicable != NULL, i == 1);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(claimed_caps_and_scales_pass_and_tokens_are_judged_at_all_ids,
          a_cap_or_a_scale_that_is_missing_is_named,
          one_logit_is_found_as_soon_as_it_is_beyond_rounding,
          what_the_head_makes_that_is_not_finite_leaves_it_open,
          padded_tokens_are_not_judged,
          a_recording_tells_caps_and_scales_as_the_run_does,
          a_run_judges_the_product_of_every_kind_of_head)
