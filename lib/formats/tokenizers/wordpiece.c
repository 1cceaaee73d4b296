/* SPDX-License-Identifier: MIT
 *
 * WordPiece: from the front of a word always the longest piece there is; a word that
 * cannot be made of pieces, or is too long, is one unknown token.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/tokenizers/tokenizer_internal.h"
#include "formats/utf8_internal.h"

static size_t characters(const char *text, size_t count)
{
    size_t total = 0;
    uint32_t code;

    for (size_t at = 0, bytes; at < count; at += bytes, total++) {
        bytes = txd_utf8_decode(&code, text + at, count - at);
        bytes = bytes ? bytes : 1;
    }
    return total;
}

/* The longest piece at `at`; *length becomes its bytes. `piece` has room for any. */
static int32_t longest_piece(const txd_tokenizer *t, char *piece, const char *word,
                             size_t at, size_t *length)
{
    size_t prefix = at > 0 ? t->continuing.length : 0;
    int32_t id = -1;

    if (prefix > 0)
        memcpy(piece, t->continuing.at, prefix);
    memcpy(piece + prefix, word + at, *length);
    for (; *length > 0; (*length)--) {
        id = txd_vocab_find(&t->vocab, piece, prefix + *length);
        if (id >= 0)
            break;
    }
    return id;
}

static txd_status fail_word(const txd_tokenizer *t)
{
    return txd_fail(TXD_ERR_ARGUMENT,
                    "%s: a word is made of no pieces, and there is no unknown token",
                    t->name);
}

txd_status txd_wordpiece_encode(txd_ids *out, const txd_tokenizer *tokenizer,
                                const char *word, size_t length)
{
    size_t before = out->count, at = 0;
    bool known = characters(word, length) <= tokenizer->longest_word;
    char *piece = NULL;
    txd_status status = TXD_OK;

    if (known) {
        piece = malloc(tokenizer->continuing.length + length + 1);
        if (!piece)
            return txd_fail(TXD_ERR_MEMORY, "no memory for a word");
    }
    while (known && at < length && status == TXD_OK) {
        size_t part = length - at;
        int32_t id = longest_piece(tokenizer, piece, word, at, &part);

        known = id >= 0;
        if (known)
            status = txd_ids_add(out, id);
        at += part;
    }
    free(piece);
    if (known || status != TXD_OK)
        return status;
    out->count = before;
    return tokenizer->unknown >= 0 ? txd_ids_add(out, tokenizer->unknown)
                                   : fail_word(tokenizer);
}
