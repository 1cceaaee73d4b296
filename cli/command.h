/* SPDX-License-Identifier: MIT
 *
 * What a subcommand is: a name, words that teach it, the options it takes, and the
 * function that does it. main.c finds the command, options.c reads the command line
 * by its table, so that the help text and what is accepted cannot drift apart.
 */
#ifndef TXD_CLI_COMMAND_H
#define TXD_CLI_COMMAND_H

#include <stdbool.h>

#include "txd.h"

/* Exit statuses of the program. */
enum {
    TXD_EXIT_HELD = 0,
    TXD_EXIT_BROKEN_LAW = 1,
    TXD_EXIT_NO_ANSWER = 2,
    TXD_EXIT_NOTHING_EVALUATED = 77,
    TXD_EXIT_INTERRUPTED = 130,
};

typedef struct txd_option {
    const char *name;     /* "report": --report */
    int letter;           /* 'o': -o; 0 = none */
    const char *argument; /* "DIR" as the help text shows it; NULL = a flag */
    const char *sentence;
} txd_option;

typedef struct txd_options txd_options;

typedef struct txd_command {
    const char *name;
    const char *sentence;      /* `txdiag --help` */
    const char *usage;         /* what follows the name */
    const char *help;          /* what it does, and examples */
    const char *exits;         /* what its exit statuses mean */
    const txd_option *options; /* its own; ended by name NULL */
    int least, most;           /* operands; most -1 = any number */
    int (*run)(const txd_options *options);
} txd_command;

extern const txd_command txd_command_run, txd_command_check, txd_command_info,
    txd_command_list, txd_command_plot, txd_command_report, txd_command_explain,
    txd_command_tokenize, txd_command_generate, txd_command_mask;

#endif
