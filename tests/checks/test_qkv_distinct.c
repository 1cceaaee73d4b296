/* SPDX-License-Identifier: MIT
 *
 * The law qkv_distinct on hand-made matrices and values.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GROUPS = HEADS / 2, D = HEADS * WIDTH, Q, K, V, ROLES };

static const char *const names[ROLES] = {
    [Q] = "attn.q.weight", [K] = "attn.k.weight", [V] = "attn.v.weight"};
static const txd_point points[ROLES] = {
    [Q] = TXD_POINT_ATTN_Q_PROJ, [K] = TXD_POINT_ATTN_K_PROJ, [V] = TXD_POINT_ATTN_V};

/* `to` becomes factor * `from` + noise in KV head `group` of layer `layer`. */
typedef struct trial {
    int layer, from, to, group;
    double factor, noise;
    bool in_matrices, in_values; /* where it is done */
    bool matrices, values;       /* what is offered */
    bool fused, biases;
    double shift; /* added to every value of `to` */
} trial;

static size_t heads_of(int role)
{
    return role == Q ? HEADS : GROUPS;
}

/* Rows of head: (heads, WIDTH, columns) for matrices, (heads, LENGTH, WIDTH) for
 * values: `head` elements each. */
static void plant(driver *d, double *data[ROLES], const trial *t, size_t head)
{
    const double *noise = driver_numbers(d, head, 77);
    const double *from =
        data[t->from] + (size_t)t->group * head * (t->from == Q ? 2 : 1);
    double *to = data[t->to] + (size_t)t->group * head;

    for (size_t i = 0; i < head; i++)
        to[i] = t->factor * from[i] + t->noise * noise[i];
}

static void offer_matrices(driver *d, const trial *t, int layer)
{
    double *all =
        driver_numbers(d, (HEADS + 2 * GROUPS) * WIDTH * D, 100 + (uint64_t)layer);
    double *data[ROLES] = {
        [Q] = all, [K] = all + D * D, [V] = all + D * D + GROUPS * WIDTH * D};
    char name[64];

    if (t->in_matrices && layer == t->layer)
        plant(d, data, t, WIDTH * D);
    if (t->fused) {
        snprintf(name, sizeof name, "layers.%d.attn.qkv.weight", layer);
        driver_offer_parameter(d, name, layer, all, (HEADS + 2 * GROUPS) * WIDTH, D);
    }
    for (int role = Q; role < ROLES && !t->fused; role++) {
        snprintf(name, sizeof name, "layers.%d.%s", layer, names[role]);
        driver_offer_parameter(d, name, layer, data[role], heads_of(role) * WIDTH, D);
    }
}

static void offer_values(driver *d, const trial *t, int layer)
{
    double *data[ROLES];

    for (int role = Q; role < ROLES; role++)
        data[role] =
            driver_random(d, points[role], 10 * (uint64_t)role + (uint64_t)layer);
    if (t->in_values && layer == t->layer)
        plant(d, data, t, LENGTH * d->config.head_dim);
    for (size_t i = 0; t->shift != 0 && i < driver_count(d, points[t->to]); i++)
        data[t->to][i] += t->shift;
    for (int role = Q; role < ROLES; role++)
        driver_offer(d, points[role], layer, data[role]);
}

static const txd_result *judge(driver *d, const trial *t)
{
    driver_start(d, "qkv_distinct");
    for (int l = 0; l < LAYERS && t->matrices; l++)
        offer_matrices(d, t, l);
    for (int l = 0; l < LAYERS && t->values; l++)
        offer_values(d, t, l);
    return driver_result(d);
}

static const txd_result *run(driver *d, const trial *t)
{
    driver_init(d);
    d->config.qkv = t->fused ? TXD_QKV_FUSED : TXD_QKV_SEPARATE;
    d->config.qkv_bias = t->biases;
    return judge(d, t);
}

static void expect(const trial *t, txd_verdict verdict)
{
    driver d;
    const txd_result *r = run(&d, t);

    ck_assert_msg(r->verdict == verdict, "%s instead of %s, worst %g",
                  txd_verdict_name(r->verdict), txd_verdict_name(verdict), r->worst);
    ck_assert_uint_eq(r->finding_count, verdict == TXD_VERDICT_FAIL);
    driver_finish(&d);
}

START_TEST(random_matrices_and_values_are_distinct)
{
    for (int i = 0; i < 4; i++) {
        trial t = {.matrices = i != 1, .values = i != 2, .fused = i == 3};
        driver d;
        const txd_result *r = run(&d, &t);

        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * GROUPS * 3);
        ck_assert(r->worst < 0.5);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_shared_matrix_is_found_in_every_layer_head_and_pair)
{
    const struct {
        int from, to;
        const char *site, *words;
    } pairs[] = {{Q, K, "attn.k_proj", "its key matrix is the query matrix of head 2"},
                 {Q, V, "attn.v", "its value matrix is the query matrix of head 2"},
                 {K, V, "attn.v", "its value matrix is the key matrix of KV head 1"}};

    for (size_t i = 0; i < 3; i++)
        for (int layer = 0; layer < LAYERS; layer++)
            for (int way = 0; way < 3; way++) {
                trial t = {.layer = layer,
                           .from = pairs[i].from,
                           .to = pairs[i].to,
                           .group = 1,
                           .factor = 1,
                           .in_matrices = way < 2,
                           .in_values = way == 2,
                           .matrices = way<2, .values = way> 0,
                           .fused = way == 1};
                driver d;
                const txd_result *r = run(&d, &t);
                char site[64];

                snprintf(site, sizeof site, "layers.%d.%s", layer, pairs[i].site);
                ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
                ck_assert_uint_eq(r->finding_total, 1);
                ck_assert_str_eq(r->findings[0].site, site);
                ck_assert_int_eq(r->findings[0].head, 1);
                ck_assert_msg(strstr(r->findings[0].message, pairs[i].words) != NULL,
                              "%s", r->findings[0].message);
                ck_assert_ptr_nonnull(
                    strstr(r->findings[0].message, "1 of 6 pairs of this layer"));
                driver_finish(&d);
            }
}
END_TEST

START_TEST(a_scaled_copy_and_a_nearly_equal_one_are_shared_too)
{
    /* Uniform noise n times the matrix is at cosine 1 / sqrt(1 + n^2). */
    const double factors[] = {-0.5, 1, 1};
    const double noises[] = {0, 0.02, 0.1};
    const txd_verdict verdicts[] = {TXD_VERDICT_FAIL, TXD_VERDICT_FAIL,
                                    TXD_VERDICT_PASS};

    for (int i = 0; i < 3; i++) {
        trial t = {.layer = 1,
                   .from = Q,
                   .to = K,
                   .factor = factors[i],
                   .noise = noises[i],
                   .in_matrices = true,
                   .matrices = true};

        expect(&t, verdicts[i]);
    }
}
END_TEST

START_TEST(biases_do_not_hide_that_the_values_are_of_one_matrix)
{
    trial t = {.layer = 2,
               .from = Q,
               .to = K,
               .factor = 1,
               .in_values = true,
               .values = true,
               .biases = true,
               .shift = 3};

    expect(&t, TXD_VERDICT_FAIL);
    t.biases = false; /* without a bias a constant makes other values */
    expect(&t, TXD_VERDICT_PASS);
}
END_TEST

START_TEST(values_of_another_width_leave_queries_and_keys)
{
    trial t = {
        .layer = 0, .from = Q, .to = K, .factor = 1, .in_values = true, .values = true};
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.config.value_dim = WIDTH + 2;
    r = judge(&d, &t);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->evaluated, LAYERS * GROUPS);
    driver_finish(&d);
}
END_TEST

START_TEST(values_of_two_lanes_alone_tell_nothing)
{
    trial t = {
        .layer = 0, .from = Q, .to = K, .factor = 1, .in_values = true, .values = true};
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.config.head_dim = d.config.value_dim = 2;
    r = judge(&d, &t);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "without the parameters"));
    driver_finish(&d);
}
END_TEST

/* Two numbers of one sign have a cosine of 1. */
START_TEST(matrices_of_few_elements_are_one_only_if_they_are_equal)
{
    for (int are_equal = 0; are_equal < 2; are_equal++) {
        double q[HEADS] = {1, 2, 3, 4}, k[GROUPS] = {5, 6}, v[GROUPS] = {7, 8};
        const txd_result *r;
        driver d;

        k[1] = are_equal ? q[2] : k[1];
        driver_init(&d);
        d.config.head_dim = d.config.value_dim = d.config.d_model = 1;
        driver_start(&d, "qkv_distinct");
        driver_offer_parameter(&d, "layers.0.attn.q.weight", 0, q, HEADS, 1);
        driver_offer_parameter(&d, "layers.0.attn.k.weight", 0, k, GROUPS, 1);
        driver_offer_parameter(&d, "layers.0.attn.v.weight", 0, v, GROUPS, 1);
        r = driver_result(&d);
        ck_assert_int_eq(r->verdict, are_equal ? TXD_VERDICT_FAIL : TXD_VERDICT_SKIP);
        ck_assert_uint_eq(r->evaluated, are_equal);
        if (are_equal)
            ck_assert_int_eq(r->findings[0].head, 1);
        else
            ck_assert_ptr_nonnull(strstr(r->note, "tell nothing"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(what_is_not_finite_is_never_distinct)
{
    trial t = {.layer = 1,
               .from = Q,
               .to = K,
               .factor = NAN,
               .in_matrices = true,
               .matrices = true};

    expect(&t, TXD_VERDICT_OPEN);
    t.factor = INFINITY;
    expect(&t, TXD_VERDICT_OPEN);
    t.in_matrices = t.matrices = false;
    t.in_values = t.values = true;
    expect(&t, TXD_VERDICT_OPEN);
}
END_TEST

START_TEST(matrices_of_zeros_are_one)
{
    trial t = {.layer = 1, .matrices = true};
    driver d;
    double *zeros;

    driver_init(&d);
    driver_start(&d, "qkv_distinct");
    zeros = txd_arena_alloc(d.arena, D * D, sizeof *zeros);
    driver_offer_parameter(&d, "layers.0.attn.q.weight", 0, zeros, D, D);
    driver_offer_parameter(&d, "layers.0.attn.k.weight", 0, zeros, D / 2, D);
    driver_offer_parameter(&d, "layers.0.attn.v.weight", 0, zeros, D / 2, D);
    for (int l = 1; l < LAYERS; l++)
        offer_matrices(&d, &t, l);
    ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(driver_result(&d)->finding_total, 3 * GROUPS);
    driver_finish(&d);
}
END_TEST

START_TEST(the_threshold_is_a_key)
{
    trial t = {.layer = 1,
               .from = Q,
               .to = K,
               .factor = 1,
               .noise = 0.1,
               .in_matrices = true,
               .matrices = true};
    driver d;

    driver_init(&d);
    ck_assert_int_eq(txd_cfg_parse(&d.root, d.arena, "t.cfg",
                                   "checks : { qkv_distinct : { similar = 0.9; }; };"),
                     TXD_OK);
    ck_assert_int_eq(judge(&d, &t)->verdict, TXD_VERDICT_FAIL);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(random_matrices_and_values_are_distinct,
          a_shared_matrix_is_found_in_every_layer_head_and_pair,
          a_scaled_copy_and_a_nearly_equal_one_are_shared_too,
          biases_do_not_hide_that_the_values_are_of_one_matrix,
          values_of_another_width_leave_queries_and_keys,
          values_of_two_lanes_alone_tell_nothing,
          matrices_of_few_elements_are_one_only_if_they_are_equal,
          what_is_not_finite_is_never_distinct, matrices_of_zeros_are_one,
          the_threshold_is_a_key)
