/* SPDX-License-Identifier: MIT
 *
 * A plain pass, its variants, and the finding where they part.
 */
#include "checks/experiments/versus.h"

txd_status txd_versus_begin(txd_versus *v, const txd_inputs *inputs, bool has_noise)
{
    const txd_experiment_how how = {0};

    v->inputs = inputs;
    TXD_TRY(txd_capture_init(&v->plain, v->e, TXD_CAPTURE_ALL));
    TXD_TRY(
        txd_pairs_before(&v->pairs, &v->count, v->e->arena, inputs, inputs->length));
    TXD_TRY(txd_capture_pass(&v->plain, v->e, &how, inputs));
    return has_noise ? txd_noise_measure(&v->noise, v->e, &how, &v->plain, inputs)
                     : TXD_OK;
}

void txd_versus_finish(txd_versus *v)
{
    txd_capture_finish(&v->plain);
}

/* Where it was, in the experiment's inputs. */
static txd_status report(const txd_versus *v, const txd_difference *d, bool is_exact)
{
    const txd_inputs *all = &v->e->inputs;
    size_t at = v->pairs[d->pair].a, token;
    txd_finding finding;

    if (v->origin)
        at = v->origin[at];
    token = at % all->length;
    finding =
        txd_experiment_finding(v->e, &d->site->site, at / all->length, d->head, token);
    finding.measured = d->measured;
    finding.allowed = d->allowed;
    txd_law_say_place(&finding, all->batch);
    txd_law_say(&finding, "%s, token %zu moved, here first: ", v->how,
                token + v->e->first);
    txd_difference_say(&finding, d);
    txd_law_say(&finding, "; %s", v->cause(d->site->site.point, is_exact));
    return txd_result_add(v->result, &finding);
}

static txd_status judge(const txd_versus *v, const txd_capture_match *match)
{
    txd_difference d;

    TXD_TRY(txd_capture_compare(&d, match));
    txd_difference_count(v->result, &d);
    return d.is_found ? report(v, &d, match->allowed == NULL) : TXD_OK;
}

txd_status txd_versus_judge(const txd_versus *v, const txd_capture *variant,
                            bool is_exact)
{
    const txd_capture_match match = {.a = &v->plain,
                                     .b = variant,
                                     .pairs = v->pairs,
                                     .count = v->count,
                                     .allowed = is_exact ? NULL : txd_noise_allowed,
                                     .self = &v->noise};

    return judge(v, &match);
}

txd_status txd_versus_judge_both(const txd_versus *v, const txd_capture *one,
                                 const txd_capture *another)
{
    txd_capture_match match = {.a = one, .b = another, .count = v->count};
    txd_token_pair *pairs = txd_arena_alloc(v->e->arena, v->count, sizeof *pairs);

    if (!pairs)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < v->count; i++)
        pairs[i] = (txd_token_pair){v->pairs[i].b, v->pairs[i].b};
    match.pairs = pairs;
    return judge(v, &match);
}

txd_status txd_versus_try(const txd_versus *v, const txd_inputs *variant, bool is_exact)
{
    const txd_experiment_how how = {0};
    txd_capture capture;
    txd_status status = txd_capture_init(&capture, v->e, v->plain.what);

    if (status == TXD_OK)
        status = txd_capture_pass(&capture, v->e, &how, variant);
    if (status == TXD_OK)
        status = txd_versus_judge(v, &capture, is_exact);
    txd_capture_finish(&capture);
    return status;
}
