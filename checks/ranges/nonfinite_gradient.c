/* SPDX-License-Identifier: MIT
 *
 * Why a gradient is not finite although the pass forward is: the loss scale, a row
 * without keys, exponentials that overflow, a norm of nearly nothing or of a constant
 * row, an overflow amid large gradients.
 */
#include "checks/ranges/finite.h"

#include <math.h>

/* A norm that multiplies gradients by more than this makes them overflow. */
#define STEEP 1e3

/* The gradient of the mean loss is loss_scale / pairs at every token: nothing else. */
static bool say_loss(txd_finding *finding, const txd_origin *o)
{
    double start = o->loss_scale / (double)o->pairs;
    char format[64], value[32], scale[32];

    if (o->site->point != TXD_POINT_LOSS_TOKEN || !(start > o->largest))
        return false;
    txd_law_say(finding,
                ". Cause: precision.loss_scale, %s, is too large: over %zu tokens it "
                "is %s, beyond %s",
                txd_law_number(scale, o->loss_scale), o->pairs,
                txd_law_number(value, start), txd_origin_format(format, o));
    return true;
}

/* Its query is made from the row's gradients, which are 0. */
static bool say_empty_row(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    txd_point own = txd_point_in_self(o->site->point);
    bool is_shut = m->has_row && !m->is_open;

    if (own < TXD_POINT_ATTN_Q || own > TXD_POINT_ATTN_WEIGHTS ||
        (!is_shut && isnan(o->empty)))
        return false;
    txd_law_say(finding,
                ". Cause: the softmax's backward half of a row without keys: all that "
                "this query reads are -Inf to it, and its gradient must be 0");
    return true;
}

static bool say_norm(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    double slope = 1 / sqrt(m->variance + txd_origin_eps(o));
    char factor[32], variance[32], eps[32];

    if (!(slope > STEEP))
        return false;
    txd_law_say(finding,
                ". Cause: the norm that reads %s divides by nearly nothing: its row "
                "has a %s of %s, eps is %s, and gradients grow by %s",
                txd_point_get(m->stream)->name,
                o->params->claimed->norm == TXD_NORM_LAYER ? "variance" : "mean square",
                txd_law_number(variance, m->variance),
                txd_law_number(eps, txd_origin_eps(o)), txd_law_number(factor, slope));
    return true;
}

static bool say_constant(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    char eps[32];

    if (m->variance != 0)
        return false;
    txd_law_say(finding,
                ". Cause: 0/0 in the backward half of the norm that reads %s: its row "
                "is %s, so that it divides by sqrt(eps) alone, and eps, %s as claimed, "
                "is lost",
                txd_point_get(m->stream)->name,
                o->params->claimed->norm == TXD_NORM_LAYER ? "constant" : "zero",
                txd_law_number(eps, txd_origin_eps(o)));
    return true;
}

/* The largest gradient at hand: of those that come in, and here. Those of parameters
 * have had the loss scale divided out, after they were summed with it. */
static double largest_gradient(const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    double scale = txd_site_is_parameter(o->site->kind) ? o->loss_scale : 1;
    double largest = scale * o->site->largest;

    for (size_t i = 0; i < m->operand_count; i++)
        if (m->operands[i].is_gradient && m->parts[i].count > 0)
            largest = fmax(largest, fabs(m->parts[i].value));
    return largest;
}

static bool say_overflow(txd_finding *finding, const txd_origin *o)
{
    double largest = largest_gradient(o);
    char format[64], text[32], scale[32];

    if (!(largest >= o->largest * TXD_NEAR_LARGEST))
        return false;
    txd_law_say(finding, ". Cause: overflow of %s: gradients here reach %s",
                txd_origin_format(format, o), txd_law_number(text, largest));
    if (o->loss_scale > 1)
        txd_law_say(finding, ", multiplied by precision.loss_scale, %s",
                    txd_law_number(scale, o->loss_scale));
    else
        txd_law_say(finding, " (nothing but their own size: loss_scale is %s)",
                    txd_law_number(scale, o->loss_scale));
    return true;
}

void txd_origin_say_gradient(txd_finding *finding, const txd_origin *origin)
{
    if (txd_origin_say_stranger(finding, origin) || say_loss(finding, origin) ||
        say_empty_row(finding, origin) ||
        txd_origin_say_attention_back(finding, origin) || say_norm(finding, origin) ||
        say_constant(finding, origin) || say_overflow(finding, origin))
        return;
    txd_law_say(finding, ". No cause is certain: the pass forward is finite, and so "
                         "are the gradients before it: made in this operation's "
                         "backward half");
}
