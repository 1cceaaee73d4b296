/* SPDX-License-Identifier: MIT
 *
 * Each area owns its keys; here they meet.
 */
#include "cli/keys.h"

#include <string.h>

#include "checks/reports/waiver.h"
#include "probes/recorder.h"

static const txd_key *const areas[] = {
    txd_config_keys, txd_weights_keys,   txd_input_keys,
    txd_record_keys, txd_recording_keys, txd_faults_keys,
};

static txd_status join(const txd_key *const **out, txd_arena *arena,
                       const txd_key *const *first, size_t count)
{
    const txd_key *const *checks;
    const txd_key **all;
    size_t check_count;

    TXD_TRY(txd_checks_keys(&checks, &check_count, arena));
    all = txd_arena_alloc(arena, count + check_count + 1, sizeof *all);
    if (!all)
        return TXD_ERR_MEMORY;
    if (count)
        memcpy(all, first, count * sizeof *all);
    if (check_count)
        memcpy(all + count, checks, check_count * sizeof *all);
    *out = all;
    return TXD_OK;
}

txd_status txd_keys_all(const txd_key *const **out, txd_arena *arena)
{
    return join(out, arena, areas, sizeof areas / sizeof *areas);
}

txd_status txd_keys_rules(const txd_key *const **out, txd_arena *arena)
{
    static const txd_key *const waivers[] = {txd_waivers_keys};

    return join(out, arena, waivers, 1);
}
