/* SPDX-License-Identifier: MIT
 *
 * Drawing parameters: `weights.init`, a list of rules over globs of names. Every
 * element is a function of seed, name and index alone, so that a rule for one
 * parameter cannot change another.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/rng.h"
#include "base/select.h"
#include "model/params.h"

#define AMOUNT_MAX 1e30

enum scheme { NORMAL, UNIFORM, XAVIER_UNIFORM, XAVIER_NORMAL, CONSTANT, SCHEMES };

static const char *const scheme_words[SCHEMES] = {"normal", "uniform", "xavier_uniform",
                                                  "xavier_normal", "constant"};

/* The one number of each scheme. */
static const struct {
    const char *key;
    double low, fallback;
} amounts[SCHEMES] = {
    {"std", 0, 0.02}, {"bound", 0, 0.02},        {"gain", 0, 1},
    {"gain", 0, 1},   {"value", -AMOUNT_MAX, 0},
};

struct rule {
    const txd_setting *setting;
    const char *params;
    int scheme;
    double amount;
    bool matches, matches_matrix;
};

/* Consecutive rows of a parameter that are drawn as one matrix. */
struct rows {
    const char *name;
    size_t begin, count, width;
};

const txd_key txd_weights_keys[] = {
    {"weights.init[].params", "string", "required", "", "",
     "glob, or several with commas, over parameter names like "
     "layers.0.attn.qkv.weight; without a rule matrices are normal with std 0.02, "
     "gains "
     "1 and biases 0"},
    {"weights.init[].scheme", "normal|uniform|xavier_uniform|xavier_normal|constant",
     "required", "", "",
     "how to draw them; the last rule that matches wins, and random rules that match "
     "matrices leave gains and biases alone"},
    {"weights.init[].std", "real", "0.02", "", "0 to 1e30", "for normal"},
    {"weights.init[].bound", "real", "0.02", "", "0 to 1e30",
     "for uniform, which draws from -bound to bound"},
    {"weights.init[].gain", "real", "1.0", "", "0 to 1e30",
     "for Xavier: the variance is gain^2 * 2 / (fan_in + fan_out)"},
    {"weights.init[].value", "real", "0.0", "", "-1e30 to 1e30", "for constant"},
    {NULL, NULL, NULL, NULL, NULL, NULL},
};

static txd_status fail_rule(const txd_setting *setting, const char *text)
{
    char place[512];

    txd_setting_place(place, sizeof place, setting);
    return txd_fail(TXD_ERR_CONFIG, "%s: %s", place, text);
}

static bool is_random(const struct rule *rule)
{
    return rule->scheme != CONSTANT;
}

static bool is_xavier(int scheme)
{
    return scheme == XAVIER_UNIFORM || scheme == XAVIER_NORMAL;
}

/* Numbers of other schemes would be ignored: they are a mistake. */
static txd_status check_unused(const struct rule *rule)
{
    const char *used = amounts[rule->scheme].key;

    for (int i = 0; i < SCHEMES; i++) {
        const txd_setting *other = txd_setting_find(rule->setting, amounts[i].key);
        char place[512];

        if (!other || strcmp(amounts[i].key, used) == 0)
            continue;
        txd_setting_place(place, sizeof place, other);
        return txd_fail(TXD_ERR_CONFIG, "%s: scheme \"%s\" takes %s, not %s", place,
                        scheme_words[rule->scheme], used, amounts[i].key);
    }
    return TXD_OK;
}

static txd_status read_rule(struct rule *rule, const txd_setting *setting)
{
    rule->setting = setting;
    rule->scheme = SCHEMES;
    TXD_TRY(txd_setting_string(&rule->params, setting, "params"));
    TXD_TRY(
        txd_setting_choice(&rule->scheme, setting, "scheme", scheme_words, SCHEMES));
    if (!rule->params)
        return fail_rule(setting, "params is missing; say which, as in params = \"*\"");
    if (rule->scheme == SCHEMES)
        return fail_rule(setting, "scheme is missing; one of normal, uniform, "
                                  "xavier_uniform, xavier_normal, constant");
    rule->amount = amounts[rule->scheme].fallback;
    TXD_TRY(txd_setting_real(&rule->amount, setting, amounts[rule->scheme].key,
                             amounts[rule->scheme].low, AMOUNT_MAX));
    return check_unused(rule);
}

/* Which parameters the rule names; nothing, or Xavier for vectors, is an error. */
static txd_status match_rule(struct rule *rule, txd_params *params)
{
    char text[256];

    for (size_t i = 0; i < txd_params_count(params); i++) {
        const txd_param *param = txd_params_at(params, i);

        if (!txd_glob_list(rule->params, param->name))
            continue;
        rule->matches = true;
        rule->matches_matrix = rule->matches_matrix || param->value.rank == 2;
    }
    if (!rule->matches) {
        snprintf(text, sizeof text,
                 "\"%.150s\" matches no parameter of this model; names are like %s",
                 rule->params, txd_params_at(params, 0)->name);
        return fail_rule(rule->setting, text);
    }
    if (is_xavier(rule->scheme) && !rule->matches_matrix)
        return fail_rule(rule->setting, "Xavier needs matrices, but params matches "
                                        "gains and biases only; use normal or uniform");
    return TXD_OK;
}

static txd_status read_rules(struct rule **out, size_t *count, txd_arena *arena,
                             const txd_setting *root)
{
    const txd_setting *list = root ? txd_setting_find(root, "weights.init") : NULL;
    const txd_setting *element = list ? list->child : NULL;
    size_t n = list ? list->count : 0;
    struct rule *rules = txd_arena_alloc(arena, n, sizeof *rules);

    if (!rules)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; element; i++, element = element->next)
        TXD_TRY(read_rule(&rules[i], element));
    *out = rules;
    *count = n;
    return TXD_OK;
}

static const struct rule *find_rule(const struct rule *rules, size_t count,
                                    const txd_param *param)
{
    for (size_t i = count; i-- > 0;)
        if (txd_glob_list(rules[i].params, param->name) &&
            (param->value.rank == 2 || !is_random(&rules[i]) ||
             !rules[i].matches_matrix))
            return &rules[i];
    return NULL;
}

static struct rule default_rule(const txd_param *param)
{
    size_t length = strlen(param->name);
    bool bias = length > 5 && strcmp(param->name + length - 5, ".bias") == 0;

    if (param->value.rank == 2)
        return (struct rule){.scheme = NORMAL, .amount = amounts[NORMAL].fallback};
    return (struct rule){.scheme = CONSTANT, .amount = bias ? 0 : 1};
}

static void store(const txd_tensor *value, size_t i, double number)
{
    if (value->dtype == TXD_F64)
        ((double *)value->data)[i] = number;
    else
        ((float *)value->data)[i] = (float)number;
}

static double xavier_std(const struct rule *rule, const struct rows *rows)
{
    return rule->amount * sqrt(2.0 / ((double)rows->width + (double)rows->count));
}

static void draw_uniform(const txd_tensor *value, const struct rows *rows, uint64_t key,
                         double bound)
{
    size_t begin = rows->begin * rows->width, count = rows->count * rows->width;

    for (size_t i = 0; i < count; i++)
        store(value, begin + i, (2 * txd_rng_uniform(key, i) - 1) * bound);
}

static void draw_normal(const txd_tensor *value, const struct rows *rows, uint64_t key,
                        double std)
{
    size_t begin = rows->begin * rows->width, count = rows->count * rows->width;

    for (size_t i = 0; i < count; i++)
        store(value, begin + i, txd_rng_normal(key, i) * std);
}

static void draw_rows(const txd_tensor *value, const struct rows *rows,
                      const struct rule *rule, uint64_t seed)
{
    uint64_t key = txd_rng_key(seed, rows->name);

    switch (rule->scheme) {
    case NORMAL:
        draw_normal(value, rows, key, rule->amount);
        break;
    case UNIFORM:
        draw_uniform(value, rows, key, rule->amount);
        break;
    case XAVIER_UNIFORM: /* a uniform number has a third of its bound's square */
        draw_uniform(value, rows, key, sqrt(3.0) * xavier_std(rule, rows));
        break;
    case XAVIER_NORMAL:
        draw_normal(value, rows, key, xavier_std(rule, rows));
        break;
    case CONSTANT:
    default:
        for (size_t i = 0; i < rows->count * rows->width; i++)
            store(value, rows->begin * rows->width + i, rule->amount);
        break;
    }
}

/* The fused matrix or bias: its rows are those of q, k and v, under their names. */
static void draw_fused(const txd_param *param, const txd_config *config,
                       const struct rule *rule, uint64_t seed)
{
    static const txd_param_id weights[] = {TXD_PARAM_Q_WEIGHT, TXD_PARAM_K_WEIGHT,
                                           TXD_PARAM_V_WEIGHT};
    static const txd_param_id biases[] = {TXD_PARAM_Q_BIAS, TXD_PARAM_K_BIAS,
                                          TXD_PARAM_V_BIAS};
    const txd_param_id *ids = param->value.rank == 2 ? weights : biases;
    size_t begin = 0, dims[TXD_MAX_RANK];

    for (int i = 0; i < 3; i++) {
        int rank = txd_param_dims(dims, config, ids[i]);
        char name[64];
        struct rows rows = {.begin = begin, .count = dims[0]};

        rows.width = rank == 2 ? dims[1] : 1;
        rows.name = txd_param_name(name, sizeof name, ids[i], param->layer);
        draw_rows(&param->value, &rows, rule, seed);
        begin += dims[0];
    }
}

static void draw(const txd_param *param, const txd_config *config,
                 const struct rule *rule, uint64_t seed)
{
    struct rows rows = {.name = param->name, .count = param->value.dims[0]};

    rows.width = param->value.rank == 2 ? param->value.dims[1] : 1;
    if (param->id == TXD_PARAM_QKV_WEIGHT || param->id == TXD_PARAM_QKV_BIAS)
        draw_fused(param, config, rule, seed);
    else
        draw_rows(&param->value, &rows, rule, seed);
}

static txd_status init_in(txd_arena *arena, txd_params *params,
                          const txd_config *config, const txd_setting *root,
                          uint64_t seed)
{
    struct rule *rules;
    size_t count;

    TXD_TRY(read_rules(&rules, &count, arena, root));
    for (size_t i = 0; i < count; i++)
        TXD_TRY(match_rule(&rules[i], params));
    for (size_t i = 0; i < txd_params_count(params); i++) {
        const txd_param *param = txd_params_at(params, i);
        const struct rule *rule = find_rule(rules, count, param);
        struct rule fallback = default_rule(param);

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
