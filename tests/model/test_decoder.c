/* SPDX-License-Identifier: MIT
 *
 * What the decoder promises beyond golden numbers: hand-computed attention, variants
 * of the block, the same bits for any number of threads and with or without observers.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"

#define BASE                                                                           \
    "vocab = 17; d_model = 24; n_heads = 4; n_layers = 3; d_ff = 40; "                 \
    "max_seq_len = 64; "

static void run_random(observed *o, const char *cfg, const char *backend, size_t batch,
                       size_t length)
{
    OK(observe_cfg(o, cfg, backend));
    OK(observe_random(o, batch, length));
    OK(observe_pass(o));
}

static const double *values(observed *o, const char *site)
{
    struct observed_site *s = observe_site(o, site);

    ck_assert_msg(s != NULL, "%s was not offered", site);
    return s->values;
}

static void same_bits(observed *a, observed *b)
{
    ck_assert_uint_gt(a->sites, 0);
    for (size_t i = 0; i < a->sites; i++) {
        struct observed_site *other = observe_site(b, a->site[i].name);

        if (other == NULL)
            continue;
        ck_assert_uint_eq(other->count, a->site[i].count);
        ck_assert_msg(memcmp(other->values, a->site[i].values,
                             other->count * sizeof(double)) == 0,
                      "%s differs", a->site[i].name);
    }
}

static void softmax3(double *w, const double *s, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += exp(s[i]);
    for (size_t i = 0; i < n; i++)
        w[i] = exp(s[i]) / sum;
}

/* One head of width 2, identity projections, no norm gain to speak of: the scores and
 * the weighted sum can be written down from the normed embeddings. */
START_TEST(attention_is_softmax_of_scaled_dot_products_times_values)
{
    observed o = {0};
    const double *x, *w, *z;

    OK(observe_cfg(&o,
                   "model : { preset = \"mini\"; vocab = 5; d_model = 2; n_heads = 1; "
                   "n_layers = 1; d_ff = 2; max_seq_len = 8; qkv = \"separate\"; };",
                   "ref64"));
    for (int p = TXD_PARAM_Q_WEIGHT; p <= TXD_PARAM_V_WEIGHT; p++) {
        txd_param *param = txd_params_get(o.params, (txd_param_id)p, 0);

        for (size_t i = 0; param != NULL && i < 4; i++)
            if (txd_tensor_count(&param->value) == 4)
                ((float *)param->value.data)[i] = i % 3 == 0 ? 1.0f : 0.0f;
    }
    txd_model_destroy(o.model);
    {
        const txd_backend *ref64;

        OK(txd_backend_find(&ref64, "ref64"));
        OK(txd_model_create(&o.model, ref64, &o.config, o.params, 1));
    }
    OK(observe_random(&o, 1, 3));
    OK(observe_pass(&o));
    x = values(&o, "layers.0.norm1.out");
    w = values(&o, "layers.0.attn.weights");
    z = values(&o, "layers.0.attn.heads");
    for (size_t q = 0; q < 3; q++) {
        double scores[3], weights[3] = {0}, out[2] = {0};

        for (size_t k = 0; k <= q; k++)
            scores[k] = (x[2 * q] * x[2 * k] + x[2 * q + 1] * x[2 * k + 1]) / sqrt(2);
        softmax3(weights, scores, q + 1);
        for (size_t k = 0; k < 3; k++) {
            ck_assert(txd_close(w[3 * q + k], weights[k], 1e-14));
            out[0] += weights[k] * x[2 * k];
            out[1] += weights[k] * x[2 * k + 1];
        }
        ck_assert(txd_close(z[2 * q], out[0], 1e-14));
        ck_assert(txd_close(z[2 * q + 1], out[1], 1e-14));
    }
    observe_finish(&o);
}
END_TEST

static const char *const variants[] = {
    "model : { preset = \"mini\"; " BASE "};",
    "model : { preset = \"gpt2\"; " BASE "};",
    "model : { preset = \"llama\"; " BASE "n_kv_heads = 2; };",
    "model : { preset = \"llama\"; " BASE
    "n_kv_heads = 1; head_dim = 10; value_dim = 7; rope_pairing = \"adjacent\"; "
    "rope_width = 6; };",
    "model : { preset = \"llama\"; " BASE "rope_scaling = \"yarn\"; rope_factor = 4.0; "
    "rope_original_length = 8; rope_beta_fast "
    "= 3.0; rope_base = 30.0; layers = ( { range = \"1\"; rope_scaling = \"llama3\"; } "
    "); };",
    "model : { preset = \"gpt2\"; " BASE
    "positions = \"alibi\"; score_softcap = 0.8; layers = ( { range = \"1\"; "
    "score_softcap = 0.0; } ); };",
    "model : { preset = \"gpt2\"; " BASE
    "norm_placement = \"post\"; activation = \"relu\"; };",
    "model : { preset = \"mini\"; " BASE
    "positions = \"sinusoidal\"; activation = \"silu\"; gated = true; bias = true; "
    "residual_scale = 0.5; tie_embeddings = true; };",
    "model : { preset = \"mini\"; " BASE
    "positions = \"none\"; value_dim = 3; layers = ( { range = \"1:2\"; window = 2; "
    "score_scale = 0.3; } ); }; mask : { causal = false; };",
    "model : { preset = \"gpt2\"; " BASE
    "}; mask : { window = 4; fill = -1e9; masked_row = \"uniform\"; };",
};

#define VARIANTS (sizeof variants / sizeof *variants)

START_TEST(every_variant_agrees_between_double_and_float)
{
    for (size_t v = 0; v < VARIANTS; v++) {
        observed exact = {0}, fast = {0};

        run_random(&exact, variants[v], "ref64", 2, 11);
        run_random(&fast, variants[v], "cpu32", 2, 11);
        ck_assert_uint_eq(exact.sites, fast.sites);
        for (size_t i = 0; i < exact.sites; i++) {
            struct observed_site *a = &exact.site[i];
            struct observed_site *b = observe_site(&fast, a->name);

            for (size_t e = 0; e < a->count; e++) {
                bool both_nan = isnan(a->values[e]) && isnan(b->values[e]);

                ck_assert_msg(both_nan || txd_close(b->values[e], a->values[e],
                                                    2e-4 + 2e-4 * fabs(a->values[e])),
                              "variant %zu: %s[%zu]: %g, in double %g", v, a->name, e,
                              b->values[e], a->values[e]);
            }
        }
        observe_finish(&exact);
        observe_finish(&fast);
    }
}
END_TEST

START_TEST(every_stop_of_the_order_of_execution_is_offered_whole)
{
    for (size_t v = 0; v < VARIANTS; v++) {
        observed o = {0};
        txd_stop *order;
        size_t count;

        run_random(&o, variants[v], "ref64", 2, 6);
        OK(txd_points_order(&order, &count, o.arena, &o.config));
        ck_assert_uint_eq(o.sites, count);
        for (size_t i = 0; i < count; i++) {
            char name[96];
            struct observed_site *s;

            txd_point_name(name, sizeof name, order[i].point, order[i].layer);
            s = observe_site(&o, name);
            ck_assert_msg(s != NULL && s->cells == s->count, "%s", name);
        }
        observe_finish(&o);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_number_of_threads)
{
    for (size_t v = 0; v < VARIANTS; v++) {
        observed one = {.threads = 1}, three = {.threads = 3};

        run_random(&one, variants[v], "cpu32", 2, 41);
        run_random(&three, variants[v], "cpu32", 2, 41);
        same_bits(&one, &three);
        observe_finish(&one);
        observe_finish(&three);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_who_observes)
{
    for (size_t v = 0; v < VARIANTS; v++) {
        observed all = {0}, few = {.only = "logits"};

        run_random(&all, variants[v], "cpu32", 2, 41);
        run_random(&few, variants[v], "cpu32", 2, 41);
        ck_assert_uint_eq(few.sites, 1);
        same_bits(&few, &all);
        observe_finish(&all);
        observe_finish(&few);
    }
}
END_TEST

START_TEST(post_placement_norms_the_sums)
{
    observed o = {0};
    const double *post, *next, *mid, *pre, *branch;

    run_random(&o, "model : { preset = \"gpt2\"; " BASE "norm_placement = \"post\"; };",
               "ref64", 1, 5);
    post = values(&o, "layers.0.norm2.out");
    next = values(&o, "layers.1.resid.pre");
    pre = values(&o, "layers.0.resid.pre");
    mid = values(&o, "layers.0.resid.mid");
    branch = values(&o, "layers.0.attn.branch");
    for (size_t i = 0; i < 5 * 24; i++) {
        ck_assert(post[i] == next[i]);
        ck_assert(mid[i] == pre[i] + branch[i]);
    }
    ck_assert_ptr_null(observe_site(&o, "final.norm"));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(attention_is_softmax_of_scaled_dot_products_times_values,
          every_variant_agrees_between_double_and_float,
          every_stop_of_the_order_of_execution_is_offered_whole,
          the_bits_do_not_depend_on_the_number_of_threads,
          the_bits_do_not_depend_on_who_observes, post_placement_norms_the_sums)
