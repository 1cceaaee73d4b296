/* SPDX-License-Identifier: MIT
 *
 * The laws rotation_norm and rotation_angle on values that are turned by hand.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

/* How the driver's model turns, and how the values really did in layer 1. */
typedef struct plant {
    txd_pairing pairing; /* of the claim */
    size_t width;        /* of the claim */
    double slower;       /* linear scaling; 0 = none */
    double factor;       /* the claimed attention factor; 0 = 1 */
    bool other_pairing, is_crossed;
    double base; /* 0 = 10000 */
    double sign; /* 0 = 1 */
    int offset;
} plant;

static void claim(driver *d, const plant *p)
{
    d->config.positions = TXD_POSITIONS_ROTARY;
    for (int l = 0; l < LAYERS; l++) {
        txd_layer_config *layer = &d->config.layers[l];

        layer->rotary = l != 2; /* layer 2 does not turn */
        layer->rope_base = 10000;
        layer->rope_width = p->width;
        layer->rope_pairing = p->pairing;
        layer->rope_scaling = p->slower == 0 ? TXD_ROPE_PLAIN : TXD_ROPE_LINEAR;
        layer->rope_factor = p->slower == 0 ? 1 : p->slower;
        layer->rope_attention_factor = p->factor == 0 ? 1 : p->factor;
    }
}

static double angle_of(const plant *p, int position, size_t pair)
{
    double base = p->base == 0 ? 10000 : p->base, slower = p->slower;

    return (p->sign == 0 ? 1 : p->sign) * (position + p->offset) /
           pow(base, 2.0 * (double)pair / (double)p->width) /
           (slower == 0 ? 1 : slower);
}

static void turn_row(double *out, const double *in, const plant *p, int position)
{
    size_t pairs = p->width / 2;
    bool adjacent = (p->pairing == TXD_PAIRING_ADJACENT) != p->other_pairing;
    double factor = p->factor == 0 ? 1 : p->factor;

    memcpy(out, in, WIDTH * sizeof *out);
    for (size_t i = 0; i < pairs; i++) {
        size_t x = adjacent ? 2 * i : i, y = adjacent ? 2 * i + 1 : i + pairs;
        size_t px = !p->is_crossed ? i : adjacent ? x % pairs : x / 2;
        size_t py = !p->is_crossed ? i : adjacent ? y % pairs : y / 2;
        double ax = angle_of(p, position, px), ay = angle_of(p, position, py);

        out[x] = factor * (in[x] * cos(ax) - in[y] * sin(ax));
        out[y] = factor * (in[y] * cos(ay) + in[x] * sin(ay));
    }
}

/* (b, heads, t, WIDTH) */
static double *turned(driver *d, const plant *p, txd_point point, const double *in)
{
    size_t count = driver_count(d, point), n = d->inputs.length;
    size_t heads = point == TXD_POINT_ATTN_Q ? HEADS : HEADS / 2;
    double *out = txd_arena_alloc(d->arena, count, sizeof *out);

    for (size_t row = 0; row < count / WIDTH; row++)
        turn_row(out + row * WIDTH, in + row * WIDTH, p,
                 d->inputs.positions[row / (heads * n) * n + row % n]);
    return out;
}

static double moved_by; /* of an element of layer 1's keys */
static bool from_nan;
enum { MOVED = (LENGTH + 6) * WIDTH + 1 }; /* KV head 1, token 6, lane 1 */

static const txd_result *run(driver *d, const char *law, const plant *claimed,
                             const plant *p)
{
    claim(d, claimed);
    driver_start(d, law);
    for (int l = 0; l < LAYERS; l++) {
        double *q = driver_random(d, TXD_POINT_ATTN_Q_PROJ, 5 + (uint64_t)l);
        double *k = driver_random(d, TXD_POINT_ATTN_K_PROJ, 50 + (uint64_t)l);
        double *q_out = q, *k_out = k;

        if (l == 0 && from_nan)
            q[3] = NAN;
        if (l != 2) {
            q_out = turned(d, l == 1 ? p : claimed, TXD_POINT_ATTN_Q, q);
            k_out = turned(d, l == 1 ? p : claimed, TXD_POINT_ATTN_K, k);
        }
        if (l == 1)
            k_out[MOVED] += moved_by;
        driver_offer(d, TXD_POINT_ATTN_Q_PROJ, l, q);
        driver_offer(d, TXD_POINT_ATTN_K_PROJ, l, k);
        driver_offer(d, TXD_POINT_ATTN_Q, l, q_out);
        driver_offer(d, TXD_POINT_ATTN_K, l, k_out);
    }
    return driver_result(d);
}

static const char *const laws[] = {"rotation_norm", "rotation_angle"};

static const plant healthy = {.pairing = TXD_PAIRING_HALF, .width = WIDTH};

START_TEST(turns_as_claimed_pass_with_either_pairing_a_part_of_the_lanes_and_scaled)
{
    const plant claims[] = {
        {.pairing = TXD_PAIRING_HALF, .width = WIDTH},
        {.pairing = TXD_PAIRING_ADJACENT, .width = WIDTH},
        {.pairing = TXD_PAIRING_HALF, .width = 4},
        {.pairing = TXD_PAIRING_ADJACENT, .width = 6},
        {.pairing = TXD_PAIRING_HALF, .width = WIDTH, .slower = 4},
        {.pairing = TXD_PAIRING_HALF, .width = WIDTH, .slower = 2, .factor = 1.25},
    };

    for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
        for (size_t law = 0; law < 2; law++) {
            size_t rows = LENGTH * (HEADS + HEADS / 2);
            driver d;
            const txd_result *r;

            driver_init(&d);
            r = run(&d, laws[law], &claims[i], &claims[i]);
            ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%zu: %s: %s", i, laws[law],
                          r->finding_count > 0 ? r->findings[0].message : r->note);
            ck_assert_uint_eq(r->evaluated, law == 0 ? 2 * rows * claims[i].width / 2
                                                     : 3 * rows * WIDTH);
            driver_finish(&d);
        }
}
END_TEST

/* Row by row: what was done instead of the claim, and what the laws say of it. */
START_TEST(what_turns_otherwise_is_named)
{
    const struct {
        plant claimed, p;
        const char *norm, *angle; /* NULL = nothing */
    } cases[] = {
        {{.width = 8}, {.width = 8, .other_pairing = true}, "other lanes", "\"half\""},
        {{TXD_PAIRING_ADJACENT, .width = 8},
         {TXD_PAIRING_ADJACENT, .width = 8, .other_pairing = true},
         "other lanes",
         "the claim has \"adjacent\""},
        {{.width = 8}, {.width = 8, .is_crossed = true}, "no rotation", "laid out for"},
        {{TXD_PAIRING_ADJACENT, .width = 8},
         {TXD_PAIRING_ADJACENT, .width = 8, .is_crossed = true},
         "no rotation",
         "laid out for"},
        {{.width = 8}, {.width = 8, .base = 500000}, NULL, "the base is 5e+05"},
        {{.width = 8}, {.width = 8, .base = 12300}, NULL, "the base is 1.23e+04"},
        {{.width = 8}, {.width = 8, .sign = -1}, NULL, "the wrong sign"},
        {{.width = 8}, {.width = 8, .sign = 1e-300}, NULL, "nothing turns"},
        {{.width = 8}, {.width = 8, .offset = 7}, NULL, "positions are 7 too large"},
        {{.width = 8}, {.width = 8, .offset = -2}, NULL, "positions are 2 too small"},
        {{.width = 4}, {.width = 8}, "other lanes", "all lanes of the head turn"},
        {{.width = 8, .slower = 4}, {.width = 8}, NULL, "rope_scaling) is left out"},
        {{.width = 8, .slower = 4, .factor = 1.5},
         {.width = 8, .slower = 4},
         "0.667 times",
         "attention factor is left out"},
        {{.width = 8}, {.width = 8, .base = 1e-4}, NULL, "reciprocals"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t law = 0; law < 2; law++) {
            const char *expected = law == 0 ? cases[i].norm : cases[i].angle;
            driver d;
            const txd_result *r;

            driver_init(&d);
            r = run(&d, laws[law], &cases[i].claimed, &cases[i].p);
            ck_assert_msg((r->verdict == TXD_VERDICT_FAIL) == (expected != NULL),
                          "%zu: %s says %s", i, laws[law],
                          txd_verdict_name(r->verdict));
            if (expected) {
                ck_assert_uint_eq(r->finding_count, 2);
                ck_assert_str_eq(r->findings[0].site, "layers.1.attn.q");
                ck_assert_str_eq(r->findings[1].site, "layers.1.attn.k");
                ck_assert_msg(strstr(r->findings[0].message, expected) != NULL, "%s",
                              r->findings[0].message);
            }
            driver_finish(&d);
        }
}
END_TEST

/* A branch for one token that turns the first head alone, or the keys alone paired the
 * other way, as an export with the wrong number of heads leaves them. */
START_TEST(heads_and_keys_that_turn_otherwise_alone_are_told)
{
    const plant other = {.width = WIDTH, .other_pairing = true};
    driver d;
    const txd_result *r;
    double *q, *k, *out;

    driver_init(&d);
    claim(&d, &healthy);
    driver_start(&d, "rotation_angle");
    q = driver_random(&d, TXD_POINT_ATTN_Q_PROJ, 1);
    k = driver_random(&d, TXD_POINT_ATTN_K_PROJ, 2);
    out = turned(&d, &healthy, TXD_POINT_ATTN_Q, q);
    memcpy(out + LENGTH * WIDTH, q + LENGTH * WIDTH,
           sizeof *q * (HEADS - 1) * LENGTH * WIDTH);
    driver_offer(&d, TXD_POINT_ATTN_Q_PROJ, 0, q);
    driver_offer(&d, TXD_POINT_ATTN_Q, 0, out);
    driver_offer(&d, TXD_POINT_ATTN_K_PROJ, 0, k);
    driver_offer(&d, TXD_POINT_ATTN_K, 0, turned(&d, &other, TXD_POINT_ATTN_K, k));
    r = driver_result(&d);
    ck_assert_uint_eq(r->finding_count, 2);
    ck_assert_str_eq(r->findings[0].site, "layers.0.attn.q");
    ck_assert_msg(strstr(r->findings[0].message, "(in 3 of 4 heads): nothing turns") !=
                      NULL,
                  "%s", r->findings[0].message);
    ck_assert_str_eq(r->findings[1].site, "layers.0.attn.k");
    ck_assert_ptr_nonnull(strstr(r->findings[1].message, "paired the other way"));
    driver_finish(&d);
}
END_TEST

/* Two layers turn; token 6 of the slow pair 1 (lanes 1 and 5) by 0.6. An angle in
 * float32 may be off by 8 2^-24 0.6 of |x1| + |x2| < 2; norms by 16 roundings of
 * float64 or so. */
START_TEST(an_angle_in_float32_is_allowed_and_one_in_bfloat16_is_not)
{
    const struct {
        double by;
        bool norm, angle;
    } cases[] = {{0x1p-52, true, true}, {1e-9, false, true}, {2e-3, false, false}};

    for (size_t i = 0; i < 3; i++)
        for (size_t law = 0; law < 2; law++) {
            driver d;
            const txd_result *r;

            driver_init(&d);
            moved_by = cases[i].by;
            r = run(&d, laws[law], &healthy, &healthy);
            moved_by = 0;
            ck_assert_msg((r->verdict == TXD_VERDICT_PASS) ==
                              (law == 0 ? cases[i].norm : cases[i].angle),
                          "%g: %s says %s", cases[i].by, laws[law],
                          txd_verdict_name(r->verdict));
            if (r->verdict == TXD_VERDICT_FAIL) {
                ck_assert_str_eq(r->findings[0].site, "layers.1.attn.k");
                ck_assert_int_eq(r->findings[0].head, 1);
                ck_assert_int_eq(r->findings[0].query, 6);
            }
            driver_finish(&d);
        }
}
END_TEST

START_TEST(lanes_that_do_not_turn_are_the_same_numbers)
{
    const plant part = {.width = 4};
    driver d;
    const txd_result *r;

    for (int l = 0; l < 2; l++) {
        driver_init(&d);
        claim(&d, &part);
        driver_start(&d, "rotation_angle");
        {
            double *q = driver_random(&d, TXD_POINT_ATTN_Q_PROJ, 1);
            double *out = l == 0 ? turned(&d, &part, TXD_POINT_ATTN_Q, q) : NULL;

            if (!out) { /* a layer without rotation */
                out = txd_arena_alloc(d.arena, driver_count(&d, TXD_POINT_ATTN_Q),
                                      sizeof *out);
                memcpy(out, q, driver_count(&d, TXD_POINT_ATTN_Q) * sizeof *out);
            }
            out[5 * WIDTH + 6] = nextafter(out[5 * WIDTH + 6], 2);
            driver_offer(&d, TXD_POINT_ATTN_Q_PROJ, 2 * l, q);
            driver_offer(&d, TXD_POINT_ATTN_Q, 2 * l, out);
        }
        r = driver_result(&d);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "token 5, lane 6 is"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(what_is_not_finite_before_it_turns_leaves_them_open)
{
    for (size_t law = 0; law < 2; law++) {
        driver d;

        driver_init(&d);
        from_nan = true;
        ck_assert_int_eq(run(&d, laws[law], &healthy, &healthy)->verdict,
                         TXD_VERDICT_OPEN);
        from_nan = false;
        driver_finish(&d);
        driver_init(&d);
        moved_by = NAN;
        ck_assert_int_eq(run(&d, laws[law], &healthy, &healthy)->verdict,
                         TXD_VERDICT_FAIL);
        moved_by = 0;
        driver_finish(&d);
    }
}
END_TEST

START_TEST(padded_tokens_are_not_judged)
{
    const int lengths[1] = {5}; /* token 6 is padding */

    for (size_t law = 0; law < 2; law++) {
        driver d;

        driver_init(&d);
        driver_inputs(&d, 1, lengths, false);
        moved_by = 1;
        ck_assert_int_eq(run(&d, laws[law], &healthy, &healthy)->verdict,
                         TXD_VERDICT_PASS);
        moved_by = 0;
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_model_without_rotary_positions_is_skipped)
{
    for (size_t law = 0; law < 2; law++) {
        driver d;

        driver_init(&d);
        driver_start(&d, laws[law]);
        ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_SKIP);
        driver_finish(&d);
    }
}
END_TEST

TEST_MAIN(turns_as_claimed_pass_with_either_pairing_a_part_of_the_lanes_and_scaled,
          what_turns_otherwise_is_named,
          heads_and_keys_that_turn_otherwise_alone_are_told,
          an_angle_in_float32_is_allowed_and_one_in_bfloat16_is_not,
          lanes_that_do_not_turn_are_the_same_numbers,
          what_is_not_finite_before_it_turns_leaves_them_open,
          padded_tokens_are_not_judged, a_model_without_rotary_positions_is_skipped)
