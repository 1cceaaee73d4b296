/* SPDX-License-Identifier: MIT
 *
 * Blocks that no worker made: taps reduce and merge them at once, and those that have
 * nothing to do with one another at the same time.
 */
#include <string.h>

#include "model/run_private.h"

/* What a tap does with an element, roughly: to tell what is worth several threads. */
#define OPERATIONS 4.0

struct reading {
    txd_run *run;
    const unsigned *asks;
    const txd_block *block;
};

static bool is_reduced(const txd_tap *tap)
{
    return tap->reduce != NULL && tap->slot_bytes > 0;
}

static txd_status merge(const struct reading *r, size_t t, txd_block *block)
{
    const txd_tap *tap = r->run->taps[t];
    void *slot = r->run->slot + r->run->slot_offset[t];

    if (tap->merge == NULL)
        return TXD_OK;
    return tap->merge(tap->self, block, is_reduced(tap) ? slot : NULL);
}

/* All of a tap that is independent, the pure half of another. */
static txd_status read_beside(void *self, size_t t, int worker)
{
    const struct reading *r = self;
    const txd_tap *tap = r->run->taps[t];
    void *slot = r->run->slot + r->run->slot_offset[t];
    txd_block block = *r->block;

    (void)worker;
    if (!(r->asks[t] & TXD_ASK_READS))
        return TXD_OK;
    block.tap = tap;
    if (is_reduced(tap)) {
        memset(slot, 0, tap->slot_bytes);
        tap->reduce(slot, tap->self, &block);
    }
    return tap->independent ? merge(r, t, &block) : TXD_OK;
}

/* Of one of all taps, on average. */
static double operations(const struct reading *r)
{
    const txd_tensor *value = &r->block->value;
    size_t readers = 0;

    for (size_t t = 0; t < r->run->tap_count; t++)
        readers += (r->asks[t] & TXD_ASK_VALUE) != 0;
    if (readers < 2 || !value->data)
        return 0;
    return OPERATIONS * (double)txd_tensor_count(value) * (double)readers /
           (double)r->run->tap_count;
}

txd_status txd_taps_read(txd_run *run, const unsigned *asks, txd_block *block)
{
    struct reading r = {run, asks, block};

    TXD_TRY(txd_parallel(&run->ctx, run->tap_count, operations(&r), read_beside, &r));
    for (size_t t = 0; t < run->tap_count; t++) {
        if (run->taps[t]->independent || !(asks[t] & TXD_ASK_READS))
            continue;
        block->tap = run->taps[t];
        TXD_TRY(merge(&r, t, block));
    }
    return TXD_OK;
}
