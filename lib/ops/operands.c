/* SPDX-License-Identifier: MIT
 *
 * One function per structure of arguments says what its pointers point to; those that
 * lie within one another are joined afterwards.
 */
#include "ops/operands.h"

static void add(struct txd_operands *list, const struct txd_operand *operand)
{
    if (txd_operand_at(operand) != NULL)
        list->of[list->count++] = *operand;
}

/* ---- read, or written: `count` values in a row, or rows that are apart ---- */

static void in(struct txd_operands *list, const void **slot, size_t count)
{
    add(list,
        &(struct txd_operand){.in = slot, .rows = 1, .width = count, .stride = count});
}

static void out(struct txd_operands *list, void **slot, size_t count)
{
    add(list,
        &(struct txd_operand){.out = slot, .rows = 1, .width = count, .stride = count});
}

static void in_rows(struct txd_operands *list, const void **slot, const size_t shape[3])
{
    add(list, &(struct txd_operand){
                  .in = slot, .rows = shape[0], .width = shape[1], .stride = shape[2]});
}

static void out_rows(struct txd_operands *list, void **slot, const size_t shape[3])
{
    add(list,
        &(struct txd_operand){
            .out = slot, .rows = shape[0], .width = shape[1], .stride = shape[2]});
}

/* ---- whole values ---- */

/* Rows of a table that ids can reach. */
static size_t table_rows(const int32_t *ids, size_t count)
{
    int32_t most = -1;

    for (size_t i = 0; i < count; i++)
        most = ids[i] > most ? ids[i] : most;
    return (size_t)(most + 1);
}

static void list_embed(struct txd_operands *l, struct txd_embed_args *a)
{
    out(l, &a->out, a->rows * a->width);
    in(l, &a->table, table_rows(a->ids, a->rows) * a->width);
}

static void list_embed_back(struct txd_operands *l, struct txd_embed_back_args *a)
{
    out(l, &a->d_table, table_rows(a->ids, a->rows) * a->width);
    in(l, &a->d_out, a->rows * a->width);
}

static void list_sinusoid(struct txd_operands *l, struct txd_sinusoid_args *a)
{
    out(l, &a->out, a->rows * a->width);
}

static void list_linear(struct txd_operands *l, struct txd_linear_args *a)
{
    out(l, &a->out, a->rows * a->n);
    in(l, &a->x, a->rows * a->k);
    in(l, &a->weight, a->n * a->k);
    in(l, &a->bias, a->n);
}

static void list_linear_back(struct txd_operands *l, struct txd_linear_back_args *a)
{
    out(l, &a->d_x, a->rows * a->k);
    out(l, &a->d_weight, a->n * a->k);
    out(l, &a->d_bias, a->n);
    in(l, &a->d_out, a->rows * a->n);
    in(l, &a->x, a->rows * a->k);
    in(l, &a->weight, a->n * a->k);
}

static void list_norm(struct txd_operands *l, struct txd_norm_args *a)
{
    out(l, &a->out, a->rows * a->width);
    in(l, &a->x, a->rows * a->width);
    in(l, &a->gain, a->width);
    in(l, &a->bias, a->width);
}

static void list_norm_back(struct txd_operands *l, struct txd_norm_back_args *a)
{
    out(l, &a->d_x, a->rows * a->width);
    out(l, &a->d_gain, a->width);
    out(l, &a->d_bias, a->width);
    in(l, &a->d_out, a->rows * a->width);
    in(l, &a->x, a->rows * a->width);
    in(l, &a->gain, a->width);
}

static void list_activate(struct txd_operands *l, struct txd_activate_args *a)
{
    out(l, &a->out, a->count);
    in(l, &a->x, a->count);
}

static void list_activate_back(struct txd_operands *l, struct txd_activate_back_args *a)
{
    out(l, &a->d_x, a->count);
    in(l, &a->d_out, a->count);
    in(l, &a->x, a->count);
}

static void list_pair(struct txd_operands *l, struct txd_pair_args *a)
{
    out(l, &a->out, a->count);
    in(l, &a->a, a->count);
    in(l, &a->b, a->count);
}

static void list_pair_back(struct txd_operands *l, struct txd_pair_back_args *a)
{
    out(l, &a->d_a, a->count);
    out(l, &a->d_b, a->count);
    in(l, &a->d_out, a->count);
    in(l, &a->a, a->count);
    in(l, &a->b, a->count);
}

static void list_scale(struct txd_operands *l, struct txd_scale_args *a)
{
    out(l, &a->out, a->count);
    in(l, &a->x, a->count);
}

static void list_heads(struct txd_operands *l, struct txd_heads_args *a)
{
    size_t count = a->batch * a->length * a->heads * a->width;

    out(l, &a->out, count);
    in(l, &a->x, count);
}

static void list_rotate(struct txd_operands *l, struct txd_rotate_args *a)
{
    size_t count = a->batch * a->heads * a->length * a->width;

    out(l, &a->out, count);
    in(l, &a->x, count);
}

static void list_loss(struct txd_operands *l, struct txd_loss_args *a)
{
    out(l, &a->out, a->rows);
    in(l, &a->logits, a->rows * a->vocab);
}

static void list_loss_back(struct txd_operands *l, struct txd_loss_back_args *a)
{
    out(l, &a->d_logits, a->rows * a->vocab);
    in(l, &a->d_out, a->rows);
    in(l, &a->logits, a->rows * a->vocab);
}

/* ---- tiles of attention ---- */

static void list_visible(struct txd_operands *l, struct txd_visible_args *a)
{
    (void)l;
    (void)a;
}

static void list_scores(struct txd_operands *l, struct txd_scores_args *a)
{
    out_rows(l, &a->out, (const size_t[3]){a->rows, a->keys, a->stride});
    in(l, &a->q, a->rows * a->width);
    in(l, &a->k, a->keys * a->width);
}

static void list_scores_back(struct txd_operands *l, struct txd_scores_back_args *a)
{
    out(l, &a->d_q, a->rows * a->width);
    out(l, &a->d_k, a->keys * a->width);
    in_rows(l, &a->d_out, (const size_t[3]){a->rows, a->keys, a->stride});
    in(l, &a->q, a->rows * a->width);
    in(l, &a->k, a->keys * a->width);
}

static void list_softcap(struct txd_operands *l, struct txd_softcap_args *a)
{
    const size_t tile[3] = {a->rows, a->width, a->stride};

    out_rows(l, &a->out, tile);
    in_rows(l, &a->x, tile);
}

static void list_softcap_back(struct txd_operands *l, struct txd_softcap_back_args *a)
{
    const size_t tile[3] = {a->rows, a->width, a->stride};

    out_rows(l, &a->d_x, tile);
    in_rows(l, &a->d_out, tile);
    in_rows(l, &a->x, tile);
}

static void list_bias(struct txd_operands *l, struct txd_bias_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out_rows(l, &a->out, tile);
    in_rows(l, &a->scores, tile);
    if (a->relative == NULL)
        return;
    l->relative = *a->relative;
    a->relative = &l->relative;
    in(l, &l->relative.table, l->relative.buckets * l->relative.heads);
}

static void list_bias_back(struct txd_operands *l, struct txd_bias_back_args *a)
{
    out(l, &a->d_table, a->relative->buckets * a->relative->heads);
    in_rows(l, &a->d_out, (const size_t[3]){a->rows, a->keys, a->stride});
}

static void list_mask(struct txd_operands *l, struct txd_mask_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out_rows(l, &a->out, tile);
    in_rows(l, &a->scores, tile);
}

static void list_mask_back(struct txd_operands *l, struct txd_mask_back_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out_rows(l, &a->d_scores, tile);
    in_rows(l, &a->d_out, tile);
}

static void list_softmax(struct txd_operands *l, struct txd_softmax_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out_rows(l, &a->out, tile);
    in_rows(l, &a->masked, tile);
    in(l, &a->sink, 1);
}

static void list_softmax_back(struct txd_operands *l, struct txd_softmax_back_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out_rows(l, &a->d_masked, tile);
    in_rows(l, &a->d_out, tile);
    in_rows(l, &a->weights, tile);
    in_rows(l, &a->masked, tile);
    in(l, &a->sink, 1);
}

static void list_sink_back(struct txd_operands *l, struct txd_sink_back_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out(l, &a->d_sink, 1);
    in_rows(l, &a->d_out, tile);
    in_rows(l, &a->weights, tile);
    in(l, &a->sink, 1);
}

static void list_stats(struct txd_operands *l, struct txd_stats_args *a)
{
    in_rows(l, &a->x, (const size_t[3]){a->rows, a->width, a->stride});
}

static void list_rows(struct txd_operands *l, struct txd_rows_args *a)
{
    in_rows(l, &a->weights, (const size_t[3]){a->row_count, a->keys, a->stride});
    if (a->measure == NULL)
        return;
    l->measure = *a->measure;
    a->measure = &l->measure;
    list_stats(l, &l->measure);
}

static void list_mix(struct txd_operands *l, struct txd_mix_args *a)
{
    out(l, &a->out, a->rows * a->width);
    in_rows(l, &a->weights, (const size_t[3]){a->rows, a->keys, a->stride});
    in(l, &a->v, a->keys * a->width);
}

static void list_mix_back(struct txd_operands *l, struct txd_mix_back_args *a)
{
    const size_t tile[3] = {a->rows, a->keys, a->stride};

    out_rows(l, &a->d_weights, tile);
    out(l, &a->d_v, a->keys * a->width);
    in(l, &a->d_out, a->rows * a->width);
    in_rows(l, &a->weights, tile);
    in(l, &a->v, a->keys * a->width);
}

/* ---- what the values have in common ---- */

/* Lets both have the memory of both if they share any. */
static bool join(struct txd_operand *a, struct txd_operand *b)
{
    bool same = a->begin == b->begin && a->end == b->end;

    if (same || a->begin >= b->end || b->begin >= a->end)
        return false;
    a->begin = b->begin = a->begin < b->begin ? a->begin : b->begin;
    a->end = b->end = a->end > b->end ? a->end : b->end;
    return true;
}

static void join_all(struct txd_operands *list)
{
    bool joined = true;

    while (joined) {
        joined = false;
        for (size_t i = 0; i < list->count; i++)
            for (size_t k = 0; k < i; k++)
                joined |= join(&list->of[i], &list->of[k]);
    }
}

static void measure(struct txd_operands *list, size_t element)
{
    for (size_t i = 0; i < list->count; i++) {
        struct txd_operand *o = &list->of[i];
        bool empty = o->rows == 0 || o->width == 0;

        o->bytes = empty ? 0 : ((o->rows - 1) * o->stride + o->width) * element;
        o->begin = txd_operand_at(o);
        o->end = o->begin + o->bytes;
    }
    join_all(list);
    for (size_t i = 0; i < list->count; i++) {
        struct txd_operand *o = &list->of[i];

        while (list->of[o->first].begin != o->begin || list->of[o->first].end != o->end)
            o->first++;
    }
}

#define TXD_OP(name, arguments)                                                        \
    void txd_operands_##name(struct txd_operands *list, size_t element,                \
                             struct txd_##arguments##_args *args)                      \
    {                                                                                  \
        *list = (struct txd_operands){.count = 0};                                     \
        list_##arguments(list, args);                                                  \
        measure(list, element);                                                        \
    }
TXD_OPS(TXD_OP)
#undef TXD_OP

const void *txd_operand_at(const struct txd_operand *operand)
{
    return operand->out != NULL ? *operand->out : *operand->in;
}

void txd_operand_move(const struct txd_operand *operand, void *to)
{
    if (operand->out != NULL)
        *operand->out = to;
    else
        *operand->in = to;
}
