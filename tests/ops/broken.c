/* SPDX-License-Identifier: MIT
 *
 * Operations that are slightly wrong: nudged, unwritten, or written past the end.
 */
#include "broken.h"

#include <math.h>

#include "ops/ref.h"

size_t broken_result;

#define BREAK(op, arguments, harm)                                                     \
    static txd_status broken_##op(txd_ctx *ctx,                                        \
                                  const struct txd_##arguments##_args *a)              \
    {                                                                                  \
        txd_status status = txd_ref32_##op(ctx, a);                                    \
        harm;                                                                          \
        return status;                                                                 \
    }

/* One part in a thousand of the largest element: what scaling a weight does. */
static void nudge(void *out, size_t count)
{
    float *x = out;
    size_t largest = 0;

    for (size_t i = 1; i < count; i++)
        if (fabsf(x[i]) > fabsf(x[largest]))
            largest = i;
    if (count > 0)
        x[largest] *= 1.001f;
}

static void unwritten(void *out, size_t count)
{
    if (count > 0)
        ((float *)out)[count - 1] = NAN;
}

static void beyond(void *out, size_t count)
{
    ((float *)out)[count] = 0;
}

BREAK(embed, embed, unwritten(a->out, a->rows * a->width))
BREAK(sinusoid, sinusoid, nudge(a->out, a->rows * a->width))
BREAK(linear, linear, nudge(a->out, a->rows * a->n))
BREAK(norm, norm, nudge(a->out, a->rows * a->width))
BREAK(activate, activate, nudge(a->out, a->count))
BREAK(multiply, pair, beyond(a->out, a->count))
BREAK(add, pair, nudge(a->out, a->count))
BREAK(scale, scale, unwritten(a->out, a->count))
BREAK(split_heads, heads, nudge(a->out, a->batch * a->length * a->heads * a->width))
BREAK(merge_heads, heads, beyond(a->out, a->batch * a->length * a->heads * a->width))
BREAK(rotate, rotate, nudge(a->out, a->batch * a->length * a->heads * a->width))
BREAK(visible, visible, if (a->rows * a->keys > 0) a->out[0] ^= 1)
BREAK(scores, scores, nudge(a->out, a->rows * a->stride))
BREAK(softcap, softcap, nudge(a->out, a->rows * a->stride))
BREAK(bias, bias, nudge(a->out, a->rows * a->stride))
BREAK(mask, mask, unwritten(a->out, a->rows * a->stride))
BREAK(softmax, softmax, nudge(a->out, a->rows * a->stride))
BREAK(rows, rows, if (a->row_count > 0) a->rows[TXD_ROW_ENTROPY] += 1e-3)
BREAK(mix, mix, nudge(a->out, a->rows * a->width))
BREAK(loss, loss, ((float *)a->out)[0] *= 1.01f)
BREAK(stats, stats, a->part->nonfinite += 1)

/* A result of a backward entry. */
struct result {
    void *out;
    size_t count;
};

static void harm(const struct result *results)
{
    const struct result *r = &results[broken_result];

    if (r->out != NULL)
        nudge(r->out, r->count);
}

#define BREAK_BACK(op, arguments, ...)                                                 \
    BREAK(op, arguments, harm((const struct result[]){__VA_ARGS__}))

BREAK_BACK(embed_back, embed_back, {a->d_table, a->rows > 0 ? a->width : 0})
BREAK_BACK(linear_back, linear_back, {a->d_x, a->rows * a->k},
           {a->d_weight, a->n * a->k}, {a->d_bias, a->n})
BREAK_BACK(norm_back, norm_back, {a->d_x, a->rows * a->width}, {a->d_gain, a->width},
           {a->d_bias, a->width})
BREAK_BACK(activate_back, activate_back, {a->d_x, a->count})
BREAK_BACK(multiply_back, pair_back, {a->d_a, a->count}, {a->d_b, a->count})
BREAK_BACK(add_back, pair_back, {a->d_a, a->count}, {a->d_b, a->count})
BREAK_BACK(scale_back, scale, {a->out, a->count})
BREAK_BACK(split_heads_back, heads,
           {a->out, a->batch * a->length * a->heads * a->width})
BREAK(merge_heads_back, heads,
      beyond(a->out, a->batch * a->length * a->heads * a->width))
BREAK_BACK(rotate_back, rotate, {a->out, a->batch * a->length * a->heads * a->width})
BREAK_BACK(scores_back, scores_back, {a->d_q, a->rows * a->width},
           {a->d_k, a->keys * a->width})
BREAK_BACK(softcap_back, softcap_back, {a->d_x, a->width})
BREAK(bias_back, bias_back,
      ((float *)a->d_table)[a->relative->head] += a->rows * a->keys > 0 ? 1 : 0)
BREAK(mask_back, mask_back,
      if (a->keys < a->stride && a->rows > 0)((float *)a->d_scores)[a->keys] = 0)
BREAK_BACK(softmax_back, softmax_back, {a->d_masked, a->keys})
BREAK_BACK(sink_back, sink_back, {a->d_sink, a->rows > 0 ? 1 : 0})
BREAK_BACK(mix_back, mix_back, {a->d_weights, a->keys}, {a->d_v, a->keys * a->width})
BREAK_BACK(loss_back, loss_back, {a->d_logits, a->rows * a->vocab})

const struct txd_ops broken_ops = {
#define TXD_OP(name, arguments) .name = broken_##name,
    TXD_OPS(TXD_OP)
#undef TXD_OP
};

size_t broken_results(txd_op op)
{
    switch (op) {
    case TXD_OP_linear_back:
    case TXD_OP_norm_back:
        return 3;
    case TXD_OP_multiply_back:
    case TXD_OP_add_back:
    case TXD_OP_scores_back:
    case TXD_OP_mix_back:
        return 2;
    default:
        return 1;
    }
}
