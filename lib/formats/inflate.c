/* SPDX-License-Identifier: MIT
 *
 * libdeflate where it is there, which is twice as fast, else zlib.
 */
#include "formats/inflate_internal.h"

#include <limits.h>
#include <stdlib.h>

#ifdef TXD_LIBDEFLATE
#include <libdeflate.h>

struct txd_inflater {
    struct libdeflate_decompressor *state;
};

txd_inflater *txd_inflater_create(void)
{
    txd_inflater *inflater = malloc(sizeof *inflater);

    if (!inflater)
        return NULL;
    inflater->state = libdeflate_alloc_decompressor();
    if (inflater->state)
        return inflater;
    free(inflater);
    return NULL;
}

void txd_inflater_destroy(txd_inflater *inflater)
{
    if (!inflater)
        return;
    libdeflate_free_decompressor(inflater->state);
    free(inflater);
}

bool txd_inflate(txd_inflater *inflater, void *out, size_t bytes, const void *packed,
                 size_t packed_bytes)
{
    return libdeflate_zlib_decompress(inflater->state, packed, packed_bytes, out, bytes,
                                      NULL) == LIBDEFLATE_SUCCESS;
}

#else
#include <zlib.h>

struct txd_inflater {
    z_stream stream;
};

txd_inflater *txd_inflater_create(void)
{
    txd_inflater *inflater = calloc(1, sizeof *inflater);

    if (inflater && inflateInit(&inflater->stream) == Z_OK)
        return inflater;
    free(inflater);
    return NULL;
}

void txd_inflater_destroy(txd_inflater *inflater)
{
    if (!inflater)
        return;
    inflateEnd(&inflater->stream);
    free(inflater);
}

bool txd_inflate(txd_inflater *inflater, void *out, size_t bytes, const void *packed,
                 size_t packed_bytes)
{
    z_stream *stream = &inflater->stream;
    union { /* zlib does not write to it */
        const void *given;
        Bytef *taken;
    } in = {packed};

    if (bytes > UINT_MAX || packed_bytes > UINT_MAX || inflateReset(stream) != Z_OK)
        return false;
    stream->next_in = in.taken;
    stream->avail_in = (uInt)packed_bytes;
    stream->next_out = out;
    stream->avail_out = (uInt)bytes;
    return inflate(stream, Z_FINISH) == Z_STREAM_END && stream->avail_out == 0;
}

#endif
