/* SPDX-License-Identifier: MIT
 *
 * Bugs of masks: uniform scores, so that a row of attention is the mean of the values
 * that it sees.
 */
#include "bug.h"

#include "faults/fault.h"

#define HEADS "layers.0.attn.heads"
#define WEIGHTS "layers.0.attn.weights"
#define CAUSAL "1 1.5 2.333333 3.75"
#define ALL "3.75 3.75 3.75 3.75"

/* One head, no score but 0, values 1, 2, 4, 8: tokens are unit vectors, which the norm
 * leaves as they are. The fifth, of padding, is the mean of the first two. */
#define UNIFORM(groups)                                                                \
    {                                                                                  \
        "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = " \
        "5; d_model = 5; n_heads = 1; n_layers = 1; head_dim = 4; value_dim = 1; "     \
        "d_ff "                                                                        \
        "= 8; }; " groups,                                                             \
            {{"embed.tok.weight", "diagonal=1"},                                       \
             {"layers.0.norm1.weight", "all=0.44721360"},                              \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8 1.5"}},                               \
            true, 0                                                                    \
    }
#define TOKENS "input : { tokens = [0, 1, 2, 3]; }; "

static const toy u4 = UNIFORM(TOKENS);
static const toy u4_open = UNIFORM(TOKENS "mask : { causal = false; };");
static const toy left_padded = UNIFORM(
    "input : { tokens = ([0, 1, 2, 3], [2, 3]); pad = \"left\"; pad_id = 4; };");
static const toy right_padded =
    UNIFORM("input : { tokens = ([0, 1, 2, 3], [0, 1]); };");
static const toy last_is_padding =
    UNIFORM("input : { tokens = ([0, 1, 2], [0, 1]); }; mask : { causal = false; "
            "masked_row = \"uniform\"; };");
static const toy packed =
    UNIFORM("input : { tokens = [0, 1, 2, 3]; documents = [0, 0, 1, 1]; };");
static const toy packed_anew = UNIFORM(
    "input : { tokens = [0, 1, 2, 3]; documents = [0, 0, 1, 1]; positions = [0, "
    "1, 0, 1]; };");
static const toy window = UNIFORM(TOKENS "mask : { window = 2; };");
static const toy window_of_3 = UNIFORM(TOKENS "mask : { window = 3; };");
static const toy nan_rows = UNIFORM(TOKENS "mask : { masked_row = \"nan\"; };");

/* Two heads, which only keys that score 0 tell apart; padding has the value 6, which is
 * the mean of 4 and 8. */
static const toy two_samples = {
    "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = 5; "
    "d_model = 5; n_heads = 2; n_layers = 1; head_dim = 4; value_dim = 1; d_ff = 8; }; "
    "input : { tokens = ([0, 1, 2, 3], [0, 1]); pad_id = 4; }; mask : { causal = "
    "false; };",
    {{"embed.tok.weight", "diagonal=1"},
     {"layers.0.norm1.weight", "all=0.44721360"},
     {"layers.0.attn.q.weight", "all=0"},
     {"layers.0.attn.v.weight", "1 2 4 8 6 1 2 4 8 6"}},
    true,
    0};

/* Scores of 0 in two blocks, of which the first has a window of 2. */
static const toy alternating = {
    "model : { preset = \"llama\"; positions = \"none\"; vocab = 8; d_model = 8; "
    "n_heads "
    "= 1; n_layers = 2; d_ff = 8; layers = ( { range = \"0\"; window = 2; } ); }; "
    "input "
    ": { tokens = [3, 1, 4, 1, 5, 7]; };",
    {{"layers.0.attn.q.weight", "all=0"}, {"layers.1.attn.q.weight", "all=0"}},
    true,
    0};

/* Two blocks, six tokens, and scores that are not 0. */
static const toy drawn = {
    "model : { preset = \"gpt2\"; vocab = 8; d_model = 8; n_heads = "
    "2; n_layers = 2; d_ff = 8; max_seq_len = 8; }; input : { "
    "tokens = [3, 1, 4, 1, 5, 7]; };",
    {{0}},
    false,
    0};

/* ---- what is planted here ---- */

/* Padding is real where the batch has one row. */
static void real_if_alone(txd_block *block)
{
    for (size_t i = 0; block->dims[0] == 1 && i < txd_tensor_count(&block->value); i++)
        bug_set(block, i, 1);
}

static txd_status padding_seen_alone(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_INPUT_VALID, -1, real_if_alone);
}

/* Something else where the query is padding. */
static void other_padding(txd_block *block)
{
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        if (block->pass->inputs->valid[i] == 0)
            bug_set(block, i, 1000);
}

static txd_status other_pad_rows(txd_plan *plan)
{
    TXD_TRY(bug_edit(plan, TXD_POINT_ATTN_HEADS, 0, other_padding));
    return bug_edit(plan, TXD_POINT_ATTN_MERGED, 0, other_padding);
}

static const bug rows[] = {
    {1, "keras-team/keras#23038", &u4, "name = \"mask_missing\";", NULL, "causality",
     .shown = {{HEADS, CAUSAL, ALL}}},
    {1, "keras-team/keras#23038", &u4, "name = \"observed_differs\";", NULL,
     "observer_effect",
     .shown = {{HEADS, CAUSAL, ALL},
               {WEIGHTS "[0,0,0,*]", "1 0 0 0", "0.25 0.25 0.25 0.25"}}},
    {2, "facebookresearch/xformers#103", &u4, "name = \"mask_missing\";", NULL,
     "causality", .shown = {{WEIGHTS "[0,0,0,*]", "1 0 0 0", "0.25 0.25 0.25 0.25"}}},
    {3, "huggingface/transformers#48745", &drawn,
     "name = \"mask_missing\"; layers = \"1\";", .law = "future_perturbation"},
    {4, "karpathy/nanochat#844", &u4, "name = \"block_means\";", NULL,
     "future_perturbation",
     .shown = {{"layers.0.attn.v", "1 2 4 8", "1.5 1.5 6 6"},
               {HEADS "[0,0,0,*]", "1", "1.5"},
               {WEIGHTS "[0,0,1,*]", "0.5 0.5 0 0"}}},
    {5, "pbloem/former#10", &nan_rows, "name = \"diagonal_masked\";", NULL,
     "diagonal_open", .shown = {{HEADS, CAUSAL, "nan 1 1.5 2.333333"}}},
    {6, "pytorch/tutorials#2250", &u4, .shown = {{HEADS, CAUSAL}}},
    {6, "pytorch/tutorials#2250", &u4_open, .shown = {{HEADS, ALL}}},
    {9, "lucidrains/x-transformers#160", &nan_rows, "name = \"mask_inverted\";", NULL,
     "mask_polarity", .shown = {{HEADS, CAUSAL, "4.666667 6 8 nan"}}},
    {10, "huggingface/transformers#41443", &u4, "name = \"mask_added\";", NULL,
     "mask_added",
     .shown = {{WEIGHTS "[0,0,0,*]", "1 0 0 0", "0.475367 0.174878 0.174878 0.174878"},
               {HEADS, CAUSAL, "2.923655 2.710236 2.952313 3.75"},
               {"sums of " WEIGHTS, "1 1 1 1", "1 1 1 1"}}},
    {10, "huggingface/transformers#41443", &u4, "name = \"mask_added\"; strength = -1;",
     .law = "mask_added"},
    {11, "huggingface/pytorch-image-models#2236", &u4, "name = \"mask_after_softmax\";",
     NULL, "row_sum",
     .shown = {{HEADS, CAUSAL, "0.25 0.75 1.75 3.75"},
               {"sums of " WEIGHTS, "1 1 1 1", "0.25 0.5 0.75 1"}}},
    {12, "ruotianluo/self-critical.pytorch#89", &u4, NULL, bug_mask_then_renormalise,
     .shown = {{HEADS, CAUSAL, CAUSAL}}},
    {13, "jingyaogong/minimind-v#76", &left_padded, "name = \"padding_ignored\";", NULL,
     "padding",
     .shown = {{HEADS "[1,0,2,*]", "4", "2.333333"}, {HEADS "[1,0,3,*]", "6", "3.75"}}},
    {13, "jingyaogong/minimind-v#76", &left_padded, "name = \"padding_ignored\";",
     .law = "padding_invariance"},
    {13, "jingyaogong/minimind-v#76", &right_padded,
     .shown = {{HEADS "[1,0,1,*]", "1.5"}}},
    {14, "ArrowLuo/CLIP4Clip#22", &two_samples, "name = \"mask_of_other_sample\";",
     NULL, "mask_layout",
     .shown = {{HEADS "[1,*,0,*]", "1.5 1.5", "3.75 1.5"},
               {HEADS "[0,*,0,*]", "3.75 3.75", "3.75 1.5"}}},
    {15, "lsdefine/attention-is-all-you-need-keras#16", &last_is_padding,
     "name = \"mask_on_queries\";", NULL, "padding",
     .shown = {{WEIGHTS "[1,0,0,*]", "0.5 0.5 0", "0.333333 0.333333 0.333333"},
               {WEIGHTS "[1,0,2,*]", "0.5 0.5 0", "0.333333 0.333333 0.333333"}}},
    {16, "huggingface/nanoVLM#204", &packed, "name = \"documents_ignored\";",
     .law = "packed_separate"},
    {16, "huggingface/nanoVLM#204", &packed, "name = \"documents_ignored\";", NULL,
     "documents", .shown = {{HEADS, "1 1.5 4 6", CAUSAL}}},
    {17, "DeepOpt-com/WrinkleFree-Monorepo#53", &packed_anew,
     "name = \"documents_ignored\";", NULL, "documents",
     .shown = {{HEADS, "1 1.5 4 6", "2.5 3.75 2.5 3.75"}}},
    {18, "huggingface/transformers#39408", &window,
     "name = \"window_off_by_one\"; strength = 1;", NULL, "window",
     .shown = {{HEADS, "1 1.5 3 6", "1 1.5 2.333333 4.666667"}}},
    {18, "huggingface/transformers#39408", &window,
     "name = \"window_off_by_one\"; strength = -1;", NULL, "window",
     .shown = {{HEADS, "1 1.5 3 6", "1 2 4 8"}}},
    {19, "vllm-project/vllm#3385", &window, .shown = {{HEADS, "1 1.5 3 6"}}},
    {19, "vllm-project/vllm#3385", &window_of_3,
     .shown = {{HEADS, "1 1.5 2.333333 4.666667"}}},
    {20, "huggingface/transformers#31775", &alternating,
     "name = \"window_layers_swapped\";", NULL, "window",
     .shown = {{WEIGHTS "[0,0,5,*]", "0 0 0 0 0.5 0.5",
                "0.166667 0.166667 0.166667 0.166667 0.166667 0.166667"},
               {"layers.1.attn.weights[0,0,5,*]",
                "0.166667 0.166667 0.166667 0.166667 0.166667 0.166667",
                "0 0 0 0 0.5 0.5"}}},
    {21, "huggingface/transformers#26572", &left_padded, NULL, other_pad_rows,
     .shown = {{HEADS "[1,0,*,*]", "4 4 4 6", "1000 1000 4 6"}}},
    {113, "huggingface/transformers#46773", &drawn, NULL, padding_seen_alone,
     "padding_invariance", .shown = {{"input.valid", "1 1 1 1 1 1"}}},
    {113, "huggingface/transformers#46773", &left_padded, NULL, padding_seen_alone,
     "batch_invariance",
     .shown = {{HEADS "[1,0,2,*]", "4", "4"}, {HEADS "[1,0,3,*]", "6", "6"}}},
};

#define LIST(X)                                                                        \
    X(b01_the_causal_mask_is_lost_where_weights_are_asked_for)                         \
    X(b02_a_causal_flag_without_a_mask_is_ignored)                                     \
    X(b03_decoders_lose_their_causal_mask)                                             \
    X(b04_means_of_blocks_leak_outside_the_softmax)                                    \
    X(b05_the_diagonal_is_masked_too)                                                  \
    X(b06_an_offset_of_one_leaves_the_diagonal_open_and_is_right)                      \
    X(b09_true_means_drop_to_one_and_keep_to_the_other)                                \
    X(b10_a_mask_is_added_as_a_number)                                                 \
    X(b11_the_mask_comes_after_the_softmax)                                            \
    X(b12_a_mask_after_the_softmax_with_new_sums_is_equal)                             \
    X(b13_padding_is_left_out_of_the_loss_but_not_of_attention)                        \
    X(b14_masks_are_tiled_over_batch_and_heads)                                        \
    X(b15_a_mask_of_padding_lies_along_the_queries)                                    \
    X(b16_packed_texts_see_each_other)                                                 \
    X(b17_new_positions_do_not_keep_packed_texts_apart)                                \
    X(b18_a_window_is_one_key_too_wide)                                                \
    X(b19_two_conventions_of_a_window)                                                 \
    X(b20_layers_with_a_window_have_changed_places)                                    \
    X(b21_rows_of_padding_differ)                                                      \
    X(b113_padding_is_seen_where_a_row_is_alone)

BUGS_MAIN(LIST, "bugs_masks.txt")
