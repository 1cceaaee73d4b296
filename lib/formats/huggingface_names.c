/* SPDX-License-Identifier: MIT
 *
 * The names of tensors in Llama and GPT-2 checkpoints, and lookups by them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/huggingface_internal.h"

static const struct txd_hf_name llama_names[] = {
    {TXD_PARAM_EMBED_TOK, "embed_tokens.weight", false},
    {TXD_PARAM_NORM1_WEIGHT, "input_layernorm.weight", false},
    {TXD_PARAM_Q_WEIGHT, "self_attn.q_proj.weight", false},
    {TXD_PARAM_Q_BIAS, "self_attn.q_proj.bias", false},
    {TXD_PARAM_K_WEIGHT, "self_attn.k_proj.weight", false},
    {TXD_PARAM_K_BIAS, "self_attn.k_proj.bias", false},
    {TXD_PARAM_V_WEIGHT, "self_attn.v_proj.weight", false},
    {TXD_PARAM_V_BIAS, "self_attn.v_proj.bias", false},
    {TXD_PARAM_O_WEIGHT, "self_attn.o_proj.weight", false},
    {TXD_PARAM_O_BIAS, "self_attn.o_proj.bias", false},
    {TXD_PARAM_NORM2_WEIGHT, "post_attention_layernorm.weight", false},
    {TXD_PARAM_GATE_WEIGHT, "mlp.gate_proj.weight", false},
    {TXD_PARAM_GATE_BIAS, "mlp.gate_proj.bias", false},
    {TXD_PARAM_UP_WEIGHT, "mlp.up_proj.weight", false},
    {TXD_PARAM_UP_BIAS, "mlp.up_proj.bias", false},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.down_proj.weight", false},
    {TXD_PARAM_DOWN_BIAS, "mlp.down_proj.bias", false},
    {TXD_PARAM_FINAL_WEIGHT, "norm.weight", false},
    {TXD_PARAM_HEAD_WEIGHT, "lm_head.weight", false},
};

/* GPT-2's layers are Conv1D: weights of shape (in, out). */
static const struct txd_hf_name gpt2_names[] = {
    {TXD_PARAM_EMBED_TOK, "wte.weight", false},
    {TXD_PARAM_EMBED_POS, "wpe.weight", false},
    {TXD_PARAM_NORM1_WEIGHT, "ln_1.weight", false},
    {TXD_PARAM_NORM1_BIAS, "ln_1.bias", false},
    {TXD_PARAM_QKV_WEIGHT, "attn.c_attn.weight", true},
    {TXD_PARAM_QKV_BIAS, "attn.c_attn.bias", false},
    {TXD_PARAM_O_WEIGHT, "attn.c_proj.weight", true},
    {TXD_PARAM_O_BIAS, "attn.c_proj.bias", false},
    {TXD_PARAM_NORM2_WEIGHT, "ln_2.weight", false},
    {TXD_PARAM_NORM2_BIAS, "ln_2.bias", false},
    {TXD_PARAM_UP_WEIGHT, "mlp.c_fc.weight", true},
    {TXD_PARAM_UP_BIAS, "mlp.c_fc.bias", false},
    {TXD_PARAM_DOWN_WEIGHT, "mlp.c_proj.weight", true},
    {TXD_PARAM_DOWN_BIAS, "mlp.c_proj.bias", false},
    {TXD_PARAM_FINAL_WEIGHT, "ln_f.weight", false},
    {TXD_PARAM_FINAL_BIAS, "ln_f.bias", false},
    {TXD_PARAM_HEAD_WEIGHT, "lm_head.weight", false},
};

static const char *const llama_buffers[] = {"rotary_emb.inv_freq", NULL};
static const char *const llama_layer_buffers[] = {"self_attn.rotary_emb.inv_freq",
                                                  NULL};
static const char *const gpt2_buffers[] = {NULL};
static const char *const gpt2_layer_buffers[] = {"attn.bias", "attn.masked_bias", NULL};

const struct txd_hf_family txd_hf_llama = {
    .name = "llama",
    .prefix = "model.",
    .layer = "layers.",
    .names = llama_names,
    .name_count = sizeof llama_names / sizeof *llama_names,
    .buffers = llama_buffers,
    .layer_buffers = llama_layer_buffers,
};

const struct txd_hf_family txd_hf_gpt2 = {
    .name = "gpt2",
    .prefix = "transformer.",
    .layer = "h.",
    .names = gpt2_names,
    .name_count = sizeof gpt2_names / sizeof *gpt2_names,
    .buffers = gpt2_buffers,
    .layer_buffers = gpt2_layer_buffers,
};

static int compare_tensors(const void *a, const void *b)
{
    const struct txd_hf_tensor *first = a, *second = b;

    return strcmp(first->name, second->name);
}

/* Bare exports of the inner model have no prefix; the token embedding tells. */
static void find_prefix(txd_checkpoint *checkpoint)
{
    char name[128];

    checkpoint->prefix = "";
    txd_hf_name_of(name, sizeof name, checkpoint, TXD_PARAM_EMBED_TOK, -1);
    if (!txd_hf_find(checkpoint, name))
        checkpoint->prefix = checkpoint->family->prefix;
}

static bool is_listed(const char *const *list, const char *name)
{
    for (; *list; list++)
        if (strcmp(*list, name) == 0)
            return true;
    return false;
}

static bool is_buffer(const txd_checkpoint *checkpoint, const char *name)
{
    const struct txd_hf_family *family = checkpoint->family;
    size_t prefix = strlen(checkpoint->prefix), layer = strlen(family->layer), digits;

    if (strncmp(name, checkpoint->prefix, prefix) != 0)
        return false;
    name += prefix;
    if (is_listed(family->buffers, name))
        return true;
    if (strncmp(name, family->layer, layer) != 0)
        return false;
    digits = strspn(name + layer, "0123456789");
    if (digits == 0 || name[layer + digits] != '.')
        return false;
    return is_listed(family->layer_buffers, name + layer + digits + 1);
}

txd_status txd_hf_index(txd_checkpoint *checkpoint)
{
    size_t count = txd_trace_count(checkpoint->trace);
    struct txd_hf_tensor *tensors =
        txd_arena_alloc(checkpoint->arena, count, sizeof *tensors);
    txd_trace_info info;

    if (!tensors)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        TXD_TRY(txd_trace_get(checkpoint->trace, &info, i));
        tensors[i] = (struct txd_hf_tensor){.name = info.name, .index = i};
    }
    if (count > 1)
        qsort(tensors, count, sizeof *tensors, compare_tensors);
    checkpoint->tensors = tensors;
    checkpoint->count = count;
    find_prefix(checkpoint);
    return TXD_OK;
}

struct txd_hf_tensor *txd_hf_find(const txd_checkpoint *checkpoint, const char *name)
{
    struct txd_hf_tensor wanted = {.name = name};

    if (checkpoint->count == 0)
        return NULL;
    return bsearch(&wanted, checkpoint->tensors, checkpoint->count, sizeof wanted,
                   compare_tensors);
}

const struct txd_hf_name *txd_hf_name_of(char *text, size_t bytes,
                                         const txd_checkpoint *checkpoint,
                                         txd_param_id id, int layer)
{
    const struct txd_hf_family *family = checkpoint->family;
    const struct txd_hf_name *name = family->names;
    const struct txd_hf_name *end = name + family->name_count;

    while (name < end && name->id != id)
        name++;
    if (name == end)
        return NULL;
    if (id == TXD_PARAM_HEAD_WEIGHT)
        snprintf(text, bytes, "%s", name->name);
    else if (txd_param_per_layer(id))
        snprintf(text, bytes, "%s%s%d.%s", checkpoint->prefix, family->layer, layer,
                 name->name);
    else
        snprintf(text, bytes, "%s%s", checkpoint->prefix, name->name);
    return name;
}

txd_status txd_hf_check_unused(const txd_checkpoint *checkpoint)
{
    const char *first = NULL;
    size_t count = 0;

    for (size_t i = 0; i < checkpoint->count; i++) {
        const struct txd_hf_tensor *tensor = &checkpoint->tensors[i];

        if (tensor->used || is_buffer(checkpoint, tensor->name))
            continue;
        first = first ? first : tensor->name;
        count++;
    }
    if (count == 0)
        return TXD_OK;
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: tensor \"%.200s\"%s no place in a %s model as config.json "
                    "describes it",
                    checkpoint->path, first, count == 1 ? " has" : " (and others) have",
                    checkpoint->family->name);
}
