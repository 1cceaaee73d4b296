/* SPDX-License-Identifier: MIT
 *
 * The sizes of a llama2.c model. Internal to formats/.
 */
#ifndef TXD_FORMATS_LLAMA2C_INTERNAL_H
#define TXD_FORMATS_LLAMA2C_INTERNAL_H

#include "formats/llama2c.h"

typedef struct txd_llama2c_sizes {
    size_t dim, hidden, layers, heads, kv_heads, vocab, length;
    bool untied;
} txd_llama2c_sizes;

/* The tree that txd_gguf_settings would make, in `arena`. */
txd_status txd_llama2c_settings(txd_setting **out, txd_arena *arena, const char *name,
                                const txd_llama2c_sizes *s);

#endif
