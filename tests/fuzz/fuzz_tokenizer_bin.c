/* SPDX-License-Identifier: MIT
 *
 * Any bytes as llama2.c's tokenizer.bin.
 */
#include "fuzz_tokenizer.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    txd_tokenizer *tokenizer = NULL;

    if (txd_tokenizer_parse_bin(&tokenizer, "fuzz", bytes, count) == TXD_OK)
        fuzz_tokenizer(tokenizer, bytes, count);
    return 0;
}
