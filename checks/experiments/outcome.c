/* SPDX-License-Identifier: MIT
 *
 * The outcome of a pass. Gradients are as large as the model: of them hashes are kept.
 */
#include "checks/experiments/outcome.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* FNV-1a, by words where there are any. */
static uint64_t hash_of(const txd_tensor *value)
{
    size_t bytes = txd_tensor_count(value) * txd_dtype_bytes(value->dtype);
    const char *data = value->data;
    uint64_t hash = 0xcbf29ce484222325u;

    for (size_t i = 0; i < bytes; i += 4) {
        uint32_t word;

        memcpy(&word, data + i, 4); /* elements have 4 bytes or 8 */
        hash = (hash ^ word) * 0x100000001b3u;
    }
    return hash;
}

static txd_status take_gradients(txd_outcome *out, const txd_experiment *e,
                                 const txd_run *run)
{
    out->params = txd_params_count(e->setup->params);
    out->hashes = txd_arena_alloc(e->arena, out->params, sizeof *out->hashes);
    if (!out->hashes)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; i < out->params; i++) {
        txd_tensor gradient;

        /* Those of an encoder belong to another run. */
        if (txd_run_gradient(&gradient, run, i) != TXD_OK)
            continue;
        out->hashes[i] = hash_of(&gradient);
        out->elements += txd_tensor_count(&gradient);
    }
    return TXD_OK;
}

static txd_status take(txd_outcome *out, const txd_experiment *e, const txd_run *run)
{
    txd_tensor output;
    size_t count, bytes;
    void *copy;

    TXD_TRY(txd_run_output(&output, run));
    count = txd_tensor_count(&output);
    bytes = count * txd_dtype_bytes(output.dtype);
    copy = txd_arena_alloc(e->arena, bytes, 1);
    if (!copy)
        return TXD_ERR_MEMORY;
    memcpy(copy, output.data, bytes);
    out->output = output;
    out->output.data = copy;
    out->loss = txd_run_loss(run);
    out->elements = count + 1;
    return TXD_OK;
}

txd_status txd_outcome_of(txd_outcome *out, const txd_experiment *e,
                          const txd_experiment_how *how)
{
    txd_experiment_how with = *how;
    txd_run *run;
    txd_status status;

    *out = (txd_outcome){0};
    with.backward = txd_inputs_pairs(&e->inputs) > 0;
    TXD_TRY(txd_experiment_fits(e, &with, &e->inputs));
    TXD_TRY(txd_experiment_run(&run, e, &with));
    status = txd_run_pass(run, &e->inputs, 0);
    if (status == TXD_OK)
        status = take(out, e, run);
    if (status == TXD_OK && with.backward)
        status = take_gradients(out, e, run);
    txd_run_destroy(run);
    return status;
}

static bool same_loss(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* NaN is the same as NaN: `finite` speaks of it. */
static bool find_element(size_t *out, const txd_outcome *a, const txd_outcome *b)
{
    size_t count = txd_tensor_count(&a->output);

    for (size_t i = 0; i < count; i++)
        if (!same_loss(txd_tensor_get(&a->output, i), txd_tensor_get(&b->output, i))) {
            *out = i;
            return true;
        }
    return false;
}

void txd_outcome_compare(txd_outcome_change *out, const txd_outcome *a,
                         const txd_outcome *b, txd_params *params)
{
    const size_t *dims = a->output.dims;
    char was[32], is[32];
    size_t i;

    *out = (txd_outcome_change){0};
    if (find_element(&i, a, b)) {
        double x = txd_tensor_get(&a->output, i), y = txd_tensor_get(&b->output, i);

        out->batch = i / dims[2] / dims[1];
        out->token = i / dims[2] % dims[1];
        out->measured = fabs(y - x);
        txd_law_numbers(was, x, is, y);
        snprintf(out->what, sizeof out->what,
                 "what the head reads: element %zu was %s "
                 "and became %s",
                 i % dims[2], was, is);
        return;
    }
    if (!same_loss(a->loss, b->loss)) {
        out->measured = fabs(b->loss - a->loss);
        txd_law_numbers(was, a->loss, is, b->loss);
        snprintf(out->what, sizeof out->what, "the loss was %s and became %s", was, is);
        return;
    }
    for (i = 0; a->hashes && i < a->params; i++)
        if (a->hashes[i] != b->hashes[i]) {
            out->measured = 1;
            snprintf(out->what, sizeof out->what, "the gradient of %s",
                     txd_params_at(params, i)->name);
            return;
        }
}
