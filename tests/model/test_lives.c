/* SPDX-License-Identifier: MIT
 *
 * Values of a pass share memory with what comes later, and on the way back some are
 * made again: whatever is named is there all the same, nothing is read that was not
 * formed in this pass, and nobody can tell who else is listening.
 */
#include <stdio.h>
#include <string.h>

#include "model/run_private.h"
#include "scene.h"
#include "suite.h"

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
    size_t bytes = txd_tensor_count(t) * txd_dtype_bytes(t->dtype);
    uint64_t h = 14695981039346656037u;

    for (size_t i = 0; i < bytes; i++)
        h = (h ^ byte[i]) * 1099511628211u;
    return h;
}

static bool is_whole(txd_point point)
{
    txd_place place = txd_point_get(point)->place;

    return place != TXD_PLACE_TILE && place != TXD_PLACE_ROWS;
}

/* Before the layers, on the way back, the first is at hand; behind them the last. */
static int layer_seen_from(const listener *l, const txd_site *site)
{
    bool is_before = site->point < TXD_POINT_RESID_PRE;

    if (site->layer >= 0 || (is_before && site->kind != TXD_SITE_GRADIENT))
        return site->layer;
    return is_before ? 0 : (int)l->config->n_layers - 1;
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

/* Every value of the layer that is at hand, and of none, that was offered before is
 * what it was. */
static void look_at_values(listener *l, const txd_block *block)
{
    for (const txd_point *p = l->named; *p != TXD_POINT_COUNT; p++) {
        const memo *known = memo_of(l, *p, layer_seen_from(l, block->site));
        txd_tensor value;

        if (known->value == 0)
            continue;
        if (txd_block_earlier(&value, block, *p) != TXD_OK) {
            /* what is made again as the way back enters the layer is not yet, or no
             * longer, at hand outside of it */
            ck_assert_msg(block->site->layer < 0 && txd_point_per_layer(*p),
                          "%s at %s: %s", txd_point_get(*p)->name, block->site->name,
                          txd_message());
            continue;
        }
        ck_assert_ptr_nonnull(value.data);
        ck_assert_msg(hash(&value) == known->value, "%s is another at %s",
                      txd_point_get(*p)->name, block->site->name);
        l->checked[0]++;
    }
}

static void look_at_gradients(listener *l, const txd_block *block)
{
    for (const txd_point *p = l->named; *p != TXD_POINT_COUNT; p++) {
        const memo *known = memo_of(l, *p, layer_seen_from(l, block->site));
        txd_tensor gradient;

        if (known->gradient == 0)
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

/* Names each whole point that `keep` has a bit for, over and over. */
static void listen(listener *l, observed *o, uint64_t keep)
{
    size_t count = 0;

    *l = (listener){.config = &o->config};
    for (int p = 0; p < TXD_POINT_COUNT; p++)
        if (is_whole((txd_point)p) && (keep >> p % 64 & 1) != 0)
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

START_TEST(what_a_tap_names_is_there_and_is_what_it_was)
{
    for (size_t v = 0; v < SCENES; v++)
        for (size_t e = 0; e < SCENE_EDITS; e++) {
            scene s;
            listener l;

            scene_begin(&s, v, e);
            listen(&l, &s.o, UINT64_MAX);
            scene_pass(&s, &l.tap);
            ck_assert_uint_gt(l.checked[0], 100);
            ck_assert_uint_gt(l.checked[1], 100);
            observe_finish(&s.o);
        }
}
END_TEST

/* Who names more keeps more in memory; the numbers are the same. */
START_TEST(who_listens_changes_no_bit)
{
    for (size_t v = 0; v < SCENES; v++)
        for (size_t e = 0; e < SCENE_EDITS; e++) {
            const uint64_t keep[] = {UINT64_MAX, 0x5555555555555555u,
                                     0xccccccccccccccccu, 0x0123456789abcdefu};
            scene alone;

            scene_begin(&alone, v, e);
            scene_pass(&alone, NULL);
            for (size_t k = 0; k < sizeof keep / sizeof *keep; k++) {
                scene s;
                listener l;

                scene_begin(&s, v, e);
                listen(&l, &s.o, keep[k]);
                scene_pass(&s, &l.tap);
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
    for (size_t v = 0; v < SCENES; v++) {
        scene first, second;
        observed *o = &second.o;

        scene_begin(&first, v, v);
        scene_begin(&second, v, v);
        scene_pass(&first, NULL);
        o->only = "nothing";
        scene_pass(&second, NULL);
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
    txd_extent extent = {1, 2048, 0, 0};

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
