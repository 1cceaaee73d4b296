/* SPDX-License-Identifier: MIT
 *
 * Models and inputs at the edge of what can be said: where nothing can be learned,
 * where a format ends, at the last of all positions. Laws accuse none of them, and
 * still speak right beside the edge.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "driver.h"
#include "live.h"

#define SIZES "d_model = 16; n_heads = 2; n_layers = 2; d_ff = 16; max_seq_len = 16; "
#define ALL(scale)                                                                     \
    "weights : { init = ( { params = \"*\"; scheme = \"normal\"; std = " scale         \
    "; } ); }; "
#define FIVE "input : { tokens = ( [1, 2, 3, 4, 5] ); }; "

static void expect(const char *cfg, const char *law, txd_verdict verdict,
                   const char *words)
{
    const txd_result *r;
    const char *said;
    live l;

    live_run(&l, cfg, law);
    r = live_result(&l, law);
    said = r->finding_count ? r->findings[0].message : r->note;
    ck_assert_msg(r->verdict == verdict && strstr(said, words), "%s: %s: %s: %s", cfg,
                  law, txd_verdict_name(r->verdict), said);
    live_finish(&l);
}

/* ---- where nothing can be learned ---- */

#define RELATIVE                                                                       \
    "model : { preset = \"mini\"; vocab = 16; positions = \"relative\"; " SIZES        \
    "}; record : ( { probe = \"grad_norm\"; } ); "
#define ONE_ID                                                                         \
    "model : { preset = \"mini\"; vocab = 1; " SIZES "}; "                             \
    "input : { tokens = ( [0, 0, 0, 0] ); }; "                                         \
    "record : ( { probe = \"grad_norm\"; } ); "

START_TEST(a_bias_of_distances_has_no_gradient_where_no_query_has_a_choice)
{
    expect(RELATIVE FIVE "mask : { window = 1; };", "grad_range", TXD_VERDICT_PASS, "");
    expect(RELATIVE "input : { tokens = ( [1, 2], [3] ); };", "grad_range",
           TXD_VERDICT_PASS, "");
    expect(RELATIVE "input : { tokens = ( [1, 2, 3] ); documents = ( [0, 1, 2] ); };",
           "grad_range", TXD_VERDICT_PASS, "");
}
END_TEST

/* A bias whose gradient is 0, of queries that see `window` keys at most. */
static const txd_result *without_gradient(driver *d, const char *name, size_t window)
{
    double none[4] = {0};
    size_t count;
    txd_tap *const *taps;

    driver_init(d);
    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l].window = window;
    driver_start(d, "grad_range");
    driver_offer_parameter(d, name, -1, none, 2, 2);
    taps = txd_checks_taps(d->checks, &count);
    for (size_t i = 0; i < count; i++)
        OK(taps[i]->step_end(taps[i]->self, &d->pass));
    return driver_result(d);
}

START_TEST(where_one_has_a_choice_it_must_have_one)
{
    static const struct {
        const char *name;
        size_t window;
        bool fails;
    } cases[] = {{"attn.relative.weight@grad", 1, false},
                 {"attn.relative.weight@grad", 2, true},
                 {"attn.relative.weight@grad", 0, true},
                 {"head.weight@grad", 1, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driver d;
        const txd_result *r = without_gradient(&d, cases[i].name, cases[i].window);

        ck_assert_uint_eq(r->finding_count, cases[i].fails);
        if (cases[i].fails)
            ck_assert_str_eq(r->findings[0].site, cases[i].name);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_vocabulary_of_one_token_has_no_gradient)
{
    expect(ONE_ID, "grad_range", TXD_VERDICT_SKIP, "no loss");
    expect(ONE_ID, "gradient_causality", TXD_VERDICT_SKIP, "one token");
}
END_TEST

/* ---- where a format ends ---- */

#define FP16(scale)                                                                    \
    "model : { preset = \"mini\"; vocab = 16; " SIZES                                  \
    "}; " ALL(scale) "precision : { backend = \"fp16\"; }; " FIVE

static unsigned cut_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_GRADIENT && site->point == TXD_POINT_ATTN_OUT
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status cut_edit(void *self, txd_block *block)
{
    (void)self;
    memset(block->value.data, 0, txd_tensor_count(&block->value) * sizeof(float));
    return TXD_OK;
}

START_TEST(a_gradient_that_float16_cannot_hold_is_not_called_cut_off)
{
    txd_tap tap = {.name = "cut", .gradients = true, .ask = cut_ask, .edit = cut_edit};
    live l;

    expect(FP16("1e-4"), "gradient_causality", TXD_VERDICT_PASS,
           "less than the format holds");
    expect(FP16("0.2"), "gradient_causality", TXD_VERDICT_PASS, "");
    live_edit(&l, FP16("0.2"), "gradient_causality", &tap);
    ck_assert_int_eq(live_result(&l, "gradient_causality")->verdict, TXD_VERDICT_FAIL);
    live_finish(&l);
}
END_TEST

START_TEST(projections_that_a_format_cannot_hold_have_no_size)
{
    expect(FP16("1e-7"), "projection_std", TXD_VERDICT_SKIP, "too small");
    expect(FP16("0.2"), "projection_std", TXD_VERDICT_PASS, "");
}
END_TEST

#define LOUD(scale)                                                                    \
    "model : { preset = \"mini\"; vocab = 16; d_model = 16; n_heads = 2; n_layers = "  \
    "1; d_ff = 16; max_seq_len = 16; }; precision : { backend = \"fp16\"; }; " FIVE    \
    "weights : { init = ( { params = \"*.attn.*\"; scheme = \"normal\"; std = 3.0; }," \
    " { params = \"*.attn.o.weight\"; scheme = \"normal\"; std = " scale "; } ); }; "

/* The infinity is told by `finite`; one where the sum is a number of the format is an
 * error of the projection. */
START_TEST(a_projection_larger_than_the_format_is_left_to_finite)
{
    live l;

    expect(LOUD("3.0"), "output_projection", TXD_VERDICT_PASS, "");
    live_run(&l, LOUD("1e4"), "output_projection,finite");
    ck_assert_int_eq(live_result(&l, "finite")->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(live_result(&l, "finite")->findings[0].site, "layers.0.attn.out");
    ck_assert_uint_eq(live_result(&l, "output_projection")->finding_count, 0);
    live_finish(&l);
}
END_TEST

static unsigned spoil_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_OUT
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status spoil_edit(void *self, txd_block *block)
{
    (void)self;
    ((float *)block->value.data)[0] = INFINITY;
    return TXD_OK;
}

START_TEST(an_infinity_where_a_number_would_do_is_not)
{
    txd_tap tap = {.name = "spoil", .ask = spoil_ask, .edit = spoil_edit};
    live l;

    live_edit(&l, LOUD("3.0"), "output_projection", &tap);
    ck_assert_int_eq(live_result(&l, "output_projection")->verdict, TXD_VERDICT_FAIL);
    live_finish(&l);
}
END_TEST

#define SINK                                                                           \
    "model : { preset = \"mini\"; vocab = 16; sinks = true; " SIZES                    \
    "}; precision : { "                                                                \
    "backend = \"fp16\"; }; weights : { init = ( { params = \"*.attn.sink.weight\"; "  \
    "scheme = \"constant\"; value = 30.0; } ); }; " FIVE

START_TEST(a_sink_that_takes_all_weight_hides_no_key)
{
    expect(SINK, "diagonal_open", TXD_VERDICT_PASS, "");
    expect(SINK "faults : ( { name = \"diagonal_masked\"; } );", "diagonal_open",
           TXD_VERDICT_FAIL, "");
}
END_TEST

/* ---- the last of all positions ---- */

START_TEST(positions_may_be_as_large_as_their_numbers)
{
    const int32_t last[] = {INT32_MAX, INT32_MIN};

    for (int sign = 0; sign < 2; sign++) {
        const size_t width = HEADS * WIDTH;
        double *rows;
        driver d;

        driver_init(&d);
        d.config.positions = TXD_POSITIONS_SINUSOIDAL;
        driver_start(&d, "embedding_rows");
        rows = txd_arena_alloc(d.arena, LENGTH * width, sizeof *rows);
        for (size_t i = 0; i < LENGTH * width; i++) {
            double angle =
                last[sign] / pow(10000, (double)(i % width / 2 * 2) / (double)width);

            d.inputs.positions[i / width] = last[sign];
            rows[i] = i % 2 == 0 ? sin(angle) : cos(angle);
        }
        driver_offer(&d, TXD_POINT_EMBED_POS, -1, rows);
        ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_PASS);
        driver_finish(&d);
    }
}
END_TEST

/* ---- ids of another vocabulary ---- */

/* Every second token has an id that the claimed vocabulary lacks. */
START_TEST(ids_that_the_vocabulary_lacks_have_no_logit)
{
    const int32_t strangers[] = {INT32_MAX, INT32_MIN, -100, 1000000};
    const txd_result *r;
    driver d;

    for (int i = 0; i < 4; i++) {
        driver_init(&d);
        d.config.tie_embeddings = d.config.final_norm = true;
        for (size_t t = 0; t < LENGTH; t++)
            d.inputs.tokens[t] = t % 2 ? strangers[i] : (int32_t)t;
        driver_start(&d, "tied_head");
        driver_offer(&d, TXD_POINT_EMBED_TOK, -1,
                     driver_random(&d, TXD_POINT_EMBED_TOK, 1));
        driver_offer(&d, TXD_POINT_FINAL_NORM, -1,
                     driver_random(&d, TXD_POINT_FINAL_NORM, 2));
        driver_offer(&d, TXD_POINT_LOGITS, -1, driver_random(&d, TXD_POINT_LOGITS, 3));
        r = driver_result(&d);
        ck_assert_uint_gt(r->evaluated, 0); /* some tokens, each of all known ids */
        ck_assert_uint_eq(r->evaluated % ((LENGTH + 1) / 2), 0);
        driver_finish(&d);
    }
}
END_TEST

TEST_MAIN(a_bias_of_distances_has_no_gradient_where_no_query_has_a_choice,
          where_one_has_a_choice_it_must_have_one,
          a_vocabulary_of_one_token_has_no_gradient,
          a_gradient_that_float16_cannot_hold_is_not_called_cut_off,
          projections_that_a_format_cannot_hold_have_no_size,
          a_projection_larger_than_the_format_is_left_to_finite,
          an_infinity_where_a_number_would_do_is_not,
          a_sink_that_takes_all_weight_hides_no_key,
          positions_may_be_as_large_as_their_numbers,
          ids_that_the_vocabulary_lacks_have_no_logit)
