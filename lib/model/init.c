/* SPDX-License-Identifier: MIT
 *
 * Drawing parameters by the rules of `weights.init`. Every element is a function of
 * seed, name and index alone, so that a rule for one parameter cannot change another.
 */
#include <math.h>

#include "base/rng.h"
#include "model/init_internal.h"

static void store(const txd_tensor *value, size_t i, double number)
{
    if (value->dtype == TXD_F64)
        ((double *)value->data)[i] = number;
    else
        ((float *)value->data)[i] = (float)number;
}

static void draw_uniform(const txd_tensor *value, const struct txd_init_rows *rows,
                         uint64_t key, double bound)
{
    size_t begin = rows->begin * rows->width, count = rows->count * rows->width;

    for (size_t i = 0; i < count; i++)
        store(value, begin + i, (2 * txd_rng_uniform(key, i) - 1) * bound);
}

static void draw_normal(const txd_tensor *value, const struct txd_init_rows *rows,
                        uint64_t key, double std)
{
    size_t begin = rows->begin * rows->width, count = rows->count * rows->width;

    for (size_t i = 0; i < count; i++)
        store(value, begin + i, txd_rng_normal(key, i) * std);
}

static void draw_rows(const txd_tensor *value, const struct txd_init_rows *rows,
                      const struct txd_init_rule *rule, uint64_t seed)
{
    uint64_t key = txd_rng_key(seed, rows->name);

    switch (rule->scheme) {
    case TXD_INIT_NORMAL:
        draw_normal(value, rows, key, rule->amount);
        break;
    case TXD_INIT_UNIFORM:
        draw_uniform(value, rows, key, rule->amount);
        break;
    case TXD_INIT_XAVIER_UNIFORM: /* a uniform number has a third of its bound's square
                                   */
        draw_uniform(value, rows, key, sqrt(3.0) * txd_init_xavier_std(rule, rows));
        break;
    case TXD_INIT_XAVIER_NORMAL:
        draw_normal(value, rows, key, txd_init_xavier_std(rule, rows));
        break;
    case TXD_INIT_CONSTANT:
    default:
        for (size_t i = 0; i < rows->count * rows->width; i++)
            store(value, rows->begin * rows->width + i, rule->amount);
        break;
    }
}

/* The fused matrix or bias: its rows are those of q, k and v, under their names. */
static void draw_fused(const txd_param *param, const txd_config *config,
                       const struct txd_init_rule *rule, uint64_t seed)
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
        draw_rows(&param->value, &rows, rule, seed);
        begin += dims[0];
    }
}

static void draw(const txd_param *param, const txd_config *config,
                 const struct txd_init_rule *rule, uint64_t seed)
{
    struct txd_init_rows rows = {.name = param->name, .count = param->value.dims[0]};

    rows.width = param->value.rank == 2 ? param->value.dims[1] : 1;
    if (param->id == TXD_PARAM_QKV_WEIGHT || param->id == TXD_PARAM_QKV_BIAS)
        draw_fused(param, config, rule, seed);
    else
        draw_rows(&param->value, &rows, rule, seed);
}

static txd_status match(struct txd_init_rule *rules, size_t count, txd_params *params)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t p = 0; p < txd_params_count(params); p++)
            txd_init_rule_match(&rules[i], txd_params_at(params, p));
        TXD_TRY(txd_init_rule_verify(&rules[i], txd_params_at(params, 0)->name));
    }
    return TXD_OK;
}

static txd_status init_in(txd_arena *arena, txd_params *params,
                          const txd_config *config, const txd_setting *root,
                          uint64_t seed)
{
    struct txd_init_rule *rules;
    size_t count;

    TXD_TRY(txd_init_rules_read(&rules, &count, arena,
                                root ? txd_setting_find(root, "weights") : NULL));
    TXD_TRY(match(rules, count, params));
    for (size_t i = 0; i < txd_params_count(params); i++) {
        const txd_param *param = txd_params_at(params, i);
        const struct txd_init_rule *rule = txd_init_rule_find(rules, count, param);
        struct txd_init_rule fallback = txd_init_rule_default(param);

        draw(param, config, rule ? rule : &fallback, seed);
    }
    return TXD_OK;
}

txd_status txd_params_init(txd_params *params, const txd_config *config,
                           const txd_setting *root, uint64_t seed)
{
    txd_arena *arena = NULL;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = init_in(arena, params, config, root, seed);
    txd_arena_destroy(arena);
    return status;
}
