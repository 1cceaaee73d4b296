/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a checkpoint: config.json up to the first zero byte, the safetensors
 * file after it. Whatever opens must load, unless it holds a parameter twice with
 * different values, take no more memory than the file is large, and have a
 * configuration that reads back from its own text.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/cfg.h"
#include "formats/checkpoint.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

static void check_text(const txd_config *config)
{
    txd_arena *arena = NULL;
    txd_setting *root = NULL;
    txd_config again;
    txd_text text;

    txd_text_init(&text);
    txd_config_print(&text, config);
    if (txd_arena_create(&arena) != TXD_OK || txd_text_status(&text) != TXD_OK)
        abort();
    if (txd_cfg_parse(&root, arena, "printed", txd_text_get(&text)) != TXD_OK ||
        txd_config_read(&again, arena, root, NULL) != TXD_OK)
        abort();
    if (again.n_layers != config->n_layers || again.head_dim != config->head_dim)
        abort();
    txd_arena_destroy(arena);
    txd_text_finish(&text);
}

static void check_params(const txd_checkpoint *checkpoint, size_t file_bytes)
{
    txd_params *params = NULL;
    size_t elements = 0;

    if (txd_checkpoint_params(&params, checkpoint, txd_checkpoint_config(checkpoint),
                              1) != TXD_OK) {
        if (!strstr(txd_message(), "is not that of the other tensor"))
            abort();
        return;
    }
    for (size_t i = 0; i < txd_params_count(params); i++)
        elements += txd_tensor_count(&txd_params_at(params, i)->value);
    if (elements > file_bytes / 2) /* F16 and BF16 are the smallest dtypes */
        abort();
    txd_params_destroy(params);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    const uint8_t *end = count ? memchr(bytes, 0, count) : NULL;
    size_t config = end ? (size_t)(end - bytes) : count;
    size_t tensors = end ? count - config - 1 : 0;
    txd_checkpoint *checkpoint = NULL;

    if (txd_checkpoint_parse(&checkpoint, (const char *)bytes, config,
                             end ? end + 1 : bytes, tensors) != TXD_OK)
        return 0;
    check_text(txd_checkpoint_config(checkpoint));
    check_params(checkpoint, tensors);
    txd_checkpoint_destroy(checkpoint);
    return 0;
}
