/* SPDX-License-Identifier: MIT
 *
 * Linear maps that are larger than a block of a product, in every direction.
 */
#include <string.h>

#include "suite.h"
#include "trial.h"

/* Rows, outputs and inputs: results that are cut because they are long, and because
 * there is much to do. */
static const size_t shapes[][3] = {
    {530, 9, 40}, {9, 1100, 40}, {40, 9, 530}, {130, 140, 520}, {1030, 70, 130},
};

#define SHAPES (sizeof shapes / sizeof *shapes)

START_TEST(a_linear_map_is_within_its_bound_across_the_edges_of_blocks)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++)
        for (size_t s = 0; s < SHAPES; s++) {
            trial_linear_shape(&t, shapes[s][0], shapes[s][1], shapes[s][2],
                               s % 2 == 0);
            ck_assert_msg(t.failures == 0, "%s: %s", t.backend->name, t.first);
            ck_assert_uint_gt(t.compared, 0);
            trial_finish(&t);
        }
}
END_TEST

START_TEST(its_gradients_are_within_their_bounds_across_the_edges_of_blocks)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++)
        for (size_t s = 0; s < SHAPES; s++) {
            trial_linear_back_shape(&t, shapes[s][0], shapes[s][1], shapes[s][2],
                                    s % 2 == 0);
            ck_assert_msg(t.failures == 0, "%s: %s", t.backend->name, t.first);
            ck_assert_uint_gt(t.compared, 0);
            trial_finish(&t);
        }
}
END_TEST

/* The map of one shape, of a backend, by so many threads. */
static void *map_of(struct trial *t, const size_t shape[3], int threads)
{
    struct txd_linear_args a = {
        .x = trial_numbers(t, "x", shape[0] * shape[2]),
        .weight = trial_numbers(t, "w", shape[1] * shape[2]),
        .bias = trial_numbers(t, "bias", shape[1]),
        .out = trial_real_output(t, shape[0] * shape[1]),
        .rows = shape[0],
        .n = shape[1],
        .k = shape[2],
    };

    t->ctx.threads = threads;
    ck_assert_int_eq(t->ops->linear(&t->ctx, &a), TXD_OK);
    return a.out;
}

START_TEST(a_linear_map_has_the_same_bits_with_any_number_of_threads)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++)
        for (size_t s = 0; s < SHAPES; s++) {
            size_t bytes =
                shapes[s][0] * shapes[s][1] * txd_dtype_bytes(t.backend->dtype);
            const void *alone = map_of(&t, shapes[s], 1);

            for (int threads = 2; threads <= 3; threads++)
                ck_assert_msg(memcmp(alone, map_of(&t, shapes[s], threads), bytes) == 0,
                              "%s: shape %zu with %d threads", t.backend->name, s,
                              threads);
            trial_finish(&t);
        }
}
END_TEST

TEST_MAIN(a_linear_map_is_within_its_bound_across_the_edges_of_blocks,
          its_gradients_are_within_their_bounds_across_the_edges_of_blocks,
          a_linear_map_has_the_same_bits_with_any_number_of_threads)
