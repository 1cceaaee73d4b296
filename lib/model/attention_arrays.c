/* SPDX-License-Identifier: MIT
 *
 * Which of a tile's values share an array. Scores become capped ones, masked scores,
 * these weights, in place, unless what they were is still to be read: by a tap that
 * asked for the values, one that names them at a later point, or a backward entry. The
 * gradients go back in the same way. Statistics are taken before a value is
 * overwritten. A bias is added without being formed, unless somebody looks at it.
 */
#include "model/attention.h"

struct place {
    const txd_run *run;
    int layer;
    txd_attention_kind kind;
    txd_site_kind half;
};

/* NULL if the model has no such point. */
static const struct txd_wish *wish_at(const struct place *p, int which)
{
    int stop = txd_run_stop(p->run, txd_point_of_tile(p->kind, which), p->layer);

    return stop < 0 ? NULL : &p->run->watch[p->half].wishes[stop];
}

static bool is_asked(const struct place *p, int which, unsigned bits)
{
    const struct txd_wish *wish = wish_at(p, which);

    return wish != NULL && (wish->all & bits) != 0;
}

/* True if a tap that is shown a tile at one of the points [begin, end) names `own`. */
static bool is_named(const struct place *p, int own, int begin, int end)
{
    const txd_run *run = p->run;

    for (int which = begin; which < end; which++) {
        const struct txd_wish *wish = wish_at(p, which);

        for (size_t t = 0; wish != NULL && t < run->tap_count; t++)
            if ((wish->of_tap[t] & TXD_ASK_READS) != 0 &&
                txd_tap_names(run->taps[t], txd_point_of_tile(p->kind, which),
                              txd_point_of_tile(p->kind, own)))
                return true;
    }
    return false;
}

/* A value on the way there, which an edit would change where it is. */
static bool is_read_there(const struct place *p, int which)
{
    return is_asked(p, which, TXD_ASK_VALUE | TXD_ASK_EDIT) ||
           is_named(p, which, which + 1, TXD_TILE_POINTS);
}

/* The same value, formed again on the way back. */
static bool is_read_again(const struct place *p, int which)
{
    const struct txd_ops *here = &p->run->layer_ops[p->layer].ops;
    const struct txd_ops *own = &p->run->model->backend->ops;

    if (which == TXD_TILE_SCORES && txd_layer_caps(p->run, p->layer))
        return true;
    if (which == TXD_TILE_MASKED && here->softmax_back != own->softmax_back)
        return true;
    return is_named(p, which, 0, TXD_TILE_POINTS);
}

static bool is_read(const struct place *p, int which)
{
    return p->half == TXD_SITE_GRADIENT ? is_read_again(p, which)
                                        : is_read_there(p, which);
}

static bool is_read_back(const struct place *p, int which)
{
    return is_asked(p, which, TXD_ASK_VALUE) || is_named(p, which, 0, which);
}

/* The bias alone is formed for whoever measures it, too. */
static bool is_bias_formed(const struct place *p)
{
    if (p->half == TXD_SITE_GRADIENT)
        return is_named(p, TXD_TILE_BIAS, 0, TXD_TILE_POINTS);
    return is_asked(p, TXD_TILE_BIAS, ~0u) || is_read_there(p, TXD_TILE_BIAS);
}

/* Without capping the capped scores are the scores. */
static void place_values(struct txd_tile_arrays *a, const struct place *p)
{
    bool caps = txd_layer_caps(p->run, p->layer), kept = is_read(p, TXD_TILE_SCORES);

    a->values = 1;
    if (caps) {
        a->values += kept;
        a->value[TXD_TILE_CAPPED] = (uint8_t)(a->values - 1);
        kept = false;
    }
    kept = is_read(p, TXD_TILE_CAPPED) || kept;
    a->values += kept;
    a->value[TXD_TILE_MASKED] = (uint8_t)(a->values - 1);
    a->values += is_read(p, TXD_TILE_MASKED);
    a->value[TXD_TILE_WEIGHTS] = (uint8_t)(a->values - 1);
    a->value[TXD_TILE_BIAS] = TXD_NO_ARRAY;
    if (is_bias_formed(p))
        a->value[TXD_TILE_BIAS] = a->values++;
}

/* What is added to scores has their gradient. */
static void place_gradients(struct txd_tile_arrays *a, const struct place *p)
{
    bool kept;

    a->gradients = 1;
    a->gradients += is_read_back(p, TXD_TILE_WEIGHTS);
    a->gradient[TXD_TILE_MASKED] = (uint8_t)(a->gradients - 1);
    a->gradients += is_read_back(p, TXD_TILE_MASKED);
    a->gradient[TXD_TILE_BIAS] = a->gradient[TXD_TILE_CAPPED] =
        (uint8_t)(a->gradients - 1);
    kept = is_read_back(p, TXD_TILE_BIAS) || is_read_back(p, TXD_TILE_CAPPED);
    if (txd_layer_caps(p->run, p->layer))
        a->gradients += kept;
    a->gradient[TXD_TILE_SCORES] = (uint8_t)(a->gradients - 1);
}

struct txd_tile_arrays txd_tile_arrays(const txd_run *run, int layer,
                                       txd_attention_kind kind, txd_site_kind half)
{
    const struct place p = {run, layer, kind, half};
    struct txd_tile_arrays arrays = {.values = 0};

    place_values(&arrays, &p);
    if (half == TXD_SITE_GRADIENT)
        place_gradients(&arrays, &p);
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

    for (int which = 0; which < TXD_TILE_POINTS; which++) {
        bool none = a->value[which] == TXD_NO_ARRAY;

        tile->value[which] = none ? NULL : tile->values[a->value[which]];
        tile->gradient[which] = tile->gradients[a->gradient[which]];
    }
}
