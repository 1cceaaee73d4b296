/* SPDX-License-Identifier: MIT
 *
 * Turns by any rule, in double.
 */
#include "checks/scores/rotation.h"
#include "checks/kept.h"

#include <math.h>
#include <string.h>

/* Elements of a value that are judged per step; tokens at least. */
#define ELEMENTS_JUDGED 16384
#define TOKENS_LEAST 16

void txd_turning_lanes(size_t out[2], const txd_turning *turning, size_t pair)
{
    out[0] = turning->adjacent ? 2 * pair : pair;
    out[1] = turning->adjacent ? 2 * pair + 1 : pair + turning->width / 2;
}

static double rounded(double value, txd_dtype format)
{
    if (format == TXD_BF16)
        return (double)txd_bf16_to_f32(txd_f64_to_bf16(value));
    return format == TXD_F16 ? (double)txd_f16_to_f32(txd_f64_to_f16(value)) : value;
}

double txd_turning_angle(const txd_turning *turning, const txd_turned_at *at,
                         size_t pair)
{
    txd_dtype format = turning->format;
    int64_t position = turning->by_head    ? (int64_t)at->head
                       : turning->by_place ? (int64_t)at->token
                                           : at->position + turning->offset;
    double angle = rounded((double)position, format);

    angle = rounded(angle * rounded(turning->speed[pair], format), format);
    return turning->sign * angle;
}

/* The pair whose angle a lane has where the table is laid out for the other pairing:
 * two by two, or one half like the other. */
static size_t crossed_pair(const txd_turning *turning, size_t lane)
{
    return turning->adjacent ? lane % (turning->width / 2) : lane / 2;
}

void txd_turning_apply(double *out, const txd_turning *turning, const double *in,
                       const txd_turned_at *at)
{
    memcpy(out, in, turning->lanes * sizeof *out);
    for (size_t i = 0; i < turning->width / 2; i++) {
        double angle[2];
        size_t lane[2];

        txd_turning_lanes(lane, turning, i);
        for (int side = 0; side < 2; side++)
            angle[side] = txd_turning_angle(
                turning, at,
                turning->is_crossed ? crossed_pair(turning, lane[side]) : i);
        out[lane[0]] = turning->factor *
                       (in[lane[0]] * cos(angle[0]) - in[lane[1]] * sin(angle[0]));
        out[lane[1]] = turning->factor *
                       (in[lane[1]] * cos(angle[1]) + in[lane[0]] * sin(angle[1]));
    }
}

txd_turning txd_turning_of(const txd_config *claimed, int layer, double *speed)
{
    const txd_layer_config *l = &claimed->layers[layer];
    txd_turning out = {.speed = speed,
                       .width = l->rotary ? l->rope_width : 0,
                       .lanes = claimed->head_dim,
                       .adjacent = l->rope_pairing == TXD_PAIRING_ADJACENT,
                       .sign = 1,
                       .factor = 1,
                       .format = TXD_F64};

    if (out.width == 0)
        return out;
    txd_rope_speeds(speed, l);
    if (txd_rope_is_scaled(l))
        out.factor = l->rope_attention_factor;
    return out;
}

double txd_turning_allows(const txd_turning *turning, const txd_pass *pass,
                          const double *in, const size_t lanes[2])
{
    txd_roundoff u = txd_roundoff_of_format(pass->format);
    double size = fabs(in[lanes[0]]) + fabs(in[lanes[1]]), f = fabs(turning->factor);
    double roundings = f == 1 ? TXD_TURN_ROUNDINGS : TXD_TURN_ROUNDINGS_SCALED * f;
    double error = roundings * fmax(u.accumulate, u.store) * size + 4 * u.lost;

    return error + u.store * (f * size + error) + u.tiny;
}

/* ---- rows ---- */

txd_status txd_turned_begin(txd_turned *walk, const txd_block *block, double *rows)
{
    const txd_inputs *inputs = block->pass->inputs;
    const size_t *dims = block->value.dims;
    size_t wanted = txd_picks_wanted(ELEMENTS_JUDGED, dims[1] * dims[3], TOKENS_LEAST);

    *walk = (txd_turned){.out = &block->value, .inputs = inputs, .before = rows};
    walk->after = rows + dims[3];
    TXD_TRY(txd_block_earlier(
        &walk->in, block,
        txd_point_that_turns(block->pass->claimed, block->site->point)));
    if (!block->value.data || !walk->in.data || dims[2] != inputs->length)
        return TXD_ERR_MISSING;
    walk->picks = txd_picks_of(inputs->valid, inputs->batch * inputs->length, wanted);
    walk->at.head = dims[1] - 1; /* the next row is one of a new token */
    return TXD_OK;
}

bool txd_turned_next(txd_turned *walk)
{
    const size_t *dims = walk->out->dims;
    size_t place, first;

    if (++walk->at.head == dims[1]) {
        if (!txd_picks_next(&place, &walk->picks))
            return false;
        walk->at = (txd_turned_at){.batch = place / walk->inputs->length,
                                   .token = place % walk->inputs->length,
                                   .position = walk->inputs->positions[place]};
    }
    first = ((walk->at.batch * dims[1] + walk->at.head) * dims[2] + walk->at.token) *
            dims[3];
    txd_kept_read(walk->before, &walk->in, first, dims[3]);
    txd_kept_read(walk->after, walk->out, first, dims[3]);
    return true;
}

unsigned txd_turned_ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE &&
                   (site->point == TXD_POINT_ATTN_Q || site->point == TXD_POINT_ATTN_K)
               ? TXD_ASK_VALUE
               : 0;
}

size_t txd_turned_which(txd_point point)
{
    return point == TXD_POINT_ATTN_K;
}

const char *txd_turned_inapplicable(const txd_check_context *context)
{
    return context->claimed->positions == TXD_POSITIONS_ROTARY
               ? NULL
               : "the model has no rotary positions";
}

const txd_point *txd_turned_operand(const txd_config *claimed, txd_point point)
{
    static const txd_point sources[4][2] = {{TXD_POINT_ATTN_Q_PROJ, TXD_POINT_COUNT},
                                            {TXD_POINT_ATTN_K_PROJ, TXD_POINT_COUNT},
                                            {TXD_POINT_ATTN_Q_NORM, TXD_POINT_COUNT},
                                            {TXD_POINT_ATTN_K_NORM, TXD_POINT_COUNT}};

    if (point != TXD_POINT_ATTN_Q && point != TXD_POINT_ATTN_K)
        return NULL;
    return sources[2 * (claimed->qk_norm != TXD_QK_NORM_NONE) +
                   txd_turned_which(point)];
}

#define VALUE(point)                                                                   \
    {                                                                                  \
        TXD_POINT_##point, TXD_ASK_VALUE                                               \
    }
#define OR                                                                             \
    {                                                                                  \
        TXD_POINT_COUNT, 0                                                             \
    }

/* Both, queries alone, keys alone; normalised or not. */
const struct txd_check_need txd_turned_needs[] = {
    VALUE(ATTN_Q),
    VALUE(ATTN_K),
    VALUE(ATTN_Q_NORM),
    VALUE(ATTN_K_NORM),
    OR,
    VALUE(ATTN_Q),
    VALUE(ATTN_Q_NORM),
    OR,
    VALUE(ATTN_K),
    VALUE(ATTN_K_NORM),
    OR,
    VALUE(ATTN_Q),
    VALUE(ATTN_K),
    VALUE(ATTN_Q_PROJ),
    VALUE(ATTN_K_PROJ),
    OR,
    VALUE(ATTN_Q),
    VALUE(ATTN_Q_PROJ),
    OR,
    VALUE(ATTN_K),
    VALUE(ATTN_K_PROJ),
    {TXD_POINT_COUNT, 1},
};
