/* SPDX-License-Identifier: MIT
 *
 * Outputs are checked before the model runs, because a run of hours that cannot be
 * written is worse than an error after a millisecond. The writers check again: this is
 * for the person, not for safety.
 */
#include "cli/output.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/guard.h"
#include "cli/printable.h"
#include "viz/draw/keep.h"

static void say(const char *message)
{
    fputs("txdiag: ", stderr);
    txd_printable(stderr, message, strlen(message), true);
    fputc('\n', stderr);
}

void txd_output_say(const txd_options *options, const char *format, ...)
{
    char message[4096];
    va_list arguments;

    if (options->quiet)
        return;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    say(message);
}

int txd_output_complain(void)
{
    say(txd_message());
    return TXD_EXIT_NO_ANSWER;
}

static txd_status write_result(const txd_text *text)
{
    txd_printable(stdout, txd_text_get(text), text->length, false);
    if (fflush(stdout) != 0 || ferror(stdout))
        return txd_fail(TXD_ERR_IO, "standard output: cannot be written: %s",
                        strerror(errno));
    return TXD_OK;
}

int txd_output_result(txd_text *text, int exit_status)
{
    txd_status status = txd_text_status(text);

    if (status != TXD_OK)
        txd_fail(status, "no memory for the result");
    else
        status = write_result(text);
    txd_text_finish(text);
    return status == TXD_OK ? exit_status : txd_output_complain();
}

/* JSON, SARIF, JUnit XML or TAP. */
static bool begins_like_a_report(const char *head)
{
    return head[strspn(head, " \n")] == '{' || strncmp(head, "<?xml", 5) == 0 ||
           strncmp(head, "TAP version", 11) == 0;
}

/* Whether the file begins like something that txdiag writes under this name. */
static bool is_ours(const char *path, txd_output_kind kind)
{
    char head[8192] = "";
    FILE *file;
    size_t count;

    if (kind == TXD_OUTPUT_RECORDING) {
        bool ours;

        txd_guard_begin(path);
        ours = txd_recording_is(path);
        txd_guard_end();
        return ours;
    }
    file = fopen(path, "rb");
    if (!file)
        return false;
    count = fread(head, 1, sizeof head - 1, file);
    fclose(file);
    if (kind == TXD_OUTPUT_PICTURE)
        return memcmp(head, "\x89PNG", 4) == 0 || memcmp(head, "%PDF", 4) == 0 ||
               strncmp(head, "<?xml", 5) == 0 || strncmp(head, "<svg", 4) == 0;
    if (kind == TXD_OUTPUT_SCRIPT)
        return strncmp(head, TXD_KEPT_MARK, sizeof TXD_KEPT_MARK - 1) == 0;
    if (kind == TXD_OUTPUT_PAGE)
        return strstr(head, "txdiag report</title>") != NULL;
    return count == 0 || strncmp(head, "txdiag", 6) == 0 ||
           strncmp(head, "### txdiag", 10) == 0 ||
           (begins_like_a_report(head) && strstr(head, "txdiag"));
}

/* The folder that holds `path`, into `text`. */
static void folder_of(char *text, size_t bytes, const char *path)
{
    const char *slash = strrchr(path, '/');

    if (!slash)
        snprintf(text, bytes, ".");
    else
        snprintf(text, bytes, "%.*s", slash == path ? 1 : (int)(slash - path), path);
}

static txd_status check_folder(const char *folder, const char *path)
{
    struct stat info;

    if (stat(folder, &info) != 0)
        return txd_fail(TXD_ERR_IO,
                        "%s: its folder %s: %s; make it, or write elsewhere", path,
                        folder, strerror(errno));
    if (!S_ISDIR(info.st_mode))
        return txd_fail(TXD_ERR_IO, "%s: %s is not a folder", path, folder);
    if (access(folder, W_OK | X_OK) != 0)
        return txd_fail(TXD_ERR_IO, "%s: cannot write in folder %s: %s", path, folder,
                        strerror(errno));
    return TXD_OK;
}

/* A "-" is meant for stdout, and would be a name that is hard to remove. */
static txd_status refuse_stdout(const char *path, txd_output_kind kind)
{
    if (strcmp(path, "-") != 0)
        return TXD_OK;
    return txd_fail(TXD_ERR_ARGUMENT, "output -: %s; what is really called so is ./-",
                    kind == TXD_OUTPUT_TEXT ? "without -o it goes to stdout"
                                            : "it goes to a file, not to stdout");
}

txd_status txd_output_check(const char *path, txd_output_kind kind, bool force)
{
    static const char *const kinds[] = {"a txdiag recording", "a picture",
                                        "a txdiag report", "a page of txdiag",
                                        "a script of txdiag"};
    char folder[4096];
    struct stat info;

    TXD_TRY(refuse_stdout(path, kind));
    folder_of(folder, sizeof folder, path);
    TXD_TRY(check_folder(folder, path));
    if (stat(path, &info) != 0)
        return errno == ENOENT ? TXD_OK
                               : txd_fail(TXD_ERR_IO, "%s: %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return txd_fail(TXD_ERR_IO, "%s is not a regular file: choose another output",
                        path);
    if (force || is_ours(path, kind))
        return TXD_OK;
    return txd_fail(TXD_ERR_IO,
                    "%s exists and is not %s; it is left alone: choose another output, "
                    "or replace it with --force",
                    path, kinds[kind]);
}

txd_status txd_output_differs(const char *output, const char *input)
{
    struct stat a, b;

    /* REC.h5 may be read as REC.h5.part: then the name is not there, but is taken. */
    if (strcmp(output, input) == 0 || (stat(output, &a) == 0 && stat(input, &b) == 0 &&
                                       a.st_dev == b.st_dev && a.st_ino == b.st_ino))
        return txd_fail(TXD_ERR_IO, "%s is an input itself: choose another output",
                        output);
    return TXD_OK;
}

txd_status txd_output_page(const char *folder, const char *input, bool force)
{
    char path[4096];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/index.html", folder);

    if (length < 0 || (size_t)length >= sizeof path)
        return txd_fail(TXD_ERR_IO, "%.40s...: a path of %d bytes", folder, length);
    TXD_TRY(refuse_stdout(folder, TXD_OUTPUT_PAGE));
    if (stat(folder, &info) != 0 && mkdir(folder, 0777) != 0)
        return txd_fail(TXD_ERR_IO, "cannot make folder %s: %s", folder,
                        strerror(errno));
    TXD_TRY(txd_output_differs(path, input));
    return txd_output_check(path, TXD_OUTPUT_PAGE, force);
}

static bool is_empty(const char *folder)
{
    DIR *entries = opendir(folder);
    size_t count = 0;

    if (!entries)
        return false;
    while (readdir(entries))
        count++;
    closedir(entries);
    return count <= 2; /* "." and ".." */
}

txd_status txd_output_kept(const char *folder, bool force)
{
    char path[4096];
    struct stat info;
    int length = snprintf(path, sizeof path, "%s/picture.gp", folder);

    if (length < 0 || (size_t)length >= sizeof path)
        return txd_fail(TXD_ERR_IO, "%.40s...: a path of %d bytes", folder, length);
    TXD_TRY(refuse_stdout(folder, TXD_OUTPUT_SCRIPT));
    if (stat(folder, &info) != 0 && errno == ENOENT)
        return TXD_OK;
    if (!force && S_ISDIR(info.st_mode) && stat(path, &info) != 0 && !is_empty(folder))
        return txd_fail(TXD_ERR_IO,
                        "%s holds other files, which could be replaced: choose a new "
                        "folder, or say --force",
                        folder);
    return txd_output_check(path, TXD_OUTPUT_SCRIPT, force);
}

char *txd_output_stem(txd_arena *arena, const char *path, const char *ending)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    size_t length = dot && dot != name ? (size_t)(dot - name) : strlen(name);
    char *text = txd_arena_alloc(arena, length + strlen(ending) + 1, 1);

    if (text) {
        memcpy(text, name, length);
        strcpy(text + length, ending);
    }
    return text;
}

char *txd_output_beside(txd_arena *arena, const char *file, const char *path)
{
    const char *slash = file ? strrchr(file, '/') : NULL;
    size_t length = *path != '/' && slash ? (size_t)(slash - file) + 1 : 0;
    char *text = txd_arena_alloc(arena, length + strlen(path) + 1, 1);

    if (text) {
        if (length)
            memcpy(text, file, length);
        strcpy(text + length, path);
    }
    return text;
}

char *txd_output_bytes(char *text, size_t bytes, double count)
{
    static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB"};
    size_t unit = 0;

    while (count >= 999.5 && unit + 1 < sizeof units / sizeof *units) {
        count /= 1000;
        unit++;
    }
    snprintf(text, bytes, unit && count < 9.95 ? "%.1f %s" : "%.0f %s", count,
             units[unit]);
    return text;
}
