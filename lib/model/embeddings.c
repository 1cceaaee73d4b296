/* SPDX-License-Identifier: MIT
 *
 * From token ids to what layer 0 reads, and back: the token's embedding, scaled, plus
 * those of its position and its type, normalised; each where the configuration has it
 * (model/block.h).
 */
#include <string.h>

#include "model/backward.h"

static struct txd_layer_ops *ops_of(txd_run *run)
{
    return &run->layer_ops[run->model->config->n_layers];
}

static size_t count_of(const txd_run *run)
{
    return run->batch * run->length * run->model->config->d_model;
}

/* The rows that a point is looked up in, and which of them. */
static struct txd_embed_args lookup(txd_run *run, txd_point out)
{
    const txd_config *c = run->model->config;
    const char *table = run->model->embed_tok;
    const int32_t *ids = run->actual.tokens;

    if (out == TXD_POINT_EMBED_POS) {
        size_t row = c->d_model * txd_dtype_bytes(run->model->backend->dtype);

        table = (const char *)run->model->embed_pos + c->position_offset * row;
        ids = run->actual.positions;
    } else if (out == TXD_POINT_EMBED_TYPE) {
        table = txd_model_parameter(run->model, TXD_PARAM_EMBED_TYPE, -1);
        ids = run->actual.types;
    }
    return (struct txd_embed_args){
        .at = txd_op_at(ops_of(run), TXD_OP_embed, -1, out),
        .out = run->own[out],
        .table = table,
        .ids = ids,
        .rows = run->batch * run->length,
        .width = out == TXD_POINT_EMBED_TOK ? txd_embed_width(c) : c->d_model,
    };
}

static txd_status embed(txd_run *run, txd_point out)
{
    struct txd_embed_args args = lookup(run, out);

    TXD_TRY(ops_of(run)->ops.embed(&run->ctx, &args));
    run->value[out] = run->own[out];
    return txd_taps_offer(run, out, -1);
}

static txd_status embed_back(txd_run *run, txd_point out)
{
    struct txd_embed_args there = lookup(run, out);
    struct txd_embed_back_args args = {
        .at = txd_op_at(ops_of(run), TXD_OP_embed_back, -1, out),
        .d_table = txd_gradient_of(run, there.table),
        .d_out = run->d_own[out],
        .ids = there.ids,
        .rows = there.rows,
        .width = there.width,
    };

    TXD_TRY(txd_taps_offer_gradient(run, out, -1));
    return ops_of(run)->ops.embed_back(&run->ctx, &args);
}

static txd_status sinusoids(txd_run *run)
{
    struct txd_sinusoid_args args = {
        .at = txd_op_at(ops_of(run), TXD_OP_sinusoid, -1, TXD_POINT_EMBED_POS),
        .out = run->own[TXD_POINT_EMBED_POS],
        .positions = run->actual.positions,
        .rows = run->batch * run->length,
        .width = run->model->config->d_model,
    };

    TXD_TRY(ops_of(run)->ops.sinusoid(&run->ctx, &args));
    run->value[TXD_POINT_EMBED_POS] = run->own[TXD_POINT_EMBED_POS];
    return txd_taps_offer(run, TXD_POINT_EMBED_POS, -1);
}

/* To the width of the model. */
static struct txd_linear_map leading_in(const txd_run *run)
{
    const txd_config *c = run->model->config;

    return (struct txd_linear_map){
        .out = TXD_POINT_EMBED_IN,
        .x = run->value[TXD_POINT_EMBED_TOK],
        .weight = txd_model_parameter(run->model, TXD_PARAM_EMBED_IN_WEIGHT, -1),
        .n = c->d_model,
        .k = txd_embed_width(c),
    };
}

static txd_status lead_in(txd_run *run)
{
    struct txd_linear_map map = leading_in(run);

    return txd_layer_linear(run, -1, &map);
}

static txd_status lead_in_back(txd_run *run)
{
    struct txd_linear_back back = {.map = leading_in(run),
                                   .d_out = run->d_own[TXD_POINT_EMBED_IN],
                                   .d_x = run->d_own[TXD_POINT_EMBED_TOK]};

    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_EMBED_IN, -1));
    return txd_layer_linear_back(run, -1, &back);
}

/* What is scaled. */
static txd_point unscaled(const txd_run *run)
{
    return txd_point_exists(run->model->config, TXD_POINT_EMBED_IN)
               ? TXD_POINT_EMBED_IN
               : TXD_POINT_EMBED_TOK;
}

static struct txd_scale_args scaling(txd_run *run, txd_op op)
{
    return (struct txd_scale_args){
        .at = txd_op_at(ops_of(run), op, -1, TXD_POINT_EMBED_SCALED),
        .factor = run->model->config->embed_scale,
        .count = count_of(run),
    };
}

static txd_status scale(txd_run *run)
{
    struct txd_scale_args args = scaling(run, TXD_OP_scale);

    args.out = run->own[TXD_POINT_EMBED_SCALED];
    args.x = run->value[unscaled(run)];
    TXD_TRY(ops_of(run)->ops.scale(&run->ctx, &args));
    run->value[TXD_POINT_EMBED_SCALED] = args.out;
    return txd_taps_offer(run, TXD_POINT_EMBED_SCALED, -1);
}

static txd_status scale_back(txd_run *run)
{
    struct txd_scale_args args = scaling(run, TXD_OP_scale_back);

    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_EMBED_SCALED, -1));
    args.out = run->d_own[unscaled(run)];
    args.x = run->d_own[TXD_POINT_EMBED_SCALED];
    return ops_of(run)->ops.scale_back(&run->ctx, &args);
}

/* All but the last of several sums are at no point. */
static txd_op_site at_sum(txd_run *run, txd_op op, bool last)
{
    return txd_op_at(ops_of(run), op, -1, last ? TXD_POINT_EMBED_OUT : TXD_POINT_COUNT);
}

static txd_status add(txd_run *run)
{
    txd_point terms[TXD_EMBED_TERMS];
    size_t count = txd_embed_terms(terms, run->model->config);
    struct txd_pair_args sum = {.out = run->own[TXD_POINT_EMBED_OUT],
                                .a = run->value[terms[0]],
                                .count = count_of(run)};

    run->value[TXD_POINT_EMBED_OUT] = run->value[terms[0]];
    for (size_t i = 1; i < count; i++) {
        sum.at = at_sum(run, TXD_OP_add, i + 1 == count);
        sum.b = run->value[terms[i]];
        TXD_TRY(ops_of(run)->ops.add(&run->ctx, &sum));
        sum.a = run->value[TXD_POINT_EMBED_OUT] = sum.out;
    }
    if (count == 1)
        TXD_TRY(txd_run_repeat(run, TXD_POINT_EMBED_OUT, sum.count));
    return txd_taps_offer(run, TXD_POINT_EMBED_OUT, -1);
}

/* To all terms; what is left for the ones before a term is kept in the first's. */
static txd_status add_back(txd_run *run)
{
    txd_point terms[TXD_EMBED_TERMS];
    size_t count = txd_embed_terms(terms, run->model->config);
    struct txd_pair_back_args sum = {.d_a = run->d_own[terms[0]],
                                     .d_out = run->d_own[TXD_POINT_EMBED_OUT],
                                     .a = run->value[terms[0]],
                                     .count = count_of(run)};

    TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_EMBED_OUT, -1));
    if (count == 1)
        TXD_TRY(txd_run_copy(run, sum.d_a, sum.d_out, sum.count));
    for (size_t i = count; i-- > 1;) {
        sum.at = at_sum(run, TXD_OP_add_back, i + 1 == count);
        sum.d_b = run->d_own[terms[i]];
        sum.b = run->value[terms[i]];
        TXD_TRY(ops_of(run)->ops.add_back(&run->ctx, &sum));
        sum.d_out = sum.d_a;
    }
    return TXD_OK;
}

txd_status txd_embeddings_forward(txd_run *run)
{
    const txd_config *c = run->model->config;

    TXD_TRY(embed(run, TXD_POINT_EMBED_TOK));
    if (txd_point_exists(c, TXD_POINT_EMBED_IN))
        TXD_TRY(lead_in(run));
    if (txd_point_exists(c, TXD_POINT_EMBED_SCALED))
        TXD_TRY(scale(run));
    if (c->positions == TXD_POSITIONS_LEARNED)
        TXD_TRY(embed(run, TXD_POINT_EMBED_POS));
    if (c->positions == TXD_POSITIONS_SINUSOIDAL)
        TXD_TRY(sinusoids(run));
    if (c->token_types > 0)
        TXD_TRY(embed(run, TXD_POINT_EMBED_TYPE));
    TXD_TRY(add(run));
    return c->embed_norm ? txd_layer_norm(run, -1, TXD_POINT_EMBED_NORM) : TXD_OK;
}

/* From the gradient of what layer 0 reads. */
txd_status txd_embeddings_backward(txd_run *run)
{
    const txd_config *c = run->model->config;

    if (c->embed_norm)
        TXD_TRY(txd_layer_norm_back(run, -1, TXD_POINT_EMBED_NORM));
    TXD_TRY(add_back(run));
    if (c->token_types > 0)
        TXD_TRY(embed_back(run, TXD_POINT_EMBED_TYPE));
    if (c->positions == TXD_POSITIONS_LEARNED)
        TXD_TRY(embed_back(run, TXD_POINT_EMBED_POS));
    if (c->positions == TXD_POSITIONS_SINUSOIDAL)
        TXD_TRY(txd_taps_offer_gradient(run, TXD_POINT_EMBED_POS, -1));
    if (txd_point_exists(c, TXD_POINT_EMBED_SCALED))
        TXD_TRY(scale_back(run));
    if (txd_point_exists(c, TXD_POINT_EMBED_IN))
        TXD_TRY(lead_in_back(run));
    return embed_back(run, TXD_POINT_EMBED_TOK);
}
