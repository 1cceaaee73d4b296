/* SPDX-License-Identifier: MIT
 *
 * How much the steps of a recording read: tokens and rows of the memory, by the
 * recorded inputs, or, without these, by the values.
 */
#include <string.h>

#include "formats/replay_internal.h"

/* Tokens of a step: what a file says is allocated, so that it must not say more. */
#define MAX_TOKENS ((size_t)1 << 26)

size_t txd_replay_find(const txd_replay *replay, const char *name)
{
    size_t i;

    return txd_trace_find(replay->trace, &i, name) == TXD_OK ? i : TXD_REPLAY_NONE;
}

txd_status txd_replay_no_fit(const txd_trace_info *info, const char *expected)
{
    char shape[128];

    return txd_fail(TXD_ERR_FORMAT,
                    "%s: expected %s by the recorded configuration, found axes \"%s\" "
                    "of %s",
                    info->name, expected, info->axes,
                    txd_shape_text(shape, sizeof shape, info->dims, info->rank));
}

/* What an axis of a point counts: 1 batch rows, 2 tokens, 3 rows of the memory, 4 keys;
 * 0 for others. */
static int counted_by(txd_point point, char axis)
{
    if (axis == 'b')
        return 1;
    if (axis == 'k' && (point == TXD_POINT_INPUT_MEMORY ||
                        txd_point_attention(point) == TXD_ATTENTION_CROSS))
        return 3;
    if (axis == 'k' && txd_point_get(point)->place == TXD_PLACE_TILE)
        return 4;
    return axis == 't' || axis == 'q' || axis == 'k' ? 2 : 0;
}

txd_status txd_replay_shape(size_t out[TXD_REPLAY_SHAPE], const txd_trace *recording)
{
    size_t count = txd_trace_count(recording);

    memset(out, 0, TXD_REPLAY_SHAPE * sizeof *out);
    for (size_t i = 0; i < count; i++) {
        txd_trace_info info;
        const char *axes;
        txd_point point;
        int layer;

        TXD_TRY(txd_trace_get(recording, &info, i));
        if (!txd_point_of_name(&point, &layer, info.name))
            continue;
        axes = txd_point_get(point)->axes;
        if (info.rank != (int)strlen(axes) + 1)
            continue;
        if (info.dims[0] > out[0])
            out[0] = info.dims[0];
        for (int axis = 0; axes[axis]; axis++) {
            int which = counted_by(point, axes[axis]);

            if (which > 0 && info.dims[axis + 1] > out[which])
                out[which] = info.dims[axis + 1];
        }
    }
    return TXD_OK;
}

/* Of an input that says it, the queries' tokens or, where there are more keys than
 * these, all keys. */
static bool is_of_all_keys(const txd_replay *replay, const txd_trace_info *info)
{
    return info->dims[2] == replay->keys && replay->keys > replay->length;
}

/* With a cache the tokens may be those of the step or of all keys; which one, the
 * queries that values have say. */
static void take_lengths(txd_replay *replay, const size_t shape[TXD_REPLAY_SHAPE],
                         size_t tokens)
{
    replay->length = tokens;
    replay->keys = shape[4] > tokens ? shape[4] : tokens;
    if (shape[2] > 0 && shape[2] < shape[4] && shape[4] == tokens)
        replay->length = shape[2];
}

static txd_status take_tokens(txd_replay *replay, const size_t shape[TXD_REPLAY_SHAPE])
{
    const size_t parts[] = {replay->positions, replay->valid, replay->document,
                            replay->types};
    txd_trace_info info;

    replay->steps = shape[0];
    replay->batch = shape[1];
    take_lengths(replay, shape, shape[2] > 0 ? shape[2] : shape[4]);
    if (replay->tokens != TXD_REPLAY_NONE) {
        TXD_TRY(txd_trace_get(replay->trace, &info, replay->tokens));
        if (info.rank != 3)
            return txd_replay_no_fit(&info, "sbt");
        replay->steps = info.dims[0];
        replay->batch = info.dims[1];
        take_lengths(replay, shape, info.dims[2]);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i] == TXD_REPLAY_NONE)
            continue;
        TXD_TRY(txd_trace_get(replay->trace, &info, parts[i]));
        if (info.rank != 3 || info.dims[0] < replay->steps ||
            info.dims[1] != replay->batch ||
            (info.dims[2] != replay->length && !is_of_all_keys(replay, &info)))
            return txd_replay_no_fit(&info, "the shape of input/tokens");
    }
    return TXD_OK;
}

static txd_status take_memory(txd_replay *replay, const size_t shape[TXD_REPLAY_SHAPE])
{
    const txd_config *c = &replay->config;
    txd_trace_info info;

    if (!c->cross)
        return TXD_OK;
    replay->memory = shape[3];
    if (replay->memory_valid != TXD_REPLAY_NONE) {
        TXD_TRY(txd_trace_get(replay->trace, &info, replay->memory_valid));
        if (info.rank != 3 || info.dims[0] < replay->steps ||
            info.dims[1] != replay->batch)
            return txd_replay_no_fit(&info, "sbk with the steps of input/tokens");
        replay->memory = info.dims[2];
    }
    if (replay->memory_values == TXD_REPLAY_NONE)
        return TXD_OK;
    TXD_TRY(txd_trace_get(replay->trace, &info, replay->memory_values));
    if (replay->memory_valid == TXD_REPLAY_NONE && info.rank == 4)
        replay->memory = info.dims[2];
    if (info.rank != 4 || info.dims[0] < replay->steps ||
        info.dims[1] != replay->batch || info.dims[2] != replay->memory ||
        info.dims[3] != c->d_model)
        return txd_replay_no_fit(&info, "sbkd with the rows of input/memory_valid");
    return TXD_OK;
}

static bool is_too_large(size_t batch, size_t length)
{
    size_t cells;

    return txd_size_mul(&cells, batch, length) != TXD_OK || cells > MAX_TOKENS;
}

txd_status txd_replay_take_shape(txd_replay *replay)
{
    size_t shape[TXD_REPLAY_SHAPE];

    replay->tokens = txd_replay_find(replay, "input/tokens");
    replay->positions = txd_replay_find(replay, "input/positions");
    replay->valid = txd_replay_find(replay, "input/valid");
    replay->document = txd_replay_find(replay, "input/document");
    replay->types = txd_replay_find(replay, "input/types");
    replay->lengths = txd_replay_find(replay, "steps/length_q");
    replay->key_lengths = txd_replay_find(replay, "steps/length_k");
    replay->memory_values = txd_replay_find(replay, "input/memory");
    replay->memory_valid = txd_replay_find(replay, "input/memory_valid");
    replay->memory_lengths = txd_replay_find(replay, "steps/length_memory");
    TXD_TRY(txd_replay_shape(shape, replay->trace));
    TXD_TRY(take_tokens(replay, shape));
    TXD_TRY(take_memory(replay, shape));
    if (replay->steps > INT32_MAX || is_too_large(replay->batch, replay->keys) ||
        is_too_large(replay->batch, replay->memory))
        return txd_fail(TXD_ERR_LIMIT,
                        "%zu steps of %zu x %zu tokens and %zu rows of memory: too "
                        "large",
                        replay->steps, replay->batch, replay->length, replay->memory);
    return TXD_OK;
}
