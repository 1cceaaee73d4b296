/* SPDX-License-Identifier: MIT
 *
 * Made-up values, numbers of rows and statistics, none of which follow from another.
 */
#include "fake_pass.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

static double made_up(unsigned seed, size_t a, size_t b)
{
    return sin((double)seed * 0.7 + (double)a * 1.3 + (double)b * 0.37);
}

void fake_make(fake_pass *fake, const char *cfg, size_t batch, size_t length)
{
    txd_setting *root = NULL;

    memset(fake, 0, sizeof *fake);
    ck_assert_int_eq(txd_arena_create(&fake->arena), TXD_OK);
    ck_assert_int_eq(txd_cfg_parse(&root, fake->arena, "fake.cfg", cfg), TXD_OK);
    ck_assert_msg(txd_config_read(&fake->config, fake->arena, root, NULL) == TXD_OK,
                  "%s", txd_message());
    ck_assert_int_eq(txd_params_create(&fake->params, &fake->config, TXD_F32), TXD_OK);
    ck_assert_int_eq(
        txd_points_order(&fake->order, &fake->stops, fake->arena, &fake->config),
        TXD_OK);
    fake->dtype = TXD_F32;
    fake->tile_rows = 256;
    fake->loss_scale = 1;
    fake_fill(fake, batch, length, 0, 1);
}

void fake_free(fake_pass *fake)
{
    txd_params_destroy(fake->params);
    txd_arena_destroy(fake->arena);
}

static void *reserve(fake_pass *fake, size_t count, size_t size)
{
    void *memory = txd_arena_alloc(fake->arena, count, size);

    ck_assert_ptr_nonnull(memory);
    return memory;
}

size_t fake_count(const fake_pass *fake, txd_point point)
{
    size_t dims[TXD_MAX_RANK], count = 0;
    const txd_extent extent = txd_inputs_extent(&fake->inputs);
    int rank = txd_point_dims(dims, &fake->config, point, &extent);

    ck_assert_int_eq(txd_shape_count(&count, dims, rank), TXD_OK);
    return count;
}

/* Values are floats, so that every dtype holds them. */
static void fill_value(fake_pass *fake, size_t stop, unsigned seed)
{
    txd_point point = fake->order[stop].point;
    size_t count = fake_count(fake, point);
    double *value = reserve(fake, count, sizeof *value);
    bool is_input = txd_point_get(point)->place == TXD_PLACE_INPUT;

    for (size_t i = 0; i < count; i++)
        value[i] = is_input ? (double)(i + seed) : (float)made_up(seed, stop, i);
    fake->values[stop] = value;
    fake->stats[stop] = reserve(fake, TXD_STAT_COUNT_OF, sizeof(double));
    for (size_t i = 0; i < TXD_STAT_COUNT_OF; i++)
        fake->stats[stop][i] = (double)(100 * stop + i) + seed;
    fake->stats[stop][TXD_STAT_NONFINITE] = 0;
    fake->stats[stop][TXD_STAT_FIRST] = -1;
    fake->gradients[stop] = reserve(fake, count, sizeof *value);
    for (size_t i = 0; i < count; i++)
        fake->gradients[stop][i] = (float)made_up(seed + 50, stop, i);
}

static void fill_param(fake_pass *fake, size_t i, unsigned seed)
{
    const txd_tensor *value = &txd_params_at(fake->params, i)->value;
    size_t count = txd_tensor_count(value);

    fake->param_stats[i] = reserve(fake, TXD_STAT_COUNT_OF, sizeof(double));
    for (size_t s = 0; s < TXD_STAT_COUNT_OF; s++)
        fake->param_stats[i][s] = (double)(10 * i + s) + 0.5;
    fake->param_stats[i][TXD_STAT_NONFINITE] = 0;
    fake->param_stats[i][TXD_STAT_FIRST] = -1;
    fake->param_gradients[i] = reserve(fake, count, sizeof(double));
    for (size_t e = 0; e < count; e++)
        fake->param_gradients[i][e] = (float)made_up(seed + 90, i, e);
}

/* Seen keys share the row by made-up parts; hidden keys have exactly 0. */
static void fill_weights(fake_pass *fake, int layer, unsigned seed)
{
    double *weights = fake_value(fake, TXD_POINT_ATTN_WEIGHTS, layer);
    size_t n = fake->inputs.length, heads = fake->config.n_heads;

    for (size_t row = 0; row < fake->inputs.batch * heads * n; row++) {
        txd_mask_view mask =
            txd_mask_of(&fake->config.layers[layer], &fake->inputs, row / (heads * n));

        for (size_t k = 0; k < n; k++)
            weights[row * n + k] =
                txd_mask_hides(&mask, row % n, k)
                    ? 0
                    : (float)(1.5 + made_up(seed, row, k)) / (float)n;
    }
}

static void fill_rows(fake_pass *fake, int layer, unsigned seed)
{
    size_t n = fake->inputs.length, heads = fake->config.n_heads;
    size_t count = fake->inputs.batch * heads * n;
    double *rows = reserve(fake, count * TXD_ROW_COUNT, sizeof *rows);

    for (size_t i = 0; i < count; i++) {
        bool is_real = fake->inputs.valid[i / (heads * n) * n + i % n];

        for (int c = 0; c < TXD_ROW_COUNT; c++) {
            bool is_key = txd_row_get((txd_row)c)->is_key;
            double value = (double)(seed + (unsigned)layer + i + 3 * (size_t)c);

            rows[i * TXD_ROW_COUNT + (size_t)c] = is_real  ? value
                                                  : is_key ? -1
                                                           : (double)NAN;
        }
        rows[i * TXD_ROW_COUNT + TXD_ROW_HIDDEN_SUM] = is_real ? 1 : (double)NAN;
    }
    fake->rows[layer] = rows;
}

static void fill_inputs(fake_pass *fake, size_t batch, size_t length, size_t padding,
                        unsigned seed)
{
    ck_assert_int_eq(txd_inputs_make(&fake->inputs, fake->arena, batch, length),
                     TXD_OK);
    for (size_t i = 0; i < batch * length; i++)
        fake->inputs.tokens[i] = (int32_t)((i * 7 + seed) % fake->config.vocab);
    for (size_t i = 0; i < padding; i++)
        fake->inputs.valid[batch * length - 1 - i] = 0;
    txd_inputs_count_positions(&fake->inputs);
}

void fake_fill(fake_pass *fake, size_t batch, size_t length, size_t padding,
               unsigned seed)
{
    size_t params = txd_params_count(fake->params);

    fill_inputs(fake, batch, length, padding, seed);
    fake->values = reserve(fake, fake->stops, sizeof *fake->values);
    fake->stats = reserve(fake, fake->stops, sizeof *fake->stats);
    fake->rows = reserve(fake, fake->config.n_layers, sizeof *fake->rows);
    fake->param_stats = reserve(fake, params, sizeof *fake->param_stats);
    fake->gradients = reserve(fake, fake->stops, sizeof *fake->gradients);
    fake->param_gradients = reserve(fake, params, sizeof *fake->param_gradients);
    for (size_t i = 0; i < fake->stops; i++)
        fill_value(fake, i, seed);
    for (size_t i = 0; i < params; i++)
        fill_param(fake, i, seed);
    for (int layer = 0; layer < (int)fake->config.n_layers; layer++) {
        fill_weights(fake, layer, seed);
        fill_rows(fake, layer, seed);
    }
}

static double *find(const fake_pass *fake, double *const *list, txd_point point,
                    int layer)
{
    for (size_t i = 0; i < fake->stops; i++)
        if (fake->order[i].point == point && fake->order[i].layer == layer)
            return list[i];
    ck_abort_msg("no such point");
    return NULL;
}

double *fake_value(const fake_pass *fake, txd_point point, int layer)
{
    return find(fake, fake->values, point, layer);
}

double *fake_gradient(const fake_pass *fake, txd_point point, int layer)
{
    return find(fake, fake->gradients, point, layer);
}

txd_probe_context fake_context(const fake_pass *fake, size_t steps)
{
    return (txd_probe_context){.claimed = &fake->config,
                               .order = fake->order,
                               .stops = fake->stops,
                               .params = fake->params,
                               .dtype = fake->dtype,
                               .batch = fake->inputs.batch,
                               .length = fake->inputs.length,
                               .steps = steps};
}
