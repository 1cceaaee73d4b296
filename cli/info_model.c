/* SPDX-License-Identifier: MIT
 *
 * First the file as such, then the model in it. That a model cannot be run is a fact
 * among others here; that a file is damaged is an error.
 */
#include "cli/info_model.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/conventions.h"
#include "cli/output.h"

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);

    return length >= tail && strcmp(text + length - tail, ending) == 0;
}

static bool has_config(txd_facts *facts, const char *path)
{
    const char *config = txd_output_beside(facts->arena, path, "config.json");
    struct stat about;

    return config && stat(config, &about) == 0;
}

/* One that is damaged: its reader says how. */
static bool is_bin(const char *path, txd_file_kind kind)
{
    return kind == TXD_FILE_OTHER && ends_with(path, ".bin");
}

static const char *kind_of(const char *path)
{
    txd_file_kind kind = txd_file_kind_at(path);

    if (ends_with(path, ".index.json"))
        return "sharded safetensors";
    return kind == TXD_FILE_GGUF                            ? "GGUF"
           : kind == TXD_FILE_LLAMA2C || is_bin(path, kind) ? "llama2.c"
           : kind == TXD_FILE_NPZ                           ? "npz"
                                                            : "safetensors";
}

/* ---- GGUF ---- */

static void add_meta(txd_facts *facts, const txd_trace *trace, const char *name,
                     const char *key)
{
    txd_facts_text(facts, name, txd_trace_meta(trace, key));
}

static void add_tokenizer(txd_facts *facts, const txd_trace *trace,
                          const txd_gguf *gguf)
{
    const txd_gguf_value *tokens = txd_gguf_find(gguf, "tokenizer.ggml.tokens");
    const txd_gguf_value *merges = txd_gguf_find(gguf, "tokenizer.ggml.merges");
    const char *pre = txd_trace_meta(trace, "tokenizer.ggml.pre");
    const char *model = txd_trace_meta(trace, "tokenizer.ggml.model");
    char text[256];

    if (!tokens || !model)
        return;
    snprintf(text, sizeof text, "%.60s%s%.60s%s, %zu tokens", model, pre ? " (" : "",
             pre ? pre : "", pre ? ")" : "", tokens->count);
    if (merges)
        snprintf(text + strlen(text), sizeof text - strlen(text), ", %zu merges",
                 merges->count);
    txd_facts_text(facts, "tokenizer", text);
}

static void add_gguf(txd_facts *facts, const txd_trace *trace, const txd_gguf *gguf)
{
    txd_facts_number(facts, "version", txd_gguf_version(gguf));
    add_meta(facts, trace, "architecture", "general.architecture");
    add_meta(facts, trace, "name", "general.name");
    add_meta(facts, trace, "license", "general.license");
    txd_facts_number(facts, "metadata", (double)txd_gguf_count(gguf));
    add_tokenizer(facts, trace, gguf);
}

/* ---- the file, then the model ---- */

/* What lies beside arrays; one that is not supported is told as such. */
static void add_beside(txd_facts *facts, const char *path)
{
    txd_tokenizer *tokenizer = NULL;
    txd_status status = txd_tokenizer_open(&tokenizer, path);

    if (status == TXD_OK)
        txd_facts_tokenizer(facts, tokenizer);
    else if (status != TXD_ERR_MISSING)
        txd_facts_text(facts, "no_tokenizer", txd_message());
    txd_tokenizer_destroy(tokenizer);
}

static txd_status open_trace(txd_info_model *out, txd_facts *facts, const char *path)
{
    const char *kind = kind_of(path);
    const txd_gguf *gguf = NULL;
    txd_setting *settings;

    if (strcmp(kind, "GGUF") == 0 || ends_with(path, ".gguf")) {
        TXD_TRY(txd_gguf_open(&out->trace, &gguf, path));
        add_gguf(facts, out->trace, gguf);
        return TXD_OK;
    }
    if (strcmp(kind, "sharded safetensors") == 0)
        return txd_sharded_open(&out->trace, path);
    if (strcmp(kind, "npz") == 0 || ends_with(path, ".npz"))
        return txd_npz_open(&out->trace, path);
    if (strcmp(kind, "llama2.c") == 0)
        return txd_llama2c_open(&out->trace, &settings, facts->arena, path);
    TXD_TRY(txd_safetensors_open(&out->trace, path));
    add_meta(facts, out->trace, "format", "format");
    return TXD_OK;
}

static txd_status add_config(txd_facts *facts, const txd_config *config)
{
    txd_status status;
    txd_text text;

    txd_text_init(&text);
    txd_config_print(&text, config);
    status = txd_text_status(&text);
    if (status == TXD_OK)
        facts->config = txd_arena_string(facts->arena, txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static txd_status add_tensors(txd_facts *facts, const txd_trace *trace)
{
    facts->entry_word = "tensors";
    facts->entries = trace;
    txd_facts_number(facts, "tensor_bytes", txd_facts_bytes(trace));
    return TXD_OK;
}

/* A field that is not used is no error, but whoever wrote it should know. */
static txd_status add_unused(const txd_info_model *out, txd_facts *facts)
{
    txd_status status;
    txd_text text;

    txd_text_init(&text);
    status = txd_checkpoint_unused(&text, out->checkpoint);
    if (status == TXD_OK && text.length > 0)
        txd_facts_text(facts, "not_used", txd_text_get(&text));
    txd_text_finish(&text);
    return status;
}

static txd_status add_model(const txd_info_model *out, txd_facts *facts)
{
    const txd_config *config = txd_checkpoint_config(out->checkpoint);

    txd_facts_text(facts, "family", txd_checkpoint_family(out->checkpoint));
    if (config) {
        TXD_TRY(txd_conventions_add(facts, config));
        TXD_TRY(add_config(facts, config));
    }
    TXD_TRY(add_unused(out, facts));
    return add_tensors(facts, txd_checkpoint_tensors(out->checkpoint));
}

static bool is_whole(txd_facts *facts, const char *path)
{
    const char *kind = kind_of(path);

    return strcmp(kind, "GGUF") == 0 || strcmp(kind, "llama2.c") == 0 ||
           has_config(facts, path);
}

txd_status txd_info_model_add(txd_info_model *out, txd_facts *facts, const char *path,
                              bool is_folder)
{
    const char *file = path;

    if (is_folder) {
        TXD_TRY(txd_checkpoint_open(&out->checkpoint, path));
        file = txd_checkpoint_path(out->checkpoint);
        txd_facts_text(facts, "file", file);
    }
    txd_facts_text(facts, "kind", kind_of(file));
    TXD_TRY(open_trace(out, facts, file));
    if (strcmp(kind_of(file), "GGUF") != 0 && strcmp(kind_of(file), "llama2.c") != 0)
        add_beside(facts, path);
    if (out->checkpoint)
        return add_model(out, facts);
    if (!is_whole(facts, path))
        return add_tensors(facts, out->trace);
    if (txd_checkpoint_open(&out->checkpoint, path) == TXD_OK)
        return add_model(out, facts);
    txd_facts_text(facts, "not_a_model", txd_message());
    return add_tensors(facts, out->trace);
}

void txd_info_model_close(txd_info_model *model)
{
    txd_trace_destroy(model->trace);
    txd_checkpoint_destroy(model->checkpoint);
}

bool txd_info_is_model(const char *path, txd_file_kind kind)
{
    return kind == TXD_FILE_GGUF || kind == TXD_FILE_LLAMA2C || kind == TXD_FILE_NPZ ||
           kind == TXD_FILE_SAFETENSORS || ends_with(path, ".gguf") ||
           ends_with(path, ".npz") || ends_with(path, ".safetensors") ||
           ends_with(path, ".index.json") || is_bin(path, kind);
}
