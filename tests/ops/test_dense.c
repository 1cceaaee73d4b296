/* SPDX-License-Identifier: MIT
 *
 * What cpu32 does without sums gives the bits of ref32, whatever number of threads does
 * it; what it sums gives the same bits with any number of threads.
 */
#include <string.h>

#include "ops/ref.h"
#include "suite.h"
#include "trial.h"

/* More than one task of each operation, and a partial one. */
enum { COUNT = 200003, BATCH = 2, LENGTH = 70, HEADS = 3, WIDTH = 300 };

struct results {
    struct trial trial; /* of cpu32 */
    float *x, *y, *got, *wanted, *other, *other_wanted;
    size_t count;
};

static void bench_begin(struct results *b, size_t count)
{
    ck_assert(trial_begin(&b->trial, 0));
    ck_assert_str_eq(b->trial.backend->name, "cpu32");
    b->count = count;
    b->x = trial_numbers(&b->trial, "x", count);
    b->y = trial_numbers(&b->trial, "y", count);
    b->got = trial_keep(&b->trial, count * sizeof(float));
    b->wanted = trial_keep(&b->trial, count * sizeof(float));
    b->other = trial_keep(&b->trial, count * sizeof(float));
    b->other_wanted = trial_keep(&b->trial, count * sizeof(float));
}

/* What is added to begins as y, what is written as no number that comes out. */
static void fresh(struct results *b, bool added)
{
    float *outputs[] = {b->got, b->wanted, b->other, b->other_wanted};

    for (size_t i = 0; i < 4; i++)
        if (added)
            memcpy(outputs[i], b->y, b->count * sizeof(float));
        else
            memset(outputs[i], 0x77, b->count * sizeof(float));
}

static void agrees(const struct results *b, const char *what)
{
    size_t bytes = b->count * sizeof(float);

    ck_assert_msg(memcmp(b->got, b->wanted, bytes) == 0, "%s with %d threads", what,
                  b->trial.ctx.threads);
    ck_assert_msg(memcmp(b->other, b->other_wanted, bytes) == 0,
                  "second result of %s with %d threads", what, b->trial.ctx.threads);
}

#define COMPARE(b, name, args, slot) COMPARE_FROM(b, false, name, args, slot)
#define COMPARE_ADDED(b, name, args, slot) COMPARE_FROM(b, true, name, args, slot)

/* Calls an entry of cpu32, then that of ref32, with `slot` as the result. */
#define COMPARE_FROM(b, added, name, args, slot)                                       \
    do {                                                                               \
        fresh(b, added);                                                               \
        (args).slot = (b)->got;                                                        \
        ck_assert_int_eq((b)->trial.ops->name(&(b)->trial.ctx, &(args)), TXD_OK);      \
        (args).slot = (b)->wanted;                                                     \
        ck_assert_int_eq(txd_ref32_##name(&(b)->trial.ctx, &(args)), TXD_OK);          \
        agrees(b, #name);                                                              \
    } while (0)

START_TEST(pairs_have_the_bits_of_the_reference)
{
    struct results b;

    bench_begin(&b, COUNT);
    for (b.trial.ctx.threads = 1; b.trial.ctx.threads < 4; b.trial.ctx.threads++) {
        struct txd_pair_args pair = {.a = b.x, .b = b.y, .count = COUNT};
        struct txd_scale_args scale = {.x = b.x, .factor = 0.3, .count = COUNT};

        COMPARE(&b, add, pair, out);
        COMPARE(&b, multiply, pair, out);
        COMPARE(&b, scale, scale, out);
        COMPARE(&b, scale_back, scale, out);
    }
    trial_finish(&b.trial);
}
END_TEST

/* Both gradients at once; then with the i-th where d_out lies. */
#define COMPARE_BACK(bench, name, in_place)                                            \
    do {                                                                               \
        struct txd_pair_back_args a = {.a = (bench)->x,                                \
                                       .b = (bench)->y,                                \
                                       .d_out = (bench)->x,                            \
                                       .count = (bench)->count};                       \
        fresh(bench, false);                                                           \
        a.d_a = (bench)->got;                                                          \
        a.d_b = (bench)->other;                                                        \
        if (in_place >= 0) {                                                           \
            a.d_out = in_place == 0 ? (bench)->got : (bench)->other;                   \
            memcpy((void *)(uintptr_t)a.d_out, (bench)->x,                             \
                   (bench)->count * sizeof(float));                                    \
        }                                                                              \
        ck_assert_int_eq((bench)->trial.ops->name(&(bench)->trial.ctx, &a), TXD_OK);   \
        a.d_out = (bench)->x;                                                          \
        a.d_a = (bench)->wanted;                                                       \
        a.d_b = (bench)->other_wanted;                                                 \
        ck_assert_int_eq(txd_ref32_##name(&(bench)->trial.ctx, &a), TXD_OK);           \
        agrees(bench, #name);                                                          \
    } while (0)

START_TEST(gradients_of_pairs_have_the_bits_of_the_reference)
{
    struct results b;

    bench_begin(&b, COUNT);
    for (b.trial.ctx.threads = 1; b.trial.ctx.threads < 4; b.trial.ctx.threads++)
        for (int in_place = -1; in_place < 2; in_place++) {
            COMPARE_BACK(&b, add_back, in_place);
            COMPARE_BACK(&b, multiply_back, in_place);
        }
    trial_finish(&b.trial);
}
END_TEST

START_TEST(copies_of_rows_have_the_bits_of_the_reference)
{
    struct results b;

    bench_begin(&b, (size_t)BATCH * LENGTH * HEADS * WIDTH);
    for (b.trial.ctx.threads = 1; b.trial.ctx.threads < 4; b.trial.ctx.threads++) {
        struct txd_heads_args heads = {
            .x = b.x, .batch = BATCH, .length = LENGTH, .heads = HEADS, .width = WIDTH};
        struct txd_embed_args embed = {
            .table = b.x, .rows = (size_t)BATCH * LENGTH * HEADS, .width = WIDTH};

        embed.ids = trial_integers(&b.trial, embed.rows, BATCH * LENGTH);
        COMPARE(&b, split_heads, heads, out);
        COMPARE(&b, merge_heads, heads, out);
        COMPARE(&b, split_heads_back, heads, out);
        COMPARE(&b, merge_heads_back, heads, out);
        COMPARE(&b, embed, embed, out);
    }
    trial_finish(&b.trial);
}
END_TEST

/* More pairs than are kept at once, all lanes and some, apart and in place, and a base
 * so small that angles are beyond what the kernel reduces. */
START_TEST(rotation_has_the_bits_of_the_reference)
{
    static const size_t rope_widths[] = {WIDTH, 140, 2};
    double speed[WIDTH / 2];
    const struct txd_turns turns = {speed, 1.2345678};
    struct results b;

    for (int i = 0; i < WIDTH / 2; i++)
        speed[i] = 0.7 / (1 + i);
    bench_begin(&b, (size_t)BATCH * LENGTH * HEADS * WIDTH);
    for (int i = 0; i < 2 * 3 * 2 * 3; i++) {
        struct txd_rotate_args a = {
            .x = b.x,
            .positions = trial_integers(&b.trial, BATCH * LENGTH, 100000),
            .batch = BATCH,
            .heads = HEADS,
            .length = LENGTH,
            .width = WIDTH,
            .rope_width = rope_widths[i / 6 % 3],
            .base = i % 6 < 4 ? 10000 : 1e-7,
            .adjacent = i % 2 == 1,
            .turns = i < 18 ? NULL : &turns};

        b.trial.ctx.threads = 1 + i / 2 % 3;
        COMPARE(&b, rotate, a, out);
        COMPARE(&b, rotate_back, a, out);
        a.out = b.got;
        a.x = memcpy(b.got, b.x, b.count * sizeof(float));
        ck_assert_int_eq(b.trial.ops->rotate_back(&b.trial.ctx, &a), TXD_OK);
        agrees(&b, "rotate_back in place");
    }
    trial_finish(&b.trial);
}
END_TEST

START_TEST(sinusoids_have_the_bits_of_the_reference)
{
    static const size_t widths[] = {300, 7, 1, 129};
    struct results b;

    bench_begin(&b, (size_t)LENGTH * WIDTH);
    for (int i = 0; i < 12; i++) {
        struct txd_sinusoid_args a = {.positions =
                                          trial_integers(&b.trial, LENGTH, INT32_MAX),
                                      .rows = LENGTH,
                                      .width = widths[i / 3]};

        b.trial.ctx.threads = 1 + i % 3;
        COMPARE(&b, sinusoid, a, out);
    }
    trial_finish(&b.trial);
}
END_TEST

/* Rows are added in their order, whoever adds which lanes; many have one id. */
START_TEST(gradients_that_only_add_rows_have_the_bits_of_the_reference)
{
    enum { ADDED = 2100, LANES = 1100, IDS = 40 };
    struct results b;

    bench_begin(&b, (size_t)ADDED * LANES);
    for (b.trial.ctx.threads = 1; b.trial.ctx.threads < 4; b.trial.ctx.threads++) {
        struct txd_embed_back_args embed = {.d_out = b.x,
                                            .ids = trial_integers(&b.trial, ADDED, IDS),
                                            .rows = ADDED,
                                            .width = LANES};
        struct txd_linear_back_args linear = {
            .d_out = b.x, .rows = ADDED, .n = LANES, .k = 1};

        COMPARE_ADDED(&b, embed_back, embed, d_table);
        COMPARE_ADDED(&b, linear_back, linear, d_bias);
    }
    trial_finish(&b.trial);
}
END_TEST

START_TEST(activations_and_norms_have_the_same_bits_with_any_number_of_threads)
{
    struct results b;

    bench_begin(&b, COUNT / 3 * 3);
    for (b.trial.ctx.threads = 1; b.trial.ctx.threads < 4; b.trial.ctx.threads++) {
        struct txd_activate_args act = {.x = b.x, .count = b.count, .kind = 0};
        struct txd_norm_args norm = {.x = b.x,
                                     .gain = b.y,
                                     .bias = b.y,
                                     .rows = 3 * 67,
                                     .width = b.count / (3 * 67),
                                     .eps = 1e-5};

        act.out = b.got;
        norm.out = b.other;
        ck_assert_int_eq(b.trial.ops->activate(&b.trial.ctx, &act), TXD_OK);
        ck_assert_int_eq(b.trial.ops->norm(&b.trial.ctx, &norm), TXD_OK);
        if (b.trial.ctx.threads == 1) {
            memcpy(b.wanted, b.got, b.count * sizeof(float));
            memcpy(b.other_wanted, b.other, b.count * sizeof(float));
        } else {
            ck_assert_mem_eq(b.got, b.wanted, b.count * sizeof(float));
            ck_assert_mem_eq(b.other, b.other_wanted, b.count * sizeof(float));
        }
    }
    trial_finish(&b.trial);
}
END_TEST

TEST_MAIN(pairs_have_the_bits_of_the_reference,
          gradients_of_pairs_have_the_bits_of_the_reference,
          copies_of_rows_have_the_bits_of_the_reference,
          rotation_has_the_bits_of_the_reference,
          sinusoids_have_the_bits_of_the_reference,
          gradients_that_only_add_rows_have_the_bits_of_the_reference,
          activations_and_norms_have_the_same_bits_with_any_number_of_threads)
