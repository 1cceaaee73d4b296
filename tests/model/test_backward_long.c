/* SPDX-License-Identifier: MIT
 *
 * The backward half where a pass is more than one tile of everything: blocks of 128
 * queries, tiles that take over the memory of earlier ones, row tiles of the logits.
 * Against finite differences, like test_backward_slopes.c, whose sequences are short.
 */
#include <math.h>
#include <stdio.h>

#include "slopes.h"
#include "suite.h"

#define SIZES "vocab = 19; d_model = 8; n_heads = 2; n_layers = 1; d_ff = 6; "

/* Batch row 1 begins with padding, so that its tiles do not begin with key 0. */
enum { LENGTH = 300, PADDING = 40, MEMORY = 310 };

static void begin(observed *o, const char *cfg)
{
    const size_t real[2] = {MEMORY, MEMORY - 20};

    slopes_model(o, cfg);
    OK(observe_random(o, 2, LENGTH));
    for (size_t t = 0; t < PADDING; t++)
        o->inputs.valid[LENGTH + t] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, MEMORY, real));
    o->threads = 2;
}

/* Parameters that `globs` name have the loss's slope. */
static void check(observed *o, const char *name, const char *globs)
{
    const struct slope_bound bound = {name, SLOPE_STEP};
    size_t checked = 0;

    for (size_t i = 0; i < txd_params_count(o->params); i++)
        if (txd_glob_list(globs, txd_params_at(o->params, i)->name)) {
            slopes_check_parameter(o, i, &bound);
            checked++;
        }
    ck_assert_uint_gt(checked, 2);
}

START_TEST(parameters_have_the_slope_of_the_loss_over_many_tiles)
{
    static const char *const models[][2] = {
        {"grouped heads", "model : { preset = \"llama\"; n_kv_heads = 1; " SIZES "};"},
        {"a window", "model : { preset = \"mini\"; max_seq_len = 300; " SIZES
                     "}; mask : { window = 25; };"},
        {"cross-attention",
         "model : { preset = \"gpt2\"; max_seq_len = 300; " SIZES "cross = true; };"},
    };

    for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
        observed o = {0};

        begin(&o, models[m][1]);
        check(&o, models[m][0], "*.attn.*.weight,*.cross.*.weight,embed.*");
        observe_finish(&o);
    }
}
END_TEST

/* The gradients themselves, of every key and query. */
START_TEST(queries_keys_and_values_have_it_at_every_place)
{
    static const txd_point points[] = {TXD_POINT_ATTN_Q, TXD_POINT_ATTN_K,
                                       TXD_POINT_ATTN_V};
    static const char *const names[] = {"layers.0.attn.q@grad", "layers.0.attn.k@grad",
                                        "layers.0.attn.v@grad"};
    const struct slope_bound bound = {"", SLOPE_STEP};
    observed o = {0};

    begin(&o, "model : { preset = \"llama\"; n_kv_heads = 1; " SIZES "};");
    for (int p = 0; p < 3; p++) {
        const txd_stop stop = {points[p], 0};
        const struct observed_site *site;
        double *u, expected, slope;

        o.backward = true;
        o.only = "*@grad";
        OK(observe_pass(&o));
        site = observe_site(&o, names[p]);
        ck_assert_msg(site != NULL && site->cells == site->count, "%s", names[p]);
        u = txd_arena_alloc(o.arena, site->count, sizeof *u);
        slopes_direction(u, site->count, names[p]);
        expected = slopes_dot(site->values, u, site->count);
        slope = slopes_of_point(&o, stop, u, SLOPE_STEP);
        ck_assert_msg(
            txd_close(slope, expected,
                      slopes_allowed(&bound, slopes_length(site->values, site->count))),
            "%s: slope %.15g, gradient %.15g", names[p], slope, expected);
    }
    observe_finish(&o);
}
END_TEST

/* Rows of 65536 logits: 64 are a tile. */
START_TEST(so_it_is_over_several_row_tiles_of_the_logits)
{
    observed o = {0};

    slopes_model(&o, "model : { preset = \"llama\"; vocab = 65536; d_model = 2; "
                     "n_heads = 1; n_layers = 1; d_ff = 2; };");
    OK(observe_random(&o, 1, 70));
    check(&o, "logits", "head.weight,final_norm.weight,*.mlp.down.weight");
    observe_finish(&o);
}
END_TEST

/* A table of more than a million elements: many chunks, and one that is not whole. */
#define LARGE                                                                          \
    "model : { preset = \"llama\"; vocab = 9001; d_model = 128; n_heads = 2; "         \
    "n_layers = 1; d_ff = 16; max_seq_len = 9; };"

static void begin_large(observed *o, const char *cfg, const char *backend, int threads)
{
    OK(observe_cfg(o, cfg, backend));
    OK(observe_random(o, 1, 5));
    o->backward = true;
    o->only = "nothing";
    o->threads = threads;
    OK(observe_pass(o));
}

static void same_gradients(observed *a, observed *b)
{
    double squares = 0, norm = txd_run_gradient_norm(a->run);

    for (size_t i = 0; i < txd_params_count(a->params); i++) {
        txd_tensor x, y;

        OK(txd_run_gradient(&x, a->run, i));
        OK(txd_run_gradient(&y, b->run, i));
        ck_assert_mem_eq(x.data, y.data,
                         txd_tensor_count(&x) * txd_dtype_bytes(x.dtype));
        for (size_t e = 0; e < txd_tensor_count(&x); e++)
            squares += txd_tensor_get(&x, e) * txd_tensor_get(&x, e);
    }
    ck_assert(txd_close(norm, sqrt(squares), 1e-12 * norm));
    ck_assert_double_eq(txd_run_gradient_norm(b->run), norm);
}

START_TEST(gradients_of_a_large_model_are_cleared_unscaled_and_measured_whole)
{
    const char *const backends[] = {"cpu32", "ref64"};

    for (int b = 0; b < 2; b++) {
        observed plain = {0}, scaled = {0};

        begin_large(&plain, LARGE, backends[b], 1);
        begin_large(&scaled, LARGE " precision : { loss_scale = 1024; };", backends[b],
                    3);
        same_gradients(&plain, &scaled);
        OK(txd_run_pass(scaled.run, &scaled.inputs, 1));
        same_gradients(&plain, &scaled);
        observe_finish(&plain);
        observe_finish(&scaled);
    }
}
END_TEST

TEST_MAIN(parameters_have_the_slope_of_the_loss_over_many_tiles,
          queries_keys_and_values_have_it_at_every_place,
          so_it_is_over_several_row_tiles_of_the_logits,
          gradients_of_a_large_model_are_cleared_unscaled_and_measured_whole)
