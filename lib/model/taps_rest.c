/* SPDX-License-Identifier: MIT
 *
 * Offering what is neither a whole value of the pass nor an attention tile: row tiles
 * of the logits, and the parameters.
 */
#include <string.h>

#include "model/images.h"
#include "ops/cpu.h"
#include "ops/ref.h"

static txd_status measure_logits(struct txd_stats_part *part, const txd_run *run,
                                 const struct txd_logit_tile *tile, const void *data,
                                 unsigned wishes)
{
    size_t vocab = run->model->config->vocab;
    size_t row = tile->batch * run->length + tile->first;
    struct txd_stats_args args = {
        .part = part,
        .x = data,
        .skip_row = run->padded + row,
        .rows = tile->rows,
        .width = vocab,
        .stride = vocab,
        .flat_start = row * vocab,
        .flat_stride = vocab,
    };

    return txd_taps_measure(run->model->backend, &args, wishes);
}

txd_status txd_taps_offer_logits(txd_run *run, const struct txd_logit_tile *tile,
                                 txd_site_kind kind, txd_point point)
{
    int stop = txd_run_stop(run, point, -1);
    const struct txd_wish *wish = &run->watch[kind].wishes[stop];
    bool is_raw = point == TXD_POINT_LOGITS_RAW;
    void *value = is_raw ? run->raw_logits : run->logits;
    void *data = kind == TXD_SITE_GRADIENT ? run->d_logits : value;
    const size_t dims[3] = {1, tile->rows, run->model->config->vocab};
    const txd_extent extent = txd_run_extent(run);
    struct txd_block_source source = {run, NULL, tile};
    double stats[TXD_STAT_COUNT_OF];
    struct txd_stats_part part;
    txd_block block;

    if (wish->all == 0)
        return TXD_OK;
    block = txd_taps_block(&source, kind, stop);
    block.value =
        txd_tensor_make(run->model->backend->dtype, txd_image_of(run, data), 3, dims);
    txd_point_dims(block.dims, run->model->config, point, &extent);
    block.start[0] = tile->batch;
    block.start[1] = tile->first;
    block.last = tile->last;
    if (wish->all & TXD_ASK_MEASURES) {
        TXD_TRY(measure_logits(&part, run, tile, data, wish->all));
        txd_stats_merge(&run->logit_stats[!is_raw], &part);
        block.part = &part;
        if (tile->last) {
            txd_stats_final(stats, &run->logit_stats[!is_raw]);
            block.stats = stats;
        }
    }
    if (wish->all & TXD_ASK_VALUE)
        TXD_TRY(txd_image_read(&block.value.data, run, data,
                               txd_tensor_count(&block.value)));
    return txd_taps_read(run, wish->of_tap, &block);
}

static void parameter_stats(double *out, const txd_tensor *value, unsigned wishes)
{
    size_t count = txd_tensor_count(value);
    struct txd_stats_part part;
    struct txd_stats_args args = {
        .part = &part, .x = value->data, .rows = 1, .width = count, .stride = count};

    if (value->dtype == TXD_F64)
        (void)txd_ref64_stats(NULL, &args);
    else if (!txd_taps_count_finite(&args, wishes))
        (void)txd_cpu32_stats(NULL, &args);
    txd_stats_final(out, &part);
}

static txd_status nothing_at_hand(txd_tensor *out, const txd_block *block,
                                  txd_point point)
{
    (void)out;
    return txd_fail(TXD_ERR_MISSING, "%s is not at hand at %s",
                    txd_point_get(point)->name, block->site->name);
}

static txd_status offer_parameter(txd_run *run, const txd_site *site,
                                  const txd_tensor *value, const struct txd_wish *wish)
{
    double stats[TXD_STAT_COUNT_OF];
    txd_block block = {0};

    if (wish->all == 0)
        return TXD_OK;
    block.site = site;
    block.pass = &run->pass;
    block.earlier = nothing_at_hand;
    block.value = *value;
    memcpy(block.dims, value->dims, sizeof block.dims);
    block.last = true;
    TXD_TRY(txd_taps_edit_block(run, wish, &block));
    if (wish->all & TXD_ASK_MEASURES) {
        parameter_stats(stats, value, wish->all);
        block.stats = stats;
    }
    return txd_taps_read(run, wish->of_tap, &block);
}

txd_status txd_taps_parameters(txd_run *run)
{
    struct txd_wish wish = {.of_tap = run->parameter_asks};

    if (run->options.params == NULL)
        return TXD_OK;
    for (size_t i = 0; i < txd_params_count(run->options.params); i++) {
        const txd_param *param = txd_params_at(run->options.params, i);
        txd_site site = {TXD_SITE_PARAMETER, 0, TXD_POINT_COUNT,
                         param->layer,       i, param->name};

        wish.all = 0;
        for (size_t t = 0; t < run->tap_count; t++) {
            const txd_tap *tap = run->taps[t];

            wish.of_tap[t] = tap->ask == NULL ? 0 : tap->ask(tap->self, &site);
            wish.all |= wish.of_tap[t];
        }
        if (wish.all & TXD_ASK_EDIT)
            return txd_fail(TXD_ERR_INAPPLICABLE,
                            "%s cannot be edited by a tap: edit parameters before a "
                            "model binds them",
                            param->name);
        TXD_TRY(offer_parameter(run, &site, &param->value, &wish));
    }
    return TXD_OK;
}

txd_status txd_taps_parameter_gradients(txd_run *run)
{
    const struct txd_watch *watch = &run->watch[TXD_SITE_PARAMETER_GRADIENT];

    for (size_t i = 0; i < watch->count; i++) {
        txd_tensor value;

        TXD_TRY(txd_run_gradient(&value, run, i));
        TXD_TRY(offer_parameter(run, &watch->sites[i], &value, &watch->wishes[i]));
    }
    return TXD_OK;
}
