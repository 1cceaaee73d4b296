/* SPDX-License-Identifier: MIT
 *
 * How the stops of a pass hang together, by the actual configuration.
 */
#include "model/run_stops.h"

static const txd_config *config_of(const txd_run *run)
{
    return run->model->config;
}

static size_t last_layer(const txd_run *run)
{
    return config_of(run)->n_layers - 1;
}

/* Of a point in an attention of the same kind and layer. */
static size_t beside(const txd_run *run, size_t stop, txd_point own)
{
    txd_attention_kind kind = txd_point_attention(run->order[stop].point);

    return (size_t)txd_run_stop(run, txd_point_in(kind, own), run->order[stop].layer);
}

size_t txd_stops_first_of_work(const txd_run *run, size_t stop)
{
    txd_point own = txd_point_in_self(run->order[stop].point);

    if (own >= TXD_POINT_ATTN_SCORES && own <= TXD_POINT_ATTN_HEADS)
        return beside(run, stop, TXD_POINT_ATTN_SCORES);
    if (own == TXD_POINT_LOSS_TOKEN || own == TXD_POINT_LOGITS)
        return (size_t)txd_run_stop(run, txd_head_out(config_of(run)), -1);
    return stop;
}

size_t txd_stops_last_of_work(const txd_run *run, size_t stop)
{
    txd_point own = txd_point_in_self(run->order[stop].point);

    if (own >= TXD_POINT_ATTN_SCORES && own <= TXD_POINT_ATTN_HEADS)
        return beside(run, stop, TXD_POINT_ATTN_HEADS);
    if (own == TXD_POINT_LOGITS || own == TXD_POINT_LOGITS_RAW)
        return (size_t)txd_run_stop(run, TXD_POINT_LOSS_TOKEN, -1);
    return stop;
}

size_t txd_stops_end_of_layer(const txd_run *run, size_t layer)
{
    return (size_t)txd_run_stop(run, txd_stream_after_layer(config_of(run)),
                                (int)layer);
}

int txd_stops_seen_from(const txd_run *run, size_t stop, txd_point point)
{
    int layer = run->order[stop].layer;

    if (!txd_point_per_layer(point))
        layer = -1;
    else if (layer < 0)
        layer = run->order[stop].point < TXD_POINT_RESID_PRE ? 0 : (int)last_layer(run);
    return txd_run_stop(run, point, layer);
}

size_t txd_stops_operands(size_t out[TXD_OPERANDS], const txd_run *run, size_t stop)
{
    txd_stop here = run->order[stop];
    const txd_site site = {
        .kind = TXD_SITE_VALUE, .point = here.point, .layer = here.layer};
    txd_operand operands[TXD_OPERANDS];
    size_t count = txd_operands_of(operands, config_of(run), &site), kept = 0;

    for (size_t i = 0; i < count; i++) {
        int at = txd_stops_seen_from(run, stop, operands[i].point);

        if (at >= 0)
            out[kept++] = (size_t)at;
    }
    if (here.point == TXD_POINT_RESID_PRE && here.layer > 0)
        out[kept++] = txd_stops_end_of_layer(run, (size_t)here.layer - 1);
    return kept;
}

static bool turns(const txd_run *run, txd_stop stop)
{
    return config_of(run)->layers[stop.layer].rotary &&
           txd_point_attention(stop.point) == TXD_ATTENTION_SELF;
}

size_t txd_stops_repeated(const txd_run *run, size_t stop)
{
    txd_stop here = run->order[stop];
    txd_point terms[TXD_EMBED_TERMS];
    bool scaled =
        here.layer >= 0 && config_of(run)->layers[here.layer].residual_scale != 1;

    switch (txd_point_in_self(here.point)) {
    case TXD_POINT_ATTN_Q:
    case TXD_POINT_ATTN_K:
        return turns(run, here)
                   ? stop
                   : (size_t)txd_run_stop(
                         run, txd_point_that_turns(config_of(run), here.point),
                         here.layer);
    case TXD_POINT_ATTN_BRANCH:
    case TXD_POINT_MLP_BRANCH: /* behind the output of the part */
        return scaled ? stop : stop - 1;
    case TXD_POINT_EMBED_OUT:
        return txd_embed_terms(terms, config_of(run)) > 1
                   ? stop
                   : (size_t)txd_run_stop(run, terms[0], -1);
    case TXD_POINT_RESID_PRE:
        return here.layer > 0
                   ? txd_stops_end_of_layer(run, (size_t)here.layer - 1)
                   : (size_t)txd_run_stop(run, txd_embed_end(config_of(run)), -1);
    default:
        return stop;
    }
}
