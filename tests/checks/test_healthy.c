/* SPDX-License-Identifier: MIT
 *
 * No law speaks on healthy models: real ones, and every variant of the decoder.
 */
#include "conventions.h"
#include "live.h"

#include <stdio.h>
#include <string.h>

#define MINI                                                                           \
    "model : { preset = \"mini\"; vocab = 64; d_model = 32; n_heads = 4; "             \
    "n_layers = 3; d_ff = 64; max_seq_len = 64; "
#define RAGGED                                                                         \
    "input : { tokens = ([1, 5, 9, 2, 7, 3, 11, 40], [4, 4, 8], [3, 1, 2, 9, 60]); "

/* Laws that may have something to tell of a healthy model. */
static const char *const telling = "norm_moments,attention_collapse,initial_loss";

/* The size of a trained model's gradient is a matter of the text. */
static bool may_warn(const txd_result *r, const char *cfg)
{
    return strcmp(r->check, "grad_range") == 0 && strstr(cfg, "from = ") != NULL &&
           strstr(r->findings[0].message, "matter of training state") != NULL;
}

/* An input has not what the law is about. */
static bool is_beside(const char *cfg, const char *name)
{
    return (strcmp(name, "documents") == 0 && !strstr(cfg, "documents = ")) ||
           (strcmp(name, "mask_layout") == 0 && !strstr(cfg, "tokens = (["));
}

/* Laws that make passes of their own are judged in cpu32, and elsewhere of shallow
 * presets. */
static bool is_everywhere(const char *cfg)
{
    return strstr(cfg, "length = 40;") != NULL;
}

/* Every law passes, with gradients, except those of the list `idle`, which find nothing
 * to judge: a law that skips although nobody expects it would look like one that holds.
 */
static void expect_silence(const char *cfg, const char *idle)
{
    const char *backends[] = {"ref64", "ref32", "cpu32"};

    for (size_t b = 0; b < 3; b++) {
        char text[2048];
        bool is_warned = false;
        live l;

        snprintf(text, sizeof text,
                 "%s precision : { backend = \"%s\"; }; "
                 "record : ( { probe = \"grad_norm\"; } );",
                 cfg, backends[b]);
        live_run(&l, text, b == 2 || is_everywhere(cfg) ? NULL : live_watching());
        for (size_t i = 0; i < l.count; i++) {
            const txd_result *r = &l.results[i];
            bool is_idle = txd_glob_list(idle, r->check) ||
                           live_is_inapplicable(&l, r->check) ||
                           is_beside(cfg, r->check);
            bool is_told =
                r->verdict == TXD_VERDICT_INFO && r->evaluated > 0 &&
                (txd_glob_list(telling, r->check) || txd_check_find(r->check)->informs);

            is_warned |= r->verdict == TXD_VERDICT_WARN;
            ck_assert_msg(r->verdict ==
                                  (is_idle ? TXD_VERDICT_SKIP : TXD_VERDICT_PASS) ||
                              (is_told && !is_idle) ||
                              (r->verdict == TXD_VERDICT_WARN && may_warn(r, cfg)),
                          "%s: %s: %s: %s\n%s", backends[b], r->check,
                          txd_verdict_name(r->verdict),
                          r->finding_count ? r->findings[0].message : r->note, cfg);
        }
        ck_assert_int_eq(txd_checks_exit(l.results, l.count, !is_warned), 0);
        live_finish(&l);
    }
}

static void expect_real(const char *model, const char *rest, const char *idle)
{
    char text[1024];

    snprintf(text, sizeof text, "model : { from = \"%s\"; }; %s", model, rest);
    expect_silence(text, idle);
}

START_TEST(stories260K_is_healthy)
{
    const char *model = test_model("stories260K");

    if (!model)
        test_skip(TEST_NO_MODEL);
    expect_real(model,
                "input : { tokens = [1, 403, 407, 261, 378, 269, 12, 500, 33, 2, 9, "
                "44, 301, 302, 303, 8, 77, 511, 0, 5]; };",
                "padding,position_norm");
    expect_real(
        model,
        "input : { tokens = ([1, 403, 407, 261, 378], [1, 9]); pad = \"left\"; };",
        "position_norm");
    expect_real(model, "input : { tokens = ([1, 403, 407, 261, 378], [1, 9]); };",
                "position_norm");
    expect_real(model, "input : { random = { batch = 2; length = 300; }; };",
                "padding,position_norm");
}
END_TEST

START_TEST(gpt_nano_sort_is_healthy)
{
    const char *model = test_model("gpt-nano-sort");

    if (!model)
        test_skip(TEST_NO_MODEL);
    expect_real(model, "input : { tokens = [0, 1, 2, 1, 0, 2, 0, 0, 1, 1, 2]; };",
                "padding");
    expect_real(model, "input : { tokens = ([0, 1, 2, 1, 0, 2], [2, 1]); };", "");
    expect_real(model,
                "input : { tokens = ([0, 1, 2, 1, 0, 2], [2, 1]); pad = \"left\"; };",
                "");
}
END_TEST

START_TEST(the_presets_are_healthy)
{
    const char *presets[] = {"mini", "gpt2", "llama"};

    for (size_t i = 0; i < 3; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 "model : { preset = \"%s\"; vocab = 64; d_model = 32; n_heads = 4; "
                 "n_layers = 2; d_ff = 64; max_seq_len = 64; }; "
                 "input : { random = { batch = 2; length = 40; }; };",
                 presets[i]);
        expect_silence(text, i == 2 ? "padding,position_norm" : "padding");
    }
}
END_TEST

START_TEST(the_presets_are_healthy_at_2_12_and_24_layers_pre_and_post)
{
    const char *presets[] = {"mini", "gpt2", "llama"};
    const int depths[] = {2, 12, 24};

    for (size_t i = 0; i < 18; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 "model : { preset = \"%s\"; vocab = 64; d_model = 32; n_heads = 4; "
                 "n_layers = %d; d_ff = 64; max_seq_len = 64; "
                 "norm_placement = \"%s\"; }; " RAGGED "};",
                 presets[i % 3], depths[i / 3 % 3], i < 9 ? "pre" : "post");
        expect_silence(text, i % 3 == 2 ? "position_norm" : "");
    }
}
END_TEST

START_TEST(variants_of_the_block_are_healthy)
{
    expect_silence(MINI "norm_placement = \"post\"; }; " RAGGED "};", "");
    expect_silence(MINI "residual_scale = 0.5; }; " RAGGED "};", "");
    expect_silence(MINI "norm = \"layernorm\"; activation = \"relu\"; gated = true; }; "
                        "input : { random = { batch = 1; length = 64; }; };",
                   "padding");
    expect_silence(MINI "positions = \"none\"; }; " RAGGED "};", "position_norm");
    expect_silence(MINI "n_kv_heads = 2; head_dim = 6; value_dim = 10; }; " RAGGED
                        "pad = \"left\"; };",
                   "");
    expect_silence(MINI "n_kv_heads = 1; score_scale = 1.0; }; " RAGGED "};", "");
}
END_TEST

/* Positions that are added to embeddings: those of the presets but llama's, unless it
 * says otherwise. */
static bool adds_positions(const char *model)
{
    static const char *const others[] = {"llama", "\"rotary\"", "\"none\"", "\"alibi\"",
                                         "\"relative\""};

    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strstr(model, others[i]) != NULL)
            return false;
    return true;
}

/* Weights large enough that a norm over a fresh branch is not all eps. */
START_TEST(the_conventions_of_families_are_healthy)
{
    for (size_t i = 0; i < CONVENTIONS; i++) {
        const struct convention *c = &conventions[i];
        bool has_positions = adds_positions(c->model);
        char text[1024];

        snprintf(text, sizeof text,
                 "model : { %s vocab = 64; d_model = 32; n_heads = 4; n_layers = 3; "
                 "d_ff = 64; max_seq_len = 64; }; weights : { init = ( { params = "
                 "\"*\"; scheme = \"normal\"; std = 0.2; } ); }; " RAGGED "%s%s };",
                 c->model,
                 strstr(c->model, "token_types") == NULL
                     ? ""
                     : "types = ([0, 0, 1, 0, 1, 1, 1, 1], [0, 1, 0], [1, 1, 0, 0, "
                       "1]); ",
                 c->is_cross ? "memory : { random : { length = 7; }; valid = [7, 5, "
                               "6]; };"
                             : "");
        expect_silence(text, has_positions ? "" : "position_norm");
    }
}
END_TEST

START_TEST(layouts_of_heads_and_projections_are_healthy)
{
    const char *const layouts[] = {"separate", "fused"};
    const char *const heads[] = {"n_kv_heads = 4;", "n_kv_heads = 2;",
                                 "n_kv_heads = 1;",
                                 "n_kv_heads = 2; head_dim = 2; value_dim = 2;",
                                 "n_kv_heads = 2; head_dim = 12; value_dim = 5;"};

    for (size_t i = 0; i < 20; i++) {
        char text[512];

        snprintf(text, sizeof text,
                 MINI "qkv = \"%s\"; %s qkv_bias = %s; out_bias = true; }; " RAGGED
                      "pad = \"%s\"; };",
                 layouts[i % 2], heads[i / 2 % 5], i < 10 ? "true" : "false",
                 i < 10 ? "left" : "right");
        expect_silence(text, "");
    }
    expect_silence(
        "model : { preset = \"mini\"; vocab = 64; d_model = 32; n_heads = 1; "
        "n_layers = 3; d_ff = 64; max_seq_len = 64; }; " RAGGED "};",
        "heads_distinct");
}
END_TEST

START_TEST(variants_of_the_mask_are_healthy)
{
    expect_silence(MINI "}; mask : { window = 3; }; " RAGGED "};", "");
    expect_silence(MINI "}; mask : { window = 1; }; " RAGGED "pad = \"left\"; };",
                   "attention_collapse,sink_heads");
    expect_silence(MINI "}; mask : { causal = false; }; " RAGGED "};",
                   "causality,future_perturbation");
    expect_silence(
        MINI "}; mask : { fill = -1e9; masked_row = \"uniform\"; }; " RAGGED "};", "");
    expect_silence(
        MINI "}; mask : { masked_row = \"nan\"; }; " RAGGED "pad = \"left\"; };", "");
    expect_silence(MINI "}; mask : { evaluate_hidden = \"always\"; }; "
                        "input : { tokens = [1, 2, 3, 4, 5, 6]; "
                        "documents = [0, 0, 1, 1, 1, 2]; };",
                   "padding,attention_collapse,sink_heads");
    expect_silence(MINI "}; " RAGGED "steps = 2; };", "attention_collapse");
}
END_TEST

START_TEST(one_token_alone_is_healthy)
{
    /* No later key and no padding: the mask laws have nothing to judge. No pair:
     * there is no loss. */
    expect_silence(
        MINI "}; input : { tokens = [3]; };",
        "causality,padding,mask_polarity,mask_added,attention_collapse,loss_token,"
        "grad_range,grad_row_sum,future_perturbation,causal_alignment,prefill_decode,"
        "chunked_prefill,gradient_causality,gradcheck,sink_heads,initial_loss");
}
END_TEST

/* A trained model whose scores are scaled away attends to everything alike. */
START_TEST(attention_that_is_all_grey_is_a_warning_and_before_training_information)
{
    const txd_result *r;
    char text[512];
    live l;

    if (!test_model("stories260K"))
        test_skip(TEST_NO_MODEL);
    snprintf(text, sizeof text,
             "model : { from = \"%s\"; score_scale = 1e-4; }; "
             "input : { random = { batch = 1; length = 64; }; };",
             test_model("stories260K"));
    live_run(&l, text, NULL);
    r = live_result(&l, "attention_collapse");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_WARN);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_ptr_nonnull(
        strstr(r->findings[0].message, "40 of the 40 heads of all layers"));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "is this one trained?"));
    ck_assert_int_eq(txd_checks_exit(l.results, l.count, true), 1);
    live_finish(&l);
    live_run(&l, MINI "}; input : { random = { batch = 1; length = 64; }; };", NULL);
    r = live_result(&l, "attention_collapse");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_INFO);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "12 of the 12 heads"));
    live_finish(&l);
}
END_TEST

START_TEST(cells_that_are_not_computed_are_counted)
{
    const txd_result *r;
    live l;

    live_run(&l,
             "model : { preset = \"llama\"; vocab = 64; d_model = 16; n_heads = 2; "
             "n_layers = 1; d_ff = 16; }; "
             "input : { random = { batch = 1; length = 600; }; };",
             NULL);
    r = live_result(&l, "causality");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_gt(r->evaluated, 0);
    ck_assert_uint_gt(r->not_computed, 0);
    ck_assert_uint_eq(r->evaluated + r->not_computed, 2 * 600 * 599 / 2);
    live_finish(&l);
}
END_TEST

START_TEST(fresh_tokens_beside_sinusoids_are_information)
{
    live l;

    live_run(&l, MINI "positions = \"sinusoidal\"; }; " RAGGED "};", NULL);
    ck_assert_int_eq(live_result(&l, "position_norm")->verdict, TXD_VERDICT_INFO);
    ck_assert_int_eq(txd_checks_exit(l.results, l.count, true), 0);
    live_finish(&l);
}
END_TEST

TEST_MAIN(stories260K_is_healthy, gpt_nano_sort_is_healthy, the_presets_are_healthy,
          the_presets_are_healthy_at_2_12_and_24_layers_pre_and_post,
          variants_of_the_block_are_healthy, the_conventions_of_families_are_healthy,
          layouts_of_heads_and_projections_are_healthy,
          variants_of_the_mask_are_healthy, one_token_alone_is_healthy,
          attention_that_is_all_grey_is_a_warning_and_before_training_information,
          cells_that_are_not_computed_are_counted,
          fresh_tokens_beside_sinusoids_are_information)
