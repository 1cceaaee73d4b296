/* SPDX-License-Identifier: MIT
 *
 * The law position_rows on sinusoids made by hand, and on models with tables, live and
 * from their recordings.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "live.h"
#include "recorded.h"

static double sinusoid(size_t position, size_t i, size_t width)
{
    double angle = (double)position / pow(10000, (double)(i / 2 * 2) / (double)width);

    return i % 2 == 0 ? sin(angle) : cos(angle);
}

/* Sinusoids of the batch, element `changed` by so much. */
static const txd_result *run(driver *d, size_t changed, double by)
{
    size_t width = d->config.d_model, count = driver_count(d, TXD_POINT_EMBED_POS);
    double *values = txd_arena_alloc(d->arena, count, sizeof *values);

    driver_start(d, "position_rows");
    for (size_t i = 0; i < count; i++)
        values[i] = sinusoid((size_t)d->inputs.positions[i / width], i % width, width);
    values[changed] += by;
    driver_offer(d, TXD_POINT_EMBED_POS, -1, values);
    return driver_result(d);
}

static void start(driver *d)
{
    driver_init(d);
    d->config.positions = TXD_POSITIONS_SINUSOIDAL;
}

START_TEST(one_element_is_found_as_soon_as_it_is_beyond_its_roundings)
{
    const size_t width = HEADS * WIDTH, token = 5, lane = 2;
    double value = sinusoid(token, lane, width);
    double angle = 5 / pow(10000, 2.0 / (double)width);
    double allowed = 0x1p-53 * fabs(value) + 0x1p-50 * (1 + angle);

    for (int outside = 0; outside < 2; outside++) {
        driver d;
        const txd_result *r;

        start(&d);
        r = run(&d, token * width + lane, allowed * (outside ? 1.2 : 0.8));
        ck_assert_int_eq(r->verdict, outside ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LENGTH * width);
        ck_assert_uint_eq(r->finding_total, outside ? 1 : 0);
        if (outside) {
            ck_assert_str_eq(r->findings[0].site, "embed.pos");
            ck_assert_int_eq(r->findings[0].query, (int)token);
            ck_assert_ptr_nonnull(strstr(r->findings[0].message, "channel 2"));
        }
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_nan_is_never_a_pass)
{
    driver d;

    start(&d);
    ck_assert_int_eq(run(&d, 3, (double)NAN)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[] = {LENGTH, 4};
    driver d;
    const txd_result *r;

    start(&d);
    driver_inputs(&d, 2, lengths, false);
    r = run(&d, (LENGTH + 6) * HEADS * WIDTH, 1);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, (LENGTH + 4) * HEADS * WIDTH);
    driver_finish(&d);
}
END_TEST

#define MODEL(positions)                                                               \
    "model : { preset = \"gpt2\"; vocab = 9; d_model = 8; n_heads = 2; n_layers = 1; " \
    "d_ff = 8; max_seq_len = 9; positions = \"" positions "\"; }; "
#define LEFT "input : { tokens = ([1, 2, 3, 4, 5], [6, 7, 8]); pad = \"left\"; }; "
#define PACKED                                                                         \
    "input : { tokens = [1, 2, 3, 4, 5]; documents = [0, 0, 1, 1, 1]; positions = "    \
    "[0, "                                                                             \
    "1, 0, 1, 2]; }; "
#define FAULT(name) "faults : ( { name = \"" name "\"; } ); "
#define RECORD "record : ( { probe = \"full\"; points = \"embed.*,input.*\"; } ); "

START_TEST(healthy_tables_and_sinusoids_pass_in_every_format)
{
    static const char *const backends[] = {"ref64", "ref32", "cpu32", "bf16", "fp16"};
    static const char *const models[] = {MODEL("learned") LEFT,
                                         MODEL("sinusoidal") LEFT};
    char cfg[1024];

    for (int i = 0; i < 10; i++) {
        const txd_result *r;
        live l;

        snprintf(cfg, sizeof cfg, "%s precision : { backend = \"%s\"; };",
                 models[i / 5], backends[i % 5]);
        live_run(&l, cfg, "position_rows");
        r = live_result(&l, "position_rows");
        ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%s: %s", backends[i % 5],
                      r->note);
        ck_assert_uint_eq(r->evaluated, 8 * 8);
        live_finish(&l);
    }
}
END_TEST

START_TEST(the_position_that_was_used_is_named)
{
    static const struct {
        const char *cfg, *words;
    } cases[] = {
        {MODEL("learned") LEFT FAULT("positions_count_padding"),
         "the row is that of position 2"},
        {MODEL("sinusoidal") LEFT FAULT("positions_count_padding"),
         "the row is that of position 2"},
        {MODEL("learned") PACKED FAULT("positions_not_reset"),
         "the row is that of position 2"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const txd_result *r;
        live l;

        live_run(&l, cases[i].cfg, "position_rows");
        r = live_result(&l, "position_rows");
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message, cases[i].words) != NULL, "%s",
                      r->findings[0].message);
        live_finish(&l);
    }
}
END_TEST

START_TEST(a_recording_holds_tokens_of_one_position_to_each_other)
{
    recorded_expect(MODEL("learned") PACKED RECORD, "position_rows", TXD_VERDICT_PASS,
                    NULL);
    recorded_expect(MODEL("sinusoidal") PACKED RECORD, "position_rows",
                    TXD_VERDICT_PASS, NULL);
    recorded_expect(MODEL("learned") LEFT RECORD FAULT("positions_count_padding"),
                    "position_rows", TXD_VERDICT_FAIL, "but that of its position is");
}
END_TEST

TEST_MAIN(one_element_is_found_as_soon_as_it_is_beyond_its_roundings,
          a_nan_is_never_a_pass, padded_tokens_are_not_judged,
          healthy_tables_and_sinusoids_pass_in_every_format,
          the_position_that_was_used_is_named,
          a_recording_holds_tokens_of_one_position_to_each_other)
