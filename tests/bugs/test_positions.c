/* SPDX-License-Identifier: MIT
 *
 * Bugs of positions. Most are of one head of four lanes, whose pairs turn by 1 and by
 * 0.01 per position: a query and keys [1, 1, 0, 0] at distance n have the score cos n +
 * cos 0.01 n, or 2 cos n where neighbours are the pairs.
 */
#include "bug.h"

#include <math.h>

#include "faults/turn.h"

#define Q "layers.0.attn.q"
#define K_PROJ "layers.0.attn.k_proj"
#define SCORES "layers.0.attn.scores"

/* Tokens are unit vectors, which the norm leaves as they are. */
#define MODEL(more)                                                                    \
    "model : { preset = \"llama\"; norm_eps = 0.0; vocab = 4; d_model = 4; n_layers "  \
    "= 1; d_ff = 8; score_scale = 1.0; " more " }; "
#define UNITS                                                                          \
    {"embed.tok.weight", "diagonal=1"},                                                \
    {                                                                                  \
        "layers.0.norm1.weight", "all=0.5"                                             \
    }
#define TOKENS(tokens, positions)                                                      \
    "input : { tokens = [" tokens "]; positions = [" positions "]; };"
#define FOUR TOKENS("0, 0, 0, 1", "0, 1, 2, 3")
#define PAIR(positions) TOKENS("0, 1", positions)

/* Token 1 has the query, tokens 0 and 1 the key. */
#define R4(more, input)                                                                \
    {                                                                                  \
        MODEL("n_heads = 1; head_dim = 4; " more)                                      \
        input,                                                                         \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "0,1=1 1,1=1 2,0=1 3,2=1"},                    \
             {"layers.0.attn.k.weight", "0,0=1 1,0=1 0,1=1 1,1=1 2,2=1"}},             \
            false, 0                                                                   \
    }
static const toy halves = R4("", FOUR);
static const toy neighbours = R4("rope_pairing = \"adjacent\";", FOUR);
static const toy at_0 = R4("", PAIR("0, 1"));
static const toy at_5 = R4("", PAIR("5, 6"));
static const toy at_50 = R4("", PAIR("50, 51"));
static const toy distance_3 = R4("", PAIR("0, 3"));
static const toy lane_1 = R4("rope_base = 500000.0;", PAIR("0, 100"));

/* The same in two heads, which other tokens tell apart. */
static const toy two_heads = {
    MODEL("n_heads = 2; head_dim = 4;") FOUR,
    {UNITS,
     {"layers.0.attn.q.weight", "0,1=1 1,1=1 2,0=1 3,2=1 4,1=1 5,1=1 7,0=1 4,2=1"},
     {"layers.0.attn.k.weight",
      "0,0=1 1,0=1 0,1=1 1,1=1 2,2=1 4,0=1 5,0=1 4,1=1 5,1=1 4,2=1"}},
    false,
    0};

/* Queries and keys of ones, of which two lanes turn. */
static const toy partial = {MODEL("n_heads = 1; head_dim = 4; rope_width = 2;")
                                PAIR("0, 1"),
                            {UNITS,
                             {"layers.0.attn.q.weight", "*,1=1 2,0=1"},
                             {"layers.0.attn.k.weight", "*,0=1 3,1=1"}},
                            false,
                            0};

/* One token, whose query is the same in four heads. */
static const toy four_heads = {
    MODEL("n_heads = 4; head_dim = 4;") TOKENS("0", "5"),
    {UNITS,
     {"layers.0.attn.q.weight",
      "0,0=1 1,0=1 4,0=1 5,0=1 8,0=1 9,0=1 12,0=1 13,0=1 0,1=1 6,1=1 9,1=2 15,1=1"}},
    false,
    0};

/* Two KV heads for eight heads; keys are 1 to 8. */
static const toy grouped = {
    MODEL("n_heads = 8; n_kv_heads = 2; head_dim = 4;") TOKENS("0", "0"),
    {UNITS,
     {"layers.0.attn.k.weight", "0,0=1 1,0=2 2,0=3 3,0=4 4,0=5 5,0=6 6,0=7 7,0=8"}},
    false,
    0};

/* One pair of lanes: the query [1, 0] shows cosine and sine. */
#define ONE_PAIR(more, input)                                                          \
    {                                                                                  \
        MODEL("n_heads = 1; head_dim = 2; " more)                                      \
        input, {UNITS, {"layers.0.attn.q.weight", "0,0=1 1,2=1"}}, true, 0             \
    }
/* 1045 positions are an angle of 1044.2678. */
static const toy angle_1044 = ONE_PAIR(
    "rope_scaling = \"linear\"; rope_factor = 1.00070116152808;", TOKENS("0", "1045"));
static const toy past_256 =
    ONE_PAIR("", TOKENS("0, 0, 0, 0, 0", "255, 256, 257, 258, 259"));

/* Learned positions: that of place t is [t, t]. */
#define LEARNED(input)                                                                 \
    {                                                                                  \
        "model : { preset = \"mini\"; vocab = 4; d_model = 2; n_heads = 1; n_layers "  \
        "= "                                                                           \
        "1; d_ff = 4; max_seq_len = 6; }; " input,                                     \
            {{"embed.tok.weight", "1 2 3 1 2 2 -1 3"},                                 \
             {"embed.pos.weight", "0 0 1 1 2 2 3 3 4 4 5 5"}},                         \
            false, 0                                                                   \
    }
static const toy learned_padded =
    LEARNED("input : { tokens = ([0, 1, 2, 3], [2, 3]); pad = \"left\"; };");
static const toy learned_packed = LEARNED(
    "input : { tokens = [0, 1, 2, 3]; documents = [0, 0, 1, 1]; positions = [0, "
    "1, 0, 1]; };");
static const toy turned_packed = R4("", "input : { tokens = [0, 1, 0, 1]; documents = "
                                        "[0, 0, 1, 1]; };");

/* The first position is row 2. */
static const toy learned_from_2 = {
    "model : { preset = \"mini\"; vocab = 4; d_model = 2; n_heads = 1; n_layers = 1; "
    "d_ff "
    "= 4; max_seq_len = 6; position_offset = 2; }; input : { tokens = [0, 1, 2]; };",
    {{"embed.tok.weight", "1 2 3 1 2 2 -1 3"},
     {"embed.pos.weight", "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7"}},
    false,
    0};

static const toy sinusoidal = {
    "model : { preset = \"llama\"; positions = \"sinusoidal\"; vocab = 4; d_model = 4; "
    "n_heads = 1; n_layers = 1; d_ff = 4; }; input : { tokens = [0, 1]; };",
    {{"embed.tok.weight", "1 2 3 1 2 2 -1 3 1 0 2 0 1 1 -2 3"}},
    false,
    0};

/* ---- what is planted here ---- */

static void first_head_alone(double out[2], const txd_turn_pair *pair)
{
    txd_turn_as_claimed(out, pair);
    if (pair->head > 0)
        out[0] = out[1] = 0;
}

static txd_status one_head_turns(txd_plan *plan)
{
    return txd_plan_turn(plan, &bug_everywhere, first_head_alone);
}

static void in_float16(double out[2], const txd_turn_pair *pair)
{
    txd_turn_as_claimed(out, pair);
    out[0] = out[1] = txd_wrap_round(out[0], TXD_F16);
}

static txd_status angles_in_float16(txd_plan *plan)
{
    return txd_plan_turn(plan, &bug_everywhere, in_float16);
}

/* Lanes (2i, 2i + 1) of a key for (i, i + 2): those that were never put in order. */
static void not_in_order(txd_block *block)
{
    for (size_t i = 0; i < txd_tensor_count(&block->value); i += 4) {
        double second = bug_get(block, i + 1);

        bug_set(block, i + 1, bug_get(block, i + 2));
        bug_set(block, i + 2, second);
    }
}

static txd_status keys_not_in_order(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_ATTN_K_PROJ, 0, not_in_order);
}

static txd_status from_row_0(txd_plan *plan)
{
    plan->config.position_offset = 0;
    return TXD_OK;
}

/* An exponent that is divided as integers are is 0. */
static void same_frequency(txd_block *block)
{
    size_t width = block->dims[2];

    for (size_t i = 0; i < txd_tensor_count(&block->value); i++) {
        double position = block->pass->inputs->positions[i / width];

        bug_set(block, i, i % 2 ? cos(position) : sin(position));
    }
}

/* The exponent of a lane, and twice. */
static void frequency_of_lane(txd_block *block)
{
    size_t width = block->dims[2];

    for (size_t i = 0; i < txd_tensor_count(&block->value); i++) {
        double position = block->pass->inputs->positions[i / width];
        double angle =
            position * pow(10000, -2.0 * (double)(i % width) / (double)width);

        bug_set(block, i, i % 2 ? cos(angle) : sin(angle));
    }
}

static txd_status doubled_exponent(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_EMBED_POS, -1, frequency_of_lane);
}

static txd_status integer_exponent(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_EMBED_POS, -1, same_frequency);
}

#define ROW_3 "[0,0,3,*]"
#define RIGHT "0.009558 0.583653 1.540252 2"
#define WRONG "-1.979985 -0.832294 1.080605 2"

static const bug rows[] = {
    {35, "EleutherAI/gpt-neox#1003", &angle_1044, NULL, angles_in_float16,
     "rotation_angle", .shown = {{Q "[0,0,0,0]", "0.306732", "0.547654"}}},
    {36, "nkalyanv99/UNI-D2#6", &past_256, "name = \"rope_half_precision\";", NULL,
     "rotation_angle",
     .shown = {{Q "[0,0,*,0]", "-0.862304 -0.039791 0.819306 0.925136 0.180401",
                "-0.862304 -0.039791 -0.039791 0.925136 -0.730194"}}},
    {58, "ggml-org/llama.cpp#22611", &halves, "name = \"rope_wrong_pairing\";", NULL,
     "rotation_angle", .shown = {{SCORES ROW_3, RIGHT, WRONG}}},
    {59, "karpathy/llama2.c#286", &neighbours, "name = \"rope_wrong_pairing\";", NULL,
     "rotation_angle", .shown = {{SCORES ROW_3, WRONG, RIGHT}}},
    {60, "ggml-org/llama.cpp#3364", &grouped, NULL, keys_not_in_order, "head_split",
     .shown = {{K_PROJ, "1 2 3 4 5 6 7 8", "1 3 2 4 5 7 6 8"}}},
    {61, "baidu/ERNIE-Image#6", &at_0, "name = \"rope_table_mismatch\";", NULL,
     "rotation_norm",
     .shown = {{Q "[0,0,1,*]", "0.540302 0.99995 0.841471 0.0099998",
                "0.540302 0.540302 0.0099998 0.0099998"}}},
    {61, "baidu/ERNIE-Image#6", &at_0, "name = \"rope_table_mismatch\";", NULL,
     "rotation_angle", .shown = {{SCORES "[0,0,1,0]", "1.540252", "1.080605"}}},
    {61, "baidu/ERNIE-Image#6", &at_5, "name = \"rope_table_mismatch\";", NULL,
     "rotation_angle", .shown = {{SCORES "[0,0,1,0]", "1.540252", "0.550722"}}},
    {61, "baidu/ERNIE-Image#6", &at_50, "name = \"rope_table_mismatch\";", NULL,
     "rotation_angle", .shown = {{SCORES "[0,0,1,0]", "1.540252", "1.900396"}}},
    {62, "karpathy/nanochat#264", &halves, .shown = {{SCORES ROW_3, RIGHT}}},
    {62, "karpathy/nanochat#264", &neighbours, .shown = {{SCORES ROW_3, WRONG}}},
    {63, "facebookresearch/xformers#841", &two_heads, "name = \"rope_over_heads\";",
     NULL, "rotation_angle",
     .shown = {{SCORES ROW_3, RIGHT, "2 2 2 2"},
               {SCORES "[0,1,3,*]", RIGHT, "2 2 2 2"}}},
    {64, "lyogavin/airllm#369", &lane_1, "name = \"rope_wrong_base\"; strength = 0.02;",
     NULL, "rotation_angle", .shown = {{Q "[0,0,1,1]", "0.990017", "0.540302"}}},
    {65, "ml-explore/mlx-lm#1698", &partial, "name = \"rope_partial_ignored\";", NULL,
     "rotation_angle",
     .shown = {{SCORES "[0,0,1,0]", "3.080605", "3.080505"},
               {Q "[0,0,1,*]", "-0.301169 1.381773 1 1",
                "-0.301169 0.98995 1.381773 1.00995"}}},
    {66, "oxiglade/mlx-rs#357", &four_heads, NULL, one_head_turns, "rotation_angle",
     .shown = {{Q "[0,*,0,0]", "0.283662 0.283662 0.283662 0.283662",
                "0.283662 1 1 1"}}},
    {67, "SamLynnEvans/Transformer#25", &sinusoidal, NULL, doubled_exponent,
     "embedding_rows",
     .shown = {{"embed.pos[0,1,*]", "0.841471 0.540302 0.0099998 0.99995",
                "0.841471 0.99995 0.0001 1.0"}}},
    {68, "Kyubyong/transformer#81", &sinusoidal, NULL, integer_exponent,
     "embedding_rows",
     .shown = {{"embed.pos[0,1,*]", "0.841471 0.540302 0.0099998 0.99995",
                "0.841471 0.540302 0.841471 0.540302"}}},
    {71, "sbryngelson/ANEForge#257", &learned_from_2, NULL, from_row_0,
     "embedding_rows", .shown = {{"embed.pos[0,*,0]", "2 3 4", "0 1 2"}}},
    {69, "TransformerLensOrg/TransformerLens#1609", &learned_padded,
     "name = \"positions_count_padding\";", NULL, "padding_invariance",
     .shown = {{"embed.pos[1,*,0]", "0 0 0 1", "0 1 2 3"}}},
    {116, "hiyouga/LlamaFactory#7318", &learned_packed,
     "name = \"positions_not_reset\";", NULL, "packed_separate",
     .shown = {{"embed.pos[0,*,0]", "0 1 0 1", "0 1 2 3"}}},
    {116, "hiyouga/LlamaFactory#7318", &turned_packed,
     .shown = {{SCORES "[0,0,3,2]", "1.540252"}}},
    {164, "rajveer43/VeloxQuant-MLX#389", &distance_3,
     "name = \"position_offset\"; strength = -1;", NULL, "rotation_angle",
     .shown = {{SCORES "[0,0,1,0]", "0.009558", "0.583653"}}},
    {164, "rajveer43/VeloxQuant-MLX#389", &distance_3,
     "name = \"position_offset\"; strength = -2;", NULL, "rotation_angle",
     .shown = {{SCORES "[0,0,1,0]", "0.009558", "1.540252"}}},
};

#define LIST(X)                                                                        \
    X(b35_angles_are_formed_in_half_precision)                                         \
    X(b36_neighbours_share_a_position)                                                 \
    X(b58_rows_are_not_permuted_for_the_pairing)                                       \
    X(b59_the_error_grows_with_the_distance)                                           \
    X(b60_keys_are_permuted_for_another_number_of_heads)                               \
    X(b61_the_table_is_laid_out_for_the_other_pairing)                                 \
    X(b62_halves_or_neighbours_are_a_convention)                                       \
    X(b63_rotation_goes_by_the_head)                                                   \
    X(b64_the_base_is_another)                                                         \
    X(b65_all_lanes_turn)                                                              \
    X(b66_one_head_turns)                                                              \
    X(b67_the_exponent_of_sinusoids_is_doubled)                                        \
    X(b68_all_lanes_have_one_frequency)                                                \
    X(b71_positions_begin_at_another_row)                                              \
    X(b69_padding_is_counted)                                                          \
    X(b116_positions_run_on_in_packed_texts)                                           \
    X(b164_evicted_tokens_are_not_counted)

BUGS_MAIN(LIST, "bugs_positions.txt")
