/* SPDX-License-Identifier: MIT
 *
 * Every value and every parameter is finite. What matters of a NaN is where it is made,
 * not the thousands of places that it reaches: the origin is the first site in order of
 * execution, and what stands before it says why.
 */
#include "checks/finite.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PARAMETERS_KEPT 32

/* The first row that sees no key although the claimed mask shows some. */
typedef struct empty_row {
    bool is_set;
    int layer;
    txd_law_place at;
    double seen; /* keys that the claimed mask shows it */
} empty_row;

typedef struct state {
    txd_nonfinite origin;
    txd_nonfinite parameters[PARAMETERS_KEPT];
    size_t parameter_count; /* not finite, kept or not */
    char last[96];          /* the farthest site in the step of the origin */
    size_t last_index;
    uint64_t sites, bad_sites, values;
    double worst;
    empty_row empty;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    unsigned bits = TXD_ASK_STATS;

    (void)self;
    if (site->kind == TXD_SITE_PARAMETER)
        return TXD_ASK_STATS;
    if (txd_point_get(site->point)->place == TXD_PLACE_INPUT)
        return 0;
    if (site->point == TXD_POINT_ATTN_WEIGHTS)
        bits |= TXD_ASK_ROWS;
    return bits;
}

static void note_parameter(state *s, const txd_nonfinite *site)
{
    if (s->parameter_count < PARAMETERS_KEPT)
        s->parameters[s->parameter_count] = *site;
    s->parameter_count++;
}

/* Sites end in order of execution, so the first to be seen is the origin. */
static void note_value(state *s, const txd_nonfinite *site)
{
    if (!s->origin.name[0])
        s->origin = *site;
    if (site->step == s->origin.step && (!s->last[0] || site->index >= s->last_index)) {
        s->last_index = site->index;
        snprintf(s->last, sizeof s->last, "%s", site->name);
    }
}

static void end_site(state *s, const txd_nonfinite *site)
{
    s->sites++;
    if (site->of >= 0 && site->of < 0x1p53)
        s->values += (uint64_t)site->of;
    if (site->count == 0)
        return;
    s->bad_sites++;
    if (site->count > s->worst)
        s->worst = site->count;
    if (site->kind == TXD_SITE_PARAMETER)
        note_parameter(s, site);
    else
        note_value(s, site);
}

static void look_for_empty_rows(state *s, const txd_block *block)
{
    txd_law_row row;

    for (size_t i = 0; i < txd_law_rows(block) && !s->empty.is_set; i++)
        if (txd_law_row_get(&row, block, i) && row.column[TXD_ROW_MAX] == -INFINITY &&
            row.column[TXD_ROW_SEEN] > 0)
            s->empty = (empty_row){true,
                                   block->site->layer,
                                   {block->site->step, (int64_t)row.batch,
                                    (int64_t)row.head, (int64_t)row.query, -1},
                                   row.column[TXD_ROW_SEEN]};
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    txd_nonfinite site;

    (void)slot;
    if (block->rows && block->site->point == TXD_POINT_ATTN_WEIGHTS)
        look_for_empty_rows(s, block);
    if (block->stats) {
        txd_nonfinite_read(&site, block);
        end_site(s, &site);
    }
    return TXD_OK;
}

static txd_finding finding_at(const txd_nonfinite *site)
{
    txd_law_place place = txd_nonfinite_place(site);
    txd_finding finding = txd_law_finding(TXD_POINT_LOGITS, site->layer, &place);
    char value[32], where[96];

    snprintf(finding.site, sizeof finding.site, "%s", site->name);
    finding.measured = site->count;
    finding.allowed = 0;
    txd_nonfinite_where(where, sizeof where, site);
    txd_law_say(&finding, "%.0f of %.0f values are not finite; the first is %s at %s",
                site->count, site->of, txd_law_number(value, site->value), where);
    return finding;
}

/* The parameter that explains a value: of the same layer if there is one. */
static const txd_nonfinite *guilty_parameter(const state *s)
{
    size_t kept =
        s->parameter_count < PARAMETERS_KEPT ? s->parameter_count : PARAMETERS_KEPT;

    for (size_t i = 0; i < kept; i++)
        if (s->parameters[i].layer == s->origin.layer)
            return &s->parameters[i];
    return kept > 0 ? &s->parameters[0] : NULL;
}

/* True if the first value that is not finite lies in the first row that sees no key. */
static bool is_in_empty_row(const state *s)
{
    txd_law_place at = txd_nonfinite_place(&s->origin);

    return s->empty.is_set && s->empty.layer == s->origin.layer &&
           s->empty.at.step == at.step && s->empty.at.batch == at.batch &&
           s->empty.at.head == at.head && s->empty.at.query == at.query;
}

static bool is_attention_after_mask(txd_point point)
{
    return point == TXD_POINT_ATTN_MASKED || point == TXD_POINT_ATTN_WEIGHTS ||
           point == TXD_POINT_ATTN_HEADS;
}

static void say_cause(txd_finding *finding, const state *s)
{
    const txd_nonfinite *origin = &s->origin, *parameter = guilty_parameter(s);
    bool is_empty = is_in_empty_row(s);
    char value[32];

    if (parameter)
        txd_law_say(finding, ". Cause: the parameter %s holds %s", parameter->name,
                    txd_law_number(value, parameter->value));
    else if (is_empty && is_attention_after_mask(origin->point))
        txd_law_say(finding,
                    ". Cause: a fully masked row: this query may see %.0f keys, but "
                    "every score that the softmax reads is -Inf",
                    s->empty.seen);
    else if (origin->point == TXD_POINT_ATTN_MASKED && origin->value == -INFINITY)
        txd_law_say(finding, ". Cause: a key is masked that the claimed mask shows");
    else if (isinf(origin->value))
        txd_law_say(finding, ". Cause: overflow: everything before it is finite");
    else
        txd_law_say(finding,
                    ". Cause: made here: everything before it is finite, so it "
                    "is Inf - Inf, 0 x Inf or 0/0 inside this operation");
}

static txd_status add_parameters(txd_result *result, const state *s)
{
    for (size_t i = 0; i < s->parameter_count && i < PARAMETERS_KEPT; i++) {
        txd_finding finding = finding_at(&s->parameters[i]);

        TXD_TRY(txd_result_add(result, &finding));
    }
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    txd_finding finding;

    result->evaluated = s->values;
    result->worst = s->worst;
    TXD_TRY(add_parameters(result, s));
    if (s->origin.name[0]) {
        finding = finding_at(&s->origin);
        say_cause(&finding, s);
        if (strcmp(s->last, s->origin.name) == 0)
            txd_law_say(&finding, ". It goes no further");
        else
            txd_law_say(&finding, ". It spreads as far as %s", s->last);
        TXD_TRY(txd_result_add(result, &finding));
    }
    if (s->bad_sites > 1)
        snprintf(result->note, sizeof result->note,
                 "%" PRIu64 " of %" PRIu64 " sites are not finite; parameters and the "
                 "first value are listed, the others inherit",
                 s->bad_sites, s->sites);
    result->finding_total = s->bad_sites;
    return TXD_OK;
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);

    (void)context;
    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "finite: no memory");
    *tap = (txd_tap){.name = "finite", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_finite = {
    .name = "finite",
    .law = "every parameter and every value of the pass is finite",
    .formula = "no NaN and no infinity, padded tokens and hidden cells left out; the "
               "origin is the first site in order of execution that breaks it",
    .causes =
        "a parameter that holds NaN (a diverged training step, a bad file); a row "
        "whose keys are all masked with -inf; overflow of q.k or of the MLP in "
        "half precision; 0 x Inf where a masked key is multiplied after all",
    .look_next = "the operands of the named site; the sites after it only inherit",
    .unit = "values",
    .faults = (const char *const[]){"nan_in_weights", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_COUNT, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = free,
};
