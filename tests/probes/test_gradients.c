/* SPDX-License-Identifier: MIT
 *
 * Gradients as the probes record them: which globs name them, where they lie, in which
 * order.
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

static double param_element(const fake_pass *fake, size_t i, size_t element)
{
    return fake->param_gradients[i][element];
}

START_TEST(every_gradient_is_recorded_as_it_came)
{
    size_t dims[TXD_MAX_RANK], compared = 0;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 2, 5);
    fake_fill(&fake, 2, 5, 2, 3);
    fake.tile_rows = 2;
    fake_gradient(&fake, TXD_POINT_ATTN_Q, 1)[4] = NAN;
    trace = fake_one_step(&fake, test_file("g.h5"),
                          "record = ({probe = \"full\"; points = \"*@grad\";});");
    for (size_t i = 0; i < fake.stops; i++) {
        char name[96];
        double *values;

        if (txd_point_get(fake.order[i].point)->place == TXD_PLACE_INPUT)
            continue;
        txd_point_name(name, sizeof name, fake.order[i].point, fake.order[i].layer);
        ck_assert_msg(!fake_has(trace, name), "%s is no gradient", name);
        strcat(name, "@grad");
        values = fake_read(trace, name, dims);
        for (size_t e = 0; e < fake_count(&fake, fake.order[i].point); e++)
            fake_same(values[e], fake.gradients[i][e], name, e);
        compared++;
        free(values);
    }
    ck_assert_uint_gt(compared, 30);
    for (size_t i = 0; i < txd_params_count(fake.params); i++) {
        const txd_param *param = txd_params_at(fake.params, i);
        char name[96];
        double *values;

        snprintf(name, sizeof name, "%s@grad", param->name);
        values = fake_read(trace, name, dims);
        for (int axis = 0; axis < param->value.rank; axis++)
            ck_assert_uint_eq(dims[axis + 1], param->value.dims[axis]);
        for (size_t e = 0; e < txd_tensor_count(&param->value); e++)
            fake_same(values[e], param_element(&fake, i, e), name, e);
        free(values);
    }
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(entries_of_gradients_follow_the_values_from_the_last_to_the_first)
{
    const char *const expected[] = {
        "layers.0.resid.pre",        "layers.1.attn.q",         "layers.1.attn.q@grad",
        "layers.1.norm1.out@grad",   "layers.0.resid.pre@grad", "embed.tok.weight@grad",
        "layers.1.norm1.weight@grad"};
    txd_trace_info info;
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, SMALL, 1, 4);
    trace = fake_one_step(
        &fake, test_file("g.h5"),
        "record = ({probe = \"full\"; points = \"layers.0.resid.pre@grad,"
        "layers.1.norm1.out@grad,layers.1.attn.q@grad,layers.1.attn.q,"
        "layers.0.resid.pre,layers.1.norm1.weight@grad,embed.tok.weight@grad\";});");
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        ck_assert_int_eq(txd_trace_get(trace, &info, i), TXD_OK);
        ck_assert_str_eq(info.name, expected[i]);
    }
    ck_assert_str_eq(info.axes, "sr");
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(only_a_glob_with_an_at_names_gradients)
{
    static const struct {
        const char *points;
        bool has;
    } trials[] = {{"*", false},
                  {"layers.*", false},
                  {"*@grad", true},
                  {"layers.*.resid.pre@grad", true},
                  {"logits,*.weight@grad", true}};
    fake_pass fake;

    fake_make(&fake, SMALL, 1, 4);
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        const txd_probe_use use = {.probe = "full", .points = trials[i].points};

        ck_assert_msg(txd_record_has_gradients(&use, 1) == trials[i].has, "%s",
                      trials[i].points);
    }
    ck_assert(txd_record_has_gradients(&(txd_probe_use){.probe = "grad_norm"}, 1));
    ck_assert(!txd_record_has_gradients(&(txd_probe_use){.probe = "stats"}, 1));
    ck_assert(!txd_record_has_gradients(NULL, 0));
    fake_free(&fake);
}
END_TEST

START_TEST(statistics_of_gradients_stand_behind_those_of_values)
{
    const char *const expected[] = {"layers.1.resid.pre", "layers.1.resid.pre@grad",
                                    "embed.tok@grad", "final_norm.bias@grad"};
    const char *const *sites;
    size_t dims[TXD_MAX_RANK], last;
    fake_pass fake;
    txd_trace *trace;
    double *values;

    fake_make(&fake, SMALL, 1, 4);
    trace = fake_one_step(
        &fake, test_file("g.h5"),
        "record = ({probe = \"stats\"; points = \"layers.1.resid.pre,final_norm.bias@*,"
        "embed.tok@grad,layers.1.resid.pre@grad\";});");
    sites = fake_strings(trace, "series/stats_sites", 4);
    for (size_t i = 0; i < 4; i++)
        ck_assert_str_eq(sites[i], expected[i]);
    values = fake_read(trace, "series/stats", dims);
    ck_assert(values[TXD_STAT_COUNT_OF] == values[0] + 1e5);
    last =
        txd_params_find(fake.params, "final_norm.bias") - txd_params_at(fake.params, 0);
    for (size_t f = 0; f < TXD_STAT_COUNT_OF; f++)
        fake_same(values[3 * TXD_STAT_COUNT_OF + f], fake.param_stats[last][f],
                  "final_norm.bias", f);
    free(values);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(norms_of_parameters_are_once_and_of_their_gradients_in_every_step)
{
    const char *path = test_file("g.h5");
    size_t dims[TXD_MAX_RANK];
    txd_recorder *recorder;
    fake_pass fake;
    txd_trace *trace;
    double *values;

    fake_make(&fake, SMALL, 1, 4);
    recorder = fake_record(&fake, path,
                           "record = ({probe = \"norms\"; points = "
                           "\"*.q*.weight,*.q*.weight@grad,embed.out@grad\";});",
                           2);
    fake_step(&fake, recorder, 0);
    fake_step(&fake, recorder, 1);
    trace = fake_finish(recorder, path);
    values = fake_read(trace, "series/param", dims);
    ck_assert_uint_eq(dims[0], 2);
    ck_assert_uint_eq(dims[1], TXD_STAT_COUNT_OF + 1);
    free(values);
    ck_assert_str_eq(fake_strings(trace, "series/param_grad_sites", 2)[1],
                     "layers.1.attn.qkv.weight@grad");
    values = fake_read(trace, "series/param_grad", dims);
    ck_assert_uint_eq(dims[0], 2);
    ck_assert_uint_eq(dims[1], 2);
    ck_assert_uint_eq(dims[2], TXD_STAT_COUNT_OF + 1);
    for (size_t i = 0; i < 4; i++) { /* l2 = rms sqrt(count) */
        const double *row = values + i * (TXD_STAT_COUNT_OF + 1);

        ck_assert(txd_close(row[TXD_STAT_COUNT_OF],
                            row[TXD_STAT_RMS] * sqrt(row[TXD_STAT_COUNT]), 1e-9));
    }
    free(values);
    ck_assert_str_eq(fake_strings(trace, "series/norms_sites", 1)[0], "embed.out@grad");
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(steps_tell_the_norm_of_the_gradient)
{
    const char *path = test_file("g.h5");
    char line[256] = "", lines_path[512];
    fake_pass fake;
    txd_trace *trace;
    double *values;
    FILE *lines;

    fake_make(&fake, SMALL, 1, 4);
    trace = fake_one_step(&fake, path, "record = ({probe = \"grad_norm\";});");
    values = fake_read(trace, "steps/grad_norm", NULL);
    ck_assert(values[0] == 0.25);
    free(values);
    ck_assert_str_eq(fake_strings(trace, "steps/kind", 1)[0], "backward");
    txd_trace_destroy(trace);
    snprintf(lines_path, sizeof lines_path, "%s.jsonl", path);
    lines = fopen(lines_path, "r");
    ck_assert_ptr_nonnull(lines);
    ck_assert_ptr_nonnull(fgets(line, sizeof line, lines));
    fclose(lines);
    ck_assert_msg(strstr(line, "\"grad_norm\": 0.25,") != NULL, "%s", line);
    fake_free(&fake);
}
END_TEST

START_TEST(a_dry_run_lists_gradients_by_name)
{
    fake_pass fake;
    txd_recorder_cost cost, without;
    txd_probe_context context;
    txd_probe_use uses[] = {
        {.probe = "full", .points = "layers.1.attn.q@grad,layers.1.mlp.up.weight@grad"},
        {.probe = "grad_norm"}};
    txd_text out;

    fake_make(&fake, SMALL, 1, 4);
    context = fake_context(&fake, 2);
    txd_text_init(&out);
    ck_assert_int_eq(txd_recorder_plan(&out, &without, &context, uses, 0), TXD_OK);
    ck_assert_int_eq(txd_recorder_plan(&out, &cost, &context, uses, 2), TXD_OK);
    ck_assert_uint_gt(cost.disk, without.disk);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&out), "\nlayers.1.attn.q@grad "));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&out), "\nlayers.1.mlp.up.weight@grad "));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&out), "(s 2, r 7, c 6)"));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&out), "\nseries/grad_norm "));
    txd_text_finish(&out);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(every_gradient_is_recorded_as_it_came,
          entries_of_gradients_follow_the_values_from_the_last_to_the_first,
          only_a_glob_with_an_at_names_gradients,
          statistics_of_gradients_stand_behind_those_of_values,
          norms_of_parameters_are_once_and_of_their_gradients_in_every_step,
          steps_tell_the_norm_of_the_gradient, a_dry_run_lists_gradients_by_name)
