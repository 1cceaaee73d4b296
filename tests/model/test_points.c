/* SPDX-License-Identifier: MIT
 *
 * Points: names there and back, shapes, and the order of execution.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "model/points.h"
#include "suite.h"

#define SIZES "vocab = 11; d_model = 12; n_heads = 6; n_layers = 2; max_seq_len = 9;"

static txd_stop *order_of(size_t *count, const txd_config *config)
{
    txd_stop *stops = NULL;

    ck_assert_int_eq(txd_points_order(&stops, count, cfg_text_memory(), config),
                     TXD_OK);
    return stops;
}

/* Place of a point in the order; -1 if it is not there, and it is there once. */
static int place_of(const char *name, const txd_config *config)
{
    size_t count;
    const txd_stop *stops = order_of(&count, config);
    int place = -1;

    for (size_t i = 0; i < count; i++) {
        char text[64];

        txd_point_name(text, sizeof text, stops[i].point, stops[i].layer);
        if (strcmp(text, name) != 0)
            continue;
        ck_assert_int_eq(place, -1);
        place = (int)i;
    }
    return place;
}

static void in_order(const txd_config *config, const char *const *names)
{
    for (; names[1]; names++) {
        int first = place_of(names[0], config), second = place_of(names[1], config);

        ck_assert_msg(first >= 0, "%s is not in the order", names[0]);
        ck_assert_msg(second >= 0, "%s is not in the order", names[1]);
        ck_assert_msg(first < second, "%s is not before %s", names[0], names[1]);
    }
}

static void refused(const char *name, const char *part)
{
    txd_point point = TXD_POINT_LOGITS;
    int layer = 77;

    ck_assert_int_eq(txd_point_parse(&point, &layer, name), TXD_ERR_MISSING);
    ck_message_has(part);
    ck_assert_int_eq(point, TXD_POINT_LOGITS);
    ck_assert_int_eq(layer, 77);
}

START_TEST(every_name_is_parsed_back)
{
    for (int i = 0; i < TXD_POINT_COUNT; i++) {
        int expected = txd_point_per_layer((txd_point)i) ? 1234 : -1, layer = 5;
        txd_point point;
        char text[64];

        txd_point_name(text, sizeof text, (txd_point)i, 1234);
        ck_assert_int_eq(txd_point_parse(&point, &layer, text), TXD_OK);
        ck_assert_int_eq(point, i);
        ck_assert_int_eq(layer, expected);
    }
}
END_TEST

START_TEST(names_are_as_the_documents_write_them)
{
    char text[64];

    ck_assert_str_eq(txd_point_name(text, sizeof text, TXD_POINT_ATTN_WEIGHTS, 3),
                     "layers.3.attn.weights");
    ck_assert_str_eq(txd_point_name(text, sizeof text, TXD_POINT_LOGITS, -1), "logits");
}
END_TEST

START_TEST(a_misspelt_point_names_the_nearest)
{
    refused("layers.2.attn.weight", "layers.2.attn.weights");
    refused("logit", "logits");
    refused("attn.weights", "layers.0.attn.weights");
    refused("layers.0.logits", "logits");
    refused("layers.02.attn.q", "no point");
    refused("layers.-1.attn.q", "no point");
    refused("layers.99999999999.attn.q", "no point");
    refused("", "no point");
}
END_TEST

START_TEST(shapes_follow_the_axes)
{
    txd_config c = cfg_text_config(
        "model : { " SIZES
        " n_kv_heads = 3; head_dim = 4; value_dim = 5; d_ff = 7; cross = true; };");
    static const struct {
        txd_point point;
        int rank;
        size_t dims[4];
    } expected[] = {
        {TXD_POINT_INPUT_TOKENS, 2, {2, 9}},
        {TXD_POINT_EMBED_OUT, 3, {2, 9, 12}},
        {TXD_POINT_ATTN_Q, 4, {2, 6, 9, 4}},
        {TXD_POINT_ATTN_K, 4, {2, 3, 9, 4}},
        {TXD_POINT_ATTN_V, 4, {2, 3, 9, 5}},
        {TXD_POINT_ATTN_SCORES, 4, {2, 6, 9, 9}},
        {TXD_POINT_ATTN_HEADS, 4, {2, 6, 9, 5}},
        {TXD_POINT_ATTN_MERGED, 3, {2, 9, 30}},
        {TXD_POINT_ATTN_OUT, 3, {2, 9, 12}},
        {TXD_POINT_INPUT_MEMORY, 3, {2, 4, 12}},
        {TXD_POINT_CROSS_Q, 4, {2, 6, 9, 4}},
        {TXD_POINT_CROSS_K, 4, {2, 3, 4, 4}},
        {TXD_POINT_CROSS_V, 4, {2, 3, 4, 5}},
        {TXD_POINT_CROSS_WEIGHTS, 4, {2, 6, 9, 4}},
        {TXD_POINT_CROSS_HEADS, 4, {2, 6, 9, 5}},
        {TXD_POINT_CROSS_MERGED, 3, {2, 9, 30}},
        {TXD_POINT_CROSS_OUT, 3, {2, 9, 12}},
        {TXD_POINT_RESID_CROSS, 3, {2, 9, 12}},
        {TXD_POINT_MLP_ACT, 3, {2, 9, 7}},
        {TXD_POINT_LOGITS, 3, {2, 9, 11}},
        {TXD_POINT_LOSS_TOKEN, 2, {2, 9}},
    };

    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        size_t dims[TXD_MAX_RANK];

        ck_assert_int_eq(
            txd_point_dims(dims, &c, expected[i].point, &(txd_extent){2, 9, 4, 0}),
            expected[i].rank);
        for (int axis = 0; axis < expected[i].rank; axis++)
            ck_assert_uint_eq(dims[axis], expected[i].dims[axis]);
    }
    cfg_text_finish();
}
END_TEST

START_TEST(pre_norm_norms_before_each_branch)
{
    static const char *const names[] = {"input.tokens",
                                        "embed.tok",
                                        "embed.pos",
                                        "embed.out",
                                        "layers.0.resid.pre",
                                        "layers.0.norm1.out",
                                        "layers.0.attn.q_proj",
                                        "layers.0.attn.q",
                                        "layers.0.attn.scores",
                                        "layers.0.attn.masked",
                                        "layers.0.attn.weights",
                                        "layers.0.attn.heads",
                                        "layers.0.attn.merged",
                                        "layers.0.attn.out",
                                        "layers.0.attn.branch",
                                        "layers.0.resid.mid",
                                        "layers.0.norm2.out",
                                        "layers.0.mlp.up",
                                        "layers.0.mlp.act",
                                        "layers.0.mlp.out",
                                        "layers.0.mlp.branch",
                                        "layers.0.resid.post",
                                        "layers.1.resid.pre",
                                        "final.norm",
                                        "logits",
                                        "loss.token",
                                        NULL};
    txd_config c = cfg_text_config("model : { " SIZES " };");

    in_order(&c, names);
    cfg_text_finish();
}
END_TEST

START_TEST(post_norm_norms_after_each_sum)
{
    static const char *const names[] = {"layers.0.resid.pre",
                                        "layers.0.attn.q_proj",
                                        "layers.0.attn.branch",
                                        "layers.0.resid.mid",
                                        "layers.0.norm1.out",
                                        "layers.0.mlp.up",
                                        "layers.0.mlp.branch",
                                        "layers.0.resid.post",
                                        "layers.0.norm2.out",
                                        "layers.1.resid.pre",
                                        "logits",
                                        NULL};
    txd_config c = cfg_text_config("model : { " SIZES " norm_placement = \"post\"; };");

    in_order(&c, names);
    ck_assert_int_eq(place_of("final.norm", &c), -1);
    cfg_text_finish();
}
END_TEST

START_TEST(cross_attention_stands_between_the_attention_and_the_mlp)
{
    static const char *const pre[] = {
        "input.memory",          "embed.tok",
        "layers.0.resid.mid",    "layers.0.norm_cross.out",
        "layers.0.cross.q_proj", "layers.0.cross.k_proj",
        "layers.0.cross.v",      "layers.0.cross.scores",
        "layers.0.cross.masked", "layers.0.cross.weights",
        "layers.0.cross.branch", "layers.0.resid.cross",
        "layers.0.norm2.out",    NULL};
    static const char *const post[] = {
        "layers.0.resid.mid",    "layers.0.norm1.out",
        "layers.0.cross.q_proj", "layers.0.cross.branch",
        "layers.0.resid.cross",  "layers.0.norm_cross.out",
        "layers.0.mlp.up",       NULL};
    txd_config c = cfg_text_config("model : { " SIZES " cross = true; };");

    in_order(&c, pre);
    c = cfg_text_config("model : { " SIZES
                        " cross = true; norm_placement = \"post\"; };");
    in_order(&c, post);
    c = cfg_text_config("model : { " SIZES " };");
    ck_assert_int_eq(place_of("input.memory", &c), -1);
    ck_assert_int_eq(place_of("layers.0.cross.q", &c), -1);
    ck_assert_int_eq(place_of("layers.0.norm_cross.out", &c), -1);
    ck_assert_int_eq(place_of("layers.0.resid.cross", &c), -1);
    cfg_text_finish();
}
END_TEST

START_TEST(points_that_a_model_lacks_are_not_in_its_order)
{
    txd_config plain = cfg_text_config("model : { " SIZES " };");
    txd_config llama = cfg_text_config("model : { preset = \"llama\"; " SIZES
                                       " final_norm = false; };");

    ck_assert_int_eq(place_of("layers.1.mlp.gate", &plain), -1);
    ck_assert_int_eq(place_of("layers.1.mlp.gate_act", &plain), -1);
    ck_assert_int_gt(place_of("embed.pos", &plain), 0);
    ck_assert_int_gt(place_of("layers.1.mlp.gate", &llama), 0);
    ck_assert_int_lt(place_of("layers.1.mlp.gate_act", &llama),
                     place_of("layers.1.mlp.act", &llama));
    ck_assert_int_eq(place_of("embed.pos", &llama), -1);
    ck_assert_int_eq(place_of("final.norm", &llama), -1);
    cfg_text_finish();
}
END_TEST

START_TEST(every_existing_point_stands_in_the_order_once)
{
    static const char *const texts[] = {
        "model : { " SIZES " };",
        "model : { preset = \"llama\"; " SIZES " };",
        "model : { preset = \"gpt2\"; " SIZES " norm_placement = \"post\"; };",
        "model : { " SIZES " positions = \"sinusoidal\"; gated = true; };",
        "model : { " SIZES " cross = true; };",
        "model : { " SIZES " cross = true; norm_placement = \"post\"; };",
    };

    for (size_t k = 0; k < sizeof texts / sizeof *texts; k++) {
        txd_config c = cfg_text_config(texts[k]);
        size_t count, expected = 0;

        order_of(&count, &c);
        for (int i = 0; i < TXD_POINT_COUNT; i++) {
            txd_point point = (txd_point)i;
            bool exists = txd_point_exists(&c, point);
            char name[64];

            txd_point_name(name, sizeof name, point, 1);
            ck_assert_int_eq(place_of(name, &c) >= 0, exists);
            if (exists)
                expected += txd_point_per_layer(point) ? c.n_layers : 1;
        }
        ck_assert_uint_eq(count, expected);
    }
    cfg_text_finish();
}
END_TEST

TEST_MAIN(every_name_is_parsed_back, names_are_as_the_documents_write_them,
          a_misspelt_point_names_the_nearest, shapes_follow_the_axes,
          pre_norm_norms_before_each_branch, post_norm_norms_after_each_sum,
          cross_attention_stands_between_the_attention_and_the_mlp,
          points_that_a_model_lacks_are_not_in_its_order,
          every_existing_point_stands_in_the_order_once)
