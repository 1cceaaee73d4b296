/* SPDX-License-Identifier: MIT
 *
 * Bugs of sequences that come in pieces, and of their cache. Values are of the last
 * piece.
 */
#include "bug.h"

#include "faults/wrap.h"

#define HEADS "layers.0.attn.heads"
#define WEIGHTS "layers.0.attn.weights"

/* One head, scores of 0, values 1, 2, 4, 8; tokens are unit vectors, which the norm
 * leaves as they are. */
#define UNIFORM(chunk)                                                                 \
    {                                                                                  \
        "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = " \
        "4; d_model = 4; n_heads = 1; n_layers = 1; head_dim = 4; value_dim = 1; "     \
        "d_ff "                                                                        \
        "= 8; }; input : { tokens = [0, 1, 2, 3]; };",                                 \
            {{"embed.tok.weight", "diagonal=1"},                                       \
             {"layers.0.norm1.weight", "all=0.5"},                                     \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8"}},                                   \
            true, chunk                                                                \
    }
static const toy halves = UNIFORM(2);
static const toy last_alone = UNIFORM(3);

/* A query and keys [1, 1, 0, 0], whose pairs turn by 1 and 0.01 per position; the
 * second row begins with two tokens of padding. */
static const toy left_padded = {
    "model : { preset = \"llama\"; norm_eps = 0.0; vocab = 4; d_model = 4; n_heads = "
    "1; "
    "n_layers = 1; d_ff = 8; score_scale = 1.0; }; input : { tokens = ([0, 0, 0, 1], "
    "[0, "
    "1]); pad = \"left\"; pad_id = 2; };",
    {{"embed.tok.weight", "diagonal=1"},
     {"layers.0.norm1.weight", "all=0.5"},
     {"layers.0.attn.q.weight", "0,1=1 1,1=1 2,0=1 3,2=1"},
     {"layers.0.attn.k.weight", "0,0=1 1,0=1 0,1=1 1,1=1 2,2=1"}},
    false,
    3};

static const toy seventh = {
    "model : { preset = \"llama\"; norm_eps = 0.0; vocab = 4; d_model = 4; n_heads = "
    "1; "
    "n_layers = 1; d_ff = 8; score_scale = 1.0; }; input : { tokens = [0, 2, 2, 2, 2, "
    "0, "
    "1]; };",
    {{"embed.tok.weight", "diagonal=1"},
     {"layers.0.norm1.weight", "all=0.5"},
     {"layers.0.attn.q.weight", "0,1=1 1,1=1 2,0=1 3,2=1"},
     {"layers.0.attn.k.weight", "0,0=1 1,0=1 0,1=1 1,1=1 2,2=1"}},
    false,
    6};

static const toy rounded = {
    "model : { preset = \"llama\"; n_kv_heads = 1; vocab = 9; d_model = 8; n_heads = "
    "2; "
    "n_layers = 2; d_ff = 8; }; input : { tokens = [5, 6, 7, 8, 3, 1, 2]; };",
    {{0}},
    false,
    3};

/* ---- what is planted here ---- */

/* One position for the new tokens of all rows: that of the row without padding. */
static void of_the_longest(txd_block *block)
{
    size_t length = block->dims[1];

    for (size_t i = length; block->pass->inputs->past > 0 && i < 2 * length; i++)
        bug_set(block, i, bug_get(block, i - length));
}

static txd_status one_position_for_all(txd_plan *plan)
{
    return bug_edit(plan, TXD_POINT_INPUT_POSITIONS, -1, of_the_longest);
}

/* The second slot of the cache was never written. */
static txd_status without_slot_1(txd_ctx *ctx, const struct txd_mix_args *args)
{
    const txd_op_site *at = &args->at;

    TXD_TRY(txd_below_mix(ctx, args));
    for (size_t i = 0; args->keys > args->rows && i < args->rows * args->width; i++) {
        size_t row = i / args->width, lane = i % args->width;
        double lost = txd_wrap_get(at, args->weights, row * args->stride + 1) *
                      txd_wrap_get(at, args->v, args->width + lane);

        txd_wrap_set(at, args->out, i, txd_wrap_get(at, args->out, i) - lost);
    }
    return TXD_OK;
}

static txd_status slot_of_zeros(txd_plan *plan)
{
    static const struct txd_ops mine = {.mix = without_slot_1};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

static const bug rows[] = {
    {7, "pytorch/pytorch#108108", &halves, "name = \"mask_top_left\";", NULL,
     "causal_alignment", "top left", .shown = {{HEADS, "2.333333 3.75", "1 1.5"}}},
    {8, "onnx/onnx#8068", &halves, "name = \"mask_top_left\";", NULL, "chunked_prefill",
     .shown = {{WEIGHTS "[0,0,0,*]", "0.333333 0.333333 0.333333 0", "1 0 0 0"}}},
    {70, "unslothai/unsloth#3795", &left_padded, NULL, one_position_for_all,
     "rotation_angle",
     .shown = {{"layers.0.attn.scores[1,0,0,2]", "1.540252", "0.009558"}}},
    {74, "skyzh/tiny-llm#46", &seventh, "name = \"cache_position_twice\";", NULL,
     "prefill_decode",
     .shown = {{"layers.0.attn.scores[0,0,0,5]", "1.540252", "1.751453"}}},
    {76, "tenstorrent/tt-metal#54413", &last_alone, NULL, slot_of_zeros,
     "prefill_decode", .shown = {{HEADS, "3.75", "3.25"}}},
    {76, "tenstorrent/tt-metal#54413", &last_alone, "name = \"cache_hole\";", NULL,
     "causal_alignment", .shown = {{HEADS, "3.75", "3.666667"}}},
    {77, "sgl-project/sgl-flash-attn#49", &rounded, .backend = "bf16"},
    {75, "onnxruntime/mobius#365", &last_alone, "name = \"cache_newest_hidden\";", NULL,
     "causal_alignment", .shown = {{HEADS, "3.75", "2.333333"}}},
};

#define LIST(X)                                                                        \
    X(b07_fewer_queries_than_keys_see_the_oldest)                                      \
    X(b08_a_chunk_sees_itself_alone)                                                   \
    X(b70_rows_of_a_batch_share_a_position)                                            \
    X(b74_the_prompt_is_counted_twice)                                                 \
    X(b76_a_slot_of_the_cache_is_never_written)                                        \
    X(b77_prefill_and_decode_round_otherwise)                                          \
    X(b75_the_length_of_the_cache_is_that_before_the_call)

BUGS_MAIN(LIST, "bugs_cache.txt")
