/* SPDX-License-Identifier: MIT
 *
 * The law loss_token on hand-made logits and losses.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

enum { VOCAB = 11 };

/* Plainly, of one token. */
static double cross_entropy(const double *logits, int32_t target)
{
    double sum = 0;

    for (int i = 0; i < VOCAB; i++)
        sum += exp(logits[i]);
    return log(sum) - logits[target];
}

typedef struct plant {
    int ahead;       /* which token is predicted */
    double factor;   /* of every loss */
    double add;      /* to that of token 4 */
    bool pads_count; /* padding has a loss */
} plant;

static double *losses(driver *d, const plant *p, const double *logits)
{
    size_t n = d->inputs.length, cells = d->inputs.batch * n;
    double *loss = txd_arena_alloc(d->arena, cells, sizeof *loss);

    for (size_t i = 0; i < cells; i++) {
        size_t at = i + (size_t)p->ahead;
        bool is_last = i % n + (size_t)p->ahead >= n;

        loss[i] = NAN;
        if (is_last || (!p->pads_count && !(d->inputs.valid[i] && d->inputs.valid[at])))
            continue;
        loss[i] = p->factor * cross_entropy(logits + i * VOCAB, d->inputs.tokens[at]);
        if (i == 4)
            loss[i] += p->add;
    }
    return loss;
}

static const txd_result *run(driver *d, const plant *p)
{
    double *logits;

    for (size_t i = 0; i < d->inputs.batch * d->inputs.length; i++)
        d->inputs.tokens[i] = (int32_t)((i * 7 + i * i + 3) % VOCAB);
    driver_start(d, "loss_token");
    logits = driver_random(d, TXD_POINT_LOGITS, 5);
    driver_offer(d, TXD_POINT_LOGITS, -1, logits);
    driver_offer(d, TXD_POINT_LOSS_TOKEN, -1, losses(d, p, logits));
    return driver_result(d);
}

START_TEST(right_losses_pass_and_pairs_alone_are_judged)
{
    const int lengths[2] = {9, 4};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 2, lengths, false);
    r = run(&d, &(plant){1, 1, 0, false});
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, 8 + 3);
    ck_assert(r->allowed > 0 && r->allowed < 1e-13);
    driver_finish(&d);
}
END_TEST

START_TEST(that_a_model_sees_what_it_is_to_predict_is_said)
{
    for (int layer = -1; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        if (layer >= 0)
            d.config.layers[layer].causal = false;
        r = run(&d, &(plant){1, 1, 0, false});
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert(!strstr(r->note, "sees the token") == (layer < 0));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(one_wrong_loss_is_located)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &(plant){1, 1, 1e-9, false});
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_total, 1);
    ck_assert_str_eq(r->findings[0].site, "loss.token");
    ck_assert_int_eq(r->findings[0].query, 4);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "1 of 8 tokens"));
    ck_assert_ptr_null(strstr(r->findings[0].message, "label"));
    driver_finish(&d);
}
END_TEST

START_TEST(the_wrong_target_is_named)
{
    const struct {
        int ahead;
        const char *words;
    } cases[] = {{2, "labels are shifted twice"}, {0, "labels are not shifted"}};

    for (size_t i = 0; i < 2; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &(plant){cases[i].ahead, 1, 0, false});
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message, cases[i].words) != NULL, "%s",
                      r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_factor_of_all_losses_is_named)
{
    const struct {
        double factor;
        const char *words;
    } cases[] = {{8.0 / 9, "tokens without a target were counted"},
                 {1.0 / 8, "the number of pairs"},
                 {-1, "the wrong sign"},
                 {1 / log(2), "in bits"},
                 {3, "3 times what it should be"}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        driver d;
        const txd_result *r;

        driver_init(&d);
        r = run(&d, &(plant){1, cases[i].factor, 0, false});
        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_msg(strstr(r->findings[0].message, cases[i].words) != NULL, "%s",
                      r->findings[0].message);
        driver_finish(&d);
    }
}
END_TEST

START_TEST(a_loss_of_padding_fails)
{
    const int lengths[1] = {5};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    r = run(&d, &(plant){1, 1, 0, true});
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->evaluated, 4);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_int_eq(r->findings[0].query, 4);
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "padding"));
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "4 such tokens"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_loss_that_is_nan_beside_finite_logits_fails)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    r = run(&d, &(plant){1, 1, NAN, false});
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(isnan(r->worst));
    driver_finish(&d);
}
END_TEST

START_TEST(logits_that_are_not_finite_leave_nothing_to_judge)
{
    driver d;
    double *logits;
    const txd_result *r;

    driver_init(&d);
    driver_start(&d, "loss_token");
    logits = driver_random(&d, TXD_POINT_LOGITS, 5);
    for (size_t i = 0; i < driver_count(&d, TXD_POINT_LOGITS); i++)
        logits[i] = NAN;
    driver_offer(&d, TXD_POINT_LOGITS, -1, logits);
    driver_offer(&d, TXD_POINT_LOSS_TOKEN, -1,
                 losses(&d, &(plant){1, 1, 0, false}, logits));
    r = driver_result(&d);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
    driver_finish(&d);
}
END_TEST

START_TEST(one_token_alone_has_no_loss)
{
    const int lengths[1] = {1};
    driver d;
    const txd_result *r;

    driver_init(&d);
    driver_inputs(&d, 1, lengths, false);
    r = run(&d, &(plant){1, 1, 0, false});
    ck_assert_int_eq(r->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(r->note, "there is no loss"));
    driver_finish(&d);
}
END_TEST

TEST_MAIN(right_losses_pass_and_pairs_alone_are_judged,
          that_a_model_sees_what_it_is_to_predict_is_said, one_wrong_loss_is_located,
          the_wrong_target_is_named, a_factor_of_all_losses_is_named,
          a_loss_of_padding_fails, a_loss_that_is_nan_beside_finite_logits_fails,
          logits_that_are_not_finite_leave_nothing_to_judge,
          one_token_alone_has_no_loss)
