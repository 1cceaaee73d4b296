/* SPDX-License-Identifier: MIT
 *
 * What goes to the terminal and what may be written to: results on stdout, messages
 * on stderr, and outputs that are looked at before any work is done.
 */
#ifndef TXD_CLI_OUTPUT_H
#define TXD_CLI_OUTPUT_H

#include "cli/options.h"

/* "txdiag: MESSAGE" on stderr, unless quiet. */
void txd_output_say(const txd_options *options, const char *format, ...)
    TXD_PRINTF(2, 3);

/* The library's last message on stderr. Returns TXD_EXIT_NO_ANSWER. */
int txd_output_complain(void);

/* Writes a text to stdout; complains if it could not be made or written, and then
 * returns TXD_EXIT_NO_ANSWER, else `exit_status`. Finishes the text. */
int txd_output_result(txd_text *text, int exit_status);

/* What an existing output file must be, so that it is replaced without --force. */
typedef enum txd_output_kind {
    TXD_OUTPUT_RECORDING,
    TXD_OUTPUT_PICTURE,
    TXD_OUTPUT_TEXT, /* a report of `check` */
    TXD_OUTPUT_PAGE,
    TXD_OUTPUT_SCRIPT, /* of `plot --gp` */
} txd_output_kind;

/* Fails unless a new file `path` can be made: its folder is there and writable, and
 * what stands there may be replaced. Nothing is created. */
txd_status txd_output_check(const char *path, txd_output_kind kind, bool force);

/* Fails if both paths are the same file: an output over its own input. */
txd_status txd_output_differs(const char *output, const char *input);

/* Fails unless a page about `input` can be written to folder/index.html. The folder is
 * created if only it is missing. */
txd_status txd_output_page(const char *folder, const char *input, bool force);

/* Fails unless a script and its data can be kept in a folder: one that is not there, is
 * empty, or holds an earlier script. */
txd_status txd_output_kept(const char *folder, bool force);

/* The file name of `path` with `ending` instead of its own: where an output goes that
 * nobody named. In `arena`; NULL when memory runs out. */
char *txd_output_stem(txd_arena *arena, const char *path, const char *ending);

/* `path` as seen from the folder of `file`, in `arena`. */
char *txd_output_beside(txd_arena *arena, const char *file, const char *path);

/* "345 kB" into `text`; returns it. */
char *txd_output_bytes(char *text, size_t bytes, double count);

#endif
