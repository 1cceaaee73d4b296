/* SPDX-License-Identifier: MIT
 *
 * Any bytes as vocab.json up to the first zero byte, merges.txt after it.
 */
#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const uint8_t *end = count ? memchr(bytes, 0, count) : NULL;
    size_t vocab = end ? (size_t)(end - bytes) : count;
    const txd_merges_files files = {
        .vocab = (const char *)bytes,
        .vocab_count = vocab,
        .merges = (const char *)(end ? end + 1 : bytes),
        .merges_count = end ? count - vocab - 1 : 0,
    };
    txd_tokenizer *tokenizer = NULL;

    if (txd_tokenizer_parse_merges(&tokenizer, "fuzz", &files) == TXD_OK)
        fuzz_tokenizer(tokenizer, bytes, count);
    return 0;
}
