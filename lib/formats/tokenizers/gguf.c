/* SPDX-License-Identifier: MIT
 *
 * The tokenizer in the metadata of a GGUF file, `tokenizer.ggml.*`: pieces with scores
 * and types, merges, ids of special tokens, and the name of what cuts words.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "formats/gguf.h"
#include "formats/tokenizers/tokenizer_internal.h"

#define PREFIX "tokenizer.ggml."
#define BLANK "\xE2\x96\x81"

enum { NORMAL = 1, UNKNOWN, CONTROL, USER, UNUSED, BYTE };

struct source {
    txd_tokenizer *tokenizer;
    const txd_gguf *gguf;
    const txd_gguf_value *tokens, *scores, *types;
};

static txd_status fail(const struct source *source, const char *key, const char *text)
{
    return txd_fail(TXD_ERR_FORMAT, "%s: %s: %s", source->tokenizer->name, key, text);
}

static const txd_gguf_value *find(const struct source *source, const char *name)
{
    char key[80];

    snprintf(key, sizeof key, PREFIX "%s", name);
    return txd_gguf_find(source->gguf, key);
}

/* A short string; "" if there is none. */
static void take_word(char out[64], const struct source *source, const char *name)
{
    const txd_gguf_value *value = find(source, name);
    txd_gguf_strings strings;
    const char *text;
    size_t length;

    out[0] = '\0';
    if (!value || value->type != TXD_GGUF_STRING || value->is_array)
        return;
    strings = txd_gguf_strings_of(value);
    if (txd_gguf_strings_next(&strings, &text, &length))
        snprintf(out, 64, "%.*s", length < 60 ? (int)length : 60, text);
}

/* An id of the vocabulary; -1 if the key is not there. */
static txd_status take_id(int32_t *out, const struct source *source, const char *name)
{
    const txd_gguf_value *value = find(source, name);
    int64_t id = value && !value->is_array ? txd_gguf_integer(value, 0) : -1;

    if (value && (id < 0 || (uint64_t)id >= source->tokenizer->vocab.count))
        return fail(source, name, "expected the id of a token");
    *out = (int32_t)id;
    return TXD_OK;
}

static bool take_flag(const struct source *source, const char *name, bool otherwise)
{
    const txd_gguf_value *value = find(source, name);

    return value && !value->is_array ? txd_gguf_integer(value, 0) != 0 : otherwise;
}

static int64_t type_of(const struct source *source, size_t id)
{
    return source->types ? txd_gguf_integer(source->types, id) : NORMAL;
}

static txd_status read_pieces(struct source *source)
{
    txd_gguf_strings strings = txd_gguf_strings_of(source->tokens);
    size_t length, count = source->tokens->count;
    const char *text;

    for (size_t id = 0; id < count; id++) {
        if (!txd_gguf_strings_next(&strings, &text, &length))
            return fail(source, PREFIX "tokens", "it ends early");
        TXD_TRY(txd_vocab_add(source->tokenizer, (int64_t)id, text, length, count));
    }
    return TXD_OK;
}

static txd_status read_scores(struct source *source)
{
    txd_vocab *vocab = &source->tokenizer->vocab;

    vocab->scores =
        txd_arena_alloc(source->tokenizer->arena, vocab->count, sizeof *vocab->scores);
    if (!vocab->scores)
        return TXD_ERR_MEMORY;
    for (size_t id = 0; id < vocab->count; id++) {
        vocab->scores[id] = (float)txd_gguf_real(source->scores, id);
        if (isnan(vocab->scores[id]))
            return fail(source, PREFIX "scores", "a score is not a number");
    }
    return TXD_OK;
}

/* Control and user-defined tokens are found in texts. */
static txd_status read_added(struct source *source)
{
    txd_tokenizer *tokenizer = source->tokenizer;

    for (size_t id = 0; id < tokenizer->vocab.count; id++) {
        int64_t type = type_of(source, id);
        txd_added added = {.text = tokenizer->vocab.pieces[id],
                           .id = (int32_t)id,
                           .special = type == CONTROL || type == UNKNOWN};

        if (type == CONTROL || type == USER || type == UNKNOWN)
            TXD_TRY(txd_added_put(tokenizer, &added));
    }
    return TXD_OK;
}

static txd_status read_merges(struct source *source)
{
    const txd_gguf_value *merges = find(source, "merges");
    txd_gguf_strings strings;
    const char *line;
    size_t length;

    if (!merges || merges->type != TXD_GGUF_STRING || !merges->is_array)
        return fail(source, PREFIX "merges", "expected a list of strings");
    TXD_TRY(txd_merges_make(source->tokenizer, merges->count));
    strings = txd_gguf_strings_of(merges);
    while (txd_gguf_strings_next(&strings, &line, &length))
        TXD_TRY(txd_merges_add_line(source->tokenizer, line, length));
    return TXD_OK;
}

/* SentencePiece: blanks are marks, one is put in front of every text. */
static txd_status read_sentencepiece(struct source *source)
{
    txd_tokenizer *tokenizer = source->tokenizer;
    txd_text_step *step;

    if (!source->scores)
        return fail(source, PREFIX "scores", "expected a score for every token");
    TXD_TRY(read_scores(source));
    TXD_TRY(txd_vocab_index(tokenizer));
    tokenizer->model = TXD_TOKENS_SCORES;
    tokenizer->blank = (txd_bytes){BLANK, 3};
    txd_tokenizer_find_bytes(tokenizer);
    if (take_flag(source, "add_space_prefix", true)) {
        step = txd_steps_add(&tokenizer->normal, TXD_STEP_PREPEND);
        if (!step)
            return TXD_ERR_MEMORY;
        step->text = tokenizer->blank;
        tokenizer->strip_first = true;
    }
    step = txd_steps_add(&tokenizer->normal, TXD_STEP_REPLACE);
    if (!step)
        return TXD_ERR_MEMORY;
    step->find = (txd_bytes){" ", 1};
    step->text = tokenizer->blank;
    return TXD_OK;
}

static txd_status read_byte_level(struct source *source)
{
    char pre[64];

    take_word(pre, source, "pre");
    source->tokenizer->model = TXD_TOKENS_RANKS;
    source->tokenizer->unknown = -1; /* all bytes are known, or it is an error */
    TXD_TRY(txd_vocab_index(source->tokenizer));
    TXD_TRY(read_merges(source));
    return txd_tokenizer_named_cuts(source->tokenizer, *pre ? pre : "default");
}

/* Pieces that begin words have a mark; those that go on have none, as "##" elsewhere.
 */
static txd_status read_wordpiece(struct source *source)
{
    txd_tokenizer *tokenizer = source->tokenizer;
    txd_vocab *vocab = &tokenizer->vocab;

    for (size_t id = 0; id < vocab->count; id++) {
        txd_bytes *piece = &vocab->pieces[id];
        char text[512];
        int length;

        if (type_of(source, id) != NORMAL || piece->length > 500)
            continue;
        length =
            piece->length >= 3 && memcmp(piece->at, BLANK, 3) == 0
                ? snprintf(text, sizeof text, "%.*s", (int)piece->length - 3,
                           piece->at + 3)
                : snprintf(text, sizeof text, "##%.*s", (int)piece->length, piece->at);
        *piece = txd_tokenizer_keep(tokenizer, text, (size_t)length);
        if (!piece->at)
            return TXD_ERR_MEMORY;
    }
    vocab->longest += 2;
    TXD_TRY(txd_vocab_index(tokenizer));
    tokenizer->model = TXD_TOKENS_WORDS;
    tokenizer->continuing = (txd_bytes){"##", 2};
    tokenizer->longest_word = 100;
    TXD_TRY(txd_tokenizer_bert_normal(tokenizer, true, true, true, true));
    return txd_tokenizer_bert_cuts(tokenizer);
}

/* What is put around texts: said by keys, or implied by the kind. */
static txd_status read_frame(struct source *source)
{
    txd_tokenizer *tokenizer = source->tokenizer;
    bool words = tokenizer->model == TXD_TOKENS_WORDS;
    bool implied = tokenizer->before.count > 0 || tokenizer->model == TXD_TOKENS_SCORES;
    int32_t first = tokenizer->bos, last = tokenizer->eos;

    tokenizer->before.count = 0;
    if (words) {
        if (first < 0)
            TXD_TRY(take_id(&first, source, "cls_token_id"));
        TXD_TRY(take_id(&last, source, "seperator_token_id"));
        if (last < 0)
            TXD_TRY(take_id(&last, source, "separator_token_id"));
    }
    if (first >= 0 && take_flag(source, "add_bos_token", implied || words))
        TXD_TRY(txd_ids_add(&tokenizer->before, first));
    if (last >= 0 && take_flag(source, "add_eos_token", words))
        TXD_TRY(txd_ids_add(&tokenizer->after, last));
    return TXD_OK;
}

static txd_status read_source(struct source *source)
{
    static const struct {
        const char *name;
        txd_status (*read)(struct source *source);
    } kinds[] = {{"llama", read_sentencepiece},
                 {"gpt2", read_byte_level},
                 {"bert", read_wordpiece}};
    char model[64];

    take_word(model, source, "model");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(model, kinds[i].name) == 0)
            return kinds[i].read(source);
    return txd_fail(TXD_ERR_UNSUPPORTED,
                    "%s: tokenizer.ggml.model: \"%s\" is not supported; input.tokens "
                    "takes ids instead of a text",
                    source->tokenizer->name, model);
}

static txd_status check_lists(const struct source *source)
{
    const txd_gguf_value *tokens = source->tokens;

    if (!tokens)
        return txd_fail(TXD_ERR_MISSING,
                        "%s: no tokenizer in it: expected the key " PREFIX "tokens",
                        source->tokenizer->name);
    if (tokens->type != TXD_GGUF_STRING || !tokens->is_array)
        return fail(source, PREFIX "tokens", "expected a list of strings");
    if (source->types && (source->types->count != tokens->count ||
                          source->types->type == TXD_GGUF_STRING))
        return fail(source, PREFIX "token_type", "expected a number for every token");
    if (source->scores && (source->scores->count != tokens->count ||
                           source->scores->type == TXD_GGUF_STRING))
        return fail(source, PREFIX "scores", "expected a number for every token");
    return TXD_OK;
}

static txd_status read_metadata(txd_tokenizer *tokenizer, const txd_gguf *gguf)
{
    struct source source = {.tokenizer = tokenizer, .gguf = gguf};

    source.tokens = find(&source, "tokens");
    source.scores = find(&source, "scores");
    source.types = find(&source, "token_type");
    TXD_TRY(check_lists(&source));
    TXD_TRY(read_pieces(&source));
    TXD_TRY(take_id(&tokenizer->bos, &source, "bos_token_id"));
    TXD_TRY(take_id(&tokenizer->eos, &source, "eos_token_id"));
    TXD_TRY(take_id(&tokenizer->unknown, &source, "unknown_token_id"));
    TXD_TRY(read_added(&source));
    TXD_TRY(read_source(&source));
    return read_frame(&source);
}

txd_status txd_tokenizer_read_gguf(txd_tokenizer *tokenizer, const void *bytes,
                                   size_t count)
{
    const txd_gguf *gguf = NULL;
    txd_trace *trace = NULL;
    txd_status status;

    TXD_TRY(txd_gguf_parse(&trace, &gguf, tokenizer->name, bytes, count));
    status = read_metadata(tokenizer, gguf);
    txd_trace_destroy(trace);
    return status;
}
