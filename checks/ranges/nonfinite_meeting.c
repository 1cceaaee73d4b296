/* SPDX-License-Identifier: MIT
 *
 * What met at the first element that is not finite: the parts of the operands that
 * entered it, the row that the softmax read, the row that a norm read, and a score
 * against its query and key.
 */
#include "checks/ranges/finite.h"

#include <math.h>

/* The element under the glass. */
typedef struct glass {
    const txd_block *block;
    const size_t *at;
    txd_point own; /* by its name in self-attention */
    txd_attention_kind kind;
} glass;

static bool is_gradient(const glass *g)
{
    return txd_site_is_gradient(g->block->site->kind);
}

/* The mask of the element's batch row, as the layer claims it. */
static txd_mask_view mask_of(const glass *g)
{
    const txd_pass *pass = g->block->pass;

    return txd_mask_of_attention(g->kind, &pass->claimed->layers[g->block->site->layer],
                                 pass->inputs, g->at[0]);
}

/* A pass lets go of the logits tile by tile; a recording must not say more. */
static bool is_gone(const txd_operand *operand, const txd_site *site)
{
    return txd_point_get(operand->point)->place == TXD_PLACE_ROWS &&
           site->point != operand->point;
}

static void read_operands(txd_meeting *out, const glass *g)
{
    const txd_site *site = g->block->site;

    out->operand_count = txd_operands_of(out->operands, g->block->pass->claimed, site);
    for (size_t i = 0; i < out->operand_count; i++)
        if (is_gone(&out->operands[i], site) ||
            txd_operand_read(&out->parts[i], &out->operands[i], g->block, g->at) !=
                TXD_OK)
            out->parts[i] = (txd_operand_part){.value = (double)NAN};
}

/* ---- the row that the softmax reads ---- */

static bool masked_row(txd_tensor *out, const glass *g)
{
    if (g->own == TXD_POINT_ATTN_MASKED && !is_gradient(g))
        *out = g->block->value;
    else if (txd_block_earlier(out, g->block,
                               txd_point_in(g->kind, TXD_POINT_ATTN_MASKED)) != TXD_OK)
        return false;
    return out->data != NULL;
}

static void read_row(txd_meeting *out, const glass *g)
{
    const size_t *start = g->block->start;
    txd_mask_view mask = mask_of(g);
    txd_tensor tile;

    if (!masked_row(&tile, g))
        return;
    out->has_row = true;
    for (size_t j = 0; j < tile.dims[3]; j++) {
        double x = txd_tensor_get(&tile, (g->at[2] - start[2]) * tile.dims[3] + j);

        out->is_open |= x != -INFINITY;
        if (txd_mask_hides(&mask, g->at[2], start[3] + j) != TXD_SEEN)
            continue;
        out->shown++;
        out->undefined += isnan(x);
        if (!isnan(x) && (out->shown == 1 || isnan(out->highest) || x > out->highest))
            out->highest = x;
    }
}

/* ---- a score ---- */

static double product(const txd_tensor *q, const txd_tensor *k, const size_t *at)
{
    size_t width = q->dims[3], group = q->dims[1] / k->dims[1];
    size_t query = ((at[0] * q->dims[1] + at[1]) * q->dims[2] + at[2]) * width;
    size_t key = ((at[0] * k->dims[1] + at[1] / group) * k->dims[2] + at[3]) * width;
    double sum = 0;

    for (size_t i = 0; i < width; i++)
        sum += txd_tensor_get(q, query + i) * txd_tensor_get(k, key + i);
    return sum;
}

/* The largest finite score of the tile that is judged. */
static bool largest_score(size_t *at, const glass *g)
{
    const txd_tensor *tile = &g->block->value;
    const size_t *start = g->block->start;
    size_t count = tile->dims[2] * tile->dims[3];
    double best = 0;

    at[0] = g->at[0];
    at[1] = g->at[1];
    for (size_t i = 0; i < count; i++) {
        double x = fabs(txd_tensor_get(tile, i));
        size_t cell[4] = {at[0], at[1], start[2] + i / tile->dims[3],
                          start[3] + i % tile->dims[3]};

        if (!isfinite(x) || x <= best || !txd_block_judges(g->block, cell))
            continue;
        best = x;
        at[2] = cell[2];
        at[3] = cell[3];
    }
    return best > 0;
}

static void read_score(txd_meeting *out, const glass *g)
{
    const txd_block *block = g->block;
    size_t at[4];
    txd_tensor q, k;

    if (txd_block_earlier(&q, block, txd_point_in(g->kind, TXD_POINT_ATTN_Q)) ||
        txd_block_earlier(&k, block, txd_point_in(g->kind, TXD_POINT_ATTN_K)) ||
        !q.data || !k.data)
        return;
    out->product = product(&q, &k, g->at);
    if (!largest_score(at, g))
        return;
    out->scale =
        txd_tensor_get(&block->value, (at[2] - block->start[2]) * block->value.dims[3] +
                                          at[3] - block->start[3]) /
        product(&q, &k, at);
}

/* ---- the row that a norm reads ---- */

/* A norm reads one point; the gradient of what it reads comes through it. */
static bool stream_of(txd_point *out, const txd_meeting *m, const glass *g)
{
    *out = is_gradient(g) ? g->block->site->point : m->operands[0].point;
    if (!is_gradient(g))
        return txd_point_is_norm(g->block->site->point) && m->operand_count > 0;
    for (size_t i = 0; i < m->operand_count; i++)
        if (m->operands[i].is_gradient && txd_point_is_norm(m->operands[i].point) &&
            !m->operands[i].is_pointwise)
            return true;
    return false;
}

static void read_stream(txd_meeting *out, const glass *g)
{
    bool centred = g->block->pass->claimed->norm == TXD_NORM_LAYER;
    double mean = 0, sum = 0;
    txd_tensor x;
    size_t first;

    if (!stream_of(&out->stream, out, g) ||
        txd_block_earlier(&x, g->block, out->stream) != TXD_OK || !x.data)
        return;
    first = (g->at[0] * x.dims[1] + g->at[1]) * x.dims[2];
    for (size_t i = 0; centred && i < x.dims[2]; i++)
        mean += txd_tensor_get(&x, first + i);
    /* Of a constant row exactly its element: a sum of shares would not be. */
    mean /= (double)x.dims[2];
    for (size_t i = 0; i < x.dims[2]; i++) {
        double d = txd_tensor_get(&x, first + i) - mean;

        sum += d * d;
    }
    out->variance = sum / (double)x.dims[2];
}

void txd_meeting_clear(txd_meeting *out)
{
    *out = (txd_meeting){.product = (double)NAN,
                         .scale = (double)NAN,
                         .highest = (double)NAN,
                         .variance = (double)NAN};
}

void txd_meeting_read(txd_meeting *out, const txd_block *block, const size_t *at)
{
    const glass g = {block, at, txd_point_in_self(block->site->point),
                     txd_point_attention(block->site->point)};

    txd_meeting_clear(out);
    out->is_set = true;
    for (int axis = 0; axis < block->value.rank; axis++)
        out->at[axis] = at[axis];
    read_operands(out, &g);
    if (g.own == TXD_POINT_ATTN_SCORES && !is_gradient(&g))
        read_score(out, &g);
    else if (g.own == TXD_POINT_ATTN_MASKED || g.own == TXD_POINT_ATTN_WEIGHTS)
        read_row(out, &g);
    else
        read_stream(out, &g);
}
