/* SPDX-License-Identifier: MIT
 *
 * A replay: what a recording can answer. The attribute `record` says which layers,
 * heads and steps the probes were told to record: the others hold the fill value,
 * which must not be taken for what the model did.
 */
#include <math.h>
#include "formats/recording.h"
#include "formats/replay_internal.h"

#include <stdlib.h>
#include <string.h>

txd_status txd_replay_name_file(const txd_replay *replay, txd_status status)
{
    const char *file = txd_trace_meta(replay->trace, TXD_META_FILE);

    /* What went wrong in reading the file names it already. */
    if (status == TXD_OK || !file || strstr(txd_message(), file))
        return status;
    return txd_fail_prefix(status, "%s", file);
}

txd_status txd_replay_create(txd_replay **out, const txd_trace *recording)
{
    txd_replay *replay = calloc(1, sizeof *replay);
    txd_status status;

    if (!replay)
        return txd_fail(TXD_ERR_MEMORY, "out of memory: a replay");
    replay->trace = recording;
    status = txd_arena_create(&replay->arena);
    if (status == TXD_OK)
        status = txd_replay_name_file(replay, txd_replay_index(replay));
    if (status == TXD_OK)
        *out = replay;
    else
        txd_replay_destroy(replay);
    return status;
}

void txd_replay_destroy(txd_replay *replay)
{
    if (!replay)
        return;
    txd_params_destroy(replay->shapes);
    txd_arena_destroy(replay->arena);
    free(replay);
}

const txd_config *txd_replay_config(const txd_replay *replay)
{
    return &replay->config;
}

size_t txd_replay_steps(const txd_replay *replay)
{
    return replay->steps;
}

bool txd_replay_has_past(const txd_replay *replay)
{
    return replay->keys > replay->length;
}

void txd_replay_set_threads(txd_replay *replay, int threads)
{
    replay->threads = threads;
}

txd_dtype txd_replay_format(const txd_replay *replay)
{
    return replay->format;
}

txd_storage txd_replay_storage(const txd_replay *replay)
{
    return replay->storage;
}

size_t txd_replay_stop_of(const txd_replay *replay, txd_point point, int layer)
{
    size_t layers = replay->config.n_layers + 1;

    if ((unsigned)point >= TXD_POINT_COUNT || layer < -1 ||
        (size_t)(layer + 1) >= layers)
        return TXD_REPLAY_NONE;
    return replay->stop_of[(size_t)point * layers + (size_t)(layer + 1)];
}

size_t txd_replay_stop_at(const txd_replay *replay, bool is_gradient, txd_point point,
                          int layer)
{
    size_t stop = txd_replay_stop_of(replay, point, layer);

    return is_gradient && stop != TXD_REPLAY_NONE ? 2 * replay->value_count - 1 - stop
                                                  : stop;
}

int txd_replay_dims(size_t dims[TXD_MAX_RANK], const txd_replay *replay, size_t stop,
                    const txd_extent *extent)
{
    const txd_site *site = &replay->stops[stop].site;
    const txd_tensor *shape;

    if (!txd_site_is_parameter(site->kind))
        return txd_point_dims(dims, &replay->config, site->point, extent);
    shape = &txd_params_at(replay->shapes, site->index)->value;
    memcpy(dims, shape->dims, sizeof shape->dims);
    return shape->rank;
}

static bool heads_fit(const txd_range *heads, int head)
{
    if (head == TXD_REPLAY_ANY_HEAD || heads->count == 0)
        return true;
    return head >= 0 && txd_range_has(heads, (size_t)head);
}

bool txd_replay_recorded(const txd_replay *replay, const char *probe,
                         const txd_site *site, int step, int head)
{
    if (!replay->uses)
        return true;
    for (size_t i = 0; i < replay->use_count; i++) {
        const txd_replay_use *use = &replay->uses[i];

        if (strcmp(use->probe, probe) == 0 && txd_glob_list(use->points, site->name) &&
            (site->layer < 0 || txd_range_has(&use->layers, (size_t)site->layer)) &&
            (step < 0 || txd_range_has(&use->steps, (size_t)step)) &&
            heads_fit(&use->heads, head))
            return true;
    }
    return false;
}

static bool has_stats(const txd_replay_stop *stop)
{
    for (int s = 0; s < TXD_REPLAY_SERIES; s++)
        if (stop->row[s] != TXD_REPLAY_NONE)
            return true;
    return false;
}

bool txd_replay_takes_stats(const txd_replay *replay, const txd_replay_stop *stop)
{
    txd_point point = stop->site.point;
    bool is_input = stop->site.kind == TXD_SITE_VALUE &&
                    (txd_point_get(point)->place == TXD_PLACE_INPUT ||
                     point == TXD_POINT_INPUT_MEMORY);

    return stop->value != TXD_REPLAY_NONE &&
           (is_input ||
            txd_storage_loss_of(replay->storage, replay->format).largest == INFINITY);
}

/* Keys and values that are attended to are not all in the step where a cache has those
 * of earlier calls: who holds cells against them must not have the others alone. */
static bool is_in_part(const txd_replay *replay, const txd_site *site)
{
    return replay->keys > replay->length && !txd_site_is_parameter(site->kind) &&
           (site->point == TXD_POINT_ATTN_K || site->point == TXD_POINT_ATTN_V);
}

/* Row statistics apart, which values of attn.weights alone have. */
static unsigned offers_beside_rows(const txd_replay *replay,
                                   const txd_replay_stop *stop)
{
    unsigned offers = 0;

    if (is_in_part(replay, &stop->site))
        return 0;

    if (stop->value != TXD_REPLAY_NONE)
        offers |= TXD_ASK_VALUE;
    if (has_stats(stop) || txd_replay_takes_stats(replay, stop))
        offers |= TXD_ASK_STATS;
    return offers;
}

unsigned txd_replay_offers_at(const txd_replay *replay, size_t at)
{
    const txd_replay_stop *stop = &replay->stops[at];
    txd_point point = stop->site.point;
    unsigned offers = offers_beside_rows(replay, stop);

    if (stop->site.kind != TXD_SITE_VALUE)
        return offers;
    if (txd_point_get(point)->place == TXD_PLACE_INPUT)
        return TXD_ASK_VALUE | TXD_ASK_STATS;
    if (txd_point_in_self(point) != TXD_POINT_ATTN_WEIGHTS)
        return offers;
    if (stop->value != TXD_REPLAY_NONE ||
        (replay->has_rows[txd_point_attention(point)] &&
         txd_replay_recorded(replay, "rows", &stop->site, -1, TXD_REPLAY_ANY_HEAD)))
        offers |= TXD_ASK_ROWS;
    return offers;
}

unsigned txd_replay_offers(const txd_replay *replay, txd_point point, int layer)
{
    size_t stop = txd_replay_stop_of(replay, point, layer);

    return stop == TXD_REPLAY_NONE ? 0 : txd_replay_offers_at(replay, stop);
}

unsigned txd_replay_offers_gradient(const txd_replay *replay, txd_point point,
                                    int layer)
{
    size_t stop = txd_replay_stop_at(replay, true, point, layer);

    return stop == TXD_REPLAY_NONE ? 0 : txd_replay_offers_at(replay, stop);
}

unsigned txd_replay_offers_parameter_gradients(const txd_replay *replay)
{
    unsigned offers = 0;

    for (size_t i = 2 * replay->value_count; i < replay->stop_count; i++)
        offers |= txd_replay_offers_at(replay, i);
    return offers;
}

unsigned txd_replay_offers_parameters(const txd_replay *replay)
{
    return replay->params == TXD_REPLAY_NONE ? 0 : TXD_ASK_STATS;
}
