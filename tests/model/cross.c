/* SPDX-License-Identifier: MIT
 *
 * Models with cross-attention: variants, one pass, comparisons.
 */
#include "cross.h"

#include <stdio.h>
#include <string.h>

#include "suite.h"

#define DRAWN                                                                          \
    "weights : { init = ( { params = \"layers.*\"; scheme = \"normal\"; std = 0.3; } " \
    "); };"

const char *const cross_variants[CROSS_VARIANTS] = {
    "model : { preset = \"mini\"; " CROSS_BASE "};" DRAWN,
    "model : { preset = \"gpt2\"; " CROSS_BASE "norm_placement = \"post\"; };" DRAWN,
    "model : { preset = \"llama\"; " CROSS_BASE
    "n_kv_heads = 2; head_dim = 10; value_dim = 7; bias = true; "
    "residual_scale = 0.5; };" DRAWN,
    "model : { preset = \"mini\"; " CROSS_BASE
    "n_kv_heads = 1; layers = ( { range = \"0\"; window = 2; score_scale = 0.7; } ); "
    "};" DRAWN,
};

void cross_start(observed *o, const char *cfg, const char *backend, size_t length)
{
    OK(observe_cfg(o, cfg, backend));
    OK(observe_random(o, 2, length));
}

const double *cross_values(observed *o, const char *layer, const char *point)
{
    char name[96];
    struct observed_site *s;

    snprintf(name, sizeof name, "layers.%s.%s", layer, point);
    s = observe_site(o, name);
    ck_assert_msg(s != NULL && s->cells == s->count, "%s was not offered whole", name);
    return s->values;
}

void cross_same_bits(observed *a, observed *b, const char *globs)
{
    size_t compared = 0;

    for (size_t i = 0; i < a->sites; i++) {
        struct observed_site *other = observe_site(b, a->site[i].name);

        if (!txd_glob_list(globs, a->site[i].name))
            continue;
        ck_assert_ptr_nonnull(other);
        ck_assert_uint_eq(other->count, a->site[i].count);
        ck_assert_msg(memcmp(other->values, a->site[i].values,
                             other->count * sizeof(double)) == 0,
                      "%s differs", a->site[i].name);
        compared++;
    }
    ck_assert_uint_gt(compared, 0);
}
