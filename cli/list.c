/* SPDX-License-Identifier: MIT
 *
 * txdiag list: the names that the program knows, a line each, for people and scripts.
 */
#include <stdio.h>
#include <string.h>

#include "checks/check.h"
#include "cli/backends.h"
#include "cli/catalogue.h"
#include "cli/describe.h"
#include "cli/explain_params.h"
#include "cli/keys.h"
#include "cli/laws.h"
#include "cli/output.h"
#include "cli/possible_faults.h"
#include "cli/session.h"
#include "probes/probe.h"
#include "viz/viz.h"

/* A line is first measured, then printed, so that the sentences stand in a column. */
typedef struct listing {
    txd_text *text; /* NULL while measuring */
    size_t width;
} listing;

static void add_line(listing *list, const char *name, const char *sentence)
{
    size_t length = strlen(name);

    if (list->text)
        txd_text_addf(list->text, "%-*s  %s\n", (int)list->width, name, sentence);
    else if (length > list->width)
        list->width = length;
}

static void list_points(listing *list)
{
    char sentence[512];
    int point;

    for (point = 0; point < TXD_POINT_COUNT; point++)
        add_line(list, txd_point_get((txd_point)point)->name,
                 txd_describe_point(sentence, sizeof sentence, (txd_point)point));
}

static void list_probes(listing *list)
{
    size_t i;

    for (i = 0; txd_probe_at(i); i++)
        add_line(list, txd_probe_at(i)->name, txd_probe_at(i)->sentence);
}

static void list_checks(listing *list)
{
    size_t i;

    for (i = 0; txd_check_at(i); i++)
        add_line(list, txd_check_at(i)->name, txd_check_at(i)->law);
}

static void list_faults(listing *list)
{
    char sentence[1024];
    const txd_fault *fault;
    size_t i;

    for (i = 0; (fault = txd_fault_at(i)); i++)
        add_line(list, txd_fault_name(fault),
                 txd_describe_fault(sentence, sizeof sentence, fault));
}

static void list_figures(listing *list)
{
    size_t i;

    for (i = 0; txd_figure_at(i); i++)
        add_line(list, txd_figure_at(i)->name, txd_figure_at(i)->sentence);
}

static void list_backends(listing *list)
{
    bool absent = txd_backends_load() != TXD_OK;
    char reason[TXD_MESSAGE_BYTES + 16];
    size_t i;

    snprintf(reason, sizeof reason, "absent: %s", absent ? txd_message() : "");
    for (i = 0; txd_backend_at(i); i++)
        add_line(list, txd_backend_name(txd_backend_at(i)),
                 txd_backend_sentence(txd_backend_at(i)));
    for (i = 0; absent && txd_cuda_backend_at(i); i++)
        add_line(list, txd_cuda_backend_at(i), reason);
}

static void list_parameters(listing *list)
{
    txd_text text;

    txd_text_init(&text);
    for (int id = 0; id < TXD_PARAM_COUNT; id++) {
        text.length = 0;
        txd_explain_param_line(&text, (txd_param_id)id);
        add_line(list, txd_param_bare_name((txd_param_id)id), txd_text_get(&text));
    }
    txd_text_finish(&text);
}

static const struct {
    const char *name;
    void (*list)(listing *list);
} kinds[] = {
    {"points", list_points},         {"probes", list_probes},
    {"checks", list_checks},         {"faults", list_faults},
    {"figures", list_figures},       {"backends", list_backends},
    {"parameters", list_parameters},
};

#define KIND_COUNT (sizeof kinds / sizeof *kinds)

static int print_kind(size_t kind)
{
    listing list = {0};
    txd_text text;

    txd_text_init(&text);
    kinds[kind].list(&list);
    list.text = &text;
    kinds[kind].list(&list);
    return txd_output_result(&text, TXD_EXIT_HELD);
}

static const char about_keys[] =
    "# model.cfg\n"
    "\n"
    "The syntax is that of libconfig: `name = value;`, groups `name : { ... };`, "
    "lists\n"
    "`( ... )`, comments after `#`, other files by `@include \"file\"`. Paths are "
    "relative to\n"
    "the file they stand in. Every key may be left out unless its default says "
    "required;\n"
    "a key that is not in these tables is an error. `[]` stands for the elements of a\n"
    "list. On the command line `--set path=value` overrides a key\n"
    "(`--set model.d_model=96`, `--set faults.0.layers=\"1\"`).\n"
    "\n"
    "Globs over names: `*` matches any characters, dots included; several are "
    "separated\n"
    "by commas. Ranges: `\"5\"`, `\"0:10\"` (10 excluded), `\"3:\"`, `\"*\"`, "
    "`\"0:10:2\"` and\n"
    "`\"3::2\"` (every second), or several with commas.\n"
    "\n"
    "This page is made by `txdiag list keys --markdown`.\n"
    "\n"
    "## Presets\n"
    "\n"
    "What `model.preset` stands for; `txdiag info MODEL.cfg` prints everything "
    "resolved.\n"
    "All have norms before each branch and a final norm.\n"
    "\n"
    "| preset | norm | positions | MLP | q, k, v | biases | output head |\n"
    "| --- | --- | --- | --- | --- | --- | --- |\n"
    "| `mini` | rmsnorm, eps 2^-23 | learned | gelu | fused | none | its own |\n"
    "| `gpt2` | layernorm, eps 1e-5 | learned | gelu_tanh | fused | all | the token "
    "embedding |\n"
    "| `llama` | rmsnorm, eps 1e-5 | rotary | silu, gated | separate | none | its own "
    "|\n"
    "\n";

static void list_all_keys(listing *list, const txd_key *const *tables)
{
    const txd_key *key;

    for (; *tables; tables++)
        for (key = *tables; key->path; key++)
            add_line(list, key->path, key->sentence);
}

static txd_status print_keys(txd_text *text, bool markdown)
{
    const txd_key *const *tables;
    listing list = {0};
    txd_arena *arena;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = txd_keys_all(&tables, arena);
    if (status == TXD_OK && markdown) {
        txd_text_add(text, about_keys);
        txd_keys_markdown(text, tables);
    }
    if (status == TXD_OK && !markdown) {
        list_all_keys(&list, tables);
        list.text = text;
        list_all_keys(&list, tables);
    }
    txd_arena_destroy(arena);
    return status;
}

static int list_keys(bool markdown)
{
    txd_text text;

    txd_text_init(&text);
    if (print_keys(&text, markdown) == TXD_OK)
        return txd_output_result(&text, TXD_EXIT_HELD);
    txd_text_finish(&text);
    return txd_output_complain();
}

/* A page of documentation. */
static int list_page(void (*add)(txd_text *out))
{
    txd_text text;

    txd_text_init(&text);
    add(&text);
    return txd_output_result(&text, TXD_EXIT_HELD);
}

/* The faults as they stand to one model: which can act, and why the others cannot. */
static void list_possible(listing *list, const txd_possible_fault *possible)
{
    const txd_fault *fault;
    char sentence[512];
    size_t i;

    for (i = 0; (fault = txd_fault_at(i)); i++) {
        const char *reason = possible[i].reason;

        snprintf(sentence, sizeof sentence, "%s%s",
                 reason ? "cannot act here: " : "can act here", reason ? reason : "");
        if (possible[i].by_experiments)
            snprintf(sentence, sizeof sentence,
                     "can act here in experiments: `txdiag check MODEL.cfg`, or run "
                     "with --experiments");
        add_line(list, txd_fault_name(fault), sentence);
    }
}

static int list_applicable(const txd_options *options, const char *cfg)
{
    const txd_possible_fault *possible;
    txd_session session;
    listing list = {0};
    txd_text text;
    int exit_status;

    txd_text_init(&text);
    if (txd_session_open(&session, options, cfg) == TXD_OK &&
        txd_possible_faults(&possible, &session) == TXD_OK) {
        list_possible(&list, possible);
        list.text = &text;
        list_possible(&list, possible);
        exit_status = txd_output_result(&text, TXD_EXIT_HELD);
    } else {
        exit_status = txd_output_complain();
    }
    txd_session_close(&session);
    return exit_status;
}

static int fail_kind(const char *word)
{
    const char *names[KIND_COUNT + 1], *nearest;
    size_t i;

    for (i = 0; i < KIND_COUNT; i++)
        names[i] = kinds[i].name;
    names[i] = "keys";
    nearest = txd_nearest(word, names, KIND_COUNT + 1);
    txd_fail(TXD_ERR_ARGUMENT,
             "there is no list of \"%s\": expected points, probes, checks, faults, "
             "figures, backends, parameters or keys%s%s",
             word, nearest ? "; nearest: " : "", nearest ? nearest : "");
    return txd_output_complain();
}

static int list_names(const txd_options *options)
{
    const char *word = options->operands[0];
    size_t kind;

    if (strcmp(word, "laws") == 0) /* what `checks` are called everywhere else */
        word = "checks";
    if (options->operand_count == 2 && strcmp(word, "faults") == 0)
        return list_applicable(options, options->operands[1]);
    if (options->operand_count == 2 || txd_options_has(options, "set")) {
        txd_fail(TXD_ERR_ARGUMENT, "only `txdiag list faults` takes a MODEL.cfg, and "
                                   "--set overrides it");
        return txd_output_complain();
    }
    if (strcmp(word, "faults") == 0 && txd_options_has(options, "markdown"))
        return list_page(txd_catalogue_add);
    if (strcmp(word, "checks") == 0 && txd_options_has(options, "markdown"))
        return list_page(txd_laws_add);
    if (strcmp(word, "keys") == 0)
        return list_keys(txd_options_has(options, "markdown"));
    for (kind = 0; kind < KIND_COUNT; kind++)
        if (strcmp(word, kinds[kind].name) == 0)
            return print_kind(kind);
    return fail_kind(word);
}

static const txd_option options[] = {
    {"set", 0, "PATH=VALUE", "with a MODEL.cfg: overrides one of its settings"},
    {"markdown", 0, NULL,
     "with keys, checks, faults: the whole page (docs/model.cfg.md, laws.md, "
     "faults.md)"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_list = {
    .name = "list",
    .sentence = "list what the program knows: points, laws, faults, ...",
    .usage = "points|probes|checks|faults|figures|backends|parameters|keys [MODEL.cfg]",
    .help =
        "Prints one name per line, followed by two or more spaces and a sentence.\n"
        "\n"
        "  points    places in a pass where values can be recorded; those that exist\n"
        "            once per layer are called layers.N.NAME\n"
        "  probes    what can be recorded there (`record` in MODEL.cfg)\n"
        "  checks    the laws (`checks`); \"laws\" will do, too\n"
        "  faults    mistakes that can be planted (`faults`), and by which selectors;\n"
        "            with a MODEL.cfg: which of them can act in that model\n"
        "  figures   what `plot` and `report` draw\n"
        "  backends  what does the arithmetic (`precision.backend`); why those of a "
        "GPU\n"
        "            are absent, where they are\n"
        "  parameters\n"
        "            of models: their shapes, and when they exist\n"
        "  keys      every key of MODEL.cfg\n"
        "\n"
        "  txdiag list checks\n"
        "  txdiag list faults examples/mini.cfg",
    .exits = "  0  listed\n"
             "  2  there is no such list, or MODEL.cfg is not right\n",
    .options = options,
    .least = 1,
    .most = 2,
    .run = list_names,
};
