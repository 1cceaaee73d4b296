/* SPDX-License-Identifier: MIT
 *
 * What a norm's wrong output is instead: other ways to normalise are tried on the kept
 * rows, simplest first, and the first one that leaves less than a hundredth of the
 * error (or rounding alone) is named. Normalising over tokens or over the batch needs
 * tokens that are not kept; it shows as outputs that are, feature by feature, one
 * straight line of the inputs.
 */
#include "checks/stream/norm.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef enum root {
    ROOT_CLAIMED,     /* sqrt(var + eps) */
    ROOT_UNBIASED,    /* var with n - 1 */
    ROOT_EPS_OUTSIDE, /* sqrt(var) + eps */
    ROOT_NONE,        /* x as it is */
    ROOT_INVERTED,    /* times the root, not divided by it */
} root;

typedef enum affine {
    AFFINE_CLAIMED,
    AFFINE_NO_GAIN,
    AFFINE_GAIN_PLUS_ONE,
    AFFINE_NO_OFFSET,
    AFFINE_NO_BIAS,
    AFFINE_NOTHING,
} affine;

/* A way to make the output. */
typedef struct way {
    const txd_kept *in;
    root root;
    affine affine;
    bool centred;
    double eps;
} way;

typedef struct moments {
    double mean, variance; /* about the mean, or about 0 */
} moments;

static moments moments_of(const double *x, size_t width, bool centred)
{
    double n = (double)width;
    moments m = {0, 0};

    for (size_t i = 0; i < width && centred; i++)
        m.mean += x[i] / n;
    for (size_t i = 0; i < width; i++)
        m.variance += (x[i] - m.mean) * (x[i] - m.mean) / n;
    return m;
}

static double factor_of(const way *w, moments m, size_t width)
{
    double n = (double)width;

    switch (w->root) {
    case ROOT_NONE:
        return 1;
    case ROOT_INVERTED:
        return sqrt(m.variance + w->eps);
    case ROOT_UNBIASED:
        return 1 / sqrt(m.variance * n / (n - 1) + w->eps);
    case ROOT_EPS_OUTSIDE:
        return 1 / (sqrt(m.variance) + w->eps);
    default:
        return 1 / sqrt(m.variance + w->eps);
    }
}

static double apply_affine(const way *w, const txd_norm *norm, size_t i, double core)
{
    double gain = norm->gain[i], bias = norm->bias[i];

    switch (w->affine) {
    case AFFINE_NO_GAIN:
        return core + bias;
    case AFFINE_GAIN_PLUS_ONE:
        return (1 + gain) * core + bias;
    case AFFINE_NO_OFFSET:
        return (gain - norm->offset) * core + bias;
    case AFFINE_NO_BIAS:
        return gain * core;
    case AFFINE_NOTHING:
        return core;
    default:
        return gain * core + bias;
    }
}

/* Sums of squares over the rows: of the error of a way, and of what was put out. */
typedef struct misfit {
    double error, size;
} misfit;

static misfit measure(const txd_norm_evidence *e, const way *w)
{
    size_t width = e->norm->width;
    misfit sum = {0, 0};

    for (size_t r = 0; r < e->out->count; r++) {
        const double *x = w->in->rows + r * width, *y = e->out->rows + r * width;
        moments m = moments_of(x, width, w->root != ROOT_NONE && w->centred);
        double factor = factor_of(w, m, width);

        if (!txd_kept_is_finite(x, width) || !txd_kept_is_finite(y, width))
            continue;
        for (size_t i = 0; i < width; i++) {
            double d = y[i] - apply_affine(w, e->norm, i, (x[i] - m.mean) * factor);

            sum.error += d * d;
            sum.size += y[i] * y[i];
        }
    }
    return sum;
}

/* True if the way explains all but a hundredth of what the claimed one leaves, or all
 * but rounding. */
static bool explains(const txd_norm_evidence *e, const way *w, double claimed)
{
    misfit m = measure(e, w);
    double rounding = 8 * e->u_store;

    return (m.size > 0 || m.error == 0) &&
           m.error <= 1e-4 * claimed + rounding * rounding * m.size &&
           m.error < claimed / 4;
}

/* The eps that makes the rows what they are: with y = a (x - mean), 1/a^2 = var + eps.
 * Rows with a small variance tell it best: their weight is a^4. */
static double fit_eps(const txd_norm_evidence *e)
{
    const txd_norm *norm = e->norm;
    size_t width = norm->width;
    double sum = 0, weights = 0;

    for (size_t r = 0; r < e->out->count; r++) {
        const double *x = e->in->rows + r * width, *y = e->out->rows + r * width;
        moments m = moments_of(x, width, norm->centred);
        double yc = 0, cc = 0, square;

        for (size_t i = 0; i < width; i++) {
            double c = norm->gain[i] * (x[i] - m.mean);

            yc += (y[i] - norm->bias[i]) * c;
            cc += c * c;
        }
        square = yc / cc * (yc / cc);
        if (!isfinite(square) || square <= 0)
            continue;
        sum += square * square * (1 / square - m.variance);
        weights += square * square;
    }
    return weights > 0 ? sum / weights : NAN;
}

/* ---- one straight line per feature ---- */

/* Sums of one group of tokens and one feature. */
typedef struct line {
    double n, x, y, xx, xy, yy;
} line;

/* How tokens are put in groups. */
typedef enum grouping { GROUP_ALL, GROUP_BATCH_ROW, GROUP_PLACE, GROUPINGS } grouping;

static size_t group_of(const txd_norm_evidence *e, grouping by, size_t r)
{
    size_t cell = e->tokens->index[r], length = e->tokens->length;

    if (by == GROUP_ALL)
        return 0;
    return by == GROUP_BATCH_ROW ? cell / length : cell % length;
}

static void add_token(line *lines, const double *x, const double *y, size_t width)
{
    for (size_t i = 0; i < width; i++) {
        line *l = &lines[i];

        l->n += 1;
        l->x += x[i];
        l->y += y[i];
        l->xx += x[i] * x[i];
        l->xy += x[i] * y[i];
        l->yy += y[i] * y[i];
    }
}

/* What the lines of groups with enough tokens leave unexplained, and of how much. */
static misfit sum_lines(const line *lines, size_t groups, size_t width)
{
    misfit sum = {0, 0};

    for (size_t i = 0; i < groups * width; i++) {
        const line *l = &lines[i];
        double xx = l->xx - l->x * l->x / l->n, xy = l->xy - l->x * l->y / l->n;
        double yy = l->yy - l->y * l->y / l->n;

        if (l->n < 4 || !(xx > 0))
            continue;
        sum.error += fmax(0, yy - xy * xy / xx);
        sum.size += yy;
    }
    return sum;
}

static txd_status is_lines(bool *out, const txd_norm_evidence *e, grouping by)
{
    size_t width = e->norm->width, groups = 1;
    line *lines;
    misfit sum;

    for (size_t r = 0; r < e->out->count; r++)
        groups = group_of(e, by, r) >= groups ? group_of(e, by, r) + 1 : groups;
    lines = calloc(groups * width, sizeof *lines);
    if (!lines)
        return txd_fail(TXD_ERR_MEMORY, "no memory to explain a norm");
    for (size_t r = 0; r < e->out->count; r++)
        add_token(lines + group_of(e, by, r) * width, e->in->rows + r * width,
                  e->out->rows + r * width, width);
    sum = sum_lines(lines, groups, width);
    free(lines);
    *out = sum.size > 0 && sum.error <= 1e-6 * sum.size;
    return TXD_OK;
}

static txd_status explain_axis(char *text, size_t bytes, const txd_norm_evidence *e)
{
    static const char *const words[GROUPINGS] = {"the tokens of the whole batch",
                                                 "the tokens of each sequence",
                                                 "the batch rows of each place"};
    size_t last = e->tokens->count ? e->tokens->index[e->tokens->count - 1] : 0;
    bool single = last < e->tokens->length;

    for (int by = 0; by < GROUPINGS; by++) {
        bool fits = false;

        TXD_TRY(is_lines(&fits, e, (grouping)by));
        if (!fits)
            continue;
        snprintf(text, bytes, "it is normalised over %s instead of over the features",
                 single ? "the tokens" : words[by]);
        return TXD_OK;
    }
    return TXD_OK;
}

/* ---- the ways ---- */

/* Another eps, or eps at another place: whichever leaves less, for a small eps outside
 * of the root is nearly another one inside. */
static bool explain_eps(char *text, size_t bytes, const txd_norm_evidence *e,
                        const way *claim, double claimed)
{
    way inside = *claim, outside = *claim;
    double fitted = fit_eps(e);
    char found[32], stated[32];
    bool is_inside, is_outside;

    inside.eps = fitted < 0 ? 0 : fitted;
    outside.root = ROOT_EPS_OUTSIDE;
    is_inside = explains(e, &inside, claimed);
    is_outside = explains(e, &outside, claimed);
    if (is_outside &&
        (!is_inside || measure(e, &outside).error < measure(e, &inside).error))
        snprintf(text, bytes, "eps is added outside of the root");
    else if (is_inside)
        snprintf(text, bytes, "as if eps were %s instead of %s",
                 txd_law_number(found, inside.eps), txd_law_number(stated, claim->eps));
    return is_inside || is_outside;
}

static bool explain_kind(char *text, size_t bytes, const txd_norm_evidence *e,
                         const way *claim, double claimed)
{
    const char *in = txd_point_get(e->norm->in)->name;
    way other = *claim, raw = *claim, inverted = *claim;

    other.centred = !claim->centred;
    inverted.root = ROOT_INVERTED;
    raw.root = ROOT_NONE;
    raw.centred = false;
    if (explains(e, &other, claimed)) {
        snprintf(text, bytes, "%s",
                 other.centred ? "the mean is subtracted: a layernorm, not an rmsnorm"
                               : "the mean is not subtracted: an rmsnorm, not a "
                                 "layernorm");
        return true;
    }
    /* Of rows that are nearly 0 both leave little. */
    if (explains(e, &inverted, claimed) &&
        measure(e, &inverted).error < measure(e, &raw).error) {
        snprintf(text, bytes, "it is multiplied by the root, not divided by it");
        return true;
    }
    if (explains(e, &raw, claimed)) {
        snprintf(text, bytes, "it is gain x %s + bias: nothing is normalised", in);
        return true;
    }
    raw.affine = AFFINE_NOTHING;
    if (explains(e, &raw, claimed)) {
        snprintf(text, bytes, "it is %s itself: nothing is normalised", in);
        return true;
    }
    return false;
}

static bool explain_rest(char *text, size_t bytes, const txd_norm_evidence *e,
                         const way *claim, double claimed)
{
    static const struct {
        root root;
        affine affine;
        const char *words;
    } ways[] = {
        {ROOT_CLAIMED, AFFINE_NO_GAIN, "the gain is missing"},
        {ROOT_CLAIMED, AFFINE_NO_BIAS, "the bias is missing"},
        {ROOT_CLAIMED, AFFINE_NOTHING, "gain and bias are missing"},
        {ROOT_CLAIMED, AFFINE_NO_OFFSET, "the offset of the gain is missing"},
        {ROOT_CLAIMED, AFFINE_GAIN_PLUS_ONE, "as if the gain were 1 + gain"},
        {ROOT_UNBIASED, AFFINE_CLAIMED, "the variance is divided by n - 1, not by n"},
    };

    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        way w = *claim;

        w.root = ways[i].root;
        w.affine = ways[i].affine;
        if (!explains(e, &w, claimed))
            continue;
        snprintf(text, bytes, "%s", ways[i].words);
        return true;
    }
    return false;
}

static bool explain_input(char *text, size_t bytes, const txd_norm_evidence *e,
                          const way *claim, double claimed)
{
    for (int point = 0; point < TXD_POINT_COUNT; point++) {
        const txd_kept *other = &e->points[point];
        way w = *claim;

        if (point == (int)e->norm->in || point == (int)e->norm->out ||
            other->count != e->out->count || other->width != e->norm->width)
            continue;
        w.in = other;
        if (!explains(e, &w, claimed))
            continue;
        snprintf(text, bytes, "it is the norm of %s, not of %s%s",
                 txd_point_get((txd_point)point)->name,
                 txd_point_get(e->norm->in)->name,
                 point == (int)e->norm->in_elsewhere ? ": the other placement of norms"
                                                     : "");
        return true;
    }
    return false;
}

txd_status txd_norm_explain(char *text, size_t bytes, const txd_norm_evidence *e)
{
    way claim = {.in = e->in, .centred = e->norm->centred, .eps = e->norm->eps};
    double claimed = measure(e, &claim).error;

    text[0] = '\0';
    if (explain_kind(text, bytes, e, &claim, claimed) ||
        explain_rest(text, bytes, e, &claim, claimed) ||
        explain_input(text, bytes, e, &claim, claimed) ||
        explain_eps(text, bytes, e, &claim, claimed))
        return TXD_OK;
    return explain_axis(text, bytes, e);
}
