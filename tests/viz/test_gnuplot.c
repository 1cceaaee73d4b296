/* SPDX-License-Identifier: MIT */
/*
 * Running gnuplot: what it does wrong must be an error, and nothing may stay behind.
 */
#include "suite.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "need_gnuplot.h"
#include "viz/draw/gnuplot.h"

#define PNG "set terminal pngcairo noenhanced size 80,60\nset output 'picture'\n"

static txd_status run(txd_text *out, const char *script, double seconds)
{
    const txd_plot_job job = {
        .kind = TXD_IMAGE_PNG, .script = script, .seconds = seconds};

    txd_text_init(out);
    return txd_gnuplot_image(out, &job);
}

enum { MOST_FOLDERS = 64 };

typedef struct folders {
    char names[MOST_FOLDERS][256];
    int count;
} folders;

static void list_folders(folders *out)
{
    DIR *folder = opendir("/tmp");
    const struct dirent *entry;

    ck_assert_ptr_nonnull(folder);
    out->count = 0;
    while ((entry = readdir(folder)) != NULL && out->count < MOST_FOLDERS)
        if (strncmp(entry->d_name, "txdiag-plot-", 12) == 0)
            snprintf(out->names[out->count++], 256, "/tmp/%.200s", entry->d_name);
    closedir(folder);
}

static bool holds(const folders *list, const char *name)
{
    for (int i = 0; i < list->count; i++)
        if (strcmp(list->names[i], name) == 0)
            return true;
    return false;
}

/* Folders that came since `before`. Those of other programs go by themselves. */
static int stayed_behind(const folders *before)
{
    const struct timespec pause = {.tv_nsec = 100000000};
    folders after;
    int left = 1;

    list_folders(&after);
    for (int tries = 0; tries < 100 && left != 0; tries++) {
        left = 0;
        for (int i = 0; i < after.count; i++)
            left += !holds(before, after.names[i]) && access(after.names[i], F_OK) == 0;
        if (left != 0)
            nanosleep(&pause, NULL);
    }
    return left;
}

static void check_fails(const char *script, txd_status expected, const char *words)
{
    txd_text out;

    ck_assert_int_eq(run(&out, script, 0), expected);
    ck_assert_msg(strstr(txd_message(), words) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), words);
    ck_assert_uint_eq(out.length, 0);
    txd_text_finish(&out);
}

START_TEST(a_picture_comes_back_whole)
{
    txd_text out;

    NEED_GNUPLOT;
    ck_assert_int_eq(run(&out, PNG "plot [0:1] x\nset output\n", 0), TXD_OK);
    ck_assert_uint_gt(out.length, 100);
    ck_assert_mem_eq(out.data, "\x89PNG", 4);
    ck_assert_mem_eq(out.data + out.length - 8, "IEND", 4);
    txd_text_finish(&out);
}
END_TEST

START_TEST(errors_warnings_and_missing_pictures_are_errors)
{
    NEED_GNUPLOT;
    check_fails(PNG "plot [0:1] nonsense(x)\n", TXD_ERR_IO, "nonsense");
    check_fails(PNG "plot 'no such file'\n", TXD_ERR_IO, "no such file");
    check_fails("print 'hello'\n", TXD_ERR_IO, "hello");
    check_fails("set terminal pngcairo\nset output '/no/such/folder/x'\nplot x\n",
                TXD_ERR_IO, "/no/such/folder");
    check_fails("\n", TXD_ERR_IO, "no picture");
}
END_TEST

START_TEST(gnuplot_that_does_not_end_is_killed)
{
    txd_text out;
    time_t begin = time(NULL);

    NEED_GNUPLOT;
    ck_assert_int_eq(run(&out, PNG "pause 60\n", 0.5), TXD_ERR_LIMIT);
    ck_assert_int_lt(time(NULL) - begin, 20);
    txd_text_finish(&out);
}
END_TEST

START_TEST(a_machine_without_gnuplot_is_told_the_package)
{
    char *path = strdup(getenv("PATH"));

    ck_assert_int_eq(setenv("PATH", test_scratch(), 1), 0);
    check_fails(PNG "plot x\n", TXD_ERR_MISSING, "gnuplot-nox");
    ck_assert_int_eq(setenv("PATH", path, 1), 0);
    free(path);
}
END_TEST

/* A fontconfig that knows no folder: gnuplot itself then succeeds without labels. */
START_TEST(a_machine_without_fonts_is_told_the_package)
{
    const char *path = test_file("fonts.conf");
    FILE *file;

    NEED_GNUPLOT;
    file = fopen(path, "w");
    ck_assert_ptr_nonnull(file);
    fprintf(file, "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\">"
                  "<fontconfig></fontconfig>\n");
    fclose(file);
    ck_assert_int_eq(setenv("FONTCONFIG_FILE", path, 1), 0);
    check_fails(PNG "plot [0:1] x\n", TXD_ERR_MISSING, "fonts-dejavu-core");
    ck_assert_int_eq(unsetenv("FONTCONFIG_FILE"), 0);
}
END_TEST

/* A bare environment, and allocators that fill memory, change nothing. */
START_TEST(the_environment_does_not_matter)
{
    static const char *const settings[][2] = {{"LC_ALL", "C"},
                                              {"LANG", ""},
                                              {"GNUTERM", "dumb"},
                                              {"HOME", "/nonexistent"},
                                              {"MALLOC_PERTURB_", "214"},
                                              {"LC_ALL", "de_DE.UTF-8"}};
    txd_text out;

    NEED_GNUPLOT;
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        ck_assert_int_eq(setenv(settings[i][0], settings[i][1], 1), 0);
        ck_assert_msg(run(&out, "set encoding utf8\n" PNG "plot [0:1] x\n", 0) ==
                          TXD_OK,
                      "%s=%s: %s", settings[i][0], settings[i][1], txd_message());
        txd_text_finish(&out);
    }
}
END_TEST

START_TEST(nothing_stays_behind_after_success_or_failure)
{
    folders before;
    txd_text out;

    NEED_GNUPLOT;
    list_folders(&before);
    ck_assert_int_eq(run(&out, PNG "plot [0:1] x\n", 0), TXD_OK);
    txd_text_finish(&out);
    check_fails(PNG "plot nonsense(x)\n", TXD_ERR_IO, "nonsense");
    ck_assert_int_eq(run(&out, PNG "pause 60\n", 0.3), TXD_ERR_LIMIT);
    txd_text_finish(&out);
    ck_assert_int_eq(stayed_behind(&before), 0);
}
END_TEST

START_TEST(hostile_strings_in_labels_run_nothing)
{
    static const char *const hostile[] = {"`touch %s`",
                                          "$(touch %s)",
                                          "'\n!touch %s\n'",
                                          "\n!touch %s\n",
                                          "'; system('touch %s') #",
                                          "\"`touch %s`\"",
                                          "\\\n!touch %s\n",
                                          "@touch %s\x01\x02'\r!touch %s"};
    const char *proof = test_file("proof");
    const txd_sheet sheet = {TXD_IMAGE_PNG, 400, 60};

    NEED_GNUPLOT;
    for (size_t i = 0; i < sizeof hostile / sizeof *hostile; i++) {
        char text[4600];
        const char *mark = strstr(hostile[i], "%s");
        txd_text script, out;

        snprintf(text, sizeof text, "%.*s%s%s", (int)(mark - hostile[i]), hostile[i],
                 proof, mark + 2);
        txd_text_init(&script);
        txd_script_begin(&script, &sheet);
        txd_script_label(&script, &sheet, 5, 30, "left", TXD_TEXT_SMALL, TXD_COLOUR_INK,
                         text);
        txd_text_add(&script, "plot [0:1] x\n");
        ck_assert_msg(run(&out, txd_text_get(&script), 0) == TXD_OK, "%zu: %s", i,
                      txd_message());
        ck_assert_msg(access(proof, F_OK) != 0, "%zu: %s was run", i, text);
        txd_text_finish(&out);
        txd_text_finish(&script);
    }
}
END_TEST

TEST_MAIN(a_picture_comes_back_whole, errors_warnings_and_missing_pictures_are_errors,
          gnuplot_that_does_not_end_is_killed,
          a_machine_without_gnuplot_is_told_the_package,
          a_machine_without_fonts_is_told_the_package, the_environment_does_not_matter,
          nothing_stays_behind_after_success_or_failure,
          hostile_strings_in_labels_run_nothing)
