/* SPDX-License-Identifier: MIT
 *
 * Offering values to taps: who is asked, in which order edits and reads run, and how
 * whole values are offered. Attention tiles: taps_tile.c; the rest: taps_rest.c.
 */
#include <string.h>

#include "model/images.h"
#include "model/run_stops.h"

void txd_pass_set_format(txd_pass *pass, txd_dtype format)
{
    txd_roundoff u = txd_roundoff_of_format(format);

    pass->dtype = format == TXD_F64 ? TXD_F64 : TXD_F32;
    pass->format = format;
    pass->u_store = u.store;
    pass->u_accumulate = u.accumulate;
    pass->tiny = u.tiny;
    pass->largest = u.largest;
}

/* What a tap does not name may be gone: memory is kept only for what is named. */
bool txd_tap_names(const txd_tap *tap, txd_point at, txd_point point)
{
    const txd_point *need = tap->needs == NULL ? NULL : tap->needs(tap->self, at);

    for (; need != NULL && *need != TXD_POINT_COUNT; need++)
        if (*need == point)
            return true;
    return false;
}

static txd_status check_named(const txd_block *block, txd_point point)
{
    if (block->tap == NULL || txd_tap_names(block->tap, block->site->point, point))
        return TXD_OK;
    return txd_fail(TXD_ERR_MISSING, "the tap %s does not name %s in its needs at %s",
                    block->tap->name, txd_point_get(point)->name, block->site->name);
}

txd_status txd_block_earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    TXD_TRY(check_named(block, point));
    return block->earlier(out, block, point);
}

txd_status txd_block_gradient(txd_tensor *out, const txd_block *block, txd_point point)
{
    TXD_TRY(check_named(block, point));
    if (block->gradient == NULL)
        return txd_fail(TXD_ERR_MISSING, "%s%s is not at hand at %s",
                        txd_point_get(point)->name, TXD_GRADIENT_SUFFIX,
                        block->site->name);
    return block->gradient(out, block, point);
}

bool txd_site_is_gradient(txd_site_kind kind)
{
    return kind == TXD_SITE_GRADIENT || kind == TXD_SITE_PARAMETER_GRADIENT;
}

bool txd_site_is_parameter(txd_site_kind kind)
{
    return kind == TXD_SITE_PARAMETER || kind == TXD_SITE_PARAMETER_GRADIENT;
}

int txd_run_stop(const txd_run *run, txd_point point, int layer)
{
    size_t layers = run->model->config->n_layers + 1;

    return run->stop_of[(size_t)point * layers + (size_t)(layer + 1)];
}

static unsigned wants(const txd_run *run, txd_site_kind kind, txd_point point,
                      int layer)
{
    const struct txd_watch *watch = &run->watch[kind];
    int stop = txd_run_stop(run, point, layer);

    return stop < 0 || watch->count == 0 ? 0 : watch->wishes[stop].all;
}

unsigned txd_run_wants(const txd_run *run, txd_point point, int layer)
{
    return wants(run, TXD_SITE_VALUE, point, layer);
}

unsigned txd_run_wants_gradient(const txd_run *run, txd_point point, int layer)
{
    return wants(run, TXD_SITE_GRADIENT, point, layer);
}

/* Token ids have no gradient. */
static bool is_asked(const txd_tap *tap, const txd_site *site)
{
    if (tap->ask == NULL)
        return false;
    if (!txd_site_is_gradient(site->kind))
        return true;
    return tap->gradients && (txd_site_is_parameter(site->kind) ||
                              txd_point_get(site->point)->place != TXD_PLACE_INPUT);
}

static void ask_about(txd_run *run, struct txd_watch *watch, int step)
{
    for (size_t s = 0; s < watch->count; s++) {
        struct txd_wish *wish = &watch->wishes[s];

        watch->sites[s].step = step;
        wish->all = 0;
        for (size_t t = 0; t < run->tap_count; t++) {
            const txd_tap *tap = run->taps[t];
            bool asked = is_asked(tap, &watch->sites[s]);

            wish->of_tap[t] = asked ? tap->ask(tap->self, &watch->sites[s]) : 0;
            wish->all |= wish->of_tap[t];
        }
    }
}

/* Scores, masked scores and weights become whole for whoever edits them; their
 * gradients and the logits do not. */
static bool can_be_whole(const txd_site *site)
{
    txd_place place = txd_point_get(site->point)->place;

    return place != TXD_PLACE_ROWS &&
           (place != TXD_PLACE_TILE || site->kind == TXD_SITE_VALUE);
}

static txd_status refuse_edits(const struct txd_watch *watch)
{
    for (size_t s = 0; s < watch->count; s++)
        if ((watch->wishes[s].all & TXD_ASK_EDIT) && !can_be_whole(&watch->sites[s]))
            return txd_fail(TXD_ERR_INAPPLICABLE,
                            "%s is never whole and cannot be edited: replace the "
                            "operation that makes it",
                            watch->sites[s].name);
    return TXD_OK;
}

txd_status txd_taps_ask(txd_run *run, int step)
{
    ask_about(run, &run->watch[TXD_SITE_VALUE], step);
    ask_about(run, &run->watch[TXD_SITE_GRADIENT], step);
    ask_about(run, &run->watch[TXD_SITE_PARAMETER_GRADIENT], step);
    TXD_TRY(refuse_edits(&run->watch[TXD_SITE_VALUE]));
    return refuse_edits(&run->watch[TXD_SITE_GRADIENT]);
}

static txd_tensor whole_tensor(const txd_run *run, txd_point point, void *data)
{
    size_t dims[TXD_MAX_RANK];
    const txd_extent extent = txd_run_extent(run);
    int rank = txd_point_dims(dims, run->model->config, point, &extent);
    bool input = txd_point_get(point)->place == TXD_PLACE_INPUT;
    txd_dtype dtype = input ? TXD_I32 : run->model->backend->dtype;

    return txd_tensor_make(dtype, data, rank, dims);
}

static txd_status not_at_hand(const txd_block *block, txd_point point,
                              const char *suffix)
{
    char name[96];

    return txd_fail(TXD_ERR_MISSING, "%s%s is not at hand at %s",
                    txd_point_name(name, sizeof name, point, block->site->layer),
                    suffix, block->site->name);
}

/* A row tile of the logits, or of their gradient. */
static txd_tensor logit_tensor(const struct txd_block_source *source, void *data)
{
    const size_t dims[3] = {1, source->logit_tile->rows,
                            source->run->model->config->vocab};

    return txd_tensor_make(source->run->model->backend->dtype, data, 3, dims);
}

static bool in_tile(const struct txd_block_source *source, txd_point point)
{
    return source->tile != NULL && txd_point_get(point)->place == TXD_PLACE_TILE &&
           txd_point_attention(point) == source->tile->kind;
}

/* For taps: what it holds now, in the host's memory. */
static txd_status show(txd_tensor *part, const txd_run *run)
{
    return txd_image_read(&part->data, run, part->data, txd_tensor_count(part));
}

static txd_status show_whole(txd_tensor *out, const txd_block *block,
                             txd_site_kind kind, txd_point point, void *data)
{
    const struct txd_block_source *source = block->source;
    const txd_run *run = source->run;
    const txd_site *site = block->site;
    int here = txd_run_stop(run, site->point, site->layer);

    *out = whole_tensor(run, point, data);
    return txd_image_read_whole(&out->data, run, kind,
                                txd_stops_seen_from(run, (size_t)here, point), out);
}

static txd_status earlier(txd_tensor *out, const txd_block *block, txd_point point)
{
    const struct txd_block_source *source = block->source;
    const txd_run *run = source->run;

    if (in_tile(source, point))
        *out = txd_tile_tensor(run, source->tile, TXD_SITE_VALUE, point);
    else if (point == TXD_POINT_LOGITS && source->logit_tile != NULL)
        *out = logit_tensor(source, run->logits);
    else if (point == TXD_POINT_LOGITS_RAW && source->logit_tile != NULL)
        *out = logit_tensor(source, run->raw_logits);
    else if (run->value[point] != NULL)
        return show_whole(out, block, TXD_SITE_VALUE, point, run->value[point]);
    else
        return not_at_hand(block, point, "");
    return show(out, run);
}

/* What comes before a point in the forward half has no complete gradient yet. */
static txd_status later(txd_tensor *out, const txd_block *block, txd_point point)
{
    const struct txd_block_source *source = block->source;
    const txd_run *run = source->run;
    bool tile = in_tile(source, point) && point >= block->site->point;

    if (tile)
        *out = txd_tile_tensor(run, source->tile, TXD_SITE_GRADIENT, point);
    else if (txd_point_get(point)->place == TXD_PLACE_ROWS &&
             point == block->site->point)
        *out = logit_tensor(source, run->d_logits);
    else if (run->gradient[point] != NULL)
        return show_whole(out, block, TXD_SITE_GRADIENT, point, run->gradient[point]);
    else
        return not_at_hand(block, point, TXD_GRADIENT_SUFFIX);
    return show(out, run);
}

txd_block txd_taps_block(const struct txd_block_source *source, txd_site_kind kind,
                         int stop)
{
    txd_block block = {0};

    block.site = &source->run->watch[kind].sites[stop];
    block.pass = &source->run->pass;
    block.earlier = earlier;
    if (kind == TXD_SITE_GRADIENT)
        block.gradient = later;
    block.source = source;
    return block;
}

static void set_whole(txd_block *block, const txd_tensor *value)
{
    block->value = *value;
    memcpy(block->dims, value->dims, sizeof block->dims);
    block->last = true;
}

/* ---- whole values ---- */

txd_status txd_taps_edit_block(txd_run *run, const struct txd_wish *wish,
                               txd_block *block)
{
    for (size_t t = 0; t < run->tap_count; t++)
        if (wish->of_tap[t] & TXD_ASK_EDIT) {
            block->tap = run->taps[t];
            TXD_TRY(run->taps[t]->edit(run->taps[t]->self, block));
        }
    return TXD_OK;
}

/* What was edited is stored: rounded to the format of the backend. */
static txd_status edit_value(txd_run *run, const struct txd_wish *wish,
                             const txd_block *block)
{
    size_t count = txd_tensor_count(&block->value);
    txd_block edited = *block;

    if (!(wish->all & TXD_ASK_EDIT))
        return TXD_OK;
    if (block->value.dtype != run->pass.dtype)
        return txd_taps_edit_block(run, wish, &edited);
    TXD_TRY(show(&edited.value, run));
    TXD_TRY(txd_taps_edit_block(run, wish, &edited));
    TXD_TRY(txd_image_write(run, block->value.data, count));
    txd_images_forget(run);
    return txd_run_store(run, block->value.data, count);
}

/* Of a whole value, what taps are shown. */
static txd_status show_value(txd_run *run, txd_site_kind kind, int stop,
                             txd_block *block)
{
    if (run->watch[kind].wishes[stop].all & TXD_ASK_VALUE)
        return txd_image_read_whole(&block->value.data, run, kind, stop, &block->value);
    block->value.data = txd_image_of(run, block->value.data);
    return TXD_OK;
}

/* A value that repeats another has its statistics. */
static txd_status measure(double *out, txd_run *run, txd_site_kind kind, int stop,
                          const txd_tensor *value)
{
    unsigned wishes = run->watch[kind].wishes[stop].all;
    bool whole = (wishes & TXD_ASK_STATS) != 0;
    struct txd_counted *counted = &run->counted[run->homes[stop].root];

    if (kind == TXD_SITE_VALUE && counted->pass == run->passes &&
        counted->data == value->data && counted->whole == whole) {
        memcpy(out, counted->stats, sizeof counted->stats);
        return TXD_OK;
    }
    TXD_TRY(txd_taps_stats(out, run, run->order[stop].point, value, wishes));
    if (kind != TXD_SITE_VALUE)
        return TXD_OK;
    *counted = (struct txd_counted){run->passes, value->data, whole, {0}};
    memcpy(counted->stats, out, sizeof counted->stats);
    return TXD_OK;
}

static txd_status offer(txd_run *run, txd_site_kind kind, int stop, void *data)
{
    const struct txd_wish *wish = &run->watch[kind].wishes[stop];
    txd_point point = run->order[stop].point;
    struct txd_block_source source = {run, NULL, NULL};
    double stats[TXD_STAT_COUNT_OF];
    txd_tensor value;
    txd_block block;

    if (wish->all == 0)
        return TXD_OK;
    value = whole_tensor(run, point, data);
    block = txd_taps_block(&source, kind, stop);
    set_whole(&block, &value);
    TXD_TRY(edit_value(run, wish, &block));
    if (wish->all & TXD_ASK_MEASURES) {
        TXD_TRY(measure(stats, run, kind, stop, &value));
        block.stats = stats;
    }
    TXD_TRY(show_value(run, kind, stop, &block));
    return txd_taps_read(run, wish->of_tap, &block);
}

txd_status txd_taps_offer(txd_run *run, txd_point point, int layer)
{
    int stop = txd_run_stop(run, point, layer);

    if (stop < 0 || run->is_again)
        return TXD_OK;
    return offer(run, TXD_SITE_VALUE, stop, run->value[point]);
}

txd_status txd_taps_offer_gradient(txd_run *run, txd_point point, int layer)
{
    int stop = txd_run_stop(run, point, layer);

    run->gradient[point] = run->d_own[point];
    return stop < 0 ? TXD_OK
                    : offer(run, TXD_SITE_GRADIENT, stop, run->gradient[point]);
}

txd_status txd_taps_edit(txd_run *run, txd_point point, int layer, void *data)
{
    int stop = txd_run_stop(run, point, layer);
    const struct txd_wish *wish = &run->watch[TXD_SITE_VALUE].wishes[stop];
    struct txd_block_source source = {run, NULL, NULL};
    txd_tensor value = whole_tensor(run, point, data);
    txd_block block;

    block = txd_taps_block(&source, TXD_SITE_VALUE, stop);
    set_whole(&block, &value);
    return edit_value(run, wish, &block);
}

txd_status txd_taps_step_end(txd_run *run)
{
    for (size_t t = 0; t < run->tap_count; t++)
        if (run->taps[t]->step_end != NULL)
            TXD_TRY(run->taps[t]->step_end(run->taps[t]->self, &run->pass));
    return TXD_OK;
}
