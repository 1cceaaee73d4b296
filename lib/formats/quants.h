/* SPDX-License-Identifier: MIT
 *
 * How GGML stores tensors: dense dtypes, and blocks of a few bits per element under
 * common scales. Blocks become float32 in the arithmetic of PyPI's `gguf` package, bit
 * for bit (of a NaN only that it is one).
 */
#ifndef TXD_FORMATS_QUANTS_H
#define TXD_FORMATS_QUANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_QUANT_LANES_MAX 256

typedef struct txd_quant {
    const char *name;    /* "Q4_K" */
    size_t lanes, bytes; /* elements and bytes of a block */
    bool dense;          /* elements of a dtype, one per block */
    txd_dtype dtype;     /* of the elements, or of what blocks become */
    /* One block into `lanes` floats; NULL if dense, or if it is known but not read. */
    void (*decode)(float *out, const unsigned char *block);
} txd_quant;

/* The type with this number (enum ggml_type); NULL if there is none. */
const txd_quant *txd_quant_of(uint32_t number);

/* `count` consecutive blocks into count * lanes floats. */
void txd_quant_decode(float *out, const txd_quant *quant, const void *blocks,
                      size_t count);

#ifdef __cplusplus
}
#endif

#endif
