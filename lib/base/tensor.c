/* SPDX-License-Identifier: MIT
 *
 * Sizes, shapes and conversions. Every pair of dtypes goes through one of two wide
 * forms, double for the floating ones and int64 for the integers, in short pieces
 * that stay in the cache. Pieces are copied bytewise: mapped files need not be
 * aligned.
 */
#include "base/tensor.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/half.h"

#define PIECE 256

typedef union piece {
    double f64[PIECE];
    float f32[PIECE];
    uint16_t b16[PIECE];
    int64_t i64[PIECE];
    int32_t i32[PIECE];
    uint8_t u8[PIECE];
} piece;

static bool is_integer(txd_dtype dtype)
{
    return dtype == TXD_I64 || dtype == TXD_I32 || dtype == TXD_U8;
}

/* An int64 as a double that rounds to 16 bits as the integer would: 52 bits of it and a
 * sticky one, exact in double. */
static double sticky(int64_t value)
{
    int64_t low = value & 0x7ff;

    if (value > -((int64_t)1 << 52) && value < (int64_t)1 << 52)
        return (double)value;
    return (double)(value - low) + (low ? 1024.0 : 0.0);
}

static int64_t to_integer(double value, double low, double high)
{
    if (isnan(value))
        return 0;
    if (value <= low)
        return (int64_t)low;
    /* (double)INT64_MAX is 2^63, which does not fit. */
    if (value >= high)
        return high >= 0x1p63 ? INT64_MAX : (int64_t)high;
    return (int64_t)value;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* One loop per dtype: a switch inside would keep them from being vectorised. */
static void load_reals(double *out, const piece *from, txd_dtype dtype, size_t count)
{
    switch (dtype) {
    case TXD_F32:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)from->f32[i];
        break;
    case TXD_F16:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)txd_f16_to_f32(from->b16[i]);
        break;
    case TXD_BF16:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)txd_bf16_to_f32(from->b16[i]);
        break;
    case TXD_I64:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)from->i64[i];
        break;
    case TXD_I32:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)from->i32[i];
        break;
    case TXD_U8:
        for (size_t i = 0; i < count; i++)
            out[i] = (double)from->u8[i];
        break;
    case TXD_F64:
    default:
        for (size_t i = 0; i < count; i++)
            out[i] = from->f64[i];
        break;
    }
}

static int64_t load_integer(const piece *from, txd_dtype dtype, size_t i)
{
    if (dtype == TXD_I64)
        return from->i64[i];
    return dtype == TXD_I32 ? (int64_t)from->i32[i] : (int64_t)from->u8[i];
}

static void store_reals(piece *to, txd_dtype dtype, const double *from, size_t count)
{
    switch (dtype) {
    case TXD_F32:
        for (size_t i = 0; i < count; i++)
            to->f32[i] = (float)from[i];
        break;
    case TXD_F16:
        for (size_t i = 0; i < count; i++)
            to->b16[i] = txd_f64_to_f16(from[i]);
        break;
    case TXD_BF16:
        for (size_t i = 0; i < count; i++)
            to->b16[i] = txd_f64_to_bf16(from[i]);
        break;
    case TXD_I64:
        for (size_t i = 0; i < count; i++)
            to->i64[i] = to_integer(from[i], -0x1p63, 0x1p63);
        break;
    case TXD_I32:
        for (size_t i = 0; i < count; i++)
            to->i32[i] = (int32_t)to_integer(from[i], INT32_MIN, INT32_MAX);
        break;
    case TXD_U8:
        for (size_t i = 0; i < count; i++)
            to->u8[i] = (uint8_t)to_integer(from[i], 0, UINT8_MAX);
        break;
    case TXD_F64:
    default:
        for (size_t i = 0; i < count; i++)
            to->f64[i] = from[i];
        break;
    }
}

static void store_integer(piece *to, txd_dtype dtype, size_t i, int64_t value)
{
    switch (dtype) {
    case TXD_F32:
        to->f32[i] = (float)value;
        break;
    case TXD_F16:
        to->b16[i] = txd_f64_to_f16(sticky(value));
        break;
    case TXD_BF16:
        to->b16[i] = txd_f64_to_bf16(sticky(value));
        break;
    case TXD_I64:
        to->i64[i] = value;
        break;
    case TXD_I32:
        to->i32[i] = (int32_t)clamp(value, INT32_MIN, INT32_MAX);
        break;
    case TXD_U8:
        to->u8[i] = (uint8_t)clamp(value, 0, UINT8_MAX);
        break;
    case TXD_F64:
    default:
        to->f64[i] = (double)value;
        break;
    }
}

static void convert_piece(piece *to, txd_dtype to_dtype, const piece *from,
                          txd_dtype from_dtype, size_t count)
{
    double wide[PIECE];

    if (from_dtype == TXD_F16 && to_dtype == TXD_F32) {
        txd_f16_load(to->f32, from->b16, count);
        return;
    }
    if (is_integer(from_dtype)) {
        for (size_t i = 0; i < count; i++)
            store_integer(to, to_dtype, i, load_integer(from, from_dtype, i));
        return;
    }
    if (from_dtype == TXD_F32 && to_dtype == TXD_F16) {
        txd_f16_store(to->b16, from->f32, count);
        return;
    }
    load_reals(wide, from, from_dtype, count);
    store_reals(to, to_dtype, wide, count);
}

size_t txd_dtype_bytes(txd_dtype dtype)
{
    switch (dtype) {
    case TXD_F64:
    case TXD_I64:
        return 8;
    case TXD_F32:
    case TXD_I32:
        return 4;
    case TXD_F16:
    case TXD_BF16:
        return 2;
    case TXD_U8:
        break;
    }
    return 1;
}

const char *txd_dtype_name(txd_dtype dtype)
{
    static const char *const names[] = {"float64", "float32", "float16", "bfloat16",
                                        "int64",   "int32",   "uint8"};

    if ((unsigned)dtype < sizeof names / sizeof *names)
        return names[dtype];
    return "unknown dtype";
}

txd_status txd_size_mul(size_t *out, size_t a, size_t b)
{
    if (b != 0 && a > SIZE_MAX / b)
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu times %zu is more than this machine can address", a, b);
    *out = a * b;
    return TXD_OK;
}

txd_status txd_size_add(size_t *out, size_t a, size_t b)
{
    if (a > SIZE_MAX - b)
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu plus %zu is more than this machine can address", a, b);
    *out = a + b;
    return TXD_OK;
}

txd_status txd_shape_count(size_t *out, const size_t *dims, int rank)
{
    size_t count = 1;

    for (int i = 0; i < rank; i++)
        if (dims[i] == 0) { /* 0 even where the other sizes would overflow */
            *out = 0;
            return TXD_OK;
        }
    for (int i = 0; i < rank; i++)
        TXD_TRY(txd_size_mul(&count, count, dims[i]));
    *out = count;
    return TXD_OK;
}

size_t txd_tensor_count(const txd_tensor *tensor)
{
    size_t count = 1;

    for (int i = 0; i < tensor->rank; i++)
        count *= tensor->dims[i];
    return count;
}

txd_tensor txd_tensor_make(txd_dtype dtype, void *data, int rank, const size_t *dims)
{
    txd_tensor tensor = {.dtype = dtype, .rank = rank, .data = data};

    for (int i = 0; i < rank; i++)
        tensor.dims[i] = dims[i];
    return tensor;
}

double txd_tensor_get(const txd_tensor *tensor, size_t index)
{
    size_t bytes = txd_dtype_bytes(tensor->dtype);
    float narrow;
    double value;
    piece one;

    if (tensor->dtype == TXD_F32) { /* nearly all are */
        memcpy(&narrow, (const char *)tensor->data + index * sizeof narrow,
               sizeof narrow);
        return (double)narrow;
    }
    memcpy(&one, (const unsigned char *)tensor->data + index * bytes, bytes);
    load_reals(&value, &one, tensor->dtype, 1);
    return value;
}

void txd_convert(void *to, txd_dtype to_dtype, const void *from, txd_dtype from_dtype,
                 size_t count)
{
    size_t to_bytes = txd_dtype_bytes(to_dtype);
    size_t from_bytes = txd_dtype_bytes(from_dtype);
    const unsigned char *source = from;
    unsigned char *target = to;
    piece in, out;

    if (to_dtype == from_dtype) {
        if (count != 0)
            memmove(to, from, count * to_bytes);
        return;
    }
    while (count != 0) {
        size_t n = count < PIECE ? count : PIECE;

        memcpy(&in, source, n * from_bytes);
        convert_piece(&out, to_dtype, &in, from_dtype, n);
        memcpy(target, &out, n * to_bytes);
        source += n * from_bytes;
        target += n * to_bytes;
        count -= n;
    }
}

void txd_tensor_block(void *out, txd_dtype dtype, const txd_tensor *from,
                      const size_t *start, const size_t *count)
{
    size_t bytes = txd_dtype_bytes(from->dtype);
    size_t at[TXD_MAX_RANK] = {0};
    size_t rows = 1, run = from->rank ? count[from->rank - 1] : 1;
    unsigned char *target = out;

    for (int i = 0; i + 1 < from->rank; i++)
        rows *= count[i];
    for (size_t row = 0; row < rows && run != 0; row++) {
        size_t offset = 0;

        for (int i = 0; i < from->rank; i++)
            offset = offset * from->dims[i] + start[i] + at[i];
        txd_convert(target, dtype, (const unsigned char *)from->data + offset * bytes,
                    from->dtype, run);
        target += run * txd_dtype_bytes(dtype);
        for (int i = from->rank - 2; i >= 0 && ++at[i] == count[i]; i--)
            at[i] = 0;
    }
}

char *txd_shape_text(char *text, size_t bytes, const size_t *dims, int rank)
{
    size_t used = 0;

    if (bytes == 0)
        return text;
    snprintf(text, bytes, "(");
    for (int i = 0; i < rank; i++) {
        used = strlen(text);
        snprintf(text + used, bytes - used, i ? ", %zu" : "%zu", dims[i]);
    }
    used = strlen(text);
    snprintf(text + used, bytes - used, ")");
    return text;
}
