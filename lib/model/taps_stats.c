/* SPDX-License-Identifier: MIT
 *
 * Statistics of a whole value, in chunks of rows whose geometry depends on shapes
 * alone, merged in index order. Padded tokens are left out.
 */
#include <math.h>
#include <string.h>

#include "model/images.h"
#include "ops/kernels.h"

/* Elements of row r that are counted, from *begin on. */
static size_t counted(const struct txd_stats_args *a, size_t r, size_t *begin)
{
    txd_span span = txd_span_of(a->spans, r, 0, a->width);

    *begin = r * a->stride + span.begin;
    return a->skip_row != NULL && a->skip_row[r] != 0 ? 0 : span.end - span.begin;
}

bool txd_taps_count_finite(const struct txd_stats_args *a, unsigned wishes)
{
    const txd_kernels *kernels = txd_kernels_here();
    struct txd_stats_part part = {.mean = (double)NAN,
                                  .deviation2 = (double)NAN,
                                  .low = (double)NAN,
                                  .high = (double)NAN};

    if ((wishes & TXD_ASK_STATS) || a->skip_cell != NULL)
        return false;
    for (size_t r = 0; r < a->rows; r++) {
        size_t begin, count = counted(a, r, &begin);

        if (!kernels->finite((const float *)a->x + begin, count))
            return false;
        part.count += (double)count;
    }
    part.finite = part.count;
    *a->part = part;
    return true;
}

txd_status txd_taps_measure(const txd_backend *backend,
                            const struct txd_stats_args *args, unsigned wishes)
{
    if (backend->host == NULL && backend->dtype == TXD_F32 &&
        txd_taps_count_finite(args, wishes))
        return TXD_OK;
    return backend->ops.stats(NULL, args);
}

struct stats_job {
    const txd_run *run;
    const txd_backend *backend; /* in whose memory the value is */
    const txd_tensor *value;
    const uint8_t *skip; /* (b, t) or NULL */
    size_t slabs, rows, width, heads, blocks;
    size_t chunk; /* rows */
    unsigned wishes;
};

static txd_status stats_chunk(void *self, size_t i, int worker)
{
    const struct stats_job *job = self;
    const txd_run *run = job->run;
    size_t slab = i / job->blocks, first = i % job->blocks * job->chunk;
    size_t rows = job->rows - first < job->chunk ? job->rows - first : job->chunk;
    size_t flat = (slab * job->rows + first) * job->width;
    struct txd_stats_args args = {
        .part = &run->parts[i],
        .x = (const char *)job->value->data + flat * txd_dtype_bytes(job->value->dtype),
        .skip_row = job->skip == NULL
                        ? NULL
                        : job->skip + slab / job->heads * job->rows + first,
        .rows = rows,
        .width = job->width,
        .stride = job->width,
        .flat_start = flat,
        .flat_stride = job->width,
    };

    (void)worker;
    return txd_taps_measure(job->backend, &args, job->wishes);
}

/* A device has threads enough for all of a value at once; each call costs more there.
 */
static void take_at_once(struct stats_job *job)
{
    size_t tokens = job->slabs / job->heads * job->rows;

    job->chunk = job->rows > 0 ? job->rows : 1;
    if (job->skip != NULL && memchr(job->skip, 1, tokens) != NULL)
        return;
    job->skip = NULL;
    job->chunk = job->rows *= job->slabs;
    job->slabs = job->heads = 1;
}

txd_status txd_taps_stats(double *out, txd_run *run, txd_point point,
                          const txd_tensor *value, unsigned wishes)
{
    struct txd_stats_part all = {0};
    struct stats_job job = {.run = run,
                            .backend = run->model->backend,
                            .value = value,
                            .skip = run->padded,
                            .chunk = run->chunk_rows,
                            .wishes = wishes};
    txd_tensor real = *value;

    job.heads = value->rank == 4 ? value->dims[1] : 1;
    job.slabs = value->dims[0] * job.heads;
    job.rows = value->rank == 4 ? value->dims[2] : value->dims[1];
    job.width = value->rank == 2 ? 1 : value->dims[value->rank - 1];
    if (point == TXD_POINT_LOSS_TOKEN)
        job.skip = run->no_target;
    if (txd_point_is_of_memory(point))
        job.skip = run->padded_memory;
    if (value->dtype == TXD_I32) {
        real.dtype = run->model->backend->dtype;
        real.data = txd_image_of(run, txd_run_home(run, point, -1)->scratch[0].memory);
        txd_convert(real.data, real.dtype, value->data, TXD_I32,
                    txd_tensor_count(value));
        job.value = &real;
        job.skip = NULL;
        if (job.backend->host != NULL)
            job.backend = job.backend->host;
    }
    if (job.backend->host != NULL)
        take_at_once(&job);
    job.blocks = (job.rows + job.chunk - 1) / job.chunk;
    TXD_TRY(txd_parallel(&run->ctx, job.slabs * job.blocks,
                         8.0 * (double)(job.chunk * job.width), stats_chunk, &job));
    for (size_t i = 0; i < job.slabs * job.blocks; i++)
        txd_stats_merge(&all, &run->parts[i]);
    txd_stats_final(out, &all);
    return TXD_OK;
}
