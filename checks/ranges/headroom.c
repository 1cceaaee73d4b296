/* SPDX-License-Identifier: MIT
 *
 * Scores, activations and the stream keep their distance from the end of the format in
 * which they are stored. Beyond it they are infinite or stuck at its largest number;
 * near it the next prompt may be the one. Of wider formats it is information that
 * float16 would be too small, and at which layer, for models are moved there.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "checks/law.h"

#define FLOAT16_LARGEST 65504.0
/* Layers that a trend needs, the growth per layer that is one, and how many times the
 * depth of the model is looked ahead. */
#define FEWEST_LAYERS 3
#define GROWTH 1.05
#define AHEAD 2

typedef enum family { SCORES, INNER, STREAM, FAMILIES } family;

static const char *const family_words[] = {"scores", "activations", "the stream"};

/* The largest of a family in a layer. */
typedef struct peak {
    double size; /* 0 = nothing was seen */
    char site[96];
    int step, layer;
    txd_point point;
} peak;

typedef struct state {
    size_t layers;
    double near;
    peak *peaks; /* (FAMILIES, layers) */
    peak beyond; /* the first that is beyond the format; size 0 = none */
    txd_dtype format;
    double largest;          /* that it can store */
    int undefined;           /* the step in which a NaN was met; none after that */
    uint64_t values, spoilt; /* sites behind a NaN */
} state;

/* Gradients have laws of their own. */
static bool family_of(family *out, const txd_site *site)
{
    txd_point own = txd_point_in_self(site->point);

    if (site->kind != TXD_SITE_VALUE || site->layer < 0)
        return false;
    *out = INNER;
    if (own == TXD_POINT_ATTN_SCORES)
        *out = SCORES;
    else if (site->point == TXD_POINT_RESID_PRE || site->point == TXD_POINT_RESID_MID ||
             site->point == TXD_POINT_RESID_CROSS ||
             site->point == TXD_POINT_RESID_POST)
        *out = STREAM;
    else if (txd_point_get(site->point)->place == TXD_PLACE_TILE)
        return false; /* made of scores; the mask's fill is no overflow */
    return true;
}

static unsigned ask(void *self, const txd_site *site)
{
    family f;

    (void)self;
    return family_of(&f, site) ? TXD_ASK_STATS : 0;
}

static peak peak_of(const txd_block *block, double size)
{
    peak p = {.size = size,
              .step = block->site->step,
              .layer = block->site->layer,
              .point = block->site->point};

    snprintf(p.site, sizeof p.site, "%s", block->site->name);
    return p;
}

/* An infinity that no NaN made; what follows inherits. */
static void note_nonfinite(state *s, const txd_block *block)
{
    double first = block->stats[TXD_STAT_FIRST_VALUE];

    if (isinf(first) && s->undefined != block->site->step && s->beyond.size == 0)
        s->beyond = peak_of(block, INFINITY);
    else if (s->beyond.size == 0)
        s->spoilt++;
    s->undefined = block->site->step;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    state *s = self;
    family f;
    double size;
    peak *p;

    (void)slot;
    if (!block->stats || !family_of(&f, block->site))
        return TXD_OK;
    s->format = block->pass->format;
    s->largest = block->pass->largest;
    if (!(block->stats[TXD_STAT_NONFINITE] == 0)) {
        note_nonfinite(s, block);
        return TXD_OK;
    }
    size = fmax(fabs(block->stats[TXD_STAT_MIN]), fabs(block->stats[TXD_STAT_MAX]));
    s->values += (uint64_t)block->stats[TXD_STAT_COUNT];
    if (size >= s->largest && s->beyond.size == 0)
        s->beyond = peak_of(block, size);
    p = &s->peaks[(size_t)f * s->layers + (size_t)block->site->layer];
    if (size > p->size)
        *p = peak_of(block, size);
    return TXD_OK;
}

/* ---- the trend over layers ---- */

/* The factor by which a family grows per layer: the slope of the logarithms; NaN if
 * there are too few. */
static double growth_of(const state *s, family f)
{
    const peak *p = &s->peaks[(size_t)f * s->layers];
    double n = 0, x = 0, y = 0, xx = 0, xy = 0;

    for (size_t l = 0; l < s->layers; l++) {
        double size = p[l].size > 0 ? log(p[l].size) : 0, at = (double)l;

        if (!(p[l].size > 0))
            continue;
        n++;
        x += at;
        y += size;
        xx += at * at;
        xy += at * size;
    }
    return n < FEWEST_LAYERS ? (double)NAN : exp((n * xy - x * y) / (n * xx - x * x));
}

static const peak *highest(const state *s, family f)
{
    const peak *p = &s->peaks[(size_t)f * s->layers], *best = p;

    for (size_t l = 1; l < s->layers; l++)
        if (p[l].size > best->size)
            best = &p[l];
    return best;
}

/* The first layer in which a family is beyond `limit`, at its growth if none that was
 * seen is and the last is the largest; -1 if it is none within sight. */
static int layer_beyond(const state *s, family f, double limit)
{
    const peak *p = &s->peaks[(size_t)f * s->layers], *last = &p[s->layers - 1];
    double growth = growth_of(s, f), more;

    for (size_t l = 0; l < s->layers; l++)
        if (p[l].size > limit)
            return (int)l;
    if (!(growth > GROWTH) || last->size < highest(s, f)->size || !(last->size > 0))
        return -1;
    more = ceil(log(limit / last->size) / log(growth));
    return more <= (double)(AHEAD * s->layers) ? last->layer + (int)more : -1;
}

static void say_trend(txd_finding *finding, const state *s, family f, double limit)
{
    double growth = growth_of(s, f);
    int layer = layer_beyond(s, f, limit);
    char text[32];

    if (growth > GROWTH || growth < 1 / GROWTH)
        txd_law_say(finding, "; x%s per layer", txd_law_number(text, growth));
    if (layer >= 0)
        txd_law_say(finding, "; beyond it %s layer %d",
                    layer < (int)s->layers ? "from" : "at this growth at", layer);
}

/* ---- findings ---- */

/* "65504", "3.4e+38". */
static const char *end_of(char text[32], double limit)
{
    if (limit < 1e6)
        snprintf(text, 32, "%.0f", limit);
    else
        txd_law_number(text, limit);
    return text;
}

static txd_finding start(const state *s, const peak *p, double limit)
{
    txd_law_place at = TXD_LAW_NOWHERE;
    txd_finding finding;

    at.step = p->step;
    finding = txd_law_finding(p->point, p->layer, &at);
    snprintf(finding.site, sizeof finding.site, "%s", p->site);
    finding.measured = p->size;
    finding.allowed = s->near * limit;
    return finding;
}

static txd_status add_beyond(txd_result *result, const state *s)
{
    txd_finding finding = start(s, &s->beyond, s->largest);
    char largest[32];

    end_of(largest, s->largest);
    if (isinf(s->beyond.size))
        txd_law_say(&finding,
                    "values are infinite, and nothing before them is: beyond %s, which "
                    "ends at %s",
                    txd_dtype_name(s->format), largest);
    else
        txd_law_say(&finding, "values stand at the end of %s, %s: they are saturated",
                    txd_dtype_name(s->format), largest);
    return txd_result_add(result, &finding);
}

/* One family against the end of a format that is not its own (information) or is. */
static txd_status add_near(txd_result *result, const state *s, family f, bool is_own)
{
    double limit = is_own ? s->largest : FLOAT16_LARGEST;
    const peak *p = highest(s, f);
    txd_finding finding = start(s, p, limit);
    char size[32], end[32];

    finding.verdict = is_own ? TXD_VERDICT_WARN : TXD_VERDICT_INFO;
    txd_law_say(&finding, "%s reach%s %s", family_words[f], f == STREAM ? "es" : "",
                txd_law_number(size, p->size));
    txd_law_say(&finding, ", %s %s, which ends at %s",
                p->size > limit ? "beyond" : "near the end of",
                is_own ? txd_dtype_name(s->format) : "float16", end_of(end, limit));
    say_trend(&finding, s, f, limit);
    return txd_result_add(result, &finding);
}

static txd_status judge(txd_result *result, const state *s, family f)
{
    double size = highest(s, f)->size;
    bool is_wider = s->largest > FLOAT16_LARGEST;
    int layer = layer_beyond(s, f, FLOAT16_LARGEST);

    if (size > result->worst)
        result->worst = size;
    if (size > s->near * s->largest)
        return add_near(result, s, f, true);
    if (is_wider &&
        (size > s->near * FLOAT16_LARGEST || (layer >= 0 && layer < (int)s->layers)))
        return add_near(result, s, f, false);
    return TXD_OK;
}

static void write_note(txd_result *result, const state *s)
{
    size_t used = 0;

    for (int f = 0; f < FAMILIES; f++) {
        const peak *p = highest(s, (family)f);
        double growth = growth_of(s, (family)f);
        char size[32], factor[32] = "";

        if (!(p->size > 0) || used >= sizeof result->note)
            continue;
        if (isfinite(growth))
            snprintf(factor, sizeof factor, ", x%.3g per layer", growth);
        used += (size_t)snprintf(result->note + used, sizeof result->note - used,
                                 "%s%s up to %s (layer %d%s)", used ? "; " : "",
                                 family_words[f], txd_law_number(size, p->size),
                                 p->layer, factor);
    }
}

static txd_status finish(void *self, txd_result *result)
{
    const state *s = self;

    result->evaluated = s->values;
    result->allowed = s->near * s->largest;
    write_note(result, s);
    if (s->beyond.size > 0) {
        result->worst = s->beyond.size;
        return add_beyond(result, s);
    }
    if (s->spoilt > 0)
        return txd_fail(TXD_ERR_LIMIT,
                        "%" PRIu64 " sites are not finite: see the law `finite`",
                        s->spoilt);
    for (int f = 0; f < FAMILIES; f++)
        TXD_TRY(judge(result, s, (family)f));
    return TXD_OK;
}

static void destroy(void *self)
{
    state *s = self;

    free(s->peaks);
    free(s);
}

static txd_status create(void **out, txd_tap *tap, const txd_check_context *context)
{
    state *s = calloc(1, sizeof *s);
    txd_status status;

    if (!s)
        return txd_fail(TXD_ERR_MEMORY, "headroom: no memory");
    s->layers = context->claimed->n_layers;
    s->undefined = -1;
    s->peaks = calloc(FAMILIES * s->layers, sizeof *s->peaks);
    status = s->peaks
                 ? txd_threshold_read(&s->near, TXD_THRESHOLD_HEADROOM_NEAR, context)
                 : txd_fail(TXD_ERR_MEMORY, "headroom: no memory");
    if (status != TXD_OK) {
        destroy(s);
        return status;
    }
    *tap = (txd_tap){.name = "headroom", .self = s, .ask = ask, .merge = merge};
    *out = s;
    return TXD_OK;
}

const txd_check txd_check_headroom = {
    .name = "headroom",
    .law = "scores, activations and the stream stay clear of the end of their format",
    .formula = "max|x| <= near x the format's largest number, near = 1/4; at it or "
               "beyond fails; where the format is wider than float16, max|x| > near x "
               "65504 is information, with the growth per layer",
    .causes = "branches that add up without a norm, a residual or embedding scale that "
              "is too large, a missing score scale, a few channels that a trained "
              "model uses as constants; weights that are moved from bfloat16 to "
              "float16, which ends at 65504",
    .look_next = "the probe stats at resid.post, attn.scores and mlp.out over the "
                 "layers; precision.backend",
    .unit = "values",
    .allowance = "checks.headroom.near x the largest number of the format",
    .faults = (const char *const[]){"stream_overflows", NULL},
    .keys = txd_keys_headroom,
    .needs = (const struct txd_check_need[]){{TXD_POINT_COUNT, TXD_ASK_STATS},
                                             {TXD_POINT_COUNT, 1}},
    .create = create,
    .finish = finish,
    .destroy = destroy,
};
