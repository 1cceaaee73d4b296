/* SPDX-License-Identifier: MIT
 *
 * For tests of what must end the program.
 */
#ifndef TXD_CUDA_HOST_DIES_H
#define TXD_CUDA_HOST_DIES_H

#include <stddef.h>

#ifdef __cplusplus

/* Whether the address sanitizer looks on: it has its own words for accesses. */
#ifdef __SANITIZE_ADDRESS__
#define ASAN_OR(text) "AddressSanitizer"
#else
#define ASAN_OR(text) text
#endif

/* Runs `run` in a process of its own, which must end by abort, a signal or a sanitizer,
 * after it has said each of the texts; NULL: it need not say anything. */
void assert_dies(void (*run)(), const char *text, const char *more);

#endif

#endif
