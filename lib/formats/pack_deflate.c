/* SPDX-License-Identifier: MIT
 *
 * Deflate, by libdeflate where it is there, which takes half the time, else by zlib.
 * The low bytes of mantissas are noise: half of all bytes, and most of the time to find
 * that nothing can be saved there. After the shuffle they come first. Planes that a
 * sample shows to be noise are therefore stored, which deflate provides for, and what
 * follows is compressed.
 */
#include "formats/pack_internal.h"

#include <stdlib.h>
#include <string.h>

#ifdef TXD_LIBDEFLATE
#include <libdeflate.h>
#else
#include <zlib.h>
#endif

#define HEADER 2  /* of a zlib stream */
#define TRAILER 4 /* the checksum */
#define STORED_HEADER 5
#define MOST_STORED 65535 /* bytes in a block */

/* ---- the libraries ---- */

#ifdef TXD_LIBDEFLATE
void *txd_deflate_create(void)
{
    return libdeflate_alloc_compressor(TXD_PACK_LEVEL);
}

void txd_deflate_destroy(void *compressor)
{
    if (compressor)
        libdeflate_free_compressor(compressor);
}

/* A deflate stream without header and checksum; 0 if it does not fit. */
static size_t compress_bytes(void *compressor, unsigned char *out, size_t room,
                             const unsigned char *data, size_t bytes)
{
    return libdeflate_deflate_compress(compressor, data, bytes, out, room);
}

static uint32_t checksum(const unsigned char *data, size_t bytes)
{
    return libdeflate_adler32(1, data, bytes);
}
#else
void *txd_deflate_create(void)
{
    z_stream *stream = calloc(1, sizeof *stream);

    if (stream && deflateInit2(stream, TXD_PACK_LEVEL, Z_DEFLATED, -15, 8,
                               Z_DEFAULT_STRATEGY) != Z_OK) {
        free(stream);
        return NULL;
    }
    return stream;
}

void txd_deflate_destroy(void *compressor)
{
    if (compressor)
        deflateEnd(compressor);
    free(compressor);
}

/* zlib counts in 32 bits; larger chunks stay as they are. */
static size_t compress_bytes(void *compressor, unsigned char *out, size_t room,
                             const unsigned char *data, size_t bytes)
{
    z_stream *stream = compressor;

    if (bytes > UINT32_MAX || deflateReset(stream) != Z_OK)
        return 0;
    stream->next_in = (unsigned char *)data;
    stream->avail_in = (unsigned)bytes;
    stream->next_out = out;
    stream->avail_out = (unsigned)(room < UINT32_MAX ? room : UINT32_MAX);
    if (deflate(stream, Z_FINISH) != Z_STREAM_END)
        return 0;
    return (size_t)(stream->next_out - out);
}

static uint32_t checksum(const unsigned char *data, size_t bytes)
{
    return (uint32_t)adler32_z(1, data, bytes);
}
#endif

/* ---- noise ---- */

#define SAMPLE 4096 /* bytes, all over a plane */

/* Where every value is equally likely, two bytes are the same once in 256 times, be
 * they any two, neighbours, or as far apart as rows of a chunk mostly are. A tenth more
 * of any two would save some percent of the plane. */
static bool is_noise(const unsigned char *plane, size_t count)
{
    static const size_t apart[] = {1, 2, 256};
    size_t seen[256] = {0}, equal[3] = {0}, stride = count / SAMPLE;
    double pairs = 0;

    if (count < 4 * SAMPLE)
        return false;
    for (size_t i = 0; i < SAMPLE; i++) {
        /* Not the same place of every row. */
        size_t at = i * stride + i * 7 % stride;

        seen[plane[at]]++;
        for (size_t k = 0; k < 3; k++)
            equal[k] += at + apart[k] < count && plane[at] == plane[at + apart[k]];
    }
    for (size_t k = 0; k < 3; k++)
        if (equal[k] > 2 * SAMPLE / 256)
            return false;
    for (size_t value = 0; value < 256; value++)
        pairs += (double)seen[value] * ((double)seen[value] - 1);
    return pairs < 1.1 / 256 * SAMPLE * (SAMPLE - 1.0);
}

/* ---- the stream ---- */

static size_t stored_bytes(size_t bytes)
{
    return bytes + (bytes + MOST_STORED - 1) / MOST_STORED * STORED_HEADER;
}

/* Blocks that are not the last. */
static size_t store(unsigned char *out, const unsigned char *data, size_t bytes)
{
    unsigned char *begin = out;

    while (bytes > 0) {
        unsigned length = (unsigned)(bytes < MOST_STORED ? bytes : MOST_STORED);

        out[0] = 0;
        out[1] = (unsigned char)(length & 0xff);
        out[2] = (unsigned char)(length >> 8);
        out[3] = (unsigned char)~out[1];
        out[4] = (unsigned char)~out[2];
        memcpy(out + STORED_HEADER, data, length);
        out += STORED_HEADER + length;
        data += length;
        bytes -= length;
    }
    return (size_t)(out - begin);
}

size_t txd_deflate_planes(void *compressor, unsigned char *out, size_t room,
                          const unsigned char *data, size_t count, size_t planes)
{
    size_t all = count * planes, noise = 0, used = HEADER, packed;
    uint32_t sum;

    while (noise < all && is_noise(data + noise, count))
        noise += count;
    if (noise == all || room < HEADER + TRAILER + stored_bytes(noise))
        return 0;
    out[0] = 0x78; /* deflate, a window of 32 KiB */
    out[1] = 0x01; /* the fastest level; makes both a multiple of 31 */
    used += store(out + used, data, noise);
    packed = compress_bytes(compressor, out + used, room - used - TRAILER, data + noise,
                            all - noise);
    if (packed == 0)
        return 0;
    used += packed;
    sum = checksum(data, all);
    for (int byte = 3; byte >= 0; byte--)
        out[used++] = (unsigned char)(sum >> 8 * byte);
    return used;
}
