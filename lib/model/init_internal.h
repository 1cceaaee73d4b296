/* SPDX-License-Identifier: MIT
 *
 * The rules of `weights.init` as they are read: for the files that draw parameters and
 * that say what was to be drawn.
 */
#ifndef TXD_MODEL_INIT_INTERNAL_H
#define TXD_MODEL_INIT_INTERNAL_H

#include "model/params.h"

#ifdef __cplusplus
extern "C" {
#endif

enum txd_init_scheme {
    TXD_INIT_NORMAL,
    TXD_INIT_UNIFORM,
    TXD_INIT_XAVIER_UNIFORM,
    TXD_INIT_XAVIER_NORMAL,
    TXD_INIT_CONSTANT,
    TXD_INIT_SCHEMES
};

struct txd_init_rule {
    const txd_setting *setting;
    const char *params;
    int scheme;    /* txd_init_scheme */
    double amount; /* the one number of the scheme */
    bool matches, matches_matrix;
};

/* Consecutive rows of a parameter that are drawn as one matrix. */
struct txd_init_rows {
    const char *name;
    size_t begin, count, width;
};

/* The list `init` of the group `weights` (NULL = none), in `arena`. */
txd_status txd_init_rules_read(struct txd_init_rule **out, size_t *count,
                               txd_arena *arena, const txd_setting *weights);

/* Notes that the rule matches a parameter. */
void txd_init_rule_match(struct txd_init_rule *rule, const txd_param *param);
/* What matches nothing, or is Xavier for vectors alone, is an error; `names` are those
 * of the parameters. */
txd_status txd_init_rule_verify(const struct txd_init_rule *rule, const char *names);

/* The last rule that applies to a parameter; NULL if none does. */
const struct txd_init_rule *txd_init_rule_find(const struct txd_init_rule *rules,
                                               size_t count, const txd_param *param);
struct txd_init_rule txd_init_rule_default(const txd_config *config,
                                           const txd_param *param);

bool txd_init_is_random(const struct txd_init_rule *rule);
double txd_init_xavier_std(const struct txd_init_rule *rule,
                           const struct txd_init_rows *rows);

#ifdef __cplusplus
}
#endif

#endif
