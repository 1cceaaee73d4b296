/* SPDX-License-Identifier: MIT
 *
 * Every value, every parameter and every gradient is finite. What matters of a NaN is
 * where it is made, not the thousands of places that it reaches: the origin is the
 * first site in order of execution, forward before backward; what met there, and how
 * large everything before it was, says why.
 */
#include "checks/ranges/finite.h"

#include <inttypes.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The first row whose keys are all -Inf to the softmax. */
typedef struct empty_row {
    bool is_set;
    txd_law_place at;
    double seen; /* keys that the claimed mask shows it */
} empty_row;

typedef struct state {
    txd_point needs[TXD_POINT_COUNT][TXD_OPERAND_NEEDS];
    txd_finite_params params;
    txd_meeting pending[TXD_POINT_COUNT]; /* of sites that come in parts */
    /* Those are set: for threads that would look for more in vain. */
    atomic_bool has_met[TXD_POINT_COUNT];
    txd_nonfinite origin;
    txd_meeting meeting;
    txd_origin told;
    txd_nonfinite last; /* the farthest site in the step of the origin */
    uint64_t sites, bad_sites, values;
    /* Values that are not finite, and of these masked scores that are -Inf: each layer
     * masks anew, they inherit nothing. */
    uint64_t bad_values, shut_sites;
    double worst;
    empty_row (*empty)[2]; /* per layer and attention */
} state;

/* What a part of a site tells. */
typedef struct found {
    txd_meeting met;
    empty_row empty;
} found;

/* A site that comes in parts: what met there must be read while the part is at hand. */
static bool comes_in_parts(txd_point point)
{
    txd_place place = txd_point_get(point)->place;

    return place == TXD_PLACE_TILE || place == TXD_PLACE_ROWS;
}

static unsigned ask(void *self, const txd_site *site)
{
    unsigned bits = TXD_ASK_STATS;

    (void)self;
    if (txd_site_is_parameter(site->kind))
        return bits;
    if (txd_point_get(site->point)->place == TXD_PLACE_INPUT)
        return 0;
    if (comes_in_parts(site->point))
        bits |= TXD_ASK_VALUE;
    if (site->kind == TXD_SITE_VALUE &&
        txd_point_in_self(site->point) == TXD_POINT_ATTN_WEIGHTS)
        bits |= TXD_ASK_ROWS;
    return bits;
}

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;

    return s->needs[point];
}

static void note_value(state *s, const txd_nonfinite *site, const txd_block *block,
                       const txd_meeting *meeting)
{
    bool is_first = !s->origin.name[0] || txd_nonfinite_precedes(site, &s->origin);

    if (is_first) {
        s->origin = *site;
        s->meeting = *meeting;
        s->told.format = block->pass->format;
        s->told.largest = block->pass->largest;
        s->told.loss_scale = block->pass->loss_scale;
        s->told.pairs = txd_inputs_pairs(block->pass->inputs);
    }
    if (!s->last.name[0] || s->last.step != s->origin.step ||
        (site->step == s->origin.step && txd_nonfinite_precedes(&s->last, site)))
        s->last = *site;
}

/* What met at the first element: read now, or when its part was at hand. */
static void meet(txd_meeting *out, const state *s, const txd_nonfinite *site,
                 const txd_block *block)
{
    size_t at[TXD_MAX_RANK] = {0};

    if (txd_site_is_parameter(site->kind) || !site->is_placed)
        return;
    txd_nonfinite_at(at, site);
    if (comes_in_parts(site->point)) {
        /* A recording may hold another head. */
        if (s->pending[site->point].is_set &&
            memcmp(s->pending[site->point].at, at, sizeof at) == 0)
            *out = s->pending[site->point];
        return;
    }
    if (s->origin.name[0] && !txd_nonfinite_precedes(site, &s->origin))
        return;
    txd_meeting_read(out, block, at);
}

static void count_site(state *s, const txd_nonfinite *site, const txd_block *block)
{
    txd_meeting meeting;

    txd_meeting_clear(&meeting);
    s->sites++;
    if (site->of >= 0 && site->of < 0x1p53)
        s->values += (uint64_t)site->of;
    if (site->kind == TXD_SITE_PARAMETER)
        txd_finite_params_add(&s->params, block);
    if (site->count == 0)
        return;
    s->bad_sites++;
    s->worst = fmax(s->worst, site->count);
    if (site->kind == TXD_SITE_PARAMETER)
        return;
    s->bad_values++;
    s->shut_sites += site->kind == TXD_SITE_VALUE && site->value == -INFINITY &&
                     txd_point_in_self(site->point) == TXD_POINT_ATTN_MASKED;
    meet(&meeting, s, site, block);
    note_value(s, site, block, &meeting);
}

static void end_site(state *s, const txd_block *block)
{
    txd_nonfinite site;

    txd_nonfinite_read(&site, block);
    if (!isnan(site.count)) /* a recording may not say */
        count_site(s, &site, block);
    if (!txd_site_is_parameter(site.kind)) {
        s->pending[site.point].is_set = false;
        s->has_met[site.point] = false;
    }
}

static void look_for_empty_rows(empty_row *empty, const txd_block *block)
{
    const txd_site *site = block->site;
    txd_law_row row = {0};

    while (!empty->is_set && txd_law_row_next(&row, block))
        if (row.column[TXD_ROW_MAX] == -INFINITY)
            *empty = (empty_row){true,
                                 {site->step, (int64_t)row.batch, (int64_t)row.head,
                                  (int64_t)row.query, -1},
                                 row.column[TXD_ROW_SEEN]};
}

static void reduce(void *slot, const void *self, const txd_block *block)
{
    const state *s = self;
    size_t at[TXD_MAX_RANK];
    found *f = slot;

    if (block->rows)
        look_for_empty_rows(&f->empty, block);
    if (txd_site_is_parameter(block->site->kind) ||
        !comes_in_parts(block->site->point) || s->has_met[block->site->point] ||
        !txd_block_nonfinite(at, block))
        return;
    txd_meeting_read(&f->met, block, at);
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    const txd_site *site = block->site;
    const found *f = slot;
    state *s = self;

    if (f->empty.is_set) {
        empty_row *empty = &s->empty[site->layer][txd_point_attention(site->point)];

        *empty = empty->is_set ? *empty : f->empty;
    }
    if (f->met.is_set && !s->pending[site->point].is_set) {
        s->pending[site->point] = f->met;
        s->has_met[site->point] = true;
    }
    if (block->stats)
        end_site(s, block);
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
    txd_law_say(&finding, "%.0f of %.0f values are not finite", site->count, site->of);
    if (site->is_placed)
        txd_law_say(&finding, "; the first is %s at %s",
                    txd_law_number(value, site->value), where);
    return finding;
}

/* Keys that the claimed mask shows the query, if the first value that is not finite
 * lies in the first row that sees none. */
static double empty_at_origin(const state *s)
{
    const txd_nonfinite *site = &s->origin;
    txd_law_place at = txd_nonfinite_place(site);
    const empty_row *empty;
    bool is_same;

    if (site->layer < 0 || txd_site_is_parameter(site->kind))
        return (double)NAN;
    empty = &s->empty[site->layer][txd_point_attention(site->point)];
    is_same = empty->is_set && empty->at.step == at.step &&
              empty->at.batch == at.batch && empty->at.head == at.head &&
              empty->at.query == at.query;
    return is_same ? empty->seen : (double)NAN;
}

static txd_status add_parameters(txd_result *result, const state *s)
{
    for (size_t i = 0; i < txd_finite_params_kept(&s->params); i++) {
        txd_finding finding = finding_at(&s->params.bad[i]);

        TXD_TRY(txd_result_add(result, &finding));
    }
    return TXD_OK;
}

/* Where only masked scores are not finite, none of them came from another. */
static bool is_each_its_own(const state *s)
{
    return s->shut_sites > 1 && s->shut_sites == s->bad_values;
}

static void say_reach(txd_finding *finding, const state *s)
{
    if (strcmp(s->last.name, s->origin.name) == 0)
        txd_law_say(finding, ". It goes no further");
    else if (is_each_its_own(s))
        txd_law_say(finding,
                    ". It goes no further; %" PRIu64 " more, up to %s, mask so "
                    "themselves",
                    s->shut_sites - 1, s->last.name);
    else
        txd_law_say(finding, ". It spreads as far as %s", s->last.name);
}

static txd_status add_origin(txd_result *result, const state *s)
{
    txd_origin origin = s->told;
    txd_finding finding;

    if (!s->origin.name[0])
        return TXD_OK;
    origin.site = &s->origin;
    origin.meeting = &s->meeting;
    origin.params = &s->params;
    origin.empty = empty_at_origin(s);
    finding = finding_at(&s->origin);
    txd_origin_say_operands(&finding, &origin);
    txd_origin_say_cause(&finding, &origin);
    say_reach(&finding, s);
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    result->evaluated = s->values;
    result->worst = s->worst;
    TXD_TRY(add_parameters(result, s));
    TXD_TRY(add_origin(result, s));
    if (s->bad_sites > 1)
        snprintf(result->note, sizeof result->note,
                 "%" PRIu64 " of %" PRIu64 " sites are not finite; parameters and the "
                 "first value are listed%s",
                 s->bad_sites, s->sites,
                 is_each_its_own(s) ? "" : ", the others inherit");
    result->finding_total = s->bad_sites;
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    if (!s)
        return;
    txd_finite_params_finish(&s->params);
    free(s->empty);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status = TXD_ERR_MEMORY;

    if (s)
        s->empty = calloc(context->claimed->n_layers, sizeof *s->empty);
    if (!s || !s->empty)
        (void)txd_fail(TXD_ERR_MEMORY, "finite: no memory");
    else
        status = txd_finite_params_init(&s->params, context);
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    for (int p = 0; p < TXD_POINT_COUNT; p++)
        txd_operands_needs(s->needs[p], context->claimed, (txd_point)p);
    *tap = (txd_tap){.name = "finite",
                     .self = s,
                     .gradients = true,
                     .ask = ask,
                     .needs = needs,
                     .slot_bytes = sizeof(found),
                     .reduce = reduce,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_finite = {
    .name = "finite",
    .law = "every parameter, value and gradient of the pass is finite",
    .formula = "no NaN and no infinity, padded tokens and hidden cells left out; the "
               "origin is the first site in order of execution that breaks it",
    .causes =
        "a parameter that holds NaN (a diverged training step, a bad file); a missing "
        "1/sqrt(head_dim); a row whose keys are all masked with -inf; a mask that "
        "multiplies by -inf; embeddings that are too large; overflow in half "
        "precision, backward by the loss scale; 0/0 in a norm of a row of zeros; 0 x "
        "Inf where a masked key is multiplied after all",
    .look_next = "the operands of the named site; what it spreads to only inherits",
    .unit = "values",
    .faults = (const char *const[]){"nan_in_weights", "stream_overflows", NULL},
    .needs = (const struct txd_check_need[]){{TXD_POINT_COUNT, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
