/* SPDX-License-Identifier: MIT
 *
 * Every comparison is written so that a NaN anywhere makes it false.
 */
#include "base/compare.h"

#include <math.h>

/* |value - expected|, where an infinity is at 0 from the same infinity. */
static double difference(double value, double expected)
{
    if (value == expected)
        return 0;
    return fabs(value - expected);
}

static bool proven(double error, double allowed)
{
    return allowed >= 0 && error <= allowed && !isinf(error);
}

/* int64 values beyond 2^53 that differ may be one double. */
static double element_error(const txd_tensor *value, const txd_tensor *expected,
                            size_t i)
{
    if (value->dtype == TXD_I64 && expected->dtype == TXD_I64) {
        int64_t a = ((const int64_t *)value->data)[i];
        int64_t b = ((const int64_t *)expected->data)[i];

        return (double)(a > b ? (uint64_t)a - (uint64_t)b : (uint64_t)b - (uint64_t)a);
    }
    return difference(txd_tensor_get(value, i), txd_tensor_get(expected, i));
}

/* An infinity is compared exactly: rtol times infinity allows nothing more. */
static double allowed_error(double expected, double rtol, double atol)
{
    if (isinf(expected))
        return atol;
    return atol + rtol * fabs(expected);
}

static double ratio(double error, double allowed)
{
    return error == 0 ? 0.0 : error / allowed;
}

static bool is_worse(double error, double than)
{
    return error > than || (isnan(error) && !isnan(than));
}

static bool same_shape(const txd_tensor *a, const txd_tensor *b)
{
    if (a->rank != b->rank)
        return false;
    for (int i = 0; i < a->rank; i++)
        if (a->dims[i] != b->dims[i])
            return false;
    return true;
}

bool txd_close(double value, double expected, double allowed)
{
    return proven(difference(value, expected), allowed);
}

bool txd_within(double measured, double allowed)
{
    return measured <= allowed;
}

txd_status txd_compare(txd_comparison *out, const txd_tensor *value,
                       const txd_tensor *expected, double rtol, double atol)
{
    txd_comparison result = {.worst_error = 0};
    char found[128], wanted[128];

    if (!same_shape(value, expected))
        return txd_fail(
            TXD_ERR_ARGUMENT, "shapes differ: expected %s, found %s",
            txd_shape_text(wanted, sizeof wanted, expected->dims, expected->rank),
            txd_shape_text(found, sizeof found, value->dims, value->rank));
    result.count = result.first = txd_tensor_count(value);
    for (size_t i = 0; i < result.count; i++) {
        double error = element_error(value, expected, i);
        double allowed = allowed_error(txd_tensor_get(expected, i), rtol, atol);

        if (!proven(error, allowed) && result.failures++ == 0)
            result.first = i;
        if (i == 0 || is_worse(error, result.worst_error)) {
            result.worst = i;
            result.worst_error = error;
            result.worst_ratio = ratio(error, allowed);
        }
    }
    *out = result;
    return TXD_OK;
}
