/* SPDX-License-Identifier: MIT
 *
 * What taps see of the backward half: every point in reverse order, then every
 * parameter; forward values and later gradients at hand.
 */
#include <stdio.h>
#include <string.h>

#include "slopes.h"
#include "suite.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 3; d_ff = 10; "                 \
    "max_seq_len = 16; "
#define LLAMA "model : { preset = \"llama\"; n_kv_heads = 2; " SIZES "};"
#define CROSS                                                                          \
    "model : { preset = \"gpt2\"; cross = true; norm_placement = \"post\"; " SIZES "}" \
    ";"

static void begin(observed *o, const char *cfg)
{
    const size_t real[2] = {4, 3};

    slopes_model(o, cfg);
    OK(observe_random(o, 2, 7));
    o->inputs.valid[0] = o->inputs.valid[12] = o->inputs.valid[13] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross)
        OK(observe_memory(o, 4, real));
    o->backward = true;
}

/* ---- order ---- */

struct order {
    const char *seen[OBSERVE_SITES];
    size_t index[OBSERVE_SITES];
    size_t count, lasts;
    txd_site_kind kind;
};

static unsigned order_ask(void *self, const txd_site *site)
{
    const struct order *order = self;

    return site->kind == order->kind ? TXD_ASK_VALUE : 0;
}

static txd_status order_merge(void *self, const txd_block *block, const void *slot)
{
    struct order *order = self;

    (void)slot;
    order->lasts += block->last;
    for (size_t i = 0; i < order->count; i++)
        if (strcmp(order->seen[i], block->site->name) == 0)
            return TXD_OK;
    order->index[order->count] = block->site->index;
    order->seen[order->count++] = block->site->name;
    return TXD_OK;
}

static void sites_of(observed *o, struct order *order, txd_site_kind kind)
{
    txd_tap tap = {.name = "order",
                   .self = order,
                   .gradients = true,
                   .ask = order_ask,
                   .merge = order_merge};

    memset(order, 0, sizeof *order);
    order->kind = kind;
    o->before = &tap;
    OK(observe_pass(o));
    o->before = NULL;
    ck_assert_uint_eq(order->lasts, order->count);
}

static void check_order(const char *cfg)
{
    static struct order forward, backward, parameters;
    observed o = {0};
    size_t inputs = 0;
    char name[96];

    begin(&o, cfg);
    o.only = "nothing";
    sites_of(&o, &forward, TXD_SITE_VALUE);
    while (strncmp(forward.seen[inputs], "input.", 6) == 0 &&
           strcmp(forward.seen[inputs], "input.memory") != 0)
        inputs++;
    for (size_t i = 0; i < forward.count; i++) /* the run that named them is gone */
        forward.seen[i] = txd_arena_string(o.arena, forward.seen[i]);
    sites_of(&o, &backward, TXD_SITE_GRADIENT);
    ck_assert_uint_eq(inputs, 5);
    ck_assert_uint_eq(backward.count, forward.count - inputs);
    for (size_t i = 0; i < backward.count; i++) {
        snprintf(name, sizeof name, "%s@grad", forward.seen[forward.count - 1 - i]);
        ck_assert_str_eq(backward.seen[i], name);
        ck_assert_uint_eq(backward.index[i], i);
    }
    sites_of(&o, &parameters, TXD_SITE_PARAMETER_GRADIENT);
    ck_assert_uint_eq(parameters.count, txd_params_count(o.params));
    for (size_t i = 0; i < parameters.count; i++) {
        snprintf(name, sizeof name, "%s@grad", txd_params_at(o.params, i)->name);
        ck_assert_str_eq(parameters.seen[i], name);
        ck_assert_uint_eq(parameters.index[i], i);
    }
    observe_finish(&o);
}

START_TEST(every_point_has_a_gradient_in_reverse_order_and_every_parameter)
{
    check_order(LLAMA);
    check_order(CROSS);
}
END_TEST

static unsigned no_gradient_ask(void *self, const txd_site *site)
{
    ck_assert(!txd_site_is_gradient(site->kind));
    ++*(size_t *)self;
    return 0;
}

START_TEST(taps_that_want_no_gradients_are_not_asked_about_them)
{
    size_t asked = 0;
    txd_tap tap = {.name = "n", .self = &asked, .ask = no_gradient_ask};
    observed o = {0};

    begin(&o, LLAMA);
    o.before = &tap;
    OK(observe_pass(&o));
    ck_assert_uint_gt(asked, 0);
    observe_finish(&o);
}
END_TEST

/* ---- what is at hand ---- */

struct hand {
    observed *o; /* what the forward half had */
    txd_point at, value, gradient;
    int layers; /* how many of the first are looked at; 0: all, and what is of none */
    txd_point needs[3];
    size_t cells;
};

static unsigned hand_ask(void *self, const txd_site *site)
{
    const struct hand *hand = self;

    return site->kind == TXD_SITE_GRADIENT && site->point == hand->at &&
                   (hand->layers == 0 || site->layer < hand->layers)
               ? TXD_ASK_VALUE
               : 0;
}

static const txd_point *hand_needs(void *self, txd_point point)
{
    struct hand *hand = self;

    (void)point;
    hand->needs[0] = hand->value;
    hand->needs[1] = hand->gradient;
    hand->needs[2] = TXD_POINT_COUNT;
    return hand->needs;
}

/* A whole value, or the part of one that a block of the same place holds. */
static void compare(const struct hand *hand, const txd_block *block,
                    const txd_tensor *part, const char *name)
{
    const struct observed_site *site = observe_site(hand->o, name);
    size_t width = part->dims[part->rank - 1], start = 0;

    ck_assert_msg(site != NULL, "%s", name);
    if (txd_point_get(hand->at)->place == TXD_PLACE_TILE && part->rank == 4 &&
        part->dims[0] == 1) /* one tile is all rows of a head here */
        start = (block->start[0] * block->dims[1] + block->start[1]) * block->dims[2] *
                block->dims[3];
    if (part->rank == 3 && hand->at == TXD_POINT_LOGITS)
        start = block->start[0] * block->dims[1] * width;
    for (size_t i = 0; i < txd_tensor_count(part); i++)
        ck_assert_msg(txd_tensor_get(part, i) == site->values[start + i], "%s", name);
}

static txd_status hand_merge(void *self, const txd_block *block, const void *slot)
{
    struct hand *hand = self;
    txd_tensor part;
    char name[96];

    (void)slot;
    TXD_TRY(txd_block_earlier(&part, block, hand->value));
    txd_point_name(name, sizeof name, hand->value, block->site->layer);
    compare(hand, block, &part, name);
    TXD_TRY(txd_block_gradient(&part, block, hand->gradient));
    txd_point_name(name, sizeof name - 5, hand->gradient, block->site->layer);
    compare(hand, block, &part, strcat(name, "@grad"));
    hand->cells += txd_tensor_count(&part);
    return TXD_OK;
}

static txd_status look(observed *o, struct hand *hand)
{
    txd_tap tap = {.name = "hand",
                   .self = hand,
                   .gradients = true,
                   .ask = hand_ask,
                   .needs = hand_needs,
                   .merge = hand_merge};
    observed o2 = *o;
    txd_status status;

    hand->o = o;
    o2.site = txd_arena_alloc(o->arena, OBSERVE_SITES, sizeof *o2.site);
    o2.run = NULL;
    o2.before = &tap;
    o2.only = "nothing";
    o2.tap.self = &o2;
    status = observe_pass(&o2);
    txd_run_destroy(o2.run);
    return status;
}

START_TEST(forward_values_and_later_gradients_are_at_hand_in_every_layer)
{
    static const txd_point cases[][3] = {
        {TXD_POINT_MLP_GATE, TXD_POINT_MLP_GATE, TXD_POINT_MLP_OUT},
        {TXD_POINT_RESID_MID, TXD_POINT_RESID_PRE, TXD_POINT_RESID_POST},
        {TXD_POINT_ATTN_MASKED, TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_WEIGHTS},
        {TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_MASKED},
        {TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_V, TXD_POINT_ATTN_HEADS},
        {TXD_POINT_ATTN_Q, TXD_POINT_ATTN_Q_PROJ, TXD_POINT_ATTN_K},
        {TXD_POINT_NORM1_OUT, TXD_POINT_NORM1_OUT, TXD_POINT_ATTN_Q_PROJ},
        {TXD_POINT_LOGITS, TXD_POINT_LOGITS, TXD_POINT_LOSS_TOKEN},
        {TXD_POINT_FINAL_NORM, TXD_POINT_FINAL_NORM, TXD_POINT_LOSS_TOKEN},
        {TXD_POINT_EMBED_TOK, TXD_POINT_EMBED_TOK, TXD_POINT_EMBED_OUT}};
    observed o = {0};

    begin(&o, LLAMA);
    OK(observe_pass(&o));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hand hand = {
            .at = cases[i][0], .value = cases[i][1], .gradient = cases[i][2]};

        OK(look(&o, &hand));
        ck_assert_uint_gt(hand.cells, 0);
    }
    observe_finish(&o);
}
END_TEST

START_TEST(a_gradient_that_is_not_complete_yet_is_not_at_hand)
{
    static const txd_point cases[][2] = {
        {TXD_POINT_MLP_GATE, TXD_POINT_RESID_MID},
        {TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_MASKED},
        {TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_V},
        {TXD_POINT_RESID_POST, TXD_POINT_RESID_PRE}};
    observed o = {0};

    begin(&o, LLAMA);
    OK(observe_pass(&o));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layers = 1; layers <= 3; layers++) { /* the last of them comes first */
            struct hand hand = {.at = cases[i][0],
                                .value = cases[i][0],
                                .gradient = cases[i][1],
                                .layers = layers};

            ck_assert_int_eq(look(&o, &hand), TXD_ERR_MISSING);
            ck_assert_ptr_nonnull(strstr(txd_message(), "@grad is not at hand"));
        }
    observe_finish(&o);
}
END_TEST

TEST_MAIN(every_point_has_a_gradient_in_reverse_order_and_every_parameter,
          taps_that_want_no_gradients_are_not_asked_about_them,
          forward_values_and_later_gradients_are_at_hand_in_every_layer,
          a_gradient_that_is_not_complete_yet_is_not_at_hand)
