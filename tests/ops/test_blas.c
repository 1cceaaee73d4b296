/* SPDX-License-Identifier: MIT
 *
 * Which of a BLAS's kernels are slow for a CPU.
 */
#include <string.h>

#include "ops/cpu_blas.h"
#include "ops/registry.h"
#include "suite.h"

START_TEST(kernels_that_leave_half_of_a_cpu_unused_are_slow)
{
    ck_assert(txd_blas_core_is_slow("Haswell", "avx512"));
    ck_assert(txd_blas_core_is_slow("Zen", "avx512"));
    ck_assert(txd_blas_core_is_slow("Prescott", "avx512"));
    ck_assert(txd_blas_core_is_slow("Sandybridge", "avx2"));
    ck_assert(txd_blas_core_is_slow("Nehalem", "avx2"));
}
END_TEST

START_TEST(kernels_that_fit_the_cpu_and_unknown_ones_are_not_slow)
{
    ck_assert(!txd_blas_core_is_slow("Cooperlake", "avx512"));
    ck_assert(!txd_blas_core_is_slow("SkylakeX", "avx512"));
    ck_assert(!txd_blas_core_is_slow("Haswell", "avx2"));
    ck_assert(!txd_blas_core_is_slow("Zen", "avx2"));
    ck_assert(!txd_blas_core_is_slow("Prescott", "portable"));
    ck_assert(!txd_blas_core_is_slow("made tomorrow", "avx512"));
}
END_TEST

START_TEST(the_core_is_named_and_a_backend_without_a_blas_is_never_slow)
{
    for (size_t i = 0; txd_backend_at(i) != NULL; i++) {
        const txd_backend *backend = txd_backend_at(i);
        const char *blas = txd_backend_blas(backend);

        if (strcmp(blas, "none") == 0)
            ck_assert_ptr_null(txd_backend_blas_slow(backend));
        else if (strncmp(blas, "OpenBLAS", 8) == 0)
            ck_assert_ptr_nonnull(strstr(blas, ", core "));
    }
}
END_TEST

TEST_MAIN(kernels_that_leave_half_of_a_cpu_unused_are_slow,
          kernels_that_fit_the_cpu_and_unknown_ones_are_not_slow,
          the_core_is_named_and_a_backend_without_a_blas_is_never_slow)
