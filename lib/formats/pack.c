/* SPDX-License-Identifier: MIT
 *
 * Packing by portable integer arithmetic: the bytes in the file depend neither on the
 * processor nor on the number of threads. Deflate: pack_deflate.c.
 */
#include "formats/pack_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

txd_status txd_packer_reserve(txd_packer *packer, size_t bytes, bool deflate)
{
    if (deflate && !packer->compressor) {
        packer->compressor = txd_deflate_create();
        if (!packer->compressor)
            return txd_fail(TXD_ERR_MEMORY, "out of memory: a compressor");
    }
    if (bytes <= packer->bytes)
        return TXD_OK;
    free(packer->spare);
    packer->spare = malloc(bytes);
    packer->bytes = packer->spare ? bytes : 0;
    return packer->spare ? TXD_OK
                         : txd_fail(TXD_ERR_MEMORY,
                                    "out of memory: %zu bytes to pack a chunk", bytes);
}

void txd_packer_finish(txd_packer *packer)
{
    free(packer->spare);
    txd_deflate_destroy(packer->compressor);
    *packer = (txd_packer){0};
}

size_t txd_pack_bytes(const txd_pack_plan *plan)
{
    size_t from = txd_dtype_bytes(plan->from), to = txd_dtype_bytes(plan->to);

    return plan->count * (from > to ? from : to);
}

/* ---- numbers ---- */

bool txd_pack_is_zero(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    uint64_t words[8];

    for (; bytes >= sizeof words; at += sizeof words, bytes -= sizeof words) {
        memcpy(words, at, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3] | words[4] | words[5] |
             words[6] | words[7]) != 0)
            return false;
    }
    for (size_t i = 0; i < bytes; i++)
        if (at[i] != 0)
            return false;
    return true;
}

/* A carry runs into the exponent as it should. What would round up to infinity is cut
 * off instead: a recording shows no infinity where there was none. */
static uint32_t round12(uint32_t bits)
{
    const uint32_t infinity = 0x7f800000u, cut = 0x7ffu;
    uint32_t size = bits & 0x7fffffffu;
    uint32_t rounded = (bits + 0x3ffu + (bits >> 11 & 1)) & ~cut;

    if (size > infinity)
        return (bits | 0x400000u) & ~cut;
    if (size < infinity && (rounded & 0x7fffffffu) == infinity)
        return bits & ~cut;
    return rounded;
}

void txd_pack_round12(float *values, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;

        memcpy(&bits, &values[i], sizeof bits);
        bits = round12(bits);
        memcpy(&values[i], &bits, sizeof bits);
    }
}

/* ---- bytes ---- */

/* HDF5's shuffle: the first bytes of all numbers, then the second ones, and so on. */
static void shuffle(unsigned char *out, const unsigned char *in, size_t count,
                    size_t width)
{
    for (size_t byte = 0; byte < width; byte++)
        for (size_t i = 0; i < count; i++)
            *out++ = in[i * width + byte];
}

static void shuffle4(unsigned char *out, const unsigned char *in, size_t count)
{
    size_t whole = count / 8 * 8;

    for (size_t i = 0; i < whole; i += 8) {
        uint64_t bytes[4] = {0};

        for (unsigned j = 0; j < 8; j++) {
            const unsigned char *number = in + 4 * (i + j);

            for (unsigned byte = 0; byte < 4; byte++)
                bytes[byte] |= (uint64_t)number[byte] << 8 * j;
        }
        for (size_t byte = 0; byte < 4; byte++)
            memcpy(out + byte * count + i, &bytes[byte], 8);
    }
    for (size_t i = whole; i < count; i++)
        for (size_t byte = 0; byte < 4; byte++)
            out[byte * count + i] = in[4 * i + byte];
}

static void unshuffle(unsigned char *out, const unsigned char *in, size_t count,
                      size_t width)
{
    for (size_t byte = 0; byte < width; byte++)
        for (size_t i = 0; i < count; i++)
            out[i * width + byte] = *in++;
}

/* ---- a chunk ---- */

/* The buffer with the numbers, and the other one. */
typedef struct pair {
    unsigned char *now, *other;
} pair;

static void swap(pair *p)
{
    unsigned char *now = p->now;

    p->now = p->other;
    p->other = now;
}

static txd_packed deflate_pair(pair *p, const txd_packer *packer, size_t count,
                               size_t width)
{
    txd_packed packed = {.bytes = count * width, .plain = true};
    size_t bytes;

    if (width == 4)
        shuffle4(p->other, p->now, count);
    else
        shuffle(p->other, p->now, count, width);
    swap(p);
    /* One byte less than plain, or it does not pay. */
    bytes = txd_deflate_planes(packer->compressor, p->other, packed.bytes - 1, p->now,
                               count, width);
    if (bytes > 0)
        packed = (txd_packed){.bytes = bytes};
    else
        unshuffle(p->other, p->now, count, width);
    swap(p);
    return packed;
}

txd_packed txd_pack(unsigned char *data, txd_packer *packer, const txd_pack_plan *plan)
{
    size_t width = txd_dtype_bytes(plan->to);
    txd_packed packed = {.bytes = plan->count * width, .plain = true};
    pair p = {data, packer->spare};

    if (plan->from != plan->to) {
        txd_convert(p.other, plan->to, p.now, plan->from, plan->count);
        swap(&p);
    }
    if (plan->round12)
        txd_pack_round12((float *)(void *)p.now, plan->count);
    if (plan->drop_zeros && txd_pack_is_zero(p.now, packed.bytes))
        return (txd_packed){0};
    if (plan->deflate && packed.bytes > 1)
        packed = deflate_pair(&p, packer, plan->count, width);
    if (p.now != data)
        memcpy(data, p.now, packed.bytes);
    return packed;
}
