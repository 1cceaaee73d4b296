/* SPDX-License-Identifier: MIT
 *
 * The bound of the operation (lib/ops/bounds.c), and that of the double in which the
 * law forms it: 1 + erf, 1 + tanh and 1 + exp are off by roundoffs of 1, so that what
 * cancels there is lost relative to |x|.
 */
#include "checks/stream/activation.h"

#include <math.h>

#define LIBM 4 /* roundoffs of a library function */

const char *txd_activated_name(txd_activated kind)
{
    static const char *const names[] = {
        "gelu (erf)",
        "gelu_tanh (the tanh approximation)",
        "relu",
        "silu",
        "quick gelu, x sigmoid(1.702 x)",
        "relu squared",
        "the sigmoid",
        "tanh",
        "x itself, not activated",
    };

    return names[kind];
}

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double function(txd_activated kind, double x)
{
    const double root = sqrt(2), slope = 0.7978845608028654; /* sqrt(2 / pi) */

    switch (kind) {
    case TXD_ACTIVATED_GELU:
        return 0.5 * x * (1 + erf(x / root));
    case TXD_ACTIVATED_GELU_TANH:
        return 0.5 * x * (1 + tanh(slope * (x + 0.044715 * x * x * x)));
    case TXD_ACTIVATED_RELU:
        return x > 0 || isnan(x) ? x : 0;
    case TXD_ACTIVATED_SILU:
        return x * sigmoid(x);
    case TXD_ACTIVATED_GELU_QUICK:
        return x * sigmoid(1.702 * x);
    case TXD_ACTIVATED_RELU_SQUARED:
        return x > 0 ? x * x : 0;
    case TXD_ACTIVATED_SIGMOID:
        return sigmoid(x);
    case TXD_ACTIVATED_TANH:
        return tanh(x);
    default:
        return x;
    }
}

static txd_activated_value store(double exact, double error, txd_roundoff u)
{
    return (txd_activated_value){exact,
                                 error + u.store * (fabs(exact) + error) + u.tiny};
}

txd_activated_value txd_activate(txd_activated kind, double x, txd_roundoff u)
{
    double y = function(kind, x);

    return store(
        y, (LIBM + 8) * (u.accumulate + 0x1p-53) * (fabs(x) + fabs(y)) + 4 * u.lost, u);
}

txd_activated_value txd_activated_times(txd_activated_value value, double factor,
                                        txd_roundoff u)
{
    double y = value.exact * factor;

    return store(y, value.allowed * fabs(factor) + 0x1p-53 * fabs(y), u);
}
