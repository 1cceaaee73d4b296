/* SPDX-License-Identifier: MIT
 *
 * Operations of the host on values of a device: every operation on a device whose
 * memory cannot be used directly, there and back, and what the way leaves alone.
 */
#include <math.h>
#include <string.h>

#include "carried.h"
#include "fake_device.h"
#include "ops/hosted.h"
#include "suite.h"
#include "trial.h"

START_TEST(every_operation_on_copies_is_within_its_bound)
{
    const txd_backend *device = fake_device("cpu32");
    const struct txd_ops *ops = carried_ops(device, &device->ops);

    for (int op = 0; op < TXD_OP_COUNT; op++)
        for (size_t size = 0; size < TRIAL_SIZES - 1; size++) {
            struct trial trial = {
                .ops = ops, .backend = device, .size = size, .ctx = {.threads = 1}};

            trial_run(&trial, (txd_op)op);
            ck_assert_msg(trial.failures == 0, "operation %d: %s", op, trial.first);
            trial_finish(&trial);
        }
}
END_TEST

enum { ROWS = 3, KEYS = 4, STRIDE = 7, CELLS = ROWS * STRIDE };

/* What the replaced operations of the tests below note. */
static const void *seen_self, *seen_out, *seen_in, *seen_sink;

static txd_status fill(txd_ctx *ctx, const struct txd_mask_args *args)
{
    (void)ctx;
    seen_self = args->at.self;
    seen_out = args->out;
    seen_in = args->scores;
    for (size_t i = 0; i < (ROWS - 1) * STRIDE + KEYS; i++)
        ((float *)args->out)[i] += 100;
    return TXD_OK;
}

static void check_cells(const txd_backend *device, const void *tile)
{
    float cells[CELLS];

    ck_assert_int_eq(device->download(cells, tile, sizeof cells), TXD_OK);
    for (size_t i = 0; i < CELLS; i++)
        ck_assert_float_eq(cells[i], (float)i + (i % STRIDE < KEYS ? 100 : 0));
}

static void *tile_on(const txd_backend *device)
{
    float cells[CELLS];
    void *tile = device->alloc(sizeof cells);

    for (size_t i = 0; i < CELLS; i++)
        cells[i] = (float)i;
    ck_assert_int_eq(device->upload(tile, cells, sizeof cells), TXD_OK);
    return tile;
}

START_TEST(what_lies_between_the_rows_of_a_tile_is_left_alone)
{
    const txd_backend *device = fake_device("cpu32");
    const struct txd_hosted hosted = {.backend = device, .ops = {.mask = fill}};
    struct txd_mask_args a = {.at = {.self = &hosted},
                              .out = tile_on(device),
                              .scores = tile_on(device),
                              .rows = ROWS,
                              .keys = KEYS,
                              .stride = STRIDE};
    txd_ctx ctx = {1};

    ck_assert_int_eq(txd_hosted_mask(&ctx, &a), TXD_OK);
    check_cells(device, a.out);
    ck_assert(seen_out != seen_in && seen_out != a.out && seen_in != a.scores);
    device->free(a.out);
    device->free((void *)a.scores);
}
END_TEST

START_TEST(an_operation_in_place_is_in_place_on_the_copy_and_finds_its_own_state)
{
    static const int mine;
    const txd_backend *device = fake_device("cpu32");
    struct txd_hosted hosted = {.backend = device, .ops = {.mask = fill}};
    struct txd_mask_args a = {.at = {.self = &hosted},
                              .out = tile_on(device),
                              .rows = ROWS,
                              .keys = KEYS,
                              .stride = STRIDE};
    txd_ctx ctx = {1};

    hosted.self[TXD_OP_mask] = &mine;
    a.scores = a.out;
    ck_assert_int_eq(txd_hosted_mask(&ctx, &a), TXD_OK);
    check_cells(device, a.out);
    ck_assert_ptr_eq(seen_out, seen_in);
    ck_assert_ptr_eq(seen_self, &mine);
    device->free(a.out);
}
END_TEST

static txd_status pair(txd_ctx *ctx, const struct txd_pair_args *args)
{
    (void)ctx;
    seen_out = args->out;
    seen_in = args->a;
    return TXD_OK;
}

START_TEST(values_that_share_memory_share_it_in_the_copy)
{
    const txd_backend *device = fake_device("cpu32");
    const struct txd_hosted hosted = {.backend = device, .ops = {.add = pair}};
    float *tile = tile_on(device);
    struct txd_pair_args a = {
        .at = {.self = &hosted}, .out = tile + 2, .a = tile, .b = tile + 5, .count = 5};
    txd_ctx ctx = {1};

    ck_assert_int_eq(txd_hosted_add(&ctx, &a), TXD_OK);
    ck_assert_int_eq((const float *)seen_out - (const float *)seen_in, 2);
    device->free(tile);
}
END_TEST

static txd_status refuse(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    (void)ctx;
    seen_sink = args->sink;
    *(float *)args->out = 1e9F;
    return txd_fail(TXD_ERR_MISSING, "nothing to be had");
}

START_TEST(a_failure_is_told_and_leaves_the_device_as_it_is)
{
    const txd_backend *device = fake_device("cpu32");
    const struct txd_hosted hosted = {.backend = device, .ops = {.softmax = refuse}};
    struct txd_softmax_args a = {.at = {.self = &hosted},
                                 .out = tile_on(device),
                                 .masked = tile_on(device),
                                 .rows = ROWS,
                                 .keys = KEYS,
                                 .stride = STRIDE};
    txd_ctx ctx = {1};
    float first;

    seen_sink = &ctx;
    ck_assert_int_eq(txd_hosted_softmax(&ctx, &a), TXD_ERR_MISSING);
    ck_assert_str_eq(txd_message(), "nothing to be had");
    ck_assert_int_eq(device->download(&first, a.out, sizeof first), TXD_OK);
    ck_assert_float_eq(first, 0);
    ck_assert_ptr_null(seen_sink);
    device->free(a.out);
    device->free((void *)a.masked);
}
END_TEST

TEST_MAIN(every_operation_on_copies_is_within_its_bound,
          what_lies_between_the_rows_of_a_tile_is_left_alone,
          an_operation_in_place_is_in_place_on_the_copy_and_finds_its_own_state,
          values_that_share_memory_share_it_in_the_copy,
          a_failure_is_told_and_leaves_the_device_as_it_is)
