/* SPDX-License-Identifier: MIT
 *
 * Causes inside the attention: a score beyond the format, by its scale or in another
 * format; a soft cap made of exponentials; a row of -Inf, and how a finite fill became
 * that; a mask that multiplies by -Inf; a softmax without its largest score, forward
 * and backward.
 */
#include "checks/ranges/finite.h"

#include <math.h>

/* The largest float16. */
#define FLOAT16_LARGEST 65504.0
/* A scale is measured on one rounded score. */
#define SCALE_TOLERANCE 0.02

static const txd_layer_config *layer_of(const txd_origin *o)
{
    return &o->params->claimed->layers[o->site->layer];
}

static bool is_near(double a, double b)
{
    return fabs(a - b) <= SCALE_TOLERANCE * fabs(b);
}

static void say_measured_scale(txd_finding *finding, const txd_origin *o)
{
    char text[32];

    if (isfinite(o->meeting->scale))
        txd_law_say(finding, "; finite scores are %s x q.k",
                    txd_law_number(text, o->meeting->scale));
}

/* The score as claimed fits into the format. */
static bool say_scale(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    double claimed = layer_of(o)->score_scale, applied = m->scale;
    char format[64], product[32], scale[32], score[32];

    if (!isfinite(applied) && fabs(m->product) > o->largest)
        applied = 1;
    if (!(fabs(applied * m->product) > o->largest) || is_near(applied, claimed))
        return false;
    txd_law_say(
        finding,
        ". Cause: the scale is %s: q.k is %s; times the claimed %s it is %s and "
        "fits, times %s it overflows %s",
        is_near(applied, 1) ? "missing" : "not the claimed one",
        txd_law_number(product, m->product), txd_law_number(scale, claimed),
        txd_law_number(score, claimed * m->product),
        is_near(applied, 1) ? "1" : "what is applied", txd_origin_format(format, o));
    say_measured_scale(finding, o);
    return true;
}

static bool say_score(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    double claimed = m->product * layer_of(o)->score_scale;
    char format[64], product[32], scale[32], score[32];

    if (!isinf(o->site->value) || !isfinite(m->product))
        return false;
    txd_law_number(product, m->product);
    txd_law_number(scale, layer_of(o)->score_scale);
    txd_law_number(score, claimed);
    if (fabs(claimed) > o->largest) {
        txd_law_say(finding,
                    ". Cause: overflow of %s, although scaled: q.k is %s, times %s it "
                    "is %s: queries and keys are too long",
                    txd_origin_format(format, o), product, scale, score);
        return true;
    }
    if (say_scale(finding, o))
        return true;
    if (!(fabs(claimed) > FLOAT16_LARGEST) || o->site->largest > FLOAT16_LARGEST)
        return false;
    txd_law_say(finding,
                ". Cause: overflow of float16 (up to 65504), in which these scores are "
                "stored: %s q.k is %s, and no finite score is beyond 65504",
                scale, score);
    return true;
}

/* Why a row is -Inf whose claimed fill is not. */
static void say_fill(txd_finding *finding, const txd_origin *o)
{
    double fill = layer_of(o)->fill;
    char format[64], text[32];

    if (!isfinite(fill))
        return;
    txd_origin_format(format, o);
    txd_law_number(text, fill);
    if (fabs(fill) > o->largest)
        txd_law_say(finding, "; mask.fill, %s, is beyond %s and was stored as -Inf",
                    text, format);
    else
        txd_law_say(
            finding,
            "; mask.fill, %s, is finite: something was added to it and left %s, "
            "another mask or the score itself",
            text, format);
}

static bool say_shut(txd_finding *finding, const txd_origin *o, double shown)
{
    if (shown > 0)
        txd_law_say(finding,
                    ". Cause: a fully masked row: this query may see %.0f key%s, but "
                    "every score that the softmax reads is -Inf%s",
                    shown, shown == 1 ? "" : "s",
                    isnan(o->site->value) ? ", and -Inf - (-Inf) is NaN" : "");
    else
        txd_law_say(finding,
                    ". Cause: a fully masked row: this query may see no key, and "
                    "mask.masked_row is \"%s\"",
                    txd_config_word("masked_row", layer_of(o)->masked_row));
    say_fill(finding, o);
    return true;
}

static bool say_masked(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;

    if (o->site->value == -INFINITY) {
        txd_law_say(finding, ". Cause: a key is masked that the claimed mask shows");
        say_fill(finding, o);
        return true;
    }
    if (!isnan(o->site->value) || !isinf(layer_of(o)->fill) ||
        (o->site->count != o->site->of && m->undefined != m->shown) ||
        (o->site->of < 2 && m->shown < 2))
        return false;
    txd_law_say(finding,
                ". Cause: -Inf is not handled: all visible scores of %s are NaN, as "
                "where a mask is multiplied by its fill: 0 x -Inf",
                o->site->count == o->site->of ? "this layer" : "this row");
    return true;
}

/* Above `high` exp overflows, below `low` it is 0. */
typedef struct exp_range {
    double low, high;
} exp_range;

static exp_range range_of_exp(const txd_origin *o)
{
    static const exp_range f64 = {-745.13, 709.78}, f32 = {-103.97, 88.72},
                           f16 = {-17.33, 11.08};

    if (o->format == TXD_F64)
        return f64;
    return o->format == TXD_F16 && layer_of(o)->softmax == TXD_SOFTMAX_SAME ? f16 : f32;
}

/* A tanh of exponentials: of 2 x in most hands, of x in some. */
static bool say_cap(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    double cap = layer_of(o)->score_softcap, limit = range_of_exp(o).high / 2;
    char text[32], bound[32];

    for (size_t i = 0; i < m->operand_count; i++) {
        double ratio = m->parts[i].value / cap;

        if (m->operands[i].is_gradient || m->parts[i].count != 1 ||
            txd_point_in_self(m->operands[i].point) != TXD_POINT_ATTN_SCORES ||
            !(fabs(ratio) > limit) || isinf(ratio))
            continue;
        txd_law_say(finding,
                    ". Cause: the soft cap is made of exponentials: score / cap is %s, "
                    "and exp of twice that overflows from %s on, where tanh is finite",
                    txd_law_number(text, ratio), txd_law_number(bound, limit));
        return true;
    }
    return false;
}

static bool say_softmax(txd_finding *finding, const txd_origin *o)
{
    double highest = o->meeting->highest;
    exp_range range = range_of_exp(o);
    char text[32], limit[32];
    bool is_high = highest > range.high;

    if (!(is_high || highest < range.low) || isinf(highest))
        return false;
    txd_law_say(finding,
                ". Cause: the softmax does not subtract the largest score, %s: exp %s "
                "%s",
                txd_law_number(text, highest),
                is_high ? "overflows above" : "of the whole row is 0, as it is below",
                txd_law_number(limit, is_high ? range.high : range.low));
    return true;
}

bool txd_origin_say_attention(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    txd_point own = txd_point_in_self(o->site->point);

    if (own == TXD_POINT_ATTN_SCORES)
        return say_score(finding, o);
    if (own == TXD_POINT_ATTN_CAPPED)
        return say_cap(finding, o);
    if (own != TXD_POINT_ATTN_MASKED && own != TXD_POINT_ATTN_WEIGHTS &&
        own != TXD_POINT_ATTN_HEADS)
        return false;
    if (m->has_row && m->shown > 0 && !m->is_open)
        return say_shut(finding, o, (double)m->shown);
    if (!m->has_row && !isnan(o->empty))
        return say_shut(finding, o, o->empty);
    if (own == TXD_POINT_ATTN_MASKED)
        return say_masked(finding, o);
    return own == TXD_POINT_ATTN_WEIGHTS && say_softmax(finding, o);
}

bool txd_origin_say_attention_back(txd_finding *finding, const txd_origin *o)
{
    txd_point own = txd_point_in_self(o->site->point);

    if (own == TXD_POINT_ATTN_SCORES && layer_of(o)->score_softcap != 0)
        return say_cap(finding, o);
    return own == TXD_POINT_ATTN_MASKED && o->meeting->has_row &&
           say_softmax(finding, o);
}
