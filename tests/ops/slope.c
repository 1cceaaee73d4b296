/* SPDX-License-Identifier: MIT
 *
 * Slopes along random directions, by differences and by the backward entry.
 */
#include "slope.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compare.h"
#include "base/rng.h"

#define DIRECTIONS 3
#define LARGEST_STEP 0x1p-7
#define WORTHLESS 0x1p-24
#define U 0x1p-53

bool slope_harmed;

static double on_grid(double x, double grid)
{
    return round(fmax(-4, fmin(4, x)) / grid) * grid;
}

double *slope_numbers(struct trial *t, const char *name, size_t count)
{
    double *x = trial_keep(t, count * sizeof *x);
    uint64_t key = txd_rng_key(t->size, name);

    for (size_t i = 0; i < count; i++)
        x[i] = on_grid(txd_rng_normal(key, i), 0x1p-20);
    return x;
}

void slope_outputs(struct trial *t, struct slope *s, size_t count)
{
    s->outputs = count;
    s->out = trial_keep(t, count * sizeof *s->out);
    s->allowed = trial_keep(t, count * sizeof *s->allowed);
    s->d_out = slope_numbers(t, "d_out", count);
}

void slope_input(struct trial *t, struct slope *s, struct slope_input input,
                 void **slot, bool added)
{
    size_t bytes = input.count * sizeof(double);

    input.d_x = trial_keep(t, bytes);
    input.allowed = trial_keep(t, bytes);
    for (size_t i = 0; i < input.count; i++)
        input.d_x[i] = NAN;
    if (added) {
        input.before = slope_numbers(t, "before", input.count);
        memcpy(input.d_x, input.before, bytes);
    }
    *slot = input.d_x;
    s->input[s->inputs++] = input;
}

static double value(const struct slope *s)
{
    double sum = 0;

    s->forward(s->args);
    for (size_t i = 0; i < s->outputs; i++)
        sum += s->d_out[i] * s->out[i];
    return sum;
}

/* What rounding may do to value(); twice the bound, since it is that of x and not of
 * x + h v. */
static double value_error(const struct slope *s)
{
    double operation = 0, size = 0;

    for (size_t i = 0; i < s->outputs; i++) {
        operation += 2 * fabs(s->d_out[i]) * s->allowed[i];
        size += fabs(s->d_out[i] * s->out[i]);
    }
    return operation + txd_gamma((double)s->outputs + 1, U) * size;
}

/* Exact on the grids, and so is the way back. */
static void move(const struct slope_input *in, const double *v, double h)
{
    for (size_t i = 0; i < in->count; i++)
        in->x[i] += h * v[i];
}

static double difference(const struct slope *s, const struct slope_input *in,
                         const double *v, double h)
{
    double above, below;

    move(in, v, h);
    above = value(s);
    move(in, v, -2 * h);
    below = value(s);
    move(in, v, h);
    return (above - below) / (2 * h);
}

/* The slope along v by differences, and how far it may be off. */
static double by_differences(double *error, const struct slope *s,
                             const struct slope_input *in, const double *v)
{
    double d[3], once, earlier, h = LARGEST_STEP;

    for (int k = 0; k < 3; k++)
        d[k] = difference(s, in, v, ldexp(h, -k));
    earlier = (4 * d[1] - d[0]) / 3;
    once = (4 * d[2] - d[1]) / 3;
    s->forward(s->args);
    /* The difference quotients count 64/45, 20/45 and 1/45, with steps h/4, h/2 and h.
     */
    *error = fabs(once - earlier) + value_error(s) / h * (64 * 4 + 20 * 2 + 1) / 45;
    return (16 * once - earlier) / 15;
}

/* The same by the backward entry. */
static double by_gradient(double *error, double *size, const struct slope_input *in,
                          const double *v)
{
    double sum = 0, bound = 0, magnitude = 0;

    *size = 1;
    for (size_t i = 0; i < in->count; i++) {
        double before = in->before != NULL ? in->before[i] : 0;

        sum += (in->d_x[i] - before) * v[i];
        bound += fabs(v[i]) * in->allowed[i];
        magnitude += fabs(v[i]) * (fabs(in->d_x[i]) + fabs(before));
        *size += fabs((in->d_x[i] - before) * v[i]);
    }
    *error = bound + txd_gamma((double)in->count + 2, U) * magnitude;
    return sum;
}

/* The largest element is changed; 0 becomes a number. */
static void harm(const struct slope_input *in)
{
    size_t largest = 0;

    for (size_t i = 1; i < in->count; i++)
        if (fabs(in->d_x[i]) > fabs(in->d_x[largest]))
            largest = i;
    in->d_x[largest] += 1e-4 * (in->d_x[largest] != 0 ? in->d_x[largest] : 1);
}

static void check_input(struct trial *t, const struct slope *s,
                        const struct slope_input *in, int direction)
{
    double *v = trial_keep(t, in->count * sizeof *v);
    double difference_error, gradient_error, size, exact, got, allowed;
    char name[80];

    for (size_t i = 0; i < in->count; i++)
        v[i] = on_grid(txd_rng_normal(txd_rng_key((uint64_t)direction, in->name), i),
                       0x1p-12);
    exact = by_differences(&difference_error, s, in, v);
    got = by_gradient(&gradient_error, &size, in, v);
    allowed = difference_error + gradient_error;
    snprintf(name, sizeof name, "%s, slope by %s", s->name, in->name);
    t->compared++;
    if (!txd_close(got, exact, allowed))
        trial_fail(t, name, (size_t)direction, got, exact, allowed);
    else if (!txd_within(allowed, WORTHLESS * size))
        trial_fail(t, "a tolerance that proves nothing", 0, allowed, 0,
                   WORTHLESS * size);
}

/* Cells between the keys of a row of tiles and its stride stay as they were. */
static void settle_gaps(struct trial *t, const struct slope_input *in)
{
    for (size_t i = 0; i < in->count; i++) {
        if (in->stride == 0 || i % in->stride < in->keys)
            continue;
        if (!isnan(in->d_x[i]))
            trial_fail(t, "between rows", i, in->d_x[i], NAN, 0);
        in->d_x[i] = 0;
    }
}

void slope_check(struct trial *t, struct slope *s)
{
    for (size_t i = 0; i < s->inputs; i++)
        settle_gaps(t, &s->input[i]);
    for (size_t i = 0; i < s->inputs; i++)
        if (slope_harmed && s->input[i].count > 0)
            harm(&s->input[i]);
    for (size_t i = 0; i < s->inputs; i++)
        for (int direction = 0; direction < DIRECTIONS; direction++)
            check_input(t, s, &s->input[i], direction);
}
