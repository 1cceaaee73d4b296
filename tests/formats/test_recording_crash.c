/* SPDX-License-Identifier: MIT
 *
 * A run that is killed at every single write, and the file that it leaves. The
 * system calls of HDF5 and ours go through this program's own, which count.
 */
#define _GNU_SOURCE
/* The build's 64-bit offsets would rename pwrite, which HDF5 calls by that name. */
#undef _FILE_OFFSET_BITS
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash_run.h"
#include "suite.h"

/* The call to die at, counted from 1; 0 = none. With `torn` half of it is done: the
 * kernel looks for signals between pages. */
static struct killing {
    long at, count;
    bool torn;
} killing;

#define PAGE 4096

/* Bytes of a write to do before the kill; all of it if it is not the one. */
static size_t before_death(size_t bytes, off_t at, bool *dies)
{
    size_t middle = ((size_t)at + bytes / 2) / PAGE * PAGE;

    *dies = killing.at != 0 && ++killing.count == killing.at;
    if (!*dies)
        return bytes;
    return killing.torn && middle > (size_t)at ? middle - (size_t)at : 0;
}

static void die(void)
{
    kill(getpid(), SIGKILL);
    for (;;)
        pause();
}

ssize_t pwrite(int file, const void *data, size_t bytes, off_t at)
{
    bool dies;
    size_t part = before_death(bytes, at, &dies);
    long done = 0;

    if (part > 0 || !dies)
        done = syscall(SYS_pwrite64, file, data, part, at);
    if (dies)
        die();
    return done;
}

ssize_t write(int file, const void *data, size_t bytes)
{
    bool dies;
    size_t part = before_death(bytes, 0, &dies);
    long done = 0;

    if (part > 0 || !dies)
        done = syscall(SYS_write, file, data, part);
    if (dies)
        die();
    return done;
}

static void count_call(void)
{
    bool dies;

    before_death(0, 0, &dies);
    if (dies)
        die();
}

int ftruncate(int file, off_t length)
{
    count_call();
    return (int)syscall(SYS_ftruncate, file, length);
}

int rename(const char *from, const char *to)
{
    count_call();
    return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int fsync(int file)
{
    count_call();
    (void)file; /* the page cache survives a kill */
    return 0;
}

/* Runs until the kill; false if the run ended before it. */
static bool run_and_kill(const char *path, long at, bool torn, volatile int *steps)
{
    int state;
    pid_t child = fork();

    ck_assert_int_ge(child, 0);
    if (child == 0) {
        killing = (struct killing){.at = at, .torn = torn};
        _exit(crash_write(path, false, steps) == TXD_OK ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    if (WIFSIGNALED(state)) {
        ck_assert_int_eq(WTERMSIG(state), SIGKILL);
        return true;
    }
    ck_assert_int_eq(WEXITSTATUS(state), 0);
    return false;
}

static volatile int *shared_steps(void)
{
    void *memory = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    ck_assert_ptr_ne(memory, MAP_FAILED);
    return memory;
}

static long kill_everywhere(bool torn, long stride)
{
    const char *path = test_file("killed.h5"), *part = test_file("killed.h5.part");
    volatile int *steps = shared_steps();
    int seen[CRASH_STEPS + 1] = {0};
    long at = 1;

    for (;; at += stride) {
        unlink(path);
        unlink(part);
        *steps = 0;
        if (!run_and_kill(path, at, torn, steps))
            break;
        seen[*steps]++;
        crash_verify(path, *steps);
    }
    ck_assert_int_eq(*steps, CRASH_STEPS);
    crash_verify(path, CRASH_STEPS);
    /* The kills fell into every step. */
    for (int i = 1; i < CRASH_STEPS; i++)
        ck_assert_int_gt(seen[i], 0);
    return at;
}

START_TEST(a_run_killed_at_any_write_keeps_every_flushed_step)
{
    ck_assert_int_gt(kill_everywhere(false, 1), 100);
}
END_TEST

START_TEST(a_run_killed_within_any_write_keeps_every_flushed_step)
{
    ck_assert_int_gt(kill_everywhere(true, 1), 100);
}
END_TEST

START_TEST(datasets_that_continue_keep_every_flushed_step)
{
    crash_choose(true);
    ck_assert_int_gt(kill_everywhere(false, 3), 100);
}
END_TEST

TEST_MAIN(a_run_killed_at_any_write_keeps_every_flushed_step,
          a_run_killed_within_any_write_keeps_every_flushed_step,
          datasets_that_continue_keep_every_flushed_step)
