/* SPDX-License-Identifier: MIT
 *
 * Which kernels this CPU runs.
 */
#include "ops/kernels.h"

#include <stdatomic.h>

#include "ops/kernels_sets.h"

#define SETS 3

/* This CPU's sets, the best one last. */
static size_t sets_here(const txd_kernels *sets[SETS])
{
    size_t count = 0;

    sets[count++] = &txd_kernels_portable;
#if TXD_X86
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2"))
        sets[count++] = &txd_kernels_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        sets[count++] = &txd_kernels_avx512;
#endif
    return count;
}

const txd_kernels *txd_kernels_at(size_t i)
{
    const txd_kernels *sets[SETS];

    return i < sets_here(sets) ? sets[i] : NULL;
}

/* Threads that are the first at once all find the same. */
const txd_kernels *txd_kernels_here(void)
{
    static _Atomic(const txd_kernels *) best;
    const txd_kernels *sets[SETS],
        *here = atomic_load_explicit(&best, memory_order_relaxed);

    if (here == NULL) {
        here = sets[sets_here(sets) - 1];
        atomic_store_explicit(&best, here, memory_order_relaxed);
    }
    return here;
}
