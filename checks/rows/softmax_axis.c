/* SPDX-License-Identifier: MIT
 *
 * Sums of weights over the other axes. A tile tells of columns only where it holds all
 * queries of its head; padded queries take part in them.
 */
#include "checks/rows/softmax_axis.h"

#include <math.h>

/* A row whose sum is nearer to 1 may be one of a softmax that is off. */
#define ROW_OFF 1e-3
/* Columns and cells that must agree. */
#define LEAST 2

static double sum_of_row(const txd_tensor *tile, size_t row)
{
    size_t keys = tile->dims[3];
    double sum = 0;

    for (size_t k = 0; k < keys; k++)
        sum += txd_tensor_get(tile, row * keys + k);
    return sum;
}

/* What is NaN or 0 in all queries was hidden from all of them. */
static void add_columns(txd_softmax_axis *axis, const txd_tensor *tile, size_t head)
{
    size_t queries = tile->dims[2], keys = tile->dims[3];

    for (size_t k = 0; k < keys; k++) {
        double sum = 0;

        for (size_t q = 0; q < queries; q++)
            sum += txd_tensor_get(tile, (head * queries + q) * keys + k);
        if (isnan(sum) || sum == 0)
            continue;
        axis->columns++;
        axis->ones += fabs(sum - 1) <= axis->slack;
    }
}

static void look_at_tile(txd_softmax_axis *axis, const txd_block *block)
{
    const txd_tensor *tile = &block->value;
    const txd_inputs *inputs = block->pass->inputs;
    size_t queries = tile->dims[2];

    for (size_t h = 0; h < tile->dims[0] * tile->dims[1]; h++) {
        size_t batch = block->start[0] + h / tile->dims[1];

        if (queries == block->dims[2] && queries > 1)
            add_columns(axis, tile, h);
        for (size_t q = 0; q < queries; q++)
            if (inputs->valid[batch * inputs->length + block->start[2] + q])
                axis->rows_off += fabs(sum_of_row(tile, h * queries + q) - 1) > ROW_OFF;
    }
}

/* The last token of the first tile sees the most keys. */
static void take_cells(txd_softmax_axis *axis, const txd_block *block)
{
    const txd_tensor *tile = &block->value;
    const txd_inputs *inputs = block->pass->inputs;
    size_t query = tile->dims[2], keys = tile->dims[3];

    if (block->start[0] > 0 || block->start[2] > 0 || tile->dims[0] != 1 ||
        tile->dims[1] != 1 || keys == 0)
        return;
    while (query > 0 && !inputs->valid[query - 1])
        query--;
    if (query == 0)
        return;
    axis->heads = 1;
    axis->step = block->site->step;
    for (size_t i = 0; i < TXD_AXIS_CELLS; i++)
        axis->cells[i] =
            txd_tensor_get(tile, (query - 1) * keys + i * keys / TXD_AXIS_CELLS);
}

void txd_softmax_axis_look(txd_softmax_axis *axis, const txd_block *block, bool is_off)
{
    axis->slack = 1e-5 + 4 * block->pass->u_store;
    take_cells(axis, block);
    if (is_off)
        look_at_tile(axis, block);
}

void txd_softmax_axis_join(txd_softmax_axis *to, const txd_softmax_axis *from)
{
    to->columns += from->columns;
    to->ones += from->ones;
    to->rows_off += from->rows_off;
    to->slack = fmax(to->slack, from->slack);
    if (from->heads == 0 || (to->heads > 0 && to->step != from->step))
        return;
    for (size_t i = 0; i < TXD_AXIS_CELLS; i++)
        to->cells[i] += from->cells[i];
    to->heads += from->heads;
    to->step = from->step;
}

/* Every cell that has weight in some head. */
static bool sums_over_heads(const txd_softmax_axis *axis, size_t n_heads)
{
    size_t ones = 0;

    if (axis->heads != n_heads || n_heads < 2)
        return false;
    for (size_t i = 0; i < TXD_AXIS_CELLS; i++) {
        if (isnan(axis->cells[i]) || axis->cells[i] == 0)
            continue;
        if (!(fabs(axis->cells[i] - 1) <= axis->slack))
            return false;
        ones++;
    }
    return ones >= LEAST;
}

bool txd_softmax_axis_say(txd_finding *finding, const txd_softmax_axis *axis,
                          size_t n_heads)
{
    bool over_queries = axis->columns >= LEAST && axis->ones == axis->columns;

    if (axis->rows_off == 0 || (!over_queries && !sums_over_heads(axis, n_heads)))
        return false;
    txd_law_say(finding, over_queries
                             ? ": each key's weights sum to 1 over the queries: the "
                               "softmax runs along the wrong axis"
                             : ": the weights of a query and a key sum to 1 over the "
                               "heads: the softmax runs along the wrong axis");
    return true;
}
