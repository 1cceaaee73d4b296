/* SPDX-License-Identifier: MIT
 *
 * The trace checks what callers ask for once, so that formats need not, and then
 * hands on to the format's methods. The trace in memory is the simplest format.
 */
#include "base/trace.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"

struct txd_trace {
    const txd_trace_methods *methods;
    void *self;
};

typedef struct memory_trace {
    txd_arena *arena;
    txd_trace_info *infos;
    void **data;
    size_t count, capacity;
} memory_trace;

static void memory_destroy(void *self)
{
    memory_trace *memory = self;

    txd_arena_destroy(memory->arena);
    free(memory->infos);
    free(memory->data);
    free(memory);
}

static size_t memory_count(void *self)
{
    return ((memory_trace *)self)->count;
}

static txd_status memory_info(void *self, txd_trace_info *out, size_t i)
{
    *out = ((memory_trace *)self)->infos[i];
    return TXD_OK;
}

static txd_status memory_read(void *self, void *out, size_t i, const size_t *start,
                              const size_t *count, txd_dtype dtype)
{
    memory_trace *memory = self;
    const txd_trace_info *info = &memory->infos[i];
    txd_tensor tensor =
        txd_tensor_make(info->dtype, memory->data[i], info->rank, info->dims);

    txd_tensor_block(out, dtype, &tensor, start, count);
    return TXD_OK;
}

static const void *memory_view(void *self, size_t i)
{
    return ((memory_trace *)self)->data[i];
}

static const txd_trace_methods memory_methods = {
    .destroy = memory_destroy,
    .count = memory_count,
    .info = memory_info,
    .read = memory_read,
    .view = memory_view,
};

static txd_status memory_grow(memory_trace *memory)
{
    size_t capacity = memory->capacity ? memory->capacity * 2 : 16;
    txd_trace_info *infos;
    void **data;

    if (memory->count < memory->capacity)
        return TXD_OK;
    infos = realloc(memory->infos, capacity * sizeof *infos);
    if (infos)
        memory->infos = infos;
    data = realloc(memory->data, capacity * sizeof *data);
    if (data)
        memory->data = data;
    if (!infos || !data)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: %zu trace entries", capacity);
    memory->capacity = capacity;
    return TXD_OK;
}

static txd_status check_index(const txd_trace *trace, size_t i)
{
    size_t count = txd_trace_count(trace);

    if (i >= count)
        return txd_fail(TXD_ERR_ARGUMENT, "trace entry %zu of %zu", i, count);
    return TXD_OK;
}

static txd_status check_block(const txd_trace_info *info, const size_t *start,
                              const size_t *count)
{
    for (int axis = 0; axis < info->rank; axis++)
        if (start[axis] > info->dims[axis] ||
            count[axis] > info->dims[axis] - start[axis])
            return txd_fail(TXD_ERR_ARGUMENT,
                            "%s: axis %d has %zu elements, %zu were asked from %zu on",
                            info->name, axis, info->dims[axis], count[axis],
                            start[axis]);
    return TXD_OK;
}

txd_status txd_trace_create(txd_trace **out, const txd_trace_methods *methods,
                            void *self)
{
    txd_trace *trace = malloc(sizeof *trace);

    if (!trace)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a trace could not be made");
    trace->methods = methods;
    trace->self = self;
    *out = trace;
    return TXD_OK;
}

void txd_trace_destroy(txd_trace *trace)
{
    if (!trace)
        return;
    trace->methods->destroy(trace->self);
    free(trace);
}

size_t txd_trace_count(const txd_trace *trace)
{
    return trace->methods->count(trace->self);
}

txd_status txd_trace_get(const txd_trace *trace, txd_trace_info *out, size_t i)
{
    TXD_TRY(check_index(trace, i));
    return trace->methods->info(trace->self, out, i);
}

txd_status txd_trace_find(const txd_trace *trace, size_t *out, const char *name)
{
    size_t count = txd_trace_count(trace);

    for (size_t i = 0; i < count; i++) {
        txd_trace_info info;

        TXD_TRY(txd_trace_get(trace, &info, i));
        if (strcmp(info.name, name) == 0) {
            *out = i;
            return TXD_OK;
        }
    }
    return txd_fail(TXD_ERR_MISSING, "no entry \"%s\" among %zu", name, count);
}

txd_status txd_trace_read(const txd_trace *trace, void *out, size_t i,
                          const size_t *start, const size_t *count, txd_dtype dtype)
{
    txd_trace_info info;

    TXD_TRY(txd_trace_get(trace, &info, i));
    TXD_TRY(check_block(&info, start, count));
    return trace->methods->read(trace->self, out, i, start, count, dtype);
}

txd_status txd_trace_read_all(const txd_trace *trace, void *out, size_t capacity,
                              size_t i, txd_dtype dtype)
{
    const size_t start[TXD_MAX_RANK] = {0};
    txd_trace_info info;
    size_t count;

    TXD_TRY(txd_trace_get(trace, &info, i));
    TXD_TRY(txd_shape_count(&count, info.dims, info.rank));
    if (count > capacity)
        return txd_fail(TXD_ERR_ARGUMENT, "%s: %zu elements do not fit in %zu",
                        info.name, count, capacity);
    return trace->methods->read(trace->self, out, i, start, info.dims, dtype);
}

const void *txd_trace_view(const txd_trace *trace, size_t i)
{
    if (!trace->methods->view || i >= txd_trace_count(trace))
        return NULL;
    return trace->methods->view(trace->self, i);
}

void txd_trace_release(const txd_trace *trace, size_t i, size_t first, size_t count)
{
    txd_trace_info info;

    if (trace->methods->release && txd_trace_get(trace, &info, i) == TXD_OK &&
        info.rank > 0 && first <= info.dims[0] && count <= info.dims[0] - first)
        trace->methods->release(trace->self, i, first, count);
}

const char *txd_trace_meta(const txd_trace *trace, const char *key)
{
    return trace->methods->meta ? trace->methods->meta(trace->self, key) : NULL;
}

txd_status txd_trace_strings(const txd_trace *trace, const char *const **out,
                             size_t *count, const char *name)
{
    if (!trace->methods->strings)
        return txd_fail(TXD_ERR_MISSING, "no strings \"%s\"", name);
    return trace->methods->strings(trace->self, out, count, name);
}

txd_status txd_trace_memory(txd_trace **out)
{
    memory_trace *memory = calloc(1, sizeof *memory);
    txd_status status;

    if (!memory)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a trace could not be made");
    status = txd_arena_create(&memory->arena);
    if (status == TXD_OK)
        status = txd_trace_create(out, &memory_methods, memory);
    if (status != TXD_OK)
        memory_destroy(memory);
    return status;
}

txd_status txd_trace_memory_add(txd_trace *trace, const char *name, const char *axes,
                                const txd_tensor *value)
{
    memory_trace *memory = trace->self;
    txd_trace_info info = {.dtype = value->dtype, .rank = value->rank};
    size_t count = txd_tensor_count(value), bytes = txd_dtype_bytes(value->dtype);
    void *data;

    if (trace->methods != &memory_methods)
        return txd_fail(TXD_ERR_ARGUMENT, "%s: only a trace in memory takes entries",
                        name);
    TXD_TRY(memory_grow(memory));
    info.name = txd_arena_string(memory->arena, name);
    info.axes = txd_arena_string(memory->arena, axes);
    data = txd_arena_alloc(memory->arena, count, bytes);
    if (!info.name || !info.axes || !data)
        return TXD_ERR_MEMORY;
    memcpy(info.dims, value->dims, sizeof info.dims);
    if (count != 0)
        memcpy(data, value->data, count * bytes);
    memory->infos[memory->count] = info;
    memory->data[memory->count++] = data;
    return TXD_OK;
}
