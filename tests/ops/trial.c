/* SPDX-License-Identifier: MIT
 *
 * The frame of the trials: inputs, guarded outputs, comparison within the bound.
 */
#include "trial.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compare.h"
#include "base/rng.h"
#include "carried.h"
#include "ops/module.h"
#include "suite.h"

#define GUARD 64
#define GUARD_BYTE 0xa5

/* Shapes: nothing, one, odd, past a vector, past a block. */
const size_t trial_sizes[TRIAL_SIZES + 1] = {0, 1, 3, 7, 65, 130, 1030};

static const double speeds[] = {1, 0.3, 0.021, 0.9, 1e-4};
const struct txd_turns trial_turns = {speeds, 1.2345678};

/* Loads the module the first time; returns whether there is one. */
static bool has_module(void)
{
    static bool loaded;
    const char *module = getenv("TXDIAG_CUDA_MODULE");

    if (module != NULL && !loaded)
        ck_assert_msg(txd_cuda_load(module) == TXD_OK, "%s", txd_message());
    loaded = true;
    return module != NULL;
}

const txd_backend *trial_backend_at(size_t i)
{
    if (!has_module())
        return txd_backend_at(i);
    for (size_t b = 0; txd_backend_at(b) != NULL; b++)
        if (txd_backend_at(b)->host != NULL && i-- == 0)
            return txd_backend_at(b);
    return NULL;
}

const struct txd_ops *trial_table(const txd_backend *backend, const struct txd_ops *ops)
{
    return backend->host == NULL ? ops : carried_ops(backend, ops);
}

bool trial_begin(struct trial *trial, size_t backend)
{
    const txd_backend *b = trial_backend_at(backend);

    *trial = (struct trial){.size = 3, .ctx = {.threads = 1}};
    if (b == NULL)
        return false;
    if (b->prepare != NULL)
        b->prepare();
    trial->backend = b;
    trial->ops = trial_table(b, &b->ops);
    return true;
}

void *trial_keep(struct trial *t, size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);

    if (memory == NULL || t->allocations == sizeof t->memory / sizeof *t->memory)
        abort();
    t->memory[t->allocations++] = memory;
    return memory;
}

void trial_finish(struct trial *t)
{
    while (t->allocations > 0)
        free(t->memory[--t->allocations]);
}

double trial_huge(const struct trial *t)
{
    return t->backend->format == TXD_F16 ? 6e3 : 1e9;
}

static double value_of(const struct trial *t, uint64_t key, size_t i, size_t count)
{
    double normal = txd_rng_normal(key, i);

    switch (t->fill) {
    case FILL_TINY:
        return normal * (t->backend->format == TXD_F16 ? 1e-6 : 1e-30);
    case FILL_HUGE:
        return normal * trial_huge(t);
    case FILL_EQUAL:
        return 0.5;
    case FILL_ONE_HOT:
        return i == count / 2 ? 3.0 : 0.0;
    case FILL_ZEROS:
        return i % 2 == 0 ? 0.0 : -0.0;
    case FILL_NAN:
        return i == key % count ? (double)NAN : normal;
    case FILL_INFINITE:
        return i == key % count ? (double)INFINITY : normal;
    default:
        return normal;
    }
}

double *trial_doubles(struct trial *t, const char *name, size_t count)
{
    double *x = trial_keep(t, count * sizeof *x);
    uint64_t key = txd_rng_key(t->size, name);

    for (size_t i = 0; i < count; i++)
        x[i] = trial_rounded(t, value_of(t, key, i, count));
    return x;
}

double trial_rounded(const struct trial *t, double value)
{
    txd_dtype format = t->backend->format == TXD_F64 ? TXD_F32 : t->backend->format;
    unsigned char bits[8];

    txd_convert(bits, format, &value, TXD_F64, 1);
    txd_convert(&value, TXD_F64, bits, format, 1);
    return value;
}

/* The same numbers in the dtype under test. */
void *trial_narrowed(struct trial *t, const double *x, size_t count)
{
    txd_dtype dtype = t->backend->dtype;
    void *out = trial_keep(t, count * txd_dtype_bytes(dtype));

    if (x == NULL)
        return NULL;
    txd_convert(out, dtype, x, TXD_F64, count);
    return out;
}

void *trial_numbers(struct trial *t, const char *name, size_t count)
{
    return trial_narrowed(t, trial_doubles(t, name, count), count);
}

double trial_at(const struct trial *t, const void *x, size_t i)
{
    txd_dtype dtype = t->backend->dtype;
    double value;

    txd_convert(&value, TXD_F64, (const char *)x + i * txd_dtype_bytes(dtype), dtype,
                1);
    return value;
}

double *trial_widened(struct trial *t, const void *x, size_t count)
{
    double *out = trial_keep(t, count * sizeof *out);

    txd_convert(out, TXD_F64, x, t->backend->dtype, count);
    return out;
}

void *trial_output(struct trial *t, size_t count, size_t element)
{
    unsigned char *memory = trial_keep(t, count * element + 2 * GUARD);
    double nan = NAN;

    memset(memory, GUARD_BYTE, count * element + 2 * GUARD);
    if (element == 1)
        memset(memory + GUARD, 0x77, count);
    for (size_t i = 0; i < count && element > 1; i++)
        txd_convert(memory + GUARD + i * element, element == 8 ? TXD_F64 : TXD_F32,
                    &nan, TXD_F64, 1);
    return memory + GUARD;
}

void *trial_real_output(struct trial *t, size_t count)
{
    return trial_output(t, count, txd_dtype_bytes(t->backend->dtype));
}

void trial_fail(struct trial *t, const char *what, size_t i, double got, double want,
                double allowed)
{
    if (t->failures++ == 0)
        snprintf(t->first, sizeof t->first,
                 "%s[%zu] = %.9g, expected %.9g within %.3g (size %zu, fill %d)", what,
                 i, got, want, allowed, trial_sizes[t->size], (int)t->fill);
}

void trial_note(struct trial *t, const void *out, size_t bytes)
{
    const unsigned char *byte = out;

    for (size_t i = 0; i < bytes; i++)
        t->digest = (t->digest ^ byte[i]) * 0x100000001b3; /* FNV-1a */
}

void trial_guards(struct trial *t, const char *what, const void *out, size_t bytes)
{
    const unsigned char *memory = out;

    trial_note(t, out, bytes);
    for (size_t i = 0; i < GUARD; i++)
        if (memory[-1 - (ptrdiff_t)i] != GUARD_BYTE || memory[bytes + i] != GUARD_BYTE)
            trial_fail(t, what, i, NAN, 0, 0);
}

bool trial_agrees(double value, double exact, double room)
{
    if (isnan(exact))
        return isnan(value);
    return isinf(exact) ? value == exact : txd_close(value, exact, room);
}

/* Beyond the largest number of the format there is only infinity. */
static bool overflows(const struct trial *t, double value, double exact, double room)
{
    return isinf(value) && isfinite(exact) && signbit(value) == signbit(exact) &&
           fabs(exact) + room > txd_roundoff_of(t->backend).largest;
}

void trial_compare(struct trial *t, const char *what, void *out, const double *exact,
                   const double *allowed, size_t count)
{
    txd_tensor got = txd_tensor_make(t->backend->dtype, out, 1, &count);

    trial_guards(t, what, out, count * txd_dtype_bytes(t->backend->dtype));
    for (size_t i = 0; i < count; i++) {
        double value = txd_tensor_get(&got, i), room = allowed ? allowed[i] : 0;

        t->compared++;
        if (!trial_agrees(value, exact[i], room) &&
            !overflows(t, value, exact[i], room))
            trial_fail(t, what, i, value, exact[i], room);
        if (t->backend->format != TXD_F64 && !isnan(value) &&
            trial_rounded(t, value) != value)
            trial_fail(t, "no number of the format", i, value, exact[i], room);
    }
}

int32_t *trial_integers(struct trial *t, size_t count, int32_t below)
{
    int32_t *x = trial_keep(t, count * sizeof *x);

    for (size_t i = 0; i < count; i++)
        x[i] =
            (int32_t)(txd_rng_bits(txd_rng_key(t->size, "ids"), i) % (uint64_t)below);
    return x;
}

uint8_t *trial_cells(struct trial *t, size_t count)
{
    uint8_t *cells = trial_keep(t, count);

    for (size_t i = 0; i < count; i++)
        cells[i] = txd_rng_bits(txd_rng_key(1, "cells"), i) % 3 != 0;
    return cells;
}

const char *trial_name(txd_op op)
{
    static const char *const names[TXD_OP_COUNT] = {
#define TXD_OP(name, arguments) #name,
        TXD_OPS(TXD_OP)
#undef TXD_OP
    };

    return names[op];
}

void trial_run(struct trial *trial, txd_op op)
{
    static void (*const trials[TXD_OP_COUNT])(struct trial *) = {
#define TXD_OP(name, arguments) trial_##name,
        TXD_OPS(TXD_OP)
#undef TXD_OP
    };

    trials[op](trial);
}

bool trial_wanted(txd_op op)
{
    const char *only = getenv("TXD_OPERATION");

    return only == NULL || strcmp(only, trial_name(op)) == 0;
}

bool trial_fails(const struct txd_ops *ops, const txd_backend *backend, txd_op op,
                 char first[200])
{
    const struct txd_ops *table = trial_table(backend, ops);
    size_t failures = 0, compared = 0;

    for (size_t size = 0; size < TRIAL_SIZES; size++)
        for (int fill = 0; fill < FILLS && failures == 0; fill++) {
            struct trial trial = {.ops = table,
                                  .backend = backend,
                                  .size = size,
                                  .fill = (enum fill)fill,
                                  .ctx = {.threads = 2}};

            trial_run(&trial, op);
            if (trial.failures > 0)
                strcpy(first, trial.first);
            failures += trial.failures;
            compared += trial.compared;
            trial_finish(&trial);
        }
    ck_assert_uint_gt(failures + compared, 0);
    return failures > 0;
}
