/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a model in a GGUF file. Whatever opens must load, into no more memory
 * than its blocks stand for.
 */
#include <stdint.h>
#include <stdlib.h>

#include "formats/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    txd_checkpoint *checkpoint = NULL;
    txd_params *params = NULL;
    const txd_config *config;
    size_t elements = 0;

    if (txd_checkpoint_parse_gguf(&checkpoint, bytes, count) != TXD_OK)
        return 0;
    config = txd_checkpoint_config(checkpoint);
    if (!config || txd_checkpoint_params(&params, checkpoint, config, 1) != TXD_OK)
        abort();
    for (size_t i = 0; i < txd_params_count(params); i++)
        elements += txd_tensor_count(&txd_params_at(params, i)->value);
    if (elements > 2 * count) /* 32 elements in 18 bytes are the smallest */
        abort();
    txd_params_destroy(params);
    txd_checkpoint_destroy(checkpoint);
    return 0;
}
