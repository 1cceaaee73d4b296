/* SPDX-License-Identifier: MIT
 *
 * The recorder: inputs, steps, metadata, the lines for watchers, and a dry run that
 * foretells the file.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "checks/check.h"
#include "fake_pass.h"
#include "suite.h"

#define MODEL                                                                          \
    "model : { preset = \"llama\"; vocab = 11; d_model = 8; n_heads = 2;"              \
    " n_layers = 2; d_ff = 12; };"

static void expect_input(const txd_trace *trace, const char *name,
                         const double *expected, size_t count)
{
    double *values = fake_read(trace, name, NULL);

    for (size_t i = 0; i < count; i++)
        fake_same(values[i], expected[i], name, i);
    free(values);
}

/* Two steps of 2 x 3 and 2 x 2 tokens; the last token of step 0 is padding. */
START_TEST(inputs_of_every_step_are_recorded)
{
    const char *path = test_file("r.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;

    fake_make(&fake, MODEL, 2, 3);
    recorder = fake_record(&fake, path, "record = ();", 2);
    fake_fill(&fake, 2, 3, 1, 1); /* tokens 7i + 1 modulo 11 */
    fake_step(&fake, recorder, 0);
    fake_fill(&fake, 2, 2, 0, 2);
    fake.inputs.document[1] = 5;
    fake_step(&fake, recorder, 1);
    trace = fake_finish(recorder, path);
    expect_input(trace, "input/tokens",
                 (const double[]){1, 8, 4, 0, 7, 3, 2, 9, -1, 5, 1, -1}, 12);
    expect_input(trace, "input/labels",
                 (const double[]){8, 4, -1, 7, -1, -1, 9, -1, -1, 1, -1, -1}, 12);
    expect_input(trace, "input/valid",
                 (const double[]){1, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0}, 12);
    expect_input(trace, "input/positions",
                 (const double[]){0, 1, 2, 0, 1, 0, 0, 1, -1, 0, 1, -1}, 12);
    expect_input(trace, "input/document",
                 (const double[]){0, 0, 0, 0, 0, 0, 0, 5, -1, 0, 0, -1}, 12);
    expect_input(trace, "input/call",
                 (const double[]){0, 0, 0, 0, 0, 0, 0, 0, -1, 0, 0, -1}, 12);
    expect_input(trace, "steps/step", (const double[]){0, 1}, 2);
    expect_input(trace, "steps/length_q", (const double[]){3, 2}, 2);
    expect_input(trace, "steps/length_k", (const double[]){3, 2}, 2);
    expect_input(trace, "steps/loss", (const double[]){0.5, 1.5}, 2);
    ck_assert_str_eq(fake_strings(trace, "steps/kind", 2)[1], "forward");
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

START_TEST(metadata_says_what_was_recorded_and_how)
{
    static const struct {
        const char *key, *value;
    } expected[] = {
        {"command", "txdiag run fake.cfg"},
        {"faults", ""},
        {"backend", "fake"},
        {"dtype", "float32"},
        {"seed", "7"},
        {"complete", "1"},
        {"record",
         "full\tlayers.*.attn.weights,layers.*.cross.weights,logits\t1\t*\t0:2,3:\n"
         "rows\tlayers.*.attn.weights,layers.*.cross.weights\t*\t0\t*\n"},
    };
    const char *path = test_file("r.h5");
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;

    fake_make(&fake, MODEL, 1, 3);
    recorder =
        fake_record(&fake, path,
                    "record = ({probe = \"full\"; layers = \"1\";"
                    " steps = \"0:2,3:\";}, {probe = \"rows\"; heads = \"0\";});",
                    4);
    fake_step(&fake, recorder, 0);
    trace = fake_finish(recorder, path);
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const char *value = txd_trace_meta(trace, expected[i].key);

        ck_assert_msg(value && strcmp(value, expected[i].value) == 0, "%s: %s",
                      expected[i].key, value ? value : "missing");
    }
    ck_assert_int_eq(strncmp(txd_trace_meta(trace, "config"), "model : {", 9), 0);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

static txd_setting *read_line(FILE *file, txd_arena *arena)
{
    txd_setting *line = NULL;
    char text[512];

    ck_assert_ptr_nonnull(fgets(text, sizeof text, file));
    ck_assert_msg(txd_json_parse(&line, arena, "line", text, strlen(text)) == TXD_OK,
                  "%s", txd_message());
    return line;
}

START_TEST(watchers_get_a_line_per_step)
{
    const char *path = test_file("r.h5");
    fake_pass fake;
    txd_recorder *recorder;
    FILE *file;

    fake_make(&fake, MODEL, 1, 3);
    recorder = fake_record(&fake, path, "record = ({probe = \"stats\";});", 2);
    for (int step = 0; step < 2; step++)
        fake_step(&fake, recorder, step);
    file = fopen(test_file("r.h5.jsonl"), "r"); /* while the run goes on */
    ck_assert_ptr_nonnull(file);
    for (int step = 0; step < 2; step++) {
        txd_setting *line = read_line(file, fake.arena);

        ck_assert_int_eq(txd_setting_find(line, "step")->integer, step);
        ck_assert(txd_setting_find(line, "loss")->real == 0.5 + step);
        ck_assert(txd_setting_find(line, "seconds")->real >= 0);
        ck_assert_int_gt(txd_setting_find(line, "bytes")->integer, 1000);
    }
    ck_assert_int_eq(fgetc(file), EOF);
    fclose(file);
    ck_assert_int_eq(txd_recorder_close(recorder, true), TXD_OK);
    fake_free(&fake);
}
END_TEST

START_TEST(an_incomplete_recording_stays_aside_and_a_discarded_one_goes)
{
    const char *path = test_file("r.h5"), *part = test_file("r.h5.part");
    fake_pass fake;
    txd_recorder *recorder;

    fake_make(&fake, MODEL, 1, 3);
    recorder = fake_record(&fake, path, "record = ({probe = \"stats\";});", 2);
    fake_step(&fake, recorder, 0);
    ck_assert_int_eq(txd_recorder_close(recorder, false), TXD_OK);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_eq(access(part, F_OK), 0);
    recorder = fake_record(&fake, path, "record = ({probe = \"stats\";});", 2);
    fake_step(&fake, recorder, 0);
    txd_recorder_discard(recorder);
    ck_assert_int_ne(access(path, F_OK), 0);
    ck_assert_int_ne(access(part, F_OK), 0);
    ck_assert_int_ne(access(test_file("r.h5.jsonl"), F_OK), 0);
    ck_assert_int_eq(txd_recorder_close(NULL, true), TXD_OK);
    txd_recorder_discard(NULL);
    fake_free(&fake);
}
END_TEST

START_TEST(a_step_larger_than_declared_is_refused)
{
    fake_pass fake;
    txd_recorder *recorder;

    fake_make(&fake, MODEL, 1, 3);
    recorder = fake_record(&fake, test_file("r.h5"), "record = ();", 2);
    fake_fill(&fake, 1, 4, 0, 1);
    ck_assert_int_eq(txd_recorder_step_begin(recorder, &fake.inputs, 0),
                     TXD_ERR_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "1 x 4"));
    txd_recorder_discard(recorder);
    fake_free(&fake);
}
END_TEST

START_TEST(an_unknown_probe_leaves_no_file)
{
    const txd_probe_use use = {.probe = "fulll"};
    const txd_recorder_info info = {.command = NULL};
    fake_pass fake;
    txd_probe_context context;
    txd_recorder *recorder = NULL;

    fake_make(&fake, MODEL, 1, 3);
    context = fake_context(&fake, 1);
    ck_assert_int_eq(txd_recorder_create(&recorder, test_file("r.h5"), false, &context,
                                         &info, &use, 1),
                     TXD_ERR_CONFIG);
    ck_assert_ptr_null(recorder);
    ck_assert_int_ne(access(test_file("r.h5.part"), F_OK), 0);
    fake_free(&fake);
}
END_TEST

static const struct {
    const char *model, *record;
    size_t batch, length, steps;
} plans[] = {
    {MODEL, "", 1, 27, 1},
    {MODEL, "", 2, 300, 3},
    {MODEL, "record = ();", 1, 27, 1},
    {MODEL, "record = ({probe = \"full\"; points = \"*\";});", 1, 600, 2},
    {MODEL, "record = ({probe = \"rows\";}, {probe = \"stats\";});", 1, 100, 40},
    {MODEL "mask : { window = 100; causal = false; };",
     "record = ({probe = \"full\"; points = \"*.weights\"; });", 1, 1100, 1},
    {MODEL, "record = ({probe = \"rows\"; layers = \"1\"; steps = \"4:8\";});", 1, 256,
     8},
    {MODEL, "record = ({probe = \"full\"; steps = \"3\"; points = \"*.attn.k\"; });", 2,
     400, 6},
    {MODEL, "record = ({probe = \"full\"; heads = \"1\"; points = \"*.weights\"; });",
     1, 520, 1},
};

static size_t planned(const fake_pass *fake, size_t i, txd_text *text)
{
    txd_probe_context context = fake_context(fake, plans[i].steps);
    txd_setting *root = NULL;
    txd_probe_use *uses = NULL;
    txd_recorder_cost cost = {0};
    size_t count = 0;

    ck_assert_int_eq(txd_cfg_parse(&root, fake->arena, "m.cfg", plans[i].record),
                     TXD_OK);
    ck_assert_int_eq(txd_record_read(&uses, &count, fake->arena, root, &context),
                     TXD_OK);
    ck_assert_msg(txd_recorder_plan(text, &cost, &context, uses, count) == TXD_OK, "%s",
                  txd_message());
    return cost.disk;
}

/* What a run adds at its end. */
static void add_verdicts(txd_recorder *recorder)
{
    txd_result result = {.check = "row_sum", .verdict = TXD_VERDICT_PASS};

    ck_assert_int_eq(txd_report_record(txd_recorder_recording(recorder), &result, 1),
                     TXD_OK);
}

START_TEST(a_dry_run_foretells_the_size_of_the_file)
{
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        const char *path = test_file("r.h5");
        struct stat about;
        fake_pass fake;
        txd_recorder *recorder;
        txd_text text;
        double expected;

        fake_make(&fake, plans[i].model, plans[i].batch, plans[i].length);
        txd_text_init(&text);
        expected = (double)planned(&fake, i, &text);
        recorder = fake_record(&fake, path, plans[i].record, plans[i].steps);
        for (size_t step = 0; step < plans[i].steps; step++)
            fake_step(&fake, recorder, (int)step);
        add_verdicts(recorder);
        ck_assert_int_eq(txd_recorder_close(recorder, true), TXD_OK);
        ck_assert_int_eq(stat(path, &about), 0);
        ck_assert_msg(fabs(expected - (double)about.st_size) <=
                          0.2 * (double)about.st_size,
                      "plan %zu: %.0f bytes planned, %.0f written\n%s", i, expected,
                      (double)about.st_size, txd_text_get(&text));
        txd_text_finish(&text);
        fake_free(&fake);
    }
}
END_TEST

START_TEST(a_dry_run_lists_point_probe_shape_and_dtype)
{
    fake_pass fake;
    txd_text text;
    const char *line;

    fake_make(&fake, MODEL, 2, 300);
    txd_text_init(&text);
    planned(&fake, 1, &text);
    line = strstr(txd_text_get(&text), "layers.1.attn.weights");
    ck_assert_ptr_nonnull(line);
    line = strstr(line, "(s 3, b 2, h 2, q 300, k 300)\n");
    ck_assert_ptr_nonnull(line);
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "rows/entropy"));
    ck_assert_ptr_nonnull(strstr(txd_text_get(&text), "series/param "));
    ck_assert_int_ne(access(test_file("r.h5"), F_OK), 0);
    txd_text_finish(&text);
    fake_free(&fake);
}
END_TEST

TEST_MAIN(inputs_of_every_step_are_recorded, metadata_says_what_was_recorded_and_how,
          watchers_get_a_line_per_step,
          an_incomplete_recording_stays_aside_and_a_discarded_one_goes,
          a_step_larger_than_declared_is_refused, an_unknown_probe_leaves_no_file,
          a_dry_run_foretells_the_size_of_the_file,
          a_dry_run_lists_point_probe_shape_and_dtype)
