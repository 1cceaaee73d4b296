/* SPDX-License-Identifier: MIT
 *
 * The steps that tokenizer.json states: `normalizer`, `pre_tokenizer`,
 * `post_processor` and `decoder`, each one thing or a Sequence of them.
 */
#include <stdio.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"

#define GPT2                                                                           \
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| "                                    \
    "?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+"
#define PUNCTUATION "[!-/:-@\\[-`{-~\\p{P}]"

typedef txd_status (*reader)(txd_tokenizer *tokenizer, const txd_setting *setting);

static bool is_none(const txd_setting *setting)
{
    return !setting || setting->kind == TXD_SETTING_NULL;
}

static const char *type_of(const txd_setting *setting)
{
    const txd_setting *type = txd_setting_find(setting, "type");

    return type && type->kind == TXD_SETTING_STRING ? type->string : "";
}

txd_status txd_tokenizer_refuse(const txd_setting *setting, const char *what)
{
    char place[512];

    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "%s: %s is not supported; input.tokens takes ids instead of a text",
                    txd_setting_place(place, sizeof place, setting), what);
}

static txd_status refuse_type(const txd_setting *setting)
{
    const txd_setting *type = txd_setting_find(setting, "type");
    char what[120];

    snprintf(what, sizeof what, "\"%.80s\"", type_of(setting));
    return txd_tokenizer_refuse(type ? type : setting, *type_of(setting) ? what : "it");
}

/* Every element of a Sequence's list. */
static txd_status read_all(txd_tokenizer *tokenizer, const txd_setting *setting,
                           const char *list, reader read)
{
    const txd_setting *all = txd_setting_find(setting, list);

    if (!all || all->kind != TXD_SETTING_LIST)
        return txd_tokenizer_refuse(setting, "a Sequence without its list");
    for (const txd_setting *child = all->child; child; child = child->next)
        TXD_TRY(read(tokenizer, child));
    return TXD_OK;
}

static txd_status take_text(txd_bytes *out, txd_tokenizer *tokenizer,
                            const txd_setting *setting, const char *path)
{
    const txd_setting *text = txd_setting_find(setting, path);

    if (is_none(text))
        return TXD_OK;
    if (text->kind != TXD_SETTING_STRING)
        return txd_tokenizer_refuse(text, "anything but a string");
    *out = txd_tokenizer_keep(tokenizer, text->string, text->string_length);
    return out->at ? TXD_OK : TXD_ERR_MEMORY;
}

/* pattern: { String: ... } or { Regex: ... }; a string becomes `find`. */
static txd_status take_pattern(txd_text_step *step, txd_tokenizer *tokenizer,
                               const txd_setting *setting)
{
    const txd_setting *regex = txd_setting_find(setting, "pattern.Regex");
    char place[512];
    txd_status status;

    if (!regex) {
        TXD_TRY(take_text(&step->find, tokenizer, setting, "pattern.String"));
        return step->find.length > 0
                   ? TXD_OK
                   : txd_tokenizer_refuse(setting, "a pattern of another kind");
    }
    if (regex->kind != TXD_SETTING_STRING)
        return txd_tokenizer_refuse(regex, "anything but a string");
    status = txd_pattern_create(&step->pattern, regex->string, regex->string_length);
    return status == TXD_OK
               ? TXD_OK
               : txd_fail_prefix(status, "%s",
                                 txd_setting_place(place, sizeof place, regex));
}

static txd_status read_replace(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    txd_text_step *step = txd_steps_add(&tokenizer->normal, TXD_STEP_REPLACE);

    if (!step)
        return TXD_ERR_MEMORY;
    TXD_TRY(take_text(&step->text, tokenizer, setting, "content"));
    return take_pattern(step, tokenizer, setting);
}

static txd_status read_prepend(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    txd_text_step *step = txd_steps_add(&tokenizer->normal, TXD_STEP_PREPEND);

    return step ? take_text(&step->text, tokenizer, setting, "prepend")
                : TXD_ERR_MEMORY;
}

static txd_status read_strip(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    txd_text_step *step = txd_steps_add(&tokenizer->normal, TXD_STEP_STRIP);

    if (!step)
        return TXD_ERR_MEMORY;
    step->left = step->right = true;
    TXD_TRY(txd_setting_bool(&step->left, setting, "strip_left"));
    return txd_setting_bool(&step->right, setting, "strip_right");
}

static txd_status read_bert(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    bool clean = true, chinese = true, lower = true, accents;

    TXD_TRY(txd_setting_bool(&clean, setting, "clean_text"));
    TXD_TRY(txd_setting_bool(&chinese, setting, "handle_chinese_chars"));
    TXD_TRY(txd_setting_bool(&lower, setting, "lowercase"));
    accents = lower;
    TXD_TRY(txd_setting_bool(&accents, setting, "strip_accents"));
    return txd_tokenizer_bert_normal(tokenizer, clean, chinese, accents, lower);
}

txd_status txd_tokenizer_read_normalizer(txd_tokenizer *tokenizer,
                                         const txd_setting *setting)
{
    const char *type = is_none(setting) ? "" : type_of(setting);
    static const struct {
        const char *type;
        txd_step_kind kind;
    } plain[] = {
        {"NFC", TXD_STEP_NFC}, {"NFD", TXD_STEP_NFD}, {"Lowercase", TXD_STEP_LOWER}};

    if (is_none(setting))
        return TXD_OK;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i].type) == 0)
            return txd_steps_add(&tokenizer->normal, plain[i].kind) ? TXD_OK
                                                                    : TXD_ERR_MEMORY;
    if (strcmp(type, "Sequence") == 0)
        return read_all(tokenizer, setting, "normalizers",
                        txd_tokenizer_read_normalizer);
    if (strcmp(type, "Replace") == 0)
        return read_replace(tokenizer, setting);
    if (strcmp(type, "Prepend") == 0)
        return read_prepend(tokenizer, setting);
    if (strcmp(type, "Strip") == 0)
        return read_strip(tokenizer, setting);
    if (strcmp(type, "StripAccents") == 0)
        return txd_steps_replace(tokenizer, "\\p{M}", "", NULL);
    if (strcmp(type, "BertNormalizer") == 0)
        return read_bert(tokenizer, setting);
    return refuse_type(setting);
}

static txd_status take_cut(txd_cut *out, const txd_setting *setting)
{
    static const char *const words[] = {"Isolated", "Removed", "Contiguous",
                                        "MergedWithPrevious", "MergedWithNext"};
    int choice = (int)*out;

    TXD_TRY(txd_setting_choice(&choice, setting, "behavior", words, 5));
    *out = (txd_cut)choice;
    return TXD_OK;
}

/* A text as a pattern that finds it and nothing else. */
static txd_status quote(txd_text_step *step, const char *text, size_t length)
{
    txd_text regex;
    txd_status status;

    txd_text_init(&regex);
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool plain = c >= 0x80 || (c >= '0' && c <= '9') ||
                     ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');

        if (plain)
            txd_text_add_bytes(&regex, text + i, 1);
        else
            txd_text_addf(&regex, "\\x{%x}", (unsigned)c);
    }
    status = txd_text_status(&regex);
    if (status == TXD_OK)
        status = txd_pattern_create(&step->pattern, txd_text_get(&regex), regex.length);
    txd_text_finish(&regex);
    return status;
}

static txd_status read_split(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    txd_text_step *step = txd_steps_add(&tokenizer->cuts, TXD_STEP_CUT);

    if (!step)
        return TXD_ERR_MEMORY;
    TXD_TRY(take_cut(&step->cut, setting));
    TXD_TRY(txd_setting_bool(&step->invert, setting, "invert"));
    TXD_TRY(take_pattern(step, tokenizer, setting));
    return step->pattern ? TXD_OK : quote(step, step->find.at, step->find.length);
}

static txd_status read_byte_level(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    bool prefix = true, regex = true;

    TXD_TRY(txd_setting_bool(&prefix, setting, "add_prefix_space"));
    TXD_TRY(txd_setting_bool(&regex, setting, "use_regex"));
    if (prefix && !txd_steps_add(&tokenizer->cuts, TXD_STEP_PREFIX))
        return TXD_ERR_MEMORY;
    if (regex)
        TXD_TRY(txd_steps_cut(tokenizer, GPT2, TXD_CUT_ISOLATED, false));
    tokenizer->byte_level = true;
    return txd_steps_add(&tokenizer->cuts, TXD_STEP_MAP) ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status read_metaspace(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    static const char *const schemes[] = {"always", "first", "never"};
    bool prefix = true, cuts = true;
    int scheme;
    txd_text_step *step = txd_steps_add(&tokenizer->cuts, TXD_STEP_METASPACE);

    if (!step)
        return TXD_ERR_MEMORY;
    TXD_TRY(take_text(&step->text, tokenizer, setting, "replacement"));
    if (step->text.length == 0)
        step->text = (txd_bytes){"\xE2\x96\x81", 3};
    tokenizer->blank = step->text;
    TXD_TRY(txd_setting_bool(&prefix, setting, "add_prefix_space"));
    scheme = prefix ? TXD_PREPEND_ALWAYS : TXD_PREPEND_NEVER;
    TXD_TRY(txd_setting_choice(&scheme, setting, "prepend_scheme", schemes, 3));
    TXD_TRY(txd_setting_bool(&cuts, setting, "split"));
    step->prepend = (txd_prepend)scheme;
    step->left = cuts;
    return TXD_OK;
}

static txd_status read_digits(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    bool single = false;

    TXD_TRY(txd_setting_bool(&single, setting, "individual_digits"));
    return txd_steps_cut(tokenizer, "\\p{N}",
                         single ? TXD_CUT_ISOLATED : TXD_CUT_CONTIGUOUS, false);
}

static txd_status read_punctuation(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    txd_cut cut = TXD_CUT_ISOLATED;

    TXD_TRY(take_cut(&cut, setting));
    return txd_steps_cut(tokenizer, PUNCTUATION, cut, false);
}

txd_status txd_tokenizer_read_cuts(txd_tokenizer *tokenizer, const txd_setting *setting)
{
    static const struct {
        const char *type;
        reader read;
    } kinds[] = {{"Split", read_split},
                 {"ByteLevel", read_byte_level},
                 {"Metaspace", read_metaspace},
                 {"Digits", read_digits},
                 {"Punctuation", read_punctuation}};
    const char *type = is_none(setting) ? "" : type_of(setting);

    if (is_none(setting))
        return TXD_OK;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(type, kinds[i].type) == 0)
            return kinds[i].read(tokenizer, setting);
    if (strcmp(type, "Sequence") == 0)
        return read_all(tokenizer, setting, "pretokenizers", txd_tokenizer_read_cuts);
    if (strcmp(type, "Whitespace") == 0)
        return txd_steps_cut(tokenizer, "\\w+|[^\\w\\s]+", TXD_CUT_REMOVED, true);
    if (strcmp(type, "WhitespaceSplit") == 0)
        return txd_steps_cut(tokenizer, "\\s", TXD_CUT_REMOVED, false);
    if (strcmp(type, "BertPreTokenizer") == 0)
        return txd_tokenizer_bert_cuts(tokenizer);
    return refuse_type(setting);
}

txd_status txd_tokenizer_bert_cuts(txd_tokenizer *tokenizer)
{
    TXD_TRY(txd_steps_cut(tokenizer, "\\s", TXD_CUT_REMOVED, false));
    return txd_steps_cut(tokenizer, PUNCTUATION, TXD_CUT_ISOLATED, false);
}

txd_status txd_tokenizer_bert_normal(txd_tokenizer *tokenizer, bool clean, bool chinese,
                                     bool accents, bool lower)
{
    if (clean) {
        TXD_TRY(txd_steps_replace(
            tokenizer, "(?![\\t\\n\\r])[\\x{0}\\x{FFFD}\\p{Cc}\\p{Cf}\\p{Co}]", "",
            NULL));
        TXD_TRY(txd_steps_replace(tokenizer, "\\s", " ", NULL));
    }
    if (chinese)
        TXD_TRY(txd_steps_replace(
            tokenizer,
            "[\\x{4E00}-\\x{9FFF}\\x{3400}-\\x{4DBF}\\x{20000}-\\x{2A6DF}"
            "\\x{2A700}-\\x{2B73F}\\x{2B740}-\\x{2B81F}\\x{2B920}-\\x{2CEAF}"
            "\\x{F900}-\\x{FAFF}\\x{2F800}-\\x{2FA1F}]",
            " ", " "));
    if (accents) {
        if (!txd_steps_add(&tokenizer->normal, TXD_STEP_NFD))
            return TXD_ERR_MEMORY;
        TXD_TRY(txd_steps_replace(tokenizer, "\\p{Mn}", "", NULL));
    }
    if (lower && !txd_steps_add(&tokenizer->normal, TXD_STEP_LOWER))
        return TXD_ERR_MEMORY;
    return TXD_OK;
}
