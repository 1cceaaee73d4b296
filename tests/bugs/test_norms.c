/* SPDX-License-Identifier: MIT
 *
 * Bugs of norms.
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

static const toy tiny_rows = {MODEL("llama", "4", "norm_eps = 1e-6;") TOKENS(
    "0.001 0.001 0.001 0.001 1 2 3 5 0 1 0 1 1 0 0 2", "0, 1")};
static const toy one_of_four = {MODEL("gpt2", "4", "norm_eps = 1e-12;")
                                    TOKENS("1 0 0 0 1 2 3 5 0 1 0 1 1 0 0 2", "0, 1")};
static const toy small_deviation = {MODEL("gpt2", "4", "norm_eps = 1e-12;") TOKENS(
    "0.001 -0.001 0.001 -0.001 1 2 3 5 0 1 0 1 1 0 0 2", "0, 1")};
static const toy three_four = {MODEL("llama", "2", "norm_eps = 0.0;")
                                   TOKENS("3 4 1 2 2 1 5 3", "0, 1")};
static const toy two_tokens = {MODEL("gpt2", "2", "norm_eps = 1e-12;")
                                   TOKENS("1 2 3 6 2 1 5 3", "0, 1")};
static const toy from_1 = {
    MODEL("llama", "2",
          "norm_eps = 0.0; norm_offset = 1.0;") "input : { tokens = [0, 1]; };",
    {{"embed.tok.weight", "1 1 1 2 2 1 5 3"},
     {"layers.0.norm1.weight", "all=0.5"},
     STILL},
    false,
    0};
#define DRAWN                                                                          \
    "model : { preset = \"gpt2\"; vocab = 9; d_model = 8; n_heads = 2; n_layers = 2; " \
    "d_ff = 8; max_seq_len = 8; }; input : { tokens = [5, 6, 7, 8]; };"
static const toy drawn = {DRAWN, {{0}}, false, 0};

/* ---- what is planted here ---- */

/* Mean and variance over the tokens and the lanes together. */
static txd_status jointly(txd_ctx *ctx, const struct txd_norm_args *a)
{
    size_t count = a->rows * a->width;
    double mean = 0, variance = 0;

    (void)ctx;
    for (size_t i = 0; i < count; i++)
        mean += txd_wrap_get(&a->at, a->x, i) / (double)count;
    for (size_t i = 0; i < count; i++)
        variance += pow(txd_wrap_get(&a->at, a->x, i) - mean, 2) / (double)count;
    for (size_t i = 0; i < count; i++)
        txd_wrap_set(&a->at, a->out, i,
                     (txd_wrap_get(&a->at, a->x, i) - mean) / sqrt(variance + a->eps));
    return TXD_OK;
}

static txd_status norm_over_both(txd_plan *plan)
{
    static const struct txd_ops mine = {.norm = jointly};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* The last three binary digits of bfloat16 are 2^-8 of a number: the result of the norm
 * is rounded before the gain, and after it. */
static void twice_rounded(txd_block *block)
{
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++) {
        double gain = 0.5;

        bug_set(
            block, i,
            txd_wrap_round(txd_wrap_round(bug_get(block, i) / gain, TXD_BF16) * gain,
                           TXD_BF16));
    }
}

static txd_status cast_before_gain(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_NORM1_OUT, 0, twice_rounded);
}

static const bug rows[] = {
    {78, "EleutherAI/gpt-neox#1342", &tiny_rows, "name = \"norm_eps_outside\";", NULL,
     "norm_output",
     .shown = {{NORM1 "[0,0,*]", "0.707107 0.707107 0.707107 0.707107",
                "0.999001 0.999001 0.999001 0.999001"}}},
    {79, "codertimo/BERT-pytorch#30", &one_of_four, "name = \"norm_unbiased\";", NULL,
     "norm_output", "n - 1",
     .shown = {{NORM1 "[0,0,*]", "1.732051 -0.577350 -0.577350 -0.577350",
                "1.5 -0.5 -0.5 -0.5"}}},
    {80, "keras-team/keras-hub#642", &small_deviation,
     "name = \"norm_eps_huge\"; strength = 1e-5;", NULL, "norm_output", "1e-05",
     .shown = {{NORM1 "[0,0,*]", "1 -1 1 -1",
                "0.301511 -0.301511 0.301511 -0.301511"}}},
    {81, "mosaicml/llm-foundry#372", &three_four, "name = \"norm_inverted\";", NULL,
     "norm_output",
     .shown = {{NORM1 "[0,0,*]", "0.848528 1.131371", "10.606602 14.142136"}}},
    {82, "jadore801120/attention-is-all-you-need-pytorch#17", &two_tokens,
     "name = \"norm_axis_tokens\";", NULL, "norm_output", "tokens",
     .shown = {{NORM1, "-1 1 -1 1", "-1 -1 1 1"}}},
    {82, "jadore801120/attention-is-all-you-need-pytorch#17", &drawn,
     "name = \"norm_axis_tokens\";", .law = "future_perturbation"},
    {83, "google-deepmind/dm-haiku#700", &two_tokens, NULL, norm_over_both,
     "norm_output", .shown = {{NORM1, "-1 1 -1 1", "-1.069045 -0.534522 0 1.603567"}}},
    {83, "google-deepmind/dm-haiku#700", &two_tokens, NULL, norm_over_both,
     .law = "future_perturbation"},
    {84, "linkedin/Liger-Kernel#74", &from_1, "name = \"norm_offset_missing\";", NULL,
     "norm_output", "offset", .shown = {{NORM1 "[0,0,*]", "1.5 1.5", "0.5 0.5"}}},
    {85, "google/gemma_pytorch#67", &from_1, NULL, cast_before_gain, .backend = "bf16"},
};

#define LIST(X)                                                                        \
    X(b78_eps_is_added_to_the_root)                                                    \
    X(b79_the_deviation_is_divided_by_n_less_1)                                        \
    X(b80_the_eps_of_a_norm_is_another)                                                \
    X(b81_a_norm_multiplies_instead_of_dividing)                                       \
    X(b82_a_norm_runs_over_the_tokens)                                                 \
    X(b83_a_norm_runs_over_tokens_and_lanes)                                           \
    X(b84_a_gain_is_not_taken_from_1)                                                  \
    X(b85_a_cast_before_the_gain_is_rounding)

BUGS_MAIN(LIST, "bugs_norms.txt")
