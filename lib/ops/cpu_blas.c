/* SPDX-License-Identifier: MIT
 *
 * What BLAS there is, how it is kept to one thread per call, and whether it uses the
 * kernels that are made for this CPU: an environment variable (OPENBLAS_CORETYPE) or a
 * BLAS older than the CPU can make every product take twice as long or more, and
 * nothing else shows it.
 */
#include <cblas.h>
#include <stdio.h>
#include <string.h>

#include "ops/cpu_blas.h"
#include "ops/kernels.h"
#include "ops/kernels_sets.h"

#if TXD_X86
#include <cpuid.h>
#endif

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

#ifdef OPENBLAS_VERSION
/* AMD's family 25 (Zen 3 and 4) computes 512 bits in two halves: there kernels for AVX2
 * are as fast (measured: 109 and 104 GF/s). */
static bool halves(void)
{
#if TXD_X86
    unsigned a, b, c, d;
    char vendor[12];

    if (!__get_cpuid(0, &a, &b, &c, &d))
        return false;
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    if (memcmp(vendor, "AuthenticAMD", sizeof vendor) != 0 ||
        !__get_cpuid(1, &a, &b, &c, &d))
        return false;
    return ((a >> 8) & 15) + ((a >> 20) & 255) == 25;
#else
    return false;
#endif
}
#endif

/* OpenBLAS's names of cores by what their kernels use. Unknown ones are newer than this
 * list: they are taken to be good. */
bool txd_blas_core_is_slow(const char *core, const char *simd)
{
    static const char *const with_avx2[] = {"Haswell", "Zen", "Excavator"},
                             *const without[] = {
                                 "Prescott",     "Core2",      "Penryn",
                                 "Dunnington",   "Nehalem",    "Sandybridge",
                                 "Atom",         "Nano",       "Opteron",
                                 "Opteron_SSE3", "Barcelona",  "Bobcat",
                                 "Bulldozer",    "Piledriver", "Steamroller",
                                 "Katmai",       "Coppermine", "Northwood",
                                 "Banias",       "Athlon",     "Unknown"};
    bool wide = strcmp(simd, "avx512") == 0;

    for (size_t i = 0; wide && i < sizeof with_avx2 / sizeof *with_avx2; i++)
        if (strcmp(core, with_avx2[i]) == 0)
            return true;
    for (size_t i = 0; i < sizeof without / sizeof *without; i++)
        if (strcmp(core, without[i]) == 0)
            return wide || strcmp(simd, "avx2") == 0;
    return false;
}

const char *txd_cpu_blas_slow(void)
{
#ifdef OPENBLAS_VERSION
    static _Thread_local char text[256];
    const char *core = openblas_get_corename(), *simd = txd_kernels_here()->name;

    if (strcmp(simd, "avx512") == 0 && halves())
        simd = "avx2";
    if (!txd_blas_core_is_slow(core, simd))
        return NULL;
    snprintf(text, sizeof text,
             "the BLAS uses its kernels for \"%s\", but this CPU has %s: products take "
             "twice as long or more; unset OPENBLAS_CORETYPE, or install an OpenBLAS "
             "that knows this CPU",
             core, txd_kernels_here()->name);
    return text;
#else
    return NULL;
#endif
}
