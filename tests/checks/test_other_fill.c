/* SPDX-License-Identifier: MIT
 *
 * Another number than the claimed fill in hidden cells: mask_fill informs where no
 * weight is another for it, and fails else.
 */
#include "driver.h"
#include "live.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What hidden cells of one layer hold; and one visible score of query 5 (0: as drawn),
 * and one of its three hidden cells (0: as the others). */
typedef struct other {
    double claimed, fill;
    bool added; /* to the score */
    double score, cell;
} other;

static void offer_layer(driver *d, int layer, const other *o)
{
    size_t n = LENGTH, count = driver_count(d, TXD_POINT_ATTN_MASKED);
    size_t visible = driver_at(d, 0, 1, 5, 2), hidden = driver_at(d, 0, 2, 5, 7);
    double *scores = driver_random(d, TXD_POINT_ATTN_SCORES, 5 + (uint64_t)layer);
    double *masked = txd_arena_alloc(d->arena, count, sizeof *masked);

    if (o && o->score != 0)
        scores[visible] = o->score;
    for (size_t i = 0; i < count; i++) {
        bool seen = i % n <= i / n % n;
        double fill =
            o ? (o->added ? scores[i] : 0) + o->fill : d->config.layers[layer].fill;

        masked[i] = seen ? scores[i] : fill;
    }
    if (o && o->cell != 0)
        masked[hidden] = isfinite(o->cell) ? scores[hidden] : o->cell;
    driver_offer(d, TXD_POINT_ATTN_SCORES, layer, scores);
    driver_offer(d, TXD_POINT_ATTN_MASKED, layer, masked);
}

static const txd_result *run(driver *d, int layer, txd_dtype format, const other *o)
{
    driver_init(d);
    for (int l = 0; l < LAYERS; l++)
        d->config.layers[l].fill = o->claimed;
    txd_pass_set_format(&d->pass, format);
    driver_start(d, "mask_fill");
    for (int l = 0; l < LAYERS; l++)
        offer_layer(d, l, l == layer ? o : NULL);
    return driver_result(d);
}

static void expect(const other *o, txd_dtype format, txd_verdict verdict,
                   const char *cause, const char *otherwise)
{
    for (int layer = 0; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r = run(&d, layer, format, o);
        const char *message = r->finding_count ? r->findings[0].message : r->note;

        ck_assert_msg(r->verdict == verdict, "%g for %g: %s %s", o->fill, o->claimed,
                      txd_verdict_name(r->verdict), message);
        ck_assert_uint_eq(r->finding_count, 1);
        ck_assert_int_eq(r->findings[0].layer, layer);
        ck_assert(!(r->findings[0].measured <= r->findings[0].allowed));
        ck_assert_msg(strstr(message, cause) && strstr(message, otherwise),
                      "%g for %g: %s", o->fill, o->claimed, message);
        ck_assert((strstr(message, "no weight differs") != NULL) ==
                  (verdict == TXD_VERDICT_INFO));
        driver_finish(&d);
    }
}

#define ALIKE "no weight differs for it, but a query that sees no key would attend to "
#define EMPTY "no weight differs for it, but a query that sees no key would have an "

START_TEST(another_fill_that_changes_no_weight_is_for_information)
{
    const struct {
        other other;
        const char *cause, *otherwise;
    } cases[] = {
        {{-INFINITY, -1e9, false, 0, 0}, ": the fill is -1e+09;", ALIKE},
        {{-INFINITY, -1e30, false, 0, 0}, ": the fill is -1e+30;", ALIKE},
        {{-INFINITY, -(double)FLT_MAX, false, 0, 0}, ": the fill is -3.4e+38;", ALIKE},
        {{-INFINITY, -(double)FLT_MAX, true, 0, 0}, "instead of -Inf;", ALIKE},
        {{-INFINITY, -1e4, true, 0, 0}, "instead of -Inf;", ALIKE},
        {{-1e4, -1e9, false, 0, 0}, ": the fill is -1e+09;", EMPTY},
        {{-1e9, -INFINITY, false, 0, 0}, "no such number, the fill overflowed;", EMPTY},
    };
    const txd_dtype formats[] = {TXD_F64, TXD_F32, TXD_BF16, TXD_F16};

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t f = 0; f < 4; f++)
            expect(&cases[c].other, formats[f], TXD_VERDICT_INFO, cases[c].cause,
                   cases[c].otherwise);
    expect(&(other){-1e4, -1e4, true, 0, 0}, TXD_F64, TXD_VERDICT_INFO,
           "the fill is added to the score instead of set;", "no weight differs");
}
END_TEST

/* log(3 hidden keys / u) is 37.8 in float64. */
START_TEST(another_fill_near_a_visible_score_fails)
{
    expect(&(other){-INFINITY, -1e9, false, -1e9 + 39, 0}, TXD_F64, TXD_VERDICT_INFO,
           "the fill is -1e+09", "");
    expect(&(other){-INFINITY, -1e9, false, -1e9 + 37, 0}, TXD_F64, TXD_VERDICT_FAIL,
           "the fill is -1e+09", "; in query 5 not far below the score -1e+09");
}
END_TEST

START_TEST(another_fill_fails_where_a_cell_is_not_hidden_at_all)
{
    const double cells[] = {NAN, INFINITY, 1};

    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        expect(&(other){-INFINITY, -1e9, false, 0, cells[i]}, TXD_F64, TXD_VERDICT_FAIL,
               "", "");
}
END_TEST

#define CFG                                                                            \
    "model : { preset = \"mini\"; vocab = 40; d_model = 32; n_heads = 4; n_layers = "  \
    "3; d_ff = 48; max_seq_len = 32; cross = true; }; "                                \
    "input : { tokens = ( [1, 7, 3, 9, 22, 31, 8], [4, 11, 2, 5, 39] ); "              \
    "memory : { random : { length = 9; }; valid = ( 6, %d ); }; }; "                   \
    "faults : ( { name = \"mask_fill_too_weak\"; layers = 1; strength = -1e9; } ); "

/* The weights of a row without keys alone change. */
START_TEST(another_fill_fails_where_a_query_has_no_memory)
{
    for (int real = 0; real < 10; real += 9) {
        const txd_finding *first;
        const txd_result *r;
        char text[1024];
        live l;

        snprintf(text, sizeof text, CFG, real);
        live_run(&l, text, "mask_fill");
        r = live_result(&l, "mask_fill");
        first = &r->findings[0];
        ck_assert_int_eq(r->verdict, real ? TXD_VERDICT_INFO : TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, 2);
        ck_assert_str_eq(first->site,
                         real ? "layers.1.attn.masked" : "layers.1.cross.masked");
        ck_assert_msg(strstr(first->message, real ? "no weight differs for it"
                                                  : "20 of 48 rows see no key"),
                      "%s", first->message);
        ck_assert_int_eq(r->findings[1].verdict, TXD_VERDICT_INFO);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(another_fill_that_changes_no_weight_is_for_information,
          another_fill_near_a_visible_score_fails,
          another_fill_fails_where_a_cell_is_not_hidden_at_all,
          another_fill_fails_where_a_query_has_no_memory)
