/* SPDX-License-Identifier: MIT
 *
 * What this machine can do at best, one repetition per line on the standard input, as
 * bench/worker.c has it:
 *
 *   floor attention LENGTH WIDTH HEADS   seconds of as many operations as the products
 *                                        of causal attention have, at the rate of one
 *                                        large sgemm on all cores
 *   floor read COUNT                     seconds to add up COUNT floats on all cores
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ops/ops.h"

enum { SIDE = 2048 };

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static float *numbers(size_t count)
{
    float *x = malloc(count * sizeof *x);

    for (size_t i = 0; x && i < count; i++)
        x[i] = (float)(i % 17) / 16;
    return x;
}

/* Scores and the product with the values, over the lower half: 2 products of 2 n^2 / 2
 * width operations per head. */
static double attention(const float *a, const float *b, float *c, const double size[3])
{
    double operations = 2 * size[0] * size[0] * size[1] * size[2];
    double begin = now();

    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, SIDE, SIDE, SIDE, 1, a, SIDE,
                b, SIDE, 0, c, SIDE);
    return (now() - begin) * operations / (2.0 * SIDE * SIDE * SIDE);
}

struct sums {
    const float *x;
    size_t count, parts;
    float part[4096];
};

static txd_status add_part(void *self, size_t i, int worker)
{
    struct sums *s = self;
    size_t begin = s->count / s->parts * i, end = begin + s->count / s->parts;
    float lane[64] = {0}, sum = 0;

    (void)worker;
    for (size_t j = begin; j + 64 <= end; j += 64)
        for (size_t k = 0; k < 64; k++)
            lane[k] += s->x[j + k];
    for (size_t k = 0; k < 64; k++)
        sum += lane[k];
    s->part[i] = sum;
    return TXD_OK;
}

static double read_all(struct sums *s)
{
    txd_ctx ctx = {.threads = txd_threads_available()};
    double begin = now();

    if (txd_parallel(&ctx, s->parts, 1e6, add_part, s) != TXD_OK)
        return -1;
    return now() - begin;
}

static int usage(void)
{
    fprintf(stderr, "usage: floor attention LENGTH WIDTH HEADS | floor read COUNT\n");
    return 2;
}

int main(int argc, char **argv)
{
    bool reads = argc == 3 && strcmp(argv[1], "read") == 0;
    bool attends = argc == 5 && strcmp(argv[1], "attention") == 0;
    size_t count = reads ? strtoul(argv[2], NULL, 10) : (size_t)SIDE * SIDE;
    float *a = numbers(count), *b = numbers(SIDE * SIDE), *c = numbers(SIDE * SIDE);
    struct sums sums = {.x = a, .count = count, .parts = 4096};
    double size[3] = {0};
    char line[64];

    if (!a || !b || !c || (!reads && !attends))
        return usage();
    for (int i = 0; attends && i < 3; i++)
        size[i] = strtod(argv[2 + i], NULL);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.9f 0\n", reads ? read_all(&sums) : attention(a, b, c, size));
        fflush(stdout);
    }
    free(a);
    free(b);
    free(c);
    return 0;
}
