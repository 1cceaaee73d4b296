/* SPDX-License-Identifier: MIT
 *
 * Which family a model is of, or why it cannot be read.
 */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "formats/families/family_internal.h"

static const txd_family *const families[] = {
#define TXD_FAMILY(name) &txd_family_##name,
#define TXD_REFUSED(type, why)
#include "formats/families/registry.def"
#undef TXD_FAMILY
#undef TXD_REFUSED
};

static const struct {
    const char *type, *why;
} refused[] = {
#define TXD_FAMILY(name)
#define TXD_REFUSED(type, why) {type, why},
#include "formats/families/registry.def"
#undef TXD_FAMILY
#undef TXD_REFUSED
};

/* Fields of models that choose among several MLPs, or keep keys and values in another
 * form, whatever family they say they are of. */
static const char *const experts[] = {"num_local_experts|expert_count",
                                      "num_experts",
                                      "n_routed_experts",
                                      "moe_num_experts",
                                      "num_experts_per_tok|expert_used_count",
                                      NULL};
static const char *const latent[] = {"kv_lora_rank|attention.kv_lora_rank",
                                     "q_lora_rank", NULL};

static bool is_listed(const char *const *words, const char *word)
{
    for (; words && *words; words++)
        if (strcmp(*words, word) == 0)
            return true;
    return false;
}

static txd_status fail_unknown(const txd_setting *root, const char *field,
                               const char *type, bool is_gguf)
{
    const txd_setting *setting = txd_setting_find(root, field);
    char place[512];
    txd_text known;

    txd_setting_place(place, sizeof place, setting);
    for (size_t i = 0; i < TXD_COUNT_OF(refused); i++)
        if (strcmp(refused[i].type, type) == 0)
            return txd_fail(TXD_ERR_UNSUPPORTED,
                            "%s: \"%.60s\" is a model with %s, which is not supported",
                            place, type, refused[i].why);
    txd_text_init(&known);
    for (size_t i = 0; i < TXD_COUNT_OF(families); i++) {
        const char *const *words =
            is_gguf ? families[i]->architectures : families[i]->types;

        for (; words && *words; words++)
            txd_text_addf(&known, "%s%s", known.length ? ", " : "", *words);
    }
    txd_fail(TXD_ERR_UNSUPPORTED, "%s: \"%.60s\" is not supported; these are: %s",
             place, type, txd_text_get(&known));
    txd_text_finish(&known);
    return TXD_ERR_UNSUPPORTED;
}

/* The text part of a model of several kinds of input. */
static void enter_group(txd_reading *r, const char *name)
{
    const txd_setting *group = txd_setting_find(r->root, name);

    if (group && group->kind == TXD_SETTING_GROUP)
        r->root = group;
}

txd_status txd_family_find(txd_reading *r, const txd_setting *root, bool is_gguf)
{
    const char *field = is_gguf ? "general.architecture" : "model_type";
    const char *type = NULL;

    *r = (txd_reading){.file = root,
                       .root = root,
                       .tied = TXD_UNSTATED,
                       .attention_bias = TXD_UNSTATED,
                       .mlp_bias = TXD_UNSTATED};
    if (root->kind != TXD_SETTING_GROUP)
        return txd_reading_fail(r, field, TXD_ERR_FORMAT, "this is no object");
    TXD_TRY(txd_setting_string(&type, root, field));
    if (!type)
        return txd_reading_fail(r, field, TXD_ERR_FORMAT,
                                "missing; expected the name of a family, such as "
                                "\"llama\" or \"gpt2\"");
    for (size_t i = 0; i < TXD_COUNT_OF(families); i++)
        if (is_listed(is_gguf ? families[i]->architectures : families[i]->types, type))
            r->family = families[i];
    if (is_gguf)
        r->architecture = type;
    else if (r->family && r->family->group)
        enter_group(r, r->family->group);
    return r->family ? TXD_OK : fail_unknown(root, field, type, is_gguf);
}

static txd_status refuse_with(const txd_reading *r, const char *const *fields,
                              const char *what)
{
    txd_status status = txd_reading_refuse(r, fields);

    return status == TXD_OK ? status : txd_fail(status, "%s (%s)", txd_message(), what);
}

static const char causal_field[] = "is_causal|attention.causal";

/* Of any family: its library attends both ways then. */
static txd_status read_causal(txd_reading *r)
{
    bool causal = r->layer.causal;

    TXD_TRY(txd_reading_bool(&causal, r, causal_field));
    r->layer.causal = causal && r->layer.causal; /* an encoder has no other way */
    if (r->layer.causal || causal || r->config.positions != TXD_POSITIONS_RELATIVE)
        return TXD_OK;
    return txd_reading_fail(r, causal_field, TXD_ERR_UNSUPPORTED,
                            "attention both ways is not supported with relative "
                            "positions");
}

txd_status txd_family_layer(txd_layer_config *layer, const txd_reading *r, size_t i)
{
    *layer = r->layer;
    if (r->family->layer)
        TXD_TRY(r->family->layer(r, layer, i));
    if (layer->causal || layer->window == 0)
        return TXD_OK;
    return txd_reading_fail(r, causal_field, TXD_ERR_UNSUPPORTED,
                            "attention both ways is not supported with windows");
}

txd_status txd_family_read(txd_reading *r)
{
    static const char *const quantized[] = {"quantization_config", NULL};

    TXD_TRY(txd_reading_refuse(r, quantized));
    TXD_TRY(refuse_with(r, experts, "mixture of experts"));
    TXD_TRY(refuse_with(r, latent, "latent attention"));
    TXD_TRY(r->family->read(r));
    return read_causal(r);
}
