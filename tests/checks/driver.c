/* SPDX-License-Identifier: MIT
 *
 * The driver of hand-made values. Row statistics and statistics come from the float64
 * reference operations, so that laws are tested on what passes really offer.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/ops.h"

enum { TILE_ROWS = 4 };

static const txd_backend *reference(void)
{
    const txd_backend *backend = NULL;

    ck_assert_int_eq(txd_backend_find(&backend, "ref64"), TXD_OK);
    return backend;
}

void driver_init(driver *d)
{
    const int length = LENGTH;

    *d = (driver){0};
    ck_assert_int_eq(txd_arena_create(&d->arena), TXD_OK);
    d->config = (txd_config){.vocab = 11,
                             .d_model = HEADS * WIDTH,
                             .n_layers = LAYERS,
                             .n_heads = HEADS,
                             .n_kv_heads = HEADS / 2,
                             .head_dim = WIDTH,
                             .value_dim = WIDTH,
                             .d_ff = 16,
                             .positions = TXD_POSITIONS_LEARNED};
    d->config.layers = txd_arena_alloc(d->arena, LAYERS, sizeof *d->config.layers);
    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l] = (txd_layer_config){.causal = true,
                                                 .fill = -INFINITY,
                                                 .score_scale = 1 / sqrt(WIDTH),
                                                 .norm_eps = 1e-5,
                                                 .residual_scale = 1};
    driver_inputs(d, 1, &length, false);
    d->pass = (txd_pass){.claimed = &d->config, .inputs = &d->inputs, .loss_scale = 1};
    txd_pass_set_format(&d->pass, TXD_F64);
}

void driver_inputs(driver *d, size_t batch, const int *lengths, bool left)
{
    ck_assert_int_eq(txd_inputs_make(&d->inputs, d->arena, batch, LENGTH), TXD_OK);
    for (size_t b = 0; b < batch; b++)
        for (int t = 0; t < LENGTH; t++)
            d->inputs.valid[b * LENGTH + (size_t)t] =
                left ? t >= LENGTH - lengths[b] : t < lengths[b];
    txd_inputs_count_positions(&d->inputs);
}

void driver_start(driver *d, const char *law)
{
    txd_check_select select = {.only = law};
    txd_check_context context = {
        .claimed = &d->config, .format = d->pass.format, .is_drawn = d->is_drawn};

    txd_checks_destroy(d->checks);
    d->checks = NULL;
    ck_assert_msg(txd_checks_create(&d->checks, &context, d->root, &select, d->offers,
                                    NULL) == TXD_OK,
                  "%s", txd_message());
}

const txd_result *driver_result(driver *d)
{
    const txd_result *results;
    size_t count;

    ck_assert_msg(txd_checks_finish(&results, &count, d->checks) == TXD_OK, "%s",
                  txd_message());
    ck_assert_uint_eq(count, 1);
    return results;
}

void driver_finish(driver *d)
{
    txd_checks_destroy(d->checks);
    txd_arena_destroy(d->arena);
}

size_t driver_count(const driver *d, txd_point point)
{
    size_t dims[TXD_MAX_RANK], count = 1;
    const txd_extent extent = txd_inputs_extent(&d->inputs);
    int rank = txd_point_dims(dims, &d->config, point, &extent);

    for (int i = 0; i < rank; i++)
        count *= dims[i];
    return count;
}

size_t driver_at(const driver *d, size_t b, size_t h, size_t q, size_t k)
{
    size_t n = d->inputs.length;

    return ((b * d->config.n_heads + h) * n + q) * n + k;
}

double *driver_numbers(driver *d, size_t count, uint64_t seed)
{
    double *data = txd_arena_alloc(d->arena, count, sizeof *data);

    for (size_t i = 0; i < count; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i] = (double)(seed >> 11) * 0x1p-52 - 1;
    }
    return data;
}

static void soften(double *row, const txd_mask_view *mask, size_t q, size_t n)
{
    double sum = 0;

    for (size_t k = 0; k < n; k++) {
        row[k] = txd_mask_hides(mask, q, k) == TXD_SEEN ? exp(row[k]) : 0;
        sum += row[k];
    }
    for (size_t k = 0; k < n && sum > 0; k++)
        row[k] /= sum;
}

double *driver_weights(driver *d, int layer)
{
    double *weights = driver_random(d, TXD_POINT_ATTN_WEIGHTS, 7 + (uint64_t)layer);
    size_t n = d->inputs.length;

    for (size_t b = 0; b < d->inputs.batch; b++) {
        txd_mask_view mask = txd_mask_of(&d->config.layers[layer], &d->inputs, b);

        for (size_t h = 0; h < d->config.n_heads; h++)
            for (size_t q = 0; q < n; q++)
                soften(weights + driver_at(d, b, h, q, 0), &mask, q, n);
    }
    return weights;
}

/* ---- offering ---- */

/* The part of a tiled point's value that the block is of its own. */
static txd_tensor same_tile(const driver *d, const txd_block *block,
                            const txd_tensor *whole)
{
    txd_tensor tile = block->value;
    size_t rows = tile.dims[2], keys = tile.dims[3];
    const double *from = whole->data;
    double *to = txd_arena_alloc(d->arena, rows * keys, sizeof *to);

    for (size_t r = 0; r < rows; r++)
        memcpy(to + r * keys,
               from + driver_at(d, block->start[0], block->start[1],
                                block->start[2] + r, block->start[3]),
               keys * sizeof *to);
    tile.data = to;
    return tile;
}

static txd_status look_up(txd_tensor *out, const txd_block *block, txd_point point,
                          const txd_tensor *whole)
{
    const driver *d = block->source;

    if (!whole->data)
        return txd_fail(TXD_ERR_MISSING, "%s was not offered",
                        txd_point_get(point)->name);
    *out = txd_point_get(point)->place == TXD_PLACE_TILE ? same_tile(d, block, whole)
                                                         : *whole;
    return TXD_OK;
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    const driver *d = block->source;

    return look_up(out, block, point, &d->values[point]);
}

static txd_status gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    const driver *d = block->source;

    return look_up(out, block, point, &d->gradients[point]);
}

/* As a pass does it: who asked is given the block. */
static void feed(driver *d, txd_block *block)
{
    txd_tap *const *taps;
    size_t count;

    block->earlier = earlier;
    block->gradient = txd_site_is_gradient(block->site->kind) ? gradient : NULL;
    block->source = d;
    taps = txd_checks_taps(d->checks, &count);
    for (size_t i = 0; i < count; i++) {
        void *slot = NULL;
        txd_block offered = *block;
        unsigned asked = 0;

        if (taps[i]->gradients || !txd_site_is_gradient(block->site->kind))
            asked = taps[i]->ask(taps[i]->self, block->site);
        if (asked == 0)
            continue;
        if (!(asked & TXD_ASK_ROWS))
            offered.rows = NULL;
        if (!(asked & TXD_ASK_STATS))
            offered.stats = NULL;
        if (taps[i]->reduce && taps[i]->slot_bytes > 0) {
            slot = calloc(1, taps[i]->slot_bytes);
            taps[i]->reduce(slot, taps[i]->self, &offered);
        }
        ck_assert_msg(taps[i]->merge(taps[i]->self, &offered, slot) == TXD_OK, "%s",
                      txd_message());
        free(slot);
    }
}

static void compute_rows(double *rows, driver *d, const txd_block *block)
{
    size_t batch = block->start[0], count = block->value.dims[2];
    size_t keys = block->value.dims[3], n = d->inputs.length;
    txd_mask_view mask =
        txd_mask_of(&d->config.layers[block->site->layer], &d->inputs, batch);
    uint8_t *hidden = txd_arena_alloc(d->arena, count * keys, 1);
    int32_t seen[TILE_ROWS] = {0}, first[TILE_ROWS];
    double max[TILE_ROWS] = {0}, lse[TILE_ROWS] = {0};
    struct txd_rows_args args = {.rows = rows,
                                 .weights = block->value.data,
                                 .max = max,
                                 .lse = lse,
                                 .hidden = hidden,
                                 .seen = seen,
                                 .first_seen = first,
                                 .row_count = count,
                                 .keys = keys,
                                 .stride = keys,
                                 .key_begin = block->start[3]};

    args.at.first_query = (int)block->start[2];
    for (size_t r = 0; r < count; r++) {
        first[r] = -1;
        for (size_t k = 0; k < n; k++) {
            txd_hidden why = txd_mask_hides(&mask, block->start[2] + r, k);

            if (why == TXD_SEEN && seen[r]++ == 0)
                first[r] = (int32_t)k;
            if (k >= block->start[3] && k < block->start[3] + keys)
                hidden[r * keys + k - block->start[3]] = (uint8_t)why;
        }
    }
    ck_assert_int_eq(reference()->ops.rows(NULL, &args), TXD_OK);
}

static void offer_tile(driver *d, const txd_site *site, const double *data,
                       const size_t start[3], bool last)
{
    size_t n = d->inputs.length, limit = d->key_limit ? d->key_limit : n;
    size_t keys = limit - d->key_begin;
    size_t rows = n - start[2] < TILE_ROWS ? n - start[2] : TILE_ROWS;
    const size_t dims[4] = {1, 1, rows, keys};
    double *tile = txd_arena_alloc(d->arena, rows * keys, sizeof *tile);
    const txd_extent extent = txd_inputs_extent(&d->inputs);
    double statistics[TILE_ROWS * TXD_ROW_COUNT];
    txd_block block = {.site = site, .pass = &d->pass, .last = last};

    for (size_t r = 0; r < rows; r++)
        memcpy(tile + r * keys,
               data + driver_at(d, start[0], start[1], start[2] + r, d->key_begin),
               keys * sizeof *tile);
    block.value = txd_tensor_make(TXD_F64, tile, 4, dims);
    txd_point_dims(block.dims, &d->config, site->point, &extent);
    memcpy(block.start, start, 3 * sizeof *start);
    block.start[3] = d->key_begin;
    if (site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS) {
        compute_rows(statistics, d, &block);
        block.rows = statistics;
    }
    feed(d, &block);
}

static void offer_tiles(driver *d, const txd_site *site, const double *data)
{
    size_t n = d->inputs.length, heads = d->config.n_heads;

    for (size_t b = 0; b < d->inputs.batch; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t q = 0; q < n; q += TILE_ROWS) {
                const size_t start[3] = {b, h, q};
                bool last =
                    b + 1 == d->inputs.batch && h + 1 == heads && q + TILE_ROWS >= n;

                offer_tile(d, site, data, start, last);
            }
}

static void offer_whole(driver *d, const txd_site *site, txd_block *block, bool padded)
{
    size_t count = txd_tensor_count(&block->value);
    size_t width = padded ? count / (d->inputs.batch * d->inputs.length) : count;
    double stats[TXD_STAT_COUNT_OF];
    uint8_t *skip = txd_arena_alloc(d->arena, count / width, 1);
    struct txd_stats_part part = {0};
    struct txd_stats_args args = {.part = &part,
                                  .x = block->value.data,
                                  .skip_row = skip,
                                  .rows = count / width,
                                  .width = width,
                                  .stride = width,
                                  .flat_stride = width};

    for (size_t i = 0; padded && i < count / width; i++)
        skip[i] = !d->inputs.valid[i];
    ck_assert_int_eq(reference()->ops.stats(NULL, &args), TXD_OK);
    txd_stats_final(stats, &part);
    block->site = site;
    block->pass = &d->pass;
    block->stats = stats;
    block->last = true;
    feed(d, block);
    block->stats = NULL;
}

static void offer(driver *d, txd_site_kind kind, txd_point point, int layer,
                  double *data)
{
    txd_site site = {.kind = kind,
                     .step = d->pass.step,
                     .point = point,
                     .layer = layer,
                     .index = (size_t)(layer < 0 ? 0 : 100 * (layer + 1)) + point};
    char name[96];
    size_t dims[TXD_MAX_RANK];
    const txd_extent extent = txd_inputs_extent(&d->inputs);
    int rank = txd_point_dims(dims, &d->config, point, &extent);
    txd_block block = {.value = txd_tensor_make(TXD_F64, data, rank, dims)};

    site.name = txd_point_name(name, sizeof name, point, layer);
    if (kind == TXD_SITE_GRADIENT)
        strcat(name, TXD_GRADIENT_SUFFIX);
    *(kind == TXD_SITE_GRADIENT ? &d->gradients[point] : &d->values[point]) =
        block.value;
    memcpy(block.dims, dims, sizeof block.dims);
    if (txd_point_get(point)->place == TXD_PLACE_TILE)
        offer_tiles(d, &site, data);
    else
        offer_whole(d, &site, &block, rank == 3);
}

void driver_offer(driver *d, txd_point point, int layer, double *data)
{
    offer(d, TXD_SITE_VALUE, point, layer, data);
}

void driver_offer_gradient(driver *d, txd_point point, int layer, double *data)
{
    offer(d, TXD_SITE_GRADIENT, point, layer, data);
}

void driver_offer_parameter(driver *d, const char *name, int layer, double *data,
                            size_t rows, size_t columns)
{
    const size_t dims[2] = {rows, columns};
    txd_site site = {TXD_SITE_PARAMETER, 0, TXD_POINT_COUNT, layer, 0, name};
    bool is_gradient = strstr(name, TXD_GRADIENT_SUFFIX) != NULL;
    txd_block block = {.value = txd_tensor_make(TXD_F64, data, 2, dims)};

    memcpy(block.dims, dims, sizeof dims);
    if (is_gradient)
        site = (txd_site){
            TXD_SITE_PARAMETER_GRADIENT, d->pass.step, TXD_POINT_COUNT, layer, 0, name};
    offer_whole(d, &site, &block, false);
}

const txd_result *driver_run_weights(driver *d, const char *law, int layer,
                                     void (*plant)(driver *d, double *weights))
{
    driver_start(d, law);
    for (int l = 0; l < (int)d->config.n_layers; l++) {
        double *weights = driver_weights(d, l);

        if (plant && l == layer)
            plant(d, weights);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    return driver_result(d);
}
