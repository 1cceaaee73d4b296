/* SPDX-License-Identifier: MIT
 *
 * A tensor value: dtype, shape and a pointer. It owns nothing; it is dense and
 * row-major (the last axis varies fastest). Copy it freely.
 */
#ifndef TXD_BASE_TENSOR_H
#define TXD_BASE_TENSOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TXD_MAX_RANK 8

typedef enum txd_dtype {
    TXD_F64,
    TXD_F32,
    TXD_F16,
    TXD_BF16,
    TXD_I64,
    TXD_I32,
    TXD_U8,
} txd_dtype;

typedef struct txd_tensor {
    txd_dtype dtype;
    int rank;                  /* 0 (a scalar) to TXD_MAX_RANK */
    size_t dims[TXD_MAX_RANK]; /* rank entries, slowest axis first */
    void *data;
} txd_tensor;

/* Bytes of one element. */
size_t txd_dtype_bytes(txd_dtype dtype);

/* "float64", "float32", "float16", "bfloat16", "int64", "int32", "uint8". */
const char *txd_dtype_name(txd_dtype dtype);

/* *out = a * b, or a + b; ERR_LIMIT (out untouched) when that overflows size_t. */
txd_status txd_size_mul(size_t *out, size_t a, size_t b);
txd_status txd_size_add(size_t *out, size_t a, size_t b);

/* Elements of a shape (1 for rank 0); ERR_LIMIT when it overflows. */
txd_status txd_shape_count(size_t *out, const size_t *dims, int rank);

/* Elements of a tensor whose shape is known to fit in memory. */
size_t txd_tensor_count(const txd_tensor *tensor);

/* A tensor over `data`; `dims` holds `rank` entries. */
txd_tensor txd_tensor_make(txd_dtype dtype, void *data, int rank, const size_t *dims);

/* Element `index` (flat) as double; int64 beyond 2^53 is rounded. */
double txd_tensor_get(const txd_tensor *tensor, size_t index);

/* Converts `count` elements; every pair of dtypes. Narrowing to f16 and bf16 rounds
 * to nearest even; to an integer it truncates, NaN gives 0 and out-of-range values
 * saturate. `to` and `from` must not overlap unless they are equal and of one size. */
void txd_convert(void *to, txd_dtype to_dtype, const void *from, txd_dtype from_dtype,
                 size_t count);

/* The block [start, start + count) of `from` (one value per axis, within its shape)
 * as dense `dtype` into `out`. The data of `from` need not be aligned. */
void txd_tensor_block(void *out, txd_dtype dtype, const txd_tensor *from,
                      const size_t *start, const size_t *count);

/* "(2, 8, 27, 27)" into `text`, always terminated. Returns `text`. */
char *txd_shape_text(char *text, size_t bytes, const size_t *dims, int rank);

#ifdef __cplusplus
}
#endif

#endif
