/* SPDX-License-Identifier: MIT
 *
 * What tokens, and rows of the memory that an encoder made, stand for: lists of texts
 * for all steps, each with room for the longest.
 */
#include "probes/parts.h"

static txd_status make(const char ***out, txd_arena *arena, size_t batch, size_t length)
{
    size_t count;

    TXD_TRY(txd_size_mul(&count, batch, length));
    *out = txd_arena_alloc(arena, count, sizeof **out);
    return *out ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_pieces_make(txd_piece_record *out, txd_arena *arena,
                           const txd_probe_context *context)
{
    *out = (txd_piece_record){NULL, NULL};
    if (context->has_pieces)
        TXD_TRY(make(&out->tokens, arena, context->batch, context->length));
    if (context->has_memory_pieces)
        TXD_TRY(make(&out->memory, arena, context->batch, context->memory));
    return TXD_OK;
}

/* Spreads a step's (batch, length) over (context's batch, most). */
static void spread(const char **out, const txd_probe_context *context, size_t most,
                   const char *const *pieces, const size_t shape[2])
{
    for (size_t b = 0; b < context->batch; b++)
        for (size_t t = 0; t < most; t++) {
            bool there = pieces && b < shape[0] && t < shape[1];

            out[b * most + t] = there ? pieces[b * shape[1] + t] : "";
        }
}

txd_status txd_pieces_write(const txd_piece_record *record, txd_recording *recording,
                            const txd_probe_context *context, const txd_inputs *inputs)
{
    const txd_column tokens = {.name = "pieces", .strings = record->tokens};
    const txd_column memory = {.name = "pieces", .strings = record->memory};
    const size_t shape[2] = {inputs->batch, inputs->length};
    const size_t memory_shape[2] = {inputs->batch, inputs->memory_length};

    if (record->tokens) {
        spread(record->tokens, context, context->length, inputs->pieces, shape);
        TXD_TRY(txd_recording_append(recording, "input", &tokens, 1,
                                     context->batch * context->length));
    }
    if (!record->memory)
        return TXD_OK;
    spread(record->memory, context, context->memory, inputs->memory_pieces,
           memory_shape);
    return txd_recording_append(recording, "memory", &memory, 1,
                                context->batch * context->memory);
}
