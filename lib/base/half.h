/* SPDX-License-Identifier: MIT
 *
 * float16 (IEEE 754 binary16) and bfloat16 bit patterns to and from float32 and double.
 * Rounding is to nearest, ties to even, and happens once, also from double; subnormals,
 * overflow to infinity, and NaN (kept a NaN, made quiet, upper payload bits kept)
 * follow IEEE 754-2019.
 */
#ifndef TXD_BASE_HALF_H
#define TXD_BASE_HALF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

float txd_f16_to_f32(uint16_t bits);
uint16_t txd_f32_to_f16(float value);
/* `count` of them. */
void txd_f16_load(float *out, const uint16_t *bits, size_t count);
void txd_f16_store(uint16_t *out, const float *values, size_t count);
float txd_bf16_to_f32(uint16_t bits);
uint16_t txd_f32_to_bf16(float value);

uint16_t txd_f64_to_f16(double value);
uint16_t txd_f64_to_bf16(double value);

#ifdef __cplusplus
}
#endif

#endif
