/* SPDX-License-Identifier: MIT
 *
 * The steered tap and the small pass that it listens to.
 */
#include "steered.h"

#include <string.h>

#include "suite.h"

#define CFG                                                                            \
    "model : { preset = \"llama\"; vocab = 17; d_model = 24; n_heads = 4; "            \
    "n_kv_heads = 2; n_layers = 2; d_ff = 40; };"

unsigned steered_ask(void *self, const txd_site *site)
{
    struct probe *p = self;
    bool here = site->kind == TXD_SITE_VALUE && site->point == p->point &&
                site->layer == p->layer;

    p->asked++;
    return here ? p->bits : 0;
}

const txd_point *steered_needs(void *self, txd_point point)
{
    struct probe *p = self;

    p->needs[1] = TXD_POINT_COUNT;
    return point == p->point ? p->needs : NULL;
}

static double sum_of(const txd_tensor *t)
{
    double sum = 0;

    for (size_t i = 0; i < txd_tensor_count(t); i++)
        sum += txd_tensor_get(t, i);
    return sum;
}

txd_status steered_edit(void *self, txd_block *block)
{
    struct probe *p = self;
    txd_tensor need;

    p->edits++;
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        ((double *)block->value.data)[i] *= p->factor;
    if (p->need != TXD_POINT_COUNT) {
        TXD_TRY(txd_block_earlier(&need, block, p->need));
        p->need_sum = sum_of(&need);
    }
    return p->answer;
}

txd_status steered_merge(void *self, const txd_block *block, const void *slot)
{
    struct probe *p = self;

    ck_assert_ptr_null(slot);
    p->merges++;
    p->lasts += block->last;
    p->edited_before_read = p->edits > 0;
    return p->answer;
}

txd_status pass_with(observed *o, txd_tap *tap, size_t form_limit)
{
    txd_tap *taps[2] = {tap, &o->tap};
    txd_run_options options = {
        .claimed = &o->config, .taps = taps, .tap_count = 2, .form_limit = form_limit};
    txd_status status;

    o->sites = 0;
    memset(o->site, 0, OBSERVE_SITES * sizeof *o->site);
    txd_run_destroy(o->run);
    o->run = NULL;
    OK(txd_run_create(&o->run, o->model, &options));
    status = txd_run_pass(o->run, &o->inputs, 0);
    return status;
}

void prepare(observed *o, size_t length)
{
    OK(observe_cfg(o, CFG, "ref64"));
    OK(observe_random(o, 2, length));
}
