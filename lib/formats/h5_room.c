/* SPDX-License-Identifier: MIT
 *
 * Room for a flush. HDF5 goes on after it could not write a chunk: what describes the
 * file is then written all the same, and says that the file is longer than it is, so
 * that nothing of it can be read any more. So the room is taken before, with what HDF5
 * may still add; a flush that cannot have it is not begun, and the steps that are in
 * the file stay.
 */
#define _GNU_SOURCE /* fallocate */
#include "formats/h5_types_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* A chunk of a table's column. */
#define COLUMN_BYTES ((size_t)8 << 10)
/* Attributes, texts, and what scales say of their users. */
#define REST_BYTES ((size_t)16 << 10)

static int file_of(const txd_h5_writer *writer)
{
    void *handle = NULL;

    if (writer->id < 0 || H5Fget_vfd_handle(writer->id, H5P_DEFAULT, &handle) < 0 ||
        !handle)
        return -1;
    return *(int *)handle;
}

/* Bytes that HDF5 has in memory and no place for yet: chunks that it caches. */
static size_t cached_bytes(txd_h5_writer *writer)
{
    size_t bytes = 0;

    for (size_t i = 0; i < writer->count; i++) {
        txd_h5_dataset *dataset = &writer->datasets[i];
        const txd_h5_plan *plan = &dataset->plan;

        if (dataset->is_dirty && plan->chunked)
            bytes += plan->chunks_per_step * plan->chunk_bytes;
        dataset->is_dirty = false;
    }
    for (size_t i = 0; i < writer->table_count; i++) {
        if (writer->tables[i].is_dirty)
            bytes += writer->tables[i].columns * COLUMN_BYTES;
        writer->tables[i].is_dirty = false;
    }
    return bytes > 0 ? bytes + REST_BYTES : 0;
}

static txd_status refuse(const txd_h5_writer *writer, int code)
{
    return txd_fail(TXD_ERR_IO, "%s: writing failed: %s%s", writer->file,
                    strerror(code), txd_h5_remedy(code));
}

txd_status txd_h5_room_take(txd_h5_writer *writer)
{
    size_t end = txd_h5_writer_bytes(writer), from = writer->flushed_bytes;
    size_t wanted = end + cached_bytes(writer);
    int file = file_of(writer), done;
    struct rlimit limit;

    writer->flushed_bytes = end;
    if (file < 0 || wanted <= from)
        return TXD_OK;
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
        wanted > limit.rlim_cur)
        return refuse(writer, EFBIG);
    do
        done =
            fallocate(file, FALLOC_FL_KEEP_SIZE, (off_t)from, (off_t)(wanted - from));
    while (done != 0 && errno == EINTR);
    /* Where that does not exist, the flush itself must show it. */
    if (done != 0 &&
        (errno == ENOSPC || errno == EDQUOT || errno == EFBIG || errno == EIO))
        return refuse(writer, errno);
    return TXD_OK;
}

void txd_h5_room_give(const txd_h5_writer *writer)
{
    int file = file_of(writer);
    struct stat about;

    if (file >= 0 && fstat(file, &about) == 0 && S_ISREG(about.st_mode))
        (void)!ftruncate(file, about.st_size);
}
