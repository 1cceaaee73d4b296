/* SPDX-License-Identifier: MIT
 *
 * Drawing parameters: the schemes' distributions, rules, and independence.
 */
#include <math.h>
#include <string.h>

#include "cfg_text.h"
#include "model/params.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 50; d_model = 96; n_heads = 6; n_layers = 2; max_seq_len = 9; "           \
    "d_ff = 200; n_kv_heads = 2;"
#define SEPARATE "model : { " SIZES " qkv = \"separate\"; bias = true; };"
#define FUSED "model : { " SIZES " qkv = \"fused\"; bias = true; };"

static txd_params *draw_as(const char *model, const char *rules, uint64_t seed,
                           txd_dtype dtype)
{
    txd_config config = cfg_text_config(model);
    txd_params *params = NULL;

    ck_assert_int_eq(txd_params_create(&params, &config, dtype), TXD_OK);
    ck_assert_msg(txd_params_init(params, &config, cfg_text_tree(rules), seed, 1) ==
                      TXD_OK,
                  "%s", txd_message());
    return params;
}

static txd_params *draw(const char *model, const char *rules)
{
    return draw_as(model, rules, 1, TXD_F64);
}

static void refused(const char *rules, const char *first, const char *second)
{
    txd_config config = cfg_text_config(SEPARATE);
    txd_params *params = NULL;

    ck_assert_int_eq(txd_params_create(&params, &config, TXD_F32), TXD_OK);
    ck_assert_int_eq(txd_params_init(params, &config, cfg_text_tree(rules), 1, 1),
                     TXD_ERR_CONFIG);
    ck_message_has("m.cfg:1");
    ck_message_has(first);
    ck_message_has(second);
    txd_params_destroy(params);
    cfg_text_finish();
}

static const txd_tensor *value_of(txd_params *params, const char *name)
{
    txd_param *param = txd_params_find(params, name);

    ck_assert_msg(param != NULL, "no %s", name);
    return &param->value;
}

struct moments {
    double mean, variance, largest;
    size_t count;
};

static struct moments moments_of(const txd_tensor *value)
{
    struct moments m = {.count = txd_tensor_count(value)};

    for (size_t i = 0; i < m.count; i++) {
        double x = txd_tensor_get(value, i);

        ck_assert(isfinite(x));
        m.mean += x / (double)m.count;
        m.variance += x * x / (double)m.count;
        m.largest = fabs(x) > m.largest ? fabs(x) : m.largest;
    }
    m.variance -= m.mean * m.mean;
    return m;
}

/* The variance of n draws scatters by sqrt((kurtosis - 1) / n) of itself: at most
 * sqrt(2 / n), for normal ones. Five of these never happen by chance. */
static void has_variance(const txd_tensor *value, double expected)
{
    struct moments m = moments_of(value);
    double n = (double)m.count;

    ck_assert_msg(fabs(m.variance / expected - 1) < 5 * sqrt(2 / n),
                  "variance %g, expected %g", m.variance, expected);
    ck_assert(fabs(m.mean) < 5 * sqrt(expected / n));
}

static void equal(const txd_tensor *a, size_t a_start, const txd_tensor *b,
                  size_t count)
{
    for (size_t i = 0; i < count; i++)
        ck_assert(txd_tensor_get(a, a_start + i) == txd_tensor_get(b, i));
}

START_TEST(without_rules_matrices_are_small_gains_one_and_biases_zero)
{
    txd_params *params = draw(SEPARATE, "");
    const txd_tensor *gain = value_of(params, "layers.1.norm1.weight");
    const txd_tensor *bias = value_of(params, "layers.1.mlp.up.bias");

    has_variance(value_of(params, "embed.tok.weight"), 0.02 * 0.02);
    has_variance(value_of(params, "layers.1.attn.o.weight"), 0.02 * 0.02);
    for (size_t i = 0; i < txd_tensor_count(gain); i++)
        ck_assert(txd_tensor_get(gain, i) == 1);
    for (size_t i = 0; i < txd_tensor_count(bias); i++)
        ck_assert(txd_tensor_get(bias, i) == 0);
    txd_params_destroy(params);
    cfg_text_finish();
}
END_TEST

START_TEST(both_xaviers_have_the_variance_of_their_definition)
{
    static const char *const rules[] = {
        "weights : { init = ( { params = \"*\"; scheme = \"xavier_uniform\"; "
        "gain = 0.5; } ); };",
        "weights : { init = ( { params = \"*\"; scheme = \"xavier_normal\"; "
        "gain = 0.5; } ); };"};

    for (int i = 0; i < 2; i++) {
        txd_params *params = draw(SEPARATE, rules[i]);

        has_variance(value_of(params, "layers.0.attn.q.weight"), 0.25 * 2 / (96 + 96));
        has_variance(value_of(params, "layers.0.attn.k.weight"), 0.25 * 2 / (96 + 32));
        has_variance(value_of(params, "layers.0.mlp.up.weight"), 0.25 * 2 / (96 + 200));
        has_variance(value_of(params, "layers.0.mlp.down.weight"),
                     0.25 * 2 / (96 + 200));
        txd_params_destroy(params);
    }
    cfg_text_finish();
}
END_TEST

START_TEST(a_uniform_scheme_stays_within_its_bound)
{
    txd_params *params =
        draw(SEPARATE, "weights : { init = ( { params = \"*.k.weight\"; scheme = "
                       "\"uniform\"; bound = 3; }, { params = \"*.q.weight\"; scheme = "
                       "\"xavier_uniform\"; } ); };");
    struct moments k = moments_of(value_of(params, "layers.0.attn.k.weight"));
    struct moments q = moments_of(value_of(params, "layers.0.attn.q.weight"));

    ck_assert(k.largest <= 3 && k.largest > 2.9);
    ck_assert(q.largest <= sqrt(6.0 / 192) && q.largest > 0.95 * sqrt(6.0 / 192));
    has_variance(value_of(params, "layers.0.attn.k.weight"), 3);
    txd_params_destroy(params);
    cfg_text_finish();
}
END_TEST

START_TEST(one_seed_gives_one_model_in_both_layouts)
{
    static const char rules[] = "weights : { init = ( { params = \"*\"; scheme = "
                                "\"xavier_normal\"; }, { params = \"*.bias\"; scheme = "
                                "\"normal\"; std = 0.1; } ); };";
    txd_params *fused = draw(FUSED, rules), *separate = draw(SEPARATE, rules);
    const txd_tensor *weight = value_of(fused, "layers.1.attn.qkv.weight");
    const txd_tensor *bias = value_of(fused, "layers.1.attn.qkv.bias");

    ck_assert_uint_eq(weight->dims[0], 160);
    equal(weight, 0, value_of(separate, "layers.1.attn.q.weight"), 96 * 96);
    equal(weight, 96 * 96, value_of(separate, "layers.1.attn.k.weight"), 32 * 96);
    equal(weight, 128 * 96, value_of(separate, "layers.1.attn.v.weight"), 32 * 96);
    equal(bias, 96, value_of(separate, "layers.1.attn.k.bias"), 32);
    ck_assert(moments_of(bias).variance > 0);
    txd_params_destroy(fused);
    txd_params_destroy(separate);
    cfg_text_finish();
}
END_TEST

START_TEST(a_rule_for_one_parameter_changes_no_other)
{
    txd_params *a = draw(SEPARATE, "");
    txd_params *b = draw(SEPARATE, "weights : { init = ( { params = "
                                   "\"layers.0.attn.o.weight\"; scheme = \"normal\"; "
                                   "std = 1; } ); };");

    ck_assert_uint_eq(txd_params_count(a), txd_params_count(b));
    for (size_t i = 0; i < txd_params_count(a); i++) {
        const txd_param *p = txd_params_at(a, i), *q = txd_params_at(b, i);
        size_t bytes = txd_tensor_count(&p->value) * sizeof(double);
        bool same = memcmp(p->value.data, q->value.data, bytes) == 0;

        ck_assert_int_eq(same, strcmp(p->name, "layers.0.attn.o.weight") != 0);
    }
    txd_params_destroy(a);
    txd_params_destroy(b);
    cfg_text_finish();
}
END_TEST

START_TEST(layers_names_and_seeds_draw_different_numbers)
{
    txd_params *a = draw(SEPARATE, ""), *b = draw_as(SEPARATE, "", 2, TXD_F64);
    const txd_tensor *k0 = value_of(a, "layers.0.attn.k.weight");

    ck_assert(txd_tensor_get(k0, 0) !=
              txd_tensor_get(value_of(a, "layers.1.attn.k.weight"), 0));
    ck_assert(txd_tensor_get(k0, 0) !=
              txd_tensor_get(value_of(a, "layers.0.attn.v.weight"), 0));
    ck_assert(txd_tensor_get(k0, 0) !=
              txd_tensor_get(value_of(b, "layers.0.attn.k.weight"), 0));
    txd_params_destroy(a);
    txd_params_destroy(b);
    cfg_text_finish();
}
END_TEST

START_TEST(float_parameters_are_the_rounded_double_ones)
{
    txd_params *wide = draw(SEPARATE, ""), *narrow = draw_as(SEPARATE, "", 1, TXD_F32);
    const txd_tensor *a = value_of(wide, "embed.tok.weight");
    const txd_tensor *b = value_of(narrow, "embed.tok.weight");

    ck_assert_int_eq(b->dtype, TXD_F32);
    for (size_t i = 0; i < txd_tensor_count(a); i++)
        ck_assert((float)txd_tensor_get(a, i) == (float)txd_tensor_get(b, i));
    txd_params_destroy(wide);
    txd_params_destroy(narrow);
    cfg_text_finish();
}
END_TEST

START_TEST(the_last_matching_rule_wins)
{
    txd_params *params =
        draw(SEPARATE,
             "weights : { init = ( { params = \"*.attn.*\"; scheme = \"constant\"; "
             "value = 1; }, { params = \"*.q.weight,*.k.weight\"; scheme = "
             "\"constant\"; value = 2; }, { params = \"layers.1.*.k.weight\"; "
             "scheme = \"constant\"; value = 3; } ); };");

    ck_assert(txd_tensor_get(value_of(params, "layers.1.attn.o.weight"), 5) == 1);
    ck_assert(txd_tensor_get(value_of(params, "layers.1.attn.o.bias"), 5) == 1);
    ck_assert(txd_tensor_get(value_of(params, "layers.1.attn.q.weight"), 5) == 2);
    ck_assert(txd_tensor_get(value_of(params, "layers.0.attn.k.weight"), 5) == 2);
    ck_assert(txd_tensor_get(value_of(params, "layers.1.attn.k.weight"), 5) == 3);
    txd_params_destroy(params);
    cfg_text_finish();
}
END_TEST

START_TEST(a_random_rule_for_all_leaves_the_norms_alone)
{
    txd_params *all = draw(SEPARATE, "weights : { init = ( { params = \"*\"; scheme = "
                                     "\"normal\"; std = 0.5; } ); };");
    txd_params *norms =
        draw(SEPARATE, "weights : { init = ( { params = \"*norm*\"; scheme = "
                       "\"normal\"; std = 0.5; } ); };");

    has_variance(value_of(all, "layers.0.mlp.up.weight"), 0.25);
    ck_assert(txd_tensor_get(value_of(all, "layers.0.norm1.weight"), 3) == 1);
    ck_assert(txd_tensor_get(value_of(all, "layers.0.mlp.up.bias"), 3) == 0);
    has_variance(value_of(norms, "layers.0.norm1.weight"), 0.25);
    txd_params_destroy(all);
    txd_params_destroy(norms);
    cfg_text_finish();
}
END_TEST

START_TEST(bad_rules_are_refused_by_place)
{
    refused("weights : { init = ( { params = \"*.wq\"; scheme = \"normal\"; } ); };",
            "weights.init.0",
            "matches no parameter of this model; these are embed.tok.weight");
    refused("weights : { init = ( { params = \"*\"; } ); };", "weights.init.0",
            "scheme is missing");
    refused("weights : { init = ( { scheme = \"normal\"; } ); };", "weights.init.0",
            "params is missing");
    refused("weights : { init = ( { params = \"*\"; scheme = \"normal\"; gain = 1.0; } "
            "); };",
            "weights.init.0.gain", "takes std");
    refused("weights : { init = ( { params = \"*\"; scheme = \"normal\"; std = -1.0; } "
            "); };",
            "weights.init.0.std", "-1");
    refused("weights : { init = ( { params = \"*.bias\"; scheme = \"xavier_normal\"; } "
            "); };",
            "weights.init.0", "Xavier needs matrices");
}
END_TEST

/* ---- what the rules promise ---- */

/* The mean and the deviation of every parameter are as promised, within five standard
 * errors; exactly, where nothing is random. */
static void keeps_promise(const txd_param *param, const txd_params_draw *promise)
{
    struct moments m = moments_of(&param->value);
    double std = sqrt(m.variance > 0 ? m.variance : 0);

    ck_assert_msg(fabs(m.mean - promise->mean) <= 5 * promise->mean_error + 1e-12,
                  "%s: mean %g, promised %g", param->name, m.mean, promise->mean);
    ck_assert_msg(fabs(std - promise->std) <= 5 * promise->std_error + 1e-6,
                  "%s: std %g, promised %g", param->name, std, promise->std);
}

/* Enough elements that several threads draw one matrix, and not all of its chunks are
 * whole; a fused matrix begins its parts within chunks. */
START_TEST(any_number_of_threads_draws_the_same_numbers)
{
    txd_config config = cfg_text_config(
        "model : { vocab = 700; d_model = 96; n_heads = 6; n_layers = 1;"
        " max_seq_len = 9; d_ff = 900; qkv = \"fused\"; };");
    txd_setting *rules = cfg_text_tree("weights : { init = ( { params = \"*mlp*\"; "
                                       "scheme = \"xavier_uniform\"; } ); };");
    txd_params *alone = NULL, *params = NULL;

    for (int threads = 1; threads < 4; threads++) {
        ck_assert_int_eq(txd_params_create(&params, &config, TXD_F32), TXD_OK);
        ck_assert_int_eq(txd_params_init(params, &config, rules, 5, threads), TXD_OK);
        alone = threads == 1 ? params : alone;
        for (size_t i = 0; i < txd_params_count(params); i++) {
            const txd_tensor *value = &txd_params_at(params, i)->value;

            ck_assert_mem_eq(value->data, txd_params_at(alone, i)->value.data,
                             txd_tensor_count(value) * sizeof(float));
        }
        if (threads > 1)
            txd_params_destroy(params);
    }
    txd_params_destroy(alone);
    cfg_text_finish();
}
END_TEST

START_TEST(what_is_drawn_keeps_what_the_rules_promise)
{
    const char *const models[] = {SEPARATE, FUSED};
    const char *const rules[] = {
        "",
        "weights : { init = ( { params = \"*\"; scheme = \"uniform\"; bound = 0.5; }, "
        "{ params = \"*.o.weight\"; scheme = \"xavier_normal\"; gain = 0.4; } ); };",
        "weights : { init = ( { params = \"*\"; scheme = \"xavier_uniform\"; }, "
        "{ params = \"*.bias\"; scheme = \"normal\"; std = 3.0; }, "
        "{ params = \"*norm1.weight\"; scheme = \"constant\"; value = 2.0; } ); };",
    };

    for (int m = 0; m < 2; m++)
        for (int r = 0; r < 3; r++) {
            txd_config config = cfg_text_config(models[m]);
            txd_params_draw promises[3 * TXD_PARAM_COUNT] = {{0}};
            txd_params *params = draw(models[m], rules[r]);
            const txd_setting *weights =
                txd_setting_find(cfg_text_tree(rules[r]), "weights");

            ck_assert_int_eq(txd_params_expect(promises, &config, weights), TXD_OK);
            for (size_t i = 0; i < txd_params_count(params); i++) {
                const txd_param *p = txd_params_at(params, i);

                keeps_promise(p, &promises[(p->layer + 1) * TXD_PARAM_COUNT + p->id]);
            }
            txd_params_destroy(params);
            cfg_text_finish();
        }
}
END_TEST

/* By hand: k is (2 heads of 16, 96), so Xavier's variance is 2 / (32 + 96); the parts
 * of a fused matrix are (96, 96), (32, 96) and (32, 96). */
START_TEST(the_promise_is_that_of_the_formula)
{
    const char *rules = "weights : { init = ( { params = \"*\"; "
                        "scheme = \"xavier_normal\"; gain = 3.0; } ); };";
    txd_config config = cfg_text_config(SEPARATE);
    const txd_setting *weights = txd_setting_find(cfg_text_tree(rules), "weights");
    txd_params_draw promises[3 * TXD_PARAM_COUNT] = {{0}}, *second;
    double fused = 9 * (96 * (2.0 / 192) + 64 * (2.0 / 128)) / 160;

    second = &promises[2 * TXD_PARAM_COUNT];
    ck_assert_int_eq(txd_params_expect(promises, &config, weights), TXD_OK);
    ck_assert_double_eq_tol(second[TXD_PARAM_K_WEIGHT].std, 3.0 / 8, 1e-15);
    ck_assert_double_eq_tol(second[TXD_PARAM_K_WEIGHT].std_error,
                            3.0 / 8 / sqrt(2.0 * 32 * 96), 1e-15);
    ck_assert_double_eq(second[TXD_PARAM_NORM1_WEIGHT].mean, 1);
    ck_assert_double_eq(second[TXD_PARAM_NORM1_WEIGHT].std, 0);
    config = cfg_text_config(FUSED);
    ck_assert_int_eq(txd_params_expect(promises, &config, weights), TXD_OK);
    ck_assert_double_eq_tol(second[TXD_PARAM_QKV_WEIGHT].std, sqrt(fused), 1e-14);
    cfg_text_finish();
}
END_TEST

TEST_MAIN(without_rules_matrices_are_small_gains_one_and_biases_zero,
          both_xaviers_have_the_variance_of_their_definition,
          a_uniform_scheme_stays_within_its_bound,
          one_seed_gives_one_model_in_both_layouts,
          a_rule_for_one_parameter_changes_no_other,
          layers_names_and_seeds_draw_different_numbers,
          float_parameters_are_the_rounded_double_ones, the_last_matching_rule_wins,
          a_random_rule_for_all_leaves_the_norms_alone, bad_rules_are_refused_by_place,
          any_number_of_threads_draws_the_same_numbers,
          what_is_drawn_keeps_what_the_rules_promise,
          the_promise_is_that_of_the_formula)
