/* SPDX-License-Identifier: MIT
 *
 * Where a site stops being finite, from its statistics: the first such value, and its
 * coordinates in words.
 */
#include "checks/ranges/finite.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void txd_nonfinite_read(txd_nonfinite *out, const txd_block *block)
{
    const txd_site *site = block->site;
    const double *stats = block->stats;

    *out = (txd_nonfinite){
        .kind = site->kind,
        .point = site->point,
        .layer = site->layer,
        .step = site->step,
        .index = site->index,
        .count = stats[TXD_STAT_NONFINITE],
        .of = stats[TXD_STAT_COUNT],
        .value = stats[TXD_STAT_FIRST_VALUE],
        .largest = fmax(fabs(stats[TXD_STAT_MIN]), fabs(stats[TXD_STAT_MAX])),
        .rank = block->value.rank};
    out->is_placed = stats[TXD_STAT_FIRST] >= 0 && stats[TXD_STAT_FIRST] < 0x1p53;
    if (out->is_placed)
        out->flat = (size_t)stats[TXD_STAT_FIRST];
    else
        out->value = 0;
    snprintf(out->name, sizeof out->name, "%s", site->name);
    memcpy(out->dims, block->dims, sizeof out->dims);
}

/* The kinds of sites come in the order of a pass; a place counts among its kind. */
bool txd_nonfinite_precedes(const txd_nonfinite *a, const txd_nonfinite *b)
{
    if (a->step != b->step)
        return a->step < b->step;
    return a->kind != b->kind ? a->kind < b->kind : a->index < b->index;
}

void txd_nonfinite_at(size_t at[TXD_MAX_RANK], const txd_nonfinite *site)
{
    size_t flat = site->flat;

    for (int axis = site->rank - 1; axis >= 0; axis--) {
        at[axis] = site->dims[axis] ? flat % site->dims[axis] : 0;
        flat /= site->dims[axis] ? site->dims[axis] : 1;
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
    default:
        return "element";
    }
}

void txd_nonfinite_where(char *text, size_t bytes, const txd_nonfinite *site)
{
    size_t rest = 1, flat = site->flat, used = 0;
    const char *axes;

    /* A recording keeps the statistics of parameters, not their shapes. */
    if (txd_site_is_parameter(site->kind)) {
        snprintf(text, bytes, "element %zu (row by row)", flat);
        return;
    }
    axes = txd_point_get(site->point)->axes;
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
    size_t flat = site->flat;
    const char *axes;

    place.step = site->step;
    if (txd_site_is_parameter(site->kind) || !site->is_placed)
        return place;
    axes = txd_point_get(site->point)->axes;
    for (int axis = (int)strlen(axes) - 1; axis >= 0; axis--) {
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
