/* SPDX-License-Identifier: MIT
 *
 * Counter-based random numbers: the finaliser of SplitMix64 over key + index * gamma
 * (G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number
 * generators", OOPSLA 2014; constants of variant 13 by D. Stafford).
 */
#include "base/rng.h"

#include <math.h>

#define GAMMA UINT64_C(0x9e3779b97f4a7c15)
#define SECOND UINT64_C(0xd1b54a32d192ed03) /* any odd constant: the second stream */
#define TWO_PI 6.283185307179586476925286766559

static uint64_t mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t txd_rng_key(uint64_t seed, const char *name)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a, 64 bits */

    for (const unsigned char *p = (const unsigned char *)name; *p; p++)
        hash = (hash ^ *p) * UINT64_C(0x100000001b3);
    return mix(mix(seed + GAMMA) ^ hash);
}

uint64_t txd_rng_bits(uint64_t key, uint64_t index)
{
    return mix(key + (index + 1) * GAMMA);
}

double txd_rng_uniform(uint64_t key, uint64_t index)
{
    return (double)(txd_rng_bits(key, index) >> 11) * 0x1p-53;
}

double txd_rng_normal(uint64_t key, uint64_t index)
{
    double first = 1.0 - txd_rng_uniform(key, index); /* in (0, 1]: log is finite */
    double second = txd_rng_uniform(mix(key ^ SECOND), index);

    return sqrt(-2.0 * log(first)) * cos(TWO_PI * second);
}
