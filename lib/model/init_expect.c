/* SPDX-License-Identifier: MIT
 *
 * What the rules of `weights.init` promise of each parameter: mean and standard
 * deviation of its elements, and how well a finite number of them can show these.
 */
#include <math.h>

#include "model/init_internal.h"

/* Variance of one element, and its fourth moment over the square of that. */
static double element_variance(double *kurtosis, const struct txd_init_rule *rule,
                               const struct txd_init_rows *rows)
{
    bool uniform =
        rule->scheme == TXD_INIT_UNIFORM || rule->scheme == TXD_INIT_XAVIER_UNIFORM;
    double std = rule->amount;

    *kurtosis = uniform ? 9.0 / 5 : 3;
    if (rule->scheme == TXD_INIT_UNIFORM)
        return std * std / 3;
    if (rule->scheme != TXD_INIT_NORMAL)
        std = txd_init_xavier_std(rule, rows);
    return std * std;
}

/* The variance that n elements show has the standard error sqrt((kurtosis - 1) / n)
 * relative to itself; the parts of a fused matrix may differ in theirs. */
static void expect_random(txd_params_draw *out, const struct txd_init_rule *rule,
                          const struct txd_init_rows *parts, size_t count)
{
    double elements = 0, variance = 0, error = 0;

    for (size_t i = 0; i < count; i++) {
        double n = (double)parts[i].count * (double)parts[i].width, kurtosis;
        double one = element_variance(&kurtosis, rule, &parts[i]);

        elements += n;
        variance += n * one;
        error += n * one * one * (kurtosis - 1);
    }
    variance /= elements;
    *out = (txd_params_draw){.std = sqrt(variance),
                             .mean_error = sqrt(variance / elements)};
    if (variance > 0)
        out->std_error = sqrt(error) / elements / (2 * out->std);
}

static struct txd_init_rows rows_of(const txd_config *config, txd_param_id id)
{
    size_t dims[TXD_MAX_RANK];
    int rank = txd_param_dims(dims, config, id);

    return (struct txd_init_rows){.count = dims[0], .width = rank == 2 ? dims[1] : 1};
}

/* `row` holds all parameters of one layer. */
static void expect(txd_params_draw *row, const txd_config *config,
                   const struct txd_init_rule *rule, txd_param_id id)
{
    static const txd_param_id fused[][3] = {
        {TXD_PARAM_Q_WEIGHT, TXD_PARAM_K_WEIGHT, TXD_PARAM_V_WEIGHT},
        {TXD_PARAM_Q_BIAS, TXD_PARAM_K_BIAS, TXD_PARAM_V_BIAS}};
    const txd_param_id *parts = id == TXD_PARAM_QKV_WEIGHT ? fused[0]
                                : id == TXD_PARAM_QKV_BIAS ? fused[1]
                                                           : NULL;
    struct txd_init_rows rows[3] = {rows_of(config, parts ? parts[0] : id)};
    size_t count = parts ? 3 : 1;

    for (size_t i = 1; i < count; i++)
        rows[i] = rows_of(config, parts[i]);
    for (size_t i = 0; i < count && parts; i++)
        if (txd_init_is_random(rule))
            expect_random(&row[parts[i]], rule, &rows[i], 1);
        else
            row[parts[i]] = (txd_params_draw){.mean = rule->amount};
    if (txd_init_is_random(rule))
        expect_random(&row[id], rule, rows, count);
    else
        row[id] = (txd_params_draw){.mean = rule->amount};
}

/* The parameter `id` of a layer as far as rules look at it. */
static bool describe(txd_param *out, char *name, size_t bytes, const txd_config *config,
                     int id, int layer)
{
    *out = (txd_param){.id = (txd_param_id)id, .layer = layer, .encoder_layer = -1};
    if (!txd_param_exists(config, out->id) ||
        txd_param_per_layer(out->id) != (layer >= 0))
        return false;
    out->name = txd_param_name_in(name, bytes, config, out->id, layer);
    out->value.rank = txd_param_dims(out->value.dims, config, out->id);
    return true;
}

/* Whether a rule matches a matrix decides about the vectors that it matches. */
static void match_all(struct txd_init_rule *rules, size_t count,
                      const txd_config *config)
{
    txd_param param;
    char name[80];

    for (int layer = -1; layer < (int)config->n_layers; layer++)
        for (int id = 0; id < TXD_PARAM_COUNT; id++)
            for (size_t i = 0;
                 i < count && describe(&param, name, sizeof name, config, id, layer);
                 i++)
                txd_init_rule_match(&rules[i], &param);
    if (config->encoder)
        match_all(rules, count, config->encoder);
}

static txd_status expect_all(txd_params_draw *out, txd_arena *arena,
                             const txd_config *config, const txd_setting *weights)
{
    int layers = (int)config->n_layers;
    struct txd_init_rule *rules;
    txd_param param;
    char name[80];
    size_t count;

    TXD_TRY(txd_init_rules_read(&rules, &count, arena, weights));
    match_all(rules, count, config);
    for (int layer = -1; layer < layers; layer++)
        for (int id = 0; id < TXD_PARAM_COUNT; id++) {
            const struct txd_init_rule *rule;
            struct txd_init_rule fallback;

            if (!describe(&param, name, sizeof name, config, id, layer))
                continue;
            rule = txd_init_rule_find(rules, count, &param);
            fallback = txd_init_rule_default(config, &param);
            expect(&out[(layer + 1) * TXD_PARAM_COUNT], config, rule ? rule : &fallback,
                   param.id);
        }
    return TXD_OK;
}

txd_status txd_params_expect(txd_params_draw *out, const txd_config *config,
                             const txd_setting *weights)
{
    txd_arena *arena = NULL;
    txd_status status;

    TXD_TRY(txd_arena_create(&arena));
    status = expect_all(out, arena, config, weights);
    txd_arena_destroy(arena);
    return status;
}
