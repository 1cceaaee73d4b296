/* SPDX-License-Identifier: MIT
 *
 * Inputs made of others, token by token.
 */
#include "checks/experiments/derive.h"

#include <string.h>

/* Token i of `from` becomes token o of `out`; both have all arrays. */
static void take(txd_inputs *out, size_t o, const txd_inputs *from, size_t i)
{
    out->tokens[o] = from->tokens[i];
    out->positions[o] = from->positions[i];
    out->valid[o] = from->valid[i];
    out->document[o] = from->document[i];
    out->types[o] = from->types ? from->types[i] : 0;
}

static txd_status make_memory(txd_inputs *out, txd_arena *arena, const txd_inputs *from)
{
    if (from->memory_length == 0)
        return TXD_OK;
    return txd_inputs_make_memory(out, arena, from->memory_length, from->memory.dims[2],
                                  from->memory.dtype);
}

static void take_memory(txd_inputs *out, size_t to, const txd_inputs *from, size_t row)
{
    size_t length = from->memory_length, bytes;

    if (length == 0)
        return;
    bytes = length * from->memory.dims[2] * txd_dtype_bytes(from->memory.dtype);
    memcpy((char *)out->memory.data + to * bytes,
           (const char *)from->memory.data + row * bytes, bytes);
    memcpy(out->memory_valid + to * length, from->memory_valid + row * length,
           length * sizeof *out->memory_valid);
}

txd_status txd_derive_rows(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                           const size_t *rows, size_t count)
{
    size_t length = from->length;

    TXD_TRY(txd_inputs_make(out, arena, count, length));
    TXD_TRY(make_memory(out, arena, from));
    for (size_t row = 0; row < count; row++) {
        for (size_t t = 0; t < length; t++)
            take(out, row * length + t, from, rows[row] * length + t);
        take_memory(out, row, from, rows[row]);
    }
    return TXD_OK;
}

txd_status txd_derive_part(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                           size_t first, size_t count)
{
    TXD_TRY(txd_inputs_make(out, arena, from->batch, count));
    TXD_TRY(make_memory(out, arena, from));
    for (size_t row = 0; row < from->batch; row++) {
        for (size_t t = 0; t < count; t++)
            take(out, row * count + t, from, row * from->length + first + t);
        take_memory(out, row, from, row);
    }
    return TXD_OK;
}

txd_status txd_derive_padded(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                             const txd_padding *padding)
{
    size_t length = padding->left + from->length + padding->right;

    TXD_TRY(txd_inputs_make(out, arena, from->batch, length));
    TXD_TRY(make_memory(out, arena, from));
    for (size_t i = 0; i < from->batch * length; i++) {
        out->tokens[i] = padding->token;
        out->valid[i] = 0;
    }
    for (size_t row = 0; row < from->batch; row++) {
        for (size_t t = 0; t < from->length; t++)
            take(out, row * length + padding->left + t, from, row * from->length + t);
        take_memory(out, row, from, row);
    }
    return TXD_OK;
}

txd_status txd_derive_alone(txd_inputs *out, txd_arena *arena, const txd_inputs *from,
                            size_t row)
{
    size_t count = 0;

    TXD_TRY(txd_inputs_make(out, arena, 1, txd_derive_valid(from, row)));
    TXD_TRY(make_memory(out, arena, from));
    for (size_t t = 0; t < from->length; t++)
        if (from->valid[row * from->length + t])
            take(out, count++, from, row * from->length + t);
    take_memory(out, 0, from, row);
    return TXD_OK;
}

/* ---- documents ---- */

/* Which text each token belongs to, counted from 0; padding to none (SIZE_MAX). */
static size_t number_texts(size_t *text, const txd_inputs *from)
{
    size_t texts = 0, last = SIZE_MAX;

    for (size_t i = 0; i < from->batch * from->length; i++) {
        text[i] = SIZE_MAX;
        if (!from->valid[i])
            continue;
        if (last == SIZE_MAX || last / from->length != i / from->length ||
            from->document[last] != from->document[i])
            texts++;
        text[i] = texts - 1;
        last = i;
    }
    return texts;
}

static size_t halve(size_t *text, const txd_inputs *from)
{
    size_t all = from->batch * from->length, real = 0, seen = 0;

    for (size_t i = 0; i < all; i++)
        real += text[i] != SIZE_MAX;
    for (size_t i = 0; i < all; i++)
        if (text[i] != SIZE_MAX)
            text[i] = seen++ < (real + 1) / 2 ? 0 : 1;
    return real > 1 ? 2 : 1;
}

static size_t longest(const size_t *text, size_t all, size_t texts)
{
    size_t most = 0;

    for (size_t n = 0; n < texts; n++) {
        size_t count = 0;

        for (size_t i = 0; i < all; i++)
            count += text[i] == n;
        most = count > most ? count : most;
    }
    return most;
}

txd_status txd_derive_separate(txd_inputs *out, size_t **origin, txd_arena *arena,
                               const txd_inputs *from)
{
    size_t all = from->batch * from->length, texts, length;
    size_t *text = txd_arena_alloc(arena, all, sizeof *text);

    if (!text)
        return TXD_ERR_MEMORY;
    texts = number_texts(text, from);
    if (texts == 1)
        texts = halve(text, from);
    length = longest(text, all, texts);
    TXD_TRY(txd_inputs_make(out, arena, texts, length));
    *origin = txd_arena_alloc(arena, texts * length, sizeof **origin);
    if (!*origin)
        return TXD_ERR_MEMORY;
    for (size_t n = 0; n < texts; n++) {
        size_t o = n * length;

        for (size_t i = 0; i < all; i++)
            if (text[i] == n) {
                take(out, o, from, i);
                (*origin)[o++] = i;
            }
        for (; o < (n + 1) * length; o++)
            out->valid[o] = 0;
    }
    memset(out->document, 0, texts * length * sizeof *out->document);
    txd_inputs_count_positions(out);
    return TXD_OK;
}

txd_status txd_derive_packed(txd_inputs *out, txd_arena *arena, const txd_inputs *from)
{
    size_t total = 0, count = 0;

    for (size_t row = 0; row < from->batch; row++)
        total += txd_derive_valid(from, row);
    TXD_TRY(txd_inputs_make(out, arena, 1, total));
    TXD_TRY(make_memory(out, arena, from));
    for (size_t i = 0; i < from->batch * from->length; i++)
        if (from->valid[i]) {
            take(out, count, from, i);
            out->document[count++] = (int32_t)(i / from->length);
        }
    take_memory(out, 0, from, 0);
    return TXD_OK;
}

int32_t txd_derive_other(const txd_config *config, int32_t token)
{
    size_t vocab = config->vocab;

    return (int32_t)(((size_t)token + 1 + vocab / 3) % vocab);
}

size_t txd_derive_valid(const txd_inputs *inputs, size_t row)
{
    size_t valid = 0;

    for (size_t t = 0; t < inputs->length; t++)
        valid += inputs->valid[row * inputs->length + t] != 0;
    return valid;
}
