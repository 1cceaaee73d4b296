/* SPDX-License-Identifier: MIT
 *
 * The same bits on one thread, on two and on three: every value of the pass, and, where
 * it has a backward half, every gradient.
 */
#include "checks/experiments/capture.h"
#include "checks/experiments/outcome.h"

#include <stdio.h>

/* Passes on one thread, and what came of the others. */
typedef struct trial {
    const txd_experiment *e;
    txd_result *result;
    txd_capture one;
    txd_outcome one_comes_to;
    bool is_found;
} trial;

static txd_status report(const trial *t, const txd_difference *d,
                         const txd_token_pair *pairs, int threads)
{
    size_t place = pairs[d->pair].a, length = t->e->inputs.length;
    txd_finding finding = txd_experiment_finding(t->e, &d->site->site, place / length,
                                                 d->head, place % length);

    finding.measured = d->measured;
    txd_law_say_place(&finding, t->e->inputs.batch);
    txd_law_say(&finding,
                "on %d threads token %zu is another than on one, here first: ", threads,
                place % length + t->e->first);
    txd_difference_say(&finding, d);
    return txd_result_add(t->result, &finding);
}

static txd_status report_outcome(const trial *t, const txd_outcome_change *change,
                                 int threads)
{
    const txd_site site = {
        .kind = TXD_SITE_VALUE, .point = TXD_POINT_LOGITS, .layer = -1};
    txd_finding finding =
        txd_experiment_finding(t->e, &site, change->batch, -1, change->token);

    finding.measured = change->measured;
    txd_law_say_place(&finding, t->e->inputs.batch);
    txd_law_say(&finding,
                "on %d threads and on one, every value that was kept is the "
                "same, but not %s",
                threads, change->what);
    if (finding.measured > t->result->worst)
        t->result->worst = finding.measured;
    return txd_result_add(t->result, &finding);
}

static txd_status compare(trial *t, const txd_capture *many, int threads)
{
    txd_capture_match c = {.a = &t->one, .b = many};
    txd_token_pair *pairs;
    txd_difference d;

    TXD_TRY(txd_pairs_before(&pairs, &c.count, t->e->arena, &t->e->inputs,
                             t->e->inputs.length));
    c.pairs = pairs;
    TXD_TRY(txd_capture_compare(&d, &c));
    txd_difference_count(t->result, &d);
    t->is_found = d.is_found;
    return d.is_found ? report(t, &d, pairs, threads) : TXD_OK;
}

/* Where all values are the same, what the pass comes to without being looked at. */
static txd_status compare_outcome(trial *t, const txd_experiment_how *how)
{
    txd_outcome many;
    txd_outcome_change change;

    TXD_TRY(txd_outcome_of(&many, t->e, how));
    t->result->evaluated += many.elements;
    txd_outcome_compare(&change, &t->one_comes_to, &many, t->e->setup->params);
    t->is_found = change.what[0] != '\0';
    return t->is_found ? report_outcome(t, &change, how->threads) : TXD_OK;
}

static txd_status try_threads(trial *t, int threads)
{
    const txd_experiment_how how = {.threads = threads};
    txd_capture many;
    txd_status status = txd_capture_init(&many, t->e, TXD_CAPTURE_ALL);

    if (status == TXD_OK)
        status = txd_capture_pass(&many, t->e, &how, &t->e->inputs);
    if (status == TXD_OK)
        status = compare(t, &many, threads);
    txd_capture_finish(&many);
    if (status == TXD_OK && !t->is_found)
        status = compare_outcome(t, &how);
    return status;
}

static txd_status run_trials(trial *t)
{
    const txd_experiment_how how = {.threads = 1};

    TXD_TRY(txd_capture_pass(&t->one, t->e, &how, &t->e->inputs));
    TXD_TRY(txd_outcome_of(&t->one_comes_to, t->e, &how));
    for (int threads = 2; threads <= 3 && !t->is_found; threads++)
        TXD_TRY(try_threads(t, threads));
    return TXD_OK;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    trial t = {.e = e, .result = result};
    txd_status status = txd_capture_init(&t.one, e, TXD_CAPTURE_ALL);

    if (status == TXD_OK)
        status = run_trials(&t);
    txd_capture_finish(&t.one);
    return status;
}

const txd_check txd_check_thread_independence = {
    .name = "thread_independence",
    .law = "one thread, two and three give the same bits",
    .formula = "every value of the pass, the loss and the gradient of every parameter "
               "have the same bits on 1, 2 and 3 threads",
    .causes = "a sum that is divided among threads, in whatever parts and order they "
              "come; a race between them; a product that changes its blocks with the "
              "number of threads",
    .look_next = "the operation that forms the point named: what it divides, and in "
                 "which order it adds up",
    .unit = "rows",
    .faults = (const char *const[]){"thread_dependent", NULL},
    .examine = examine,
};
