/* SPDX-License-Identifier: MIT
 *
 * Writing a recording: where the file lies while it grows, who may write it, what it
 * replaces, and when. How it becomes HDF5 is the business of h5_*.c.
 */
#define _GNU_SOURCE /* F_OFD_SETLK: locks that stay when HDF5 closes the file */
#include "formats/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "formats/file.h"
#include "formats/h5_internal.h"

#define SCHEMA 1

struct txd_recording {
    char *path, *part;
    txd_h5_writer *writer;
    int lock; /* the .part, locked by us while it is ours; or -1 */
    txd_status failed;
    char message[1024];
};

/* What the end of a run may replace: nothing, an older recording, or with `force` any
 * regular file. */
static txd_status check_target(const char *path, bool force)
{
    struct stat about;

    if (stat(path, &about) != 0) {
        if (errno == ENOENT)
            return TXD_OK;
        return txd_fail(TXD_ERR_IO, "%s: cannot be examined: %s", path,
                        strerror(errno));
    }
    if (!S_ISREG(about.st_mode))
        return txd_fail(TXD_ERR_IO,
                        "%s: expected a regular file or none, found %s; "
                        "choose another output",
                        path, S_ISDIR(about.st_mode) ? "a folder" : "a special file");
    if (force || txd_recording_is(path))
        return TXD_OK;
    return txd_fail(TXD_ERR_IO,
                    "%s: exists and is no txdiag recording; choose another output, or "
                    "replace it with --force",
                    path);
}

static txd_status fail_taken(const char *part)
{
    return txd_fail(TXD_ERR_IO,
                    "%s: another process is writing it; wait, or choose another output",
                    part);
}

/* Locks of this kind are not seen by HDF5's readers, and where there are none (some
 * network file systems) nothing is lost but this courtesy. */
static txd_status lock(const char *part, int file)
{
    struct flock wanted = {.l_type = F_WRLCK, .l_whence = SEEK_SET};

    if (fcntl(file, F_OFD_SETLK, &wanted) == 0 || (errno != EACCES && errno != EAGAIN))
        return TXD_OK;
    return fail_taken(part);
}

/* What a run leaves that was ended early begins like an HDF5 file, or with zeros, or
 * not at all. */
static bool may_be_ours(int file)
{
    static const unsigned char magic[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    static const unsigned char zeros[8] = {0};
    unsigned char head[8] = {0};
    ssize_t count = pread(file, head, sizeof head, 0);

    return count == 0 ||
           (count == (ssize_t)sizeof head && (memcmp(head, magic, sizeof head) == 0 ||
                                              memcmp(head, zeros, sizeof head) == 0));
}

static txd_status remove_part(const char *part, int file, bool force)
{
    if (file >= 0) {
        TXD_TRY(lock(part, file));
        if (!force && !may_be_ours(file))
            return txd_fail(TXD_ERR_IO,
                            "%s: a recording grows under this name, but what is there "
                            "is none; choose another output, or replace it with "
                            "--force",
                            part);
    }
    if (unlink(part) != 0)
        return txd_fail(TXD_ERR_IO, "%s: cannot be replaced: %s", part,
                        strerror(errno));
    return TXD_OK;
}

/* The lock is kept until the name is free: who made the file in this very moment then
 * finds it taken, or gone. */
static txd_status remove_old_part(const char *part, bool force)
{
    struct stat about;
    txd_status status;
    int file;

    if (lstat(part, &about) != 0)
        return TXD_OK;
    if (S_ISDIR(about.st_mode))
        return txd_fail(TXD_ERR_IO, "%s: is a folder; choose another output", part);
    file = open(part, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
    status = remove_part(part, file, force);
    if (file >= 0)
        close(file);
    return status;
}

/* Makes the file and locks it; fails if its name belongs to another by then. */
static txd_status take_part(txd_recording *recording)
{
    const char *part = recording->part;
    int file = open(part, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    struct stat made, named;
    txd_status status;

    if (file < 0 && errno == EEXIST)
        return fail_taken(part);
    if (file < 0)
        return txd_fail(TXD_ERR_IO, "%s: cannot be created: %s", part, strerror(errno));
    status = lock(part, file);
    if (status == TXD_OK &&
        (fstat(file, &made) != 0 || stat(part, &named) != 0 ||
         made.st_ino != named.st_ino || made.st_dev != named.st_dev))
        status = fail_taken(part);
    if (status == TXD_OK)
        recording->lock = file;
    else
        close(file);
    return status;
}

static txd_status begin(const txd_recording *recording, txd_h5_quiet *quiet)
{
    if (recording->failed != TXD_OK)
        return txd_fail(recording->failed, "%s", recording->message);
    txd_h5_quiet_begin(quiet);
    return TXD_OK;
}

/* After a failed write the file is no longer what we believe: nothing more goes in. */
static txd_status end(txd_recording *recording, const txd_h5_quiet *quiet,
                      txd_status status)
{
    txd_h5_quiet_end(quiet);
    if (status == TXD_ERR_IO) {
        recording->failed = status;
        snprintf(recording->message, sizeof recording->message, "%s", txd_message());
    }
    return status;
}

static txd_status write_first_meta(txd_recording *recording)
{
    time_t now = time(NULL);
    struct tm utc;
    char text[32] = "";

    if (gmtime_r(&now, &utc))
        strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    TXD_TRY(txd_h5_writer_int(recording->writer, "txdiag_schema", SCHEMA));
    TXD_TRY(txd_h5_writer_text(recording->writer, "producer", "txdiag " TXD_VERSION));
    TXD_TRY(txd_h5_writer_text(recording->writer, "created", text));
    return txd_h5_writer_int(recording->writer, "complete", 0);
}

static void free_recording(txd_recording *recording)
{
    if (recording->lock >= 0)
        close(recording->lock);
    free(recording->path);
    free(recording->part);
    free(recording);
}

static txd_status create(txd_recording *recording, const char *path, bool force)
{
    size_t length = strlen(path);
    txd_h5_quiet quiet;
    txd_status status;

    recording->path = malloc(length + 1);
    recording->part = malloc(length + sizeof ".part");
    if (!recording->path || !recording->part)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    memcpy(recording->path, path, length + 1);
    memcpy(recording->part, path, length);
    memcpy(recording->part + length, ".part", sizeof ".part");
    TXD_TRY(check_target(path, force));
    TXD_TRY(remove_old_part(recording->part, force));
    TXD_TRY(take_part(recording));
    txd_h5_quiet_begin(&quiet);
    status = txd_h5_writer_create(&recording->writer, recording->part);
    if (status == TXD_OK)
        status = write_first_meta(recording);
    txd_h5_quiet_end(&quiet);
    return status;
}

txd_status txd_recording_create(txd_recording **out, const char *path, bool force)
{
    txd_recording *recording = calloc(1, sizeof *recording);
    txd_status status;

    if (!recording)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    recording->lock = -1;
    status = create(recording, path, force);
    if (status == TXD_OK)
        *out = recording;
    else
        txd_recording_discard(recording);
    return status;
}

txd_status txd_recording_meta(txd_recording *recording, const char *key,
                              const char *value)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(recording, &quiet, txd_h5_writer_text(recording->writer, key, value));
}

txd_status txd_recording_meta_int(txd_recording *recording, const char *key,
                                  int64_t value)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(recording, &quiet, txd_h5_writer_int(recording->writer, key, value));
}

txd_status txd_recording_pack(txd_recording *recording, bool deflate, int threads)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    txd_h5_writer_pack(recording->writer, deflate, threads);
    return end(recording, &quiet, TXD_OK);
}

txd_status txd_recording_dataset(txd_recording *recording, size_t *out,
                                 const txd_dataset_spec *spec)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(recording, &quiet, txd_h5_writer_dataset(recording->writer, out, spec));
}

txd_status txd_recording_write(txd_recording *recording, size_t dataset, size_t step,
                               const size_t *start, const size_t *count,
                               const void *data, txd_dtype dtype)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(recording, &quiet,
               txd_h5_writer_write(recording->writer, dataset, step, start, count, data,
                                   dtype));
}

txd_status txd_recording_append(txd_recording *recording, const char *path,
                                const txd_column *columns, size_t column_count,
                                size_t rows)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(
        recording, &quiet,
        txd_h5_writer_append(recording->writer, path, columns, column_count, rows));
}

txd_status txd_recording_table(txd_recording *recording, const char *path,
                               const txd_column *columns, size_t column_count,
                               size_t rows)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(
        recording, &quiet,
        txd_h5_writer_table(recording->writer, path, columns, column_count, rows));
}

txd_status txd_recording_strings(txd_recording *recording, const char *path,
                                 const char *const *strings, size_t count)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(recording, &quiet,
               txd_h5_writer_strings(recording->writer, path, strings, count));
}

txd_status txd_recording_flush(txd_recording *recording)
{
    txd_h5_quiet quiet;

    TXD_TRY(begin(recording, &quiet));
    return end(recording, &quiet, txd_h5_writer_flush(recording->writer));
}

size_t txd_recording_bytes(const txd_recording *recording)
{
    txd_h5_quiet quiet;
    size_t bytes;

    txd_h5_quiet_begin(&quiet);
    bytes = txd_h5_writer_bytes(recording->writer);
    txd_h5_quiet_end(&quiet);
    return bytes;
}

txd_status txd_recording_close(txd_recording *recording, bool complete)
{
    txd_h5_ending ending = complete ? TXD_H5_COMPLETE : TXD_H5_PARTIAL;
    txd_h5_quiet quiet;
    txd_status status;

    if (!recording)
        return TXD_OK;
    if (recording->failed != TXD_OK)
        ending = TXD_H5_ABANDON;
    txd_h5_quiet_begin(&quiet);
    status = txd_h5_writer_close(recording->writer, ending);
    txd_h5_quiet_end(&quiet);
    if (recording->failed != TXD_OK)
        status = txd_fail(recording->failed, "%s", recording->message);
    else if (status == TXD_OK && complete)
        status = txd_file_commit(recording->part, recording->path);
    free_recording(recording);
    return status;
}

void txd_recording_discard(txd_recording *recording)
{
    txd_h5_quiet quiet;

    if (!recording)
        return;
    /* Unlinked first: closing then need not find room on a full disk. */
    if (recording->lock >= 0)
        unlink(recording->part);
    txd_h5_quiet_begin(&quiet);
    if (recording->writer)
        txd_h5_writer_close(recording->writer, TXD_H5_ABANDON);
    txd_h5_quiet_end(&quiet);
    free_recording(recording);
}
