/* SPDX-License-Identifier: MIT
 *
 * Bugs around attention: norms, residual sums, activations, the head, the loss.
 */
#include "bug.h"

#include <math.h>

#include "faults/wrap.h"

#define NORM1 "layers.0.norm1.out"

/* One block that adds nothing to the stream unless more is said. */
#define MODEL(preset, width, more)                                                     \
    "model : { preset = \"" preset                                                     \
    "\"; positions = \"none\"; vocab = 4; d_model = " width                            \
    "; n_heads = 1; n_layers = 1; d_ff = 2; tie_embeddings = false; bias = "           \
    "false; " more " }; "
#define STILL                                                                          \
    {"layers.0.attn.o.weight", "all=0"},                                               \
    {                                                                                  \
        "layers.0.mlp.down.weight", "all=0"                                            \
    }
#define TOKENS(embeddings, tokens)                                                     \
    "input : { tokens = [" tokens "]; };", {{"embed.tok.weight", embeddings}, STILL},  \
        false, 0

static const toy three_four = {MODEL("llama", "2", "norm_eps = 0.0;")
                                   TOKENS("3 4 1 2 2 1 5 3", "0, 1")};
static const toy three_one = {MODEL("gpt2", "2", "norm_eps = 1e-12;")
                                  TOKENS("3 1 1 2 2 1 5 3", "0, 1")};

/* A stream of 1, to which attention adds 2 and the MLP 10. */
static const toy sum_of_13 = {
    MODEL("llama", "2",
          "norm_eps = 0.0; gated = false; activation = \"relu\";") "input : { tokens = "
                                                                   "[0, 0]; };",
    {{"embed.tok.weight", "1 1 1 2 2 1 5 3"},
     {"layers.0.attn.v.weight", "1 0 0 1"},
     {"layers.0.attn.o.weight", "2 0 0 2"},
     {"layers.0.mlp.up.weight", "1 0 0 1"},
     {"layers.0.mlp.down.weight", "10 0 0 10"}},
    true,
    0};

/* What the MLP reads is [1, 0], for the first token; it becomes [1, 2]. */
static const toy square = {
    MODEL("llama", "2",
          "norm_eps = 0.0; gated = false;") "input : { tokens = [0, 1]; };",
    {{"embed.tok.weight", "1 0 1 2 2 1 5 3"},
     {"layers.0.attn.o.weight", "all=0"},
     {"layers.0.norm2.weight", "all=0.70710678"},
     {"layers.0.mlp.up.weight", "1 3 2 4"}},
    false,
    0};

/* Queries of [x, x] and a bias. */
static const toy biased = {
    MODEL("llama", "2",
          "norm_eps = 0.0; qkv_bias = true; head_dim = 2;") "input : { "
                                                            "tokens = [0, "
                                                            "1]; };",
    {{"embed.tok.weight", "1 1 1 2 2 1 5 3"},
     {"layers.0.attn.q.weight", "1 0 1 1"},
     {"layers.0.attn.q.bias", "0.5 -1"},
     STILL},
    false,
    0};

/* Tokens of 1, times the root of a width of 3072. */
static const toy scaled_tokens = {MODEL("llama", "2", "embed_scale = 55.425626;")
                                      TOKENS("1 1 1 2 2 1 5 3", "0, 1")};

#define DRAWN(more, tokens)                                                            \
    {                                                                                  \
        "model : { preset = \"gpt2\"; vocab = 9; d_model = 8; n_heads = 2; n_layers "  \
        "= 2; d_ff = 8; max_seq_len = 8; }; input : { tokens = [" tokens               \
        "]; }; " more,                                                                 \
            {{0}}, false, 0                                                            \
    }
static const toy drawn = DRAWN("", "5, 6, 7, 8");
static const toy nan_rows = DRAWN("mask : { masked_row = \"nan\"; };", "5, 6, 7, 8");

/* Norms after the sums of three layers: a stream and branches of unit variance, all at
 * right angles, so that each norm divides by the root of 2. */
static const toy six_norms = {
    "model : { preset = \"gpt2\"; norm_placement = \"post\"; positions = \"none\"; "
    "vocab "
    "= 2; d_model = 16; n_heads = 1; n_layers = 3; d_ff = 2; norm_eps = 0.0; "
    "tie_embeddings = false; }; input : { tokens = [0, 0]; }; record : ( { probe = "
    "\"grad_norm\"; } );",
    {
        {"embed.tok.weight", "1 -1 1 -1 1 -1 1 -1 1 -1 1 -1 1 -1 1 -1 1 1 -1 -1 1 1 -1 "
                             "-1 1 1 -1 -1 1 1 -1 -1"},
        {"head.weight", "-1 -1 -1 -1 -1 -1 -1 -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 -1 -1 "
                        "-1 -1 -1 -1 -1 -1"},
        {"layers.0.attn.o.weight", "all=0"},
        {"layers.0.attn.o.bias", "1 1 -1 -1 1 1 -1 -1 1 1 -1 -1 1 1 -1 -1"},
        {"layers.0.mlp.down.weight", "all=0"},
        {"layers.0.mlp.down.bias", "1 -1 -1 1 1 -1 -1 1 1 -1 -1 1 1 -1 -1 1"},
        {"layers.1.attn.o.weight", "all=0"},
        {"layers.1.attn.o.bias", "1 1 1 1 -1 -1 -1 -1 1 1 1 1 -1 -1 -1 -1"},
        {"layers.1.mlp.down.weight", "all=0"},
        {"layers.1.mlp.down.bias", "1 -1 1 -1 -1 1 -1 1 1 -1 1 -1 -1 1 -1 1"},
        {"layers.2.attn.o.weight", "all=0"},
        {"layers.2.attn.o.bias", "1 1 -1 -1 -1 -1 1 1 1 1 -1 -1 -1 -1 1 1"},
        {"layers.2.mlp.down.weight", "all=0"},
        {"layers.2.mlp.down.bias", "1 -1 -1 1 -1 1 1 -1 1 -1 -1 1 -1 1 1 -1"},
    },
    true,
    0};

/* The activation reads 1, 2 and -1. */
#define GELU(name)                                                                     \
    {                                                                                  \
        "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = " \
        "4; "                                                                          \
        "d_model = 2; n_heads = 1; n_layers = 1; d_ff = 3; gated = false; activation " \
        "= \"" name "\"; }; input : { tokens = [0, 1]; };",                            \
            {{"embed.tok.weight", "1 1 1 2 2 1 5 3"},                                  \
             {"layers.0.attn.o.weight", "all=0"},                                      \
             {"layers.0.mlp.up.weight", "1 0 2 0 -1 0"}},                              \
            false, 0                                                                   \
    }
static const toy by_erf = GELU("gelu");
static const toy by_tanh = GELU("gelu_tanh");

/* Twelve layers, whose projections to the stream are drawn 1/sqrt(24) as large. */
static const toy twelve_layers = {
    "model : { preset = \"gpt2\"; vocab = 9; d_model = 16; n_heads = 2; n_layers = 12; "
    "d_ff = 16; max_seq_len = 8; }; weights : { init = ( { params = "
    "\"*.attn.o.weight,*.mlp.down.weight\"; scheme = \"normal\"; std = 0.0040825; } ); "
    "}; "
    "input : { tokens = [5, 6, 7, 8]; };",
    {{0}},
    false,
    0};

/* The vocabulary of GPT-2, of which nothing is known yet. */
static const toy untrained = {
    "model : { preset = \"llama\"; positions = \"none\"; vocab = 50257; d_model = 2; "
    "n_heads = 1; n_layers = 1; d_ff = 2; }; input : { tokens = [5, 6]; };",
    {{"head.weight", "all=0"}},
    false,
    0};

/* ---- what is planted here ---- */

static void copy_of(txd_block *block, txd_point from)
{
    txd_tensor x;

    OK(txd_block_earlier(&x, block, from));
    for (size_t i = 0; i < txd_tensor_count(&x); i++)
        bug_set(block, i, txd_tensor_get(&x, i));
}

static void copy_of_norm(txd_block *block)
{
    copy_of(block, TXD_POINT_NORM1_OUT);
}

static txd_status adds_to_norm(txd_plan *plan)
{
    return bug_edit_by(plan, TXD_POINT_RESID_MID, 0, TXD_POINT_NORM1_OUT, copy_of_norm);
}

static void two_less(txd_block *block)
{
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        bug_set(block, i, bug_get(block, i) - 2);
}

static txd_status adds_to_block_input(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_RESID_POST, 0, two_less);
}

static void copy_of_stream(txd_block *block)
{
    copy_of(block, TXD_POINT_RESID_POST);
}

static txd_status no_final_norm(txd_plan *plan)
{
    return bug_edit_by(plan, TXD_POINT_FINAL_NORM, -1, TXD_POINT_RESID_POST,
                       copy_of_stream);
}

static txd_status draw_larger(const void *self, txd_params *params)
{
    (void)self;
    for (size_t i = 0; i < txd_params_count(params); i++) {
        txd_param *param = txd_params_at(params, i);

        if (param->id == TXD_PARAM_O_WEIGHT || param->id == TXD_PARAM_DOWN_WEIGHT)
            txd_param_scale(param, sqrt(24));
    }
    return TXD_OK;
}

static txd_status not_drawn_smaller(txd_plan *plan)
{
    return txd_plan_edit(plan, draw_larger, NULL);
}

#define ERF "0.841345 1.954500 -0.158655"
#define TANH "0.841192 1.954598 -0.158808"

static const bug rows[] = {
    {37, "huggingface/transformers#29402", &scaled_tokens,
     "name = \"embedding_scale_rounded\";", NULL, "embedding_sum",
     "rounded to bfloat16",
     .shown = {{"embed.scaled[0,0,*]", "55.425626 55.425626", "55.5 55.5"}}},
    {86, "Howuhh/faster-trajectory-transformer#3", &three_one, NULL, adds_to_norm,
     "residual_sum", .shown = {{"layers.0.resid.mid[0,0,*]", "3 1", "1 -1"}}},
    {87, "strutive07/transformer-tensorflow2.0#14", &sum_of_13, NULL,
     adds_to_block_input, "residual_sum",
     .shown = {{"layers.0.resid.mid[0,0,*]", "3 3"},
               {"layers.0.resid.post[0,0,*]", "13 13", "11 11"}}},
    {88, "NVIDIA-NeMo/Speech#2197", &three_four, NULL, no_final_norm, "norm_output",
     .shown = {{"final.norm[0,0,*]", "0.848528 1.131371", "3 4"}}},
    {89, "pytorch/pytorch#55270", &six_norms,
     .shown = {{"layers.2.norm2.out@grad[0,0,*]",
                "1 1 1 1 1 1 1 1 -1 -1 -1 -1 -1 -1 -1 -1"},
               {"layers.0.resid.pre@grad[0,0,*]",
                "0.125 0.125 0.125 0.125 0.125 0.125 0.125 0.125 -0.125 -0.125 -0.125 "
                "-0.125 -0.125 -0.125 -0.125 -0.125"}}},
    {90, "vllm-project/vllm#3411", &by_erf, "name = \"gelu_variant\";", NULL,
     "mlp_activation", .shown = {{"layers.0.mlp.act[0,0,*]", ERF, TANH}}},
    {90, "vllm-project/vllm#3411", &by_tanh, "name = \"gelu_variant\";", NULL,
     "mlp_activation", .shown = {{"layers.0.mlp.act[0,0,*]", TANH, ERF}}},
    {91, "huggingface/transformers#43429", &drawn, "name = \"tying_lost\";",
     .law = "tied_head"},
    {92, "NVIDIA/Megatron-LM#656", &drawn, "name = \"tying_lost\"; strength = 0.001;",
     .law = "tied_head"},
    {93, "nntile/nntile#370", &square, "name = \"weight_transposed\";", NULL,
     "mlp_linear", "transposed", .shown = {{"layers.0.mlp.up[0,0,*]", "1 2", "1 3"}}},
    {94, "sbryngelson/ANEForge#253", &biased, "name = \"bias_dropped\";", NULL,
     "head_split", "bias",
     .shown = {{"layers.0.attn.q_proj[0,0,0,*]", "1.5 1", "1 2"}}},
    {95, "huggingface/transformers#47458", &twelve_layers, NULL, not_drawn_smaller,
     .law = "projection_std"},
    {95, "huggingface/transformers#47458", &untrained, .backend = "cpu32",
     .shown = {{"loss.token", "10.8249 nan"}}},
    {102, "huggingface/transformers#37830", &drawn, "name = \"labels_shifted_twice\";",
     .law = "loss_token", .word = "the token after the next"},
    {122, "explosion/curated-transformers#360", &nan_rows,
     "name = \"fully_masked_row\"; layers = \"0\"; queries = \"1\";", .law = "finite",
     .word = "fully masked row"},
};

#define LIST(X)                                                                        \
    X(b37_the_scale_of_embeddings_is_rounded)                                          \
    X(b86_the_residual_adds_to_the_norm)                                               \
    X(b87_the_mlp_adds_to_the_input_of_the_block)                                      \
    X(b88_the_final_norm_is_missing)                                                   \
    X(b89_gradients_shrink_from_norm_to_norm)                                          \
    X(b90_the_activation_is_the_other_gelu)                                            \
    X(b91_the_head_is_not_tied)                                                        \
    X(b92_the_tied_head_drifts_away)                                                   \
    X(b93_a_square_matrix_is_transposed)                                               \
    X(b94_the_biases_of_queries_are_dropped)                                           \
    X(b95_projections_to_the_stream_are_not_drawn_smaller)                             \
    X(b102_labels_are_shifted_twice)                                                   \
    X(b122_a_nan_spreads_to_the_next_layer)

BUGS_MAIN(LIST, "bugs_blocks.txt")
