/* SPDX-License-Identifier: MIT
 *
 * Norms of queries and keys, against plain loops over the projections of the same pass.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"

enum { BATCH = 2, LENGTH = 7, HEADS = 4, GROUPS = 2, LANES = 6 };

/* What a case says of the norm. */
struct kind {
    const char *model;
    bool together, centred;
    double offset;
};

static const struct kind kinds[] = {
    {"preset = \"llama\"; qk_norm = \"head\";", false, false, 0},
    {"preset = \"llama\"; qk_norm = \"width\"; norm_offset = 1.0;", true, false, 1},
    {"preset = \"gpt2\"; qk_norm = \"head\"; norm_offset = -0.5;", false, true, -0.5},
    {"preset = \"gpt2\"; qk_norm = \"width\"; cross = true;", true, true, 0},
};

static const double *values(observed *o, const char *site)
{
    const struct observed_site *s = observe_site(o, site);

    ck_assert_msg(s != NULL, "%s was not offered", site);
    return s->values;
}

/* Lane i of what is normalised together: of one head, or of head after head. */
static double lane(const double *x, size_t heads, const size_t at[3], size_t i,
                   size_t tokens)
{
    size_t head = at[1] + i / LANES;

    return x[((at[0] * heads + head) * tokens + at[2]) * LANES + i % LANES];
}

/* The lanes from head at[1] on, of token at[2]. */
static void check_lanes(observed *o, const struct kind *k, const char *which,
                        const size_t at[3], size_t heads, size_t tokens)
{
    const char *cross = strncmp(which, "cross", 5) == 0 ? "cross" : "attn";
    size_t width = k->together ? heads * LANES : LANES;
    double mean = 0, squares = 0;
    const double *out, *x, *gain;
    char name[64];

    snprintf(name, sizeof name, "layers.0.%s_norm", which);
    out = values(o, name);
    snprintf(name, sizeof name, "layers.0.%s_proj", which);
    x = values(o, name);
    snprintf(name, sizeof name, "layers.0.%s.%s_norm.weight", cross,
             which + strlen(cross) + 1);
    gain = txd_params_find(o->params, name)->value.data;
    for (size_t i = 0; i < width; i++)
        mean += k->centred ? lane(x, heads, at, i, tokens) / (double)width : 0;
    for (size_t i = 0; i < width; i++)
        squares += pow(lane(x, heads, at, i, tokens) - mean, 2);
    for (size_t i = 0; i < width; i++) {
        double expected = (gain[i] + k->offset) *
                          (lane(x, heads, at, i, tokens) - mean) /
                          sqrt(squares / (double)width + 1e-5);

        ck_assert_msg(txd_close(lane(out, heads, at, i, tokens), expected, 1e-12),
                      "%s, lane %zu: %.17g, not %.17g", name, i,
                      lane(out, heads, at, i, tokens), expected);
    }
}

static void check_point(observed *o, const struct kind *k, const char *which,
                        size_t heads, size_t tokens)
{
    for (size_t b = 0; b < BATCH; b++)
        for (size_t t = 0; t < tokens; t++)
            for (size_t h = 0; h < heads; h += k->together ? heads : 1) {
                const size_t at[3] = {b, h, t};

                check_lanes(o, k, which, at, heads, tokens);
            }
}

/* Without rotation the scores read what the norm made. */
static void check_what_turns(observed *o, bool rotary)
{
    const struct observed_site *q = observe_site(o, "layers.1.attn.q");
    const struct observed_site *norm = observe_site(o, "layers.1.attn.q_norm");
    const struct observed_site *proj = observe_site(o, "layers.1.attn.q_proj");
    size_t bytes = q->count * sizeof(double);

    ck_assert(memcmp(norm->values, proj->values, bytes) != 0);
    ck_assert((memcmp(q->values, norm->values, bytes) == 0) == !rotary);
}

START_TEST(queries_and_keys_are_normalised_by_head_or_together)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        observed o = {.exact = true};
        char cfg[768];

        snprintf(
            cfg, sizeof cfg,
            "model : { %s vocab = 17; d_model = 24; n_heads = %d; n_kv_heads = %d; "
            "head_dim = %d; n_layers = 2; d_ff = 8; max_seq_len = 16; norm_eps = "
            "1e-5; }; weights : { init = ( { params = \"*\"; scheme = \"normal\"; "
            "std = 0.3; }, { params = \"*_norm.weight\"; scheme = \"normal\"; std = "
            "0.7; } ); };",
            kinds[i].model, HEADS, GROUPS, LANES);
        OK(observe_cfg(&o, cfg, "ref64"));
        OK(observe_random(&o, BATCH, LENGTH));
        if (o.config.cross)
            OK(observe_memory(&o, 5, NULL));
        OK(observe_pass(&o));
        check_point(&o, &kinds[i], "attn.q", HEADS, LENGTH);
        check_point(&o, &kinds[i], "attn.k", GROUPS, LENGTH);
        if (o.config.cross) {
            check_point(&o, &kinds[i], "cross.q", HEADS, LENGTH);
            check_point(&o, &kinds[i], "cross.k", GROUPS, 5);
        }
        check_what_turns(&o, o.config.layers[0].rotary);
        observe_finish(&o);
    }
}
END_TEST

TEST_MAIN(queries_and_keys_are_normalised_by_head_or_together)
