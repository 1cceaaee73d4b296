/* SPDX-License-Identifier: MIT
 *
 * Follows the residual stream through the reference's statistics.
 */
#include "viz/read/rounding.h"

#include <math.h>
#include <stdio.h>

#include "viz/read/curves.h"

/* A stream is summed at these, in order; one that a layer does not have is passed. */
static const char *const sums[] = {"resid.mid", "resid.cross", "resid.post"};

typedef struct stream {
    txd_curves curves;
    double *rms;
    size_t steps; /* that both recordings have */
} stream;

/* Mean square of a value over the steps; NaN if it was not recorded in one of them. */
static double square_of(const stream *s, size_t layer, const char *name, bool *found)
{
    char site[TXD_SITE_BYTES];
    double sum = 0;
    size_t row;

    snprintf(site, sizeof site, "layers.%zu.%s", layer, name);
    *found = txd_curves_find(&row, &s->curves, site);
    for (size_t step = 0; *found && step < s->steps; step++) {
        double rms = s->rms[step * s->curves.site_count + row];

        sum += rms * rms;
    }
    return sum / (double)s->steps;
}

/* The claimed model adds to a stream that no norm touches. */
static bool is_plain(const txd_trace *recording)
{
    txd_claim claim;
    bool plain = txd_claim_init(&claim, recording, 0) == TXD_OK && claim.configured &&
                 claim.config.norm_placement != TXD_PLACEMENT_POST;

    txd_claim_finish(&claim);
    return plain;
}

static txd_status open_stream(stream *s, txd_arena *arena, const txd_compared *compared)
{
    size_t entry;

    *s = (stream){.steps = compared->common};
    if (!is_plain(compared->reference) ||
        txd_trace_find(compared->reference, &entry, "series/stats") != TXD_OK)
        return TXD_OK;
    TXD_TRY(txd_curves_open(&s->curves, arena, compared->reference, "series/stats"));
    return s->curves.steps < s->steps ? TXD_OK
                                      : txd_curves_read(&s->rms, &s->curves, "rms");
}

txd_status txd_rounding_floor(double **errors, size_t *count, txd_arena *arena,
                              const txd_compared *compared)
{
    double once = TXD_ROUNDING_SHARE * compared->roundoff, square = 0, size;
    bool found;
    stream s;

    *count = 0;
    *errors = txd_arena_alloc(arena, compared->layers, sizeof **errors);
    if (!*errors)
        return TXD_ERR_MEMORY;
    TXD_TRY(open_stream(&s, arena, compared));
    if (!s.rms || s.steps == 0)
        return TXD_OK;
    size = square_of(&s, 0, "resid.pre", &found);
    for (size_t layer = 0; layer < compared->layers && found; layer++) {
        for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
            double next = square_of(&s, layer, sums[i], &found);

            if (!found)
                continue;
            square = square * size / next + once * once;
            size = next;
        }
        if (!found || !isfinite(square)) /* of resid.post */
            break;
        (*errors)[(*count)++] = sqrt(square);
    }
    return TXD_OK;
}
