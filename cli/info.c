/* SPDX-License-Identifier: MIT
 *
 * txdiag info: what a file or a folder holds, whatever kind it is.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/facts.h"
#include "cli/guard.h"
#include "cli/info_model.h"
#include "cli/output.h"
#include "cli/session.h"

/* What is open while facts are printed. */
typedef struct info_job {
    const txd_options *options;
    const char *path;
    txd_facts facts;
    txd_trace *trace;
    txd_info_model model;
    txd_session session;
} info_job;

static txd_status add_verdicts(info_job *job)
{
    const char *const *laws, *const *verdicts;
    size_t law_count, verdict_count, i;
    txd_facts *facts = &job->facts;

    if (txd_recording_read_strings(&laws, &law_count, job->trace, "checks/laws/name") !=
            TXD_OK ||
        txd_recording_read_strings(&verdicts, &verdict_count, job->trace,
                                   "checks/laws/verdict") != TXD_OK ||
        law_count != verdict_count || law_count == 0)
        return TXD_OK; /* no verdicts: the run was cut short, or judged nothing */
    facts->laws = txd_arena_alloc(facts->arena, law_count, sizeof *facts->laws);
    facts->verdicts = txd_arena_alloc(facts->arena, law_count, sizeof *facts->verdicts);
    if (!facts->laws || !facts->verdicts)
        return TXD_ERR_MEMORY;
    for (i = 0; i < law_count; i++) {
        facts->laws[i] = laws[i];
        facts->verdicts[i] = verdicts[i];
    }
    facts->verdict_count = law_count;
    return TXD_OK;
}

static txd_status info_recording(info_job *job)
{
    static const char *const keys[] = {
        "created", "producer", "command", "model",       "faults", "backend", "dtype",
        "simd",    "blas",     "storage", "compression", "budget", "tiles"};
    txd_facts *facts = &job->facts;
    const char *complete, *text;
    txd_trace_info info;
    bool partial = false;
    size_t i, at;

    TXD_TRY(txd_guard_open(&job->trace, job->path, &partial));
    txd_facts_text(facts, "kind", "recording");
    text = txd_trace_meta(job->trace, "txdiag_schema");
    if (text)
        txd_facts_number(facts, "schema", strtod(text, NULL));
    complete = txd_trace_meta(job->trace, "complete");
    txd_facts_text(facts, "state",
                   !complete || strcmp(complete, "0") != 0 ? "complete"
                   : partial ? "partial (only the .part is there)"
                             : "partial (its run did not end)");
    for (i = 0; i < sizeof keys / sizeof *keys; i++) {
        text = txd_trace_meta(job->trace, keys[i]);
        txd_facts_text(facts, keys[i], text && *text ? text : NULL);
    }
    text = txd_trace_meta(job->trace, "seed");
    if (text)
        txd_facts_number(facts, "seed", strtod(text, NULL));
    if (txd_trace_find(job->trace, &at, "input/tokens") == TXD_OK &&
        txd_trace_get(job->trace, &info, at) == TXD_OK && info.rank == 3) {
        txd_facts_number(facts, "steps", (double)info.dims[0]);
        txd_facts_number(facts, "batch", (double)info.dims[1]);
        txd_facts_number(facts, "length", (double)info.dims[2]);
    }
    facts->config = txd_trace_meta(job->trace, "config");
    facts->entry_word = "datasets";
    facts->entries = job->trace;
    return add_verdicts(job);
}

static txd_status add_tensors(info_job *job, const txd_trace *trace)
{
    job->facts.entry_word = "tensors";
    job->facts.entries = trace;
    txd_facts_number(&job->facts, "tensor_bytes", txd_facts_bytes(trace));
    return TXD_OK;
}

static txd_status info_npy(info_job *job)
{
    TXD_TRY(txd_npy_open(&job->trace, job->path));
    txd_facts_text(&job->facts, "kind", "npy");
    return add_tensors(job, job->trace);
}

static txd_status add_config(txd_facts *facts, const txd_config *config)
{
    txd_text text;
    txd_status status;

    txd_text_init(&text);
    txd_config_print(&text, config);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        facts->config = txd_arena_string(facts->arena, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static txd_status info_cfg(info_job *job)
{
    const txd_session *session = &job->session;
    txd_text text;
    txd_facts *facts = &job->facts;

    TXD_TRY(txd_session_open(&job->session, job->options, job->path));
    txd_facts_text(facts, "kind", "configuration");
    txd_facts_text(facts, "model", session->from);
    txd_facts_text(facts, "backend", txd_backend_name(session->backend));
    txd_facts_number(facts, "seed", (double)session->seed);
    txd_facts_number(facts, "steps", (double)session->steps);
    txd_facts_number(facts, "batch", (double)session->batch);
    txd_facts_number(facts, "length", (double)session->length);
    txd_text_init(&text);
    txd_session_print_faults(&text, session);
    txd_facts_text(facts, "faults", text.length ? txd_text_get(&text) : NULL);
    txd_text_finish(&text);
    return add_config(facts, &session->claimed);
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

/* Whether a file may be a tokenizer alone: JSON of another kind is none by its content,
 * and llama2.c's has no first bytes of its own. */
static bool may_tokenize(const char *path, txd_file_kind kind)
{
    return kind == TXD_FILE_JSON
               ? !ends_with(path, "config.json") && !ends_with(path, ".index.json")
           : kind == TXD_FILE_OTHER ? ends_with(path, ".bin")
           : kind == TXD_FILE_TEXT
               ? ends_with(path, "merges.txt") || ends_with(path, "vocab.bpe")
               : false;
}

/* *found if it is a tokenizer; one called so that is damaged is an error. */
static txd_status info_tokenizer(info_job *job, bool *found)
{
    txd_tokenizer *tokenizer = NULL;
    txd_status status = txd_tokenizer_open(&tokenizer, job->path);
    txd_text text;

    *found = status == TXD_OK;
    if (status != TXD_OK)
        return ends_with(job->path, "tokenizer.json") ? status : TXD_OK;
    txd_facts_text(&job->facts, "kind", "tokenizer");
    txd_facts_tokenizer(&job->facts, tokenizer);
    txd_text_init(&text);
    txd_text_addf(&text, "txdiag tokenize %s TEXT; in a MODEL.cfg input.tokenizer",
                  job->path);
    txd_facts_text(&job->facts, "for", txd_text_get(&text));
    txd_text_finish(&text);
    txd_tokenizer_destroy(tokenizer);
    return TXD_OK;
}

/* By what it is, or else by what it is called: the reader says what is wrong with it.
 */
static txd_status info_file(info_job *job)
{
    txd_file_kind kind = txd_file_kind_at(job->path);

    if (kind == TXD_FILE_HDF5)
        return info_recording(job);
    if (kind == TXD_FILE_NPY || ends_with(job->path, ".npy"))
        return info_npy(job);
    if (may_tokenize(job->path, kind)) {
        bool found;

        TXD_TRY(info_tokenizer(job, &found));
        if (found)
            return TXD_OK;
    }
    if (txd_info_is_model(job->path, kind))
        return txd_info_model_add(&job->model, &job->facts, job->path, false);
    if (kind == TXD_FILE_TEXT || kind == TXD_FILE_JSON || kind == TXD_FILE_EMPTY)
        return info_cfg(job);
    return txd_fail(TXD_ERR_FORMAT,
                    "%s: expected a recording, a model (GGUF, safetensors, .npz, .bin "
                    "of llama2.c, or the folder of one), .npy, or a MODEL.cfg, found "
                    "%s",
                    job->path, txd_file_kind_name(kind));
}

static txd_status collect(info_job *job)
{
    struct stat info;

    txd_facts_text(&job->facts, "path", job->path);
    if (stat(job->path, &info) != 0 && errno == ENOENT)
        return info_recording(job); /* its .part may be there */
    if (access(job->path, R_OK) != 0)
        return txd_fail(TXD_ERR_IO, "%s: %s", job->path, strerror(errno));
    if (S_ISDIR(info.st_mode))
        return txd_info_model_add(&job->model, &job->facts, job->path, true);
    if (!S_ISREG(info.st_mode))
        return txd_fail(TXD_ERR_IO, "%s: not a regular file", job->path);
    txd_facts_number(&job->facts, "bytes", (double)info.st_size);
    return info_file(job);
}

static int print_info(const txd_options *options)
{
    info_job job = {.options = options, .path = options->operands[0]};
    txd_text text;
    txd_status status = txd_arena_create(&job.facts.arena);
    int exit_status;

    if (status == TXD_OK)
        status = collect(&job);
    if (status == TXD_OK && !job.session.root && txd_options_has(options, "set"))
        status = txd_fail(TXD_ERR_ARGUMENT,
                          "--set overrides a MODEL.cfg, and %s is none", job.path);
    if (status == TXD_OK) {
        txd_text_init(&text);
        if (txd_options_has(options, "json"))
            txd_facts_json(&text, &job.facts);
        else
            txd_facts_print(&text, &job.facts);
        exit_status = txd_output_result(&text, TXD_EXIT_HELD);
    } else {
        exit_status = txd_output_complain();
    }
    txd_trace_destroy(job.trace);
    txd_info_model_close(&job.model);
    txd_session_close(&job.session);
    txd_arena_destroy(job.facts.arena);
    return exit_status;
}

static const txd_option options[] = {
    {"json", 0, NULL, "as one JSON object"},
    {"set", 0, "PATH=VALUE", "with a MODEL.cfg: overrides one of its settings"},
    {NULL, 0, NULL, NULL},
};

const txd_command txd_command_info = {
    .name = "info",
    .sentence = "say what a file or a folder holds",
    .usage = "FILE|FOLDER [--json]",
    .help =
        "Says what is in a recording (steps, datasets with shapes, verdicts, whether "
        "it\n"
        "is complete), a model (family, sizes, conventions, tensors: GGUF, "
        "safetensors,\n"
        ".npz, .bin of llama2.c, or the folder of a Hugging Face model), a tokenizer, "
        "an "
        "npy\n"
        "file, or a MODEL.cfg (everything resolved).\n"
        "\n"
        "  txdiag info mini.h5\n"
        "  txdiag info path/to/hf-folder\n"
        "  txdiag info model.gguf\n"
        "  txdiag info examples/mini.cfg --json",
    .exits = "  0  read\n"
             "  2  not readable, or malformed: the message says where\n",
    .options = options,
    .least = 1,
    .most = 1,
    .run = print_info,
};
