/* SPDX-License-Identifier: MIT
 *
 * Bugs of heads and layouts: what is split, merged, repeated or read in the wrong
 * order.
 */
#include "bug.h"

#include "faults/fault.h"

#define HEADS "layers.0.attn.heads"
#define MERGED "layers.0.attn.merged"
#define Q "layers.0.attn.q_proj"
#define K "layers.0.attn.k_proj"
#define V "layers.0.attn.v"

/* Tokens are unit vectors, which the norm leaves as they are. */
#define MODEL(more)                                                                    \
    "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = 4; "  \
    "d_model = 4; n_layers = 1; d_ff = 8; " more " }; "
#define UNITS                                                                          \
    {"embed.tok.weight", "diagonal=1"},                                                \
    {                                                                                  \
        "layers.0.norm1.weight", "all=0.5"                                             \
    }

/* The queries of two tokens are 1 to 4 and 5 to 8. */
static const toy split = {
    MODEL("n_heads = 2; head_dim = 2;") "input : { tokens = [0, 1]; };",
    {UNITS,
     {"layers.0.attn.q.weight", "0,0=1 1,0=2 2,0=3 3,0=4 0,1=5 1,1=6 2,1=7 3,1=8"}},
    false,
    0};

/* Every token sees itself alone. */
#define OWN(more, values)                                                              \
    {                                                                                  \
        MODEL("n_heads = 2; head_dim = 4; " more)                                      \
        "input : { tokens = [0, 1]; }; mask : { window = 1; };",                       \
            {UNITS, {"layers.0.attn.v.weight", values}}, false, 0                      \
    }
static const toy merge =
    OWN("value_dim = 2;", "0,0=1 1,0=2 2,0=5 3,0=6 0,1=3 1,1=4 2,1=7 3,1=8");
static const toy strides = OWN("value_dim = 1;", "0,0=1 0,1=2 1,0=3 1,1=4");

/* One token, of which q, k and v are rows of one fused matrix. */
#define FUSED(heads, weights)                                                          \
    {                                                                                  \
        MODEL("n_heads = " heads "; head_dim = 1; qkv = \"fused\";")                   \
        "input : { tokens = [0]; };", {UNITS, {"layers.0.attn.qkv.weight", weights}},  \
            true, 0                                                                    \
    }
static const toy fused_2 = FUSED("2", "0,0=1 1,0=4 2,0=2 3,0=5 4,0=3 5,0=6");
static const toy fused_3 =
    FUSED("3", "0,0=1 1,0=4 2,0=7 3,0=2 4,0=5 5,0=8 6,0=3 7,0=6 8,0=9");

/* Scores of 0; each KV head has a value of its own, whatever the token. */
#define GROUPS(sizes, values)                                                          \
    {                                                                                  \
        MODEL(sizes " head_dim = 4; value_dim = 1;")                                   \
        "input : { tokens = [0, 1]; };", {UNITS, {"layers.0.attn.v.weight", values}},  \
            false, 0                                                                   \
    }
static const toy groups_of_2 =
    GROUPS("n_heads = 4; n_kv_heads = 2;", "10 10 10 10 20 20 20 20");
static const toy groups_of_8 =
    GROUPS("n_heads = 8; n_kv_heads = 4;", "1 1 1 1 2 2 2 2 3 3 3 3 4 4 4 4");

/* One head, scores of 0, values 1, 2, 4, 8. */
#define UNIFORM(input)                                                                 \
    {                                                                                  \
        MODEL("n_heads = 1; head_dim = 4; value_dim = 1;")                             \
        input,                                                                         \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8"}},                                   \
            true, 0                                                                    \
    }
static const toy two_rows = UNIFORM("input : { tokens = ([0, 1], [2, 3]); };");
static const toy one_row = UNIFORM("input : { tokens = [0, 1]; };");
static const toy three = UNIFORM("input : { tokens = [0, 1, 2]; };");

/* q = 2, k = 1 and v = 3 of the one lane that is not 0. */
static const toy wired = {
    MODEL("n_heads = 1; head_dim = 4;") "input : { tokens = [0, 1, 2, 3]; };",
    {UNITS,
     {"layers.0.attn.q.weight", "diagonal=2"},
     {"layers.0.attn.k.weight", "1 0 0 0 0 0 1 0 0 1 0 0 0 0 0 1"},
     {"layers.0.attn.v.weight", "3 0 0 0 0 0 0 3 0 3 0 0 0 0 3 0"}},
    false,
    0};

#define LENGTH(tokens)                                                                 \
    {                                                                                  \
        "model : { preset = \"llama\"; vocab = 9; d_model = 8; n_heads = 2; n_layers " \
        "= "                                                                           \
        "1; d_ff = 8; }; input : { tokens = [" tokens "]; };",                         \
            {{0}}, false, 0                                                            \
    }
static const toy length_8 = LENGTH("1, 2, 3, 4, 5, 6, 7, 8");
static const toy length_9 = LENGTH("1, 2, 3, 4, 5, 6, 7, 8, 1");

/* ---- what is planted here ---- */

/* Heads from the mean over the batch, token by token. */
static void over_batch(txd_block *block)
{
    size_t rows = block->dims[0], each = txd_tensor_count(&block->value) / rows;

    for (size_t i = 0; i < each; i++) {
        double mean = 0;

        for (size_t b = 0; b < rows; b++)
            mean += bug_get(block, b * each + i) / (double)rows;
        for (size_t b = 0; b < rows; b++)
            bug_set(block, b * each + i, mean);
    }
}

/* What a row attends to is the values of all rows at its own token. */
static void batch_as_sequence(txd_block *block)
{
    txd_tensor v;

    OK(txd_block_earlier(&v, block, TXD_POINT_ATTN_V));
    for (size_t i = 0; i < txd_tensor_count(&v); i++)
        bug_set(block, i, txd_tensor_get(&v, i));
    over_batch(block);
}

static txd_status attends_over_batch(txd_plan *plan)
{
    return bug_edit_by(plan, TXD_POINT_ATTN_HEADS, 0, TXD_POINT_ATTN_V,
                       batch_as_sequence);
}

/* Rows 1 to 3 H of q, k and v, one after the other, that lie head by head. */
#define ROWS_FROM(name, first)                                                         \
    static void name(txd_block *block)                                                 \
    {                                                                                  \
        for (size_t i = 0; i < txd_tensor_count(&block->value); i++)                   \
            bug_set(block, i,                                                          \
                    (double)(first * txd_tensor_count(&block->value) + i) + 1);        \
    }
ROWS_FROM(first_rows, 0)
ROWS_FROM(middle_rows, 1)
ROWS_FROM(last_rows, 2)

static txd_status rows_by_head(txd_plan *plan)
{
    TXD_TRY(bug_edit(plan, TXD_POINT_ATTN_Q_PROJ, 0, first_rows));
    TXD_TRY(bug_edit(plan, TXD_POINT_ATTN_K_PROJ, 0, middle_rows));
    return bug_edit(plan, TXD_POINT_ATTN_V, 0, last_rows);
}

/* Keys are repeated on the axis of tokens: the first, the first, the second, ... */
static void repeated_tokens(txd_block *block)
{
    txd_tensor v;

    OK(txd_block_earlier(&v, block, TXD_POINT_ATTN_V));
    for (size_t q = 0; q < txd_tensor_count(&v); q++) {
        double sum = 0;

        for (size_t j = 0; j <= q; j++)
            sum += txd_tensor_get(&v, j / 2);
        bug_set(block, q, sum / (double)(q + 1));
    }
}

static txd_status tokens_repeated(txd_plan *plan)
{
    return bug_edit_by(plan, TXD_POINT_ATTN_HEADS, 0, TXD_POINT_ATTN_V,
                       repeated_tokens);
}

/* Up to 8 tokens a kernel of its own reads (t, h, e) as (h, t, e). */
static void packed_if_short(txd_block *block)
{
    static double as_stored[8 * 2 * 4];
    size_t length = block->dims[2], width = block->dims[3];

    for (size_t i = 0; length <= 8 && i < 2 * length * width; i++)
        as_stored[(i / width % length * 2 + i / width / length) * width + i % width] =
            bug_get(block, i);
    for (size_t i = 0; length <= 8 && i < 2 * length * width; i++)
        bug_set(block, i, as_stored[i]);
}

static txd_status short_queries_are_packed(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_ATTN_Q_PROJ, 0, packed_if_short);
}

static const bug rows[] = {
    {47, "reczoo/FuxiCTR#30", &split, "name = \"head_split_view\";", NULL, "head_split",
     .shown = {{Q, "1 2 5 6 3 4 7 8", "1 2 3 4 5 6 7 8"}}},
    {48, "jsbaan/transformer-from-scratch#6", &merge, "name = \"head_merge_view\";",
     NULL, "head_merge",
     .shown = {{HEADS, "1 2 3 4 5 6 7 8"},
               {MERGED, "1 2 5 6 3 4 7 8", "1 2 3 4 5 6 7 8"}}},
    {49, "aipixel/AEMatter#3", &two_rows, NULL, attends_over_batch, "weighted_values",
     .shown = {{HEADS, "1 1.5 4 6", "2.5 5 2.5 5"}}},
    {49, "aipixel/AEMatter#3", &two_rows, NULL, attends_over_batch,
     .law = "batch_invariance"},
    {49, "aipixel/AEMatter#3", &one_row, NULL, attends_over_batch, "weighted_values",
     .shown = {{HEADS, "1 1.5", "1 2"}}},
    {50, "sgl-project/sglang#28100", &fused_2, NULL, rows_by_head, "head_split",
     .shown = {{Q, "1 4", "1 2"}, {K, "2 5", "3 4"}, {V, "3 6", "5 6"}}},
    {51, "onnx/onnx#7274", &groups_of_2, "name = \"kv_heads_tiled\";", NULL,
     "weighted_values", .shown = {{HEADS "[0,*,1,*]", "10 10 20 20", "10 20 10 20"}}},
    {52, "PSAL-POSTECH/ONNXim#34", &groups_of_8, "name = \"kv_index_wrong\";", NULL,
     "weighted_values",
     .shown = {{HEADS "[0,*,1,*]", "1 1 2 2 3 3 4 4", "1 1 1 1 2 2 2 2"}}},
    {53, "ByteDance-Seed/VeOmni#162", &one_row, NULL, tokens_repeated,
     "weighted_values", .shown = {{HEADS, "1 1.5", "1 1"}}},
    {54, "Khaliladib11/Transformer-from-scratch#1", &wired, "name = \"shared_qkv\";",
     NULL, "qkv_distinct",
     .shown = {{Q "[0,0,0,*]", "2 0 0 0"},
               {K "[0,0,0,*]", "1 0 0 0", "2 0 0 0"},
               {V "[0,0,0,*]", "3 0 0 0", "2 0 0 0"}}},
    {56, "pytorch/pytorch#112577", &strides, "name = \"strides_ignored\";", NULL,
     "head_merge", .shown = {{HEADS, "1 2 3 4"}, {MERGED, "1 3 2 4", "1 2 3 4"}}},
    {143, "sgl-project/sglang#40127", &fused_3, NULL, rows_by_head, "head_split",
     .shown = {{Q, "1 4 7", "1 2 3"}, {K, "2 5 8", "4 5 6"}, {V, "3 6 9", "7 8 9"}}},
    {145, "PrimeIntellect-ai/prime-rl#2681", &three, NULL, tokens_repeated,
     "weighted_values", .shown = {{HEADS, "1 1.5 2.333333", "1 1 1.333333"}}},
    {149, "pytorch/pytorch#163597", &length_8, NULL, short_queries_are_packed,
     .law = "head_split"},
    {149, "pytorch/pytorch#163597", &length_9, NULL, short_queries_are_packed,
     .law = "packed_separate"},
};

#define LIST(X)                                                                        \
    X(b47_heads_are_split_without_a_transpose)                                         \
    X(b48_heads_are_merged_without_a_permutation)                                      \
    X(b49_attention_runs_over_the_batch)                                               \
    X(b50_fused_rows_lie_head_by_head)                                                 \
    X(b51_kv_heads_are_tiled_instead_of_repeated)                                      \
    X(b52_the_kv_head_is_taken_by_the_wrong_divisor)                                   \
    X(b53_tokens_are_repeated_instead_of_heads)                                        \
    X(b54_queries_and_values_come_from_the_keys)                                       \
    X(b56_strides_are_ignored)                                                         \
    X(b143_the_layout_of_rows_is_guessed_from_the_format)                              \
    X(b145_keys_are_repeated_over_the_axis_of_tokens)                                  \
    X(b149_short_inputs_have_a_kernel_of_their_own)

BUGS_MAIN(LIST, "bugs_heads.txt")
