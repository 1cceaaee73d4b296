/* SPDX-License-Identifier: MIT
 *
 * The factor of a term is a regression on it of what the others leave; it is believed
 * if nothing but rounding is left.
 */
#include "checks/ends/addends.h"

#include <math.h>
#include <stdio.h>

txd_addend_sum txd_addends_sum(const txd_addends *a, size_t i, txd_roundoff u)
{
    txd_addend_sum sum = {0, 0};
    double unit = u.store + 0x1p-53;

    for (size_t k = 0; k < a->count; k++) {
        double term = a->factor[k] * a->terms[k][i], error = 0;

        if (a->factor[k] != 1) {
            error = 2 * (u.accumulate + 0x1p-53) * fabs(term) + u.lost;
            error += unit * (fabs(term) + error) + u.tiny;
        }
        sum.exact += term;
        sum.allowed += error;
        if (k > 0)
            sum.allowed += unit * (fabs(sum.exact) + sum.allowed) + u.tiny;
    }
    return sum;
}

/* out - (the others) = factor x term, over all rows. */
typedef struct fit {
    double xx, xy, yy, size; /* size: of out */
} fit;

static fit fit_term(const txd_addends *a, size_t k, const double *out)
{
    fit f = {0, 0, 0, 0};

    for (size_t i = 0; i < a->rows * a->width; i++) {
        double x = a->terms[k][i], y = out[i];

        for (size_t other = 0; other < a->count; other++)
            if (other != k)
                y -= a->factor[other] * a->terms[other][i];
        if (!isfinite(x) || !isfinite(y))
            continue;
        f.xx += x * x;
        f.xy += x * y;
        f.yy += y * y;
        f.size += out[i] * out[i];
    }
    return f;
}

static bool is_near(double x, double y, double by)
{
    return fabs(x - y) <= by * fabs(y);
}

static void say_factor(char *text, size_t bytes, const txd_addends *a, size_t k,
                       double factor, double near)
{
    const char *name = a->names[k];
    double claimed = a->factor[k];
    char found[32], stated[32];

    txd_law_numbers(found, factor, stated, claimed);
    if (fabs(factor) <= near)
        snprintf(text, bytes, "%s is missing", name);
    else if (claimed == 1)
        snprintf(text, bytes, "%s is multiplied by %s", name, found);
    else if (is_near(factor, 1, near))
        snprintf(text, bytes, "%s is not scaled, by %s", name, stated);
    else if (is_near(factor, claimed * claimed, near))
        snprintf(text, bytes, "%s is scaled twice, by %s", name, stated);
    else if (is_near(factor, (double)txd_bf16_to_f32(txd_f64_to_bf16(claimed)), near))
        snprintf(
            text, bytes,
            "%s is multiplied by %s, not by %s: the factor was rounded to bfloat16",
            name, found, stated);
    else if (is_near(factor, (double)txd_f16_to_f32(txd_f64_to_f16(claimed)), near))
        snprintf(text, bytes,
                 "%s is multiplied by %s, not by %s: the factor was rounded to float16",
                 name, found, stated);
    else if (is_near(factor, sqrt((double)a->width), near))
        snprintf(text, bytes, "%s is multiplied by %s, sqrt(d_model), not by %s", name,
                 found, stated);
    else
        snprintf(text, bytes, "%s is multiplied by %s, not by %s", name, found, stated);
}

void txd_addends_explain(char *text, size_t bytes, const txd_addends *a,
                         const double *out, txd_roundoff u)
{
    double rounding = 8 * u.store;

    text[0] = '\0';
    for (size_t k = 0; k < a->count; k++) {
        fit f = fit_term(a, k, out);
        double factor = f.xy / f.xx, near = 1e-6 + u.store;

        if (f.xx > 0 &&
            f.yy - factor * f.xy <= 1e-10 * f.yy + rounding * rounding * f.size &&
            !is_near(factor, a->factor[k], 1e-9)) {
            say_factor(text, bytes, a, k, factor, near);
            return;
        }
    }
}
