/* SPDX-License-Identifier: MIT
 *
 * The law norm_output on hand-made norms.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MODEL = HEADS * WIDTH };

/* A way to normalise; all zero is a healthy rmsnorm. */
typedef struct way {
    bool centred, swapped; /* layernorm claimed; the other kind computed */
    double eps;            /* 0 = the claimed one */
    bool eps_outside, unbiased, raw, no_gain, no_bias, gain_plus_one;
    bool over_tokens, over_batch, other_input;
} way;

typedef struct norms {
    driver d;
    double *gain, *bias;
    way wrong;
    txd_point at; /* where the wrong way is taken, in `layer` */
    int layer;
    int64_t element; /* of that output, becomes value; -1 = none */
    double value;
    double spread; /* of the inputs; token t has spread (1 + t) */
    double shift;  /* of the inputs */
    bool late;     /* outputs are offered before their inputs */
    bool no_parameters;
} norms;

static void init(norms *n, bool centred)
{
    *n = (norms){.layer = -2, .element = -1, .spread = 1};
    driver_init(&n->d);
    n->d.config.norm = centred ? TXD_NORM_LAYER : TXD_NORM_RMS;
    n->d.config.norm_bias = centred;
    n->d.config.final_norm = true;
    n->wrong.centred = centred;
    n->gain = txd_arena_alloc(n->d.arena, MODEL, sizeof *n->gain);
    n->bias = txd_arena_alloc(n->d.arena, MODEL, sizeof *n->bias);
    for (int i = 0; i < MODEL; i++) {
        n->gain[i] = 0.5 + 0.05 * i;
        n->bias[i] = centred ? 0.1 * (i % 7) - 0.2 : 0;
    }
}

static double mean_of(const double *x, size_t count, size_t stride)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += x[i * stride];
    return sum / (double)count;
}

/* Normalises `count` elements, `stride` apart, as `w` says. */
static void normalise(double *z, const double *x, size_t count, size_t stride,
                      const way *w, double eps)
{
    double mean = w->centred != w->swapped ? mean_of(x, count, stride) : 0, sum = 0;
    double root;

    for (size_t i = 0; i < count; i++)
        sum += (x[i * stride] - mean) * (x[i * stride] - mean);
    sum /= (double)count - (w->unbiased ? 1 : 0);
    root = w->eps_outside ? sqrt(sum) + eps : sqrt(sum + eps);
    for (size_t i = 0; i < count; i++)
        z[i * stride] = (x[i * stride] - mean) / root;
}

static void normalise_all(double *z, const norms *n, const double *x, const way *w)
{
    double eps = w->eps > 0 ? w->eps : n->d.config.layers[0].norm_eps;
    size_t batch = n->d.inputs.batch, rows = batch * LENGTH;

    if (w->over_batch)
        for (size_t i = 0; i < MODEL; i++)
            normalise(z + i, x + i, rows, MODEL, w, eps);
    else if (w->over_tokens)
        for (size_t b = 0; b < batch; b++)
            for (size_t i = 0; i < MODEL; i++)
                normalise(z + b * LENGTH * MODEL + i, x + b * LENGTH * MODEL + i,
                          LENGTH, MODEL, w, eps);
    else
        for (size_t r = 0; r < rows; r++)
            normalise(z + r * MODEL, x + r * MODEL, MODEL, 1, w, eps);
}

static double *norm_of(norms *n, const double *x, const way *w)
{
    size_t count = driver_count(&n->d, TXD_POINT_RESID_PRE);
    double *out = txd_arena_alloc(n->d.arena, count, sizeof *out);

    memcpy(out, x, count * sizeof *out);
    if (!w->raw)
        normalise_all(out, n, x, w);
    for (size_t i = 0; i < count; i++) {
        double gain = n->gain[i % MODEL] + (w->gain_plus_one ? 1 : 0);

        out[i] =
            out[i] * (w->no_gain ? 1 : gain) + (w->no_bias ? 0 : n->bias[i % MODEL]);
    }
    return out;
}

static double *stream(norms *n, uint64_t seed)
{
    size_t count = driver_count(&n->d, TXD_POINT_RESID_PRE);
    double *x = driver_random(&n->d, TXD_POINT_RESID_PRE, seed);

    for (size_t i = 0; i < count; i++)
        x[i] = x[i] * n->spread * (1 + (double)(i / MODEL % LENGTH)) + n->shift;
    return x;
}

static void offer_parameters(norms *n)
{
    const char *const names[] = {"norm1", "norm2"};
    char name[64];

    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < 2; i++) {
            snprintf(name, sizeof name, "layers.%d.%s.weight", l, names[i]);
            driver_offer_parameter(&n->d, name, l, n->gain, 1, MODEL);
            snprintf(name, sizeof name, "layers.%d.%s.bias", l, names[i]);
            driver_offer_parameter(&n->d, name, l, n->bias, 1, MODEL);
        }
    driver_offer_parameter(&n->d, "final_norm.weight", -1, n->gain, 1, MODEL);
    driver_offer_parameter(&n->d, "final_norm.bias", -1, n->bias, 1, MODEL);
}

/* Offers an input and its norm; `other` is read instead of it if the way says so. */
static void offer(norms *n, int layer, txd_point in, double *x, txd_point out,
                  const double *other)
{
    way healthy = {.centred = n->wrong.centred};
    bool is_here = n->layer == layer && n->at == out;
    const way *w = is_here ? &n->wrong : &healthy;
    double *y = norm_of(n, w->other_input ? other : x, w);

    if (is_here && n->element >= 0)
        y[n->element] = n->value;
    if (n->late)
        driver_offer(&n->d, out, layer, y);
    if (in != TXD_POINT_COUNT)
        driver_offer(&n->d, in, layer < 0 ? LAYERS - 1 : layer, x);
    if (!n->late)
        driver_offer(&n->d, out, layer, y);
}

static const txd_result *run(norms *n)
{
    bool pre = n->d.config.norm_placement == TXD_PLACEMENT_PRE;
    double *end = NULL;

    driver_start(&n->d, "norm_output");
    if (!n->no_parameters)
        offer_parameters(n);
    for (int l = 0; l < LAYERS; l++) {
        double *before = stream(n, 10), *mid = stream(n, 20), *post = stream(n, 30);

        if (pre) {
            offer(n, l, TXD_POINT_RESID_PRE, before, TXD_POINT_NORM1_OUT, mid);
            offer(n, l, TXD_POINT_RESID_MID, mid, TXD_POINT_NORM2_OUT, before);
            driver_offer(&n->d, TXD_POINT_RESID_POST, l, post);
            end = post;
        } else {
            driver_offer(&n->d, TXD_POINT_RESID_PRE, l, before);
            offer(n, l, TXD_POINT_RESID_MID, mid, TXD_POINT_NORM1_OUT, before);
            offer(n, l, TXD_POINT_RESID_POST, post, TXD_POINT_NORM2_OUT, mid);
            end = norm_of(n, post, &(way){.centred = n->wrong.centred});
        }
    }
    offer(n, -1, TXD_POINT_COUNT, end, TXD_POINT_FINAL_NORM, end);
    return driver_result(&n->d);
}

START_TEST(healthy_norms_of_both_kinds_pass_with_either_placement_and_in_any_order)
{
    for (int i = 0; i < 8; i++) {
        norms n;
        const txd_result *r;

        init(&n, i & 1);
        n.d.config.norm_placement = i & 2 ? TXD_PLACEMENT_POST : TXD_PLACEMENT_PRE;
        n.late = (i & 4) != 0;
        r = run(&n);
        ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%s", r->note);
        ck_assert_uint_eq(r->evaluated, (2 * LAYERS + 1) * LENGTH);
        driver_finish(&n.d);
    }
}
END_TEST

START_TEST(what_is_wrong_is_named_at_every_norm_of_every_layer)
{
    const struct {
        way wrong;
        bool batches;
        const char *words;
    } cases[] = {
        {{.eps = 1e-3}, false, "as if eps were 0.001 instead of 1e-05"},
        {{.eps = 1e-30}, false, "as if eps were "},
        {{.centred = true, .eps = 0.5}, false, "as if eps were 0.5 instead of 1e-05"},
        {{.eps_outside = true}, false, "eps is added outside of the root"},
        {{.centred = true, .unbiased = true}, false, "divided by n - 1"},
        {{.swapped = true}, false, "the mean is subtracted: a layernorm"},
        {{.centred = true, .swapped = true}, false, "the mean is not subtracted"},
        {{.no_gain = true}, false, "the gain is missing"},
        {{.gain_plus_one = true}, false, "as if the gain were 1 + gain"},
        {{.centred = true, .no_bias = true}, false, "the bias is missing"},
        {{.raw = true}, false, "nothing is normalised"},
        {{.raw = true, .no_gain = true}, false, "itself: nothing is normalised"},
        {{.over_tokens = true}, false, "over the tokens instead of over the features"},
        {{.over_tokens = true}, true, "over the tokens of each sequence"},
        {{.centred = true, .over_batch = true}, true, "over the tokens of the whole "},
        {{.other_input = true}, false, "it is the norm of resid."},
    };
    const txd_point points[] = {TXD_POINT_NORM1_OUT, TXD_POINT_NORM2_OUT};
    const int lengths[] = {LENGTH, LENGTH, LENGTH};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (int i = 0; i < 2 * LAYERS; i++) {
            norms n;
            const txd_result *r;
            char site[64];

            init(&n, cases[c].wrong.centred);
            if (cases[c].batches)
                driver_inputs(&n.d, 3, lengths, false);
            n.wrong = cases[c].wrong;
            n.at = points[i % 2];
            n.layer = i / 2;
            n.spread = 1e-2;
            n.shift = cases[c].wrong.swapped ? 0.02 : 0;
            r = run(&n);
            txd_point_name(site, sizeof site, n.at, n.layer);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_str_eq(r->findings[0].site, site);
            ck_assert_msg(strstr(r->findings[0].message, cases[c].words) != NULL,
                          "case %zu: %s", c, r->findings[0].message);
            driver_finish(&n.d);
        }
}
END_TEST

START_TEST(a_wrong_final_norm_is_found)
{
    norms n;
    const txd_result *r;

    init(&n, false);
    n.wrong.eps = 1;
    n.at = TXD_POINT_FINAL_NORM;
    n.layer = -1;
    r = run(&n);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "final.norm");
    ck_assert_msg(strstr(r->findings[0].message, "as if eps were 1 instead") != NULL,
                  "%s", r->findings[0].message);
    driver_finish(&n.d);
}
END_TEST

START_TEST(one_wrong_element_is_found_and_located_and_nan_fails)
{
    const double values[] = {5, NAN, INFINITY};

    for (int i = 0; i < 3; i++) {
        norms n;
        const txd_result *r;

        init(&n, true);
        n.at = TXD_POINT_NORM2_OUT;
        n.layer = 1;
        n.element = 8 * MODEL + 31;
        n.value = values[i];
        r = run(&n);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_int_eq(r->findings[0].query, 8);
        ck_assert_ptr_nonnull(
            strstr(r->findings[0].message, "token 8, channel 31 is "));
        ck_assert(!(r->findings[0].measured <= r->findings[0].allowed));
        driver_finish(&n.d);
    }
}
END_TEST

/* A relative error of the bound's own size passes, one of 30 of it does not: for width
 * n the bound is about (n + 16) u. */
START_TEST(rounding_of_the_format_is_allowed_and_no_more)
{
    const double factors[] = {0.9, 30};

    for (int i = 0; i < 2; i++) {
        norms n;
        double *x, *y;

        init(&n, false);
        txd_pass_set_format(&n.d.pass, TXD_F32);
        driver_start(&n.d, "norm_output");
        offer_parameters(&n);
        x = stream(&n, 1);
        y = norm_of(&n, x, &(way){0});
        for (size_t e = 0; e < LENGTH * MODEL; e++)
            y[e] *= 1 + factors[i] * (MODEL + 16) * 0x1p-24;
        driver_offer(&n.d, TXD_POINT_RESID_PRE, 0, x);
        driver_offer(&n.d, TXD_POINT_NORM1_OUT, 0, y);
        ck_assert_int_eq(driver_result(&n.d)->verdict,
                         i ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS);
        driver_finish(&n.d);
    }
}
END_TEST

START_TEST(inputs_that_are_not_finite_break_the_law_instead_of_passing)
{
    norms n;
    const txd_result *r;
    double *x;

    init(&n, false);
    driver_start(&n.d, "norm_output");
    offer_parameters(&n);
    x = stream(&n, 1);
    x[3] = NAN;
    driver_offer(&n.d, TXD_POINT_RESID_PRE, 0, x);
    driver_offer(&n.d, TXD_POINT_NORM1_OUT, 0, norm_of(&n, x, &(way){0}));
    r = driver_result(&n.d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    ck_assert_ptr_nonnull(strstr(r->note, "1 tokens have inputs"));
    driver_finish(&n.d);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {6};
    norms n;
    const txd_result *r;

    init(&n, false);
    driver_inputs(&n.d, 1, lengths, false);
    n.at = TXD_POINT_NORM1_OUT;
    n.layer = 1;
    n.element = 7 * MODEL;
    n.value = NAN;
    r = run(&n);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, (2 * LAYERS + 1) * 6);
    driver_finish(&n.d);
}
END_TEST

START_TEST(without_parameters_or_inputs_the_law_is_skipped_with_the_reason)
{
    norms n;
    const txd_result *r;

    init(&n, false);
    n.no_parameters = true;
    r = run(&n);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "the parameters are not at hand"));
    driver_start(&n.d, "norm_output");
    offer_parameters(&n);
    r = driver_result(&n.d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "not recorded: a norm's output"));
    driver_finish(&n.d);
}
END_TEST

TEST_MAIN(healthy_norms_of_both_kinds_pass_with_either_placement_and_in_any_order,
          what_is_wrong_is_named_at_every_norm_of_every_layer,
          a_wrong_final_norm_is_found,
          one_wrong_element_is_found_and_located_and_nan_fails,
          rounding_of_the_format_is_allowed_and_no_more,
          inputs_that_are_not_finite_break_the_law_instead_of_passing,
          padded_tokens_are_not_judged,
          without_parameters_or_inputs_the_law_is_skipped_with_the_reason)
