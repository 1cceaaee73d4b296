/* SPDX-License-Identifier: MIT
 *
 * The chart of errors by layer: its lines are the measured errors, the residual stream
 * is always among them, and what is the same error twice is drawn once.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "charted.h"
#include "viz/read/compared.h"

enum { LAYERS = 4, NAMES = 14 };

/* Errors fall from name to name; the stream's is the smallest. */
static double error_of(size_t name, size_t layer)
{
    return (layer + 1.0) * pow(2, -(double)name) * 1e-3;
}

static const char *name_of(size_t name)
{
    static char names[NAMES][32];

    snprintf(names[name], sizeof names[name],
             name + 1 == NAMES ? "layers.*.resid.post" : "layers.*.v%zu", name);
    return names[name];
}

/* `twin` repeats the errors of the name before it but for rounding; `outside` are of no
 * layer. */
static void fill(txd_error *errors, txd_compared *out, const fake *recording,
                 size_t twin)
{
    *out = (txd_compared){.reference = recording->trace,
                          .measured = recording->trace,
                          .formats = {"float64", "bf16"},
                          .roundoff = 0x1p-8,
                          .common = 1,
                          .layers = LAYERS,
                          .errors = errors};
    for (size_t name = 0; name < NAMES; name++)
        for (size_t layer = 0; layer < LAYERS; layer++)
            errors[out->count++] = (txd_error){
                .name = name_of(name),
                .layer = (int)layer,
                .relative = name == twin ? error_of(name - 1, layer) * (1 + 1e-13)
                                         : error_of(name, layer)};
    errors[out->count++] =
        (txd_error){.name = "embed.out", .layer = -1, .relative = 1e-5};
    errors[out->count++] = (txd_error){.name = "logits", .layer = -1, .relative = 2e-3};
}

static const txd_line *find(const txd_chart *chart, size_t name)
{
    return charted_line(&chart->graphs[0], name_of(name) + strlen("layers.*."));
}

START_TEST(lines_are_the_largest_errors_and_the_stream)
{
    txd_error errors[NAMES * LAYERS + 2];
    const txd_line *outside;
    txd_compared compared;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    fake_open(&recording);
    fill(errors, &compared, &recording, NAMES);
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_chart_errors(&chart, arena, &compared), TXD_OK);
    for (size_t name = 0; name < NAMES; name++) {
        const txd_line *line = find(&chart, name);

        ck_assert_msg((line != NULL) == (name < 7 || name + 1 == NAMES), "%s",
                      name_of(name));
        for (size_t layer = 0; line && layer < LAYERS; layer++)
            ck_assert(line->x[layer] == (double)layer &&
                      line->y[layer] == error_of(name, layer));
    }
    outside = charted_line(&chart.graphs[0], "outside the layers");
    ck_assert_uint_eq(outside->count, 2);
    ck_assert(outside->x[0] == -1 && outside->y[0] == 1e-5);
    ck_assert(outside->x[1] == LAYERS && outside->y[1] == 2e-3);
    ck_assert(chart.graphs[0].levels[0].y == 0x1p-8);
    ck_assert(strstr(chart.above[0].text, "; 6 values with smaller errors"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(an_error_that_another_value_repeats_is_drawn_once)
{
    txd_error errors[NAMES * LAYERS + 2];
    txd_compared compared;
    txd_chart chart;
    txd_arena *arena;
    fake recording;

    fake_open(&recording);
    fill(errors, &compared, &recording, 3);
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_chart_errors(&chart, arena, &compared), TXD_OK);
    ck_assert((find(&chart, 2) != NULL) != (find(&chart, 3) != NULL));
    ck_assert_ptr_nonnull(find(&chart, 7)); /* there is room for one more */
    ck_assert(strstr(chart.above[0].text, "; 5 values with smaller errors"));
    txd_arena_destroy(arena);
    fake_close(&recording);
}
END_TEST

START_TEST(errors_that_come_of_a_planted_fault_are_not_called_rounding)
{
    const char *const planted[] = {"none", "scale_missing layers=1"};
    txd_error errors[NAMES * LAYERS + 2];
    fake recordings[2];
    txd_compared compared;
    txd_chart chart;
    txd_arena *arena;

    for (int i = 0; i < 2; i++) {
        fake_open(&recordings[i]);
        fake_meta(&recordings[i], "faults", planted[i]);
    }
    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    for (int same = 0; same < 2; same++) {
        fill(errors, &compared, &recordings[0], NAMES);
        compared.measured = recordings[!same].trace;
        ck_assert_int_eq(txd_chart_errors(&chart, arena, &compared), TXD_OK);
        ck_assert_uint_eq(chart.above_count, same ? 1 : 2);
    }
    fill(errors, &compared, &recordings[0], NAMES);
    compared.measured = recordings[1].trace;
    ck_assert_int_eq(txd_chart_errors(&chart, arena, &compared), TXD_OK);
    ck_assert_ptr_nonnull(strstr(chart.above[1].text, "not all of this is rounding"));
    ck_assert_ptr_nonnull(strstr(chart.above[1].text,
                                 "Measured: faults planted: scale_missing layers=1; "
                                 "reference: no fault planted"));
    txd_arena_destroy(arena);
    for (int i = 0; i < 2; i++)
        fake_close(&recordings[i]);
}
END_TEST

START_TEST(one_recording_has_no_errors)
{
    fake recording;

    fake_open(&recording);
    charted_missing(&recording, "errors", "needs a second recording");
    fake_close(&recording);
}
END_TEST

TEST_MAIN(lines_are_the_largest_errors_and_the_stream,
          an_error_that_another_value_repeats_is_drawn_once,
          errors_that_come_of_a_planted_fault_are_not_called_rounding,
          one_recording_has_no_errors)
