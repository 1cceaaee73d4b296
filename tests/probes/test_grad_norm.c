/* SPDX-License-Identifier: MIT
 *
 * The probe `grad_norm`: every number in its place, against plain sums.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define SMALL                                                                          \
    "model : { preset = \"gpt2\"; vocab = 11; d_model = 6; n_heads = 3;"               \
    " n_layers = 2; d_ff = 7; max_seq_len = 8; };"

enum { COUNT, NORM, RMS, MAX_ABS, ZEROS, NONFINITE, FIELDS };

static size_t row_of(const char *const *names, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0)
            return i;
    ck_abort_msg("no row %s", name);
    return 0;
}

/* What a row must hold, summed plainly over the elements that count. */
static void expect_row(double row[FIELDS], const double *values, size_t count,
                       const bool *is_left_out)
{
    memset(row, 0, FIELDS * sizeof *row);
    for (size_t i = 0; i < count; i++) {
        if (is_left_out && is_left_out[i])
            continue;
        row[COUNT]++;
        if (!isfinite(values[i])) {
            row[NONFINITE]++;
            continue;
        }
        row[ZEROS] += values[i] == 0;
        row[NORM] = hypot(row[NORM], values[i]);
        row[MAX_ABS] = fmax(row[MAX_ABS], fabs(values[i]));
    }
    row[RMS] = row[NORM] / sqrt(row[COUNT] - row[NONFINITE]);
    row[ZEROS] /= row[COUNT];
}

static void same_row(const double *row, const double *expected, double scale,
                     const char *what)
{
    for (int f = 0; f < FIELDS; f++) {
        double by = f == NORM || f == RMS || f == MAX_ABS ? scale : 1;

        ck_assert_msg(txd_close(row[f] * by, expected[f], 1e-12 * fabs(expected[f])),
                      "%s: field %d: %.17g, expected %.17g", what, f, row[f],
                      expected[f]);
    }
}

START_TEST(grad_norm_leaves_out_what_is_not_judged_and_the_loss_scale)
{
    const char *const *names;
    size_t dims[TXD_MAX_RANK], n = 5, cells;
    bool left_out[2 * 3 * 5 * 5];
    double expected[FIELDS], *values, *gradient, *masked;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 2, n);
    fake_fill(&fake, 2, n, 2, 5);
    fake.dtype = TXD_F64;
    fake.tile_rows = 2;
    fake.loss_scale = 1024;
    gradient = fake_gradient(&fake, TXD_POINT_RESID_PRE, 1);
    gradient[0] = 0;
    gradient[7] = INFINITY;
    gradient[9 * 6] = 1e9; /* padding */
    masked = fake_gradient(&fake, TXD_POINT_ATTN_MASKED, 0);
    masked[0] = masked[3 * n] = masked[n * n] = 0; /* in blocks of their own */
    trace = fake_one_step(&fake, test_file("g.h5"),
                          "record = ({probe = \"grad_norm\";"
                          "});");
    values = fake_read(trace, "series/grad_norm", dims);
    names = fake_strings(trace, "series/grad_norm_sites", dims[1]);
    ck_assert_uint_eq(dims[2], FIELDS);
    for (size_t i = 0; i < 2 * n * 6; i++)
        left_out[i] = !fake.inputs.valid[i / 6];
    expect_row(expected, gradient, 2 * n * 6, left_out);
    ck_assert(expected[NONFINITE] == 1 && expected[COUNT] == 48);
    same_row(values + FIELDS * row_of(names, dims[1], "layers.1.resid.pre@grad"),
             expected, 1024, "resid.pre");
    cells = fake_count(&fake, TXD_POINT_ATTN_MASKED);
    for (size_t i = 0; i < cells; i++) {
        size_t q = i / n % n, k = i % n, b = i / n / n / 3;

        left_out[i] =
            k > q || !fake.inputs.valid[b * n + q] || !fake.inputs.valid[b * n + k];
    }
    expect_row(expected, masked, cells, left_out);
    ck_assert(expected[ZEROS] * expected[COUNT] == 3);
    same_row(values + FIELDS * row_of(names, dims[1], "layers.0.attn.masked@grad"),
             expected, 1024, "attn.masked");
    for (size_t i = 0; i < 2 * n; i++)
        left_out[i] = i % n == n - 1 || !fake.inputs.valid[i + 1];
    expect_row(expected, fake_gradient(&fake, TXD_POINT_LOSS_TOKEN, -1), 2 * n,
               left_out);
    ck_assert(expected[COUNT] == 6);
    same_row(values + FIELDS * row_of(names, dims[1], "loss.token@grad"), expected,
             1024, "loss.token");
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* The gradients of all parameters of a layer, or of all, one after the other. */
static size_t gather(double *out, const fake_pass *fake, int layer)
{
    size_t count = 0;

    for (size_t i = 0; i < txd_params_count(fake->params); i++) {
        const txd_param *param = txd_params_at(fake->params, i);

        for (size_t e = 0; e < txd_tensor_count(&param->value); e++)
            if (layer < 0 || param->layer == layer)
                out[count++] = fake->param_gradients[i][e];
    }
    return count;
}

START_TEST(grad_norm_sums_parameters_by_layer_and_in_all)
{
    static double all[4096];
    const char *const groups[] = {"parameters@grad", "layers.0@grad", "layers.1@grad"};
    const char *const *names;
    size_t dims[TXD_MAX_RANK];
    double expected[FIELDS], *values;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 4);
    fake.loss_scale = 8; /* of values alone */
    fake.param_gradients[3][0] = 1e300;
    fake.param_gradients[4][0] = 1e-300;
    trace = fake_one_step(&fake, test_file("g.h5"),
                          "record = ({probe = \"grad_norm\"; points = \"*.weight@grad,"
                          "*.bias@grad\";});");
    values = fake_read(trace, "series/grad_norm", dims);
    names = fake_strings(trace, "series/grad_norm_sites", dims[1]);
    ck_assert_uint_eq(dims[1], txd_params_count(fake.params) + 3);
    for (int g = 0; g < 3; g++) {
        size_t count = gather(all, &fake, g - 1);

        ck_assert_uint_gt(count, 0);
        expect_row(expected, all, count, NULL);
        same_row(values + FIELDS * row_of(names, dims[1], groups[g]), expected, 1,
                 groups[g]);
    }
    for (size_t i = 0; i < txd_params_count(fake.params); i++) {
        const txd_param *param = txd_params_at(fake.params, i);

        expect_row(expected, fake.param_gradients[i], txd_tensor_count(&param->value),
                   NULL);
        same_row(values + FIELDS * i, expected, 1, param->name);
    }
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(squares_that_no_double_holds_are_summed)
{
    /* The last two are squares of one size that are summed apart. */
    static const double sizes[][2] = {{1e300, 1e-300},
                                      {1e-300, 1e-170},
                                      {1e160, 1},
                                      {0x1p-479, 0x1.8p-481},
                                      {0x1p481, 0x1.8p479}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    double expected[FIELDS], *values;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 4);
    for (size_t i = 0; i < SIZES; i++)
        for (size_t e = 0; e < txd_tensor_count(&txd_params_at(fake.params, i)->value);
             e++)
            fake.param_gradients[i][e] = sizes[i][e % 2] * (1 + (double)e / 1000);
    trace = fake_one_step(&fake, test_file("g.h5"),
                          "record = ({probe = \"grad_norm\"; points = \"*.weight@grad,"
                          "*.bias@grad\";});");
    values = fake_read(trace, "series/grad_norm", NULL);
    for (size_t i = 0; i < SIZES; i++) {
        const txd_param *param = txd_params_at(fake.params, i);

        expect_row(expected, fake.param_gradients[i], txd_tensor_count(&param->value),
                   NULL);
        ck_assert(expected[NORM] > 0 && isfinite(expected[NORM]));
        same_row(values + FIELDS * i, expected, 1, param->name);
    }
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

/* Step 0 selects some of the parameters of layer 0, step 1 all, with other values. */
START_TEST(a_step_sums_what_it_has_seen_itself)
{
    static const char record[] =
        "record = ({probe = \"grad_norm\"; points = \"layers.0.*.weight@grad\"; "
        "steps = \"0\";}, {probe = \"grad_norm\"; points = "
        "\"*.weight@grad,*.bias@grad\"; "
        "steps = \"1:\";});";
    static double all[4096];
    double expected[FIELDS], *values;
    size_t dims[TXD_MAX_RANK], row;
    txd_recorder *recorder;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 4);
    recorder = fake_record(&fake, test_file("g.h5"), record, 3);
    for (int step = 0; step < 3; step++) {
        fake_fill(&fake, 1, 4, 0, 7 + (unsigned)step);
        fake_step(&fake, recorder, step);
    }
    trace = fake_finish(recorder, test_file("g.h5"));
    values = fake_read(trace, "series/grad_norm", dims);
    ck_assert_uint_eq(dims[0], 3);
    row = row_of(fake_strings(trace, "series/grad_norm_sites", dims[1]), dims[1],
                 "layers.0@grad");
    ck_assert(isnan(values[FIELDS * row + NORM]));
    expect_row(expected, all, gather(all, &fake, 0), NULL);
    same_row(values + FIELDS * (2 * dims[1] + row), expected, 1, "step 2");
    fake_fill(&fake, 1, 4, 0, 8);
    expect_row(expected, all, gather(all, &fake, 0), NULL);
    same_row(values + FIELDS * (dims[1] + row), expected, 1, "step 1");
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(a_layer_of_which_some_parameters_are_left_out_has_no_sum)
{
    size_t dims[TXD_MAX_RANK];
    const char *const *names;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 4);
    trace = fake_one_step(&fake, test_file("g.h5"),
                          "record = ({probe = \"grad_norm\"; points = \"layers.1.*@*,"
                          "layers.0.*.weight@grad\";});");
    free(fake_read(trace, "series/grad_norm", dims));
    names = fake_strings(trace, "series/grad_norm_sites", dims[1]);
    ck_assert_str_eq(names[dims[1] - 1], "layers.1@grad");
    for (size_t i = 0; i + 1 < dims[1]; i++)
        ck_assert_str_ne(names[i], "layers.0@grad");
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(grad_norm_leaves_out_what_is_not_judged_and_the_loss_scale,
          grad_norm_sums_parameters_by_layer_and_in_all,
          squares_that_no_double_holds_are_summed, a_step_sums_what_it_has_seen_itself,
          a_layer_of_which_some_parameters_are_left_out_has_no_sum)
