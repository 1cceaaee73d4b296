/* SPDX-License-Identifier: MIT
 *
 * Any bytes as a recording: opened, read block by block, and replayed. HDF5 reads files
 * by their real path, so the bytes go through one on the disk.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "formats/replay.h"
#include "formats/recording.h"

enum { MOST_ELEMENTS = 1 << 15, LARGE_READS = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

/* HDF5 1.10 loses memory when it meets a damaged file. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libhdf5";
}

/* And it asks for what damaged sizes say; it copes with not getting it. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "allocator_may_return_null=1";
}

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    static char limit[] = "-malloc_limit_mb=2147483647";
    char **longer = calloc((size_t)*count + 2, sizeof *longer);

    if (!longer)
        return 0;
    for (int i = 0; i < *count; i++)
        longer[i] = (*arguments)[i];
    longer[(*count)++] = limit;
    *arguments = longer;
    return 0;
}

/* The corner of an entry, and as large a block as is read past HDF5's library: extents
 * may be anything, memory is not. */
static void read_entry(const txd_trace *trace, size_t i, size_t most)
{
    static double values[MOST_ELEMENTS];
    const size_t start[TXD_MAX_RANK] = {0};
    size_t count[TXD_MAX_RANK], left = MOST_ELEMENTS;
    txd_trace_info info;

    if (txd_trace_get(trace, &info, i) != TXD_OK || info.rank > TXD_MAX_RANK)
        abort();
    for (int axis = info.rank - 1; axis >= 0; axis--) {
        count[axis] = info.dims[axis] < most ? info.dims[axis] : most;
        count[axis] = count[axis] < left ? count[axis] : left;
        left /= count[axis] ? count[axis] : 1;
    }
    (void)txd_trace_read(trace, values, i, start, count, TXD_F64);
}

static void replay(const txd_trace *trace)
{
    txd_replay *replayed;

    if (txd_replay_create(&replayed, trace) != TXD_OK)
        return;
    for (int point = 0; point < TXD_POINT_COUNT; point++)
        (void)txd_replay_offers(replayed, (txd_point)point, 0);
    if (txd_replay_steps(replayed) < 4)
        (void)txd_replay_feed(replayed, NULL, 0);
    txd_replay_destroy(replayed);
}

static void open_all(const char *path)
{
    const char *const *strings;
    txd_trace *trace;
    size_t count;

    (void)txd_recording_is(path);
    if (txd_recording_open(&trace, path, NULL) != TXD_OK)
        return;
    for (size_t i = 0; i < txd_trace_count(trace); i++) {
        read_entry(trace, i, 2);
        if (i < LARGE_READS)
            read_entry(trace, i, 128);
    }
    (void)txd_trace_strings(trace, &strings, &count, "steps/kind");
    (void)txd_trace_meta(trace, "config");
    replay(trace);
    txd_trace_destroy(trace);
}

static char scratch[4096]; /* the file's path; "" before the first input */

static void remove_scratch(void)
{
    unlink(scratch);
}

static int make_scratch(void)
{
    const char *folder = getenv("TMPDIR");
    int file;

    snprintf(scratch, sizeof scratch, "%s/txdiag-fuzz-XXXXXX",
             folder ? folder : "/tmp");
    file = mkstemp(scratch);
    if (file < 0)
        abort();
    atexit(remove_scratch);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
    static int file = -1;

    if (file < 0)
        file = make_scratch();
    if (ftruncate(file, 0) != 0 || pwrite(file, bytes, count, 0) != (ssize_t)count)
        abort();
    open_all(scratch);
    return 0;
}
