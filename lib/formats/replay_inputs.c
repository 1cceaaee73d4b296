/* SPDX-License-Identifier: MIT
 *
 * The inputs of a step as the pass had them. Recordings of others may lack some:
 * without `valid` every token is real, without `positions` they are counted.
 */
#include "formats/replay_internal.h"

static txd_status read_length(const txd_replay *replay, size_t *out, size_t step)
{
    const size_t one = 1;
    int64_t length;

    *out = replay->length;
    if (replay->lengths == TXD_REPLAY_NONE)
        return TXD_OK;
    TXD_TRY(
        txd_trace_read(replay->trace, &length, replay->lengths, &step, &one, TXD_I64));
    if (length < 0 || (uint64_t)length > replay->length)
        return txd_fail(TXD_ERR_FORMAT,
                        "steps/length_q: step %zu has %lld tokens, the inputs hold %zu",
                        step, (long long)length, replay->length);
    *out = (size_t)length;
    return TXD_OK;
}

static txd_status read_part(const txd_replay *replay, int32_t *out, size_t entry,
                            const txd_inputs *inputs, size_t step)
{
    const size_t start[3] = {step, 0, 0};
    const size_t count[3] = {1, inputs->batch, inputs->length};

    if (entry == TXD_REPLAY_NONE)
        return TXD_OK;
    return txd_trace_read(replay->trace, out, entry, start, count, TXD_I32);
}

txd_status txd_feed_inputs(txd_feed *feed, int step)
{
    const txd_replay *replay = feed->replay;
    txd_inputs *inputs = &feed->inputs;
    size_t at = (size_t)step, length, cells;
    uint8_t *padded;

    txd_arena_reset(feed->arena);
    TXD_TRY(read_length(replay, &length, at));
    TXD_TRY(txd_inputs_make(inputs, feed->arena, replay->batch, length));
    TXD_TRY(read_part(replay, inputs->tokens, replay->tokens, inputs, at));
    TXD_TRY(read_part(replay, inputs->valid, replay->valid, inputs, at));
    TXD_TRY(read_part(replay, inputs->document, replay->document, inputs, at));
    TXD_TRY(read_part(replay, inputs->positions, replay->positions, inputs, at));
    if (replay->positions == TXD_REPLAY_NONE)
        txd_inputs_count_positions(inputs);
    cells = inputs->batch * inputs->length;
    TXD_TRY(txd_replay_reserve(&feed->padded, cells, 1));
    padded = feed->padded.data;
    for (size_t i = 0; i < cells; i++)
        padded[i] = inputs->valid[i] == 0;
    feed->pass = (txd_pass){.claimed = &replay->config, .inputs = inputs, .step = step};
    txd_pass_set_format(&feed->pass, replay->format);
    return TXD_OK;
}
