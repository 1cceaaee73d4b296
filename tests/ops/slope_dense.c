/* SPDX-License-Identifier: MIT
 *
 * Slopes of embeddings, linear maps, norms, activations, pairs and head layout.
 */
#include <math.h>

#include "ops/ref.h"
#include "slope.h"

SLOPE_FORWARD(embed)
SLOPE_FORWARD(linear)
SLOPE_FORWARD(norm)
SLOPE_FORWARD(activate)
SLOPE_FORWARD(multiply)
SLOPE_FORWARD(add)
SLOPE_FORWARD(scale)
SLOPE_FORWARD(split_heads)
SLOPE_FORWARD(merge_heads)
SLOPE_FORWARD(rotate)

void slope_embed_back(struct trial *t)
{
    size_t rows = trial_sizes[t->size], width = 3, vocab = 5;
    struct slope s = {.name = "embed", .forward = forward_embed};
    double *table = slope_numbers(t, "table", vocab * width);
    struct txd_embed_args f = {.table = table, .rows = rows, .width = width};
    struct txd_embed_back_args b = {.rows = rows, .width = width};

    s.args = &f;
    f.ids = b.ids = trial_integers(t, rows, (int32_t)vocab);
    slope_outputs(t, &s, rows * width);
    slope_input(t, &s,
                (struct slope_input){"table", .x = table, .count = vocab * width},
                &b.d_table, true);
    f.out = s.out;
    b.d_out = s.d_out;
    (void)txd_ref64_embed_back(&t->ctx, &b);
    txd_bound_embed_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

static void linear_shape(struct trial *t, size_t rows, size_t n, size_t k, bool add)
{
    struct slope s = {.name = "linear", .forward = forward_linear};
    double *x = slope_numbers(t, "x", rows * k), *w = slope_numbers(t, "w", n * k),
           *bias = slope_numbers(t, "bias", n);
    struct txd_linear_args f = {
        .x = x, .weight = w, .bias = bias, .rows = rows, .n = n, .k = k};
    struct txd_linear_back_args b = {
        .x = x, .weight = w, .rows = rows, .n = n, .k = k, .add = add};

    s.args = &f;
    slope_outputs(t, &s, rows * n);
    slope_input(t, &s, (struct slope_input){"x", .x = x, .count = rows * k}, &b.d_x,
                add);
    slope_input(t, &s, (struct slope_input){"weight", .x = w, .count = n * k},
                &b.d_weight, true);
    slope_input(t, &s, (struct slope_input){"bias", .x = bias, .count = n}, &b.d_bias,
                true);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_linear(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_linear_back(&t->ctx, &b);
    txd_bound_linear_back(s.input[0].allowed, s.input[1].allowed, s.input[2].allowed,
                          &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_linear_back(struct trial *t)
{
    size_t size = trial_sizes[t->size];

    linear_shape(t, size, 5, 9, false);
    linear_shape(t, 3, size, 9, true);
    linear_shape(t, 3, 5, size, false);
}

static void norm_kind(struct trial *t, size_t rows, bool rms, bool add)
{
    size_t width = trial_sizes[t->size], count = rows * width;
    struct slope s = {.name = rms ? "rms norm" : "layer norm", .forward = forward_norm};
    double *x = slope_numbers(t, "x", count), *gain = slope_numbers(t, "gain", width),
           *bias = slope_numbers(t, "bias", width);
    struct txd_norm_args f = {.x = x,
                              .gain = gain,
                              .bias = bias,
                              .rows = rows,
                              .width = width,
                              .eps = 0.25,
                              .offset = rms ? 1 : 0,
                              .root_mean_square = rms};
    struct txd_norm_back_args b = {.x = x,
                                   .gain = gain,
                                   .rows = rows,
                                   .width = width,
                                   .eps = f.eps,
                                   .offset = f.offset,
                                   .root_mean_square = rms,
                                   .add = add};

    s.args = &f;
    slope_outputs(t, &s, count);
    slope_input(t, &s, (struct slope_input){"x", .x = x, .count = count}, &b.d_x, add);
    slope_input(t, &s, (struct slope_input){"gain", .x = gain, .count = width},
                &b.d_gain, true);
    slope_input(t, &s, (struct slope_input){"bias", .x = bias, .count = width},
                &b.d_bias, true);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_norm(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_norm_back(&t->ctx, &b);
    txd_bound_norm_back(s.input[0].allowed, s.input[1].allowed, s.input[2].allowed, &b,
                        txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_norm_back(struct trial *t)
{
    norm_kind(t, 3, true, false);
    norm_kind(t, 3, true, true);
    norm_kind(t, 3, false, false);
    norm_kind(t, 3, false, true);
    if (t->size < 3)
        norm_kind(t, 1030, true, false); /* more than one block of rows */
}

/* relu has a corner at 0: no input stands so near that a step crosses it. */
static void leave_corner(double *x, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (fabs(x[i]) < 0.125)
            x[i] += x[i] < 0 ? -0.125 : 0.125;
}

void slope_activate_back(struct trial *t)
{
    size_t count = trial_sizes[t->size];

    for (int kind = 0; kind < 4; kind++) {
        struct slope s = {.name = "activate", .forward = forward_activate};
        double *x = slope_numbers(t, "x", count);
        struct txd_activate_args f = {.x = x, .count = count, .kind = kind};
        struct txd_activate_back_args b = {.x = x, .count = count, .kind = kind};

        s.args = &f;
        leave_corner(x, count);
        slope_outputs(t, &s, count);
        slope_input(t, &s, (struct slope_input){"x", .x = x, .count = count}, &b.d_x,
                    false);
        f.out = s.out;
        b.d_out = s.d_out;
        s.forward(&f);
        txd_bound_activate(s.allowed, &f, txd_roundoff_of(t->backend));
        (void)txd_ref64_activate_back(&t->ctx, &b);
        txd_bound_activate_back(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
        slope_check(t, &s);
    }
}

static void pair(struct trial *t, bool product)
{
    size_t count = trial_sizes[t->size];
    struct slope s = {.name = product ? "multiply" : "add",
                      .forward = product ? forward_multiply : forward_add};
    double *x = slope_numbers(t, "a", count), *y = slope_numbers(t, "b", count);
    struct txd_pair_args f = {.a = x, .b = y, .count = count};
    struct txd_pair_back_args b = {.a = x, .b = y, .count = count};

    s.args = &f;
    slope_outputs(t, &s, count);
    slope_input(t, &s, (struct slope_input){"a", .x = x, .count = count}, &b.d_a,
                false);
    slope_input(t, &s, (struct slope_input){"b", .x = y, .count = count}, &b.d_b,
                false);
    f.out = s.out;
    b.d_out = s.d_out;
    s.forward(&f);
    txd_bound_pair(s.allowed, &f, txd_roundoff_of(t->backend));
    if (product) {
        (void)txd_ref64_multiply_back(&t->ctx, &b);
        txd_bound_multiply_back(s.input[0].allowed, s.input[1].allowed, &b,
                                txd_roundoff_of(t->backend));
    } else {
        (void)txd_ref64_add_back(&t->ctx, &b);
    }
    slope_check(t, &s);
}

void slope_multiply_back(struct trial *t)
{
    pair(t, true);
}

void slope_add_back(struct trial *t)
{
    pair(t, false);
}

void slope_scale_back(struct trial *t)
{
    size_t count = trial_sizes[t->size];
    struct slope s = {.name = "scale", .forward = forward_scale};
    double *x = slope_numbers(t, "x", count);
    struct txd_scale_args f = {.x = x, .factor = 0.3, .count = count}, b = f;

    s.args = &f;
    slope_outputs(t, &s, count);
    slope_input(t, &s, (struct slope_input){"x", .x = x, .count = count}, &b.out,
                false);
    f.out = s.out;
    b.x = s.d_out;
    s.forward(&f);
    txd_bound_scale(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_scale_back(&t->ctx, &b);
    txd_bound_scale(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

static void heads(struct trial *t, bool split)
{
    size_t length = trial_sizes[t->size], count = 2 * length * 3 * 2;
    struct slope s = {.name = split ? "split_heads" : "merge_heads",
                      .forward = split ? forward_split_heads : forward_merge_heads};
    double *x = slope_numbers(t, "x", count);
    struct txd_heads_args f = {
        .x = x, .batch = 2, .length = length, .heads = 3, .width = 2};
    struct txd_heads_args b = f;

    s.args = &f;
    slope_outputs(t, &s, count);
    slope_input(t, &s, (struct slope_input){"x", .x = x, .count = count}, &b.out,
                false);
    f.out = s.out;
    b.x = s.d_out;
    (void)(split ? txd_ref64_split_heads_back : txd_ref64_merge_heads_back)(&t->ctx,
                                                                            &b);
    slope_check(t, &s);
}

void slope_split_heads_back(struct trial *t)
{
    heads(t, true);
}

void slope_merge_heads_back(struct trial *t)
{
    heads(t, false);
}

static void rotate_kind(struct trial *t, int kind, size_t rope_width)
{
    size_t length = trial_sizes[t->size], width = 10, count = 2 * 3 * length * width;
    struct slope s = {.name = "rotate", .forward = forward_rotate};
    double *x = slope_numbers(t, "x", count);
    struct txd_rotate_args f = {.x = x,
                                .positions = trial_integers(t, 2 * length, 1000),
                                .batch = 2,
                                .heads = 3,
                                .length = length,
                                .width = width,
                                .rope_width = rope_width,
                                .base = 100,
                                .adjacent = kind % 2 == 1,
                                .turns = kind < 2 ? NULL : &trial_turns};
    struct txd_rotate_args b = f;

    s.args = &f;
    slope_outputs(t, &s, count);
    slope_input(t, &s, (struct slope_input){"x", .x = x, .count = count}, &b.out,
                false);
    f.out = s.out;
    b.x = s.d_out;
    s.forward(&f);
    txd_bound_rotate(s.allowed, &f, txd_roundoff_of(t->backend));
    (void)txd_ref64_rotate_back(&t->ctx, &b);
    txd_bound_rotate(s.input[0].allowed, &b, txd_roundoff_of(t->backend));
    slope_check(t, &s);
}

void slope_rotate_back(struct trial *t)
{
    for (int kind = 0; kind < 4; kind++)
        for (size_t rope_width = 2; rope_width <= 10; rope_width += 4)
            rotate_kind(t, kind, rope_width);
}
