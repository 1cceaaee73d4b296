/* SPDX-License-Identifier: MIT
 *
 * The claimed norms, their parameters, and one row of one of them in double.
 */
#include "checks/stream/norm.h"
#include "checks/sample.h"

#include <math.h>
#include <stdlib.h>

/* Of one norm, per step; tokens at least. */
#define ELEMENTS_JUDGED 4096
#define TOKENS_LEAST 16

/* The same model with its norms where they are often put by mistake. */
static txd_config elsewhere_of(const txd_config *c)
{
    txd_config elsewhere = *c;
    bool is_before = c->norm_placement == TXD_PLACEMENT_PRE ||
                     c->norm_placement == TXD_PLACEMENT_SANDWICH;

    elsewhere.norm_placement = is_before ? TXD_PLACEMENT_POST : TXD_PLACEMENT_PRE;
    return elsewhere;
}

static txd_status add(txd_norms *norms, const txd_config *c, txd_point out, int layer)
{
    txd_norm *norm = &norms->list[norms->count];
    const txd_config elsewhere = elsewhere_of(c);
    int last = (int)c->n_layers - 1;

    if (!txd_point_exists(c, out) || txd_point_per_layer(out) != (layer >= 0))
        return TXD_OK;
    *norm = (txd_norm){.out = out,
                       .in = txd_input_of_norm(c, out),
                       .in_elsewhere = txd_point_exists(&elsewhere, out)
                                           ? txd_input_of_norm(&elsewhere, out)
                                           : TXD_POINT_COUNT,
                       .layer = layer,
                       .width = c->d_model,
                       .parts = 1,
                       .eps = c->layers[layer < 0 ? last : layer].norm_eps,
                       .offset = c->norm_offset,
                       .centred = c->norm == TXD_NORM_LAYER};
    norms->count++;
    if (txd_param_exists(c, txd_norm_bias(out)))
        return TXD_OK;
    norm->bias = calloc(c->d_model, sizeof *norm->bias);
    return norm->bias ? TXD_OK : txd_fail(TXD_ERR_MEMORY, "no memory for a bias");
}

/* Norms of queries and keys, which have no bias. Those of the keys of a memory are of
 * other tokens. */
static const struct {
    txd_point out, in;
    txd_param_id gain;
} of_heads[] = {
    {TXD_POINT_ATTN_Q_NORM, TXD_POINT_ATTN_Q_PROJ, TXD_PARAM_Q_NORM_WEIGHT},
    {TXD_POINT_ATTN_K_NORM, TXD_POINT_ATTN_K_PROJ, TXD_PARAM_K_NORM_WEIGHT},
    {TXD_POINT_CROSS_Q_NORM, TXD_POINT_CROSS_Q_PROJ, TXD_PARAM_CROSS_Q_NORM_WEIGHT},
};
enum { OF_HEADS = sizeof of_heads / sizeof *of_heads };

static txd_status add_of_heads(txd_norms *norms, const txd_config *c, int layer)
{
    for (size_t i = 0; i < OF_HEADS; i++) {
        bool keys = of_heads[i].out == TXD_POINT_ATTN_K_NORM;
        size_t heads = keys ? c->n_kv_heads : c->n_heads;
        txd_norm *norm = &norms->list[norms->count];

        if (layer < 0 || !txd_point_exists(c, of_heads[i].out))
            continue;
        *norm = (txd_norm){.out = of_heads[i].out,
                           .in = of_heads[i].in,
                           .in_elsewhere = TXD_POINT_COUNT,
                           .layer = layer,
                           .width = c->head_dim,
                           .parts = heads,
                           .eps = c->layers[layer].norm_eps,
                           .offset = c->norm_offset,
                           .centred = c->norm == TXD_NORM_LAYER};
        if (c->qk_norm == TXD_QK_NORM_WIDTH) {
            norm->width *= heads;
            norm->parts = 1;
        }
        norms->count++;
        norm->bias = calloc(norm->width, sizeof *norm->bias);
        if (!norm->bias)
            return txd_fail(TXD_ERR_MEMORY, "no memory for a bias");
    }
    return TXD_OK;
}

static txd_status add_all(txd_norms *norms, const txd_config *c, int layer)
{
    TXD_TRY(add_of_heads(norms, c, layer));
    for (size_t i = 0; i < txd_norm_point_count; i++)
        TXD_TRY(add(norms, c, txd_norm_point(i), layer));
    return TXD_OK;
}

txd_status txd_norms_create(txd_norms *out, const txd_config *claimed)
{
    txd_status status = TXD_OK;

    *out = (txd_norms){0};
    out->list = calloc((claimed->n_layers + 1) * (txd_norm_point_count + OF_HEADS),
                       sizeof *out->list);
    if (!out->list)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the norms");
    out->layers = claimed->n_layers;
    for (size_t l = 0; l < claimed->n_layers; l++) {
        if (status == TXD_OK)
            status = add_all(out, claimed, (int)l);
        out->each = l == 0 ? out->count : out->each;
    }
    if (status == TXD_OK)
        status = add_all(out, claimed, -1);
    if (status != TXD_OK)
        txd_norms_destroy(out);
    return status;
}

void txd_norms_destroy(txd_norms *norms)
{
    for (size_t i = 0; i < norms->count; i++) {
        free(norms->list[i].gain);
        free(norms->list[i].bias);
    }
    free(norms->list);
    *norms = (txd_norms){0};
}

txd_norm *txd_norms_find(const txd_norms *norms, txd_point out, int layer)
{
    size_t before = layer < 0 ? norms->layers : (size_t)layer;

    for (size_t i = before * norms->each;
         i < norms->count && norms->list[i].layer == layer; i++)
        if (norms->list[i].out == out)
            return &norms->list[i];
    return NULL;
}

/* Where the parameter of a site belongs; NULL if to no norm. */
static double **place_of(const txd_norms *norms, const txd_site *site, txd_norm **norm)
{
    txd_param_id id = txd_law_param(site->name, site->layer);

    for (size_t i = 0; i < txd_norm_point_count; i++) {
        txd_point out = txd_norm_point(i);

        if (txd_norm_gain(out) != id && txd_norm_bias(out) != id)
            continue;
        *norm = txd_norms_find(norms, out, site->layer);
        if (!*norm)
            return NULL;
        return txd_norm_gain(out) == id ? &(*norm)->gain : &(*norm)->bias;
    }
    for (size_t i = 0; i < OF_HEADS; i++)
        if (of_heads[i].gain == id) {
            *norm = txd_norms_find(norms, of_heads[i].out, site->layer);
            return *norm ? &(*norm)->gain : NULL;
        }
    return NULL;
}

bool txd_norms_wants(const txd_norms *norms, const txd_site *site)
{
    txd_norm *norm;

    return site->kind == TXD_SITE_PARAMETER && place_of(norms, site, &norm) != NULL;
}

txd_status txd_norms_take(txd_norms *norms, const txd_block *block)
{
    txd_norm *norm;
    double **place = place_of(norms, block->site, &norm), *before;

    if (!place)
        return TXD_OK;
    before = *place;
    TXD_TRY(txd_law_vector(place, block, norm->width));
    if (place != &norm->gain || *place == before)
        return TXD_OK;
    for (size_t i = 0; i < norm->width; i++)
        norm->gain[i] += norm->offset;
    return TXD_OK;
}

size_t txd_norms_width(const txd_norms *norms)
{
    size_t widest = 0;

    for (size_t i = 0; i < norms->count; i++)
        widest = norms->list[i].width > widest ? norms->list[i].width : widest;
    return widest;
}

size_t txd_norms_tokens(const txd_config *claimed)
{
    return txd_picks_wanted(ELEMENTS_JUDGED, claimed->d_model, TOKENS_LEAST);
}

/* As lib/ops/bounds.c derives it: the mean is off by gamma_n mean|x|, hence each
 * deviation by at most delta; the variance by 2 delta / sd and gamma_{n+2} relatively;
 * then a handful of roundings. The gain and the bias are rounded once to the format of
 * the values, and so is the result. Of a gain with an offset it is the parameter that
 * is rounded, and the sum once more: each is no more than the gain and the offset. */
void txd_norm_expect(double *out, double *allowed, const txd_norm *norm,
                     const double *x, txd_roundoff u)
{
    double n = (double)norm->width, mean = 0, size = 0, largest = 0, squares = 0;
    double gamma = txd_law_gamma(n + 8, u.accumulate), delta, sd, inverse;

    for (size_t i = 0; i < norm->width; i++) {
        mean += x[i];
        size += fabs(x[i]);
        largest = largest < fabs(x[i]) ? fabs(x[i]) : largest;
    }
    mean = norm->centred ? mean / n : 0;
    for (size_t i = 0; i < norm->width; i++)
        squares += (x[i] - mean) * (x[i] - mean);
    sd = sqrt(squares / n + norm->eps);
    inverse = 1 / sd;
    delta = norm->centred ? gamma * (size / n + largest) / sd : 0;
    for (size_t i = 0; i < norm->width; i++) {
        double z = (x[i] - mean) * inverse, core = norm->gain[i] * z;
        double terms = fabs(core) + fabs(norm->bias[i]), error;

        out[i] = core + norm->bias[i];
        error = fabs(norm->gain[i]) * delta + fabs(core) * (gamma + delta) +
                8 * u.accumulate * terms +
                u.lost * (4 + 4 * fabs(norm->gain[i]) * inverse) + u.store * terms +
                u.tiny * (fabs(z) + 1);
        if (norm->offset != 0)
            error += (u.store + u.accumulate + 0x1p-53) *
                     (fabs(norm->gain[i]) + fabs(norm->offset)) * fabs(z);
        allowed[i] = error + u.store * (fabs(out[i]) + error) + u.tiny;
    }
}
