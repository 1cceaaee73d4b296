/* SPDX-License-Identifier: MIT
 *
 * Where two passes part. A row is what one token has at a site (of one head, where
 * there are heads).
 */
#include "checks/experiments/capture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The same site of both passes, and how its rows lie. */
typedef struct site_pair {
    const txd_captured *a, *b;
    size_t heads, width;
    bool has_heads, is_weights;
} site_pair;

/* Two rows. */
typedef struct row_pair {
    const char *a, *b;
    size_t width;
    txd_dtype a_dtype, b_dtype;
} row_pair;

static bool open_sites(site_pair *out, const txd_capture_match *c, size_t i)
{
    const txd_captured *a = &c->a->sites[i];
    int rank = a->value.rank;

    *out = (site_pair){.a = a, .b = txd_capture_at(c->b, &a->site)};
    if (!out->b || rank < 3)
        return false;
    if (c->layers && a->site.layer >= c->layers)
        return false;
    if (c->layers && a->site.layer < 0 && a->site.point > TXD_POINT_RESID_PRE)
        return false;
    out->has_heads = rank == 4;
    out->heads = rank == 4 ? a->value.dims[1] : 1;
    out->width = a->value.dims[rank - 1];
    out->is_weights = txd_point_get(a->site.point)->place == TXD_PLACE_TILE;
    return out->width == out->b->value.dims[rank - 1];
}

static const char *row_of(const txd_captured *c, size_t length, size_t token,
                          size_t head)
{
    int rank = c->value.rank;
    size_t heads = rank == 4 ? c->value.dims[1] : 1, width = c->value.dims[rank - 1];
    size_t row = (token / length * heads + head) * length + token % length;

    return (const char *)c->value.data + row * width * txd_dtype_bytes(c->value.dtype);
}

static double element(const char *row, txd_dtype dtype, size_t i)
{
    return dtype == TXD_F64 ? ((const double *)(const void *)row)[i]
                            : (double)((const float *)(const void *)row)[i];
}

static bool is_finite(const row_pair *r)
{
    for (size_t i = 0; i < r->width; i++)
        if (!isfinite(element(r->a, r->a_dtype, i)) ||
            !isfinite(element(r->b, r->b_dtype, i)))
            return false;
    return true;
}

/* True if any bit differs. */
static bool differs(const row_pair *r)
{
    return memcmp(r->a, r->b, r->width * txd_dtype_bytes(r->a_dtype)) != 0;
}

/* The first element that is another number (0 and -0 are one); `width` if none is. */
static size_t first_lane(const row_pair *r)
{
    size_t i = 0;

    while (i < r->width) {
        double a = element(r->a, r->a_dtype, i), b = element(r->b, r->b_dtype, i);

        if (!(a == b || (isnan(a) && isnan(b))))
            break;
        i++;
    }
    return i;
}

/* The norms of the row and of the difference; returns the worst element. */
static size_t measure(double norm[2], const row_pair *r)
{
    double most = -1;
    size_t worst = 0;

    norm[0] = norm[1] = 0;
    for (size_t i = 0; i < r->width; i++) {
        double a = element(r->a, r->a_dtype, i);
        double d = element(r->b, r->b_dtype, i) - a;

        norm[0] += a * a;
        norm[1] += d * d;
        if (fabs(d) > most) {
            most = fabs(d);
            worst = i;
        }
    }
    norm[0] = sqrt(norm[0]);
    norm[1] = sqrt(norm[1]);
    return worst;
}

static void found(txd_difference *out, const row_pair *r, size_t lane)
{
    out->is_found = true;
    out->lane = lane;
    out->a = element(r->a, r->a_dtype, lane);
    out->b = element(r->b, r->b_dtype, lane);
}

static void look_exactly(txd_difference *out, const row_pair *r)
{
    size_t lane = differs(r) ? first_lane(r) : r->width;

    if (lane < r->width) {
        found(out, r, lane);
        out->measured = fabs(out->b - out->a);
        out->allowed = 0;
        out->worst = out->measured;
    }
}

static void look_closely(txd_difference *out, const row_pair *r, double share)
{
    double norm[2], allowed;
    size_t lane = measure(norm, r);

    allowed = share * norm[0];
    if (out->worst_allowed == 0 ||
        txd_law_is_worse(txd_law_ratio(norm[1], allowed),
                         txd_law_ratio(out->worst, out->worst_allowed))) {
        out->worst = norm[1];
        out->worst_allowed = allowed;
    }
    if (norm[1] <= allowed)
        return;
    found(out, r, lane);
    out->measured = norm[1];
    out->allowed = allowed;
}

/* All heads of one token at a site. */
static void compare_token(txd_difference *out, const txd_capture_match *c,
                          const site_pair *s, const txd_token_pair *pair)
{
    txd_dtype a = s->a->value.dtype, b = s->b->value.dtype;

    for (size_t h = 0; h < s->heads && !out->is_found; h++) {
        row_pair r = {row_of(s->a, c->a->length, pair->a, h),
                      row_of(s->b, c->b->length, pair->b, h), s->width, a, b};

        out->rows++;
        if (!is_finite(&r))
            out->not_finite++;
        else if (c->allowed)
            look_closely(out, &r, c->allowed(c->self, s->a));
        else
            look_exactly(out, &r);
        if (out->is_found)
            out->head = s->has_heads ? (int64_t)h : -1;
    }
}

static void compare_site(txd_difference *out, const txd_capture_match *c,
                         const site_pair *s)
{
    for (size_t p = 0; p < c->count && !out->is_found; p++) {
        const txd_token_pair *pair = &c->pairs[p];

        if (s->is_weights && pair->a % c->a->length != pair->b % c->b->length)
            continue;
        compare_token(out, c, s, pair);
        if (out->is_found) {
            out->site = s->a;
            out->pair = p;
        }
    }
}

txd_status txd_capture_compare(txd_difference *out, const txd_capture_match *c)
{
    *out = (txd_difference){.head = -1};
    for (size_t i = 0; i < c->a->count && !out->is_found; i++) {
        site_pair s;

        if (open_sites(&s, c, i))
            compare_site(out, c, &s);
    }
    return TXD_OK;
}

txd_status txd_pairs_before(txd_token_pair **out, size_t *count, txd_arena *arena,
                            const txd_inputs *inputs, size_t end)
{
    size_t all = inputs->batch * inputs->length, used = 0;
    txd_token_pair *pairs = txd_arena_alloc(arena, all, sizeof *pairs);

    if (!pairs)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < all; i++)
        if (inputs->valid[i] && i % inputs->length < end)
            pairs[used++] = (txd_token_pair){i, i};
    *out = pairs;
    *count = used;
    return TXD_OK;
}

void txd_difference_count(txd_result *result, const txd_difference *d)
{
    result->evaluated += d->rows - d->not_finite;
    if (d->worst_allowed > 0)
        txd_law_raise(result, d->worst, d->worst_allowed);
    else if (d->worst > result->worst)
        result->worst = d->worst;
    if (d->not_finite > 0 && result->verdict < TXD_VERDICT_FAIL) {
        result->verdict = TXD_VERDICT_OPEN;
        snprintf(result->note, sizeof result->note,
                 "values are not finite: see `finite`");
    }
}

void txd_difference_say(txd_finding *finding, const txd_difference *d)
{
    char a[32], b[32];

    txd_law_numbers(a, d->a, b, d->b);
    txd_law_say(finding, "element %zu was %s and became %s", d->lane, a, b);
}
