/* SPDX-License-Identifier: MIT
 *
 * Texts as token ids, and what tokens stand for: the model's tokenizer between
 * model.cfg and the batches.
 */
#include <string.h>

#include "formats/input_internal.h"

/* What is named, or else the model itself. */
static const txd_setting *find_file(const txd_setting *root)
{
    const txd_setting *file = txd_input_find(root, "input.tokenizer");

    return file ? file : txd_input_find(root, "model.from");
}

txd_status txd_input_tokenizer(txd_tokenizer **out, txd_arena *arena,
                               const txd_setting *root)
{
    const txd_setting *text = txd_input_find(root, "input.text");
    const txd_setting *memory = txd_input_find(root, "input.memory.text");
    const txd_setting *named = txd_input_find(root, "input.tokenizer");
    const txd_setting *file = find_file(root);
    const char *path;
    char place[512];
    txd_status status;

    text = text ? text : memory;
    if (!text && !named)
        return TXD_OK;
    if (!file)
        return txd_input_fail(text, "a text needs a tokenizer, and the model has none: "
                                    "name one, input.tokenizer = \"FILE\"");
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

static txd_status read_row(struct txd_id_row *out, txd_arena *arena,
                           const txd_setting *text, const txd_tokenizer *tokenizer,
                           size_t vocab)
{
    txd_ids ids = {0};
    char place[512];
    txd_status status;

    if (text->kind != TXD_SETTING_STRING)
        return txd_input_fail(text, "expected a string in double quotes");
    status =
        txd_tokenizer_encode(&ids, tokenizer, text->string, text->string_length, true);
    if (status != TXD_OK)
        txd_fail_prefix(status, "%s", txd_setting_place(place, sizeof place, text));
    if (status == TXD_OK)
        status = check_ids(text, &ids, vocab);
    if (status == TXD_OK)
        status = keep_row(out, arena, &ids);
    txd_ids_finish(&ids);
    return status;
}

txd_status txd_ids_from_text(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *text, const txd_tokenizer *tokenizer,
                             size_t vocab)
{
    bool list = text->kind == TXD_SETTING_LIST;
    struct txd_id_rows rows = {.count = list ? text->count : 1};

    if (rows.count == 0)
        return txd_input_fail(text, "the list is empty; it needs at least one text");
    rows.rows = txd_arena_alloc(arena, rows.count, sizeof *rows.rows);
    if (!rows.rows)
        return TXD_ERR_MEMORY;
    if (list)
        text = text->child;
    for (size_t r = 0; r < rows.count; r++, text = text->next)
        TXD_TRY(read_row(&rows.rows[r], arena, text, tokenizer, vocab));
    *out = rows;
    return TXD_OK;
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
