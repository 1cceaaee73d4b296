/* SPDX-License-Identifier: MIT */
/*
 * made_gguf.h: small GGUF files built in memory, value by value and tensor by tensor,
 * in the order of the calls. What a test wants to be wrong it writes with the raw
 * calls, or overwrites afterwards.
 */
#ifndef TXD_TESTS_MADE_GGUF_H
#define TXD_TESTS_MADE_GGUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct made_gguf {
    unsigned char bytes[200000];
    size_t used;
    size_t data; /* bytes of tensors that were listed so far */
};

/* Magic, version and the two counts. */
void gguf_begin(struct made_gguf *made, uint32_t version, uint64_t tensors,
                uint64_t values);

void gguf_u32(struct made_gguf *made, uint32_t value);
void gguf_u64(struct made_gguf *made, uint64_t value);
void gguf_text(struct made_gguf *made, const char *text);

/* A key with a value. */
void gguf_put_u32(struct made_gguf *made, const char *key, uint32_t value);
void gguf_put_f32(struct made_gguf *made, const char *key, float value);
void gguf_put_bool(struct made_gguf *made, const char *key, bool value);
void gguf_put_string(struct made_gguf *made, const char *key, const char *value);
/* The head of an array; its elements follow. */
void gguf_put_array(struct made_gguf *made, const char *key, uint32_t type,
                    uint64_t count);

/* Lists a tensor with the fastest axis first; its data come after those before it. */
void gguf_put_tensor(struct made_gguf *made, const char *name, uint32_t type,
                     uint32_t rank, const uint64_t *shape);

/* The data: element i of all tensors together has the bytes of the float i / 64 if
 * they are F32, and any bytes else. */
void gguf_end(struct made_gguf *made);

#endif
