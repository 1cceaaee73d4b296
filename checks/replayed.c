/* SPDX-License-Identifier: MIT
 *
 * The laws over a recording: the same taps, fed by a replay. The thresholds of the run
 * that made it hold (they stand in its configuration) unless a rules file says
 * otherwise, so that `check` gives the verdict that `run` gave.
 */
#include "checks/runner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned replay_offers(const void *self, txd_site_kind kind, txd_point point,
                              int layer)
{
    if (kind == TXD_SITE_GRADIENT)
        return txd_replay_offers_gradient(self, point, layer);
    if (kind == TXD_SITE_PARAMETER_GRADIENT)
        return txd_replay_offers_parameter_gradients(self);
    return txd_replay_offers(self, point, layer);
}

static txd_status feed(txd_checks **out, txd_replay *replay, const txd_checks_setup *s)
{
    txd_checks *checks;
    txd_tap *const *taps;
    txd_status status;
    size_t count;

    TXD_TRY(txd_checks_set_up(&checks, s));
    taps = txd_checks_taps(checks, &count);
    status = count > 0 ? txd_replay_feed(replay, taps, count) : TXD_OK;
    if (status != TXD_OK) {
        txd_checks_destroy(checks);
        return status;
    }
    *out = checks;
    return TXD_OK;
}

static txd_status judge(txd_checks **out, const txd_trace *recording,
                        txd_replay *replay, txd_checks_setup *s)
{
    const char *config = txd_trace_meta(recording, "config");
    const char *weights = txd_trace_meta(recording, "weights");
    const char *dropout = txd_trace_meta(recording, "dropout");
    txd_check_context context = {.claimed = txd_replay_config(replay),
                                 .format = txd_replay_format(replay),
                                 .budget = txd_trace_meta(recording, "budget")};
    txd_storage storage = txd_replay_storage(replay);
    txd_setting *recorded = NULL;
    char coarse[200];
    txd_arena *arena;
    txd_status status;

    context.dropped = dropout && strtod(dropout, NULL) > 0;
    context.has_past = txd_replay_has_past(replay);
    context.is_drawn = weights && strcmp(weights, "drawn") == 0;
    snprintf(
        coarse, sizeof coarse,
        "values were recorded as %s, with fewer digits than this law needs; `check "
        "MODEL.cfg` judges all of them",
        txd_storage_name(storage));
    if (storage != TXD_STORAGE_EXACT)
        context.coarse = coarse;
    TXD_TRY(txd_arena_create(&arena));
    status = config ? txd_cfg_parse(&recorded, arena, "the recorded config", config)
                    : TXD_OK;
    if (status == TXD_OK) {
        s->context = &context;
        s->root = recorded;
        s->offers = replay_offers;
        s->offers_self = replay;
        status = feed(out, replay, s);
    }
    txd_arena_destroy(arena);
    return status;
}

txd_status txd_checks_recording(txd_checks **out, const txd_trace *recording,
                                const txd_setting *root, const txd_check_select *select)
{
    txd_checks_setup setup = {.rules = root, .select = select};
    txd_replay *replay;
    txd_status status;

    TXD_TRY(txd_replay_create(&replay, recording));
    if (select)
        txd_replay_set_threads(replay, select->threads);
    status = judge(out, recording, replay, &setup);
    if (status == TXD_OK)
        txd_checks_keep(*out, replay);
    else
        txd_replay_destroy(replay);
    return status;
}
