/* SPDX-License-Identifier: MIT
 *
 * A recording names the origin that the run named, with the same operands and cause,
 * wherever it holds them.
 */
#include "poison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void expect_same(const txd_finding *a, const txd_finding *b)
{
    ck_assert_str_eq(a->site, b->site);
    ck_assert_int_eq(a->step, b->step);
    ck_assert_int_eq(a->batch, b->batch);
    ck_assert_int_eq(a->head, b->head);
    ck_assert_int_eq(a->query, b->query);
    ck_assert_int_eq(a->key, b->key);
    ck_assert_str_eq(a->message, b->message);
}

static void replay(int model, poison *p)
{
    const txd_check_select select = {.only = "finite"};
    const txd_result *results;
    txd_checks *checks;
    txd_trace *trace;
    size_t count;
    live l;

    poison_run(&l, p, model, "ref64", test_file("r.h5"));
    ck_assert_msg(txd_recording_open(&trace, l.record, NULL) == TXD_OK, "%s",
                  txd_message());
    ck_assert_msg(txd_checks_recording(&checks, trace, NULL, &select) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_checks_finish(&results, &count, checks), TXD_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(results->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(results->finding_count, 1);
    expect_same(poison_expect(&l, p), results->findings);
    txd_checks_destroy(checks);
    txd_trace_destroy(trace);
    live_finish(&l);
}

/* Files take time: the layers of one model, one layer of the others. */
static bool is_tried_again(int model, const poison *p)
{
    return p->layer < 0 ||
           p->layer == (model == POISON_CROSS ? 1 : POISON_LAYERS - 1) ||
           (model == POISON_LLAMA && p->layer == 0);
}

static void replay_forward(int model, poison *p)
{
    p->kind = TXD_SITE_VALUE;
    p->value = NAN;
    if (is_tried_again(model, p))
        replay(model, p);
}

static void replay_backward(int model, poison *p)
{
    p->kind = TXD_SITE_GRADIENT;
    p->value = INFINITY;
    if (is_tried_again(model, p))
        replay(model, p);
}

START_TEST(a_recording_names_what_the_run_named)
{
    poison_every(POISON_LLAMA, replay_forward);
    poison_every(POISON_POST, replay_forward);
}
END_TEST

START_TEST(a_recording_of_cross_attention_does_too)
{
    poison_every(POISON_CROSS, replay_forward);
}
END_TEST

START_TEST(a_recording_of_gradients_does_too)
{
    poison_every(POISON_LLAMA, replay_backward);
}
END_TEST

START_TEST(a_recording_of_gradients_with_norms_after_the_sums_does_too)
{
    poison_every(POISON_POST, replay_backward);
}
END_TEST

START_TEST(a_recording_of_gradients_of_cross_attention_does_too)
{
    poison_every(POISON_CROSS, replay_backward);
}
END_TEST

/* grad_norm counts what is not finite, and says no more of it. */
START_TEST(a_recording_of_counts_names_the_site_and_no_element)
{
    static const char rest[] =
        "input : { tokens = ( [3, 1, 4, 1, 5, 9] ); }; record : ( { probe = "
        "\"grad_norm\"; } ); precision : { backend = \"fp16\"; loss_scale = 1e6; };";
    const live_plant planted = {.record = test_file("r.h5")};
    const txd_check_select select = {.only = "finite"};
    const txd_result *results;
    txd_checks *checks;
    txd_trace *trace;
    char cfg[1024];
    size_t count;
    live l;

    snprintf(cfg, sizeof cfg, "%s %s", poison_models[POISON_LLAMA], rest);
    live_run_planted(&l, cfg, "finite", &planted);
    ck_assert_msg(txd_recording_open(&trace, l.record, NULL) == TXD_OK, "%s",
                  txd_message());
    ck_assert_msg(txd_checks_recording(&checks, trace, NULL, &select) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_checks_finish(&results, &count, checks), TXD_OK);
    ck_assert_int_eq(results->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(results->findings[0].site, "loss.token@grad");
    ck_assert_int_eq(results->findings[0].query, -1);
    ck_assert_ptr_null(strstr(results->findings[0].message, "the first is"));
    ck_assert_ptr_nonnull(strstr(results->findings[0].message, "precision.loss_scale"));
    ck_assert_ptr_nonnull(strstr(live_result(&l, "finite")->findings[0].message,
                                 "the first is Inf at token 0"));
    txd_checks_destroy(checks);
    txd_trace_destroy(trace);
    live_finish(&l);
}
END_TEST

/* That everything before it was finite is nothing that such a recording shows. */
START_TEST(what_a_recording_lacks_is_not_said_to_be_finite)
{
    static const char rest[] =
        "input : { tokens = ( [3, 1, 4, 1, 5, 9] ); }; faults : ( { name = "
        "\"nan_in_weights\"; layers = \"1\"; } ); record : ( { probe = \"full\"; "
        "points = "
        "\"layers.*.attn.weights\"; } );";
    const txd_check_select select = {.only = "finite"};
    const txd_result *results;
    const char *message;
    txd_checks *checks;
    txd_trace *trace;
    char cfg[1024];
    size_t count;
    live l;

    snprintf(cfg, sizeof cfg, "%s %s", poison_models[POISON_LLAMA], rest);
    live_record(&l, cfg, test_file("r.h5"));
    ck_assert_msg(txd_recording_open(&trace, l.record, NULL) == TXD_OK, "%s",
                  txd_message());
    ck_assert_msg(txd_checks_recording(&checks, trace, NULL, &select) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_checks_finish(&results, &count, checks), TXD_OK);
    ck_assert_str_eq(results->findings[0].site, "layers.1.attn.weights");
    message = results->findings[0].message;
    ck_assert_ptr_null(strstr(message, "everything before it"));
    ck_assert_ptr_nonnull(strstr(message, "it was made from attn.masked, not at hand"));
    txd_checks_destroy(checks);
    txd_trace_destroy(trace);
    live_finish(&l);
}
END_TEST

TEST_MAIN(a_recording_names_what_the_run_named, a_recording_of_cross_attention_does_too,
          a_recording_of_gradients_does_too,
          a_recording_of_gradients_with_norms_after_the_sums_does_too,
          a_recording_of_gradients_of_cross_attention_does_too,
          a_recording_of_counts_names_the_site_and_no_element,
          what_a_recording_lacks_is_not_said_to_be_finite)
