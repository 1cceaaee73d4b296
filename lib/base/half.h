/* SPDX-License-Identifier: MIT
 *
 * float16 (IEEE 754 binary16) and bfloat16 bit patterns to and from float32.
 * Rounding is to nearest, ties to even; subnormals, overflow to infinity, and NaN
 * (kept a NaN, made quiet, upper payload bits kept) follow IEEE 754-2019.
 */
#ifndef TXD_BASE_HALF_H
#define TXD_BASE_HALF_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

float txd_f16_to_f32(uint16_t bits);
uint16_t txd_f32_to_f16(float value);
float txd_bf16_to_f32(uint16_t bits);
uint16_t txd_f32_to_bf16(float value);

#ifdef __cplusplus
}
#endif

#endif
