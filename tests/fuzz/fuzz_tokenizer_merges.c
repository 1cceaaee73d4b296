/* SPDX-License-Identifier: MIT
 *
 * Any bytes as vocab.json up to the first zero byte, merges.txt after it.
 */
#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const uint8_t *end = count ? memchr(bytes, 0, count) : NULL;
    size_t vocab = end ? (size_t)(end - bytes) : count;
    txd_tokenizer *tokenizer = NULL;

    if (txd_tokenizer_parse_merges(&tokenizer, "fuzz", (const char *)bytes, vocab,
                                   (const char *)(end ? end + 1 : bytes),
                                   end ? count - vocab - 1 : 0) == TXD_OK)
        fuzz_tokenizer(tokenizer, bytes, count);
    return 0;
}
