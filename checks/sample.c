/* SPDX-License-Identifier: MIT
 *
 * Places spread evenly: the walk gains wanted / real of a pick at every valid place.
 */
#include "checks/sample.h"

static size_t count_valid(const int32_t *valid, size_t count)
{
    size_t sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < count; i++)
        sum += valid[i] != 0;
    return sum;
}

txd_picks txd_picks_of(const int32_t *valid, size_t count, size_t wanted)
{
    txd_picks picks = {.valid = valid, .end = count};

    picks.real = count_valid(valid, count);
    picks.wanted = wanted < picks.real ? wanted : picks.real;
    return picks;
}

txd_picks txd_picks_of_head(const txd_block *block, size_t batch, size_t head,
                            size_t wanted)
{
    const txd_inputs *inputs = block->pass->inputs;
    const int32_t *valid = inputs->valid + (block->start[0] + batch) * inputs->length;
    size_t before = count_valid(valid, block->start[2]);
    txd_picks picks = {.valid = valid, .at = block->start[2]};

    picks.real = before + count_valid(valid + picks.at, inputs->length - picks.at);
    picks.wanted = wanted < picks.real ? wanted : picks.real;
    picks.end = picks.at + block->value.dims[2];
    if (picks.real > 0)
        picks.part = (picks.real * (block->start[1] + head) / block->dims[1] +
                      before * picks.wanted) %
                     picks.real;
    return picks;
}

bool txd_picks_next(size_t *place, txd_picks *picks)
{
    while (picks->at < picks->end) {
        *place = picks->at++;
        if (!picks->valid[*place])
            continue;
        picks->part += picks->wanted;
        if (picks->part < picks->real)
            continue;
        picks->part -= picks->real;
        return true;
    }
    return false;
}

size_t txd_picks_wanted(size_t budget, size_t each, size_t least)
{
    size_t count = each > 0 ? budget / each : budget;

    return count > least ? count : least;
}

size_t txd_picks_queries(const txd_block *block, size_t budget, size_t least)
{
    return txd_picks_wanted(budget, block->dims[0] * block->dims[1] * block->dims[3],
                            least);
}
