/* SPDX-License-Identifier: MIT
 *
 * Files as readers and writers need them: mapped for reading, written aside and
 * renamed when complete.
 */
#ifndef TXD_FORMATS_FILE_H
#define TXD_FORMATS_FILE_H

#include <stddef.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_mapped {
    const unsigned char *bytes; /* NULL for an empty file */
    size_t count;
} txd_mapped;

/* Maps a regular file read-only; a folder, a FIFO or a device is ERR_IO by name. */
txd_status txd_file_map(txd_mapped *out, const char *path);
void txd_file_unmap(txd_mapped *mapped);
/* Lets go of the pages that lie wholly within [begin, begin + count): they are read
 * from the file again when they are needed again. */
void txd_file_release(const txd_mapped *mapped, size_t begin, size_t count);

/* Writes all bytes to a new file beside `path`, fsyncs, renames it over `path`, fsyncs
 * the folder. On failure (disk full, unwritable) `path` is untouched and the new file
 * removed. Signals that end the program wait until then (base/signals.h). */
txd_status txd_file_replace(const char *path, const void *bytes, size_t count);

/* Renames a complete `part` over `path` with the fsyncs described above. */
txd_status txd_file_commit(const char *part, const char *path);

#ifdef __cplusplus
}
#endif

#endif
