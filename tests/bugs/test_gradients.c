/* SPDX-License-Identifier: MIT
 *
 * Bugs of the way back, where the way forth is right.
 */
#include "bug.h"

#include "faults/wrap.h"

#define V_GRADIENT "layers.0.attn.v@grad"

/* Attention adds [1, 0] to the stream [1, 2], whose norm is [1, 0.5]; both logits of
 * the sum are 0, so that its gradient is [1, -1] at the first token. Those of two
 * values, of heads or of lanes, are 1 and 3. */
#define ONE_AND_THREE(sizes, values)                                                   \
    {                                                                                  \
        "model : { preset = \"llama\"; positions = \"none\"; final_norm = false; "     \
        "norm_eps = 0.0; vocab = 2; d_model = 2; n_layers = 1; d_ff = 2; head_dim = "  \
        "2; " sizes                                                                    \
        " }; input : { tokens = [0, 0]; }; record : ( { probe = \"grad_norm\"; } );",  \
            {{"embed.tok.weight", "1 2 2 1"},                                          \
             {"layers.0.norm1.weight", "1.5811388 0.39528471"},                        \
             {"layers.0.attn.v.weight", values},                                       \
             {"layers.0.attn.o.weight", "1 3 0 0"},                                    \
             {"layers.0.mlp.down.weight", "all=0"},                                    \
             {"head.weight", "-1 1 1 -1"}},                                            \
            true, 0                                                                    \
    }
static const toy group_of_2 =
    ONE_AND_THREE("n_heads = 2; n_kv_heads = 1; value_dim = 1;", "0.25 0");
static const toy two_lanes =
    ONE_AND_THREE("n_heads = 1; value_dim = 2;", "0.4 0 0.2 0");

static const toy batch = {
    "model : { preset = \"gpt2\"; vocab = 9; d_model = 8; n_heads = 2; n_layers = 1; "
    "d_ff = 8; max_seq_len = 8; }; weights : { init = ( { params = \"*\"; scheme = "
    "\"xavier_normal\"; } ); }; input : { tokens = ([5, 6, 7, 8], [1, 2, 3]); };",
    {{0}},
    false,
    0};

/* ---- what is planted here ---- */

/* The gradient of values has its columns in another order. */
static txd_status columns_swapped(txd_ctx *ctx, const struct txd_mix_back_args *args)
{
    const txd_op_site *at = &args->at;

    TXD_TRY(txd_below_mix_back(ctx, args));
    for (size_t i = 0; i + 1 < args->keys * args->width; i += 2) {
        double first = txd_wrap_get(at, args->d_v, i);

        txd_wrap_set(at, args->d_v, i, txd_wrap_get(at, args->d_v, i + 1));
        txd_wrap_set(at, args->d_v, i + 1, first);
    }
    return TXD_OK;
}

static txd_status value_columns(txd_plan *plan)
{
    static const struct txd_ops mine = {.mix_back = columns_swapped};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* The gradient of queries of all but the first batch row is five times too large. */
static txd_status times_5(txd_ctx *ctx, const struct txd_scores_back_args *args)
{
    TXD_TRY(txd_below_scores_back(ctx, args));
    for (size_t i = 0; args->at.batch > 0 && i < args->rows * args->width; i++)
        txd_wrap_set(&args->at, args->d_q, i,
                     5 * txd_wrap_get(&args->at, args->d_q, i));
    return TXD_OK;
}

static txd_status queries_times_5(txd_plan *plan)
{
    static const struct txd_ops mine = {.scores_back = times_5};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

static const bug rows[] = {
    {100, "marin-community/levanter#449", &group_of_2,
     "name = \"kv_gradient_not_summed\";", NULL, "gradcheck",
     .shown = {{V_GRADIENT "[0,0,*,0]", "4 0", "1 0"}}},
    {101, "NVIDIA/TransformerEngine#3216", &batch, NULL, queries_times_5,
     .law = "gradcheck"},
    {188, "Dao-AILab/flash-attention#2552", &two_lanes, NULL, value_columns,
     "gradcheck", .shown = {{V_GRADIENT "[0,0,0,*]", "1 3", "3 1"}}},
};

#define LIST(X)                                                                        \
    X(b100_gradients_of_a_group_are_not_summed)                                        \
    X(b101_gradients_of_queries_are_too_large)                                         \
    X(b188_columns_of_the_gradient_of_values_are_misplaced)

BUGS_MAIN(LIST, "bugs_gradients.txt")
