/* SPDX-License-Identifier: MIT
 *
 * The dry run: a line per dataset that a run would make, and the size of the file.
 */
#include <string.h>

#include "probes/parts.h"
#include "probes/recorder.h"

#define STEP_COLUMNS 6

/* What every run adds at its end: /checks/laws, a row per law, and /checks/findings.
 * How many there will be, nobody knows; in a healthy model there are few. */
#define CHECK_COLUMNS (8 + 12)
#define CHECK_ROWS 32

/* A text: where it lies, and itself, as long as names of sites mostly are. */
#define REFERENCE_BYTES 16
#define TEXT_BYTES 64
#define PIECE_BYTES 32

typedef struct listing {
    txd_text *out;
    const char *probe;
    size_t total, wrong;
    bool is_faulty;
    txd_recording_memory memory;
} listing;

static void add_shape(txd_text *out, const txd_dataset_spec *spec)
{
    bool is_first = true;

    txd_text_add(out, "(");
    if (spec->per_step) {
        txd_text_addf(out, "s %zu", spec->steps);
        is_first = false;
    }
    for (int i = 0; i < spec->rank; i++) {
        txd_text_addf(out, "%s%c %zu", is_first ? "" : ", ",
                      spec->axes[i + spec->per_step], spec->dims[i]);
        is_first = false;
    }
    txd_text_add(out, ")");
}

static void pad(txd_text *out, size_t begin, size_t width)
{
    do
        txd_text_add(out, " ");
    while (out->length > begin && out->length - begin < width);
}

static txd_status add_dataset(void *self, const txd_probe_dataset *dataset)
{
    listing *list = self;
    txd_text *out = list->out;
    const txd_dataset_spec *spec = &dataset->spec;
    size_t bytes = txd_probe_dataset_bytes(dataset), begin = out->length;

    /* Values by the name of their point, which is what `record` takes. */
    txd_text_add(out, strncmp(spec->path, "value/", 6) == 0 ||
                              strncmp(spec->path, "grad/", 5) == 0
                          ? dataset->name
                          : spec->path);
    pad(out, begin, 40);
    txd_text_add(out, list->probe);
    pad(out, begin, 51);
    txd_text_add(out, txd_recording_dtype(spec->dtype));
    pad(out, begin, 60);
    txd_text_addf(out, "%14zu  ", bytes);
    add_shape(out, spec);
    txd_text_add(out, "\n");
    txd_recording_memory_add(&list->memory, spec);
    if (list->is_faulty && spec->fill_zero)
        TXD_TRY(txd_size_add(&list->wrong, list->wrong, dataset->left_out));
    return txd_size_add(&list->total, list->total, bytes);
}

static txd_status add_inputs(listing *list, const txd_probe_context *context)
{
    txd_probe_dataset dataset = {.name = "input"};
    char path[32];

    for (int i = 0; i < txd_input_parts(context); i++) {
        dataset.spec = txd_input_spec(path, context, (txd_input_part)i);
        TXD_TRY(add_dataset(list, &dataset));
    }
    for (size_t i = 0; i < txd_memory_parts(context); i++) {
        dataset.spec = txd_memory_spec(path, context, i);
        TXD_TRY(add_dataset(list, &dataset));
    }
    return TXD_OK;
}

static txd_status add_columns(listing *list, const txd_dataset_spec *spec, int columns)
{
    for (int column = 0; column < columns; column++) {
        txd_recording_memory_add(&list->memory, spec);
        TXD_TRY(txd_size_add(&list->total, list->total, txd_recording_estimate(spec)));
    }
    return TXD_OK;
}

/* /input/pieces: a text for every token; of the memory for every row. */
static txd_status add_pieces(listing *list, const txd_probe_context *context,
                             size_t length)
{
    txd_dataset_spec spec;
    size_t rows, texts;

    TXD_TRY(txd_size_mul(&rows, context->batch * length, context->steps));
    TXD_TRY(txd_size_mul(&texts, rows, PIECE_BYTES));
    spec = txd_recording_column(rows);
    TXD_TRY(
        txd_size_mul(&spec.dims[0], spec.dims[0], REFERENCE_BYTES / sizeof(double)));
    TXD_TRY(add_columns(list, &spec, 1));
    return txd_size_add(&list->total, list->total, texts);
}

/* /steps of the recorder, and /checks. */
static txd_status add_tables(listing *list, const txd_probe_context *context)
{
    const txd_dataset_spec steps = txd_recording_column(context->steps);
    const txd_dataset_spec checks = txd_recording_complete_column(CHECK_ROWS);

    TXD_TRY(add_columns(list, &steps, STEP_COLUMNS + context->claimed->cross));
    TXD_TRY(add_columns(list, &checks, CHECK_COLUMNS));
    if (context->has_pieces)
        TXD_TRY(add_pieces(list, context, context->length));
    return context->has_memory_pieces ? add_pieces(list, context, context->memory)
                                      : TXD_OK;
}

/* What the tables of a probe come to if there is all that they can hold. */
static txd_status add_events(listing *list, const txd_probe_frame *frame)
{
    for (const txd_table *table = frame->tables; table; table = table->next) {
        size_t rows, bytes, texts;

        TXD_TRY(txd_size_mul(&rows, table->most, frame->context->steps));
        TXD_TRY(txd_size_mul(&texts, rows, TEXT_BYTES));
        for (size_t i = 0; i < table->column_count; i++) {
            bool is_text = table->columns[i].kind == TXD_CELL_TEXT;
            txd_dataset_spec spec = txd_recording_column(rows);

            if (is_text)
                TXD_TRY(txd_size_mul(&spec.dims[0], spec.dims[0],
                                     REFERENCE_BYTES / sizeof(double)));
            bytes = txd_recording_estimate(&spec);
            TXD_TRY(txd_size_add(&list->wrong, list->wrong, bytes));
            if (is_text)
                TXD_TRY(txd_size_add(&list->wrong, list->wrong, texts));
        }
    }
    return TXD_OK;
}

static txd_status add_all(listing *list, txd_arena *arena,
                          const txd_probe_context *context, const txd_probe_use *uses,
                          size_t count)
{
    txd_probe_part *parts;
    size_t part_count;

    TXD_TRY(add_inputs(list, context));
    TXD_TRY(add_tables(list, context));
    TXD_TRY(txd_probe_parts(&parts, &part_count, arena, uses, count));
    for (size_t i = 0; i < part_count; i++) {
        txd_probe_frame *frame;
        txd_status status;

        list->probe = parts[i].probe->name;
        TXD_TRY(txd_probe_create(&frame, parts[i].probe, parts[i].first, context));
        status = add_events(list, frame);
        txd_probe_destroy(frame);
        TXD_TRY(status);
    }
    return TXD_OK;
}

txd_status txd_recorder_plan(txd_text *out, txd_recorder_cost *cost,
                             const txd_probe_context *context,
                             const txd_probe_use *uses, size_t count)
{
    txd_probe_context dry = *context;
    listing list = {.out = out, .probe = "input", .is_faulty = context->is_faulty};
    const txd_probe_listing listener = {add_dataset, &list};
    txd_arena *arena = NULL;
    txd_status status;

    dry.recording = NULL;
    dry.listing = &listener;
    list.total = txd_recording_estimate_empty();
    TXD_TRY(txd_arena_create(&arena));
    status = add_all(&list, arena, &dry, uses, count);
    txd_arena_destroy(arena);
    if (status == TXD_OK)
        status = txd_text_status(out);
    if (status != TXD_OK)
        return status;
    cost->disk = list.total;
    cost->wrong = list.wrong;
    cost->memory = txd_recording_memory_total(&list.memory);
    return TXD_OK;
}
