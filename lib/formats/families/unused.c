/* SPDX-License-Identifier: MIT
 *
 * What a file states and no reader asked for. GGUF metadata has a key only where
 * somebody's arithmetic depends on it, so an unknown one is refused; config.json has
 * what any library ever wrote, and counts by what the family's own library reads.
 */
#include <string.h>

#include "formats/families/family_internal.h"

/* Keys below the architecture that change nothing where no reader asks for them: what
 * the scaling of another kind needs, the term in norms of the other kind, and how the
 * file came to be. */
static const char *const harmless[] = {
    "attention.layer_norm_epsilon",
    "attention.layer_norm_rms_epsilon",
    "classifier.output_labels",
    "context_length",
    "pooling_type",
    "rope.scaling.finetuned",
    "rope.scaling.original_context_length",
    "rope.scaling.yarn_beta_fast",
    "rope.scaling.yarn_beta_slow",
    "tensor_data_layout",
};
/* The same where no positions turn. */
static const char *const harmless_unturned[] = {"rope.dimension_count",
                                                "rope.freq_base"};

/* Fields of config.json of which nobody expects that they change what a model computes
 * from tokens; '*' stands for any letters at the end or the beginning. */
static const char *const dull[] = {
    "*_token_id",
    "*_dropout",
    "*_dropout_prob",
    "*_dropout_p",
    "*pdrop",
    "dropout*",
    "layerdrop",
    "initializer_*",
    "_name_or_path",
    "_attn_implementation*",
    "architectures",
    "auto_map",
    "bos_token*",
    "dtype",
    "eos_token*",
    "gradient_checkpointing",
    "id2label",
    "label2id",
    "model_type",
    "n_ctx",
    "output_attentions",
    "output_hidden_states",
    "return_dict*",
    "task_specific_params",
    "tokenizer_class",
    "torch_dtype",
    "transformers_version",
    "use_cache",
};

static bool fits(const char *pattern, const char *name)
{
    size_t length = strlen(pattern), have = strlen(name);

    if (pattern[0] == '*')
        return have >= length - 1 &&
               strcmp(name + have - (length - 1), pattern + 1) == 0;
    if (pattern[length - 1] == '*')
        return strncmp(pattern, name, length - 1) == 0;
    return strcmp(pattern, name) == 0;
}

static bool is_among(const char *const *words, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (fits(words[i], name))
            return true;
    return false;
}

static bool was_asked(const txd_setting *setting)
{
    if (setting->asked && *setting->asked)
        return true;
    if (setting->kind == TXD_SETTING_GROUP)
        for (const txd_setting *s = setting->child; s; s = s->next)
            if (was_asked(s))
                return true;
    return false;
}

/* The path of a setting below `top`. */
static void write_path(txd_text *out, const txd_setting *setting,
                       const txd_setting *top)
{
    if (setting->parent && setting->parent != top) {
        write_path(out, setting->parent, top);
        txd_text_add(out, ".");
    }
    txd_text_addf(out, "%.100s", setting->name);
}

/* The keys of an architecture: all that have no keys below them. */
static txd_status refuse_below(const txd_reading *r, const txd_setting *group,
                               const txd_setting *top)
{
    char place[512];
    txd_status status = TXD_OK;

    for (const txd_setting *s = group->child; s && status == TXD_OK; s = s->next) {
        txd_text path;

        if (s->kind == TXD_SETTING_GROUP) {
            status = refuse_below(r, s, top);
            continue;
        }
        if (was_asked(s))
            continue;
        txd_text_init(&path);
        write_path(&path, s, top);
        if (!is_among(harmless, TXD_COUNT_OF(harmless), txd_text_get(&path)) &&
            !(r->config.positions != TXD_POSITIONS_ROTARY &&
              is_among(harmless_unturned, TXD_COUNT_OF(harmless_unturned),
                       txd_text_get(&path))))
            status =
                txd_fail(TXD_ERR_UNSUPPORTED,
                         "%s: not known in a %s model; it may change what the "
                         "model computes",
                         txd_setting_place(place, sizeof place, s), r->family->name);
        txd_text_finish(&path);
    }
    return status;
}

txd_status txd_family_refuse_unknown(const txd_reading *r)
{
    const txd_setting *group =
        r->architecture ? txd_setting_find(r->file, r->architecture) : NULL;

    return group ? refuse_below(r, group, group) : TXD_OK;
}

static void list_below(txd_text *out, const txd_reading *r, const txd_setting *group)
{
    for (const txd_setting *s = group->child; s; s = s->next) {
        if (s->kind == TXD_SETTING_GROUP && (r->architecture || was_asked(s))) {
            list_below(out, r, s);
            continue;
        }
        if (was_asked(s) || s->kind == TXD_SETTING_NULL ||
            (!r->architecture && is_among(dull, TXD_COUNT_OF(dull), s->name)))
            continue;
        if (out->length > 0)
            txd_text_add(out, ", ");
        write_path(out, s, r->file);
    }
}

void txd_family_list_unused(txd_text *out, const txd_reading *r)
{
    const txd_setting *top =
        r->architecture ? txd_setting_find(r->file, r->architecture) : r->file;

    if (top && top->kind == TXD_SETTING_GROUP)
        list_below(out, r, top);
}
