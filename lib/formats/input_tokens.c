/* SPDX-License-Identifier: MIT
 *
 * A group of settings as batches of tokens: rows are cut into windows, one per step,
 * and padded to the longest of the window.
 */
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "formats/input_internal.h"

#define STEPS_MAX 1000000000
#define LENGTH_MAX 2147483647
#define STEP_TOKENS_MAX ((size_t)1 << 26)

/* Exactly one of the ways to give tokens. */
static txd_status check_choice(const txd_setting *group, const char *path)
{
    static const char *const ways[] = {"tokens", "text", "file", "random"};
    const txd_setting *first = NULL;
    char text[240];

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const txd_setting *way = txd_input_find(group, ways[i]);

        if (way && first)
            return txd_input_fail(way,
                                  "the input has one source; remove this one, or the "
                                  "other one of tokens, text, file and random");
        first = way ? way : first;
    }
    if (first)
        return TXD_OK;
    snprintf(text, sizeof text,
             "the input is missing; give %s.tokens = ( [1, 2, 3] ), or %s.text = "
             "\"Once\", or %s.file = \"ids.npy\", or %s.random = { length = 16; }",
             path, path, path, path);
    return txd_input_fail(group, text);
}

/* Positions, documents or types: one for every token. */
static txd_status read_shaped(struct txd_id_rows *out, struct txd_token_source *source,
                              const txd_setting *group, const char *path,
                              const char *what)
{
    const txd_setting *list = txd_input_find(group, path);
    const struct txd_id_rows *tokens = &source->tokens;
    struct txd_id_rows rows;
    char text[160];

    if (!list)
        return TXD_OK;
    if (source->random)
        return txd_input_fail(list,
                              "random tokens take no positions, documents and types");
    if (list->kind != TXD_SETTING_LIST)
        return txd_input_fail(list, "expected a list");
    TXD_TRY(txd_ids_from_list(&rows, source->arena, list, what, INT32_MAX));
    if (rows.count != tokens->count) {
        snprintf(text, sizeof text, "%zu rows, but there are %zu rows of tokens",
                 rows.count, tokens->count);
        return txd_input_fail(list, text);
    }
    for (size_t r = 0; r < rows.count; r++) {
        if (rows.rows[r].count == tokens->rows[r].count)
            continue;
        snprintf(text, sizeof text, "row %zu has %zu numbers for %zu tokens", r,
                 rows.rows[r].count, tokens->rows[r].count);
        return txd_input_fail(list, text);
    }
    *out = rows;
    return TXD_OK;
}

static txd_status read_random(struct txd_token_source *source, const txd_setting *group)
{
    const txd_setting *length = txd_input_find(group, "length");

    if (length)
        return txd_input_fail(length,
                              "random tokens have input.random.length; remove this");
    source->random = true;
    TXD_TRY(txd_setting_size(&source->batch, group, "random.batch", 1, 65536));
    TXD_TRY(txd_setting_size(&source->length, group, "random.length", 1, LENGTH_MAX));
    if (source->length == 0)
        return txd_input_fail(txd_input_find(group, "random"),
                              "length is missing: how many tokens has a row?");
    return TXD_OK;
}

static txd_status read_tokens(struct txd_token_source *source, const txd_setting *group)
{
    const txd_setting *tokens = txd_input_find(group, "tokens");
    const txd_setting *file = txd_input_find(group, "file");
    const txd_setting *text = txd_input_find(group, "text");
    const struct txd_text_source by = {source->arena, source->tokenizer,
                                       source->config->vocab};
    size_t high = source->config->vocab - 1;
    const char *path = NULL;

    if (tokens && tokens->kind != TXD_SETTING_LIST)
        return txd_input_fail(tokens, "expected a list of token ids");
    if (tokens)
        return txd_ids_from_list(&source->tokens, source->arena, tokens, "a token id",
                                 high);
    if (text)
        return txd_ids_from_text(&source->tokens, text, &by);
    if (!file)
        return read_random(source, group);
    TXD_TRY(txd_setting_string(&path, group, "file"));
    if (txd_input_is_text(source->arena, file))
        return txd_ids_from_text_file(&source->tokens, file, &by);
    return txd_ids_from_file(&source->tokens, source->arena, file, high);
}

/* Window length and number of steps follow from each other. */
static txd_status read_windows(struct txd_token_source *source,
                               const txd_setting *group)
{
    bool given = txd_input_find(group, "steps") != NULL;
    size_t longest = 0, length = 0, steps = 1;
    char text[160];

    TXD_TRY(txd_setting_size(&steps, group, "steps", 1, STEPS_MAX));
    TXD_TRY(txd_setting_size(&length, group, "length", 1, LENGTH_MAX));
    source->steps = steps;
    if (source->random)
        return TXD_OK;
    source->batch = source->tokens.count;
    for (size_t r = 0; r < source->batch; r++)
        if (source->tokens.rows[r].count > longest)
            longest = source->tokens.rows[r].count;
    if (length == 0)
        length = longest / steps;
    else if (!given)
        source->steps = (longest - 1) / length + 1;
    source->length = length < longest ? length : longest;
    if (source->length != 0 && (source->steps - 1) <= (longest - 1) / source->length)
        return TXD_OK;
    snprintf(text, sizeof text,
             "%zu windows of %zu tokens need more than the %zu tokens of the longest "
             "row",
             steps, length == 0 ? (size_t)1 : length, longest);
    return txd_input_fail(txd_input_find(group, "steps"), text);
}

static txd_status read_padding(struct txd_token_source *source,
                               const txd_setting *group)
{
    static const char *const words[] = {"right", "left"};
    size_t pad_id = 0;
    int side = 0;

    TXD_TRY(txd_setting_choice(&side, group, "pad", words, 2));
    TXD_TRY(txd_setting_size(&pad_id, group, "pad_id", 0, source->config->vocab - 1));
    source->pad_left = side == 1;
    source->pad_id = (int32_t)pad_id;
    return TXD_OK;
}

/* Where the window of a step lies in a row. */
static size_t window(size_t *count, const struct txd_token_source *source, size_t row,
                     size_t step)
{
    size_t all = source->tokens.rows[row].count, begin;

    begin = step > all / source->length ? all : step * source->length;
    *count = all - begin < source->length ? all - begin : source->length;
    return begin;
}

static size_t window_length(const struct txd_token_source *source, size_t step)
{
    size_t longest = 0, count;

    if (source->random)
        return source->length;
    for (size_t r = 0; r < source->batch; r++) {
        window(&count, source, r, step);
        longest = count > longest ? count : longest;
    }
    return longest;
}

static void fill_random(txd_inputs *inputs, const struct txd_token_source *source,
                        size_t step)
{
    uint64_t key = txd_rng_key(source->seed, source->stream);
    size_t count = inputs->batch * inputs->length;
    double vocab = (double)source->config->vocab;

    for (size_t i = 0; i < count; i++) {
        uint64_t index = (uint64_t)step * count + i;

        inputs->tokens[i] = (int32_t)(txd_rng_uniform(key, index) * vocab);
    }
}

static void fill_row(txd_inputs *inputs, const struct txd_token_source *source,
                     size_t row, size_t step)
{
    size_t count, begin = window(&count, source, row, step);
    size_t at = row * inputs->length, length = inputs->length;
    size_t shift = source->pad_left ? length - count : 0;
    size_t bytes = count * sizeof(int32_t);

    for (size_t t = 0; t < length; t++) {
        inputs->tokens[at + t] = source->pad_id;
        inputs->valid[at + t] = t >= shift && t < shift + count;
    }
    memcpy(inputs->tokens + at + shift, source->tokens.rows[row].ids + begin, bytes);
    if (source->types.count)
        memcpy(inputs->types + at + shift, source->types.rows[row].ids + begin, bytes);
    if (source->documents.count)
        memcpy(inputs->document + at + shift, source->documents.rows[row].ids + begin,
               bytes);
}

static void fill_positions(txd_inputs *inputs, const struct txd_token_source *source,
                           size_t step)
{
    txd_inputs_count_positions(inputs);
    for (size_t row = 0; row < source->positions.count; row++) {
        size_t count, begin = window(&count, source, row, step);
        size_t shift = source->pad_left ? inputs->length - count : 0;

        memcpy(inputs->positions + row * inputs->length + shift,
               source->positions.rows[row].ids + begin, count * sizeof(int32_t));
    }
}

/* Before there is memory for it. */
static txd_status check_size(const struct txd_token_source *source,
                             const txd_setting *group)
{
    size_t tokens;
    char text[160];

    if (txd_size_mul(&tokens, source->batch, source->length) == TXD_OK &&
        tokens <= STEP_TOKENS_MAX)
        return TXD_OK;
    snprintf(text, sizeof text,
             "%zu rows of %zu tokens in one step; expected at most %zu tokens: shorten "
             "the windows",
             source->batch, source->length, STEP_TOKENS_MAX);
    return txd_input_fail(group, text);
}

txd_status txd_tokens_read(struct txd_token_source *source, const txd_setting *group,
                           const char *path)
{
    TXD_TRY(check_choice(group, path));
    TXD_TRY(read_tokens(source, group));
    TXD_TRY(read_shaped(&source->positions, source, group, "positions", "a position"));
    TXD_TRY(read_shaped(&source->documents, source, group, "documents",
                        "a document number"));
    TXD_TRY(read_shaped(&source->types, source, group, "types", "a token type"));
    TXD_TRY(read_windows(source, group));
    TXD_TRY(check_size(source, group));
    return read_padding(source, group);
}

txd_status txd_tokens_step(txd_inputs *out, const struct txd_token_source *source,
                           txd_arena *arena, size_t step)
{
    TXD_TRY(txd_inputs_make(out, arena, source->batch, window_length(source, step)));
    if (source->random)
        fill_random(out, source, step);
    for (size_t row = 0; !source->random && row < source->batch; row++)
        fill_row(out, source, row, step);
    fill_positions(out, source, step);
    return source->tokenizer ? txd_input_pieces(out, arena, source->tokenizer) : TXD_OK;
}
