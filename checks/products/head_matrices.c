/* SPDX-License-Identifier: MIT
 *
 * The rows of the query and key matrices of two heads, with biases: equal or not.
 */
#include "checks/products/head_pairs.h"

#include <string.h>

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
