/* SPDX-License-Identifier: MIT
 *
 * Values that are not finite at a site: counted by its statistics or, where a recording
 * has values only, from these by the same rules.
 */
#include "checks/finite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const char *axes_of(const txd_nonfinite *site)
{
    static const char *const parameter[] = {"", "e", "rc"};

    if (site->kind == TXD_SITE_VALUE)
        return txd_point_get(site->point)->axes;
    return site->rank <= 2 ? parameter[site->rank] : "";
}

static void name_site(txd_nonfinite *out, const txd_block *block)
{
    const txd_site *site = block->site;

    snprintf(out->name, sizeof out->name, "%s", site->name);
    out->kind = site->kind;
    out->point = site->point;
    out->layer = site->layer;
    out->step = site->step;
    out->index = site->index;
    out->rank = block->value.rank;
    memcpy(out->dims, block->dims, sizeof out->dims);
}

void txd_nonfinite_of_stats(txd_nonfinite *out, const txd_block *block)
{
    const double *stats = block->stats;

    name_site(out, block);
    out->count = stats[TXD_STAT_NONFINITE];
    out->of = stats[TXD_STAT_COUNT];
    out->value = stats[TXD_STAT_FIRST_VALUE];
    out->flat = stats[TXD_STAT_FIRST] >= 0 ? (size_t)stats[TXD_STAT_FIRST] : 0;
}

/* Coordinates of element `i` of the block in the whole value. */
static void unravel(size_t *at, const txd_block *block, size_t i)
{
    for (int axis = block->value.rank - 1; axis >= 0; axis--) {
        at[axis] = block->start[axis] + i % block->value.dims[axis];
        i /= block->value.dims[axis];
    }
}

static size_t ravel(const size_t *at, const txd_block *block)
{
    size_t flat = 0;

    for (int axis = 0; axis < block->value.rank; axis++)
        flat = flat * block->dims[axis] + at[axis];
    return flat;
}

static bool is_counted(const txd_block *block, const size_t *at)
{
    const txd_inputs *inputs = block->pass->inputs;
    bool is_tile = txd_point_get(block->site->point)->place == TXD_PLACE_TILE;
    size_t token = at[block->value.rank == 4 ? 2 : 1];
    const int32_t *valid = inputs->valid + at[0] * inputs->length;
    txd_mask_view mask;

    if (!valid[token])
        return false;
    if (block->site->point == TXD_POINT_LOSS_TOKEN)
        return token + 1 < inputs->length && valid[token + 1];
    if (!is_tile)
        return true;
    mask =
        txd_mask_of(&block->pass->claimed->layers[block->site->layer], inputs, at[0]);
    return txd_mask_hides(&mask, at[2], at[3]) == TXD_SEEN;
}

void txd_nonfinite_of_values(txd_nonfinite *out, const txd_block *block)
{
    size_t count = txd_tensor_count(&block->value), at[TXD_MAX_RANK];
    bool is_value = block->site->kind == TXD_SITE_VALUE;

    name_site(out, block);
    for (size_t i = 0; i < count; i++) {
        double value = txd_tensor_get(&block->value, i);

        unravel(at, block, i);
        if (is_value && !is_counted(block, at))
            continue;
        out->of++;
        if (isfinite(value))
            continue;
        if (out->count++ == 0) {
            out->flat = ravel(at, block);
            out->value = value;
        }
    }
}

static const char *axis_word(char axis)
{
    switch (axis) {
    case 'b':
        return "batch row";
    case 't':
        return "token";
    case 'q':
        return "query";
    case 'k':
        return "key";
    case 'h':
        return "head";
    case 'g':
        return "KV head";
    case 'v':
        return "vocabulary entry";
    case 'r':
        return "row";
    case 'c':
        return "column";
    default:
        return "element";
    }
}

void txd_nonfinite_where(char *text, size_t bytes, const txd_nonfinite *site)
{
    const char *axes = axes_of(site);
    size_t rest = 1, flat = site->flat, used = 0;

    for (int axis = 0; axis < site->rank; axis++)
        rest *= site->dims[axis];
    text[0] = '\0';
    for (int axis = 0; axes[axis] && axis < site->rank && used < bytes; axis++) {
        if (site->dims[axis] == 0)
            return;
        rest /= site->dims[axis];
        if (axes[axis] != 'b' || site->dims[axis] > 1)
            snprintf(text + used, bytes - used, "%s%s %zu", used ? ", " : "",
                     axis_word(axes[axis]), flat / rest);
        flat %= rest;
        used += strlen(text + used);
    }
}

txd_law_place txd_nonfinite_place(const txd_nonfinite *site)
{
    txd_law_place place = TXD_LAW_NOWHERE;
    const char *axes = axes_of(site);
    size_t flat = site->flat;

    place.step = site->step;
    if (site->kind != TXD_SITE_VALUE)
        return place;
    for (int axis = site->rank - 1; axis >= 0; axis--) {
        int64_t at = site->dims[axis] ? (int64_t)(flat % site->dims[axis]) : -1;

        flat /= site->dims[axis] ? site->dims[axis] : 1;
        if (axes[axis] == 'b')
            place.batch = at;
        else if (axes[axis] == 'h')
            place.head = at;
        else if (axes[axis] == 'q' || axes[axis] == 't')
            place.query = at;
        else if (axes[axis] == 'k')
            place.key = at;
    }
    return place;
}
