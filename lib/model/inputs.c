/* SPDX-License-Identifier: MIT
 *
 * Batches of tokens: made, numbered, and checked against a configuration, so that the
 * decoder can index its tables without looking.
 */
#include "model/inputs.h"

static txd_status check_token(const txd_inputs *inputs, const txd_config *config,
                              size_t row, size_t t)
{
    int32_t token = inputs->tokens[row * inputs->length + t];
    int32_t valid = inputs->valid[row * inputs->length + t];

    if (token < 0 || (size_t)token >= config->vocab)
        return txd_fail(TXD_ERR_CONFIG,
                        "batch row %zu, place %zu: token id %d is not in the "
                        "vocabulary, which has ids 0 to %zu",
                        row, t, (int)token, config->vocab - 1);
    if (valid != 0 && valid != 1)
        return txd_fail(TXD_ERR_CONFIG,
                        "batch row %zu, place %zu: valid is %d, expected 0 or 1", row,
                        t, (int)valid);
    return TXD_OK;
}

static size_t count_valid(const txd_inputs *inputs, size_t row)
{
    size_t count = 0;

    for (size_t t = 0; t < inputs->length; t++)
        count += inputs->valid[row * inputs->length + t] != 0;
    return count;
}

static txd_status check_position(const txd_inputs *inputs, const txd_config *config,
                                 size_t row, size_t t)
{
    int32_t position = inputs->positions[row * inputs->length + t];
    bool learned = config->positions == TXD_POSITIONS_LEARNED;

    if (position < 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "batch row %zu, place %zu: position %d is negative", row, t,
                        (int)position);
    if (config->max_seq_len == 0 || (size_t)position < config->max_seq_len)
        return TXD_OK;
    return txd_fail(TXD_ERR_CONFIG,
                    "batch row %zu has %zu tokens, the model has %zu positions "
                    "(max_seq_len): place %zu is at position %d, the last is %zu; %s",
                    row, count_valid(inputs, row), config->max_seq_len, t,
                    (int)position, config->max_seq_len - 1,
                    learned ? "shorten the input"
                            : "shorten the input or set model.max_seq_len");
}

txd_status txd_inputs_make(txd_inputs *out, txd_arena *arena, size_t batch,
                           size_t length)
{
    txd_inputs made = {.batch = batch, .length = length};
    int32_t **arrays[] = {&made.tokens, &made.positions, &made.valid, &made.document,
                          &made.types};
    size_t count;

    TXD_TRY(txd_size_mul(&count, batch, length));
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        *arrays[i] = txd_arena_alloc(arena, count, sizeof(int32_t));
        if (!*arrays[i])
            return TXD_ERR_MEMORY;
    }
    for (size_t i = 0; i < count; i++)
        made.valid[i] = 1;
    *out = made;
    return TXD_OK;
}

txd_status txd_inputs_make_memory(txd_inputs *inputs, txd_arena *arena, size_t length,
                                  size_t width, txd_dtype dtype)
{
    const size_t dims[3] = {inputs->batch, length, width};
    size_t rows, count;
    int32_t *valid;
    void *data;

    TXD_TRY(txd_size_mul(&rows, inputs->batch, length));
    TXD_TRY(txd_size_mul(&count, rows, width));
    data = txd_arena_alloc(arena, count, txd_dtype_bytes(dtype));
    valid = txd_arena_alloc(arena, rows, sizeof *valid);
    if (!data || !valid)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows; i++)
        valid[i] = 1;
    inputs->memory = txd_tensor_make(dtype, data, 3, dims);
    inputs->memory_length = length;
    inputs->memory_valid = valid;
    return TXD_OK;
}

void txd_inputs_count_positions(txd_inputs *inputs)
{
    for (size_t row = 0; row < inputs->batch; row++) {
        const int32_t *valid = inputs->valid + row * inputs->length;
        int32_t *positions = inputs->positions + row * inputs->length;
        int32_t next = 0;

        for (size_t t = 0; t < inputs->length; t++)
            positions[t] = valid[t] ? next++ : 0;
    }
}

bool txd_inputs_is_pair(const txd_inputs *inputs, size_t i)
{
    return (i + 1) % inputs->length != 0 && inputs->valid[i] && inputs->valid[i + 1];
}

size_t txd_inputs_pairs(const txd_inputs *inputs)
{
    size_t pairs = 0;

    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        pairs += txd_inputs_is_pair(inputs, i);
    return pairs;
}

static txd_status check_memory(const txd_inputs *inputs, const txd_config *config)
{
    const txd_tensor *memory = &inputs->memory;
    const size_t expected[3] = {inputs->batch, inputs->memory_length, config->d_model};

    if (!config->cross)
        return TXD_OK;
    if (inputs->memory_length == 0)
        return txd_fail(TXD_ERR_CONFIG,
                        "model.cross needs a memory to attend to: give input.memory");
    for (int i = 0; i < 3; i++)
        if (memory->rank != 3 || memory->dims[i] != expected[i])
            return txd_fail(TXD_ERR_CONFIG,
                            "the memory has %zu as its axis %d, expected (batch rows "
                            "%zu, rows of memory %zu, d_model %zu)",
                            memory->rank == 3 ? memory->dims[i] : 0, i, expected[0],
                            expected[1], expected[2]);
    return TXD_OK;
}

static txd_status check_type(const txd_inputs *inputs, const txd_config *config,
                             size_t row, size_t t)
{
    int32_t type = inputs->types ? inputs->types[row * inputs->length + t] : 0;

    if (type == 0 || (type > 0 && (size_t)type < config->token_types))
        return TXD_OK;
    if (config->token_types == 0)
        return txd_fail(
            TXD_ERR_CONFIG,
            "batch row %zu, place %zu: the token has type %d, but the model "
            "has no token types (model.token_types)",
            row, t, (int)type);
    return txd_fail(TXD_ERR_CONFIG,
                    "batch row %zu, place %zu: token type %d is none of the model's, 0 "
                    "to %zu",
                    row, t, (int)type, config->token_types - 1);
}

txd_status txd_inputs_check(const txd_inputs *inputs, const txd_config *config)
{
    if (inputs->batch == 0 || inputs->length == 0)
        return txd_fail(TXD_ERR_CONFIG, "the batch is empty: %zu rows of %zu tokens",
                        inputs->batch, inputs->length);
    TXD_TRY(check_memory(inputs, config));
    for (size_t row = 0; row < inputs->batch; row++) {
        for (size_t t = 0; t < inputs->length; t++) {
            TXD_TRY(check_token(inputs, config, row, t));
            TXD_TRY(check_position(inputs, config, row, t));
            TXD_TRY(check_type(inputs, config, row, t));
        }
    }
    return TXD_OK;
}

txd_extent txd_inputs_extent(const txd_inputs *inputs)
{
    return (txd_extent){inputs->batch, inputs->length, inputs->memory_length,
                        inputs->past};
}

txd_mask_view txd_mask_of(const txd_layer_config *layer, const txd_inputs *inputs,
                          size_t batch_row)
{
    const struct txd_input_keys own = {inputs->length, inputs->positions, inputs->valid,
                                       inputs->document};
    const struct txd_input_keys *keys = inputs->keys.valid ? &inputs->keys : &own;
    size_t start = batch_row * inputs->length, key = batch_row * keys->stride;

    return (txd_mask_view){
        .causal = layer->causal,
        .window = layer->window,
        .query_positions = inputs->positions + start,
        .query_document = inputs->document + start,
        .key_positions = keys->positions + key,
        .key_document = keys->document + key,
        .key_valid = keys->valid + key,
        .past = inputs->past,
    };
}

txd_mask_view txd_mask_of_memory(const txd_inputs *inputs, size_t batch_row)
{
    return (txd_mask_view){.key_valid = inputs->memory_valid +
                                        batch_row * inputs->memory_length};
}

txd_mask_view txd_mask_of_attention(txd_attention_kind kind,
                                    const txd_layer_config *layer,
                                    const txd_inputs *inputs, size_t batch_row)
{
    return kind == TXD_ATTENTION_CROSS ? txd_mask_of_memory(inputs, batch_row)
                                       : txd_mask_of(layer, inputs, batch_row);
}
