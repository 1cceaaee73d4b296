/* SPDX-License-Identifier: MIT
 *
 * The backward half gives the same bits for any number of threads, with taps or
 * without, hidden cells computed or not, on every backend; it takes memory that grows
 * with the length and not with its square; and a run without it is what it was.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 50; d_model = 12; n_heads = 2; n_layers = 2; d_ff = 16; "                 \
    "max_seq_len = 1024; "

/* Several tiles of 128 rows per head, several heads per KV head. */
#define LENGTH 300

static const char *const models[] = {
    "model : { preset = \"llama\"; n_kv_heads = 1; " SIZES "};",
    "model : { preset = \"gpt2\"; cross = true; norm_placement = \"post\"; " SIZES
    "}; mask : { window = 280; };",
};
static void begin(observed *o, const char *cfg, const char *backend)
{
    const size_t real[2] = {310, 290};

    OK(observe_cfg(o, cfg, backend));
    OK(observe_random(o, 2, LENGTH));
    for (size_t t = 0; t < 40; t++)
        o->inputs.valid[LENGTH + t] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, 310, real));
    o->backward = true;
}

/* Hashes of all gradients of a pass: of parameters, and of points if they are kept. */
static uint64_t hash(uint64_t h, const void *data, size_t bytes)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ byte[i]) * 1099511628211u;
    return h;
}

static uint64_t of_parameters(observed *o)
{
    uint64_t h = 14695981039346656037u;
    txd_tensor g;

    for (size_t i = 0; i < txd_params_count(o->params); i++) {
        OK(txd_run_gradient(&g, o->run, i));
        h = hash(h, g.data, txd_tensor_count(&g) * txd_dtype_bytes(g.dtype));
    }
    return h;
}

/* Whole values alone: of the cells of tiles, not all need be there. */
static uint64_t of_points(const observed *o)
{
    uint64_t h = 14695981039346656037u;

    for (size_t s = 0; s < o->sites; s++) {
        const struct observed_site *site = &o->site[s];

        if (strstr(site->name, "@grad") != NULL && site->cells == site->count)
            h = hash(h, site->values, site->count * sizeof(double));
    }
    return h;
}

struct hashes {
    uint64_t parameters, points;
};

static struct hashes pass(observed *o, int threads, const char *only,
                          txd_evaluate_hidden hidden)
{
    struct hashes out;

    o->threads = threads;
    o->only = only;
    o->config.evaluate_hidden = hidden;
    OK(observe_pass(o));
    out.parameters = of_parameters(o);
    out.points = of_points(o);
    return out;
}

#define WHOLE "*.attn.q@grad,*.attn.k@grad,*.attn.v@grad,*.resid.*@grad,input.memory@*"

static void check_bits(const char *cfg, const char *backend)
{
    observed o = {0};
    struct hashes one, other;

    begin(&o, cfg, backend);
    one = pass(&o, 1, WHOLE, TXD_HIDDEN_AUTO);
    for (int threads = 2; threads <= 4; threads++) {
        other = pass(&o, threads, WHOLE, TXD_HIDDEN_AUTO);
        ck_assert_msg(one.parameters == other.parameters && one.points == other.points,
                      "%s: %d threads", backend, threads);
    }
    other = pass(&o, 3, "nothing", TXD_HIDDEN_AUTO);
    ck_assert_msg(one.parameters == other.parameters, "%s: without taps", backend);
    ck_assert(one.points != other.points);
    other = pass(&o, 2, WHOLE ",*.scores@grad,*.masked@grad", TXD_HIDDEN_ALWAYS);
    ck_assert_msg(one.parameters == other.parameters, "%s: hidden cells", backend);
    other = pass(&o, 2, WHOLE ",*.weights@grad", TXD_HIDDEN_NEVER);
    ck_assert_msg(one.parameters == other.parameters, "%s: no hidden cells", backend);
    other = pass(&o, 2, WHOLE, TXD_HIDDEN_NEVER);
    ck_assert_msg(one.points == other.points, "%s: points", backend);
    observe_finish(&o);
}

START_TEST(gradients_have_the_same_bits_for_any_number_of_threads_and_taps)
{
    check_bits(models[0], "cpu32");
    check_bits(models[1], "cpu32");
}
END_TEST

START_TEST(those_of_the_other_backends_have_too)
{
    check_bits(models[0], "ref32");
    check_bits(models[1], "ref64");
    check_bits(models[0], "bf16");
    check_bits(models[1], "fp16");
}
END_TEST

START_TEST(another_parameter_has_another_hash)
{
    observed o = {0};
    struct hashes one, other;

    begin(&o, models[0], "cpu32");
    one = pass(&o, 2, WHOLE, TXD_HIDDEN_AUTO);
    ((float *)txd_params_at(o.params, 0)->value.data)[5] += 0x1p-20f;
    OK(observe_rebind(&o));
    other = pass(&o, 2, WHOLE, TXD_HIDDEN_AUTO);
    ck_assert(one.parameters != other.parameters && one.points != other.points);
    observe_finish(&o);
}
END_TEST

/* Tile sums of every thread count are the same, and so are statistics. */
START_TEST(statistics_of_gradients_do_not_depend_on_threads)
{
    observed one = {0}, four = {0};

    begin(&one, models[0], "cpu32");
    begin(&four, models[0], "cpu32");
    one.only = four.only = "*@grad";
    one.threads = 1;
    four.threads = 4;
    OK(observe_pass(&one));
    OK(observe_pass(&four));
    ck_assert_uint_eq(one.sites, four.sites);
    ck_assert_uint_gt(one.sites, 50);
    for (size_t s = 0; s < one.sites; s++)
        ck_assert_msg(memcmp(one.site[s].stats, four.site[s].stats,
                             sizeof one.site[s].stats) == 0,
                      "%s", one.site[s].name);
    observe_finish(&one);
    observe_finish(&four);
}
END_TEST

START_TEST(the_forward_half_is_the_same_with_a_backward_half)
{
    observed with = {0}, without = {0};

    begin(&with, models[1], "cpu32");
    begin(&without, models[1], "cpu32");
    without.backward = false;
    OK(observe_pass(&with));
    OK(observe_pass(&without));
    ck_assert_double_eq(txd_run_loss(with.run), txd_run_loss(without.run));
    for (size_t s = 0; s < without.sites; s++) {
        const struct observed_site *a = &without.site[s];
        const struct observed_site *b = observe_site(&with, a->name);

        ck_assert_msg(memcmp(a->values, b->values, a->count * sizeof(double)) == 0,
                      "%s", a->name);
    }
    observe_finish(&with);
    observe_finish(&without);
}
END_TEST

/* Beyond 512 keys somebody must ask for them. */
START_TEST(hidden_cells_of_long_rows_have_gradients_if_they_are_wanted)
{
    observed o = {0};
    const struct observed_site *some, *all;

    OK(observe_cfg(&o, models[0], "cpu32"));
    OK(observe_random(&o, 1, 530));
    o.backward = true;
    o.only = "layers.1.attn.*@grad";
    OK(observe_pass(&o));
    some = observe_site(&o, "layers.1.attn.weights@grad");
    ck_assert_uint_lt(some->cells, some->count);
    o.extra = TXD_ASK_HIDDEN;
    OK(observe_pass(&o));
    all = observe_site(&o, "layers.1.attn.weights@grad");
    ck_assert_uint_eq(all->cells, all->count);
    ck_assert(all->values[7] == 0);
    observe_finish(&o);
}
END_TEST

static size_t lost(const char *cfg, size_t *small)
{
    observed o = {0};
    size_t zeros = 0;

    OK(observe_cfg(&o, cfg, "fp16"));
    OK(observe_random(&o, 1, 9));
    o.backward = true;
    OK(observe_pass(&o));
    *small = 0;
    for (size_t i = 0; i < txd_params_count(o.params); i++) {
        txd_tensor g;

        OK(txd_run_gradient(&g, o.run, i));
        for (size_t e = 0; e < txd_tensor_count(&g); e++) {
            double x = fabs(txd_tensor_get(&g, e));

            zeros += x == 0;
            *small += x > 0 && x < 0x1p-25;
        }
    }
    observe_finish(&o);
    return zeros;
}

START_TEST(a_loss_scale_saves_what_fp16_would_round_to_zero)
{
    const char *plain =
        "model : { preset = \"llama\"; residual_scale = 0.0001; " SIZES "};";
    const char *scaled = "model : { preset = \"llama\"; residual_scale = 0.0001; " SIZES
                         "}; precision : { loss_scale = 4096; };";
    size_t small, saved, without = lost(plain, &small), with = lost(scaled, &saved);

    ck_assert_uint_gt(without, 2 * with);
    ck_assert_uint_eq(small, 0);
    ck_assert_uint_gt(saved, 100); /* not rounded again when they are divided */
}
END_TEST

static size_t bytes_of(observed *o, bool backward, size_t length)
{
    txd_run_options options = {
        .claimed = &o->config, .backward = backward, .threads = 2};
    const txd_extent extent = {1, length, 0, 0};
    size_t bytes;

    OK(txd_run_bytes(&bytes, o->model, &options, &extent));
    return bytes;
}

START_TEST(memory_grows_with_the_length_and_not_with_its_square)
{
    observed o = {0};
    size_t at8k, at16k, forward;

    OK(observe_cfg(&o, "model : { preset = \"llama\"; " SIZES "};", "cpu32"));
    at8k = bytes_of(&o, true, 8192);
    at16k = bytes_of(&o, true, 16384);
    forward = bytes_of(&o, false, 16384);
    ck_assert_msg((double)at16k <= 2.0 * (double)at8k, "%zu and %zu", at8k, at16k);
    /* one plane of this model would be 2 GiB */
    ck_assert_uint_lt(at16k, (size_t)1 << 29);
    ck_assert_uint_lt(forward, at16k);
    observe_finish(&o);
}
END_TEST

static unsigned edit_ask(void *self, const txd_site *site)
{
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_WEIGHTS &&
                   site->layer < *(int *)self
               ? TXD_ASK_EDIT
               : 0;
}

static size_t bytes_edited(observed *o, bool backward, int layers)
{
    txd_tap tap = {.name = "edit", .self = &layers, .ask = edit_ask};
    txd_tap *taps[1] = {&tap};
    txd_run_options options = {.claimed = &o->config,
                               .taps = taps,
                               .tap_count = 1,
                               .backward = backward,
                               .threads = 2};
    const txd_extent extent = {1, 512, 0, 0};
    size_t bytes;

    OK(txd_run_bytes(&bytes, o->model, &options, &extent));
    return bytes;
}

START_TEST(a_dry_run_counts_the_planes_of_edited_attention)
{
    const size_t planes = 3 * (size_t)2 * 512 * 512 * sizeof(float);
    observed o = {0};

    OK(observe_cfg(&o, "model : { preset = \"llama\"; " SIZES "};", "cpu32"));
    ck_assert_uint_eq(bytes_edited(&o, false, 1) - bytes_edited(&o, false, 0), planes);
    ck_assert_uint_eq(bytes_edited(&o, false, 2) - bytes_edited(&o, false, 0), planes);
    ck_assert_uint_eq(bytes_edited(&o, true, 2) - bytes_edited(&o, true, 0),
                      2 * planes);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(gradients_have_the_same_bits_for_any_number_of_threads_and_taps,
          those_of_the_other_backends_have_too, another_parameter_has_another_hash,
          statistics_of_gradients_do_not_depend_on_threads,
          the_forward_half_is_the_same_with_a_backward_half,
          hidden_cells_of_long_rows_have_gradients_if_they_are_wanted,
          a_loss_scale_saves_what_fp16_would_round_to_zero,
          memory_grows_with_the_length_and_not_with_its_square,
          a_dry_run_counts_the_planes_of_edited_attention)
