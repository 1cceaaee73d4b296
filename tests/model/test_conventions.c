/* SPDX-License-Identifier: MIT
 *
 * What holds for every model, for every convention of the families: the slopes of the
 * loss, the same bits for any number of threads and whoever looks, the same values in
 * double and in float, every stop offered whole, and a configuration that reads back.
 */
#include "conventions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/compare.h"
#include "cfg_text.h"
#include "model/config_internal.h"
#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 2; d_ff = 10; "                 \
    "max_seq_len = 16; "
#define WIDER                                                                          \
    "vocab = 19; d_model = 24; n_heads = 4; n_layers = 3; d_ff = 40; "                 \
    "max_seq_len = 512; "
#define DRAWN                                                                          \
    "weights : { init = ( { params = \"layers.*\"; scheme = \"normal\"; std = 0.3; } " \
    "); };"

/* The memory and the types of tokens, where the model reads them. */
static void add_rest(observed *o)
{
    const size_t real[2] = {4, 3};

    for (size_t i = 0; i < o->inputs.batch * o->inputs.length; i++)
        if (o->config.token_types > 0)
            o->inputs.types[i] = (int32_t)(i * i % o->config.token_types);

    if (o->config.cross)
        OK(observe_memory(o, 4, real));
}

START_TEST(every_parameter_of_every_convention_has_the_slope_of_the_loss)
{
    for (size_t v = 0; v < CONVENTIONS; v++) {
        struct slope_bound bound = {conventions[v].name, SLOPE_STEP_BENT};
        observed o = {0};
        char cfg[768];

        snprintf(cfg, sizeof cfg, "model : { " SIZES "%s };", conventions[v].model);
        slopes_model(&o, cfg);
        OK(observe_random(&o, 2, 7));
        for (size_t t = 5; t < 7; t++)
            o.inputs.valid[7 + t] = 0;
        add_rest(&o);
        for (size_t i = 0; i < txd_params_count(o.params); i++)
            slopes_check_parameter(&o, i, &bound);
        observe_finish(&o);
    }
}
END_TEST

static void observe_convention(observed *o, size_t v, const char *backend)
{
    char cfg[768];

    snprintf(cfg, sizeof cfg, "model : { %s " WIDER "};" DRAWN, conventions[v].model);
    OK(observe_cfg(o, cfg, backend));
    OK(observe_random(o, 2, 41));
    o->inputs.valid[41 + 40] = 0;
    add_rest(o);
    OK(observe_pass(o));
}

static void same_bits(observed *a, observed *b, const char *name)
{
    for (size_t i = 0; i < a->sites; i++) {
        struct observed_site *x = &a->site[i], *y = observe_site(b, x->name);

        ck_assert_msg(y != NULL && x->count == y->count, "%s: %s", name, x->name);
        ck_assert_msg(memcmp(x->values, y->values, x->count * sizeof *x->values) == 0,
                      "%s: %s differs", name, x->name);
    }
}

START_TEST(the_bits_depend_neither_on_threads_nor_on_who_looks)
{
    static const char *const backends[] = {"cpu32", "ref32", "bf16"};

    for (size_t v = 0; v < CONVENTIONS; v++)
        for (size_t b = 0; b < 3; b++) {
            observed one = {.threads = 1, .backward = true};
            observed three = {.threads = 3, .backward = true};
            observed few = {
                .threads = 2, .backward = true, .only = "logits,loss.token"};

            observe_convention(&one, v, backends[b]);
            observe_convention(&three, v, backends[b]);
            observe_convention(&few, v, backends[b]);
            ck_assert_uint_eq(few.sites, 2);
            same_bits(&one, &three, conventions[v].name);
            same_bits(&few, &one, conventions[v].name);
            observe_finish(&one);
            observe_finish(&three);
            observe_finish(&few);
        }
}
END_TEST

START_TEST(double_and_float_agree)
{
    for (size_t v = 0; v < CONVENTIONS; v++) {
        observed exact = {.backward = true}, fast = {.backward = true};

        observe_convention(&exact, v, "ref64");
        observe_convention(&fast, v, "cpu32");
        ck_assert_uint_eq(exact.sites, fast.sites);
        for (size_t i = 0; i < exact.sites; i++) {
            struct observed_site *a = &exact.site[i];
            struct observed_site *b = observe_site(&fast, a->name);
            double largest = 0;

            for (size_t e = 0; e < a->count; e++)
                largest = fmax(largest, fabs(a->values[e]));
            for (size_t e = 0; e < a->count; e++) { /* a passed assertion is a write */
                if ((isnan(a->values[e]) && isnan(b->values[e])) ||
                    txd_close(b->values[e], a->values[e], 1e-8 + 1e-3 * largest))
                    continue;
                ck_abort_msg("%s: %s[%zu]: %g, in double %g", conventions[v].name,
                             a->name, e, b->values[e], a->values[e]);
            }
        }
        observe_finish(&exact);
        observe_finish(&fast);
    }
}
END_TEST

START_TEST(every_stop_is_offered_whole_and_once)
{
    for (size_t v = 0; v < CONVENTIONS; v++) {
        observed o = {0};
        size_t count, expected = 0;
        txd_stop *order;

        observe_convention(&o, v, "ref64");
        OK(txd_points_order(&order, &count, o.arena, &o.config));
        for (int p = 0; p < TXD_POINT_COUNT; p++)
            if (txd_point_exists(&o.config, (txd_point)p))
                expected +=
                    txd_point_per_layer((txd_point)p) ? o.config.n_layers : (size_t)1;
        ck_assert_uint_eq(count, expected);
        ck_assert_uint_eq(o.sites, count);
        for (size_t i = 0; i < count; i++) {
            struct observed_site *s;
            char name[96];

            txd_point_name(name, sizeof name, order[i].point, order[i].layer);
            s = observe_site(&o, name);
            ck_assert_msg(s != NULL && s->cells == s->count, "%s: %s",
                          conventions[v].name, name);
        }
        observe_finish(&o);
    }
}
END_TEST

static bool same_fields(const void *a, const void *b, const struct txd_field *fields)
{
    for (; fields->name; fields++)
        if (!txd_field_equal(a, b, fields))
            return false;
    return true;
}

START_TEST(what_is_printed_is_what_was_read)
{
    for (size_t v = 0; v < CONVENTIONS; v++) {
        txd_config first, second;
        txd_text text;
        char cfg[768];

        snprintf(cfg, sizeof cfg, "model : { %s " WIDER "};", conventions[v].model);
        first = cfg_text_config(cfg);
        txd_text_init(&text);
        txd_config_print(&text, &first);
        second = cfg_text_config(txd_text_get(&text));
        ck_assert_msg(same_fields(&first, &second, txd_config_fields) &&
                          same_fields(first.layers, second.layers, txd_layer_fields),
                      "%s", conventions[v].name);
        txd_text_finish(&text);
        cfg_text_finish();
    }
}
END_TEST

TEST_MAIN(every_parameter_of_every_convention_has_the_slope_of_the_loss,
          the_bits_depend_neither_on_threads_nor_on_who_looks, double_and_float_agree,
          every_stop_is_offered_whole_and_once, what_is_printed_is_what_was_read)
