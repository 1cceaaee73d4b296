/* SPDX-License-Identifier: MIT
 *
 * Two weights agree if they are within `same` of the larger one (more where a backend
 * stores fewer digits). A cell tells something if either weight is ten times farther
 * from equal weights than that, unless both are 0 or both 1: many heads saturate at
 * the same key without being one.
 */
#include "checks/head_pairs.h"
#include "checks/sinks.h"

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

static void compare_cells(txd_head_pair *pair, const double *a, const double *b,
                          const txd_sketch_row *row, double same)
{
    double equal = 1 / (double)row->seen;

    for (size_t i = 0; i < row->count; i++) {
        double larger = a[i] > b[i] ? a[i] : b[i], x = a[i] - equal, y = b[i] - equal;
        bool is_nothing = larger == 0;
        bool is_all = a[i] >= 1 - same && b[i] >= 1 - same;
        bool tells = !is_nothing && !is_all &&
                     (fabs(x) > 10 * same * equal || fabs(y) > 10 * same * equal);

        pair->is_not_finite |= !isfinite(a[i]) || !isfinite(b[i]);
        pair->telling += tells;
        pair->different += !(fabs(a[i] - b[i]) <= same * larger);
        pair->aa += x * x;
        pair->bb += y * y;
        pair->ab += x * y;
    }
}

/* A row in which a head gives weight to nothing is no map. */
static void compare_part(txd_head_pairs *p, double u_store)
{
    double same = fmax(p->same, 16 * u_store);

    for (size_t i = 0; i < p->per_layer; i++) {
        txd_head_pair *pair = &p->pairs[(size_t)p->part * p->per_layer + i];
        size_t heads[2];

        txd_head_pairs_at(p, p->part, i, heads);
        for (size_t r = 0; r < p->row_count; r++) {
            size_t at = heads[0] * TXD_SKETCH_ROWS + r;
            size_t other = heads[1] * TXD_SKETCH_ROWS + r;
            const double *a = p->cells + at * TXD_SKETCH_KEYS;
            const double *b = p->cells + other * TXD_SKETCH_KEYS;

            if (p->filled[at] && p->filled[other] && !is_empty(a, p->rows[r].count) &&
                !is_empty(b, p->rows[r].count))
                compare_cells(pair, a, b, &p->rows[r], same);
        }
    }
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

double txd_head_pair_cosine(const txd_head_pair *pair)
{
    double size = sqrt(pair->aa) * sqrt(pair->bb);

    return size == 0 ? 0 : pair->ab / size;
}

/* ---- parameters ---- */

enum { QUERIES = 1, KEYS = 2 };

/* Rows of queries and of keys in a parameter, and which matrices it is. */
typedef struct rows_of {
    txd_param_id id;
    txd_attention_kind kind;
    size_t first;
    unsigned matrix; /* 0 = a bias */
    bool of_keys;
} rows_of;

#define ROWS_OF 12

static void list_rows(rows_of out[ROWS_OF], const txd_config *c)
{
    const txd_attention_kind self = TXD_ATTENTION_SELF, cross = TXD_ATTENTION_CROSS;
    size_t keys = c->n_heads * c->head_dim; /* where they begin in a fused matrix */
    const rows_of all[ROWS_OF] = {
        {TXD_PARAM_Q_WEIGHT, self, 0, QUERIES, false},
        {TXD_PARAM_Q_BIAS, self, 0, 0, false},
        {TXD_PARAM_K_WEIGHT, self, 0, KEYS, true},
        {TXD_PARAM_K_BIAS, self, 0, 0, true},
        {TXD_PARAM_QKV_WEIGHT, self, 0, QUERIES, false},
        {TXD_PARAM_QKV_WEIGHT, self, keys, KEYS, true},
        {TXD_PARAM_QKV_BIAS, self, 0, 0, false},
        {TXD_PARAM_QKV_BIAS, self, keys, 0, true},
        {TXD_PARAM_CROSS_Q_WEIGHT, cross, 0, QUERIES, false},
        {TXD_PARAM_CROSS_Q_BIAS, cross, 0, 0, false},
        {TXD_PARAM_CROSS_K_WEIGHT, cross, 0, KEYS, true},
        {TXD_PARAM_CROSS_K_BIAS, cross, 0, 0, true},
    };

    memcpy(out, all, sizeof all);
}

bool txd_head_pairs_wants(const txd_head_pairs *p, const txd_site *parameter)
{
    txd_param_id id = txd_law_param(parameter->name, parameter->layer);
    rows_of rows[ROWS_OF];

    list_rows(rows, p->claimed);
    for (size_t i = 0; i < ROWS_OF; i++)
        if (id == rows[i].id)
            return true;
    return false;
}

static bool are_equal(const txd_tensor *value, size_t first, size_t second,
                      size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!(txd_tensor_get(value, first + i) == txd_tensor_get(value, second + i)))
            return false;
    return true;
}

static void compare_rows(txd_head_pairs *p, int layer, const txd_tensor *value,
                         const rows_of *rows)
{
    int part = 2 * layer + (int)rows->kind;
    const txd_config *c = p->claimed;
    size_t columns = value->rank > 1 ? value->dims[1] : 1;
    size_t head = c->head_dim * columns, share = c->n_heads / c->n_kv_heads;

    for (size_t i = 0; i < p->per_layer; i++) {
        size_t heads[2];

        txd_head_pairs_at(p, part, i, heads);
        if (rows->of_keys) {
            heads[0] /= share;
            heads[1] /= share;
        }
        if (heads[0] != heads[1] &&
            !are_equal(value, rows->first * columns + heads[0] * head,
                       rows->first * columns + heads[1] * head, head))
            p->pairs[(size_t)part * p->per_layer + i].has_other_rows = true;
    }
    p->matrices[part] |= rows->matrix;
}

void txd_head_pairs_add_parameter(txd_head_pairs *p, const txd_block *block)
{
    txd_param_id id = txd_law_param(block->site->name, block->site->layer);
    rows_of rows[ROWS_OF];

    list_rows(rows, p->claimed);
    for (size_t i = 0; i < ROWS_OF && block->value.data; i++)
        if (id == rows[i].id)
            compare_rows(p, block->site->layer, &block->value, &rows[i]);
}

bool txd_head_pairs_has_matrices(const txd_head_pairs *p, int part)
{
    return p->matrices[part] == (QUERIES | KEYS);
}
