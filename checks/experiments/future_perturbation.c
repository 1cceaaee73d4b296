/* SPDX-License-Identifier: MIT
 *
 * Later tokens are replaced by others: nothing at or before those in front of them may
 * move, by a bit, at any point. That finds what leaks past the softmax, too: norms,
 * means and reshapes over tokens.
 */
#include "checks/experiments/capture.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "checks/experiments/derive.h"

static const char *inapplicable(const txd_check_context *context)
{
    if (context->claimed->vocab < 2)
        return "the vocabulary has one token: there is none to replace it by";
    if (txd_experiment_causal_layers(context->claimed) == 0)
        return "the claimed mask is not causal (mask.causal = false)";
    return NULL;
}

/* Two passes and what came of them. */
typedef struct trial {
    const txd_experiment *e;
    txd_result *result;
    txd_capture before; /* of the inputs as they are */
    txd_difference first;
    size_t cut, batch, token; /* of the first difference */
} trial;

/* Places at which the text is cut: all of a short one; of a large model's as many as
 * MOST_PRODUCTS allows, the first and the last among them. */
#define LEAST_CUTS 4
#define MOST_CUTS 16
#define MOST_PRODUCTS 2e9

static size_t count_cuts(const txd_experiment *e)
{
    double pass = txd_params_bytes(e->setup->claimed, TXD_U8) *
                  (double)(e->inputs.batch * e->inputs.length);
    double fits = MOST_PRODUCTS / pass;
    size_t count = fits < MOST_CUTS ? (size_t)fits : MOST_CUTS;

    count = count > LEAST_CUTS ? count : LEAST_CUTS;
    return count < e->inputs.length - 1 ? count : e->inputs.length - 1;
}

/* The first token of each row that is replaced in the i-th pass. */
static size_t cut_at(const txd_experiment *e, size_t i, size_t count)
{
    return count > 1 ? 1 + i * (e->inputs.length - 2) / (count - 1) : 1;
}

static txd_status replace(txd_inputs *out, const txd_experiment *e, size_t cut)
{
    TXD_TRY(txd_derive_part(out, e->arena, &e->inputs, 0, e->inputs.length));
    for (size_t i = 0; i < out->batch * out->length; i++)
        if (out->valid[i] && i % out->length >= cut)
            out->tokens[i] = txd_derive_other(e->setup->claimed, out->tokens[i]);
    return TXD_OK;
}

/* Sites are told apart by their place in the order of execution. */
static bool is_earlier(const trial *t, const txd_difference *d)
{
    if (!t->first.is_found || d->site < t->first.site)
        return true;
    return false;
}

static txd_status compare(trial *t, const txd_capture *after, size_t cut)
{
    const txd_config *claimed = t->e->setup->claimed;
    size_t causal = txd_experiment_causal_layers(claimed);
    txd_capture_match c = {.a = &t->before,
                           .b = after,
                           .layers = causal < claimed->n_layers ? (int)causal : 0};
    txd_token_pair *pairs;
    txd_difference d;

    TXD_TRY(txd_pairs_before(&pairs, &c.count, t->e->arena, &t->e->inputs, cut));
    c.pairs = pairs;
    TXD_TRY(txd_capture_compare(&d, &c));
    txd_difference_count(t->result, &d);
    if (d.is_found && is_earlier(t, &d)) {
        t->first = d;
        t->cut = cut;
        t->batch = pairs[d.pair].a / t->e->inputs.length;
        t->token = pairs[d.pair].a % t->e->inputs.length;
    }
    return TXD_OK;
}

static txd_status try_cut(trial *t, size_t cut)
{
    txd_experiment_how how = {0};
    txd_capture after;
    txd_inputs inputs;
    txd_status status;

    TXD_TRY(replace(&inputs, t->e, cut));
    status = txd_capture_init(&after, t->e, TXD_CAPTURE_ALL);
    if (status == TXD_OK)
        status = txd_capture_pass(&after, t->e, &how, &inputs);
    if (status == TXD_OK)
        status = compare(t, &after, cut);
    txd_capture_finish(&after);
    return status;
}

static const char *cause(txd_point point)
{
    const char *name = txd_point_get(point)->name;

    switch (txd_point_in_self(point)) {
    case TXD_POINT_ATTN_WEIGHTS:
        return "what the mask shows depends on later keys";
    case TXD_POINT_ATTN_HEADS:
        return "the weights are as they were: values are mixed over tokens outside of "
               "the softmax, or a hidden key has a weight that is always the same, as "
               "by a finite fill";
    case TXD_POINT_ATTN_MERGED:
        return "the heads are merged across tokens";
    case TXD_POINT_ATTN_Q_PROJ:
    case TXD_POINT_ATTN_K_PROJ:
    case TXD_POINT_ATTN_V:
        return "it is mixed over tokens outside of the softmax";
    default:
        break;
    }
    if (strncmp(name, "norm", 4) == 0 || strstr(name, "norm"))
        return "the norm takes in other tokens";
    return "what forms it takes in other tokens, and all that it reads had not moved";
}

static txd_status report(const trial *t)
{
    const txd_site *site = &t->first.site->site;
    txd_finding finding =
        txd_experiment_finding(t->e, site, t->batch, t->first.head, t->token);

    finding.measured = t->first.measured;
    txd_law_say_place(&finding, t->e->inputs.batch);
    txd_law_say(&finding,
                "after the tokens from %zu on were replaced, token %zu moved, here "
                "first: ",
                t->cut + t->e->first, t->token + t->e->first);
    txd_difference_say(&finding, &t->first);
    txd_law_say(&finding, "; %s", cause(site->point));
    return txd_result_add(t->result, &finding);
}

static txd_status run_trials(trial *t)
{
    const txd_experiment_how how = {0};
    size_t count = count_cuts(t->e);

    TXD_TRY(txd_capture_pass(&t->before, t->e, &how, &t->e->inputs));
    for (size_t i = 0; i < count; i++)
        TXD_TRY(try_cut(t, cut_at(t->e, i, count)));
    return t->first.is_found ? report(t) : TXD_OK;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    trial t = {.e = e, .result = result};
    txd_status status;

    if (e->inputs.length < 2) {
        snprintf(result->note, sizeof result->note,
                 "no token of this input has a later one");
        return TXD_OK;
    }
    status = txd_capture_init(&t.before, e, TXD_CAPTURE_ALL);
    if (status == TXD_OK)
        status = run_trials(&t);
    txd_capture_finish(&t.before);
    return status;
}

const txd_check txd_check_future_perturbation = {
    .name = "future_perturbation",
    .law = "replacing later tokens moves nothing at an earlier one, at any point",
    .formula = "x_s(t) has the same bits for every t < c, at every point s from the "
               "embeddings to the logits, whatever the tokens from c on are; several c",
    .causes =
        "a mask that shows later keys; a norm, a mean or a reshape that goes over "
        "the tokens, outside of the softmax, where no law of weights sees it",
    .look_next = "the point named and what it reads, of that token, with both texts",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"mask_missing", "mask_off_by_one",
                                    "norm_axis_tokens", "block_means", NULL},
    .inapplicable = inapplicable,
    .examine = examine,
};
