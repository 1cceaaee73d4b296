/* SPDX-License-Identifier: MIT
 *
 * The probe `nonfinite` on gradients: where, and what met there.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define SMALL                                                                          \
    "model : { preset = \"gpt2\"; vocab = 11; d_model = 6; n_heads = 3;"               \
    " n_layers = 2; d_ff = 7; max_seq_len = 8; };"

static double cell(const txd_trace *trace, const char *column, size_t row)
{
    char name[64];
    double *values, value;

    snprintf(name, sizeof name, "events/nonfinite/%s", column);
    values = fake_read(trace, name, NULL);
    value = values[row];
    free(values);
    return value;
}

static size_t stop_of(const fake_pass *fake, txd_point point, int layer)
{
    for (size_t i = 0; i < fake->stops; i++)
        if (fake->order[i].point == point && fake->order[i].layer == layer)
            return i;
    ck_abort_msg("no such stop");
    return 0;
}

/* One element of a gradient is NaN; its statistics say so. */
static void poison(fake_pass *fake, txd_point point, int layer, size_t element)
{
    double *stats = fake->stats[stop_of(fake, point, layer)];

    fake_gradient(fake, point, layer)[element] = NAN;
    stats[TXD_STAT_NONFINITE] = 1;
    stats[TXD_STAT_FIRST] = (double)element;
    stats[TXD_STAT_FIRST_VALUE] = NAN;
}

static double largest(const double *row, size_t count)
{
    double best = 0;

    for (size_t i = 0; i < count; i++)
        if (fabs(row[i]) > fabs(best))
            best = row[i];
    return best;
}

START_TEST(an_event_of_a_gradient_names_what_met_there)
{
    static const char record[] =
        "record = ({probe = \"nonfinite\"; points = \"*@grad\";});";
    const size_t element = (2 * 4 + 3) * 4 + 1; /* head 2, query 3, key 1 */
    const double *incoming;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 4);
    fake.dtype = TXD_F64;
    fake.tile_rows = 3;
    poison(&fake, TXD_POINT_MLP_UP, 1, 2 * 7 + 5);
    poison(&fake, TXD_POINT_MLP_ACT, 0, 7 + 2);
    poison(&fake, TXD_POINT_ATTN_SCORES, 0, element);
    poison(&fake, TXD_POINT_ATTN_WEIGHTS, 0, 0);
    trace = fake_one_step(&fake, test_file("e.h5"), record);
    /* In order of execution: layer 1 first. mlp.up is read by the activation alone. */
    ck_assert_str_eq(fake_strings(trace, "events/nonfinite/site", 4)[0],
                     "layers.1.mlp.up@grad");
    fake_same(cell(trace, "forward", 0),
              fake_value(&fake, TXD_POINT_MLP_UP, 1)[2 * 7 + 5], "forward", 0);
    fake_same(cell(trace, "incoming", 0),
              fake_gradient(&fake, TXD_POINT_MLP_ACT, 1)[2 * 7 + 5], "incoming", 0);
    /* mlp.act is read by a matrix: all of the token's outputs meet. */
    incoming = fake_gradient(&fake, TXD_POINT_MLP_OUT, 0) + 6;
    fake_same(cell(trace, "incoming", 1), largest(incoming, 6), "incoming", 1);
    fake_same(cell(trace, "forward", 2),
              fake_value(&fake, TXD_POINT_ATTN_WEIGHTS, 0)[0], "forward", 2);
    fake_same(cell(trace, "forward", 3),
              fake_value(&fake, TXD_POINT_ATTN_SCORES, 0)[element], "forward", 3);
    fake_same(cell(trace, "incoming", 3),
              fake_gradient(&fake, TXD_POINT_ATTN_MASKED, 0)[element], "incoming", 3);
    ck_assert(cell(trace, "head", 3) == 2 && cell(trace, "row", 3) == 3 &&
              cell(trace, "column", 3) == 1);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(an_event_of_a_parameters_gradient_names_the_parameter_there)
{
    fake_pass fake;
    txd_trace *trace;
    txd_param *param;
    size_t i;

    fake_make(&fake, SMALL, 1, 4);
    param = txd_params_find(fake.params, "layers.1.mlp.up.weight");
    i = (size_t)(param - txd_params_at(fake.params, 0));
    ((float *)param->value.data)[2 * 6 + 4] = 0.75f;
    fake.param_gradients[i][2 * 6 + 4] = INFINITY;
    fake.param_stats[i][TXD_STAT_NONFINITE] = 1;
    fake.param_stats[i][TXD_STAT_FIRST] = 2 * 6 + 4;
    trace = fake_one_step(
        &fake, test_file("e.h5"),
        "record = ({probe = \"nonfinite\"; points = \"*.weight@grad\";});");
    ck_assert_str_eq(fake_strings(trace, "events/nonfinite/site", 1)[0],
                     "layers.1.mlp.up.weight@grad");
    fake_same(cell(trace, "forward", 0), 0.75, "forward", 0);
    ck_assert(isnan(cell(trace, "incoming", 0)));
    ck_assert(cell(trace, "row", 0) == 2 && cell(trace, "column", 0) == 4);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(an_event_of_a_gradient_names_what_met_there,
          an_event_of_a_parameters_gradient_names_the_parameter_there)
