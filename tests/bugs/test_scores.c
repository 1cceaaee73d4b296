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
    {134, "omihub777/ViT-CIFAR#11", &dot_8, NULL, by_model_width, "score_scale",
     "flatter", .shown = {{WEIGHTS ROW_1, "0.731059 0.268941", "0.587479 0.412521"}}},
};

#define LIST(X)                                                                        \
    X(b40_scores_are_not_scaled_or_by_the_wrong_power)                                 \
    X(b41_scores_are_scaled_by_the_width_of_the_model)                                 \
    X(b42_scores_are_scaled_by_the_number_of_heads)                                    \
    X(b43_a_scale_of_the_configuration_is_another)                                     \
    X(b44_a_query_that_is_scaled_is_equal)                                             \
    X(b55_the_head_width_is_derived_instead_of_read)                                   \
    X(b134_a_scale_by_the_width_of_the_model_is_flatter)

BUGS_MAIN(LIST, "bugs_scores.txt")
