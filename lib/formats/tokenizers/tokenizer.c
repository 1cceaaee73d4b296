/* SPDX-License-Identifier: MIT
 *
 * A tokenizer's life: which file it comes from, what readers share, and its end.
 */
#include "formats/tokenizer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"

void txd_ids_finish(txd_ids *ids)
{
    free(ids->ids);
    *ids = (txd_ids){0};
}

txd_status txd_ids_add(txd_ids *ids, int32_t id)
{
    if (ids->count == ids->capacity) {
        size_t capacity = ids->capacity ? 2 * ids->capacity : 64;
        int32_t *grown = realloc(ids->ids, capacity * sizeof *grown);

        if (!grown)
            return txd_fail(TXD_ERR_MEMORY, "no memory for token ids");
        ids->ids = grown;
        ids->capacity = capacity;
    }
    ids->ids[ids->count++] = id;
    return TXD_OK;
}

txd_text_step *txd_steps_add(txd_text_steps *steps, txd_step_kind kind)
{
    if (steps->count == steps->capacity) {
        size_t capacity = steps->capacity ? 2 * steps->capacity : 8;
        txd_text_step *grown = realloc(steps->at, capacity * sizeof *grown);

        if (!grown) {
            txd_fail(TXD_ERR_MEMORY, "no memory for the steps of a tokenizer");
            return NULL;
        }
        steps->at = grown;
        steps->capacity = capacity;
    }
    steps->at[steps->count] = (txd_text_step){.kind = kind};
    return &steps->at[steps->count++];
}

txd_status txd_steps_cut(txd_tokenizer *tokenizer, const char *regex, txd_cut cut,
                         bool invert)
{
    txd_text_step *step = txd_steps_add(&tokenizer->cuts, TXD_STEP_CUT);

    if (!step)
        return TXD_ERR_MEMORY;
    step->cut = cut;
    step->invert = invert;
    return txd_pattern_create(&step->pattern, regex, strlen(regex));
}

txd_status txd_steps_replace(txd_tokenizer *tokenizer, const char *regex,
                             const char *by, const char *after)
{
    txd_text_step *step = txd_steps_add(&tokenizer->normal, TXD_STEP_REPLACE);

    if (!step)
        return TXD_ERR_MEMORY;
    step->text = (txd_bytes){by, strlen(by)};
    step->keep = after != NULL;
    if (after)
        step->after = (txd_bytes){after, strlen(after)};
    return txd_pattern_create(&step->pattern, regex, strlen(regex));
}

void txd_tokenizer_find_bytes(txd_tokenizer *tokenizer)
{
    char name[8];

    for (int i = 0; i < 256; i++) {
        snprintf(name, sizeof name, "<0x%02X>", (unsigned)i);
        tokenizer->byte_ids[i] = txd_vocab_find(&tokenizer->vocab, name, 6);
    }
}

txd_status txd_tokenizer_create(txd_tokenizer **out, const char *name)
{
    txd_tokenizer *tokenizer = calloc(1, sizeof *tokenizer);
    txd_status status;

    if (!tokenizer)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a tokenizer");
    tokenizer->unknown = tokenizer->bos = tokenizer->eos = -1;
    for (int i = 0; i < 256; i++)
        tokenizer->byte_ids[i] = -1;
    status = txd_arena_create(&tokenizer->arena);
    if (status == TXD_OK) {
        tokenizer->name = txd_arena_string(tokenizer->arena, name);
        status = tokenizer->name ? TXD_OK : TXD_ERR_MEMORY;
    }
    if (status != TXD_OK) {
        txd_tokenizer_destroy(tokenizer);
        return status;
    }
    *out = tokenizer;
    return TXD_OK;
}

static void destroy_steps(txd_text_steps *steps)
{
    for (size_t i = 0; i < steps->count; i++)
        txd_pattern_destroy(steps->at[i].pattern);
    free(steps->at);
}

static void destroy_added(txd_added_list *list)
{
    txd_pattern_destroy(list->words);
    free(list->at);
}

void txd_tokenizer_destroy(txd_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    destroy_steps(&tokenizer->normal);
    destroy_steps(&tokenizer->cuts);
    destroy_added(&tokenizer->raw);
    destroy_added(&tokenizer->normalized);
    txd_ids_finish(&tokenizer->before);
    txd_ids_finish(&tokenizer->after);
    free(tokenizer->vocab.pieces);
    free(tokenizer->vocab.slots);
    free(tokenizer->merges.slots);
    txd_arena_destroy(tokenizer->arena);
    free(tokenizer);
}

/* Added tokens are pieces that are text as it stands. */
static void mark(txd_tokenizer *tokenizer, const txd_added_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        size_t id = (size_t)list->at[i].id;

        if (id < tokenizer->vocab.count) {
            tokenizer->verbatim[id] = true;
            tokenizer->special[id] = list->at[i].special;
        }
    }
}

static void mark_ids(txd_tokenizer *tokenizer, const txd_ids *ids)
{
    for (size_t i = 0; i < ids->count; i++)
        if ((size_t)ids->ids[i] < tokenizer->vocab.count)
            tokenizer->special[ids->ids[i]] = true;
}

/* After a reader: sorts what is found in texts, and marks what is not text. */
static txd_status finish(txd_tokenizer *tokenizer)
{
    size_t count = tokenizer->vocab.count;

    tokenizer->special = txd_arena_alloc(tokenizer->arena, count, 1);
    tokenizer->verbatim = txd_arena_alloc(tokenizer->arena, count, 1);
    if (!tokenizer->special || !tokenizer->verbatim)
        return TXD_ERR_MEMORY;
    mark(tokenizer, &tokenizer->raw);
    mark(tokenizer, &tokenizer->normalized);
    mark_ids(tokenizer, &tokenizer->before);
    mark_ids(tokenizer, &tokenizer->after);
    if (tokenizer->bytes_at_once)
        for (size_t id = 0; id < 3 && id < count; id++)
            tokenizer->special[id] = true; /* llama2.c's unknown, BOS and EOS */
    return txd_added_finish(tokenizer);
}

static txd_status conclude(txd_tokenizer **out, txd_tokenizer *tokenizer,
                           txd_status status)
{
    if (status == TXD_OK)
        status = finish(tokenizer);
    if (status != TXD_OK) {
        txd_tokenizer_destroy(tokenizer);
        return status;
    }
    *out = tokenizer;
    return TXD_OK;
}

txd_status txd_tokenizer_parse_json(txd_tokenizer **out, const char *name,
                                    const char *bytes, size_t count)
{
    txd_tokenizer *tokenizer;

    TXD_TRY(txd_tokenizer_create(&tokenizer, name));
    return conclude(out, tokenizer, txd_tokenizer_read_json(tokenizer, bytes, count));
}

txd_status txd_tokenizer_parse_gguf(txd_tokenizer **out, const char *name,
                                    const void *bytes, size_t count)
{
    txd_tokenizer *tokenizer;

    TXD_TRY(txd_tokenizer_create(&tokenizer, name));
    return conclude(out, tokenizer, txd_tokenizer_read_gguf(tokenizer, bytes, count));
}

txd_status txd_tokenizer_parse_bin(txd_tokenizer **out, const char *name,
                                   const void *bytes, size_t count)
{
    txd_tokenizer *tokenizer;

    TXD_TRY(txd_tokenizer_create(&tokenizer, name));
    return conclude(out, tokenizer, txd_tokenizer_read_bin(tokenizer, bytes, count));
}

txd_status txd_tokenizer_parse_merges(txd_tokenizer **out, const char *name,
                                      const txd_merges_files *files)
{
    txd_tokenizer *tokenizer;

    TXD_TRY(txd_tokenizer_create(&tokenizer, name));
    return conclude(out, tokenizer, txd_tokenizer_read_merges(tokenizer, files));
}

int32_t txd_tokenizer_bos(const txd_tokenizer *tokenizer)
{
    return tokenizer->bos;
}

int32_t txd_tokenizer_eos(const txd_tokenizer *tokenizer)
{
    return tokenizer->eos;
}

size_t txd_tokenizer_count(const txd_tokenizer *tokenizer)
{
    return tokenizer->vocab.count;
}

const char *txd_tokenizer_kind(const txd_tokenizer *tokenizer)
{
    if (tokenizer->model == TXD_TOKENS_WORDS)
        return "WordPiece";
    return tokenizer->byte_level ? "byte-level BPE" : "SentencePiece BPE";
}
