/* SPDX-License-Identifier: MIT
 *
 * With k lanes, S = sum |w x| + |bias|: the pass is off by gamma_{k+1}(u_acc) S, this
 * sum by gamma_{k+2}(2^-53) S, a row that was rounded by u_store S, and the bias, which
 * is a parameter, by u_store |bias|; then one rounding
 * of the result, and what underflow can lose. A cap and a scale are off as their
 * operations are (lib/ops/bounds.c), and carry an error on, not enlarged by a cap.
 */
#include "checks/ends/head.h"

#include <math.h>

#define LIBM 4 /* roundoffs of a library function */

static txd_head_value store(double exact, double error, txd_roundoff u)
{
    return (txd_head_value){exact, error + u.store * (fabs(exact) + error) + u.tiny};
}

txd_head_value txd_head_multiply(const txd_head_product *p, txd_roundoff u)
{
    double k = (double)p->count, size = fabs(p->bias), sum = 0, inputs = 0, relative;

    for (size_t i = 0; i < p->count; i++) {
        double term = p->row[i] * p->x[i];

        sum += term;
        size += fabs(term);
        inputs += fabs(p->x[i]);
    }
    relative = txd_law_gamma(k + 1, u.accumulate) + txd_law_gamma(k + 2, 0x1p-53);
    if (p->is_rounded)
        relative += u.store;
    else
        inputs = 0;
    return store(sum + p->bias,
                 relative * size + u.store * fabs(p->bias) + k * u.lost +
                     u.tiny * (inputs + 1),
                 u);
}

txd_head_value txd_head_logit(const txd_config *c, txd_head_value raw, txd_roundoff u)
{
    double scale = c->logit_scale == 0 ? 1 : c->logit_scale, cap = c->logit_softcap;
    txd_head_value value = raw;

    if (cap != 0) {
        cap /= scale;
        value.exact = cap * tanh(raw.exact / cap);
        value = store(value.exact,
                      value.allowed +
                          (LIBM + 6) * (u.accumulate + 0x1p-53) * fabs(value.exact) +
                          4 * u.lost,
                      u);
    }
    if (!txd_config_scales_logits(c))
        return value;
    value.exact *= scale;
    return store(value.exact,
                 fabs(scale) * value.allowed +
                     2 * (u.accumulate + 0x1p-53) * fabs(value.exact) + u.lost,
                 u);
}
