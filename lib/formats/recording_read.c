/* SPDX-License-Identifier: MIT
 *
 * A recording as a trace: which file is meant, what its datasets are called, and in
 * which order a pass of the recorded configuration made them.
 */
#include "formats/recording.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "formats/cfg.h"
#include "formats/h5_internal.h"
#include "model/params.h"

typedef struct recording_trace {
    txd_h5_reader *reader;
    txd_arena *arena; /* names */
} recording_trace;

static void destroy(void *self)
{
    recording_trace *trace = self;
    txd_h5_quiet quiet;

    txd_h5_quiet_begin(&quiet);
    txd_h5_reader_close(trace->reader);
    txd_h5_quiet_end(&quiet);
    txd_arena_destroy(trace->arena);
    free(trace);
}

static size_t count_entries(void *self)
{
    return txd_h5_reader_count(((recording_trace *)self)->reader);
}

static txd_status get_info(void *self, txd_trace_info *out, size_t i)
{
    *out = txd_h5_reader_entries(((recording_trace *)self)->reader)[i].info;
    return TXD_OK;
}

static txd_status read_block(void *self, void *out, size_t i, const size_t *start,
                             const size_t *count, txd_dtype dtype)
{
    return txd_h5_reader_read(((recording_trace *)self)->reader, out, i, start, count,
                              dtype);
}

/* The fields of the entry whose name is `bytes` long. */
static const char *find_fields(const txd_h5_reader *reader, const char *name,
                               size_t bytes)
{
    const txd_h5_entry *entries = txd_h5_reader_entries((txd_h5_reader *)reader);

    for (size_t i = 0; i < txd_h5_reader_count(reader); i++)
        if (strncmp(entries[i].info.name, name, bytes) == 0 &&
            entries[i].info.name[bytes] == '\0')
            return entries[i].fields;
    return NULL;
}

static const char *get_meta(void *self, const char *key)
{
    static const char fields[] = TXD_META_FIELDS;
    txd_h5_reader *reader = ((recording_trace *)self)->reader;
    size_t length = strlen(key), tail = sizeof fields - 1;

    if (strcmp(key, TXD_META_FILE) == 0)
        return txd_h5_reader_file(reader);
    if (length > tail && strcmp(key + length - tail, fields) == 0)
        return find_fields(reader, key, length - tail);
    return txd_h5_reader_meta(reader, key);
}

static txd_status get_strings(void *self, const char *const **out, size_t *count,
                              const char *name)
{
    txd_h5_quiet quiet;
    txd_status status;

    txd_h5_quiet_begin(&quiet);
    status = txd_h5_reader_strings(out, count, ((recording_trace *)self)->reader, name);
    txd_h5_quiet_end(&quiet);
    return status;
}

static const txd_trace_methods methods = {
    .destroy = destroy,
    .count = count_entries,
    .info = get_info,
    .read = read_block,
    .meta = get_meta,
    .strings = get_strings,
};

/* "value/layers/3/attn/weights/full" is "layers.3.attn.weights", and below "grad/" the
 * same "@grad". */
static txd_status name_value(recording_trace *trace, txd_h5_entry *entry)
{
    static const char *const fronts[] = {"value/", "grad/"};
    static const char *const ends[] = {"", TXD_GRADIENT_SUFFIX};
    static const char back[] = "/full";
    size_t length = strlen(entry->path), bytes;
    int kind = strncmp(entry->path, fronts[0], strlen(fronts[0])) == 0 ? 0 : 1;
    size_t front = strlen(fronts[kind]);
    char *name;

    if (length <= front + strlen(back) ||
        strncmp(entry->path, fronts[kind], front) != 0 ||
        strcmp(entry->path + length - strlen(back), back) != 0)
        return TXD_OK;
    length -= front + strlen(back);
    bytes = length + strlen(ends[kind]) + 1;
    name = txd_arena_alloc(trace->arena, bytes, 1);
    if (!name)
        return TXD_ERR_MEMORY;
    snprintf(name, bytes, "%.*s%s", (int)length, entry->path + front, ends[kind]);
    for (char *c = name; *c; c++)
        *c = *c == '/' ? '.' : *c;
    entry->info.name = name;
    entry->is_value = true;
    return TXD_OK;
}

/* The point of a value or of a gradient; false for what is neither. */
static bool parse(txd_point *point, int *layer, bool *is_gradient, const char *name)
{
    *is_gradient = !txd_point_of_name(point, layer, name);
    return !*is_gradient || txd_point_of_gradient(point, layer, name);
}

/* Axes of a known point, for files of others that do not say them. */
static txd_status find_axes(recording_trace *trace, txd_h5_entry *entry)
{
    const char *axes;
    bool is_gradient;
    txd_point point;
    char *text;
    int layer;

    if (!entry->is_value || entry->info.axes[0] ||
        !parse(&point, &layer, &is_gradient, entry->info.name))
        return TXD_OK;
    axes = txd_point_get(point)->axes;
    if (strlen(axes) + 1 != (size_t)entry->info.rank)
        return TXD_OK;
    text = txd_arena_alloc(trace->arena, strlen(axes) + 2, 1);
    if (!text)
        return TXD_ERR_MEMORY;
    text[0] = 's';
    memcpy(text + 1, axes, strlen(axes));
    entry->info.axes = text;
    return TXD_OK;
}

/* What tells the order of execution; all zero if the configuration cannot be read. */
typedef struct order {
    txd_stop *stops;
    size_t count;
    txd_params *params;
} order;

static void read_order(order *out, txd_arena *arena, const char *text)
{
    txd_setting *root;
    txd_config config;

    if (!text || txd_cfg_parse(&root, arena, "config", text) != TXD_OK ||
        txd_config_read(&config, arena, root, NULL) != TXD_OK ||
        txd_points_order(&out->stops, &out->count, arena, &config) != TXD_OK ||
        txd_params_describe(&out->params, &config) != TXD_OK)
        *out = (order){NULL, 0, NULL};
}

/* Behind the gradients of all values: that of a parameter. */
static void number_parameter(txd_h5_entry *entry, const order *o)
{
    size_t i = o->params ? txd_params_gradient(o->params, entry->info.name) : SIZE_MAX;

    if (i != SIZE_MAX)
        entry->order = 2 * o->count + i;
}

static void number_entry(txd_h5_entry *entry, const order *o)
{
    bool is_gradient;
    txd_point point;
    int layer;

    if (!parse(&point, &layer, &is_gradient, entry->info.name)) {
        number_parameter(entry, o);
        return;
    }
    for (size_t i = 0; i < o->count; i++)
        if (o->stops[i].point == point && o->stops[i].layer == layer)
            entry->order = is_gradient ? 2 * o->count - 1 - i : i;
}

static int compare_order(const void *a, const void *b)
{
    const txd_h5_entry *left = a, *right = b;

    return left->order < right->order ? -1 : left->order > right->order;
}

static txd_status number_entries(recording_trace *trace, const order *o)
{
    txd_h5_entry *entries = txd_h5_reader_entries(trace->reader);
    size_t count = txd_h5_reader_count(trace->reader), behind = 2 * o->count;

    if (o->params)
        behind += txd_params_count(o->params);
    for (size_t i = 0; i < count; i++) {
        TXD_TRY(name_value(trace, &entries[i]));
        TXD_TRY(find_axes(trace, &entries[i]));
        /* Behind all that has a number: values first, each in the order of the file. */
        entries[i].order = behind + i + (entries[i].is_value ? 0 : count);
        if (entries[i].is_value)
            number_entry(&entries[i], o);
    }
    return TXD_OK;
}

/* Values in the order of execution, then their gradients in theirs, if the
 * configuration can be read; all else after them, in the order of the file. */
static txd_status sort_entries(recording_trace *trace)
{
    txd_h5_entry *entries = txd_h5_reader_entries(trace->reader);
    size_t count = txd_h5_reader_count(trace->reader);
    order o = {NULL, 0, NULL};
    txd_status status;
    txd_arena *arena;

    TXD_TRY(txd_arena_create(&arena));
    read_order(&o, arena, txd_h5_reader_meta(trace->reader, "config"));
    status = number_entries(trace, &o);
    if (status == TXD_OK && count != 0)
        qsort(entries, count, sizeof *entries, compare_order);
    txd_params_destroy(o.params);
    txd_arena_destroy(arena);
    return status;
}

static bool is_regular(const char *path, bool *exists)
{
    struct stat about;

    *exists = stat(path, &about) == 0;
    return *exists && S_ISREG(about.st_mode);
}

/* The file to read: `path`, or its .part. The caller frees *out. */
static txd_status choose_file(char **out, const char *path, bool *partial)
{
    size_t length = strlen(path);
    char *file = malloc(length + sizeof ".part");
    bool exists;

    if (!file)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    memcpy(file, path, length + 1);
    *partial = false;
    if (!is_regular(file, &exists) && !exists) {
        memcpy(file + length, ".part", sizeof ".part");
        *partial = true;
    }
    if (is_regular(file, &exists)) {
        *out = file;
        return TXD_OK;
    }
    free(file);
    if (*partial)
        return txd_fail(TXD_ERR_IO, "%s: cannot be opened: %s%s", path,
                        strerror(ENOENT),
                        length > 3 && strcmp(path + length - 3, ".h5") == 0
                            ? ", nor is there its .part"
                            : "");
    return txd_fail(TXD_ERR_IO, "%s: expected a recording, found no regular file",
                    path);
}

static txd_status open_trace(txd_trace **out, recording_trace *trace, const char *file)
{
    TXD_TRY(txd_arena_create(&trace->arena));
    TXD_TRY(txd_h5_reader_open(&trace->reader, file));
    TXD_TRY(sort_entries(trace));
    return txd_trace_create(out, &methods, trace);
}

txd_status txd_recording_open(txd_trace **out, const char *path, bool *partial)
{
    recording_trace *trace = calloc(1, sizeof *trace);
    txd_h5_quiet quiet;
    bool is_partial = false;
    char *file = NULL;
    txd_status status;

    if (!trace)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    txd_h5_quiet_begin(&quiet);
    status = choose_file(&file, path, &is_partial);
    if (status == TXD_OK)
        status = open_trace(out, trace, file);
    txd_h5_quiet_end(&quiet);
    free(file);
    if (status != TXD_OK)
        destroy(trace);
    else if (partial)
        *partial = is_partial;
    return status;
}

txd_status txd_recording_read_strings(const char *const **out, size_t *count,
                                      const txd_trace *recording, const char *name)
{
    return txd_trace_strings(recording, out, count, name);
}

bool txd_recording_is(const char *path)
{
    bool exists, is = false;
    txd_h5_quiet quiet;

    if (!is_regular(path, &exists))
        return false;
    txd_h5_quiet_begin(&quiet);
    is = txd_h5_is_recording(path);
    txd_h5_quiet_end(&quiet);
    return is;
}
