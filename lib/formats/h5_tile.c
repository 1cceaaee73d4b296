/* SPDX-License-Identifier: MIT
 *
 * The numbers of a chunk that is being collected: copied from pieces of blocks, each
 * rounded once, and fill between and around them.
 */
#include "formats/h5_tile_internal.h"

#include <string.h>

static size_t pieces(size_t length, size_t side)
{
    return length / side + (length % side != 0);
}

void txd_h5_piece_first(txd_h5_piece *p)
{
    const txd_h5_plan *plan = &p->dataset->plan;

    for (int axis = 0; axis < plan->rank; axis++)
        p->chunk[axis] = p->block->start[axis] / plan->chunk[axis];
}

bool txd_h5_piece_next(txd_h5_piece *p)
{
    const txd_h5_plan *plan = &p->dataset->plan;
    const txd_h5_block *block = p->block;

    for (int axis = plan->rank - 1; axis >= 0; axis--) {
        size_t end = block->start[axis] + block->count[axis];

        if (++p->chunk[axis] * plan->chunk[axis] < end)
            return true;
        p->chunk[axis] = block->start[axis] / plan->chunk[axis];
    }
    return false;
}

void txd_h5_piece_meet(txd_h5_piece *p)
{
    const txd_h5_plan *plan = &p->dataset->plan;

    p->rows = 1;
    p->number = p->chunk[0];
    for (int axis = 0; axis < plan->rank; axis++) {
        size_t side = plan->chunk[axis], begin = p->chunk[axis] * side;
        size_t start = p->block->start[axis], end = start + p->block->count[axis];
        size_t low = start > begin ? start : begin;
        size_t high = end < begin + side ? end : begin + side;

        p->low[axis] = low - begin;
        p->count[axis] = high - low;
        if (axis > 0)
            p->number = p->number * pieces(plan->limit[axis], side) + p->chunk[axis];
        if (axis < plan->rank - 1)
            p->rows *= p->count[axis];
    }
}

const unsigned char *txd_h5_piece_row(size_t *row, const txd_h5_piece *p, size_t i)
{
    const txd_h5_plan *plan = &p->dataset->plan;
    const txd_h5_block *block = p->block;
    size_t offset = 0, stride = 1, row_stride = 1, number = 0;
    int last = plan->rank - 1;

    offset = p->chunk[last] * plan->chunk[last] + p->low[last] - block->start[last];
    stride = block->count[last];
    for (int axis = last - 1; axis >= 0; axis--) {
        size_t at = p->low[axis] + i % p->count[axis];

        i /= p->count[axis];
        offset +=
            (p->chunk[axis] * plan->chunk[axis] + at - block->start[axis]) * stride;
        stride *= block->count[axis];
        number += at * row_stride;
        row_stride *= plan->chunk[axis];
    }
    *row = number;
    return block->data + offset * txd_dtype_bytes(block->dtype);
}

bool txd_h5_piece_is_zero(const txd_h5_piece *p)
{
    size_t bytes =
        p->count[p->dataset->plan.rank - 1] * txd_dtype_bytes(p->block->dtype);
    size_t row;

    for (size_t i = 0; i < p->rows; i++)
        if (!txd_pack_is_zero(txd_h5_piece_row(&row, p, i), bytes))
            return false;
    return true;
}

/* Rows come in order: the last one that there can be ends a chunk. */
bool txd_h5_piece_ends(const txd_h5_piece *p)
{
    const txd_h5_plan *plan = &p->dataset->plan;

    for (int axis = 1; axis < plan->rank - 1; axis++) {
        size_t rest = plan->limit[axis] - p->chunk[axis] * plan->chunk[axis];
        size_t side = rest < plan->chunk[axis] ? rest : plan->chunk[axis];

        if (p->low[axis] + p->count[axis] < side)
            return false;
    }
    return true;
}

/* ---- numbers of a tile ---- */

static void fill_with(const txd_h5_dataset *dataset, const txd_h5_tile *tile,
                      size_t first, size_t count)
{
    size_t bytes = txd_dtype_bytes(dataset->memory);
    unsigned char *at = tile->data + first * bytes;
    double fill = txd_h5_fill(&dataset->spec);

    if (fill == 0) {
        memset(at, 0, count * bytes);
        return;
    }
    if (count > 0)
        txd_convert(at, dataset->memory, &fill, TXD_F64, 1);
    for (size_t done = 1, more; done < count; done += more) {
        more = done < count - done ? done : count - done;
        memcpy(at + done * bytes, at, more * bytes);
    }
}

size_t txd_h5_tile_width(const txd_h5_dataset *dataset)
{
    return dataset->plan.chunk[dataset->plan.rank - 1];
}

void txd_h5_tile_complete(const txd_h5_dataset *dataset, txd_h5_tile *tile)
{
    size_t width = txd_h5_tile_width(dataset);

    for (size_t i = 0; i < tile->row_count; i++) {
        txd_h5_run *run = &tile->rows[i];

        if (run->from > 0)
            fill_with(dataset, tile, i * width, run->from);
        if (run->to < width)
            fill_with(dataset, tile, i * width + run->to, width - run->to);
        *run = (txd_h5_run){0, (uint32_t)width};
    }
}

/* A row has one run of numbers: what lies between two becomes fill. */
static void join(const txd_h5_dataset *dataset, const txd_h5_tile *tile, size_t row,
                 txd_h5_run added)
{
    txd_h5_run *run = &tile->rows[row];
    size_t begin = row * txd_h5_tile_width(dataset);

    if (run->to == run->from) {
        *run = added;
        return;
    }
    if (added.from > run->to)
        fill_with(dataset, tile, begin + run->to, added.from - run->to);
    if (added.to < run->from)
        fill_with(dataset, tile, begin + added.to, run->from - added.to);
    run->from = added.from < run->from ? added.from : run->from;
    run->to = added.to > run->to ? added.to : run->to;
}

/* Numbers are rounded once, to the dtype of the file, and at once, unless that is work
 * for many threads. */
static void convert(unsigned char *out, unsigned char *spare, const unsigned char *in,
                    const txd_h5_piece *p)
{
    const txd_h5_dataset *dataset = p->dataset;
    size_t count = p->count[dataset->plan.rank - 1];
    txd_dtype stored = txd_h5_stored(&dataset->spec), from = p->block->dtype;

    if (from == dataset->memory) {
        memcpy(out, in, count * txd_dtype_bytes(from));
    } else if (stored == dataset->memory) {
        txd_convert(out, stored, in, from, count);
    } else {
        txd_convert(spare, stored, in, from, count);
        txd_convert(out, dataset->memory, spare, stored, count);
    }
}

void txd_h5_tile_copy(txd_h5_tile *tile, unsigned char *row, const txd_h5_piece *p)
{
    const txd_h5_dataset *dataset = p->dataset;
    int last = dataset->plan.rank - 1;
    size_t width = txd_h5_tile_width(dataset), bytes = txd_dtype_bytes(dataset->memory);
    const txd_h5_run added = {(uint32_t)p->low[last],
                              (uint32_t)(p->low[last] + p->count[last])};

    for (size_t i = 0; i < p->rows; i++) {
        size_t at;
        const unsigned char *in = txd_h5_piece_row(&at, p, i);

        join(dataset, tile, at, added);
        convert(tile->data + (at * width + added.from) * bytes, row, in, p);
    }
}
