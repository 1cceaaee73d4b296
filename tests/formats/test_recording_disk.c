/* SPDX-License-Identifier: MIT
 *
 * A disk that fills up while a recording grows: an error that says so, the old file
 * as it was, and nothing left behind.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash_run.h"
#include "suite.h"

static char *read_file(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    struct stat about;
    char *data;

    ck_assert_ptr_nonnull(file);
    ck_assert_int_eq(fstat(fileno(file), &about), 0);
    *bytes = (size_t)about.st_size;
    data = malloc(*bytes + 1);
    ck_assert_uint_eq(fread(data, 1, *bytes, file), *bytes);
    fclose(file);
    return data;
}

static void make_old(const char *path)
{
    volatile int steps = 0;

    ck_assert_msg(crash_write(path, false, &steps) == TXD_OK, "%s", txd_message());
}

/* Writes until it fails; the old file must be the same bytes. */
static void expect_refusal(const char *path, const char *reason, const char *remedy)
{
    char part[4096];
    size_t before, after;
    volatile int steps = 0;
    char *old = read_file(path, &before), *now;

    ck_assert_int_eq(crash_write(path, false, &steps), TXD_ERR_IO);
    ck_assert_msg(strstr(txd_message(), path) != NULL, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), reason) != NULL, "%s", txd_message());
    ck_assert_msg(strstr(txd_message(), remedy) != NULL, "%s", txd_message());
    now = read_file(path, &after);
    ck_assert_uint_eq(after, before);
    ck_assert_mem_eq(now, old, before);
    snprintf(part, sizeof part, "%.4000s.part", path);
    /* A close that fails leaves what was flushed. */
    if (steps == CRASH_STEPS) {
        crash_verify(part, CRASH_STEPS);
        unlink(part);
    }
    ck_assert_int_ne(access(part, F_OK), 0);
    free(old);
    free(now);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;

    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

START_TEST(a_limit_on_file_sizes_at_any_byte_leaves_the_old_recording)
{
    const char *path = test_file("limited.h5");
    struct stat about;
    rlim_t step;

    make_old(path);
    ck_assert_int_eq(stat(path, &about), 0);
    step = (rlim_t)about.st_size / 40;
    for (rlim_t bytes = 100; bytes + step < (rlim_t)about.st_size; bytes += step) {
        limit_files(bytes);
        expect_refusal(path, "File too large", "ulimit -f");
    }
}
END_TEST

START_TEST(a_run_that_fails_can_be_repeated_once_there_is_room)
{
    const char *path = test_file("again.h5");
    struct rlimit limit;
    volatile int steps = 0;

    make_old(path);
    ck_assert_int_eq(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit_files(20000);
    expect_refusal(path, "File too large", "ulimit -f");
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_msg(crash_write(path, false, &steps) == TXD_OK, "%s", txd_message());
    crash_verify(path, CRASH_STEPS);
}
END_TEST

/* What HDF5 still holds shows only when datasets are closed, with H5Dwrite fine. */
START_TEST(a_full_disk_leaves_the_old_recording)
{
    const char *folder = test_scratch(), *path = test_file("full.h5");
    struct stat about;
    char room[64];

    if (unshare(CLONE_NEWNS) != 0 ||
        mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
        mount("tmpfs", folder, "tmpfs", 0, "size=4m") != 0)
        test_skip("a small disk cannot be mounted here");
    make_old(path);
    ck_assert_int_eq(stat(path, &about), 0);
    for (long left = 8192; left < about.st_size; left += about.st_size / 12) {

        snprintf(room, sizeof room, "size=%ld", (long)about.st_size + left);
        ck_assert_int_eq(mount("tmpfs", folder, "tmpfs", MS_REMOUNT, room), 0);
        expect_refusal(path, "No space left on device", "free space");
    }
    umount(folder);
}
END_TEST

TEST_MAIN(a_limit_on_file_sizes_at_any_byte_leaves_the_old_recording,
          a_run_that_fails_can_be_repeated_once_there_is_room,
          a_full_disk_leaves_the_old_recording)
