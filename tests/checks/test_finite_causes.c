/* SPDX-License-Identifier: MIT
 *
 * Every cause that the law `finite` names, produced for real: by a configuration, a
 * fault, or an operation that is done as people do it wrongly.
 */
#include "live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "faults/fault.h"

#define SIZES "vocab = 23; d_model = 32; n_heads = 4; d_ff = 64; max_seq_len = 16; "
#define MINI "model : { preset = \"mini\"; n_layers = 3; " SIZES "}; "
#define ONE_HEAD                                                                       \
    "model : { preset = \"mini\"; n_layers = 3; vocab = 23; d_model = 64; n_heads = "  \
    "1; "                                                                              \
    "d_ff = 128; max_seq_len = 16; }; "
#define TOKENS                                                                         \
    "input : { tokens = ( [3, 1, 4, 15, 9, 2, 6, 5, 3, 5], [8, 9, 7, 9, 3, 2] ); }; "
#define FP16 "precision : { backend = \"fp16\"; }; "
#define INIT(rules)                                                                    \
    "weights : { init = ( { params = \"*\"; scheme = \"xavier_normal\"; }, " rules     \
    " ); }; "
#define CONSTANT(params, value)                                                        \
    "{ params = \"" params "\"; scheme = \"constant\"; value = " value "; }"
#define LONG_QUERIES INIT(CONSTANT("*.norm1.weight", "100.0"))
#define BACKWARD "record : ( { probe = \"grad_norm\"; } ); "

typedef struct cause {
    const char *cfg;
    const char *site;
    const char *words;
} cause;

static void expect_in(const live *l, const cause *c)
{
    const txd_result *r = live_result(l, "finite");
    const txd_finding *finding;

    ck_assert_msg(l->inapplicable == NULL, "%s", l->inapplicable);
    ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s: %s %s", c->words,
                  txd_verdict_name(r->verdict), r->note);
    finding = &r->findings[r->finding_count - 1];
    ck_assert_msg(strcmp(finding->site, c->site) == 0, "%s instead of %s: %s",
                  finding->site, c->site, finding->message);
    ck_assert_msg(strstr(finding->message, c->words) != NULL, "%s: no \"%s\"",
                  finding->message, c->words);
    ck_assert_msg(strstr(finding->message, ". It ") != NULL, "cut off: %s",
                  finding->message);
}

static void expect(const cause *c)
{
    live l;

    live_run(&l, c->cfg, "finite");
    expect_in(&l, c);
    live_finish(&l);
}

/* With operations replaced in a layer. */
static void expect_replaced(const cause *c, int layer,
                            void (*install)(struct txd_layer_ops *ops, void *self))
{
    const struct txd_override override = {.layer = layer, .install = install};
    const live_plant planted = {.override = &override};
    live l;

    live_run_planted(&l, c->cfg, "finite", &planted);
    expect_in(&l, c);
    live_finish(&l);
}

/* The same cfg without what is wrong must hold, or the cause is another. */
static void expect_pass(const char *cfg)
{
    live l;

    live_run(&l, cfg, "finite");
    ck_assert_msg(live_result(&l, "finite")->verdict == TXD_VERDICT_PASS, "%s",
                  live_result(&l, "finite")->finding_count
                      ? live_result(&l, "finite")->findings[0].message
                      : "");
    live_finish(&l);
}

/* ---- forward ---- */

START_TEST(a_missing_scale_overflows_in_any_layer)
{
    expect_pass(ONE_HEAD FP16 TOKENS LONG_QUERIES);
    for (int layer = 0; layer < 3; layer++) {
        char cfg[2048], site[64];
        cause c = {cfg, site, "the scale is missing: q.k is "};

        snprintf(cfg, sizeof cfg,
                 "%s faults : ( { name = \"scale_missing\"; layers = \"%d\"; } );",
                 ONE_HEAD FP16 TOKENS LONG_QUERIES, layer);
        snprintf(site, sizeof site, "layers.%d.attn.scores", layer);
        expect(&c);
    }
}
END_TEST

START_TEST(scores_that_are_too_large_although_scaled_are_no_missing_scale)
{
    expect(&(cause){ONE_HEAD FP16 TOKENS INIT(CONSTANT("*.norm1.weight", "400.0")),
                    "layers.0.attn.scores", "although scaled"});
}
END_TEST

START_TEST(scores_in_float16_are_told_from_other_overflows)
{
    static const char cfg[] = ONE_HEAD TOKENS INIT(CONSTANT("*.norm1.weight", "400.0"));
    char faulty[2048];

    expect_pass(cfg);
    snprintf(faulty, sizeof faulty,
             "%s faults : ( { name = \"fp16_scores\"; layers = \"1\"; } );", cfg);
    expect(&(cause){faulty, "layers.1.attn.scores",
                    "float16 (up to 65504), in which these scores are stored"});
}
END_TEST

START_TEST(a_row_without_keys_is_one)
{
    static const char cfg[] = MINI TOKENS "mask : { masked_row = \"nan\"; }; ";
    char faulty[2048];

    expect_pass(cfg);
    for (int layer = 0; layer < 3; layer++) {
        char site[64];
        cause c = {faulty, site, "a fully masked row: this query may see 5 keys"};

        snprintf(faulty, sizeof faulty,
                 "%s faults : ( { name = \"fully_masked_row\"; layers = \"%d\"; "
                 "queries = \"4\"; } );",
                 cfg, layer);
        snprintf(site, sizeof site, "layers.%d.attn.masked", layer);
        expect(&c);
    }
}
END_TEST

START_TEST(embeddings_that_are_too_large_are_one)
{
    static const char cfg[] = MINI FP16 TOKENS INIT(
        "{ params = \"embed.*\"; scheme = \"normal\"; std = 0.5; }");
    char faulty[2048];

    expect_pass(cfg);
    snprintf(faulty, sizeof faulty,
             "%s faults : ( { name = \"embedding_too_large\"; strength = 1e6; } );",
             cfg);
    expect(&(cause){faulty, "embed.tok", "embeddings too large: embed.tok.weight has"});
    expect(&(cause){faulty, "embed.tok", "weights.init says 0.5"});
    /* The rules themselves are at fault. */
    expect(&(cause){
        MINI FP16 TOKENS INIT("{ params = \"embed.*\"; scheme = \"normal\"; std = "
                              "1e5; }"),
        "embed.tok", "usual is at most 1"});
}
END_TEST

START_TEST(a_sum_that_overflows_is_one_to_the_number)
{
    expect(&(cause){MINI FP16 TOKENS INIT(CONSTANT("embed.*", "4e4")), "embed.out",
                    "Made from embed.tok 4e+04, embed.pos 4e+04. Cause: overflow of "
                    "float16 (up to 65504): it is 8e+04; embeddings too large"});
}
END_TEST

START_TEST(a_linear_map_that_overflows_is_one_amid_large_values)
{
    expect(&(cause){
        MINI FP16 TOKENS INIT(
            "{ params = \"layers.1.mlp.up.weight\"; scheme = \"normal\"; std = "
            "5000.0; }"),
        "layers.1.mlp.up", "overflow of float16 (up to 65504): finite values here"});
}
END_TEST

START_TEST(a_norm_of_zeros_without_eps_is_one)
{
    expect(
        &(cause){"model : { preset = \"llama\"; n_layers = 2; norm_eps = 1e-60; " SIZES
                 "}; " TOKENS INIT(CONSTANT("embed.*", "0.0")),
                 "layers.0.norm1.out",
                 "0/0: the row of resid.pre is zero, so that the norm divides by "
                 "sqrt(eps) alone, and eps, 1e-60"});
}
END_TEST

START_TEST(a_parameter_that_holds_nan_is_one)
{
    for (int layer = 0; layer < 3; layer++) {
        char cfg[2048], site[64];
        live l;

        snprintf(cfg, sizeof cfg,
                 "%s faults : ( { name = \"nan_in_weights\"; layers = \"%d\"; } );",
                 MINI TOKENS, layer);
        live_run(&l, cfg, "finite");
        snprintf(site, sizeof site, "layers.%d.", layer);
        ck_assert_uint_eq(live_result(&l, "finite")->finding_count, 2);
        ck_assert_ptr_nonnull(
            strstr(live_result(&l, "finite")->findings[1].site, site));
        snprintf(cfg, sizeof cfg, "the parameter %s holds NaN, and is read here",
                 live_result(&l, "finite")->findings[0].site);
        ck_assert_msg(strstr(live_result(&l, "finite")->findings[1].message, cfg) !=
                          NULL,
                      "%s", live_result(&l, "finite")->findings[1].message);
        live_finish(&l);
    }
}
END_TEST

/* ---- operations done wrongly ---- */

/* scores + (1 - visible) * -inf: 0 x -Inf where a key is visible. */
static txd_status multiplied_mask(txd_ctx *ctx, const struct txd_mask_args *args)
{
    (void)ctx;
    for (size_t i = 0; i < args->rows * args->stride; i++)
        ((float *)args->out)[i] = ((const float *)args->scores)[i] +
                                  (args->visible[i] ? 0.0f : 1.0f) * (float)args->fill;
    return TXD_OK;
}

static void install_multiplied_mask(struct txd_layer_ops *ops, void *self)
{
    (void)self;
    ops->ops.mask = multiplied_mask;
}

START_TEST(a_mask_that_is_multiplied_by_its_fill_is_one)
{
    expect_replaced(&(cause){MINI TOKENS, "layers.1.attn.masked", "0 x -Inf"}, 1,
                    install_multiplied_mask);
}
END_TEST

/* exp(x) / sum exp(x). */
static txd_status naive_softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    (void)ctx;
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = (const float *)args->masked + r * args->stride;
        float *out = (float *)args->out + r * args->stride, sum = 0;

        for (size_t j = 0; j < args->keys; j++)
            sum += out[j] = expf(x[j]);
        for (size_t j = 0; j < args->keys; j++)
            out[j] /= sum;
        args->max[r] = args->lse[r] = log((double)sum);
    }
    return TXD_OK;
}

static void install_naive_softmax(struct txd_layer_ops *ops, void *self)
{
    (void)self;
    ops->ops.softmax = naive_softmax;
}

START_TEST(a_softmax_that_does_not_subtract_the_largest_score_is_one)
{
    expect_replaced(&(cause){ONE_HEAD TOKENS LONG_QUERIES, "layers.2.attn.weights",
                             "does not subtract the largest score"},
                    2, install_naive_softmax);
}
END_TEST

static unsigned ask_values(void *self, const txd_site *site)
{
    (void)self;
    return site->point == TXD_POINT_ATTN_V && site->layer == 1 ? TXD_ASK_EDIT : 0;
}

/* The first token of the second row is padding. */
static txd_status spoil_padding(void *self, txd_block *block)
{
    const size_t *dims = block->value.dims;

    (void)self;
    ((float *)block->value.data)[dims[1] * dims[2] * dims[3]] = INFINITY;
    return TXD_OK;
}

START_TEST(padding_that_enters_after_all_is_one)
{
    static const char cfg[] =
        MINI "input : { tokens = ( [3, 1, 4, 15, 9], [8, 9, 7] ); pad = \"left\"; }; ";
    const txd_tap tap = {.name = "padding", .ask = ask_values, .edit = spoil_padding};
    const live_plant planted = {.tap = &tap};
    char faulty[1024];
    live l;

    live_run_planted(&l, cfg, "finite", &planted);
    ck_assert_int_eq(live_result(&l, "finite")->verdict, TXD_VERDICT_PASS);
    live_finish(&l);
    snprintf(faulty, sizeof faulty,
             "%s faults : ( { name = \"padding_ignored\"; layers = \"1\"; } );", cfg);
    live_run_planted(&l, faulty, "finite", &planted);
    expect_in(&l, &(cause){faulty, "layers.1.attn.heads",
                           "attn.v holds Inf only where nothing is judged (padding"});
    live_finish(&l);
}
END_TEST

/* ---- backward ---- */

START_TEST(a_loss_scale_beyond_the_format_is_one)
{
    static const char model[] = MINI TOKENS BACKWARD;
    char cfg[2048];

    snprintf(cfg, sizeof cfg,
             "%s precision : { backend = \"fp16\"; loss_scale = 1024.0; };", model);
    expect_pass(cfg);
    snprintf(cfg, sizeof cfg,
             "%s precision : { backend = \"fp16\"; loss_scale = 1048576.0; };", model);
    expect(&(cause){cfg, "loss.token@grad",
                    "precision.loss_scale, 1.05e+06, is too large: over 14 tokens it "
                    "is 7.49e+04"});
}
END_TEST

START_TEST(a_loss_scale_with_which_gradients_overflow_later_is_one)
{
    expect(&(cause){MINI TOKENS BACKWARD
                    "precision : { backend = \"fp16\"; loss_scale = 131072.0; };" INIT(
                        "{ params = \"head.weight\"; scheme = \"normal\"; std = 100.0; "
                        "}"),
                    "final.norm@grad", "multiplied by precision.loss_scale, 1.31e+05"});
}
END_TEST

/* A sum over tokens: of the parameter's gradient no operand is at hand. */
START_TEST(a_loss_scale_with_which_a_parameters_gradient_overflows_is_one)
{
    expect(&(cause){MINI TOKENS BACKWARD
                    "precision : { backend = \"fp16\"; loss_scale = 262144.0; };" INIT(
                        "{ params = \"head.weight\"; scheme = \"normal\"; std = "
                        "0.001; }"),
                    "head.weight@grad",
                    ". Cause: overflow of float16 (up to 65504): gradients here reach "
                    "6"});
}
END_TEST

START_TEST(a_norm_of_nearly_nothing_is_one_backward)
{
    static const char model[] =
        "model : { preset = \"llama\"; n_layers = 2; norm_eps = %s; " SIZES "}; %s";
    static const char rest[] = TOKENS FP16 BACKWARD INIT(CONSTANT("embed.*", "0.0"));
    char cfg[2048];

    snprintf(cfg, sizeof cfg, model, "1e-1", rest);
    expect_pass(cfg);
    snprintf(cfg, sizeof cfg, model, "1e-14", rest);
    expect(&(cause){cfg, "layers.1.resid.post@grad",
                    "the norm that reads resid.post divides by nearly nothing: its row "
                    "has a mean square of 0, eps is 1e-14, and gradients grow by "
                    "1e+07"});
}
END_TEST

TEST_MAIN(a_missing_scale_overflows_in_any_layer,
          scores_that_are_too_large_although_scaled_are_no_missing_scale,
          scores_in_float16_are_told_from_other_overflows, a_row_without_keys_is_one,
          embeddings_that_are_too_large_are_one,
          a_sum_that_overflows_is_one_to_the_number,
          a_linear_map_that_overflows_is_one_amid_large_values,
          a_norm_of_zeros_without_eps_is_one, a_parameter_that_holds_nan_is_one,
          a_mask_that_is_multiplied_by_its_fill_is_one,
          a_softmax_that_does_not_subtract_the_largest_score_is_one,
          padding_that_enters_after_all_is_one, a_loss_scale_beyond_the_format_is_one,
          a_loss_scale_with_which_gradients_overflow_later_is_one,
          a_loss_scale_with_which_a_parameters_gradient_overflows_is_one,
          a_norm_of_nearly_nothing_is_one_backward)
