/* SPDX-License-Identifier: MIT
 *
 * One line, redrawn at most ten times a second.
 */
#include "cli/progress.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/interrupt.h"

#define BAR_CELLS 30

static double now(void)
{
    struct timespec time = {0};

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void txd_progress_begin(txd_progress *progress, size_t steps, bool wanted)
{
    *progress = (txd_progress){.on = wanted && isatty(STDERR_FILENO),
                               .of = "step",
                               .steps = steps ? steps : 1,
                               .begun = now()};
    progress->last = progress->begun + 0.4;
}

int txd_progress_show(void *self, int step, size_t done, size_t total)
{
    txd_progress *progress = self;
    double time, share, left;
    char bar[BAR_CELLS + 1];
    int cells;

    if (txd_interrupt_count() > 1)
        return 1;
    if (!progress->on || (time = now()) < progress->last + 0.1)
        return 0;
    progress->last = time;
    progress->drawn = true;
    share =
        (step + (total ? (double)done / (double)total : 0)) / (double)progress->steps;
    share = share < 1 ? share : 1;
    left = share > 0 ? (time - progress->begun) * (1 - share) / share : 0;
    cells = (int)(share * BAR_CELLS);
    memset(bar, '.', BAR_CELLS);
    memset(bar, '#', (size_t)cells);
    bar[BAR_CELLS] = '\0';
    fprintf(stderr, "\r[%s] %3.0f %%  %s %d of %zu, ", bar, 100 * share, progress->of,
            step + 1, progress->steps);
    if (txd_interrupt_count() > 0)
        fputs("the last; once more: stops after this layer\033[K", stderr);
    else
        fprintf(stderr, "%.0f s left\033[K", left);
    fflush(stderr);
    return 0;
}

void txd_progress_end(txd_progress *progress)
{
    if (progress->drawn)
        fputs("\r\033[K", stderr);
    progress->drawn = false;
}
