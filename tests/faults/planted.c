/* SPDX-License-Identifier: MIT
 *
 * Two passes and their differences.
 */
#include "planted.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"

void planted_inputs(observed *o)
{
    static const size_t real[PLANTED_BATCH] = {PLANTED_MEMORY, PLANTED_MEMORY - 1, 0};

    OK(observe_random(o, PLANTED_BATCH, PLANTED_LENGTH));
    o->inputs.valid[PLANTED_LENGTH + 5] = o->inputs.valid[PLANTED_LENGTH + 6] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, PLANTED_MEMORY, real));
}

static void long_inputs(observed *o)
{
    static const size_t real = PLANTED_LONG - 1;

    o->only = "layers.0.*.scores,layers.0.*.masked,layers.0.*.weights";
    OK(observe_random(o, 1, PLANTED_LONG));
    if (o->config.cross)
        OK(observe_memory(o, PLANTED_LONG, &real));
}

/* Two documents in every row, where a fault is of that. */
static void pack(observed *o, const char *faults)
{
    for (size_t i = 0; i < o->inputs.batch * o->inputs.length; i++)
        o->inputs.document[i] =
            i % o->inputs.length >= 2 && strstr(faults, "documents_") != NULL;
}

static void run_both(planted *p, const char *cfg, const char *faults)
{
    void (*inputs)(observed *) = p->is_long ? long_inputs : planted_inputs;
    char text[1024];

    OK(observe_cfg(&p->healthy, cfg, "ref64"));
    inputs(&p->healthy);
    pack(&p->healthy, faults);
    OK(observe_pass(&p->healthy));
    OK(observe_cfg(&p->faulty, cfg, "ref64"));
    inputs(&p->faulty);
    pack(&p->faulty, faults);
    snprintf(text, sizeof text, "faults = ( %s );", faults);
    OK(observe_faults(&p->faulty, text));
    OK(observe_pass(&p->faulty));
}

void planted_run(planted *p, const char *cfg, const char *faults)
{
    *p = (planted){0};
    run_both(p, cfg, faults);
}

void planted_run_back(planted *p, const char *cfg, const char *faults)
{
    *p = (planted){{.backward = true}, {.backward = true}, false};
    run_both(p, cfg, faults);
}

void planted_run_long(planted *p, const char *faults)
{
    *p = (planted){.is_long = true};
    run_both(p,
             "model : { preset = \"gpt2\"; vocab = 17; d_model = 12; n_heads = 4; "
             "n_layers = 1; d_ff = 8; max_seq_len = 300; cross = true; };",
             faults);
}

void planted_finish(planted *p)
{
    observe_finish(&p->healthy);
    observe_finish(&p->faulty);
}

const struct observed_site *planted_site(observed *o, const char *name)
{
    const struct observed_site *site = observe_site(o, name);

    ck_assert_msg(site != NULL, "%s was not offered", name);
    return site;
}

static bool differs(const struct observed_site *a, const struct observed_site *b,
                    size_t i)
{
    return isnan(a->values[i]) ? !isnan(b->values[i]) : a->values[i] != b->values[i];
}

size_t planted_differences(planted *p, const char *name)
{
    const struct observed_site *a = planted_site(&p->healthy, name);
    const struct observed_site *b = planted_site(&p->faulty, name);
    size_t count = 0;

    ck_assert_uint_eq(a->count, b->count);
    for (size_t i = 0; i < a->count; i++)
        count += differs(a, b, i);
    return count;
}

size_t planted_differences_along(planted *p, const char *name, const size_t dims[4],
                                 int axis, size_t kept, bool at_kept)
{
    const struct observed_site *a = planted_site(&p->healthy, name);
    const struct observed_site *b = planted_site(&p->faulty, name);
    size_t step = 1, count = 0;

    for (int d = 3; d > axis; d--)
        step *= dims[d];
    ck_assert_uint_eq(a->count, dims[0] * dims[1] * dims[2] * dims[3]);
    for (size_t i = 0; i < a->count; i++)
        if ((i / step % dims[axis] == kept) == at_kept)
            count += differs(a, b, i);
    return count;
}

size_t planted_differences_below(planted *p, const char *prefix)
{
    size_t count = 0, sites = 0;

    for (size_t i = 0; i < p->healthy.sites; i++)
        if (strncmp(p->healthy.site[i].name, prefix, strlen(prefix)) == 0) {
            count += planted_differences(p, p->healthy.site[i].name);
            sites++;
        }
    ck_assert_msg(sites > 0, "nothing begins with %s", prefix);
    return count;
}
