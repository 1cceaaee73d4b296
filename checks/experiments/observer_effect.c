/* SPDX-License-Identifier: MIT
 *
 * Looking at a pass changes nothing of it: the same output, loss and gradients, bit for
 * bit, whether nobody looks or every value is read. Where they differ, layers are
 * looked at one at a time, to tell at which of them looking matters.
 */
#include "checks/experiments/outcome.h"

#include <math.h>
#include <stdio.h>

/* Who looks, at what. */
enum { EVERYWHERE = -2, OUTSIDE = -1 };
typedef struct watcher {
    txd_tap tap;
    int layer; /* or EVERYWHERE, or OUTSIDE of layers */
} watcher;

static unsigned ask(void *self, const txd_site *site)
{
    const watcher *w = self;

    if (w->layer != EVERYWHERE && site->layer != w->layer)
        return 0;
    if (site->kind == TXD_SITE_VALUE &&
        txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS)
        return TXD_ASK_VALUE | TXD_ASK_ROWS | TXD_ASK_STATS | TXD_ASK_HIDDEN;
    return TXD_ASK_VALUE | TXD_ASK_STATS;
}

static txd_status see(void *self, const txd_block *block, const void *slot)
{
    (void)self;
    (void)block;
    (void)slot;
    return TXD_OK;
}

static txd_status watched(txd_outcome *out, const txd_experiment *e, int layer)
{
    watcher w = {
        .tap = {.name = "observer", .gradients = true, .ask = ask, .merge = see},
        .layer = layer};
    txd_tap *const taps[1] = {&w.tap};
    const txd_experiment_how how = {.taps = taps, .tap_count = 1};

    w.tap.self = &w;
    return txd_outcome_of(out, e, &how);
}

static txd_status report(const txd_experiment *e, txd_result *result, int layer,
                         const txd_outcome_change *change)
{
    const txd_site site = {.kind = TXD_SITE_VALUE,
                           .point =
                               layer >= 0 ? TXD_POINT_ATTN_WEIGHTS : TXD_POINT_LOGITS,
                           .layer = layer >= 0 ? layer : -1};
    txd_finding finding =
        txd_experiment_finding(e, &site, change->batch, -1, change->token);

    finding.measured = change->measured;
    txd_law_say_place(&finding, e->inputs.batch);
    if (layer >= 0)
        txd_law_say(&finding, "where somebody reads the values of layer %d alone",
                    layer);
    else if (layer == OUTSIDE)
        txd_law_say(&finding, "where somebody reads the values outside of the layers");
    else
        txd_law_say(&finding, "where somebody reads all values, but not where those of "
                              "any one layer are read");
    txd_law_say(&finding, ", the pass is another: %s", change->what);
    if (finding.measured > result->worst)
        result->worst = finding.measured;
    return txd_result_add(result, &finding);
}

/* Each layer alone; all together if none of them does it. */
static txd_status locate(const txd_experiment *e, txd_result *result,
                         const txd_outcome *plain, const txd_outcome_change *change)
{
    bool is_found = false;

    for (int layer = OUTSIDE; layer < (int)e->setup->claimed->n_layers; layer++) {
        txd_outcome_change here;
        txd_outcome seen;

        TXD_TRY(watched(&seen, e, layer));
        txd_outcome_compare(&here, plain, &seen, e->setup->params);
        if (!here.what[0])
            continue;
        is_found = true;
        TXD_TRY(report(e, result, layer, &here));
    }
    return is_found ? TXD_OK : report(e, result, EVERYWHERE, change);
}

static bool is_finite(const txd_tensor *output)
{
    size_t count = txd_tensor_count(output);

    for (size_t i = 0; i < count; i++)
        if (!isfinite(txd_tensor_get(output, i)))
            return false;
    return true;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    const txd_experiment_how unseen = {0};
    txd_outcome plain, seen;
    txd_outcome_change change;

    TXD_TRY(txd_outcome_of(&plain, e, &unseen));
    TXD_TRY(watched(&seen, e, EVERYWHERE));
    result->evaluated = plain.elements;
    txd_outcome_compare(&change, &plain, &seen, e->setup->params);
    if (!change.what[0] && !is_finite(&plain.output)) {
        result->verdict = TXD_VERDICT_OPEN;
        snprintf(result->note, sizeof result->note,
                 "values are not finite: see `finite`");
    }
    if (!change.what[0])
        return TXD_OK;
    return locate(e, result, &plain, &change);
}

const txd_check txd_check_observer_effect = {
    .name = "observer_effect",
    .law = "looking at a pass changes nothing of it",
    .formula = "what the head reads, the loss and the gradient of every parameter have "
               "the same bits whether no value of the pass is read or every one, with "
               "row statistics and hidden cells",
    .causes = "another path of attention for whoever wants its weights, with another "
              "mask or another order of sums; values that are overwritten while they "
              "are read; a probe that writes into what it reads",
    .look_next = "the layer named: the path that is taken where weights are returned",
    .unit = "values",
    .faults = (const char *const[]){"observed_differs", NULL},
    .examine = examine,
};
