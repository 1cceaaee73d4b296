/* SPDX-License-Identifier: MIT
 *
 * Reads one map of weights into the bytes that the page holds, a strip of rows at a
 * time: memory is bounded by the strip and by the cells.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "viz/read/recorded.h"
#include "viz/report/explorer.h"

enum { STRIP = 1 << 18 }; /* values read at once, or one row */

typedef struct cell {
    double top, sum;
    double leak; /* largest size of a hidden weight */
    size_t count;
    bool leaks;
} cell;

typedef struct filling {
    const txd_held *held;
    const txd_claim *claim;
    const txd_held_frame *frame;
    txd_arena *arena;
    txd_slice slice;
    txd_trace_info mean_info;
    txd_mask_view mask;
    bool masked;                 /* the mask is known */
    const unsigned char *hidden; /* of pooled places; NULL = not known */
    bool leaks_elsewhere;        /* leaks are known from the row statistics */
    cell *cells;
    size_t rows, columns; /* of cells */
} filling;

void txd_held_number(txd_text *out, double value, size_t width)
{
    unsigned char bytes[8];
    uint64_t bits = 0;

    if (width == 8) {
        memcpy(&bits, &value, 8);
    } else if (width == 4) {
        float single = (float)value;
        uint32_t word;

        memcpy(&word, &single, 4);
        bits = word;
    } else if (isnan(value)) {
        bits = 63u << 9 | 1;
    } else if (isinf(value)) {
        bits = 63u << 9;
    } else if (value != 0) {
        int exponent;
        double fraction = frexp(fabs(value), &exponent); /* of [0.5, 1) */
        double code = exponent + 46 >= 1
                          ? (exponent + 46) * 512.0 + rint((2 * fraction - 1) * 512)
                          : fmax(1, rint(ldexp(fraction, exponent + 55)));

        bits = (uint64_t)fmin(code, (63 << 9) - 1);
    }
    if (width == 2 && value < 0)
        bits |= 0x8000;
    for (size_t i = 0; i < width; i++)
        bytes[i] = (unsigned char)(bits >> 8 * i);
    txd_text_add_bytes(out, bytes, width);
}

static void add_leak(cell *at, double size)
{
    at->leak = !at->leaks || isnan(size) ? size : fmax(at->leak, size);
    at->leaks = true;
}

static void add_seen(cell *at, double value)
{
    bool larger = at->count == 0 || isnan(value) || value > at->top;

    at->top = larger && !(at->count && isnan(at->top)) ? value : at->top;
    at->sum += value;
    at->count++;
}

/* Rows of padded queries are judged by nobody, and stay blank. */
static void put(filling *f, cell *at, size_t row, size_t column, double value)
{
    const int32_t *valid =
        f->masked ? f->claim->inputs.valid + f->slice.batch * f->claim->inputs.length
                  : NULL;

    if (f->held->pooled) {
        bool hidden = f->hidden && f->hidden[row * f->frame->columns + column];

        if (isnan(value) && (hidden || !f->hidden))
            return;
        if (!hidden)
            add_seen(at, value);
        else if (value != 0 && !f->leaks_elsewhere)
            add_leak(at, fabs(value));
    } else if (f->masked && txd_mask_hides(&f->mask, row, column)) {
        if (value != 0 && valid[row])
            add_leak(at, fabs(value));
    } else if (!valid || valid[row]) {
        add_seen(at, value);
    }
}

static void put_row(filling *f, size_t row, const double *values)
{
    size_t side = f->held->side;
    cell *line = f->cells + row / side * f->columns;

    for (size_t from = 0; from < f->frame->columns; from += side, line++) {
        size_t end = from + side < f->frame->columns ? from + side : f->frame->columns;

        for (size_t column = from; column < end; column++)
            put(f, line, row, column, values[column]);
    }
}

static txd_status read_places(filling *f)
{
    const txd_slice *slice = &f->slice;
    size_t start[TXD_MAX_RANK], count[TXD_MAX_RANK], width = f->frame->columns;
    size_t strip = width > STRIP ? 1 : STRIP / width, run;
    double *values;

    strip = strip < f->frame->rows ? strip : f->frame->rows;
    values = txd_arena_alloc(f->arena, strip * width, sizeof *values);
    if (!values)
        return TXD_ERR_MEMORY;
    for (int axis = 0; axis < slice->info.rank; axis++) {
        start[axis] = slice->fixed[axis];
        count[axis] = 1;
    }
    start[slice->column_axis] = 0;
    count[slice->column_axis] = width;
    for (size_t row = 0; row < f->frame->rows; row += run) {
        run = f->frame->rows - row < strip ? f->frame->rows - row : strip;
        start[slice->row_axis] = row;
        count[slice->row_axis] = run;
        TXD_TRY(txd_trace_read(slice->recording, values, slice->entry, start, count,
                               TXD_F64));
        for (size_t i = 0; i < run; i++)
            put_row(f, row + i, values + i * width);
    }
    return TXD_OK;
}

/* A mean that was recorded takes the place of one that would be formed here. */
static txd_status read_means(filling *f)
{
    const char *name =
        f->held->kind == TXD_ATTENTION_CROSS ? "cross_pooled/mean" : "pooled/mean";
    const size_t *at = f->slice.fixed;
    const size_t start[6] = {at[0], at[1], at[2], at[3], 0, 0};
    const size_t count[6] = {1, 1, 1, 1, f->frame->rows, f->frame->columns};
    double *means =
        txd_arena_alloc(f->arena, f->frame->rows * f->frame->columns, sizeof *means);
    size_t entry;

    if (!means)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_trace_find(f->slice.recording, &entry, name));
    TXD_TRY(txd_trace_read(f->slice.recording, means, entry, start, count, TXD_F64));
    for (size_t i = 0; i < f->rows * f->columns; i++)
        f->cells[i].sum = means[i] * (double)f->cells[i].count;
    return TXD_OK;
}

/* The worst hidden key of each query, by the row statistics: pooled cells hold seen
 * and hidden pairs together, and cannot tell. */
static txd_status read_leaks(filling *f)
{
    static const char *const names[2][2] = {
        {"rows/hidden_max", "rows/hidden_key"},
        {"cross_rows/hidden_max", "cross_rows/hidden_key"}};
    bool cross = f->held->kind == TXD_ATTENTION_CROSS;
    const size_t *at = f->slice.fixed;
    const txd_held_frame *frame = f->frame;
    const size_t start[5] = {at[0], at[1], at[2], at[3], 0};
    const size_t count[5] = {1, 1, 1, 1, frame->queries};
    double *values[2];

    for (int i = 0; i < 2; i++) {
        txd_trace_info info;
        size_t entry;

        if (txd_trace_find(f->slice.recording, &entry, names[cross][i]) != TXD_OK)
            return TXD_OK;
        TXD_TRY(txd_trace_get(f->slice.recording, &info, entry));
        if (info.rank != 5 || strcmp(info.axes, "slbhq") != 0)
            return TXD_OK;
        for (int axis = 0; axis < 5; axis++)
            if (start[axis] + count[axis] > info.dims[axis])
                return TXD_OK;
        values[i] = txd_arena_alloc(f->arena, frame->queries, sizeof **values);
        if (!values[i])
            return TXD_ERR_MEMORY;
        TXD_TRY(txd_trace_read(f->slice.recording, values[i], entry, start, count,
                               TXD_F64));
    }
    f->leaks_elsewhere = true;
    for (size_t q = 0; q < frame->queries; q++) {
        size_t row, column;

        if (!(values[0][q] > 0 && values[1][q] >= 0 &&
              values[1][q] < (double)frame->keys))
            continue;
        row = ((q + 1) * frame->rows - 1) / frame->queries / f->held->side;
        column = (((size_t)values[1][q] + 1) * frame->columns - 1) / frame->keys /
                 f->held->side;
        add_leak(&f->cells[row * f->columns + column], values[0][q]);
    }
    return TXD_OK;
}

static void write_mask(txd_text *out, const filling *f)
{
    size_t count = f->rows * f->columns;

    for (size_t i = 0; i < count; i += 8) {
        unsigned char byte = 0;

        for (size_t j = 0; j < 8 && i + j < count; j++)
            byte |= (unsigned char)((f->cells[i + j].count != 0) << j);
        txd_text_add_bytes(out, &byte, 1);
    }
}

static void write_cells(txd_text *out, const filling *f)
{
    size_t count = f->rows * f->columns, width = f->held->width;

    for (size_t i = 0; i < count; i++)
        if (f->cells[i].count)
            txd_held_number(out, f->cells[i].top, width);
    for (size_t i = 0; i < count && f->held->mean; i++)
        if (f->cells[i].count)
            txd_held_number(out, f->cells[i].sum / (double)f->cells[i].count, width);
    for (size_t i = 0; i < count; i++) {
        const size_t place[2] = {i / f->columns, i % f->columns};
        unsigned char bytes[4];

        if (!f->cells[i].leaks)
            continue;
        for (size_t j = 0; j < 4; j++)
            bytes[j] = (unsigned char)(place[j / 2] >> 8 * (j % 2));
        txd_text_add_bytes(out, bytes, 4);
        txd_held_number(out, f->cells[i].leak, width < 4 ? 4 : width);
    }
}

static txd_status find_mask(filling *f)
{
    txd_blank blank;
    txd_pooling pooling = {{f->frame->rows, f->frame->columns},
                           {f->frame->queries, f->frame->keys}};
    unsigned char *hidden;

    if (!f->held->pooled) {
        f->masked = txd_claim_mask(&f->mask, f->claim,
                                   &(txd_claim_block){.kind = f->held->kind,
                                                      .layer = f->slice.layer,
                                                      .batch = f->slice.batch,
                                                      .queries = f->held->rows,
                                                      .keys = f->held->columns});
        return TXD_OK;
    }
    hidden = txd_arena_alloc(f->arena, f->held->rows * f->held->columns, 1);
    if (!hidden)
        return TXD_ERR_MEMORY;
    txd_blank_pooled(&blank, hidden, &pooling, f->claim, &f->slice);
    f->hidden = blank.pooled;
    return TXD_OK;
}

static txd_status fill(filling *f, txd_held_map *out)
{
    const txd_held *held = f->held;

    f->rows = (f->frame->rows + held->side - 1) / held->side;
    f->columns = (f->frame->columns + held->side - 1) / held->side;
    f->cells = txd_arena_alloc(f->arena, f->rows * f->columns, sizeof *f->cells);
    if (!f->cells)
        return TXD_ERR_MEMORY;
    memset(f->cells, 0, f->rows * f->columns * sizeof *f->cells);
    TXD_TRY(find_mask(f));
    if (held->pooled)
        TXD_TRY(read_leaks(f));
    TXD_TRY(read_places(f));
    if (held->pooled && held->mean)
        TXD_TRY(read_means(f));
    write_mask(&out->mask, f);
    write_cells(&out->bytes, f);
    TXD_TRY(txd_text_status(&out->mask));
    return txd_text_status(&out->bytes);
}

txd_status txd_held_fill(txd_held_map *out, const txd_held *held,
                         const txd_claim *claim, size_t recording,
                         const txd_held_frame *frame, int layer, size_t head)
{
    filling f = {.held = held, .claim = claim, .frame = frame};
    char site[TXD_SITE_BYTES];
    const txd_figure_request request = {.site = site,
                                        .layer = layer,
                                        .head = (int)head,
                                        .step = (int)frame->step,
                                        .batch = (int)frame->batch};
    txd_status status;

    txd_text_finish(&out->bytes);
    txd_text_finish(&out->mask);
    txd_held_site(site, held, layer);
    TXD_TRY(txd_slice_find(&f.slice, held->recordings[recording], &request));
    TXD_TRY(txd_recorded_slice(&f.slice));
    TXD_TRY(txd_arena_create(&f.arena));
    status = fill(&f, out);
    txd_arena_destroy(f.arena);
    return status;
}
