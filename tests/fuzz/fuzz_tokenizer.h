/* SPDX-License-Identifier: MIT
 *
 * What is asked of any tokenizer that opens: hard texts become ids that it has, and ids
 * become text and pieces that are UTF-8.
 */
#ifndef TXD_TESTS_FUZZ_TOKENIZER_H
#define TXD_TESTS_FUZZ_TOKENIZER_H

#include <stdlib.h>
#include <string.h>

#include "formats/tokenizer.h"
#include "formats/utf8_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static const char fuzz_text[] =
    "Caf\xC3\xA9 e\xCC\x81\xCC\xA3 it's 12345 \xF0\x9F\x91\x8D\xF0\x9F\x8F\xBD\r\n\n  a"
    "\xE4\xBD\xA0\xE5\xA5\xBD\xE2\x96\x81 <s></s><|endoftext|>aaaaaaaaaaaa\0\xFF\xC1z";

static void fuzz_decode(const txd_tokenizer *tokenizer, const txd_ids *ids)
{
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; i < ids->count; i++)
        if (ids->ids[i] < 0 || (size_t)ids->ids[i] >= txd_tokenizer_count(tokenizer))
            abort();
    txd_tokenizer_decode(&text, tokenizer, ids->ids, ids->count);
    txd_text_finish(&text);
}

static void fuzz_encode(const txd_tokenizer *tokenizer, const char *text, size_t count)
{
    for (int special = 0; special < 2; special++) {
        txd_ids ids = {0};

        if (txd_tokenizer_encode(&ids, tokenizer, text, count, special) == TXD_OK)
            fuzz_decode(tokenizer, &ids);
        txd_ids_finish(&ids);
    }
}

/* Ends with the tokenizer. */
static void fuzz_tokenizer(txd_tokenizer *tokenizer, const uint8_t *bytes, size_t count)
{
    size_t pieces = txd_tokenizer_count(tokenizer);
    txd_text text;

    fuzz_encode(tokenizer, fuzz_text, sizeof fuzz_text - 1);
    fuzz_encode(tokenizer, (const char *)bytes, count < 300 ? count : 300);
    txd_text_init(&text);
    for (size_t id = 0; id < pieces && id < 1000; id++) {
        text.length = 0;
        txd_tokenizer_piece(&text, tokenizer, (int32_t)id);
        if (txd_utf8_valid(txd_text_get(&text), text.length) != text.length)
            abort();
    }
    txd_text_finish(&text);
    txd_tokenizer_destroy(tokenizer);
}

#endif
