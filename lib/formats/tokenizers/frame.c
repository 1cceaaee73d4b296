/* SPDX-License-Identifier: MIT
 *
 * What tokenizer.json puts around the ids of a text (`post_processor`) and how ids
 * become text again (`decoder`).
 */
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"

static const char *type_of(const txd_setting *setting)
{
    const txd_setting *type = txd_setting_find(setting, "type");

    return type && type->kind == TXD_SETTING_STRING ? type->string : "";
}

static bool is_none(const txd_setting *setting)
{
    return !setting || setting->kind == TXD_SETTING_NULL;
}

/* A member by its name, which may hold dots. */
static const txd_setting *member(const txd_setting *group, const char *name)
{
    const txd_setting *child = group ? group->child : NULL;

    while (child && (!child->name || strcmp(child->name, name) != 0))
        child = child->next;
    return child;
}

static txd_status add_number(txd_ids *ids, const txd_setting *number)
{
    if (number->kind != TXD_SETTING_INT || number->integer < 0 ||
        number->integer > INT32_MAX)
        return txd_tokenizer_refuse(number, "anything but a token id");
    return txd_ids_add(ids, (int32_t)number->integer);
}

/* One item of a template: the text itself, or special tokens. */
static txd_status read_item(txd_ids **to, txd_tokenizer *tokenizer,
                            const txd_setting *frame, const txd_setting *item)
{
    const txd_setting *name = txd_setting_find(item, "SpecialToken.id"), *ids;

    if (txd_setting_find(item, "Sequence")) {
        *to = &tokenizer->after;
        return TXD_OK;
    }
    if (!name || name->kind != TXD_SETTING_STRING)
        return txd_tokenizer_refuse(item, "an item of another kind");
    ids = member(member(member(frame, "special_tokens"), name->string), "ids");
    if (!ids || ids->kind != TXD_SETTING_LIST)
        return txd_tokenizer_refuse(name, "a token that special_tokens does not have");
    for (const txd_setting *id = ids->child; id; id = id->next)
        TXD_TRY(add_number(*to, id));
    return TXD_OK;
}

static txd_status read_template(txd_tokenizer *tokenizer, const txd_setting *frame)
{
    const txd_setting *single = txd_setting_find(frame, "single");
    txd_ids *to = &tokenizer->before;

    if (!single || single->kind != TXD_SETTING_LIST)
        return txd_tokenizer_refuse(single ? single : frame, "a template of this form");
    for (const txd_setting *item = single->child; item; item = item->next)
        TXD_TRY(read_item(&to, tokenizer, frame, item));
    return TXD_OK;
}

/* cls before, sep behind: each ["[CLS]", 101]. */
static txd_status read_pair(txd_tokenizer *tokenizer, const txd_setting *frame)
{
    const txd_setting *cls = txd_setting_find(frame, "cls.1");
    const txd_setting *sep = txd_setting_find(frame, "sep.1");

    if (!cls || !sep)
        return txd_tokenizer_refuse(frame, "this form of it");
    TXD_TRY(add_number(&tokenizer->before, cls));
    return add_number(&tokenizer->after, sep);
}

txd_status txd_tokenizer_read_frame(txd_tokenizer *tokenizer,
                                    const txd_setting *setting)
{
    const char *type = is_none(setting) ? "" : type_of(setting);

    if (is_none(setting) || strcmp(type, "ByteLevel") == 0)
        return TXD_OK; /* which changes no ids */
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(tokenizer, setting);
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)
        return read_pair(tokenizer, setting);
    if (strcmp(type, "Sequence") == 0) {
        const txd_setting *all = txd_setting_find(setting, "processors");

        for (const txd_setting *one = all ? all->child : NULL; one; one = one->next)
            TXD_TRY(txd_tokenizer_read_frame(tokenizer, one));
        return TXD_OK;
    }
    setting =
        txd_setting_find(setting, "type") ? txd_setting_find(setting, "type") : setting;
    return txd_tokenizer_refuse(setting, "this post-processor");
}

/* What a replacement turns into a blank. */
static txd_status read_blank(txd_tokenizer *tokenizer, const txd_setting *setting,
                             const char *path)
{
    const txd_setting *mark = txd_setting_find(setting, path);

    if (!mark || mark->kind != TXD_SETTING_STRING)
        return txd_tokenizer_refuse(setting, "this replacement");
    tokenizer->blank = txd_tokenizer_keep(tokenizer, mark->string, mark->string_length);
    return tokenizer->blank.at ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status read_metaspace(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    const txd_setting *scheme = txd_setting_find(setting, "prepend_scheme");
    bool prefix = true;

    TXD_TRY(txd_setting_bool(&prefix, setting, "add_prefix_space"));
    if (scheme && scheme->kind == TXD_SETTING_STRING)
        prefix = strcmp(scheme->string, "never") != 0;
    tokenizer->strip_first = prefix;
    return txd_setting_find(setting, "replacement")
               ? read_blank(tokenizer, setting, "replacement")
               : TXD_OK;
}

static txd_status read_strip(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    size_t start = 0;

    TXD_TRY(txd_setting_size(&start, setting, "start", 0, 1000));
    tokenizer->strip_first = start > 0;
    return TXD_OK;
}

txd_status txd_tokenizer_read_decoder(txd_tokenizer *tokenizer,
                                      const txd_setting *setting)
{
    const char *type = is_none(setting) ? "" : type_of(setting);
    static const char *const nothing[] = {"", "ByteLevel", "ByteFallback", "Fuse",
                                          "WordPiece"};

    for (size_t i = 0; i < sizeof nothing / sizeof *nothing; i++)
        if (strcmp(type, nothing[i]) == 0)
            return TXD_OK; /* what the model says already */
    if (strcmp(type, "Sequence") == 0) {
        const txd_setting *all = txd_setting_find(setting, "decoders");

        for (const txd_setting *one = all ? all->child : NULL; one; one = one->next)
            TXD_TRY(txd_tokenizer_read_decoder(tokenizer, one));
        return TXD_OK;
    }
    if (strcmp(type, "Replace") == 0)
        return read_blank(tokenizer, setting, "pattern.String");
    if (strcmp(type, "Metaspace") == 0)
        return read_metaspace(tokenizer, setting);
    if (strcmp(type, "Strip") == 0)
        return read_strip(tokenizer, setting);
    setting =
        txd_setting_find(setting, "type") ? txd_setting_find(setting, "type") : setting;
    return txd_tokenizer_refuse(setting, "this decoder");
}
