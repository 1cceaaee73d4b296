/* SPDX-License-Identifier: MIT */
/*
 * suite.c: runs the tests of one program one by one and prints TAP. Check's own TAP
 * cannot say "skipped", so the lines are written here; a skip reaches the parent
 * process through a file in the scratch folder.
 */
#include "suite.h"

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PATH_SIZE = 4096, TIMEOUT_SECONDS = 120, KEPT_PATHS = 32 };

static char scratch_root[PATH_SIZE];
static const char *running = "none";

struct place {
    const char *file;
    int line;
};

/* The last assertion that held, also of a child that is no more. */
static struct place *marked;

static const char *environment(const char *name, const char *otherwise)
{
    const char *value = getenv(name);
    return value && *value ? value : otherwise;
}

static const char *keep_path(const char *folder, const char *name)
{
    static char kept[KEPT_PATHS][PATH_SIZE];
    static unsigned next;
    char *path = kept[next++ % KEPT_PATHS];

    int length = snprintf(path, PATH_SIZE, "%s/%s", folder, name);
    ck_assert_int_lt(length, PATH_SIZE);
    return path;
}

const char *test_scratch(void)
{
    const char *folder = keep_path(scratch_root, running);
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        ck_abort_msg("cannot make %s: %s", folder, strerror(errno));
    }
    return folder;
}

const char *test_file(const char *name)
{
    return keep_path(test_scratch(), name);
}

const char *test_source(const char *path)
{
    return keep_path(environment("TXD_SOURCE", TEST_SOURCE), path);
}

const char *test_model(const char *path)
{
    const char *full = keep_path(environment("TXD_MODELS", TEST_MODELS), path);
    return access(full, R_OK) == 0 ? full : NULL;
}

const char *test_program(void)
{
    const char *path = environment("TXD_PROGRAM", TEST_PROGRAM);
    return access(path, X_OK) == 0 ? path : NULL;
}

const char *test_table(const char *name)
{
    const char *folder = environment("TXD_TABLES", test_scratch());
    if (mkdir(folder, 0777) != 0 && errno != EEXIST) {
        ck_abort_msg("cannot make %s: %s", folder, strerror(errno));
    }
    return keep_path(folder, name);
}

static const char *skip_note(void)
{
    static char path[PATH_SIZE];
    snprintf(path, sizeof path, "%.2000s/%.1000s.skip", scratch_root, running);
    return path;
}

void test_note_skip(const char *reason)
{
    FILE *note = fopen(skip_note(), "w");
    ck_assert_ptr_nonnull(note);
    fputs(reason, note);
    fclose(note);
}

static bool read_skip(char *reason, int size)
{
    FILE *note = fopen(skip_note(), "r");
    if (!note) {
        return false;
    }
    if (!fgets(reason, size, note)) {
        *reason = '\0';
    }
    fclose(note);
    return true;
}

static int remove_entry(const char *path, const struct stat *info, int kind,
                        struct FTW *walk)
{
    (void)info;
    (void)kind;
    (void)walk;
    return remove(path);
}

void test_mark(const char *file, int line)
{
    marked->file = file;
    marked->line = line;
}

static bool marks_shared(void)
{
    marked = mmap(NULL, sizeof *marked, PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return marked != MAP_FAILED;
}

static void print_message(TestResult *result)
{
    struct place at = {tr_lfile(result), tr_lno(result)};
    const char *message = tr_msg(result);
    /* A signal or an exit: Check knows but the begin of the test. */
    if (tr_rtype(result) == CK_ERROR && marked->file) {
        at = *marked;
    }
    fprintf(stderr, "%s: %s:%d: %s\n", running, at.file ? at.file : "?", at.line,
            message ? message : "");
}

static SRunner *runner_create(const TTest *test)
{
    Suite *suite = suite_create(test->name);
    TCase *single = tcase_create(test->name);
    tcase_set_timeout(single, TIMEOUT_SECONDS);
    tcase_add_test(single, test);
    suite_add_tcase(suite, single);
    return srunner_create(suite);
}

enum outcome { PASSED, FAILED, SKIPPED };

static enum outcome run_one(const TTest *test, int number)
{
    char reason[256];
    enum outcome outcome = PASSED;
    SRunner *runner = runner_create(test);

    running = test->name;
    *marked = (struct place){0};
    fflush(stdout);
    srunner_run_all(runner, CK_SILENT);
    if (srunner_ntests_run(runner) != 1 || srunner_ntests_failed(runner) > 0) {
        outcome = FAILED;
    } else if (read_skip(reason, sizeof reason)) {
        outcome = SKIPPED;
    }
    printf("%s %d - %s%s%s\n", outcome == FAILED ? "not ok" : "ok", number, test->name,
           outcome == SKIPPED ? " # SKIP " : "", outcome == SKIPPED ? reason : "");
    if (outcome == FAILED && srunner_ntests_run(runner) > 0) {
        TestResult **results = srunner_failures(runner);
        print_message(results[0]);
        free((void *)results);
    }
    srunner_free(runner);
    return outcome;
}

static bool is_wanted(const char *name, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], name) == 0) {
            return true;
        }
    }
    return argc <= 1;
}

int test_main(int argc, char **argv, const TTest *const *tests, size_t count)
{
    int number = 0;
    int counts[3] = {0};

    snprintf(scratch_root, sizeof scratch_root, "%.2000s/txdiag-test-XXXXXX",
             environment("TMPDIR", "/tmp"));
    if (!mkdtemp(scratch_root) || !marks_shared()) {
        perror(scratch_root);
        return 2;
    }
    for (size_t i = 0; i < count; i++) {
        if (is_wanted(tests[i]->name, argc, argv)) {
            counts[run_one(tests[i], ++number)]++;
        }
    }
    printf("1..%d\n", number);
    nftw(scratch_root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    if (number == 0 || counts[FAILED] > 0) {
        return 1;
    }
    /* Meson reads skips from the TAP lines and takes any exit but 0 as an error. */
    bool all_skipped = counts[SKIPPED] == number;
    return all_skipped && !getenv("TXD_TAP_ONLY") ? 77 : 0;
}
