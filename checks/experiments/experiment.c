/* SPDX-License-Identifier: MIT
 *
 * What an experiment starts from, and its passes. How much it takes of the inputs goes
 * by the size of the model, so that all experiments together take as long as some
 * passes over a short text.
 */
#include "checks/experiments/experiment.h"

#include <stdlib.h>
#include <string.h>

#include "checks/experiments/derive.h"

/* Parameters times tokens of one pass, as far as the least part allows. */
#define MOST_PRODUCTS 8e9
#define LEAST_TOKENS 8

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Tokens of each row. */
static size_t choose_length(const txd_experiment_setup *setup, size_t rows)
{
    double parameters = txd_params_bytes(setup->claimed, TXD_U8);
    double fits = MOST_PRODUCTS / parameters / (double)rows;
    size_t most = fits < TXD_EXPERIMENT_TOKENS ? (size_t)fits : TXD_EXPERIMENT_TOKENS;

    return least(setup->inputs->length, most > LEAST_TOKENS ? most : LEAST_TOKENS);
}

static size_t count_valid(const txd_inputs *inputs, size_t row, size_t begin,
                          size_t count)
{
    size_t valid = 0;

    for (size_t t = begin; t < begin + count; t++)
        valid += inputs->valid[row * inputs->length + t] != 0;
    return valid;
}

/* The first tokens, unless that leaves a row without a pair that it has. */
static size_t choose_first(const txd_inputs *inputs, size_t rows, size_t length)
{
    for (size_t row = 0; row < rows; row++)
        if (count_valid(inputs, row, 0, length) < 2 &&
            count_valid(inputs, row, 0, inputs->length) >= 2)
            return inputs->length - length;
    return 0;
}

static txd_status take_inputs(txd_experiment *e)
{
    const txd_inputs *all = e->setup->inputs;
    size_t rows = least(all->batch, TXD_EXPERIMENT_ROWS);
    size_t length = choose_length(e->setup, rows);
    static const size_t order[TXD_EXPERIMENT_ROWS] = {0, 1, 2, 3};
    txd_inputs some;

    e->first = choose_first(all, rows, length);
    TXD_TRY(txd_derive_rows(&some, e->arena, all, order, rows));
    return txd_derive_part(&e->inputs, e->arena, &some, e->first, length);
}

txd_status txd_experiment_create(txd_experiment **out,
                                 const txd_experiment_setup *setup,
                                 const txd_check_context *context, int number)
{
    txd_experiment *e = calloc(1, sizeof *e);
    txd_status status;

    if (!e)
        return txd_fail(TXD_ERR_MEMORY, "no memory for an experiment");
    e->setup = setup;
    e->context = context;
    e->number = number;
    status = txd_arena_create(&e->arena);
    if (status == TXD_OK)
        status = take_inputs(e);
    if (status != TXD_OK) {
        txd_experiment_destroy(e);
        return status;
    }
    *out = e;
    return TXD_OK;
}

void txd_experiment_destroy(txd_experiment *e)
{
    if (!e)
        return;
    txd_arena_destroy(e->arena);
    free(e);
}

/* ---- passes ---- */

static int show(void *self, int step, size_t done, size_t total)
{
    const txd_experiment *e = self;

    (void)step;
    (void)done;
    (void)total;
    return e->setup->progress(e->setup->progress_self, e->number, 0, 1);
}

static txd_run_options options_of(const txd_experiment *e,
                                  const txd_experiment_how *how)
{
    return (txd_run_options){
        .claimed = e->setup->claimed,
        .plan = how->claimed ? NULL : e->setup->plan,
        .taps = how->taps,
        .tap_count = how->tap_count,
        .threads = how->threads ? how->threads : e->setup->threads,
        .backward = how->backward,
        .cache = how->cache,
        .progress = e->setup->progress ? show : NULL,
        .progress_self = (void *)(uintptr_t)e,
    };
}

static const txd_model *model_of(const txd_experiment *e, const txd_experiment_how *how)
{
    return how->model ? how->model : e->setup->model;
}

txd_status txd_experiment_run(txd_run **out, const txd_experiment *e,
                              const txd_experiment_how *how)
{
    const txd_run_options options = options_of(e, how);

    return txd_run_create(out, model_of(e, how), &options);
}

txd_status txd_experiment_fits(const txd_experiment *e, const txd_experiment_how *how,
                               const txd_inputs *inputs)
{
    const txd_run_options options = options_of(e, how);
    const txd_extent extent = txd_inputs_extent(inputs);
    size_t bytes;

    if (e->setup->memory <= 0)
        return TXD_OK;
    TXD_TRY(txd_run_bytes(&bytes, model_of(e, how), &options, &extent));
    if ((double)bytes <= e->setup->memory)
        return TXD_OK;
    return txd_fail(TXD_ERR_LIMIT,
                    "a pass of it would take %.3g GB of memory, of which it may take "
                    "%.3g",
                    (double)bytes / 1e9, e->setup->memory / 1e9);
}

txd_status txd_experiment_pass(const txd_experiment *e, const txd_experiment_how *how,
                               const txd_inputs *inputs)
{
    txd_run *run;
    txd_status status;

    TXD_TRY(txd_experiment_fits(e, how, inputs));
    TXD_TRY(txd_experiment_run(&run, e, how));
    status = txd_run_pass(run, inputs, 0);
    txd_run_destroy(run);
    return status;
}

/* ---- words ---- */

/* Keys and values that several heads share are of none of them. */
static bool is_shared(const txd_config *claimed, txd_point point)
{
    return strchr(txd_point_get(point)->axes, 'g') &&
           claimed->n_kv_heads < claimed->n_heads;
}

txd_finding txd_experiment_finding(const txd_experiment *e, const txd_site *site,
                                   size_t batch, int64_t head, size_t token)
{
    const txd_law_place place = {0, (int64_t)batch,
                                 is_shared(e->setup->claimed, site->point) ? -1 : head,
                                 (int64_t)(token + e->first), -1};
    txd_finding finding = txd_law_finding(site->point, site->layer, &place);

    if (txd_site_is_gradient(site->kind))
        txd_law_of_gradient(&finding);
    return finding;
}

size_t txd_experiment_causal_layers(const txd_config *config)
{
    size_t l = 0;

    while (l < config->n_layers && config->layers[l].causal)
        l++;
    return l;
}
