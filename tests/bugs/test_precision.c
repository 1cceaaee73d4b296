/* SPDX-License-Identifier: MIT
 *
 * Bugs of NaN, infinities and formats.
 */
#include "bug.h"

#include <math.h>

#include "faults/wrap.h"

#define HEADS "layers.0.attn.heads"
#define SCORES "layers.0.attn.scores"
#define MASKED "layers.0.attn.masked"
#define WEIGHTS "layers.0.attn.weights"

/* One block, one head. Tokens are unit vectors, which the norm leaves as they are. */
#define MODEL(more)                                                                    \
    "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = 4; "  \
    "d_model = 4; n_heads = 1; n_layers = 1; d_ff = 8; " more " }; "
#define UNITS                                                                          \
    {"embed.tok.weight", "diagonal=1"},                                                \
    {                                                                                  \
        "layers.0.norm1.weight", "all=0.5"                                             \
    }
#define PAIR "input : { tokens = [0, 1]; }; "

/* Scores of 0; values 1, 2, 4 and the mean of them. The second row begins with padding,
 * which comes before every key that is real. */
#define EMPTY_ROW(mask)                                                                \
    {                                                                                  \
        MODEL("head_dim = 4; value_dim = 1;")                                          \
        "input : { tokens = ([0, 1, 2], [1, 2]); positions = ([0, 1, 2], [1, 2]); pad" \
        " = \"left\"; }; mask : { " mask " };",                                        \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8"}},                                   \
            true, 0                                                                    \
    }
static const toy empty_row = EMPTY_ROW("");

#define UNIFORM(input, more)                                                           \
    {                                                                                  \
        MODEL("head_dim = 4; value_dim = 1;")                                          \
        input more,                                                                    \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8"}},                                   \
            true, 0                                                                    \
    }
#define FOUR "input : { tokens = [0, 1, 2, 3]; }; "
static const toy pair = UNIFORM(PAIR, "");
static const toy pair_nan = UNIFORM(PAIR, "mask : { masked_row = \"nan\"; }; ");
static const toy pair_mean = UNIFORM(PAIR, "mask : { masked_row = \"uniform\"; }; ");
static const toy four_mean = UNIFORM(FOUR, "mask : { masked_row = \"uniform\"; }; ");

/* The second row has one real key, of value 3, before one of padding. */
static const toy padded = {
    MODEL("head_dim = 4; value_dim = 1;") "input : { tokens = ([0, 1], [0]); pad_id = "
                                          "3; }; mask : { causal = false; };",
    {UNITS, {"layers.0.attn.q.weight", "all=0"}, {"layers.0.attn.v.weight", "3 1 2 4"}},
    true,
    0};
static const toy padded_gradients = {
    MODEL("head_dim = 4; value_dim = 1;") "input : { tokens = ([0, 1, 2], [0, 1]); "
                                          "pad_id = 3; }; record : ( { probe = "
                                          "\"grad_norm\"; } );",
    {UNITS, {"layers.0.attn.v.weight", "3 1 2 4"}},
    false,
    0};

/* One lane: the score of the second token's query with the first one's key, and its
 * own, are these products. */
#define LANE(query, keys, more)                                                        \
    {                                                                                  \
        MODEL("head_dim = 1; value_dim = 1; score_scale = 1.0;")                       \
        PAIR more,                                                                     \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", query},                                        \
             {"layers.0.attn.k.weight", keys},                                         \
             {"layers.0.attn.v.weight", "2 4 1 3"}},                                   \
            false, 0                                                                   \
    }
static const toy steep = LANE("1 1 2 3", "89 0 5 7", "");
static const toy far_below = LANE("1 1 2 3", "-60000 -60000 5 7", "");
static const toy below_15 =
    LANE("-15 1 2 3", "0 1 5 7", "mask : { fill = -65504.0; };");
static const toy below_16 =
    LANE("-16 1 2 3", "0 1 5 7", "mask : { fill = -65504.0; };");
static const toy fill_1e10 = LANE("1 1 2 3", "0 2 5 7", "mask : { fill = -1e10; };");

/* Queries and keys of 64 lanes, or 128. */
#define LANES(width, query, key)                                                       \
    {                                                                                  \
        MODEL("head_dim = " width "; value_dim = 1;")                                  \
        PAIR,                                                                          \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "*,1=" query},                                 \
             {"layers.0.attn.k.weight", "*,0=" key},                                   \
             {"layers.0.attn.v.weight", "2 4 1 3"}},                                   \
            false, 0                                                                   \
    }
static const toy lanes_64 = LANES("64", "40", "40");
static const toy lanes_128 = LANES("128", "32", "32");

/* 256 x 258.775 at the first lane. */
static const toy wide_mlp = {MODEL("activation = \"relu\"; gated = false;") PAIR,
                             {UNITS,
                              {"layers.0.attn.o.weight", "all=0"},
                              {"layers.0.norm2.weight", "all=0.5"},
                              {"layers.0.mlp.up.weight", "0,0=256"},
                              {"layers.0.mlp.down.weight", "0,0=258.77496 1,0=100"}},
                             false,
                             0};

/* A thousand rows of a memory, all with the same score. */
static const toy thousand = {
    "model : { preset = \"llama\"; positions = \"none\"; vocab = 4; d_model = 4; "
    "n_heads = 1; n_layers = 1; d_ff = 8; cross = true; }; input : { tokens = [0, 1]; "
    "memory : { random : { length = 1000; }; }; };",
    {{"layers.0.cross.q.weight", "all=0"}},
    true,
    0};

/* A constant token and one that is not. */
static const toy constant = {
    "model : { preset = \"gpt2\"; positions = \"none\"; vocab = 2; d_model = 6; "
    "n_heads "
    "= 1; n_layers = 1; d_ff = 8; norm_eps = 1e-6; bias = false; }; input : { tokens = "
    "[0, 1]; };",
    {{"embed.tok.weight", "2 2 2 2 2 2 0 1 2 3 4 5"}},
    false,
    0};

/* Three rows of unequal lengths, drawn weights. */
static const toy batch = {
    "model : { preset = \"llama\"; n_kv_heads = 1; vocab = 9; d_model = 8; n_heads = "
    "2; "
    "n_layers = 2; d_ff = 8; }; input : { tokens = ([5, 6, 7, 8, 3], [1, 2, 3], [4, 4, "
    "4, 1]); };",
    {{0}},
    false,
    0};

/* ---- what is planted here ---- */

static bool no_key_for_0(const txd_mask_view *mask, size_t query, size_t key,
                         size_t keys, bool seen)
{
    (void)mask;
    (void)key;
    (void)keys;
    return query == 0 ? false : seen;
}

static txd_status empty_0(txd_plan *plan)
{
    return txd_plan_sight(plan, &bug_everywhere, no_key_for_0);
}

static void nan_in_padding(txd_block *block)
{
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        if (block->pass->inputs->valid[i] == 0)
            bug_set(block, i, (double)NAN);
}

static txd_status nan_value(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_ATTN_V, 0, nan_in_padding);
}

/* 0 x NaN, added up: the second row's first query. */
static void nan_times_hidden(txd_block *block)
{
    bug_set(block, txd_tensor_count(&block->value) / 2, (double)NAN);
}

static txd_status nan_value_multiplied(txd_plan *plan)
{
    TXD_TRY(nan_value(plan));
    return bug_edit(plan, TXD_POINT_ATTN_HEADS, 0, nan_times_hidden);
}

/* The gradient of a row whose query is padding: 0 x NaN. */
static txd_status nan_times_0(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    TXD_TRY(txd_below_softmax_back(ctx, args));
    if (args->at.batch == 1)
        for (size_t r = 0; r < args->rows; r++)
            if (args->at.first_query + (int)r == 2)
                txd_wrap_set(&args->at, args->d_masked, r * args->stride, (double)NAN);
    return TXD_OK;
}

static txd_status nan_backward(txd_plan *plan)
{
    static const struct txd_ops mine = {.softmax_back = nan_times_0};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* score + fill instead of the fill. */
static txd_status add_fill(txd_ctx *ctx, const struct txd_mask_args *args)
{
    const txd_op_site *at = &args->at;

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys; j++) {
            size_t i = r * args->stride + j;
            bool seen = args->visible ? args->visible[i] != 0 : j <= r;
            double score = txd_wrap_get(at, args->scores, i);

            txd_wrap_set(at, args->out, i,
                         txd_wrap_round(score + (seen ? 0 : args->fill), TXD_F16));
        }
    return TXD_OK;
}

static txd_status fill_added(txd_plan *plan)
{
    static const struct txd_ops mine = {.mask = add_fill};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* The products are stored in float16 before they are scaled. */
static txd_status scale_after(txd_ctx *ctx, const struct txd_scores_args *args)
{
    struct txd_scores_args unscaled = *args;

    unscaled.scale = 1;
    TXD_TRY(txd_below_scores(ctx, &unscaled));
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys; j++) {
            size_t i = r * args->stride + j;
            double product = txd_wrap_get(&args->at, args->out, i);

            txd_wrap_set(&args->at, args->out, i,
                         txd_wrap_round(product, TXD_F16) * args->scale);
        }
    return TXD_OK;
}

static txd_status scaled_after_storing(txd_plan *plan)
{
    static const struct txd_ops mine = {.scores = scale_after};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* exp(score) / sum exp(score) of a row, in float32. */
static txd_status without_maximum(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    float exponential[4], sum = 0;

    ck_assert_uint_le(args->keys, 4);
    for (size_t j = 0; j < args->keys; j++)
        exponential[j] = expf((float)txd_wrap_get(&args->at, args->masked, j));
    TXD_TRY(txd_below_softmax(ctx, args));
    for (size_t j = args->begin; j < args->end; j++)
        sum += exponential[j];
    for (size_t j = args->begin; j < args->end; j++)
        txd_wrap_set(&args->at, args->out, j, (double)(exponential[j] / sum));
    return TXD_OK;
}

static txd_status no_maximum(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    return txd_wrap_softmax(ctx, args, without_maximum);
}

static txd_status softmax_without_maximum(txd_plan *plan)
{
    static const struct txd_ops mine = {.softmax = no_maximum};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* A hidden score of 200 is the maximum: nothing is left of the others. */
static txd_status below_200(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    TXD_TRY(txd_below_softmax(ctx, args));
    for (size_t j = args->begin; j < args->end; j++)
        txd_wrap_set(&args->at, args->out, j, (double)(expf(-200) / expf(-200)));
    return TXD_OK;
}

static txd_status softmax_below_200(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    return txd_wrap_softmax(ctx, args, below_200);
}

static txd_status hidden_maximum(txd_plan *plan)
{
    static const struct txd_ops mine = {.softmax = softmax_below_200};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

static txd_status eps_lost(txd_plan *plan)
{
    plan->config.layers[0].norm_eps = 0;
    return TXD_OK;
}

static const bug rows[] = {
    {12, "ruotianluo/self-critical.pytorch#89", &pair, NULL, hidden_maximum, "finite",
     .backend = "cpu32", .shown = {{WEIGHTS "[0,0,0,0]", "1", "nan"}}},
    {22, "pytorch/pytorch#103963", &empty_row,
     .shown = {{HEADS "[1,0,0,*]", "0"}, {"sums of " WEIGHTS "[1,0,0,*]", "0"}}},
    {22, "pytorch/pytorch#103963", &pair_nan,
     "name = \"fully_masked_row\"; queries = \"0\";", NULL, "finite",
     "fully masked row", .shown = {{HEADS, "1 1.5", "nan 1.5"}}},
    {22, "pytorch/pytorch#103963", &pair_mean,
     "name = \"fully_masked_row\"; queries = \"0\";", NULL, "causality",
     .shown = {{HEADS, "1 1.5", "1.5 1.5"}}},
    {23, "tracel-ai/burn#4697", &empty_row, .shown = {{HEADS "[1,0,*,*]", "0 2 3"}}},
    {24, "ml-explore/mlx#2395", &four_mean,
     "name = \"fully_masked_row\"; queries = \"1\";", NULL, "empty_row",
     .shown = {{HEADS, "1 1.5 2.333333 3.75", "1 3.75 2.333333 3.75"}}},
    {24, "ml-explore/mlx#2395", &pair, NULL, empty_0, "empty_row",
     .shown = {{HEADS, "1 1.5", "0 1.5"}}},
    {25, "pytorch/pytorch#101967", &padded, NULL, nan_value,
     .shown = {{HEADS "[1,0,0,*]", "3", "3"}}},
    {25, "pytorch/pytorch#101967", &padded, NULL, nan_value_multiplied, "finite",
     "hidden", .shown = {{HEADS "[1,0,0,*]", "3", "nan"}}},
    {26, "pytorch/pytorch#41508", &padded_gradients, NULL, nan_backward, "finite",
     .word = "gradient"},
    {27, "huggingface/transformers#17306", &below_15, NULL, fill_added,
     .backend = "fp16", .shown = {{MASKED "[0,0,0,1]", "-65504", "-65504"}}},
    {27, "huggingface/transformers#17306", &below_16, NULL, fill_added, "mask_fill",
     "overflowed", .informs = true, .backend = "fp16",
     .shown = {{MASKED "[0,0,0,1]", "-65504", "-inf"}}},
    {28, "bentrevett/pytorch-seq2seq#191", &fill_1e10, .backend = "bf16"},
    {28, "bentrevett/pytorch-seq2seq#191", &fill_1e10, NULL, NULL, "mask_fill",
     "overflowed", .informs = true, .backend = "fp16", .elsewhere = "bf16",
     .shown = {{MASKED "[0,0,0,1]", "-9.999e9", "-inf"}}},
    {29, "pytorch/pytorch#60939", &lanes_64, NULL, scaled_after_storing, "finite",
     "float16", .backend = "fp16",
     .shown = {{SCORES "[0,0,1,*]", "12800 0", "inf 0"},
               {WEIGHTS "[0,0,1,*]", "1 0", "nan nan"}}},
    {30, "huggingface/transformers#5651", &wide_mlp, NULL, NULL, "finite", "overflow",
     .backend = "fp16", .elsewhere = "cpu32",
     .shown = {{"layers.0.mlp.out[0,0,*]", "66246.39 25600 0 0", "inf 25600 0 0"}}},
    {31, "NVIDIA/FasterTransformer#43", &steep, NULL, softmax_without_maximum, "finite",
     "largest score", .backend = "cpu32",
     .shown = {{WEIGHTS "[0,0,1,*]", "1 0", "nan 0"}}},
    {32, "flashinfer-ai/flashinfer#4267", &far_below,
     "name = \"sentinel_above_scores\";", NULL, "mask_sentinel",
     .shown = {{HEADS "[0,0,1,*]", "3", "0"},
               {"sums of " WEIGHTS "[0,0,1,*]", "1", "0"}}},
    {33, "tinygrad/tinygrad#12280", &thousand, "name = \"softmax_bf16\";", NULL,
     "row_sum",
     .shown = {{"sums of layers.0.cross.weights", "1 1", "3.90625 3.90625"}}},
    {33, "tinygrad/tinygrad#12280", &thousand, .backend = "bf16",
     .shown = {{"sums of layers.0.cross.weights", "0.99945 0.99945"}}},
    {34, "VeriSilicon/TIM-VX#589", &constant, NULL, eps_lost, "finite", "and eps",
     .shown = {{"layers.0.norm1.out",
                "0 0 0 0 0 0 -1.46385 -0.87831 -0.29277 0.29277 0.87831 1.46385",
                "nan nan nan nan nan nan -1.46385 -0.87831 -0.29277 0.29277 0.87831 "
                "1.46385"}}},
    {38, "pegainfer-project/pegainfer#414", &batch, .backend = "bf16"},
    {39, "huggingface/transformers#27050", &batch, NULL, bug_zero_padding, .law = NULL},
    {132, "NVIDIA/TensorRT-LLM#18044", &lanes_128, NULL, scaled_after_storing, "finite",
     .backend = "cpu32", .shown = {{SCORES "[0,0,1,*]", "11585.24 0", "inf 0"}}},
};

#define LIST(X)                                                                        \
    X(b12_a_hidden_maximum_leaves_nothing)                                             \
    X(b22_a_fully_masked_row_follows_its_policy)                                       \
    X(b23_two_masks_together_leave_no_key)                                             \
    X(b24_a_fully_masked_row_gives_garbage)                                            \
    X(b25_a_nan_behind_a_mask_leaks)                                                   \
    X(b26_a_nan_in_the_gradient_alone)                                                 \
    X(b27_the_least_number_and_a_score_are_minus_infinity)                             \
    X(b28_a_fill_that_float16_cannot_hold)                                             \
    X(b29_products_of_queries_and_keys_overflow)                                       \
    X(b30_the_mlp_overflows)                                                           \
    X(b31_a_softmax_without_its_maximum)                                               \
    X(b32_minus_infinity_is_a_number_above_the_scores)                                 \
    X(b33_a_softmax_in_bfloat16)                                                       \
    X(b34_a_norm_loses_its_eps)                                                        \
    X(b38_batches_round_otherwise)                                                     \
    X(b39_a_fused_kernel_writes_zeros_to_padding)                                      \
    X(b132_a_product_overflows_before_it_is_scaled)

BUGS_MAIN(LIST, "bugs_precision.txt")
