/* SPDX-License-Identifier: MIT
 *
 * The fast float32 backend for CPUs: the reference table with products through CBLAS
 * (cpu_linear.c), and activations in chunks over the threads.
 */
#include "ops/cpu.h"

#include <cblas.h>
#include <stdio.h>

#include "ops/ref.h"

/* Elements of an elementwise task. */
#define CHUNK 16384

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t chunks_of(size_t count)
{
    return (count + CHUNK - 1) / CHUNK;
}

static txd_status activate_chunk(void *self, size_t i, int worker)
{
    struct txd_activate_args part = *(const struct txd_activate_args *)self;
    size_t begin = i * CHUNK;

    (void)worker;
    part.out = (float *)part.out + begin;
    part.x = (const float *)part.x + begin;
    part.count = least(CHUNK, part.count - begin);
    return txd_ref32_activate(NULL, &part);
}

txd_status txd_cpu32_activate(txd_ctx *ctx, const struct txd_activate_args *a)
{
    struct txd_activate_args copy = *a;

    return txd_parallel(ctx, chunks_of(a->count), 64.0 * CHUNK, activate_chunk, &copy);
}

static txd_status activate_back_chunk(void *self, size_t i, int worker)
{
    struct txd_activate_back_args part = *(const struct txd_activate_back_args *)self;
    size_t begin = i * CHUNK;

    (void)worker;
    part.d_x = (float *)part.d_x + begin;
    part.d_out = (const float *)part.d_out + begin;
    part.x = (const float *)part.x + begin;
    part.count = least(CHUNK, part.count - begin);
    return txd_ref32_activate_back(NULL, &part);
}

txd_status txd_cpu32_activate_back(txd_ctx *ctx, const struct txd_activate_back_args *a)
{
    struct txd_activate_back_args copy = *a;

    return txd_parallel(ctx, chunks_of(a->count), 96.0 * CHUNK, activate_back_chunk,
                        &copy);
}

/* A BLAS with threads of its own must not use them; one that takes OpenMP's is held to
 * one by txd_parallel. (Asking OpenBLAS's OpenMP build for one thread would change
 * OpenMP's own count: measured.) */
void txd_cpu_prepare(void)
{
#ifdef OPENBLAS_VERSION
    enum { PTHREAD = 1 };

    if (openblas_get_parallel() == PTHREAD)
        openblas_set_num_threads(1);
#endif
}

const char *txd_cpu_blas(void)
{
#ifdef OPENBLAS_VERSION
    static _Thread_local char text[160];
    char name[24] = "OpenBLAS", version[24] = "";
    static const char *const kinds[] = {"sequential", "pthread", "OpenMP"};
    int kind = openblas_get_parallel();

    (void)sscanf(openblas_get_config(), "%23s %23s", name, version);
    snprintf(text, sizeof text, "%s %s, core %s, %s build, 1 thread per call", name,
             version, openblas_get_corename(),
             kind >= 0 && kind <= 2 ? kinds[kind] : "unknown");
    return text;
#else
    return "CBLAS";
#endif
}
