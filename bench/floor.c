/* SPDX-License-Identifier: MIT
 *
 * What this machine can do at best, one repetition per line on the standard input, as
 * bench/worker.c has it:
 *
 *   floor attention LENGTH WIDTH HEADS   seconds of as many operations as the products
 *                                        of causal attention have, at the rate of one
 *                                        large sgemm on all cores
 *   floor scan ROWS                      in turns, seconds to read ROWS x 4096 floats
 * on all cores, and to scan them as causal weights
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "ops/ops.h"
#include "ops/scan.h"

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

/* ---- memory ---- */

enum { KEYS = 4096, PARTS = 1024 };

struct weights {
    float *x;
    size_t rows;
    int32_t begin[KEYS], end[KEYS];
    bool finite[PARTS];
};

static bool make_weights(struct weights *w, size_t rows)
{
    w->rows = rows;
    w->x = txd_memory_take(rows * KEYS * sizeof *w->x);
    for (size_t r = 0; w->x && r < rows; r++)
        for (size_t k = 0; k <= r % KEYS; k++)
            w->x[r * KEYS + k] = 1.0f / (float)(r % KEYS + 1);
    for (int32_t q = 0; q < KEYS; q++) {
        w->begin[q] = 0;
        w->end[q] = q + 1;
    }
    return w->x != NULL;
}

/* Nothing costs less than this and still looks at every element. */
static txd_status read_part(void *self, size_t i, int worker)
{
    struct weights *w = self;
    size_t rows = (w->rows + PARTS - 1) / PARTS, begin = i * rows, end = begin + rows;

    (void)worker;
    begin = begin < w->rows ? begin : w->rows;
    end = end < w->rows ? end : w->rows;
    w->finite[i] =
        txd_kernels_here()->finite(w->x + begin * KEYS, (end - begin) * KEYS);
    return TXD_OK;
}

static double read_all(struct weights *w)
{
    txd_ctx ctx = {.threads = txd_threads_available()};
    double begin = now();

    if (txd_parallel(&ctx, PARTS, 1e6, read_part, w) != TXD_OK || !w->finite[0])
        return -1;
    return now() - begin;
}

static double scan_all(const struct weights *w)
{
    const txd_spans spans = {w->begin, w->end, 0};
    const struct txd_scan_args args = {.weights = w->x,
                                       .rows = w->rows,
                                       .keys = KEYS,
                                       .spans = &spans,
                                       .period = KEYS};
    struct txd_scan found;
    double begin = now();

    txd_scan_weights(&found, &args, 0);
    return found.off < 1e-4 && found.hidden == 0 && found.not_finite == 0
               ? now() - begin
               : -1;
}

static int take_turns(size_t rows)
{
    static struct weights w;
    bool scans = false;
    char line[64];

    if (!make_weights(&w, rows))
        return 2;
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.9f 0\n", scans ? scan_all(&w) : read_all(&w));
        fflush(stdout);
        scans = !scans;
    }
    txd_memory_give(w.x);
    return 0;
}

static int usage(void)
{
    fprintf(stderr, "usage: floor attention LENGTH WIDTH HEADS | floor scan ROWS\n");
    return 2;
}

static int multiply(char **words)
{
    size_t count = (size_t)SIDE * SIDE;
    float *a = numbers(count), *b = numbers(count), *c = numbers(count);
    double size[3];
    char line[64];

    if (!a || !b || !c)
        return 2;
    for (int i = 0; i < 3; i++)
        size[i] = strtod(words[i], NULL);
    printf("ready\n");
    fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        printf("%.9f 0\n", attention(a, b, c, size));
        fflush(stdout);
    }
    free(a);
    free(b);
    free(c);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "scan") == 0)
        return take_turns(strtoul(argv[2], NULL, 10));
    if (argc == 5 && strcmp(argv[1], "attention") == 0)
        return multiply(argv + 2);
    return usage();
}
