/* SPDX-License-Identifier: MIT */
/*
 * Axes of charts: a few tics within the range, whatever numbers a recording holds.
 */
#include "suite.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fake.h"
#include "viz/figures/figures.h"

/* The script of the chart of losses at steps of these numbers. */
static void write_losses(txd_drawing *out, fake *recording, const double *numbers,
                         const double *losses, size_t steps)
{
    const txd_figure_request request = {.site = "steps/loss", .layer = -1, .step = -1};
    txd_chart chart;

    fake_open(recording);
    fake_add(recording, "steps/step", "n", numbers, &steps);
    fake_add(recording, "steps/loss", "n", losses, &steps);
    ck_assert_int_eq(txd_drawing_init(out, TXD_IMAGE_PNG), TXD_OK);
    ck_assert_int_eq(txd_chart_steps(&chart, out->arena, recording->trace, &request),
                     TXD_OK);
    ck_assert_int_eq(txd_chart_draw(out, &chart), TXD_OK);
}

/* Tics of the list after `set`, of which each must lie behind the one before. */
static size_t count_tics(const txd_drawing *script, const char *set)
{
    const char *at = strstr(txd_text_get(&script->script), set), *end;
    double before = -INFINITY, tic;
    size_t count = 0;

    ck_assert_ptr_nonnull(at);
    at = strchr(at, '(');
    end = strchr(at, '\n');
    while ((at = strchr(at + 1, '\'')) && at < end) {
        bool is_mark = strncmp(at, "'NaN", 4) == 0;

        at = strchr(at + 1, '\'');
        tic = strtod(at + 1, NULL);
        ck_assert_msg(tic > before, "%g after %g", tic, before);
        before = tic;
        count += !is_mark;
    }
    return count;
}

START_TEST(steps_of_any_number_have_few_tics)
{
    static const double firsts[] = {0, -7, 1e6, 0x1p53, 0x1p62, -0x1p63};
    static const double spans[] = {0, 1, 10, 977, 1e6, 0x1p40};

    for (size_t i = 0; i < 36; i++) {
        double first = firsts[i / 6], losses[2] = {3, 2};
        const double numbers[2] = {first, first + spans[i % 6]};
        txd_drawing script;
        fake recording;

        write_losses(&script, &recording, numbers, losses, 2);
        ck_assert_uint_le(count_tics(&script, "set xtics"), 13);
        if (fabs(first) <= 1e6)
            ck_assert_uint_ge(count_tics(&script, "set xtics"), 1);
        txd_drawing_finish(&script);
        fake_close(&recording);
    }
}
END_TEST

START_TEST(losses_of_any_size_beside_nan_have_few_tics)
{
    static const double sizes[] = {1, -1, 1e-320, 1e-9, 1e12, 1e300, 1.7e308, -1.7e308};

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (double apart = 0; apart <= 1; apart = apart > 0 ? apart * 1e5 : 1e-16) {
            const double losses[3] = {sizes[i], sizes[i] * (1 - apart), NAN};
            const double numbers[3] = {0, 1, 2};
            txd_drawing script;
            fake recording;

            write_losses(&script, &recording, numbers, losses, 3);
            ck_assert_uint_le(count_tics(&script, "set ytics"), 13);
            txd_drawing_finish(&script);
            fake_close(&recording);
        }
}
END_TEST

TEST_MAIN(steps_of_any_number_have_few_tics,
          losses_of_any_size_beside_nan_have_few_tics)
