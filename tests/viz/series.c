/* SPDX-License-Identifier: MIT */
/*
 * series.c: makes up series of gradients and norms.
 */
#include "series.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GRADIENT_FIELDS = 6, NORM_FIELDS = 7, EMBEDDINGS = 3 };

double series_value(size_t step, size_t layer)
{
    return 0.01 + 4.9 * fabs(sin(1.0 + (double)step * 0.7 + (double)layer * 1.3));
}

static char *name_of(fake *recording, size_t layer, const char *rest)
{
    char *name = txd_arena_alloc(recording->arena, 64, 1);

    ck_assert_ptr_nonnull(name);
    snprintf(name, 64, "layers.%zu%s", layer, rest);
    return name;
}

static void fill_gradient(double *row, double value, double nonfinite)
{
    row[0] = 100;
    row[1] = value;
    row[2] = value / 10;
    row[3] = value / 2;
    row[4] = 0;
    row[5] = nonfinite;
}

static bool is_at(const size_t *place, size_t step, size_t layer)
{
    return place && place[0] == step && place[1] == layer;
}

static void fill_step(double *rows, const series_plan *plan, size_t step)
{
    for (size_t layer = 0; layer < plan->layers; layer++) {
        double *row = rows + 2 * layer * GRADIENT_FIELDS;
        double value = series_value(step, layer);

        fill_gradient(row, 2 * value, 0);
        fill_gradient(row + GRADIENT_FIELDS, value, 0);
        if (is_at(plan->place, step, layer))
            fill_gradient(row + GRADIENT_FIELDS, plan->value, plan->nonfinite);
        for (size_t i = 0; is_at(plan->gap, step, layer) && i < GRADIENT_FIELDS; i++)
            row[GRADIENT_FIELDS + i] = NAN;
    }
}

static void add_steps(fake *recording, size_t steps)
{
    double *columns = calloc(steps, 3 * sizeof *columns);

    ck_assert_ptr_nonnull(columns);
    for (size_t step = 0; step < steps; step++) {
        columns[step] = (double)step;
        columns[steps + step] = 6 + series_value(step, 0) / 100;
        columns[2 * steps + step] = series_value(step, 1);
    }
    fake_add(recording, "steps/step", "n", columns, &steps);
    fake_add(recording, "steps/loss", "n", columns + steps, &steps);
    fake_add(recording, "steps/grad_norm", "n", columns + 2 * steps, &steps);
    free(columns);
}

void series_add_gradients(fake *recording, const series_plan *plan)
{
    const size_t dims[3] = {plan->steps, 2 * plan->layers, GRADIENT_FIELDS};
    size_t plane = dims[1] * dims[2];
    double *rows = malloc((plan->steps * plane + 1) * sizeof *rows);
    const char **names = txd_arena_alloc(recording->arena, dims[1], sizeof *names);

    ck_assert_ptr_nonnull(rows);
    ck_assert_ptr_nonnull(names);
    for (size_t layer = 0; layer < plan->layers; layer++) {
        names[2 * layer] = name_of(recording, layer, ".resid.pre@grad");
        names[2 * layer + 1] = name_of(recording, layer, "@grad");
    }
    for (size_t step = 0; step < plan->steps; step++)
        fill_step(rows + step * plane, plan, step);
    fake_add(recording, "series/grad_norm", "sxy", rows, dims);
    fake_strings(recording, "series/grad_norm_sites", names, dims[1]);
    fake_meta(recording, "series/grad_norm:fields",
              "count,l2,rms,max_abs,zeros,nonfinite");
    free(rows);
    add_steps(recording, plan->steps);
}

static void fill_norm(double *row, double value)
{
    row[0] = 8;
    row[1] = value;
    row[2] = value / 10;
    row[3] = value / 2;
    row[4] = value * 2;
    row[5] = value * 3;
    row[6] = 0;
}

void series_add_norms(fake *recording, const series_plan *plan)
{
    static const char *const points[] = {".resid.pre", ".resid.mid", ".resid.post"};
    const size_t dims[3] = {plan->steps, EMBEDDINGS + 3 * plan->layers, NORM_FIELDS};
    double *rows = malloc((plan->steps * dims[1] * dims[2] + 1) * sizeof *rows);
    const char **names = txd_arena_alloc(recording->arena, dims[1], sizeof *names);

    ck_assert_ptr_nonnull(rows);
    ck_assert_ptr_nonnull(names);
    names[0] = "embed.tok";
    names[1] = "embed.pos";
    names[2] = "embed.out";
    for (size_t i = 0; i < 3 * plan->layers; i++)
        names[EMBEDDINGS + i] = name_of(recording, i / 3, points[i % 3]);
    for (size_t step = 0; step < plan->steps; step++)
        for (size_t i = 0; i < dims[1]; i++)
            fill_norm(rows + (step * dims[1] + i) * NORM_FIELDS, series_value(step, i));
    fake_add(recording, "series/norms", "sxy", rows, dims);
    fake_strings(recording, "series/norms_sites", names, dims[1]);
    fake_meta(recording, "series/norms:fields",
              "vectors,mean,std,min,max,l2,nonfinite");
    free(rows);
}

enum { STAT_FIELDS = 9, PARAM_FIELDS = 2 };

/* The largest size is that of the smallest element in every other row. */
static void fill_stats(double *row, const series_stats *plan, size_t step, size_t i)
{
    double largest = plan->largest(step, i);

    row[0] = 64;
    row[1] = 0.25;
    row[2] = plan->std(step, i);
    row[3] = plan->rms(step, i);
    row[4] = i % 2 ? -largest : -largest / 3;
    row[5] = i % 2 ? largest / 2 : largest;
    row[6] = step == 0 && i == plan->nonfinite ? 2 : 0;
    row[7] = row[6] > 0 ? 5 : -1;
    row[8] = row[6] > 0 ? INFINITY : 0;
    for (size_t j = 0; i == plan->gap && j < STAT_FIELDS; j++)
        row[j] = NAN;
}

void series_add_stats(fake *recording, const series_stats *plan)
{
    const size_t dims[3] = {plan->steps, plan->count, STAT_FIELDS};
    double *rows = malloc((plan->steps * dims[1] * dims[2] + 1) * sizeof *rows);

    ck_assert_ptr_nonnull(rows);
    for (size_t step = 0; step < plan->steps; step++)
        for (size_t i = 0; i < plan->count; i++)
            fill_stats(rows + (step * dims[1] + i) * STAT_FIELDS, plan, step, i);
    fake_add(recording, "series/stats", "sxy", rows, dims);
    fake_strings(recording, "series/stats_sites", plan->sites, plan->count);
    fake_meta(recording, "series/stats:fields",
              "count,mean,std,rms,min,max,nonfinite,first,first_value");
    free(rows);
}

void series_add_params(fake *recording, const char *const *sites, size_t count,
                       const double (*moments)[2])
{
    const size_t dims[2] = {count, PARAM_FIELDS};

    fake_add(recording, "series/param", "xy", moments[0], dims);
    fake_strings(recording, "series/param_sites", sites, count);
    fake_meta(recording, "series/param:fields", "mean,rms");
}
