/* SPDX-License-Identifier: MIT
 *
 * GGUF files of Llama 3.1 and later do not state the scaling of their rotary positions:
 * they hold by how much slower each pair turns (rope_freqs.weight). The scaling that
 * made the numbers is found again, and must give every one of them.
 */
#include <math.h>

#include "formats/families/family_internal.h"
#include "model/rope.h"

#define TWO_PI 6.283185307179586476925
#define CLOSE 4e-6 /* of numbers that were computed and stored in float32 */
#define USUAL_LOW 1.0
#define USUAL_HIGH 4.0
#define USUAL_LENGTH 8192.0

/* Between all and nothing, the share of a pair that is not slowed grows with its speed:
 * slope * turns - offset, where turns are those per position. */
struct line {
    double slope, offset;
};

struct fit {
    const float *factors;
    size_t count, first, last; /* pairs between all and nothing: [first, last) */
    double largest;
    double turns[TXD_ROPE_PAIRS_MAX];
};

static double share_of(const struct fit *f, size_t i)
{
    double all = 1 / f->largest;

    return (1 / (double)f->factors[i] - all) / (1 - all);
}

/* Pairs turn slower and slower, and are slowed more and more. */
static bool sort_out(struct fit *f, const txd_layer_config *layer)
{
    f->largest = (double)f->factors[f->count - 1];
    f->first = f->last = 0;
    if (!(f->largest > 1) || !isfinite(f->largest))
        return false;
    for (size_t i = 0; i < f->count; i++) {
        double power = -2 * (double)i / (double)layer->rope_width;

        if (!(f->factors[i] >= 1) || (i > 0 && !(f->factors[i] >= f->factors[i - 1])))
            return false;
        f->turns[i] = pow(layer->rope_base, power) / TWO_PI;
        f->first += f->factors[i] == 1;
        f->last += (double)f->factors[i] < f->largest;
    }
    return true;
}

/* Whether the layer's scaling slows every pair as the file says. */
static bool is_found(const struct fit *f, const txd_layer_config *layer)
{
    double speeds[TXD_ROPE_PAIRS_MAX];

    txd_rope_speeds(speeds, layer);
    for (size_t i = 0; i < f->count; i++) {
        double wanted = f->turns[i] * TWO_PI / (double)f->factors[i];

        if (!(fabs(speeds[i] - wanted) <= CLOSE * wanted))
            return false;
    }
    return true;
}

static bool try_line(txd_layer_config *layer, const struct fit *f, const struct line *l,
                     double length)
{
    double low = l->offset * length / l->slope;

    layer->rope_scaling = TXD_ROPE_LLAMA3;
    layer->rope_factor = f->largest;
    layer->rope_original_length = (size_t)length;
    layer->rope_low = low;
    layer->rope_high = low + length / l->slope;
    return is_found(f, layer);
}

/* The words that all models of the kind use, and the length that fits them. */
static bool try_usual(txd_layer_config *layer, const struct fit *f)
{
    double range = USUAL_HIGH - USUAL_LOW, length = USUAL_LENGTH;
    struct line l = {.offset = USUAL_LOW / range};

    if (f->first < f->last)
        length = round(range * (share_of(f, f->first) + l.offset) / f->turns[f->first]);
    if (!(length >= 1 && length <= 1e9))
        return false;
    l.slope = length / range;
    if (!try_line(layer, f, &l, length))
        return false;
    layer->rope_low = USUAL_LOW;
    layer->rope_high = USUAL_HIGH;
    return true;
}

/* Any line through what is known; one point between leaves its slope open from below.
 */
static struct line find_line(const struct fit *f)
{
    size_t a = f->first, b = f->last - 1;
    double slope = 0;

    if (f->first == f->last) { /* from one pair to the next: between the two */
        double slow = f->turns[f->last], fast = f->turns[f->first - 1];

        return (struct line){1 / (fast - slow), slow / (fast - slow)};
    }
    if (a < b) {
        slope = (share_of(f, a) - share_of(f, b)) / (f->turns[a] - f->turns[b]);
    } else {
        if (f->last < f->count)
            slope = share_of(f, a) / (f->turns[a] - f->turns[f->last]);
        if (f->first > 0)
            slope = fmax(slope,
                         (1 - share_of(f, a)) / (f->turns[f->first - 1] - f->turns[a]));
    }
    return (struct line){slope, slope * f->turns[a] - share_of(f, a)};
}

bool txd_rope_factors_fit(txd_layer_config *layer, const float *factors, size_t count)
{
    struct fit f = {.factors = factors, .count = count};
    struct line line;
    size_t ones = 0;

    if (count == 0 || count > TXD_ROPE_PAIRS_MAX || 2 * count != layer->rope_width)
        return false;
    while (ones < count && factors[ones] == 1)
        ones++;
    if (ones == count)
        return true;
    if (!sort_out(&f, layer))
        return false;
    if (f.last == 0) { /* all alike */
        layer->rope_scaling = TXD_ROPE_LINEAR;
        layer->rope_factor = f.largest;
        return is_found(&f, layer);
    }
    if (try_usual(layer, &f))
        return true;
    line = find_line(&f);
    return line.slope > 0 && try_line(layer, &f, &line, USUAL_LENGTH);
}
