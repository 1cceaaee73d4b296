/* SPDX-License-Identifier: MIT
 *
 * txdiag explain: what a name means: a law, a fault, a point, a probe, a column of the
 * row statistics, a key of model.cfg.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/check.h"
#include "cli/backends.h"
#include "cli/describe.h"
#include "cli/explain_keys.h"
#include "cli/explain_params.h"
#include "cli/keys.h"
#include "cli/laws.h"
#include "cli/output.h"
#include "probes/probe.h"
#include "viz/viz.h"

#define MAX_NAMES 512
#define WIDTH 76

/* One line of a text, indented, broken between words. Lines that are indented
 * themselves (code) stay as they are. */
static void add_wrapped(txd_text *out, const char *line, size_t length)
{
    while (length > WIDTH && line[0] != ' ') {
        size_t at = WIDTH;

        while (at > 0 && line[at] != ' ')
            at--;
        if (at == 0)
            break;
        txd_text_addf(out, "  %.*s\n", (int)at, line);
        line += at + 1;
        length -= at + 1;
    }
    txd_text_addf(out, "  %.*s\n", (int)length, line);
}

/* Between two things of one name. */
static void separate(txd_text *out)
{
    if (out->length)
        txd_text_add(out, "\n");
}

static void add_block(txd_text *out, const char *title, const char *body)
{
    const char *line = body;

    if (!body || !*body)
        return;
    txd_text_addf(out, "\n%s:\n", title);
    while (*line) {
        size_t length = strcspn(line, "\n");

        add_wrapped(out, line, length);
        line += length + (line[length] == '\n');
    }
}

static bool explain_check(txd_text *out, const char *name)
{
    const txd_check *check = txd_check_find(name);
    const char *const *fault;
    const txd_key *key;
    txd_text text;

    if (!check)
        return false;
    txd_text_init(&text);
    separate(out);
    txd_text_addf(out, "%s is a law.\n\n%s\n", check->name, check->law);
    if (check->informs)
        txd_text_add(out, "\nIt informs, and never fails.\n");
    add_block(out, "Judged as", check->formula);
    add_block(out, "Judged on", txd_laws_kind(check));
    txd_laws_needs(&text, check, "");
    add_block(out, "It reads", txd_text_get(&text));
    text.length = 0;
    txd_laws_allowance(&text, check, "");
    add_block(out, "What is allowed comes from", txd_text_get(&text));
    txd_text_finish(&text);
    add_block(out, "What typically breaks it", check->causes);
    add_block(out, "Where to look next", check->look_next);
    if (check->keys && check->keys->path) {
        txd_text_add(out, "\nThresholds in model.cfg:\n");
        for (key = check->keys; key->path; key++)
            txd_explain_key_line(out, key);
    }
    if (check->faults && *check->faults) {
        txd_text_add(out, "\nFaults that must trip it:\n");
        for (fault = check->faults; *fault; fault++)
            txd_text_addf(out, "  %-24s  %s\n", *fault,
                          txd_fault_sentence(txd_fault_find(*fault)));
    }
    return true;
}

static bool must_trip(const txd_check *check, const char *name)
{
    const char *const *fault;

    for (fault = check->faults; fault && *fault; fault++)
        if (strcmp(*fault, name) == 0)
            return true;
    return false;
}

static bool explain_fault(txd_text *out, const char *name)
{
    const txd_fault *fault = txd_fault_find(name);
    char selectors[96];
    size_t i;

    if (!fault)
        return false;
    separate(out);
    txd_text_addf(out, "%s is a fault.\n\n%s\n", name, txd_fault_sentence(fault));
    add_block(out, "How it shows", txd_fault_symptom(fault));
    add_block(out, "Example", txd_fault_example(fault));
    add_block(out, "Selectors in model.cfg",
              txd_describe_selectors(selectors, sizeof selectors, fault));
    txd_text_add(out, "\nPlanted by:\n");
    txd_text_addf(out, "  faults = ( { name = \"%s\"; } );\n", name);
    if (txd_fault_is_backward(fault))
        txd_text_add(out,
                     "  record = ( { probe = \"grad_norm\"; } );  # or any gradient\n");
    txd_text_add(out, "\nLaws that must notice it:\n");
    for (i = 0; txd_check_at(i); i++)
        if (must_trip(txd_check_at(i), name))
            txd_text_addf(out, "  %s\n", txd_check_at(i)->name);
    return true;
}

/* "attn.weights" and "layers.3.attn.weights" (also with '*') are the same point. */
static const char *strip_layer(const char *name)
{
    const char *rest = name + 7;

    if (strncmp(name, "layers.", 7) != 0)
        return name;
    while (isdigit((unsigned char)*rest) || *rest == '*' || *rest == 'N')
        rest++;
    return *rest == '.' ? rest + 1 : name;
}

static bool explain_point(txd_text *out, const char *name)
{
    const txd_point_info *info;
    const char *bare;
    char value[128];
    int point;
    size_t i;

    snprintf(value, sizeof value, "%s", name); /* a gradient is of a point */
    if (strstr(value, TXD_GRADIENT_SUFFIX))
        *strstr(value, TXD_GRADIENT_SUFFIX) = '\0';
    bare = strip_layer(value);
    for (point = 0; point < TXD_POINT_COUNT; point++)
        if (strcmp(txd_point_get((txd_point)point)->name, bare) == 0)
            break;
    if (point == TXD_POINT_COUNT)
        return false;
    info = txd_point_get((txd_point)point);
    separate(out);
    txd_text_addf(out, "%s is a point%s.\n\n%s\n", bare,
                  txd_point_per_layer((txd_point)point)
                      ? ", once per layer: layers.0, layers.1, ..."
                      : "",
                  info->meaning);
    txd_text_add(out, "\nAxes:\n");
    for (i = 0; info->axes[i]; i++)
        txd_text_addf(out, "  %c  %s\n", info->axes[i],
                      txd_describe_axis((txd_point)point, info->axes[i]));
    txd_text_add(out, "\nRecorded by:\n");
    txd_text_addf(out, "  record = ( { probe = \"full\"; points = \"%s%s\"; } );\n",
                  txd_point_per_layer((txd_point)point) ? "layers.*." : "", bare);
    if (info->place != TXD_PLACE_INPUT)
        txd_text_addf(out, "  and its gradient as \"%s%s" TXD_GRADIENT_SUFFIX "\"\n",
                      txd_point_per_layer((txd_point)point) ? "layers.*." : "", bare);
    return true;
}

static bool explain_probe(txd_text *out, const char *name)
{
    const txd_probe *probe = txd_probe_find(name);
    int row, stat;

    if (!probe)
        return false;
    separate(out);
    txd_text_addf(out, "%s is a probe.\n\n%s\n", name, probe->sentence);
    add_block(out, "Points unless `points` says otherwise", probe->points);
    add_block(out, "Fields", probe->fields);
    txd_text_add(out, "\nSwitched on by:\n");
    txd_text_addf(out, "  record = ( { probe = \"%s\"; } );\n", name);
    if (strcmp(name, "rows") == 0) {
        txd_text_add(out, "\nColumns:\n");
        for (row = 0; row < TXD_ROW_COUNT; row++)
            txd_text_addf(out, "  %-14s  %s\n", txd_row_get((txd_row)row)->name,
                          txd_row_get((txd_row)row)->meaning);
    }
    if (strcmp(name, "stats") == 0) {
        txd_text_add(out, "\nFields:\n");
        for (stat = 0; stat < TXD_STAT_COUNT_OF; stat++)
            txd_text_addf(out, "  %-14s  %s\n", txd_stat_get((txd_stat)stat)->name,
                          txd_stat_get((txd_stat)stat)->meaning);
    }
    return true;
}

static bool explain_backend(txd_text *out, const char *name)
{
    const txd_backend *backend;
    txd_roundoff u;

    if (txd_cuda_has(name) && txd_backends_load() != TXD_OK) {
        separate(out);
        txd_text_addf(out, "%s is a backend.\n\nIt is absent: %s\n", name,
                      txd_message());
        return true;
    }
    if (txd_backend_find(&backend, name) != TXD_OK)
        return false;
    u = txd_roundoff_of(backend);
    separate(out);
    txd_text_addf(out, "%s is a backend.\n\n%s\n", name, txd_backend_sentence(backend));
    txd_text_addf(out, "\nIn memory      %s\nStored as      %s, %.3g to %.3g\n",
                  txd_dtype_name(txd_backend_dtype(backend)),
                  txd_dtype_name(txd_backend_format(backend)), u.tiny, u.largest);
    txd_text_addf(out,
                  "Roundoffs      2^%.0f in sums (u_acc), 2^%.0f stored (u_store)\n",
                  log2(u.accumulate), log2(u.store));
    txd_text_addf(out,
                  "\nSwitched on by:\n  --backend %s, or precision.backend = \"%s\"\n",
                  name, name);
    return true;
}

static bool explain_row(txd_text *out, const char *name)
{
    const char *bare = strncmp(name, "rows/", 5) == 0 ? name + 5 : name;
    const txd_row_info *info;
    int row;

    for (row = 0; row < TXD_ROW_COUNT; row++) {
        info = txd_row_get((txd_row)row);
        if (strcmp(info->name, bare) != 0)
            continue;
        separate(out);
        txd_text_addf(out,
                      "rows/%s is a column of the row statistics (probe rows), one "
                      "value for every query of every head.\n\n%s (unit %s)\n",
                      bare, info->meaning, info->unit);
        return true;
    }
    return false;
}

static bool explain_figure(txd_text *out, const char *name)
{
    const txd_figure *figure = txd_figure_find(name);

    if (!figure)
        return false;
    separate(out);
    txd_text_addf(out, "%s is a figure: %s.\n\n  %s\n", name, figure->sentence,
                  figure->usage);
    return true;
}

static void add_name(const char **names, size_t *count, const char *name)
{
    if (*count < MAX_NAMES)
        names[(*count)++] = name;
}

static txd_status fail_name(const char *word, const txd_key *const *tables)
{
    const char *names[MAX_NAMES], *nearest;
    const txd_key *key;
    size_t i, count = 0;
    int point;

    for (i = 0; txd_check_at(i); i++)
        add_name(names, &count, txd_check_at(i)->name);
    for (i = 0; txd_fault_at(i); i++)
        add_name(names, &count, txd_fault_name(txd_fault_at(i)));
    for (i = 0; txd_probe_at(i); i++)
        add_name(names, &count, txd_probe_at(i)->name);
    for (i = 0; txd_backend_at(i); i++)
        add_name(names, &count, txd_backend_name(txd_backend_at(i)));
    for (i = 0; txd_cuda_backend_at(i); i++)
        add_name(names, &count, txd_cuda_backend_at(i));
    for (i = 0; txd_figure_at(i); i++)
        add_name(names, &count, txd_figure_at(i)->name);
    for (point = 0; point < TXD_POINT_COUNT; point++)
        add_name(names, &count, txd_point_get((txd_point)point)->name);
    for (int id = 0; id < TXD_PARAM_COUNT; id++)
        add_name(names, &count, txd_param_bare_name((txd_param_id)id));
    for (; *tables; tables++)
        for (key = *tables; key->path; key++)
            add_name(names, &count, key->path);
    nearest = txd_nearest(strip_layer(word), names, count);
    return txd_fail(
        TXD_ERR_ARGUMENT,
        "\"%s\" is no law, fault, point, probe, backend, figure, parameter or key%s%s; "
        "`txdiag list` has their names",
        word, nearest ? "; nearest: " : "", nearest ? nearest : "");
}

/* A name may be several things: "input.memory" is a point and a group of keys. */
static txd_status explain_any(txd_text *out, const char *name, txd_arena *arena)
{
    static bool (*const kinds[])(txd_text *, const char *) = {
        explain_check, explain_fault,   explain_point,  explain_probe,
        explain_row,   explain_backend, explain_figure, txd_explain_param,
    };
    const txd_key *const *tables;
    size_t kind;

    TXD_TRY(txd_keys_all(&tables, arena));
    for (kind = 0; kind < sizeof kinds / sizeof *kinds; kind++)
        kinds[kind](out, name);
    if (txd_explain_key(out, name, tables) || out->length)
        return TXD_OK;
    return fail_name(name, tables);
}

static int explain_name(const txd_options *options)
{
    txd_arena *arena = NULL;
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    status = txd_arena_create(&arena);
    if (status == TXD_OK)
        status = explain_any(&text, options->operands[0], arena);
    txd_arena_destroy(arena);
    if (status == TXD_OK)
        return txd_output_result(&text, TXD_EXIT_HELD);
    txd_text_finish(&text);
    return txd_output_complain();
}

const txd_command txd_command_explain = {
    .name = "explain",
    .sentence = "explain a law, a fault, a point, a probe, a parameter, ... or a key",
    .usage = "LAW|FAULT|POINT|PROBE|BACKEND|FIGURE|PARAMETER|KEY",
    .help =
        "Says what a name means: of a law, how it is judged and what typically breaks\n"
        "it; of a fault, how it shows, with wrong and right code; of a point, what is\n"
        "there and its axes; of a parameter, its shape and when it exists.\n"
        "\n"
        "  txdiag explain causality\n"
        "  txdiag explain mask_off_by_one\n"
        "  txdiag explain attn.weights\n"
        "  txdiag explain attn.o.weight\n"
        "  txdiag explain bf16\n"
        "  txdiag explain mask.window\n"
        "  txdiag explain record",
    .exits = "  0  explained\n"
             "  2  there is no such name; the nearest is suggested\n",
    .least = 1,
    .most = 1,
    .run = explain_name,
};
