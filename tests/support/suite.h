/* SPDX-License-Identifier: MIT */
/*
 * suite.h: the frame of every unit test program. A file holds tests written with
 * Check and ends with one line that lists them:
 *
 *     START_TEST(causality_fails_when_mask_is_off_by_one)
 *     {
 *         ck_assert_int_eq(1, 1);
 *     }
 *     END_TEST
 *
 *     TEST_MAIN(causality_fails_when_mask_is_off_by_one)
 *
 * The program prints TAP, and runs the tests named as arguments, or all. Each test
 * is a process of its own (unless CK_FORK=no). Nothing in main may start OpenMP.
 */
#ifndef TXD_TESTS_SUITE_H
#define TXD_TESTS_SUITE_H

#include <check.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Check writes the place of each assertion into a pipe; here it is kept in memory that
 * the parent shares, so that loops may assert each element. */
#define _mark_point(file, line) test_mark(file, line)
void test_mark(const char *file, int line);

#define TEST_MAIN(...)                                                                 \
    int main(int argc, char **argv)                                                    \
    {                                                                                  \
        const TTest *const tests[] = {__VA_ARGS__};                                    \
        return test_main(argc, argv, tests, sizeof tests / sizeof *tests);             \
    }

int test_main(int argc, char **argv, const TTest *const *tests, size_t count);

/* Ends the running test as skipped. Only in the body of the test itself: from a helper
 * it would return to the test, which went on. Check's _i is there alone, so that
 * elsewhere this does not compile. */
#define test_skip(reason)                                                              \
    do {                                                                               \
        (void)_i;                                                                      \
        test_note_skip(reason);                                                        \
        return;                                                                        \
    } while (0)

void test_note_skip(const char *reason);

/* What must succeed, or the test fails with what it says. (base/status.h) */
#define OK(call) ck_assert_msg((call) == TXD_OK, "%s: %s", #call, txd_message())

/* The reason to give when test_model() returns NULL: such skips are counted. */
#define TEST_NO_MODEL "no model data"

/*
 * All strings below are valid until the test ends and need no free.
 *
 * test_scratch: a folder of the running test alone, removed afterwards.
 * test_file:    a path in it.
 * test_source:  a path in the source tree.
 * test_model:   a path below the folder of real models, NULL if it is not there.
 * test_program: the built txdiag, NULL if this build has none.
 * test_table:   a file for a table that `./dev test` prints at its end.
 */
const char *test_scratch(void);
const char *test_file(const char *name);
const char *test_source(const char *path);
const char *test_model(const char *path);
const char *test_program(void);
const char *test_table(const char *name);

#ifdef __cplusplus
}
#endif

#endif
