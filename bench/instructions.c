/* SPDX-License-Identifier: MIT
 *
 * The hot kernels at fixed sizes, each once in a function of its own name, so that
 * callgrind can say how many instructions it takes: bench/instructions.py.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"
#include "model/config.h"
#include "ops/kernels.h"

#define ROWS 64
#define WIDTH 1024
#define CELLS ((size_t)ROWS * WIDTH)

/* What the kernels read and write. */
static struct {
    float x[CELLS], y[CELLS], out[CELLS];
    float gain[WIDTH], top[WIDTH], most[WIDTH], cosine[WIDTH], sine[WIDTH];
    double sum[WIDTH], speed[WIDTH], cell[WIDTH];
    uint8_t keep[CELLS];
} * data;

static double result; /* of what returns a number: nothing is optimised away */

/* A measured function: the body for each row, at `x`, `y` and `out`. */
#define MEASURE(name, ...)                                                             \
    __attribute__((noinline)) static void measured_##name(const txd_kernels *k)        \
    {                                                                                  \
        for (size_t r = 0; r < ROWS; r++) {                                            \
            const float *x = data->x + r * WIDTH, *y = data->y + r * WIDTH;            \
            float *out = data->out + r * WIDTH;                                        \
                                                                                       \
            (void)x, (void)y, (void)out;                                               \
            __VA_ARGS__;                                                               \
        }                                                                              \
    }
#include "instructions.def"
#undef MEASURE

int main(void)
{
    const txd_kernels *k = txd_kernels_here();

    data = calloc(1, sizeof *data);
    if (!data)
        return 1;
    for (size_t i = 0; i < CELLS; i++) {
        data->x[i] = (float)txd_rng_normal(1, i);
        data->y[i] = (float)txd_rng_normal(2, i);
        data->keep[i] = i % WIDTH <= i / WIDTH * (WIDTH / ROWS);
    }
    for (size_t i = 0; i < WIDTH; i++) {
        data->gain[i] = 1;
        data->speed[i] = 1 / (double)(i + 1);
    }
#define MEASURE(name, ...) measured_##name(k);
#include "instructions.def"
#undef MEASURE
    printf("%s, compiled by %s\n", k->name, __VERSION__);
    free(data);
    return isnan(result);
}
