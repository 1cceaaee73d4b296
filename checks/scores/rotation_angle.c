/* SPDX-License-Identifier: MIT
 *
 * Every pair of lanes of queries and keys turns by its position times the frequency
 * that the claimed configuration gives it, scaling and attention factor included, and
 * the lanes behind rope_width pass unchanged. That is also why the score of equal
 * content depends on the distance of two tokens alone: R(p)^T R(r) = R(r - p) for every
 * pair, so that no law of its own is needed for it.
 *
 * An element may be off by the roundings of the turn (txd_turning_allows), and by what
 * an angle formed in float32 is off: 8 x 2^-24 of it, which is how most programs take
 * it. In layers that do not turn, everything passes.
 */
#include "checks/kept.h"
#include "checks/scores/rotation_cause.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

/* Where only the same number will do. */
#define NOTHING 0x1p-1074

/* The queries or the keys of one layer. */
typedef struct tally {
    uint64_t judged, broken, inherited;
    double measured, allowed, ratio, found, expected; /* of the worst */
    size_t lane;
    txd_law_place at;
    txd_turn_causes causes;
} tally;

typedef struct state {
    const txd_config *claimed;
    tally *tallies;       /* (layers, 2) */
    uint8_t *is_off;      /* (layers, 2, heads) */
    double *rows, *speed; /* two rows; speeds */
    double *work;         /* a row, and speeds twice */
    double *expected;     /* a row */
    size_t batches;
} state;

static const txd_point *needs(void *self, txd_point point)
{
    const state *s = self;

    return txd_turned_operand(s->claimed, point);
}

static bool judge_lane(tally *t, const txd_turned *walk, const txd_block *block,
                       const double *expected, size_t lane, double allowed)
{
    double found = walk->after[lane], measured = fabs(found - expected[lane]);
    bool is_broken = !txd_within(measured, allowed);

    if (!isfinite(expected[lane]) ||
        (isinf(found) && fabs(expected[lane]) + allowed > block->pass->largest)) {
        t->inherited++;
        return false;
    }
    t->broken += is_broken;
    if (t->judged++ > 0 &&
        (!txd_law_may_be_worse(measured, allowed, t->ratio) ||
         !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)))
        return is_broken;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->found = found;
    t->expected = expected[lane];
    t->lane = lane;
    t->at = (txd_law_place){block->site->step, (int64_t)walk->at.batch,
                            (int64_t)walk->at.head, (int64_t)walk->at.token, -1};
    return is_broken;
}

static bool judge_row(const state *s, tally *t, const txd_turned *walk,
                      const txd_block *block, const txd_turning *turning)
{
    bool is_broken = false;

    txd_turning_apply(s->expected, turning, walk->before, &walk->at);
    for (size_t i = 0; i < turning->width / 2; i++) {
        double allowed = txd_turning_allows_angle(turning, block->pass, walk, i);
        size_t lane[2];

        txd_turning_lanes(lane, turning, i);
        is_broken |= judge_lane(t, walk, block, s->expected, lane[0], allowed);
        is_broken |= judge_lane(t, walk, block, s->expected, lane[1], allowed);
    }
    for (size_t e = turning->width; e < turning->lanes; e++)
        is_broken |= judge_lane(t, walk, block, s->expected, e, NOTHING);
    return is_broken;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    int layer = block->site->layer;
    txd_turning turning = txd_turning_of(s->claimed, layer, s->speed);
    size_t place = 2 * (size_t)layer + txd_turned_which(block->site->point);
    tally *t = &s->tallies[place];
    txd_turned walk;

    (void)slot;
    s->batches = block->pass->inputs->batch;
    if (txd_turned_begin(&walk, block, s->rows) != TXD_OK)
        return TXD_OK; /* what turns is not recorded in this layer */
    while (txd_turned_next(&walk))
        if (judge_row(s, t, &walk, block, &turning)) {
            s->is_off[place * s->claimed->n_heads + walk.at.head] = 1;
            txd_turn_causes_add(&t->causes, &walk, block, s->work);
        }
    return TXD_OK;
}

static void say_heads(txd_finding *finding, const state *s, size_t place)
{
    const txd_config *c = s->claimed;
    size_t heads = place % 2 == 0 ? c->n_heads : c->n_kv_heads, off = 0;

    for (size_t h = 0; h < heads; h++)
        off += s->is_off[place * c->n_heads + h];
    if (off < heads)
        txd_law_say(finding, " (in %zu of %zu heads)", off, heads);
}

static txd_status add_tally(txd_result *result, const state *s, size_t place)
{
    const tally *t = &s->tallies[place];
    const txd_layer_config *layer = &s->claimed->layers[place / 2];
    char found[32], expected[32];
    txd_finding finding;

    result->evaluated += t->judged;
    if (t->judged > 0)
        txd_law_raise(result, t->measured, t->allowed);
    if (t->broken == 0)
        return TXD_OK;
    finding = txd_law_finding(place % 2 == 0 ? TXD_POINT_ATTN_Q : TXD_POINT_ATTN_K,
                              (int)(place / 2), &t->at);
    finding.measured = t->measured;
    finding.allowed = t->allowed;
    txd_law_say_place(&finding, s->batches);
    txd_law_numbers(found, t->found, expected, t->expected);
    txd_law_say(&finding, "token %" PRId64 ", lane %zu is %s instead of %s; ",
                t->at.query, t->lane, found, expected);
    txd_law_say(&finding, "%" PRIu64 " of %" PRIu64 " elements are off", t->broken,
                t->judged);
    say_heads(&finding, s, place);
    txd_turn_causes_say(&finding, &t->causes, layer);
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
                        "%" PRIu64 " elements are made from what is not finite: "
                        "whether they turned rightly cannot be said",
                        inherited);
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->tallies);
    free(s->is_off);
    free(s->rows);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    const txd_config *c = context->claimed;
    size_t e = c->head_dim;
    state *s = calloc(1, sizeof *s);

    if (s) {
        s->tallies = calloc(2 * c->n_layers, sizeof *s->tallies);
        s->is_off = calloc(2 * c->n_layers * c->n_heads, 1);
        s->rows = calloc(6 * e + 2, sizeof *s->rows);
    }
    if (!s || !s->tallies || !s->is_off || !s->rows) {
        if (s)
            destroy(s);
        return txd_fail(TXD_ERR_MEMORY, "rotation_angle: no memory");
    }
    s->work = s->rows + 2 * e;
    s->expected = s->work + 2 * e;
    s->speed = s->expected + e;
    s->claimed = c;
    *tap = (txd_tap){.name = "rotation_angle",
                     .self = s,
                     .ask = txd_turned_ask,
                     .needs = needs,
                     .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_rotation_angle = {
    .name = "rotation_angle",
    .law = "every pair of lanes of queries and keys turns by its position times its "
           "frequency",
    .formula =
        "attn.q = f R(position x frequency) attn.q_proj, pair by pair (attn.q_norm "
        "with "
        "model.qk_norm), frequency and f by rope_base, rope_scaling and the keys "
        "beside "
        "them, lanes behind rope_width unchanged; within 4 u (|x1| + |x2|) (with a "
        "factor 6 u f), u the larger of u_acc and u_store, a rounding to store, and an "
        "angle in float32: 8 x 2^-24 |angle| (|x1| + |x2|); attn.k alike. With it q.k "
        "of equal content depends on distance alone",
    .causes =
        "another base, or one of another variant of the model; lanes paired the other "
        "way than the weights were trained or exported for; cosines and sines laid out "
        "for the other pairing; angles by the axis of the heads; the wrong sign; "
        "angles formed in bfloat16 or float16; positions that count padding, or begin "
        "elsewhere in decoding; a partial rotary width or a scaling that is ignored",
    .look_next =
        "input.positions and the table of cosines and sines at the named token",
    .unit = "elements",
    .exact = true,
    .faults = (const char *const[]){"rope_wrong_pairing", "rope_table_mismatch",
                                    "rope_over_heads", "rope_wrong_base",
                                    "rope_wrong_sign", "rope_partial_ignored",
                                    "rope_half_precision", "position_offset", NULL},
    .needs = txd_turned_needs,
    .inapplicable = txd_turned_inapplicable,
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
