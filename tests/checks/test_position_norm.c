/* SPDX-License-Identifier: MIT
 *
 * The law position_norm on hand-made embeddings.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

static const txd_result *run(driver *d, double token, double position)
{
    double *tok, *pos;

    driver_start(d, "position_norm");
    tok = driver_random(d, TXD_POINT_EMBED_TOK, 1);
    pos = driver_random(d, TXD_POINT_EMBED_POS, 1);
    for (size_t i = 0; i < driver_count(d, TXD_POINT_EMBED_TOK); i++) {
        tok[i] *= token;
        pos[i] *= position;
    }
    driver_offer(d, TXD_POINT_EMBED_TOK, -1, tok);
    driver_offer(d, TXD_POINT_EMBED_POS, -1, pos);
    return driver_result(d);
}

START_TEST(sizes_of_the_same_order_pass)
{
    const double ratios[] = {0.11, 0.5, 1, 2, 9.9};

    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        driver d;

        driver_init(&d);
        ck_assert_int_eq(run(&d, 0.04, 0.04 * ratios[i])->verdict, TXD_VERDICT_PASS);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(positions_or_tokens_that_drown_the_other_fail)
{
    const double pairs[][2] = {{1, 0.09}, {1, 0}, {20, 1}, {1, 10.1}, {0.02, 1}};

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, pairs[i][0], pairs[i][1]);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_str_eq(r->findings[0].site, "embed.pos");
        driver_finish(&d);
    }
}
END_TEST

START_TEST(sizes_that_are_not_numbers_fail)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(run(&d, NAN, 1)->verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(run(&d, 0, 0)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(the_configured_factor_decides)
{
    driver d;

    driver_init(&d);
    ck_assert_int_eq(txd_cfg_parse(&d.root, d.arena, "test",
                                   "checks : { position_norm : { factor = 100; }; };"),
                     TXD_OK);
    ck_assert_int_eq(run(&d, 1, 0.02)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

START_TEST(large_sinusoids_beside_fresh_tokens_are_told_but_do_not_fail)
{
    driver d;

    driver_init(&d);
    d.config.positions = TXD_POSITIONS_SINUSOIDAL;
    ck_assert_int_eq(run(&d, 0.02, 0.7)->verdict, TXD_VERDICT_INFO);
    ck_assert_int_eq(run(&d, 70, 0.7)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

START_TEST(positions_that_are_not_added_are_skipped_with_the_reason)
{
    const txd_positions_kind kinds[] = {TXD_POSITIONS_ROTARY, TXD_POSITIONS_NONE};

    for (size_t i = 0; i < 2; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        d.config.positions = kinds[i];
        driver_start(&d, "position_norm");
        r = driver_result(&d);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
        ck_assert_ptr_nonnull(strstr(r->note, "no addend"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_bad_step_of_several_is_found)
{
    driver d;
    const txd_result *r;
    double *tok, *pos;

    driver_init(&d);
    driver_start(&d, "position_norm");
    for (d.pass.step = 0; d.pass.step < 3; d.pass.step++) {
        tok = driver_random(&d, TXD_POINT_EMBED_TOK, 1);
        pos = driver_random(&d, TXD_POINT_EMBED_POS, 2);
        for (size_t i = 0; i < driver_count(&d, TXD_POINT_EMBED_TOK); i++)
            tok[i] *= d.pass.step == 1 ? 100 : 1;
        driver_offer(&d, TXD_POINT_EMBED_TOK, -1, tok);
        driver_offer(&d, TXD_POINT_EMBED_POS, -1, pos);
    }
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->evaluated, 3);
    ck_assert_int_eq(r->findings[0].step, 1);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(sizes_of_the_same_order_pass, positions_or_tokens_that_drown_the_other_fail,
          sizes_that_are_not_numbers_fail, the_configured_factor_decides,
          large_sinusoids_beside_fresh_tokens_are_told_but_do_not_fail,
          positions_that_are_not_added_are_skipped_with_the_reason,
          one_bad_step_of_several_is_found)
