/* SPDX-License-Identifier: MIT
 *
 * A mask as spans and the same mask as byte maps: not a bit differs, forward, backward
 * or in what rows and statistics say.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cross.h"
#include "faults/wrap.h"
#include "model/run_private.h"
#include "ops/args.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 19; d_model = 16; n_heads = 2; n_kv_heads = 1; n_layers = 2; "            \
    "d_ff = 40; max_seq_len = 1024; "
#define DRAWN                                                                          \
    "weights : { init = ( { params = \"layers.*\"; scheme = \"normal\"; std = 0.3; } " \
    "); };"

/* Several tiles of rows, and a rest. */
#define LENGTH 150
#define MEMORY 70

static const char *const masks[] = {
    "mask : { causal = true; };",
    "mask : { causal = true; window = 37; };",
    "mask : { causal = false; window = 20; masked_row = \"uniform\"; };",
    "mask : { causal = true; fill = -1e9; };",
    "mask : { causal = true; masked_row = \"nan\"; evaluate_hidden = \"never\"; };",
    "mask : { causal = true; window = 50; evaluate_hidden = \"never\"; };",
};

#define MASKS (sizeof masks / sizeof *masks)

enum padding { NONE, RIGHT, LEFT, NOTHING_IS_REAL, PADDINGS };

/* An operation in place of the mask's that does the same: with it, tiles have maps. */
static txd_status visible(txd_ctx *ctx, const struct txd_visible_args *args)
{
    return txd_below_visible(ctx, args);
}

static txd_plan *plan_of_maps(const observed *o)
{
    static const struct txd_ops mine = {.visible = visible};
    static const txd_fault_use use = {.name = "maps"};
    txd_plan *plan = txd_arena_alloc(o->arena, 1, sizeof *plan);

    plan->arena = o->arena;
    plan->config = o->config;
    OK(txd_plan_wrap(plan, &use, &mine, NULL));
    return plan;
}

static void pad(txd_inputs *inputs, enum padding padding)
{
    for (size_t t = 0; t < LENGTH; t++) {
        size_t at = LENGTH + t; /* of the second row */

        if (padding == RIGHT)
            inputs->valid[at] = t < 100;
        else if (padding == LEFT)
            inputs->valid[at] = t >= 60;
        else if (padding == NOTHING_IS_REAL)
            inputs->valid[at] = 0;
    }
    txd_inputs_count_positions(inputs);
}

static void pass(observed *o, const char *cfg, const char *backend,
                 enum padding padding, bool maps)
{
    const size_t real[2] = {MEMORY, 33};
    txd_tap *taps[1] = {&o->tap};
    txd_run_options options = {
        .claimed = &o->config, .taps = taps, .tap_count = 1, .backward = true};

    cross_start(o, cfg, backend, LENGTH);
    pad(&o->inputs, padding);
    if (o->config.cross)
        OK(observe_memory(o, MEMORY, real));
    if (maps)
        options.plan = plan_of_maps(o);
    o->extra = TXD_ASK_HIDDEN;
    OK(txd_run_create(&o->run, o->model, &options));
    OK(txd_run_pass(o->run, &o->inputs, 0));
    for (size_t b = 0; b < 2; b++)
        ck_assert(o->run->cells.is_regular[b] == !maps);
}

static void same_column(const struct observed_site *x, const struct observed_site *y,
                        size_t e)
{
    bool same = memcmp(&x->rows[e], &y->rows[e], sizeof(double)) == 0;

    if (!same)
        ck_abort_msg("%s, row %zu: %s", x->name, e / TXD_ROW_COUNT,
                     txd_row_get((txd_row)(e % TXD_ROW_COUNT))->name);
}

static void same_measures(observed *a, observed *b)
{
    for (size_t i = 0; i < a->sites; i++) {
        struct observed_site *x = &a->site[i], *y = observe_site(b, x->name);
        size_t rows = strstr(x->name, "cross") ? x->count / MEMORY : x->count / LENGTH;

        ck_assert_msg(memcmp(x->stats, y->stats, sizeof x->stats) == 0, "%s", x->name);
        ck_assert((x->rows == NULL) == (y->rows == NULL));
        for (size_t e = 0; x->rows != NULL && e < rows * TXD_ROW_COUNT; e++)
            same_column(x, y, e);
    }
}

static bool is_masked_gradient(const char *name)
{
    return txd_glob_list("*.masked@grad", name);
}

static void same_bits(observed *a, observed *b)
{
    ck_assert_uint_eq(a->sites, b->sites);
    for (size_t i = 0; i < a->sites; i++)
        if (!is_masked_gradient(a->site[i].name))
            cross_same_bits(a, b, a->site[i].name);
}

/* 0 times a negative number is -0: the gradient at a hidden cell, with maps. */
static void same_but_for_signs_of_zeros(observed *a, observed *b)
{
    for (size_t i = 0; i < a->sites; i++) {
        struct observed_site *x = &a->site[i], *y = observe_site(b, x->name);

        if (!is_masked_gradient(x->name))
            continue;
        for (size_t e = 0; e < x->count; e++)
            if (x->values[e] != y->values[e] &&
                !(isnan(x->values[e]) && isnan(y->values[e])))
                ck_abort_msg("%s, element %zu", x->name, e);
    }
}

static void compare(const char *model, const char *backend, size_t mask,
                    enum padding padding)
{
    observed spans = {0}, maps = {0};
    char cfg[600];

    snprintf(cfg, sizeof cfg, "%s %s %s", model, masks[mask], DRAWN);
    pass(&spans, cfg, backend, padding, false);
    pass(&maps, cfg, backend, padding, true);
    same_bits(&spans, &maps);
    same_but_for_signs_of_zeros(&spans, &maps);
    same_measures(&spans, &maps);
    observe_finish(&spans);
    observe_finish(&maps);
}

START_TEST(spans_and_maps_give_the_same_bits)
{
    for (size_t m = 0; m < MASKS; m++)
        for (int padding = 0; padding < PADDINGS; padding++)
            compare("model : { preset = \"mini\"; " SIZES "};", "cpu32", m,
                    (enum padding)padding);
}
END_TEST

START_TEST(spans_and_maps_give_the_same_bits_in_cross_attention)
{
    for (size_t m = 0; m < MASKS; m++)
        compare("model : { preset = \"llama\"; " SIZES "cross = true; };", "cpu32", m,
                (enum padding)(m % PADDINGS));
}
END_TEST

START_TEST(spans_and_maps_give_the_same_bits_on_the_other_backends)
{
    static const char *const backends[] = {"ref64", "ref32", "bf16", "fp16"};

    for (size_t m = 0; m < MASKS; m++)
        for (size_t i = 0; i < sizeof backends / sizeof *backends; i++)
            compare("model : { preset = \"gpt2\"; " SIZES "};", backends[i], m,
                    (enum padding)((m + i) % PADDINGS));
}
END_TEST

/* ---- what a tap is told of a tile ---- */

static unsigned ask_tiles(void *self, const txd_site *site)
{
    (void)self;
    return !txd_site_is_parameter(site->kind) &&
                   txd_point_get(site->point)->place == TXD_PLACE_TILE
               ? TXD_ASK_VALUE | TXD_ASK_STATS
               : 0;
}

/* Counts what is judged, and holds the spans to the rule. */
static size_t look_at_row(const txd_block *block, size_t row)
{
    const txd_inputs *inputs = block->pass->inputs;
    txd_mask_view mask = txd_mask_of_attention(
        txd_point_attention(block->site->point),
        &block->pass->claimed->layers[block->site->layer], inputs, block->start[0]);
    size_t query = block->start[2] + row, seen = 0;

    for (size_t j = 0; j < block->value.dims[3]; j++) {
        bool shown = txd_mask_hides(&mask, query, block->start[3] + j) == TXD_SEEN;

        if (block->seen && txd_span_has(block->seen, row, j) != shown)
            ck_abort_msg("query %zu, key %zu", query, block->start[3] + j);
        seen += shown;
    }
    return inputs->valid[block->start[0] * inputs->length + query] ? seen : 0;
}

static txd_status look(void *self, const txd_block *block, const void *slot)
{
    size_t *looks = self, judged = 0;

    (void)slot;
    ck_assert_ptr_nonnull(block->part);
    for (size_t r = 0; r < block->value.dims[2]; r++)
        judged += look_at_row(block, r);
    ck_assert_uint_eq((size_t)block->part->count, judged);
    looks[block->seen != NULL]++;
    return TXD_OK;
}

START_TEST(a_tap_is_told_which_cells_of_a_tile_are_seen)
{
    for (size_t m = 0; m < MASKS; m++) {
        observed o = {0};
        size_t looks[2] = {0, 0};
        txd_tap tap = {.name = "look",
                       .self = looks,
                       .gradients = true,
                       .ask = ask_tiles,
                       .merge = look};
        txd_tap *taps[1] = {&tap};
        txd_run_options options = {
            .claimed = &o.config, .taps = taps, .tap_count = 1, .backward = true};
        const size_t real[2] = {MEMORY, 33};
        char cfg[600];

        snprintf(cfg, sizeof cfg, "model : { preset = \"mini\"; %s cross = true; }; %s",
                 SIZES, masks[m]);
        cross_start(&o, cfg, "cpu32", LENGTH);
        pad(&o.inputs, RIGHT);
        o.inputs.document[LENGTH + 3] = (int32_t)(m % 2);
        OK(observe_memory(&o, MEMORY, real));
        OK(txd_run_create(&o.run, o.model, &options));
        OK(txd_run_pass(o.run, &o.inputs, 0));
        ck_assert_uint_gt(looks[1], 0);
        ck_assert((looks[0] > 0) == (m % 2 == 1));
        observe_finish(&o);
    }
}
END_TEST

START_TEST(irregular_rows_have_maps_beside_rows_that_have_spans)
{
    observed o = {0};

    cross_start(&o, "model : { preset = \"mini\"; " SIZES "};", "cpu32", LENGTH);
    o.inputs.document[LENGTH + 3] = 1;
    OK(observe_pass(&o));
    ck_assert(o.run->cells.is_regular[0]);
    ck_assert(!o.run->cells.is_regular[1]);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(spans_and_maps_give_the_same_bits,
          spans_and_maps_give_the_same_bits_in_cross_attention,
          spans_and_maps_give_the_same_bits_on_the_other_backends,
          a_tap_is_told_which_cells_of_a_tile_are_seen,
          irregular_rows_have_maps_beside_rows_that_have_spans)
