/* SPDX-License-Identifier: MIT
 *
 * The claimed norms, their parameters, and one row of one of them in double.
 */
#include "checks/norm.h"
#include "checks/sample.h"

#include <math.h>
#include <stdlib.h>

/* Of one norm, per step; tokens at least. */
#define ELEMENTS_JUDGED 4096
#define TOKENS_LEAST 16

/* The parameters of the norm whose output a point is. */
static const struct {
    txd_point out;
    txd_param_id gain, bias;
} params[] = {
    {TXD_POINT_NORM1_OUT, TXD_PARAM_NORM1_WEIGHT, TXD_PARAM_NORM1_BIAS},
    {TXD_POINT_NORM_CROSS_OUT, TXD_PARAM_NORM_CROSS_WEIGHT, TXD_PARAM_NORM_CROSS_BIAS},
    {TXD_POINT_NORM2_OUT, TXD_PARAM_NORM2_WEIGHT, TXD_PARAM_NORM2_BIAS},
    {TXD_POINT_FINAL_NORM, TXD_PARAM_FINAL_WEIGHT, TXD_PARAM_FINAL_BIAS},
};

enum { KINDS = sizeof params / sizeof *params };

static txd_status add(txd_norms *norms, const txd_config *c, int kind, int layer)
{
    txd_norm *norm = &norms->list[norms->count];
    txd_config elsewhere = *c;
    int last = (int)c->n_layers - 1;

    if (!txd_point_exists(c, params[kind].out))
        return TXD_OK;
    elsewhere.norm_placement =
        c->norm_placement == TXD_PLACEMENT_PRE ? TXD_PLACEMENT_POST : TXD_PLACEMENT_PRE;
    *norm = (txd_norm){.out = params[kind].out,
                       .in = txd_input_of_norm(c, params[kind].out),
                       .in_elsewhere = txd_input_of_norm(&elsewhere, params[kind].out),
                       .layer = layer,
                       .width = c->d_model,
                       .eps = c->layers[layer < 0 ? last : layer].norm_eps,
                       .centred = c->norm == TXD_NORM_LAYER};
    norms->count++;
    if (txd_param_exists(c, params[kind].bias))
        return TXD_OK;
    norm->bias = calloc(c->d_model, sizeof *norm->bias);
    return norm->bias ? TXD_OK : txd_fail(TXD_ERR_MEMORY, "no memory for a bias");
}

txd_status txd_norms_create(txd_norms *out, const txd_config *claimed)
{
    txd_status status = TXD_OK;

    *out = (txd_norms){0};
    out->list = calloc(claimed->n_layers * KINDS + 1, sizeof *out->list);
    if (!out->list)
        return txd_fail(TXD_ERR_MEMORY, "no memory for the norms");
    out->layers = claimed->n_layers;
    for (size_t l = 0; l < claimed->n_layers; l++) {
        for (int kind = 0; status == TXD_OK && kind < KINDS - 1; kind++)
            status = add(out, claimed, kind, (int)l);
        out->each = l == 0 ? out->count : out->each;
    }
    if (status == TXD_OK)
        status = add(out, claimed, KINDS - 1, -1);
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

    for (int kind = 0; kind < KINDS; kind++) {
        if (params[kind].gain != id && params[kind].bias != id)
            continue;
        *norm = txd_norms_find(norms, params[kind].out, site->layer);
        if (!*norm)
            return NULL;
        return params[kind].gain == id ? &(*norm)->gain : &(*norm)->bias;
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
    double **place = place_of(norms, block->site, &norm);

    return place ? txd_law_vector(place, block, norm->width) : TXD_OK;
}

size_t txd_norms_tokens(const txd_config *claimed)
{
    return txd_picks_wanted(ELEMENTS_JUDGED, claimed->d_model, TOKENS_LEAST);
}

/* As lib/ops/bounds.c derives it: the mean is off by gamma_n mean|x|, hence each
 * deviation by at most delta; the variance by 2 delta / sd and gamma_{n+2} relatively;
 * then a handful of roundings. The gain and the bias are rounded once to the format of
 * the values, and so is the result. */
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
        allowed[i] = error + u.store * (fabs(out[i]) + error) + u.tiny;
    }
}
