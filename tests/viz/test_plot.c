/* SPDX-License-Identifier: MIT */
/*
 * What `plot` refuses, and in which words; the script that it writes; and that a
 * failure leaves an earlier picture alone.
 */
#include "suite.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "viz/draw/map.h"

static txd_figure_request ask(const char *site, int layer, int head)
{
    return (txd_figure_request){.site = site,
                                .layer = layer,
                                .head = head,
                                .step = -1,
                                .batch = -1,
                                .path = test_file("refused.png")};
}

static void open_small(fake *out)
{
    const size_t dims[6] = {1, FAKE_LAYERS, 1, FAKE_HEADS, 4, 4};
    double pooled[FAKE_LAYERS * FAKE_HEADS * 16] = {0};

    fake_open(out);
    fake_decoder(out, 4);
    fake_weights(out, 4, NULL, 0);
    fake_add(out, "pooled/max", "slbhij", pooled, dims);
    fake_add(out, "rows/entropy", "slbhq", pooled, dims);
}

static void check_refused(fake *recording, txd_figure_request request,
                          txd_status expected, const char *words)
{
    txd_status status = txd_plot(recording->trace, &request);

    ck_assert_msg(status == expected, "%s: %d %s", request.site, status, txd_message());
    ck_assert_msg(strstr(txd_message(), words) != NULL, "\"%s\" lacks \"%s\"",
                  txd_message(), words);
}

START_TEST(what_is_not_recorded_is_refused_with_the_choices)
{
    txd_figure_request request;
    fake recording;

    open_small(&recording);
    check_refused(&recording, ask("layers.*.attn.weights", -1, 2), TXD_ERR_CONFIG,
                  "--layer: recorded are 0 to 2");
    check_refused(&recording, ask("layers.*.attn.weights", 3, 2), TXD_ERR_CONFIG,
                  "layer 3: recorded are 0 to 2");
    check_refused(&recording, ask("layers.1.attn.weights", -1, 4), TXD_ERR_CONFIG,
                  "head 4: recorded are 0 to 3");
    check_refused(&recording, ask("layers.1.attn.weights", 2, 0), TXD_ERR_CONFIG,
                  "names another");
    check_refused(&recording, ask("layers.1.attn.wieghts", -1, 0), TXD_ERR_CONFIG,
                  "did you mean layers.*.attn.weights");
    check_refused(&recording, ask("logits", -1, -1), TXD_ERR_CONFIG,
                  "Recorded: layers.*.attn.weights, pooled/max, rows/entropy");
    check_refused(&recording, ask("rows/entropy", -1, -1), TXD_ERR_CONFIG,
                  "1 more: choose --layer (0 to 2) or --head (0 to 3)");
    check_refused(&recording, ask("pooled/max", -1, -1), TXD_ERR_CONFIG,
                  "2 more: choose --layer (0 to 2) and --head (0 to 3)");
    check_refused(&recording, ask("layers.2.attn.scores", -1, -1), TXD_ERR_CONFIG,
                  "points = \"layers.*.attn.scores\"; } );");
    check_refused(&recording, ask("", -1, -1), TXD_ERR_CONFIG, "which site? Recorded:");
    check_refused(&recording, ask("layers.7.attn.weights", -1, 0), TXD_ERR_CONFIG,
                  "layers.7.attn.weights, of which pooled/max: layer 7: recorded are 0 "
                  "to 2");
    check_refused(&recording, ask("layers.2.attn.q@grad", -1, -1), TXD_ERR_CONFIG,
                  "points = \"layers.*.attn.q@grad\"; } );");
    check_refused(&recording, ask("row/entropy", -1, -1), TXD_ERR_CONFIG,
                  "did you mean rows/entropy?");
    request = ask("layers.1.attn.weights", -1, 0);
    request.step = 5;
    check_refused(&recording, request, TXD_ERR_CONFIG, "step 5: recorded are 0 to 0");
    request = ask("layers.1.attn.weights", -1, 0);
    request.batch = 1;
    check_refused(&recording, request, TXD_ERR_CONFIG, "batch 1: recorded are 0 to 0");
    request = ask("layers.1.attn.weights", -1, 0);
    ck_assert_int_eq(txd_range_parse(&request.key, "4:9"), TXD_OK);
    check_refused(&recording, request, TXD_ERR_CONFIG, "range of key is empty");
    fake_close(&recording);
}
END_TEST

START_TEST(negative_values_have_no_logarithmic_scale)
{
    const double values[4] = {1, -2, 3, 4};
    const size_t dims[4] = {1, 1, 2, 2};
    txd_figure_request request = ask("layers.0.resid.post", -1, -1);
    fake recording;

    fake_open(&recording);
    fake_add(&recording, "layers.0.resid.post", "sbtd", values, dims);
    request.scale = TXD_SCALE_LOG;
    check_refused(&recording, request, TXD_ERR_CONFIG, "smallest is -2");
    fake_close(&recording);
}
END_TEST

START_TEST(a_failure_leaves_the_earlier_picture_alone)
{
    const char *path = test_file("kept.png");
    txd_figure_request request = ask("layers.0.attn.weights", -1, 0);
    char content[16] = "", *folders = strdup(getenv("PATH"));
    fake recording;
    FILE *file;

    open_small(&recording);
    ck_assert_int_eq(txd_file_replace(path, "earlier", 7), TXD_OK);
    ck_assert_int_eq(setenv("PATH", test_scratch(), 1), 0);
    request.path = path;
    check_refused(&recording, request, TXD_ERR_MISSING, "gnuplot-nox");
    ck_assert_int_eq(setenv("PATH", folders, 1), 0);
    free(folders);
    file = fopen(path, "r");
    ck_assert_ptr_nonnull(file);
    ck_assert_uint_eq(fread(content, 1, sizeof content, file), 7);
    fclose(file);
    ck_assert_str_eq(content, "earlier");
    fake_close(&recording);
}
END_TEST

/* Three queries and keys with hostile labels, a leak and a NaN. */
static void make_map(txd_map *map, txd_arena *arena)
{
    static size_t places[3] = {4, 5, 6};
    static char text[3][40] = {"4 it's", "5 100%", "6 `!touch x`\n'!touch y"};
    static char *labels[3] = {text[0], text[1], text[2]};
    static double cells[9] = {1, NAN, 0.25, 0.5, 0.5, NAN, 0.125, NAN, 0.75};
    static unsigned char flags[9] = {0, 0, TXD_FLAG_LEAK,      0, 0,
                                     0, 0, TXD_FLAG_NONFINITE, 0};
    static const unsigned char hidden[9] = {
        0, TXD_HIDDEN_FUTURE, TXD_HIDDEN_FUTURE, 0, 0, TXD_HIDDEN_FUTURE, 0, 0, 0};
    const txd_axis axis = {
        .places = places, .count = 3, .cells = 3, .title = "query", .labels = labels};

    *map = (txd_map){.arena = arena,
                     .rows = axis,
                     .columns = axis,
                     .cells = cells,
                     .flags = flags,
                     .hidden = hidden,
                     .leaks = {1, 4, 6, 0.25},
                     .nonfinite = {1, 6, 5, 0},
                     .square = true,
                     .title = "layers.0.attn.weights, head 1"};
    map->columns.title = "key";
    ck_assert_int_eq(txd_map_scale(map, TXD_SCALE_LINEAR, true), TXD_OK);
    ck_assert_int_eq(txd_map_note_scale(map, "step 0, batch 0"), TXD_OK);
    ck_assert_int_eq(
        txd_map_note(map, true, TXD_COLOUR_QUIET, "faults planted: 'x'\nplot y"),
        TXD_OK);
    ck_assert_int_eq(txd_map_note_marks(map, "causal"), TXD_OK);
    ck_assert_int_eq(txd_map_note_edges(map), TXD_OK);
}

START_TEST(the_script_of_a_small_map_is_as_committed)
{
    txd_drawing drawing;
    txd_mapped expected;
    txd_map map;

    ck_assert_int_eq(txd_drawing_init(&drawing, TXD_IMAGE_PNG), TXD_OK);
    make_map(&map, drawing.arena);
    ck_assert_int_eq(txd_map_draw(&drawing, &map), TXD_OK);
    ck_assert_int_eq(txd_file_replace(test_file("head.gp"), drawing.script.data,
                                      drawing.script.length),
                     TXD_OK);
    ck_assert_int_eq(txd_file_map(&expected, test_source("tests/viz/head.gp")), TXD_OK);
    ck_assert_msg(drawing.script.length == expected.count &&
                      memcmp(drawing.script.data, expected.bytes, expected.count) == 0,
                  "tests/viz/head.gp differs from:\n%s", txd_text_get(&drawing.script));
    ck_assert_uint_eq(drawing.file_count, 4);
    ck_assert_str_eq(drawing.files[0].name, "cells");
    ck_assert_uint_eq(drawing.files[0].count, 9 * sizeof(double));
    ck_assert_str_eq(drawing.files[1].name, "edges");
    ck_assert_str_eq(drawing.files[2].name, "leaks");
    ck_assert_mem_eq(drawing.files[2].bytes, ((const double[2]){2, 0}), 16);
    ck_assert_mem_eq(drawing.files[3].bytes, ((const double[2]){1, 2}), 16);
    txd_file_unmap(&expected);
    txd_drawing_finish(&drawing);
}
END_TEST

START_TEST(figures_are_listed_and_found_by_name)
{
    static const char *const names[] = {
#define TXD_FIGURE(name) #name,
#include "viz/registry.def"
#undef TXD_FIGURE
    };
    const size_t count = sizeof names / sizeof *names;

    for (size_t i = 0; i < count; i++) {
        ck_assert_ptr_nonnull(txd_figure_at(i));
        ck_assert_ptr_eq(txd_figure_find(names[i]), txd_figure_at(i));
        ck_assert_uint_gt(strlen(txd_figure_at(i)->sentence), 20);
    }
    ck_assert_ptr_null(txd_figure_at(count));
    ck_assert_ptr_null(txd_figure_find("heads"));
}
END_TEST

START_TEST(charts_and_layers_are_among_what_could_be_drawn)
{
    static const char *const sites[] = {"layers.0@grad", "layers.1@grad"};
    static const double loss[1] = {3};
    static const size_t one = 1, two[2] = {4, 4};
    double values[16] = {0};
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, 4);
    fake_add(&recording, "layers.0.attn.out", "td", values, two);
    fake_add(&recording, "steps/loss", "n", loss, &one);
    fake_strings(&recording, "series/grad_norm_sites", sites, 2);
    check_refused(&recording, ask("loss", -1, -1), TXD_ERR_CONFIG,
                  "did you mean steps/loss? Recorded: layers.*.attn.out, steps/loss");
    check_refused(&recording, ask("layers.1@grad", -1, -1), TXD_ERR_CONFIG,
                  "its norm is in the chart 'layers.*@grad'");
    check_refused(&recording, ask("layers.1.attn.out", -1, -1), TXD_ERR_CONFIG,
                  "layers.1.attn.out: recorded is layer 0");
    fake_close(&recording);
}
END_TEST

START_TEST(many_columns_are_listed_as_their_number)
{
    static const char *const names[] = {"rows/a", "rows/b", "rows/c",
                                        "rows/d", "rows/e", "rows/f"};
    const size_t dims[5] = {1, 1, 1, 1, 1};
    const double value = 0;
    fake recording;

    fake_open(&recording);
    fake_decoder(&recording, 4);
    for (int i = 0; i < 4; i++)
        fake_add(&recording, names[i], "slbhq", &value, dims);
    check_refused(&recording, ask("logits", -1, -1), TXD_ERR_CONFIG,
                  "Recorded: rows/a, rows/b, rows/c, rows/d");
    fake_add(&recording, names[4], "slbhq", &value, dims);
    check_refused(&recording, ask("logits", -1, -1), TXD_ERR_CONFIG,
                  "Recorded: rows/a and 4 more of rows/");
    fake_close(&recording);
}
END_TEST

TEST_MAIN(what_is_not_recorded_is_refused_with_the_choices,
          charts_and_layers_are_among_what_could_be_drawn,
          many_columns_are_listed_as_their_number,
          negative_values_have_no_logarithmic_scale,
          a_failure_leaves_the_earlier_picture_alone,
          the_script_of_a_small_map_is_as_committed,
          figures_are_listed_and_found_by_name)
