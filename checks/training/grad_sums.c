/* SPDX-License-Identifier: MIT
 *
 * Norms from statistics: a gradient's root mean square and count are its norm, so that
 * recordings of statistics, or of norms alone, are as good as the gradients. Only what
 * of the stream's gradient passes a residual sum takes the gradients themselves.
 */
#include "checks/training/grad_sums.h"
#include "checks/kept.h"
#include "checks/sample.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of a gradient of the stream that are compared; tokens at least; elements that are
 * read at once. */
#define ELEMENTS_COMPARED 16384
#define TOKENS_LEAST 32
#define PIECE 128

/* "layers.3.attn.q.weight@grad" is of the attention. */
static txd_grad_part part_of(const char *name)
{
    const char *rest = strchr(name + strlen("layers."), '.');

    if (rest && strncmp(rest, ".attn.", 6) == 0)
        return TXD_GRAD_ATTENTION;
    if (rest && strncmp(rest, ".cross.", 7) == 0)
        return TXD_GRAD_CROSS;
    return rest && strncmp(rest, ".mlp.", 5) == 0 ? TXD_GRAD_MLP : TXD_GRAD_NORMS;
}

/* Those of the decoder, those of the encoder, and its layers. */
static size_t most_outside(const txd_config *claimed)
{
    return 2 * TXD_PARAM_COUNT + claimed->encoder_layers;
}

txd_status txd_grad_sums_create(txd_grad_sums *out, const txd_config *claimed)
{
    *out = (txd_grad_sums){.claimed = claimed, .step = -1};
    out->layers = calloc(claimed->n_layers, sizeof *out->layers);
    out->outside = calloc(most_outside(claimed), sizeof *out->outside);
    if (!out->layers || !out->outside) {
        txd_grad_sums_finish(out);
        return txd_fail(TXD_ERR_MEMORY, "no memory for sums of gradients");
    }
    for (int id = 0; id < TXD_PARAM_COUNT; id++) {
        char name[96];

        if (!txd_param_per_layer((txd_param_id)id) ||
            !txd_param_exists(claimed, (txd_param_id)id))
            continue;
        txd_param_name(name, sizeof name, (txd_param_id)id, 0);
        out->expected[part_of(name)]++;
    }
    return TXD_OK;
}

void txd_grad_sums_finish(txd_grad_sums *sums)
{
    free(sums->layers);
    free(sums->outside);
    sums->layers = NULL;
    sums->outside = NULL;
}

void txd_grad_sums_begin(txd_grad_sums *sums, const txd_pass *pass)
{
    const double unknown = (double)NAN;

    sums->step = pass->step;
    /* Of a vocabulary of one token nothing is left to learn. */
    sums->has_loss = pass->claimed->vocab > 1 && txd_inputs_pairs(pass->inputs) > 0;
    sums->outside_count = 0;
    for (size_t l = 0; l < sums->claimed->n_layers; l++)
        sums->layers[l] =
            (txd_grad_layer){.into = unknown, .out = unknown, .kept = unknown};
}

/* Of the finite elements. */
static double square_of(const double *stats)
{
    double finite = stats[TXD_STAT_COUNT] - stats[TXD_STAT_NONFINITE];
    double rms = stats[TXD_STAT_RMS];

    return finite > 0 ? rms * rms * finite : 0;
}

static void take_parameter(txd_grad_sums *sums, const txd_block *block)
{
    const txd_site *site = block->site;
    txd_grad_layer *layer = &sums->layers[site->layer];
    txd_grad_sum *sum = &layer->part[part_of(site->name)];
    double square = square_of(block->stats);

    sum->square += square;
    sum->nonfinite += block->stats[TXD_STAT_NONFINITE];
    sum->seen++;
    if (square <= layer->largest_square)
        return;
    layer->largest_square = square;
    snprintf(layer->largest, sizeof layer->largest, "%.*s",
             (int)strcspn(site->name, "@"), site->name);
}

static void take_outside(txd_grad_sums *sums, const txd_block *block)
{
    txd_grad_outside *to = NULL;
    char name[96];
    int layer;

    snprintf(name, sizeof name, "%s", block->site->name);
    if (sscanf(name, "encoder.layers.%d.", &layer) == 1)
        snprintf(name, sizeof name, "encoder.layers.%d" TXD_GRADIENT_SUFFIX, layer);
    for (size_t i = 0; i < sums->outside_count; i++)
        if (strcmp(sums->outside[i].name, name) == 0)
            to = &sums->outside[i];
    if (!to && sums->outside_count == most_outside(sums->claimed))
        return;
    if (!to) {
        to = &sums->outside[sums->outside_count++];
        *to = (txd_grad_outside){.square = 0};
        memcpy(to->name, name, sizeof name);
    }
    to->square += square_of(block->stats);
    to->nonfinite += block->stats[TXD_STAT_NONFINITE];
}

void txd_grad_sums_take(txd_grad_sums *sums, const txd_block *block)
{
    const txd_site *site = block->site;
    double norm = sqrt(square_of(block->stats));

    if (site->kind == TXD_SITE_PARAMETER_GRADIENT && site->layer >= 0)
        take_parameter(sums, block);
    else if (site->kind == TXD_SITE_PARAMETER_GRADIENT)
        take_outside(sums, block);
    else if (site->point == TXD_POINT_RESID_POST)
        sums->layers[site->layer].into = norm / block->pass->loss_scale;
    else if (site->point == TXD_POINT_RESID_PRE)
        sums->layers[site->layer].out = norm / block->pass->loss_scale;
}

/* ---- what passes a residual sum ---- */

/* Before its sum: the sum after it. With norms after the sums the stream does not go
 * from sum to sum. */
const txd_point *txd_grad_needs(const txd_config *claimed, txd_point point)
{
    static const txd_point none[] = {TXD_POINT_COUNT};
    static const txd_point behind[][2] = {{TXD_POINT_RESID_MID, TXD_POINT_COUNT},
                                          {TXD_POINT_RESID_CROSS, TXD_POINT_COUNT},
                                          {TXD_POINT_RESID_POST, TXD_POINT_COUNT}};

    for (int kind = 0; kind < TXD_SUBLAYER_COUNT; kind++) {
        txd_sublayer part = txd_sublayer_of(claimed, (txd_sublayer_kind)kind);

        if (!txd_sublayer_exists(claimed, part.kind) || part.sum == TXD_POINT_COUNT ||
            part.after != TXD_POINT_COUNT || part.stream != point)
            continue;
        return behind[kind];
    }
    return none;
}

static void add_share(txd_grad_share *out, const txd_tensor *value,
                      const txd_tensor *other, size_t first)
{
    for (size_t i = 0; i < value->dims[2]; i += PIECE) {
        size_t left = value->dims[2] - i, count = left < PIECE ? left : PIECE;
        double a[PIECE], b[PIECE];

        txd_kept_read(a, value, first + i, count);
        txd_kept_read(b, other, first + i, count);
        for (size_t j = 0; j < count; j++) {
            out->product += a[j] * b[j];
            out->square += b[j] * b[j];
        }
    }
}

/* At some tokens: what is cut off is cut off at all of them. */
void txd_grad_share_of(txd_grad_share *out, const txd_block *block)
{
    const txd_point *behind = txd_grad_needs(block->pass->claimed, block->site->point);
    const txd_inputs *inputs = block->pass->inputs;
    size_t width, token;
    txd_tensor other;
    txd_picks picks;

    if (*behind == TXD_POINT_COUNT || !block->value.data ||
        txd_block_gradient(&other, block, *behind) != TXD_OK || !other.data)
        return;
    width = block->value.dims[2];
    picks = txd_picks_of(inputs->valid, inputs->batch * inputs->length,
                         txd_picks_wanted(ELEMENTS_COMPARED, width, TOKENS_LEAST));
    while (txd_picks_next(&token, &picks)) {
        size_t b = token / inputs->length - block->start[0]; /* wraps if before */
        size_t t = token % inputs->length - block->start[1];

        if (b < block->value.dims[0] && t < block->value.dims[1])
            add_share(out, &block->value, &other,
                      (b * block->value.dims[1] + t) * width);
    }
}

void txd_grad_sums_share(txd_grad_sums *sums, const txd_site *site,
                         const txd_grad_share *share)
{
    txd_grad_layer *layer = &sums->layers[site->layer];
    double kept = share->product / share->square;

    if (share->square > 0 && isfinite(kept) && !(kept >= layer->kept))
        layer->kept = kept;
}

/* ---- what a layer has ---- */

bool txd_grad_is_whole(const txd_grad_sums *sums, size_t layer)
{
    for (int p = 0; p < TXD_GRAD_PARTS; p++)
        if (sums->layers[layer].part[p].seen != sums->expected[p])
            return false;
    return true;
}

double txd_grad_norm(const txd_grad_layer *layer)
{
    double square = 0;

    for (int p = 0; p < TXD_GRAD_PARTS; p++)
        square += layer->part[p].square;
    return sqrt(square);
}

double txd_grad_nonfinite(const txd_grad_layer *layer)
{
    double count = 0;

    for (int p = 0; p < TXD_GRAD_PARTS; p++)
        count += layer->part[p].nonfinite;
    return count;
}
