/* SPDX-License-Identifier: MIT
 *
 * Comparing the logs of two passes.
 */
#include <math.h>

#include "pass_log.h"
#include "suite.h"

static bool same(double a, double b, double tolerance)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b || fabs(a - b) <= tolerance * fabs(b);
}

static void same_doubles(const double *found, const double *expected, size_t count,
                         double tolerance, const char *what)
{
    ck_assert_msg((found != NULL) == (expected != NULL), "%s: one has none", what);
    for (size_t i = 0; expected && i < count; i++)
        if (!same(found[i], expected[i], tolerance)) /* one that holds is a write */
            ck_abort_msg("%s: %zu: %.17g %.17g", what, i, found[i], expected[i]);
}

static void same_block(const logged_block *found, const logged_block *expected,
                       unsigned parts, double tolerance)
{
    const char *name = expected->name;
    size_t count = 1;

    ck_assert_str_eq(found->name, name);
    ck_assert_int_eq(found->site.kind, expected->site.kind);
    ck_assert_int_eq(found->site.step, expected->site.step);
    ck_assert_int_eq(found->site.layer, expected->site.layer);
    ck_assert_int_eq(found->site.point, expected->site.point);
    ck_assert_int_eq(found->last, expected->last);
    ck_assert_uint_eq(found->batch, expected->batch);
    ck_assert_uint_eq(found->length, expected->length);
    ck_assert_int_eq(found->first_token, expected->first_token);
    ck_assert_int_eq(found->last_valid, expected->last_valid);
    ck_assert(found->u_store == expected->u_store);
    ck_assert(found->loss_scale == expected->loss_scale);
    if (parts & TXD_ASK_STATS)
        same_doubles(found->stats, expected->stats, TXD_STAT_COUNT_OF, tolerance, name);
    if (expected->site.kind == TXD_SITE_PARAMETER)
        return;
    ck_assert_uint_eq(found->site.index, expected->site.index);
    ck_assert_int_eq(found->rank, expected->rank);
    ck_assert_int_eq(found->dtype, expected->dtype);
    for (int axis = 0; axis < expected->rank; axis++) {
        ck_assert_uint_eq(found->dims[axis], expected->dims[axis]);
        ck_assert_uint_eq(found->part[axis], expected->part[axis]);
        ck_assert_uint_eq(found->start[axis], expected->start[axis]);
        count *= expected->part[axis];
    }
    if (parts & TXD_ASK_VALUE)
        same_doubles(found->values, expected->values, count, 0, name);
    if (parts & TXD_ASK_ROWS)
        same_doubles(found->rows, expected->rows,
                     expected->part[2] * (size_t)TXD_ROW_COUNT, tolerance, name);
}

void pass_log_same(const pass_log *found, const pass_log *expected, unsigned parts,
                   double tolerance)
{
    ck_assert_uint_gt(expected->count, 0);
    ck_assert_uint_eq(found->steps, expected->steps);
    for (size_t i = 0; i < found->count && i < expected->count; i++)
        same_block(&found->blocks[i], &expected->blocks[i], parts, tolerance);
    ck_assert_uint_eq(found->count, expected->count);
}
