/* SPDX-License-Identifier: MIT
 *
 * Backward entries give the same bits with any number of threads.
 */
#include <math.h>
#include <string.h>

#include "suite.h"
#include "trial.h"

/* What a call is given to write to or to add to, and what one thread made of it. */
struct output {
    const char *name;
    void **slot;
    size_t count;
    void *alone;
};

typedef void call(struct trial *t, void *args);

/* Runs `body` with one to four threads: every output must have the bits of one. Enough
 * work is given that more than one are really used. */
static void same_bits(struct trial *t, call *body, void *args, struct output *outputs)
{
    for (int threads = 1; threads <= 4; threads++) {
        t->ctx.threads = threads;
        for (struct output *o = outputs; o->name != NULL; o++)
            *o->slot = trial_numbers(t, o->name, o->count);
        body(t, args);
        for (struct output *o = outputs; o->name != NULL; o++) {
            size_t bytes = o->count * txd_dtype_bytes(t->backend->dtype);

            if (threads == 1)
                o->alone = *o->slot;
            else
                ck_assert_msg(memcmp(*o->slot, o->alone, bytes) == 0,
                              "%s: %s with %d threads", t->backend->name, o->name,
                              threads);
        }
    }
    trial_finish(t);
}

static void run_linear(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->linear_back(&t->ctx, args), TXD_OK);
}

static void linear_of(struct trial *t, size_t rows, size_t n, size_t k)
{
    struct txd_linear_back_args a = {.d_out = trial_numbers(t, "d_out", rows * n),
                                     .x = trial_numbers(t, "x", rows * k),
                                     .weight = trial_numbers(t, "w", n * k),
                                     .rows = rows,
                                     .n = n,
                                     .k = k,
                                     .add = true};
    struct output out[] = {{"d_x", &a.d_x, rows * k, NULL},
                           {"d_weight", &a.d_weight, n * k, NULL},
                           {"d_bias", &a.d_bias, n, NULL},
                           {NULL, NULL, 0, NULL}};

    same_bits(t, run_linear, &a, out);
}

START_TEST(linear_back_has_the_same_bits_with_any_number_of_threads)
{
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        linear_of(&t, 210, 330, 1050);
        linear_of(&t, 1100, 2048, 8); /* enough rows and outputs for the bias */
    }
}
END_TEST

static void run_norm(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->norm_back(&t->ctx, args), TXD_OK);
}

START_TEST(norm_back_has_the_same_bits_with_any_number_of_threads)
{
    enum { SIZE_ROWS = 2100, COLUMNS = 600, COUNT = SIZE_ROWS * COLUMNS };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        struct txd_norm_back_args a = {.d_out = trial_numbers(&t, "d_out", COUNT),
                                       .x = trial_numbers(&t, "x", COUNT),
                                       .gain = trial_numbers(&t, "gain", COLUMNS),
                                       .rows = SIZE_ROWS,
                                       .width = COLUMNS,
                                       .eps = 1e-5};
        struct output out[] = {{"d_x", &a.d_x, COUNT, NULL},
                               {"d_gain", &a.d_gain, COLUMNS, NULL},
                               {"d_bias", &a.d_bias, COLUMNS, NULL},
                               {NULL, NULL, 0, NULL}};

        same_bits(&t, run_norm, &a, out);
    }
}
END_TEST

static void run_embed(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->embed_back(&t->ctx, args), TXD_OK);
}

START_TEST(embed_back_has_the_same_bits_with_any_number_of_threads)
{
    enum { SIZE_ROWS = 2100, COLUMNS = 600, VOCAB = 40 };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        struct txd_embed_back_args a = {
            .d_out = trial_numbers(&t, "d_out", SIZE_ROWS * COLUMNS),
            .ids = trial_integers(&t, SIZE_ROWS, VOCAB),
            .rows = SIZE_ROWS,
            .width = COLUMNS};
        struct output out[] = {{"d_table", &a.d_table, VOCAB * COLUMNS, NULL},
                               {NULL, NULL, 0, NULL}};

        same_bits(&t, run_embed, &a, out);
    }
}
END_TEST

static void run_activate(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->activate_back(&t->ctx, args), TXD_OK);
}

static void run_loss(struct trial *t, void *args)
{
    ck_assert_int_eq(t->ops->loss_back(&t->ctx, args), TXD_OK);
}

START_TEST(activations_and_losses_have_the_same_bits_with_any_number_of_threads)
{
    enum { COUNT = 120000, LOSSES = 100, VOCAB = COUNT / LOSSES };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        struct txd_activate_back_args a = {.d_out = trial_numbers(&t, "d_out", COUNT),
                                           .x = trial_numbers(&t, "x", COUNT),
                                           .count = COUNT,
                                           .kind = 1};
        struct txd_loss_back_args l = {.d_out = a.d_out,
                                       .logits = a.x,
                                       .targets = trial_integers(&t, LOSSES, VOCAB),
                                       .rows = LOSSES,
                                       .vocab = VOCAB};
        struct output of_a[] = {{"d_x", &a.d_x, COUNT, NULL}, {NULL, NULL, 0, NULL}},
                      of_l[] = {{"d_logits", &l.d_logits, COUNT, NULL},
                                {NULL, NULL, 0, NULL}};
        struct trial other = t;

        other.allocations = 0;
        same_bits(&other, run_loss, &l, of_l);
        same_bits(&t, run_activate, &a, of_a);
    }
}
END_TEST

/* Tiles as attention makes them: each a task, on keys and values of its own head. */
enum { TILES = 12, ROWS = 64, KEYS = 300, WIDTH = 32 };

struct tiles {
    struct trial *t;
    struct txd_scores_back_args scores;
    struct txd_mix_back_args mix;
    void *d_q, *d_k, *d_v, *d_weights;
};

static void *part(const struct tiles *tiles, const void *of, size_t elements)
{
    size_t bytes = txd_dtype_bytes(tiles->t->backend->dtype);

    return (char *)(uintptr_t)of + elements * bytes;
}

static txd_status one_tile(void *self, size_t i, int worker)
{
    struct tiles *all = self;
    const struct txd_ops *ops = all->t->ops;
    struct txd_scores_back_args s = all->scores;
    struct txd_mix_back_args m = all->mix;

    (void)worker;
    m.d_weights = part(all, all->d_weights, i * ROWS * KEYS);
    m.d_v = part(all, all->d_v, i * KEYS * WIDTH);
    m.weights = part(all, m.weights, i * ROWS * KEYS);
    m.v = part(all, m.v, i * KEYS * WIDTH);
    m.d_out = part(all, m.d_out, i * ROWS * WIDTH);
    TXD_TRY(ops->mix_back(&all->t->ctx, &m));
    s.d_q = part(all, all->d_q, i * ROWS * WIDTH);
    s.d_k = part(all, all->d_k, i * KEYS * WIDTH);
    s.d_out = m.d_weights;
    s.q = m.d_out;
    s.k = m.v;
    return ops->scores_back(&all->t->ctx, &s);
}

static void run_tiles(struct trial *t, void *args)
{
    double operations = 4.0 * ROWS * KEYS * WIDTH;

    ck_assert_int_eq(txd_parallel(&t->ctx, TILES, operations, one_tile, args), TXD_OK);
}

START_TEST(tiles_of_attention_have_the_same_bits_with_any_number_of_threads)
{
    enum {
        CELLS = TILES * ROWS * KEYS,
        Q = TILES * ROWS * WIDTH,
        KV = TILES * KEYS * WIDTH
    };
    struct trial t;

    for (size_t i = 0; trial_begin(&t, i); i++) {
        uint8_t *used = trial_keep(&t, ROWS * KEYS);
        struct tiles all = {.t = &t,
                            .scores = {.visible = used,
                                       .rows = ROWS,
                                       .keys = KEYS,
                                       .width = WIDTH,
                                       .stride = KEYS,
                                       .scale = 0.2},
                            .mix = {.weights = trial_numbers(&t, "w", CELLS),
                                    .v = trial_numbers(&t, "v", KV),
                                    .d_out = trial_numbers(&t, "d_out", Q),
                                    .used = used,
                                    .rows = ROWS,
                                    .keys = KEYS,
                                    .stride = KEYS,
                                    .width = WIDTH}};
        struct output out[] = {{"d_q", &all.d_q, Q, NULL},
                               {"d_k", &all.d_k, KV, NULL},
                               {"d_v", &all.d_v, KV, NULL},
                               {"d_weights", &all.d_weights, CELLS, NULL},
                               {NULL, NULL, 0, NULL}};

        memset(used, 1, ROWS * KEYS);
        same_bits(&t, run_tiles, &all, out);
    }
}
END_TEST

TEST_MAIN(linear_back_has_the_same_bits_with_any_number_of_threads,
          norm_back_has_the_same_bits_with_any_number_of_threads,
          embed_back_has_the_same_bits_with_any_number_of_threads,
          activations_and_losses_have_the_same_bits_with_any_number_of_threads,
          tiles_of_attention_have_the_same_bits_with_any_number_of_threads)
