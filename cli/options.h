/* SPDX-License-Identifier: MIT
 *
 * The command line of one subcommand, read by its table.
 */
#ifndef TXD_CLI_OPTIONS_H
#define TXD_CLI_OPTIONS_H

#include "cli/command.h"

/* One option as it was given. */
typedef struct txd_given {
    const txd_option *option;
    const char *value; /* NULL for a flag */
} txd_given;

struct txd_options {
    const txd_command *command;
    const char *backend; /* NULL = as the configuration says */
    int threads;         /* 0 = all */
    bool force, quiet, verbose, help;
    txd_given *given; /* the command's own, in order */
    size_t given_count;
    char *const *operands;
    int operand_count;
    int argc; /* the whole command line, for recordings */
    char *const *argv;
};

/* Reads argv[2...] (argv[1] is the command's name); permutes argv as getopt does. On
 * failure the message says what is accepted. Finish in either case. */
txd_status txd_options_parse(txd_options *out, const txd_command *command, int argc,
                             char **argv);
void txd_options_finish(txd_options *options);

/* The last value given for an option; NULL if it was not given. */
const char *txd_options_value(const txd_options *options, const char *name);

/* The values of an option that may be repeated, one after the other: *at starts at 0;
 * NULL after the last. */
const char *txd_options_next(const txd_options *options, const char *name, size_t *at);

/* True if a flag, or an option, was given. */
bool txd_options_has(const txd_options *options, const char *name);

/* True if the command makes experiments (checks/check.h): gradients, and calls with a
 * cache, beside the passes of its inputs. */
bool txd_options_experiment(const txd_options *options);

/* A non-negative number given for an option; *out is untouched if it was not. */
txd_status txd_options_int(int *out, const txd_options *options, const char *name);

/* Leaves *out as it is if the option was not given; an error names the option. */
txd_status txd_options_range(txd_range *out, const txd_options *options,
                             const char *name);

/* One of `count` words; *out is its index, untouched if the option was not given. */
txd_status txd_options_choice(int *out, const txd_options *options, const char *name,
                              const char *const *words, size_t count);

/* All values of an option as one comma-separated list in `arena`; *out = NULL if it
 * was not given. */
txd_status txd_options_joined(const char **out, const txd_options *options,
                              const char *name, txd_arena *arena);

/* The command line with quotes where a shell needs them. */
void txd_options_line(txd_text *out, const txd_options *options);

/* The help text of a command. */
void txd_options_help(txd_text *out, const txd_command *command);

#endif
