/* SPDX-License-Identifier: MIT
 *
 * GPT-2's two files: the vocabulary as JSON (vocab.json, encoder.json) and the merges
 * as lines (merges.txt, vocab.bpe); and tokenizer_config.json, which names special
 * tokens.
 */
#include <string.h>

#include "formats/json_read.h"
#include "formats/tokenizers/tokenizer_internal.h"

/* The next line that is neither empty nor the version. */
static bool next_line(txd_bytes *line, txd_bytes *left)
{
    while (left->length > 0) {
        const char *end = memchr(left->at, '\n', left->length);
        size_t length = end ? (size_t)(end - left->at) : left->length;
        size_t used = end ? length + 1 : length;

        *line = (txd_bytes){left->at, length};
        left->at += used;
        left->length -= used;
        if (line->length > 0 && line->at[line->length - 1] == '\r')
            line->length--;
        if (line->length > 0 &&
            (line->length < 9 || memcmp(line->at, "#version:", 9) != 0))
            return true;
    }
    return false;
}

static txd_status read_lines(txd_tokenizer *tokenizer, txd_bytes merges)
{
    txd_bytes left = merges, line;
    size_t count = 0;

    while (next_line(&line, &left))
        count++;
    TXD_TRY(txd_merges_make(tokenizer, count));
    for (left = merges; next_line(&line, &left);)
        TXD_TRY(txd_merges_add_line(tokenizer, line.at, line.length));
    return TXD_OK;
}

/* Tokens that people mean when they write them, if nothing else names them. */
static txd_status put_known(txd_tokenizer *tokenizer)
{
    static const char *const known[] = {"<|endoftext|>", "<s>",   "</s>",
                                        "<unk>",         "<pad>", "<mask>"};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        size_t length = strlen(known[i]);
        txd_added added = {
            .text = {known[i], length},
            .id = txd_vocab_find(&tokenizer->vocab, known[i], length),
            .special = true,
        };

        if (added.id >= 0)
            TXD_TRY(txd_added_put(tokenizer, &added));
        if (added.id >= 0 && i == 0)
            tokenizer->bos = tokenizer->eos = added.id;
    }
    return TXD_OK;
}

static txd_status read_vocab(txd_tokenizer *tokenizer, const txd_merges_files *files)
{
    txd_json_cursor cursor = {
        .name = tokenizer->name, .bytes = files->vocab, .count = files->vocab_count};
    txd_status status;

    txd_text_init(&cursor.string);
    status = txd_tokenizer_read_vocab(tokenizer, &cursor);
    if (status == TXD_OK && txd_json_peek(&cursor) != '\0')
        status = txd_json_expected(&cursor, "the end");
    txd_text_finish(&cursor.string);
    return status;
}

txd_status txd_tokenizer_read_merges(txd_tokenizer *tokenizer,
                                     const txd_merges_files *files)
{
    const txd_bytes merges = {files->merges, files->merges_count};
    const char *name = tokenizer->name;
    txd_status status;

    TXD_TRY(read_vocab(tokenizer, files));
    TXD_TRY(txd_vocab_index(tokenizer));
    if (files->merges_name)
        tokenizer->name = files->merges_name; /* what is wrong now is wrong there */
    status = read_lines(tokenizer, merges);
    tokenizer->name = name;
    TXD_TRY(status);
    tokenizer->model = TXD_TOKENS_RANKS;
    TXD_TRY(put_known(tokenizer));
    return txd_tokenizer_named_cuts(tokenizer, "gpt-2");
}

static int32_t find_added(const txd_added_list *list, const txd_setting *token)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->at[i].text.length == token->string_length &&
            memcmp(list->at[i].text.at, token->string, token->string_length) == 0)
            return list->at[i].id;
    return -1;
}

/* A token is a string, or a group with one. */
static int32_t take_token(const txd_tokenizer *tokenizer, const txd_setting *root,
                          const char *name)
{
    const txd_setting *token = txd_setting_find(root, name);
    int32_t id;

    if (token && token->kind == TXD_SETTING_GROUP)
        token = txd_setting_find(token, "content");
    if (!token || token->kind != TXD_SETTING_STRING)
        return -1;
    id = find_added(&tokenizer->raw, token);
    if (id < 0)
        id = find_added(&tokenizer->normalized, token);
    if (id < 0)
        id = txd_vocab_find(&tokenizer->vocab, token->string, token->string_length);
    return id;
}

txd_status txd_tokenizer_read_names(txd_tokenizer *tokenizer, const char *path,
                                    bool frame)
{
    txd_setting *root = NULL;
    bool begins = false;
    int32_t bos, eos;

    TXD_TRY(txd_json_load(&root, tokenizer->arena, path));
    bos = take_token(tokenizer, root, "bos_token");
    eos = take_token(tokenizer, root, "eos_token");
    tokenizer->bos = bos >= 0 ? bos : tokenizer->bos;
    tokenizer->eos = eos >= 0 ? eos : tokenizer->eos;
    TXD_TRY(txd_setting_bool(&begins, root, "add_bos_token"));
    return frame && begins && bos >= 0 ? txd_ids_add(&tokenizer->before, bos) : TXD_OK;
}
