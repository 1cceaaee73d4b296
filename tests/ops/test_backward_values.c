/* SPDX-License-Identifier: MIT
 *
 * Backward entries that may write in place of their inputs do it rightly; activations
 * have the slopes that they must have at zero and at the ends of the range; layouts and
 * rotations are turned back.
 */
#include <math.h>
#include <string.h>

#include "ops/ref.h"
#include "suite.h"
#include "trial.h"

typedef void call(struct trial *t, void *args);

/* With the result in place of *input: the bits of a result of its own, and of the other
 * result (NULL: there is none). */
static void same_in_place(struct trial *t, call *body, void *args, void **slot,
                          const void **input, size_t count, const void *other)
{
    size_t bytes = count * txd_dtype_bytes(t->backend->dtype);
    void *apart = trial_real_output(t, count), *together = trial_real_output(t, count);
    void *beside = trial_keep(t, bytes);
    const void *kept = *input;

    *slot = apart;
    body(t, args);
    if (other != NULL)
        memcpy(beside, other, bytes);
    memcpy(together, *input, bytes);
    *input = *slot = together;
    body(t, args);
    ck_assert_msg(memcmp(apart, together, bytes) == 0, "%s", t->backend->name);
    ck_assert_msg(other == NULL || memcmp(beside, other, bytes) == 0, "%s: other",
                  t->backend->name);
    *input = kept;
}

static void run_activate(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->activate_back(&t->ctx, args), TXD_OK);
}

static void run_loss(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->loss_back(&t->ctx, args), TXD_OK);
}

static void run_multiply(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->multiply_back(&t->ctx, args), TXD_OK);
}

static void run_add(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->add_back(&t->ctx, args), TXD_OK);
}

START_TEST(elementwise_gradients_may_stand_in_place_of_what_came_in)
{
    enum { COUNT = 300 };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        struct txd_pair_back_args p = {.d_out = trial_numbers(&t, "d_out", COUNT),
                                       .a = trial_numbers(&t, "a", COUNT),
                                       .b = trial_numbers(&t, "b", COUNT),
                                       .count = COUNT};
        struct txd_activate_back_args a = {.d_out = p.d_out, .x = p.a, .count = COUNT};

        p.d_b = trial_real_output(&t, COUNT);
        same_in_place(&t, run_multiply, &p, &p.d_a, &p.d_out, COUNT, p.d_b);
        same_in_place(&t, run_add, &p, &p.d_a, &p.d_out, COUNT, p.d_b);
        p.d_a = trial_real_output(&t, COUNT);
        same_in_place(&t, run_multiply, &p, &p.d_b, &p.d_out, COUNT, p.d_a);
        same_in_place(&t, run_add, &p, &p.d_b, &p.d_out, COUNT, p.d_a);
        for (a.kind = 0; a.kind < 4; a.kind++) {
            same_in_place(&t, run_activate, &a, &a.d_x, &a.d_out, COUNT, NULL);
            same_in_place(&t, run_activate, &a, &a.d_x, &a.x, COUNT, NULL);
        }
        trial_finish(&t);
    }
}
END_TEST

static void run_mask(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->mask_back(&t->ctx, args), TXD_OK);
}

static void run_softmax(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->softmax_back(&t->ctx, args), TXD_OK);
}

START_TEST(gradients_of_tiles_and_logits_may_stand_in_place_of_what_came_in)
{
    enum { COUNT = 4 * 65 };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        const double max[4] = {0, 1, -INFINITY, 3};
        void *x = trial_numbers(&t, "x", COUNT);
        struct txd_mask_back_args m = {.d_out = x,
                                       .visible = trial_cells(&t, COUNT),
                                       .rows = 4,
                                       .keys = 65,
                                       .stride = 65};
        struct txd_softmax_back_args s = {.d_out = x,
                                          .weights =
                                              trial_numbers(&t, "weights", COUNT),
                                          .max = max,
                                          .rows = 4,
                                          .keys = 65,
                                          .stride = 65,
                                          .begin = 3,
                                          .end = 61};
        struct txd_loss_back_args l = {.d_out = trial_numbers(&t, "d_out", 4),
                                       .logits = x,
                                       .targets = trial_integers(&t, 4, 65),
                                       .rows = 4,
                                       .vocab = 65};

        same_in_place(&t, run_mask, &m, &m.d_scores, &m.d_out, COUNT, NULL);
        same_in_place(&t, run_softmax, &s, &s.d_masked, &s.d_out, COUNT, NULL);
        same_in_place(&t, run_loss, &l, &l.d_logits, &l.logits, COUNT, NULL);
        trial_finish(&t);
    }
}
END_TEST

static double slope_at(struct trial *t, int kind, double x)
{
    const double two = 2;
    struct txd_activate_back_args a = {.d_x = trial_real_output(t, 1),
                                       .d_out = trial_narrowed(t, &two, 1),
                                       .x = trial_narrowed(t, &x, 1),
                                       .count = 1,
                                       .kind = kind};
    txd_tensor out = txd_tensor_make(t->backend->dtype, a.d_x, 1, &a.count);

    ck_assert_int_eq(t->ops->activate_back(&t->ctx, &a), TXD_OK);
    return txd_tensor_get(&out, 0) / 2;
}

START_TEST(far_from_zero_activations_have_slope_one_or_zero_and_no_overflow)
{
    const double far[] = {50, 1e4, 1e13, 1e20, 1e38};
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        for (int kind = 0; kind < 4; kind++) {
            for (size_t k = 0; k < sizeof far / sizeof far[0]; k++) {
                ck_assert_double_eq(slope_at(&t, kind, far[k]), 1);
                ck_assert_double_le(fabs(slope_at(&t, kind, -far[k])), 1e-15);
            }
            ck_assert(isnan(slope_at(&t, kind, NAN)));
            trial_finish(&t);
        }
    }
}
END_TEST

/* Where terms fade, cancel or underflow: all of [-104, 104]. */
START_TEST(slopes_are_within_their_bound_over_the_whole_range)
{
    enum { COUNT = 208 * 32 + 1 };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++)
        for (int kind = 0; kind < 4; kind++) {
            double *x = trial_doubles(&t, "x", COUNT);
            double *d_out = trial_doubles(&t, "d_out", COUNT);
            double *exact = trial_keep(&t, COUNT * sizeof *exact);
            double *allowed = trial_keep(&t, COUNT * sizeof *allowed);
            struct txd_activate_back_args a = {
                .d_x = exact, .d_out = d_out, .x = x, .count = COUNT, .kind = kind};

            for (size_t k = 0; k < COUNT; k++)
                x[k] = trial_rounded(&t, (double)k / 32 - 104);
            ck_assert_int_eq(txd_ref64_activate_back(&t.ctx, &a), TXD_OK);
            txd_bound_activate_back(allowed, &a, txd_roundoff_of(t.backend));
            a.x = trial_narrowed(&t, x, COUNT);
            a.d_out = trial_narrowed(&t, d_out, COUNT);
            a.d_x = trial_real_output(&t, COUNT);
            ck_assert_int_eq(t.ops->activate_back(&t.ctx, &a), TXD_OK);
            trial_compare(&t, "d_x", a.d_x, exact, allowed, COUNT);
            ck_assert_msg(t.failures == 0, "%s, kind %d: %s", t.backend->name, kind,
                          t.first);
            trial_finish(&t);
        }
}
END_TEST

/* In the order of txd_activation: gelu, gelu_tanh, relu, silu. */
START_TEST(at_zero_activations_have_slope_one_half_and_relu_has_none)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        for (int kind = 0; kind < 4; kind++) {
            ck_assert_double_eq(slope_at(&t, kind, 0.0), kind == 2 ? 0 : 0.5);
            ck_assert_double_eq(slope_at(&t, kind, -0.0), kind == 2 ? 0 : 0.5);
        }
        ck_assert_double_eq(slope_at(&t, 2, 1e-30), 1);
        trial_finish(&t);
    }
}
END_TEST

START_TEST(split_and_merge_undo_each_other_backward)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        enum { COUNT = 2 * 7 * 3 * 5 };
        void *x = trial_numbers(&t, "x", COUNT), *split = trial_real_output(&t, COUNT),
             *back = trial_real_output(&t, COUNT),
             *merged = trial_real_output(&t, COUNT);
        struct txd_heads_args a = {
            .out = split, .x = x, .batch = 2, .length = 7, .heads = 3, .width = 5};
        size_t bytes = COUNT * txd_dtype_bytes(t.backend->dtype);

        (void)t.ops->split_heads(&t.ctx, &a);
        a.x = split;
        a.out = back;
        (void)t.ops->split_heads_back(&t.ctx, &a);
        a.out = merged;
        (void)t.ops->merge_heads(&t.ctx, &a);
        ck_assert_mem_ne(split, x, bytes);
        ck_assert_mem_eq(back, x, bytes);
        ck_assert_mem_eq(merged, x, bytes);
        a.x = x;
        (void)t.ops->merge_heads_back(&t.ctx, &a);
        ck_assert_mem_eq(merged, split, bytes);
        ck_assert_msg(t.failures == 0, "%s: %s", t.backend->name, t.first);
        trial_finish(&t);
    }
}
END_TEST

/* The lane that turns with lane i of a head. */
static size_t partner(const struct txd_rotate_args *a, size_t i)
{
    size_t half = a->rope_width / 2;

    if (a->adjacent)
        return i ^ 1;
    return i < half ? i + half : i - half;
}

/* Turned and back: the error of the way back, and that of the way there, which the way
 * back mixes among the two lanes of a pair. */
static double *there_and_back(struct trial *t, const struct txd_rotate_args *there,
                              const struct txd_rotate_args *back, size_t count)
{
    double *first = trial_keep(t, count * sizeof *first);
    double *both = trial_keep(t, count * sizeof *both);

    txd_bound_rotate(first, there, txd_roundoff_of(t->backend));
    txd_bound_rotate(both, back, txd_roundoff_of(t->backend));
    for (size_t i = 0; i < count; i++)
        if (i % there->width < there->rope_width)
            both[i] += first[i] +
                       first[i - i % there->width + partner(there, i % there->width)];
    return both;
}

static void turn_and_back(struct trial *t, struct txd_rotate_args there, size_t count)
{
    double *x = trial_doubles(t, "x", count);
    void *turned = trial_real_output(t, count), *out = trial_real_output(t, count);
    struct txd_rotate_args back = there;

    there.x = trial_narrowed(t, x, count);
    there.out = turned;
    ck_assert_int_eq(t->ops->rotate(&t->ctx, &there), TXD_OK);
    ck_assert(fabs(trial_at(t, turned, count - 10) - x[count - 10]) > 0.01);
    back.x = turned;
    back.out = out;
    ck_assert_int_eq(t->ops->rotate_back(&t->ctx, &back), TXD_OK);
    there.x = x;
    there.out = trial_widened(t, turned, count);
    back.x = there.out;
    back.out = trial_widened(t, out, count);
    trial_compare(t, "x, turned and back", out, x,
                  there_and_back(t, &there, &back, count), count);
}

START_TEST(rotations_are_turned_back)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        struct txd_rotate_args a = {.positions = trial_integers(&t, 14, 5000),
                                    .batch = 2,
                                    .heads = 3,
                                    .length = 7,
                                    .width = 10,
                                    .rope_width = 8,
                                    .base = 10000};

        turn_and_back(&t, a, 2 * 7 * 3 * 10);
        a.adjacent = true;
        turn_and_back(&t, a, 2 * 7 * 3 * 10);
        ck_assert_msg(t.failures == 0, "%s: %s", t.backend->name, t.first);
        trial_finish(&t);
    }
}
END_TEST

TEST_MAIN(elementwise_gradients_may_stand_in_place_of_what_came_in,
          gradients_of_tiles_and_logits_may_stand_in_place_of_what_came_in,
          far_from_zero_activations_have_slope_one_or_zero_and_no_overflow,
          slopes_are_within_their_bound_over_the_whole_range,
          at_zero_activations_have_slope_one_half_and_relu_has_none,
          split_and_merge_undo_each_other_backward, rotations_are_turned_back)
