/* SPDX-License-Identifier: MIT
 *
 * Feeding and recording a made-up pass. Feeding follows model/taps.h to the letter and
 * shares nothing with the decoder.
 */
#include "fake_pass.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

/* One tap, one block: ask is checked by the caller. The slot arrives zeroed. */
static void offer(txd_tap *tap, const txd_block *block)
{
    bool reduces = tap->reduce && tap->slot_bytes > 0;
    void *slot = reduces ? calloc(1, tap->slot_bytes) : NULL;

    ck_assert(!reduces || slot);
    if (reduces)
        tap->reduce(slot, tap->self, block);
    ck_assert_msg(tap->merge(tap->self, block, slot) == TXD_OK, "%s: %s", tap->name,
                  txd_message());
    free(slot);
}

/* The part of a stop's whole value that `block` is, as doubles in the arena. */
static double *part_of(const fake_pass *fake, const double *values,
                       const txd_block *block)
{
    txd_tensor all =
        txd_tensor_make(TXD_F64, (void *)values, block->value.rank, block->dims);
    double *part =
        txd_arena_alloc(fake->arena, txd_tensor_count(&block->value), sizeof *part);

    txd_tensor_block(part, TXD_F64, &all, block->start, block->value.dims);
    return part;
}

/* Tiles have the shape of the block that asks. */
static txd_status look_up(txd_tensor *out, const txd_block *block, txd_point point,
                          double *(*find)(const fake_pass *, txd_point, int))
{
    const fake_pass *fake = block->source;
    const txd_extent extent = txd_inputs_extent(&fake->inputs);
    double *values = find(fake, point, block->site->layer);
    size_t dims[TXD_MAX_RANK];
    int rank = txd_point_dims(dims, &fake->config, point, &extent);

    *out = txd_tensor_make(TXD_F64, values, rank, dims);
    if (txd_point_get(point)->place == TXD_PLACE_TILE) {
        *out = block->value;
        out->dtype = TXD_F64;
        out->data = part_of(fake, values, block);
    }
    return TXD_OK;
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, fake_value);
}

static txd_status gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    return look_up(out, block, point, fake_gradient);
}

static void fill_stats(double *out, const fake_pass *fake, const txd_block *block,
                       size_t stop)
{
    bool is_gradient = txd_site_is_gradient(block->site->kind);

    for (size_t i = 0; i < TXD_STAT_COUNT_OF; i++)
        out[i] = fake->stats[stop][i] + (is_gradient && i <= TXD_STAT_MAX ? 1e5 : 0);
}

/* The part [start, start + value.dims) of a stop, exactly as large, so that reading
 * beyond it is seen by a sanitizer. */
static void offer_part(const fake_pass *fake, txd_tap *tap, txd_block *block,
                       size_t stop, unsigned asked)
{
    bool is_gradient = txd_site_is_gradient(block->site->kind);
    double *const *values = is_gradient ? fake->gradients : fake->values;
    txd_tensor all =
        txd_tensor_make(TXD_F64, values[stop], block->value.rank, block->dims);
    txd_dtype dtype = block->value.dtype;
    size_t count = txd_tensor_count(&block->value);
    double stats[TXD_STAT_COUNT_OF];

    block->value.data = NULL;
    if (asked & TXD_ASK_VALUE) {
        block->value.data = malloc(count * txd_dtype_bytes(dtype));
        ck_assert(block->value.data || count == 0);
        txd_tensor_block(block->value.data, dtype, &all, block->start,
                         block->value.dims);
    }
    if (!(asked & TXD_ASK_ROWS))
        block->rows = NULL;
    fill_stats(stats, fake, block, stop);
    block->stats =
        block->last && (asked & (TXD_ASK_STATS | TXD_ASK_FINITE)) ? stats : NULL;
    block->earlier = earlier;
    block->gradient = is_gradient ? gradient : NULL;
    block->source = fake;
    offer(tap, block);
    free(block->value.data);
}

static bool has_rows(const txd_site *site)
{
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS;
}

/* A value to be offered: what all of its blocks have in common. */
typedef struct stop_feed {
    char name[96];
    txd_site site;
    txd_block block;
    size_t stop;
    unsigned asked;
} stop_feed;

/* Attention comes tile by tile, and of a tile its values, or their gradients, one after
 * the other: no value ends before the next begins. */
static void offer_tiles(const fake_pass *fake, txd_tap *tap, stop_feed *feeds,
                        size_t count)
{
    size_t n = fake->inputs.length, heads = fake->config.n_heads;
    size_t tiles = (n + fake->tile_rows - 1) / fake->tile_rows;

    for (size_t i = 0; i < fake->inputs.batch * heads * tiles * count; i++) {
        stop_feed *feed = &feeds[i % count];
        size_t tile = i / count % tiles, head = i / count / tiles;
        size_t q = tile * fake->tile_rows;
        size_t rows = n - q < fake->tile_rows ? n - q : fake->tile_rows;
        const size_t start[4] = {head / heads, head % heads, q, 0};
        const size_t dims[4] = {1, 1, rows, fake->skip_hidden ? q + rows : n};

        if (!feed->asked)
            continue;
        memcpy(feed->block.start, start, sizeof start);
        feed->block.value = txd_tensor_make(fake->dtype, NULL, 4, dims);
        if (has_rows(&feed->site))
            feed->block.rows =
                fake->rows[feed->site.layer] + (head * n + q) * TXD_ROW_COUNT;
        feed->block.last = i / count + 1 == fake->inputs.batch * heads * tiles;
        offer_part(fake, tap, &feed->block, feed->stop, feed->asked);
    }
}

/* Logits: a few rows of one batch row at a time. */
static void offer_row_tiles(const fake_pass *fake, txd_tap *tap, txd_block *block,
                            size_t stop, unsigned asked)
{
    size_t n = fake->inputs.length;

    for (size_t b = 0; b < fake->inputs.batch; b++) {
        for (size_t t = 0; t < n; t += 2) {
            const size_t dims[3] = {1, n - t < 2 ? n - t : 2, block->dims[2]};

            block->start[0] = b;
            block->start[1] = t;
            block->value = txd_tensor_make(fake->dtype, NULL, 3, dims);
            block->last = b + 1 == fake->inputs.batch && t + dims[1] == n;
            offer_part(fake, tap, block, stop, asked);
        }
    }
}

static void begin_stop(stop_feed *feed, const fake_pass *fake, txd_tap *tap,
                       const txd_pass *pass, txd_site_kind kind)
{
    bool is_gradient = txd_site_is_gradient(kind);
    txd_site *site = &feed->site;
    txd_block *block = &feed->block;
    const txd_extent extent = txd_inputs_extent(&fake->inputs);
    bool is_input;
    int rank;

    *site = (txd_site){.kind = kind,
                       .step = pass->step,
                       .point = fake->order[feed->stop].point,
                       .layer = fake->order[feed->stop].layer,
                       .index = is_gradient ? fake->stops - 1 - feed->stop : feed->stop,
                       .name = feed->name};
    is_input = txd_point_get(site->point)->place == TXD_PLACE_INPUT;
    txd_point_name(feed->name, sizeof feed->name, site->point, site->layer);
    if (is_gradient)
        strcat(feed->name, TXD_GRADIENT_SUFFIX);
    *block = (txd_block){.site = site, .pass = pass, .last = true};
    rank = txd_point_dims(block->dims, &fake->config, site->point, &extent);
    block->value =
        txd_tensor_make(is_input ? TXD_I32 : fake->dtype, NULL, rank, block->dims);
    if (has_rows(site))
        block->rows = fake->rows[site->layer];
    feed->asked = is_gradient && is_input ? 0 : tap->ask(tap->self, site);
}

static bool is_tile(const fake_pass *fake, size_t stop)
{
    return stop < fake->stops &&
           txd_point_get(fake->order[stop].point)->place == TXD_PLACE_TILE;
}

/* The value, or its gradient, `at` in the order of its kind; a layer's tiles at once.
 * Returns how many. */
static size_t feed_stops(const fake_pass *fake, txd_tap *tap, const txd_pass *pass,
                         txd_site_kind kind, size_t at)
{
    stop_feed feeds[3], *feed = feeds;
    size_t count = 0;

    do {
        size_t i = at + count;

        feeds[count].stop = kind == TXD_SITE_GRADIENT ? fake->stops - 1 - i : i;
        if (count > 0 && !is_tile(fake, feeds[count].stop))
            break;
        begin_stop(&feeds[count], fake, tap, pass, kind);
    } while (is_tile(fake, feeds[count].stop) && !fake->whole && ++count < 3);
    if (count > 0) {
        offer_tiles(fake, tap, feeds, count);
        return count;
    }
    if (feed->asked && txd_point_get(feed->site.point)->place == TXD_PLACE_ROWS)
        offer_row_tiles(fake, tap, &feed->block, feed->stop, feed->asked);
    else if (feed->asked)
        offer_part(fake, tap, &feed->block, feed->stop, feed->asked);
    return 1;
}

static void feed_param(const fake_pass *fake, txd_tap *tap, const txd_pass *pass,
                       txd_site_kind kind, size_t i)
{
    const txd_param *param = txd_params_at(fake->params, i);
    bool is_gradient = kind == TXD_SITE_PARAMETER_GRADIENT;
    char name[96];
    txd_site site = {.kind = kind,
                     .step = is_gradient ? pass->step : 0,
                     .point = TXD_POINT_COUNT,
                     .layer = param->layer,
                     .index = i,
                     .name = name};
    txd_block block = {
        .site = &site, .pass = pass, .value = param->value, .last = true};

    snprintf(name, sizeof name, "%s%s", param->name,
             is_gradient ? TXD_GRADIENT_SUFFIX : "");
    if (is_gradient)
        block.value = txd_tensor_make(TXD_F64, fake->param_gradients[i],
                                      param->value.rank, param->value.dims);
    memcpy(block.dims, param->value.dims, sizeof block.dims);
    block.stats = fake->param_stats[i];
    if (tap->ask(tap->self, &site))
        offer(tap, &block);
}

static void feed_params(const fake_pass *fake, txd_tap *tap, const txd_pass *pass,
                        txd_site_kind kind)
{
    for (size_t i = 0; i < txd_params_count(fake->params); i++)
        feed_param(fake, tap, pass, kind, i);
}

static void feed_gradients(const fake_pass *fake, txd_tap *tap, const txd_pass *pass)
{
    for (size_t i = 0; i < fake->stops;)
        i += feed_stops(fake, tap, pass, TXD_SITE_GRADIENT, i);
    feed_params(fake, tap, pass, TXD_SITE_PARAMETER_GRADIENT);
}

void fake_feed(const fake_pass *fake, txd_tap *const *taps, size_t count, int step)
{
    const txd_pass pass = {.claimed = &fake->config,
                           .inputs = &fake->inputs,
                           .dtype = fake->dtype,
                           .loss_scale = fake->loss_scale,
                           .step = step};

    for (size_t t = 0; t < count; t++) {
        if (step == 0)
            feed_params(fake, taps[t], &pass, TXD_SITE_PARAMETER);
        for (size_t i = 0; i < fake->stops;)
            i += feed_stops(fake, taps[t], &pass, TXD_SITE_VALUE, i);
        if (taps[t]->gradients)
            feed_gradients(fake, taps[t], &pass);
        if (taps[t]->step_end)
            ck_assert_msg(taps[t]->step_end(taps[t]->self, &pass) == TXD_OK, "%s: %s",
                          taps[t]->name, txd_message());
    }
}

txd_recorder *fake_record(const fake_pass *fake, const char *path, const char *record,
                          size_t steps)
{
    txd_probe_context context = fake_context(fake, steps);
    txd_text config;
    txd_recorder_info info = {.command = "txdiag run fake.cfg",
                              .faults = "",
                              .backend = "fake",
                              .simd = "none",
                              .blas = "none",
                              .seed = 7};
    txd_recorder *recorder = NULL;
    txd_setting *root = NULL;
    txd_probe_use *uses = NULL;
    size_t count = 0;

    txd_text_init(&config);
    txd_config_print(&config, &fake->config);
    info.config = txd_text_get(&config);
    ck_assert_msg(txd_cfg_parse(&root, fake->arena, "fake.cfg", record) == TXD_OK, "%s",
                  txd_message());
    ck_assert_msg(txd_record_read(&uses, &count, fake->arena, root, &context) == TXD_OK,
                  "%s", txd_message());
    ck_assert_msg(txd_recorder_create(&recorder, path, false, &context, &info, uses,
                                      count) == TXD_OK,
                  "%s", txd_message());
    txd_text_finish(&config);
    return recorder;
}

void fake_step(const fake_pass *fake, txd_recorder *recorder, int step)
{
    size_t count;
    txd_tap *const *taps = txd_recorder_taps(recorder, &count);

    ck_assert_msg(txd_recorder_step_begin(recorder, &fake->inputs, step) == TXD_OK,
                  "%s", txd_message());
    fake_feed(fake, taps, count, step);
    ck_assert_msg(txd_recorder_step_end(recorder, 0.5 + step, 0.25 + step) == TXD_OK,
                  "%s", txd_message());
}

txd_trace *fake_finish(txd_recorder *recorder, const char *path)
{
    txd_trace *trace = NULL;

    ck_assert_msg(txd_recorder_close(recorder, true) == TXD_OK, "%s", txd_message());
    ck_assert_msg(txd_recording_open(&trace, path, NULL) == TXD_OK, "%s",
                  txd_message());
    return trace;
}

txd_trace *fake_one_step(const fake_pass *fake, const char *path, const char *record)
{
    txd_recorder *recorder = fake_record(fake, path, record, 1);

    fake_step(fake, recorder, 0);
    return fake_finish(recorder, path);
}

bool fake_has(const txd_trace *trace, const char *name)
{
    size_t entry;

    return txd_trace_find(trace, &entry, name) == TXD_OK;
}

double *fake_read(const txd_trace *trace, const char *name, size_t dims[TXD_MAX_RANK])
{
    txd_trace_info info;
    size_t entry, count;
    double *values;

    ck_assert_msg(txd_trace_find(trace, &entry, name) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_trace_get(trace, &info, entry), TXD_OK);
    ck_assert_int_eq(txd_shape_count(&count, info.dims, info.rank), TXD_OK);
    values = malloc((count + 1) * sizeof *values);
    ck_assert_ptr_nonnull(values);
    ck_assert_msg(txd_trace_read_all(trace, values, count, entry, TXD_F64) == TXD_OK,
                  "%s", txd_message());
    if (dims)
        memcpy(dims, info.dims, sizeof info.dims);
    return values;
}

const char *const *fake_strings(const txd_trace *trace, const char *name, size_t count)
{
    const char *const *strings = NULL;
    size_t found = 0;

    ck_assert_msg(txd_recording_read_strings(&strings, &found, trace, name) == TXD_OK,
                  "%s", txd_message());
    ck_assert_uint_eq(found, count);
    return strings;
}

void fake_same(double value, double expected, const char *what, size_t index)
{
    ck_assert_msg(value == expected || (isnan(value) && isnan(expected)),
                  "%s[%zu]: %.17g, expected %.17g", what, index, value, expected);
}
