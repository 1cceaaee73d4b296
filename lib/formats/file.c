/* SPDX-License-Identifier: MIT
 *
 * Mapping and replacing files. A file that another program shortens while it is
 * mapped raises SIGBUS, as with every mapping: nothing here can prevent that.
 */
#include "formats/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/signals.h"

static const char *kind_of(mode_t mode)
{
    if (S_ISDIR(mode))
        return "a folder";
    if (S_ISFIFO(mode))
        return "a named pipe";
    if (S_ISSOCK(mode))
        return "a socket";
    return "a device";
}

static const char *remedy_of(int error)
{
    switch (error) {
    case ENOSPC:
    case EDQUOT:
        return "; free space there, or choose another place";
    case EFBIG:
        return "; raise the limit on file sizes (ulimit -f), or choose another place";
    case EACCES:
    case EPERM:
    case EROFS:
        return "; change its rights, or choose another place";
    default:
        return "";
    }
}

static txd_status fail_errno(const char *path, const char *action)
{
    return txd_fail(TXD_ERR_IO, "%s: %s: %s%s", path, action, strerror(errno),
                    remedy_of(errno));
}

static txd_status map_open(txd_mapped *out, int file, const char *path)
{
    struct stat about;
    void *bytes;

    if (fstat(file, &about) != 0)
        return fail_errno(path, "cannot be examined");
    if (!S_ISREG(about.st_mode))
        return txd_fail(TXD_ERR_IO, "%s: expected a regular file, found %s", path,
                        kind_of(about.st_mode));
    if ((uintmax_t)about.st_size > SIZE_MAX / 2)
        return txd_fail(TXD_ERR_LIMIT, "%s: too large to be mapped", path);
    if (about.st_size == 0) {
        *out = (txd_mapped){.bytes = NULL};
        return TXD_OK;
    }
    bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
    if (bytes == MAP_FAILED)
        return fail_errno(path, "cannot be mapped");
    out->bytes = bytes;
    out->count = (size_t)about.st_size;
    return TXD_OK;
}

static txd_status write_all(int file, const unsigned char *bytes, size_t count,
                            const char *path)
{
    while (count != 0) {
        ssize_t written = write(file, bytes, count < 1 << 30 ? count : 1 << 30);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return fail_errno(path, "cannot be written");
        bytes += written;
        count -= (size_t)written;
    }
    return TXD_OK;
}

/* A file that nobody has: what stands there, be it a link, is never written to. */
static int make_part(char *part, size_t bytes, const char *path)
{
    int file = -1;

    errno = EEXIST;
    for (int i = 0; i < 1000 && file < 0 && errno == EEXIST; i++) {
        snprintf(part, bytes, "%s.part-%ld-%d", path, (long)getpid(), i);
        file = open(part, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    }
    return file;
}

static txd_status replace(char *part, size_t room, const char *path, const void *bytes,
                          size_t count)
{
    int file = make_part(part, room, path);
    txd_status status;

    if (file < 0)
        return fail_errno(part, "cannot be created");
    status = write_all(file, bytes, count, path);
    if (close(file) != 0 && status == TXD_OK)
        status = fail_errno(path, "cannot be closed");
    if (status == TXD_OK)
        status = txd_file_commit(part, path);
    if (status != TXD_OK)
        unlink(part);
    return status;
}

static txd_status sync_path(const char *path, int flags)
{
    int file = open(path, flags | O_CLOEXEC);
    txd_status status = TXD_OK;

    if (file < 0)
        return fail_errno(path, "cannot be opened");
    /* Some file systems cannot sync a folder and say EINVAL. */
    if (fsync(file) != 0 && !(errno == EINVAL && (flags & O_DIRECTORY)))
        status = fail_errno(path, "cannot be synchronised");
    close(file);
    return status;
}

static txd_status sync_folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    txd_status status;
    char *folder;

    if (!slash)
        return sync_path(".", O_RDONLY | O_DIRECTORY);
    folder = strndup(path, slash == path ? 1 : (size_t)(slash - path));
    if (!folder)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    status = sync_path(folder, O_RDONLY | O_DIRECTORY);
    free(folder);
    return status;
}

txd_status txd_file_map(txd_mapped *out, const char *path)
{
    /* Without O_NONBLOCK, opening a named pipe waits for a writer. */
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    txd_status status;

    if (file < 0)
        return fail_errno(path, "cannot be opened");
    status = map_open(out, file, path);
    close(file);
    return status;
}

void txd_file_unmap(txd_mapped *mapped)
{
    /* munmap takes no pointer to const. */
    if (mapped->bytes)
        munmap((void *)(uintptr_t)mapped->bytes, mapped->count);
    *mapped = (txd_mapped){.bytes = NULL};
}

void txd_file_release(const txd_mapped *mapped, size_t begin, size_t count)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), end = begin + count;

    begin += (page - begin % page) % page;
    end -= end % page;
    if (mapped->bytes && begin < end && end <= mapped->count)
        madvise((void *)(uintptr_t)(mapped->bytes + begin), end - begin, MADV_DONTNEED);
}

txd_status txd_file_replace(const char *path, const void *bytes, size_t count)
{
    size_t room = strlen(path) + 64;
    char *part = malloc(room);
    txd_signals signals;
    txd_status status;

    if (!part)
        return txd_fail(TXD_ERR_MEMORY, "%s: out of memory", path);
    txd_signals_hold(&signals);
    status = replace(part, room, path, bytes, count);
    txd_signals_release(&signals);
    free(part);
    return status;
}

txd_status txd_file_commit(const char *part, const char *path)
{
    struct stat about;

    /* Renaming over a device would replace the device itself. */
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode))
        return txd_fail(TXD_ERR_IO, "%s: expected a regular file, found %s", path,
                        kind_of(about.st_mode));
    TXD_TRY(sync_path(part, O_RDONLY));
    if (rename(part, path) != 0)
        return fail_errno(path, "cannot be replaced");
    return sync_folder_of(path);
}
