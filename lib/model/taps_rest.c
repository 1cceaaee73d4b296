/* SPDX-License-Identifier: MIT
 *
 * Offering what is neither a whole value of the pass nor an attention tile: row tiles
 * of the logits, and the parameters.
 */
#include <string.h>

#include "model/run_private.h"
#include "ops/ref.h"

static void add_logit_stats(txd_run *run, size_t batch, size_t first, size_t rows,
                            const void *data)
{
    size_t vocab = run->model->config->vocab;
    struct txd_stats_part part;
    struct txd_stats_args args = {
        .part = &part,
        .x = data,
        .skip_row = run->padded + batch * run->length + first,
        .rows = rows,
        .width = vocab,
        .stride = vocab,
        .flat_start = (batch * run->length + first) * vocab,
        .flat_stride = vocab,
    };

    (void)run->model->backend->ops.stats(&run->ctx, &args);
    txd_stats_merge(&run->logit_stats, &part);
}

static txd_status nothing_earlier(txd_tensor *out, const txd_block *block,
                                  txd_point point)
{
    (void)out;
    return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                    txd_point_get(point)->name, block->site->name);
}

txd_status txd_taps_offer_logits(txd_run *run, size_t batch, size_t first, size_t rows,
                                 const void *data, bool last)
{
    int stop = txd_run_stop(run, TXD_POINT_LOGITS, -1);
    const size_t dims[3] = {1, rows, run->model->config->vocab};
    const txd_extent extent = txd_run_extent(run);
    double stats[TXD_STAT_COUNT_OF];
    txd_block block;

    if (run->wishes[stop].all == 0)
        return TXD_OK;
    block = txd_taps_block(run, stop);
    block.earlier = nothing_earlier;
    block.value = txd_tensor_make(run->model->backend->dtype, (void *)data, 3, dims);
    txd_point_dims(block.dims, run->model->config, TXD_POINT_LOGITS, &extent);
    block.start[0] = batch;
    block.start[1] = first;
    block.last = last;
    if (run->wishes[stop].all & TXD_ASK_STATS) {
        add_logit_stats(run, batch, first, rows, data);
        if (last) {
            txd_stats_final(stats, &run->logit_stats);
            block.stats = stats;
        }
    }
    return txd_taps_read(run, run->wishes[stop].of_tap, &block);
}

static void parameter_stats(double *out, const txd_tensor *value)
{
    size_t count = txd_tensor_count(value);
    struct txd_stats_part part;
    struct txd_stats_args args = {
        .part = &part, .x = value->data, .rows = 1, .width = count, .stride = count};

    if (value->dtype == TXD_F64)
        (void)txd_ref64_stats(NULL, &args);
    else
        (void)txd_ref32_stats(NULL, &args);
    txd_stats_final(out, &part);
}

static txd_status offer_parameter(txd_run *run, size_t i, unsigned *asks)
{
    const txd_param *param = txd_params_at(run->options.params, i);
    txd_site site = {TXD_SITE_PARAMETER, 0, TXD_POINT_COUNT,
                     param->layer,       i, param->name};
    double stats[TXD_STAT_COUNT_OF];
    txd_block block = {0};
    unsigned all = 0;

    for (size_t t = 0; t < run->tap_count; t++) {
        const txd_tap *tap = run->taps[t];

        asks[t] = tap->ask == NULL ? 0 : tap->ask(tap->self, &site);
        all |= asks[t];
    }
    if (all == 0)
        return TXD_OK;
    block.site = &site;
    block.pass = &run->pass;
    block.earlier = nothing_earlier;
    block.value = param->value;
    memcpy(block.dims, param->value.dims, sizeof block.dims);
    block.last = true;
    if (all & TXD_ASK_STATS) {
        parameter_stats(stats, &param->value);
        block.stats = stats;
    }
    return txd_taps_read(run, asks, &block);
}

txd_status txd_taps_parameters(txd_run *run)
{
    if (run->options.params == NULL)
        return TXD_OK;
    for (size_t i = 0; i < txd_params_count(run->options.params); i++)
        TXD_TRY(offer_parameter(run, i, run->parameter_asks));
    return TXD_OK;
}
