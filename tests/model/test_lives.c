/* SPDX-License-Identifier: MIT
 *
 * Values of a pass share memory with what comes later, and on the way back some are
 * made again: whatever is named is there all the same, nothing is read that was not
 * formed in this pass, and nobody can tell who else is listening.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cross.h"
#include "model/run_private.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 19; d_model = 24; n_heads = 4; n_layers = 3; d_ff = 40; "                 \
    "max_seq_len = 512; "
#define DRAWN                                                                          \
    "weights : { init = ( { params = \"layers.*\"; scheme = \"normal\"; std = 0.3; } " \
    "); };"

static const char *const variants[] = {
    "model : { preset = \"mini\"; " SIZES "};" DRAWN,
    "model : { preset = \"gpt2\"; " SIZES "norm_placement = \"post\"; };" DRAWN,
    "model : { preset = \"llama\"; " SIZES
    "n_kv_heads = 2; residual_scale = 0.5; };" DRAWN,
    "model : { preset = \"llama\"; " SIZES
    "norm_placement = \"post\"; final_norm = false; };" DRAWN,
    "model : { preset = \"mini\"; " SIZES
    "positions = \"none\"; final_norm = false; };" DRAWN,
    "model : { preset = \"mini\"; " SIZES "cross = true; };" DRAWN,
    "model : { preset = \"gpt2\"; " SIZES
    "cross = true; norm_placement = \"post\"; };" DRAWN,
    "model : { preset = \"llama\"; " SIZES "cross = true; encoder_layers = 2; };" DRAWN,
};

#define VARIANTS (sizeof variants / sizeof *variants)
#define LENGTH 9

/* ---- a tap that names everything, or what it is told ---- */

typedef struct memo {
    uint64_t value, gradient;
} memo;

typedef struct listener {
    txd_tap tap;
    const txd_config *config;
    txd_point named[TXD_POINT_COUNT + 1];
    memo *memos; /* (layer + 1, point); 0 = not offered yet */
    size_t checked[2];
} listener;

static uint64_t hash(const txd_tensor *t)
{
    const uint8_t *byte = t->data;
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < txd_tensor_count(t) * txd_dtype_bytes(t->dtype); i++)
        h = (h ^ byte[i]) * 1099511628211u;
    return h;
}

static bool is_whole(txd_point point)
{
    txd_place place = txd_point_get(point)->place;

    return place != TXD_PLACE_TILE && place != TXD_PLACE_ROWS;
}

static memo *memo_of(const listener *l, txd_point point, int layer)
{
    size_t row = txd_point_per_layer(point) ? (size_t)layer + 1 : 0;

    return &l->memos[row * TXD_POINT_COUNT + point];
}

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return txd_site_is_parameter(site->kind) ? 0 : TXD_ASK_VALUE;
}

static const txd_point *needs(void *self, txd_point point)
{
    (void)point;
    return ((listener *)self)->named;
}

/* Every value of this layer, and of none, that was offered before is what it was. */
static void look_at_values(listener *l, const txd_block *block)
{
    for (const txd_point *p = l->named; *p != TXD_POINT_COUNT; p++) {
        const memo *known = memo_of(l, *p, block->site->layer);
        txd_tensor value;

        if (known->value == 0 || (block->site->layer < 0 && txd_point_per_layer(*p)))
            continue;
        ck_assert_msg(txd_block_earlier(&value, block, *p) == TXD_OK && value.data,
                      "%s at %s: %s", txd_point_get(*p)->name, block->site->name,
                      txd_message());
        ck_assert_msg(hash(&value) == known->value, "%s is another at %s",
                      txd_point_get(*p)->name, block->site->name);
        l->checked[0]++;
    }
}

static void look_at_gradients(listener *l, const txd_block *block)
{
    for (const txd_point *p = l->named; *p != TXD_POINT_COUNT; p++) {
        const memo *known = memo_of(l, *p, block->site->layer);
        txd_tensor gradient;

        if (known->gradient == 0 || (block->site->layer < 0 && txd_point_per_layer(*p)))
            continue;
        OK(txd_block_gradient(&gradient, block, *p));
        ck_assert_msg(hash(&gradient) == known->gradient, "%s@grad is another at %s",
                      txd_point_get(*p)->name, block->site->name);
        l->checked[1]++;
    }
}

static txd_status merge(void *self, const txd_block *block, const void *slot)
{
    listener *l = self;
    memo *known = memo_of(l, block->site->point, block->site->layer);

    (void)slot;
    look_at_values(l, block);
    if (block->site->kind == TXD_SITE_GRADIENT)
        look_at_gradients(l, block);
    if (!is_whole(block->site->point))
        return TXD_OK;
    if (block->site->kind == TXD_SITE_GRADIENT)
        known->gradient = hash(&block->value);
    else
        known->value = hash(&block->value);
    return TXD_OK;
}

/* Names each whole point that `keep` has a bit for. */
static void listen(listener *l, observed *o, uint64_t keep)
{
    size_t count = 0;

    *l = (listener){.config = &o->config};
    for (int p = 0; p < TXD_POINT_COUNT; p++)
        if (is_whole((txd_point)p) && (keep >> p & 1) != 0)
            l->named[count++] = (txd_point)p;
    l->named[count] = TXD_POINT_COUNT;
    l->memos = txd_arena_alloc(o->arena, (o->config.n_layers + 1) * TXD_POINT_COUNT,
                               sizeof *l->memos);
    l->tap = (txd_tap){.name = "listener",
                       .self = l,
                       .gradients = true,
                       .ask = ask,
                       .needs = needs,
                       .merge = merge};
}

/* ---- edits ---- */

static unsigned ask_to_edit(void *self, const txd_site *site)
{
    const char *const *globs = self;

    return site->kind == TXD_SITE_VALUE && txd_glob_list(*globs, site->name)
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    float *values = block->value.data;

    (void)self;
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        values[i] = 0.75f * values[i] + 0.01f;
    return TXD_OK;
}

static const char *const edits[] = {
    "",
    "embed.out,layers.1.resid.pre,layers.*.attn.q,layers.0.mlp.branch",
    "layers.*.norm*,layers.*.mlp.act,layers.*.attn.branch",
    "layers.2.*.k,layers.*.resid.post,layers.1.cross.branch,final.norm",
};

#define EDITS (sizeof edits / sizeof *edits)

/* A model with its inputs and all that a run of it points to. */
typedef struct scene {
    observed o;
    const char *globs; /* of what is edited */
    txd_tap editing, *taps[3];
    txd_run_options options;
} scene;

static void begin(scene *s, size_t variant, size_t edited)
{
    const size_t real[2] = {7, 5};
    observed *o = &s->o;

    *s = (scene){.globs = edits[edited % EDITS]};
    cross_start(o, variants[variant], "cpu32", LENGTH);
    for (size_t t = 0; t < 3; t++)
        o->inputs.valid[LENGTH + t] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross && o->config.encoder)
        OK(observe_source(o, 7, real));
    else if (o->config.cross)
        OK(observe_memory(o, 7, real));
}

static void pass(scene *s, txd_tap *listening)
{
    observed *o = &s->o;

    s->editing =
        (txd_tap){.name = "edits", .self = &s->globs, .ask = ask_to_edit, .edit = edit};
    s->taps[0] = &s->editing;
    s->taps[1] = &o->tap;
    s->taps[2] = listening;
    s->options = (txd_run_options){.claimed = &o->config,
                                   .taps = s->taps,
                                   .tap_count = listening ? 3 : 2,
                                   .backward = true,
                                   .threads = 2};
    if (o->source.batch > 0) {
        OK(txd_encoder_create(&o->encoder, o->backend, &o->config, o->params,
                              &s->options));
        s->options.encoder = txd_encoder_run(o->encoder);
        OK(txd_encoder_pass(o->encoder, &o->inputs, &o->source, 0));
    }
    OK(txd_run_create(&o->run, o->model, &s->options));
    OK(txd_run_pass(o->run, &o->inputs, 0));
}

START_TEST(what_a_tap_names_is_there_and_is_what_it_was)
{
    for (size_t v = 0; v < VARIANTS; v++)
        for (size_t e = 0; e < EDITS; e++) {
            scene s;
            listener l;

            begin(&s, v, e);
            listen(&l, &s.o, UINT64_MAX);
            pass(&s, &l.tap);
            ck_assert_uint_gt(l.checked[0], 100);
            ck_assert_uint_gt(l.checked[1], 100);
            observe_finish(&s.o);
        }
}
END_TEST

/* Who names more keeps more in memory; the numbers are the same. */
START_TEST(who_listens_changes_no_bit)
{
    for (size_t v = 0; v < VARIANTS; v++)
        for (size_t e = 0; e < EDITS; e++) {
            const uint64_t keep[] = {UINT64_MAX, 0x5555555555555555u,
                                     0xccccccccccccccccu, 0x0123456789abcdefu};
            scene alone;

            begin(&alone, v, e);
            pass(&alone, NULL);
            for (size_t k = 0; k < sizeof keep / sizeof *keep; k++) {
                scene s;
                listener l;

                begin(&s, v, e);
                listen(&l, &s.o, keep[k]);
                pass(&s, &l.tap);
                cross_same_bits(&alone.o, &s.o, "*,*@grad");
                observe_finish(&s.o);
            }
            observe_finish(&alone.o);
        }
}
END_TEST

/* All bits 1 are NaN: what is read before it is formed shows. */
START_TEST(a_pass_reads_nothing_that_an_earlier_one_left)
{
    for (size_t v = 0; v < VARIANTS; v++) {
        scene first, second;
        observed *o = &second.o;

        begin(&first, v, v);
        begin(&second, v, v);
        pass(&first, NULL);
        o->only = "nothing";
        pass(&second, NULL);
        o->only = NULL;
        memset(o->run->memory, 0xff, o->run->memory_bytes);
        if (o->encoder) {
            const txd_run *run = txd_encoder_run(o->encoder);

            memset(run->memory, 0xff, run->memory_bytes);
            OK(txd_encoder_pass(o->encoder, &o->inputs, &o->source, 1));
        }
        OK(txd_run_pass(o->run, &o->inputs, 1));
        cross_same_bits(&first.o, o, "*,*@grad");
        observe_finish(&first.o);
        observe_finish(o);
    }
}
END_TEST

/* In vectors of the stream's width per token, at most: what a layer has at once. */
START_TEST(a_pass_forward_keeps_one_layer_and_no_more)
{
    static const char *const layers[] = {"n_layers = 2; ", "n_layers = 12; "};
    size_t bytes[2];
    txd_extent extent = {1, 2048, 0};

    for (int i = 0; i < 2; i++) {
        char cfg[256];
        observed o = {0};
        txd_run_options options = {.claimed = &o.config, .threads = 1};

        snprintf(cfg, sizeof cfg,
                 "model : { preset = \"mini\"; vocab = 19; d_model = 64; n_heads = 4; "
                 "d_ff = 128; max_seq_len = 4096; %s};",
                 layers[i]);
        OK(observe_cfg(&o, cfg, "cpu32"));
        OK(txd_run_create(&o.run, o.model, &options));
        txd_taps_ask(o.run, 0);
        o.run->batch = extent.batch;
        o.run->length = extent.length;
        OK(txd_run_lives(o.run));
        OK(txd_run_places(&bytes[i], o.run));
        observe_finish(&o);
    }
    ck_assert_uint_eq(bytes[0], bytes[1]);
    ck_assert_uint_le(bytes[0], (size_t)7 * 2048 * 64 * sizeof(float));
}
END_TEST

TEST_MAIN(what_a_tap_names_is_there_and_is_what_it_was, who_listens_changes_no_bit,
          a_pass_reads_nothing_that_an_earlier_one_left,
          a_pass_forward_keeps_one_layer_and_no_more)
