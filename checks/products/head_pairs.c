/* SPDX-License-Identifier: MIT
 *
 * Two weights agree if they are within `same` of the larger one (more where a backend
 * stores fewer digits). A cell tells something if either weight is ten times farther
 * from equal weights than that, unless both are 0 or both 1, or both heads divide the
 * row evenly among some keys: many heads saturate at the same key, or at the same keys
 * of equal content, without being one.
 */
#include "checks/products/head_pairs.h"
#include "checks/rows/sinks.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

txd_status txd_head_pairs_init(txd_head_pairs *p, const txd_config *claimed,
                               double same)
{
    size_t heads =
        claimed->n_heads < TXD_SKETCH_HEADS ? claimed->n_heads : TXD_SKETCH_HEADS;

    *p = (txd_head_pairs){.claimed = claimed,
                          .same = same,
                          .heads = heads,
                          .per_layer = heads * (heads - 1) / 2,
                          .part = -1};
    p->pairs = calloc(2 * claimed->n_layers * p->per_layer, sizeof *p->pairs);
    p->matrices = calloc(2 * claimed->n_layers, sizeof *p->matrices);
    p->rows = calloc(TXD_SKETCH_ROWS, sizeof *p->rows);
    p->cells = calloc(heads * TXD_SKETCH_ROWS, TXD_SKETCH_KEYS * sizeof *p->cells);
    p->filled = calloc(heads * TXD_SKETCH_ROWS, sizeof *p->filled);
    if (p->pairs && p->matrices && p->rows && p->cells && p->filled)
        return TXD_OK;
    txd_head_pairs_finish(p);
    return txd_fail(TXD_ERR_MEMORY, "heads_distinct: no memory");
}

void txd_head_pairs_finish(txd_head_pairs *p)
{
    free(p->pairs);
    free(p->matrices);
    free(p->rows);
    free(p->cells);
    free(p->filled);
    *p = (txd_head_pairs){0};
}

const txd_head_pair *txd_head_pairs_at(const txd_head_pairs *p, int part, size_t i,
                                       size_t heads[2])
{
    size_t a = 0, left = i;

    while (left >= p->heads - 1 - a)
        left -= p->heads - 1 - a++;
    heads[0] = a;
    heads[1] = a + 1 + left;
    return &p->pairs[(size_t)part * p->per_layer + i];
}

/* ---- the sketch ---- */

/* Of a run of keys. */
static void choose_of_run(txd_sketch_row *row, const txd_span *run)
{
    row->seen = run->end - run->begin;
    row->count = row->seen < TXD_SKETCH_KEYS ? row->seen : TXD_SKETCH_KEYS;
    if (row->seen < 2)
        row->count = 0;
    for (size_t i = 0; i < row->count; i++)
        row->keys[i] = run->begin + i * (row->seen - 1) / (row->count - 1);
}

static void choose_keys(txd_sketch_row *row, const txd_mask_view *mask, size_t length)
{
    size_t nth = 0;

    row->seen = row->count = 0;
    for (size_t k = 0; k < length; k++)
        row->seen += txd_mask_hides(mask, row->query, k) == TXD_SEEN;
    if (row->seen < 2)
        return;
    row->count = row->seen < TXD_SKETCH_KEYS ? row->seen : TXD_SKETCH_KEYS;
    for (size_t k = 0, i = 0; k < length && i < row->count; k++)
        if (txd_mask_hides(mask, row->query, k) == TXD_SEEN &&
            nth++ == i * (row->seen - 1) / (row->count - 1))
            row->keys[i++] = k;
}

static void choose_rows(txd_head_pairs *p, const txd_block *block)
{
    const txd_inputs *inputs = block->pass->inputs;
    txd_attention_kind kind = txd_point_attention(block->site->point);
    const txd_layer_config *layer = &p->claimed->layers[block->site->layer];
    size_t all = inputs->batch * inputs->length, valid = 0, nth = 0, wanted, i = 0;

    p->step = block->site->step;
    p->part = (int)txd_law_part(block->site);
    p->row_count = 0;
    memset(p->filled, 0, p->heads * TXD_SKETCH_ROWS * sizeof *p->filled);
    for (size_t t = 0; t < all; t++)
        valid += inputs->valid[t] != 0;
    wanted = valid < TXD_SKETCH_ROWS ? valid : TXD_SKETCH_ROWS;
    for (size_t t = 0; t < all && i < wanted; t++) {
        txd_sketch_row *row = &p->rows[p->row_count];
        txd_span run;
        txd_mask_view mask;

        if (!inputs->valid[t] || nth++ != (i + 1) * valid / wanted - 1)
            continue;
        i++;
        row->batch = t / inputs->length;
        row->query = t % inputs->length;
        mask = txd_mask_of_attention(kind, layer, inputs, row->batch);
        if (txd_law_run_of(&run, block, row->batch, row->query))
            choose_of_run(row, &run);
        else
            choose_keys(row, &mask, block->dims[3]);
        p->row_count += row->count > 0;
    }
}

/* What the keys have of a row together: 1, or what a sink leaves them, which is no
 * difference of heads. */
static double share_of_keys(const txd_head_pairs *p, const txd_block *block,
                            size_t line)
{
    size_t keys = block->value.dims[3];
    double sum = 0;

    if (!txd_sinks_are_in(p->claimed, block->site->point))
        return 1;
    for (size_t k = 0; k < keys; k++)
        sum += txd_tensor_get(&block->value, line * keys + k);
    return sum > 0 ? sum : 1;
}

static void keep_row(txd_head_pairs *p, size_t r, const txd_block *block, size_t head)
{
    const txd_sketch_row *row = &p->rows[r];
    const size_t *dims = block->value.dims;
    size_t place = (block->start[1] + head) * TXD_SKETCH_ROWS + r;
    size_t line = ((row->batch - block->start[0]) * dims[1] + head) * dims[2] +
                  row->query - block->start[2];
    double share = share_of_keys(p, block, line);

    for (size_t i = 0; i < row->count; i++) {
        size_t key = row->keys[i] - block->start[3]; /* wraps if it is before */

        p->cells[place * TXD_SKETCH_KEYS + i] =
            row->keys[i] >= block->start[3] && key < dims[3]
                ? txd_tensor_get(&block->value, line * dims[3] + key) / share
                : 0;
    }
    p->filled[place] = true;
}

static void keep_rows(txd_head_pairs *p, const txd_block *block)
{
    const size_t *dims = block->value.dims;

    for (size_t r = 0; r < p->row_count; r++) {
        const txd_sketch_row *row = &p->rows[r];

        if (row->batch < block->start[0] || row->batch >= block->start[0] + dims[0] ||
            row->query < block->start[2] || row->query >= block->start[2] + dims[2])
            continue;
        for (size_t h = 0; h < dims[1] && block->start[1] + h < p->heads; h++)
            keep_row(p, r, block, h);
    }
}

/* ---- pairs ---- */

static bool is_empty(const double *cells, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (cells[i] != 0)
            return false;
    return true;
}

/* True if all weights but zeros are one number: the scores were alike, or so large that
 * one key took all, or keys of equal content shared it. */
static bool is_flat(const double *cells, size_t count, double same)
{
    double largest = 0;

    for (size_t i = 0; i < count; i++)
        largest = cells[i] > largest ? cells[i] : largest;
    for (size_t i = 0; i < count; i++)
        if (cells[i] != 0 && !(largest - cells[i] <= same * largest))
            return false;
    return true;
}

/* What is asked of each head of a row once, and not of every pair. */
typedef struct head_row {
    const double *cells;
    bool is_there; /* it gives weight to something */
    bool is_flat, looks_on;
} head_row;

static void compare_cells(txd_head_pair *pair, const head_row heads[2],
                          const txd_sketch_row *row, double same)
{
    const double *a = heads[0].cells, *b = heads[1].cells;
    double equal = 1 / (double)row->seen;
    bool are_flat = heads[0].is_flat && heads[1].is_flat;

    for (size_t i = 0; i < row->count; i++) {
        double larger = a[i] > b[i] ? a[i] : b[i], x = a[i] - equal, y = b[i] - equal;
        bool is_nothing = larger == 0;
        bool is_all = a[i] >= 1 - same && b[i] >= 1 - same;
        bool tells = !is_nothing && !is_all && !are_flat &&
                     (fabs(x) > 10 * same * equal || fabs(y) > 10 * same * equal);

        pair->is_not_finite |= !isfinite(a[i]) || !isfinite(b[i]);
        pair->telling += tells;
        pair->different += !(fabs(a[i] - b[i]) <= same * larger);
    }
}

static void add_likeness(txd_likeness *likeness, double x, double y)
{
    likeness->aa += x * x;
    likeness->bb += y * y;
    likeness->ab += x * y;
}

/* What two heads give to the keys behind the first, where many heads rest, as shares
 * of what they leave it: beyond equal shares, and beyond what heads give on average. */
static void liken_cells(txd_head_pair *pair, const double *a, const double *b,
                        const txd_sketch_row *row, const double *usual)
{
    double equal = 1 / (double)(row->seen - 1);

    for (size_t i = 1; i < row->count; i++) {
        double x = a[i] / (1 - a[0]), y = b[i] / (1 - b[0]);

        add_likeness(&pair->beyond_equal, x - equal, y - equal);
        add_likeness(&pair->beyond_usual, x - usual[i], y - usual[i]);
        pair->likened++;
    }
}

/* True if a head leaves the first key of a row so much that its shares of the others
 * are no rounding. */
static bool looks_on(const txd_head_pairs *p, size_t r, size_t head, double same)
{
    size_t at = head * TXD_SKETCH_ROWS + r;

    return p->filled[at] && p->rows[r].seen > 2 &&
           1 - p->cells[at * TXD_SKETCH_KEYS] > fmax(10 * p->same, same);
}

/* What the heads that look on give to each key of a row on average. */
static void average(double usual[TXD_SKETCH_KEYS], const txd_head_pairs *p, size_t r,
                    double same)
{
    double heads = 0;

    memset(usual, 0, TXD_SKETCH_KEYS * sizeof *usual);
    for (size_t h = 0; h < p->heads; h++) {
        const double *a = p->cells + (h * TXD_SKETCH_ROWS + r) * TXD_SKETCH_KEYS;

        if (!looks_on(p, r, h, same) || is_empty(a, p->rows[r].count))
            continue;
        heads++;
        for (size_t i = 1; i < p->rows[r].count; i++)
            usual[i] += a[i] / (1 - a[0]);
    }
    for (size_t i = 1; i < p->rows[r].count && heads > 0; i++)
        usual[i] /= heads;
}

/* A row in which a head gives weight to nothing is no map. */
static head_row head_row_of(const txd_head_pairs *p, size_t r, size_t head, double same)
{
    size_t at = head * TXD_SKETCH_ROWS + r, count = p->rows[r].count;
    head_row row = {.cells = p->cells + at * TXD_SKETCH_KEYS};

    row.is_there = p->filled[at] && !is_empty(row.cells, count);
    row.is_flat = is_flat(row.cells, count, same);
    row.looks_on = looks_on(p, r, head, same);
    return row;
}

static void compare_row(txd_head_pairs *p, size_t r, double same)
{
    head_row heads[TXD_SKETCH_HEADS], two[2];
    txd_head_pair *pair = &p->pairs[(size_t)p->part * p->per_layer];
    double usual[TXD_SKETCH_KEYS];

    average(usual, p, r, same);
    for (size_t h = 0; h < p->heads; h++)
        heads[h] = head_row_of(p, r, h, same);
    for (size_t a = 0; a < p->heads; a++)
        for (size_t b = a + 1; b < p->heads; b++, pair++) {
            two[0] = heads[a];
            two[1] = heads[b];
            if (!two[0].is_there || !two[1].is_there)
                continue;
            compare_cells(pair, two, &p->rows[r], same);
            if (two[0].looks_on && two[1].looks_on &&
                !(two[0].is_flat && two[1].is_flat))
                liken_cells(pair, two[0].cells, two[1].cells, &p->rows[r], usual);
        }
}

static void compare_part(txd_head_pairs *p, double u_store)
{
    for (size_t r = 0; r < p->row_count; r++)
        compare_row(p, r, fmax(p->same, 16 * u_store));
}

void txd_head_pairs_add_weights(txd_head_pairs *p, const txd_block *block)
{
    int part = (int)txd_law_part(block->site);

    if (p->step != block->site->step || p->part != part)
        choose_rows(p, block);
    if (block->value.data)
        keep_rows(p, block);
    if (block->last) {
        compare_part(p, block->pass->u_store);
        p->part = -1;
    }
}

/* A hundredth of the cells may be farther apart than rounding of weights: scores in
 * which large products cancel are. */
bool txd_head_pair_is_one(const txd_head_pair *pair)
{
    return txd_head_pair_tells(pair) && pair->different <= pair->telling / 100;
}

bool txd_head_pair_tells(const txd_head_pair *pair)
{
    return pair->telling >= TXD_PAIR_CELLS;
}

double txd_head_pair_cosine(const txd_head_pair *pair, const txd_likeness *likeness)
{
    double size = sqrt(likeness->aa) * sqrt(likeness->bb);

    return size == 0 || pair->likened < TXD_LIKENESS_CELLS ? 0 : likeness->ab / size;
}
