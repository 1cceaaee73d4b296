/* SPDX-License-Identifier: MIT
 *
 * The stated configuration against the tensors. Everything is checked before anything
 * is allocated, so that memory is bounded by what the file really holds.
 */
#include <string.h>

#include "formats/checkpoint_internal.h"

/* A flag of the configuration that stands for parameters. */
struct bias {
    const char *field; /* of config.json; NULL = none */
    bool *flag;
    enum txd_stated stated;
};

/* Looks for a parameter in every layer; `missing` and `present` get examples. */
static void look_for(char *missing, char *present, const txd_checkpoint *checkpoint,
                     txd_param_id id)
{
    bool per_layer = txd_param_per_layer(id);
    size_t layers = per_layer ? checkpoint->config.n_layers : 1;
    char name[TXD_NAME_BYTES];

    for (size_t i = 0; i < layers; i++) {
        txd_wanted wanted = {.id = id, .layer = per_layer ? (int)i : -1};
        bool there = txd_source_exists(name, checkpoint, &wanted);
        char *example = there ? present : missing;

        if (!*example)
            memcpy(example, name, sizeof name);
    }
}

/* The parameters that exist with the flag and not without it. */
static txd_status find_bias(const txd_checkpoint *checkpoint, const struct bias *bias)
{
    char missing[TXD_NAME_BYTES] = "", present[TXD_NAME_BYTES] = "";

    for (int i = 0; i < TXD_PARAM_COUNT; i++) {
        txd_param_id id = (txd_param_id)i;
        bool without;

        *bias->flag = false;
        without = txd_param_exists(&checkpoint->config, id);
        *bias->flag = true;
        if (txd_param_exists(&checkpoint->config, id) && !without)
            look_for(missing, present, checkpoint, id);
    }
    if (*missing && *present)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: tensor \"%s\" is missing, though \"%s\" is there; a bias "
                        "is in every layer or in none",
                        checkpoint->path, missing, present);
    *bias->flag = *present != '\0';
    if (bias->stated == TXD_UNSTATED ||
        *bias->flag == (bias->stated == TXD_STATED_TRUE))
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: config.json states %s = %s, but the biases are %s",
                    checkpoint->path, bias->field, *bias->flag ? "false" : "true",
                    *bias->flag ? "there" : "missing");
}

txd_status txd_checkpoint_find_biases(txd_checkpoint *checkpoint)
{
    txd_config *c = &checkpoint->config;
    const txd_reading *r = &checkpoint->reading;
    const struct bias biases[] = {
        {r->attention_field, &c->qkv_bias, r->attention_bias},
        {r->attention_field, &c->out_bias, r->attention_bias},
        {r->mlp_field, &c->mlp_bias, r->mlp_bias},
        {NULL, &c->norm_bias, TXD_UNSTATED},
    };

    for (size_t i = 0; i < TXD_COUNT_OF(biases); i++)
        TXD_TRY(find_bias(checkpoint, &biases[i]));
    return TXD_OK;
}

static txd_status check_param(const txd_checkpoint *checkpoint,
                              const txd_config *config, const txd_wanted *wanted)
{
    txd_source source;

    for (size_t nth = 0;; nth++) {
        TXD_TRY(txd_source_find(&source, checkpoint, config, wanted, nth));
        if (!source.tensor)
            return TXD_OK;
        source.tensor->used = true;
    }
}

txd_status txd_checkpoint_check_params(const txd_checkpoint *checkpoint,
                                       const txd_config *config)
{
    for (int i = 0; i < TXD_PARAM_COUNT; i++) {
        txd_wanted wanted = {
            .id = (txd_param_id)i, .layer = -1, .of_encoder = config->is_encoder};

        if (!txd_param_exists(config, wanted.id))
            continue;
        if (!txd_param_per_layer(wanted.id))
            TXD_TRY(check_param(checkpoint, config, &wanted));
        for (size_t l = 0; txd_param_per_layer(wanted.id) && l < config->n_layers;
             l++) {
            wanted.layer = (int)l;
            TXD_TRY(check_param(checkpoint, config, &wanted));
        }
    }
    if (!config->encoder)
        return TXD_OK;
    return txd_checkpoint_check_params(checkpoint, config->encoder);
}
