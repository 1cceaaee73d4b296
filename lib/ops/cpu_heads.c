/* SPDX-License-Identifier: MIT
 *
 * Rows that are copied: embeddings and the layout of heads, over the threads.
 */
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"

/* Positions of a task, and lanes of one where rows are added. */
#define POSITIONS 32
#define STRIPE 64
/* About how many operations a copied element takes, and one that is added. */
#define COPY 1.0
#define ADD 1.0

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t tasks_of(size_t positions)
{
    return (positions + POSITIONS - 1) / POSITIONS;
}

static txd_status embed_rows(void *self, size_t i, int worker)
{
    const struct txd_embed_args *a = self;
    size_t end = least(a->rows, (i + 1) * POSITIONS);

    (void)worker;
    for (size_t r = i * POSITIONS; r < end; r++)
        memcpy((float *)a->out + r * a->width,
               (const float *)a->table + (size_t)a->ids[r] * a->width,
               a->width * sizeof(float));
    return TXD_OK;
}

txd_status txd_cpu32_embed(txd_ctx *ctx, const struct txd_embed_args *a)
{
    struct txd_embed_args copy = *a;

    return txd_parallel(ctx, tasks_of(a->rows), COPY * POSITIONS * (double)a->width,
                        embed_rows, &copy);
}

/* Lanes are independent, rows are not: several may have one id. */
static txd_status embed_stripe(void *self, size_t stripe, int worker)
{
    const struct txd_embed_back_args *a = self;
    const txd_kernels *kernels = txd_kernels_here();
    size_t begin = stripe * STRIPE, count = least(STRIPE, a->width - begin);

    (void)worker;
    for (size_t r = 0; r < a->rows; r++) {
        float *row = (float *)a->d_table + (size_t)a->ids[r] * a->width + begin;

        kernels->add(row, row, (const float *)a->d_out + r * a->width + begin, count);
    }
    return TXD_OK;
}

txd_status txd_cpu32_embed_back(txd_ctx *ctx, const struct txd_embed_back_args *a)
{
    struct txd_embed_back_args copy = *a;

    return txd_parallel(ctx, (a->width + STRIPE - 1) / STRIPE,
                        ADD * STRIPE * (double)a->rows, embed_stripe, &copy);
}

struct heads_job {
    const struct txd_heads_args *a;
    bool split;
};

/* Some positions of one batch row: row (b, t, h) of one layout is row (b, h, t) of the
 * other. */
static txd_status swap_positions(void *self, size_t i, int worker)
{
    const struct heads_job *job = self;
    const struct txd_heads_args *a = job->a;
    size_t tasks = tasks_of(a->length), b = i / tasks, begin = i % tasks * POSITIONS;
    size_t end = least(a->length, begin + POSITIONS);
    const float *x = a->x;
    float *out = a->out;

    (void)worker;
    for (size_t h = 0; h < a->heads; h++)
        for (size_t t = begin; t < end; t++) {
            size_t outer = ((b * a->length + t) * a->heads + h) * a->width;
            size_t inner = ((b * a->heads + h) * a->length + t) * a->width;

            memcpy(out + (job->split ? inner : outer), x + (job->split ? outer : inner),
                   a->width * sizeof(float));
        }
    return TXD_OK;
}

static txd_status swap_heads(txd_ctx *ctx, const struct txd_heads_args *a, bool split)
{
    struct heads_job job = {a, split};

    return txd_parallel(ctx, a->batch * tasks_of(a->length),
                        COPY * POSITIONS * (double)(a->heads * a->width),
                        swap_positions, &job);
}

txd_status txd_cpu32_split_heads(txd_ctx *ctx, const struct txd_heads_args *a)
{
    return swap_heads(ctx, a, true);
}

txd_status txd_cpu32_merge_heads(txd_ctx *ctx, const struct txd_heads_args *a)
{
    return swap_heads(ctx, a, false);
}
