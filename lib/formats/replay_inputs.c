/* SPDX-License-Identifier: MIT
 *
 * The inputs of a step as the pass had them. Recordings of others may lack some:
 * without `valid` every token is real, without `positions` they are counted.
 */
#include "formats/replay_internal.h"

#include <math.h>

/* The number of a step in a column of `steps`; without one, all that there is. */
static txd_status read_length(const txd_replay *replay, size_t *out, size_t step,
                              size_t entry, size_t all)
{
    const size_t one = 1;
    txd_trace_info info;
    int64_t length;

    *out = all;
    if (entry == TXD_REPLAY_NONE)
        return TXD_OK;
    TXD_TRY(txd_trace_get(replay->trace, &info, entry));
    if (info.rank != 1 || info.dims[0] <= step)
        return txd_fail(TXD_ERR_FORMAT, "%s: step %zu is missing", info.name, step);
    TXD_TRY(txd_trace_read(replay->trace, &length, entry, &step, &one, TXD_I64));
    if (length < 0 || (uint64_t)length > all)
        return txd_fail(TXD_ERR_FORMAT,
                        "%s: step %zu has %lld tokens or rows, the inputs hold %zu",
                        info.name, step, (long long)length, all);
    *out = (size_t)length;
    return TXD_OK;
}

/* An entry that holds all keys of a step, not its queries alone. */
static bool holds_keys(const txd_replay *replay, size_t entry)
{
    txd_trace_info info;

    return entry != TXD_REPLAY_NONE && replay->keys > replay->length &&
           txd_trace_get(replay->trace, &info, entry) == TXD_OK &&
           info.dims[2] == replay->keys;
}

/* Of the queries, which are the last of an entry's keys. */
static txd_status read_part(const txd_replay *replay, int32_t *out, size_t entry,
                            const txd_inputs *inputs, size_t step)
{
    const size_t start[3] = {step, 0, holds_keys(replay, entry) ? inputs->past : 0};
    const size_t count[3] = {1, inputs->batch, inputs->length};

    if (entry == TXD_REPLAY_NONE)
        return TXD_OK;
    return txd_trace_read(replay->trace, out, entry, start, count, TXD_I32);
}

/* How many keys of earlier calls a step has. */
static txd_status read_past(const txd_replay *replay, txd_inputs *inputs, size_t step)
{
    size_t keys, all = replay->keys;

    if (all == replay->length)
        return TXD_OK;
    TXD_TRY(read_length(replay, &keys, step, replay->key_lengths, all));
    if (keys < inputs->length)
        return txd_fail(TXD_ERR_FORMAT,
                        "step %zu has %zu keys, but %zu queries, which are among them",
                        step, keys, inputs->length);
    inputs->past = keys - inputs->length;
    return TXD_OK;
}

/* One of the arrays that masks read of keys: what the file says of all keys or, of the
 * last ones, of the queries; the others have what stands there. */
static txd_status read_keys(const txd_replay *replay, int32_t *out, size_t entry,
                            const txd_inputs *inputs, size_t step)
{
    const size_t keys = inputs->keys.stride, start[3] = {step, 0, 0};
    const size_t count[3] = {1, inputs->batch, keys};

    if (holds_keys(replay, entry))
        return txd_trace_read(replay->trace, out, entry, start, count, TXD_I32);
    for (size_t b = 0; entry != TXD_REPLAY_NONE && b < inputs->batch; b++) {
        const size_t from[3] = {step, b, 0}, row[3] = {1, 1, inputs->length};

        TXD_TRY(txd_trace_read(replay->trace, out + b * keys + inputs->past, entry,
                               from, row, TXD_I32));
    }
    return TXD_OK;
}

/* A document that is told of the queries alone is that of the earlier keys, too. */
static void spread_documents(const txd_replay *replay, txd_inputs *all, size_t past)
{
    if (holds_keys(replay, replay->document))
        return;
    for (size_t i = 0; i < all->batch * all->length; i++)
        if (i % all->length < past)
            all->document[i] = all->document[i - i % all->length + past];
}

/* Keys are counted from the first, over those that are real, unless all of them have
 * positions; queries are the last ones, unless they have some of their own. */
static txd_status read_all_keys(txd_feed *feed, size_t step)
{
    const txd_replay *replay = feed->replay;
    txd_inputs *inputs = &feed->inputs, all;
    size_t keys = inputs->past + inputs->length;

    TXD_TRY(txd_inputs_make(&all, feed->arena, inputs->batch, keys));
    inputs->keys =
        (struct txd_input_keys){keys, all.positions, all.valid, all.document};
    TXD_TRY(read_keys(replay, all.valid, replay->valid, inputs, step));
    TXD_TRY(read_keys(replay, all.document, replay->document, inputs, step));
    spread_documents(replay, &all, inputs->past);
    txd_inputs_count_positions(&all);
    if (holds_keys(replay, replay->positions))
        TXD_TRY(read_keys(replay, all.positions, replay->positions, inputs, step));
    for (size_t i = 0;
         replay->positions == TXD_REPLAY_NONE && i < inputs->batch * inputs->length;
         i++)
        inputs->positions[i] = all.positions[i / inputs->length * keys + inputs->past +
                                             i % inputs->length];
    return TXD_OK;
}

/* Its values stay in the file until somebody asks for them. */
static txd_status read_memory(txd_feed *feed, size_t step)
{
    const txd_replay *replay = feed->replay;
    txd_inputs *inputs = &feed->inputs;
    const size_t start[3] = {step, 0, 0};
    size_t length, rows;
    uint8_t *padded;

    TXD_TRY(read_length(replay, &length, step, replay->memory_lengths, replay->memory));
    rows = inputs->batch * length;
    inputs->memory_length = length;
    inputs->memory = txd_tensor_make(
        TXD_F64, NULL, 3, (size_t[3]){inputs->batch, length, replay->config.d_model});
    inputs->memory_valid =
        txd_arena_alloc(feed->arena, rows, sizeof *inputs->memory_valid);
    TXD_TRY(txd_replay_reserve(&feed->padded_memory, rows, 1));
    if (!inputs->memory_valid)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < rows; i++)
        inputs->memory_valid[i] = 1;
    if (replay->memory_valid != TXD_REPLAY_NONE)
        TXD_TRY(txd_trace_read(replay->trace, inputs->memory_valid,
                               replay->memory_valid, start,
                               (size_t[3]){1, inputs->batch, length}, TXD_I32));
    padded = feed->padded_memory.data;
    for (size_t i = 0; i < rows; i++)
        padded[i] = inputs->memory_valid[i] == 0;
    return TXD_OK;
}

/* What the recording rounded once more than the pass did. */
static void lose_digits(txd_pass *pass, const txd_replay *replay)
{
    txd_storage_loss loss = txd_storage_loss_of(replay->storage, replay->format);

    pass->u_store = fmax(pass->u_store, loss.roundoff);
    pass->tiny = fmax(pass->tiny, loss.tiny);
    pass->largest = fmin(pass->largest, loss.largest);
}

txd_status txd_feed_inputs(txd_feed *feed, int step)
{
    const txd_replay *replay = feed->replay;
    txd_inputs *inputs = &feed->inputs;
    size_t at = (size_t)step, length, cells;
    uint8_t *padded;

    txd_arena_reset(feed->arena);
    TXD_TRY(read_length(replay, &length, at, replay->lengths, replay->length));
    TXD_TRY(txd_inputs_make(inputs, feed->arena, replay->batch, length));
    TXD_TRY(read_past(replay, inputs, at));
    TXD_TRY(read_part(replay, inputs->tokens, replay->tokens, inputs, at));
    TXD_TRY(read_part(replay, inputs->valid, replay->valid, inputs, at));
    TXD_TRY(read_part(replay, inputs->document, replay->document, inputs, at));
    TXD_TRY(read_part(replay, inputs->types, replay->types, inputs, at));
    TXD_TRY(read_part(replay, inputs->positions, replay->positions, inputs, at));
    if (replay->positions == TXD_REPLAY_NONE)
        txd_inputs_count_positions(inputs);
    if (inputs->past > 0)
        TXD_TRY(read_all_keys(feed, at));
    TXD_TRY(read_memory(feed, at));
    cells = inputs->batch * inputs->length;
    TXD_TRY(txd_replay_reserve(&feed->padded, cells, 1));
    padded = feed->padded.data;
    for (size_t i = 0; i < cells; i++)
        padded[i] = inputs->valid[i] == 0;
    feed->pass = (txd_pass){.claimed = &replay->config,
                            .inputs = inputs,
                            .loss_scale = replay->config.loss_scale,
                            .step = step};
    txd_pass_set_format(&feed->pass, replay->format);
    lose_digits(&feed->pass, replay);
    return TXD_OK;
}
