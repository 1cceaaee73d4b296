/* SPDX-License-Identifier: MIT
 *
 * The decoder where its backend makes attention without the matrix, under the emulation
 * of CUDA: against the same backend without that entry, which takes tiles.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "suite.h"

#include "../model/observe.h"
#include "attended_device.h"

#define LENGTH 70

static size_t calls;
static const txd_backend *device;

static txd_status counted(txd_ctx *ctx, const struct txd_attend_args *args)
{
    calls++;
    return device->attend(ctx, args);
}

static txd_status counted_back(txd_ctx *ctx, const struct txd_attend_back_args *args)
{
    calls++;
    return device->attend_back(ctx, args);
}

/* A tap that asks for rows and what is not finite, at the weights. */
struct looking {
    double *rows; /* (layer, b, h, q, TXD_ROW_COUNT) */
    size_t blocks, nonfinite;
    unsigned asks;
};

static unsigned ask(void *self, const txd_site *site)
{
    const struct looking *looking = self;

    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS
               ? looking->asks
               : 0;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    struct looking *looking = self;
    size_t heads = block->dims[1], queries = block->dims[2];
    size_t row =
        ((size_t)block->site->layer * block->dims[0] + block->start[0]) * heads +
        block->start[1];

    (void)slot;
    looking->blocks++;
    if (block->stats != NULL)
        looking->nonfinite += (size_t)block->stats[TXD_STAT_NONFINITE];
    if (block->rows != NULL)
        memcpy(looking->rows + (row * queries + block->start[2]) * TXD_ROW_COUNT,
               block->rows, block->value.dims[2] * TXD_ROW_COUNT * sizeof(double));
    return TXD_OK;
}

/* One pass. `whole`: the backend has the entries. */
struct pass {
    observed o;
    txd_backend backend;
    struct looking looking;
    txd_tap tap;
    txd_config actual;
    txd_layer_config layers[2];
};

static const char CFG[] =
    "model : { preset = \"gpt2\"; vocab = 40; d_model = 32; n_heads = 4; n_layers = 2; "
    "d_ff = 32; max_seq_len = 128; n_kv_heads = 2; }; mask : { evaluate_hidden = "
    "\"never\"; };";

static void begin(struct pass *p, bool whole, const char *faults, unsigned asks)
{
    memset(p, 0, sizeof *p);
    OK(observe_cfg(&p->o, CFG, "cpu32"));
    OK(observe_random(&p->o, 2, LENGTH));
    p->o.streamed = true;
    if (faults != NULL)
        OK(observe_faults(&p->o, faults));
    device = attended_backend(TXD_F32);
    p->backend = *device;
    p->backend.attend = whole ? counted : NULL;
    p->backend.attend_back = whole ? counted_back : NULL;
    p->o.backend = &p->backend;
    for (size_t t = LENGTH - 9; t < LENGTH; t++)
        p->o.inputs.valid[LENGTH + t] = 0;
    OK(observe_rebind(&p->o));
    p->looking.asks = asks;
    p->looking.rows = calloc(2 * 2 * 4 * LENGTH * TXD_ROW_COUNT, sizeof(double));
    p->tap =
        (txd_tap){.name = "looking", .self = &p->looking, .ask = ask, .merge = merge};
    p->o.before = &p->tap;
    p->o.only = "*attn.heads,*attn.heads@grad,*attn.q@grad,*attn.k@grad,*attn.v@grad";
    calls = 0;
}

static void finish(struct pass *p)
{
    free(p->looking.rows);
    observe_finish(&p->o);
}

static void check_close(const char *what, const double *a, const double *b,
                        size_t count)
{
    double size = 0;

    for (size_t i = 0; i < count; i++)
        size = fabs(b[i]) > size ? fabs(b[i]) : size;
    for (size_t i = 0; i < count; i++)
        ck_assert_msg(fabs(a[i] - b[i]) <= 1e-5 * size || (isnan(a[i]) && isnan(b[i])),
                      "%s[%zu]: %g, in tiles %g", what, i, a[i], b[i]);
}

/* Columns that depend on which hidden cells were computed: tiles compute more. */
static bool depends_on_cells(size_t column)
{
    return column == TXD_ROW_FUTURE_COUNT || column == TXD_ROW_PADDING_COUNT;
}

static void check_rows(const struct pass *whole, const struct pass *tiles)
{
    for (size_t i = 0; i < (size_t)2 * 2 * 4 * LENGTH * TXD_ROW_COUNT; i++) {
        double a = whole->looking.rows[i], b = tiles->looking.rows[i];
        size_t column = i % TXD_ROW_COUNT;

        if (depends_on_cells(column) || column == TXD_ROW_PEAK_KEY)
            continue;
        ck_assert_msg(fabs(a - b) <= 2e-5 * (1 + fabs(b)) || (isnan(a) && isnan(b)),
                      "row %zu, %s: %g, in tiles %g", i / TXD_ROW_COUNT,
                      txd_row_get((txd_row)column)->name, a, b);
    }
}

START_TEST(heads_gradients_and_rows_are_those_of_the_tiles)
{
    struct pass whole, tiles;

    begin(&tiles, false, NULL, TXD_ASK_ROWS | TXD_ASK_FINITE);
    tiles.o.backward = true;
    OK(observe_pass(&tiles.o));
    ck_assert_uint_eq(calls, 0);
    begin(&whole, true, NULL, TXD_ASK_ROWS | TXD_ASK_FINITE);
    whole.o.backward = true;
    OK(observe_pass(&whole.o));
    ck_assert_uint_eq(calls,
                      2 * 2 + 2 * 2); /* by layer and batch row, there and back */
    ck_assert_uint_eq(whole.looking.blocks, tiles.looking.blocks);
    ck_assert_uint_eq(whole.o.sites, tiles.o.sites);
    ck_assert_uint_ge(whole.o.sites, 8);
    for (size_t s = 0; s < whole.o.sites; s++)
        check_close(whole.o.site[s].name, whole.o.site[s].values,
                    tiles.o.site[s].values, whole.o.site[s].count);
    check_rows(&whole, &tiles);
    finish(&whole);
    finish(&tiles);
}
END_TEST

/* Layer 1 is not causal, though it is claimed to be. */
static void sees_all(struct pass *p)
{
    observed *o = &p->o;

    memcpy(p->layers, o->config.layers, sizeof p->layers);
    p->actual = o->config;
    p->actual.layers = p->layers;
    p->layers[1].causal = false;
    txd_model_destroy(o->model);
    OK(txd_model_create(&o->model, o->backend, &p->actual, o->params, 1));
}

START_TEST(a_leak_is_in_the_rows)
{
    struct pass p;
    double hidden = 0, future = 0;

    begin(&p, true, NULL, TXD_ASK_ROWS);
    sees_all(&p);
    OK(observe_pass(&p.o));
    ck_assert_uint_eq(calls, 4);
    for (size_t i = 0; i < (size_t)2 * 2 * 4 * LENGTH; i++) {
        const double *row = p.looking.rows + i * TXD_ROW_COUNT;
        bool leaks = i >= (size_t)2 * 4 * LENGTH;

        ck_assert(leaks || !(row[TXD_ROW_HIDDEN_SUM] > 0));
        hidden += row[TXD_ROW_HIDDEN_SUM] > 0;
        future += row[TXD_ROW_FUTURE_COUNT] > 0;
    }
    ck_assert_double_ge(hidden, 2 * 4 * (LENGTH - 10));
    ck_assert_double_ge(future, 4 * (LENGTH - 1));
    finish(&p);
}
END_TEST

START_TEST(whoever_reads_values_has_tiles)
{
    struct pass p;

    begin(&p, true, NULL, TXD_ASK_ROWS | TXD_ASK_VALUE);
    OK(observe_pass(&p.o));
    ck_assert_uint_eq(calls, 0);
    finish(&p);
}
END_TEST

START_TEST(what_is_not_finite_is_told_by_tiles)
{
    struct pass whole, tiles;

    begin(&tiles, false, "faults = ({ name = \"nan_in_weights\"; });",
          TXD_ASK_ROWS | TXD_ASK_FINITE);
    OK(observe_pass(&tiles.o));
    begin(&whole, true, "faults = ({ name = \"nan_in_weights\"; });",
          TXD_ASK_ROWS | TXD_ASK_FINITE);
    OK(observe_pass(&whole.o));
    ck_assert_uint_gt(calls, 0);
    ck_assert_uint_gt(tiles.looking.nonfinite, 0);
    ck_assert_uint_eq(whole.looking.nonfinite, tiles.looking.nonfinite);
    finish(&whole);
    finish(&tiles);
}
END_TEST

TEST_MAIN(heads_gradients_and_rows_are_those_of_the_tiles, a_leak_is_in_the_rows,
          whoever_reads_values_has_tiles, what_is_not_finite_is_told_by_tiles)
