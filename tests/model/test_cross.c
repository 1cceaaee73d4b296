/* SPDX-License-Identifier: MIT
 *
 * Attention to a memory: hand-computed, and against plain loops over the parameters for
 * memories shorter and longer than the queries.
 */
#include <math.h>
#include <string.h>

#include "cross.h"
#include "suite.h"

static void set_identity(observed *o, txd_param_id id)
{
    txd_param *param = txd_params_get(o->params, id, 0);

    for (size_t i = 0; i < txd_tensor_count(&param->value); i++)
        ((float *)param->value.data)[i] = i % (param->value.dims[1] + 1) == 0 ? 1 : 0;
}

/* One head of width 2 and identity projections: three queries over a memory of four
 * rows, the last of which is padding. */
START_TEST(a_query_weighs_every_real_row_of_the_memory)
{
    const double memory[8] = {1, 0, 0, 2, -1, 1, 50, 50};
    const size_t real[1] = {3};
    const txd_backend *ref64;
    observed o = {0};
    const double *x, *w, *z;

    OK(observe_cfg(&o,
                   "model : { preset = \"mini\"; vocab = 5; d_model = 2; n_heads = 1; "
                   "n_layers = 1; d_ff = 2; max_seq_len = 8; cross = true; };",
                   "ref64"));
    for (int p = TXD_PARAM_CROSS_Q_WEIGHT; p <= TXD_PARAM_CROSS_V_WEIGHT; p++)
        if (txd_params_get(o.params, (txd_param_id)p, 0) != NULL)
            set_identity(&o, (txd_param_id)p);
    txd_model_destroy(o.model);
    OK(txd_backend_find(&ref64, "ref64"));
    OK(txd_model_create(&o.model, ref64, &o.config, o.params, 1));
    OK(observe_random(&o, 1, 3));
    OK(observe_memory(&o, 4, real));
    memcpy(o.inputs.memory.data, memory, sizeof memory);
    OK(observe_pass(&o));
    x = cross_values(&o, "0", "norm_cross.out");
    w = cross_values(&o, "0", "cross.weights");
    z = cross_values(&o, "0", "cross.heads");
    for (size_t q = 0; q < 3; q++) {
        double e[3], sum = 0, out[2] = {0};

        for (size_t k = 0; k < 3; k++)
            sum += e[k] =
                exp((x[2 * q] * memory[2 * k] + x[2 * q + 1] * memory[2 * k + 1]) /
                    sqrt(2));
        for (size_t k = 0; k < 3; k++) {
            ck_assert(txd_close(w[4 * q + k], e[k] / sum, 1e-14));
            ck_assert(w[4 * q + k] > 0.01);
            out[0] += e[k] / sum * memory[2 * k];
            out[1] += e[k] / sum * memory[2 * k + 1];
        }
        ck_assert(w[4 * q + 3] == 0);
        ck_assert(txd_close(z[2 * q], out[0], 1e-14));
        ck_assert(txd_close(z[2 * q + 1], out[1], 1e-14));
    }
    observe_finish(&o);
}
END_TEST

/* ---- against plain loops ---- */

/* (rows, n) = x (rows, k) W^T + bias, into `arena`. */
static double *map(observed *o, const double *x, size_t rows, txd_param_id weight,
                   txd_param_id bias, int layer)
{
    const txd_param *w = txd_params_get(o->params, weight, layer);
    const txd_param *b = txd_params_get(o->params, bias, layer);
    size_t n = w->value.dims[0], k = w->value.dims[1];
    double *out = txd_arena_alloc(o->arena, rows * n, sizeof *out);

    for (size_t r = 0; r < rows; r++)
        for (size_t i = 0; i < n; i++) {
            double sum = b == NULL ? 0 : txd_tensor_get(&b->value, i);

            for (size_t j = 0; j < k; j++)
                sum += x[r * k + j] * txd_tensor_get(&w->value, i * k + j);
            out[r * n + i] = sum;
        }
    return out;
}

static void near(const double *found, double expected, size_t i, const char *what)
{
    ck_assert_msg(txd_close(found[i], expected, 1e-11 + 1e-11 * fabs(expected)),
                  "%s[%zu] is %.17g, expected %.17g", what, i, found[i], expected);
}

/* What layer 0 makes of what enters its cross-attention and of the memory. */
struct plain {
    observed *o;
    double *q, *k, *v; /* (b, t, heads x width) */
    size_t length, keys;
};

static double score(const struct plain *p, size_t b, size_t h, size_t t, size_t m)
{
    const txd_config *c = &p->o->config;
    size_t e = c->head_dim, group = h / (c->n_heads / c->n_kv_heads);
    const double *q = p->q + (b * p->length + t) * c->n_heads * e + h * e;
    const double *k = p->k + (b * p->keys + m) * c->n_kv_heads * e + group * e;
    double sum = 0;

    for (size_t i = 0; i < e; i++)
        sum += q[i] * k[i];
    return c->layers[0].score_scale * sum;
}

/* Weights and mixed values of one query of one head. */
static void check_query(const struct plain *p, size_t b, size_t h, size_t t)
{
    const txd_config *c = &p->o->config;
    const int32_t *valid = p->o->inputs.memory_valid + b * p->keys;
    size_t f = c->value_dim, group = h / (c->n_heads / c->n_kv_heads);
    size_t row = (b * c->n_heads + h) * p->length + t;
    const double *w = cross_values(p->o, "0", "cross.weights") + row * p->keys;
    const double *z = cross_values(p->o, "0", "cross.heads") + row * f;
    double sum = 0;

    for (size_t m = 0; m < p->keys; m++)
        sum += valid[m] ? exp(score(p, b, h, t, m)) : 0;
    for (size_t m = 0; m < p->keys; m++)
        near(w, valid[m] ? exp(score(p, b, h, t, m)) / sum : 0, m, "weights");
    for (size_t i = 0; i < f; i++) {
        double expected = 0;

        for (size_t m = 0; m < p->keys; m++)
            expected +=
                w[m] * p->v[(b * p->keys + m) * c->n_kv_heads * f + group * f + i];
        near(z, expected, i, "heads");
    }
}

/* The branch, from the heads; and its sum with what entered. */
static void check_branch(const struct plain *p)
{
    observed *o = p->o;
    const txd_config *c = &o->config;
    bool pre = c->norm_placement == TXD_PLACEMENT_PRE;
    size_t f = c->value_dim, rows = o->inputs.batch * p->length;
    const double *z = cross_values(o, "0", "cross.heads"), *out;
    const double *in = cross_values(o, "0", pre ? "resid.mid" : "norm1.out");
    const double *sum = cross_values(o, "0", "resid.cross");
    double *merged = txd_arena_alloc(o->arena, rows * c->n_heads * f, sizeof *merged);

    for (size_t r = 0; r < rows; r++)
        for (size_t h = 0; h < c->n_heads; h++)
            for (size_t i = 0; i < f; i++)
                merged[(r * c->n_heads + h) * f + i] =
                    z[((r / p->length * c->n_heads + h) * p->length + r % p->length) *
                          f +
                      i];
    out = map(o, merged, rows, TXD_PARAM_CROSS_O_WEIGHT, TXD_PARAM_CROSS_O_BIAS, 0);
    for (size_t i = 0; i < rows * c->d_model; i++)
        near(sum, in[i] + c->layers[0].residual_scale * out[i], i, "resid.cross");
}

/* A sample of the queries: each is as good as another, and the longest are many. */
static void check_plainly(observed *o)
{
    bool pre = o->config.norm_placement == TXD_PLACEMENT_PRE;
    const double *x = cross_values(o, "0", pre ? "norm_cross.out" : "norm1.out");
    const double *memory = o->inputs.memory.data;
    struct plain p = {
        .o = o, .length = o->inputs.length, .keys = o->inputs.memory_length};
    size_t rows = o->inputs.batch * p.length, memory_rows = o->inputs.batch * p.keys;

    p.q = map(o, x, rows, TXD_PARAM_CROSS_Q_WEIGHT, TXD_PARAM_CROSS_Q_BIAS, 0);
    p.k = map(o, memory, memory_rows, TXD_PARAM_CROSS_K_WEIGHT, TXD_PARAM_CROSS_K_BIAS,
              0);
    p.v = map(o, memory, memory_rows, TXD_PARAM_CROSS_V_WEIGHT, TXD_PARAM_CROSS_V_BIAS,
              0);
    for (size_t b = 0; b < o->inputs.batch; b++)
        for (size_t h = 0; h < o->config.n_heads; h++)
            for (size_t t = 0; t < p.length; t += t + 13 < p.length ? 13 : 1)
                check_query(&p, b, h, t);
    check_branch(&p);
}

START_TEST(it_is_what_plain_loops_make_of_the_parameters)
{
    /* of the queries and of the memory: a tile has 128 rows */
    static const size_t lengths[][2] = {{5, 1}, {5, 3}, {5, 40}, {1, 300}, {260, 9}};

    for (size_t v = 0; v < CROSS_VARIANTS; v++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
            size_t keys = lengths[i][1], real[2] = {keys, (keys + 1) / 2};
            observed o = {0};

            cross_start(&o, cross_variants[v], "ref64", lengths[i][0]);
            OK(observe_memory(&o, keys, real));
            OK(observe_pass(&o));
            check_plainly(&o);
            observe_finish(&o);
        }
}
END_TEST

START_TEST(double_and_float_agree_on_it)
{
    for (size_t v = 0; v < CROSS_VARIANTS; v++) {
        const size_t real[2] = {300, 17};
        observed exact = {0}, fast = {0};

        cross_start(&exact, cross_variants[v], "ref64", 40);
        cross_start(&fast, cross_variants[v], "cpu32", 40);
        OK(observe_memory(&exact, 300, real));
        OK(observe_memory(&fast, 300, real));
        OK(observe_pass(&exact));
        OK(observe_pass(&fast));
        ck_assert(exact.sites == fast.sites && exact.sites > 20);
        for (size_t i = 0; i < exact.sites; i++) {
            struct observed_site *a = &exact.site[i];
            struct observed_site *b = observe_site(&fast, a->name);

            for (size_t e = 0; e < a->count; e++)
                ck_assert_msg((isnan(a->values[e]) && isnan(b->values[e])) ||
                                  a->values[e] == b->values[e] ||
                                  txd_close(b->values[e], a->values[e],
                                            2e-5 + 2e-5 * fabs(a->values[e])),
                              "%s[%zu]: %g, in double %g", a->name, e, b->values[e],
                              a->values[e]);
        }
        observe_finish(&exact);
        observe_finish(&fast);
    }
}
END_TEST

START_TEST(the_bits_do_not_depend_on_threads_and_observers)
{
    for (size_t v = 0; v < CROSS_VARIANTS; v++) {
        observed one = {.threads = 1}, three = {.threads = 3}, few = {.only = "logits"};
        observed *all[3] = {&one, &three, &few};

        for (int i = 0; i < 3; i++) {
            cross_start(all[i], cross_variants[v], "cpu32", 41);
            OK(observe_memory(all[i], 270, NULL));
            OK(observe_pass(all[i]));
        }
        cross_same_bits(&one, &three, "*");
        cross_same_bits(&few, &one, "logits");
        for (int i = 0; i < 3; i++)
            observe_finish(all[i]);
    }
}
END_TEST

TEST_MAIN(a_query_weighs_every_real_row_of_the_memory,
          it_is_what_plain_loops_make_of_the_parameters, double_and_float_agree_on_it,
          the_bits_do_not_depend_on_threads_and_observers)
