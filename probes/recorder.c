/* SPDX-License-Identifier: MIT
 *
 * The recorder: sets the probes up, keeps their taps, and writes what belongs to no
 * probe: metadata, inputs, a row of /steps and a line for watchers per step.
 */
#include "probes/recorder.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "probes/parts.h"

struct txd_recorder {
    txd_recording *recording;
    txd_arena *arena;
    txd_probe_context context;
    txd_probe_frame **probes;
    txd_tap **taps; /* theirs */
    size_t probe_count;
    size_t inputs[TXD_INPUT_PARTS];
    txd_memory_record memory;
    int32_t *scratch; /* (b, t): labels, calls */
    txd_piece_record pieces;
    char *lines_path; /* PATH.jsonl */
    FILE *lines;      /* opened by the first step, so that a failed start keeps it */
    int step;
    size_t length, memory_length;
    bool has_gradients;
    struct timespec begun;
};

static txd_status write_meta(txd_recording *recording, const txd_recorder_info *info,
                             const txd_probe_context *context,
                             const txd_probe_use *uses, size_t count)
{
    const struct {
        const char *key, *value;
    } texts[] = {
        {"command", info->command},
        {"config", info->config},
        {"faults", info->faults},
        {"backend", info->backend},
        {"simd", info->simd},
        {"blas", info->blas},
        {"dtype", txd_recording_dtype(context->dtype)},
        {"storage", txd_storage_name(context->how.storage)},
        {"compression", context->how.deflate ? "deflate" : "none"},
    };
    txd_text record;
    txd_status status;

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TXD_TRY(txd_recording_meta(recording, texts[i].key,
                                   texts[i].value ? texts[i].value : ""));
    TXD_TRY(txd_recording_meta_int(recording, "seed", info->seed));
    if (info->budget && info->budget[0])
        TXD_TRY(txd_recording_meta(recording, "budget", info->budget));
    txd_text_init(&record);
    txd_probe_uses_print(&record, uses, count);
    status = txd_text_status(&record);
    if (status == TXD_OK)
        status = txd_recording_meta(recording, "record", txd_text_get(&record));
    txd_text_finish(&record);
    return status;
}

static txd_status make_inputs(txd_recorder *recorder)
{
    const txd_probe_context *context = &recorder->context;

    for (int i = 0; i < txd_input_parts(&recorder->context); i++) {
        char path[32];
        txd_dataset_spec spec = txd_input_spec(path, context, (txd_input_part)i);

        TXD_TRY(
            txd_recording_dataset(recorder->recording, &recorder->inputs[i], &spec));
    }
    TXD_TRY(txd_memory_make(&recorder->memory, recorder->recording, context));
    recorder->scratch = txd_arena_alloc(
        recorder->arena, context->batch * context->length, sizeof(int32_t));
    TXD_TRY(txd_pieces_make(&recorder->pieces, recorder->arena, context));
    return recorder->scratch ? TXD_OK : TXD_ERR_MEMORY;
}

static txd_status make_probes(txd_recorder *recorder, const txd_probe_use *uses,
                              size_t count)
{
    txd_probe_part *parts;
    size_t part_count;

    TXD_TRY(txd_probe_parts(&parts, &part_count, recorder->arena, uses, count));
    recorder->probes =
        txd_arena_alloc(recorder->arena, part_count, sizeof *recorder->probes);
    recorder->taps =
        txd_arena_alloc(recorder->arena, part_count, sizeof *recorder->taps);
    if (!recorder->probes || !recorder->taps)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < part_count; i++) {
        TXD_TRY(txd_probe_create(&recorder->probes[i], parts[i].probe, parts[i].first,
                                 &recorder->context));
        recorder->taps[i] = &recorder->probes[i]->tap;
        recorder->probe_count++;
    }
    return TXD_OK;
}

/* The lines of an earlier run may be replaced, and what is empty. */
static txd_status check_lines(const char *path)
{
    struct stat about;
    FILE *file;
    int first = EOF;

    if (stat(path, &about) != 0)
        return TXD_OK;
    file = S_ISREG(about.st_mode) ? fopen(path, "r") : NULL;
    if (file) {
        first = getc(file);
        fclose(file);
    }
    if (S_ISREG(about.st_mode) && (first == EOF || first == '{'))
        return TXD_OK;
    return txd_fail(TXD_ERR_IO,
                    "%s: the lines of the run go there, but what is there is none; "
                    "choose another output, or replace it with --force",
                    path);
}

static txd_status fill(txd_recorder *recorder, const char *path, bool force,
                       const txd_recorder_info *info, const txd_probe_use *uses,
                       size_t count)
{
    size_t bytes = strlen(path) + sizeof ".jsonl";

    TXD_TRY(txd_arena_create(&recorder->arena));
    recorder->lines_path = txd_arena_alloc(recorder->arena, bytes, 1);
    if (!recorder->lines_path)
        return TXD_ERR_MEMORY;
    snprintf(recorder->lines_path, bytes, "%s.jsonl", path);
    if (!force)
        TXD_TRY(check_lines(recorder->lines_path));
    TXD_TRY(txd_recording_pack(recorder->recording, recorder->context.how.deflate,
                               recorder->context.how.threads));
    TXD_TRY(write_meta(recorder->recording, info, &recorder->context, uses, count));
    TXD_TRY(make_inputs(recorder));
    return make_probes(recorder, uses, count);
}

/* Everything but the recording, which ends in more than one way. */
static txd_status release(txd_recorder *recorder)
{
    txd_status status = TXD_OK;

    for (size_t i = 0; i < recorder->probe_count; i++)
        txd_probe_destroy(recorder->probes[i]);
    if (recorder->lines && fclose(recorder->lines) != 0)
        status = txd_fail(TXD_ERR_IO, "%s: %s", recorder->lines_path, strerror(errno));
    txd_arena_destroy(recorder->arena);
    free(recorder);
    return status;
}

txd_status txd_recorder_create(txd_recorder **out, const char *path, bool force,
                               const txd_probe_context *context,
                               const txd_recorder_info *info, const txd_probe_use *uses,
                               size_t count)
{
    txd_recorder *recorder = calloc(1, sizeof *recorder);
    txd_status status;

    if (!recorder)
        return txd_fail(TXD_ERR_MEMORY, "no memory for a recorder");
    status = txd_recording_create(&recorder->recording, path, force);
    if (status != TXD_OK) {
        free(recorder);
        return status;
    }
    recorder->context = *context;
    recorder->context.recording = recorder->recording;
    recorder->has_gradients = txd_record_has_gradients(uses, count);
    status = fill(recorder, path, force, info, uses, count);
    if (status != TXD_OK) {
        txd_recorder_discard(recorder);
        return status;
    }
    *out = recorder;
    return TXD_OK;
}

txd_tap *const *txd_recorder_taps(const txd_recorder *recorder, size_t *count)
{
    *count = recorder->probe_count;
    return recorder->taps;
}

/* What each token is to be followed by; -1 where a pair would hold padding. */
static void fill_labels(int32_t *labels, const txd_inputs *inputs)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        labels[i] = txd_inputs_is_pair(inputs, i) ? inputs->tokens[i + 1] : -1;
}

static txd_status write_inputs(txd_recorder *recorder, const txd_inputs *inputs)
{
    const int32_t *const parts[TXD_INPUT_PARTS] = {
        [TXD_INPUT_TOKENS] = inputs->tokens,
        [TXD_INPUT_VALID] = inputs->valid,
        [TXD_INPUT_POSITIONS] = inputs->positions,
        [TXD_INPUT_DOCUMENT] = inputs->document,
        [TXD_INPUT_TYPES] = inputs->types,
    };
    const size_t start[2] = {0, 0}, count[2] = {inputs->batch, inputs->length};

    for (int i = 0; i < txd_input_parts(&recorder->context); i++) {
        const int32_t *data = parts[i] ? parts[i] : recorder->scratch;

        if (i == TXD_INPUT_LABELS)
            fill_labels(recorder->scratch, inputs);
        else if (!parts[i])
            memset(recorder->scratch, 0,
                   inputs->batch * inputs->length * sizeof *recorder->scratch);
        TXD_TRY(txd_recording_write(recorder->recording, recorder->inputs[i],
                                    (size_t)recorder->step, start, count, data,
                                    TXD_I32));
    }
    return TXD_OK;
}

txd_status txd_recorder_step_begin(txd_recorder *recorder, const txd_inputs *inputs,
                                   int step)
{
    const txd_probe_context *context = &recorder->context;

    if (step < 0 || inputs->batch > context->batch ||
        inputs->length > context->length || inputs->memory_length > context->memory)
        return txd_fail(TXD_ERR_ARGUMENT,
                        "step %d has %zu x %zu tokens and %zu rows of memory, the "
                        "recording was made for at most %zu x %zu and %zu",
                        step, inputs->batch, inputs->length, inputs->memory_length,
                        context->batch, context->length, context->memory);
    recorder->step = step;
    recorder->length = inputs->length;
    recorder->memory_length = inputs->memory_length;
    clock_gettime(CLOCK_MONOTONIC, &recorder->begun);
    if (inputs->batch == 0 || inputs->length == 0)
        return TXD_OK;
    TXD_TRY(
        txd_memory_write(&recorder->memory, recorder->recording, inputs, (size_t)step));
    TXD_TRY(txd_pieces_write(&recorder->pieces, recorder->recording, context, inputs));
    return write_inputs(recorder, inputs);
}

static txd_status append_step(const txd_recorder *recorder, double loss,
                              double grad_norm)
{
    static const char *const kinds[] = {"forward", "backward"};
    const int64_t step = recorder->step, length = (int64_t)recorder->length;
    const int64_t memory = (int64_t)recorder->memory_length;
    const txd_column columns[] = {
        {.name = "step", .dtype = TXD_I64, .data = &step},
        {.name = "kind", .strings = &kinds[recorder->has_gradients]},
        {.name = "length_q", .dtype = TXD_I64, .data = &length},
        {.name = "length_k", .dtype = TXD_I64, .data = &length},
        {.name = "loss", .dtype = TXD_F64, .data = &loss},
        {.name = "grad_norm", .dtype = TXD_F64, .data = &grad_norm},
        {.name = "length_memory", .dtype = TXD_I64, .data = &memory}, /* the last */
    };
    size_t count = sizeof columns / sizeof *columns;

    return txd_recording_append(recorder->recording, "steps", columns,
                                recorder->memory.parts > 0 ? count : count - 1, 1);
}

static double seconds_since(const struct timespec *begun)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)(now.tv_sec - begun->tv_sec) +
           1e-9 * (double)(now.tv_nsec - begun->tv_nsec);
}

static void print_line(txd_text *line, const txd_recorder *recorder, double loss,
                       double grad_norm)
{
    txd_json json;

    txd_json_init(&json, line, 0);
    txd_json_open_object(&json);
    txd_json_key(&json, "step");
    txd_json_int(&json, recorder->step);
    txd_json_key(&json, "loss");
    txd_json_number(&json, loss);
    if (recorder->has_gradients) {
        txd_json_key(&json, "grad_norm");
        txd_json_number(&json, grad_norm);
    }
    txd_json_key(&json, "seconds");
    txd_json_number(&json, round(seconds_since(&recorder->begun) * 1e6) / 1e6);
    txd_json_key(&json, "bytes");
    txd_json_int(&json, (int64_t)txd_recording_bytes(recorder->recording));
    txd_json_close_object(&json);
    txd_text_add(line, "\n");
}

static txd_status write_line(txd_recorder *recorder, const txd_text *line)
{
    if (!recorder->lines) {
        unlink(recorder->lines_path); /* a link goes, what it leads to stays */
        recorder->lines = fopen(recorder->lines_path, "wx");
    }
    if (recorder->lines &&
        fwrite(line->data, 1, line->length, recorder->lines) == line->length &&
        fflush(recorder->lines) == 0)
        return TXD_OK;
    return txd_fail(TXD_ERR_IO, "%s: %s", recorder->lines_path, strerror(errno));
}

txd_status txd_recorder_step_end(txd_recorder *recorder, double loss, double grad_norm)
{
    txd_text line;
    txd_status status;

    TXD_TRY(append_step(recorder, loss, grad_norm));
    TXD_TRY(txd_recording_flush(recorder->recording));
    txd_text_init(&line);
    print_line(&line, recorder, loss, grad_norm);
    status = txd_text_status(&line);
    if (status == TXD_OK)
        status = write_line(recorder, &line);
    txd_text_finish(&line);
    return status;
}

txd_recording *txd_recorder_recording(txd_recorder *recorder)
{
    return recorder->recording;
}

txd_status txd_recorder_close(txd_recorder *recorder, bool complete)
{
    txd_recording *recording;
    txd_status lines, status;

    if (!recorder)
        return TXD_OK;
    recording = recorder->recording;
    lines = release(recorder);
    status = txd_recording_close(recording, complete && lines == TXD_OK);
    return lines == TXD_OK ? status : lines;
}

void txd_recorder_discard(txd_recorder *recorder)
{
    txd_recording *recording;

    if (!recorder)
        return;
    recording = recorder->recording;
    if (recorder->lines)
        remove(recorder->lines_path);
    (void)release(recorder);
    txd_recording_discard(recording);
}
