/* SPDX-License-Identifier: MIT
 *
 * Parts of about a MiB, each by one thread, joined in order.
 */
#include "ops/scan.h"

#include <math.h>

#include "ops/ops.h"

#define PARTS 256

struct job {
    const struct txd_scan_args *args;
    size_t rows; /* of a part */
    struct txd_scan parts[PARTS];
};

static bool is_worse(double value, double than)
{
    return value > than || (isnan(value) && !isnan(than));
}

static void take(double *most, size_t *where, double value, size_t row)
{
    if (!is_worse(value, *most))
        return;
    *most = value;
    *where = row;
}

static struct txd_scan nothing(const struct txd_scan_args *args)
{
    return (struct txd_scan){.off_row = args->rows, .hidden_row = args->rows};
}

static void scan_row(struct txd_scan *out, const struct txd_scan_args *a, size_t row)
{
    txd_span span = {0, a->keys};
    struct txd_row_scan found;

    if (a->spans)
        span = txd_span_of(a->spans, row % a->period, 0, a->keys);
    txd_kernels_here()->scan(&found, a->weights + row * a->keys, a->keys, span.begin,
                             span.end);
    if (span.begin < span.end)
        take(&out->off, &out->off_row, fabs(found.sum - 1), row);
    take(&out->hidden, &out->hidden_row, (double)found.hidden, row);
    out->not_finite += !found.finite;
}

static txd_status scan_part(void *self, size_t i, int worker)
{
    struct job *job = self;
    const struct txd_scan_args *a = job->args;
    size_t begin = i * job->rows, end = begin + job->rows;

    (void)worker;
    job->parts[i] = nothing(a);
    for (size_t row = begin; row < end && row < a->rows; row++)
        scan_row(&job->parts[i], a, row);
    return TXD_OK;
}

void txd_scan_weights(struct txd_scan *out, const struct txd_scan_args *args,
                      int threads)
{
    struct job job = {.args = args, .rows = (args->rows + PARTS - 1) / PARTS};
    txd_ctx ctx = {.threads = txd_threads_of(threads)};

    (void)txd_parallel(&ctx, PARTS, 0.5 * (double)job.rows * (double)args->keys,
                       scan_part, &job);
    *out = nothing(args);
    for (size_t i = 0; i < PARTS; i++) {
        const struct txd_scan *part = &job.parts[i];

        take(&out->off, &out->off_row, part->off, part->off_row);
        take(&out->hidden, &out->hidden_row, part->hidden, part->hidden_row);
        out->not_finite += part->not_finite;
    }
}
