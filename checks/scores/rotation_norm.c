/* SPDX-License-Identifier: MIT
 *
 * A rotation keeps the norm of every pair of lanes, or multiplies all by the claimed
 * attention factor: |out pair| = f |in pair|. An element may be off by a, of which
 * txd_turning_allows tells; so the norm of a pair by 2 a, and by what it is rounded
 * here.
 *
 * Where pairs do not keep their norms, but heads do, other lanes were paired; where
 * heads do not either, it was no rotation.
 */
#include "checks/kept.h"
#include "checks/scores/rotation.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* The queries or the keys of one layer. */
typedef struct tally {
    uint64_t judged, broken, inherited;
    uint64_t rows, kept; /* rows with a broken pair; whose whole norm is kept */
    double nn, mn, mm;   /* norms found m against expected n, of broken rows */
    double measured, allowed, ratio, found, expected; /* of the worst */
    txd_law_place at;
    size_t pair;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies; /* (layers, 2) */
    double *speed, *rows;
    size_t batches;
} state;

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;

    return txd_turned_operand(s->claimed, point);
}

static bool judge_pair(tally *t, const txd_turned *walk, const txd_block *block,
                       const txd_turning *turning, size_t pair)
{
    size_t lane[2];
    double expected, found, measured, allowed;
    bool is_broken;

    txd_turning_lanes(lane, turning, pair);
    expected =
        fabs(turning->factor) * hypot(walk->before[lane[0]], walk->before[lane[1]]);
    found = hypot(walk->after[lane[0]], walk->after[lane[1]]);
    measured = fabs(found - expected);
    allowed = 2 * txd_turning_allows(turning, block->pass, walk->before, lane) +
              0x1p-50 * expected;
    if (!isfinite(expected) ||
        (isinf(found) && expected + allowed > block->pass->largest)) {
        t->inherited++;
        return false;
    }
    is_broken = !txd_within(measured, allowed);
    t->broken += is_broken;
    if (is_broken) {
        t->nn += expected * expected;
        t->mn += found * expected;
        t->mm += found * found;
    }
    if (t->judged++ > 0 &&
        (!txd_law_may_be_worse(measured, allowed, t->ratio) ||
         !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)))
        return is_broken;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->found = found;
    t->expected = expected;
    t->pair = pair;
    t->at = (txd_law_place){block->site->step, (int64_t)walk->at.batch,
                            (int64_t)walk->at.head, (int64_t)walk->at.token, -1};
    return is_broken;
}

static double norm_of(const double *row, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += row[i] * row[i];
    return sqrt(sum);
}

static void judge_row(tally *t, const txd_turned *walk, const txd_block *block,
                      const txd_turning *turning)
{
    bool is_broken = false;
    double before, after;

    for (size_t i = 0; i < turning->width / 2; i++)
        is_broken |= judge_pair(t, walk, block, turning, i);
    if (!is_broken)
        return;
    before = norm_of(walk->before, turning->lanes);
    after = norm_of(walk->after, turning->lanes);
    t->rows++;
    t->kept += fabs(after - before) <=
               16 * (block->pass->u_store + block->pass->u_accumulate) * before;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    int layer = block->site->layer;
    txd_turning turning = txd_turning_of(s->claimed, layer, s->speed);
    tally *t = &s->tallies[2 * (size_t)layer + txd_turned_which(block->site->point)];
    txd_turned walk;

    (void)slot;
    s->batches = block->pass->inputs->batch;
    if (txd_turned_begin(&walk, block, s->rows) != TXD_OK)
        return TXD_OK; /* what turns is not recorded in this layer */
    while (turning.width > 0 && txd_turned_next(&walk))
        judge_row(t, &walk, block, &turning);
    return TXD_OK;
}

static void say_cause(txd_finding *finding, const tally *t)
{
    double factor = t->nn > 0 ? t->mn / t->nn : 0;
    char text[32];

    if (t->nn > 0 && t->mm - factor * t->mn <= 1e-6 * t->mm)
        txd_law_say(finding, ": they are %s times what they should be",
                    txd_law_number(text, factor));
    else if (t->kept == t->rows)
        txd_law_say(finding, ": the heads keep their norms, so other lanes are paired "
                             "than those that model.rope_pairing and rope_width say");
    else
        txd_law_say(finding, ": the heads do not keep their norms either, so this is "
                             "no rotation, as with cosines and sines that are laid out "
                             "for the other pairing");
}

static txd_status add_tally(txd_result *result, const state *s, size_t i)
{
    const tally *t = &s->tallies[i];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(i % 2 == 0 ? TXD_POINT_ATTN_Q : TXD_POINT_ATTN_K,
                              (int)(i / 2), &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding,
                "token %" PRId64 ": the norm of pair %zu is %s instead of %s; ",
                t->at.query, t->pair, found, expected);
    txd_law_say(&finding, "%" PRIu64 " of %" PRIu64 " norms are off", t->broken,
                t->judged);
    say_cause(&finding, t);
    TXD_TRY(txd_result_add(result, &finding));
    result->finding_total += t->broken - 1;
    return TXD_OK;
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    uint64_t inherited = 0;

    for (size_t i = 0; i < 2 * s->claimed->n_layers; i++) {
        inherited += s->tallies[i].inherited;
        TXD_TRY(add_tally(result, s, i));
    }
    if (inherited > 0 && result->verdict == TXD_VERDICT_PASS)
        return txd_fail(TXD_ERR_MISSING,
                        "%" PRIu64 " pairs are not finite before they turn: whether "
                        "they keep their norms cannot be said",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s->speed);
    free(s->rows);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->tallies = calloc(2 * c->n_layers, sizeof *s->tallies);
        s->speed = calloc(c->head_dim / 2 + 1, sizeof *s->speed);
        s->rows = calloc(2 * c->head_dim, sizeof *s->rows);
    }
    if (!s || !s->tallies || !s->speed || !s->rows) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "rotation_norm: no memory");
    }
    s->claimed = c;
    *tap = (txd_tap){.name = "rotation_norm",
                     .self = s,
                     .ask = txd_turned_ask,
                     .needs = needs,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_rotation_norm = {
    .name = "rotation_norm",
    .law = "turning queries and keys by their positions keeps the norm of every pair",
    .formula =
        "|attn.q pair| = f |attn.q_proj pair| (attn.q_norm with model.qk_norm), f = "
        "rope_attention_factor, pairs as rope_pairing and rope_width say, within 2 a + "
        "2^-50 n, a = 4 u (|x1| + |x2|) (with a factor 6 u f) and a rounding to store, "
        "u "
        "the larger of u_acc and u_store; attn.k alike",
    .causes =
        "cosines and sines laid out for the other pairing (a a b b instead of a b "
        "a b), which is no rotation at all; other lanes paired than claimed; a "
        "rotary width that is ignored; an attention factor left out or applied "
        "twice",
    .look_next = "the law rotation_angle, which names the angles; the table of cosines "
                 "and sines beside model.rope_pairing",
    .unit = "pairs",
    .exact = true,
    .faults = (const char *const[]){"rope_table_mismatch", "rope_wrong_pairing", NULL},
    .needs = txd_turned_needs,
    .inapplicable = txd_turned_inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
