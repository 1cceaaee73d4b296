/* SPDX-License-Identifier: MIT
 *
 * The encoder of an encoder-decoder: its parameters, and that what it makes is what a
 * model of its own without causal mask makes.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cross.h"
#include "suite.h"

#define SIZES "vocab = 17; d_model = 24; n_heads = 4; d_ff = 40; max_seq_len = 16; "
#define BOTH SIZES "n_layers = 2; cross = true; encoder_layers = 3; "
#define ALONE SIZES "n_layers = 3; "

static const char *const presets[][2] = {
    {"preset = \"mini\"; ", ""},
    {"preset = \"gpt2\"; norm_placement = \"post\"; ", "mask : { window = 2; };"},
    {"preset = \"llama\"; n_kv_heads = 2; residual_scale = 0.5; ",
     "mask : { masked_row = \"uniform\"; };"},
};

#define PRESETS (sizeof presets / sizeof *presets)

static const txd_run_options one_thread = {.threads = 1};

static void open_model(observed *o, const char *preset, const char *model,
                       const char *rest)
{
    char cfg[512];

    snprintf(cfg, sizeof cfg, "model : { %s%s};%s", preset, model, rest);
    OK(observe_cfg(o, cfg, "ref64"));
}

/* Gives the model of its own the encoder's parameters. */
static void hand_over(observed *alone, txd_params *encoder)
{
    size_t taken = 0;

    for (size_t i = 0; i < txd_params_count(alone->params); i++) {
        txd_param *to = txd_params_at(alone->params, i);
        const txd_param *from = txd_params_get(encoder, to->id, to->layer);

        if (from == NULL)
            continue; /* the output head */
        ck_assert_uint_eq(txd_tensor_count(&to->value), txd_tensor_count(&from->value));
        memcpy(to->value.data, from->value.data,
               txd_tensor_count(&to->value) * sizeof(float));
        taken++;
    }
    ck_assert_uint_gt(taken, 3 * 6);
    txd_model_destroy(alone->model);
    alone->model = NULL;
}

START_TEST(what_it_makes_is_what_such_a_model_makes_of_its_own)
{
    for (size_t p = 0; p < PRESETS; p++) {
        observed both = {0}, alone = {0};
        const txd_backend *ref64;
        txd_encoder *encoder;
        const struct observed_site *end;

        open_model(&both, presets[p][0], BOTH, presets[p][1]);
        open_model(&alone, presets[p][0], ALONE, "mask : { causal = false; };");
        hand_over(&alone, txd_params_of_encoder(both.params));
        OK(txd_backend_find(&ref64, "ref64"));
        OK(txd_model_create(&alone.model, ref64, &alone.config, alone.params, 1));
        OK(observe_random(&alone, 2, 7));
        alone.inputs.valid[12] = alone.inputs.valid[13] = 0;
        OK(observe_pass(&alone));
        OK(observe_random(&both, 2, 5));
        OK(observe_memory(&both, 7, NULL));
        OK(txd_encoder_create(&encoder, ref64, &both.config, both.params, &one_thread));
        OK(txd_encoder_pass(encoder, &both.inputs, &alone.inputs, 0));
        end = observe_site(&alone, alone.config.final_norm ? "final.norm"
                                                           : "layers.2.norm2.out");
        ck_assert_ptr_nonnull(end);
        ck_assert_uint_eq(end->count, txd_tensor_count(&both.inputs.memory));
        for (size_t i = 0; i < end->count; i++)
            ck_assert(((double *)both.inputs.memory.data)[i] == end->values[i]);
        OK(observe_pass(&both));
        txd_encoder_destroy(encoder);
        observe_finish(&both);
        observe_finish(&alone);
    }
}
END_TEST

START_TEST(it_sees_later_tokens_whatever_the_decoder_sees)
{
    observed o = {0};
    txd_encoder *encoder;
    const txd_backend *ref64;
    txd_inputs tokens;
    double before[24];

    open_model(&o, presets[1][0], BOTH, presets[1][1]);
    ck_assert(o.config.layers[0].causal && !o.config.encoder->layers[2].causal);
    ck_assert_uint_eq(o.config.layers[0].window, 2);
    ck_assert_uint_eq(o.config.encoder->layers[0].window, 0);
    OK(observe_random(&o, 1, 6));
    OK(observe_memory(&o, 6, NULL));
    tokens = o.inputs;
    OK(txd_backend_find(&ref64, "ref64"));
    OK(txd_encoder_create(&encoder, ref64, &o.config, o.params, &one_thread));
    OK(txd_encoder_pass(encoder, &o.inputs, &tokens, 0));
    memcpy(before, o.inputs.memory.data, sizeof before);
    tokens.tokens[5] = (tokens.tokens[5] + 1) % 17;
    OK(txd_encoder_pass(encoder, &o.inputs, &tokens, 0));
    ck_assert_int_ne(memcmp(before, o.inputs.memory.data, sizeof before), 0);
    txd_encoder_destroy(encoder);
    observe_finish(&o);
}
END_TEST

/* ---- parameters ---- */

static const float *data_of(observed *o, const char *name)
{
    txd_param *param = txd_params_find(o->params, name);

    ck_assert_msg(param != NULL, "no parameter %s", name);
    return param->value.data;
}

START_TEST(its_parameters_have_names_of_their_own)
{
    observed o = {0};
    txd_params *encoder;

    open_model(&o, presets[0][0], BOTH, "");
    encoder = txd_params_of_encoder(o.params);
    for (int layer = 0; layer < 3; layer++) {
        char name[64];

        snprintf(name, sizeof name, "encoder.layers.%d.attn.qkv.weight", layer);
        ck_assert_ptr_eq(
            txd_params_get(encoder, TXD_PARAM_QKV_WEIGHT, layer)->value.data,
            data_of(&o, name));
        ck_assert_int_eq(txd_params_find(o.params, name)->layer, -1);
        ck_assert_int_eq(txd_params_find(o.params, name)->encoder_layer, layer);
    }
    ck_assert_ptr_nonnull(txd_params_find(o.params, "encoder.final_norm.weight"));
    ck_assert_ptr_null(txd_params_find(o.params, "encoder.embed.tok.weight"));
    ck_assert_ptr_null(txd_params_find(o.params, "encoder.head.weight"));
    ck_assert_ptr_null(txd_params_find(o.params, "encoder.layers.0.cross.q.weight"));
    ck_assert_ptr_null(txd_params_get(encoder, TXD_PARAM_HEAD_WEIGHT, -1));
    ck_assert_ptr_eq(txd_params_get(encoder, TXD_PARAM_EMBED_TOK, -1)->value.data,
                     data_of(&o, "embed.tok.weight"));
    ck_assert_ptr_eq(txd_params_get(encoder, TXD_PARAM_EMBED_POS, -1)->value.data,
                     data_of(&o, "embed.pos.weight"));
    /* fused rows are drawn by name, too */
    ck_assert_int_ne(memcmp(data_of(&o, "encoder.layers.0.attn.qkv.weight"),
                            data_of(&o, "layers.0.attn.qkv.weight"),
                            24 * 24 * sizeof(float)),
                     0);
    observe_finish(&o);
}
END_TEST

START_TEST(a_decoder_draws_the_same_parameters_with_an_encoder_and_without)
{
    observed with = {0}, without = {0};
    double bytes = 0;

    open_model(&with, presets[0][0], BOTH, "");
    open_model(&without, presets[0][0], SIZES "n_layers = 2; cross = true; ", "");
    ck_assert_ptr_null(txd_params_of_encoder(without.params));
    for (size_t i = 0; i < txd_params_count(without.params); i++) {
        const txd_param *param = txd_params_at(without.params, i);

        ck_assert_int_eq(memcmp(param->value.data, data_of(&with, param->name),
                                txd_tensor_count(&param->value) * sizeof(float)),
                         0);
    }
    for (size_t i = 0; i < txd_params_count(with.params); i++)
        bytes += 4 * (double)txd_tensor_count(&txd_params_at(with.params, i)->value);
    ck_assert(txd_params_bytes(&with.config, TXD_F32) == bytes);
    observe_finish(&with);
    observe_finish(&without);
}
END_TEST

START_TEST(rules_reach_the_encoder_by_its_names)
{
    observed o = {0};
    txd_params_draw draws[3 * TXD_PARAM_COUNT];
    const float *norm, *plain;

    open_model(&o, presets[2][0], BOTH,
               "weights : { init = ( { params = \"encoder.layers.1.*\"; "
               "scheme = \"constant\"; value = 0.25; }, { params = "
               "\"layers.*.norm1.weight,encoder.*.attn.q.weight\"; scheme = "
               "\"uniform\"; } ); };");
    ck_assert(data_of(&o, "encoder.layers.1.mlp.up.weight")[3] == 0.25f);
    ck_assert(data_of(&o, "encoder.layers.0.mlp.up.weight")[3] != 0.25f);
    ck_assert(data_of(&o, "layers.1.mlp.up.weight")[3] != 0.25f);
    /* the rule matches matrices, those of the encoder, and so leaves gains alone */
    norm = data_of(&o, "layers.0.norm1.weight");
    plain = data_of(&o, "layers.0.norm2.weight");
    ck_assert(norm[5] == 1 && plain[5] == 1);
    {
        txd_setting *root;

        OK(txd_cfg_parse(&root, o.arena, "w.cfg",
                         "weights : { init = ( { params = "
                         "\"layers.*.norm1.weight,encoder.*.attn.q.weight\"; scheme = "
                         "\"uniform\"; } ); };"));
        OK(txd_params_expect(draws, &o.config, txd_setting_find(root, "weights")));
    }
    ck_assert(draws[TXD_PARAM_COUNT + TXD_PARAM_NORM1_WEIGHT].mean == 1);
    ck_assert(draws[TXD_PARAM_COUNT + TXD_PARAM_NORM1_WEIGHT].std == 0);
    observe_finish(&o);
}
END_TEST

START_TEST(a_configuration_copied_and_printed_has_the_same_encoder)
{
    observed o = {0};
    txd_config copy, again;
    txd_setting *root;
    txd_text text;

    open_model(&o, presets[2][0],
               BOTH "layers = ( { range = \"1\"; score_scale = 3.0; } ); ",
               presets[2][1]);
    OK(txd_config_copy(&copy, o.arena, &o.config));
    ck_assert_ptr_ne(copy.encoder, o.config.encoder);
    ck_assert_ptr_ne(copy.encoder->layers, o.config.encoder->layers);
    txd_text_init(&text);
    txd_config_print(&text, &copy);
    OK(txd_cfg_parse(&root, o.arena, "p.cfg", txd_text_get(&text)));
    OK(txd_config_read(&again, o.arena, root, NULL));
    ck_assert_uint_eq(again.encoder->n_layers, 3);
    ck_assert(again.encoder->is_encoder && !again.encoder->cross);
    for (int i = 0; i < 3; i++) {
        ck_assert(again.encoder->layers[i].score_scale ==
                  o.config.encoder->layers[i].score_scale);
        ck_assert(again.encoder->layers[i].masked_row == TXD_MASKED_ROW_UNIFORM);
        ck_assert(txd_close(again.encoder->layers[i].score_scale, 1 / sqrt(6), 1e-15));
    }
    txd_text_finish(&text);
    observe_finish(&o);
}
END_TEST

START_TEST(an_encoder_that_nothing_attends_to_is_refused)
{
    observed o = {0};

    ck_assert_int_eq(observe_cfg(&o,
                                 "model : { " SIZES "n_layers = 2; encoder_layers = 3; "
                                 "};",
                                 "ref64"),
                     TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "encoder_layers is 3"));
    ck_assert_ptr_nonnull(strstr(txd_message(), "cross = true"));
    observe_finish(&o);
}
END_TEST

/* One pass with a backward half, the loss scale given. */
static void run_back(observed *o, const char *scale)
{
    const size_t real[2] = {6, 7};
    char rest[64];

    snprintf(rest, sizeof rest, "precision : { loss_scale = %s; };", scale);
    open_model(o, presets[1][0], BOTH, rest);
    OK(observe_random(o, 2, 5));
    OK(observe_source(o, 7, real));
    o->backward = true;
    OK(observe_pass(o));
}

START_TEST(gradients_go_on_into_it_with_the_loss_scale_divided_out)
{
    observed plain = {0}, scaled = {0};
    size_t own = 0;
    double squares = 0;

    run_back(&plain, "1");
    run_back(&scaled, "1024");
    for (size_t i = 0; i < txd_params_count(plain.params); i++) {
        const char *name = txd_params_at(plain.params, i)->name;
        const struct observed_site *a, *b;
        char site[96];

        snprintf(site, sizeof site, "%s@grad", name);
        a = observe_site(&plain, site);
        b = observe_site(&scaled, site);
        ck_assert_msg(a != NULL && b != NULL, "%s", site);
        own += strncmp(site, "encoder.", 8) == 0;
        ck_assert_msg(a->stats[TXD_STAT_RMS] > 0, "%s", site);
        for (size_t e = 0; e < a->count; e++) {
            ck_assert(a->values[e] == b->values[e]);
            squares += a->values[e] * a->values[e];
        }
    }
    ck_assert_uint_eq(own, 3 * 12);
    ck_assert(txd_close(txd_run_gradient_norm(plain.run), sqrt(squares), 1e-13));
    observe_finish(&plain);
    observe_finish(&scaled);
}
END_TEST

START_TEST(a_memory_that_its_last_pass_did_not_make_is_refused)
{
    observed o = {0};

    run_back(&o, "1");
    OK(observe_memory(&o, 6, NULL));
    ck_assert_int_eq(txd_run_pass(o.run, &o.inputs, 1), TXD_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "2 x 7 rows"));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(what_it_makes_is_what_such_a_model_makes_of_its_own,
          it_sees_later_tokens_whatever_the_decoder_sees,
          its_parameters_have_names_of_their_own,
          a_decoder_draws_the_same_parameters_with_an_encoder_and_without,
          rules_reach_the_encoder_by_its_names,
          a_configuration_copied_and_printed_has_the_same_encoder,
          an_encoder_that_nothing_attends_to_is_refused,
          gradients_go_on_into_it_with_the_loss_scale_divided_out,
          a_memory_that_its_last_pass_did_not_make_is_refused)
