/* SPDX-License-Identifier: MIT
 *
 * Blocks that are whole chunks, and others, in any order: each is what is read, and
 * what none wrote is fill.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "formats/h5_internal.h"
#include "made_recording.h"
#include "suite.h"

#define NAME "rows/entropy"

enum { STEPS = 5, LAYERS = 2, HEADS = 3, MOST = 600, BLOCKS = 8 };
enum { CELLS = STEPS * LAYERS * HEADS * MOST };

/* What is written, and what must be read: (steps, layers, 1, heads, MOST). */
typedef struct mirror {
    txd_recording *recording;
    size_t id, written;
    txd_dtype dtype, given; /* of the file, of the blocks */
    size_t longest;         /* so far */
    double *values;
} mirror;

static size_t drawn(size_t seed, size_t below)
{
    return below ? (size_t)(txd_rng_uniform(77, seed) * (double)below) : 0;
}

static void put(mirror *m, size_t step, const size_t start[4], const size_t count[4])
{
    size_t all = count[0] * count[2] * count[3];
    static double numbers[HEADS * MOST], block[HEADS * MOST];

    for (size_t i = 0; i < all; i++) {
        size_t q = i % count[3], h = i / count[3] % count[2];
        size_t layer = start[0] + i / count[3] / count[2];
        size_t row = (step * LAYERS + layer) * HEADS + start[2] + h;

        numbers[i] = (double)(++m->written % 9973);
        m->values[row * MOST + start[3] + q] = numbers[i];
    }
    txd_convert(block, m->given, numbers, TXD_F64, all);
    OK(txd_recording_write(m->recording, m->id, step, start, count, block, m->given));
    if (all > 0 && start[3] + count[3] > m->longest)
        m->longest = start[3] + count[3];
}

/* Two of three blocks are a layer's whole step. */
static void put_any(mirror *m, size_t step, size_t length, size_t seed)
{
    size_t layer = drawn(seed, LAYERS), head = drawn(seed + 1, HEADS);
    size_t from = drawn(seed + 2, length), to = from + drawn(seed + 3, length - from);

    if (drawn(seed + 4, 3) > 0)
        put(m, step, (size_t[]){layer, 0, 0, 0}, (size_t[]){1, 1, HEADS, length});
    else if (to > from)
        put(m, step, (size_t[]){layer, 0, head, from},
            (size_t[]){1, 1, HEADS - head, to - from});
    if (drawn(seed + 5, 4) == 0)
        OK(txd_recording_flush(m->recording));
}

static mirror begin(const char *path, txd_dtype dtype, txd_dtype given)
{
    mirror m = {.dtype = dtype, .given = given};
    txd_dataset_spec spec = made_spec_of(NAME, "slbhq", dtype, 4);

    spec.steps = STEPS;
    memcpy(spec.dims, (size_t[]){LAYERS, 1, HEADS, 0}, 4 * sizeof(size_t));
    spec.growing[3] = true;
    spec.chunk_limit[3] = MOST;
    m.recording = made_new_recording(path);
    m.values = malloc(CELLS * sizeof *m.values);
    for (size_t i = 0; i < CELLS; i++)
        m.values[i] = dtype == TXD_I32 ? -1 : (double)NAN;
    OK(txd_recording_dataset(m.recording, &m.id, &spec));
    return m;
}

static void expect(const mirror *m, const char *path)
{
    txd_trace *trace = made_open_complete(path);
    txd_trace_info info;
    size_t entry = made_entry_of(trace, NAME, &info);
    size_t all = STEPS * LAYERS * HEADS * m->longest;
    double *read = malloc(all * sizeof *read);

    ck_assert_mem_eq(info.dims, ((size_t[]){STEPS, LAYERS, 1, HEADS, m->longest}),
                     5 * sizeof(size_t));
    OK(txd_trace_read_all(trace, read, all, entry, TXD_F64));
    for (size_t i = 0; i < all; i++) {
        double value = m->values[i / m->longest * MOST + i % m->longest];

        ck_assert_msg(isnan(value) ? isnan(read[i]) : read[i] == value,
                      "number %zu is %g, %g was written", i, read[i], value);
    }
    free(read);
    txd_trace_destroy(trace);
}

START_TEST(whole_chunks_and_parts_of_them_come_in_any_order)
{
    static const txd_dtype dtypes[][2] = {
        {TXD_F32, TXD_F32}, {TXD_F64, TXD_F64}, {TXD_I32, TXD_I32}, {TXD_F32, TXD_F64}};
    const size_t lengths[STEPS] = {300, 17, 512, MOST, 300};
    const char *path = test_file("whole.h5");

    for (size_t run = 0; run < 40; run++) {
        mirror m = begin(path, dtypes[run % 4][0], dtypes[run % 4][1]);

        for (size_t step = 0; step < STEPS; step++)
            for (size_t i = 0; i < BLOCKS; i++)
                put_any(&m, step, lengths[step],
                        ((run * STEPS + step) * BLOCKS + i) * 6);
        for (size_t step = 0; step < STEPS; step++)
            put(&m, step, (size_t[]){0, 0, 0, 0}, (size_t[]){1, 1, 1, MOST});
        OK(txd_recording_close(m.recording, true));
        expect(&m, path);
        free(m.values);
    }
}
END_TEST

/* A chunk of several steps is written again with each of them. */
START_TEST(a_chunk_holds_several_steps_only_where_there_would_be_many_datasets)
{
    static const size_t expected[][3] = {
        /* steps, of a chunk, datasets: 24 chunks a step */
        {40, 1, 1},  {42, 1, 2},  {164, 1, 4},
        {165, 2, 3}, {400, 4, 3}, {5000, 8, 16}, /* of 64 KiB */
    };
    txd_dataset_spec spec = made_spec_of(NAME, "slbhq", TXD_F32, 4);

    memcpy(spec.dims, (size_t[]){6, 1, 8, 1024}, 4 * sizeof(size_t));
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        txd_h5_plan plan;

        spec.steps = expected[i][0];
        OK(txd_h5_plan_make(&plan, &spec));
        ck_assert_uint_eq(plan.chunk[0], expected[i][1]);
        ck_assert_uint_eq(plan.parts, expected[i][2]);
    }
}
END_TEST

TEST_MAIN(a_chunk_holds_several_steps_only_where_there_would_be_many_datasets,
          whole_chunks_and_parts_of_them_come_in_any_order)
