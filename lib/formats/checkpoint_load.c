/* SPDX-License-Identifier: MIT
 *
 * Parameters out of a checkpoint: cut into pieces of rows, which threads read into
 * their final places. What is stored twice is compared afterwards.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/checkpoint_internal.h"
#include "ops/ops.h"

#define PIECE_ELEMENTS 262144

/* Rows of one run of a stored tensor. */
struct piece {
    const txd_source *source;
    const txd_param *param;
    size_t from, to, count; /* stored rows from `from` on are rows from `to` on */
};

struct job {
    const txd_checkpoint *checkpoint;
    txd_arena *arena;
    struct piece *pieces;
    size_t count, capacity;
};

static size_t width_of(const txd_trace_info *info)
{
    return info->rank == 2 ? info->dims[1] : 1;
}

static txd_status read_rows(void *out, const txd_checkpoint *checkpoint,
                            const struct piece *piece)
{
    const txd_trace_info *info = &piece->source->info;
    size_t start[2] = {piece->from, 0}, count[2] = {piece->count, width_of(info)};
    size_t index = piece->source->tensor->index;
    txd_status status = txd_trace_read(checkpoint->trace, out, index, start, count,
                                       piece->param->value.dtype);

    txd_trace_release(checkpoint->trace, index, piece->from, piece->count);
    return status;
}

static void *make_block(const struct piece *piece)
{
    size_t count = piece->count * width_of(&piece->source->info);
    void *block = malloc(count * txd_dtype_bytes(piece->param->value.dtype));

    if (!block)
        txd_fail(TXD_ERR_MEMORY, "no memory to read a part of a weight");
    return block;
}

static void copy_transposed_f64(double *out, const double *in, size_t rows,
                                size_t width, size_t stride)
{
    for (size_t j = 0; j < width; j++)
        for (size_t i = 0; i < rows; i++)
            out[j * stride + i] = in[i * width + j];
}

static void copy_transposed_f32(float *out, const float *in, size_t rows, size_t width,
                                size_t stride)
{
    for (size_t j = 0; j < width; j++)
        for (size_t i = 0; i < rows; i++)
            out[j * stride + i] = in[i * width + j];
}

/* Rows of a stored (in, out) are columns of the (out, in). */
static txd_status read_transposed(const txd_checkpoint *checkpoint,
                                  const struct piece *piece)
{
    const txd_tensor *value = &piece->param->value;
    size_t outputs = value->dims[0], inputs = value->dims[1];
    void *block = make_block(piece);
    txd_status status;

    if (!block)
        return TXD_ERR_MEMORY;
    status = read_rows(block, checkpoint, piece);
    if (status == TXD_OK && value->dtype == TXD_F64)
        copy_transposed_f64((double *)value->data + piece->to, block, piece->count,
                            outputs, inputs);
    else if (status == TXD_OK)
        copy_transposed_f32((float *)value->data + piece->to, block, piece->count,
                            outputs, inputs);
    free(block);
    return status;
}

static void *place_of(const struct piece *piece)
{
    const txd_tensor *value = &piece->param->value;
    size_t width = value->rank == 2 ? value->dims[1] : 1;

    return (char *)value->data + piece->to * width * txd_dtype_bytes(value->dtype);
}

static txd_status read_piece(void *self, size_t i, int worker)
{
    const struct job *job = self;
    const struct piece *piece = &job->pieces[i];

    (void)worker;
    if (piece->source->transposed)
        return read_transposed(job->checkpoint, piece);
    return read_rows(place_of(piece), job->checkpoint, piece);
}

static txd_status fail_different(const struct job *job, const struct piece *piece,
                                 size_t row)
{
    txd_param_id id = piece->param->id;
    bool head = id == TXD_PARAM_EMBED_TOK && job->checkpoint->config.tie_embeddings;
    char name[TXD_NAME_BYTES];

    txd_param_name(name, sizeof name, id, piece->param->layer);
    return txd_fail(
        TXD_ERR_FORMAT,
        "%s: row %zu of \"%s\" is not that of the other tensor with \"%s\"%s",
        job->checkpoint->path, row, piece->source->info.name, name,
        head ? ", to which the head is tied; set tie_word_embeddings to "
               "false if it is a head of its own"
             : "");
}

static txd_status compare_piece(void *self, size_t i, int worker)
{
    const struct job *job = self;
    const struct piece *piece = &job->pieces[i];
    size_t bytes =
        width_of(&piece->source->info) * txd_dtype_bytes(piece->param->value.dtype);
    char *block = make_block(piece);
    const char *place = place_of(piece);
    txd_status status;

    (void)worker;
    if (!block)
        return TXD_ERR_MEMORY;
    status = read_rows(block, job->checkpoint, piece);
    for (size_t row = 0; status == TXD_OK && row < piece->count; row++)
        if (memcmp(block + row * bytes, place + row * bytes, bytes) != 0)
            status = fail_different(job, piece, piece->to + row);
    free(block);
    return status;
}

static txd_status add_piece(struct job *job, const struct piece *piece)
{
    size_t capacity = job->capacity ? 2 * job->capacity : 64;
    struct piece *pieces;

    if (job->count == job->capacity) {
        pieces = realloc(job->pieces, capacity * sizeof *pieces);
        if (!pieces)
            return txd_fail(TXD_ERR_MEMORY, "no memory to read a checkpoint");
        job->pieces = pieces;
        job->capacity = capacity;
    }
    job->pieces[job->count++] = *piece;
    return TXD_OK;
}

static txd_status add_source(struct job *job, const txd_source *found,
                             const txd_param *param)
{
    txd_source *source = txd_arena_alloc(job->arena, 1, sizeof *source);
    size_t rows = PIECE_ELEMENTS / width_of(&found->info);

    if (!source)
        return TXD_ERR_MEMORY;
    *source = *found;
    rows = rows == 0 ? 1 : rows;
    for (size_t group = 0; group < source->groups; group++)
        for (size_t at = 0; at < source->run; at += rows) {
            size_t left = source->run - at;
            const struct piece piece = {
                .source = source,
                .param = param,
                .from = source->first + group * source->stride + at,
                .to = group * source->run + at,
                .count = left < rows ? left : rows,
            };

            TXD_TRY(add_piece(job, &piece));
        }
    return TXD_OK;
}

/* What is read first, or what must equal it. */
static txd_status add_sources(struct job *job, txd_params *params,
                              const txd_config *config, bool twins)
{
    for (size_t i = 0; i < txd_params_count(params); i++) {
        const txd_param *param = txd_params_at(params, i);
        bool of_encoder = param->encoder_layer >= 0 || i >= txd_params_bound(params);
        const txd_config *of = of_encoder ? config->encoder : config;
        txd_wanted wanted = {.id = param->id,
                             .layer = of_encoder ? param->encoder_layer : param->layer,
                             .of_encoder = of_encoder};
        txd_source source;

        for (size_t nth = twins ? 1 : 0; nth == 0 || twins; nth++) {
            TXD_TRY(txd_source_find(&source, job->checkpoint, of, &wanted, nth));
            if (!source.tensor)
                break;
            TXD_TRY(add_source(job, &source, param));
            if (!twins)
                break;
        }
    }
    return TXD_OK;
}

static txd_status load(struct job *job, txd_params *params, const txd_config *config,
                       int threads)
{
    txd_ctx ctx = {.threads = txd_threads_of(threads)};

    TXD_TRY(txd_arena_create(&job->arena));
    TXD_TRY(add_sources(job, params, config, false));
    TXD_TRY(txd_parallel(&ctx, job->count, PIECE_ELEMENTS, read_piece, job));
    job->count = 0;
    TXD_TRY(add_sources(job, params, config, true));
    return txd_parallel(&ctx, job->count, PIECE_ELEMENTS, compare_piece, job);
}

static txd_dtype widest(const txd_checkpoint *checkpoint)
{
    txd_trace_info info;

    for (size_t i = 0; i < checkpoint->count; i++)
        if (checkpoint->tensors[i].used &&
            txd_trace_get(checkpoint->trace, &info, checkpoint->tensors[i].index) ==
                TXD_OK &&
            info.dtype == TXD_F64)
            return TXD_F64;
    return TXD_F32;
}

txd_status txd_checkpoint_params(txd_params **out, const txd_checkpoint *checkpoint,
                                 const txd_config *config, int threads)
{
    struct job job = {.checkpoint = checkpoint};
    txd_params *params = NULL;
    txd_status status;

    TXD_TRY(txd_checkpoint_check_params(checkpoint, config));
    if (!txd_checkpoint_config(checkpoint))
        TXD_TRY(txd_stored_unused(checkpoint));
    TXD_TRY(txd_params_create(&params, config, widest(checkpoint)));
    status = load(&job, params, config, threads);
    free(job.pieces);
    txd_arena_destroy(job.arena);
    if (status != TXD_OK)
        txd_params_destroy(params);
    else
        *out = params;
    return status;
}
