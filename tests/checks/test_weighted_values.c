/* SPDX-License-Identifier: MIT
 *
 * The law weighted_values on hand-made weights and values, and on real passes.
 */
#include "planting.h"

#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* How the heads of one layer come about. */
typedef struct plant {
    int layer;
    size_t (*group)(size_t head); /* which KV head; NULL = its own */
    size_t each;                  /* key j has the values of row j / each; 0 = 1 */
    bool is_keys;
    double factor; /* 0 = 1 */
} plant;

static size_t own(size_t head)
{
    return head / 2; /* 4 heads, 2 KV heads */
}

static size_t tiled(size_t head)
{
    return head % 2;
}

static size_t first(size_t head)
{
    (void)head;
    return 0;
}

/* The weighted sums of one layer: (b, h, q, f). */
static double *mixed(driver *d, const plant *p, const double *weights,
                     const double *from)
{
    double *out =
        txd_arena_alloc(d->arena, driver_count(d, TXD_POINT_ATTN_HEADS), sizeof *out);
    size_t n = d->inputs.length, rows = d->inputs.batch * HEADS * n;

    for (size_t i = 0; i < rows; i++) {
        size_t b = i / (HEADS * n), h = i / n % HEADS;
        size_t group = (p->group ? p->group : own)(h);

        for (size_t k = 0; k < n; k++)
            for (size_t f = 0; f < WIDTH; f++)
                out[i * WIDTH + f] +=
                    weights[i * n + k] * (p->factor == 0 ? 1 : p->factor) *
                    from[((b * HEADS / 2 + group) * n + k / (p->each ? p->each : 1)) *
                             WIDTH +
                         f];
    }
    return out;
}

static const plant healthy = {.layer = -1};

/* `touch` changes the heads of layer p->layer, or nothing. */
static const txd_result *run(driver *d, const plant *p, void (*touch)(double *heads))
{
    driver_start(d, "weighted_values");
    for (int l = 0; l < LAYERS; l++) {
        double *weights = driver_weights(d, l);
        double *k = driver_random(d, TXD_POINT_ATTN_K, 40 + (uint64_t)l);
        double *v = driver_random(d, TXD_POINT_ATTN_V, 80 + (uint64_t)l);
        const plant *now = l == p->layer ? p : &healthy;
        double *heads = mixed(d, now, weights, now->is_keys ? k : v);

        if (touch && l == p->layer)
            touch(heads);
        driver_offer(d, TXD_POINT_ATTN_K, l, k);
        driver_offer(d, TXD_POINT_ATTN_V, l, v);
        driver_offer(d, TXD_POINT_ATTN_WEIGHTS, l, weights);
        driver_offer(d, TXD_POINT_ATTN_HEADS, l, heads);
    }
    return driver_result(d);
}

START_TEST(sums_of_the_own_kv_head_pass_and_are_all_judged)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &healthy, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, LAYERS * HEADS * LENGTH * WIDTH);
    driver_finish(&d);
}
END_TEST

START_TEST(what_is_read_instead_is_named_in_every_layer)
{
    const struct {
        plant p;
        const char *words;
    } cases[] = {
        {{.group = tiled}, "tiled over the query heads"},
        {{.group = first}, "it reads the values of KV head 0"},
        {{.each = 2}, "repeated along the tokens"},
        {{.is_keys = true}, "the weights times the keys"},
        {{.factor = 1.25}, "all are 1.25 times what they should be"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layer = 0; layer < LAYERS; layer++) {
            plant p = cases[i].p;
            driver d;
            const txd_result *r;
            char site[64];

            p.layer = layer;
            driver_init(&d);
            r = run(&d, &p, NULL);
            txd_point_name(site, sizeof site, TXD_POINT_ATTN_HEADS, layer);
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_str_eq(r->findings[0].site, site);
            ck_assert_msg(strstr(r->findings[0].message, cases[i].words) != NULL, "%s",
                          r->findings[0].message);
            driver_finish(&d);
        }
}
END_TEST

enum { TOUCHED = (2 * LENGTH + 5) * WIDTH + 3 }; /* head 2, query 5, lane 3 */

static double moved_by; /* of the element, in units of what one rounding is */

static void move(double *heads)
{
    heads[TOUCHED] += moved_by * 0x1p-53;
}

/* Six keys of weights that sum to 1 and values below 1: S <= 1, |y| <= 1, and the law
 * allows at most (2 x 6 + 1) 2^-53 and little more. */
START_TEST(roundings_are_allowed_and_no_more)
{
    const plant p = {.layer = 1};
    driver d;
    const txd_result *r;

    moved_by = 1;
    driver_init(&d);
    ck_assert_int_eq(run(&d, &p, move)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
    moved_by = 14;
    driver_init(&d);
    r = run(&d, &p, move);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_int_eq(r->findings[0].head, 2);
    ck_assert_int_eq(r->findings[0].query, 5);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "lane 3 is"));
    driver_finish(&d);
}
END_TEST

static void set_nan(double *heads)
{
    heads[TOUCHED] = NAN;
}

START_TEST(a_nan_of_finite_weights_and_values_fails)
{
    const plant p = {.layer = 2};
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &p, set_nan);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(isnan(r->findings[0].measured));
    driver_finish(&d);
}
END_TEST

START_TEST(values_that_are_nan_leave_it_open)
{
    driver d;
    const txd_result *r;
    double *weights, *v, *k;

    driver_init(&d);
    driver_start(&d, "weighted_values");
    weights = driver_weights(&d, 0);
    k = driver_random(&d, TXD_POINT_ATTN_K, 1);
    v = driver_random(&d, TXD_POINT_ATTN_V, 2);
    v[0] = NAN;
    driver_offer(&d, TXD_POINT_ATTN_K, 0, k);
    driver_offer(&d, TXD_POINT_ATTN_V, 0, v);
    driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
    driver_offer(&d, TXD_POINT_ATTN_HEADS, 0, mixed(&d, &healthy, weights, v));
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    ck_assert_ptr_nonnull(strstr(r->note, "not finite"));
    driver_finish(&d);
}
END_TEST

START_TEST(padded_queries_are_not_judged)
{
    const int lengths[1] = {5};
    const plant p = {.layer = 1};
    driver d;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    ck_assert_int_eq(run(&d, &p, set_nan)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

/* A hidden key's values never count, whatever they are. */
START_TEST(values_without_weight_do_not_matter)
{
    driver d;
    double *weights, *v;

    driver_init(&d);
    driver_start(&d, "weighted_values");
    weights = driver_weights(&d, 0);
    v = driver_random(&d, TXD_POINT_ATTN_V, 2);
    for (size_t q = 0; q < LENGTH; q++) /* nobody looks at key 4 */
        for (size_t h = 0; h < HEADS; h++)
            weights[driver_at(&d, 0, h, q, 4)] = 0;
    driver_offer(&d, TXD_POINT_ATTN_V, 0, v);
    driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, 0, weights);
    v[4 * WIDTH] = 0;
    {
        double *heads = mixed(&d, &healthy, weights, v);

        v[4 * WIDTH] = NAN;
        driver_offer(&d, TXD_POINT_ATTN_HEADS, 0, heads);
    }
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_PASS);
    driver_finish(&d);
}
END_TEST

static void expect(const trial *t, const char *law, const char *words, int head)
{
    live l;

    ck_assert(trial_run(&l, t, law));
    expect_trip(&l, t, law);
    ck_assert_msg(strstr(live_result(&l, law)->findings[0].message, words) != NULL,
                  "%s: %s", t->fault, live_result(&l, law)->findings[0].message);
    if (head >= 0)
        ck_assert_int_eq(live_result(&l, law)->findings[0].head, head);
    live_finish(&l);
}

/* Six heads, two KV heads: head 1 reads KV head 1, heads 0 and 5 are right. */
START_TEST(tiled_and_divided_kv_heads_are_told_apart)
{
    for (int layer = 0; layer < 5; layer += 2) {
        expect(&(trial){SUBJECT_SLOPES, "kv_heads_tiled", layer, NULL, NULL},
               "weighted_values", "tiled over the query heads", -1);
        expect(&(trial){SUBJECT_SLOPES, "kv_index_wrong", layer, NULL, NULL},
               "weighted_values", "head / n_kv_heads instead", -1);
        expect(&(trial){SUBJECT_GPT2, "kv_index_wrong", layer, "heads = \"3\";", NULL},
               "weighted_values", "head / n_kv_heads instead", 3);
    }
    expect(&(trial){SUBJECT_SLOPES, "kv_heads_tiled", 1, "heads = \"1\";", NULL},
           "weighted_values", "tiled over the query heads", 1);
    expect(&(trial){SUBJECT_SLOPES, "kv_heads_tiled", 1, "heads = \"1\";", NULL},
           "score_scale", "that of the keys of KV head 1, not 0", 1);
}
END_TEST

START_TEST(heads_that_read_their_own_kv_head_anyway_are_refused)
{
    static const char *const cases[][3] = {
        {"n_kv_heads = 2;", "kv_heads_tiled", "heads = \"0\";"},
        {"n_kv_heads = 2;", "kv_index_wrong", "heads = \"0\";"},
        {"n_kv_heads = 1;", "kv_heads_tiled", ""},
        {"n_kv_heads = 2;", "kv_index_wrong", ""}, /* 4 / 2 = 2 */
        {"", "kv_heads_tiled", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        live l;

        snprintf(text, sizeof text,
                 "model : { preset = \"mini\"; vocab = 97; d_model = 48; n_heads = 4; "
                 "n_layers = 2; d_ff = 96; max_seq_len = 8; %s }; input : { tokens = "
                 "([1, 5, 9]); }; "
                 "faults : ( { name = \"%s\"; %s } );",
                 cases[i][0], cases[i][1], cases[i][2]);
        live_run(&l, text, "weighted_values");
        ck_assert_ptr_nonnull(l.inapplicable);
        live_finish(&l);
    }
}
END_TEST

TEST_MAIN(sums_of_the_own_kv_head_pass_and_are_all_judged,
          what_is_read_instead_is_named_in_every_layer,
          roundings_are_allowed_and_no_more, a_nan_of_finite_weights_and_values_fails,
          values_that_are_nan_leave_it_open, padded_queries_are_not_judged,
          values_without_weight_do_not_matter,
          tiled_and_divided_kv_heads_are_told_apart,
          heads_that_read_their_own_kv_head_anyway_are_refused)
