/* SPDX-License-Identifier: MIT
 *
 * Chunks that are collected: blocks in any order and of any shape, chunks that were in
 * the file already, more of them than memory may hold, steps of several lengths.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/h5_internal.h"
#include "formats/pack_internal.h"
#include "made_recording.h"
#include "suite.h"

#define WEIGHTS "value/layers/0/attn/weights/full"

/* What is written, and what must be read. */
typedef struct mirror {
    txd_recording *recording;
    const char *path;
    txd_dataset_spec spec;
    size_t id, heads, side;
    float *values; /* (steps, heads, side, side) */
} mirror;

static mirror begin(const char *name, size_t heads, size_t side, size_t steps,
                    bool fill_zero, bool deflate)
{
    mirror m = {.path = test_file(name), .heads = heads, .side = side};
    size_t count = steps * heads * side * side;

    m.recording = made_new_recording(m.path);
    m.spec = made_spec_of(WEIGHTS, "sbhqk", TXD_F32, 4);
    m.spec.fill_zero = fill_zero;
    m.spec.steps = steps;
    memcpy(m.spec.dims, (size_t[]){1, heads, side, side}, 4 * sizeof(size_t));
    m.values = malloc(count * sizeof *m.values);
    for (size_t i = 0; i < count; i++)
        m.values[i] = fill_zero ? 0 : (float)NAN;
    OK(txd_recording_pack(m.recording, deflate, 2));
    OK(txd_recording_dataset(m.recording, &m.id, &m.spec));
    return m;
}

static float number(size_t seed, size_t i)
{
    return (float)((seed * 7919 + i * 104729) % 99991) / 64;
}

/* Rows and columns of one head; factor 0 writes zeros. */
static void put(mirror *m, size_t step, size_t head, const size_t rows[2],
                const size_t columns[2], float factor)
{
    const size_t start[] = {0, head, rows[0], columns[0]};
    const size_t count[] = {1, 1, rows[1] - rows[0], columns[1] - columns[0]};
    float *block = malloc(count[2] * count[3] * sizeof *block);

    for (size_t q = 0; q < count[2]; q++)
        for (size_t k = 0; k < count[3]; k++) {
            size_t at = ((step * m->heads + head) * m->side + rows[0] + q) * m->side +
                        columns[0] + k;
            float value = factor * number(step + 1, at);

            block[q * count[3] + k] = value;
            m->values[at] = value;
        }
    OK(txd_recording_write(m->recording, m->id, step, start, count, block, TXD_F32));
    free(block);
}

static void end(mirror *m)
{
    size_t count = m->spec.steps * m->heads * m->side * m->side;
    float *read = malloc(count * sizeof *read);
    txd_trace_info info;
    txd_trace *trace;

    OK(txd_recording_close(m->recording, true));
    trace = made_open_complete(m->path);
    OK(txd_trace_read_all(trace, read, count,
                          made_entry_of(trace, "layers.0.attn.weights", &info),
                          TXD_F32));
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(memcmp(&read[i], &m->values[i], sizeof *read) == 0 ||
                          (isnan(read[i]) && isnan(m->values[i])),
                      "element %zu: %g, expected %g", i, (double)read[i],
                      (double)m->values[i]);
    txd_trace_destroy(trace);
    free(read);
    free(m->values);
}

/* For every fill and compression. */
static void in_all_ways(void (*body)(mirror *m), size_t heads, size_t side,
                        size_t steps)
{
    for (int way = 0; way < 4; way++) {
        mirror m = begin("tiles.h5", heads, side, steps, way % 2 == 0, way / 2 == 1);

        body(&m);
        end(&m);
    }
}

static void rows_from_the_last(mirror *m)
{
    for (size_t row = m->side; row-- > 0;)
        put(m, 0, 0, (size_t[]){row, row + 1}, (size_t[]){0, m->side}, 1);
}

START_TEST(rows_may_come_in_any_order)
{
    in_all_ways(rows_from_the_last, 1, 300, 1);
}
END_TEST

static void columns_apart(mirror *m)
{
    static const size_t edges[] = {0, 1, 255, 256, 257, 300};

    /* Every second one first: what lies between is filled, then overwritten. */
    for (size_t first = 0; first < 2; first++)
        for (size_t i = first; i < 5; i += 2)
            put(m, 0, 0, (size_t[]){0, m->side}, (size_t[]){edges[4 - i], edges[5 - i]},
                1);
}

START_TEST(columns_may_come_in_any_order)
{
    in_all_ways(columns_apart, 1, 300, 1);
}
END_TEST

static void with_holes(mirror *m)
{
    put(m, 0, 0, (size_t[]){3, 5}, (size_t[]){10, 20}, 1);
    put(m, 0, 0, (size_t[]){4, 9}, (size_t[]){200, 290}, 1);
    put(m, 0, 0, (size_t[]){260, 261}, (size_t[]){299, 300}, 1);
}

START_TEST(what_was_never_written_is_fill)
{
    in_all_ways(with_holes, 1, 300, 1);
}
END_TEST

static void after_a_flush(mirror *m)
{
    put(m, 0, 0, (size_t[]){0, 100}, (size_t[]){0, m->side}, 1);
    OK(txd_recording_flush(m->recording));
    put(m, 0, 0, (size_t[]){90, m->side}, (size_t[]){0, 270}, 2);
    OK(txd_recording_flush(m->recording));
    put(m, 0, 0, (size_t[]){95, 96}, (size_t[]){5, 6}, 3);
}

START_TEST(a_chunk_that_is_in_the_file_keeps_what_it_has)
{
    in_all_ways(after_a_flush, 1, 300, 1);
}
END_TEST

static void zeros_over_numbers(mirror *m)
{
    put(m, 0, 0, (size_t[]){0, m->side}, (size_t[]){0, m->side}, 1);
    put(m, 0, 0, (size_t[]){0, 256}, (size_t[]){0, 256}, 0);
    OK(txd_recording_flush(m->recording));
    put(m, 0, 0, (size_t[]){256, m->side}, (size_t[]){0, 256}, 0);
}

START_TEST(zeros_replace_what_was_there)
{
    in_all_ways(zeros_over_numbers, 1, 300, 1);
}
END_TEST

/* A row of every head in turn: no chunk is whole before all of them have begun, and
 * they are more than may be collected. */
static void heads_in_turn(mirror *m)
{
    ck_assert_uint_gt(m->heads * m->side * m->side * sizeof(float),
                      TXD_H5_TILES_BUDGET);
    for (size_t row = 0; row < m->side; row += 64)
        for (size_t head = 0; head < m->heads; head++)
            put(m, 0, head, (size_t[]){row, row + 64}, (size_t[]){0, m->side}, 1);
}

START_TEST(more_begun_chunks_than_memory_may_hold_are_read_back)
{
    mirror m = begin("many.h5", 160, 256, 1, true, true);

    heads_in_turn(&m);
    end(&m);
}
END_TEST

START_TEST(other_dtypes_are_rounded_once)
{
    /* Halfway between two float16, and a double just above it. */
    const double above = 1 + 0x1p-11 + 0x1p-40;
    const float half = 1 + 0x1p-11F;
    txd_recording *recording = made_new_recording(test_file("once.h5"));
    txd_dataset_spec spec = made_spec_of(WEIGHTS, "sbhqk", TXD_F16, 4);
    const size_t one[] = {1, 1, 1, 1}, second[] = {0, 0, 0, 1};
    size_t id;
    uint16_t read[2];
    txd_trace_info info;
    txd_trace *trace;

    spec.fill_zero = true;
    spec.storage = TXD_STORAGE_F16;
    memcpy(spec.dims, (size_t[]){1, 1, 1, 2}, 4 * sizeof(size_t));
    OK(txd_recording_dataset(recording, &id, &spec));
    OK(txd_recording_write(recording, id, 0, made_origin, one, &half, TXD_F32));
    OK(txd_recording_write(recording, id, 0, second, one, &above, TXD_F64));
    OK(txd_recording_close(recording, true));
    trace = made_open_complete(test_file("once.h5"));
    OK(txd_trace_read_all(
        trace, read, 2, made_entry_of(trace, "layers.0.attn.weights", &info), TXD_F16));
    ck_assert_uint_eq(read[0], 0x3c00);
    ck_assert_uint_eq(read[1], 0x3c01);
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(what_does_not_get_smaller_is_kept_as_it_is)
{
    unsigned char data[64], same[64];
    txd_packer packer = {0};
    const txd_pack_plan plan = {
        .from = TXD_F32, .to = TXD_F32, .count = 16, .deflate = true};
    txd_packed packed;

    for (unsigned i = 0; i < 64; i++)
        data[i] = same[i] = (unsigned char)(i * 73 + i * i * 11);
    OK(txd_packer_reserve(&packer, txd_pack_bytes(&plan), true));
    packed = txd_pack(data, &packer, &plan);
    ck_assert(packed.plain);
    ck_assert_uint_eq(packed.bytes, sizeof data);
    ck_assert_mem_eq(data, same, sizeof data);
    memset(data, 0, sizeof data);
    packed = txd_pack(data, &packer, &plan);
    ck_assert(!packed.plain);
    ck_assert_uint_lt(packed.bytes, sizeof data);
    txd_packer_finish(&packer);
}
END_TEST

START_TEST(one_bit_anywhere_is_not_zero)
{
    unsigned char data[200] = {0};

    for (size_t bytes = 0; bytes <= sizeof data; bytes++) {
        ck_assert(txd_pack_is_zero(data, bytes));
        for (size_t at = 0; at < bytes; at++) {
            data[at] = 0x80;
            ck_assert(!txd_pack_is_zero(data, bytes));
            data[at] = 0;
        }
    }
}
END_TEST

TEST_MAIN(rows_may_come_in_any_order, columns_may_come_in_any_order,
          what_was_never_written_is_fill, a_chunk_that_is_in_the_file_keeps_what_it_has,
          zeros_replace_what_was_there,
          more_begun_chunks_than_memory_may_hold_are_read_back,
          other_dtypes_are_rounded_once, what_does_not_get_smaller_is_kept_as_it_is,
          one_bit_anywhere_is_not_zero)
