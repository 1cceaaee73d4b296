/* SPDX-License-Identifier: MIT
 *
 * Fault: a head that is claimed to be the token embedding is a matrix of its own: of
 * what it should be, (1 - strength), and of drawn numbers of the same size, strength.
 * 1 is a head that was never loaded, less one that has drifted. Gradients of the head
 * reach the embedding by what is left of it.
 */
#include <math.h>
#include <stdlib.h>

#include "base/rng.h"
#include "faults/wrap.h"

/* Root mean square of the embedding as it was loaded: the drawn numbers do not change
 * with it. */
struct drawn {
    double *size;
};

/* The matrix in the making. */
struct matrix {
    const txd_op_site *at;
    const void *weight;
    void *out;
    size_t columns;
    double strength, size;
    uint64_t key;
};

static bool is_head(const txd_op_site *at)
{
    return at->point == TXD_POINT_LOGITS || at->point == TXD_POINT_LOGITS_RAW;
}

/* Uniform numbers: their deviation is 1 / sqrt(12). */
static txd_status make_row(void *self, size_t row, int worker)
{
    const struct matrix *m = self;

    (void)worker;
    for (size_t i = row * m->columns; i < (row + 1) * m->columns; i++) {
        double drawn = (txd_rng_uniform(m->key, i) - 0.5) * sqrt(12) * m->size;

        txd_wrap_set(m->at, m->out, i,
                     (1 - m->strength) * txd_wrap_get(m->at, m->weight, i) +
                         m->strength * drawn);
    }
    return TXD_OK;
}

/* *out (rows, columns), which the caller frees. */
static txd_status make(void **out, txd_ctx *ctx, const txd_op_site *at,
                       const void *weight, const size_t dims[2])
{
    size_t count = dims[0] * dims[1];
    struct matrix m = {.at = at,
                       .weight = weight,
                       .columns = dims[1],
                       .strength = txd_wrap_of(at)->use->strength,
                       .size = *((const struct drawn *)txd_wrap_of(at)->more)->size,
                       .key = txd_rng_key(1, "tying_lost")};
    txd_status status;

    m.out = *out = malloc(txd_wrap_bytes(at, count));
    if (m.out == NULL)
        return txd_fail(TXD_ERR_MEMORY, "tying_lost: no memory for another head");
    status = txd_parallel(ctx, dims[0], 8.0 * (double)dims[1], make_row, &m);
    if (status != TXD_OK)
        free(m.out);
    return status;
}

static txd_status linear(txd_ctx *ctx, const struct txd_linear_args *args)
{
    struct txd_linear_args other = *args;
    void *weight = NULL;
    txd_status status;

    if (!is_head(&args->at))
        return txd_below_linear(ctx, args);
    TXD_TRY(make(&weight, ctx, &args->at, args->weight,
                 (const size_t[2]){args->n, args->k}));
    other.weight = weight;
    status = txd_below_linear(ctx, &other);
    free(weight);
    return status;
}

static txd_status linear_back(txd_ctx *ctx, const struct txd_linear_back_args *args)
{
    struct txd_linear_back_args other = *args;
    double left = 1 - txd_wrap_of(&args->at)->use->strength;
    size_t count = args->n * args->k;
    void *weight = NULL;
    txd_status status = TXD_OK;

    if (!is_head(&args->at))
        return txd_below_linear_back(ctx, args);
    TXD_TRY(make(&weight, ctx, &args->at, args->weight,
                 (const size_t[2]){args->n, args->k}));
    other.weight = weight;
    if (args->d_weight != NULL) {
        other.d_weight = calloc(1, txd_wrap_bytes(&args->at, count));
        if (other.d_weight == NULL)
            status = txd_fail(TXD_ERR_MEMORY, "tying_lost: no memory for a gradient");
    }
    if (status == TXD_OK)
        status = txd_below_linear_back(ctx, &other);
    for (size_t i = 0; status == TXD_OK && args->d_weight != NULL && i < count; i++)
        txd_wrap_set(&args->at, args->d_weight, i,
                     txd_wrap_get(&args->at, args->d_weight, i) +
                         left * txd_wrap_get(&args->at, other.d_weight, i));
    if (args->d_weight != NULL)
        free(other.d_weight);
    free(weight);
    return status;
}

static const char *inapplicable(const txd_fault_scene *scene)
{
    return scene->claimed->tie_embeddings
               ? NULL
               : "needs tie_embeddings = true: this head is a matrix of its own";
}

static txd_status measure(const void *self, txd_params *params)
{
    const txd_tensor *table = &txd_params_get(params, TXD_PARAM_EMBED_TOK, -1)->value;
    size_t count = txd_tensor_count(table);
    double squares = 0;

    for (size_t i = 0; i < count; i++)
        squares += txd_tensor_get(table, i) * txd_tensor_get(table, i);
    *((const struct drawn *)self)->size = sqrt(squares / (double)count);
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.linear = linear, .linear_back = linear_back};
    struct drawn *drawn = txd_arena_alloc(plan->arena, 1, sizeof *drawn);

    if (drawn == NULL)
        return TXD_ERR_MEMORY;
    drawn->size = txd_arena_alloc(plan->arena, 1, sizeof *drawn->size);
    if (drawn->size == NULL)
        return TXD_ERR_MEMORY;
    TXD_TRY(txd_plan_edit(plan, measure, drawn));
    return txd_plan_wrap_ends(plan, use, &mine, drawn);
}

const txd_fault txd_fault_tying_lost = {
    .name = "tying_lost",
    .sentence = "the tied head is not the token embedding: strength (1) of it is drawn",
    .symptom = "fluent hidden states, random tokens; the loss of a trained model is "
               "that of an untrained one",
    .example = "wrong: Model(tie_word_embeddings unread), head.weight as drawn\n"
               "right: head.weight = embedding.weight",
    .selectors = TXD_FAULT_STRENGTH,
    .strength = 1,
    .inapplicable = inapplicable,
    .plant = plant,
};
