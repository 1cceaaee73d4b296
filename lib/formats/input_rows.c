/* SPDX-License-Identifier: MIT
 *
 * Token ids, positions and documents from lists in model.cfg and from .npy files.
 * They are checked here, where the place of every number is still known.
 */
#include <string.h>

#include "formats/input_internal.h"
#include "formats/npy.h"

#define PLACE_BYTES 512
#define MOST_IDS ((size_t)1 << 28) /* a gigabyte, once read */
#define PIECE_IDS 65536u

const txd_setting *txd_input_find(const txd_setting *group, const char *path)
{
    const txd_setting *setting = group ? txd_setting_find(group, path) : NULL;

    return setting && setting->kind != TXD_SETTING_NULL ? setting : NULL;
}

txd_status txd_input_fail(const txd_setting *setting, const char *text)
{
    char place[PLACE_BYTES];

    txd_setting_place(place, sizeof place, setting);
    return txd_fail(TXD_ERR_CONFIG, "%s%s%s", place, *place ? ": " : "", text);
}

static txd_status check_id(const txd_setting *setting, const char *what, size_t high)
{
    char place[PLACE_BYTES];

    txd_setting_place(place, sizeof place, setting);
    if (setting->kind != TXD_SETTING_INT)
        return txd_fail(TXD_ERR_CONFIG, "%s: expected %s, which is an integer", place,
                        what);
    if (setting->integer < 0 || (uint64_t)setting->integer > high)
        return txd_fail(TXD_ERR_CONFIG, "%s: expected %s from 0 to %zu, found %lld",
                        place, what, high, (long long)setting->integer);
    return TXD_OK;
}

static txd_status read_row(struct txd_id_row *out, txd_arena *arena,
                           const txd_setting *list, const char *what, size_t high)
{
    int32_t *ids = txd_arena_alloc(arena, list->count, sizeof *ids);
    size_t i = 0;

    if (!ids)
        return TXD_ERR_MEMORY;
    if (list->count == 0)
        return txd_input_fail(list,
                              "the list is empty; a row needs at least one number");
    for (const txd_setting *s = list->child; s; s = s->next) {
        TXD_TRY(check_id(s, what, high));
        ids[i++] = (int32_t)s->integer;
    }
    *out = (struct txd_id_row){.count = list->count, .ids = ids};
    return TXD_OK;
}

static txd_status check_array(const txd_trace_info *info, const char *path)
{
    char shape[128];

    if (info->dtype != TXD_I64 && info->dtype != TXD_I32 && info->dtype != TXD_U8)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: token ids are integers (int64, int32, uint8), found %s",
                        path, txd_dtype_name(info->dtype));
    txd_shape_text(shape, sizeof shape, info->dims, info->rank);
    if (info->rank != 1 && info->rank != 2)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: expected shape (tokens) or (batch, tokens), found %s",
                        path, shape);
    if (info->dims[0] == 0 || (info->rank == 2 && info->dims[1] == 0))
        return txd_fail(TXD_ERR_FORMAT, "%s: no tokens: the shape is %s", path, shape);
    return TXD_OK;
}

static txd_status check_count(const txd_trace_info *info, const char *path)
{
    size_t count;

    if (txd_shape_count(&count, info->dims, info->rank) == TXD_OK && count <= MOST_IDS)
        return TXD_OK;
    return txd_fail(TXD_ERR_LIMIT,
                    "%s: expected at most %zu token ids, found more: save the part of "
                    "the array that is to be run",
                    path, MOST_IDS);
}

static txd_status check_range(const int64_t *ids, size_t count, size_t high,
                              const char *path, size_t row, size_t first)
{
    for (size_t i = 0; i < count; i++)
        if (ids[i] < 0 || (uint64_t)ids[i] > high)
            return txd_fail(TXD_ERR_CONFIG,
                            "%s: row %zu, place %zu: expected a token id from 0 to "
                            "%zu, found %lld",
                            path, row, first + i, high, (long long)ids[i]);
    return TXD_OK;
}

/* A row, by pieces through a buffer of int64. */
static txd_status read_array_row(int32_t *ids, int64_t *wide, const txd_trace *trace,
                                 const txd_trace_info *info, const char *path,
                                 size_t high, size_t row)
{
    size_t width = info->dims[info->rank - 1], skip = info->rank == 1 ? 1 : 0;

    for (size_t first = 0; first < width; first += PIECE_IDS) {
        size_t piece = width - first < PIECE_IDS ? width - first : PIECE_IDS;
        size_t start[2] = {row, first}, count[2] = {1, piece};

        TXD_TRY(txd_trace_read(trace, wide, 0, start + skip, count + skip, TXD_I64));
        TXD_TRY(check_range(wide, piece, high, path, row, first));
        txd_convert(ids + first, TXD_I32, wide, TXD_I64, piece);
    }
    return TXD_OK;
}

static txd_status read_array(struct txd_id_rows *rows, txd_arena *arena,
                             const txd_trace *trace, const char *path, size_t high)
{
    txd_trace_info info;
    size_t width;
    int64_t *wide;

    TXD_TRY(txd_trace_get(trace, &info, 0));
    TXD_TRY(check_array(&info, path));
    TXD_TRY(check_count(&info, path));
    rows->count = info.rank == 2 ? info.dims[0] : 1;
    width = info.dims[info.rank - 1];
    rows->rows = txd_arena_alloc(arena, rows->count, sizeof *rows->rows);
    wide = txd_arena_alloc(arena, PIECE_IDS, sizeof *wide);
    if (!rows->rows || !wide)
        return TXD_ERR_MEMORY;
    for (size_t r = 0; r < rows->count; r++) {
        int32_t *ids = txd_arena_alloc(arena, width, sizeof *ids);

        if (!ids)
            return TXD_ERR_MEMORY;
        TXD_TRY(read_array_row(ids, wide, trace, &info, path, high, r));
        rows->rows[r] = (struct txd_id_row){.count = width, .ids = ids};
    }
    return TXD_OK;
}

txd_status txd_ids_from_list(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *list, const char *what, size_t high)
{
    bool nested = list->child && list->child->kind == TXD_SETTING_LIST;
    struct txd_id_rows rows = {.count = nested ? list->count : 1};
    struct txd_id_row *row;

    row = rows.rows = txd_arena_alloc(arena, rows.count, sizeof *rows.rows);
    if (!row)
        return TXD_ERR_MEMORY;
    if (!nested)
        TXD_TRY(read_row(row, arena, list, what, high));
    for (const txd_setting *s = nested ? list->child : NULL; s; s = s->next) {
        if (s->kind != TXD_SETTING_LIST)
            return txd_input_fail(s, "expected a list: the rows before it are lists");
        TXD_TRY(read_row(row++, arena, s, what, high));
    }
    *out = rows;
    return TXD_OK;
}

txd_status txd_ids_from_file(struct txd_id_rows *out, txd_arena *arena,
                             const txd_setting *file, size_t high)
{
    const char *path = txd_input_path(arena, file);
    struct txd_id_rows rows = {0};
    txd_trace *trace = NULL;
    txd_status status;
    char place[PLACE_BYTES];

    if (!path)
        return TXD_ERR_MEMORY;
    status = txd_npy_open(&trace, path);
    if (status == TXD_OK)
        status = read_array(&rows, arena, trace, path, high);
    txd_trace_destroy(trace);
    if (status != TXD_OK)
        return txd_fail_prefix(status, "%s",
                               txd_setting_place(place, sizeof place, file));
    *out = rows;
    return TXD_OK;
}

const char *txd_input_path(txd_arena *arena, const txd_setting *setting)
{
    const char *slash = setting->file ? strrchr(setting->file, '/') : NULL;
    size_t folder = slash ? (size_t)(slash - setting->file) + 1 : 0;
    size_t length = strlen(setting->string);
    char *path;

    if (setting->string[0] == '/' || folder == 0)
        return setting->string;
    path = txd_arena_alloc(arena, folder + length + 1, 1);
    if (!path)
        return NULL;
    memcpy(path, setting->file, folder);
    memcpy(path + folder, setting->string, length + 1);
    return path;
}
