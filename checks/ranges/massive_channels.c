/* SPDX-License-Identifier: MIT
 *
 * Channels of the stream that are far larger than the others: trained models use a few
 * as constants, at the first token above all. They are what breaks when the model is
 * quantised or moved to a smaller format, so they are told; nothing is wrong with them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/law.h"

/* Channels from which on a median is one. */
#define FEWEST_CHANNELS 8

typedef struct layer {
    size_t massive, channel, batch, token; /* how many; where the largest is */
    double size, median;
    int step;
    bool is_seen;
} layer;

typedef struct state {
    size_t layers, width;
    double factor;
    layer *at;
    double *largest, *sorted; /* (width): of the layer at hand */
    uint64_t channels, spoilt;
} state;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_RESID_POST
               ? TXD_ASK_VALUE
               : 0;
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void raise_floats(double *largest, const float *x, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        double size = (double)fabsf(x[i]);

        largest[i] = size > largest[i] || size != size ? size : largest[i];
    }
}

static void raise_doubles(double *largest, const double *x, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        double size = fabs(x[i]);

        largest[i] = size > largest[i] || size != size ? size : largest[i];
    }
}

/* The largest magnitude of each channel over the real tokens. */
static void measure(state *s, const txd_block *block)
{
    const int32_t *valid = block->pass->inputs->valid;
    size_t tokens = block->dims[0] * block->dims[1];

    memset(s->largest, 0, s->width * sizeof *s->largest);
    for (size_t t = 0; t < tokens; t++) {
        size_t first = t * s->width;

        if (!valid[t])
            continue;
        if (block->value.dtype == TXD_F32)
            raise_floats(s->largest, (const float *)block->value.data + first,
                         s->width);
        else
            raise_doubles(s->largest, (const double *)block->value.data + first,
                          s->width);
    }
}

static void find_token(layer *l, const state *s, const txd_block *block)
{
    const int32_t *valid = block->pass->inputs->valid;
    size_t tokens = block->dims[0] * block->dims[1];

    for (size_t t = 0; t < tokens; t++)
        if (valid[t] &&
            fabs(txd_tensor_get(&block->value, t * s->width + l->channel)) >= l->size) {
            l->batch = t / block->dims[1];
            l->token = t % block->dims[1];
            return;
        }
}

static bool is_measured(const state *s)
{
    for (size_t i = 0; i < s->width; i++)
        if (!isfinite(s->largest[i]))
            return false;
    return true;
}

static void judge(state *s, const txd_block *block)
{
    layer found = {.step = block->site->step, .is_seen = true};

    memcpy(s->sorted, s->largest, s->width * sizeof *s->sorted);
    qsort(s->sorted, s->width, sizeof *s->sorted, by_size);
    found.median = s->sorted[s->width / 2];
    s->channels += s->width;
    for (size_t i = 0; i < s->width; i++) {
        found.massive += found.median > 0 && s->largest[i] > s->factor * found.median;
        if (s->largest[i] > found.size) {
            found.size = s->largest[i];
            found.channel = i;
        }
    }
    find_token(&found, s, block);
    if (!s->at[block->site->layer].is_seen ||
        found.massive > s->at[block->site->layer].massive)
        s->at[block->site->layer] = found;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;

    (void)slot;
    if (!block->value.data || s->width < FEWEST_CHANNELS)
        return TXD_OK;
    measure(s, block);
    if (is_measured(s))
        judge(s, block);
    else
        s->spoilt++;
    return TXD_OK;
}

/* ---- findings ---- */

static txd_status add(txd_result *result, const state *s, size_t number, size_t layers)
{
    const layer *l = &s->at[number];
    txd_law_place at = TXD_LAW_NOWHERE;
    char size[32], median[32], ratio[32];
    txd_finding finding;

    at.step = l->step;
    at.batch = (int64_t)l->batch;
    at.query = (int64_t)l->token;
    finding = txd_law_finding(TXD_POINT_RESID_POST, (int)number, &at);
    finding.verdict = TXD_VERDICT_INFO;
    finding.measured = l->size / l->median;
    finding.allowed = s->factor;
    txd_law_say(
        &finding,
        "%zu channel%s of the stream %s far larger than the others: channel %zu "
        "reaches %s at token %zu, %s times the median of %s",
        l->massive, l->massive == 1 ? "" : "s", l->massive == 1 ? "is" : "are",
        l->channel, txd_law_number(size, l->size), l->token,
        txd_law_number(ratio, finding.measured), txd_law_number(median, l->median));
    if (layers > 1)
        txd_law_say(&finding, "; %zu layers have such", layers);
    return txd_result_add(result, &finding);
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;
    size_t layers = 0, worst = 0;

    result->evaluated = s->channels;
    result->allowed = s->factor;
    for (size_t l = 0; l < s->layers; l++) {
        const layer *at = &s->at[l], *most = &s->at[worst];

        if (at->median > 0)
            result->worst = fmax(result->worst, at->size / at->median);
        layers += at->massive > 0;
        if (at->massive > 0 &&
            (most->massive == 0 || at->size * most->median > most->size * at->median))
            worst = l;
    }
    if (s->width < FEWEST_CHANNELS)
        snprintf(result->note, sizeof result->note, "fewer than %d channels",
                 FEWEST_CHANNELS);
    if (s->spoilt > 0)
        return txd_fail(TXD_ERR_LIMIT,
                        "resid.post is not finite: see the law `finite`");
    /* Where most layers have them, the layer in which they are largest. */
    if (2 * layers > s->layers && layers > 1)
        return add(result, s, worst, layers);
    for (size_t l = 0; l < s->layers; l++)
        if (s->at[l].massive > 0)
            TXD_TRY(add(result, s, l, 1));
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->at);
    free(s->largest);
    free(s->sorted);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "massive_channels: no memory");
    s->layers = context->claimed->n_layers;
    s->width = context->claimed->d_model;
    s->at = calloc(s->layers, sizeof *s->at);
    s->largest = calloc(s->width, sizeof *s->largest);
    s->sorted = calloc(s->width, sizeof *s->sorted);
    status = s->at && s->largest && s->sorted
                 ? txd_threshold_read(&s->factor, TXD_THRESHOLD_MASSIVE_FACTOR, context)
                 : txd_fail(TXD_ERR_MEMORY, "massive_channels: no memory");
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "massive_channels",
                     .self = s,
                     .ask = ask,
                     .merge = merge,
                     .independent = true};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_massive_channels = {
    .name = "massive_channels",
    .law = "channels of the stream that are far larger than the others (information)",
    .formula = "with m[c] the largest |resid.post| of channel c over the real tokens: "
               "m[c] > factor x median of m, factor = 100",
    .causes = "training: a few channels serve as constants, usually at the first token "
              "and at separators; one row of a down projection that is far too large",
    .look_next =
        "the probe norms at resid.post; quantisation with a scale per channel, "
        "or float16 (see headroom)",
    .unit = "channels",
    .informs = true,
    .faults = (const char *const[]){"massive_channel", NULL},
    .keys = txd_keys_massive_channels,
    .needs = (const struct txd_check_need[]){{TXD_POINT_RESID_POST, TXD_ASK_VALUE},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
