/* SPDX-License-Identifier: MIT
 *
 * `weights.init`: a list of rules over globs of names, read and judged, and which rule
 * holds for a parameter.
 */
#include "model/init_internal.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/select.h"

#define AMOUNT_MAX 1e30

static const char *const scheme_words[TXD_INIT_SCHEMES] = {
    "normal", "uniform", "xavier_uniform", "xavier_normal", "constant"};

/* The one number of each scheme. */
static const struct {
    const char *key;
    double low, fallback;
} amounts[TXD_INIT_SCHEMES] = {
    {"std", 0, 0.02}, {"bound", 0, 0.02},        {"gain", 0, 1},
    {"gain", 0, 1},   {"value", -AMOUNT_MAX, 0},
};

const txd_key txd_weights_keys[] = {
    {"weights.init[].params", "string", "required", "", "",
     "glob, or several with commas, over parameter names like "
     "layers.0.attn.qkv.weight; without a rule matrices are normal with std 0.02, "
     "gains 1 (less model.norm_offset) and biases 0"},
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

bool txd_init_is_random(const struct txd_init_rule *rule)
{
    return rule->scheme != TXD_INIT_CONSTANT;
}

static bool is_xavier(int scheme)
{
    return scheme == TXD_INIT_XAVIER_UNIFORM || scheme == TXD_INIT_XAVIER_NORMAL;
}

/* Numbers of other schemes would be ignored: they are a mistake. */
static txd_status check_unused(const struct txd_init_rule *rule)
{
    const char *used = amounts[rule->scheme].key;

    for (int i = 0; i < TXD_INIT_SCHEMES; i++) {
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

static txd_status read_rule(struct txd_init_rule *rule, const txd_setting *setting)
{
    rule->setting = setting;
    rule->scheme = TXD_INIT_SCHEMES;
    TXD_TRY(txd_setting_string(&rule->params, setting, "params"));
    TXD_TRY(txd_setting_choice(&rule->scheme, setting, "scheme", scheme_words,
                               TXD_INIT_SCHEMES));
    if (!rule->params)
        return fail_rule(setting, "params is missing; say which, as in params = \"*\"");
    if (rule->scheme == TXD_INIT_SCHEMES)
        return fail_rule(setting, "scheme is missing; one of normal, uniform, "
                                  "xavier_uniform, xavier_normal, constant");
    rule->amount = amounts[rule->scheme].fallback;
    TXD_TRY(txd_setting_real(&rule->amount, setting, amounts[rule->scheme].key,
                             amounts[rule->scheme].low, AMOUNT_MAX));
    return check_unused(rule);
}

void txd_init_rule_match(struct txd_init_rule *rule, const txd_param *param)
{
    if (!txd_glob_list(rule->params, param->name))
        return;
    rule->matches = true;
    rule->matches_matrix = rule->matches_matrix || param->value.rank == 2;
}

txd_status txd_init_rule_verify(const struct txd_init_rule *rule, const char *names)
{
    char text[1400];

    if (!rule->matches) {
        snprintf(text, sizeof text,
                 "\"%.150s\" matches no parameter of this model; these are %s",
                 rule->params, names);
        return fail_rule(rule->setting, text);
    }
    if (is_xavier(rule->scheme) && !rule->matches_matrix)
        return fail_rule(rule->setting, "Xavier needs matrices, but params matches "
                                        "gains and biases only; use normal or uniform");
    return TXD_OK;
}

txd_status txd_init_rules_read(struct txd_init_rule **out, size_t *count,
                               txd_arena *arena, const txd_setting *weights)
{
    const txd_setting *list = weights ? txd_setting_find(weights, "init") : NULL;
    const txd_setting *element = list ? list->child : NULL;
    size_t n = list ? list->count : 0;
    struct txd_init_rule *rules = txd_arena_alloc(arena, n, sizeof *rules);

    if (!rules)
        return TXD_ERR_MEMORY;
    for (size_t i = 0; element; i++, element = element->next)
        TXD_TRY(read_rule(&rules[i], element));
    *out = rules;
    *count = n;
    return TXD_OK;
}

const struct txd_init_rule *txd_init_rule_find(const struct txd_init_rule *rules,
                                               size_t count, const txd_param *param)
{
    for (size_t i = count; i-- > 0;)
        if (txd_glob_list(rules[i].params, param->name) &&
            (param->value.rank == 2 || !txd_init_is_random(&rules[i]) ||
             !rules[i].matches_matrix))
            return &rules[i];
    return NULL;
}

/* Norms begin as those that multiply by 1. */
struct txd_init_rule txd_init_rule_default(const txd_config *config,
                                           const txd_param *param)
{
    size_t length = strlen(param->name);
    bool bias = length > 5 && strcmp(param->name + length - 5, ".bias") == 0;
    double gain = 1 - config->norm_offset;

    if (param->value.rank == 2)
        return (struct txd_init_rule){.scheme = TXD_INIT_NORMAL,
                                      .amount = amounts[TXD_INIT_NORMAL].fallback};
    return (struct txd_init_rule){.scheme = TXD_INIT_CONSTANT,
                                  .amount = bias ? 0 : gain};
}

double txd_init_xavier_std(const struct txd_init_rule *rule,
                           const struct txd_init_rows *rows)
{
    return rule->amount * sqrt(2.0 / ((double)rows->width + (double)rows->count));
}
