/* SPDX-License-Identifier: MIT
 *
 * How alike two heads attend: the weight that they put on the same keys, the sum of the
 * smaller of both weights over keys. 1: the same weights; 0: no key in common.
 */
#ifndef TXD_VIZ_LIKENESS_H
#define TXD_VIZ_LIKENESS_H

#include "viz/read/weights.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_likeness {
    size_t count;       /* heads of all layers: layers x heads, head by head */
    double *mean;       /* (count, count), over queries; NaN = not known */
    double *low;        /* the same shape: a tenth of the queries lie at or below */
    unsigned char *bad; /* (count): rows of this head are not finite */
    size_t queries, of; /* compared, of those that see two keys or more */
} txd_likeness;

/* Compares all heads of the weights over evenly chosen queries, as many as can be done
 * in about a second, but no fewer than 16. ERR_LIMIT, saying how, if that is too much
 * work. Everything is in `arena`. */
txd_status txd_likeness_read(txd_likeness *out, const txd_weights *weights,
                             txd_arena *arena);

#ifdef __cplusplus
}
#endif

#endif
