/* SPDX-License-Identifier: MIT
 *
 * Which of a tile's values share an array. Scores become masked scores, these weights,
 * in place, unless what they were is still to be read: by a tap that asked for the
 * values, one that names them at a later point, or a fault's backward entry. The
 * gradients go back in the same way. Statistics are taken before a value is
 * overwritten.
 */
#include "model/attention.h"

/* In the order in which each half forms them. */
static const txd_point there[3] = {TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_MASKED,
                                   TXD_POINT_ATTN_WEIGHTS};
static const txd_point back[3] = {TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_MASKED,
                                  TXD_POINT_ATTN_SCORES};

struct place {
    const txd_run *run;
    int layer;
    txd_attention_kind kind;
    txd_site_kind half;
};

static const struct txd_wish *wish_at(const struct place *p, txd_point own)
{
    int stop = txd_run_stop(p->run, txd_point_in(p->kind, own), p->layer);

    return &p->run->watch[p->half].wishes[stop];
}

/* True if a tap that is shown a tile at one of these points names `own` there. */
static bool is_named(const struct place *p, txd_point own, const txd_point *at,
                     size_t count)
{
    const txd_run *run = p->run;

    for (size_t i = 0; i < count; i++)
        for (size_t t = 0; t < run->tap_count; t++)
            if ((wish_at(p, at[i])->of_tap[t] & TXD_ASK_READS) != 0 &&
                txd_tap_names(run->taps[t], txd_point_in(p->kind, at[i]),
                              txd_point_in(p->kind, own)))
                return true;
    return false;
}

/* A value on the way there, which an edit would change where it is. */
static bool is_read_there(const struct place *p, int i)
{
    return (wish_at(p, there[i])->all & (TXD_ASK_VALUE | TXD_ASK_EDIT)) != 0 ||
           is_named(p, there[i], there + i + 1, (size_t)(2 - i));
}

/* The same value, formed again on the way back. */
static bool is_read_again(const struct place *p, int i)
{
    const struct txd_ops *here = &p->run->layer_ops[p->layer].ops;
    const struct txd_ops *own = &p->run->model->backend->ops;

    if (there[i] == TXD_POINT_ATTN_MASKED && here->softmax_back != own->softmax_back)
        return true;
    return is_named(p, there[i], back, 3);
}

static bool is_read_back(const struct place *p, int i)
{
    return (wish_at(p, back[i])->all & TXD_ASK_VALUE) != 0 ||
           is_named(p, back[i], back + i + 1, (size_t)(2 - i));
}

struct txd_tile_arrays txd_tile_arrays(const txd_run *run, int layer,
                                       txd_attention_kind kind, txd_site_kind half)
{
    const struct place p = {run, layer, kind, half};
    bool is_back = half == TXD_SITE_GRADIENT;
    struct txd_tile_arrays arrays = {.values = 1, .gradients = 1};

    for (int i = 0; i < 2; i++) {
        arrays.values += is_back ? is_read_again(&p, i) : is_read_there(&p, i);
        arrays.value[i + 1] = (uint8_t)(arrays.values - 1);
        arrays.gradients += is_back && is_read_back(&p, i);
        arrays.gradient[i + 1] = (uint8_t)(arrays.gradients - 1);
    }
    if (!is_back)
        arrays.gradients = 0;
    return arrays;
}

static void join(struct txd_tile_arrays *most, const struct txd_tile_arrays *arrays)
{
    if (arrays->values > most->values)
        most->values = arrays->values;
    if (arrays->gradients > most->gradients)
        most->gradients = arrays->gradients;
}

struct txd_tile_arrays txd_tile_arrays_needed(const txd_run *run)
{
    const txd_config *c = run->model->config;
    struct txd_tile_arrays most = {0};

    for (size_t i = 0; i < 2 * c->n_layers; i++) {
        txd_attention_kind kind = (txd_attention_kind)(i % 2);
        struct txd_tile_arrays arrays;

        if (kind == TXD_ATTENTION_CROSS && !c->cross)
            continue;
        arrays = txd_tile_arrays(run, (int)(i / 2), kind, TXD_SITE_VALUE);
        join(&most, &arrays);
        if (!run->options.backward)
            continue;
        arrays = txd_tile_arrays(run, (int)(i / 2), kind, TXD_SITE_GRADIENT);
        join(&most, &arrays);
    }
    return most;
}

void txd_tile_take_arrays(const struct txd_attention *job, struct txd_tile *tile)
{
    const struct txd_tile_arrays *a = &job->arrays;

    tile->scores = tile->values[a->value[0]];
    tile->masked = tile->values[a->value[1]];
    tile->weights = tile->values[a->value[2]];
    tile->d_weights = tile->gradients[a->gradient[0]];
    tile->d_masked = tile->gradients[a->gradient[1]];
    tile->d_scores = tile->gradients[a->gradient[2]];
}
