/* SPDX-License-Identifier: MIT
 *
 * The law mlp_activation on hand-made MLPs, and on models from their recordings.
 */
#include "driver.h"
#include "recorded.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { M = 16, COUNT = LENGTH * M }; /* d_ff of the driver's model */

static double gelu(double x)
{
    return 0.5 * x * (1 + erf(x / sqrt(2)));
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
}

static double relu(double x)
{
    return x > 0 ? x : 0;
}

static double silu(double x)
{
    return x / (1 + exp(-x));
}

static double quick(double x)
{
    return x / (1 + exp(-1.702 * x));
}

static double itself(double x)
{
    return x;
}

typedef double (*function)(double x);

/* What a layer's MLP does. */
typedef enum mistake { NOTHING, NO_UP, NO_GATE, SWAPPED, ONE_OFF, ONE_NAN } mistake;

typedef struct mlp {
    txd_activation claimed;
    bool gated;
    function used; /* in layer 1; NULL = the claimed one */
    mistake what;  /* in layer 1 */
    double off;
    bool no_gate_act; /* is offered */
    bool nan_input;
} mlp;

static const function claims[] = {gelu, gelu_tanh, relu, silu};

static unsigned all_but_gate_act(const void *self, txd_site_kind kind, txd_point point,
                                 int layer)
{
    (void)self;
    (void)kind;
    (void)layer;
    return point == TXD_POINT_MLP_GATE_ACT ? 0 : TXD_ASK_VALUE | TXD_ASK_STATS;
}

static double act_of(const mlp *m, mistake what, function f, const double x[2])
{
    double gate = x[0], up = x[1];

    if (!m->gated)
        return f(up);
    switch (what) {
    case NO_UP:
        return f(gate);
    case NO_GATE:
        return up;
    case SWAPPED:
        return f(up) * gate;
    default:
        return f(gate) * up;
    }
}

static void offer_layer(driver *d, const mlp *m, int layer)
{
    uint64_t seed = 10 * (uint64_t)(layer + 1);
    double *gate = driver_random(d, TXD_POINT_MLP_GATE, seed);
    double *up = driver_random(d, TXD_POINT_MLP_UP, seed + 1);
    double *gate_act = txd_arena_alloc(d->arena, COUNT, sizeof *gate_act);
    double *act = txd_arena_alloc(d->arena, COUNT, sizeof *act);
    bool here = layer == 1;
    function f = here && m->used ? m->used : claims[m->claimed];

    if (here && m->nan_input)
        up[40] = gate[40] = NAN;
    for (size_t i = 0; i < COUNT; i++) {
        gate[i] *= 4;
        up[i] *= 4;
        gate_act[i] = f(gate[i]);
        act[i] = act_of(m, here ? m->what : NOTHING, f, (double[]){gate[i], up[i]});
    }
    if (here && m->what == ONE_OFF)
        act[2 * M + 3] += m->off;
    if (here && m->what == ONE_NAN)
        act[2 * M + 3] = NAN;
    if (m->gated)
        driver_offer(d, TXD_POINT_MLP_GATE, layer, gate);
    if (m->gated && !m->no_gate_act)
        driver_offer(d, TXD_POINT_MLP_GATE_ACT, layer, gate_act);
    driver_offer(d, TXD_POINT_MLP_UP, layer, up);
    driver_offer(d, TXD_POINT_MLP_ACT, layer, act);
}

static const txd_result *run(driver *d, const mlp *m)
{
    d->config.activation = m->claimed;
    d->config.gated = m->gated;
    d->offers = m->no_gate_act ? all_but_gate_act : NULL;
    driver_start(d, "mlp_activation");
    for (int l = 0; l < LAYERS; l++)
        offer_layer(d, m, l);
    return driver_result(d);
}

static void expect(const mlp *m, txd_verdict verdict, const char *site,
                   const char *words)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, m);
    ck_assert_msg(r->verdict == verdict, "%s: %s %s", txd_verdict_name(r->verdict),
                  r->note, r->finding_count ? r->findings[0].message : "");
    if (verdict == TXD_VERDICT_FAIL) {
        ck_assert_str_eq(r->findings[0].site, site);
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    }
    driver_finish(&d);
}

START_TEST(claimed_activations_pass_gated_or_not)
{
    for (int i = 0; i < 12; i++) {
        mlp m = {
            .claimed = (txd_activation)(i % 4), .gated = i >= 4, .no_gate_act = i >= 8};
        const txd_result *r;
        driver d;

        driver_init(&d);
        r = run(&d, &m);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * COUNT * (i / 4 == 1 ? 2 : 1));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(another_function_is_named_gated_or_not)
{
    const struct {
        txd_activation claimed;
        function used;
        const char *words;
    } cases[] = {
        {TXD_ACTIVATION_GELU, gelu_tanh,
         "it is gelu_tanh (the tanh approximation), not"},
        {TXD_ACTIVATION_GELU_TANH, gelu, "it is gelu (erf), not gelu_tanh"},
        {TXD_ACTIVATION_GELU, quick, "it is quick gelu"},
        {TXD_ACTIVATION_GELU_TANH, relu, "it is relu, not"},
        {TXD_ACTIVATION_SILU, itself, "not activated, not silu"},
        {TXD_ACTIVATION_RELU, silu, "it is silu, not relu"},
    };

    for (size_t i = 0; i < 3 * (sizeof cases / sizeof *cases); i++) {
        mlp m = {.claimed = cases[i / 3].claimed,
                 .used = cases[i / 3].used,
                 .gated = i % 3 > 0,
                 .no_gate_act = i % 3 == 2};

        expect(&m, TXD_VERDICT_FAIL,
               i % 3 == 1 ? "layers.1.mlp.gate_act" : "layers.1.mlp.act",
               cases[i / 3].words);
    }
}
END_TEST

START_TEST(a_half_of_a_gated_mlp_that_is_missing_is_named)
{
    const struct {
        mistake what;
        const char *words;
    } cases[] = {
        {NO_UP, ": mlp.up is missing"},
        {NO_GATE, ": the gate is missing: it is mlp.up"},
        {SWAPPED, "they changed places"},
    };

    for (size_t i = 0; i < 6; i++) {
        mlp m = {.claimed = TXD_ACTIVATION_SILU,
                 .gated = true,
                 .what = cases[i / 2].what,
                 .no_gate_act = i % 2};

        expect(&m, TXD_VERDICT_FAIL, "layers.1.mlp.act", cases[i / 2].words);
    }
}
END_TEST

/* |x| <= 4: 12 u (|x| + |f|) is below 1.1e-14, and twice that with the law's own. */
START_TEST(one_element_is_found_as_soon_as_it_is_beyond_rounding)
{
    mlp m = {.claimed = TXD_ACTIVATION_GELU, .what = ONE_OFF, .off = 1e-16};

    expect(&m, TXD_VERDICT_PASS, NULL, NULL);
    m.off = 3e-14;
    expect(&m, TXD_VERDICT_FAIL, "layers.1.mlp.act", "token 2, lane 3 is");
    m.what = ONE_NAN;
    expect(&m, TXD_VERDICT_FAIL, "layers.1.mlp.act", "token 2, lane 3 is NaN");
}
END_TEST

START_TEST(inputs_that_are_not_finite_leave_it_open)
{
    mlp m = {.claimed = TXD_ACTIVATION_RELU, .nan_input = true};

    expect(&m, TXD_VERDICT_OPEN, NULL, NULL);
    m.gated = true;
    expect(&m, TXD_VERDICT_OPEN, NULL, NULL);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {2};
    mlp m = {.what = ONE_NAN};
    driver d;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    ck_assert_int_eq(run(&d, &m)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

#define CFG(model, points, fault)                                                      \
    "model : { preset = \"gpt2\"; vocab = 23; d_model = 16; n_heads = 2; n_layers = "  \
    "2; d_ff = 24; max_seq_len = 16; " model " }; input : { tokens = ([1, 5, 9, 2], "  \
    "[4, 8]); }; weights : { init = ( { params = \"*\"; scheme = \"normal\"; std = "   \
    "0.5; } ); }; " fault " record : ( { probe = \"full\"; points = \"" points         \
    "\"; } );"
#define FAULT "faults = ( { name = \"gelu_variant\"; layers = 1; } );"

START_TEST(a_recording_tells_what_the_run_tells)
{
    const struct {
        const char *cfg, *words; /* NULL: healthy */
    } cases[] = {
        {CFG("", "*.mlp.*", ""), NULL},
        {CFG("gated = true; activation = \"silu\"; head_transform = true;",
             "*.mlp.*,head.*", ""),
         NULL},
        {CFG("", "*.mlp.*", FAULT), "it is gelu (erf), not gelu_tanh"},
        {CFG("gated = true; activation = \"gelu\";", "*.mlp.*", FAULT),
         "it is gelu_tanh (the tanh approximation), not gelu (erf)"},
        {CFG("gated = true;", "*.mlp.gate,*.mlp.up,*.mlp.act", FAULT),
         "it is gelu (erf), not gelu_tanh"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        recorded_expect(cases[i].cfg, "mlp_activation",
                        cases[i].words ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS,
                        cases[i].words);
}
END_TEST

TEST_MAIN(claimed_activations_pass_gated_or_not, another_function_is_named_gated_or_not,
          a_half_of_a_gated_mlp_that_is_missing_is_named,
          one_element_is_found_as_soon_as_it_is_beyond_rounding,
          inputs_that_are_not_finite_leave_it_open, padded_tokens_are_not_judged,
          a_recording_tells_what_the_run_tells)
