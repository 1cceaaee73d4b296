/* SPDX-License-Identifier: MIT
 *
 * What a GGUF file of the same model would say. That of which the format has no field
 * is as llama2.c's programs have it.
 */
#include "formats/llama2c_internal.h"

#define ROPE_BASE 10000.0
#define NORM_EPS 1e-5

static txd_status put_size(txd_arena *arena, txd_setting *group, const char *name,
                           size_t value)
{
    txd_setting *s = txd_setting_add(arena, group, name, TXD_SETTING_INT);

    if (!s)
        return TXD_ERR_MEMORY;
    s->integer = (int64_t)value;
    s->real = (double)value;
    return TXD_OK;
}

static txd_status put_real(txd_arena *arena, txd_setting *group, const char *name,
                           double value)
{
    txd_setting *s = txd_setting_add(arena, group, name, TXD_SETTING_REAL);

    if (!s)
        return TXD_ERR_MEMORY;
    s->real = value;
    return TXD_OK;
}

txd_status txd_llama2c_settings(txd_setting **out, txd_arena *arena, const char *name,
                                const txd_llama2c_sizes *s)
{
    txd_setting *root = txd_setting_root(arena, txd_arena_string(arena, name));
    txd_setting *general, *word, *llama, *attention, *rope;

    if (!root)
        return TXD_ERR_MEMORY;
    general = txd_setting_add(arena, root, "general", TXD_SETTING_GROUP);
    llama = txd_setting_add(arena, root, "llama", TXD_SETTING_GROUP);
    if (!general || !llama)
        return TXD_ERR_MEMORY;
    word = txd_setting_add(arena, general, "architecture", TXD_SETTING_STRING);
    attention = txd_setting_add(arena, llama, "attention", TXD_SETTING_GROUP);
    rope = txd_setting_add(arena, llama, "rope", TXD_SETTING_GROUP);
    if (!word || !attention || !rope)
        return TXD_ERR_MEMORY;
    word->string = "llama";
    word->string_length = 5;
    TXD_TRY(put_size(arena, llama, "block_count", s->layers));
    TXD_TRY(put_size(arena, llama, "context_length", s->length));
    TXD_TRY(put_size(arena, llama, "embedding_length", s->dim));
    TXD_TRY(put_size(arena, llama, "feed_forward_length", s->hidden));
    TXD_TRY(put_size(arena, llama, "vocab_size", s->vocab));
    TXD_TRY(put_size(arena, attention, "head_count", s->heads));
    TXD_TRY(put_size(arena, attention, "head_count_kv", s->kv_heads));
    TXD_TRY(put_real(arena, attention, "layer_norm_rms_epsilon", NORM_EPS));
    TXD_TRY(put_size(arena, rope, "dimension_count", s->dim / s->heads));
    TXD_TRY(put_real(arena, rope, "freq_base", ROPE_BASE));
    *out = root;
    return TXD_OK;
}
