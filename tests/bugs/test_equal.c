/* SPDX-License-Identifier: MIT
 *
 * Two ways to say one thing: values are the same, and nothing speaks. The numbers are
 * those of a list of eleven such equivalences.
 */
#include "bug.h"

#include <float.h>
#include <math.h>

#include "faults/wrap.h"

#define HEADS "layers.0.attn.heads"
#define SCORES "layers.0.attn.scores"
#define WEIGHTS "layers.0.attn.weights"

#define MODEL(positions, more)                                                         \
    "model : { preset = \"llama\"; positions = \"" positions "\"; norm_eps = 0.0; "    \
    "vocab = 4; d_model = 4; n_heads = 1; n_layers = 1; d_ff = 8; " more " }; "
#define UNITS                                                                          \
    {"embed.tok.weight", "diagonal=1"},                                                \
    {                                                                                  \
        "layers.0.norm1.weight", "all=0.5"                                             \
    }

/* The second token's query is 8 in one lane of 64, the first one's key 1. */
#define DOT(more, query, key)                                                          \
    {                                                                                  \
        MODEL("none", "head_dim = 64; value_dim = 1; " more)                           \
        "input : { tokens = [0, 1]; };",                                               \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "0,1=" query},                                 \
             {"layers.0.attn.k.weight", "0,0=" key}},                                  \
            false, 0                                                                   \
    }
static const toy scaled_scores = DOT("", "8", "1");
static const toy scaled_query = DOT("score_scale = 1.0;", "1", "1");
static const toy scaled_key = DOT("score_scale = 1.0;", "8", "0.125");

/* The last of four tokens has a query, the others the same key. */
#define TURNING(pairing, query, key)                                                   \
    {                                                                                  \
        MODEL("rotary", "head_dim = 4; value_dim = 1; score_scale = 1.0; "             \
                        "rope_pairing = \"" pairing "\";")                             \
        "input : { tokens = [0, 0, 0, 1]; };",                                         \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", query},                                        \
             {"layers.0.attn.k.weight", key}},                                         \
            false, 0                                                                   \
    }
static const toy halves =
    TURNING("half", "0,1=1 1,1=1 2,0=1 3,2=1", "0,0=1 1,0=1 2,1=1 2,2=1");
static const toy neighbours =
    TURNING("adjacent", "0,1=1 2,1=1 1,0=1 3,2=1", "0,0=1 2,0=1 1,1=1 1,2=1");
static const toy forwards = TURNING("half", "0,1=1 3,2=1", "2,0=1 1,1=1 2,2=1");
static const toy backwards = TURNING("half", "2,1=1 1,2=1", "0,0=1 3,1=1 0,2=1");

/* Scores of 0, values 1, 2, 4, 8. */
#define UNIFORM(more, mask, sink)                                                      \
    {                                                                                  \
        MODEL("none", "head_dim = 4; value_dim = 1; " more)                            \
        "input : { tokens = [0, 1, 2, 3]; }; mask : { " mask " };",                    \
            {UNITS,                                                                    \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8"},                                    \
             sink},                                                                    \
            true, 0                                                                    \
    }
#define NO_SINK                                                                        \
    {                                                                                  \
        NULL, NULL                                                                     \
    }
#define SINK                                                                           \
    {                                                                                  \
        "layers.0.attn.sink.weight", "0"                                               \
    }
static const toy infinite = UNIFORM("", "", NO_SINK);
static const toy lowest = UNIFORM("", "fill = -1e30;", NO_SINK);
static const toy window_of_2 = UNIFORM("", "window = 2;", NO_SINK);
static const toy window_of_3 = UNIFORM("", "window = 3;", NO_SINK);
static const toy sink = UNIFORM("sinks = true;", "", SINK);

#define DRAWN(preset, more, input)                                                     \
    {                                                                                  \
        "model : { preset = \"" preset "\"; vocab = 9; d_model = 8; n_heads = 2; "     \
        "n_layers = 2; d_ff = 8; max_seq_len = 8; " more                               \
        " }; input : { tokens = " input "; };",                                        \
            {{0}}, false, 0                                                            \
    }
static const toy pre_norm = DRAWN("gpt2", "", "[5, 6, 7, 8, 3]");
static const toy post_norm =
    DRAWN("gpt2", "norm_placement = \"post\";", "[5, 6, 7, 8, 3]");
static const toy alone = DRAWN("llama", "n_kv_heads = 1;", "[5, 6, 7, 8, 3]");
static const toy batch =
    DRAWN("llama", "n_kv_heads = 1;", "([5, 6, 7, 8, 3], [1, 2, 3], [4, 4, 4, 4])");

/* ---- what is planted here ---- */

/* The products of a linear map, summed from the other end. */
static txd_status from_the_end(txd_ctx *ctx, const struct txd_linear_args *a)
{
    const txd_op_site *at = &a->at;

    (void)ctx;
    for (size_t i = 0; i < a->rows * a->n; i++) {
        size_t row = i / a->n, column = i % a->n;
        float sum = a->bias ? (float)txd_wrap_get(at, a->bias, column) : 0;

        for (size_t k = a->k; k-- > 0;)
            sum += (float)txd_wrap_get(at, a->x, row * a->k + k) *
                   (float)txd_wrap_get(at, a->weight, column * a->k + k);
        txd_wrap_set(at, a->out, i, txd_wrap_round((double)sum, TXD_BF16));
    }
    return TXD_OK;
}

static txd_status another_order(txd_plan *plan)
{
    static const struct txd_ops mine = {.linear = from_the_end};

    return txd_plan_wrap(plan, &bug_everywhere, &mine, NULL);
}

/* Hidden scores as somebody else's mask leaves them, whatever the claim says. */
struct hidden_as {
    double fill;
    bool added; /* to the score */
};

static txd_status other_fill(txd_ctx *ctx, const struct txd_mask_args *args)
{
    const txd_op_site *at = &args->at;
    const struct hidden_as *as = txd_wrap_of(at)->more;

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys; j++) {
            size_t i = r * args->stride + j;
            bool seen = args->visible ? args->visible[i] != 0 : j <= r;
            double score = txd_wrap_get(at, args->scores, i);

            txd_wrap_set(at, args->out, i,
                         seen ? score : (as->added ? score : 0) + as->fill);
        }
    return TXD_OK;
}

#define HIDDEN_AS(name, fill, added)                                                   \
    static txd_status name(txd_plan *plan)                                             \
    {                                                                                  \
        static const struct txd_ops mine = {.mask = other_fill};                       \
        static const struct hidden_as as = {fill, added};                              \
                                                                                       \
        return txd_plan_wrap(plan, &bug_everywhere, &mine, &as);                       \
    }
HIDDEN_AS(billion, -1e9, false)
HIDDEN_AS(lowest_float, -(double)FLT_MAX, false)
HIDDEN_AS(lowest_float_added, -(double)FLT_MAX, true)
HIDDEN_AS(lowest_half, -65504, false)
HIDDEN_AS(lowest_half_added, -65504, true)
HIDDEN_AS(minus_infinity, -INFINITY, false)

#define P0 "0.731059"
#define TURNED "0.009558 0.583653 1.540252"

static const bug rows[] = {
    {1, "scale", &scaled_scores, .shown = {{WEIGHTS "[0,0,1,0]", P0}}},
    {1, "scale", &scaled_query, .shown = {{WEIGHTS "[0,0,1,0]", P0}}},
    {1, "scale", &scaled_key, .shown = {{WEIGHTS "[0,0,1,0]", P0}}},
    {2, "mask after softmax", &infinite, NULL, bug_mask_then_renormalise,
     .shown = {{HEADS, "1 1.5 2.333333 3.75", "1 1.5 2.333333 3.75"}}},
    {3, "row order", &halves, .shown = {{SCORES "[0,0,3,*]", TURNED " 0"}}},
    {3, "row order", &neighbours, .shown = {{SCORES "[0,0,3,*]", TURNED " 0"}}},
    {4, "rotation", &forwards, .shown = {{SCORES "[0,0,3,2]", "0.841471"}}},
    {4, "rotation", &backwards, .shown = {{SCORES "[0,0,3,2]", "-0.841471"}}},
    {5, "fill", &infinite, .shown = {{HEADS, "1 1.5 2.333333 3.75"}}},
    {5, "fill", &lowest, .shown = {{HEADS, "1 1.5 2.333333 3.75"}}},
    {5, "fill", &infinite, NULL, billion,
     .shown = {{HEADS, "1 1.5 2.333333 3.75", "1 1.5 2.333333 3.75"}}},
    {5, "fill", &lowest, NULL, minus_infinity,
     .shown = {{HEADS, "1 1.5 2.333333 3.75", "1 1.5 2.333333 3.75"}}},
    {5, "fill", &alone, NULL, lowest_float, .law = NULL},
    {5, "fill", &alone, NULL, lowest_float_added, .law = NULL},
    {5, "fill", &alone, NULL, billion, .backend = "bf16"},
    {5, "fill", &alone, NULL, lowest_half, .backend = "fp16"},
    {5, "fill", &alone, NULL, lowest_half_added, .backend = "fp16"},
    {6, "padding", &batch, .law = NULL},
    {6, "padding", &batch, NULL, bug_zero_padding, .law = NULL},
    {7, "batch", &alone, .backend = "bf16"},
    {7, "batch", &batch, .backend = "bf16"},
    {7, "order of sums", &batch, NULL, another_order, .backend = "bf16"},
    {8, "window", &window_of_2, .shown = {{HEADS, "1 1.5 3 6"}}},
    {8, "window", &window_of_3, .shown = {{HEADS, "1 1.5 2.333333 4.666667"}}},
    {10, "placement", &pre_norm, .law = NULL},
    {10, "placement", &post_norm, .law = NULL},
    {11, "sink", &sink,
     .shown = {{"sums of " WEIGHTS, "0.5 0.666667 0.75 0.8"}, {HEADS, "0.5 1 1.75 3"}}},
};

#define LIST(X)                                                                        \
    X(e1_a_scale_on_queries_keys_or_scores_is_one)                                     \
    X(e2_a_mask_after_the_softmax_with_new_sums_is_equal)                              \
    X(e3_rows_in_another_order_with_another_pairing_are_equal)                         \
    X(e4_a_rotation_the_other_way_is_another_basis)                                    \
    X(e5_minus_infinity_and_the_least_number_are_equal)                                \
    X(e6_rows_of_padding_hold_anything)                                                \
    X(e7_roundings_and_batches_are_no_bugs)                                            \
    X(e8_a_window_is_what_the_configuration_says)                                      \
    X(e10_norms_stand_where_the_configuration_says)                                    \
    X(e11_a_sink_has_no_value)

BUGS_MAIN(LIST, "bugs_equal.txt")
