/* SPDX-License-Identifier: MIT
 *
 * The backward half and edits: an edit that adds to the value at a point has the slope
 * of the point's gradient, which must be complete for that; what is read after an edit
 * is the edited value, on the way back too; gradients can be edited.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 2; d_ff = 10; "                 \
    "max_seq_len = 16; "

static const char *const models[] = {
    "model : { preset = \"llama\"; n_kv_heads = 2; value_dim = 5; " SIZES "};",
    "model : { preset = \"gpt2\"; norm_placement = \"post\"; residual_scale = 0.7; "
    "final_norm = true; " SIZES "};",
    "model : { preset = \"gpt2\"; cross = true; " SIZES "}; mask : { fill = -2.0; };",
    "model : { preset = \"mini\"; cross = true; n_kv_heads = 1; norm_placement = "
    "\"post\"; positions = \"sinusoidal\"; " SIZES "};",
    "model : { preset = \"llama\"; final_norm = false; " SIZES "}; mask : { window = "
    "3; };",
};
enum { MODELS = sizeof models / sizeof *models };

static void begin(observed *o, const char *cfg)
{
    const size_t real[2] = {4, 3};

    slopes_model(o, cfg);
    OK(observe_random(o, 2, 7));
    for (size_t t = 0; t < 2; t++)
        o->inputs.valid[t] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, 4, real));
    o->backward = true;
}

/* Points whose value can be edited and has a gradient. */
static bool has_slope(txd_stop stop)
{
    return txd_point_get(stop.point)->place != TXD_PLACE_INPUT &&
           txd_point_get(stop.point)->place != TXD_PLACE_ROWS;
}

static void check_point(observed *o, txd_stop stop)
{
    const struct slope_bound bound = {"", SLOPE_STEP};
    struct observed_site *site;
    double *u, slope, expected, allowed;
    char name[96];

    txd_point_name(name, sizeof name - 5, stop.point, stop.layer);
    strcat(name, "@grad");
    site = observe_site(o, name);
    ck_assert_msg(site != NULL, "%s was not offered", name);
    ck_assert_msg(site->cells == site->count, "%s: %zu of %zu cells", name, site->cells,
                  site->count);
    u = txd_arena_alloc(o->arena, site->count, sizeof *u);
    slopes_direction(u, site->count, name);
    expected = slopes_dot(site->values, u, site->count);
    allowed = slopes_allowed(&bound, slopes_length(site->values, site->count));
    slope = slopes_of_point(o, stop, u, SLOPE_STEP);
    ck_assert_msg(fabs(slope - expected) <= allowed,
                  "%s: slope %.15g, gradient %.15g, off by %.3g, allowed %.3g", name,
                  slope, expected, fabs(slope - expected), allowed);
}

START_TEST(every_point_has_the_slope_of_the_loss)
{
    for (int m = 0; m < MODELS; m++) {
        observed o = {0};
        txd_stop *stops;
        size_t count;

        begin(&o, models[m]);
        OK(txd_points_order(&stops, &count, o.arena, &o.config));
        for (size_t s = 0; s < count; s++) {
            if (!has_slope(stops[s]))
                continue;
            OK(observe_pass(&o));
            check_point(&o, stops[s]);
        }
        observe_finish(&o);
    }
}
END_TEST

/* Adds a fixed amount at many points at once, those of whole (b, h, q, k) values among
 * them. */
static unsigned shift_ask(void *self, const txd_site *site)
{
    const char *const *globs = self;

    return site->kind == TXD_SITE_VALUE && txd_glob_list(*globs, site->name)
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status shift(void *self, txd_block *block)
{
    uint64_t key = txd_rng_key(3, block->site->name);
    bool memory = block->site->point == TXD_POINT_INPUT_MEMORY;

    (void)self;
    for (size_t i = 0; i < txd_tensor_count(&block->value) && !memory; i++)
        ((double *)block->value.data)[i] += 0.3 * txd_rng_normal(key, i);
    return TXD_OK;
}

static void check_shifted(const char *cfg, const char *globs)
{
    struct slope_bound bound = {globs, SLOPE_STEP};
    txd_tap tap = {.name = "shift", .self = &globs, .ask = shift_ask, .edit = shift};
    observed o = {0};

    begin(&o, cfg);
    o.before = &tap;
    for (size_t i = 0; i < txd_params_count(o.params); i++)
        slopes_check_parameter(&o, i, &bound);
    observe_finish(&o);
}

START_TEST(what_is_read_after_an_edit_is_the_edited_value_on_the_way_back_too)
{
    for (int m = 0; m < MODELS; m++) {
        check_shifted(models[m], "*.scores");
        check_shifted(models[m], "*.masked");
        check_shifted(models[m], "*.weights");
        check_shifted(models[m], "layers.1.*");
        check_shifted(models[m], "embed.*,layers.*,final.norm");
    }
}
END_TEST

/* All parameters' gradients, one after the other. */
static double *gradients_of(observed *o, size_t *count)
{
    txd_tensor g;
    double *all;

    *count = 0;
    for (size_t i = 0; i < txd_params_count(o->params); i++) {
        OK(txd_run_gradient(&g, o->run, i));
        *count += txd_tensor_count(&g);
    }
    all = txd_arena_alloc(o->arena, *count, sizeof *all);
    for (size_t i = 0, at = 0; i < txd_params_count(o->params); i++) {
        OK(txd_run_gradient(&g, o->run, i));
        for (size_t e = 0; e < txd_tensor_count(&g); e++)
            all[at++] = txd_tensor_get(&g, e);
    }
    return all;
}

START_TEST(an_edit_that_changes_nothing_changes_no_bit_of_a_gradient)
{
    static const txd_point points[] = {TXD_POINT_ATTN_Q,       TXD_POINT_ATTN_SCORES,
                                       TXD_POINT_ATTN_MASKED,  TXD_POINT_ATTN_WEIGHTS,
                                       TXD_POINT_ATTN_BRANCH,  TXD_POINT_CROSS_SCORES,
                                       TXD_POINT_CROSS_MASKED, TXD_POINT_CROSS_WEIGHTS};

    for (size_t p = 0; p < sizeof points / sizeof *points; p++) {
        struct nudge nudge = {{points[p], 1}, NULL, 0, 0};
        txd_tap tap = nudge_tap(&nudge);
        observed o = {0};
        double *plain, *edited;
        size_t count;

        begin(&o, models[2]);
        OK(observe_pass(&o));
        plain = gradients_of(&o, &count);
        o.before = &tap;
        OK(observe_pass(&o));
        edited = gradients_of(&o, &count);
        ck_assert_uint_eq(nudge.edits, 1);
        ck_assert_mem_eq(plain, edited, count * sizeof *plain);
        observe_finish(&o);
    }
}
END_TEST

/* Doubles the gradient at one point. */
static unsigned double_ask(void *self, const txd_site *site)
{
    return strcmp(site->name, self) == 0 ? TXD_ASK_EDIT : 0;
}

static txd_status twice(void *self, txd_block *block)
{
    (void)self;
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        ((double *)block->value.data)[i] *= 2;
    return TXD_OK;
}

/* Ratio of the values at a site with the edit to those without; NAN if they differ. */
static double ratio_at(observed *edited, observed *plain, const char *name)
{
    const struct observed_site *a = observe_site(edited, name);
    const struct observed_site *b = observe_site(plain, name);
    double ratio = NAN;

    ck_assert_msg(a != NULL && b != NULL, "%s", name);
    for (size_t i = 0; i < a->count; i++) {
        if (b->values[i] == 0)
            continue;
        if (isnan(ratio))
            ratio = a->values[i] / b->values[i];
        else if (a->values[i] / b->values[i] != ratio)
            return NAN;
    }
    return ratio;
}

START_TEST(an_edited_gradient_is_what_everything_before_it_gets)
{
    char at[] = "layers.1.mlp.act@grad";
    txd_tap tap = {.name = "twice",
                   .self = at,
                   .gradients = true,
                   .ask = double_ask,
                   .edit = twice};
    observed plain = {0}, edited = {0};

    begin(&plain, models[0]);
    OK(observe_pass(&plain));
    begin(&edited, models[0]);
    edited.before = &tap;
    OK(observe_pass(&edited));
    ck_assert(ratio_at(&edited, &plain, "layers.1.mlp.out@grad") == 1);
    ck_assert(ratio_at(&edited, &plain, "layers.1.mlp.down.weight@grad") == 1);
    ck_assert(ratio_at(&edited, &plain, "layers.1.mlp.act@grad") == 2);
    ck_assert(ratio_at(&edited, &plain, "layers.1.mlp.gate@grad") == 2);
    ck_assert(ratio_at(&edited, &plain, "layers.1.mlp.up.weight@grad") == 2);
    ck_assert(ratio_at(&edited, &plain, "layers.1.norm2.out@grad") == 2);
    ck_assert(isnan(ratio_at(&edited, &plain, "layers.1.resid.mid@grad")));
    observe_finish(&plain);
    observe_finish(&edited);
}
END_TEST

START_TEST(an_edited_gradient_of_a_parameter_is_what_the_run_gives)
{
    char at[] = "layers.0.attn.o.weight@grad";
    txd_tap tap = {.name = "twice",
                   .self = at,
                   .gradients = true,
                   .ask = double_ask,
                   .edit = twice};
    observed o = {0};
    const struct observed_site *site;
    txd_tensor gradient;
    size_t i = 0;

    begin(&o, models[0]);
    o.before = &tap;
    OK(observe_pass(&o));
    while (strcmp(txd_params_at(o.params, i)->name, "layers.0.attn.o.weight") != 0)
        i++;
    OK(txd_run_gradient(&gradient, o.run, i));
    site = observe_site(&o, at);
    ck_assert_mem_eq(gradient.data, site->values, site->count * sizeof(double));
    observe_finish(&o);
}
END_TEST

START_TEST(gradients_that_are_never_whole_are_not_edited)
{
    char sites[2][32] = {"layers.0.attn.masked@grad", "logits@grad"};

    for (int i = 0; i < 2; i++) {
        txd_tap tap = {.name = "twice",
                       .self = sites[i],
                       .gradients = true,
                       .ask = double_ask,
                       .edit = twice};
        observed o = {0};

        begin(&o, models[0]);
        o.before = &tap;
        ck_assert_int_eq(observe_pass(&o), TXD_ERR_INAPPLICABLE);
        ck_assert_ptr_nonnull(strstr(txd_message(), sites[i]));
        observe_finish(&o);
    }
}
END_TEST

/* Three planes of one layer of this model: 3 * 2 * 4 * 7 * 7 * 8 bytes. */
#define PLANES 9408

static txd_status pass_within(observed *o, txd_tap *tap, size_t limit, bool backward)
{
    txd_tap *taps[1] = {tap};
    txd_run_options options = {.claimed = &o->config,
                               .taps = taps,
                               .tap_count = 1,
                               .backward = backward,
                               .form_limit = limit};
    txd_status status;

    txd_run_destroy(o->run);
    o->run = NULL;
    OK(txd_run_create(&o->run, o->model, &options));
    status = txd_run_pass(o->run, &o->inputs, 0);
    return status;
}

START_TEST(edited_layers_share_one_limit_where_gradients_need_them_all)
{
    const char *globs = "*.weights";
    txd_tap tap = {.name = "shift", .self = &globs, .ask = shift_ask, .edit = shift};
    observed o = {0};

    begin(&o, models[0]);
    OK(pass_within(&o, &tap, PLANES, false));
    OK(pass_within(&o, &tap, 2 * (size_t)PLANES, true));
    ck_assert_int_eq(pass_within(&o, &tap, 2 * (size_t)PLANES - 1, true),
                     TXD_ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(txd_message(), "18816 bytes in all edited layers"));
    ck_assert_ptr_nonnull(strstr(txd_message(), "the limit of 18815"));
    ck_assert_ptr_nonnull(strstr(txd_message(), "edit fewer layers"));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(every_point_has_the_slope_of_the_loss,
          what_is_read_after_an_edit_is_the_edited_value_on_the_way_back_too,
          an_edit_that_changes_nothing_changes_no_bit_of_a_gradient,
          an_edited_gradient_is_what_everything_before_it_gets,
          an_edited_gradient_of_a_parameter_is_what_the_run_gives,
          gradients_that_are_never_whole_are_not_edited,
          edited_layers_share_one_limit_where_gradients_need_them_all)
