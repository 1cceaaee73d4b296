/* SPDX-License-Identifier: MIT
 *
 * Every operation of the fake device is that of its host on copies, through
 * ops/hosted.h.
 */
#include "fake_device.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "ops/hosted.h"

#define TURN 0x5au

static void turn(void *to, const void *from, size_t bytes)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    for (size_t i = 0; i < bytes; i++)
        out[i] = in[i] ^ TURN;
}

static void *fake_alloc(size_t bytes)
{
    void *memory = txd_memory_take(bytes);

    if (memory == NULL)
        abort();
    memset(memory, TURN, bytes);
    return memory;
}

static txd_status turned(void *to, const void *from, size_t bytes)
{
    turn(to, from, bytes);
    return TXD_OK;
}

static txd_status fake_copy(void *to, const void *from, size_t bytes)
{
    memcpy(to, from, bytes);
    return TXD_OK;
}

static txd_status fake_zero(void *to, size_t bytes)
{
    memset(to, TURN, bytes);
    return TXD_OK;
}

static txd_status fake_sync(txd_ctx *ctx)
{
    (void)ctx;
    return TXD_OK;
}

static float value_at(const void *values, size_t i)
{
    float value;

    turn(&value, (const float *)values + i, sizeof value);
    return value;
}

static void put(void *values, size_t i, float value)
{
    turn((float *)values + i, &value, sizeof value);
}

static txd_status fake_accumulate(void *to, const void *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(to, i, value_at(to, i) + value_at(from, i));
    return TXD_OK;
}

static txd_status fake_divide(void *values, double divisor, size_t count)
{
    for (size_t i = 0; i < count; i++)
        put(values, i, (float)((double)value_at(values, i) / divisor));
    return TXD_OK;
}

static txd_status fake_squares(double *out, const void *values, size_t count)
{
    *out = 0;
    for (size_t i = 0; i < count; i++)
        *out += (double)value_at(values, i) * (double)value_at(values, i);
    return TXD_OK;
}

static struct txd_hosted hosted[2];
static txd_backend devices[2];

#define TXD_OP(name, arguments)                                                        \
    static txd_status first_##name(txd_ctx *ctx,                                       \
                                   const struct txd_##arguments##_args *args)          \
    {                                                                                  \
        struct txd_##arguments##_args there = *args;                                   \
                                                                                       \
        there.at.self = &hosted[0];                                                    \
        return txd_hosted_##name(ctx, &there);                                         \
    }                                                                                  \
    static txd_status second_##name(txd_ctx *ctx,                                      \
                                    const struct txd_##arguments##_args *args)         \
    {                                                                                  \
        struct txd_##arguments##_args there = *args;                                   \
                                                                                       \
        there.at.self = &hosted[1];                                                    \
        return txd_hosted_##name(ctx, &there);                                         \
    }
TXD_OPS(TXD_OP)
#undef TXD_OP

#define FIRST(name, arguments) .name = first_##name,
#define SECOND(name, arguments) .name = second_##name,

static const struct txd_ops ops[2] = {{TXD_OPS(FIRST)}, {TXD_OPS(SECOND)}};

const txd_backend *fake_device(const char *name)
{
    const txd_backend *host;
    size_t i = devices[0].host != NULL && strcmp(devices[0].host->name, name) != 0;

    if (txd_backend_find(&host, name) != TXD_OK ||
        (devices[i].host != NULL && devices[i].host != host))
        abort();
    devices[i] = (txd_backend){
        .name = "fake",
        .sentence = "a host whose memory holds turned bits",
        .simd = "portable",
        .dtype = host->dtype,
        .format = host->format,
        .ops = ops[i],
        .host = host,
        .alloc = fake_alloc,
        .free = txd_memory_give,
        .upload = turned,
        .download = turned,
        .copy = fake_copy,
        .zero = fake_zero,
        .sync = fake_sync,
        .accumulate = fake_accumulate,
        .divide = fake_divide,
        .squares = fake_squares,
        .blas = host->blas,
        .prepare = host->prepare,
    };
    hosted[i] = (struct txd_hosted){.backend = &devices[i], .ops = host->ops};
    return &devices[i];
}
