/* SPDX-License-Identifier: MIT
 *
 * Texts as token ids, and what tokens stand for: the model's tokenizer between
 * model.cfg and the batches.
 */
#include <string.h>

#include "formats/file.h"
#include "formats/input_internal.h"
#include "formats/kind.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

bool txd_input_is_text(txd_arena *arena, const txd_setting *file)
{
    const char *path;

    if (!file || file->kind != TXD_SETTING_STRING || ends_with(file->string, ".npy"))
        return false;
    path = txd_input_path(arena, file);
    return ends_with(file->string, ".txt") ||
           (path && txd_file_kind_at(path) == TXD_FILE_TEXT);
}

/* The first setting that asks for a tokenizer; NULL if none does. A memory is made of
 * tokens where an encoder reads them, and else of numbers. */
static const txd_setting *find_text(txd_arena *arena, const txd_setting *root,
                                    const txd_config *config)
{
    static const char *const groups[] = {"input", "input.memory"};
    size_t count = config->encoder ? 2 : 1;

    for (size_t i = 0; i < count; i++) {
        const txd_setting *group = txd_input_find(root, groups[i]);
        const txd_setting *text = txd_input_find(group, "text");
        const txd_setting *file = txd_input_find(group, "file");

        if (text)
            return text;
        if (txd_input_is_text(arena, file))
            return file;
    }
    return NULL;
}

/* What is named, or else the model itself. */
static const txd_setting *find_file(const txd_setting *root)
{
    const txd_setting *file = txd_input_find(root, "input.tokenizer");

    return file ? file : txd_input_find(root, "model.from");
}

static txd_status fail_without(const txd_setting *text)
{
    bool is_file = text->kind == TXD_SETTING_STRING && strcmp(text->name, "file") == 0;
    char place[512];

    return txd_fail(TXD_ERR_CONFIG,
                    "%s: %s%.200s%s needs a tokenizer, and the model has none: name "
                    "one, input.tokenizer = \"FILE\"%s",
                    txd_setting_place(place, sizeof place, text),
                    is_file ? "the file " : "a text", is_file ? text->string : "",
                    is_file ? " is a text, which" : "",
                    is_file ? ", or give ids as a .npy file" : "");
}

txd_status txd_input_tokenizer(txd_tokenizer **out, txd_arena *arena,
                               const txd_setting *root, const txd_config *config)
{
    const txd_setting *text = find_text(arena, root, config);
    const txd_setting *named = txd_input_find(root, "input.tokenizer");
    const txd_setting *file = find_file(root);
    const char *path;
    char place[512];
    txd_status status;

    if (!text && !named)
        return TXD_OK;
    if (!file)
        return fail_without(text);
    if (file->kind != TXD_SETTING_STRING)
        return txd_input_fail(file, "expected a string in double quotes");
    path = txd_input_path(arena, file);
    if (!path)
        return TXD_ERR_MEMORY;
    status = txd_tokenizer_open(out, path);
    return status == TXD_OK ? TXD_OK
                            : txd_fail_prefix(status, "%s",
                                              txd_setting_place(place, sizeof place,
                                                                named ? named : text));
}

/* Ids that the model knows; another model's tokenizer is found out here. */
static txd_status check_ids(const txd_setting *text, const txd_ids *ids, size_t vocab)
{
    char place[512];

    txd_setting_place(place, sizeof place, text);
    if (ids->count == 0)
        return txd_fail(TXD_ERR_CONFIG, "%s: the text is no token", place);
    for (size_t i = 0; i < ids->count; i++)
        if ((size_t)ids->ids[i] >= vocab)
            return txd_fail(
                TXD_ERR_CONFIG,
                "%s: the tokenizer gives the id %d, but the model has ids 0 "
                "to %zu: is it the tokenizer of this model?",
                place, (int)ids->ids[i], vocab - 1);
    return TXD_OK;
}

static txd_status keep_row(struct txd_id_row *out, txd_arena *arena, const txd_ids *ids)
{
    int32_t *kept = txd_arena_alloc(arena, ids->count, sizeof *kept);

    if (!kept)
        return TXD_ERR_MEMORY;
    memcpy(kept, ids->ids, ids->count * sizeof *kept);
    *out = (struct txd_id_row){.count = ids->count, .ids = kept};
    return TXD_OK;
}

/* `setting` is where the text was named, for messages. */
static txd_status read_row(struct txd_id_row *out, const struct txd_text_source *source,
                           const txd_setting *setting, const char *text, size_t bytes)
{
    txd_ids ids = {0};
    char place[512];
    txd_status status =
        txd_tokenizer_encode(&ids, source->tokenizer, text, bytes, true);

    if (status != TXD_OK)
        txd_fail_prefix(status, "%s", txd_setting_place(place, sizeof place, setting));
    if (status == TXD_OK)
        status = check_ids(setting, &ids, source->vocab);
    if (status == TXD_OK)
        status = keep_row(out, source->arena, &ids);
    txd_ids_finish(&ids);
    return status;
}

static txd_status make_rows(struct txd_id_rows *out, txd_arena *arena, size_t count)
{
    *out = (struct txd_id_rows){.count = count};
    out->rows = txd_arena_alloc(arena, count, sizeof *out->rows);
    return out->rows ? TXD_OK : TXD_ERR_MEMORY;
}

txd_status txd_ids_from_text(struct txd_id_rows *out, const txd_setting *text,
                             const struct txd_text_source *source)
{
    bool list = text->kind == TXD_SETTING_LIST;
    struct txd_id_rows rows;

    if (list && text->count == 0)
        return txd_input_fail(text, "the list is empty; it needs at least one text");
    TXD_TRY(make_rows(&rows, source->arena, list ? text->count : 1));
    if (list)
        text = text->child;
    for (size_t r = 0; r < rows.count; r++, text = text->next) {
        if (text->kind != TXD_SETTING_STRING)
            return txd_input_fail(text, "expected a string in double quotes");
        TXD_TRY(
            read_row(&rows.rows[r], source, text, text->string, text->string_length));
    }
    *out = rows;
    return TXD_OK;
}

txd_status txd_ids_from_text_file(struct txd_id_rows *out, const txd_setting *file,
                                  const struct txd_text_source *source)
{
    const char *path = txd_input_path(source->arena, file);
    struct txd_id_rows rows;
    txd_mapped mapped;
    char place[512];
    txd_status status;

    if (!path)
        return TXD_ERR_MEMORY;
    TXD_TRY(make_rows(&rows, source->arena, 1));
    status = txd_file_map(&mapped, path);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "%s",
                               txd_setting_place(place, sizeof place, file));
    status = read_row(&rows.rows[0], source, file,
                      mapped.bytes ? (const char *)mapped.bytes : "", mapped.count);
    txd_file_unmap(&mapped);
    if (status == TXD_OK)
        *out = rows;
    return status;
}

txd_status txd_input_pieces(txd_inputs *inputs, txd_arena *arena,
                            const txd_tokenizer *tokenizer)
{
    size_t count = inputs->batch * inputs->length;
    const char **pieces = txd_arena_alloc(arena, count, sizeof *pieces);
    txd_status status = pieces ? TXD_OK : TXD_ERR_MEMORY;
    txd_text text;

    txd_text_init(&text);
    for (size_t i = 0; i < count && status == TXD_OK; i++) {
        text.length = 0;
        if (inputs->valid[i])
            txd_tokenizer_piece(&text, tokenizer, inputs->tokens[i]);
        pieces[i] = text.length ? txd_arena_string(arena, txd_text_get(&text)) : "";
        status = pieces[i] ? txd_text_status(&text) : TXD_ERR_MEMORY;
    }
    txd_text_finish(&text);
    if (status == TXD_OK)
        inputs->pieces = pieces;
    return status;
}
