/* SPDX-License-Identifier: MIT
 *
 * The group `precision` of a configuration.
 */
#include <stdio.h>
#include <string.h>

#include "cfg_text.h"
#include "suite.h"

#define SIZES "vocab = 11; d_model = 24; n_heads = 6; n_layers = 4; max_seq_len = 9;"
#define PRECISION                                                                      \
    "model : { " SIZES " layers = ( { range = \"1\"; softmax = \"float32\"; } ); }; "  \
    "precision : { softmax = \"same\"; loss_scale = 1024; };"

static void ck_precision(const txd_config *c)
{
    ck_assert(c->loss_scale == 1024);
    ck_assert_int_eq(c->layers[0].softmax, TXD_SOFTMAX_SAME);
    ck_assert_int_eq(c->layers[1].softmax, TXD_SOFTMAX_FLOAT32);
    ck_assert_int_eq(c->layers[2].softmax, TXD_SOFTMAX_SAME);
}

START_TEST(the_softmax_has_a_precision_in_every_layer)
{
    txd_config c = cfg_text_config("model : { " SIZES " };");

    ck_assert(c.loss_scale == 1);
    ck_assert_int_eq(c.layers[3].softmax, TXD_SOFTMAX_FLOAT32);
    c = cfg_text_config(PRECISION);
    ck_precision(&c);
    cfg_text_finish();
}
END_TEST

START_TEST(the_precision_reads_back_from_what_is_printed)
{
    txd_config c = cfg_text_config(PRECISION);
    txd_text text;

    txd_text_init(&text);
    txd_config_print(&text, &c);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "precision : {"));
    c = cfg_text_config(txd_text_get(&text));
    ck_precision(&c);
    txd_text_finish(&text);
    cfg_text_finish();
}
END_TEST

static void refused(const char *precision, const char *first, const char *second)
{
    txd_config config;
    char text[300];

    snprintf(text, sizeof text, "model : { %s }; precision : { %s };", SIZES,
             precision);
    ck_assert_int_eq(
        txd_config_read(&config, cfg_text_memory(), cfg_text_unchecked(text), NULL),
        TXD_ERR_CONFIG);
    ck_message_has(first);
    ck_message_has(second);
    cfg_text_finish();
}

START_TEST(what_no_softmax_has_and_a_loss_scale_out_of_range_are_refused)
{
    refused("softmax = \"float64\";", "precision.softmax", "same");
    refused("loss_scale = 0.0;", "precision.loss_scale", "1e-08");
    refused("loss_scale = 1e14;", "precision.loss_scale", "to 10000000000000,");
}
END_TEST

TEST_MAIN(the_softmax_has_a_precision_in_every_layer,
          the_precision_reads_back_from_what_is_printed,
          what_no_softmax_has_and_a_loss_scale_out_of_range_are_refused)
