/* SPDX-License-Identifier: MIT
 *
 * tokenizer.json. Its vocabulary and merges, of megabytes, are read from front to back;
 * everything else as a tree.
 */
#include <stdio.h>
#include <string.h>

#include "formats/json_read.h"
#include "formats/tokenizers/tokenizer_internal.h"

/* What is known once the whole file has been looked at. */
struct parts {
    txd_setting *normalizer, *cuts, *frame, *decoder, *added;
    txd_setting *model;   /* its fields but vocab and merges; NULL kinds are absent */
    size_t vocab, merges; /* where they begin; 0 = absent */
};

/* A value as a tree, whose file is the name of the field, so that messages have it. */
static txd_status take_tree(txd_setting **out, txd_tokenizer *tokenizer,
                            txd_json_cursor *cursor, const char *field)
{
    size_t begin;
    char name[600];

    txd_json_peek(cursor);
    begin = cursor->at;
    TXD_TRY(txd_json_skip(cursor));
    snprintf(name, sizeof name, "%s: %s", tokenizer->name, field);
    return txd_json_parse(out, tokenizer->arena, name, cursor->bytes + begin,
                          cursor->at - begin);
}

static txd_status take_model(struct parts *parts, txd_tokenizer *tokenizer,
                             txd_json_cursor *cursor)
{
    bool more = false;
    txd_setting *root = txd_setting_root(tokenizer->arena, tokenizer->name);

    if (root)
        parts->model =
            txd_setting_add(tokenizer->arena, root, "model", TXD_SETTING_GROUP);
    if (!parts->model)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_json_enter(cursor, '{'));
    TXD_TRY(txd_json_next(&more, cursor, '}'));
    while (more) {
        char key[40], field[64];
        txd_setting *value = NULL, *copy;

        TXD_TRY(txd_json_take_key(cursor));
        snprintf(key, sizeof key, "%s", txd_text_get(&cursor->string));
        txd_json_peek(cursor);
        if (strcmp(key, "vocab") == 0 || strcmp(key, "merges") == 0) {
            *(key[0] == 'v' ? &parts->vocab : &parts->merges) = cursor->at;
            TXD_TRY(txd_json_skip(cursor));
        } else {
            snprintf(field, sizeof field, "model.%s", key);
            TXD_TRY(take_tree(&value, tokenizer, cursor, field));
            copy = txd_setting_add(tokenizer->arena, parts->model, key, value->kind);
            if (!copy)
                return TXD_ERR_MEMORY;
            copy->boolean = value->boolean;
            copy->integer = value->integer;
            copy->real = value->real;
            copy->string = value->string;
            copy->string_length = value->string_length;
        }
        TXD_TRY(txd_json_next(&more, cursor, '}'));
    }
    return TXD_OK;
}

static txd_status take_parts(struct parts *parts, txd_tokenizer *tokenizer,
                             txd_json_cursor *cursor)
{
    const struct {
        const char *key;
        txd_setting **to;
    } trees[] = {{"normalizer", &parts->normalizer},
                 {"pre_tokenizer", &parts->cuts},
                 {"post_processor", &parts->frame},
                 {"decoder", &parts->decoder},
                 {"added_tokens", &parts->added}};
    bool more = false;

    TXD_TRY(txd_json_enter(cursor, '{'));
    TXD_TRY(txd_json_next(&more, cursor, '}'));
    while (more) {
        const char *key;
        size_t i = 0, count = sizeof trees / sizeof *trees;

        TXD_TRY(txd_json_take_key(cursor));
        key = txd_text_get(&cursor->string);
        while (i < count && strcmp(key, trees[i].key) != 0)
            i++;
        if (i < count)
            TXD_TRY(take_tree(trees[i].to, tokenizer, cursor, trees[i].key));
        else if (strcmp(key, "model") == 0)
            TXD_TRY(take_model(parts, tokenizer, cursor));
        else
            TXD_TRY(txd_json_skip(cursor));
        TXD_TRY(txd_json_next(&more, cursor, '}'));
    }
    if (txd_json_peek(cursor) != '\0' || cursor->at < cursor->count)
        return txd_json_expected(cursor, "the end");
    return TXD_OK;
}

/* A piece takes at least its quotes, a colon, a digit and a bracket or comma. */
txd_status txd_tokenizer_read_vocab(txd_tokenizer *tokenizer,
                                    struct txd_json_cursor *cursor)
{
    size_t most = cursor->count / 4;
    bool more = false;
    int64_t id;

    TXD_TRY(txd_json_enter(cursor, '{'));
    TXD_TRY(txd_json_next(&more, cursor, '}'));
    while (more) {
        txd_bytes piece;

        TXD_TRY(txd_json_take_key(cursor));
        piece = (txd_bytes){txd_text_get(&cursor->string), cursor->string.length};
        TXD_TRY(txd_json_take_integer(&id, cursor));
        TXD_TRY(txd_vocab_add(tokenizer, id, piece.at, piece.length, most));
        TXD_TRY(txd_json_next(&more, cursor, '}'));
    }
    return TXD_OK;
}

/* A merge is "left right" or ["left", "right"]. */
static txd_status take_merge(txd_tokenizer *tokenizer, txd_json_cursor *cursor)
{
    txd_text left;
    bool more;
    txd_status status;

    if (txd_json_peek(cursor) == '"') {
        TXD_TRY(txd_json_take_string(cursor));
        return txd_merges_add_line(tokenizer, txd_text_get(&cursor->string),
                                   cursor->string.length);
    }
    TXD_TRY(txd_json_enter(cursor, '['));
    TXD_TRY(txd_json_next(&more, cursor, ']'));
    TXD_TRY(txd_json_take_string(cursor));
    txd_text_init(&left);
    txd_text_add_bytes(&left, txd_text_get(&cursor->string), cursor->string.length);
    status = txd_json_next(&more, cursor, ']');
    if (status == TXD_OK)
        status = txd_json_take_string(cursor);
    if (status == TXD_OK)
        status = txd_merges_add(
            tokenizer, (txd_bytes){txd_text_get(&left), left.length},
            (txd_bytes){txd_text_get(&cursor->string), cursor->string.length});
    txd_text_finish(&left);
    TXD_TRY(status);
    TXD_TRY(txd_json_next(&more, cursor, ']'));
    return more ? txd_json_expected(cursor, "two pieces") : TXD_OK;
}

static txd_status read_merges(txd_tokenizer *tokenizer, txd_json_cursor *cursor)
{
    size_t begin, count = 0;
    bool more = false;

    txd_json_peek(cursor);
    begin = cursor->at;
    TXD_TRY(txd_json_enter(cursor, '['));
    TXD_TRY(txd_json_next(&more, cursor, ']'));
    for (; more; count++) {
        TXD_TRY(txd_json_skip(cursor));
        TXD_TRY(txd_json_next(&more, cursor, ']'));
    }
    TXD_TRY(txd_merges_make(tokenizer, count));
    cursor->at = begin;
    TXD_TRY(txd_json_enter(cursor, '['));
    TXD_TRY(txd_json_next(&more, cursor, ']'));
    while (more) {
        TXD_TRY(take_merge(tokenizer, cursor));
        TXD_TRY(txd_json_next(&more, cursor, ']'));
    }
    return TXD_OK;
}

static txd_status read_added(txd_tokenizer *tokenizer, const txd_setting *one,
                             size_t most)
{
    const txd_setting *content = txd_setting_find(one, "content");
    txd_added added = {.normalized = true};
    size_t id = SIZE_MAX;

    TXD_TRY(txd_setting_size(&id, one, "id", 0, INT32_MAX - 1));
    if (!content || content->kind != TXD_SETTING_STRING || id == SIZE_MAX)
        return txd_tokenizer_refuse(one, "an added token without id or content");
    TXD_TRY(txd_setting_bool(&added.single_word, one, "single_word"));
    TXD_TRY(txd_setting_bool(&added.lstrip, one, "lstrip"));
    TXD_TRY(txd_setting_bool(&added.rstrip, one, "rstrip"));
    TXD_TRY(txd_setting_bool(&added.special, one, "special"));
    added.normalized = !added.special;
    TXD_TRY(txd_setting_bool(&added.normalized, one, "normalized"));
    if (id >= tokenizer->vocab.count || !tokenizer->vocab.pieces[id].at)
        TXD_TRY(txd_vocab_add(tokenizer, (int64_t)id, content->string,
                              content->string_length, most));
    added.id = (int32_t)id;
    added.text = txd_tokenizer_keep(tokenizer, content->string, content->string_length);
    return added.text.at ? txd_added_put(tokenizer, &added) : TXD_ERR_MEMORY;
}

/* Files of before the type was stated. */
static const char *model_type(const struct parts *parts)
{
    const txd_setting *type = txd_setting_find(parts->model, "type");

    if (type && type->kind == TXD_SETTING_STRING)
        return type->string;
    return parts->merges ? "BPE" : "WordPiece";
}

static txd_status refuse_model(const struct parts *parts)
{
    static const char *const no[] = {"continuing_subword_prefix", "end_of_word_suffix"};
    const txd_setting *type = txd_setting_find(parts->model, "type");
    const txd_setting *dropout = txd_setting_find(parts->model, "dropout");
    const char *name = model_type(parts);
    char what[100];

    snprintf(what, sizeof what, "a tokenizer of the type \"%.60s\"", name);
    if (strcmp(name, "WordPiece") == 0)
        return TXD_OK;
    if (strcmp(name, "BPE") != 0)
        return txd_tokenizer_refuse(type, what);
    if (dropout && dropout->real > 0)
        return txd_tokenizer_refuse(dropout, "leaving out merges at random");
    for (size_t i = 0; i < sizeof no / sizeof *no; i++) {
        const txd_setting *field = txd_setting_find(parts->model, no[i]);

        if (field && field->kind == TXD_SETTING_STRING && field->string_length > 0)
            return txd_tokenizer_refuse(field, "any text here");
    }
    return TXD_OK;
}

/* The id of a piece that a field names. */
static txd_status read_unknown(txd_tokenizer *tokenizer, const txd_setting *model)
{
    const char *piece = NULL;

    TXD_TRY(txd_setting_string(&piece, model, "unk_token"));
    if (piece)
        tokenizer->unknown = txd_vocab_find(&tokenizer->vocab, piece, strlen(piece));
    if (piece && tokenizer->unknown < 0)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: model.unk_token: \"%.60s\" is not in the vocabulary",
                        tokenizer->name, piece);
    return TXD_OK;
}

static txd_status read_fields(txd_tokenizer *tokenizer, const txd_setting *model)
{
    bool fallback = false;
    size_t longest = 100;
    const char *prefix = "##";

    TXD_TRY(read_unknown(tokenizer, model));
    TXD_TRY(txd_setting_bool(&fallback, model, "byte_fallback"));
    TXD_TRY(txd_setting_bool(&tokenizer->fuse_unknown, model, "fuse_unk"));
    TXD_TRY(txd_setting_bool(&tokenizer->ignore_merges, model, "ignore_merges"));
    if (fallback)
        txd_tokenizer_find_bytes(tokenizer);
    if (tokenizer->model != TXD_TOKENS_WORDS)
        return TXD_OK;
    TXD_TRY(txd_setting_string(&prefix, model, "continuing_subword_prefix"));
    TXD_TRY(txd_setting_size(&longest, model, "max_input_chars_per_word", 0, 1 << 20));
    tokenizer->longest_word = longest;
    tokenizer->continuing = txd_tokenizer_keep(tokenizer, prefix, strlen(prefix));
    return tokenizer->continuing.at ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status read_model(txd_tokenizer *tokenizer, const struct parts *parts,
                             txd_json_cursor *cursor)
{
    const txd_setting *added = parts->added ? parts->added->child : NULL;

    if (!parts->model || !parts->vocab)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected the vocabulary of a tokenizer, model.vocab",
                        tokenizer->name);
    TXD_TRY(refuse_model(parts));
    tokenizer->model =
        strcmp(model_type(parts), "BPE") == 0 ? TXD_TOKENS_RANKS : TXD_TOKENS_WORDS;
    cursor->at = parts->vocab;
    TXD_TRY(txd_tokenizer_read_vocab(tokenizer, cursor));
    TXD_TRY(txd_vocab_index(tokenizer)); /* merges know no added tokens */
    if (parts->merges) {
        cursor->at = parts->merges;
        TXD_TRY(read_merges(tokenizer, cursor));
    }
    TXD_TRY(read_fields(tokenizer, parts->model));
    for (; added; added = added->next)
        TXD_TRY(read_added(tokenizer, added, cursor->count / 4));
    return TXD_OK;
}

txd_status txd_tokenizer_read_json(txd_tokenizer *tokenizer, const char *bytes,
                                   size_t count)
{
    txd_json_cursor cursor = {.name = tokenizer->name, .bytes = bytes, .count = count};
    struct parts parts = {0};
    txd_status status;

    txd_text_init(&cursor.string);
    status = take_parts(&parts, tokenizer, &cursor);
    if (status == TXD_OK)
        status = read_model(tokenizer, &parts, &cursor);
    txd_text_finish(&cursor.string);
    TXD_TRY(status);
    TXD_TRY(txd_tokenizer_read_normalizer(tokenizer, parts.normalizer));
    TXD_TRY(txd_tokenizer_read_cuts(tokenizer, parts.cuts));
    TXD_TRY(txd_tokenizer_read_frame(tokenizer, parts.frame));
    return txd_tokenizer_read_decoder(tokenizer, parts.decoder);
}
