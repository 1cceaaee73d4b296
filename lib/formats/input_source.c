/* SPDX-License-Identifier: MIT
 *
 * The `input` group as batches: tokens, and the memory beside them.
 */
#include "formats/input_source.h"

#include <stdlib.h>

#include "formats/input_internal.h"

struct txd_input_source {
    txd_arena *arena;
    txd_config config;
    txd_tokenizer *tokenizer; /* NULL: nothing asks for one */
    struct txd_token_source tokens;
    struct txd_memory_source memory;
};

const txd_key txd_input_keys[] = {
    {"input.tokens", "list", "one of tokens, text, file, random", "", "0 to vocab - 1",
     "token ids: a list per batch row, or one flat list (elsewhere input_ids)"},
    {"input.text", "text", "one of tokens, text, file, random", "", "",
     "a text, or a list of them, one per batch row, which the model's tokenizer turns "
     "into ids, with what the model puts around texts (BOS); `txdiag tokenize` shows "
     "them (elsewhere prompt)"},
    {"input.tokenizer", "string", "that of model.from", "", "",
     "the tokenizer: a folder, tokenizer.json, vocab.json beside merges.txt, a GGUF "
     "file, llama2.c's tokenizer.bin; with it ids have pieces for labels too"},
    {"input.file", "string", "one of tokens, text, file, random", "", "",
     "a .npy file of integers, of shape (tokens) or (batch, tokens); or a file of "
     "text, "
     "for the tokenizer as input.text"},
    {"input.random.batch", "int", "1", "rows", "1 to 65536",
     "rows of random tokens (elsewhere batch_size)"},
    {"input.random.length", "int", "required", "tokens", "1 to 2147483647",
     "tokens of a row in each step (elsewhere seq_len)"},
    {"input.pad", "right|left", "right", "", "",
     "the side on which shorter rows are padded (elsewhere padding_side)"},
    {"input.pad_id", "int", "0", "", "0 to vocab - 1",
     "the token id of padding (elsewhere pad_token_id)"},
    {"input.length", "int", "longest row / steps", "tokens", "1 to 2147483647",
     "tokens of a window; with steps a rest that fills no window is left out"},
    {"input.steps", "int", "1, or with length all windows", "steps", "1 to 1000000000",
     "passes, each over the next window of every row"},
    {"input.positions", "list", "counted over real tokens", "", "0 to 2147483647",
     "position of every token, shaped like tokens; counting starts anew in each "
     "window (elsewhere position_ids)"},
    {"input.documents", "list", "one document", "", "0 to 2147483647",
     "document number of every token, shaped like tokens; tokens see only their own "
     "document (positions do not start anew unless input.positions says so)"},
    {"input.types", "list", "all 0", "", "0 to token_types - 1",
     "type of every token, shaped like tokens, where the model has token types "
     "(elsewhere token_type_ids)"},
    {"input.memory.file", "string", "one of file, random, tokens", "", "",
     "what cross-attention attends to: a .npz file with an array memory of shape "
     "(rows, d_model) or (batch, rows, d_model) and perhaps valid, for each of its "
     "rows 1 if it is real and 0 if it is padding (PyTorch's key_padding_mask says the "
     "opposite); or a .npy file of the first; with an encoder its token ids, as "
     "input.file (elsewhere encoder_hidden_states)"},
    {"input.memory.random.length", "int", "required", "rows", "1 to 2147483647",
     "rows of a random memory in each step; with an encoder random tokens for it"},
    {"input.memory.random.std", "real", "1.0", "", "0 to 1e30",
     "standard deviation of the random numbers; the mean is 0"},
    {"input.memory.valid", "list", "all rows", "rows", "0 to the memory's length",
     "how many rows of the memory are real in each batch row; the rest is padding"},
    {"input.memory.tokens", "list", "one of file, random, tokens", "", "0 to vocab - 1",
     "what the encoder reads (model.encoder_layers), as input.tokens"},
    {"input.memory.text", "text", "one of text, file, random, tokens", "", "",
     "the same as text, by the same tokenizer as input.text"},
    {"input.memory.pad", "right|left", "right", "", "",
     "the side on which shorter rows of the encoder's tokens are padded"},
    {"input.memory.pad_id", "int", "0", "", "0 to vocab - 1",
     "the token id of the encoder's padding"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

/* Every step, so that a bad one is found before the first is run. */
static txd_status check_steps(const txd_input_source *source)
{
    /* random ones are like the first */
    size_t steps = source->tokens.random ? 1 : source->tokens.steps;
    txd_arena *scratch = NULL;
    txd_status status = txd_arena_create(&scratch);
    txd_inputs inputs;

    for (size_t step = 0; status == TXD_OK && step < steps; step++) {
        status = txd_input_source_step(&inputs, source, scratch, step);
        txd_arena_reset(scratch);
    }
    if (status == TXD_OK && source->memory.encodes)
        status = txd_input_source_encoder(&inputs, source, scratch, 0);
    txd_arena_destroy(scratch);
    return status;
}

static txd_status read_source(txd_input_source *source, const txd_setting *root,
                              const txd_config *config, uint64_t seed)
{
    const txd_setting *input = txd_input_find(root, "input");
    char place[512] = "input";
    txd_status status;

    TXD_TRY(txd_arena_create(&source->arena));
    TXD_TRY(txd_config_copy(&source->config, source->arena, config));
    TXD_TRY(txd_input_tokenizer(&source->tokenizer, source->arena, root, config));
    source->tokens = (struct txd_token_source){.arena = source->arena,
                                               .config = &source->config,
                                               .seed = seed,
                                               .stream = "input.random",
                                               .tokenizer = source->tokenizer,
                                               .batch = 1};
    TXD_TRY(txd_tokens_read(&source->tokens, input ? input : root, "input"));
    source->memory = (struct txd_memory_source){.arena = source->arena,
                                                .config = &source->config,
                                                .seed = seed,
                                                .tokenizer = source->tokenizer,
                                                .batch = source->tokens.batch};
    TXD_TRY(txd_memory_read(&source->memory, root));
    status = check_steps(source);
    if (status != TXD_OK && input)
        txd_setting_place(place, sizeof place, input);
    return status == TXD_OK ? status : txd_fail_prefix(status, "%s", place);
}

txd_status txd_input_source_create(txd_input_source **out, const txd_setting *root,
                                   const txd_config *config, uint64_t seed)
{
    txd_input_source *source = calloc(1, sizeof *source);
    txd_status status;

    if (!source)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the input");
    status = read_source(source, root, config, seed);
    if (status != TXD_OK) {
        txd_input_source_destroy(source);
        return status;
    }
    *out = source;
    return TXD_OK;
}

void txd_input_source_destroy(txd_input_source *source)
{
    if (!source)
        return;
    txd_tokenizer_destroy(source->tokenizer);
    txd_arena_destroy(source->arena);
    free(source);
}

size_t txd_input_source_steps(const txd_input_source *source)
{
    return source->tokens.steps;
}

void txd_input_source_shape(size_t *batch, size_t *length,
                            const txd_input_source *source)
{
    *batch = source->tokens.batch;
    *length = source->tokens.length;
}

bool txd_input_source_has_pieces(const txd_input_source *source)
{
    return source->tokenizer != NULL;
}

bool txd_input_source_has_memory_pieces(const txd_input_source *source)
{
    return source->memory.encodes && source->memory.tokens.tokenizer != NULL;
}

size_t txd_input_source_memory(const txd_input_source *source)
{
    return source->memory.length;
}

txd_status txd_input_source_step(txd_inputs *out, const txd_input_source *source,
                                 txd_arena *arena, size_t step)
{
    txd_inputs inputs;
    txd_status status;

    if (step >= source->tokens.steps)
        return txd_fail(TXD_ERR_ARGUMENT, "step %zu of %zu", step,
                        source->tokens.steps);
    TXD_TRY(txd_tokens_step(&inputs, &source->tokens, arena, step));
    TXD_TRY(txd_memory_step(&inputs, &source->memory, arena, step));
    status = txd_inputs_check(&inputs, &source->config);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "step %zu", step);
    *out = inputs;
    return TXD_OK;
}

txd_status txd_input_source_encoder(txd_inputs *out, const txd_input_source *source,
                                    txd_arena *arena, size_t step)
{
    txd_status status;

    TXD_TRY(txd_memory_tokens(out, &source->memory, arena, step));
    status = txd_inputs_check(out, source->config.encoder);
    return status == TXD_OK ? status : txd_fail_prefix(status, "memory");
}
