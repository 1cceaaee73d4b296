/* SPDX-License-Identifier: MIT
 *
 * The law embedding_rows on hand-made embeddings, and in models.
 */
#include "driver.h"
#include "recorded.h"

#include <math.h>
#include <string.h>

enum { D = HEADS * WIDTH, COUNT = LENGTH * D };

/* Tokens 0 1 2 0 1 2 ...; one element of a row is moved. */
static const txd_result *run(driver *d, size_t element, double off, bool has_nan)
{
    double *table = driver_numbers(d, 3 * D, 4);
    double *rows = txd_arena_alloc(d->arena, COUNT, sizeof *rows);

    driver_start(d, "embedding_rows");
    for (size_t i = 0; i < COUNT; i++) {
        d->inputs.tokens[i / D] = (int32_t)(i / D % 3);
        rows[i] = table[i / D % 3 * D + i % D];
    }
    rows[element] += off;
    if (has_nan)
        rows[2] = NAN;
    driver_offer(d, TXD_POINT_EMBED_TOK, -1, rows);
    return driver_result(d);
}

START_TEST(equal_tokens_have_equal_rows_to_the_bit)
{
    const txd_result *r;
    driver d;

    driver_init(&d);
    r = run(&d, 0, 0, false);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, COUNT - 3 * D); /* the first of each has no twin */
    r = run(&d, 7 * D + 5, 1e-16, false);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "embed.tok");
    ck_assert_int_eq(r->findings[0].query, 7);
    ck_assert_msg(
        strstr(r->findings[0].message, "but that of another token of the same id is"),
        "%s", r->findings[0].message);
    r = run(&d, 7 * D + 5, NAN, false);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    r = run(&d, 0, 0, true);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {6};
    driver d;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    ck_assert_int_eq(run(&d, 7 * D, 1, false)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

/* times: of the exponent; every position p is taken for p + shift. */
static void expect_sinusoids(double times, int shift, double off, const char *words)
{
    double *rows;
    const txd_result *r;
    driver d;

    driver_init(&d);
    d.config.positions = TXD_POSITIONS_SINUSOIDAL;
    driver_start(&d, "embedding_rows");
    rows = txd_arena_alloc(d.arena, COUNT, sizeof *rows);
    for (size_t i = 0; i < COUNT; i++) {
        double angle =
            ((double)(i / D) + shift) / pow(10000, times * (double)(i % D / 2 * 2) / D);

        rows[i] = i % 2 == 0 ? sin(angle) : cos(angle);
    }
    rows[4 * D + 3] += off;
    driver_offer(&d, TXD_POINT_EMBED_POS, -1, rows);
    r = driver_result(&d);
    ck_assert_msg(r->verdict == (words ? TXD_VERDICT_FAIL : TXD_VERDICT_PASS), "%s",
                  r->finding_count ? r->findings[0].message : r->note);
    if (words)
        ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                      r->findings[0].message);
    driver_finish(&d);
}

/* Allowed: 2^-52 of the value, and 2^-50 (1 + 8) of its angle. */
START_TEST(sinusoids_are_those_of_the_formula_within_their_roundings)
{
    expect_sinusoids(1, 0, 0, NULL);
    expect_sinusoids(1, 0, 1e-16, NULL);
    expect_sinusoids(1, 0, 1e-14, "token 4, channel 3 is");
    expect_sinusoids(1, 0, NAN, "token 4, channel 3 is NaN");
    expect_sinusoids(2, 0, 0, "the exponent is twice what it should be");
    expect_sinusoids(0, 0, 0, "as of an integer division");
    expect_sinusoids(1, 1, 0, "those of the position after");
    expect_sinusoids(1, -1, 0, "those of the position before");
    expect_sinusoids(3, 0, 0, "but the sinusoid of its position is");
}
END_TEST

#define CFG(more, fault)                                                               \
    "model : { preset = \"gpt2\"; " more " vocab = 23; d_model = 16; n_heads = 2; "    \
    "n_layers = 1; d_ff = 8; max_seq_len = 16; }; input : { tokens = ([1, 5, 1, 2], "  \
    "[5, 8]); }; " fault " record : ( { probe = \"full\"; points = \"*\"; } );"

START_TEST(a_recording_tells_a_wrong_exponent_as_the_run_does)
{
    recorded_expect(CFG("positions = \"sinusoidal\";", ""), "embedding_rows",
                    TXD_VERDICT_PASS, NULL);
    recorded_expect(CFG("", ""), "embedding_rows", TXD_VERDICT_PASS, NULL);
    recorded_expect(CFG("positions = \"sinusoidal\";",
                        "faults = ( { name = \"sinusoid_exponent\"; } );"),
                    "embedding_rows", TXD_VERDICT_FAIL,
                    "the exponent is twice what it should be");
}
END_TEST

static unsigned ask_positions(void *self, const txd_site *site)
{
    (void)self;
    return site->point == TXD_POINT_EMBED_POS && site->kind == TXD_SITE_VALUE
               ? TXD_ASK_EDIT
               : 0;
}

/* Every position has the row of the one after it, as if counting began at 1. */
static txd_status shift(void *self, txd_block *block)
{
    size_t rows = block->value.dims[0] * block->value.dims[1], width = 16;
    float *x = block->value.data;

    (void)self;
    memmove(x, x + width, (rows - 1) * width * sizeof *x);
    return TXD_OK;
}

START_TEST(a_run_holds_rows_against_the_table_and_names_the_other)
{
    txd_tap edit = {.name = "shift", .ask = ask_positions, .edit = shift};
    live l;

    live_edit(&l, CFG("", ""), "embedding_rows", &edit);
    ck_assert_int_eq(l.results->verdict, TXD_VERDICT_FAIL);
    ck_assert_msg(
        strstr(l.results->findings[0].message, "position 0 has row 1 of the table"),
        "%s", l.results->findings[0].message);
    live_finish(&l);
}
END_TEST

TEST_MAIN(equal_tokens_have_equal_rows_to_the_bit, padded_tokens_are_not_judged,
          sinusoids_are_those_of_the_formula_within_their_roundings,
          a_recording_tells_a_wrong_exponent_as_the_run_does,
          a_run_holds_rows_against_the_table_and_names_the_other)
