/* SPDX-License-Identifier: MIT */
/*
 * made_checkpoint.h: small safetensors files built in memory, tensor by tensor, so that
 * each test can leave out, misshape or add one. Element i of the file's n-th tensor is
 * n + i / 1024.
 */
#ifndef TXD_TESTS_MADE_CHECKPOINT_H
#define TXD_TESTS_MADE_CHECKPOINT_H

#include <stddef.h>

/* config.json for the models below, without the closing brace. */
#define LLAMA_BASE                                                                     \
    "\"vocab_size\": 7, \"hidden_size\": 4, \"intermediate_size\": 5, "                \
    "\"num_hidden_layers\": 2, \"num_attention_heads\": 2, "                           \
    "\"num_key_value_heads\": 1, \"max_position_embeddings\": 32"
#define LLAMA "{\"model_type\": \"llama\", " LLAMA_BASE ", \"head_dim\": 4"
#define GPT2                                                                           \
    "{\"model_type\": \"gpt2\", \"vocab_size\": 7, \"n_embd\": 4, \"n_layer\": 2, "    \
    "\"n_head\": 2, \"n_positions\": 6"

struct made {
    struct made_tensor {
        char name[96];
        const char *dtype; /* F64, F32, or another name (bytes of its width) */
        int rank;
        size_t dims[3];
    } tensors[96];
    size_t count;
    unsigned char bytes[6000000];
    size_t used;
};

/* Starts with the tensors of a model: vocabulary 7, width 4, two layers; Llama with
 * 2 heads on 1 KV head, head_dim 4, MLP 5; GPT-2 with 2 heads, 6 positions, MLP 16.
 * `prefix` is "model.", "transformer." or "". */
void made_llama(struct made *made, const char *prefix);
void made_gpt2(struct made *made, const char *prefix);

void made_add(struct made *made, const char *name, int rank, size_t d0, size_t d1);
struct made_tensor *made_find(struct made *made, const char *name);
void made_remove(struct made *made, const char *name);

/* Writes the file into made->bytes, made->used of them. */
void made_write(struct made *made);

#endif
