/* SPDX-License-Identifier: MIT
 *
 * Drawing parameters by the rules of `weights.init`. Every element is a function of
 * seed, name and index alone, so that a rule for one parameter cannot change another.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "model/init_internal.h"
#include "ops/ops.h"

/* Elements that one task draws, and about how many operations one takes. */
#define CHUNK 8192
#define OPERATIONS 150.0

static void store(const txd_tensor *value, size_t i, double number)
{
    if (value->dtype == TXD_F64)
        ((double *)value->data)[i] = number;
    else
        ((float *)value->data)[i] = (float)number;
}

/* A run of elements that are drawn alike. */
struct drawing {
    const txd_tensor *value;
    size_t begin, count;
    enum { CONSTANT, UNIFORM, NORMAL } kind;
    uint64_t key;
    double amount; /* the constant; the bound; the standard deviation */
};

static double number_at(const struct drawing *d, size_t i)
{
    switch (d->kind) {
    case UNIFORM:
        return (2 * txd_rng_uniform(d->key, i) - 1) * d->amount;
    case NORMAL:
        return txd_rng_normal(d->key, i) * d->amount;
    case CONSTANT:
    default:
        return d->amount;
    }
}

static txd_status draw_chunk(void *self, size_t chunk, int worker)
{
    const struct drawing *d = self;
    size_t begin = chunk * CHUNK, left = d->count - begin;
    size_t end = begin + (left < CHUNK ? left : CHUNK);

    (void)worker;
    for (size_t i = begin; i < end; i++)
        store(d->value, d->begin + i, number_at(d, i));
    return TXD_OK;
}

static txd_status draw_rows(txd_ctx *ctx, const txd_tensor *value,
                            const struct txd_init_rows *rows,
                            const struct txd_init_rule *rule, uint64_t seed)
{
    struct drawing d = {.value = value,
                        .begin = rows->begin * rows->width,
                        .count = rows->count * rows->width,
                        .key = txd_rng_key(seed, rows->name),
                        .amount = rule->amount};

    switch (rule->scheme) {
    case TXD_INIT_NORMAL:
        d.kind = NORMAL;
        break;
    case TXD_INIT_UNIFORM:
        d.kind = UNIFORM;
        break;
    case TXD_INIT_XAVIER_UNIFORM: /* a uniform number has a third of its bound's square
                                   */
        d.kind = UNIFORM;
        d.amount = sqrt(3.0) * txd_init_xavier_std(rule, rows);
        break;
    case TXD_INIT_XAVIER_NORMAL:
        d.kind = NORMAL;
        d.amount = txd_init_xavier_std(rule, rows);
        break;
    case TXD_INIT_CONSTANT:
    default:
        d.kind = CONSTANT;
        break;
    }
    return txd_parallel(ctx, (d.count + CHUNK - 1) / CHUNK, OPERATIONS * CHUNK,
                        draw_chunk, &d);
}

/* The fused matrix or bias: its rows are those of q, k and v, under their names. */
static txd_status draw_fused(txd_ctx *ctx, const txd_param *param,
                             const txd_config *config, const struct txd_init_rule *rule,
                             uint64_t seed)
{
    static const txd_param_id weights[] = {TXD_PARAM_Q_WEIGHT, TXD_PARAM_K_WEIGHT,
                                           TXD_PARAM_V_WEIGHT};
    static const txd_param_id biases[] = {TXD_PARAM_Q_BIAS, TXD_PARAM_K_BIAS,
                                          TXD_PARAM_V_BIAS};
    const txd_param_id *ids = param->value.rank == 2 ? weights : biases;
    size_t begin = 0, dims[TXD_MAX_RANK];

    for (int i = 0; i < 3; i++) {
        int rank = txd_param_dims(dims, config, ids[i]);
        char name[80];
        struct txd_init_rows rows = {.begin = begin, .count = dims[0]};
        bool encoder = param->encoder_layer >= 0;

        rows.width = rank == 2 ? dims[1] : 1;
        rows.name =
            txd_param_name_in(name, sizeof name, encoder ? config->encoder : config,
                              ids[i], encoder ? param->encoder_layer : param->layer);
        TXD_TRY(draw_rows(ctx, &param->value, &rows, rule, seed));
        begin += dims[0];
    }
    return TXD_OK;
}

static txd_status draw(txd_ctx *ctx, const txd_param *param, const txd_config *config,
                       const struct txd_init_rule *rule, uint64_t seed)
{
    struct txd_init_rows rows = {.name = param->name, .count = param->value.dims[0]};

    rows.width = param->value.rank == 2 ? param->value.dims[1] : 1;
    if (param->id == TXD_PARAM_QKV_WEIGHT || param->id == TXD_PARAM_QKV_BIAS)
        return draw_fused(ctx, param, config, rule, seed);
    return draw_rows(ctx, &param->value, &rows, rule, seed);
}

/* The names of all parameters, those of the layers once, as globs would be. */
static void list_names(char *text, size_t bytes, txd_params *params)
{
    size_t used = 0;

    *text = '\0';
    for (size_t p = 0; p < txd_params_count(params) && used < bytes; p++) {
        const char *name = txd_params_at(params, p)->name;
        const char *layer = strstr(name, "layers.");
        const char *rest = layer ? layer + strlen("layers.") : NULL;

        if (rest && strncmp(rest, "0.", 2) != 0)
            continue;
        used +=
            (size_t)snprintf(text + used, bytes - used, "%s%.*s%s%s", used ? ", " : "",
                             (int)(rest ? rest - name : (long)strlen(name)), name,
                             rest ? "*" : "", rest ? rest + 1 : "");
    }
}

static txd_status match(struct txd_init_rule *rules, size_t count, txd_params *params)
{
    char names[1200];

    list_names(names, sizeof names, params);
    for (size_t i = 0; i < count; i++) {
        for (size_t p = 0; p < txd_params_count(params); p++)
            txd_init_rule_match(&rules[i], txd_params_at(params, p));
        TXD_TRY(txd_init_rule_verify(&rules[i], names));
    }
    return TXD_OK;
}

struct init_job {
    txd_params *params;
    const txd_config *config;
    const txd_setting *root;
    uint64_t seed;
    txd_ctx ctx;
};

static txd_status init_in(txd_arena *arena, struct init_job *job)
{
    struct txd_init_rule *rules;
    const txd_setting *weights =
        job->root ? txd_setting_find(job->root, "weights") : NULL;
    size_t count;

    TXD_TRY(txd_init_rules_read(&rules, &count, arena, weights));
    TXD_TRY(match(rules, count, job->params));
    for (size_t i = 0; i < txd_params_count(job->params); i++) {
        const txd_param *param = txd_params_at(job->params, i);
        const struct txd_init_rule *rule = txd_init_rule_find(rules, count, param);
        struct txd_init_rule fallback = txd_init_rule_default(job->config, param);

        TXD_TRY(
            draw(&job->ctx, param, job->config, rule ? rule : &fallback, job->seed));
    }
    return TXD_OK;
}

txd_status txd_params_init(txd_params *params, const txd_config *config,
                           const txd_setting *root, uint64_t seed, int threads)
{
    struct init_job job = {params, config, root, seed, {txd_threads_of(threads)}};
    txd_arena *arena = NULL;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = init_in(arena, &job);
    txd_arena_destroy(arena);
    return status;
}
