/* SPDX-License-Identifier: MIT
 *
 * The order matters: settings, then the checkpoint's own configuration, then input,
 * faults and weights, each judged by what came before it.
 */
#include "cli/session.h"

#include <string.h>
#include <sys/stat.h>

#include "cli/backends.h"
#include "cli/keys.h"
#include "cli/memory.h"
#include "cli/output.h"

#define DEFAULT_BACKEND "cpu32"

static txd_status fail_model(const char *path, const char *found, const char *model)
{
    return txd_fail(TXD_ERR_CONFIG,
                    "%s: expected a MODEL.cfg, found %s. For the model in it write a "
                    "file: model : { from = \"%s\"; }; input : { random : { length = "
                    "64; }; };",
                    path, found, model);
}

/* What to do with a file of another kind where a MODEL.cfg belongs. */
static const char *remedy_of(txd_file_kind kind)
{
    switch (kind) {
    case TXD_FILE_HDF5:
        return "; recordings are for `txdiag check`, plot, report and info";
    case TXD_FILE_NPY:
        return "; a MODEL.cfg names it as input.file, or as input.memory.file";
    case TXD_FILE_NPZ:
        return "; a MODEL.cfg names it as model.from if it holds weights, or as "
               "input.file, or as input.memory.file";
    case TXD_FILE_TORCH:
        return "; save the model with save_pretrained(folder, "
               "safe_serialization=True), and name that folder as model.from "
               "(`txdiag explain model.from`)";
    default:
        return "";
    }
}

/* The folder of the session's file, without a slash at its end. */
static const char *folder_of(const txd_session *session)
{
    const char *slash = strrchr(session->path, '/');
    size_t length = slash ? (size_t)(slash - session->path) : 0;
    char *folder = txd_arena_string(session->arena, session->path);

    if (!slash || !folder)
        return ".";
    folder[length ? length : 1] = '\0';
    return folder;
}

/* A model, or what a run has written, is what people try first: the message shows what
 * it needs. */
static txd_status load(txd_session *session)
{
    txd_status status = txd_cfg_load(&session->root, session->arena, session->path);
    txd_file_kind kind = txd_file_kind_at(session->path);
    const char *path = session->path, *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    struct stat about;

    if (kind == TXD_FILE_EMPTY)
        return txd_fail(TXD_ERR_CONFIG, "%s: the file is empty", path);
    if (status == TXD_OK)
        return status;
    if (stat(path, &about) == 0 && S_ISDIR(about.st_mode))
        return fail_model(path, "a folder", path);
    if (kind == TXD_FILE_SAFETENSORS || kind == TXD_FILE_GGUF ||
        kind == TXD_FILE_LLAMA2C)
        return fail_model(path, txd_file_kind_name(kind), path);
    if (kind == TXD_FILE_JSON && strstr(name, ".index.json"))
        return fail_model(path, "the index of a model in several files", path);
    if (kind == TXD_FILE_JSON && strcmp(name, "config.json") == 0)
        return fail_model(path, "that of a Hugging Face model", folder_of(session));
    if (kind == TXD_FILE_OTHER || kind == TXD_FILE_TEXT)
        return status;
    return txd_fail(TXD_ERR_CONFIG, "%s: expected a MODEL.cfg, found %s%s", path,
                    txd_file_kind_name(kind), remedy_of(kind));
}

static txd_status read_settings(txd_session *session, const txd_options *options)
{
    const txd_key *const *tables;
    const char *assignment;
    int64_t seed = 1;
    size_t at = 0;

    TXD_TRY(load(session));
    while ((assignment = txd_options_next(options, "set", &at)))
        TXD_TRY(txd_cfg_set(session->root, session->arena, assignment));
    TXD_TRY(txd_keys_all(&tables, session->arena));
    TXD_TRY(txd_settings_validate(session->root, tables));
    TXD_TRY(txd_setting_int(&seed, session->root, "seed", 0, INT64_MAX));
    session->seed = (uint64_t)seed;
    return TXD_OK;
}

static txd_status choose_backend(txd_session *session, const txd_options *options)
{
    const txd_setting *setting = txd_setting_find(session->root, "precision.backend");
    const char *name = DEFAULT_BACKEND;
    char place[512];
    txd_status status;

    if (options->backend) {
        status = txd_backends_find(&session->backend, options->backend);
        return status == TXD_OK ? status : txd_fail_prefix(status, "--backend");
    }
    TXD_TRY(txd_setting_string(&name, session->root, "precision.backend"));
    status = txd_backends_find(&session->backend, name);
    if (status != TXD_OK && setting)
        txd_fail_prefix(status, "%s", txd_setting_place(place, sizeof place, setting));
    return status;
}

static txd_status open_checkpoint(txd_session *session)
{
    const txd_setting *from = txd_setting_find(session->root, "model.from");
    char place[512];
    txd_status status;

    if (!from)
        return TXD_OK;
    session->from = txd_output_beside(session->arena, from->file, from->string);
    if (!session->from)
        return TXD_ERR_MEMORY;
    status = txd_checkpoint_open(&session->checkpoint, session->from);
    if (status != TXD_OK)
        txd_fail_prefix(status, "%s", txd_setting_place(place, sizeof place, from));
    return status;
}

txd_fault_scene txd_session_scene(const txd_session *session)
{
    bool experiments = txd_options_experiment(session->options);
    bool is_run = strcmp(session->options->command->name, "run") == 0;

    return (txd_fault_scene){.claimed = &session->claimed,
                             .inputs = &session->inputs,
                             .backend = session->backend,
                             .trained = session->checkpoint != NULL,
                             .forward_only = !session->backward && !experiments,
                             .no_cache = !experiments && is_run};
}

/* Faults are tried on the inputs of the first step, or of a later one if they cannot
 * act on it (padding may begin late). */
static txd_status plant_faults(txd_session *session)
{
    const char *first = NULL; /* why not on the first step, which people have in mind */
    txd_fault_scene scene = txd_session_scene(session);
    txd_status status;
    size_t step = 0;

    session->actual = &session->claimed;
    TXD_TRY(txd_faults_read(&session->faults, &session->fault_count, session->arena,
                            session->root));
    do {
        TXD_TRY(txd_input_source_step(&session->inputs, session->source, session->arena,
                                      step));
        if (session->fault_count == 0)
            return TXD_OK;
        status = txd_plan_create(&session->plan, &scene, session->faults,
                                 session->fault_count);
        if (status == TXD_ERR_INAPPLICABLE && !first)
            first = txd_arena_string(session->arena, txd_message());
    } while (status == TXD_ERR_INAPPLICABLE && ++step < session->steps && step < 64);
    if (status == TXD_ERR_INAPPLICABLE && first)
        return txd_fail(status, "%s", first);
    if (status == TXD_OK)
        session->actual = txd_plan_config(session->plan);
    return status;
}

txd_status txd_session_open(txd_session *out, const txd_options *options,
                            const char *path)
{
    const txd_config *stated = NULL;

    *out = (txd_session){.options = options, .path = path};
    TXD_TRY(txd_arena_create(&out->arena));
    TXD_TRY(read_settings(out, options));
    TXD_TRY(choose_backend(out, options));
    TXD_TRY(open_checkpoint(out));
    if (out->checkpoint)
        stated = txd_checkpoint_config(out->checkpoint);
    TXD_TRY(txd_config_read(&out->claimed, out->arena, out->root, stated));
    TXD_TRY(txd_points_order(&out->order, &out->stops, out->arena, &out->claimed));
    TXD_TRY(txd_input_source_create(&out->source, out->root, &out->claimed, out->seed));
    txd_session_say_texts(out);
    txd_input_source_shape(&out->batch, &out->length, out->source);
    out->memory = txd_input_source_memory(out->source);
    out->steps = txd_input_source_steps(out->source);
    out->backward = txd_record_asks_gradients(out->root);
    out->how.threads = options->threads;
    TXD_TRY(txd_record_how_read(&out->how, out->root));
    return plant_faults(out);
}

/* Said once, however many models the program runs. */
static void warn_of_slow_products(const txd_session *session)
{
    static bool said;
    const char *slow = txd_backend_blas_slow(session->backend);

    if (slow && !said)
        txd_output_say(session->options, "%s", slow);
    said = true;
}

txd_status txd_session_bind(txd_session *session)
{
    warn_of_slow_products(session);
    TXD_TRY(txd_memory_allows(txd_params_bytes(&session->claimed, TXD_F32),
                              "the parameters of the model",
                              "choose smaller sizes in model"));
    if (session->checkpoint) {
        TXD_TRY(txd_checkpoint_params(&session->params, session->checkpoint,
                                      &session->claimed, session->options->threads));
    } else {
        TXD_TRY(txd_params_create(&session->params, &session->claimed, TXD_F32));
        TXD_TRY(txd_params_init(session->params, &session->claimed, session->root,
                                session->seed, session->options->threads));
    }
    if (session->plan)
        TXD_TRY(txd_plan_edit_params(session->plan, session->params));
    return txd_model_create(&session->model, session->backend, session->actual,
                            session->params, session->options->threads);
}

void txd_session_close(txd_session *session)
{
    txd_model_destroy(session->model);
    txd_params_destroy(session->params);
    txd_plan_destroy(session->plan);
    txd_input_source_destroy(session->source);
    txd_checkpoint_destroy(session->checkpoint);
    txd_arena_destroy(session->arena);
    *session = (txd_session){0};
}

txd_probe_context txd_session_context(const txd_session *session)
{
    return (txd_probe_context){
        .claimed = &session->claimed,
        .order = session->order,
        .stops = session->stops,
        .params = session->params,
        .dtype = txd_backend_format(session->backend),
        .batch = session->batch,
        .length = session->length,
        .memory = session->memory,
        .has_pieces = txd_input_source_has_pieces(session->source),
        .has_memory_pieces = txd_input_source_has_memory_pieces(session->source),
        .steps = session->steps,
        .is_faulty = session->fault_count > 0,
        .how = session->how};
}

txd_status txd_session_record(txd_session *session)
{
    txd_probe_context context = txd_session_context(session);

    TXD_TRY(txd_record_read(&session->uses, &session->use_count, session->arena,
                            session->root, &context));
    session->backward = txd_record_has_gradients(session->uses, session->use_count);
    return TXD_OK;
}

/* A setting as it was written, below another root. */
static txd_status put_written(txd_arena *arena, txd_setting *root,
                              const txd_setting *written)
{
    txd_setting *copy = txd_setting_add(arena, root, written->name, written->kind);

    if (!copy)
        return TXD_ERR_MEMORY;
    copy->boolean = written->boolean;
    copy->integer = written->integer;
    copy->real = written->real;
    copy->string = written->string;
    copy->string_length = written->string_length;
    copy->child = written->child;
    copy->last = written->last;
    copy->count = written->count;
    return TXD_OK;
}

static txd_status put_number(txd_arena *arena, txd_setting *root, const char *name,
                             uint64_t value)
{
    txd_setting *setting = txd_setting_add(arena, root, name, TXD_SETTING_INT);

    if (!setting)
        return TXD_ERR_MEMORY;
    setting->integer = (int64_t)value;
    return TXD_OK;
}

/* What ran, whoever chose it. */
static txd_status put_backend(txd_arena *arena, txd_setting *precision,
                              const txd_backend *backend)
{
    txd_setting *setting =
        txd_setting_add(arena, precision, "backend", TXD_SETTING_STRING);

    if (!setting)
        return TXD_ERR_MEMORY;
    setting->string = txd_backend_name(backend);
    setting->string_length = strlen(setting->string);
    return TXD_OK;
}

static txd_status put_session(txd_setting *root, const txd_session *session)
{
    static const char *const resolved[] = {"version", "seed",      "model",
                                           "mask",    "precision", "faults"};
    txd_arena *arena = session->arena;
    const txd_setting *child;
    txd_setting *group;
    size_t i;

    TXD_TRY(put_number(arena, root, "version", 1));
    TXD_TRY(put_number(arena, root, "seed", session->seed));
    TXD_TRY(txd_config_put(arena, root, &session->claimed));
    for (group = root->child; group; group = group->next)
        if (strcmp(group->name, "precision") == 0)
            TXD_TRY(put_backend(arena, group, session->backend));
    for (child = session->root->child; child; child = child->next) {
        for (i = 0; i < sizeof resolved / sizeof *resolved; i++)
            if (strcmp(child->name, resolved[i]) == 0)
                break;
        if (i == sizeof resolved / sizeof *resolved)
            TXD_TRY(put_written(arena, root, child));
    }
    return TXD_OK;
}

void txd_session_print(txd_text *out, const txd_session *session)
{
    txd_setting *root = txd_setting_root(session->arena, NULL);
    txd_status status = root ? put_session(root, session) : TXD_ERR_MEMORY;

    if (status == TXD_OK)
        txd_settings_print(out, root);
    else
        out->status = status;
}

static void print_value(txd_text *out, const txd_setting *setting)
{
    switch (setting->kind) {
    case TXD_SETTING_STRING:
        txd_text_add(out, setting->string);
        break;
    case TXD_SETTING_INT:
        txd_text_addf(out, "%lld", (long long)setting->integer);
        break;
    case TXD_SETTING_REAL:
        txd_text_add_real(out, setting->real);
        break;
    default:
        txd_text_add(out, "?");
    }
}

void txd_session_print_fault(txd_text *out, const txd_fault_use *use)
{
    const txd_setting *child;

    txd_text_add(out, use->name);
    for (child = use->setting ? use->setting->child : NULL; child;
         child = child->next) {
        if (strcmp(child->name, "name") == 0)
            continue;
        txd_text_addf(out, " %s=", child->name);
        print_value(out, child);
    }
}

void txd_session_print_faults(txd_text *out, const txd_session *session)
{
    size_t i;

    for (i = 0; i < session->fault_count; i++) {
        txd_text_add(out, i ? "; " : "");
        txd_session_print_fault(out, &session->faults[i]);
    }
}
