/* SPDX-License-Identifier: MIT
 *
 * Padding is added to either side, with one content and another, and taken away: what
 * real tokens have must stay as it was, within rounding, and which token the padding is
 * must not matter by a bit.
 */
#include "checks/experiments/derive.h"
#include "checks/experiments/versus.h"

#define PADDED 3

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->vocab < 2
               ? "the vocabulary has one token: padding cannot have another content"
               : NULL;
}

static const char *cause(txd_point point, bool is_exact)
{
    if (is_exact)
        return "which token the padding is made a difference: what it holds gets in";
    switch (txd_point_in_self(point)) {
    case TXD_POINT_EMBED_POS:
    case TXD_POINT_EMBED_OUT:
        return "positions count padding, or begin behind it";
    case TXD_POINT_ATTN_HEADS:
        return "padding gets weight, or hides keys";
    default:
        return "what forms it takes in padding, and all that it reads had not moved";
    }
}

static txd_status pair_padded(txd_versus *v, const txd_padding *padding)
{
    const txd_inputs *inputs = v->inputs;
    size_t length = padding->left + inputs->length + padding->right;

    TXD_TRY(
        txd_pairs_before(&v->pairs, &v->count, v->e->arena, inputs, inputs->length));
    for (size_t i = 0; i < v->count; i++) {
        size_t a = v->pairs[i].a;

        v->pairs[i].b =
            a / inputs->length * length + padding->left + a % inputs->length;
    }
    return TXD_OK;
}

static txd_status pass_padded(txd_capture *out, const txd_versus *v,
                              const txd_padding *padding)
{
    const txd_experiment_how how = {0};
    txd_inputs inputs;

    TXD_TRY(txd_derive_padded(&inputs, v->e->arena, v->inputs, padding));
    return txd_capture_pass(out, v->e, &how, &inputs);
}

static txd_status try_contents(const txd_versus *v, txd_padding padding,
                               txd_capture *one)
{
    txd_capture another;
    txd_status status;

    TXD_TRY(pass_padded(one, v, &padding));
    TXD_TRY(txd_versus_judge(v, one, false));
    padding.token = txd_derive_other(v->e->setup->claimed, padding.token);
    status = txd_capture_init(&another, v->e, one->what);
    if (status == TXD_OK)
        status = pass_padded(&another, v, &padding);
    if (status == TXD_OK)
        status = txd_versus_judge_both(v, one, &another);
    txd_capture_finish(&another);
    return status;
}

static txd_status try_padding(txd_versus *v, const char *how, txd_padding padding)
{
    txd_capture one;
    txd_status status;

    v->how = how;
    TXD_TRY(pair_padded(v, &padding));
    status = txd_capture_init(&one, v->e, v->plain.what);
    if (status == TXD_OK)
        status = try_contents(v, padding, &one);
    txd_capture_finish(&one);
    return status;
}

/* The row with the most padding; `batch` if none has any. */
static size_t most_padded(const txd_inputs *inputs)
{
    size_t row = inputs->batch, least = inputs->length;

    for (size_t b = 0; b < inputs->batch; b++)
        if (txd_derive_valid(inputs, b) > 0 && txd_derive_valid(inputs, b) < least) {
            least = txd_derive_valid(inputs, b);
            row = b;
        }
    return row;
}

/* A row by itself, without its padding. */
static txd_status try_alone(txd_versus *v)
{
    size_t row = most_padded(v->inputs), length = v->inputs->length;
    txd_inputs alone;

    if (row == v->inputs->batch)
        return TXD_OK;
    v->how = "without its padding";
    v->count = 0;
    for (size_t i = row * length; i < (row + 1) * length; i++)
        if (v->inputs->valid[i]) {
            v->pairs[v->count] = (txd_token_pair){i, v->count};
            v->count++;
        }
    TXD_TRY(txd_derive_alone(&alone, v->e->arena, v->inputs, row));
    return txd_versus_try(v, &alone, false);
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    txd_versus v = {.e = e, .result = result, .cause = cause};
    txd_status status = txd_versus_begin(&v, &e->inputs, true);

    if (status == TXD_OK)
        status = try_padding(&v, "with 3 tokens of padding before each row",
                             (txd_padding){.left = PADDED});
    if (status == TXD_OK)
        status = try_padding(&v, "with 3 tokens of padding behind each row",
                             (txd_padding){.right = PADDED});
    if (status == TXD_OK)
        status = try_alone(&v);
    txd_versus_finish(&v);
    return status;
}

const txd_check txd_check_padding_invariance = {
    .name = "padding_invariance",
    .law = "padding before, behind, or taken away moves no real token",
    .formula = "|x_s(t) of a padded row - x_s(t)| <= 16 noise_s |x_s(t)| at every "
               "point s; two contents of the padding: the same bits",
    .causes =
        "positions that count padding; keys of padding that are not masked; a norm "
        "or a mean over tokens that takes padding in; a mask made for one side "
        "of padding",
    .look_next = "the point named and what it reads, of that token, with and without "
                 "padding",
    .unit = "rows",
    .allowance = "16 times the measured noise of rounding",
    .exact = true,
    .faults = (const char *const[]){"padding_ignored", "norm_axis_tokens",
                                    "positions_count_padding", NULL},
    .inapplicable = inapplicable,
    .examine = examine,
};
