/* SPDX-License-Identifier: MIT
 *
 * The backward half against finite differences, in ref64: every parameter of every
 * variant of the decoder, along random directions.
 */
#include <stdio.h>

#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 2; d_ff = 10; "                 \
    "max_seq_len = 16; "

struct variant {
    const char *name, *model, *mask;
    enum { PLAIN, PAD_RIGHT, PAD_LEFT, DOCUMENTS } inputs;
    bool kinks;
};

static const struct variant variants[] = {
    {"mini", "preset = \"mini\";", "", PLAIN, false},
    {"mini, post", "preset = \"mini\"; norm_placement = \"post\";", "", PAD_RIGHT,
     false},
    {"gpt2", "preset = \"gpt2\";", "", PAD_LEFT, false},
    {"gpt2, post", "preset = \"gpt2\"; norm_placement = \"post\";", "", PLAIN, false},
    {"gpt2, post, final norm",
     "preset = \"gpt2\"; norm_placement = \"post\"; final_norm = true;", "", PLAIN,
     false},
    {"gpt2, untied, separate",
     "preset = \"gpt2\"; tie_embeddings = false; qkv = \"separate\";", "", PLAIN,
     false},
    {"llama", "preset = \"llama\";", "", PLAIN, false},
    {"llama, post", "preset = \"llama\"; norm_placement = \"post\";", "", PAD_RIGHT,
     false},
    {"llama, grouped heads", "preset = \"llama\"; n_kv_heads = 2;", "", PAD_LEFT,
     false},
    {"llama, one KV head, fused",
     "preset = \"llama\"; n_kv_heads = 1; qkv = \"fused\"; qkv_bias = true;", "", PLAIN,
     false},
    {"llama, adjacent pairs, part of a head",
     "preset = \"llama\"; head_dim = 6; rope_width = 4; rope_pairing = \"adjacent\";",
     "", PAD_LEFT, false},
    {"llama, slowed down",
     "preset = \"llama\"; head_dim = 6; rope_scaling = \"yarn\"; rope_factor = 4.0; "
     "rope_original_length = 8; rope_beta_fast = 3.0; rope_base = 30.0; layers = ( { "
     "range = \"1\"; rope_scaling = \"llama3\"; rope_attention_factor = 0.7; } );",
     "", PAD_LEFT, false},
    {"gpt2, alibi", "preset = \"gpt2\"; positions = \"alibi\";", "", PAD_LEFT, false},
    {"mini, alibi, every key seen, some layers capped",
     "preset = \"mini\"; positions = \"alibi\"; n_kv_heads = 2; layers = ( { range = "
     "\"1\"; score_softcap = 1.5; } );",
     "causal = false;", DOCUMENTS, false},
    {"llama, capped scores", "preset = \"llama\"; score_softcap = 0.5;", "", PAD_RIGHT,
     false},
    {"gpt2, cross, capped scores",
     "preset = \"gpt2\"; cross = true; score_softcap = 0.7;", "", PAD_RIGHT, false},
    {"llama, other widths of values",
     "preset = \"llama\"; head_dim = 4; value_dim = 5; n_kv_heads = 2; qkv_bias = "
     "true; out_bias = true;",
     "", PLAIN, false},
    {"llama, tied, biases, layer norm",
     "preset = \"llama\"; tie_embeddings = true; norm = \"layernorm\"; norm_bias = "
     "true; mlp_bias = true; qkv_bias = true; out_bias = true;",
     "", DOCUMENTS, false},
    {"llama, no final norm", "preset = \"llama\"; final_norm = false;", "", PLAIN,
     false},
    {"mini, sinusoids, scaled branches",
     "preset = \"mini\"; positions = \"sinusoidal\"; residual_scale = 0.6;", "",
     PAD_RIGHT, false},
    {"mini, no positions, silu, tied",
     "preset = \"mini\"; positions = \"none\"; activation = \"silu\"; tie_embeddings "
     "= true;",
     "", PLAIN, false},
    {"mini, gated gelu_tanh",
     "preset = \"mini\"; gated = true; activation = \"gelu_tanh\"; mlp_bias = true;",
     "", PLAIN, false},
    {"gpt2, relu", "preset = \"gpt2\"; activation = \"relu\";", "", PLAIN, true},
    {"gpt2, gated relu", "preset = \"gpt2\"; activation = \"relu\"; gated = true;", "",
     PAD_LEFT, true},
    {"llama, window", "preset = \"llama\";", "window = 3;", PAD_LEFT, false},
    {"mini, documents", "preset = \"mini\";", "", DOCUMENTS, false},
    {"gpt2, finite fill", "preset = \"gpt2\";", "fill = -2.0;", PAD_LEFT, false},
    {"llama, every key seen", "preset = \"llama\";", "causal = false;", PAD_RIGHT,
     false},
    {"mini, uniform empty rows", "preset = \"mini\";",
     "causal = false; window = 1; masked_row = \"uniform\";", PAD_RIGHT, false},
    {"llama, a window in one layer, other scales",
     "preset = \"llama\"; layers = ( { range = \"1\"; window = 2; score_scale = 0.9; "
     "residual_scale = -0.5; rope_base = 100.0; norm_eps = 0.1; } );",
     "", PLAIN, false},
    {"gpt2, cross", "preset = \"gpt2\"; cross = true;", "", PAD_RIGHT, false},
    {"llama, cross, grouped heads",
     "preset = \"llama\"; cross = true; n_kv_heads = 2; value_dim = 5; "
     "residual_scale = 0.7;",
     "", PLAIN, false},
    {"mini, cross, post", "preset = \"mini\"; cross = true; norm_placement = \"post\";",
     "", PAD_LEFT, false},
    {"gpt2, cross, post, final norm",
     "preset = \"gpt2\"; cross = true; norm_placement = \"post\"; final_norm = true;",
     "", PLAIN, false},
    {"gpt2, encoder", "preset = \"gpt2\"; cross = true; encoder_layers = 2;", "",
     PAD_RIGHT, false},
    {"llama, encoder, grouped heads",
     "preset = \"llama\"; cross = true; encoder_layers = 1; n_kv_heads = 2; "
     "residual_scale = 0.7; qkv_bias = true;",
     "window = 2;", PAD_LEFT, false},
    {"mini, encoder, tables of ranges of distance",
     "preset = \"mini\"; cross = true; encoder_layers = 2; positions = \"relative\"; "
     "relative_buckets = 6; relative_distance = 5; score_scale = 1.0;",
     "", PAD_RIGHT, false},
    {"mini, encoder, post, tied",
     "preset = \"mini\"; cross = true; encoder_layers = 2; tie_embeddings = true; "
     "norm_placement = \"post\"; norm_bias = true;",
     "", PLAIN, false},
};
enum { VARIANTS = sizeof variants / sizeof *variants };

static void set_inputs(observed *o, const struct variant *v)
{
    const size_t real[2] = {4, 3};

    OK(observe_random(o, 2, 7));
    for (size_t t = 0; t < 7; t++) {
        if (v->inputs == PAD_RIGHT)
            o->inputs.valid[7 + t] = t < 5;
        if (v->inputs == PAD_LEFT)
            o->inputs.valid[7 + t] = t >= 2;
        if (v->inputs == DOCUMENTS)
            o->inputs.document[t] = t >= 3;
    }
    txd_inputs_count_positions(&o->inputs);
    for (size_t t = 3; t < 7 && v->inputs == DOCUMENTS; t++)
        o->inputs.positions[t] -= 3;
    if (o->config.encoder)
        OK(observe_source(o, 4, real));
    else if (o->config.cross)
        OK(observe_memory(o, 4, real));
}

static void check_variant(const struct variant *v)
{
    observed o = {0};
    struct slope_bound bound = {v->name, v->kinks ? SLOPE_STEP_KINKS : SLOPE_STEP};
    char cfg[768];

    snprintf(cfg, sizeof cfg, "model : { " SIZES "%s }; mask : { %s };", v->model,
             v->mask);
    slopes_model(&o, cfg);
    set_inputs(&o, v);
    if (o.config.encoder) /* twice as deep */
        bound.step = SLOPE_STEP_BENT;
    for (size_t i = 0; i < txd_params_count(o.params); i++)
        slopes_check_parameter(&o, i, &bound);
    observe_finish(&o);
}

START_TEST(every_parameter_of_every_variant_has_the_slope_of_the_loss)
{
    for (int i = 0; i < VARIANTS; i++)
        check_variant(&variants[i]);
}
END_TEST

/* ---- any model ---- */

/* One of `count` by the draw's number and what is drawn. */
static size_t pick(size_t draw, const char *what, size_t count)
{
    return (size_t)(txd_rng_bits(txd_rng_key(draw, what), 0) % count);
}

static const char *yes(size_t draw, const char *what)
{
    return pick(draw, what, 2) == 0 ? "true" : "false";
}

static void draw_cfg(char *cfg, size_t bytes, size_t draw)
{
    static const char *const norms[] = {"rmsnorm", "layernorm"};
    static const char *const placements[] = {"pre", "post"};
    static const char *const positions[] = {"learned", "sinusoidal", "rotary",
                                            "none",    "alibi",      "relative"};
    static const char *const qk_norms[] = {"none", "head", "width"};
    static const char *const activations[] = {"gelu", "gelu_tanh", "silu"};
    static const char *const layouts[] = {"separate", "fused"};
    static const char *const pairings[] = {"half", "adjacent"};
    static const char *const fills[] = {"\"-inf\"", "-1.5"};
    static const char *const rows[] = {"zero", "uniform"};
    static const char *const memories[] = {"", "cross = true;",
                                           "cross = true; encoder_layers = 2;"};
    size_t groups = 1 + pick(draw, "groups", 3), head = 2 + 2 * pick(draw, "head", 3);

    snprintf(
        cfg, bytes,
        "model : { preset = \"mini\"; vocab = %zu; d_model = %zu; n_heads = %zu; "
        "n_kv_heads = %zu; head_dim = %zu; value_dim = %zu; d_ff = %zu; n_layers = "
        "%zu; max_seq_len = 16; norm = \"%s\"; norm_placement = \"%s\"; "
        "positions = \"%s\"; activation = \"%s\"; qkv = \"%s\"; rope_pairing = "
        "\"%s\"; gated = %s; qkv_bias = %s; out_bias = %s; mlp_bias = %s; "
        "norm_bias = %s; tie_embeddings = %s; final_norm = %s; %s "
        "residual_scale = %s; qk_norm = \"%s\"; sinks = %s; score_softcap = %s; "
        "relative_buckets = 6; relative_distance = 5; }; mask : { causal = %s; window "
        "= %zu; fill = %s; "
        "masked_row = \"%s\"; evaluate_hidden = \"%s\"; };",
        3 + pick(draw, "vocab", 9), 4 + pick(draw, "d_model", 9),
        groups * (1 + pick(draw, "heads", 3)), groups, head, 1 + pick(draw, "value", 5),
        1 + pick(draw, "d_ff", 12), 1 + pick(draw, "layers", 3),
        norms[pick(draw, "norm", 2)], placements[pick(draw, "placement", 2)],
        positions[pick(draw, "pos", 6)], activations[pick(draw, "act", 3)],
        layouts[pick(draw, "qkv", 2)], pairings[pick(draw, "pair", 2)],
        yes(draw, "gated"), yes(draw, "qkv_bias"), yes(draw, "out_bias"),
        yes(draw, "mlp_bias"), yes(draw, "norm_bias"), yes(draw, "tie"),
        yes(draw, "final"), memories[pick(draw, "cross", 3)],
        pick(draw, "scale", 2) ? "0.8" : "1.0", qk_norms[pick(draw, "qk", 3)],
        yes(draw, "sinks"), pick(draw, "cap", 2) ? "3.0" : "0.0", yes(draw, "causal"),
        pick(draw, "window", 4), fills[pick(draw, "fill", 2)],
        rows[pick(draw, "row", 2)], pick(draw, "hidden", 2) ? "always" : "never");
}

START_TEST(parameters_of_models_drawn_at_random_have_the_slope_of_the_loss)
{
    for (size_t draw = 0; draw < 40; draw++) {
        struct variant v = {.inputs = pick(draw, "inputs", 4)};
        observed o = {0};
        struct slope_bound bound = {"", SLOPE_STEP_BENT};
        char cfg[1024];

        draw_cfg(cfg, sizeof cfg, draw);
        bound.name = cfg;
        slopes_model(&o, cfg);
        set_inputs(&o, &v);
        for (size_t i = 0; i < txd_params_count(o.params); i++)
            slopes_check_parameter(&o, i, &bound);
        observe_finish(&o);
    }
}
END_TEST

TEST_MAIN(every_parameter_of_every_variant_has_the_slope_of_the_loss,
          parameters_of_models_drawn_at_random_have_the_slope_of_the_loss)
