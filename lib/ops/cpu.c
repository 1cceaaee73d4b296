/* SPDX-License-Identifier: MIT
 *
 * What the fast float32 backend does element by element, in chunks over the threads.
 */
#include "ops/cpu.h"

#include <string.h>

#include "ops/kernels.h"

/* Elements of a task. */
#define CHUNK 16384
/* About how many operations an element takes: of a pair it is memory that counts. */
#define PAIR 2.0
#define ACTIVATION 8.0

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static txd_status over_chunks(txd_ctx *ctx, size_t count, double operations,
                              txd_status (*body)(void *self, size_t i, int worker),
                              void *self)
{
    return txd_parallel(ctx, (count + CHUNK - 1) / CHUNK, operations * CHUNK, body,
                        self);
}

static txd_status activate_chunk(void *self, size_t i, int worker)
{
    const struct txd_activate_args *a = self;
    size_t begin = i * CHUNK;

    (void)worker;
    txd_kernels_here()->activate((float *)a->out + begin, (const float *)a->x + begin,
                                 least(CHUNK, a->count - begin), a->kind);
    return TXD_OK;
}

txd_status txd_cpu32_activate(txd_ctx *ctx, const struct txd_activate_args *a)
{
    struct txd_activate_args copy = *a;

    return over_chunks(ctx, a->count, ACTIVATION, activate_chunk, &copy);
}

static txd_status activate_back_chunk(void *self, size_t i, int worker)
{
    const struct txd_activate_back_args *a = self;
    size_t begin = i * CHUNK;

    (void)worker;
    txd_kernels_here()->activate_back(
        (float *)a->d_x + begin, (const float *)a->d_out + begin,
        (const float *)a->x + begin, least(CHUNK, a->count - begin), a->kind);
    return TXD_OK;
}

txd_status txd_cpu32_activate_back(txd_ctx *ctx, const struct txd_activate_back_args *a)
{
    struct txd_activate_back_args copy = *a;

    return over_chunks(ctx, a->count, ACTIVATION, activate_back_chunk, &copy);
}

static txd_status add_chunk(void *self, size_t i, int worker)
{
    const struct txd_pair_args *a = self;
    size_t begin = i * CHUNK;

    (void)worker;
    txd_kernels_here()->add((float *)a->out + begin, (const float *)a->a + begin,
                            (const float *)a->b + begin,
                            least(CHUNK, a->count - begin));
    return TXD_OK;
}

txd_status txd_cpu32_add(txd_ctx *ctx, const struct txd_pair_args *a)
{
    struct txd_pair_args copy = *a;

    return over_chunks(ctx, a->count, PAIR, add_chunk, &copy);
}

static txd_status add_back_chunk(void *self, size_t i, int worker)
{
    const struct txd_pair_back_args *a = self;
    size_t begin = i * CHUNK, bytes = least(CHUNK, a->count - begin) * sizeof(float);
    const float *d_out = (const float *)a->d_out + begin;

    (void)worker;
    if (a->d_a != NULL && a->d_a != a->d_out)
        memcpy((float *)a->d_a + begin, d_out, bytes);
    if (a->d_b != NULL && a->d_b != a->d_out)
        memcpy((float *)a->d_b + begin, d_out, bytes);
    return TXD_OK;
}

txd_status txd_cpu32_add_back(txd_ctx *ctx, const struct txd_pair_back_args *a)
{
    struct txd_pair_back_args copy = *a;

    return over_chunks(ctx, a->count, PAIR, add_back_chunk, &copy);
}

static txd_status multiply_chunk(void *self, size_t i, int worker)
{
    const struct txd_pair_args *a = self;
    size_t begin = i * CHUNK;

    (void)worker;
    txd_kernels_here()->multiply((float *)a->out + begin, (const float *)a->a + begin,
                                 (const float *)a->b + begin,
                                 least(CHUNK, a->count - begin));
    return TXD_OK;
}

txd_status txd_cpu32_multiply(txd_ctx *ctx, const struct txd_pair_args *a)
{
    struct txd_pair_args copy = *a;

    return over_chunks(ctx, a->count, PAIR, multiply_chunk, &copy);
}

/* The product that lies where d_out does comes last. */
static txd_status multiply_back_chunk(void *self, size_t i, int worker)
{
    const struct txd_pair_back_args *a = self;
    size_t begin = i * CHUNK, count = least(CHUNK, a->count - begin);
    const float *d_out = (const float *)a->d_out + begin;
    const void *factor[2] = {a->b, a->a};
    void *result[2] = {a->d_a, a->d_b};
    int first = a->d_a == a->d_out;

    (void)worker;
    for (int j = 0; j < 2; j++) {
        int at = j == 0 ? first : !first;

        if (result[at] != NULL)
            txd_kernels_here()->multiply((float *)result[at] + begin, d_out,
                                         (const float *)factor[at] + begin, count);
    }
    return TXD_OK;
}

txd_status txd_cpu32_multiply_back(txd_ctx *ctx, const struct txd_pair_back_args *a)
{
    struct txd_pair_back_args copy = *a;

    return over_chunks(ctx, a->count, PAIR, multiply_back_chunk, &copy);
}

static txd_status scale_chunk(void *self, size_t i, int worker)
{
    const struct txd_scale_args *a = self;
    size_t begin = i * CHUNK;

    (void)worker;
    txd_kernels_here()->scale((float *)a->out + begin, (const float *)a->x + begin,
                              (float)a->factor, least(CHUNK, a->count - begin));
    return TXD_OK;
}

txd_status txd_cpu32_scale(txd_ctx *ctx, const struct txd_scale_args *a)
{
    struct txd_scale_args copy = *a;

    return over_chunks(ctx, a->count, PAIR, scale_chunk, &copy);
}
