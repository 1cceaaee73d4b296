/* SPDX-License-Identifier: MIT
 *
 * Chooses what the page holds: whole layers and heads at the finest cells for which
 * the first, the last and a middle step fit; then as many steps as fit.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/read/recorded.h"
#include "viz/report/explorer.h"

enum {
    MOST_CELLS = 256, /* of a side: a pixel each on a narrow screen */
    LEAST_CELLS = 32, /* of a side, before layers are left out */
    FRAMES = 3,       /* for which the cells are chosen */
    EXACT_FRAMES = 2, /* for which single pairs are held */
    MOST_FRAMES = 512,
    MOST_PLACES = 1 << 20, /* of a side; what claims to be more is not read */
    MOST_POOLED = 1024,    /* the same of pooled maps, whose probe makes 256 */
    MOST_LAYERS = 1 << 16,
    MOST_STEPS = 1 << 16, /* that are looked at */
};

static const char *const sites[] = {"layers.*.attn.weights", "layers.*.cross.weights"};

void txd_held_site(char out[TXD_SITE_BYTES], const txd_held *held, int layer)
{
    if (held->pooled)
        snprintf(out, TXD_SITE_BYTES, "%s", txd_pooled_site(held->kind));
    else
        txd_site_of_layer(out, sites[held->kind], layer);
}

bool txd_held_any(const txd_trace *recording, txd_attention_kind kind)
{
    size_t entries = txd_trace_count(recording), entry;
    txd_trace_info info;

    if (txd_trace_find(recording, &entry, txd_pooled_site(kind)) == TXD_OK)
        return true;
    for (size_t i = 0; i < entries; i++)
        if (txd_trace_get(recording, &info, i) == TXD_OK &&
            txd_site_layer_in(sites[kind], info.name) >= 0)
            return true;
    return false;
}

static bool find(txd_trace_info *info, const txd_trace *recording, const char *name,
                 const char *axes)
{
    size_t entry;

    return txd_trace_find(recording, &entry, name) == TXD_OK &&
           txd_trace_get(recording, info, entry) == TXD_OK && !info->foreign &&
           strcmp(info->axes, axes) == 0;
}

/* Steps, batch rows, heads, rows, columns; false if one of them is 0. */
static bool take_shape(txd_held *held, const txd_trace_info *info)
{
    const size_t *dims = info->dims;
    int rank = info->rank;

    held->steps = dims[0];
    held->batches = dims[rank - 4];
    held->heads = dims[rank - 3];
    held->rows = dims[rank - 2];
    held->columns = dims[rank - 1];
    for (int i = 0; i < rank; i++)
        if (dims[i] == 0)
            return false;
    return held->rows <= MOST_PLACES && held->columns <= MOST_PLACES;
}

/* All recordings hold weights of the same layers, of one shape. */
static txd_status find_full(txd_held *held, bool *found, txd_arena *arena)
{
    txd_trace_info first = {.rank = 0}, other;
    int *layers;
    size_t count, kept = 0;
    char name[TXD_SITE_BYTES];

    *found = false;
    held->pooled = false;
    TXD_TRY(txd_site_layers(&layers, &count, arena, held->recordings[0],
                            sites[held->kind]));
    for (size_t i = 0; i < count; i++) {
        bool same = true;

        txd_held_site(name, held, layers[i]);
        for (size_t j = 0; j < held->recording_count; j++) {
            txd_trace_info *info = kept == 0 && j == 0 ? &first : &other;

            same = same && find(info, held->recordings[j], name, "sbhqk") &&
                   memcmp(info->dims, first.dims, 5 * sizeof *first.dims) == 0;
        }
        if (same)
            layers[kept++] = layers[i];
    }
    held->layers = layers;
    held->layer_count = held->layers_recorded = kept;
    held->width = first.dtype == TXD_F64 ? 8 : 4;
    *found = kept != 0 && take_shape(held, &first);
    return TXD_OK;
}

static txd_status find_pooled(txd_held *held, bool *found, txd_arena *arena)
{
    const char *mean =
        held->kind == TXD_ATTENTION_CROSS ? "cross_pooled/mean" : "pooled/mean";
    txd_trace_info first, other;
    int *layers;

    *found = true;
    held->pooled = held->mean = true;
    for (size_t j = 0; j < held->recording_count; j++) {
        txd_trace_info *info = j == 0 ? &first : &other;

        *found =
            *found &&
            find(info, held->recordings[j], txd_pooled_site(held->kind), "slbhij") &&
            memcmp(info->dims, first.dims, 6 * sizeof *first.dims) == 0;
        held->mean = held->mean && *found &&
                     find(&other, held->recordings[j], mean, "slbhij") &&
                     memcmp(other.dims, first.dims, 6 * sizeof *first.dims) == 0;
    }
    if (!*found || !take_shape(held, &first) || first.dims[1] > MOST_LAYERS ||
        held->rows > MOST_POOLED || held->columns > MOST_POOLED)
        return *found = false, TXD_OK;
    layers = txd_arena_alloc(arena, first.dims[1], sizeof *layers);
    if (!layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < first.dims[1]; i++)
        layers[i] = (int)i;
    held->layers = layers;
    held->layer_count = held->layers_recorded = first.dims[1];
    held->width = first.dtype == TXD_F64 ? 8 : 4;
    return TXD_OK;
}

static size_t cells_of(size_t places, size_t side)
{
    return (places + side - 1) / side;
}

/* About the bytes of one layer in one step and batch row. The mask leaves half of the
 * cells out where it is causal; of other masks nothing is taken for granted. */
static double layer_bytes(const txd_held *held, size_t side, size_t width, bool causal)
{
    double rows = (double)cells_of(held->rows, side);
    double columns = (double)cells_of(held->columns, side);
    double cells = rows * columns;

    if (causal && held->kind == TXD_ATTENTION_SELF && rows == columns)
        cells = rows * (rows + 1) / 2;
    return (cells * (double)width * (held->mean ? 2 : 1) + TXD_HELD_FRAME) *
           (double)held->heads * (double)held->recording_count;
}

static double layer_values(const txd_held *held)
{
    return (double)held->heads * (double)held->rows * (double)held->columns *
           (double)held->recording_count;
}

static bool is_causal(const txd_trace *recording)
{
    bool causal = false;
    txd_claim claim;

    if (txd_claim_init(&claim, recording, 0) == TXD_OK && claim.configured) {
        causal = true;
        for (size_t i = 0; i < claim.config.n_layers; i++)
            causal = causal && claim.config.layers[i].causal;
    }
    txd_claim_finish(&claim);
    return causal;
}

/* Sets side, width and mean; true if `wanted` frames of them fit. */
static bool settle(txd_held *held, size_t side, double bytes, size_t wanted,
                   bool causal)
{
    bool exact = side == 1;
    bool has_means = held->pooled ? held->mean && side == 1 : side > 1;
    const size_t widths[] = {held->width, 4, 2};
    txd_held trial = *held;

    trial.side = side;
    trial.mean = has_means; /* means of means would need the pairs of each */
    for (size_t i = 0; i < (exact && !held->pooled ? 2 : 3); i++) {
        trial.width = exact || widths[i] < 4 ? widths[i] : 4;
        if (layer_bytes(&trial, side, trial.width, causal) * (double)trial.layer_count *
                (double)wanted <=
            bytes) {
            *held = trial;
            return true;
        }
    }
    return false;
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The finest cells that fit; false if none do. */
static bool choose_side(txd_held *held, double bytes, size_t frames, bool causal)
{
    size_t longest = held->rows > held->columns ? held->rows : held->columns;
    size_t most = longest > LEAST_CELLS ? longest / LEAST_CELLS : 1;

    for (size_t side = 1; side <= most; side += side < 8 ? 1 : side / 4) {
        bool exact = side == 1 && !held->pooled;

        if (cells_of(longest, side) <= MOST_CELLS &&
            settle(held, side, bytes, least(frames, exact ? EXACT_FRAMES : FRAMES),
                   causal))
            return true;
    }
    for (size_t wanted = least(frames, FRAMES); wanted-- > 1;)
        if (settle(held, most, bytes, wanted, causal))
            return true;
    return false;
}

/* `count` of `all`, the first and the last among them. */
static size_t evenly(size_t i, size_t count, size_t all)
{
    return count < 2 ? 0 : i * (all - 1) / (count - 1);
}

/* Of many layers evenly chosen ones, when not even one step of all fits. */
static txd_status thin_layers(txd_held *held, txd_arena *arena, size_t count)
{
    int *layers = txd_arena_alloc(arena, count, sizeof *layers);

    if (!layers)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < count; i++)
        layers[i] = held->layers[evenly(i, count, held->layer_count)];
    held->layers = layers;
    held->layer_count = count;
    return TXD_OK;
}

static bool has(const size_t *places, size_t count, int64_t place)
{
    for (size_t i = 0; i < count; i++)
        if (place >= 0 && places[i] == (uint64_t)place)
            return true;
    return false;
}

/* Puts `place` among `chosen`, which are ascending: in place of the nearest one. */
static void include(size_t *chosen, size_t count, int64_t place)
{
    size_t nearest = 0;

    for (size_t i = 1; i < count; i++)
        if (fabs((double)chosen[i] - (double)place) <
            fabs((double)chosen[nearest] - (double)place))
            nearest = i;
    chosen[nearest] = (size_t)place;
}

/* The steps of which `record` selected something; ascending. */
static txd_status find_steps(size_t **out, txd_held *held, txd_arena *arena)
{
    size_t every = 1 + (held->steps - 1) / MOST_STEPS;
    char site[TXD_SITE_BYTES];
    txd_recorded_part part = {.probe = held->pooled ? "pooled" : "full",
                              .site = site,
                              .layer = held->layers[0],
                              .head = -1};

    txd_site_of_layer(site, sites[held->kind], held->layers[0]);
    *out = txd_arena_alloc(arena, 1 + (held->steps - 1) / every, sizeof **out);
    if (!*out)
        return TXD_ERR_MEMORY;
    held->steps_recorded = 0;
    for (part.step = 0; part.step < held->steps; part.step += every)
        if (txd_recorded(held->recordings[0], &part))
            (*out)[held->steps_recorded++] = part.step;
    return held->steps_recorded ? TXD_OK
                                : txd_fail(TXD_ERR_MISSING, "%s: no step", site);
}

/* Chooses steps and batch rows for `room` frames. */
static txd_status choose_frames(txd_held *held, txd_arena *arena,
                                const size_t *recorded, size_t room, int64_t step,
                                int64_t batch)
{
    size_t all = held->steps_recorded, steps, *places, *rows;
    size_t batches = all == 1 ? least(held->batches, room)
                              : least(held->batches, room / least(all, FRAMES));

    batches = batches ? batches : 1;
    steps = least(all, room / batches);
    held->frames = txd_arena_alloc(arena, steps * batches, sizeof *held->frames);
    places = txd_arena_alloc(arena, steps, sizeof *places);
    rows = txd_arena_alloc(arena, batches, sizeof *rows);
    if (!held->frames || !places || !rows)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < steps; i++)
        places[i] = recorded[evenly(i, steps, all)];
    for (size_t i = 0; i < batches; i++)
        rows[i] = i;
    if (has(recorded, all, step))
        include(places, steps, step);
    if (batch >= 0 && (uint64_t)batch < held->batches)
        include(rows, batches, batch);
    held->frame_count = steps * batches;
    held->steps_held = steps;
    held->batches_held = batches;
    for (size_t i = 0; i < held->frame_count; i++)
        held->frames[i] =
            (txd_held_frame){.step = places[i / batches], .batch = rows[i % batches]};
    return TXD_OK;
}

static txd_status too_large(const txd_held *held)
{
    return txd_fail(TXD_ERR_MISSING,
                    "%s: %zu x %zu weights in %zu heads are too many for a page; "
                    "record = ( { probe = \"pooled\"; } ); keeps maps that fit",
                    sites[held->kind], held->rows, held->columns, held->heads);
}

static txd_status choose(txd_held *held, txd_arena *arena,
                         const txd_held_budget *budget, int64_t step, int64_t batch)
{
    double bytes = budget->bytes / budget->excess, values = layer_values(held);
    double all = values * (double)held->layer_count, frame;
    size_t frames, count, room, *steps;
    bool causal = is_causal(held->recordings[0]);

    TXD_TRY(find_steps(&steps, held, arena));
    frames = held->steps_recorded < MOST_FRAMES / least(held->batches, MOST_FRAMES)
                 ? held->steps_recorded * held->batches
                 : MOST_FRAMES;
    if (all * (double)frames > budget->values)
        frames = all > budget->values ? 1 : (size_t)(budget->values / all);
    if (values > budget->values)
        return too_large(held);
    if (all > budget->values)
        TXD_TRY(thin_layers(held, arena, (size_t)(budget->values / values)));
    if (!choose_side(held, bytes, frames, causal)) {
        size_t longest = held->rows > held->columns ? held->rows : held->columns;

        held->side = longest > LEAST_CELLS ? longest / LEAST_CELLS : 1;
        held->mean = false;
        held->width = held->side == 1 ? 4 : 2;
        count = (size_t)(bytes / layer_bytes(held, held->side, held->width, causal));
        if (count == 0)
            return too_large(held);
        TXD_TRY(thin_layers(held, arena, least(count, held->layer_count)));
    }
    frame =
        layer_bytes(held, held->side, held->width, causal) * (double)held->layer_count;
    room = frame * (double)frames <= bytes ? frames : (size_t)(bytes / frame);
    return choose_frames(held, arena, steps, room ? room : 1, step, batch);
}

txd_status txd_held_plan(txd_held *held, txd_arena *arena,
                         const txd_held_budget *budget, int64_t step, int64_t batch)
{
    txd_held pooled = *held;
    bool has_full, has_pooled;

    TXD_TRY(find_full(held, &has_full, arena));
    TXD_TRY(find_pooled(&pooled, &has_pooled, arena));
    if (!has_full && !has_pooled)
        return txd_fail(TXD_ERR_MISSING, "no weights were recorded");
    if (has_pooled &&
        (!has_full || layer_values(held) * (double)held->layer_count > budget->values))
        *held = pooled;
    return choose(held, arena, budget, step, batch);
}
