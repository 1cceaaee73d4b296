/* SPDX-License-Identifier: MIT
 *
 * Faults that edit values on their way, or mix rows of a batch: what they do to the
 * values, from their own sentences, and that gradients are those of what they compute.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../model/slopes.h"
#include "suite.h"

enum { B = 2, T = 7, D = 12, G = 4 };

#define MODEL                                                                          \
    "model : { preset = \"gpt2\"; vocab = 11; d_model = 12; n_heads = 4; n_layers = "  \
    "2; d_ff = 10; max_seq_len = 16; }; "

/* Row 0 holds two documents whose positions begin anew, row 1 begins with padding. */
static void set_inputs(observed *o)
{
    OK(observe_random(o, B, T));
    o->inputs.valid[T] = o->inputs.valid[T + 1] = 0;
    txd_inputs_count_positions(&o->inputs);
    for (int t = 3; t < T; t++) {
        o->inputs.document[t] = 1;
        o->inputs.positions[t] = t - 3;
    }
}

/* A healthy pass (fault NULL) or a faulty one. */
static void run(observed *o, const char *fault)
{
    char text[128];

    *o = (observed){0};
    slopes_model(o, MODEL);
    set_inputs(o);
    if (fault) {
        snprintf(text, sizeof text, "faults = ( { name = \"%s\"; } );", fault);
        OK(observe_faults(o, text));
    }
    OK(observe_pass(o));
}

static const double *at(observed *o, const char *site)
{
    const struct observed_site *found = observe_site(o, site);

    ck_assert_msg(found != NULL, "%s was not offered", site);
    return found->values;
}

START_TEST(values_of_two_tokens_side_by_side_become_their_mean)
{
    observed healthy, faulty;
    const double *v, *pooled;
    const size_t width = D / G;

    run(&healthy, NULL);
    run(&faulty, "block_means");
    v = at(&healthy, "layers.0.attn.v");
    pooled = at(&faulty, "layers.0.attn.v");
    for (size_t i = 0; i < B * G * T * width; i++) {
        size_t t = i / width % T;
        double mean = v[i];

        if (t < T - 1)
            mean = (v[i] + (t % 2 == 0 ? v[i + width] : v[i - width])) / 2;
        if (!(fabs(pooled[i] - mean) <= 1e-15 * fabs(mean)))
            ck_abort_msg("token %zu: %g, expected %g", t, pooled[i], mean);
    }
    observe_finish(&healthy);
    observe_finish(&faulty);
}
END_TEST

/* What is kept is larger by the share that is not, so that the mean stays. */
START_TEST(dropout_zeroes_a_tenth_and_raises_the_rest_to_the_same_mean)
{
    observed healthy, faulty;
    const double *x, *dropped;
    size_t zeros = 0;

    run(&healthy, NULL);
    run(&faulty, "random_dropout");
    x = at(&healthy, "layers.0.attn.branch");
    dropped = at(&faulty, "layers.0.attn.branch");
    for (size_t i = 0; i < B * T * D; i++) {
        zeros += dropped[i] == 0;
        if (dropped[i] != 0 && !(fabs(dropped[i] - x[i] / 0.9) <= 1e-15 * fabs(x[i])))
            ck_abort_msg("element %zu: %g, expected %g", i, dropped[i], x[i] / 0.9);
    }
    /* Of 168 with chance 0.1: 16.8, with a deviation of 3.9. */
    ck_assert_uint_gt(zeros, 1);
    ck_assert_uint_lt(zeros, 40);
    observe_finish(&healthy);
    observe_finish(&faulty);
}
END_TEST

static void copy_zeros(bool *out, observed *o, int step)
{
    const double *values;

    OK(txd_run_pass(o->run, &o->inputs, step));
    values = at(o, "layers.1.mlp.branch");
    for (size_t i = 0; i < B * T * D; i++)
        out[i] = values[i] == 0;
}

START_TEST(dropout_has_other_elements_in_another_step_and_the_same_in_the_same)
{
    bool first[B * T * D], again[B * T * D], other[B * T * D];
    observed o;

    run(&o, "random_dropout");
    copy_zeros(first, &o, 0);
    copy_zeros(other, &o, 1);
    copy_zeros(again, &o, 0);
    ck_assert_mem_eq(first, again, sizeof first);
    ck_assert_mem_ne(first, other, sizeof first);
    observe_finish(&o);
}
END_TEST

/* Without gains and biases: they are undone. */
START_TEST(a_norm_over_the_batch_has_mean_0_and_variance_1_at_each_place)
{
    observed o;
    const double *y;
    const txd_param *gain, *bias;

    run(&o, "norm_over_batch");
    y = at(&o, "layers.0.norm1.out");
    gain = txd_params_find(o.params, "layers.0.norm1.weight");
    bias = txd_params_find(o.params, "layers.0.norm1.bias");
    ck_assert(gain && bias);
    for (size_t t = 0; t < T; t++) {
        double mean = 0, square = 0;

        for (size_t i = 0; i < B * D; i++) {
            double x = y[(i / D * T + t) * D + i % D];
            double z = (x - txd_tensor_get(&bias->value, i % D)) /
                       txd_tensor_get(&gain->value, i % D);

            mean += z / (B * D);
            square += z * z / (B * D);
        }
        ck_assert_msg(fabs(mean) < 1e-12 && fabs(square - 1) < 1e-3, "%zu: %g, %g", t,
                      mean, square);
    }
    observe_finish(&o);
}
END_TEST

static void expect_positions(const char *fault, const int expected[B * T])
{
    observed o;
    const double *found;

    run(&o, fault);
    found = at(&o, "input.positions");
    for (size_t i = 0; i < B * T; i++)
        if (found[i] != expected[i])
            ck_abort_msg("%s: token %zu is at %g, expected %d", fault, i, found[i],
                         expected[i]);
    observe_finish(&o);
}

START_TEST(positions_are_wrong_as_the_sentences_say)
{
    const int padded[B * T] = {0, 1, 2, 3, 4, 5, 6, 0, 1, 2, 3, 4, 5, 6};
    const int packed[B * T] = {0, 1, 2, 3, 4, 5, 6, 0, 0, 0, 1, 2, 3, 4};
    const int first[B * T] = {0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 0, 1, 2, 3};

    expect_positions("positions_count_padding", padded);
    expect_positions("positions_not_reset", packed);
    expect_positions("positions_of_first_row", first);
}
END_TEST

START_TEST(gradients_are_those_of_what_is_computed)
{
    static const char *const faults[] = {
        "block_means",         "random_dropout",         "norm_over_batch",
        "positions_not_reset", "positions_of_first_row", "positions_count_padding"};

    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        const struct slope_bound bound = {faults[f], SLOPE_STEP};
        observed o = {0};
        char text[128];

        slopes_model(&o, MODEL);
        set_inputs(&o);
        o.backward = true;
        snprintf(text, sizeof text, "faults = ( { name = \"%s\"; } );", faults[f]);
        OK(observe_faults(&o, text));
        for (size_t i = 0; i < txd_params_count(o.params); i++)
            slopes_check_parameter(&o, i, &bound);
        observe_finish(&o);
    }
}
END_TEST

TEST_MAIN(values_of_two_tokens_side_by_side_become_their_mean,
          dropout_zeroes_a_tenth_and_raises_the_rest_to_the_same_mean,
          dropout_has_other_elements_in_another_step_and_the_same_in_the_same,
          a_norm_over_the_batch_has_mean_0_and_variance_1_at_each_place,
          positions_are_wrong_as_the_sentences_say,
          gradients_are_those_of_what_is_computed)
