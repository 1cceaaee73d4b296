/* SPDX-License-Identifier: MIT
 *
 * The only file that starts gnuplot. What it guards against was all seen: gnuplot goes
 * on after an error and runs the next line, dumps a picture on stdout when it cannot
 * open its output, and draws without any label when no font is installed, with exit
 * status 0. So: script and data in files of a private folder, and a picture counts only
 * after exit 0, an empty stderr, a file that is not empty, and a label that shows.
 */
#include "viz/draw/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { PATH_BYTES = 256, DEFAULT_SECONDS = 120, POLL_NANOSECONDS = 4000000 };

/* Draws one letter, and nothing; without fonts both pictures are the same. */
static const char font_probe[] =
    "set encoding utf8\n"
    "set terminal pngcairo noenhanced size 48,32 font 'DejaVu Sans,9'\n"
    "unset border\nunset tics\nunset key\n"
    "set output 'blank'\n"
    "plot [0:1][0:1] -1\n"
    "set label 1 'M' at screen 0.5,0.5 center\n"
    "set output 'letter'\n"
    "replot\n"
    "set output\n"
    "reset\n";

static const char *const own_files[] = {"script.gp", "picture", "errors", "blank",
                                        "letter"};

static void path_of(char path[PATH_BYTES], const char *folder, const char *name)
{
    snprintf(path, PATH_BYTES, "%.100s/%.100s", folder, name);
}

static txd_status write_all(int file, const char *path, const void *bytes, size_t count)
{
    const char *at = bytes;

    while (count != 0) {
        ssize_t written = write(file, at, count);

        if (written < 0 && errno == EINTR)
            continue;
        if (written < 0)
            return txd_fail(TXD_ERR_IO, "%s: cannot write: %s; make room there", path,
                            strerror(errno));
        at += written;
        count -= (size_t)written;
    }
    return TXD_OK;
}

static txd_status write_file(const char *folder, const char *name, const void *bytes,
                             size_t count)
{
    char path[PATH_BYTES];
    txd_status status;
    int file;

    path_of(path, folder, name);
    file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return txd_fail(TXD_ERR_IO, "%s: cannot create: %s", path, strerror(errno));
    status = write_all(file, path, bytes, count);
    if (close(file) != 0 && status == TXD_OK)
        status = txd_fail(TXD_ERR_IO, "%s: cannot write: %s; make room there", path,
                          strerror(errno));
    return status;
}

/* Appends a file of the folder; one that is not there, or is no file, is empty. */
static txd_status read_file(txd_text *out, const char *folder, const char *name,
                            size_t limit)
{
    char path[PATH_BYTES], buffer[16384];
    struct stat info;
    ssize_t got;
    int file;

    path_of(path, folder, name);
    file = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    got = file >= 0 && fstat(file, &info) == 0 && S_ISREG(info.st_mode);
    while (got > 0 && limit != 0) {
        got = read(file, buffer, limit < sizeof buffer ? limit : sizeof buffer);
        txd_text_add_bytes(out, buffer, got > 0 ? (size_t)got : 0);
        limit -= got > 0 ? (size_t)got : 0;
    }
    if (file >= 0)
        close(file);
    return txd_text_status(out);
}

static void remove_folder(const char *folder, const txd_plot_job *job)
{
    char path[PATH_BYTES];

    for (size_t i = 0; i < sizeof own_files / sizeof *own_files; i++) {
        path_of(path, folder, own_files[i]);
        unlink(path);
    }
    for (size_t i = 0; i < job->file_count; i++) {
        path_of(path, folder, job->files[i].name);
        unlink(path);
    }
    rmdir(folder);
}

/* The script is told its folder, because a child cannot be started in one portably. */
static txd_status write_files(const char *folder, const txd_plot_job *job)
{
    txd_text script;
    txd_status status;

    txd_text_init(&script);
    txd_text_addf(&script, "cd '%s'\n", folder);
    if (job->kind != TXD_IMAGE_SVG)
        txd_text_add(&script, font_probe);
    txd_clean_glyphs(&script, job->script, job->kind);
    status = txd_text_status(&script);
    if (status == TXD_OK)
        status = write_file(folder, "script.gp", script.data, script.length);
    txd_text_finish(&script);
    for (size_t i = 0; i < job->file_count && status == TXD_OK; i++)
        status = write_file(folder, job->files[i].name, job->files[i].bytes,
                            job->files[i].count);
    return status;
}

/* The caller's environment without what changes gnuplot's behaviour. Without a UTF-8
 * locale it warns at `set encoding utf8`; C.UTF-8 is part of every glibc since 2.35 and
 * of Debian's before. */
static char **make_environment(char locale[])
{
    static const char *const dropped[] = {"LC_", "LANG", "GNUPLOT", "GNUTERM",
                                          "MALLOC_"};
    size_t count = 0, kept = 0;
    char **copy;

    while (environ && environ[count])
        count++;
    copy = calloc(count + 2, sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) {
        bool drop = false;

        for (size_t d = 0; d < sizeof dropped / sizeof *dropped; d++)
            drop |= strncmp(environ[i], dropped[d], strlen(dropped[d])) == 0;
        if (!drop)
            copy[kept++] = environ[i];
    }
    if (copy)
        copy[kept] = locale;
    return copy;
}

static int redirect(posix_spawn_file_actions_t *actions, const char *errors)
{
    int error = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null",
                                                 O_RDONLY, 0);

    if (error == 0)
        error = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null",
                                                 O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(actions, STDERR_FILENO, errors,
                                                 O_WRONLY | O_CREAT | O_TRUNC, 0600);
    return error;
}

/* The child gets none of our held signals: a Ctrl-C at the terminal is for it too. */
static int spawn(pid_t *child, const posix_spawn_file_actions_t *actions,
                 char *const arguments[], char *const environment[])
{
    posix_spawnattr_t attributes;
    sigset_t none;
    int error = posix_spawnattr_init(&attributes);

    if (error != 0)
        return error;
    sigemptyset(&none);
    error = posix_spawnattr_setsigmask(&attributes, &none);
    if (error == 0)
        error = posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    if (error == 0)
        error = posix_spawnp(child, arguments[0], actions, &attributes, arguments,
                             environment);
    posix_spawnattr_destroy(&attributes);
    return error;
}

/* What a child exits with that could not become the program: posix_spawn tells so
 * itself, but not everywhere (not under valgrind). */
#define NOT_STARTED 127

static txd_status fail_missing(void)
{
    return txd_fail(TXD_ERR_MISSING, "gnuplot, which draws the pictures, is not "
                                     "installed (or not in PATH): "
                                     "apt-get install gnuplot-nox fonts-dejavu-core");
}

static txd_status start(pid_t *child, const char *folder)
{
    char program[] = "gnuplot", defaults[] = "-d", script[PATH_BYTES];
    char *arguments[] = {program, defaults, script, NULL};
    char errors[PATH_BYTES], locale[] = "LC_ALL=C.UTF-8";
    char **environment = make_environment(locale);
    posix_spawn_file_actions_t actions;
    int error;

    if (!environment)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: gnuplot's environment");

    path_of(script, folder, "script.gp");
    path_of(errors, folder, "errors");
    error = posix_spawn_file_actions_init(&actions);
    if (error == 0) {
        error = redirect(&actions, errors);
        if (error == 0)
            error = spawn(child, &actions, arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    if (error == ENOENT || error == EACCES || error == ENOTDIR)
        return fail_missing();
    if (error != 0)
        return txd_fail(TXD_ERR_IO, "gnuplot cannot be started: %s", strerror(error));
    return TXD_OK;
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Waits for the child; kills it when its time is over, or ours. */
static txd_status await(int *state, pid_t child, double seconds)
{
    const struct timespec pause = {.tv_nsec = POLL_NANOSECONDS};
    double end = now() + seconds;
    pid_t ended;

    while ((ended = waitpid(child, state, WNOHANG)) == 0 && now() < end &&
           !txd_signals_waiting())
        nanosleep(&pause, NULL);
    if (ended == child && !txd_signals_waiting())
        return TXD_OK;
    if (ended == child)
        return txd_fail(TXD_ERR_INTERRUPTED, "interrupted while gnuplot drew");
    if (ended < 0 && errno != EINTR)
        return txd_fail(TXD_ERR_IO, "gnuplot was lost: %s", strerror(errno));
    kill(child, SIGKILL);
    while (waitpid(child, state, 0) < 0 && errno == EINTR)
        continue;
    if (txd_signals_waiting())
        return txd_fail(TXD_ERR_INTERRUPTED, "interrupted while gnuplot drew");
    return txd_fail(TXD_ERR_LIMIT,
                    "gnuplot did not finish within %d seconds and was "
                    "stopped: choose fewer queries and keys",
                    (int)seconds);
}

/* Removes the lines of fontconfig, which complains of a cache that it cannot write. */
static void drop_fontconfig(txd_text *said)
{
    char *line = said->data;

    while (line && *line) {
        size_t length = strcspn(line, "\n");
        size_t whole = length + (line[length] == '\n');

        if (strncmp(line, "Fontconfig ", 11) != 0) {
            line += whole;
            continue;
        }
        memmove(line, line + whole, strlen(line + whole) + 1);
        said->length -= whole;
    }
}

/* ERR_IO with the first lines of what gnuplot said, unless all is well. */
static txd_status judge(int state, const char *folder)
{
    txd_text said;
    txd_status status;

    txd_text_init(&said);
    status = read_file(&said, folder, "errors", 4000);
    drop_fontconfig(&said);
    for (size_t i = 0; i < said.length; i++)
        if (said.data[i] == '\n')
            said.data[i] = ' ';
    if (status == TXD_OK && WIFSIGNALED(state))
        status = txd_fail(TXD_ERR_IO, "gnuplot was ended by signal %d: %.600s",
                          WTERMSIG(state), txd_text_get(&said));
    else if (status == TXD_OK && said.length == 0 && WEXITSTATUS(state) == NOT_STARTED)
        status = fail_missing();
    else if (status == TXD_OK && (said.length != 0 || WEXITSTATUS(state) != 0))
        status = txd_fail(TXD_ERR_IO, "gnuplot failed with exit status %d: %.600s",
                          WEXITSTATUS(state), txd_text_get(&said));
    txd_text_finish(&said);
    return status;
}

/* Asked before gnuplot's complaints, which without fonts are about sizes. */
static txd_status check_fonts(const char *folder)
{
    txd_text blank, letter;
    txd_status status;

    txd_text_init(&blank);
    txd_text_init(&letter);
    status = read_file(&blank, folder, "blank", SIZE_MAX);
    if (status == TXD_OK)
        status = read_file(&letter, folder, "letter", SIZE_MAX);
    if (status == TXD_OK && blank.length != 0 && blank.length == letter.length &&
        memcmp(blank.data, letter.data, blank.length) == 0)
        status = txd_fail(TXD_ERR_MISSING,
                          "no font is installed, so a picture would have no labels: "
                          "apt-get install fonts-dejavu-core");
    txd_text_finish(&blank);
    txd_text_finish(&letter);
    return status;
}

/* By the first bytes, since a program that is called gnuplot may write anything, and by
 * the last ones: gnuplot does not say that the disk was full. */
static bool is_picture(const char *bytes, size_t count, txd_image_kind kind)
{
    static const char *const begins[] = {[TXD_IMAGE_PNG] = "\x89PNG",
                                         [TXD_IMAGE_SVG] = "<?xml",
                                         [TXD_IMAGE_PDF] = "%PDF"};
    static const char *const ends[] = {[TXD_IMAGE_PNG] = "IEND\xae\x42\x60\x82",
                                       [TXD_IMAGE_SVG] = "</svg>",
                                       [TXD_IMAGE_PDF] = "%%EOF"};
    size_t first = strlen(begins[kind]), last = strlen(ends[kind]);

    while (count != 0 && bytes[count - 1] == '\n')
        count--;
    return count > first + last && memcmp(bytes, begins[kind], first) == 0 &&
           memcmp(bytes + count - last, ends[kind], last) == 0;
}

static txd_status draw(txd_text *out, const char *folder, const txd_plot_job *job)
{
    size_t before = out->length;
    pid_t child;
    int state;

    TXD_TRY(write_files(folder, job));
    TXD_TRY(start(&child, folder));
    TXD_TRY(await(&state, child, job->seconds > 0 ? job->seconds : DEFAULT_SECONDS));
    if (job->kind != TXD_IMAGE_SVG)
        TXD_TRY(check_fonts(folder));
    TXD_TRY(judge(state, folder));
    TXD_TRY(read_file(out, folder, "picture", SIZE_MAX));
    if (out->length == before)
        return txd_fail(TXD_ERR_IO, "gnuplot wrote no picture, and gave no reason");
    if (!is_picture(out->data + before, out->length - before, job->kind))
        return txd_fail(TXD_ERR_IO,
                        "gnuplot wrote no picture, or the beginning of one: make room "
                        "in %s; is the gnuplot in PATH the real one?",
                        P_tmpdir);
    return TXD_OK;
}

txd_status txd_gnuplot_image(txd_text *out, const txd_plot_job *job)
{
    char folder[] = P_tmpdir "/txdiag-plot-XXXXXX";
    txd_status status;
    txd_signals signals;

    txd_signals_hold(&signals);
    if (mkdtemp(folder)) {
        status = draw(out, folder, job);
        remove_folder(folder, job);
    } else {
        status = txd_fail(TXD_ERR_IO,
                          "%s: cannot make a folder for gnuplot's files: %s; make "
                          "room or rights there",
                          P_tmpdir, strerror(errno));
    }
    txd_signals_release(&signals);
    return status;
}
