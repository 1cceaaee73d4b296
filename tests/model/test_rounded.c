/* SPDX-License-Identifier: MIT
 *
 * Backends that round, over whole passes: every element at every point is a number of
 * the format, and one operation that does not round is enough for that to fail.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "on.h"
#include "ops/ops.h"
#include "suite.h"

/* What a tap saw of a pass. */
typedef struct watch {
    txd_dtype format;
    size_t sites[TXD_SITE_PARAMETER_GRADIENT + 1];
    size_t cells, foreign; /* foreign: no numbers of the format */
    double loss_scale;     /* 0: no backward half */
    size_t zeros;          /* among the gradients of parameters */
    double squares;        /* of the gradients of parameters */
    char first[120];       /* where the first of those was */
    double edit;           /* put into embed.out, if it is not NaN */
    double edited;         /* what then stood there */
} watch;

static unsigned ask(void *self, const txd_site *site)
{
    const watch *w = self;

    if (site->kind == TXD_SITE_PARAMETER)
        return 0;
    if (site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_EMBED_OUT &&
        !isnan(w->edit))
        return TXD_ASK_VALUE | TXD_ASK_EDIT;
    return TXD_ASK_VALUE;
}

static txd_status edit(void *self, txd_block *block)
{
    ((float *)block->value.data)[1] = (float)((watch *)self)->edit;
    return TXD_OK;
}

static bool is_of_format(txd_dtype format, double value)
{
    unsigned char bits[8];
    double back;

    txd_convert(bits, format, &value, TXD_F64, 1);
    txd_convert(&back, TXD_F64, bits, format, 1);
    return isnan(value) || back == value;
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    watch *w = self;

    (void)slot;
    w->sites[block->site->kind] += block->last;
    if (block->site->kind == TXD_SITE_VALUE &&
        block->site->point == TXD_POINT_EMBED_OUT)
        w->edited = txd_tensor_get(&block->value, 1);
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++) {
        double value = txd_tensor_get(&block->value, i);

        w->cells++;
        if (block->site->kind == TXD_SITE_PARAMETER_GRADIENT) {
            w->zeros += value == 0;
            w->squares += value * value;
        }
        if (block->value.dtype == TXD_I32 || is_of_format(w->format, value))
            continue;
        if (w->foreign++ == 0)
            snprintf(w->first, sizeof w->first, "%s: %a", block->site->name, value);
    }
    return TXD_OK;
}

/* A pass of the observed model by another backend. */
static void run(watch *w, observed *o, const txd_backend *backend)
{
    txd_config config = o->config;
    txd_tap tap = {.name = "watch",
                   .self = w,
                   .gradients = w->loss_scale > 0,
                   .ask = ask,
                   .edit = edit,
                   .merge = merge};
    txd_tap *taps[1] = {&tap};
    txd_run_options options = {.claimed = &config,
                               .taps = taps,
                               .tap_count = 1,
                               .threads = 2,
                               .backward = w->loss_scale > 0,
                               .params = o->params};
    txd_model *model;
    txd_run *pass;

    config.loss_scale = w->loss_scale > 0 ? w->loss_scale : 1;
    OK(txd_model_create(&model, backend, &config, o->params, 1));
    OK(txd_run_create(&pass, model, &options));
    OK(txd_run_pass(pass, &o->inputs, 0));
    txd_run_destroy(pass);
    txd_model_destroy(model);
}

static const txd_backend *backend_of(const char *name)
{
    const txd_backend *backend = NULL;

    OK(test_backend_find(&backend, name));
    return backend;
}

/* Nothing but numbers of the format at all points of a pass, forward and backward, and
 * in the gradients of parameters. */
static void expect_rounded(observed *o, const char *name)
{
    const txd_backend *backend = backend_of(name);
    watch w = {.format = txd_backend_format(backend), .edit = NAN, .loss_scale = 1};
    txd_stop *order;
    size_t stops;

    OK(txd_points_order(&order, &stops, o->arena, &o->config));
    run(&w, o, backend);
    ck_assert_msg(w.foreign == 0, "%s: %zu of %zu, first %s", name, w.foreign, w.cells,
                  w.first);
    ck_assert_uint_eq(w.sites[TXD_SITE_VALUE], stops);
    ck_assert_uint_gt(w.sites[TXD_SITE_GRADIENT], stops / 2);
    ck_assert_uint_eq(w.sites[TXD_SITE_PARAMETER_GRADIENT],
                      txd_params_count(o->params));
}

static const char *const variants[] = {
    "model : { preset = \"gpt2\"; vocab = 31; d_model = 24; n_heads = 4; n_layers = 2; "
    "max_seq_len = 20; residual_scale = 0.3; };",
    "model : { preset = \"llama\"; vocab = 31; d_model = 24; n_heads = 4; n_kv_heads = "
    "2; n_layers = 2; norm_placement = \"post\"; }; mask : { fill = -1e4; }; "
    "precision : { softmax = \"same\"; };",
    "model : { preset = \"mini\"; vocab = 31; d_model = 24; n_heads = 4; n_layers = 2; "
    "positions = \"sinusoidal\"; }; mask : { masked_row = \"uniform\"; };",
};

START_TEST(every_value_of_a_real_model_is_a_number_of_the_format)
{
    const char *folder = test_model("stories260K");
    observed o = {0};

    if (folder == NULL)
        test_skip(TEST_NO_MODEL);
    OK(observe_model(&o, folder, "cpu32"));
    OK(observe_random(&o, 2, 40));
    expect_rounded(&o, "bf16");
    expect_rounded(&o, "fp16");
    observe_finish(&o);
}
END_TEST

START_TEST(every_value_of_every_variant_is_a_number_of_the_format)
{
    for (size_t i = 0; i < sizeof variants / sizeof *variants; i++) {
        observed o = {0};

        OK(observe_cfg(&o, variants[i], "cpu32"));
        OK(observe_random(&o, 2, 20));
        o.inputs.valid[19] = o.inputs.valid[20] = 0;
        expect_rounded(&o, "bf16");
        expect_rounded(&o, "fp16");
        observe_finish(&o);
    }
}
END_TEST

START_TEST(a_value_that_is_edited_is_stored_in_the_format)
{
    observed o = {0};
    watch w = {.format = TXD_F16, .edit = 0.1};

    OK(observe_cfg(&o, variants[0], "cpu32"));
    OK(observe_random(&o, 1, 8));
    run(&w, &o, backend_of("fp16"));
    ck_assert_msg(w.foreign == 0, "%s", w.first);
    ck_assert(w.edited == 0x1.998p-4); /* the float16 next to 0.1 */
    observe_finish(&o);
}
END_TEST

/* Whether a pass is seen to hold other numbers if one operation does not round. */
static bool is_caught(observed *o, const txd_backend *backend, txd_op op)
{
    const struct txd_ops *wide = &backend_of("cpu32")->ops;
    watch w = {.format = txd_backend_format(backend),
               .edit = NAN,
               .loss_scale = op >= TXD_OP_embed_back};
    txd_backend forgetful = *backend;

    switch (op) {
#define TXD_OP(name, arguments)                                                        \
    case TXD_OP_##name:                                                                \
        forgetful.ops.name = wide->name;                                               \
        break;
        TXD_OPS(TXD_OP)
#undef TXD_OP
    case TXD_OP_COUNT:
        break;
    }
    run(&w, o, &forgetful);
    return w.foreign > 0;
}

START_TEST(one_operation_that_does_not_round_is_enough_to_be_seen)
{
    static const txd_op rounding[] = {
        TXD_OP_linear,        TXD_OP_norm,          TXD_OP_activate,
        TXD_OP_multiply,      TXD_OP_add,           TXD_OP_scale,
        TXD_OP_rotate,        TXD_OP_scores,        TXD_OP_mask,
        TXD_OP_softmax,       TXD_OP_mix,           TXD_OP_loss,
        TXD_OP_embed_back,    TXD_OP_linear_back,   TXD_OP_norm_back,
        TXD_OP_activate_back, TXD_OP_multiply_back, TXD_OP_scale_back,
        TXD_OP_rotate_back,   TXD_OP_scores_back,   TXD_OP_softmax_back,
        TXD_OP_mix_back,      TXD_OP_loss_back,
    };
    observed o = {0};

    OK(observe_cfg(&o,
                   "model : { preset = \"llama\"; vocab = 31; d_model = 24; n_heads = "
                   "4; n_layers = 2; residual_scale = 0.3; }; mask : { fill = "
                   "-1234.567; };",
                   "cpu32"));
    OK(observe_random(&o, 1, 20));
    for (size_t i = 0; i < sizeof rounding / sizeof *rounding; i++) {
        ck_assert_msg(is_caught(&o, backend_of("bf16"), rounding[i]), "operation %d",
                      (int)rounding[i]);
        ck_assert_msg(is_caught(&o, backend_of("fp16"), rounding[i]), "operation %d",
                      (int)rounding[i]);
    }
    observe_finish(&o);
}
END_TEST

/* Master copies in double are rounded once: by way of float32 this one would fall on a
 * tie and become 1. */
START_TEST(a_parameter_is_rounded_once_from_its_master_copy)
{
    observed o = {0};
    txd_params *params;
    txd_param *table = NULL;
    struct observed_site *site;

    OK(observe_cfg(&o, variants[1], "cpu32"));
    OK(txd_params_create(&params, &o.config, TXD_F64));
    for (size_t i = 0; i < txd_params_count(params); i++)
        if (txd_params_at(params, i)->id == TXD_PARAM_EMBED_TOK)
            table = txd_params_at(params, i);
    ck_assert_ptr_nonnull(table);
    for (size_t i = 0; i < txd_tensor_count(&table->value); i++)
        ((double *)table->value.data)[i] = 1 + 0x1p-8 + 0x1p-40;
    txd_params_destroy(o.params);
    o.params = params;
    txd_model_destroy(o.model);
    OK(txd_model_create(&o.model, backend_of("bf16"), &o.config, o.params, 1));
    OK(observe_random(&o, 1, 4));
    OK(observe_pass(&o));
    site = observe_site(&o, "embed.tok");
    ck_assert_ptr_nonnull(site);
    ck_assert(site->values[0] == 1 + 0x1p-7);
    observe_finish(&o);
}
END_TEST

static watch gradients_of(observed *o, const char *backend, double loss_scale)
{
    watch w = {.format = TXD_F32, .edit = NAN, .loss_scale = loss_scale};

    run(&w, o, backend_of(backend));
    return w;
}

/* Gradients of the mean over many tokens are small: below 2^-25 float16 has nothing.
 * Scaled, they are there, and the parameters' come out as large as without. */
START_TEST(a_loss_scale_saves_gradients_that_float16_has_no_numbers_for)
{
    observed o = {0};
    watch exact, lost, saved;

    OK(observe_cfg(&o, variants[1], "cpu32"));
    OK(observe_random(&o, 4, 200));
    exact = gradients_of(&o, "cpu32", 1);
    lost = gradients_of(&o, "fp16", 1);
    saved = gradients_of(&o, "fp16", 4096);
    ck_assert_uint_eq(exact.zeros, 0);
    ck_assert_uint_gt(lost.zeros, 4 * saved.zeros);
    ck_assert_double_lt(fabs(saved.squares / exact.squares - 1), 0.02);
    saved = gradients_of(&o, "cpu32", 4096); /* a power of two costs nothing */
    ck_assert(saved.squares == exact.squares);
    observe_finish(&o);
}
END_TEST

START_TEST(the_bits_do_not_depend_on_the_threads)
{
    observed o = {0};
    double *first;
    size_t count;

    OK(observe_cfg(&o, variants[1], "bf16"));
    OK(observe_random(&o, 4, 200)); /* or one thread does it all */
    o.threads = 1;
    OK(observe_pass(&o));
    count = observe_site(&o, "logits")->count;
    first = observe_site(&o, "logits")->values;
    o.threads = 3;
    OK(observe_pass(&o));
    ck_assert_mem_eq(observe_site(&o, "logits")->values, first, count * sizeof *first);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(every_value_of_a_real_model_is_a_number_of_the_format,
          every_value_of_every_variant_is_a_number_of_the_format,
          a_value_that_is_edited_is_stored_in_the_format,
          one_operation_that_does_not_round_is_enough_to_be_seen,
          a_parameter_is_rounded_once_from_its_master_copy,
          a_loss_scale_saves_gradients_that_float16_has_no_numbers_for,
          the_bits_do_not_depend_on_the_threads)
