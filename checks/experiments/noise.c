/* SPDX-License-Identifier: MIT
 *
 * A pass with noise, and how far its rows are from those without.
 */
#include "checks/experiments/noise.h"

#include <math.h>

/* The tap that moves values. */
typedef struct shaker {
    double store, sum; /* relative to the element; to the rms of its row */
    txd_tap tap;
} shaker;

static unsigned ask(void *self, const txd_site *site)
{
    txd_place place;

    (void)self;
    if (site->kind != TXD_SITE_VALUE || site->point == TXD_POINT_LOSS_TOKEN ||
        txd_point_is_of_memory(site->point))
        return 0;
    place = txd_point_get(site->point)->place;
    return place == TXD_PLACE_TOP || place == TXD_PLACE_LAYER ? TXD_ASK_EDIT : 0;
}

/* Uniform in [-1, 1). */
static double draw(uint64_t key, size_t i)
{
    return 2 * txd_rng_uniform(key, i) - 1;
}

static void set(const txd_tensor *value, size_t i, double x)
{
    if (value->dtype == TXD_F64)
        ((double *)value->data)[i] = x;
    else
        ((float *)value->data)[i] = (float)x;
}

static txd_status shake(void *self, txd_block *block)
{
    const shaker *s = self;
    const txd_tensor *value = &block->value;
    size_t width = value->dims[value->rank - 1], count = txd_tensor_count(value);
    uint64_t key = txd_rng_key(1, block->site->name);

    for (size_t first = 0; first < count; first += width) {
        double squares = 0, rms;

        for (size_t i = first; i < first + width; i++)
            squares += txd_tensor_get(value, i) * txd_tensor_get(value, i);
        rms = sqrt(squares / (double)width);
        for (size_t i = first; i < first + width; i++) {
            double x = txd_tensor_get(value, i);

            set(value, i, x + draw(key, i) * (s->store * fabs(x) + s->sum * rms));
        }
    }
    return TXD_OK;
}

/* The longest sum of a layer. */
static double longest_sum(const txd_config *c)
{
    return fmax(fmax((double)c->d_model, (double)c->d_ff),
                (double)(c->n_heads * c->value_dim));
}

static void make_shaker(shaker *out, const txd_experiment *e)
{
    txd_roundoff u = txd_roundoff_of(e->setup->backend);

    /* Roundings of a sum add up as a random walk does. */
    *out = (shaker){.store = u.store,
                    .sum = u.accumulate * sqrt(longest_sum(e->setup->claimed)),
                    .tap = {.name = "noise", .ask = ask, .edit = shake}};
}

/* How far one row of a site is off, of its norm. */
static double row_share(const txd_tensor *a, const txd_tensor *b, size_t first,
                        size_t width)
{
    double norm = 0, off = 0;

    for (size_t i = first; i < first + width; i++) {
        double x = txd_tensor_get(a, i), d = txd_tensor_get(b, i) - x;

        norm += x * x;
        off += d * d;
    }
    return norm > 0 ? sqrt(off / norm) : 0;
}

/* Rows of padded tokens say nothing. */
static double site_share(const txd_captured *a, const txd_captured *b,
                         const txd_inputs *inputs)
{
    const txd_tensor *value = &a->value;
    int rank = value->rank;
    size_t width = value->dims[rank - 1], rows = txd_tensor_count(value) / width;
    size_t heads = rank == 4 ? value->dims[1] : 1, length = inputs->length;
    double most = 0;

    for (size_t row = 0; row < rows; row++) {
        size_t token = row / length / heads * length + row % length;
        double share;

        if (!inputs->valid[token])
            continue;
        share = row_share(value, &b->value, row * width, width);
        if (share > most && isfinite(share))
            most = share;
    }
    return most;
}

static txd_status fill(txd_noise *out, txd_experiment *e, const txd_capture *noisy,
                       const txd_inputs *inputs)
{
    const txd_capture *plain = out->plain;

    out->share = txd_arena_alloc(e->arena, plain->count, sizeof *out->share);
    if (!out->share)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < plain->count; i++) {
        const txd_captured *found = txd_capture_at(noisy, &plain->sites[i].site);

        if (found && found->value.rank >= 3)
            out->share[i] = site_share(&plain->sites[i], found, inputs);
    }
    return TXD_OK;
}

txd_status txd_noise_measure(txd_noise *out, txd_experiment *e,
                             const txd_experiment_how *how, const txd_capture *plain,
                             const txd_inputs *inputs)
{
    txd_experiment_how with = *how;
    txd_tap *taps[1];
    txd_capture noisy;
    txd_status status;
    shaker s;

    *out = (txd_noise){.plain = plain};
    make_shaker(&s, e);
    s.tap.self = &s;
    taps[0] = &s.tap;
    with.taps = taps;
    with.tap_count = 1;
    status = txd_capture_init(&noisy, e, plain->what);
    if (status == TXD_OK)
        status = txd_capture_pass(&noisy, e, &with, inputs);
    if (status == TXD_OK)
        status = fill(out, e, &noisy, inputs);
    txd_capture_finish(&noisy);
    return status;
}

double txd_noise_allowed(const void *self, const txd_captured *site)
{
    const txd_noise *noise = self;

    return TXD_NOISE_FACTOR * noise->share[site - noise->plain->sites];
}
