/* SPDX-License-Identifier: MIT
 *
 * The law grad_range on hand-made gradients.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"

static const char *const names[] = {
    "norm1.weight",      "attn.q.weight",  "attn.k.weight",  "attn.v.weight",
    "attn.o.weight",     "norm2.weight",   "mlp.up.weight",  "mlp.down.weight",
    "norm_cross.weight", "cross.q.weight", "cross.k.weight", "cross.v.weight",
    "cross.o.weight"};

#define NARROW "checks : { grad_range : { high = 0.2; }; };"

enum { ALL_NAMES = sizeof names / sizeof *names, NAMES = ALL_NAMES - 5 /* cross */ };

typedef struct plant {
    int layer;        /* where the rest applies; -1 = nowhere */
    const char *zero; /* parameters (globs) whose gradient is 0 */
    double factor;    /* of the gradients of the layer; 0 = 1 */
    double element;   /* one element of mlp.up.weight, if not 0 */
    double kept;      /* of the stream's gradient that passes; 0 = all */
    txd_point at;     /* the only sum where it does so; 0 = all sums */
    double between;   /* factor between this layer and the next; 0 = 1 */
    bool ends;        /* no gradient comes down to this layer */
    const char *lost; /* parameters (globs) that are not offered */
    bool crosses;     /* there is cross-attention */
    const char *rules;
} plant;

static double or_one(double factor)
{
    return factor == 0 ? 1 : factor;
}

/* The gradients of one layer's parameters have the norm sqrt(NAMES) x 0.1. */
static void offer_parameters(driver *d, const plant *p, int layer)
{
    bool is_here = layer == p->layer;

    for (int i = 0; i < (d->config.cross ? ALL_NAMES : NAMES); i++) {
        double g[4] = {0.05, -0.05, 0.05, -0.05};
        char name[96];

        snprintf(name, sizeof name, "layers.%d.%s@grad", layer, names[i]);
        for (int e = 0; is_here && e < 4; e++)
            g[e] *= p->zero && txd_glob_list(p->zero, names[i]) ? 0 : or_one(p->factor);
        if (is_here && p->element != 0 && strcmp(names[i], "mlp.up.weight") == 0)
            g[2] = p->element;
        if (!is_here || !p->lost || !txd_glob_list(p->lost, names[i]))
            driver_offer_parameter(d, name, layer, g, 2, 2);
    }
}

/* The stream's gradient, from the last sum of a layer to what enters it; what enters is
 * that plus something of its own. */
static void offer_stream(driver *d, const plant *p, int layer, double *stream)
{
    static const txd_point points[] = {TXD_POINT_RESID_POST, TXD_POINT_RESID_CROSS,
                                       TXD_POINT_RESID_MID, TXD_POINT_RESID_PRE};
    size_t count = driver_count(d, TXD_POINT_RESID_PRE);
    bool is_here = layer == p->layer;

    for (int i = 0; i < 4; i++) {
        bool cuts = is_here && i > 0 && (p->at == 0 || p->at == points[i]);
        double *own = driver_random(d, points[i], (uint64_t)(7 * layer + i));
        double *data = driver_random(d, points[i], 1);

        for (size_t e = 0; e < count; e++) {
            double kept = cuts && p->kept != 0 ? p->kept : 1;

            stream[e] = kept * stream[e] + (i > 0 ? 0.01 * own[e] : 0);
            if (is_here && p->ends)
                stream[e] = 0;
            data[e] = stream[e];
        }
        if (points[i] != TXD_POINT_RESID_CROSS || d->config.cross)
            driver_offer_gradient(d, points[i], layer, data);
    }
    for (size_t e = 0; e < count && layer == p->layer + 1; e++)
        stream[e] *= or_one(p->between);
}

static void end_step(driver *d)
{
    size_t count;
    txd_tap *const *taps = txd_checks_taps(d->checks, &count);

    for (size_t i = 0; i < count; i++)
        ck_assert_int_eq(taps[i]->step_end(taps[i]->self, &d->pass), TXD_OK);
}

static void step(driver *d, const plant *p)
{
    double *stream = driver_random(d, TXD_POINT_RESID_POST, 3);

    for (int l = LAYERS - 1; l >= 0; l--)
        offer_stream(d, p, l, stream);
    for (int l = 0; l < LAYERS; l++)
        offer_parameters(d, p, l);
    end_step(d);
}

static const txd_result *run(driver *d, const plant *p)
{
    d->config.cross = p->crosses;
    if (p->rules)
        ck_assert_int_eq(txd_cfg_parse(&d->root, d->arena, "rules", p->rules), TXD_OK);
    driver_start(d, "grad_range");
    step(d, p);
    return driver_result(d);
}

static const plant healthy = {.layer = -1};

START_TEST(gradients_of_usual_size_pass)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &healthy);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS);
    ck_assert(fabs(r->worst - sqrt(NAMES) * 0.1) < 1e-12);
    ck_assert_ptr_nonnull(
        strstr(r->note, "norm of the first layer to that of the last: 1"));
    driver_finish(&d);
}
END_TEST

static void expect(const plant *p, txd_verdict verdict, int layer, const char *words)
{
    driver d;
    const txd_result *r;
    char site[32];

    driver_init(&d);
    r = run(&d, p);
    snprintf(site, sizeof site, "layers.%d@grad", layer);
    ck_assert_msg(r->verdict == verdict, "%s: %s", txd_verdict_name(r->verdict),
                  r->finding_count ? r->findings[0].message : r->note);
    ck_assert_uint_gt(r->finding_count, 0);
    ck_assert_str_eq(r->findings[0].site, site);
    ck_assert_int_eq(r->findings[0].layer, layer);
    ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                  r->findings[0].message);
    driver_finish(&d);
}

START_TEST(a_part_of_a_layer_without_gradient_fails_in_every_layer)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        const plant cut = {.layer = layer, .zero = "attn.*"};
        const plant all = {.layer = layer, .zero = "*"};

        expect(&cut, TXD_VERDICT_FAIL, layer,
               "of the attention is exactly 0, while one of norm");
        expect(&all, TXD_VERDICT_FAIL, layer,
               "of the attention and the MLP and the norms is exactly 0");
    }
}
END_TEST

START_TEST(a_gradient_that_ends_above_is_no_branch_that_is_cut)
{
    const plant p = {.layer = 1, .zero = "*", .ends = true};

    expect(&p, TXD_VERDICT_FAIL, 1, "it ends above layer 1");
}
END_TEST

START_TEST(one_parameter_without_gradient_is_no_part)
{
    const plant p = {.layer = 1, .zero = "attn.k.weight,norm1.weight,norm2.weight"};
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, &p)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

START_TEST(sizes_beyond_the_limits_warn_or_fail)
{
    const plant large = {.layer = 2, .factor = 100},
                small = {.layer = 1, .factor = 1e-3};
    const plant huge = {.layer = 1, .element = 2000};
    const plant narrow = {.layer = 1, .factor = 2, .rules = NARROW};
    driver d;
    const txd_result *r;

    expect(&large, TXD_VERDICT_WARN, 2, "large in layers 2 to 2: norms from 28.3");
    expect(&small, TXD_VERDICT_WARN, 1, "matter of training state");
    expect(&huge, TXD_VERDICT_FAIL, 1,
           "norm 2e+03, most of it in layers.1.mlp.up.weight");
    driver_init(&d);
    r = run(&d, &narrow);
    ck_assert(r->findings[0].measured > 0.5); /* the farthest of three that are large */
    driver_finish(&d);
}
END_TEST

START_TEST(nan_fails_and_is_not_called_small)
{
    const double bad[] = {NAN, INFINITY, -INFINITY};

    for (size_t i = 0; i < 3; i++) {
        const plant p = {.layer = 0, .element = bad[i]};
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &p);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert(isnan(r->worst));
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "finite"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(the_ratio_of_first_and_last_layer_tells_of_depth)
{
    const plant growing = {.layer = 0, .factor = 80};
    const plant shrinking = {.layer = 0, .factor = 1e-4};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &growing);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
    ck_assert_ptr_nonnull(strstr(r->findings[1].message, "explodes towards the first"));
    driver_finish(&d);
    driver_init(&d);
    r = run(&d, &shrinking);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
    ck_assert_ptr_nonnull(strstr(r->findings[1].message, "vanishes towards the first"));
    driver_finish(&d);
}
END_TEST

/* ---- causes ---- */

START_TEST(a_stream_that_is_not_added_is_the_cause)
{
    const plant p = {.layer = 1, .element = 2000, .kept = 0.001};

    expect(&p, TXD_VERDICT_FAIL, 1, "the stream is not added");
}
END_TEST

START_TEST(any_sum_of_a_layer_with_cross_attention_can_be_the_one)
{
    static const txd_point sums[] = {TXD_POINT_RESID_CROSS, TXD_POINT_RESID_MID,
                                     TXD_POINT_RESID_PRE};

    for (int i = 0; i < 3; i++) {
        const plant p = {
            .layer = 1, .element = 2000, .kept = 0.001, .at = sums[i], .crosses = true};

        expect(&p, TXD_VERDICT_FAIL, 1, "the stream is not added");
    }
}
END_TEST

START_TEST(a_norm_between_layers_is_the_cause_where_none_is_claimed)
{
    const plant p = {.layer = 1, .element = 2000, .between = 3};

    expect(&p, TXD_VERDICT_FAIL, 1, "norms stand after the sums, not before");
}
END_TEST

START_TEST(without_evidence_no_cause_is_named)
{
    const plant p = {.layer = 1, .element = 2000};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_ptr_null(strstr(r->findings[0].message, ";"));
    driver_finish(&d);
}
END_TEST

START_TEST(in_float16_the_loss_scale_is_told)
{
    const plant zero = {.layer = 1, .zero = "*"},
                bad = {.layer = 1, .element = INFINITY};

    for (int i = 0; i < 2; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        txd_pass_set_format(&d.pass, TXD_F16);
        d.pass.loss_scale = i == 0 ? 1 : 65536;
        r = run(&d, i == 0 ? &zero : &bad);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message,
                             i == 0 ? "a larger one keeps small gradients"
                                    : "a smaller one keeps them finite") != NULL,
                      "%s", r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

/* ---- what is judged ---- */

START_TEST(a_step_without_a_loss_has_no_gradient_to_judge)
{
    const int lengths[1] = {1};
    const plant p = {.layer = 1, .zero = "*"};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "no loss"));
    driver_finish(&d);
}
END_TEST

START_TEST(layers_are_judged_if_all_their_parameters_are_there)
{
    const plant p = {.layer = 1, .factor = 1e6, .lost = "norm2.weight"};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS - 1);
    driver_finish(&d);
}
END_TEST

START_TEST(every_step_is_judged_and_the_first_that_fails_is_told)
{
    const plant p = {.layer = 1, .zero = "mlp.*"};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "grad_range");
    for (d.pass.step = 0; d.pass.step < 4; d.pass.step++)
        step(&d, d.pass.step < 2 ? &healthy : &p);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->evaluated, 4 * LAYERS);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_uint_eq(r->finding_total, 2);
    ck_assert_int_eq(r->findings[0].step, 2);
    driver_finish(&d);
}
END_TEST

START_TEST(a_parameter_outside_of_the_layers_without_gradient_fails)
{
    double none[4] = {0}, some[4] = {1, 2, 3, 4};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "grad_range");
    driver_offer_parameter(&d, "embed.tok.weight@grad", -1, some, 2, 2);
    driver_offer_parameter(&d, "head.weight@grad", -1, none, 2, 2);
    for (int l = 0; l < LAYERS; l++)
        offer_parameters(&d, &healthy, l);
    end_step(&d);
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "head.weight@grad");
    driver_finish(&d);
}
END_TEST

TEST_MAIN(gradients_of_usual_size_pass,
          a_part_of_a_layer_without_gradient_fails_in_every_layer,
          a_gradient_that_ends_above_is_no_branch_that_is_cut,
          one_parameter_without_gradient_is_no_part,
          sizes_beyond_the_limits_warn_or_fail, nan_fails_and_is_not_called_small,
          the_ratio_of_first_and_last_layer_tells_of_depth,
          a_stream_that_is_not_added_is_the_cause,
          any_sum_of_a_layer_with_cross_attention_can_be_the_one,
          a_norm_between_layers_is_the_cause_where_none_is_claimed,
          without_evidence_no_cause_is_named, in_float16_the_loss_scale_is_told,
          a_step_without_a_loss_has_no_gradient_to_judge,
          layers_are_judged_if_all_their_parameters_are_there,
          every_step_is_judged_and_the_first_that_fails_is_told,
          a_parameter_outside_of_the_layers_without_gradient_fails)
