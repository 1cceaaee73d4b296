/* SPDX-License-Identifier: MIT
 *
 * Sizes of values from /series/stats. Padded tokens and hidden cells are not in them.
 */
#include "viz/read/sizes.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "viz/figures/figures.h"

/* The law headroom judges the same; what is made of scores holds the mask's fill. */
static bool is_sized(txd_point point)
{
    const txd_point_info *info = txd_point_get(point);

    return info->place == TXD_PLACE_LAYER || point == TXD_POINT_ATTN_SCORES ||
           point == TXD_POINT_CROSS_SCORES;
}

bool txd_size_is_outside(const char *site)
{
    txd_point point;
    int layer;

    return !txd_ends_in(site, TXD_GRADIENT_SUFFIX) &&
           txd_point_of_name(&point, &layer, site) && layer < 0 &&
           point != TXD_POINT_LOSS_TOKEN &&
           txd_point_get(point)->place != TXD_PLACE_INPUT;
}

/* NaN stays. */
static double larger(double a, double b)
{
    return isnan(a) || isnan(b) ? (double)NAN : fmax(a, b);
}

/* Columns of the series, (step, site). */
typedef struct columns {
    double *count, *rms, *min, *max, *nonfinite;
} columns;

static void reduce(txd_value_sizes *s, const columns *from, size_t row)
{
    s->largest[row] = s->rms[row] = -1;
    for (size_t step = s->steps[0]; step < s->steps[1]; step++) {
        size_t at = step * s->curves.site_count + row;
        bool is_bad = from->nonfinite[at] > 0;
        double size = fmax(fabs(from->min[at]), fabs(from->max[at]));

        if (isnan(from->count[at]) || (from->count[at] == 0 && !is_bad))
            continue;
        s->largest[row] = larger(s->largest[row], is_bad ? (double)NAN : size);
        s->rms[row] = larger(s->rms[row], is_bad ? (double)NAN : from->rms[at]);
    }
}

static txd_status reduce_all(txd_value_sizes *s)
{
    const txd_curves *curves = &s->curves;
    columns from;

    TXD_TRY(txd_curves_read(&from.count, curves, "count"));
    TXD_TRY(txd_curves_read(&from.rms, curves, "rms"));
    TXD_TRY(txd_curves_read(&from.min, curves, "min"));
    TXD_TRY(txd_curves_read(&from.max, curves, "max"));
    TXD_TRY(txd_curves_read(&from.nonfinite, curves, "nonfinite"));
    s->largest = txd_arena_alloc(curves->arena, curves->site_count, sizeof(double));
    s->rms = txd_arena_alloc(curves->arena, curves->site_count, sizeof(double));
    if (!s->largest || !s->rms)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < curves->site_count; i++)
        reduce(s, &from, i);
    return TXD_OK;
}

/* Leaves the layers in which something was recorded. */
static void keep_recorded(txd_size_curve *c, txd_value_sizes *s)
{
    size_t kept = 0;

    for (size_t i = 0; i < c->count; i++) {
        double size = s->largest[c->rows[i]];

        if (size < 0)
            continue;
        c->peak = fmax(c->peak, isnan(size) ? (double)INFINITY : size);
        if (isnan(size) && c->rows[i] < s->first_bad)
            s->first_bad = c->rows[i];
        c->layers[kept] = c->layers[i];
        c->rows[kept++] = c->rows[i];
    }
    c->count = kept;
}

static txd_status find_curves(txd_value_sizes *s)
{
    for (int point = 0; point < TXD_POINT_COUNT; point++) {
        txd_size_curve *next = &s->of[s->count];
        char site[TXD_SITE_BYTES];

        if (!is_sized((txd_point)point))
            continue;
        snprintf(site, sizeof site, "layers.*.%s",
                 txd_point_get((txd_point)point)->name);
        *next = (txd_size_curve){.point = (txd_point)point};
        TXD_TRY(txd_curves_layers(&next->layers, &next->rows, &next->count, &s->curves,
                                  site));
        keep_recorded(next, s);
        if (next->count == 0)
            continue;
        s->count++;
        if ((size_t)next->layers[next->count - 1] >= s->layers)
            s->layers = (size_t)next->layers[next->count - 1] + 1;
    }
    return TXD_OK;
}

txd_status txd_sizes_read(txd_value_sizes *out, txd_arena *arena,
                          const txd_trace *recording, int step)
{
    *out = (txd_value_sizes){.count = 0};
    TXD_TRY(txd_curves_open(&out->curves, arena, recording, "series/stats"));
    out->steps[1] = out->curves.steps;
    out->first_bad = out->curves.site_count;
    if (step >= 0) {
        TXD_TRY(txd_choice(&out->steps[0], "step", step, out->curves.steps));
        out->steps[1] = out->steps[0] + 1;
    }
    TXD_TRY(reduce_all(out));
    TXD_TRY(find_curves(out));
    if (out->count == 0)
        return txd_fail(TXD_ERR_MISSING,
                        "series/stats: no value of a layer was recorded; to record "
                        "them, in model.cfg: record = ( { probe = \"stats\"; } );");
    return TXD_OK;
}

const txd_size_curve *txd_size_curve_of(const txd_value_sizes *sizes, txd_point point)
{
    for (size_t i = 0; i < sizes->count; i++)
        if (sizes->of[i].point == point)
            return &sizes->of[i];
    return NULL;
}

bool txd_size_curves_equal(const txd_value_sizes *sizes, const txd_size_curve *a,
                           const txd_size_curve *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++)
        if (a->layers[i] != b->layers[i] ||
            sizes->largest[a->rows[i]] != sizes->largest[b->rows[i]] ||
            sizes->rms[a->rows[i]] != sizes->rms[b->rows[i]])
            return false;
    return true;
}

const char *txd_sizes_highest(double *size, const txd_value_sizes *sizes)
{
    const char *site = NULL;
    bool drawn = false;

    *size = 0;
    for (size_t i = 0; i < sizes->count; i++)
        for (size_t j = 0; j < sizes->of[i].count; j++) {
            double other = sizes->largest[sizes->of[i].rows[j]];

            /* What a layer puts out is also what the next one reads. */
            if (!(other > *size || (site && other == *size && !drawn)))
                continue;
            *size = other;
            site = sizes->curves.sites[sizes->of[i].rows[j]];
            drawn = sizes->of[i].drawn;
        }
    return site;
}
