/* SPDX-License-Identifier: MIT
 *
 * Mapping and replacing files.
 */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <signal.h>
#include <unistd.h>

#include "formats/file.h"
#include "suite.h"

static void put(const char *path, const char *text)
{
    ck_assert_msg(txd_file_replace(path, text, strlen(text)) == TXD_OK, "%s",
                  txd_message());
}

static void holds(const char *path, const char *text)
{
    txd_mapped mapped;

    ck_assert_msg(txd_file_map(&mapped, path) == TXD_OK, "%s", txd_message());
    ck_assert_uint_eq(mapped.count, strlen(text));
    ck_assert(mapped.count == 0 || memcmp(mapped.bytes, text, mapped.count) == 0);
    txd_file_unmap(&mapped);
    txd_file_unmap(&mapped);
}

static void map_refused(const char *path, const char *part)
{
    txd_mapped mapped = {.count = 7};

    ck_assert_int_eq(txd_file_map(&mapped, path), TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), path));
    ck_assert_msg(strstr(txd_message(), part) != NULL, "%s", txd_message());
    ck_assert_uint_eq(mapped.count, 7);
}

START_TEST(a_file_is_written_replaced_and_mapped)
{
    const char *path = test_file("a");

    put(path, "one");
    holds(path, "one");
    put(path, "two and more");
    holds(path, "two and more");
    put(path, "");
    holds(path, "");
    ck_assert_int_ne(access(test_file("a.part"), F_OK), 0);
}
END_TEST

START_TEST(only_regular_files_are_mapped)
{
    map_refused(test_file("absent"), "No such file");
    map_refused(test_scratch(), "a folder");
    map_refused("/dev/null", "a device");
    ck_assert_int_eq(mkfifo(test_file("pipe"), 0600), 0);
    map_refused(test_file("pipe"), "a named pipe");
}
END_TEST

START_TEST(a_failed_replacement_leaves_the_file_and_no_part)
{
    const char *path = test_file("a");
    char large[8192] = {1};
    struct rlimit limit = {.rlim_cur = 4096, .rlim_max = RLIM_INFINITY};

    put(path, "old");
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &limit);
    limit.rlim_cur = 4096;
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
    ck_assert_int_eq(txd_file_replace(path, large, sizeof large), TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), "cannot be written"));
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_FSIZE, &limit);
    holds(path, "old");
    ck_assert_int_ne(access(test_file("a.part"), F_OK), 0);
}
END_TEST

START_TEST(what_stands_beside_the_file_is_left_alone)
{
    char taken[512];

    put(test_file("a.part"), "mine");
    put(test_file("target"), "mine too");
    snprintf(taken, sizeof taken, "%s.part-%ld-0", test_file("a"), (long)getpid());
    ck_assert_int_eq(symlink(test_file("target"), taken), 0);
    put(test_file("a"), "new");
    holds(test_file("a"), "new");
    holds(test_file("a.part"), "mine");
    holds(test_file("target"), "mine too");
    ck_assert_int_eq(access(taken, F_OK), 0);
}
END_TEST

START_TEST(folders_devices_and_absent_folders_are_not_replaced)
{
    ck_assert_int_eq(txd_file_replace(test_file("no/such"), "x", 1), TXD_ERR_IO);
    ck_assert_int_eq(mkdir(test_file("d"), 0700), 0);
    ck_assert_int_eq(txd_file_replace(test_file("d"), "x", 1), TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), "a folder"));
    ck_assert_int_ne(access(test_file("d.part"), F_OK), 0);
    ck_assert_int_eq(mkfifo(test_file("pipe"), 0600), 0);
    ck_assert_int_eq(txd_file_replace(test_file("pipe"), "x", 1), TXD_ERR_IO);
    ck_assert_int_eq(txd_file_commit(test_file("absent"), test_file("a")), TXD_ERR_IO);
}
END_TEST

TEST_MAIN(a_file_is_written_replaced_and_mapped, only_regular_files_are_mapped,
          a_failed_replacement_leaves_the_file_and_no_part,
          what_stands_beside_the_file_is_left_alone,
          folders_devices_and_absent_folders_are_not_replaced)
