/* SPDX-License-Identifier: MIT
 *
 * What each fault does to the values, from its own sentence: against what follows from
 * the healthy values, or against a healthy model of another configuration.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planted.h"
#include "suite.h"

enum { B = PLANTED_BATCH, T = PLANTED_LENGTH, H = 4, D = 24, E = D / H };

/* The faulty run has the numbers of a healthy one with other keys in `model`. */
static void expect_same_as(const char *faults, const char *keys)
{
    char cfg[512];
    planted p;

    planted_run(&p, PLANTED_MODEL("cross = true;"), faults);
    observe_finish(&p.healthy);
    snprintf(cfg, sizeof cfg,
             "model : { preset = \"gpt2\"; vocab = 17; d_model = 24; n_heads = 4; "
             "n_layers = 3; d_ff = 40; max_seq_len = 32; cross = true; %s };",
             keys);
    OK(observe_cfg(&p.healthy, cfg, "ref64"));
    planted_inputs(&p.healthy);
    OK(observe_pass(&p.healthy));
    ck_assert_uint_eq(p.healthy.sites, p.faulty.sites);
    ck_assert_uint_eq(planted_differences_below(&p, ""), 0);
    planted_finish(&p);
}

START_TEST(faults_of_the_configuration_are_models_of_that_configuration)
{
    expect_same_as("{ name = \"post_ln\"; }",
                   "norm_placement = \"post\"; final_norm = true;");
    expect_same_as("{ name = \"norm_eps_tiny\"; layers = 1; }",
                   "layers = ( { range = \"1\"; norm_eps = 1e-12; } );");
    expect_same_as("{ name = \"norm_eps_huge\"; strength = 0.5; }", "norm_eps = 0.5;");
    expect_same_as("{ name = \"mask_fill_finite\"; layers = 2; }",
                   "layers = ( { range = \"2\"; fill = -1e9; } );");
    expect_same_as("{ name = \"mask_fill_too_weak\"; layers = 0; strength = -3; }",
                   "layers = ( { range = \"0\"; fill = -3.0; } );");
}
END_TEST

START_TEST(a_weak_fill_leaves_hidden_keys_their_weight)
{
    const double *weights;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"mask_fill_too_weak\"; }");
    weights = planted_site(&p.faulty, "layers.0.attn.weights")->values;
    ck_assert_double_gt(weights[T - 1], 0); /* query 0, the last key */
    ck_assert_double_lt(weights[T - 1], 1e-3);
    planted_finish(&p);
}
END_TEST

/* Of batch row 2, of which the memory has nothing real. */
START_TEST(a_finite_fill_makes_an_empty_row_uniform_and_no_other)
{
    const size_t dims[4] = {B, H, T, PLANTED_MEMORY};
    const char *const site = "layers.0.cross.weights";
    const double *weights[2];
    planted p;

    planted_run(&p, PLANTED_MODEL("cross = true;"), "{ name = \"mask_fill_finite\"; }");
    weights[0] = planted_site(&p.healthy, site)->values;
    weights[1] = planted_site(&p.faulty, site)->values;
    for (size_t i = 2 * H * T * PLANTED_MEMORY; i < B * H * T * PLANTED_MEMORY; i++) {
        if (weights[0][i] != 0 ||
            !txd_close(weights[1][i], 1.0 / PLANTED_MEMORY, 1e-15))
            ck_abort_msg("element %zu: %g, %g", i, weights[0][i], weights[1][i]);
    }
    ck_assert_uint_eq(planted_differences_along(&p, site, dims, 0, 2, false), 0);
    ck_assert_uint_eq(planted_differences(&p, "layers.0.attn.weights"), 0);
    planted_finish(&p);
}
END_TEST

/* Of norm1.out at layer 1, per lane over the real and the padded tokens of a row. */
START_TEST(norms_over_tokens_centre_each_lane_of_each_sequence)
{
    const double *out;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"norm_axis_tokens\"; layers = 1; }");
    out = planted_site(&p.faulty, "layers.1.norm1.out")->values;
    for (size_t b = 0; b < B; b++)
        for (size_t d = 0; d < D; d++) {
            double sum = 0, squares = 0;

            for (size_t t = 0; t < T; t++) {
                sum += out[(b * T + t) * D + d];
                squares += pow(out[(b * T + t) * D + d], 2);
            }
            ck_assert(txd_close(sum, 0, 1e-10));
            ck_assert_double_gt(squares, 0.5 * T); /* 1 but for eps */
            ck_assert_double_lt(squares, T);
        }
    planted_finish(&p);
}
END_TEST

/* Storage of (b, t, h, e), healthy values being (b, h, t, e). */
static double projected(const double *split, size_t b, size_t flat)
{
    size_t t = flat / D, h = flat % D / E, e = flat % E;

    return split[((b * H + h) * T + t) * E + e];
}

START_TEST(a_split_without_transpose_keeps_memory_as_it_is)
{
    static const char *const names[] = {"layers.1.attn.q_proj", "layers.1.attn.k_proj",
                                        "layers.1.attn.v"};
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"head_split_view\"; layers = 1; }");
    for (int i = 0; i < 3; i++) {
        const double *right = planted_site(&p.healthy, names[i])->values;
        const double *wrong = planted_site(&p.faulty, names[i])->values;

        for (size_t b = 0; b < B; b++)
            for (size_t flat = 0; flat < (size_t)T * D; flat++)
                ck_assert_double_eq(wrong[b * T * D + flat], projected(right, b, flat));
    }
    planted_finish(&p);
}
END_TEST

START_TEST(a_merge_without_transpose_keeps_memory_as_it_is)
{
    const struct observed_site *heads, *merged;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"head_merge_view\"; layers = 1; }");
    heads = planted_site(&p.faulty, "layers.1.attn.heads");
    merged = planted_site(&p.faulty, "layers.1.attn.merged");
    ck_assert_mem_eq(heads->values, merged->values, heads->count * sizeof(double));
    ck_assert_uint_eq(planted_differences(&p, "layers.1.attn.heads"), 0);
    ck_assert_uint_gt(planted_differences(&p, "layers.1.attn.merged"), 0);
    planted_finish(&p);
}
END_TEST

/* The right merged value is the memory; the wrong one is what a transpose makes of it.
 */
START_TEST(ignored_strides_transpose_what_is_transposed_already)
{
    const double *right, *wrong;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"strides_ignored\"; layers = 1; }");
    right = planted_site(&p.healthy, "layers.1.attn.merged")->values;
    wrong = planted_site(&p.faulty, "layers.1.attn.merged")->values;
    for (size_t b = 0; b < B; b++)
        for (size_t t = 0; t < T; t++)
            for (size_t h = 0; h < H; h++)
                for (size_t f = 0; f < E; f++)
                    ck_assert_double_eq(wrong[b * T * D + (t * H + h) * E + f],
                                        right[b * T * D + (h * T + t) * E + f]);
    planted_finish(&p);
}
END_TEST

START_TEST(one_projection_gives_keys_and_values_the_queries_of_their_group)
{
    static const char *const layouts[] = {
        PLANTED_MODEL("n_kv_heads = 2; positions = \"rotary\"; qkv = "
                      "\"separate\";") "weights : { init = ( { params = "
                                       "\"*\"; scheme = \"normal\"; }, "
                                       "{ params = \"*.bias\"; scheme = "
                                       "\"normal\"; } ); };",
        PLANTED_MODEL("n_kv_heads = 2;") "weights : { init = ( { params = "
                                         "\"*\"; scheme = \"normal\"; }, "
                                         "{ params = \"*.bias\"; scheme = "
                                         "\"normal\"; } ); };"};
    const size_t head = (size_t)T * E;

    for (int layout = 0; layout < 2; layout++) {
        const double *q, *k, *v;
        planted p;

        planted_run(&p, layouts[layout], "{ name = \"shared_qkv\"; layers = 2; }");
        q = planted_site(&p.faulty, "layers.2.attn.q_proj")->values;
        k = planted_site(&p.faulty, "layers.2.attn.k_proj")->values;
        v = planted_site(&p.faulty, "layers.2.attn.v")->values;
        for (size_t b = 0; b < B; b++)
            for (size_t g = 0; g < 2; g++) {
                const double *own = q + (b * H + 2 * g) * head;

                ck_assert_mem_eq(k + (b * 2 + g) * head, own, head * sizeof *k);
                ck_assert_mem_eq(v + (b * 2 + g) * head, own, head * sizeof *v);
            }
        ck_assert_uint_eq(planted_differences(&p, "layers.2.attn.q_proj"), 0);
        planted_finish(&p);
    }
}
END_TEST

START_TEST(identical_heads_draw_one_picture_with_values_of_their_own)
{
    const double *weights;
    planted p;

    planted_run(&p, PLANTED_MODEL("n_kv_heads = 2;"),
                "{ name = \"heads_identical\"; layers = 1; }");
    weights = planted_site(&p.faulty, "layers.1.attn.weights")->values;
    for (size_t i = 0; i < (size_t)B * H * T * T; i++) {
        size_t first = i / (H * T * T) * H * T * T + i % (T * T);

        ck_assert_double_eq(weights[i], weights[first]);
    }
    ck_assert_uint_eq(planted_differences(&p, "layers.1.attn.v"), 0);
    planted_finish(&p);
}
END_TEST

START_TEST(a_large_init_multiplies_the_four_matrices_of_attention)
{
    static const struct {
        const char *name;
        double factor;
    } params[] = {
        {"layers.1.attn.qkv.weight", 8},        {"layers.1.attn.o.weight", 8},
        {"layers.1.attn.qkv.bias", 1},          {"layers.1.mlp.up.weight", 1},
        {"layers.0.attn.qkv.weight", 8},        {"embed.tok.weight", 1},
        {"layers.2.attn.o.weight", 8},          {"layers.1.cross.q.weight", 1},
        {"encoder.layers.0.attn.qkv.weight", 1}};
    planted p;

    planted_run(&p, PLANTED_MODEL("cross = true; encoder_layers = 1;"),
                "{ name = \"init_too_large\"; strength = 8; }");
    for (size_t i = 0; i < sizeof params / sizeof *params; i++) {
        const txd_param *right = txd_params_find(p.healthy.params, params[i].name);
        const txd_param *wrong = txd_params_find(p.faulty.params, params[i].name);

        for (size_t e = 0; e < txd_tensor_count(&right->value); e++)
            ck_assert_double_eq(txd_tensor_get(&wrong->value, e),
                                params[i].factor * txd_tensor_get(&right->value, e));
    }
    planted_finish(&p);
}
END_TEST

START_TEST(causal_cross_attention_sees_as_many_rows_as_tokens)
{
    const double *weights;
    planted p;

    planted_run(&p, PLANTED_MODEL("cross = true;"), "{ name = \"cross_causal\"; }");
    weights = planted_site(&p.faulty, "layers.0.cross.weights")->values;
    for (size_t q = 0; q < T; q++)
        for (size_t k = 0; k < PLANTED_MEMORY; k++)
            ck_assert_int_eq(weights[q * PLANTED_MEMORY + k] > 0, k <= q);
    ck_assert_uint_eq(planted_differences_below(&p, "layers.0.attn."), 0);
    planted_finish(&p);
}
END_TEST

/* Which keys have weight is counted from the first query, not from the tile's. */
START_TEST(in_later_tiles_masks_are_wrong_in_the_same_way)
{
    static const struct {
        const char *use, *site;
        size_t beyond; /* query q gives weight to keys 0 to q + this */
    } cases[] = {
        {"{ name = \"cross_causal\"; }", "layers.0.cross.weights", 0},
        {"{ name = \"mask_off_by_one\"; }", "layers.0.attn.weights", 1},
        {"{ name = \"mask_after_softmax\"; }", "layers.0.attn.weights", 0},
        {"{ name = \"mask_missing\"; }", "layers.0.attn.weights", PLANTED_LONG}};
    enum { N = PLANTED_LONG - 1 }; /* without padding */

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double *weights;
        planted p;

        planted_run_long(&p, cases[i].use);
        weights = planted_site(&p.faulty, cases[i].site)->values;
        for (size_t q = 0; q < N; q++)
            for (size_t k = 0; k < N; k++)
                if ((weights[q * PLANTED_LONG + k] > 0) != (k <= q + cases[i].beyond))
                    ck_abort_msg("%s: query %zu, key %zu", cases[i].use, q, k);
        planted_finish(&p);
    }
}
END_TEST

START_TEST(padding_of_the_memory_that_is_ignored_gets_weight)
{
    const double *weights[2];
    planted p;

    planted_run(&p, PLANTED_MODEL("cross = true;"),
                "{ name = \"memory_padding_ignored\"; }");
    weights[0] = planted_site(&p.healthy, "layers.0.cross.weights")->values;
    weights[1] = planted_site(&p.faulty, "layers.0.cross.weights")->values;
    for (size_t b = 0; b < PLANTED_BATCH; b++)
        for (size_t q = 0; q < T; q++)
            for (size_t k = 0; k < PLANTED_MEMORY; k++) {
                size_t cell = (b * 4 * T + q) * PLANTED_MEMORY + k;
                bool real = p.faulty.inputs.memory_valid[b * PLANTED_MEMORY + k];

                ck_assert_int_eq(weights[0][cell] > 0, real);
                ck_assert(weights[1][cell] > 0);
            }
    ck_assert_uint_eq(planted_differences_below(&p, "layers.0.attn."), 0);
    planted_finish(&p);
}
END_TEST

START_TEST(the_loss_compares_with_the_token_after_next)
{
    const double *losses, *logits;
    planted p;

    planted_run(&p, PLANTED_MODEL(""), "{ name = \"labels_shifted_twice\"; }");
    losses = planted_site(&p.faulty, "loss.token")->values;
    logits = planted_site(&p.healthy, "logits")->values;
    for (size_t t = 0; t < T; t++) {
        double sum = 0, expected = NAN;

        for (size_t v = 0; v < 17; v++)
            sum += exp(logits[t * 17 + v]);
        if (t + 2 < T)
            expected =
                log(sum) - logits[t * 17 + (size_t)p.faulty.inputs.tokens[t + 2]];
        ck_assert_int_eq(isnan(losses[t]), isnan(expected));
        ck_assert(isnan(expected) || txd_close(losses[t], expected, 1e-12));
    }
    planted_finish(&p);
}
END_TEST

TEST_MAIN(faults_of_the_configuration_are_models_of_that_configuration,
          a_weak_fill_leaves_hidden_keys_their_weight,
          a_finite_fill_makes_an_empty_row_uniform_and_no_other,
          norms_over_tokens_centre_each_lane_of_each_sequence,
          a_split_without_transpose_keeps_memory_as_it_is,
          a_merge_without_transpose_keeps_memory_as_it_is,
          ignored_strides_transpose_what_is_transposed_already,
          one_projection_gives_keys_and_values_the_queries_of_their_group,
          identical_heads_draw_one_picture_with_values_of_their_own,
          a_large_init_multiplies_the_four_matrices_of_attention,
          causal_cross_attention_sees_as_many_rows_as_tokens,
          in_later_tiles_masks_are_wrong_in_the_same_way,
          padding_of_the_memory_that_is_ignored_gets_weight,
          the_loss_compares_with_the_token_after_next)
