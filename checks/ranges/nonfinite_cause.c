/* SPDX-License-Identifier: MIT
 *
 * Why a value is not finite, as far as what is at hand proves it. What is made of
 * finite operands by the claimed operation is bounded; beyond what the format can store
 * it overflows, below it somebody else made the infinity. Where nothing is proved, the
 * finding says so.
 */
#include "checks/ranges/finite.h"

#include <math.h>
#include <stdio.h>

/* Embeddings are drawn with a standard deviation of 1 at most (PyTorch's nn.Embedding;
 * GPT-2 has 0.02); ten times that, or what was promised, is no matter of taste. */
#define EMBEDDING_USUAL 1.0
#define EMBEDDING_FACTOR 10.0

const char *txd_origin_format(char text[64], const txd_origin *origin)
{
    char largest[32];

    if (origin->largest < 1e6)
        snprintf(largest, sizeof largest, "%.0f", origin->largest);
    else
        txd_law_number(largest, origin->largest);
    snprintf(text, 64, "%s (up to %s)", txd_dtype_name(origin->format), largest);
    return text;
}

double txd_origin_eps(const txd_origin *origin)
{
    const txd_config *claimed = origin->params->claimed;
    int layer = origin->site->layer;

    return claimed->layers[layer < 0 ? claimed->n_layers - 1 : (size_t)layer].norm_eps;
}

/* ---- what it was made from ---- */

static void say_operand(txd_finding *finding, const txd_origin *origin, size_t i)
{
    const txd_meeting *m = origin->meeting;
    const txd_operand *operand = &m->operands[i];
    /* Of the softmax's row only what the query may see. */
    bool is_row = origin->site->kind == TXD_SITE_VALUE && m->has_row &&
                  txd_point_in_self(operand->point) == TXD_POINT_ATTN_MASKED;
    char value[32];

    txd_law_say(finding, "%s%s%s %s", txd_point_get(operand->point)->name,
                operand->is_gradient ? TXD_GRADIENT_SUFFIX : "",
                m->parts[i].count > 1 ? " up to" : "",
                txd_law_number(value, is_row ? m->highest : m->parts[i].value));
}

void txd_origin_say_operands(txd_finding *finding, const txd_origin *origin)
{
    const txd_meeting *m = origin->meeting;
    const char *before = ". Made from ";
    bool was_forward = false;

    for (size_t i = 0; i < m->operand_count; i++) {
        bool is_forward =
            txd_site_is_gradient(origin->site->kind) && !m->operands[i].is_gradient;

        if (m->parts[i].count == 0)
            continue;
        txd_law_say(finding, "%s", is_forward && !was_forward ? ". Forward: " : before);
        say_operand(finding, origin, i);
        before = ", ";
        was_forward = is_forward;
    }
}

/* ---- what the operation can make of them ---- */

static double bound_of_parameters(const txd_origin *o, double size)
{
    const txd_nonfinite *site = o->site;

    return size * txd_finite_params_largest(o->params, site->point, site->layer, 0) +
           txd_finite_params_largest(o->params, site->point, site->layer, 1);
}

static double bound_of_score(const txd_origin *o)
{
    return fabs(o->meeting->product *
                o->params->claimed->layers[o->site->layer].score_scale);
}

/* Of a sum of single elements, or of one of them. */
static double bound_of_sum(const txd_meeting *m)
{
    double sum = 0;

    for (size_t i = 0; i < m->operand_count; i++)
        sum += m->parts[i].value;
    return fabs(sum);
}

/* Of those whose operands are single elements: what it is. Weights sum to 1, a
 * rotation mixes two lanes. */
static double bound_of_elements(const txd_origin *o)
{
    const txd_operand_part *part = o->meeting->parts;
    double a = part[0].value, b = part[1].value;

    switch (txd_point_in_self(o->site->point)) {
    case TXD_POINT_ATTN_Q:
    case TXD_POINT_ATTN_K:
        return 2 * fabs(a);
    case TXD_POINT_ATTN_SCORES:
        return bound_of_score(o);
    case TXD_POINT_ATTN_WEIGHTS:
        return 1;
    case TXD_POINT_ATTN_HEADS:
        return fabs(b);
    case TXD_POINT_ATTN_BRANCH:
    case TXD_POINT_MLP_BRANCH:
        return fabs(a * o->params->claimed->layers[o->site->layer].residual_scale);
    case TXD_POINT_EMBED_SCALED:
        return fabs(a * o->params->claimed->embed_scale);
    case TXD_POINT_MLP_ACT:
        return o->meeting->operand_count == 2 ? fabs(a * b) : fabs(a);
    case TXD_POINT_LOGITS:
    case TXD_POINT_LOSS_TOKEN:
        return (double)NAN;
    default:
        return bound_of_sum(o->meeting);
    }
}

/* Rows of a table. */
static bool is_table(txd_point point)
{
    return point == TXD_POINT_EMBED_TOK || point == TXD_POINT_EMBED_POS ||
           point == TXD_POINT_EMBED_TYPE;
}

static double bound_of_norm(const txd_origin *o)
{
    const txd_config *claimed = o->params->claimed;
    double size = sqrt((double)claimed->d_model);

    return bound_of_parameters(o, size) + size * fabs(claimed->norm_offset);
}

static double bound_of(const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    double weight =
        txd_finite_params_largest(o->params, o->site->point, o->site->layer, 0);

    if (txd_site_is_gradient(o->site->kind))
        return (double)NAN;
    if (txd_point_is_norm(o->site->point))
        return bound_of_norm(o);
    if (is_table(o->site->point))
        return weight;
    if (m->operand_count == 0)
        return (double)NAN;
    if (weight != 0)
        return bound_of_parameters(o,
                                   (double)m->parts[0].count * fabs(m->parts[0].value));
    return bound_of_elements(o);
}

/* True where the bound is what the operation makes, not only no less. */
static bool is_exact(const txd_origin *o)
{
    txd_point own = txd_point_in_self(o->site->point);

    return txd_finite_params_largest(o->params, o->site->point, o->site->layer, 0) ==
               0 &&
           own != TXD_POINT_ATTN_Q && own != TXD_POINT_ATTN_K &&
           own != TXD_POINT_ATTN_HEADS;
}

/* ---- causes ---- */

static void say_embedding(txd_finding *finding, const txd_origin *o)
{
    const txd_finite_params *p = o->params;
    char size[32], usual[32];
    bool is_broken = p->promised > 0 && p->tokens > EMBEDDING_FACTOR * p->promised;
    double should = is_broken ? p->promised : EMBEDDING_USUAL;

    if (!(p->tokens > EMBEDDING_FACTOR * should))
        return;
    txd_law_say(finding,
                "; embeddings too large: embed.tok.weight has a root mean square of "
                "%s, %s %s",
                txd_law_number(size, p->tokens),
                is_broken ? "weights.init says" : "usual is at most",
                txd_law_number(usual, should));
}

/* True where what a layer reads is as large as the embeddings. */
static bool is_near_embedding(const txd_origin *o)
{
    txd_point own = o->site->point;

    return o->site->layer <= 0 || own == TXD_POINT_RESID_PRE ||
           own == TXD_POINT_RESID_MID || own == TXD_POINT_RESID_CROSS ||
           own == TXD_POINT_RESID_POST;
}

static bool say_parameter(txd_finding *finding, const txd_origin *o)
{
    bool is_operand;
    const txd_nonfinite *parameter =
        txd_finite_params_guilty(&is_operand, o->params, o->site);
    char value[32];

    if (!parameter || txd_site_is_gradient(o->site->kind))
        return false;
    txd_law_say(finding, ". Cause: the parameter %s holds %s%s", parameter->name,
                txd_law_number(value, parameter->value),
                is_operand ? ", and is read here" : "");
    return true;
}

bool txd_origin_say_stranger(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;

    for (size_t i = 0; i < m->operand_count; i++) {
        txd_point point = m->operands[i].point;

        if (m->parts[i].nonfinite == 0 || txd_point_get(point)->place == TXD_PLACE_TILE)
            continue;
        txd_law_say(finding,
                    ". Cause: %s%s holds %s only where nothing is judged (padding, "
                    "hidden keys): it should not enter here, and 0 x Inf is NaN",
                    txd_point_get(point)->name,
                    m->operands[i].is_gradient ? TXD_GRADIENT_SUFFIX : "",
                    isnan(m->parts[i].value) ? "NaN" : "Inf");
        return true;
    }
    return false;
}

static bool say_norm(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    char text[32];

    if (!txd_point_is_norm(o->site->point) || m->variance != 0)
        return false;
    txd_law_say(finding,
                ". Cause: 0/0: the row of %s is %s, so that the norm divides by "
                "sqrt(eps) alone, and eps, %s as claimed, is lost",
                txd_point_get(m->stream)->name,
                o->params->claimed->norm == TXD_NORM_LAYER ? "constant" : "zero",
                txd_law_number(text, txd_origin_eps(o)));
    return true;
}

/* A weight that is finite until it is stored as values are. */
static bool say_weight(txd_finding *finding, const txd_origin *o)
{
    char format[64], text[32];

    for (int which = 0; which < 2; which++) {
        double size =
            txd_finite_params_largest(o->params, o->site->point, o->site->layer, which);

        if (!(size > o->largest))
            continue;
        txd_law_say(finding,
                    ". Cause: its %s reaches %s, beyond %s, and was stored as Inf",
                    which ? "bias" : "weight", txd_law_number(text, size),
                    txd_origin_format(format, o));
        return true;
    }
    return false;
}

static bool say_overflow(txd_finding *finding, const txd_origin *o)
{
    double bound = bound_of(o);
    char format[64], text[32];
    bool is_close = o->site->largest >= o->largest * TXD_NEAR_LARGEST;
    bool is_sure = o->meeting->is_set && is_exact(o) && bound > o->largest;

    if (!isinf(o->site->value) || (!is_sure && bound <= o->largest) ||
        (!is_sure && !is_close))
        return false;
    txd_law_say(finding, ". Cause: overflow of %s", txd_origin_format(format, o));
    if (is_sure)
        txd_law_say(finding, ": it is %s", txd_law_number(text, bound));
    else
        txd_law_say(finding, ": finite values here reach %s",
                    txd_law_number(text, o->site->largest));
    if (is_near_embedding(o))
        say_embedding(finding, o);
    return true;
}

static bool say_table(txd_finding *finding, const txd_origin *o)
{
    double bound = bound_of(o);
    char format[64], text[32];

    if (!is_table(o->site->point))
        return false;
    if (!isinf(o->site->value) || !(bound > o->largest))
        return false;
    txd_law_say(finding, ". Cause: overflow of %s: the table holds up to %s",
                txd_origin_format(format, o), txd_law_number(text, bound));
    if (o->site->point == TXD_POINT_EMBED_TOK)
        say_embedding(finding, o);
    return true;
}

/* What came in from outside holds it itself. */
static bool say_memory(txd_finding *finding, const txd_origin *o)
{
    if (o->site->kind != TXD_SITE_VALUE || o->site->point != TXD_POINT_INPUT_MEMORY)
        return false;
    txd_law_say(finding, o->params->claimed->encoder_layers > 0
                             ? ". Cause: the encoder makes it, whose values are not "
                               "looked at"
                             : ". Cause: the memory that was given holds it "
                               "(input.memory)");
    return true;
}

/* A recording need not hold what it was made from. Of the logits a pass keeps no more
 * than that they were finite. */
static bool say_unrecorded(txd_finding *finding, const txd_origin *o)
{
    const txd_meeting *m = o->meeting;
    const char *before = "";
    bool is_lacking = false;

    for (size_t i = 0; i < m->operand_count; i++)
        is_lacking |= m->parts[i].count == 0 &&
                      txd_point_get(m->operands[i].point)->place != TXD_PLACE_ROWS;
    if (!is_lacking)
        return false;
    txd_law_say(finding, ". No cause is certain: it was made from ");
    for (size_t i = 0; i < m->operand_count; i++) {
        if (m->parts[i].count > 0)
            continue;
        txd_law_say(finding, "%s%s", before, txd_point_get(m->operands[i].point)->name);
        before = ", ";
    }
    txd_law_say(finding, ", not at hand");
    return true;
}

static void say_nothing(txd_finding *finding, const txd_origin *o)
{
    double bound = o->meeting->is_set ? bound_of(o) : (double)NAN;
    char text[32];

    if (say_memory(finding, o) || say_unrecorded(finding, o))
        return;
    txd_law_say(finding, ". No cause is certain: everything before it is finite");
    if (isfinite(bound) && bound <= o->largest)
        txd_law_say(finding, ", and as claimed this operation makes %s%s of it",
                    is_exact(o) ? "" : "at most ", txd_law_number(text, bound));
}

void txd_origin_say_cause(txd_finding *finding, const txd_origin *origin)
{
    if (say_parameter(finding, origin))
        return;
    if (txd_site_is_gradient(origin->site->kind)) {
        txd_origin_say_gradient(finding, origin);
        return;
    }
    if (txd_origin_say_stranger(finding, origin) ||
        txd_origin_say_attention(finding, origin) || say_norm(finding, origin) ||
        say_table(finding, origin) || say_weight(finding, origin) ||
        say_overflow(finding, origin))
        return;
    say_nothing(finding, origin);
}
