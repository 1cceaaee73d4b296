/* SPDX-License-Identifier: MIT
 *
 * GGUF files in memory, by the format's description and not by our reader.
 */
#include "formats/made_gguf.h"

#include <string.h>

#include "formats/quants.h"
#include "suite.h"

#define ALIGNMENT 32

static void put(struct made_gguf *made, const void *bytes, size_t count)
{
    ck_assert_uint_le(count, sizeof made->bytes - made->used);
    memcpy(made->bytes + made->used, bytes, count);
    made->used += count;
}

static void put_number(struct made_gguf *made, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) {
        unsigned char byte = (unsigned char)(value >> (8 * i));

        put(made, &byte, 1);
    }
}

void gguf_u32(struct made_gguf *made, uint32_t value)
{
    put_number(made, value, 4);
}

void gguf_u64(struct made_gguf *made, uint64_t value)
{
    put_number(made, value, 8);
}

void gguf_text(struct made_gguf *made, const char *text)
{
    gguf_u64(made, strlen(text));
    put(made, text, strlen(text));
}

void gguf_begin(struct made_gguf *made, uint32_t version, uint64_t tensors,
                uint64_t values)
{
    made->used = made->data = 0;
    put(made, "GGUF", 4);
    gguf_u32(made, version);
    gguf_u64(made, tensors);
    gguf_u64(made, values);
}

void gguf_put_bool(struct made_gguf *made, const char *key, bool value)
{
    gguf_text(made, key);
    gguf_u32(made, 7);
    made->bytes[made->used++] = value;
}

void gguf_put_u32(struct made_gguf *made, const char *key, uint32_t value)
{
    gguf_text(made, key);
    gguf_u32(made, 4);
    gguf_u32(made, value);
}

void gguf_put_f32(struct made_gguf *made, const char *key, float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    gguf_text(made, key);
    gguf_u32(made, 6);
    gguf_u32(made, bits);
}

void gguf_put_string(struct made_gguf *made, const char *key, const char *value)
{
    gguf_text(made, key);
    gguf_u32(made, 8);
    gguf_text(made, value);
}

void gguf_put_array(struct made_gguf *made, const char *key, uint32_t type,
                    uint64_t count)
{
    gguf_text(made, key);
    gguf_u32(made, 9);
    gguf_u32(made, type);
    gguf_u64(made, count);
}

void gguf_put_tensor(struct made_gguf *made, const char *name, uint32_t type,
                     uint32_t rank, const uint64_t *shape)
{
    const txd_quant *quant = txd_quant_of(type);
    uint64_t count = 1;

    gguf_text(made, name);
    gguf_u32(made, rank);
    for (uint32_t i = 0; i < rank; i++) {
        gguf_u64(made, shape[i]);
        count *= shape[i];
    }
    gguf_u32(made, type);
    gguf_u64(made, made->data);
    if (!quant || count > sizeof made->bytes)
        return;
    made->data += (size_t)count / quant->lanes * quant->bytes;
    made->data += (ALIGNMENT - made->data % ALIGNMENT) % ALIGNMENT;
}

void gguf_end(struct made_gguf *made)
{
    while (made->used % ALIGNMENT != 0)
        put(made, "", 1);
    for (size_t i = 0; i < made->data; i += 4) {
        float value = (float)(i / 4) / 64;

        put(made, &value, sizeof value);
    }
}
