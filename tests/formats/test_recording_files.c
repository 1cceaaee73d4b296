/* SPDX-License-Identifier: MIT
 *
 * Recordings as files: what replaces what, interrupted, damaged and foreign ones, and
 * what they cost.
 */
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "made_recording.h"
#include "suite.h"

static void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    fclose(file);
}

static bool file_holds(const char *path, const char *text)
{
    char read[256] = "";
    FILE *file = fopen(path, "r");

    if (!file)
        return false;
    read[fread(read, 1, sizeof read - 1, file)] = '\0';
    fclose(file);
    return strcmp(read, text) == 0;
}

START_TEST(an_old_recording_stays_until_the_new_one_is_complete)
{
    const char *path = test_file("old.h5"), *part = test_file("old.h5.part");
    txd_recording *recording = made_new_recording(path);
    txd_trace *trace;

    OK(txd_recording_meta(recording, "which", "old"));
    OK(txd_recording_close(recording, true));
    ck_assert_int_ne(access(part, F_OK), 0);

    recording = made_new_recording(path);
    OK(txd_recording_meta(recording, "which", "new"));
    OK(txd_recording_flush(recording));
    ck_assert_int_eq(access(part, F_OK), 0);
    trace = made_open_complete(path);
    ck_assert_str_eq(txd_trace_meta(trace, "which"), "old");
    txd_trace_destroy(trace);
    OK(txd_recording_close(recording, true));
    trace = made_open_complete(path);
    ck_assert_str_eq(txd_trace_meta(trace, "which"), "new");
    txd_trace_destroy(trace);

    recording = made_new_recording(path);
    txd_recording_discard(recording);
    ck_assert_int_ne(access(part, F_OK), 0);
    trace = made_open_complete(path);
    ck_assert_str_eq(txd_trace_meta(trace, "which"), "new");
    txd_trace_destroy(trace);
}
END_TEST

START_TEST(what_is_no_recording_is_replaced_only_by_force)
{
    const char *path = test_file("thesis.txt"), *folder = test_file("folder.h5");
    txd_recording *recording;

    write_text(path, "ten years of work");
    ck_assert(!txd_recording_is(path));
    ck_assert_int_eq(txd_recording_create(&recording, path, false), TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), "--force"));
    ck_assert_ptr_nonnull(strstr(txd_message(), path));
    ck_assert(file_holds(path, "ten years of work"));
    OK(txd_recording_create(&recording, path, true));
    ck_assert(file_holds(path, "ten years of work"));
    OK(txd_recording_close(recording, true));
    ck_assert(txd_recording_is(path));
    ck_assert_int_eq(mkdir(folder, 0700), 0);
    ck_assert_int_eq(txd_recording_create(&recording, folder, true), TXD_ERR_IO);
    ck_assert_int_eq(txd_recording_create(&recording, test_file("missing/x.h5"), false),
                     TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), "No such file or directory"));
    ck_assert_int_eq(txd_recording_create(&recording, "/dev/null", true), TXD_ERR_IO);
}
END_TEST

START_TEST(an_interrupted_recording_is_found_by_its_name)
{
    const char *path = test_file("cut.h5");
    txd_recording *recording = made_new_recording(path);
    txd_dataset_spec spec = made_spec_of("steps/loss", "s", TXD_F64, 0);
    const double loss = 3.25;
    txd_trace_info info;
    txd_trace *trace;
    bool partial = false;
    size_t id;

    spec.steps = 0;
    OK(txd_recording_dataset(recording, &id, &spec));
    OK(txd_recording_write(recording, id, 0, made_origin, made_origin, &loss, TXD_F64));
    OK(txd_recording_flush(recording));
    /* A step that is cut short is not counted. */
    OK(txd_recording_write(recording, id, 1, made_origin, made_origin, &loss, TXD_F64));
    OK(txd_recording_close(recording, false));
    ck_assert_int_ne(access(path, F_OK), 0);
    OK(txd_recording_open(&trace, path, &partial));
    ck_assert(partial);
    made_entry_of(trace, "steps/loss", &info);
    ck_assert_uint_eq(info.dims[0], 1);
    txd_trace_destroy(trace);
    ck_assert_int_eq(txd_recording_open(&trace, test_file("none.h5"), &partial),
                     TXD_ERR_IO);
    ck_assert_ptr_nonnull(strstr(txd_message(), "none.h5: cannot be opened: "));
    ck_assert_ptr_nonnull(strstr(txd_message(), ", nor is there its .part"));
}
END_TEST

START_TEST(two_programs_do_not_write_one_recording)
{
    const char *path = test_file("busy.h5");
    txd_recording *recording = made_new_recording(path);
    int state;
    pid_t child = fork();

    if (child == 0) {
        txd_recording *other;
        bool refused = txd_recording_create(&other, path, true) == TXD_ERR_IO &&
                       strstr(txd_message(), "is writing it") != NULL;

        _exit(refused ? 0 : 1);
    }
    ck_assert_int_eq(waitpid(child, &state, 0), child);
    ck_assert(WIFEXITED(state));
    ck_assert_int_eq(WEXITSTATUS(state), 0);
    OK(txd_recording_close(recording, true));
    txd_trace_destroy(made_open_complete(path));
}
END_TEST

/* ---- damage, and silence ---- */

static void read_all(const char *path)
{
    static double values[1 << 12];
    const char *const *strings;
    txd_trace *trace;
    size_t count;

    if (txd_recording_open(&trace, path, NULL) != TXD_OK) {
        ck_assert_ptr_nonnull(strstr(txd_message(), path));
        return;
    }
    for (size_t i = 0; i < txd_trace_count(trace); i++)
        (void)txd_trace_read_all(trace, values, 1 << 12, i, TXD_F64);
    (void)txd_recording_read_strings(&strings, &count, trace, "steps/kind");
    txd_trace_destroy(trace);
}

START_TEST(truncated_recordings_are_errors_and_nothing_is_printed)
{
    const char *path = test_file("whole.h5"), *cut = test_file("cut.h5");
    const char *noise = test_file("stderr");
    txd_trace *trace;
    struct stat about;
    int old = dup(STDERR_FILENO), file;

    made_record_growing(path, true);
    ck_assert_int_eq(stat(path, &about), 0);
    file = open(noise, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    for (off_t length = 0; length < about.st_size; length += about.st_size / 60 + 1) {
        char command[9000];

        snprintf(command, sizeof command, "head -c %ld '%s' > '%s'", (long)length, path,
                 cut);
        ck_assert_int_eq(system(command), 0);
        ck_assert_int_eq(txd_recording_open(&trace, cut, NULL), TXD_ERR_FORMAT);
        ck_assert_ptr_nonnull(strstr(txd_message(), cut));
    }
    fflush(stderr);
    dup2(old, STDERR_FILENO);
    close(file);
    ck_assert_int_eq(stat(noise, &about), 0);
    ck_assert_int_eq(about.st_size, 0);
    read_all(path);
}
END_TEST

START_TEST(files_that_are_no_recordings_are_named_so)
{
    const char *text = test_file("text.h5"), *folder = test_scratch();
    const char *pipe = test_file("pipe.h5");
    txd_trace *trace;

    write_text(text, "not HDF5 at all");
    ck_assert_int_eq(txd_recording_open(&trace, text, NULL), TXD_ERR_FORMAT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "found a text"));
    ck_assert_int_eq(txd_recording_open(&trace, folder, NULL), TXD_ERR_IO);
    ck_assert_int_eq(mkfifo(pipe, 0600), 0);
    ck_assert_int_eq(txd_recording_open(&trace, pipe, NULL), TXD_ERR_IO);
    ck_assert(!txd_recording_is(pipe));
    ck_assert(!txd_recording_is(folder));
}
END_TEST

/* ---- what it costs ---- */

static void expect_estimate(const txd_dataset_spec *spec, size_t copies)
{
    const char *path = test_file("cost.h5");
    txd_recording *recording = made_new_recording(path);
    size_t expected = txd_recording_estimate_empty(), elements, id;
    double *data;
    struct stat about;

    OK(txd_shape_count(&elements, spec->dims, spec->rank));
    data = calloc(elements, sizeof *data);
    for (size_t i = 0; i < copies; i++) {
        txd_dataset_spec copy = *spec;
        char name[128];

        snprintf(name, sizeof name, "value/layers/%zu/%s/full", i, spec->path);
        copy.path = name;
        expected += txd_recording_estimate(&copy);
        OK(txd_recording_dataset(recording, &id, &copy));
        for (size_t step = 0; step < spec->steps; step++)
            OK(txd_recording_write(recording, id, step, made_origin, spec->dims, data,
                                   TXD_F64));
    }
    OK(txd_recording_close(recording, true));
    ck_assert_int_eq(stat(path, &about), 0);
    ck_assert_msg(fabs((double)expected / (double)about.st_size - 1) < 0.04,
                  "%s: %zu estimated, %ld real", spec->path, expected,
                  (long)about.st_size);
    free(data);
}

START_TEST(the_estimate_is_the_size_of_the_file)
{
    txd_dataset_spec weights = made_spec_of("attn/weights", "sbhqk", TXD_F32, 4);
    txd_dataset_spec resid = made_spec_of("resid/post", "sbtd", TXD_F64, 3);
    txd_dataset_spec fixed = made_spec_of("attn/q", "qe", TXD_F32, 2);

    memcpy(weights.dims, (size_t[]){1, 8, 27, 27}, 4 * sizeof(size_t));
    weights.growing[2] = weights.growing[3] = true;
    expect_estimate(&weights, 5);
    weights.steps = 150; /* 1200 chunks: two parts */
    expect_estimate(&weights, 2);
    memcpy(weights.dims, (size_t[]){1, 2, 300, 300}, 4 * sizeof(size_t));
    weights.steps = 2;
    expect_estimate(&weights, 2);
    memcpy(resid.dims, (size_t[]){2, 300, 48}, 3 * sizeof(size_t));
    expect_estimate(&resid, 8);
    fixed.per_step = false;
    memcpy(fixed.dims, (size_t[]){700, 48}, 2 * sizeof(size_t));
    expect_estimate(&fixed, 8);
}
END_TEST

START_TEST(thousands_of_rows_of_text_are_appended_at_once)
{
    enum { ROWS = 5000 };
    const char *path = test_file("text.h5");
    txd_recording *recording = made_new_recording(path);
    static char texts[ROWS][12];
    static const char *rows[ROWS];
    const txd_column column = {.name = "site", .strings = rows};
    const char *const *read;
    txd_trace *trace;
    size_t count;

    for (size_t i = 0; i < ROWS; i++) {
        snprintf(texts[i], sizeof texts[i], "%zu", i * i);
        rows[i] = texts[i];
    }
    OK(txd_recording_append(recording, "events/leaks", &column, 1, ROWS));
    OK(txd_recording_append(recording, "events/leaks", &column, 1, 1));
    OK(txd_recording_close(recording, true));
    trace = made_open_complete(path);
    OK(txd_recording_read_strings(&read, &count, trace, "events/leaks/site"));
    ck_assert_uint_eq(count, ROWS + 1);
    for (size_t i = 0; i <= ROWS; i++)
        ck_assert_str_eq(read[i], rows[i % ROWS]);
    txd_trace_destroy(trace);
}
END_TEST

TEST_MAIN(thousands_of_rows_of_text_are_appended_at_once,
          an_old_recording_stays_until_the_new_one_is_complete,
          what_is_no_recording_is_replaced_only_by_force,
          an_interrupted_recording_is_found_by_its_name,
          two_programs_do_not_write_one_recording,
          truncated_recordings_are_errors_and_nothing_is_printed,
          files_that_are_no_recordings_are_named_so,
          the_estimate_is_the_size_of_the_file)
