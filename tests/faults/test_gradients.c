/* SPDX-License-Identifier: MIT
 *
 * A faulty operation has the gradient of what it computes: its backward entry against
 * finite differences of its forward entry, in ref64. Faults of the backward pass alone
 * have not.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"
#include "suite.h"
#include "worst.h"

/* Central differences of step 1e-5 in double. */
#define CLOSE 1e-7

static const struct {
    const bench_op *op;
    txd_point point;
} operations[] = {
    {&bench_norm, TXD_POINT_NORM1_OUT},    {&bench_rms, TXD_POINT_NORM2_OUT},
    {&bench_norm, TXD_POINT_FINAL_NORM},   {&bench_add, TXD_POINT_RESID_MID},
    {&bench_add, TXD_POINT_RESID_POST},    {&bench_split, TXD_POINT_RESID_MID},
    {&bench_merge, TXD_POINT_RESID_MID},   {&bench_scores, TXD_POINT_RESID_MID},
    {&bench_softmax, TXD_POINT_RESID_MID}, {&bench_linear, TXD_POINT_ATTN_OUT},
    {&bench_linear, TXD_POINT_MLP_UP},     {&bench_linear, TXD_POINT_LOGITS_RAW},
    {&bench_activate, TXD_POINT_MLP_ACT},  {&bench_scale, TXD_POINT_EMBED_SCALED},
    {&bench_scale, TXD_POINT_LOGITS},      {&bench_softcap, TXD_POINT_LOGITS},
    {&bench_softcap, TXD_POINT_RESID_MID}, {&bench_rotate, TXD_POINT_RESID_MID},
    {&bench_sink, TXD_POINT_RESID_MID},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

/* The largest error over all operations, where faults replace them. */
static double error_of(const char *more, const char *faults, const char **where)
{
    double worst = 0;
    bench b;

    bench_begin_in(&b, more, faults);
    for (int i = 0; i < OPERATIONS; i++) {
        double error;

        b.point = operations[i].point;
        error = bench_error(&b, &b, operations[i].op);
        if (!(error <= worst))
            *where = operations[i].op->name;
        worst = worst_of(worst, error);
    }
    bench_end(&b);
    return worst;
}

/* Roundings have no derivative: see below. Cross-attention, padding, checkpoints and
 * positions are not on the bench; nor is what the decoder itself does by
 * another configuration. What gives zeros alone has no slope to measure: see below. */
static const char *const elsewhere =
    "units_dead,"
    "mask_fill_finite,"
    "bias_dropped,"
    "sentinel_above_scores,mask_of_other_sample,mask_on_queries,"
    "softmax_bf16,fp16_scores,cross_causal,padding_ignored,memory_padding_ignored,"
    "documents_ignored,window_*,positions_*,norm_over_batch,"
    "kv_*,rope_wrong_pairing,rope_wrong_base,rope_partial_ignored,"
    "alibi_slopes_wrong";

/* Further keys of the model in which a fault can act. */
static const char *model_for(const char *fault)
{
    static const struct {
        const char *faults, *more;
    } models[] = {
        {"sinusoid_exponent", "positions = \"sinusoidal\";"},
        {"rope_*,position_offset", "positions = \"rotary\"; head_dim = 8;"},
        {"softcap_missing", "score_softcap = 1.5;"},
        {"head_init_too_large", "tie_embeddings = false;"},
        {"sinks_ignored", "sinks = true;"},
        {"qk_norm_missing", "qk_norm = \"head\";"},
        {"*", ""},
    };
    size_t i = 0;

    while (!txd_glob_list(models[i].faults, fault))
        i++;
    return models[i].more;
}

START_TEST(without_faults_the_bench_finds_nothing)
{
    const char *where = "";
    double error = error_of("", "", &where);

    ck_assert_msg(error <= CLOSE, "%s: %g", where, error);
}
END_TEST

START_TEST(every_faulty_forward_has_its_own_gradient)
{
    for (size_t f = 0; txd_fault_at(f); f++) {
        const char *name = txd_fault_name(txd_fault_at(f)), *where = "";
        char use[96];
        double error;

        if (txd_glob_list(elsewhere, name) || txd_fault_is_backward(txd_fault_at(f)))
            continue;
        snprintf(use, sizeof use, "{ name = \"%s\"; }", name);
        error = error_of(model_for(name), use, &where);
        ck_assert_msg(error <= CLOSE, "%s: %s: %g", name, where, error);
    }
}
END_TEST

/* Or a fault of forward could go without its backward entry and nobody would see. */
START_TEST(the_right_backward_of_a_faulty_forward_is_found)
{
    const struct {
        const char *use;
        const bench_op *op;
    } cases[] = {{"{ name = \"mask_after_softmax\"; }", &bench_softmax},
                 {"{ name = \"norm_axis_tokens\"; }", &bench_norm},
                 {"{ name = \"head_split_view\"; }", &bench_split},
                 {"{ name = \"head_merge_view\"; }", &bench_merge},
                 {"{ name = \"strides_ignored\"; }", &bench_merge},
                 {"{ name = \"rope_table_mismatch\"; }", &bench_rotate},
                 {"{ name = \"rope_wrong_sign\"; }", &bench_rotate},
                 {"{ name = \"residual_missing\"; }", &bench_add}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bench faulty, right;

        bench_begin_in(&faulty, cases[i].op == &bench_rotate ? model_for("rope_*") : "",
                       cases[i].use);
        bench_begin(&right, "");
        ck_assert_double_gt(bench_error(&right, &faulty, cases[i].op), 1e-2);
        bench_end(&faulty);
        bench_end(&right);
    }
}
END_TEST

START_TEST(faults_of_the_backward_pass_leave_forward_and_break_the_gradient)
{
    const struct {
        const char *use;
        const bench_op *op;
    } cases[] = {{"{ name = \"grad_zeroed\"; }", &bench_add},
                 {"{ name = \"softmax_jacobian_wrong\"; }", &bench_softmax}};

    for (size_t i = 0; i < 2; i++) {
        bench b;

        bench_begin(&b, cases[i].use);
        ck_assert(b.layer.ops.add == b.layer.backend->ops.add);
        ck_assert(b.layer.ops.softmax == b.layer.backend->ops.softmax);
        ck_assert_double_gt(bench_error(&b, &b, cases[i].op), 1e-2);
        bench_end(&b);
    }
}
END_TEST

START_TEST(a_detached_branch_gets_nothing_and_the_stream_everything)
{
    double in[240], d_out[120], d_in[240];
    bench b;

    ck_assert_uint_eq(bench_add.inputs, 240);
    for (size_t i = 0; i < 240; i++)
        in[i] = (double)i;
    for (size_t i = 0; i < 120; i++)
        d_out[i] = 1 + (double)i;
    bench_begin(&b, "{ name = \"grad_zeroed\"; }");
    bench_add.backward(&b, d_in, d_out, in);
    for (size_t i = 0; i < 120; i++) {
        ck_assert_double_eq(d_in[i], d_out[i]);
        ck_assert_double_eq(d_in[120 + i], 0);
    }
    b.point = TXD_POINT_EMBED_OUT;
    bench_add.backward(&b, d_in, d_out, in);
    ck_assert_double_eq(d_in[121], d_out[1]);
    bench_end(&b);
}
END_TEST

/* Rows sum to the dot product of weights and gradient instead of to 0. */
START_TEST(without_the_mean_gradients_of_a_row_do_not_cancel)
{
    double in[21], d_out[21], d_in[21], weights[21];
    bench b;

    for (size_t i = 0; i < 21; i++) {
        in[i] = sin((double)i);
        d_out[i] = 1;
    }
    bench_begin(&b, "{ name = \"softmax_jacobian_wrong\"; queries = 3; }");
    bench_softmax.forward(&b, weights, in);
    bench_softmax.backward(&b, d_in, d_out, in);
    for (size_t r = 0; r < 3; r++) {
        double sum = 0;

        for (size_t j = 0; j < 7; j++)
            sum += d_in[r * 7 + j];
        ck_assert(txd_close(sum, r == 1 ? 1 : 0, 1e-15)); /* query 3 is row 1 */
    }
    for (size_t j = 0; j < 7; j++)
        ck_assert(txd_close(d_in[7 + j], weights[7 + j], 1e-15));
    bench_end(&b);
}
END_TEST

/* Row 0 is empty: what the fault makes of the others does not depend on it. */
START_TEST(rows_beside_one_without_keys_have_their_gradients)
{
    const char *const uses[] = {"{ name = \"softmax_jacobian_wrong\"; }",
                                "{ name = \"mask_after_softmax\"; }"};
    double in[21], d_out[21], alone[21], beside[21];

    for (int fault = 0; fault < 2; fault++) {
        bench b;

        for (size_t i = 0; i < 21; i++) {
            in[i] = sin((double)i);
            d_out[i] = cos((double)i);
        }
        bench_begin(&b, uses[fault]);
        bench_softmax.backward(&b, alone, d_out, in);
        for (size_t j = 0; j < 7; j++)
            in[j] = -INFINITY;
        bench_softmax.backward(&b, beside, d_out, in);
        for (size_t j = 0; j < 7; j++)
            ck_assert_double_eq(beside[j], 0);
        ck_assert_mem_eq(beside + 7, alone + 7, 14 * sizeof *alone);
        ck_assert_double_ne(alone[8], 0);
        bench_end(&b);
    }
}
END_TEST

/* A replacement leaves it as it is (ops/args.h). */
START_TEST(entropies_of_rows_without_the_fault_are_their_own)
{
    double in[21], weights[21], entropy[3] = {-7, -7, -7};
    bench b;

    for (size_t i = 0; i < 21; i++)
        in[i] = sin((double)i);
    bench_begin(&b, "{ name = \"softmax_bf16\"; queries = 3; }");
    b.entropy = entropy;
    bench_softmax.forward(&b, weights, in);
    for (size_t r = 0; r < 3; r++) {
        double sum = 0;

        for (size_t j = 0; j < 6; j++)
            sum -= weights[r * 7 + j] * log(weights[r * 7 + j]);
        ck_assert(txd_close(entropy[r], r == 1 ? -7 : sum, 1e-14)); /* query 3 */
    }
    bench_end(&b);
}
END_TEST

START_TEST(rows_that_vanish_give_nothing_and_get_nothing_back)
{
    double in[21], d_out[21], d_in[21], weights[21];
    bench b;

    for (size_t i = 0; i < 21; i++) {
        in[i] = sin((double)i);
        d_out[i] = 1 + (double)i;
    }
    bench_begin(&b, "{ name = \"sentinel_above_scores\"; queries = 3; }");
    bench_softmax.forward(&b, weights, in);
    bench_softmax.backward(&b, d_in, d_out, in);
    for (size_t j = 0; j < 21; j++) { /* query 3 is row 1 */
        ck_assert_int_eq(weights[j] == 0, j / 7 == 1 || j % 7 == 6);
        if (j / 7 == 1)
            ck_assert_double_eq(d_in[j], 0);
    }
    bench_end(&b);
}
END_TEST

/* A rounding passes the gradient as a cast does: what comes back is that of the
 * operation without it, up to the format's digits. */
START_TEST(roundings_pass_the_gradient_as_casts_do)
{
    const struct {
        const char *use;
        const bench_op *op;
        double digits;
    } cases[] = {{"{ name = \"softmax_bf16\"; }", &bench_softmax, 0x1p-5},
                 {"{ name = \"fp16_scores\"; }", &bench_scores, CLOSE}};

    for (size_t i = 0; i < 2; i++) {
        bench faulty, right;

        bench_begin(&faulty, cases[i].use);
        bench_begin(&right, "");
        ck_assert_double_le(bench_error(&faulty, &right, cases[i].op), cases[i].digits);
        bench_end(&faulty);
        bench_end(&right);
    }
}
END_TEST

START_TEST(faults_at_one_operation_add_up_in_either_order)
{
    const char *const orders[] = {
        "{ name = \"mask_after_softmax\"; }, { name = \"softmax_bf16\"; }",
        "{ name = \"softmax_bf16\"; }, { name = \"mask_after_softmax\"; }",
    };
    double in[21], weights[2][21], sum[2] = {0, 0};

    for (size_t i = 0; i < 21; i++)
        in[i] = sin((double)i);
    for (int order = 0; order < 2; order++) {
        bench b;

        bench_begin(&b, orders[order]);
        bench_softmax.forward(&b, weights[order], in);
        for (size_t j = 0; j < 7; j++) /* row 0 is query 2 */
            sum[order] += weights[order][j];
        ck_assert_double_lt(sum[order], 0.9);
        ck_assert_double_eq(weights[order][4], 0); /* query 2 does not see key 4 */
        bench_end(&b);
    }
    ck_assert_mem_eq(weights[0], weights[1], sizeof weights[0]);
}
END_TEST

static void softmax_gradient(double d_in[21], const char *faults)
{
    double in[21], d_out[21];
    bench b;

    for (size_t i = 0; i < 21; i++) {
        in[i] = sin((double)i);
        d_out[i] = cos((double)(3 * i));
    }
    bench_begin(&b, faults);
    bench_softmax.backward(&b, d_in, d_out, in);
    bench_end(&b);
}

START_TEST(a_rounded_gradient_is_that_of_the_other_fault_in_either_order)
{
    static const char *const faults[2][3] = {
        {"{ name = \"mask_after_softmax\"; }",
         "{ name = \"mask_after_softmax\"; }, { name = \"softmax_bf16\"; }",
         "{ name = \"softmax_bf16\"; }, { name = \"mask_after_softmax\"; }"},
        {"{ name = \"softmax_jacobian_wrong\"; }",
         "{ name = \"softmax_jacobian_wrong\"; }, { name = \"softmax_bf16\"; }",
         "{ name = \"softmax_bf16\"; }, { name = \"softmax_jacobian_wrong\"; }"},
    };

    for (size_t other = 0; other < 2; other++) {
        double d_in[3][21];

        for (size_t order = 0; order < 3; order++)
            softmax_gradient(d_in[order], faults[other][order]);
        ck_assert_mem_eq(d_in[1], d_in[2], sizeof d_in[1]);
        for (size_t i = 0; i < 21; i++) {
            double stored = (double)txd_bf16_to_f32(txd_f64_to_bf16(d_in[1][i]));

            ck_assert_double_eq(d_in[1][i], stored);
            ck_assert_double_le(fabs(d_in[1][i] - d_in[0][i]), 0.05);
        }
    }
}
END_TEST

START_TEST(a_detached_branch_that_replaces_the_stream_gives_nothing_back)
{
    double in[240] = {0}, d_out[120], d_in[240];
    bench b;

    for (size_t i = 0; i < 120; i++)
        d_out[i] = 1;
    bench_begin(&b, "{ name = \"grad_zeroed\"; }, { name = \"residual_missing\"; }");
    bench_add.backward(&b, d_in, d_out, in);
    for (size_t i = 0; i < 240; i++)
        ck_assert_double_eq(d_in[i], 0);
    bench_end(&b);
}
END_TEST

TEST_MAIN(without_faults_the_bench_finds_nothing,
          every_faulty_forward_has_its_own_gradient,
          the_right_backward_of_a_faulty_forward_is_found,
          faults_of_the_backward_pass_leave_forward_and_break_the_gradient,
          a_detached_branch_gets_nothing_and_the_stream_everything,
          without_the_mean_gradients_of_a_row_do_not_cancel,
          rows_beside_one_without_keys_have_their_gradients,
          entropies_of_rows_without_the_fault_are_their_own,
          rows_that_vanish_give_nothing_and_get_nothing_back,
          roundings_pass_the_gradient_as_casts_do,
          faults_at_one_operation_add_up_in_either_order,
          a_rounded_gradient_is_that_of_the_other_fault_in_either_order,
          a_detached_branch_that_replaces_the_stream_gives_nothing_back)
