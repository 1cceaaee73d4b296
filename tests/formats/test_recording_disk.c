/* SPDX-License-Identifier: MIT
 *
 * A disk that fills up while a recording grows: an error that says so, the old file
 * as it was, and nothing left behind. The writers are processes of their own, since a
 * limit on file sizes would also hit the frame of the tests.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash_run.h"
#include "suite.h"

/* What a writer tells its parent. */
typedef struct told {
    txd_status status[2];
    volatile int steps;
    char message[2048];
} told;

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

/* Runs under a limit (0 = none), and with `again` once more without it. */
static void write_limited(told *out, const char *path, rlim_t limit, bool again)
{
    struct rlimit limits;
    int ignored;

    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limits);
    limits.rlim_cur = limit ? limit : limits.rlim_cur;
    setrlimit(RLIMIT_FSIZE, &limits);
    out->status[0] = crash_write(path, false, &out->steps);
    snprintf(out->message, sizeof out->message, "%s", txd_message());
    limits.rlim_cur = limits.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limits);
    out->status[1] = again ? crash_write(path, false, &ignored) : TXD_OK;
}

static told *run_writer(const char *path, rlim_t limit, bool again)
{
    told *out = mmap(NULL, sizeof *out, PROT_READ | PROT_WRITE,
                     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int state;
    pid_t child;

    ck_assert_ptr_ne(out, MAP_FAILED);
    child = fork();
    if (child == 0) {
        write_limited(out, path, limit, again);
        _exit(0);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFEXITED(state));
    ck_assert_int_eq(WEXITSTATUS(state), 0);
    return out;
}

/* The run must fail, and the old file be the same bytes. */
static void expect_refusal(const char *path, rlim_t limit, const char *reason,
                           const char *remedy)
{
    char part[4096];
    size_t before, after;
    char *old = read_file(path, &before), *now;
    told *out = run_writer(path, limit, false);

    ck_assert_int_eq(out->status[0], TXD_ERR_IO);
    ck_assert_msg(strstr(out->message, path) != NULL, "%s", out->message);
    ck_assert_msg(strstr(out->message, reason) != NULL, "%s", out->message);
    ck_assert_msg(strstr(out->message, remedy) != NULL, "%s", out->message);
    now = read_file(path, &after);
    ck_assert_uint_eq(after, before);
    ck_assert_mem_eq(now, old, before);
    snprintf(part, sizeof part, "%.4000s.part", path);
    /* A close that fails leaves what was flushed. */
    if (out->steps == CRASH_STEPS) {
        crash_verify(part, CRASH_STEPS);
        unlink(part);
    }
    ck_assert_int_ne(access(part, F_OK), 0);
    munmap(out, sizeof *out);
    free(old);
    free(now);
}

START_TEST(a_limit_on_file_sizes_at_any_byte_leaves_the_old_recording)
{
    const char *path = test_file("limited.h5");
    struct stat about;
    rlim_t step;

    make_old(path);
    ck_assert_int_eq(stat(path, &about), 0);
    step = (rlim_t)about.st_size / 40;
    for (rlim_t bytes = 100; bytes + step < (rlim_t)about.st_size; bytes += step)
        expect_refusal(path, bytes, "File too large", "ulimit -f");
}
END_TEST

START_TEST(a_run_that_fails_can_be_repeated_by_the_same_process)
{
    const char *path = test_file("again.h5");
    told *out;

    make_old(path);
    out = run_writer(path, 300000, true);
    ck_assert_int_eq(out->status[0], TXD_ERR_IO);
    ck_assert_int_eq(out->status[1], TXD_OK);
    crash_verify(path, CRASH_STEPS);
    munmap(out, sizeof *out);
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
        expect_refusal(path, 0, "No space left on device", "free space");
    }
    umount(folder);
}
END_TEST

TEST_MAIN(a_limit_on_file_sizes_at_any_byte_leaves_the_old_recording,
          a_run_that_fails_can_be_repeated_by_the_same_process,
          a_full_disk_leaves_the_old_recording)
