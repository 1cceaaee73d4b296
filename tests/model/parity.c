/* SPDX-License-Identifier: MIT
 *
 * The encoder of an encoder-decoder runs a second time by itself, with a tap: in a pass
 * of the whole model it has none.
 */
#include "parity.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "worst.h"

#define ENCODER "encoder."
#define KEPT "embed.*,input.memory,*.resid.post,*.norm2.out,*.weights,logits"

const char *parity_path(const parity_case *which, const char *file)
{
    char path[256];

    snprintf(path, sizeof path, "tests/fixtures/parity/%s/%s", which->folder, file);
    return test_source(path);
}

/* ---- what the fixture says ---- */

static void read_ids(int32_t *out, const txd_trace *golden, const char *name,
                     size_t count)
{
    size_t index;

    OK(txd_trace_find(golden, &index, name));
    OK(txd_trace_read_all(golden, out, count, index, TXD_I32));
}

/* "PREFIXinput.tokens" and what stands beside it. */
static void read_inputs(txd_inputs *out, parity *p, const txd_trace *golden,
                        const char *prefix)
{
    char name[64];
    txd_trace_info info;
    size_t index, count;

    snprintf(name, sizeof name, "%sinput.tokens", prefix);
    if (txd_trace_find(golden, &index, name) != TXD_OK)
        return;
    OK(txd_trace_get(golden, &info, index));
    OK(txd_inputs_make(out, p->arena, info.dims[0], info.dims[1]));
    count = info.dims[0] * info.dims[1];
    read_ids(out->tokens, golden, name, count);
    snprintf(name, sizeof name, "%sinput.valid", prefix);
    read_ids(out->valid, golden, name, count);
    snprintf(name, sizeof name, "%sinput.types", prefix);
    if (txd_trace_find(golden, &index, name) == TXD_OK)
        read_ids(out->types, golden, name, count);
    txd_inputs_count_positions(out);
}

void parity_read_inputs(parity *p, const txd_trace *golden)
{
    read_inputs(&p->inputs, p, golden, "");
    read_inputs(&p->source, p, golden, ENCODER);
    ck_assert_uint_gt(p->inputs.batch, 0);
}

static bool is_judged(const parity_value *v, size_t row)
{
    return v->valid[row / (v->count / v->width / v->batch) * v->queries +
                    row % v->queries] != 0;
}

static void read_value(parity *p, const txd_trace *golden, size_t index)
{
    parity_value *v = &p->value[p->count];
    bool of_source;
    txd_trace_info info;

    OK(txd_trace_get(golden, &info, index));
    if (info.dtype != TXD_F64)
        return;
    ck_assert_uint_lt(p->count++, sizeof p->value / sizeof *p->value);
    snprintf(v->name, sizeof v->name, "%s", info.name);
    OK(txd_shape_count(&v->count, info.dims, info.rank));
    v->batch = info.dims[0];
    v->queries = info.dims[info.rank - 2];
    v->width = info.dims[info.rank - 1];
    of_source = txd_glob_list(ENCODER "*,input.memory", v->name);
    v->valid = of_source ? p->source.valid : p->inputs.valid;
    v->values = txd_arena_alloc(p->arena, v->count, sizeof *v->values);
    OK(txd_trace_read_all(golden, v->values, v->count, index, TXD_F64));
    for (size_t i = 0; i < v->count; i++)
        if (is_judged(v, i / v->width))
            v->largest = fmax(v->largest, fabs(v->values[i]));
    ck_assert(v->largest > 0);
}

static void read_golden(parity *p)
{
    txd_trace *golden;

    OK(txd_safetensors_open(&golden, parity_path(p->which, "golden.safetensors")));
    parity_read_inputs(p, golden);
    for (size_t i = 0; i < txd_trace_count(golden); i++)
        read_value(p, golden, i);
    txd_trace_destroy(golden);
}

/* ---- passes ---- */

static void open_model(observed *o, const parity *p, const char *backend)
{
    const char *file = p->which->file ? p->which->file : "";

    OK(observe_model(o, parity_path(p->which, file), backend));
    o->threads = 1;
}

/* A memory with room for what the encoder makes of the source. */
static void make_memory(observed *o)
{
    const txd_inputs *source = &o->source;

    OK(txd_inputs_make_memory(&o->inputs, o->arena, source->length, o->config.d_model,
                              TXD_F64));
    memcpy(o->inputs.memory_valid, source->valid,
           source->batch * source->length * sizeof *source->valid);
}

void parity_run(observed *o, const parity *p, const char *backend)
{
    open_model(o, p, backend);
    o->inputs = p->inputs;
    o->source = p->source;
    if (p->source.batch > 0)
        make_memory(o);
    OK(observe_pass(o));
}

/* The encoder alone, as a model of its own. */
static void run_encoder(observed *o, const parity *p, const char *backend)
{
    txd_tap *taps[2] = {o->before, &o->tap};
    txd_run_options options = {.threads = 1,
                               .taps = o->before ? taps : taps + 1,
                               .tap_count = o->before ? 2 : 1};

    open_model(o, p, backend);
    txd_model_destroy(o->model);
    o->model = NULL;
    options.claimed = o->config.encoder;
    OK(txd_model_create(&o->model, o->backend, options.claimed,
                        txd_params_of_encoder(o->params), 1));
    OK(txd_run_create(&o->run, o->model, &options));
    OK(txd_run_pass(o->run, &p->source, 0));
}

static double error_at(observed *o, const parity_value *v, const char *name)
{
    const struct observed_site *site = observe_site(o, name);
    double worst = 0;

    ck_assert_msg(site != NULL, "%s was not offered", v->name);
    ck_assert_msg(site->count == v->count && site->cells == v->count,
                  "%s: %zu of %zu elements came, expected %zu", v->name, site->cells,
                  site->count, v->count);
    for (size_t i = 0; i < v->count; i++)
        if (is_judged(v, i / v->width))
            worst = worst_of(worst, fabs(site->values[i] - v->values[i]));
    return worst;
}

/* Puts every value's error in a pass into the member at `offset`, if it is larger. */
static void errors_of(parity *p, const char *backend, txd_tap *before, size_t offset)
{
    const size_t prefix = strlen(ENCODER);
    observed o = {.before = before, .only = KEPT},
             encoder = {.before = before, .only = KEPT};

    parity_run(&o, p, backend);
    snprintf(p->family, sizeof p->family, "%s", txd_checkpoint_family(o.checkpoint));
    if (p->source.batch > 0)
        run_encoder(&encoder, p, backend);
    for (size_t i = 0; i < p->count; i++) {
        parity_value *v = &p->value[i];
        double *out = (double *)(void *)((char *)v + offset);
        bool own = strncmp(v->name, ENCODER, prefix) == 0;

        *out = worst_of(*out, own ? error_at(&encoder, v, v->name + prefix)
                                  : error_at(&o, v, v->name));
    }
    observe_finish(&o);
    observe_finish(&encoder);
}

/* ---- the noise of float32 ---- */

static void measure_floors(parity *p)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        txd_tap tap = {.name = "ulp",
                       .self = &seed,
                       .ask = observe_ulp_ask,
                       .edit = observe_ulp_edit};

        errors_of(p, "ref32", &tap, offsetof(parity_value, floor));
    }
    for (size_t i = 0; i < p->count; i++)
        p->value[i].floor *= 4;
}

void parity_measure(parity *p, const parity_case *which)
{
    *p = (parity){.which = which};
    OK(txd_arena_create(&p->arena));
    read_golden(p);
    errors_of(p, "ref64", NULL, offsetof(parity_value, exact));
    for (size_t i = 0; i < p->count; i++)
        p->value[i].exact /= p->value[i].largest;
    measure_floors(p);
    errors_of(p, "cpu32", NULL, offsetof(parity_value, rounded));
}

void parity_finish(parity *p)
{
    txd_arena_destroy(p->arena);
}

/* ---- judging ---- */

double parity_ratio(const parity_value *value)
{
    return value->rounded == 0 ? 0 : value->rounded / value->floor;
}

static double exact_of(const parity_value *value)
{
    return value->exact;
}

static const parity_value *worst_by(const parity *p,
                                    double (*of)(const parity_value *value))
{
    const parity_value *worst = p->value;

    for (size_t i = 1; i < p->count; i++)
        if (!(of(&p->value[i]) <= of(worst)) && !isnan(of(worst)))
            worst = &p->value[i];
    return worst;
}

const parity_value *parity_worst_exact(const parity *p)
{
    return worst_by(p, exact_of);
}

const parity_value *parity_worst_rounded(const parity *p)
{
    return worst_by(p, parity_ratio);
}

/* A floor above 1e-4 of the value would hide what is wrong. */
bool parity_holds(const parity *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const parity_value *v = &p->value[i];

        if (!txd_within(v->exact, PARITY_CLAIM) || !txd_within(v->rounded, v->floor) ||
            !txd_within(v->floor, 1e-4 * v->largest))
            return false;
    }
    return p->count > 0;
}
