/* SPDX-License-Identifier: MIT
 *
 * Whole values and row tiles of the logits, with their statistics: recorded ones, or,
 * where only the value was recorded, those of the reference.
 */
#include <math.h>
#include <string.h>

#include "formats/replay_internal.h"
#include "ops/cpu.h"
#include "ops/ref.h"

/* A whole value of more is no attention model's, but a file's that lies. */
#define MAX_VALUE_BYTES ((size_t)1 << 34)

bool txd_feed_has(const txd_feed *feed, size_t stop, int head)
{
    const txd_replay *replay = feed->replay;
    const txd_replay_stop *at = &replay->stops[stop];
    txd_trace_info info;

    return at->value != TXD_REPLAY_NONE &&
           txd_trace_get(replay->trace, &info, at->value) == TXD_OK &&
           (size_t)feed->pass.step < info.dims[0] &&
           (at->value == replay->memory_values || /* an input */
            txd_replay_recorded(replay, "full", &at->site, feed->pass.step, head));
}

/* What the norms of a gradient, of the loss as it is, say of the statistics. */
static void from_norms(double *out, const double *norms, double scale)
{
    enum { COUNT, L2, RMS, MAX_ABS, ZEROS, NONFINITE };

    for (int i = 0; i < TXD_STAT_COUNT_OF; i++)
        out[i] = (double)NAN;
    out[TXD_STAT_COUNT] = norms[COUNT];
    out[TXD_STAT_RMS] = norms[RMS] * scale;
    out[TXD_STAT_NONFINITE] = norms[NONFINITE];
    out[TXD_STAT_FIRST] = -1;
    if (norms[NONFINITE] == 0)
        out[TXD_STAT_FIRST_VALUE] = 0;
}

static txd_status read_series(const txd_feed *feed, double *out, bool *found,
                              const txd_replay_stop *stop, txd_replay_series series)
{
    const txd_replay *replay = feed->replay;
    bool is_norm = series == TXD_REPLAY_GRAD_NORM;
    const size_t start[3] = {(size_t)feed->pass.step, stop->row[series], 0};
    const size_t count[3] = {1, 1,
                             is_norm ? TXD_REPLAY_NORM_FIELDS : TXD_STAT_COUNT_OF};
    bool is_scaled = stop->site.kind == TXD_SITE_GRADIENT;
    double row[TXD_STAT_COUNT_OF];
    txd_trace_info info;

    TXD_TRY(txd_trace_get(replay->trace, &info, replay->series[series]));
    if (info.rank != 3 || start[0] >= info.dims[0])
        return TXD_OK;
    TXD_TRY(txd_trace_read(replay->trace, row, replay->series[series], start, count,
                           TXD_F64));
    if (is_norm)
        from_norms(out, row, is_scaled ? feed->pass.loss_scale : 1);
    else
        memcpy(out, row, sizeof row);
    /* A step that was left out has no count. */
    *found = out[TXD_STAT_COUNT] >= 0;
    return TXD_OK;
}

/* Recorded statistics of a stop in this step; *found is false if there are none. */
static txd_status find_stats(const txd_feed *feed, double *out, bool *found,
                             size_t stop)
{
    const txd_replay_stop *at = &feed->replay->stops[stop];

    *found = false;
    for (int s = 0; s < TXD_REPLAY_SERIES && !*found; s++)
        if (at->row[s] != TXD_REPLAY_NONE)
            TXD_TRY(read_series(feed, out, found, at, (txd_replay_series)s));
    return TXD_OK;
}

static bool has_heads(const txd_site *site)
{
    return !txd_site_is_parameter(site->kind) &&
           strpbrk(txd_point_get(site->point)->axes, "hg") != NULL;
}

txd_status txd_feed_offers(const txd_feed *feed, txd_feed_offer *out, size_t stop)
{
    bool heads = has_heads(&feed->replay->stops[stop].site);

    TXD_TRY(find_stats(feed, out->stats, &out->has_stats, stop));
    out->has_value =
        txd_feed_has(feed, stop, heads ? TXD_REPLAY_ALL_HEADS : TXD_REPLAY_ANY_HEAD);
    out->can_take = out->has_value && !out->has_stats &&
                    txd_replay_takes_stats(feed->replay, &feed->replay->stops[stop]);
    out->bits = out->has_value ? TXD_ASK_VALUE : 0;
    if (out->has_stats || out->can_take)
        out->bits |= TXD_ASK_STATS;
    return TXD_OK;
}

txd_status txd_feed_load_block(const txd_feed *feed, void *out, size_t stop,
                               const size_t *start, const size_t *count)
{
    const txd_replay *replay = feed->replay;
    const txd_replay_stop *at = &replay->stops[stop];
    size_t from[TXD_MAX_RANK + 1] = {(size_t)feed->pass.step};
    size_t length[TXD_MAX_RANK + 1] = {1};
    bool input = at->site.kind == TXD_SITE_VALUE &&
                 txd_point_get(at->site.point)->place == TXD_PLACE_INPUT;
    txd_trace_info info;

    TXD_TRY(txd_trace_get(replay->trace, &info, at->value));
    for (int axis = 1; axis < info.rank; axis++) {
        from[axis] = start[axis - 1];
        length[axis] = count[axis - 1];
        if (from[axis] + length[axis] > info.dims[axis])
            return txd_replay_name_file(
                replay, txd_fail(TXD_ERR_FORMAT,
                                 "%s: axis %d has %zu elements, step %d has %zu",
                                 info.name, axis, info.dims[axis], feed->pass.step,
                                 from[axis] + length[axis]));
    }
    return txd_trace_read(replay->trace, out, at->value, from, length,
                          input ? TXD_I32 : feed->pass.dtype);
}

static void *input_of(const txd_feed *feed, txd_point point)
{
    switch (point) {
    case TXD_POINT_INPUT_TOKENS:
        return feed->inputs.tokens;
    case TXD_POINT_INPUT_POSITIONS:
        return feed->inputs.positions;
    case TXD_POINT_INPUT_VALID:
        return feed->inputs.valid;
    case TXD_POINT_INPUT_DOCUMENT:
        return feed->inputs.document;
    case TXD_POINT_INPUT_TYPES:
        return feed->inputs.types;
    default:
        return NULL;
    }
}

txd_status txd_feed_load(txd_feed *feed, txd_tensor *out, size_t stop)
{
    const size_t start[TXD_MAX_RANK] = {0};
    txd_replay_buffer *buffer;
    txd_feed_offer offer;
    txd_block block;
    bool *loaded, is_gradient;
    txd_point point;
    size_t count;

    if (stop == TXD_REPLAY_NONE)
        return txd_fail(TXD_ERR_MISSING, "it does not exist in this model");
    block = txd_feed_block(feed, stop);
    point = block.site->point;
    is_gradient = txd_site_is_gradient(block.site->kind);
    buffer = &feed->value[is_gradient][point];
    loaded = &feed->loaded[is_gradient][point];
    TXD_TRY(txd_feed_offers(feed, &offer, stop));
    if (!is_gradient && !offer.has_value && input_of(feed, point)) {
        block.value.data = input_of(feed, point);
        *out = block.value;
        return TXD_OK;
    }
    if (!offer.has_value)
        return txd_fail(TXD_ERR_MISSING, "%s was not recorded", block.site->name);
    TXD_TRY(txd_shape_count(&count, block.dims, block.value.rank));
    if (count > MAX_VALUE_BYTES / sizeof(double))
        return txd_fail(TXD_ERR_LIMIT, "%s: %zu elements are too many at once",
                        block.site->name, count);
    if (!*loaded) {
        TXD_TRY(txd_replay_reserve(buffer, count, sizeof(double)));
        TXD_TRY(txd_feed_load_block(feed, buffer->data, stop, start, block.dims));
        *loaded = true;
    }
    block.value.data = buffer->data;
    *out = block.value;
    return TXD_OK;
}

static txd_status look_up(txd_tensor *out, const txd_block *block, txd_point point,
                          bool is_gradient)
{
    /* `source` is const for taps; it is this feed, which caches what it reads. */
    union {
        const void *source;
        txd_feed *feed;
    } from = {block->source};

    if (txd_point_get(point)->place == TXD_PLACE_TILE)
        return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                        txd_point_get(point)->name, block->site->name);
    return txd_feed_load(
        from.feed, out,
        txd_replay_stop_at(from.feed->replay, is_gradient, point,
                           txd_feed_layer(from.feed, block->site, point)));
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, false);
}

static txd_status gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, true);
}

void txd_feed_look_back(txd_block *block, txd_feed *feed)
{
    block->earlier = earlier;
    block->gradient = txd_site_is_gradient(block->site->kind) ? gradient : NULL;
    block->source = feed;
}

/* ---- statistics of a value that was recorded without them ---- */

void txd_feed_take(const txd_feed *feed, const struct txd_stats_args *args)
{
    if (feed->pass.dtype == TXD_F64)
        (void)txd_ref64_stats(NULL, args);
    else
        (void)txd_cpu32_stats(NULL, args);
}

/* Tokens that predict nothing have no loss. */
static txd_status mark_no_target(txd_feed *feed, const uint8_t **out)
{
    const txd_inputs *inputs = &feed->inputs;
    size_t cells = inputs->batch * inputs->length;
    uint8_t *marks;

    TXD_TRY(txd_replay_reserve(&feed->marks, cells, 1));
    marks = feed->marks.data;
    for (size_t i = 0; i < cells; i++)
        marks[i] = !txd_inputs_is_pair(inputs, i);
    *out = marks;
    return TXD_OK;
}

static txd_status compute_stats(txd_feed *feed, double *out, txd_point point,
                                const txd_tensor *value)
{
    size_t heads = value->rank == 4 ? value->dims[1] : 1;
    size_t slabs = value->dims[0] * heads, element;
    const uint8_t *skip = feed->padded.data;
    struct txd_stats_part all = {0}, part;
    struct txd_stats_args args = {.part = &part, .x = value->data};
    const char *data = value->data;

    args.rows = value->dims[value->rank == 4 ? 2 : 1];
    args.width = args.stride = args.flat_stride =
        value->rank == 2 ? 1 : value->dims[value->rank - 1];
    if (point == TXD_POINT_LOSS_TOKEN)
        TXD_TRY(mark_no_target(feed, &skip));
    if (txd_point_is_of_memory(point))
        skip = feed->padded_memory.data;
    if (value->dtype == TXD_I32) {
        size_t count = txd_tensor_count(value);

        TXD_TRY(txd_replay_reserve(&feed->part, count, sizeof(double)));
        txd_convert(feed->part.data, feed->pass.dtype, value->data, TXD_I32, count);
        data = feed->part.data;
        skip = NULL;
    }
    element = txd_dtype_bytes(feed->pass.dtype);
    for (size_t slab = 0; slab < slabs; slab++) {
        args.flat_start = slab * args.rows * args.width;
        args.x = data + args.flat_start * element;
        args.skip_row = skip ? skip + slab / heads * args.rows : NULL;
        txd_feed_take(feed, &args);
        txd_stats_merge(&all, &part);
    }
    txd_stats_final(out, &all);
    return TXD_OK;
}

txd_status txd_feed_whole(txd_feed *feed, size_t stop)
{
    unsigned wants = txd_feed_wants(feed, stop);
    txd_feed_offer offer;
    txd_block block;
    bool has_input, is_gradient;

    if (wants == 0)
        return TXD_OK;
    block = txd_feed_block(feed, stop);
    is_gradient = txd_site_is_gradient(block.site->kind);
    txd_feed_look_back(&block, feed);
    block.last = true;
    has_input = !is_gradient && input_of(feed, block.site->point) != NULL;
    TXD_TRY(txd_feed_offers(feed, &offer, stop));
    if (has_input) {
        offer.can_take = !offer.has_stats;
        offer.bits |= TXD_ASK_VALUE | TXD_ASK_STATS;
    }
    if (!(wants & offer.bits))
        return TXD_OK;
    if ((offer.has_value || has_input) && ((wants & TXD_ASK_VALUE) || offer.can_take)) {
        TXD_TRY(txd_feed_load(feed, &block.value, stop));
        if ((wants & TXD_ASK_STATS) && offer.can_take)
            TXD_TRY(compute_stats(feed, offer.stats, block.site->point, &block.value));
    }
    if (wants & offer.bits & TXD_ASK_STATS)
        block.stats = offer.stats;
    return txd_feed_read(feed, feed->asks + stop * feed->count, offer.bits, &block);
}
