/* SPDX-License-Identifier: MIT
 *
 * Random numbers as a pure function of (seed, name, index): no state, so that the
 * value of one parameter element does not depend on what else was drawn, in which
 * order, or by how many threads.
 */
#ifndef TXD_BASE_RNG_H
#define TXD_BASE_RNG_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A stream key for (seed, name). */
uint64_t txd_rng_key(uint64_t seed, const char *name);

/* 64 random bits of element `index` of a stream (SplitMix64's finaliser over a
 * counter: Steele, Lea, Flood 2014). */
uint64_t txd_rng_bits(uint64_t key, uint64_t index);

/* Uniform in [0, 1), 53 bits. */
double txd_rng_uniform(uint64_t key, uint64_t index);

/* Standard normal (Box-Muller over two uniforms of the same index). */
double txd_rng_normal(uint64_t key, uint64_t index);

#ifdef __cplusplus
}
#endif

#endif
