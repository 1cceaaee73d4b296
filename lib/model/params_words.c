/* SPDX-License-Identifier: MIT
 *
 * params.def for people: conditions in C become conditions in keys of model.cfg, so
 * that nothing has to be written twice.
 */
#include <string.h>

#include "model/params.h"

static const struct {
    const char *name, *axes, *exists;
} table[TXD_PARAM_COUNT] = {
#define TXD_PARAM(id, name, per_layer, axes, exists) {name, axes, #exists},
#include "model/params.def"
#undef TXD_PARAM
};

static const struct {
    char letter;
    const char *words;
} axes[] = {
    {'v', "vocab"},
    {'w', "embed_dim"},
    {'n', "max_seq_len + position_offset"},
    {'t', "token_types"},
    {'d', "d_model"},
    {'m', "d_ff"},
    {'h', "n_heads"},
    {'r', "relative_buckets"},
    {'Q', "n_heads * head_dim"},
    {'K', "n_kv_heads * head_dim"},
    {'V', "n_kv_heads * value_dim"},
    {'A', "(n_heads + n_kv_heads) * head_dim + n_kv_heads * value_dim"},
    {'O', "n_heads * value_dim"},
    {'y', "head_dim, or n_heads * head_dim"},
    {'z', "head_dim, or n_kv_heads * head_dim"},
};

/* The parts of a condition, which && joins. */
static const struct {
    const char *code, *words;
} terms[] = {
    {"true", ""},
    {"!c->is_encoder", ""}, /* encoders have these from their decoder */
    {"HAS_NORM", "norm_placement is not \"branch\""},
    {"HAS_NORM_OVER", "norm_placement is one of \"sandwich\", \"branch\""},
    {"HAS_OTHER_WIDTH", "embed_dim is not d_model"},
    {"c->positions == TXD_POSITIONS_LEARNED", "positions = \"learned\""},
    {"c->positions == TXD_POSITIONS_RELATIVE", "positions = \"relative\""},
    {"c->qkv == TXD_QKV_FUSED", "qkv = \"fused\""},
    {"c->qkv == TXD_QKV_SEPARATE", "qkv = \"separate\""},
    {"c->qk_norm != TXD_QK_NORM_NONE", "qk_norm is not \"none\""},
    {"c->token_types > 0", "token_types > 0"},
    {"!c->shared_norm", "not shared_norm"},
    {"!c->tie_embeddings", "not tie_embeddings"},
};

const char *txd_param_bare_name(txd_param_id id)
{
    return table[id].name;
}

const char *txd_param_axes(txd_param_id id)
{
    return table[id].axes;
}

const char *txd_param_axis_words(char axis)
{
    for (size_t i = 0; i < sizeof axes / sizeof *axes; i++)
        if (axes[i].letter == axis)
            return axes[i].words;
    return NULL;
}

/* "c->cross" is the key "cross". */
static void add_term(txd_text *out, size_t start, const char *code, size_t length)
{
    const char *words = NULL;

    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
        if (strlen(terms[i].code) == length &&
            strncmp(terms[i].code, code, length) == 0)
            words = terms[i].words;
    if (words && !*words)
        return;
    if (out->length > start)
        txd_text_add(out, " and ");
    if (words)
        txd_text_add(out, words);
    else if (length > 3 && strncmp(code, "c->", 3) == 0)
        txd_text_addf(out, "%.*s", (int)(length - 3), code + 3);
    else
        txd_text_addf(out, "%.*s", (int)length, code);
}

void txd_param_add_condition(txd_text *out, txd_param_id id)
{
    const char *code = table[id].exists, *next;
    size_t start = out->length;

    for (; (next = strstr(code, " && ")) != NULL; code = next + 4)
        add_term(out, start, code, (size_t)(next - code));
    add_term(out, start, code, strlen(code));
}
