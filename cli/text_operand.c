/* SPDX-License-Identifier: MIT
 *
 * Texts are short on a command line and long in files.
 */
#include "cli/text_operand.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* All of a file; '-' is standard input. */
static txd_status read_file(txd_text *out, const char *path)
{
    bool is_input = strcmp(path, "-") == 0;
    const char *name = is_input ? "standard input" : path;
    struct stat about;
    FILE *file = is_input ? stdin : fopen(path, "rb");
    char buffer[65536];
    size_t count;
    int failed;

    if (!file)
        return txd_fail(TXD_ERR_IO, "%s: %s", name, strerror(errno));
    failed = fstat(fileno(file), &about) == 0 && S_ISDIR(about.st_mode) ? EISDIR : 0;
    while (!failed && (count = fread(buffer, 1, sizeof buffer, file)) > 0)
        txd_text_add_bytes(out, buffer, count);
    if (!failed && ferror(file))
        failed = errno ? errno : EIO;
    if (!is_input)
        fclose(file);
    return failed ? txd_fail(TXD_ERR_IO, "%s: %s", name, strerror(failed))
                  : txd_text_status(out);
}

txd_status txd_text_operand(txd_text *out, const char *operand)
{
    if (strcmp(operand, "-") == 0)
        return read_file(out, operand);
    if (operand[0] == '@')
        return read_file(out, operand + 1);
    txd_text_add(out, operand);
    return txd_text_status(out);
}
