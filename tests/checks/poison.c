/* SPDX-License-Identifier: MIT
 *
 * Values and whole gradients are edited; the logits and gradients of tiles, which
 * cannot be, are poisoned where their operation makes them.
 */
#include "poison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "faults/fault.h"

#define SIZES                                                                          \
    "vocab = 11; d_model = 12; n_heads = 4; n_layers = 3; d_ff = 10; "                 \
    "max_seq_len = 16; residual_scale = 0.7; "

const char *const poison_models[] = {
    "model : { preset = \"llama\"; n_kv_heads = 2; " SIZES "};",
    "model : { preset = \"gpt2\"; cross = true; " SIZES "};",
    "model : { preset = \"gpt2\"; norm_placement = \"post\"; " SIZES "};",
    "model : { preset = \"gpt2\"; parallel = true; norm_placement = \"sandwich\"; "
    "norm_offset = 0.5; embed_norm = true; embed_scale = 1.5; token_types = 2; "
    "embed_dim "
    "= 9; head_transform = true; head_bias = true; " SIZES "};",
    "model : { preset = \"gpt2\"; positions = \"relative\"; qk_norm = \"width\"; "
    "score_softcap = 2.0; sinks = true; " SIZES "};",
};

#define INPUT "input : { tokens = ( [3, 1, 4, 1, 5, 9], [2, 6, 5, 3] ); %s };"
#define MEMORY "memory : { random : { length = 5; }; valid = [5, 4]; };"

static bool is_tiled(txd_point point)
{
    txd_place place = txd_point_get(point)->place;

    return place == TXD_PLACE_TILE || place == TXD_PLACE_ROWS;
}

static bool is_own(const poison *p, const txd_site *site)
{
    return !txd_site_is_parameter(site->kind) && site->point == p->point &&
           site->layer == p->layer;
}

static unsigned ask(void *self, const txd_site *site)
{
    const poison *p = self;
    unsigned bits = 0;

    if (!is_own(p, site))
        return 0;
    if (site->kind == TXD_SITE_VALUE)
        bits |= TXD_ASK_VALUE;
    if (site->kind == p->kind && site->point != TXD_POINT_LOGITS &&
        (site->kind == TXD_SITE_VALUE || !is_tiled(site->point)))
        bits |= TXD_ASK_EDIT;
    return bits;
}

/* The element's place in the block; false if it lies in another. */
static bool find(size_t *out, const poison *p, const txd_block *block)
{
    *out = 0;
    for (int axis = 0; axis < block->value.rank; axis++) {
        size_t place = p->at[axis] - block->start[axis];

        if (p->at[axis] < block->start[axis] || place >= block->value.dims[axis])
            return false;
        *out = *out * block->value.dims[axis] + place;
    }
    return true;
}

static void set(txd_tensor *value, size_t i, double to)
{
    if (value->dtype == TXD_F64)
        ((double *)value->data)[i] = to;
    else
        ((float *)value->data)[i] = (float)to;
}

static txd_status edit(void *self, txd_block *block)
{
    poison *p = self;
    size_t i;

    ck_assert(find(&i, p, block));
    p->before = txd_tensor_get(&block->value, i);
    set(&block->value, i, p->value);
    p->planted++;
    return TXD_OK;
}

static txd_status look(void *self, const txd_block *block, const void *slot)
{
    poison *p = self;
    size_t i;

    (void)slot;
    if (block->site->kind == TXD_SITE_VALUE && find(&i, p, block))
        p->forward = txd_tensor_get(&block->value, i);
    return TXD_OK;
}

/* ---- operations ---- */

/* True in the tile of the element; its place in a result of this row stride. */
static bool here(size_t *out, const txd_op_site *at, size_t stride)
{
    const poison *p = at->self;

    if (at->batch >= 0 && (at->batch != (int)p->at[0] || at->head != (int)p->at[1]))
        return false;
    *out = at->batch < 0 ? 0 : (p->at[2] - (size_t)at->first_query) * stride + p->at[3];
    return true;
}

#define POISON(name, arguments, result, stride, from)                                  \
    static txd_status name(txd_ctx *ctx, const struct txd_##arguments##_args *args)    \
    {                                                                                  \
        union {                                                                        \
            const void *self;                                                          \
            poison *poison;                                                            \
        } state = {args->at.self};                                                     \
        struct txd_##arguments##_args below = *args;                                   \
        size_t i;                                                                      \
                                                                                       \
        below.at.self = state.poison->below.self[TXD_OP_##name];                       \
        TXD_TRY(state.poison->below.ops.name(ctx, &below));                            \
        if (args->at.point !=                                                          \
                (int)txd_point_in(txd_point_attention(state.poison->point), from) ||   \
            !here(&i, &args->at, stride))                                              \
            return TXD_OK;                                                             \
        ((double *)args->result)[i] = state.poison->value;                             \
        state.poison->planted++;                                                       \
        return TXD_OK;                                                                 \
    }                                                                                  \
    static void install_##name(struct txd_layer_ops *ops, void *self)                  \
    {                                                                                  \
        ((poison *)self)->below = *ops;                                                \
        ops->ops.name = name;                                                          \
        ops->self[TXD_OP_##name] = self;                                               \
    }

POISON(loss_back, loss_back, d_logits, 0, TXD_POINT_LOSS_TOKEN)
POISON(mix_back, mix_back, d_weights, args->stride, TXD_POINT_ATTN_HEADS)
POISON(softmax_back, softmax_back, d_masked, args->stride, TXD_POINT_ATTN_WEIGHTS)
POISON(mask_back, mask_back, d_scores, args->stride, TXD_POINT_ATTN_MASKED)

/* The first of the first tile of rows. */
static txd_status head(txd_ctx *ctx, const struct txd_linear_args *args)
{
    union {
        const void *self;
        poison *poison;
    } state = {args->at.self};
    struct txd_linear_args below = *args;

    below.at.self = state.poison->below.self[TXD_OP_linear];
    TXD_TRY(state.poison->below.ops.linear(ctx, &below));
    if (args->at.point != TXD_POINT_LOGITS)
        return TXD_OK;
    if (state.poison->below.backend->dtype == TXD_F64)
        *(double *)args->out = state.poison->value;
    else
        *(float *)args->out = (float)state.poison->value;
    state.poison->planted++;
    return TXD_OK;
}

static void install_head(struct txd_layer_ops *ops, void *self)
{
    ((poison *)self)->below = *ops;
    ops->ops.linear = head;
    ops->self[TXD_OP_linear] = self;
}

static void override_of(struct txd_override *out, poison *p)
{
    *out = (struct txd_override){.layer = p->layer, .self = p};
    if (p->point == TXD_POINT_LOGITS && p->kind == TXD_SITE_VALUE) {
        out->layer = POISON_LAYERS;
        out->install = install_head;
        return;
    }
    switch (txd_point_in_self(p->point)) {
    case TXD_POINT_ATTN_WEIGHTS:
        out->install = install_mix_back;
        return;
    case TXD_POINT_ATTN_MASKED:
        out->install = install_softmax_back;
        return;
    case TXD_POINT_ATTN_SCORES:
        out->install = install_mask_back;
        return;
    default: /* the logits */
        out->layer = POISON_LAYERS;
        out->install = install_loss_back;
    }
}

/* ---- runs ---- */

/* A token of the second row that has a loss; of the logits, which cannot be edited, the
 * first. */
static void choose(poison *p)
{
    static const struct {
        char axis;
        size_t place;
    } places[] = {{'b', 1}, {'t', 2}, {'q', 2}, {'k', 1}, {'h', 3}, {'g', 1},
                  {'e', 2}, {'f', 2}, {'d', 7}, {'m', 9}, {'v', 10}};
    const char *axes = txd_point_get(p->point)->axes;

    memset(p->at, 0, sizeof p->at);
    if (p->point == TXD_POINT_LOGITS)
        return;
    for (int axis = 0; axes[axis]; axis++)
        for (size_t i = 0; i < sizeof places / sizeof *places; i++)
            if (places[i].axis == axes[axis])
                p->at[axis] = places[i].place;
}

void poison_run(live *l, poison *p, int model, const char *backend, const char *path)
{
    bool is_gradient = p->kind == TXD_SITE_GRADIENT;
    const char *gradients = is_gradient || p->backward ? ",*@grad" : "";
    txd_tap tap = {.name = "poison",
                   .self = p,
                   .gradients = true,
                   .ask = ask,
                   .edit = edit,
                   .merge = look};
    struct txd_override override;
    live_plant planted = {.tap = &tap, .record = path};
    char text[2048];

    choose(p);
    p->forward = (double)NAN;
    p->planted = 0;
    if (p->point == TXD_POINT_LOGITS || (is_gradient && is_tiled(p->point))) {
        override_of(&override, p);
        planted.override = &override;
    }
    snprintf(text, sizeof text,
             "%s precision : { backend = \"%s\"; }; weights : { init = ( { params = "
             "\"*\"; scheme = \"xavier_normal\"; } ); }; record : ( { probe = "
             "\"full\"; points = \"*%s\"; }, { probe = \"stats\"; points = \"*%s\"; "
             "}, { probe = \"norms\"; } ); " INPUT,
             poison_models[model], backend, gradients, gradients,
             model == POISON_CROSS ? MEMORY : "");
    live_run_planted(l, text, "finite", &planted);
    ck_assert_msg(p->planted > 0, "nothing was planted at %s",
                  txd_point_get(p->point)->name);
}

static const char *word(char axis)
{
    switch (axis) {
    case 'b':
        return "batch row";
    case 't':
        return "token";
    case 'q':
        return "query";
    case 'k':
        return "key";
    case 'h':
        return "head";
    case 'g':
        return "KV head";
    case 'v':
        return "vocabulary entry";
    default:
        return "element";
    }
}

/* "the first is NaN at batch row 1, head 2, query 3, key 0. ". */
static void words_of(char *text, size_t bytes, const poison *p)
{
    const char *axes = txd_point_get(p->point)->axes;
    size_t used;

    snprintf(text, bytes, "the first is %s at ",
             isnan(p->value) ? "NaN" : (p->value < 0 ? "-Inf" : "Inf"));
    for (int axis = 0; axes[axis]; axis++) {
        used = strlen(text);
        snprintf(text + used, bytes - used, "%s%s %zu", axis ? ", " : "",
                 word(axes[axis]), p->at[axis]);
    }
    used = strlen(text);
    snprintf(text + used, bytes - used, ". ");
}

const txd_finding *poison_expect(const live *l, const poison *p)
{
    const txd_result *r = live_result(l, "finite");
    char name[96], words[200];
    const txd_finding *finding;

    txd_point_name(name, sizeof name, p->point, p->layer);
    if (p->kind == TXD_SITE_GRADIENT)
        strcat(name, TXD_GRADIENT_SUFFIX);
    words_of(words, sizeof words, p);
    ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s: %s %s", name,
                  txd_verdict_name(r->verdict), r->note);
    ck_assert_uint_eq(r->finding_count, 1);
    finding = &r->findings[0];
    ck_assert_str_eq(finding->site, name);
    ck_assert_int_eq(finding->layer, p->layer);
    ck_assert_int_eq(finding->batch, (int)p->at[0]);
    ck_assert_msg(strstr(finding->message, words) != NULL, "%s: no \"%s\"",
                  finding->message, words);
    return finding;
}

void poison_every(int model, void (*use)(int model, poison *p))
{
    txd_arena *arena;
    txd_setting *root;
    txd_config config;
    txd_stop *order;
    size_t count;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_cfg_parse(&root, arena, "t.cfg", poison_models[model]),
                     TXD_OK);
    ck_assert_int_eq(txd_config_read(&config, arena, root, NULL), TXD_OK);
    ck_assert_int_eq(txd_points_order(&order, &count, arena, &config), TXD_OK);
    ck_assert_uint_eq(config.n_layers, POISON_LAYERS);
    for (size_t i = 0; i < count; i++) {
        poison p = {.point = order[i].point, .layer = order[i].layer};

        if (txd_point_get(p.point)->place != TXD_PLACE_INPUT)
            use(model, &p);
    }
    txd_arena_destroy(arena);
}
