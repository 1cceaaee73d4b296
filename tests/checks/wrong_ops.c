/* SPDX-License-Identifier: MIT
 *
 * Each replaces one entry, or the few that one mistake is made of.
 */
#include "wrong_ops.h"

#include <math.h>

#include "faults/fault.h"

#define WRONG(at) ((const wrong_op *)(at).self)
/* Beyond this float16 rounds to infinity. */
#define HALF_LIMIT 65520.0f

static void put(struct txd_layer_ops *ops, void *self, int op)
{
    ops->self[op] = self;
}

static void keep_below(const struct txd_layer_ops *ops, void *self)
{
    ((wrong_op *)self)->below = *ops;
}

/* ---- masks ---- */

static bool shows(const struct txd_mask_args *args, size_t r, size_t j)
{
    txd_span span;

    if (args->visible)
        return args->visible[r * args->stride + j] != 0;
    span = txd_span_of(args->spans, r, 0, args->keys);
    return j >= span.begin && j < span.end;
}

static float in_half(float x)
{
    return fabsf(x) >= HALF_LIMIT ? copysignf(INFINITY, x) : x;
}

static txd_status mask_twice(txd_ctx *ctx, const struct txd_mask_args *args)
{
    float fill = (float)args->fill;

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys; j++) {
            size_t i = r * args->stride + j;
            float score = ((const float *)args->scores)[i];
            bool is_closed = args->at.first_query + (int)r == CLOSED_QUERY;

            ((float *)args->out)[i] = is_closed           ? in_half(score + fill + fill)
                                      : shows(args, r, j) ? score
                                                          : fill;
        }
    return TXD_OK;
}

void wrong_mask_twice(struct txd_layer_ops *ops, void *self)
{
    ops->ops.mask = mask_twice;
    put(ops, self, TXD_OP_mask);
}

static txd_status mask_padding(txd_ctx *ctx, const struct txd_mask_args *args)
{
    size_t padded =
        args->at.batch == 1 && args->at.point == (int)WRONG(args->at)->masked
            ? WRONG(args->at)->padded
            : 0;

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys; j++) {
            size_t i = r * args->stride + j;

            ((float *)args->out)[i] = j >= padded && shows(args, r, j)
                                          ? ((const float *)args->scores)[i]
                                          : (float)args->fill;
        }
    return TXD_OK;
}

void wrong_mask_padding(struct txd_layer_ops *ops, void *self)
{
    ops->ops.mask = mask_padding;
    put(ops, self, TXD_OP_mask);
}

/* ---- softmax ---- */

static txd_status softmax(txd_ctx *ctx, const struct txd_softmax_args *args)
{
    const wrong_op *way = WRONG(args->at);

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = (const float *)args->masked + r * args->stride;
        float *out = (float *)args->out + r * args->stride, sum = 0;
        float max = (float)way->start;

        for (size_t j = 0; j < args->keys && !way->is_constant; j++)
            max = fmaxf(max, x[j]);
        args->max[r] = (double)max;
        for (size_t j = 0; j < args->keys; j++)
            sum += out[j] = expf(x[j] - max);
        for (size_t j = 0; j < args->keys; j++)
            out[j] /= way->is_guarded && sum == 0 ? 1 : sum;
        args->lse[r] = (double)max + log((double)sum);
    }
    return TXD_OK;
}

void wrong_softmax(struct txd_layer_ops *ops, void *self)
{
    ops->ops.softmax = softmax;
    put(ops, self, TXD_OP_softmax);
}

static txd_status softmax_again(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    (void)ctx;
    for (size_t r = 0; r < args->rows; r++) {
        const float *x = (const float *)args->masked + r * args->stride;
        const float *g = (const float *)args->d_out + r * args->stride;
        float *out = (float *)args->d_masked + r * args->stride, sum = 0, mean = 0;

        for (size_t j = 0; j < args->keys; j++)
            sum += expf(x[j]);
        for (size_t j = 0; j < args->keys; j++)
            mean += expf(x[j]) / sum * g[j];
        for (size_t j = 0; j < args->keys; j++)
            out[j] = expf(x[j]) / sum * (g[j] - mean);
    }
    return TXD_OK;
}

void wrong_softmax_back(struct txd_layer_ops *ops, void *self)
{
    ops->ops.softmax_back = softmax_again;
    put(ops, self, TXD_OP_softmax_back);
}

/* -Inf - (-Inf) in rows without keys. */
static txd_status empty_back(txd_ctx *ctx, const struct txd_softmax_back_args *args)
{
    const wrong_op *wrong = WRONG(args->at);
    struct txd_softmax_back_args below = *args;

    below.at.self = wrong->below.self[TXD_OP_softmax_back];
    TXD_TRY(wrong->below.ops.softmax_back(ctx, &below));
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys && args->max[r] == -INFINITY; j++)
            ((float *)args->d_masked)[r * args->stride + j] = NAN;
    return TXD_OK;
}

void wrong_empty_back(struct txd_layer_ops *ops, void *self)
{
    keep_below(ops, self);
    wrong_mask_padding(ops, self);
    ops->ops.softmax_back = empty_back;
    put(ops, self, TXD_OP_softmax_back);
}

/* ---- soft cap ---- */

static txd_status softcap(txd_ctx *ctx, const struct txd_softcap_args *args)
{
    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->width; j++) {
            size_t i = r * args->stride + j;
            float e = expf(2 * ((const float *)args->x)[i] / (float)args->cap);

            ((float *)args->out)[i] = (float)args->cap * (e - 1) / (e + 1);
        }
    return TXD_OK;
}

void wrong_softcap(struct txd_layer_ops *ops, void *self)
{
    ops->ops.softcap = softcap;
    put(ops, self, TXD_OP_softcap);
}

static txd_status softcap_back(txd_ctx *ctx, const struct txd_softcap_back_args *args)
{
    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->width; j++) {
            size_t i = r * args->stride + j;
            float e = expf(2 * ((const float *)args->x)[i] / (float)args->cap);

            ((float *)args->d_x)[i] =
                ((const float *)args->d_out)[i] * 4 * e / ((e + 1) * (e + 1));
        }
    return TXD_OK;
}

void wrong_softcap_back(struct txd_layer_ops *ops, void *self)
{
    ops->ops.softcap_back = softcap_back;
    put(ops, self, TXD_OP_softcap_back);
}

/* ---- norms ---- */

static txd_status norm(txd_ctx *ctx, const struct txd_norm_args *args)
{
    const wrong_op *wrong = WRONG(args->at);
    struct txd_norm_args below = *args;

    below.at.self = wrong->below.self[TXD_OP_norm];
    below.eps = 0;
    return wrong->below.ops.norm(ctx, &below);
}

void wrong_norm(struct txd_layer_ops *ops, void *self)
{
    keep_below(ops, self);
    ops->ops.norm = norm;
    put(ops, self, TXD_OP_norm);
}

static txd_status norm_back(txd_ctx *ctx, const struct txd_norm_back_args *args)
{
    const wrong_op *wrong = WRONG(args->at);
    struct txd_norm_back_args below = *args;

    below.at.self = wrong->below.self[TXD_OP_norm_back];
    below.eps = 0;
    return wrong->below.ops.norm_back(ctx, &below);
}

void wrong_norm_back(struct txd_layer_ops *ops, void *self)
{
    keep_below(ops, self);
    ops->ops.norm_back = norm_back;
    put(ops, self, TXD_OP_norm_back);
}

/* ---- another order ---- */

static txd_status linear(txd_ctx *ctx, const struct txd_linear_args *args)
{
    const float *x = args->x, *weight = args->weight, *bias = args->bias;

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t n = 0; n < args->n; n++) {
            float sum = 0;

            for (size_t k = args->k; k-- > 0;)
                sum += x[r * args->k + k] * weight[n * args->k + k];
            ((float *)args->out)[r * args->n + n] = sum + (bias ? bias[n] : 0);
        }
    return TXD_OK;
}

static txd_status scores(txd_ctx *ctx, const struct txd_scores_args *args)
{
    const float *q = args->q, *k = args->k;

    (void)ctx;
    for (size_t r = 0; r < args->rows; r++)
        for (size_t j = 0; j < args->keys; j++) {
            float sum = 0;

            for (size_t e = args->width; e-- > 0;)
                sum += q[r * args->width + e] * k[j * args->width + e];
            ((float *)args->out)[r * args->stride + j] = (float)args->scale * sum;
        }
    return TXD_OK;
}

void other_order(struct txd_layer_ops *ops, void *self)
{
    ops->ops.linear = linear;
    ops->ops.scores = scores;
    put(ops, self, TXD_OP_linear);
    put(ops, self, TXD_OP_scores);
}

/* ---- values ---- */

static unsigned ask(void *self, const txd_site *site)
{
    const wrong_token *token = self;

    return site->kind == TXD_SITE_VALUE && site->point == token->point &&
                   site->layer == token->layer
               ? TXD_ASK_EDIT
               : 0;
}

/* A value (b, t, width), or (b, heads, t, width). */
static txd_status edit(void *self, txd_block *block)
{
    wrong_token *token = self;
    const size_t *dims = block->value.dims;
    bool has_heads = block->value.rank == 4;
    size_t heads = has_heads ? dims[1] : 1, width = dims[has_heads ? 3 : 2];
    size_t length = dims[has_heads ? 2 : 1];

    for (size_t h = 0; h < heads; h++)
        for (size_t i = 0; i < width; i++) {
            size_t at =
                ((token->batch * heads + h) * length + token->token) * width + i;

            if (block->value.dtype == TXD_F64)
                ((double *)block->value.data)[at] = token->value;
            else
                ((float *)block->value.data)[at] = (float)token->value;
        }
    token->set++;
    return TXD_OK;
}

txd_tap wrong_token_tap(wrong_token *token)
{
    return (txd_tap){.name = "token", .self = token, .ask = ask, .edit = edit};
}
