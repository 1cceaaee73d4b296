/* SPDX-License-Identifier: MIT
 *
 * txdiag: finds the subcommand and hands over.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"

/* In the order of `txdiag --help`. */
static const txd_command *const commands[] = {
    &txd_command_run,
    &txd_command_check,
    &txd_command_info,
    &txd_command_list,
    &txd_command_plot,
    &txd_command_report,
    &txd_command_explain,
    &txd_command_mask,
    &txd_command_tokenize,
    &txd_command_generate,
    NULL,
};

static const char about[] =
    "usage: txdiag COMMAND ...\n"
    "\n"
    "Runs an attention model whose every intermediate value has a name, records what\n"
    "you ask for, judges it by laws that hold for a correct transformer, and draws "
    "it.\n"
    "\n";

static const char more[] =
    "\n"
    "txdiag COMMAND --help explains a command and its exit statuses.\n"
    "txdiag --version prints the version.\n"
    "\n"
    "First steps:\n"
    "  txdiag run examples/mini.cfg -o mini.h5\n"
    "  txdiag plot mini.h5 layers.0.attn.weights --head 0 -o head.png\n"
    "  txdiag list checks\n"
    "  txdiag explain causality\n";

static int help(void)
{
    const txd_command *const *command;
    txd_text text;

    txd_text_init(&text);
    txd_text_add(&text, about);
    for (command = commands; *command; command++)
        txd_text_addf(&text, "  %-8s  %s\n", (*command)->name, (*command)->sentence);
    txd_text_add(&text, more);
    return txd_output_result(&text, TXD_EXIT_HELD);
}

static int version(void)
{
    txd_text text;

    txd_text_init(&text);
    txd_text_addf(&text, "txdiag %s\n", TXD_VERSION);
    return txd_output_result(&text, TXD_EXIT_HELD);
}

static int unknown(const char *word)
{
    const char *names[16], *nearest;
    size_t count = 0;

    while (commands[count]) {
        names[count] = commands[count]->name;
        count++;
    }
    nearest = txd_nearest(word, names, count);
    txd_fail(TXD_ERR_ARGUMENT, "no command \"%s\"%s%s; txdiag --help lists them", word,
             nearest ? "; nearest: " : "", nearest ? nearest : "");
    return txd_output_complain();
}

static int run_command(const txd_command *command, int argc, char **argv)
{
    txd_options options;
    int exit_status;
    txd_text text;

    if (txd_options_parse(&options, command, argc, argv) != TXD_OK) {
        exit_status = txd_output_complain();
    } else if (options.help) {
        txd_text_init(&text);
        txd_options_help(&text, command);
        exit_status = txd_output_result(&text, TXD_EXIT_HELD);
    } else {
        exit_status = command->run(&options);
    }
    txd_options_finish(&options);
    return exit_status;
}

/* A file that is opened must not become standard output or error, or results and
 * messages would land in it. Writing to these fails, as it would without them. */
static void occupy_standard_files(void)
{
    int file;

    do
        file = open("/dev/null", O_RDONLY);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0)
        close(file);
}

int main(int argc, char **argv)
{
    const txd_command *const *command;

    occupy_standard_files();
    signal(SIGXFSZ, SIG_IGN); /* a limit on file sizes is an error of the write */
    if (argc < 2) {
        txd_fail(TXD_ERR_ARGUMENT, "which command? txdiag --help lists them");
        return txd_output_complain();
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help();
    if (strcmp(argv[1], "--version") == 0)
        return version();
    for (command = commands; *command; command++)
        if (strcmp(argv[1], (*command)->name) == 0)
            return run_command(*command, argc, argv);
    return unknown(argv[1]);
}
