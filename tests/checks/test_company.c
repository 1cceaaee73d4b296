/* SPDX-License-Identifier: MIT
 *
 * The laws that make passes of their own, on real passes: what each names as the first
 * that moved and why, from both sides of what is allowed; NaN; interrupts.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "planting.h"

/* Those of this file. */
static const char *const laws =
    "future_perturbation,padding_invariance,packed_separate,batch_invariance,"
    "batch_permutation,repeatability,gradient_causality";

static void expect_words(const trial *t, const char *law, const char *site,
                         const char *words)
{
    const txd_finding *finding;
    live l;

    ck_assert(trial_run(&l, t, law));
    expect_trip(&l, t, law);
    finding = &live_result(&l, law)->findings[0];
    ck_assert_msg(strstr(finding->site, site) && strstr(finding->message, words),
                  "%s: %s: %s", t->fault, finding->site, finding->message);
    live_finish(&l);
}

START_TEST(findings_name_the_first_point_that_moved_and_why)
{
    const struct {
        trial t;
        const char *law, *site, *words;
    } cases[] = {
        {{SUBJECT_GPT2, "mask_missing", 2, NULL, NULL},
         "future_perturbation",
         "layers.2.attn.weights",
         "depends on later keys"},
        {{SUBJECT_GPT2, "block_means", 3, NULL, NULL},
         "future_perturbation",
         "layers.3.attn.v",
         "outside of the softmax"},
        {{SUBJECT_GPT2, "norm_axis_tokens", 1, NULL, NULL},
         "future_perturbation",
         "layers.1.norm1.out",
         "takes in other tokens"},
        {{SUBJECT_LLAMA, "padding_ignored", 2, NULL, NULL},
         "padding_invariance",
         "layers.2.attn.",
         "padding"},
        {{SUBJECT_LEFT, "positions_count_padding", ALL_LAYERS, NULL, NULL},
         "padding_invariance",
         "embed.pos",
         "positions count padding"},
        {{SUBJECT_PACKED, "documents_ignored", 1, NULL, NULL},
         "packed_separate",
         "layers.1.attn.heads",
         "keys of another document"},
        {{SUBJECT_LEFT, "positions_not_reset", ALL_LAYERS, NULL, NULL},
         "packed_separate",
         "embed.pos",
         "positions go on"},
        {{SUBJECT_MINI, "norm_over_batch", 4, NULL, NULL},
         "batch_invariance",
         "layers.4.norm1.out",
         "takes in other rows"},
        {{SUBJECT_LEFT, "positions_of_first_row", ALL_LAYERS, NULL, NULL},
         "batch_permutation",
         "embed.pos",
         "its place in the batch"},
        {{SUBJECT_LLAMA, "random_dropout", 3, NULL, NULL},
         "repeatability",
         "layers.3.attn.branch",
         "something is drawn"},
        {{SUBJECT_GPT2, "mask_off_by_one", 2, NULL, NULL},
         "gradient_causality",
         "layers.2.attn.",
         "its query gives weight"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_words(&cases[i].t, cases[i].law, cases[i].site, cases[i].words);
}
END_TEST

START_TEST(a_leak_past_the_softmax_is_seen_by_no_law_of_weights)
{
    const trial t = {SUBJECT_GPT2, "block_means", 1, NULL, NULL};
    live l;

    ck_assert(trial_run(&l, &t, "causality,row_sum,mask_fill,future_perturbation"));
    expect_trip(&l, &t, "future_perturbation");
    ck_assert_int_eq(live_result(&l, "causality")->verdict, TXD_VERDICT_PASS);
    ck_assert_int_eq(live_result(&l, "row_sum")->verdict, TXD_VERDICT_PASS);
    ck_assert_int_eq(live_result(&l, "mask_fill")->verdict, TXD_VERDICT_PASS);
    live_finish(&l);
}
END_TEST

/* Of a short text every place is tried. */
START_TEST(a_leak_of_one_query_of_one_head_is_found_wherever_it_is)
{
    const int queries[] = {0, 4, 9};

    for (int i = 0; i < 3; i++) {
        char rest[96];
        const trial t = {SUBJECT_LLAMA, "mask_off_by_one", 2, rest, NULL};
        const txd_finding *finding;
        live l;

        snprintf(rest, sizeof rest, "heads = \"3\"; batch = \"0\"; queries = \"%d\";",
                 queries[i]);
        ck_assert(trial_run(&l, &t, "future_perturbation"));
        expect_trip(&l, &t, "future_perturbation");
        finding = live_result(&l, "future_perturbation")->findings;
        ck_assert_int_eq(finding->batch, 0);
        ck_assert_int_eq(finding->head, 3);
        ck_assert_int_eq(finding->query, queries[i]);
        live_finish(&l);
    }
}
END_TEST

/* ---- the bound ---- */

#define DRAWN                                                                          \
    "model : { preset = \"gpt2\"; vocab = 97; d_model = 48; n_heads = 4; n_layers = "  \
    "3; d_ff = 96; max_seq_len = 64; }; "
#define TWO_ROWS "input : { tokens = ([1, 5, 9, 2, 7, 3, 11, 40], [4, 4, 8, 96]); };"

/* Multiplies what attention adds in layer 1, in passes of another length only. */
typedef struct push {
    double factor;
} push;

static unsigned push_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_OUT &&
                   site->layer == 1
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status push_edit(void *self, txd_block *block)
{
    const push *p = self;
    float *values = block->value.data;

    for (size_t i = 0; block->dims[1] > 8 && i < txd_tensor_count(&block->value); i++)
        values[i] = (float)(values[i] * p->factor);
    return TXD_OK;
}

static txd_finding pushed(double by, txd_verdict *verdict)
{
    push p = {1 + by};
    txd_tap tap = {.name = "push", .self = &p, .ask = push_ask, .edit = push_edit};
    txd_finding finding = {0};
    const txd_result *r;
    live l;

    live_edit(&l, DRAWN TWO_ROWS, "padding_invariance", &tap);
    r = live_result(&l, "padding_invariance");
    *verdict = r->verdict;
    if (r->finding_count > 0)
        finding = r->findings[0];
    live_finish(&l);
    return finding;
}

/* From where the bound itself stands, just inside and just outside. */
START_TEST(what_is_within_sixteen_times_the_noise_is_silent_and_beyond_it_found)
{
    txd_verdict verdict;
    txd_finding far = pushed(0.01, &verdict);
    double share;

    ck_assert_int_eq(verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(far.site, "layers.1.attn.out");
    share = 0.01 * far.allowed / far.measured;
    ck_assert_msg(share > 1e-7 && share < 1e-3, "%g", share);
    pushed(0.8 * share, &verdict);
    ck_assert_int_eq(verdict, TXD_VERDICT_PASS);
    far = pushed(1.3 * share, &verdict);
    ck_assert_int_eq(verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(far.site, "layers.1.attn.out");
}
END_TEST

/* ---- gradients ---- */

/* The way back alone gives each token what the one before it got. */
static unsigned slip_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_GRADIENT && site->point == TXD_POINT_RESID_MID &&
                   site->layer == 1
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status slip_edit(void *self, txd_block *block)
{
    size_t length = block->dims[1], width = block->dims[2];
    float *values = block->value.data;

    (void)self;
    for (size_t b = 0; b < block->dims[0]; b++)
        for (size_t t = length - 1; t > 0; t--)
            memcpy(values + (b * length + t) * width,
                   values + (b * length + t - 1) * width, width * sizeof *values);
    return TXD_OK;
}

START_TEST(a_way_back_that_slips_by_a_token_is_found_where_it_does)
{
    txd_tap tap = {
        .name = "slip", .gradients = true, .ask = slip_ask, .edit = slip_edit};
    const txd_result *r;
    live l;

    live_edit(&l, DRAWN TWO_ROWS, "gradient_causality,future_perturbation", &tap);
    r = live_result(&l, "gradient_causality");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "layers.1.resid.mid@grad");
    ck_assert(r->worst > r->allowed);
    ck_assert_int_eq(live_result(&l, "future_perturbation")->verdict, TXD_VERDICT_PASS);
    live_finish(&l);
}
END_TEST

/* Attention whose gradient is cut off, in every layer. */
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

START_TEST(attention_that_passes_nothing_back_is_found)
{
    txd_tap tap = {.name = "cut", .gradients = true, .ask = cut_ask, .edit = cut_edit};
    const txd_result *r;
    live l;

    live_edit(&l, DRAWN TWO_ROWS, "gradient_causality", &tap);
    r = live_result(&l, "gradient_causality");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert(strstr(r->findings[0].message, "attention passes nothing back"));
    ck_assert(r->findings[0].measured == 2 && r->worst > r->allowed); /* rows */
    live_finish(&l);
}
END_TEST

/* ---- what is not to be judged ---- */

START_TEST(nan_leaves_all_of_them_open)
{
    live l;

    live_run(&l, DRAWN TWO_ROWS "faults : ( { name = \"nan_in_weights\"; } );", laws);
    ck_assert_uint_eq(l.count, 7);
    for (size_t i = 0; i < l.count; i++)
        ck_assert_msg(l.results[i].verdict == TXD_VERDICT_OPEN, "%s: %s %s",
                      l.results[i].check, txd_verdict_name(l.results[i].verdict),
                      l.results[i].note);
    live_finish(&l);
}
END_TEST

START_TEST(a_row_alone_gets_company)
{
    live l;

    live_run(&l, DRAWN "input : { tokens = [1, 5, 9, 2, 7]; };", "batch_*");
    for (size_t i = 0; i < l.count; i++) {
        ck_assert_int_eq(l.results[i].verdict, TXD_VERDICT_PASS);
        ck_assert_uint_gt(l.results[i].evaluated, 0);
    }
    ck_assert_uint_eq(l.count, 2);
    live_finish(&l);
}
END_TEST

START_TEST(where_something_is_recorded_they_are_skipped_with_the_reason)
{
    live l;

    live_record(&l, DRAWN TWO_ROWS, test_file("r.h5"));
    ck_assert_int_eq(live_result(&l, "repeatability")->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(live_result(&l, "repeatability")->note,
                                 "makes passes of its own: `txdiag check MODEL.cfg`"));
    live_finish(&l);
}
END_TEST

/* ---- a run that is stopped ---- */

static int stop(void *self, int number, size_t done, size_t total)
{
    int *left = self;

    (void)number;
    (void)done;
    (void)total;
    return (*left)-- <= 0;
}

/* Laws that wait for their experiments, and what these are given. */
typedef struct waiting {
    live l;
    txd_run_options options;
    txd_checks *checks;
    txd_inputs inputs;
    txd_experiment_setup setup;
} waiting;

static void wait_for(waiting *w, const char *only)
{
    txd_check_select select = {.only = only};
    txd_check_context context = {.run = &w->options, .format = TXD_F32};

    *w = (waiting){0};
    live_run(&w->l, DRAWN TWO_ROWS, "row_sum");
    context.claimed = w->options.claimed = &w->l.claimed;
    OK(txd_input_source_step(&w->inputs, w->l.source, w->l.arena, 0));
    w->setup = (txd_experiment_setup){.claimed = &w->l.claimed,
                                      .actual = &w->l.claimed,
                                      .model = w->l.model,
                                      .params = w->l.params,
                                      .inputs = &w->inputs,
                                      .threads = 1};
    OK(txd_backend_find(&w->setup.backend, "cpu32"));
    OK(txd_checks_create(&w->checks, &context, w->l.root, &select, NULL, NULL));
    ck_assert_uint_eq(txd_checks_experiments(w->checks), 1);
}

static void stop_waiting(waiting *w)
{
    txd_checks_destroy(w->checks);
    live_finish(&w->l);
}

START_TEST(an_interrupt_stops_in_the_middle_of_a_pass)
{
    int left = 4;
    waiting w;

    wait_for(&w, "future_perturbation");
    w.setup.progress = stop;
    w.setup.progress_self = &left;
    ck_assert_int_eq(txd_checks_experiment(w.checks, &w.setup), TXD_ERR_INTERRUPTED);
    ck_assert_int_lt(left, 4);
    stop_waiting(&w);
}
END_TEST

START_TEST(a_pass_that_takes_more_memory_than_it_may_is_not_made)
{
    const double limits[] = {1e9, 1e4};

    for (int i = 0; i < 2; i++) {
        const txd_result *results;
        size_t count;
        waiting w;

        wait_for(&w, "gradient_causality");
        w.setup.memory = limits[i];
        OK(txd_checks_experiment(w.checks, &w.setup));
        OK(txd_checks_finish(&results, &count, w.checks));
        ck_assert_int_eq(results[0].verdict,
                         i == 0 ? TXD_VERDICT_PASS : TXD_VERDICT_SKIP);
        if (i == 1)
            ck_assert_ptr_nonnull(strstr(results[0].note, "GB of memory"));
        stop_waiting(&w);
    }
}
END_TEST

TEST_MAIN(findings_name_the_first_point_that_moved_and_why,
          a_leak_past_the_softmax_is_seen_by_no_law_of_weights,
          a_leak_of_one_query_of_one_head_is_found_wherever_it_is,
          what_is_within_sixteen_times_the_noise_is_silent_and_beyond_it_found,
          a_way_back_that_slips_by_a_token_is_found_where_it_does,
          attention_that_passes_nothing_back_is_found, nan_leaves_all_of_them_open,
          a_row_alone_gets_company,
          where_something_is_recorded_they_are_skipped_with_the_reason,
          an_interrupt_stops_in_the_middle_of_a_pass,
          a_pass_that_takes_more_memory_than_it_may_is_not_made)
