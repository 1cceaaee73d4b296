/* SPDX-License-Identifier: MIT
 *
 * Reading recordings past HDF5's library: the numbers are those that were written, in
 * every layout, and a file that lies about its chunks is an error that names them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/rng.h"
#include "made_h5.h"
#include "suite.h"

#define ok(call) ck_assert_msg((call) == TXD_OK, "%s", txd_message())

static const hsize_t dims[MADE_RANK] = {3, 300, 130};

static txd_trace *open_at(const char *path)
{
    txd_trace *trace = NULL;

    ok(txd_recording_open(&trace, path, NULL));
    return trace;
}

static void ck_box(const txd_trace *trace, const made_layout *layout,
                   const size_t start[3], const size_t count[3], const double *wanted)
{
    double *found = malloc(count[0] * count[1] * count[2] * sizeof *found);
    size_t n = 0;

    ck_assert_ptr_nonnull(found);
    ok(txd_trace_read(trace, found, 0, start, count, TXD_F64));
    for (size_t i = 0; i < count[0]; i++)
        for (size_t j = 0; j < count[1]; j++)
            for (size_t k = 0; k < count[2]; k++, n++) {
                double right =
                    wanted[((start[0] + i) * dims[1] + start[1] + j) * dims[2] +
                           start[2] + k];

                if (!(found[n] == right || (isnan(found[n]) && isnan(right))))
                    ck_abort_msg("%s: (%zu,%zu,%zu) is %g, not %g", layout->name,
                                 start[0] + i, start[1] + j, start[2] + k, found[n],
                                 right);
            }
    free(found);
}

static void ck_layout(const made_layout *layout)
{
    const char *path = test_file("made.h5");
    txd_trace *trace;
    double *wanted;

    made_h5(path, layout, dims, &wanted);
    trace = open_at(path);
    ck_box(trace, layout, (size_t[]){0, 0, 0}, (size_t[]){3, 300, 130}, wanted);
    for (uint64_t trial = 0; trial < 12; trial++) {
        size_t start[3], count[3];

        for (int axis = 0; axis < 3; axis++) {
            uint64_t bits = txd_rng_bits(11, 3 * trial + (uint64_t)axis);

            start[axis] = bits % dims[axis];
            count[axis] = 1 + (bits >> 32) % (dims[axis] - start[axis]);
        }
        ck_box(trace, layout, start, count, wanted);
    }
    txd_trace_destroy(trace);
    free(wanted);
}

static const int filter_sets[][3] = {
    {0},
    {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE},
    {H5Z_FILTER_DEFLATE},
    {H5Z_FILTER_SHUFFLE},
    {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE, H5Z_FILTER_FLETCHER32},
    {H5Z_FILTER_DEFLATE, H5Z_FILTER_SHUFFLE},
};

START_TEST(every_chunk_shape_filter_and_fill_gives_what_was_written)
{
    static const hsize_t chunks[][MADE_RANK] = {
        {1, 64, 64}, {1, 300, 130}, {2, 7, 129}, {1, 256, 128},
        {3, 300, 1}, {1, 1, 130},   {1, 290, 65}};
    static const double fills[] = {0, NAN, -2.5};
    char name[64];

    for (size_t c = 0; c < sizeof chunks / sizeof *chunks; c++)
        for (size_t f = 0; f < sizeof filter_sets / sizeof *filter_sets; f++) {
            made_layout layout = {.name = name, .type = H5T_IEEE_F32LE};

            snprintf(name, sizeof name, "chunk %zu, filters %zu", c, f);
            memcpy(layout.chunk, chunks[c], sizeof layout.chunk);
            memcpy(layout.filters, filter_sets[f], sizeof layout.filters);
            layout.fill = fills[(c + f) % 3];
            layout.skip = (c + f) % 4; /* 1: none is written */
            ck_layout(&layout);
        }
}
END_TEST

START_TEST(every_type_gives_what_was_written)
{
    const hid_t types[] = {H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE,
                           H5T_STD_I32LE,  H5T_STD_I16LE,  H5T_STD_I64LE};

    for (size_t t = 0; t < sizeof types / sizeof *types; t++)
        for (size_t f = 0; f < sizeof filter_sets / sizeof *filter_sets; f++) {
            made_layout layout = {.name = "a type",
                                  .type = types[t],
                                  .chunk = {1, 100, 33},
                                  .fill = 5,
                                  .skip = 5};

            memcpy(layout.filters, filter_sets[f], sizeof layout.filters);
            ck_layout(&layout);
        }
}
END_TEST

START_TEST(a_dataset_in_one_piece_gives_what_was_written)
{
    made_layout layout = {.name = "in one piece", .type = H5T_IEEE_F32LE, .fill = 3};

    ck_layout(&layout);
    layout.name = "in one piece, of doubles";
    layout.type = H5T_IEEE_F64LE;
    ck_layout(&layout);
    layout.name = "in one piece, never written";
    layout.skip = 1;
    ck_layout(&layout);
}
END_TEST

/* ---- chunks that are written as they are ---- */

enum { SIDE = 128, ELEMENTS = SIDE * SIDE, CHUNK_BYTES = 4 * ELEMENTS };

/* Two chunks, the first of which HDF5 wrote. */
typedef struct raw_file {
    const char *path;
    hid_t file, id;
    float plain[ELEMENTS];
    unsigned char shuffled[CHUNK_BYTES], packed[2 * CHUNK_BYTES];
} raw_file;

static void raw_begin(raw_file *raw)
{
    const made_layout layout = {.name = "raw",
                                .type = H5T_IEEE_F32LE,
                                .chunk = {1, SIDE, SIDE},
                                .filters = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}};

    raw->path = test_file("raw.h5");
    raw->file = made_h5_begin(raw->path);
    raw->id = made_h5_filtered(raw->file, "value/x/full", &layout,
                               (hsize_t[]){1, SIDE, 2 * SIDE});
    for (size_t i = 0; i < ELEMENTS; i++) {
        raw->plain[i] = (float)made_value(i);
        for (size_t b = 0; b < 4; b++)
            raw->shuffled[b * ELEMENTS + i] =
                ((const unsigned char *)&raw->plain[i])[b];
    }
}

static size_t pack(raw_file *raw, const void *bytes, size_t count)
{
    uLongf packed = sizeof raw->packed;

    ck_assert_int_eq(compress2(raw->packed, &packed, bytes, count, 1), Z_OK);
    return packed;
}

static void put(const raw_file *raw, hsize_t column, uint32_t left_out,
                const void *bytes, size_t count)
{
    const hsize_t offset[MADE_RANK] = {0, 0, column};

    ck_assert(H5Dwrite_chunk(raw->id, H5P_DEFAULT, left_out, offset, count, bytes) >=
              0);
}

static void raw_end(raw_file *raw)
{
    H5Dclose(raw->id);
    ck_assert(H5Fclose(raw->file) >= 0);
}

static txd_status read_raw(const raw_file *raw, float *out)
{
    txd_trace *trace = open_at(raw->path);
    txd_status status = txd_trace_read(trace, out, 0, (size_t[]){0, 0, 0},
                                       (size_t[]){1, SIDE, 2 * SIDE}, TXD_F32);

    txd_trace_destroy(trace);
    return status;
}

static void ck_same_halves(const raw_file *raw)
{
    static float out[2 * ELEMENTS];

    ok(read_raw(raw, out));
    for (size_t i = 0; i < SIDE; i++)
        for (size_t half = 0; half < 2; half++)
            ck_assert(memcmp(out + (2 * i + half) * SIDE, raw->plain + i * SIDE,
                             SIDE * sizeof *out) == 0);
}

START_TEST(filters_that_a_chunk_leaves_out_are_not_applied)
{
    static raw_file raw;

    for (uint32_t left_out = 0; left_out < 4; left_out++) {
        const void *bytes = left_out & 1 ? (const void *)raw.plain : raw.shuffled;
        size_t count = CHUNK_BYTES;

        raw_begin(&raw);
        put(&raw, 0, 0, raw.packed, pack(&raw, raw.shuffled, CHUNK_BYTES));
        if (!(left_out & 2)) {
            count = pack(&raw, bytes, CHUNK_BYTES);
            bytes = raw.packed;
        }
        put(&raw, SIDE, left_out, bytes, count);
        raw_end(&raw);
        ck_same_halves(&raw);
    }
}
END_TEST

/* The message names file, dataset and chunk. */
static void ck_refused(const raw_file *raw, const char *what)
{
    static float out[2 * ELEMENTS];

    ck_assert_int_eq(read_raw(raw, out), TXD_ERR_FORMAT);
    ck_assert_msg(strstr(txd_message(), raw->path) != NULL &&
                      strstr(txd_message(), "/value/x/full: chunk 1") != NULL &&
                      strstr(txd_message(), what) != NULL,
                  "%s", txd_message());
}

static void ck_second_refused(uint32_t left_out, const void *bytes, size_t count,
                              const char *what)
{
    static raw_file raw;
    unsigned char *copy = malloc(count + 1);

    ck_assert_ptr_nonnull(copy);
    memcpy(copy, bytes, count);
    raw_begin(&raw);
    put(&raw, 0, 0, raw.packed, pack(&raw, raw.shuffled, CHUNK_BYTES));
    put(&raw, SIDE, left_out, copy, count);
    raw_end(&raw);
    ck_refused(&raw, what);
    free(copy);
}

START_TEST(streams_that_do_not_unpack_to_a_chunk_are_refused)
{
    static const char stream[] = "expected a zlib stream of 65536 bytes";
    static raw_file raw;
    static unsigned char longer[CHUNK_BYTES + 4];
    size_t count;

    raw_begin(&raw);
    raw_end(&raw);
    memset(longer, 7, sizeof longer);
    ck_second_refused(0, longer, 100, stream);
    count = pack(&raw, raw.shuffled, CHUNK_BYTES);
    for (size_t cut = 1; cut < count; cut *= 3)
        ck_second_refused(0, raw.packed, count - cut, stream);
    raw.packed[count / 2] ^= 0x55;
    ck_second_refused(0, raw.packed, count, stream);
    count = pack(&raw, raw.shuffled, CHUNK_BYTES - 4);
    ck_second_refused(0, raw.packed, count, stream);
    count = pack(&raw, longer, sizeof longer);
    ck_second_refused(0, raw.packed, count, stream);
}
END_TEST

START_TEST(plain_chunks_of_another_size_are_refused)
{
    static unsigned char longer[CHUNK_BYTES + 4];

    ck_second_refused(3, longer, CHUNK_BYTES - 4, "expected 65536 bytes");
    ck_second_refused(3, longer, sizeof longer, "expected 65536 bytes");
    ck_second_refused(2, longer, 8, "expected 65536 bytes");
}
END_TEST

/* Replaces the first 8 bytes that are `from` in a file; it must hold them. */
static void patch(const char *path, uint64_t from, uint64_t to)
{
    FILE *file = fopen(path, "r+b");
    static unsigned char bytes[1 << 20];
    size_t count, at = 0;

    ck_assert_ptr_nonnull(file);
    count = fread(bytes, 1, sizeof bytes, file);
    while (at + 8 <= count && memcmp(bytes + at, &from, 8) != 0)
        at++;
    ck_assert_uint_le(at + 8, count);
    ck_assert(fseek(file, (long)at, SEEK_SET) == 0 && fwrite(&to, 8, 1, file) == 1);
    fclose(file);
}

static haddr_t second_chunk(const raw_file *raw)
{
    const hsize_t offset[MADE_RANK] = {0, 0, SIDE};
    haddr_t at = HADDR_UNDEF;
    unsigned left_out;
    hsize_t bytes;

    ck_assert(H5Dget_chunk_info_by_coord(raw->id, offset, &left_out, &at, &bytes) >= 0);
    return at;
}

START_TEST(chunks_that_lie_behind_the_end_of_the_file_are_refused)
{
    const uint64_t places[] = {UINT64_C(1) << 40, UINT64_MAX - 100, INT64_MAX, 200000};
    static raw_file raw;

    for (uint32_t left_out = 0; left_out < 4; left_out += 3)
        for (size_t p = 0; p < sizeof places / sizeof *places; p++) {
            haddr_t at;

            raw_begin(&raw);
            put(&raw, 0, 0, raw.packed, pack(&raw, raw.shuffled, CHUNK_BYTES));
            if (left_out)
                put(&raw, SIDE, 3, raw.plain, CHUNK_BYTES);
            else
                put(&raw, SIDE, 0, raw.packed, pack(&raw, raw.plain, CHUNK_BYTES));
            H5Fflush(raw.file, H5F_SCOPE_GLOBAL);
            at = second_chunk(&raw);
            raw_end(&raw);
            patch(raw.path, at, places[p]);
            ck_refused(&raw, "the file has");
        }
}
END_TEST

/* ---- steps in several datasets ---- */

START_TEST(parts_that_continue_the_steps_are_read_as_one)
{
    const made_layout layouts[2] = {
        {.type = H5T_IEEE_F32LE,
         .chunk = {1, 64, 64},
         .filters = {H5Z_FILTER_SHUFFLE, H5Z_FILTER_DEFLATE}},
        {.type = H5T_IEEE_F32LE}};
    const char *path = test_file("parts.h5");
    hid_t file = made_h5_begin(path);
    size_t elements = (size_t)(dims[1] * dims[2]);
    static float values[2][3 * 300 * 130], out[5 * 300 * 130];
    txd_trace *trace;

    for (int part = 0; part < 2; part++) {
        hid_t id = made_h5_filtered(file, part ? "value/x/full.1" : "value/x/full",
                                    &layouts[part], dims);

        for (size_t i = 0; i < 3 * elements; i++)
            values[part][i] = (float)made_value(i + (size_t)part * 77);
        ck_assert(H5Dwrite(id, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT,
                           values[part]) >= 0);
        H5Dclose(id);
    }
    H5Fclose(file);
    trace = open_at(path);
    ok(txd_trace_read(trace, out, 0, (size_t[]){1, 0, 0}, (size_t[]){5, 300, 130},
                      TXD_F32));
    ck_assert(memcmp(out, values[0] + elements, 2 * elements * sizeof *out) == 0);
    ck_assert(memcmp(out + 2 * elements, values[1], 3 * elements * sizeof *out) == 0);
    txd_trace_destroy(trace);
}
END_TEST

TEST_MAIN(every_chunk_shape_filter_and_fill_gives_what_was_written,
          every_type_gives_what_was_written,
          a_dataset_in_one_piece_gives_what_was_written,
          filters_that_a_chunk_leaves_out_are_not_applied,
          streams_that_do_not_unpack_to_a_chunk_are_refused,
          plain_chunks_of_another_size_are_refused,
          chunks_that_lie_behind_the_end_of_the_file_are_refused,
          parts_that_continue_the_steps_are_read_as_one)
