/* SPDX-License-Identifier: MIT
 *
 * The ways in which people come to NaN, infinities and lost digits, one test each: the
 * law `finite` names where it was made, what met there, and the class of the cause, in
 * the first, the middle and the last layer; where nothing is infinite it is silent and
 * another law speaks; and of what is harmless none does.
 */
#include "nan_class.h"

#include <math.h>

/* ---- masks ---- */

START_TEST(a_fully_masked_row)
{
    nan_class_expect(&(nan_class){
        .cfg = MINI TOKENS "faults : ( { name = \"fully_masked_row\"; layers = \"%d\"; "
                           "queries = \"4\"; } );",
        .point = "attn.masked",
        .at = {0, 0, 4, 0},
        .operands = "Made from attn.scores ",
        .cause = "a fully masked row: this query may see 5 keys"});
}
END_TEST

/* All cells are the same finite number: weights of 1 / keys, and no NaN. */
START_TEST(a_fully_masked_row_of_a_finite_fill_is_no_nan)
{
    nan_class_expect_finite(
        &(nan_class){.cfg = MINI TOKENS
                     "mask : { fill = -1e30; }; faults : ( { name = "
                     "\"fully_masked_row\"; layers = \"%d\"; queries = \"4\"; } );"},
        "mask_fill");
}
END_TEST

#define NO_MEMORY                                                                      \
    "model : { preset = \"gpt2\"; cross = true; d_model = 32; n_heads = 4; " SIZES     \
    "}; input : { tokens = ( [3, 1, 4, 15, 9], [8, 9, 7, 9] ); memory : { random : { " \
    "length = 5; }; valid = [4, 0]; }; }; mask : { evaluate_hidden = \"always\"; }; "

START_TEST(nan_only_in_the_backward_half_of_a_row_without_keys)
{
    nan_class_expect_healthy(NO_MEMORY BACKWARD);
    nan_class_expect(
        &(nan_class){.cfg = NO_MEMORY BACKWARD
                     "faults : ( { name = \"memory_padding_ignored\"; layers = "
                     "\"%d\"; } ); ",
                     .op = {.masked = TXD_POINT_CROSS_MASKED, .padded = 5},
                     .point = "cross.q@grad",
                     .at = {1, 0, 0, -1},
                     .operands = "Forward: cross.k up to ",
                     .cause = "the softmax's backward half of a row without keys",
                     .install = wrong_empty_back});
}
END_TEST

#define SHUT_PADDING "faults : ( { name = \"padding_ignored\"; layers = \"%d\"; } ); "

/* Weights of padding are 0, but multiplied. */
START_TEST(nan_behind_a_mask_that_leaks)
{
    nan_class c = {.cfg = MINI PADDED,
                   .point = "attn.heads",
                   .at = {1, 0, 2, -1},
                   .operands = "Made from attn.v up to NaN",
                   .cause = "attn.v holds NaN only where nothing is judged (padding",
                   .token = {TXD_POINT_ATTN_V, 0, 1, 0, (double)NAN, 0}};
    nan_class of_key = {.cfg = MINI PADDED BACKWARD,
                        .point = "attn.q@grad",
                        .at = {1, 0, 2, -1},
                        .operands = "Forward: attn.k up to Inf, attn.q ",
                        .cause = "attn.k holds Inf only where nothing is judged",
                        .token = {TXD_POINT_ATTN_K, 0, 1, 0, INFINITY, 0}};

    nan_class_expect_finite(&c, NULL);
    nan_class_expect_finite(&of_key, NULL);
    c.cfg = MINI PADDED SHUT_PADDING;
    of_key.cfg = MINI PADDED BACKWARD SHUT_PADDING;
    c.install = of_key.install = wrong_mask_padding;
    c.op = of_key.op = (wrong_op){.masked = TXD_POINT_ATTN_MASKED, .padded = 2};
    nan_class_expect(&c);
    nan_class_expect(&of_key);
}
END_TEST

/* It is noticed in earlier queries too, but made in the values. */
START_TEST(nan_of_a_real_key_is_told_where_it_is_made)
{
    nan_class_expect(
        &(nan_class){.cfg = MINI TOKENS,
                     .point = "attn.v",
                     .at = {0, -1, -1, 5},
                     .operands = "Made from norm1.out up to ",
                     .cause = "No cause is certain: everything before it is finite",
                     .token = {TXD_POINT_ATTN_V, 0, 0, 5, (double)NAN, 0}});
}
END_TEST

START_TEST(the_smallest_number_plus_something)
{
    nan_class_expect_healthy(MINI TOKENS FP16 "mask : { fill = -65504.0; }; ");
    nan_class_expect(
        &(nan_class){.cfg = MINI TOKENS FP16 "mask : { fill = -65504.0; }; ",
                     .point = "attn.masked",
                     .at = {0, 0, CLOSED_QUERY, 0},
                     .operands = "Made from attn.scores ",
                     .cause = "mask.fill, -6.55e+04, is finite: something was added "
                              "to it and left float16 (up to 65504)",
                     .install = wrong_mask_twice});
}
END_TEST

START_TEST(a_mask_constant_that_cannot_be_stored)
{
    nan_class_expect(
        &(nan_class){.cfg = MINI TOKENS FP16
                     "mask : { fill = -1e9; }; faults : ( { name = "
                     "\"fully_masked_row\"; layers = \"%d\"; queries = \"4\"; } );",
                     .point = "attn.masked",
                     .at = {0, 0, 4, 0},
                     .operands = "Made from attn.scores ",
                     .cause = "mask.fill, -1e+09, is beyond float16 (up to 65504) "
                              "and was stored as -Inf"});
}
END_TEST

START_TEST(a_mask_constant_that_is_too_weak_is_no_nan)
{
    nan_class_expect_finite(&(nan_class){.cfg = MINI TOKENS "faults : ( { name = "
                                                            "\"mask_fill_too_weak\"; "
                                                            "layers = \"%d\"; } );"},
                            "causality");
}
END_TEST

/* ---- scores and softmax ---- */

#define LONG_QUERIES(gain) INIT(CONSTANT("*.norm1.weight", gain))
#define PLAIN "model : { preset = \"mini\"; d_model = 64; n_heads = 1; " SIZES "}; "
#define CAPPED                                                                         \
    "model : { preset = \"mini\"; d_model = 64; n_heads = 1; score_softcap = "         \
    "2.0; " SIZES "}; "

START_TEST(queries_and_keys_overflow_unscaled)
{
    nan_class_expect_healthy(PLAIN FP16 TOKENS LONG_QUERIES("100.0"));
    nan_class_expect(
        &(nan_class){.cfg = PLAIN FP16 TOKENS LONG_QUERIES(
                         "100.0") "faults : ( { name = \"scale_missing\"; layers = "
                                  "\"%d\"; } );",
                     .point = "attn.scores",
                     .is_sought = true,
                     .operands = "attn.q up to ",
                     .cause = "the scale is missing: q.k is "});
}
END_TEST

START_TEST(a_key_that_overflows_is_an_earlier_origin)
{
    nan_class_expect(
        &(nan_class){.cfg = "model : { preset = \"mini\"; d_model = 32; n_heads "
                            "= 4; qkv = \"separate\"; " SIZES "}; " FP16 TOKENS INIT(
                                "{ params = \"layers.%d.attn.k.weight\"; scheme = "
                                "\"normal\"; std = 1e4; }"),
                     .point = "attn.k_proj",
                     .at = {0, -1, -1, 0},
                     .operands = "Made from norm1.out up to ",
                     .cause = "overflow of float16 (up to 65504): finite values "});
}
END_TEST

START_TEST(a_softmax_without_the_largest_score)
{
    nan_class c = {.cfg = PLAIN TOKENS LONG_QUERIES("100.0"),
                   .point = "attn.weights",
                   .at = {0, 0, 0, 0},
                   .operands = "Made from attn.masked up to ",
                   .cause = "the softmax does not subtract the largest score, ",
                   .install = wrong_softmax,
                   .op = {.is_constant = true}};

    nan_class_expect_healthy(c.cfg);
    nan_class_expect(&c);
    c.op.start = 50; /* a constant instead of the largest */
    nan_class_expect(&c);
}
END_TEST

START_TEST(a_softmax_made_again_without_the_largest_score)
{
    nan_class_expect(
        &(nan_class){.cfg = PLAIN TOKENS BACKWARD LONG_QUERIES("100.0"),
                     .point = "attn.masked@grad",
                     .at = {0, 0, 0, 0},
                     .operands = "Forward: attn.masked ",
                     .cause = "the softmax does not subtract the largest score, ",
                     .install = wrong_softmax_back});
}
END_TEST

/* Scores of -400 and less, below where the search for the largest begins. */
START_TEST(a_finite_minus_infinity_above_the_scores)
{
    nan_class c = {.cfg = PLAIN TOKENS LONG_QUERIES("100.0"),
                   .install = wrong_softmax,
                   .op = {.start = 2000, .is_guarded = true}};

    nan_class_expect_finite(&c, "row_sum");
    c.op.is_guarded = false;
    c.point = "attn.weights";
    c.operands = "Made from attn.masked up to ";
    c.cause = "exp of the whole row is 0, as it is below -104";
    c.at = (spot){0, 0, 0, 0};
    nan_class_expect(&c);
}
END_TEST

START_TEST(a_soft_cap_of_exponentials)
{
    nan_class_expect_healthy(CAPPED TOKENS BACKWARD LONG_QUERIES("100.0"));
    nan_class_expect(
        &(nan_class){.cfg = CAPPED TOKENS LONG_QUERIES("100.0"),
                     .point = "attn.capped",
                     .is_sought = true,
                     .operands = "Made from attn.scores ",
                     .cause = "the soft cap is made of exponentials: score / cap is ",
                     .install = wrong_softcap});
    nan_class_expect(
        &(nan_class){.cfg = CAPPED TOKENS BACKWARD LONG_QUERIES("100.0"),
                     .point = "attn.scores@grad",
                     .is_sought = true,
                     .operands = "Forward: attn.scores ",
                     .cause = "the soft cap is made of exponentials: score / cap is ",
                     .install = wrong_softcap_back});
}
END_TEST

START_TEST(a_softmax_in_half_precision_is_no_nan)
{
    nan_class_expect_finite(&(nan_class){.cfg = MINI TOKENS
                                         "faults : ( { name = "
                                         "\"softmax_bf16\"; layers = \"%d\"; "
                                         "} );"},
                            "softmax_precision");
}
END_TEST

/* ---- around attention ---- */

START_TEST(an_mlp_that_overflows)
{
    nan_class_expect(&(nan_class){
        .cfg =
            MINI FP16 TOKENS INIT("{ params = \"layers.%d.mlp.down.weight\"; scheme = "
                                  "\"normal\"; std = 1e4; }"),
        .point = "mlp.out",
        .is_sought = true,
        .operands = "Made from mlp.act up to ",
        .cause = "overflow of float16 (up to 65504): finite values "});
}
END_TEST

START_TEST(a_weight_beyond_the_format)
{
    nan_class_expect(&(nan_class){
        .cfg =
            MINI FP16 TOKENS INIT("{ params = \"layers.%d.mlp.down.weight\"; scheme = "
                                  "\"constant\"; value = 7e4; }"),
        .point = "mlp.out",
        .at = {0, -1, 0, -1},
        .operands = "Made from mlp.act up to ",
        .cause = "its weight reaches 7e+04, beyond float16 (up to "
                 "65504), and was stored as Inf"});
}
END_TEST

START_TEST(a_stream_that_overflows)
{
    nan_class_expect(&(nan_class){
        .cfg = "model : { preset = \"mini\"; d_model = 32; n_heads = 4; out_bias = "
               "true; mlp_bias = true; " SIZES "}; " FP16 TOKENS INIT(
                   "{ params = \"layers.%d.mlp.down.bias,layers.%d.attn.o.bias\"; "
                   "scheme = \"constant\"; value = 4e4; }"),
        .point = "resid.post",
        .at = {0, -1, 0, -1},
        .operands = "Made from resid.mid 4e+04, mlp.branch 4e+04",
        .cause = "overflow of float16 (up to 65504): it is 8e+04"});
}
END_TEST

START_TEST(an_mlp_whose_gradient_overflows)
{
    nan_class_expect(&(nan_class){
        .cfg = MINI TOKENS BACKWARD
        "precision : { backend = \"fp16\"; loss_scale = 1024.0; }; " INIT(
            "{ params = \"layers.%d.mlp.down.weight\"; scheme = \"normal\"; "
            "std = 5e3; }, { params = \"layers.*.mlp.up.*\"; scheme = "
            "\"constant\"; value = 0.0; }"),
        .point = "mlp.act@grad",
        .at = {0, -1, 0, -1},
        .operands = "mlp.out@grad up to ",
        .cause = "overflow of float16 (up to 65504): gradients here reach "});
}
END_TEST

#define CONSTANT_ROW                                                                   \
    "model : { preset = \"gpt2\"; d_model = 32; n_heads = 4; norm_eps = 1e-5; " SIZES  \
    "}; " TOKENS

START_TEST(an_eps_that_is_lost)
{
    nan_class c = {.cfg = CONSTANT_ROW,
                   .point = "norm1.out",
                   .at = {0, -1, 3, -1},
                   .operands = "Made from resid.pre up to 2",
                   .cause = "0/0: the row of resid.pre is constant",
                   .token = {TXD_POINT_RESID_PRE, 0, 0, 3, 2, 0}};
    nan_class back = {.cfg = CONSTANT_ROW BACKWARD,
                      .point = "resid.pre@grad",
                      .at = {0, -1, 3, -1},
                      .operands = "Forward: resid.pre 2",
                      .cause = "0/0 in the backward half of the norm that reads "
                               "resid.pre: its row is constant",
                      .install = wrong_norm_back,
                      .token = {TXD_POINT_RESID_PRE, 0, 0, 3, 2, 0}};

    nan_class_expect_harmless(&back);
    c.install = wrong_norm;
    nan_class_expect(&c);
    nan_class_expect(&back);
}
END_TEST

/* ---- digits that are lost ---- */

START_TEST(angles_in_half_precision_are_no_nan)
{
    nan_class_expect_finite(
        &(nan_class){
            .cfg = "model : { preset = \"llama\"; d_model = 32; n_heads = 4; " SIZES
                   "}; " TOKENS "faults : ( { name = "
                   "\"rope_half_precision\"; layers = \"%d\"; } );"},
        "rotation_angle");
}
END_TEST

START_TEST(a_multiplier_that_is_rounded_is_no_nan)
{
    nan_class_expect_finite(
        &(nan_class){.cfg = "model : { preset = \"llama\"; d_model = 32; n_heads = 4; "
                            "embed_scale = 6.93; " SIZES "}; " TOKENS
                            "faults : ( { name = \"embedding_scale_rounded\"; } );"},
        "embedding_sum");
}
END_TEST

/* ---- what is harmless ---- */

START_TEST(another_order_of_sums_draws_no_accusation)
{
    nan_class_expect_finite(
        &(nan_class){.cfg = MINI TOKENS BACKWARD INIT("{ params = \"embed.*\"; scheme "
                                                      "= \"normal\"; std = 1.0; }"),
                     .install = other_order},
        NULL);
}
END_TEST

START_TEST(what_padded_rows_hold_draws_no_accusation)
{
    nan_class c = {.cfg = MINI PADDED BACKWARD,
                   .token = {TXD_POINT_RESID_PRE, 0, 1, 1, 1000, 0}};

    nan_class_expect_finite(&c, NULL);
    c.cfg = MINI PADDED; /* 0 x NaN on the way back is no longer harmless */
    c.token.value = (double)NAN;
    nan_class_expect_finite(&c, NULL);
}
END_TEST

TEST_MAIN(a_fully_masked_row, a_fully_masked_row_of_a_finite_fill_is_no_nan,
          nan_only_in_the_backward_half_of_a_row_without_keys,
          nan_behind_a_mask_that_leaks, nan_of_a_real_key_is_told_where_it_is_made,
          the_smallest_number_plus_something, a_mask_constant_that_cannot_be_stored,
          a_mask_constant_that_is_too_weak_is_no_nan,
          queries_and_keys_overflow_unscaled, a_key_that_overflows_is_an_earlier_origin,
          a_softmax_without_the_largest_score,
          a_softmax_made_again_without_the_largest_score,
          a_finite_minus_infinity_above_the_scores, a_soft_cap_of_exponentials,
          a_softmax_in_half_precision_is_no_nan, an_mlp_that_overflows,
          a_weight_beyond_the_format, a_stream_that_overflows,
          an_mlp_whose_gradient_overflows, an_eps_that_is_lost,
          angles_in_half_precision_are_no_nan, a_multiplier_that_is_rounded_is_no_nan,
          another_order_of_sums_draws_no_accusation,
          what_padded_rows_hold_draws_no_accusation)
