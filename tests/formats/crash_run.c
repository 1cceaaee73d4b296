/* SPDX-License-Identifier: MIT
 *
 * Datasets as the probes make them: row statistics with a layer axis, attention
 * weights per layer, a series, one that continues in parts, tables with strings.
 * Lengths change from step to step, so that extents grow late.
 */
#include "crash_run.h"
#include "suite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 2, HEADS = 3, LONGEST = 9, COLUMNS = 3, SITES = 4, FIELDS = 2 };
/* Chunks per step, and the side of one: a part of that dataset holds four steps. */
enum { WIDE = 700, SIDE = 64 };
enum { FIRST_EVENT = 2, FIRST_LEAK = 4 };
enum { DATASETS = COLUMNS + LAYERS + 3 };

/* HDF5 1.10 loses memory when it meets a damaged file or a disk that is full. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

static size_t datasets = DATASETS - 1;

void crash_choose(bool wide)
{
    datasets = wide ? DATASETS : DATASETS - 1;
}

static size_t length_of(size_t step)
{
    return 4 + step * 5 % 6;
}

static float value_at(size_t dataset, size_t step, size_t i)
{
    return (float)(dataset * 1000 + step) + (float)i / 4096;
}

static void spec_of(txd_dataset_spec *out, char path[96], size_t dataset)
{
    txd_dataset_spec spec = {.path = path,
                             .point = "",
                             .unit = "1",
                             .dtype = TXD_F32,
                             .per_step = true,
                             .steps = CRASH_STEPS};

    if (dataset < COLUMNS) {
        snprintf(path, 96, "rows/column%zu", dataset);
        spec.axes = "slbhq";
        spec.rank = 4;
        memcpy(spec.dims, (size_t[]){LAYERS, 1, HEADS, 0}, 4 * sizeof(size_t));
        spec.growing[3] = true;
        spec.chunk_limit[3] = LONGEST;
    } else if (dataset < COLUMNS + LAYERS) {
        snprintf(path, 96, "value/layers/%zu/attn/weights/full", dataset - COLUMNS);
        spec.axes = "sbhqk";
        spec.rank = 4;
        spec.fill_zero = true;
        memcpy(spec.dims, (size_t[]){1, HEADS, 0, 0}, 4 * sizeof(size_t));
        spec.growing[2] = spec.growing[3] = true;
        spec.chunk_limit[2] = spec.chunk_limit[3] = LONGEST;
    } else if (dataset == COLUMNS + LAYERS) {
        snprintf(path, 96, "series/stats");
        spec.axes = "sxy";
        spec.rank = 2;
        spec.fields = "mean,std";
        memcpy(spec.dims, (size_t[]){SITES, FIELDS}, 2 * sizeof(size_t));
    } else if (dataset == COLUMNS + LAYERS + 2) {
        snprintf(path, 96, "value/layers/0/attn/q/full");
        spec.axes = "sbhqe";
        spec.rank = 4;
        memcpy(spec.dims, (size_t[]){WIDE, 1, SIDE, SIDE}, 4 * sizeof(size_t));
    } else {
        snprintf(path, 96, "steps_more/loss");
        spec.axes = "s";
    }
    *out = spec;
}

static size_t block_of(size_t *count, const txd_dataset_spec *spec, size_t step)
{
    size_t elements = 1;

    for (int axis = 0; axis < spec->rank; axis++) {
        count[axis] = spec->growing[axis] ? length_of(step) : spec->dims[axis];
        if (count[axis] == WIDE)
            count[axis] = 2;
        elements *= count[axis];
    }
    return elements;
}

static txd_status write_step(txd_recording *recording, const size_t *ids, size_t step)
{
    static const size_t start[TXD_MAX_RANK] = {0};
    const int32_t number = (int32_t)step;
    const char *const kind = step % 2 ? "odd" : "an even step with a longer name";
    const txd_column columns[] = {{.name = "step", .dtype = TXD_I32, .data = &number},
                                  {.name = "kind", .strings = &kind}};
    static float values[1 << 14];

    for (size_t i = 0; i < datasets; i++) {
        size_t count[TXD_MAX_RANK], elements;
        txd_dataset_spec spec;
        char path[96];

        spec_of(&spec, path, i);
        elements = block_of(count, &spec, step);
        for (size_t e = 0; e < elements; e++)
            values[e] = value_at(i, step, e);
        TXD_TRY(txd_recording_write(recording, ids[i], step, start, count, values,
                                    TXD_F32));
    }
    TXD_TRY(txd_recording_append(recording, "steps", columns, 2, 1));
    /* Tables that appear late, beside others that hold flushed rows. */
    if (step >= FIRST_EVENT)
        TXD_TRY(txd_recording_append(recording, "events/nonfinite", columns, 2, 1));
    if (step >= FIRST_LEAK)
        TXD_TRY(txd_recording_append(recording, "events/leaks", columns, 2, 1));
    return txd_recording_flush(recording);
}

static txd_status write_all(txd_recording *recording, volatile int *acknowledged)
{
    const int32_t number = 1;
    const char *const name = "row_sum";
    const txd_column columns[] = {
        {.name = "failures", .dtype = TXD_I32, .data = &number},
        {.name = "check", .strings = &name}};
    size_t ids[DATASETS] = {0};

    /* The wide one has chunks that are large enough. */
    TXD_TRY(txd_recording_pack(recording, datasets == DATASETS, 1));
    TXD_TRY(txd_recording_meta(recording, "config", "model : { }; "));
    for (size_t i = 0; i < datasets; i++) {
        txd_dataset_spec spec;
        char path[96];

        spec_of(&spec, path, i);
        TXD_TRY(txd_recording_dataset(recording, &ids[i], &spec));
    }
    for (size_t step = 0; step < CRASH_STEPS; step++) {
        TXD_TRY(write_step(recording, ids, step));
        *acknowledged = (int)step + 1;
    }
    return txd_recording_append(recording, "checks", columns, 2, 1);
}

txd_status crash_write(const char *path, bool force, volatile int *acknowledged)
{
    txd_recording *recording;
    txd_status status;

    TXD_TRY(txd_recording_create(&recording, path, force));
    status = write_all(recording, acknowledged);
    if (status != TXD_OK) {
        txd_recording_discard(recording);
        return status;
    }
    return txd_recording_close(recording, true);
}

static void verify_dataset(const txd_trace *trace, size_t dataset, size_t steps)
{
    static float values[1 << 14];
    txd_dataset_spec spec;
    txd_trace_info info;
    char path[96], *name = path;
    size_t entry;

    spec_of(&spec, path, dataset);
    if (strncmp(path, "value/", 6) == 0) {
        name = path + 6;
        *strrchr(name, '/') = '\0';
        for (char *c = name; *c; c++)
            *c = *c == '/' ? '.' : *c;
    }
    ck_assert_msg(txd_trace_find(trace, &entry, name) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_trace_get(trace, &info, entry), TXD_OK);
    ck_assert_uint_ge(info.dims[0], steps);
    for (size_t step = 0; step < steps; step++) {
        size_t start[TXD_MAX_RANK] = {step}, count[TXD_MAX_RANK] = {1}, elements;

        elements = block_of(count + 1, &spec, step);
        memset(values, 0xff, sizeof values);
        ck_assert_msg(txd_trace_read(trace, values, entry, start, count, TXD_F32) ==
                          TXD_OK,
                      "%s", txd_message());
        for (size_t e = 0; e < elements; e++)
            ck_assert_msg(values[e] == value_at(dataset, step, e),
                          "%s step %zu element %zu: %g", name, step, e,
                          (double)values[e]);
    }
}

static void verify_table(const txd_trace *trace, const char *table, size_t first,
                         size_t steps)
{
    const char *const *kinds;
    int32_t *numbers;
    txd_trace_info info;
    size_t entry, count;
    char name[64];

    if (steps <= first)
        return;
    snprintf(name, sizeof name, "%s/step", table);
    ck_assert_msg(txd_trace_find(trace, &entry, name) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_trace_get(trace, &info, entry), TXD_OK);
    ck_assert_uint_ge(info.dims[0], steps - first);
    numbers = calloc(info.dims[0] + 1, sizeof *numbers);
    ck_assert_int_eq(txd_trace_read_all(trace, numbers, info.dims[0], entry, TXD_I32),
                     TXD_OK);
    snprintf(name, sizeof name, "%s/kind", table);
    ck_assert_msg(txd_recording_read_strings(&kinds, &count, trace, name) == TXD_OK,
                  "%s", txd_message());
    ck_assert_uint_ge(count, steps - first);
    for (size_t step = first; step < steps; step++) {
        ck_assert_int_eq(numbers[step - first], (int)step);
        ck_assert_str_eq(kinds[step - first],
                         step % 2 ? "odd" : "an even step with a longer name");
    }
    free(numbers);
}

/* Reads every entry that a corrupted file may show: an error is fine. */
static void read_everything(const txd_trace *trace)
{
    static double values[1 << 16];

    for (size_t i = 0; i < txd_trace_count(trace); i++)
        (void)txd_trace_read_all(trace, values, 1 << 16, i, TXD_F64);
}

void crash_verify(const char *path, int acknowledged)
{
    txd_trace *trace;
    txd_status status = txd_recording_open(&trace, path, NULL);

    if (status != TXD_OK && acknowledged <= 0)
        return;
    ck_assert_msg(status == TXD_OK, "%d steps lost: %s", acknowledged, txd_message());
    read_everything(trace);
    if (acknowledged > 0) {
        for (size_t i = 0; i < datasets; i++)
            verify_dataset(trace, i, (size_t)acknowledged);
        verify_table(trace, "steps", 0, (size_t)acknowledged);
        verify_table(trace, "events/nonfinite", FIRST_EVENT, (size_t)acknowledged);
        verify_table(trace, "events/leaks", FIRST_LEAK, (size_t)acknowledged);
    }
    txd_trace_destroy(trace);
}
