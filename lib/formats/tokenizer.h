/* SPDX-License-Identifier: MIT
 *
 * Text as token ids and back, by the tokenizer of a model: byte-level and
 * SentencePiece-style byte pair encoding and WordPiece, from tokenizer.json, from the
 * metadata of GGUF, from vocab.json with merges.txt, and from llama2.c's files. What a
 * file asks for and is not known here is ERR_UNSUPPORTED and named; nothing is guessed.
 */
#ifndef TXD_FORMATS_TOKENIZER_H
#define TXD_FORMATS_TOKENIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_tokenizer txd_tokenizer;

/* Opens a model's folder (tokenizer.json, or vocab.json and merges.txt, or encoder.json
 * and vocab.bpe), one of these files, a model file beside them (safetensors, as it
 * stands in such a folder), a GGUF file, or llama2.c's tokenizer.bin. The caller owns
 * *out. ERR_MISSING if there is none, ERR_UNSUPPORTED naming the field that decided. */
txd_status txd_tokenizer_open(txd_tokenizer **out, const char *path);
void txd_tokenizer_destroy(txd_tokenizer *tokenizer); /* NULL is allowed */

/* Over the bytes of a tokenizer.json, a GGUF file, llama2.c's file, or vocab.json
 * and merges.txt (fuzzing, tests). */
txd_status txd_tokenizer_parse_json(txd_tokenizer **out, const char *name,
                                    const char *bytes, size_t count);
txd_status txd_tokenizer_parse_gguf(txd_tokenizer **out, const char *name,
                                    const void *bytes, size_t count);
txd_status txd_tokenizer_parse_bin(txd_tokenizer **out, const char *name,
                                   const void *bytes, size_t count);
typedef struct txd_merges_files {
    const char *vocab, *merges;
    size_t vocab_count, merges_count;
    const char *merges_name; /* in messages; NULL = as the vocabulary's */
} txd_merges_files;
txd_status txd_tokenizer_parse_merges(txd_tokenizer **out, const char *name,
                                      const txd_merges_files *files);

/* Token ids. A list starts as zeros. */
typedef struct txd_ids {
    int32_t *ids;
    size_t count, capacity;
} txd_ids;
void txd_ids_finish(txd_ids *ids);

/* Appends the ids of a text, any bytes. With `special` what the model puts around every
 * text too (BOS). Added and special tokens within the text are found in either case. A
 * character for which there is no token, not even an unknown one, is ERR_ARGUMENT. */
txd_status txd_tokenizer_encode(txd_ids *out, const txd_tokenizer *tokenizer,
                                const char *text, size_t bytes, bool special);

/* Appends the text of ids, without special tokens. These are bytes: a token may end
 * within a character. Ids that the tokenizer has not are ERR_ARGUMENT. */
txd_status txd_tokenizer_decode(txd_text *out, const txd_tokenizer *tokenizer,
                                const int32_t *ids, size_t count);

/* Appends what a token stands for as UTF-8, to be looked at: " once", "<s>"; bytes that
 * are no character, and zero, as "<0xE4>"; "" for an id without a token. */
void txd_tokenizer_piece(txd_text *out, const txd_tokenizer *tokenizer, int32_t id);

/* Ids that begin and end texts; -1 if the files name none. */
int32_t txd_tokenizer_bos(const txd_tokenizer *tokenizer);
int32_t txd_tokenizer_eos(const txd_tokenizer *tokenizer);

/* All ids are below. */
size_t txd_tokenizer_count(const txd_tokenizer *tokenizer);

/* "byte-level BPE", "SentencePiece BPE", "WordPiece". */
const char *txd_tokenizer_kind(const txd_tokenizer *tokenizer);

#ifdef __cplusplus
}
#endif

#endif
