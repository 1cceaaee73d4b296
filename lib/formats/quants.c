/* SPDX-License-Identifier: MIT
 *
 * Blocks to float32. Where a product or a sum is rounded is part of the format: every
 * expression here rounds once per operation, in the order of the reference, which
 * contraction or another order would break.
 */
#include "formats/quants.h"

#include "base/half.h"

#define NIBBLES 16 /* bytes of a block of 32 */

static float half_at(const unsigned char *bytes)
{
    return txd_f16_to_f32((uint16_t)(bytes[0] | bytes[1] << 8));
}

static uint32_t bits_at(const unsigned char *bytes)
{
    return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
           (uint32_t)bytes[3] << 24;
}

static void decode_q4_0(float *out, const unsigned char *block)
{
    const unsigned char *low = block + 2;
    float d = half_at(block);

#pragma omp simd
    for (int i = 0; i < NIBBLES; i++) {
        out[i] = d * (float)((low[i] & 15) - 8);
        out[i + NIBBLES] = d * (float)((low[i] >> 4) - 8);
    }
}

static void decode_q4_1(float *out, const unsigned char *block)
{
    const unsigned char *low = block + 4;
    float d = half_at(block), m = half_at(block + 2);

#pragma omp simd
    for (int i = 0; i < NIBBLES; i++) {
        out[i] = d * (float)(low[i] & 15) + m;
        out[i + NIBBLES] = d * (float)(low[i] >> 4) + m;
    }
}

/* The fifth bits of the 32 elements stand together. */
static void decode_q5_0(float *out, const unsigned char *block)
{
    const unsigned char *low = block + 6;
    uint32_t high = bits_at(block + 2);
    float d = half_at(block);

#pragma omp simd
    for (int i = 0; i < NIBBLES; i++) {
        int first = (low[i] & 15) | (int)(high >> i & 1) << 4;
        int second = (low[i] >> 4) | (int)(high >> (i + NIBBLES) & 1) << 4;

        out[i] = d * (float)(first - 16);
        out[i + NIBBLES] = d * (float)(second - 16);
    }
}

static void decode_q5_1(float *out, const unsigned char *block)
{
    const unsigned char *low = block + 8;
    uint32_t high = bits_at(block + 4);
    float d = half_at(block), m = half_at(block + 2);

#pragma omp simd
    for (int i = 0; i < NIBBLES; i++) {
        int first = (low[i] & 15) | (int)(high >> i & 1) << 4;
        int second = (low[i] >> 4) | (int)(high >> (i + NIBBLES) & 1) << 4;

        out[i] = d * (float)first + m;
        out[i + NIBBLES] = d * (float)second + m;
    }
}

static void decode_q8_0(float *out, const unsigned char *block)
{
    const signed char *q = (const signed char *)block + 2;
    float d = half_at(block);

#pragma omp simd
    for (int i = 0; i < 32; i++)
        out[i] = (float)q[i] * d;
}

/* Eight scales and eight minima of 6 bits in 12 bytes, then d and dmin of the block. */
static void unpack_scales(float *scales, float *minima, const unsigned char *block)
{
    const unsigned char *d = block + 4, *m = d + 4, *both = m + 4;
    float scale = half_at(block), minimum = half_at(block + 2);

    for (int i = 0; i < 4; i++) {
        scales[i] = scale * (float)(d[i] & 63);
        minima[i] = minimum * (float)(m[i] & 63);
        scales[i + 4] = scale * (float)((both[i] & 15) | (d[i] >> 2 & 48));
        minima[i + 4] = minimum * (float)(both[i] >> 4 | (m[i] >> 2 & 48));
    }
}

static void decode_q4_k(float *out, const unsigned char *block)
{
    const unsigned char *q = block + 16;
    float scales[8], minima[8];

    unpack_scales(scales, minima, block);
    for (int group = 0; group < 8; group += 2, q += 32, out += 64)
#pragma omp simd
        for (int i = 0; i < 32; i++) {
            out[i] = scales[group] * (float)(q[i] & 15) - minima[group];
            out[i + 32] = scales[group + 1] * (float)(q[i] >> 4) - minima[group + 1];
        }
}

static void decode_q5_k(float *out, const unsigned char *block)
{
    const unsigned char *high = block + 16, *q = block + 48;
    float scales[8], minima[8];

    unpack_scales(scales, minima, block);
    for (int group = 0; group < 8; group += 2, q += 32, out += 64)
#pragma omp simd
        for (int i = 0; i < 32; i++) {
            int first = (q[i] & 15) | (high[i] >> group & 1) << 4;
            int second = (q[i] >> 4) | (high[i] >> (group + 1) & 1) << 4;

            out[i] = scales[group] * (float)first - minima[group];
            out[i + 32] = scales[group + 1] * (float)second - minima[group + 1];
        }
}

/* 16 scales of 8 bits for 16 elements each; the halves of 128 are packed alike. */
static void decode_q6_k(float *out, const unsigned char *block)
{
    const unsigned char *low = block, *high = block + 128;
    const signed char *scales = (const signed char *)block + 192;
    float d = half_at(block + 208);

    for (int half = 0; half < 2; half++, low += 64, high += 32, scales += 8, out += 128)
        for (int part = 0; part < 8; part++) {
            const unsigned char *from = low + part % 4 * 16;
            const unsigned char *bits = high + part % 2 * 16;
            int nibble = part / 4 * 4, pair = part / 2 * 2;
            float scale = d * (float)scales[part];

#pragma omp simd
            for (int i = 0; i < 16; i++) {
                int q = (from[i] >> nibble & 15) | (bits[i] >> pair & 3) << 4;

                out[part * 16 + i] = scale * (float)(q - 32);
            }
        }
}

#define DENSE(number, name, size, type) [number] = {name, 1, size, true, type, NULL}
#define BLOCKS(number, name, lanes, bytes, decode)                                     \
    [number] = {name, lanes, bytes, false, TXD_F32, decode}
#define UNREAD(number, name, lanes, bytes)                                             \
    [number] = {name, lanes, bytes, false, TXD_F32, NULL}

/* By number; what is without a name was never used, or is no longer. */
static const txd_quant quants[] = {
    DENSE(0, "F32", 4, TXD_F32),
    DENSE(1, "F16", 2, TXD_F16),
    BLOCKS(2, "Q4_0", 32, 18, decode_q4_0),
    BLOCKS(3, "Q4_1", 32, 20, decode_q4_1),
    BLOCKS(6, "Q5_0", 32, 22, decode_q5_0),
    BLOCKS(7, "Q5_1", 32, 24, decode_q5_1),
    BLOCKS(8, "Q8_0", 32, 34, decode_q8_0),
    UNREAD(9, "Q8_1", 32, 40),
    UNREAD(10, "Q2_K", 256, 84),
    UNREAD(11, "Q3_K", 256, 110),
    BLOCKS(12, "Q4_K", 256, 144, decode_q4_k),
    BLOCKS(13, "Q5_K", 256, 176, decode_q5_k),
    BLOCKS(14, "Q6_K", 256, 210, decode_q6_k),
    UNREAD(15, "Q8_K", 256, 292),
    UNREAD(16, "IQ2_XXS", 256, 66),
    UNREAD(17, "IQ2_XS", 256, 74),
    UNREAD(18, "IQ3_XXS", 256, 98),
    UNREAD(19, "IQ1_S", 256, 50),
    UNREAD(20, "IQ4_NL", 32, 18),
    UNREAD(21, "IQ3_S", 256, 110),
    UNREAD(22, "IQ2_S", 256, 82),
    UNREAD(23, "IQ4_XS", 256, 136),
    UNREAD(24, "I8", 1, 1),
    UNREAD(25, "I16", 1, 2),
    DENSE(26, "I32", 4, TXD_I32),
    DENSE(27, "I64", 8, TXD_I64),
    DENSE(28, "F64", 8, TXD_F64),
    UNREAD(29, "IQ1_M", 256, 56),
    DENSE(30, "BF16", 2, TXD_BF16),
    UNREAD(34, "TQ1_0", 256, 54),
    UNREAD(35, "TQ2_0", 256, 66),
    UNREAD(39, "MXFP4", 32, 17),
    UNREAD(40, "NVFP4", 64, 36),
    UNREAD(41, "Q1_0", 128, 18),
};

const txd_quant *txd_quant_of(uint32_t number)
{
    if (number >= sizeof quants / sizeof *quants || !quants[number].name)
        return NULL;
    return &quants[number];
}

void txd_quant_decode(float *out, const txd_quant *quant, const void *blocks,
                      size_t count)
{
    const unsigned char *block = blocks;

    for (size_t i = 0; i < count; i++, block += quant->bytes, out += quant->lanes)
        quant->decode(out, block);
}
