/* SPDX-License-Identifier: MIT
 *
 * llama2.c's tokenizer.bin: the length of the longest piece (int32), then for each
 * piece its score (float32), its length (int32) and its bytes, little endian. Ids 0, 1
 * and 2 are unknown, BOS and EOS, 3 to 258 the bytes. Blanks are blanks.
 */
#include <math.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"

#define HEAD 4
#define RECORD 8
#define FIRST_BYTE 3

static uint32_t word_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static float score_at(const unsigned char *bytes)
{
    uint32_t bits = word_at(bytes);
    float score;

    memcpy(&score, &bits, sizeof score);
    return score;
}

static txd_status fail(const txd_tokenizer *tokenizer, size_t at, const char *text)
{
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: byte %zu: %s; expected llama2.c's tokenizer: the longest "
                    "length, then score, length and bytes of every piece",
                    tokenizer->name, at, text);
}

static txd_status read_pieces(txd_tokenizer *tokenizer, const unsigned char *bytes,
                              size_t count)
{
    size_t at = HEAD, most = count / RECORD, longest = word_at(bytes);

    for (int64_t id = 0; at < count; id++) {
        size_t length;

        if (count - at < RECORD)
            return fail(tokenizer, at, "the file ends within a piece");
        length = word_at(bytes + at + 4);
        if (length > count - at - RECORD)
            return fail(tokenizer, at, "a piece is longer than the file");
        if (length > longest)
            return fail(tokenizer, at, "a piece is longer than the longest");
        if (!isfinite(score_at(bytes + at)))
            return fail(tokenizer, at, "a score is not a number");
        TXD_TRY(txd_vocab_add(tokenizer, id, (const char *)bytes + at + RECORD, length,
                              most));
        at += RECORD + length;
    }
    return TXD_OK;
}

static txd_status read_scores(txd_tokenizer *tokenizer, const unsigned char *bytes)
{
    txd_vocab *vocab = &tokenizer->vocab;
    size_t at = HEAD;

    vocab->scores =
        txd_arena_alloc(tokenizer->arena, vocab->count, sizeof *vocab->scores);
    if (!vocab->scores)
        return TXD_ERR_MEMORY;
    for (size_t id = 0; id < vocab->count; id++) {
        vocab->scores[id] = score_at(bytes + at);
        at += RECORD + word_at(bytes + at + 4);
    }
    return TXD_OK;
}

txd_status txd_tokenizer_read_bin(txd_tokenizer *tokenizer, const void *bytes,
                                  size_t count)
{
    txd_text_step *step;

    if (count < HEAD + RECORD)
        return fail(tokenizer, count, "the file ends here");
    TXD_TRY(read_pieces(tokenizer, bytes, count));
    if (tokenizer->vocab.count < FIRST_BYTE + 256)
        return fail(tokenizer, count,
                    "there are less pieces than special tokens and bytes");
    TXD_TRY(read_scores(tokenizer, bytes));
    TXD_TRY(txd_vocab_index(tokenizer));
    tokenizer->model = TXD_TOKENS_SCORES;
    tokenizer->bytes_at_once = true;
    for (int i = 0; i < 256; i++)
        tokenizer->byte_ids[i] = FIRST_BYTE + i;
    tokenizer->unknown = 0;
    tokenizer->bos = 1;
    tokenizer->eos = 2;
    tokenizer->strip_first = true;
    step = txd_steps_add(&tokenizer->normal, TXD_STEP_PREPEND);
    if (!step)
        return TXD_ERR_MEMORY;
    step->text = (txd_bytes){" ", 1};
    return txd_ids_add(&tokenizer->before, tokenizer->bos);
}
