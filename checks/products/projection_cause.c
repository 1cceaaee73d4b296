/* SPDX-License-Identifier: MIT
 *
 * Why a projection is not what its parameters give: each candidate is recomputed for
 * the whole sample and accepted only if all of it fits within the bound.
 */
#include "checks/kept.h"
#include "checks/products/projection.h"

#include <math.h>
#include <stdlib.h>

/* All kept lanes of one head at one token: do they hold this map's this head? */
typedef struct source {
    size_t map, head;
    const double *x;
} source;

static bool fits(double found, const txd_projection_value *value, double factor,
                 bool with_bias)
{
    double exact = with_bias ? value->exact : value->exact - value->bias;

    return txd_within(fabs(found - factor * exact), value->allowed);
}

static bool piece_fits(const txd_projection_job *job, size_t i, size_t h,
                       const source *from, bool with_bias)
{
    const txd_projection *here = &job->p->maps[job->map];
    const txd_projection *there = &job->p->maps[from->map];
    size_t lanes = txd_projection_kept(job, job->map)->lanes;

    if (there->width != here->width || there->columns != here->columns ||
        txd_projection_kept(job, from->map)->lanes != lanes ||
        !txd_projection_kept(job, from->map)->rows)
        return false;
    for (size_t j = 0; j < lanes; j++) {
        txd_projection_value value =
            txd_projection_compute(job, from->map, from->head, j, from->x);

        if (!fits(txd_projection_found(job, i, h, j), &value, 1, with_bias))
            return false;
    }
    return true;
}

void txd_projection_input(double *out, const txd_projection_job *job, size_t token)
{
    size_t columns = job->p->maps[job->map].columns;

    txd_kept_read(out, &job->input, token * columns, columns);
}

static bool is_view(const txd_projection_job *job, double *x)
{
    size_t length = job->length, heads = job->p->maps[job->map].heads;

    for (size_t i = 0; i < job->token_count; i++)
        for (size_t h = 0; h < heads; h++) {
            size_t batch = job->tokens[i] / length, token = job->tokens[i] % length;
            size_t piece = h * length + token; /* in the memory (t, h, e) */
            source from = {job->map, piece % heads, x};

            txd_projection_input(x, job, batch * length + piece / heads);
            if (!piece_fits(job, i, h, &from, true))
                return false;
        }
    return true;
}

static bool lacks_bias(const txd_projection_job *job)
{
    const txd_projections *p = job->p;

    if (!txd_projection_kept(job, job->map)->bias)
        return false;
    for (size_t i = 0; i < job->token_count; i++)
        for (size_t h = 0; h < p->maps[job->map].heads; h++) {
            source from = {job->map, h, p->x + i * p->columns};

            if (!piece_fits(job, i, h, &from, false))
                return false;
        }
    return true;
}

/* Another head, or another map, that stands where head h should, at every token. */
static bool find_source(txd_projection_tally *t, const txd_projection_job *job,
                        size_t h)
{
    const txd_projections *p = job->p;

    for (size_t map = 0; map < p->map_count; map++)
        for (size_t head = 0; head < p->maps[map].heads; head++) {
            size_t same = 0;

            while (same < job->token_count) {
                source from = {map, head, p->x + same * p->columns};

                if (!piece_fits(job, same, h, &from, true))
                    break;
                same++;
            }
            if (same == job->token_count) {
                t->source_map = map;
                t->source_head = head;
                return true;
            }
        }
    return false;
}

size_t txd_projection_turned(const txd_projection *map, const txd_projection_rows *kept,
                             size_t i)
{
    return i * map->heads * kept->lanes / kept->turned;
}

txd_status txd_projection_keep_misread(txd_projection_rows *kept,
                                       const txd_projections *p,
                                       const txd_projection *map,
                                       const txd_tensor *weight)
{
    size_t all = map->heads * map->width, rows = map->heads * kept->lanes;

    kept->turned = rows < TXD_PROJECTION_TURNED ? rows : TXD_PROJECTION_TURNED;
    free(kept->misread);
    kept->misread = calloc(kept->turned * map->columns, sizeof *kept->misread);
    if (!kept->misread)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", p->law);
    for (size_t i = 0; i < kept->turned; i++) {
        size_t r = txd_projection_turned(map, kept, i);
        size_t row = r / kept->lanes * map->width +
                     txd_projection_lane(map, kept, r % kept->lanes);

        for (size_t c = 0; c < map->columns; c++) {
            size_t place = row * map->columns + c;

            kept->misread[i * map->columns + c] = txd_tensor_get(
                weight, (map->first + place % all) * map->columns + place / all);
        }
    }
    return TXD_OK;
}

/* Of a few rows of the matrix, at every token. */
static bool is_transposed(const txd_projection_job *job)
{
    const txd_projections *p = job->p;
    const txd_projection *map = &p->maps[job->map];
    const txd_projection_rows *kept = txd_projection_kept(job, job->map);
    size_t n = map->columns;

    for (size_t i = 0; i < job->token_count; i++)
        for (size_t m = 0; m < kept->turned; m++) {
            const double *x = p->x + i * p->columns;
            size_t r = txd_projection_turned(map, kept, m);
            size_t h = r / kept->lanes, j = r % kept->lanes;
            txd_projection_value value = txd_projection_compute(job, job->map, h, j, x);

            value.exact = value.bias;
            for (size_t c = 0; c < n; c++)
                value.exact += x[c] * kept->misread[m * n + c];
            /* The bound is another row's: ten of it are still far from chance. */
            value.allowed *= 10;
            if (!fits(txd_projection_found(job, i, h, j), &value, 1, true))
                return false;
        }
    return kept->turned > 0;
}

static bool is_absent(const txd_projection_job *job)
{
    const txd_projections *p = job->p;
    const txd_projection *map = &p->maps[job->map];
    const txd_projection_rows *kept = txd_projection_kept(job, job->map);

    if (map->heads * map->width != map->columns)
        return false;
    for (size_t i = 0; i < job->token_count; i++)
        for (size_t r = 0; r < map->heads * kept->lanes; r++) {
            size_t h = r / kept->lanes, j = r % kept->lanes;
            size_t row = h * map->width + txd_projection_lane(map, kept, j);

            if (txd_projection_found(job, i, h, j) != p->x[i * p->columns + row])
                return false;
        }
    return true;
}

/* One factor for all values: what a regression leaves is below a millionth. */
static bool find_factor(txd_projection_tally *t, const txd_projection_job *job)
{
    const txd_projections *p = job->p;
    double ee = 0, fe = 0, ff = 0;

    for (size_t i = 0; i < job->token_count; i++)
        for (size_t h = 0; h < p->maps[job->map].heads; h++)
            for (size_t j = 0; j < txd_projection_kept(job, job->map)->lanes; j++) {
                double found = txd_projection_found(job, i, h, j);
                double exact =
                    txd_projection_compute(job, job->map, h, j, p->x + i * p->columns)
                        .exact;

                ee += exact * exact;
                fe += found * exact;
                ff += found * found;
            }
    t->factor = fe / ee;
    return ee > 0 && ff > 0 && ff - fe * fe / ee <= 1e-6 * ff &&
           fabs(t->factor - 1) > 1e-5;
}

txd_status txd_projection_explain(txd_projection_tally *tally,
                                  const txd_projection_job *job)
{
    size_t h = tally->at.head < 0 ? 0 : (size_t)tally->at.head;
    double *x = calloc(job->p->columns, sizeof *x);

    if (!x)
        return txd_fail(TXD_ERR_MEMORY, "%s: no memory", job->p->law);
    if (is_view(job, x))
        tally->cause = TXD_CAUSE_VIEW;
    else if (lacks_bias(job))
        tally->cause = TXD_CAUSE_BIAS;
    else if (is_absent(job))
        tally->cause = TXD_CAUSE_ABSENT;
    else if (find_source(tally, job, h))
        tally->cause = TXD_CAUSE_SOURCE;
    else if (is_transposed(job))
        tally->cause = TXD_CAUSE_TRANSPOSED;
    else if (find_factor(tally, job))
        tally->cause = TXD_CAUSE_FACTOR;
    free(x);
    return TXD_OK;
}

void txd_projection_say_cause(txd_finding *finding, const txd_projections *p,
                              const txd_projection_tally *t)
{
    char factor[32];

    switch (t->cause) {
    case TXD_CAUSE_VIEW:
        txd_law_say(finding,
                    ": (t, h, e) in memory was taken for (h, t, e): a view "
                    "without the transpose, or one whose strides were ignored");
        break;
    case TXD_CAUSE_SOURCE:
        txd_law_say(finding, ": it is what the rows of %s, head %zu, give",
                    p->maps[t->source_map].letter, t->source_head);
        break;
    case TXD_CAUSE_BIAS:
        txd_law_say(finding, ": the bias is missing");
        break;
    case TXD_CAUSE_TRANSPOSED:
        txd_law_say(finding, ": the matrix is transposed, (in, out) taken for "
                             "(out, in)");
        break;
    case TXD_CAUSE_ABSENT:
        txd_law_say(finding, ": it is the input itself, the projection is missing");
        break;
    case TXD_CAUSE_FACTOR:
        txd_law_say(finding, ": all values are %s times what they should be",
                    txd_law_number(factor, t->factor));
        break;
    case TXD_CAUSE_NONE:
        break;
    }
}
