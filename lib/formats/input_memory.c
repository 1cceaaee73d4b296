/* SPDX-License-Identifier: MIT
 *
 * The group input.memory: a file (input_arrays.c), random numbers, or token ids for the
 * encoder.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "formats/input_internal.h"

#define PATH "input.memory"
#define STREAM PATH ".random"
#define PLACE_BYTES 512
#define LENGTH_MAX 2147483647
#define STD_MAX 1e30

bool txd_memory_fits(const struct txd_memory_source *source, size_t length)
{
    size_t rows, count;

    return txd_size_mul(&rows, source->batch, length) == TXD_OK &&
           txd_size_mul(&count, rows, source->config->d_model) == TXD_OK &&
           count <= TXD_MEMORY_ELEMENTS;
}

txd_status txd_memory_make_valid(struct txd_memory_source *source)
{
    size_t rows = source->batch * source->length;

    source->valid = txd_arena_alloc(source->arena, rows, sizeof *source->valid);
    if (!source->valid)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows; i++)
        source->valid[i] = 1;
    return TXD_OK;
}

static txd_status read_file(struct txd_memory_source *source, const txd_setting *file,
                            const txd_setting *valid)
{
    char place[PLACE_BYTES];
    const char *path;
    txd_status status;

    if (file->kind != TXD_SETTING_STRING)
        return txd_input_fail(file, "expected the name of a .npz or .npy file");
    path = txd_input_path(source->arena, file);
    if (!path)
        return TXD_ERR_MEMORY;
    status = txd_memory_from_file(source, path, valid != NULL);
    if (status == TXD_OK)
        return TXD_OK;
    txd_setting_place(place, sizeof place, file);
    return txd_fail_prefix(status, "%s", place);
}

static txd_status check_size(const struct txd_memory_source *source,
                             const txd_setting *setting)
{
    char text[160];

    if (txd_memory_fits(source, source->length))
        return TXD_OK;
    snprintf(text, sizeof text,
             "%zu batch rows of %zu rows of %zu numbers; expected at most %zu numbers",
             source->batch, source->length, source->config->d_model,
             TXD_MEMORY_ELEMENTS);
    return txd_input_fail(setting, text);
}

static txd_status read_random(struct txd_memory_source *source,
                              const txd_setting *group)
{
    const txd_setting *random = txd_input_find(group, "random");

    source->std = 1;
    TXD_TRY(txd_setting_size(&source->length, group, "random.length", 1, LENGTH_MAX));
    TXD_TRY(txd_setting_real(&source->std, group, "random.std", 0, STD_MAX));
    if (source->length == 0)
        return txd_input_fail(random,
                              "length is missing: how many rows has the memory?");
    TXD_TRY(check_size(source, random));
    return txd_memory_make_valid(source);
}

/* How many rows are real in each batch row. */
static txd_status read_counts(struct txd_memory_source *source, const txd_setting *list)
{
    size_t row = 0;
    char text[160];

    if (!list)
        return TXD_OK;
    if (list->kind != TXD_SETTING_LIST || list->count != source->batch) {
        snprintf(text, sizeof text,
                 "expected a list of how many rows are real in each of the %zu batch "
                 "rows",
                 source->batch);
        return txd_input_fail(list, text);
    }
    for (const txd_setting *s = list->child; s; s = s->next, row++) {
        if (s->kind != TXD_SETTING_INT || s->integer < 0 ||
            (uint64_t)s->integer > source->length) {
            size_t used = (size_t)snprintf(text, sizeof text,
                                           "expected from 0 to %zu rows of the memory",
                                           source->length);

            if (s->kind == TXD_SETTING_INT)
                snprintf(text + used, sizeof text - used, ", found %lld",
                         (long long)s->integer);
            return txd_input_fail(s, text);
        }
        for (size_t i = (size_t)s->integer; i < source->length; i++)
            source->valid[row * source->length + i] = 0;
    }
    return TXD_OK;
}

static txd_status read_encoded(struct txd_memory_source *source,
                               const txd_setting *group)
{
    const txd_setting *valid = txd_input_find(group, "valid"),
                      *std = txd_input_find(group, "random.std");
    char text[200];

    if (valid || std)
        return txd_input_fail(
            valid ? valid : std,
            "the memory is what the encoder makes of tokens, which have "
            "padding of their own; remove this");
    source->encodes = true;
    source->tokens = (struct txd_token_source){.arena = source->arena,
                                               .config = source->config->encoder,
                                               .seed = source->seed,
                                               .stream = STREAM,
                                               .tokenizer = source->tokenizer,
                                               .batch = source->batch};
    TXD_TRY(txd_tokens_read(&source->tokens, group, PATH));
    source->length = source->tokens.length;
    if (source->tokens.batch != source->batch) {
        snprintf(text, sizeof text,
                 "%zu rows of tokens for the encoder, but %zu for the decoder",
                 source->tokens.batch, source->batch);
        return txd_input_fail(group, text);
    }
    return check_size(source, group);
}

/* Exactly one of file and random, without an encoder. */
static txd_status check_choice(const txd_setting *group)
{
    const txd_setting *tokens = txd_input_find(group, "tokens"),
                      *file = txd_input_find(group, "file");
    const txd_setting *text = txd_input_find(group, "text");
    const txd_setting *random = txd_input_find(group, "random");
    const txd_setting *pad = txd_input_find(group, "pad"),
                      *pad_id = txd_input_find(group, "pad_id");

    if (tokens || text || pad || pad_id)
        return txd_input_fail(tokens ? tokens
                              : text ? text
                              : pad  ? pad
                                     : pad_id,
                              "there is no encoder that reads tokens; set "
                              "model.encoder_layers, or give file or random");
    if (file && random)
        return txd_input_fail(
            random, "the memory has one source; remove this one, or the file");
    if (file || random)
        return TXD_OK;
    return txd_input_fail(group, "the memory is missing; give " PATH
                                 ".file = \"memory.npz\", or " PATH
                                 ".random = { length = 16; }");
}

txd_status txd_memory_read(struct txd_memory_source *source, const txd_setting *root)
{
    const txd_setting *group = txd_input_find(root, PATH),
                      *input = txd_input_find(root, "input");
    const txd_setting *file;

    if (!group && !source->config->cross)
        return TXD_OK;
    if (!source->config->cross)
        return txd_input_fail(group,
                              "the model has no cross-attention that would read a "
                              "memory; set model.cross = true, or remove this");
    if (!group)
        return txd_input_fail(
            input ? input : root,
            source->config->encoder
                ? "the model has an encoder, which needs a text or "
                  "tokens of its own; give " PATH " = { text = \"...\"; } or " PATH
                  " = { tokens = [1, 2, 3]; }, beside those of "
                  "input, which the decoder reads"
                : "model.cross needs a memory to attend to; give " PATH
                  " = { file = \"memory.npz\"; } or " PATH
                  " = { random = { length = 16; }; }");
    if (source->config->encoder)
        return read_encoded(source, group);
    TXD_TRY(check_choice(group));
    file = txd_input_find(group, "file");
    TXD_TRY(file ? read_file(source, file, txd_input_find(group, "valid"))
                 : read_random(source, group));
    return read_counts(source, txd_input_find(group, "valid"));
}

/* ---- steps ---- */

static void fill_random(const txd_tensor *memory,
                        const struct txd_memory_source *source, size_t step)
{
    uint64_t key = txd_rng_key(source->seed, STREAM);
    size_t count = txd_tensor_count(memory);
    float *data = memory->data;

    for (size_t i = 0; i < count; i++)
        data[i] =
            (float)(txd_rng_normal(key, (uint64_t)step * count + i) * source->std);
}

txd_status txd_memory_tokens(txd_inputs *out, const struct txd_memory_source *source,
                             txd_arena *arena, size_t step)
{
    if (!source->encodes)
        return txd_fail(TXD_ERR_MISSING, "the model has no encoder");
    return txd_tokens_step(out, &source->tokens, arena,
                           source->tokens.random ? step : 0);
}

txd_status txd_memory_step(txd_inputs *inputs, const struct txd_memory_source *source,
                           txd_arena *arena, size_t step)
{
    txd_dtype dtype = source->encodes ? TXD_F64 : TXD_F32;
    size_t rows = source->batch * source->length;
    txd_inputs tokens;

    if (source->length == 0)
        return TXD_OK;
    if (source->values.data) {
        inputs->memory = source->values;
        inputs->memory_length = source->length;
        inputs->memory_valid = source->valid;
        return TXD_OK;
    }
    TXD_TRY(txd_inputs_make_memory(inputs, arena, source->length,
                                   source->config->d_model, dtype));
    if (!source->encodes) {
        memcpy(inputs->memory_valid, source->valid, rows * sizeof *source->valid);
        fill_random(&inputs->memory, source, step);
        return TXD_OK;
    }
    TXD_TRY(txd_memory_tokens(&tokens, source, arena, step));
    memcpy(inputs->memory_valid, tokens.valid, rows * sizeof *tokens.valid);
    inputs->memory_pieces = tokens.pieces;
    return TXD_OK;
}
