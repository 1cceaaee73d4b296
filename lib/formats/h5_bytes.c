/* SPDX-License-Identifier: MIT
 *
 * Bytes of a recording, past HDF5's library. What a file says of places is held against
 * its size.
 */
#include "formats/h5_direct_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

txd_status txd_h5_direct_bytes(const txd_h5_direct *d, const txd_h5_chunk *chunk,
                               uint64_t at, struct iovec *to, size_t count)
{
    size_t bytes = 0;

    for (size_t i = 0; i < count; i++)
        bytes += to[i].iov_len;
    if (at > d->file_bytes || bytes > d->file_bytes - at)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: /%s: chunk %llu: expected %zu bytes from %llu on, the "
                        "file has %llu: it is damaged or was cut off",
                        d->file, d->path, (unsigned long long)chunk->index, bytes,
                        (unsigned long long)at, (unsigned long long)d->file_bytes);
    while (bytes > 0) {
        ssize_t got = preadv(d->file_number, to, (int)count, (off_t)at);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return txd_fail(got < 0 ? TXD_ERR_IO : TXD_ERR_FORMAT,
                            "%s: /%s: reading %zu bytes from %llu on failed: %s",
                            d->file, d->path, bytes, (unsigned long long)at,
                            got < 0 ? strerror(errno) : "the file ends before them");
        at += (uint64_t)got;
        bytes -= (size_t)got;
        for (; count > 0 && (size_t)got >= to->iov_len; count--)
            got -= (ssize_t)to++->iov_len;
        if (count > 0) {
            to->iov_base = (char *)to->iov_base + got;
            to->iov_len -= (size_t)got;
        }
    }
    return TXD_OK;
}
