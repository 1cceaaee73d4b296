/* SPDX-License-Identifier: MIT
 *
 * What becomes of the numbers of a chunk on their way to the file: fewer digits, bytes
 * shuffled, deflated. Pure and without HDF5, so that threads can do it. Internal to
 * formats/.
 */
#ifndef TXD_FORMATS_PACK_INTERNAL_H
#define TXD_FORMATS_PACK_INTERNAL_H

#include "base/tensor.h"

/* Of deflate: the higher ones take twice the time for a few percent. */
#define TXD_PACK_LEVEL 1

typedef struct txd_pack_plan {
    txd_dtype from, to; /* in memory, in the file (little-endian) */
    size_t count;       /* numbers */
    bool round12;       /* TXD_F32 to 12 bits of mantissa */
    bool drop_zeros;    /* of numbers that are all +0 nothing is stored */
    bool deflate;       /* HDF5's filters shuffle and deflate, in this order */
} txd_pack_plan;

/* The memory of one thread. All zero is an empty one. */
typedef struct txd_packer {
    unsigned char *spare;
    size_t bytes;
    void *compressor;
} txd_packer;

/* Makes room for what txd_pack_bytes says. */
txd_status txd_packer_reserve(txd_packer *packer, size_t bytes, bool deflate);
void txd_packer_finish(txd_packer *packer);

/* Bytes that `data` must have room for: the larger of both dtypes. */
size_t txd_pack_bytes(const txd_pack_plan *plan);

/* What is to be stored: the first `bytes` of `data`; 0 = nothing. */
typedef struct txd_packed {
    size_t bytes;
    bool plain; /* the filters were not applied: they would not have helped */
} txd_packed;

/* In place. The same numbers give the same bytes, whoever packs them. */
txd_packed txd_pack(unsigned char *data, txd_packer *packer, const txd_pack_plan *plan);

/* True if all bits of all bytes are 0. */
bool txd_pack_is_zero(const void *data, size_t bytes);

/* float32 to 12 bits of mantissa, to nearest, ties to even; still float32. NaN stays
 * NaN, infinity stays infinite, and what is finite stays finite. */
void txd_pack_round12(float *values, size_t count);

/* ---- pack_deflate.c ---- */

void *txd_deflate_create(void); /* NULL: no memory */
void txd_deflate_destroy(void *compressor);

/* A zlib stream of `planes` planes of `count` bytes, which lie behind each other: what
 * the shuffle makes of numbers. The bytes written, at most `room`; 0 if it would take
 * more, or nearly all of it. */
size_t txd_deflate_planes(void *compressor, unsigned char *out, size_t room,
                          const unsigned char *data, size_t count, size_t planes);

#endif
