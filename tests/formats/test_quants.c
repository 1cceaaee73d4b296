/* SPDX-License-Identifier: MIT
 *
 * Blocks of GGML against what PyPI's `gguf` package makes of them
 * (tests/fixtures/quants/make.py), bit for bit.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/quants.h"
#include "formats/safetensors.h"
#include "suite.h"

#define FIXTURE "tests/fixtures/quants/blocks.safetensors"

static const uint32_t types[] = {2, 3, 6, 7, 8, 12, 13, 14};
#define TYPES (sizeof types / sizeof *types)

typedef struct fixture {
    const txd_quant *quant;
    unsigned char *blocks;
    float *values;
    size_t count; /* blocks */
} fixture;

static void *read_all(const txd_trace *trace, const char *name, const char *what,
                      txd_dtype dtype, size_t *count)
{
    txd_trace_info info;
    char entry[64];
    size_t i;
    void *data;

    snprintf(entry, sizeof entry, "%s.%s", name, what);
    OK(txd_trace_find(trace, &i, entry));
    OK(txd_trace_get(trace, &info, i));
    ck_assert_int_eq(info.dtype, dtype);
    OK(txd_shape_count(count, info.dims, info.rank));
    data = malloc(*count * txd_dtype_bytes(dtype));
    ck_assert_ptr_nonnull(data);
    OK(txd_trace_read_all(trace, data, *count, i, dtype));
    return data;
}

static fixture load(uint32_t type)
{
    fixture f = {.quant = txd_quant_of(type)};
    txd_trace *trace = NULL;
    size_t bytes, values;

    ck_assert_ptr_nonnull(f.quant);
    OK(txd_safetensors_open(&trace, test_source(FIXTURE)));
    f.blocks = read_all(trace, f.quant->name, "blocks", TXD_U8, &bytes);
    f.values = read_all(trace, f.quant->name, "values", TXD_F32, &values);
    f.count = bytes / f.quant->bytes;
    ck_assert_uint_eq(f.count * f.quant->bytes, bytes);
    ck_assert_uint_eq(f.count * f.quant->lanes, values);
    ck_assert_uint_gt(f.count, 12);
    txd_trace_destroy(trace);
    return f;
}

static void unload(fixture *f)
{
    free(f->blocks);
    free(f->values);
}

/* The bits, except that a NaN may be any. */
static bool same(float a, float b)
{
    return memcmp(&a, &b, sizeof a) == 0 || (isnan(a) && isnan(b));
}

START_TEST(every_type_has_the_bits_of_the_gguf_package)
{
    for (size_t k = 0; k < TYPES; k++) {
        fixture f = load(types[k]);
        size_t count = f.count * f.quant->lanes, finite = 0, rest = 0;
        float *out = malloc(count * sizeof *out);

        ck_assert_ptr_nonnull(out);
        txd_quant_decode(out, f.quant, f.blocks, f.count);
        for (size_t i = 0; i < count; i++) {
            ck_assert_msg(same(out[i], f.values[i]),
                          "%s, block %zu, element %zu: %a, "
                          "expected %a",
                          f.quant->name, i / f.quant->lanes, i % f.quant->lanes,
                          (double)out[i], (double)f.values[i]);
            finite += isfinite(f.values[i]) != 0;
            rest += !isfinite(f.values[i]);
        }
        ck_assert_uint_gt(finite, 4 * rest);
        ck_assert_uint_gt(rest, 0); /* infinite scales and NaN are among them */
        free(out);
        unload(&f);
    }
}
END_TEST

START_TEST(a_run_of_blocks_anywhere_has_the_same_bits)
{
    for (size_t k = 0; k < TYPES; k++) {
        fixture f = load(types[k]);
        float out[3 * TXD_QUANT_LANES_MAX];

        for (size_t first = 0; first + 3 <= f.count; first += 5) {
            size_t lanes = f.quant->lanes;

            txd_quant_decode(out, f.quant, f.blocks + first * f.quant->bytes, 3);
            for (size_t i = 0; i < 3 * lanes; i++)
                ck_assert(same(out[i], f.values[first * lanes + i]));
        }
        unload(&f);
    }
}
END_TEST

START_TEST(numbers_that_no_type_has_are_told)
{
    static const uint32_t none[] = {4, 5, 31, 32, 33, 36, 37, 38, 42, 1000, UINT32_MAX};

    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        ck_assert_ptr_null(txd_quant_of(none[i]));
    ck_assert_str_eq(txd_quant_of(16)->name, "IQ2_XXS");
    ck_assert(txd_quant_of(16)->decode == NULL);
    ck_assert(txd_quant_of(30)->dense);
    ck_assert_int_eq(txd_quant_of(30)->dtype, TXD_BF16);
}
END_TEST

TEST_MAIN(every_type_has_the_bits_of_the_gguf_package,
          a_run_of_blocks_anywhere_has_the_same_bits, numbers_that_no_type_has_are_told)
