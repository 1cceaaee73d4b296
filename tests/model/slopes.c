/* SPDX-License-Identifier: MIT
 *
 * Finite differences of the loss.
 */
#include "slopes.h"

#include <math.h>
#include <string.h>

#include "suite.h"

static void draw(txd_param *param)
{
    uint64_t key = txd_rng_key(7, param->name);
    double *value = param->value.data;
    size_t count = txd_tensor_count(&param->value), length = strlen(param->name);
    bool bias = length > 5 && strcmp(param->name + length - 5, ".bias") == 0;

    for (size_t i = 0; i < count; i++) {
        double x = txd_rng_normal(key, i);

        if (param->value.rank == 2)
            value[i] = 0.4 * x;
        else
            value[i] = bias ? 0.1 * x : 1 + 0.2 * x;
    }
}

void slopes_model(observed *o, const char *cfg)
{
    o->exact = true;
    OK(observe_cfg(o, cfg, "ref64"));
    for (size_t i = 0; i < txd_params_count(o->params); i++)
        draw(txd_params_at(o->params, i));
    OK(observe_rebind(o));
}

double slopes_dot(const double *a, const double *b, size_t count)
{
    double sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += a[i] * b[i];
    return sum;
}

double slopes_length(const double *a, size_t count)
{
    return sqrt(slopes_dot(a, a, count));
}

void slopes_direction(double *u, size_t count, const char *name)
{
    uint64_t key = txd_rng_key(11, name);
    double length;

    for (size_t i = 0; i < count; i++)
        u[i] = txd_rng_normal(key, i);
    length = slopes_length(u, count);
    for (size_t i = 0; i < count; i++)
        u[i] /= length;
}

/* A pass that only gives its loss. */
static double loss_of(observed *o)
{
    const char *only = o->only;
    bool backward = o->backward;

    o->only = "nothing";
    o->backward = false;
    OK(observe_pass(o));
    o->only = only;
    o->backward = backward;
    return txd_run_loss(o->run);
}

static double fourth_order(const double f[4], double step)
{
    return (8 * (f[1] - f[2]) - (f[0] - f[3])) / (12 * step);
}

static const double steps[4] = {2, 1, -1, -2};

double slopes_of_parameter(observed *o, size_t i, const double *u, double step)
{
    txd_param *param = txd_params_at(o->params, i);
    double *value = param->value.data, f[4];
    size_t count = txd_tensor_count(&param->value);
    double *before = txd_arena_alloc(o->arena, count, sizeof *before);

    memcpy(before, value, count * sizeof *before);
    for (int s = 0; s < 4; s++) {
        for (size_t e = 0; e < count; e++)
            value[e] = before[e] + steps[s] * step * u[e];
        OK(observe_rebind(o));
        f[s] = loss_of(o);
    }
    memcpy(value, before, count * sizeof *before);
    OK(observe_rebind(o));
    return fourth_order(f, step);
}

static unsigned ask(void *self, const txd_site *site)
{
    const struct nudge *n = self;
    bool here = site->kind == TXD_SITE_VALUE && site->point == n->stop.point &&
                site->layer == n->stop.layer;

    return here ? TXD_ASK_EDIT : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    struct nudge *n = self;

    n->edits++;
    for (size_t i = 0; n->u != NULL && i < txd_tensor_count(&block->value); i++)
        ((double *)block->value.data)[i] += n->step * n->u[i];
    return TXD_OK;
}

txd_tap nudge_tap(struct nudge *nudge)
{
    return (txd_tap){.name = "nudge", .self = nudge, .ask = ask, .edit = edit};
}

double slopes_of_point(observed *o, txd_stop stop, const double *u, double step)
{
    txd_tap *before = o->before;
    double f[4];

    for (int s = 0; s < 4; s++) {
        struct nudge nudge = {stop, u, steps[s] * step, 0};
        txd_tap tap = nudge_tap(&nudge);

        o->before = &tap;
        f[s] = loss_of(o);
        ck_assert_uint_eq(nudge.edits, 1);
    }
    o->before = before;
    return fourth_order(f, step);
}

void slopes_check_parameter(observed *o, size_t i, const struct slope_bound *bound)
{
    const char *name = txd_params_at(o->params, i)->name;
    txd_tensor gradient;
    double *g, *u, slope, expected, allowed;
    size_t count;

    o->backward = true;
    o->only = "nothing";
    OK(observe_pass(o));
    OK(txd_run_gradient(&gradient, o->run, i));
    count = txd_tensor_count(&gradient);
    g = txd_arena_alloc(o->arena, count, sizeof *g);
    u = txd_arena_alloc(o->arena, count, sizeof *u);
    memcpy(g, gradient.data, count * sizeof *g);
    slopes_direction(u, count, name);
    expected = slopes_dot(g, u, count);
    slope = slopes_of_parameter(o, i, u, bound->step);
    allowed = slopes_allowed(bound, slopes_length(g, count));
    ck_assert_msg(fabs(slope - expected) <= allowed,
                  "%s: %s: slope %.15g, gradient %.15g (length %.3g), off by %.3g, "
                  "allowed %.3g",
                  bound->name, name, slope, expected, slopes_length(g, count),
                  fabs(slope - expected), allowed);
}

double slopes_allowed(const struct slope_bound *bound, double length)
{
    /* norms of few lanes: fifth derivatives in the thousands */
    double bent = bound->step == SLOPE_STEP_BENT ? 20 : 1;

    return bent * 2e-10 * length + 2e-11 * (SLOPE_STEP / bound->step);
}
