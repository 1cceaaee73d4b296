/* SPDX-License-Identifier: MIT
 *
 * Bugs of scores and of the softmax: their scale, their cap, the axis of the sum.
 */
#include "bug.h"

#include <math.h>

#include "faults/wrap.h"

#define HEADS "layers.0.attn.heads"
#define SCORES "layers.0.attn.scores"
#define WEIGHTS "layers.0.attn.weights"
#define ROW_1 "[0,0,1,*]"

#define MODEL(more)                                                                    \
    "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = 4; "  \
    "d_model = 4; n_heads = 1; n_layers = 1; d_ff = 8; " more " }; "
#define UNITS                                                                          \
    {"embed.tok.weight", "diagonal=1"},                                                \
    {                                                                                  \
        "layers.0.norm1.weight", "all=0.5"                                             \
    }

/* q.k of the second token is `product` with the first one, 0 with itself. */
#define DOT(more, product)                                                             \
    {                                                                                  \
        MODEL(more)                                                                    \
        "input : { tokens = [0, 1]; };",                                               \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "0,1=" product},                               \
             {"layers.0.attn.k.weight", "0,0=1"}},                                     \
            false, 0                                                                   \
    }
static const toy dot_8 = DOT("head_dim = 64; value_dim = 1;", "8");
static const toy scaled_query =
    DOT("head_dim = 64; value_dim = 1; score_scale = 1.0;", "1");
static const toy dot_16 = DOT("head_dim = 256; value_dim = 1;", "16");
static const toy derived_width = DOT("head_dim = 16; value_dim = 1;", "4");

/* Five tokens that see each other; scores of 0. */
static const toy five = {
    MODEL(
        "head_dim = 4; value_dim = 1;") "input : { tokens = [0, 1, 2, 3, 0]; }; mask : "
                                        "{ causal = false; };",
    {UNITS, {"layers.0.attn.q.weight", "all=0"}},
    true,
    0};

/* One query, and the scores 0 of two rows of a memory. */
static const toy memory = {
    MODEL(
        "cross = true;") "input : { tokens = [0]; memory : { random : { length = 2; }; "
                         "}; };",
    {UNITS, {"layers.0.cross.q.weight", "all=0"}},
    true,
    0};

static const toy capped_at_50 =
    DOT("head_dim = 4; value_dim = 1; score_scale = 1.0; score_softcap = 50.0;", "100");
static const toy capped_at_2 =
    DOT("head_dim = 4; value_dim = 1; score_scale = 1.0; score_softcap = 2.0;", "4");

/* Scores of 0, as is that of the sink. */
static const toy sink = {
    MODEL("head_dim = 4; value_dim = 1; sinks = true;") "input : { tokens = [0, 1, 2, "
                                                        "3]; "
                                                        "};",
    {UNITS,
     {"layers.0.attn.q.weight", "all=0"},
     {"layers.0.attn.v.weight", "1 2 4 8"},
     {"layers.0.attn.sink.weight", "0"}},
    true,
    0};

static const toy slopes = {
    "model : { preset = \"llama\"; positions = \"alibi\"; vocab = 4; d_model = 4; "
    "n_heads "
    "= 12; head_dim = 2; n_layers = 1; d_ff = 8; }; input : { tokens = [0, 1]; };",
    {{0}},
    false,
    0};

/* Values 1, 2, 4, 8; scores of 0. */
static const toy uniform = {
    MODEL("head_dim = 4; value_dim = 1;") "input : { tokens = [0, 1, 2, 3]; };",
    {UNITS, {"layers.0.attn.q.weight", "all=0"}, {"layers.0.attn.v.weight", "1 2 4 8"}},
    true,
    0};

/* ---- what is planted here ---- */

#define SCALED(name, scale)                                                            \
    static txd_status name(txd_plan *plan)                                             \
    {                                                                                  \
        plan->config.layers[0].score_scale = scale;                                    \
        return TXD_OK;                                                                 \
    }
SCALED(by_width, 1.0 / 64)
SCALED(by_model_width, 1 / sqrt(512))
SCALED(by_heads, 1 / sqrt(8))
SCALED(by_224, 1 / sqrt(224))
SCALED(by_20, 1 / sqrt(20))

/* The sum runs over an axis of one element. */
static txd_status ones(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    TXD_TRY(txd_below_softmax(ctx, args));
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = args->begin; j < args->end; j++)
            txd_wrap_set(&args->at, args->out, r * args->stride + j, 1);
    return TXD_OK;
}

static txd_status every_weight_is_1(txd_plan *plan)
{
    static const struct txd_ops mine = {.softmax = ones};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* A bias by distance where there is none: in cross-attention. */
static txd_status biased(txd_ctx *ctx, const struct txd_mask_args *args)
{
    TXD_TRY(txd_below_mask(ctx, args));
    for (size_t j = 0; args->at.point == TXD_POINT_CROSS_MASKED && j < args->keys; j++)
        txd_wrap_set(&args->at, args->out, j,
                     txd_wrap_get(&args->at, args->out, j) - 0.5 * (double)j);
    return TXD_OK;
}

static txd_status bias_of_memory(txd_plan *plan)
{
    static const struct txd_ops mine = {.mask = biased};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

static const bug rows[] = {
    {40, "delzac/cntkx#10", &dot_8, "name = \"scale_missing\";", NULL, "score_scale",
     "scores are 1 x q.k", .shown = {{WEIGHTS "[0,0,1,0]", "0.731059", "0.999665"}}},
    {40, "delzac/cntkx#10", &dot_8, NULL, by_width, "score_scale",
     "scores are 0.0156 x q.k",
     .shown = {{WEIGHTS "[0,0,1,0]", "0.731059", "0.531209"}}},
    {41, "lucidrains/vit-pytorch#65", &dot_8, NULL, by_model_width, "score_scale",
     .shown = {{WEIGHTS "[0,0,1,0]", "0.731059", "0.587479"},
               {SCORES ROW_1, "1 0", "0.353553 0"}}},
    {42, "tenstorrent/tt-metal#56789", &dot_8, NULL, by_heads, "score_scale",
     .shown = {{WEIGHTS "[0,0,1,0]", "0.731059", "0.944193"},
               {SCORES ROW_1, "1 0", "2.828427 0"}}},
    {43, "ggml-org/llama.cpp#8444", &dot_16, NULL, by_224, "score_scale",
     .shown = {{SCORES ROW_1, "1 0", "1.069045 0"}}},
    {44, "getalp/Flaubert#45", &scaled_query,
     .shown = {{WEIGHTS "[0,0,1,0]", "0.731059"}}},
    {55, "vllm-project/vllm#2622", &derived_width, NULL, by_20, "score_scale",
     .shown = {{SCORES ROW_1, "1 0", "0.894427 0"}}},
    {45, "PetrochukM/PyTorch-NLP#2", &memory, NULL, every_weight_is_1, "row_sum",
     .shown = {{"layers.0.cross.weights", "0.5 0.5", "1 1"}}},
    {73, "huggingface/transformers#8518", &memory, NULL, bias_of_memory, "mask_fill",
     .shown = {{"layers.0.cross.scores", "0 0", "0 0"},
               {"layers.0.cross.masked", "0 0", "0 -0.5"}}},
    {139, "DEEP-PolyU/KEQA_WSDM19#2", &five, NULL, every_weight_is_1, "row_sum",
     .shown = {{"sums of " WEIGHTS, "1 1 1 1 1", "5 5 5 5 5"}}},
    {98, "sgl-project/sglang#33915", &capped_at_50, "name = \"softcap_missing\";", NULL,
     "score_cap", .shown = {{"layers.0.attn.capped" ROW_1, "48.201379 0", "100 0"}}},
    {98, "sgl-project/sglang#33915", &capped_at_2, "name = \"softcap_missing\";", NULL,
     "score_cap", .shown = {{WEIGHTS "[0,0,1,0]", "0.873034", "0.982014"}}},
    {99, "vllm-project/vllm-metal#550", &sink, "name = \"sinks_ignored\";", NULL,
     "sink_share",
     .shown = {{"sums of " WEIGHTS, "0.5 0.666667 0.75 0.8", "1 1 1 1"},
               {HEADS, "0.5 1 1.75 3", "1 1.5 2.333333 3.75"}}},
    {72, "ml-explore/mlx#3071", &slopes, "name = \"alibi_slopes_wrong\";", NULL,
     "score_bias",
     .shown = {{"layers.0.attn.bias[0,*,1,0]",
                "-0.5 -0.25 -0.125 -0.0625 -0.03125 -0.015625 -0.0078125 -0.00390625 "
                "-0.707107 -0.353553 -0.176777 -0.088388",
                "-0.629961 -0.396850 -0.25 -0.157490 -0.099213 -0.0625 -0.039373 "
                "-0.024803 -0.015625 -0.009843 -0.006201 -0.003906"}}},
    {46, "labmlai/annotated_deep_learning_paper_implementations#146", &uniform,
     "name = \"softmax_over_queries\";", NULL, "row_sum",
     .shown = {{"sums of " WEIGHTS, "1 1 1 1", "0.25 0.583333 1.083333 2.083333"},
               {HEADS, "1 1.5 2.333333 3.75", "0.25 0.916667 2.916667 10.916667"}}},
    {96, "pytorch/pytorch#124464", &uniform,
     "name = \"dropout_in_eval\"; strength = 0.2;", NULL, "row_sum",
     .shown = {{WEIGHTS "[0,0,0,*]", "1 0 0 0", "1.25 0 0 0"}}},
    {97, "pytorch/pytorch#42929", &uniform,
     "name = \"dropout_in_eval\"; strength = 0.2;", .law = "weight_range",
     .word = "dropout"},
    {134, "omihub777/ViT-CIFAR#11", &dot_8, NULL, by_model_width, "score_scale",
     "flatter", .shown = {{WEIGHTS ROW_1, "0.731059 0.268941", "0.587479 0.412521"}}},
};

#define LIST(X)                                                                        \
    X(b40_scores_are_not_scaled_or_by_the_wrong_power)                                 \
    X(b41_scores_are_scaled_by_the_width_of_the_model)                                 \
    X(b42_scores_are_scaled_by_the_number_of_heads)                                    \
    X(b43_a_scale_of_the_configuration_is_another)                                     \
    X(b44_a_query_that_is_scaled_is_equal)                                             \
    X(b45_the_softmax_runs_over_queries_of_which_there_is_one)                         \
    X(b55_the_head_width_is_derived_instead_of_read)                                   \
    X(b73_cross_attention_has_a_bias_by_distance)                                      \
    X(b139_the_softmax_runs_over_an_axis_of_one)                                       \
    X(b98_the_cap_of_scores_is_dropped)                                                \
    X(b99_a_sink_is_never_enabled)                                                     \
    X(b72_slopes_are_one_geometric_series)                                             \
    X(b46_the_softmax_runs_over_queries)                                               \
    X(b96_dropout_in_evaluation)                                                       \
    X(b97_weights_are_recorded_behind_the_dropout)                                     \
    X(b134_a_scale_by_the_width_of_the_model_is_flatter)

BUGS_MAIN(LIST, "bugs_scores.txt")
