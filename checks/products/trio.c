/* SPDX-License-Identifier: MIT
 *
 * Sums of products: of matrices as they are offered, of values at some tokens. Values
 * are taken around their means over tokens where there are biases, for one matrix with
 * two biases gives values that differ by a constant.
 */
#include "checks/sample.h"
#include "checks/products/trio.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Elements of a value that are compared per step; tokens at least. */
#define ELEMENTS_COMPARED 8192
#define TOKENS_LEAST 32

const txd_role txd_trio_pairs[TXD_TRIO_PAIRS][2] = {
    {TXD_ROLE_Q, TXD_ROLE_K}, {TXD_ROLE_Q, TXD_ROLE_V}, {TXD_ROLE_K, TXD_ROLE_V}};

static size_t width_of(const txd_trio *trio, int role)
{
    return role == TXD_ROLE_V ? trio->claimed->value_dim : trio->claimed->head_dim;
}

static size_t place_of(const txd_trio *trio, size_t part, size_t group, size_t pair)
{
    return (part * trio->groups + group) * TXD_TRIO_PAIRS + pair;
}

txd_status txd_trio_init(txd_trio *trio, const txd_config *claimed)
{
    size_t parts = 2 * claimed->n_layers, all = parts * claimed->n_kv_heads;

    *trio = (txd_trio){.claimed = claimed, .groups = claimed->n_kv_heads};
    trio->share = claimed->n_heads / claimed->n_kv_heads;
    trio->pair_count = claimed->head_dim == claimed->value_dim ? TXD_TRIO_PAIRS : 1;
    trio->width =
        claimed->head_dim > claimed->value_dim ? claimed->head_dim : claimed->value_dim;
    trio->parameters = calloc(all * TXD_TRIO_PAIRS, sizeof *trio->parameters);
    trio->values = calloc(all * TXD_TRIO_PAIRS, sizeof *trio->values);
    trio->lanes = calloc(all * TXD_ROLE_COUNT * trio->width, sizeof *trio->lanes);
    trio->tokens = calloc(parts, sizeof *trio->tokens);
    trio->heads = calloc(TXD_ROLE_COUNT * trio->width, sizeof *trio->heads);
    if (trio->parameters && trio->values && trio->lanes && trio->tokens && trio->heads)
        return TXD_OK;
    txd_trio_finish(trio);
    return txd_fail(TXD_ERR_MEMORY, "qkv_distinct: no memory");
}

void txd_trio_finish(txd_trio *trio)
{
    for (int role = 0; role < TXD_ROLE_COUNT; role++)
        free(trio->copies[role].data);
    free(trio->parameters);
    free(trio->values);
    free(trio->lanes);
    free(trio->tokens);
    free(trio->heads);
    *trio = (txd_trio){0};
}

static void add(txd_trio_sums *to, const double *x, const double *y, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        to->xx += x[i] * x[i];
        to->yy += y[i] * y[i];
        to->xy += x[i] * y[i];
    }
    to->is_judged = true;
}

/* ---- parameters: those of a layer come one after the other ---- */

static const txd_param_id matrices[2][TXD_ROLE_COUNT] = {
    {TXD_PARAM_Q_WEIGHT, TXD_PARAM_K_WEIGHT, TXD_PARAM_V_WEIGHT},
    {TXD_PARAM_CROSS_Q_WEIGHT, TXD_PARAM_CROSS_K_WEIGHT, TXD_PARAM_CROSS_V_WEIGHT}};

bool txd_trio_wants(const txd_site *parameter)
{
    txd_param_id id = txd_law_param(parameter->name, parameter->layer);
    bool is_wanted = id == TXD_PARAM_QKV_WEIGHT;

    for (int i = 0; i < 2 * TXD_ROLE_COUNT; i++)
        is_wanted |= id == matrices[i / TXD_ROLE_COUNT][i % TXD_ROLE_COUNT];
    return is_wanted;
}

/* Room for a copy; what it held is lost. */
static txd_status reserve(txd_trio *trio, int role, size_t bytes)
{
    txd_tensor *copy = &trio->copies[role];
    void *fresh;

    if (bytes <= trio->room[role])
        return TXD_OK;
    fresh = malloc(bytes);
    if (!fresh)
        return txd_fail(TXD_ERR_MEMORY, "qkv_distinct: no memory");
    free(copy->data);
    copy->data = fresh;
    trio->room[role] = bytes;
    return TXD_OK;
}

/* The rows of each KV head; of the queries, those of its group's first head. */
static txd_status copy(txd_trio *trio, int role, const txd_tensor *weight, size_t first)
{
    size_t columns = trio->claimed->d_model, head = width_of(trio, role) * columns;
    size_t step = role == TXD_ROLE_Q ? trio->share : 1, all = trio->groups * head;
    txd_dtype dtype = weight->dtype == TXD_F32 ? TXD_F32 : TXD_F64;
    size_t bytes = txd_dtype_bytes(dtype);
    txd_tensor *copy = &trio->copies[role];

    TXD_TRY(reserve(trio, role, all * bytes));
    *copy = txd_tensor_make(dtype, copy->data, 1, &all);
    for (size_t g = 0; g < trio->groups; g++) {
        size_t from = first * columns + g * step * head;
        char *to = (char *)copy->data + g * head * bytes;

        if (dtype == TXD_F32)
            memcpy(to, (const float *)weight->data + from, head * bytes);
        else
            txd_kept_read((double *)(void *)to, weight, from, head);
    }
    trio->has[role] = true;
    return TXD_OK;
}

/* False for a few numbers that are finite and not the same. */
static bool tell(const txd_tensor *x, const txd_tensor *y, size_t first, size_t count)
{
    bool are_equal = true;

    for (size_t i = first; i < first + count && count < TXD_TRIO_ELEMENTS; i++) {
        double a = txd_tensor_get(x, i), b = txd_tensor_get(y, i);

        if (!isfinite(a) || !isfinite(b))
            return true;
        are_equal = are_equal && a == b;
    }
    return are_equal;
}

static void add_matrices(txd_trio_sums *to, const txd_tensor *x, const txd_tensor *y,
                         size_t first, size_t count)
{
    const txd_kernels *k = txd_kernels_here();

    to->is_judged = true;
    if (x->dtype == TXD_F32 && y->dtype == TXD_F32) {
        const float *a = (const float *)x->data + first;
        const float *b = (const float *)y->data + first;

        to->xx = k->squares(a, count);
        to->yy = k->squares(b, count);
        to->xy = k->products(a, b, count).sum;
        return;
    }
    for (size_t i = first; i < first + count; i++) {
        const double a = txd_tensor_get(x, i), b = txd_tensor_get(y, i);

        add(to, &a, &b, 1);
    }
}

static void compare_copies(txd_trio *trio, size_t part)
{
    for (size_t g = 0; g < trio->groups; g++)
        for (size_t p = 0; p < trio->pair_count; p++) {
            const txd_role *roles = txd_trio_pairs[p];
            size_t head = width_of(trio, roles[0]) * trio->claimed->d_model;
            txd_trio_sums *to = &trio->parameters[place_of(trio, part, g, p)];

            const txd_tensor *x = &trio->copies[roles[0]];
            const txd_tensor *y = &trio->copies[roles[1]];

            *to = (txd_trio_sums){0};
            if (tell(x, y, g * head, head))
                add_matrices(to, x, y, g * head, head);
        }
}

static txd_status copy_parameter(txd_trio *trio, txd_attention_kind *kind,
                                 const txd_block *block)
{
    const txd_config *c = trio->claimed;
    size_t q_rows = c->n_heads * c->head_dim, k_rows = trio->groups * c->head_dim;
    const size_t first[TXD_ROLE_COUNT] = {0, q_rows, q_rows + k_rows};
    txd_param_id id = txd_law_param(block->site->name, block->site->layer);
    bool fused = id == TXD_PARAM_QKV_WEIGHT;

    for (int i = 0; i < 2 * TXD_ROLE_COUNT; i++) {
        int role = i % TXD_ROLE_COUNT, of = i / TXD_ROLE_COUNT;

        if (fused ? of == 0 : id == matrices[of][role]) {
            TXD_TRY(copy(trio, role, &block->value, fused ? first[role] : 0));
            *kind = (txd_attention_kind)of;
        }
    }
    return TXD_OK;
}

txd_status txd_trio_add_parameter(txd_trio *trio, const txd_block *block)
{
    txd_attention_kind kind = TXD_ATTENTION_SELF;

    if (!block->value.data)
        return TXD_OK;
    TXD_TRY(copy_parameter(trio, &kind, block));
    if (!trio->has[TXD_ROLE_Q] || !trio->has[TXD_ROLE_K] || !trio->has[TXD_ROLE_V])
        return TXD_OK;
    compare_copies(trio, 2 * (size_t)block->site->layer + kind);
    memset(trio->has, 0, sizeof trio->has);
    return TXD_OK;
}

/* ---- values ---- */

/* Head `head` of one token. */
static void read_lanes(double *out, const txd_tensor *value, size_t batch, size_t head,
                       size_t token)
{
    size_t width = value->dims[3];
    size_t row = (batch * value->dims[1] + head) * value->dims[2] + token;

    txd_kept_read(out, value, row * width, width);
}

/* What the values of one part have in common. */
typedef struct job {
    txd_tensor values[TXD_ROLE_COUNT];
    size_t part;
    bool is_cross;
} job;

static void add_token(txd_trio *trio, const job *j, const size_t at[2])
{
    size_t width = trio->width;

    for (size_t g = 0; g < trio->groups; g++) {
        double *sums =
            trio->lanes + (j->part * trio->groups + g) * TXD_ROLE_COUNT * width;

        for (int role = j->is_cross ? TXD_ROLE_K : 0; role < TXD_ROLE_COUNT; role++) {
            double *head = trio->heads + (size_t)role * width;

            read_lanes(head, &j->values[role], at[0],
                       role == TXD_ROLE_Q ? g * trio->share : g, at[1]);
            for (size_t e = 0; e < width_of(trio, role); e++)
                sums[(size_t)role * width + e] += head[e];
        }
        for (size_t p = 0; p < trio->pair_count; p++)
            if (!j->is_cross || txd_trio_pairs[p][0] != TXD_ROLE_Q)
                add(&trio->values[place_of(trio, j->part, g, p)],
                    trio->heads + (size_t)txd_trio_pairs[p][0] * width,
                    trio->heads + (size_t)txd_trio_pairs[p][1] * width,
                    width_of(trio, txd_trio_pairs[p][0]));
    }
    trio->tokens[j->part]++;
}

static void add_tokens(txd_trio *trio, const job *j, const txd_inputs *inputs)
{
    const int32_t *valid = j->is_cross ? inputs->memory_valid : inputs->valid;
    size_t length = j->is_cross ? inputs->memory_length : inputs->length;

    size_t wanted =
        txd_picks_wanted(ELEMENTS_COMPARED, trio->groups * trio->width, TOKENS_LEAST);
    txd_picks picks = txd_picks_of(valid, inputs->batch * length, wanted);
    size_t i;

    while (txd_picks_next(&i, &picks)) {
        const size_t at[2] = {i / length, i % length};

        add_token(trio, j, at);
    }
}

txd_status txd_trio_add_values(txd_trio *trio, const txd_block *block)
{
    txd_attention_kind kind = txd_point_attention(block->site->point);
    job j = {.values = {[TXD_ROLE_V] = block->value},
             .part = txd_law_part(block->site),
             .is_cross = kind == TXD_ATTENTION_CROSS};

    if (!block->value.data || trio->claimed->head_dim < TXD_TRIO_LANES)
        return TXD_OK;
    TXD_TRY(txd_block_earlier(&j.values[TXD_ROLE_Q], block,
                              txd_point_in(kind, TXD_POINT_ATTN_Q_PROJ)));
    TXD_TRY(txd_block_earlier(&j.values[TXD_ROLE_K], block,
                              txd_point_in(kind, TXD_POINT_ATTN_K_PROJ)));
    add_tokens(trio, &j, block->pass->inputs);
    return TXD_OK;
}

/* Around their means, if there are biases; what is left of equal tokens is rounding. */
static txd_trio_sums centred(const txd_trio *trio, size_t part, size_t group,
                             size_t pair)
{
    txd_trio_sums all = trio->values[place_of(trio, part, group, pair)];
    double n = (double)trio->tokens[part], xx = all.xx, yy = all.yy;
    size_t first = (part * trio->groups + group) * TXD_ROLE_COUNT;
    const txd_role *roles = txd_trio_pairs[pair];
    const double *x = trio->lanes + (first + roles[0]) * trio->width;
    const double *y = trio->lanes + (first + roles[1]) * trio->width;

    if (xx == 0 && yy == 0)
        all.is_judged = false;
    if (!all.is_judged || !trio->claimed->qkv_bias)
        return all;
    for (size_t e = 0; e < width_of(trio, roles[0]); e++) {
        all.xx -= x[e] * x[e] / n;
        all.yy -= y[e] * y[e] / n;
        all.xy -= x[e] * y[e] / n;
    }
    all.is_judged =
        trio->tokens[part] > 1 && !(all.xx <= 1e-9 * xx) && !(all.yy <= 1e-9 * yy);
    return all;
}

/* Two matrices of zeros are one. */
static double cosine(const txd_trio_sums *of)
{
    if (of->xx == 0 && of->yy == 0)
        return 1;
    if (of->xx == 0 || of->yy == 0)
        return 0;
    return fabs(of->xy) / (sqrt(of->xx) * sqrt(of->yy));
}

bool txd_trio_cosine(double *out, const txd_trio *trio, size_t part, size_t group,
                     size_t pair)
{
    const txd_trio_sums both[2] = {trio->parameters[place_of(trio, part, group, pair)],
                                   centred(trio, part, group, pair)};
    bool is_judged = false;

    for (int i = 0; i < 2; i++) {
        double now = cosine(&both[i]);

        if (!both[i].is_judged)
            continue;
        if (!is_judged || txd_law_is_worse(now, *out))
            *out = now;
        is_judged = true;
    }
    return is_judged;
}
