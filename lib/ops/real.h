/* SPDX-License-Identifier: MIT
 *
 * For the reference sources only: the number type and name prefix of this compilation
 * (TXD_REAL_BITS is 64 or 32).
 */
#ifndef TXD_OPS_REAL_H
#define TXD_OPS_REAL_H

#include <math.h>

#include "ops/ref.h"

#ifndef TXD_REAL_BITS
#define TXD_REAL_BITS 64
#endif

#if TXD_REAL_BITS == 64
typedef double real;
#define REF(name) txd_ref64_##name
#define REAL(function) function
#else
typedef float real;
#define REF(name) txd_ref32_##name
#define REAL(function) function##f
#endif

/* Whether a cell of a tile counts: by the spans if there are any, else by the map. */
#define CELL(a, map, r, j)                                                             \
    ((a)->spans != NULL ? txd_span_has((a)->spans, r, j)                               \
                        : (a)->map[(r) * (a)->stride + (j)] != 0)

/* Lanes of one task where rows are summed lane by lane: no sum is divided, so that
 * threads cannot change a bit. */
#define LANES 64

#endif
