/* SPDX-License-Identifier: MIT
 *
 * Command lines by table. getopt_long does the splitting; the messages are ours, so
 * that they name the option, suggest the nearest one and say where help is.
 */
#include "cli/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPTIONS 24
#define FIRST_LONG 256

/* What every command takes. */
static const txd_option common[] = {
    {"backend", 0, "NAME", "the arithmetic to run by (`txdiag list backends`)"},
    {"threads", 0, "N", "threads to run on; the result does not depend on it"},
    {"force", 0, NULL, "replace an output file even if txdiag did not write it"},
    {"quiet", 'q', NULL, "no progress bar and no messages but errors"},
    {"verbose", 'v', NULL, "more detail"},
    {"help", 'h', NULL, "this text"},
    {NULL, 0, NULL, NULL},
};

typedef struct option_set {
    const txd_option *options[MAX_OPTIONS]; /* those of the command first */
    size_t own, count;
    struct option long_options[MAX_OPTIONS + 1];
    char letters[3 * MAX_OPTIONS + 2];
} option_set;

static void add_options(option_set *set, const txd_option *options)
{
    for (; options && options->name && set->count < MAX_OPTIONS; options++) {
        char letter[3] = {(char)options->letter, options->argument ? ':' : '\0', '\0'};

        set->options[set->count] = options;
        set->long_options[set->count] =
            (struct option){options->name, options->argument ? 1 : 0, NULL,
                            FIRST_LONG + (int)set->count};
        set->count++;
        if (options->letter)
            strcat(set->letters, letter);
    }
}

static void make_set(option_set *set, const txd_command *command)
{
    *set = (option_set){.letters = ":"}; /* ':' first tells missing from unknown */
    add_options(set, command->options);
    set->own = set->count;
    add_options(set, common);
}

/* The index of what getopt_long returned; set->count if it is none of ours. */
static size_t find_option(const option_set *set, int got)
{
    size_t i;

    if (got >= FIRST_LONG)
        return (size_t)(got - FIRST_LONG);
    for (i = 0; i < set->count; i++)
        if (set->options[i]->letter == got && got != 0)
            return i;
    return set->count;
}

static txd_status fail_option(const option_set *set, const txd_command *command,
                              int got, const char *word)
{
    const char *names[MAX_OPTIONS], *nearest;
    char bare[64];
    size_t i, at;

    for (i = 0; i < set->count; i++)
        names[i] = set->options[i]->name;
    at = optopt ? find_option(set, optopt) : set->count;
    if (got == ':' && at < set->count)
        return txd_fail(TXD_ERR_ARGUMENT, "%s needs %s; see txdiag %s --help", word,
                        set->options[at]->argument, command->name);
    if (at < set->count)
        return txd_fail(TXD_ERR_ARGUMENT, "%s takes no value; see txdiag %s --help",
                        word, command->name);
    snprintf(bare, sizeof bare, "%.*s", (int)strcspn(word + strspn(word, "-"), "="),
             word + strspn(word, "-"));
    nearest = txd_nearest(bare, names, set->count);
    return txd_fail(TXD_ERR_ARGUMENT,
                    "%s %s has no option %s%s%s; see txdiag %s --help", "txdiag",
                    command->name, word, nearest ? "; nearest: --" : "",
                    nearest ? nearest : "", command->name);
}

static txd_status take_common(txd_options *out, const char *name, const char *value)
{
    if (strcmp(name, "backend") == 0)
        out->backend = value;
    else if (strcmp(name, "force") == 0)
        out->force = true;
    else if (strcmp(name, "help") == 0)
        out->help = true;
    else if (strcmp(name, "threads") == 0) {
        char *end;
        long threads = strtol(value, &end, 10);

        if (end == value || *end || threads < 1 || threads > 4096)
            return txd_fail(TXD_ERR_ARGUMENT,
                            "--threads %s: expected a number from 1 to 4096", value);
        out->threads = (int)threads;
    } else { /* of two opposite wishes the last counts */
        out->quiet = strcmp(name, "quiet") == 0;
        out->verbose = !out->quiet;
    }
    return TXD_OK;
}

static txd_status take(txd_options *out, const option_set *set, size_t index)
{
    const txd_option *option = set->options[index];

    if (index >= set->own)
        return take_common(out, option->name, optarg);
    if (option->argument && *optarg == '\0')
        return txd_fail(TXD_ERR_ARGUMENT, "--%s is empty: expected %s", option->name,
                        option->argument);
    out->given[out->given_count++] =
        (txd_given){option, option->argument ? optarg : NULL};
    return TXD_OK;
}

static txd_status check_operands(const txd_options *options)
{
    const txd_command *command = options->command;
    int count = options->operand_count;

    if (options->help ||
        (count >= command->least && (command->most < 0 || count <= command->most)))
        return TXD_OK;
    if (count < command->least)
        return txd_fail(TXD_ERR_ARGUMENT, "usage: txdiag %s %s", command->name,
                        command->usage);
    return txd_fail(TXD_ERR_ARGUMENT,
                    "txdiag %s: \"%s\" is one argument too many; usage: txdiag %s %s",
                    command->name, options->operands[command->most], command->name,
                    command->usage);
}

txd_status txd_options_parse(txd_options *out, const txd_command *command, int argc,
                             char **argv)
{
    option_set set;
    int got;

    *out = (txd_options){.command = command, .argc = argc, .argv = argv};
    make_set(&set, command);
    out->given = calloc((size_t)argc, sizeof *out->given);
    if (!out->given)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the command line");
    opterr = 0;
    optind = 2;
    for (;;) {
        int before = optind;
        size_t index;

        optopt = 0;
        got = getopt_long(argc, argv, set.letters, set.long_options, NULL);
        if (got == -1)
            break;
        index = got == ':' || got == '?' ? set.count : find_option(&set, got);
        if (index == set.count)
            return fail_option(&set, command, got,
                               argv[optind > before ? optind - 1 : before]);
        TXD_TRY(take(out, &set, index));
    }
    out->operands = argv + optind;
    out->operand_count = argc - optind;
    return check_operands(out);
}

void txd_options_finish(txd_options *options)
{
    free(options->given);
    *options = (txd_options){0};
}

const char *txd_options_next(const txd_options *options, const char *name, size_t *at)
{
    while (*at < options->given_count) {
        const txd_given *given = &options->given[(*at)++];

        if (strcmp(given->option->name, name) == 0)
            return given->value ? given->value : given->option->name;
    }
    return NULL;
}

const char *txd_options_value(const txd_options *options, const char *name)
{
    const char *value = NULL, *next;
    size_t at = 0;

    while ((next = txd_options_next(options, name, &at)))
        value = next;
    return value;
}

bool txd_options_has(const txd_options *options, const char *name)
{
    return txd_options_value(options, name) != NULL;
}

bool txd_options_experiment(const txd_options *options)
{
    const char *name = options->command->name;

    return strcmp(name, "check") == 0 ||
           (strcmp(name, "run") == 0 && txd_options_has(options, "experiments"));
}

txd_status txd_options_range(txd_range *out, const txd_options *options,
                             const char *name)
{
    const char *text = txd_options_value(options, name);
    txd_status status = text ? txd_range_parse(out, text) : TXD_OK;

    return status == TXD_OK ? status : txd_fail_prefix(status, "--%s", name);
}

txd_status txd_options_int(int *out, const txd_options *options, const char *name)
{
    const char *value = txd_options_value(options, name);
    char *end;
    long number;

    if (!value)
        return TXD_OK;
    number = strtol(value, &end, 10);
    if (end == value || *end || number < 0 || number > 2147483647L)
        return txd_fail(TXD_ERR_ARGUMENT, "--%s %s: expected a number from 0", name,
                        value);
    *out = (int)number;
    return TXD_OK;
}

txd_status txd_options_choice(int *out, const txd_options *options, const char *name,
                              const char *const *words, size_t count)
{
    const char *value = txd_options_value(options, name), *nearest;
    char listed[256] = "";
    size_t i;

    if (!value)
        return TXD_OK;
    for (i = 0; i < count; i++) {
        if (strcmp(value, words[i]) == 0) {
            *out = (int)i;
            return TXD_OK;
        }
        snprintf(listed + strlen(listed), sizeof listed - strlen(listed), "%s%s",
                 i ? ", " : "", words[i]);
    }
    nearest = txd_nearest(value, words, count);
    return txd_fail(TXD_ERR_ARGUMENT, "--%s %s: expected one of %s%s%s", name, value,
                    listed, nearest ? "; nearest: " : "", nearest ? nearest : "");
}

txd_status txd_options_joined(const char **out, const txd_options *options,
                              const char *name, txd_arena *arena)
{
    txd_text text;
    const char *value, *copy = NULL;
    txd_status status;
    size_t at = 0;

    *out = NULL;
    if (!txd_options_has(options, name))
        return TXD_OK;
    txd_text_init(&text);
    while ((value = txd_options_next(options, name, &at)))
        txd_text_addf(&text, "%s%s", text.length ? "," : "", value);
    status = txd_text_status(&text);
    if (status == TXD_OK) {
        copy = txd_arena_string(arena, txd_text_get(&text));
        status = copy ? TXD_OK : TXD_ERR_MEMORY;
    }
    txd_text_finish(&text);
    *out = copy;
    return status;
}

static void add_word(txd_text *out, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                "0123456789-_./=:,+@%";

    if (*word && word[strspn(word, plain)] == '\0') {
        txd_text_add(out, word);
        return;
    }
    txd_text_add(out, "'");
    for (; *word; word++) {
        if (*word == '\'')
            txd_text_add(out, "'\\'");
        txd_text_add_bytes(out, word, 1);
    }
    txd_text_add(out, "'");
}

void txd_options_line(txd_text *out, const txd_options *options)
{
    int i;

    txd_text_add(out, "txdiag");
    for (i = 1; i < options->argc; i++) {
        txd_text_add(out, " ");
        add_word(out, options->argv[i]);
    }
}

static void add_option_lines(txd_text *out, const txd_option *option)
{
    for (; option && option->name; option++) {
        char left[48], letter[8] = "    ";

        if (option->letter)
            snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(left, sizeof left, "%s--%s%s%s", letter, option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
        txd_text_addf(out, "  %-24s  %s\n", left, option->sentence);
    }
}

void txd_options_help(txd_text *out, const txd_command *command)
{
    txd_text_addf(out, "usage: txdiag %s %s\n\n%s\n", command->name, command->usage,
                  command->help);
    if (command->options && command->options->name) {
        txd_text_add(out, "\nOptions:\n");
        add_option_lines(out, command->options);
    }
    txd_text_add(out, "\nEverywhere:\n");
    add_option_lines(out, common);
    txd_text_addf(out, "\nExit status:\n%s", command->exits);
}
