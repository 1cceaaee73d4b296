/* SPDX-License-Identifier: MIT
 *
 * Where a site stops being finite, from its statistics: the first such value, and its
 * coordinates in words.
 */
#include "checks/finite.h"

#include <stdio.h>
#include <string.h>

static const char *axes_of(const txd_nonfinite *site)
{
    static const char *const parameter[] = {"", "e", "rc"};

    if (site->kind == TXD_SITE_VALUE)
        return txd_point_get(site->point)->axes;
    return site->rank <= 2 ? parameter[site->rank] : "";
}

void txd_nonfinite_read(txd_nonfinite *out, const txd_block *block)
{
    const txd_site *site = block->site;
    const double *stats = block->stats;

    *out = (txd_nonfinite){.kind = site->kind,
                           .point = site->point,
                           .layer = site->layer,
                           .step = site->step,
                           .index = site->index,
                           .count = stats[TXD_STAT_NONFINITE],
                           .of = stats[TXD_STAT_COUNT],
                           .value = stats[TXD_STAT_FIRST_VALUE],
                           .rank = block->value.rank};
    out->flat = stats[TXD_STAT_FIRST] >= 0 ? (size_t)stats[TXD_STAT_FIRST] : 0;
    snprintf(out->name, sizeof out->name, "%s", site->name);
    memcpy(out->dims, block->dims, sizeof out->dims);
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
