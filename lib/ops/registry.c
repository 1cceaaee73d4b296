/* SPDX-License-Identifier: MIT
 *
 * The backends. Each table begins as the reference and is overridden entry by entry, so
 * that no entry can be missing. Host memory is the only memory here.
 */
#include <float.h>
#include <stdatomic.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "ops/cpu.h"
#include "ops/cpu_blas.h"
#include "ops/emulated.h"
#include "ops/kernels.h"
#include "ops/ref.h"
#include "ops/registry.h"

void *txd_host_take(size_t bytes)
{
    void *memory = txd_memory_take(bytes);

    if (memory == NULL)
        txd_fail(TXD_ERR_MEMORY,
                 "%zu bytes of memory cannot be had: use a shorter "
                 "sequence, a smaller batch, or fewer recorded points",
                 bytes);
    return memory;
}

static txd_status host_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return TXD_OK;
}

static txd_status host_zero(void *to, size_t bytes)
{
    memset(to, 0, bytes);
    return TXD_OK;
}

static txd_status host_sync(txd_ctx *ctx)
{
    (void)ctx;
    return TXD_OK;
}

static const char *no_blas(void)
{
    return "none";
}

#define HOST_MEMORY                                                                    \
    .alloc = txd_host_take, .free = txd_memory_give, .upload = host_copy,              \
    .download = host_copy, .copy = host_copy, .zero = host_zero, .sync = host_sync

static const txd_backend ref64 = {
    .name = "ref64",
    .sentence = "plain loops in double: the truth that everything else is held against",
    .simd = "portable",
    .dtype = TXD_F64,
    .format = TXD_F64,
    .ops = {TXD_OPS(TXD_REF64_ENTRY)},
    HOST_MEMORY,
    .blas = no_blas,
};

static const txd_backend ref32 = {
    .name = "ref32",
    .sentence = "the same loops in float: what float32 alone does to the numbers",
    .simd = "portable",
    .dtype = TXD_F32,
    .format = TXD_F32,
    .ops = {TXD_OPS(TXD_REF32_ENTRY)},
    HOST_MEMORY,
    .blas = no_blas,
};

/* The reference first, then what is faster: the later initialiser of an entry wins (C17
 * 6.7.9, 19), which is the point here. */
#if defined(__clang__)
#pragma clang diagnostic ignored "-Winitializer-overrides"
#elif defined(__GNUC__)
#pragma GCC diagnostic ignored "-Woverride-init"
#endif

static const txd_backend cpu32 = {
    .name = "cpu32",
    .sentence = "float32 with products through a BLAS, on all cores",
    .dtype = TXD_F32,
    .format = TXD_F32,
    .ops = {TXD_OPS(TXD_REF32_ENTRY) TXD_OPS_CPU32},
    HOST_MEMORY,
    .blas = txd_cpu_blas,
    .blas_slow = txd_cpu_blas_slow,
    .prepare = txd_cpu_prepare,
};

#define EMULATED                                                                       \
    .dtype = TXD_F32, HOST_MEMORY, .blas = txd_cpu_blas,                               \
    .blas_slow = txd_cpu_blas_slow, .prepare = txd_cpu_prepare

static const txd_backend bf16 = {
    .name = "bf16",
    .sentence = "cpu32 with every stored value rounded to bfloat16 (8 bits)",
    .format = TXD_BF16,
    .ops = {TXD_OPS(TXD_BF16_ENTRY)},
    EMULATED,
};

static const txd_backend fp16 = {
    .name = "fp16",
    .sentence = "cpu32 with every stored value rounded to float16 (11 bits, to 65504)",
    .format = TXD_F16,
    .ops = {TXD_OPS(TXD_FP16_ENTRY)},
    EMULATED,
};

static const txd_backend *const backends[] = {&cpu32, &ref64, &ref32, &bf16, &fp16};

#define BACKENDS (sizeof backends / sizeof backends[0])

/* Those that modules brought; a slot is filled before it is counted. */
#define ADDED 8
static const txd_backend *added[ADDED];
static atomic_size_t added_count;

const txd_backend *txd_backend_at(size_t i)
{
    if (i < BACKENDS)
        return backends[i];
    return i - BACKENDS < atomic_load(&added_count) ? added[i - BACKENDS] : NULL;
}

txd_status txd_backend_add(const txd_backend *backend)
{
    size_t count = atomic_load(&added_count);

    if (count == ADDED)
        return txd_fail(TXD_ERR_LIMIT, "more than %d backends of modules", ADDED);
    added[count] = backend;
    atomic_store(&added_count, count + 1);
    return TXD_OK;
}

txd_status txd_backend_find(const txd_backend **out, const char *name)
{
    const txd_backend *backend;
    txd_text known;

    for (size_t i = 0; (backend = txd_backend_at(i)) != NULL; i++)
        if (strcmp(backend->name, name) == 0) {
            *out = backend;
            return TXD_OK;
        }
    txd_text_init(&known);
    for (size_t i = 0; (backend = txd_backend_at(i)) != NULL; i++)
        txd_text_addf(&known, "%s%s", i > 0 ? ", " : "", backend->name);
    txd_fail(TXD_ERR_MISSING, "there is no backend \"%s\"; this build has %s", name,
             txd_text_get(&known));
    txd_text_finish(&known);
    return TXD_ERR_MISSING;
}

const char *txd_backend_name(const txd_backend *backend)
{
    return backend->name;
}

const char *txd_backend_sentence(const txd_backend *backend)
{
    return backend->sentence;
}

txd_dtype txd_backend_dtype(const txd_backend *backend)
{
    return backend->dtype;
}

txd_dtype txd_backend_format(const txd_backend *backend)
{
    return backend->format;
}

txd_roundoff txd_roundoff_of_format(txd_dtype format)
{
    switch (format) {
    case TXD_F64:
        return (txd_roundoff){0x1p-53, 0x1p-53, 0x1p-1074, 0x1p-1074, DBL_MAX};
    case TXD_BF16:
        return (txd_roundoff){0x1p-24, 0x1p-8, 0x1p-149, 0x1p-133, 0x1.fep127};
    case TXD_F16:
        return (txd_roundoff){0x1p-24, 0x1p-11, 0x1p-149, 0x1p-24, 65504};
    default:
        return (txd_roundoff){0x1p-24, 0x1p-24, 0x1p-149, 0x1p-149, (double)FLT_MAX};
    }
}

txd_roundoff txd_roundoff_of(const txd_backend *backend)
{
    return txd_roundoff_of_format(backend->format);
}

const char *txd_backend_simd(const txd_backend *backend)
{
    return backend->simd != NULL ? backend->simd : txd_kernels_here()->name;
}

const char *txd_backend_blas(const txd_backend *backend)
{
    return backend->blas();
}

const char *txd_backend_blas_slow(const txd_backend *backend)
{
    return backend->blas_slow != NULL ? backend->blas_slow() : NULL;
}
