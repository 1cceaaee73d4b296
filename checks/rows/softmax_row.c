/* SPDX-License-Identifier: MIT
 *
 * The largest score of a row, its exponentials and their sum.
 */
#include "checks/rows/softmax_row.h"

#include <math.h>

double txd_softmax_power(double below)
{
    return isinf(below) ? 0 : exp(-below);
}

/* False if no weight is above 0. */
static bool take_sum_of_weight(txd_softmax_row *r)
{
    double best = 0;

    for (size_t j = 0; j < r->keys; j++) {
        double w = txd_tensor_get(r->weights, r->first + j);

        if (!(w > best))
            continue;
        best = w;
        r->sum =
            txd_softmax_power(r->max - txd_tensor_get(r->masked, r->first + j)) / w;
    }
    return best > 0;
}

bool txd_softmax_measure(txd_softmax_row *r, double lost)
{
    double deepest = 1 - log(lost); /* beyond, exp is 0 where it is accumulated */

    r->max = -INFINITY;
    r->sum = r->spread = 0;
    for (size_t j = 0; j < r->keys; j++) {
        double x = txd_tensor_get(r->masked, r->first + j);

        if (isnan(x))
            return false;
        r->max = x > r->max ? x : r->max;
    }
    if (!isfinite(r->max))
        return false;
    r->max = fmax(r->max, r->sink);
    if (r->max - r->sink < deepest)
        r->spread = r->max - r->sink;
    for (size_t j = 0; j < r->keys; j++) {
        double below = r->max - txd_tensor_get(r->masked, r->first + j);

        double power = txd_softmax_power(below);

        if (j < TXD_POWERS_KEPT)
            r->power[j] = power;
        r->sum += power;
        if (below < deepest && below > r->spread)
            r->spread = below;
    }
    r->sum += txd_softmax_power(r->max - r->sink);
    return !r->by_weight || take_sum_of_weight(r);
}
