/* SPDX-License-Identifier: MIT
 *
 * Positions as angles: rotary ones, taken once per position and pair of lanes for all
 * heads, and sinusoids.
 */
#include <math.h>
#include <string.h>

#include "ops/cpu.h"
#include "ops/kernels.h"

/* Positions of a task, and pairs whose angles are kept at once (on the stack). */
#define POSITIONS 32
#define PAIRS 64
/* About how many operations a turned element takes, and an angle. */
#define TURN 2.0
#define ANGLE 4.0

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

static size_t tasks_of(size_t positions)
{
    return (positions + POSITIONS - 1) / POSITIONS;
}

/* Some pairs of lanes, from the first on. */
struct turns {
    size_t first, count;
    double speed[PAIRS], fastest; /* radians per position */
    float cosine[PAIRS], sine[PAIRS];
};

static void find_fastest(struct turns *turns)
{
    turns->fastest = 0;
    for (size_t i = 0; i < turns->count; i++)
        turns->fastest = fmax(turns->fastest, fabs(turns->speed[i]));
}

/* The next pairs of a width, from turns->first on. */
static void take_pairs(struct turns *turns, double base, size_t width)
{
    turns->count = least(PAIRS, (width + 1) / 2 - turns->first);
    for (size_t i = 0; i < turns->count; i++) {
        double pair = (double)(turns->first + i);

        turns->speed[i] = pow(base, -2.0 * pair / (double)width);
    }
    find_fastest(turns);
}

/* The same of a rotation, which may have speeds of its own. */
static void take_turns(struct turns *turns, const struct txd_rotate_args *a)
{
    if (a->turns == NULL) {
        take_pairs(turns, a->base, a->rope_width / 2 * 2);
        return;
    }
    turns->count = least(PAIRS, a->rope_width / 2 - turns->first);
    memcpy(turns->speed, a->turns->speed + turns->first,
           turns->count * sizeof *turns->speed);
    find_fastest(turns);
}

/* What cosines and sines are multiplied with, where it is not 1. */
static void stretch(struct turns *turns, const struct txd_turns *by)
{
    float factor = by != NULL ? (float)by->factor : 1;

    if (factor == 1)
        return;
    txd_kernels_here()->scale(turns->cosine, turns->cosine, factor, turns->count);
    txd_kernels_here()->scale(turns->sine, turns->sine, factor, turns->count);
}

/* As far as the kernel's reduction of angles goes it is the one that turns. */
static void turn_at(struct turns *turns, double position)
{
    if (fabs(position) * turns->fastest < 0x1p31) {
        txd_kernels_here()->turn(turns->cosine, turns->sine, turns->speed, position,
                                 turns->count);
        return;
    }
    for (size_t i = 0; i < turns->count; i++) {
        double angle = position * turns->speed[i];

        turns->cosine[i] = (float)cos(angle);
        turns->sine[i] = (float)sin(angle);
    }
}

struct rotate_job {
    const struct txd_rotate_args *a;
    int sign; /* by the positions, or back by them */
};

static void rotate_adjacent(float *out, const float *x, const struct turns *turns)
{
    for (size_t i = 0; i < turns->count; i++) {
        float x1 = x[2 * i], x2 = x[2 * i + 1];

        out[2 * i] = x1 * turns->cosine[i] - x2 * turns->sine[i];
        out[2 * i + 1] = x2 * turns->cosine[i] + x1 * turns->sine[i];
    }
}

/* One position of all heads. */
static void rotate_heads(const struct txd_rotate_args *a, const struct turns *turns,
                         size_t b, size_t t)
{
    size_t half = a->rope_width / 2;

    for (size_t h = 0; h < a->heads; h++) {
        size_t row = ((b * a->heads + h) * a->length + t) * a->width;
        float *out = (float *)a->out + row;
        const float *x = (const float *)a->x + row;

        if (a->adjacent)
            rotate_adjacent(out + 2 * turns->first, x + 2 * turns->first, turns);
        else
            txd_kernels_here()->rotate(out + turns->first, x + turns->first, half,
                                       turns->cosine, turns->sine, turns->count);
        if (turns->first == 0 && out != x)
            memcpy(out + 2 * half, x + 2 * half, (a->width - 2 * half) * sizeof *out);
    }
}

static txd_status rotate_positions(void *self, size_t i, int worker)
{
    const struct rotate_job *job = self;
    const struct txd_rotate_args *a = job->a;
    size_t tasks = tasks_of(a->length), b = i / tasks, begin = i % tasks * POSITIONS;
    size_t end = least(a->length, begin + POSITIONS), half = a->rope_width / 2;
    struct turns turns = {.first = 0};

    (void)worker;
    do { /* once without pairs too, for the lanes that pass */
        take_turns(&turns, a);
        for (size_t t = begin; t < end; t++) {
            turn_at(&turns, job->sign * (double)a->positions[b * a->length + t]);
            stretch(&turns, a->turns);
            rotate_heads(a, &turns, b, t);
        }
        turns.first += turns.count;
    } while (turns.first < half);
    return TXD_OK;
}

static txd_status rotate(txd_ctx *ctx, const struct txd_rotate_args *a, int sign)
{
    struct rotate_job job = {a, sign};
    double work = TURN * (double)(a->heads * a->width) + ANGLE * (double)a->rope_width;

    return txd_parallel(ctx, a->batch * tasks_of(a->length), POSITIONS * work,
                        rotate_positions, &job);
}

txd_status txd_cpu32_rotate(txd_ctx *ctx, const struct txd_rotate_args *a)
{
    return rotate(ctx, a, 1);
}

txd_status txd_cpu32_rotate_back(txd_ctx *ctx, const struct txd_rotate_args *a)
{
    return rotate(ctx, a, -1);
}

/* Lanes 2i and 2i + 1 are the sine and the cosine of pair i. */
static txd_status sinusoid_rows(void *self, size_t task, int worker)
{
    const struct txd_sinusoid_args *a = self;
    size_t end = least(a->rows, (task + 1) * POSITIONS), pairs = (a->width + 1) / 2;
    struct turns turns = {.first = 0};

    (void)worker;
    for (; turns.first < pairs; turns.first += turns.count) {
        take_pairs(&turns, 10000.0, a->width);
        for (size_t r = task * POSITIONS; r < end; r++) {
            float *out = (float *)a->out + r * a->width + 2 * turns.first;
            size_t lanes = least(2 * turns.count, a->width - 2 * turns.first);

            turn_at(&turns, (double)a->positions[r]);
            for (size_t i = 0; i < lanes; i++)
                out[i] = i % 2 == 0 ? turns.sine[i / 2] : turns.cosine[i / 2];
        }
    }
    return TXD_OK;
}

txd_status txd_cpu32_sinusoid(txd_ctx *ctx, const struct txd_sinusoid_args *a)
{
    struct txd_sinusoid_args copy = *a;

    return txd_parallel(ctx, tasks_of(a->rows), ANGLE * POSITIONS * (double)a->width,
                        sinusoid_rows, &copy);
}
