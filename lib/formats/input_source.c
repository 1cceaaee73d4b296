/* SPDX-License-Identifier: MIT
 *
 * The `input` group as batches: rows are cut into windows, one per step, and padded
 * to the longest of the window.
 */
#include "formats/input_source.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "formats/input_internal.h"

#define STEPS_MAX 1000000000
#define LENGTH_MAX 2147483647
#define STEP_TOKENS_MAX ((size_t)1 << 26)

struct txd_input_source {
    txd_arena *arena;
    txd_config config;
    struct txd_id_rows tokens, positions, documents; /* no rows: the default */
    bool random, pad_left;
    int32_t pad_id;
    uint64_t seed;
    size_t batch, length, steps; /* length: of a window */
};

const txd_key txd_input_keys[] = {
    {"input.tokens", "list", "one of tokens, file, random", "", "0 to vocab - 1",
     "token ids: a list per batch row, or one flat list"},
    {"input.file", "string", "one of tokens, file, random", "", "",
     "a .npy file of integers, of shape (tokens) or (batch, tokens)"},
    {"input.random.batch", "int", "1", "rows", "1 to 65536", "rows of random tokens"},
    {"input.random.length", "int", "required", "tokens", "1 to 2147483647",
     "tokens of a row in each step"},
    {"input.pad", "right|left", "right", "", "",
     "the side on which shorter rows are padded"},
    {"input.pad_id", "int", "0", "", "0 to vocab - 1", "the token id of padding"},
    {"input.length", "int", "longest row / steps", "tokens", "1 to 2147483647",
     "tokens of a window; with steps a rest that fills no window is left out"},
    {"input.steps", "int", "1, or with length all windows", "steps", "1 to 1000000000",
     "passes, each over the next window of every row"},
    {"input.positions", "list", "counted over real tokens", "", "0 to 2147483647",
     "position of every token, shaped like tokens; counting starts anew in each "
     "window"},
    {"input.documents", "list", "one document", "", "0 to 2147483647",
     "document number of every token, shaped like tokens; tokens see only their own "
     "document (positions do not start anew unless input.positions says so)"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

static const txd_setting *find(const txd_setting *root, const char *path)
{
    const txd_setting *setting = txd_setting_find(root, path);

    return setting && setting->kind != TXD_SETTING_NULL ? setting : NULL;
}

static txd_status fail_at(const txd_setting *setting, const char *text)
{
    char place[512];

    txd_setting_place(place, sizeof place, setting);
    return txd_fail(TXD_ERR_CONFIG, "%s%s%s", place, *place ? ": " : "", text);
}

/* Exactly one of the ways to give tokens. */
static txd_status check_choice(const txd_setting *root)
{
    static const char *const ways[] = {"input.tokens", "input.file", "input.random"};
    const txd_setting *first = NULL, *input = find(root, "input");

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        const txd_setting *way = find(root, ways[i]);

        if (way && first)
            return fail_at(way, "the input has one source; remove this one, or the "
                                "other one of tokens, file and random");
        first = way ? way : first;
    }
    if (first)
        return TXD_OK;
    return fail_at(input ? input : root,
                   "the input is missing; give input.tokens = ( [1, 2, 3] ), or "
                   "input.file = \"ids.npy\", or input.random = { length = 16; }");
}

/* Positions or documents: one for every token. */
static txd_status read_shaped(struct txd_id_rows *out, txd_input_source *source,
                              const txd_setting *root, const char *path,
                              const char *what)
{
    const txd_setting *list = find(root, path);
    const struct txd_id_rows *tokens = &source->tokens;
    struct txd_id_rows rows;
    char text[160];

    if (!list)
        return TXD_OK;
    if (source->random)
        return fail_at(list, "random tokens take no positions and documents");
    if (list->kind != TXD_SETTING_LIST)
        return fail_at(list, "expected a list");
    TXD_TRY(txd_ids_from_list(&rows, source->arena, list, what, INT32_MAX));
    if (rows.count != tokens->count) {
        snprintf(text, sizeof text, "%zu rows, but there are %zu rows of tokens",
                 rows.count, tokens->count);
        return fail_at(list, text);
    }
    for (size_t r = 0; r < rows.count; r++) {
        if (rows.rows[r].count == tokens->rows[r].count)
            continue;
        snprintf(text, sizeof text, "row %zu has %zu numbers for %zu tokens", r,
                 rows.rows[r].count, tokens->rows[r].count);
        return fail_at(list, text);
    }
    *out = rows;
    return TXD_OK;
}

static txd_status read_random(txd_input_source *source, const txd_setting *root)
{
    const txd_setting *length = find(root, "input.length");

    if (length)
        return fail_at(length, "random tokens have input.random.length; remove this");
    source->random = true;
    source->batch = 1;
    TXD_TRY(txd_setting_size(&source->batch, root, "input.random.batch", 1, 65536));
    TXD_TRY(
        txd_setting_size(&source->length, root, "input.random.length", 1, LENGTH_MAX));
    if (source->length == 0)
        return fail_at(find(root, "input.random"),
                       "length is missing: how many tokens has a row?");
    return TXD_OK;
}

static txd_status read_tokens(txd_input_source *source, const txd_setting *root)
{
    const txd_setting *tokens = find(root, "input.tokens");
    const txd_setting *file = find(root, "input.file");
    size_t high = source->config.vocab - 1;
    const char *path = NULL;

    if (tokens && tokens->kind != TXD_SETTING_LIST)
        return fail_at(tokens, "expected a list of token ids");
    if (tokens)
        return txd_ids_from_list(&source->tokens, source->arena, tokens, "a token id",
                                 high);
    if (!file)
        return read_random(source, root);
    TXD_TRY(txd_setting_string(&path, root, "input.file"));
    return txd_ids_from_file(&source->tokens, source->arena, file, high);
}

/* Window length and number of steps follow from each other. */
static txd_status read_windows(txd_input_source *source, const txd_setting *root)
{
    bool given = find(root, "input.steps") != NULL;
    size_t longest = 0, length = 0, steps = 1;
    char text[160];

    TXD_TRY(txd_setting_size(&steps, root, "input.steps", 1, STEPS_MAX));
    TXD_TRY(txd_setting_size(&length, root, "input.length", 1, LENGTH_MAX));
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
    return fail_at(find(root, "input.steps"), text);
}

static txd_status read_padding(txd_input_source *source, const txd_setting *root)
{
    static const char *const words[] = {"right", "left"};
    size_t pad_id = 0;
    int side = 0;

    TXD_TRY(txd_setting_choice(&side, root, "input.pad", words, 2));
    TXD_TRY(
        txd_setting_size(&pad_id, root, "input.pad_id", 0, source->config.vocab - 1));
    source->pad_left = side == 1;
    source->pad_id = (int32_t)pad_id;
    return TXD_OK;
}

/* Where the window of a step lies in a row. */
static size_t window(size_t *count, const txd_input_source *source, size_t row,
                     size_t step)
{
    size_t all = source->tokens.rows[row].count, begin;

    begin = step > all / source->length ? all : step * source->length;
    *count = all - begin < source->length ? all - begin : source->length;
    return begin;
}

static size_t window_length(const txd_input_source *source, size_t step)
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

static void fill_random(txd_inputs *inputs, const txd_input_source *source, size_t step)
{
    uint64_t key = txd_rng_key(source->seed, "input.random");
    size_t count = inputs->batch * inputs->length;
    double vocab = (double)source->config.vocab;

    for (size_t i = 0; i < count; i++) {
        uint64_t index = (uint64_t)step * count + i;

        inputs->tokens[i] = (int32_t)(txd_rng_uniform(key, index) * vocab);
    }
}

static void fill_row(txd_inputs *inputs, const txd_input_source *source, size_t row,
                     size_t step)
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
    if (source->documents.count)
        memcpy(inputs->document + at + shift, source->documents.rows[row].ids + begin,
               bytes);
}

static void fill_positions(txd_inputs *inputs, const txd_input_source *source,
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
static txd_status check_size(const txd_input_source *source, const txd_setting *root)
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
    return fail_at(find(root, "input"), text);
}

/* Every step, so that a bad one is found before the first is run. */
static txd_status check_steps(const txd_input_source *source)
{
    size_t steps = source->random ? 1 : source->steps; /* the rest is like the first */
    txd_arena *scratch = NULL;
    txd_status status = txd_arena_create(&scratch);
    txd_inputs inputs;

    for (size_t step = 0; status == TXD_OK && step < steps; step++) {
        status = txd_input_source_step(&inputs, source, scratch, step);
        txd_arena_reset(scratch);
    }
    txd_arena_destroy(scratch);
    return status;
}

static txd_status read_source(txd_input_source *source, const txd_setting *root,
                              const txd_config *config)
{
    const txd_setting *input = find(root, "input");
    char place[512] = "input";
    txd_status status;

    TXD_TRY(txd_arena_create(&source->arena));
    TXD_TRY(txd_config_copy(&source->config, source->arena, config));
    TXD_TRY(check_choice(root));
    TXD_TRY(read_tokens(source, root));
    TXD_TRY(
        read_shaped(&source->positions, source, root, "input.positions", "a position"));
    TXD_TRY(read_shaped(&source->documents, source, root, "input.documents",
                        "a document number"));
    TXD_TRY(read_windows(source, root));
    TXD_TRY(check_size(source, root));
    TXD_TRY(read_padding(source, root));
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
    source->seed = seed;
    status = read_source(source, root, config);
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
    txd_arena_destroy(source->arena);
    free(source);
}

size_t txd_input_source_steps(const txd_input_source *source)
{
    return source->steps;
}

void txd_input_source_shape(size_t *batch, size_t *length,
                            const txd_input_source *source)
{
    *batch = source->batch;
    *length = source->length;
}

txd_status txd_input_source_step(txd_inputs *out, const txd_input_source *source,
                                 txd_arena *arena, size_t step)
{
    txd_inputs inputs;
    txd_status status;

    if (step >= source->steps)
        return txd_fail(TXD_ERR_ARGUMENT, "step %zu of %zu", step, source->steps);
    TXD_TRY(
        txd_inputs_make(&inputs, arena, source->batch, window_length(source, step)));
    if (source->random)
        fill_random(&inputs, source, step);
    for (size_t row = 0; !source->random && row < source->batch; row++)
        fill_row(&inputs, source, row, step);
    fill_positions(&inputs, source, step);
    status = txd_inputs_check(&inputs, &source->config);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "step %zu", step);
    *out = inputs;
    return TXD_OK;
}
