/* SPDX-License-Identifier: MIT
 *
 * NaN and infinities at every point, forward and backward, in every layer: the law
 * `finite` names the site, the element, and what met there.
 */
#include "poison.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* What must be named as operands of a value, of those at hand there. */
static const struct {
    txd_point point;
    const char *operands[2];
} made_from[] = {
    {TXD_POINT_EMBED_IN, {"embed.tok up to"}},
    {TXD_POINT_EMBED_SCALED, {"embed.in "}},
    {TXD_POINT_EMBED_OUT, {"embed.tok"}},
    {TXD_POINT_EMBED_NORM, {"embed.out up to"}},
    {TXD_POINT_NORM1_POST_OUT, {"attn.out up to"}},
    {TXD_POINT_NORM2_POST_OUT, {"mlp.out up to"}},
    {TXD_POINT_HEAD_DENSE, {"final.norm up to"}},
    {TXD_POINT_HEAD_ACT, {"head.dense "}},
    {TXD_POINT_HEAD_NORM, {"head.act up to"}},
    {TXD_POINT_HEAD_IN, {"head.norm up to"}},
    {TXD_POINT_NORM1_OUT, {"resid."}},
    {TXD_POINT_ATTN_K_PROJ, {"up to"}},
    {TXD_POINT_ATTN_Q_NORM, {"attn.q_proj up to"}},
    {TXD_POINT_ATTN_K_NORM, {"attn.k_proj up to"}},
    {TXD_POINT_ATTN_Q, {"attn.q_proj up to"}},
    {TXD_POINT_ATTN_K, {"attn.k_proj up to"}},
    {TXD_POINT_ATTN_CAPPED, {"attn.scores "}},
    {TXD_POINT_ATTN_SCORES, {"attn.q up to", "attn.k up to"}},
    {TXD_POINT_ATTN_MASKED, {"attn.scores "}},
    {TXD_POINT_ATTN_WEIGHTS, {"attn.masked up to"}},
    {TXD_POINT_ATTN_HEADS, {"attn.v up to"}},
    {TXD_POINT_ATTN_MERGED, {"attn.heads "}},
    {TXD_POINT_ATTN_OUT, {"attn.merged up to"}},
    {TXD_POINT_ATTN_BRANCH, {"attn.out "}},
    {TXD_POINT_RESID_MID, {"attn.branch "}},
    {TXD_POINT_NORM_CROSS_OUT, {"resid.mid up to"}},
    {TXD_POINT_CROSS_K_PROJ, {"input.memory up to"}},
    {TXD_POINT_CROSS_V, {"input.memory up to"}},
    {TXD_POINT_CROSS_SCORES, {"cross.q up to", "cross.k up to"}},
    {TXD_POINT_CROSS_MASKED, {"cross.scores "}},
    {TXD_POINT_CROSS_WEIGHTS, {"cross.masked up to"}},
    {TXD_POINT_CROSS_HEADS, {"cross.v up to"}},
    {TXD_POINT_RESID_CROSS, {"resid.mid ", "cross.branch "}},
    {TXD_POINT_MLP_GATE, {"norm2.out up to"}},
    {TXD_POINT_MLP_GATE_ACT, {"mlp.gate "}},
    {TXD_POINT_MLP_ACT, {"mlp.up "}},
    {TXD_POINT_MLP_OUT, {"mlp.act up to"}},
    {TXD_POINT_MLP_BRANCH, {"mlp.out "}},
    {TXD_POINT_RESID_POST, {"mlp.branch "}},
    {TXD_POINT_LOGITS, {"up to"}},
};

/* Where a model's conventions put another value in between. */
static const struct {
    int model;
    txd_point point;
    const char *operand;
} made_otherwise[] = {
    {POISON_FAMILY, TXD_POINT_EMBED_OUT, "embed.scaled"},
    {POISON_FAMILY, TXD_POINT_ATTN_BRANCH, "norm1_post.out "},
    {POISON_FAMILY, TXD_POINT_MLP_BRANCH, "norm2_post.out "},
    {POISON_SCORES, TXD_POINT_ATTN_Q, "attn.q_norm "},
    {POISON_SCORES, TXD_POINT_ATTN_K, "attn.k_norm "},
    {POISON_SCORES, TXD_POINT_ATTN_MASKED, "attn.capped "},
};

static void expect_operand(const char *message, const char *operand)
{
    ck_assert_msg(!operand || strstr(message, operand), "%s: no \"%s\"", message,
                  operand);
}

static void expect_operands(const char *message, int model, txd_point point)
{
    for (size_t i = 0; i < sizeof made_otherwise / sizeof *made_otherwise; i++)
        if (made_otherwise[i].model == model && made_otherwise[i].point == point) {
            expect_operand(message, made_otherwise[i].operand);
            return;
        }
    for (size_t i = 0; i < sizeof made_from / sizeof *made_from; i++)
        for (int j = 0; made_from[i].point == point && j < 2; j++)
            expect_operand(message, made_from[i].operands[j]);
}

static void plant_value(int model, poison *p, const char *backend)
{
    const txd_finding *finding;
    live l;

    poison_run(&l, p, model, backend, NULL);
    finding = poison_expect(&l, p);
    expect_operands(finding->message, model, p->point);
    live_finish(&l);
}

static void plant_forward(int model, poison *p)
{
    p->kind = TXD_SITE_VALUE;
    p->value = NAN;
    plant_value(model, p, "ref64");
    p->value = INFINITY;
    plant_value(model, p, "cpu32");
}

START_TEST(a_value_at_any_point_of_any_layer_is_the_origin)
{
    poison_every(POISON_LLAMA, plant_forward);
}
END_TEST

START_TEST(a_value_is_with_cross_attention_too)
{
    poison_every(POISON_CROSS, plant_forward);
}
END_TEST

START_TEST(a_value_is_with_norms_after_the_sums_too)
{
    poison_every(POISON_POST, plant_forward);
}
END_TEST

START_TEST(a_value_is_with_the_conventions_of_families_too)
{
    poison_every(POISON_FAMILY, plant_forward);
}
END_TEST

START_TEST(a_value_is_with_the_conventions_of_attention_too)
{
    poison_every(POISON_SCORES, plant_forward);
}
END_TEST

static void plant_backward(int model, poison *p)
{
    char words[160], value[32];
    const txd_finding *finding;
    live l;

    p->kind = TXD_SITE_GRADIENT;
    p->value = NAN;
    poison_run(&l, p, model, "ref64", NULL);
    finding = poison_expect(&l, p);
    snprintf(value, sizeof value, "%.3g", p->forward);
    ck_assert(isfinite(p->forward));
    snprintf(words, sizeof words, " %s %s. ", txd_point_get(p->point)->name, value);
    ck_assert_msg(strstr(finding->message, ". Forward: ") != NULL &&
                      strstr(finding->message, words) != NULL,
                  "%s: no \"%s\"", finding->message, words);
    ck_assert_msg(strstr(finding->message, "No cause is certain") != NULL, "%s",
                  finding->message);
    live_finish(&l);
}

START_TEST(a_gradient_at_any_point_of_any_layer_is_the_origin)
{
    poison_every(POISON_LLAMA, plant_backward);
}
END_TEST

START_TEST(a_gradient_is_with_cross_attention_too)
{
    poison_every(POISON_CROSS, plant_backward);
}
END_TEST

START_TEST(a_gradient_is_with_norms_after_the_sums_too)
{
    poison_every(POISON_POST, plant_backward);
}
END_TEST

START_TEST(a_gradient_is_with_the_conventions_of_families_too)
{
    poison_every(POISON_FAMILY, plant_backward);
}
END_TEST

/* ---- parameters ---- */

/* The last element of one parameter's gradient. */
typedef struct spoiled {
    size_t number, seen;
    char name[96];
    size_t element;
} spoiled;

static unsigned ask_parameters(void *self, const txd_site *site)
{
    const spoiled *s = self;

    return site->kind == TXD_SITE_PARAMETER_GRADIENT && site->index == s->number
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status spoil_parameter(void *self, txd_block *block)
{
    spoiled *s = self;

    s->element = txd_tensor_count(&block->value) - 1;
    ((float *)block->value.data)[s->element] = INFINITY;
    snprintf(s->name, sizeof s->name, "%s", block->site->name);
    s->seen++;
    return TXD_OK;
}

START_TEST(a_gradient_of_any_parameter_is_the_origin)
{
    spoiled s = {.number = 0};
    char text[1024];

    snprintf(text, sizeof text,
             "%s input : { tokens = ( [3, 1, 4, 1, 5, 9] ); memory : { random : { "
             "length = 5; }; }; }; record : ( { probe = \"grad_norm\"; } );",
             poison_models[POISON_CROSS]);
    for (; s.seen == s.number; s.number++) {
        const txd_tap tap = {.name = "spoil",
                             .self = &s,
                             .gradients = true,
                             .ask = ask_parameters,
                             .edit = spoil_parameter};
        const live_plant planted = {.tap = &tap};
        const txd_result *r;
        char words[96];
        live l;

        live_run_planted(&l, text, "finite", &planted);
        r = live_result(&l, "finite");
        if (s.seen > s.number) {
            ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
            ck_assert_uint_eq(r->finding_count, 1);
            ck_assert_str_eq(r->findings[0].site, s.name);
            snprintf(words, sizeof words,
                     "the first is Inf at element %zu (row by row)", s.element);
            ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                          r->findings[0].message);
        } else {
            ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
            ck_assert_uint_eq(s.number, txd_params_count(l.params));
        }
        live_finish(&l);
    }
    ck_assert_uint_gt(s.seen, 3 * 20);
}
END_TEST

START_TEST(a_value_comes_before_the_gradients_that_it_spoils)
{
    poison p = {.kind = TXD_SITE_VALUE,
                .point = TXD_POINT_MLP_ACT,
                .layer = 2,
                .value = NAN,
                .backward = true};
    const txd_finding *finding;
    live l;

    poison_run(&l, &p, POISON_LLAMA, "cpu32", NULL);
    finding = poison_expect(&l, &p);
    ck_assert_msg(strstr(finding->message, "as far as head.weight@grad") != NULL, "%s",
                  finding->message);
    live_finish(&l);
}
END_TEST

TEST_MAIN(a_value_is_with_the_conventions_of_attention_too,
          a_value_at_any_point_of_any_layer_is_the_origin,
          a_value_is_with_cross_attention_too, a_value_is_with_norms_after_the_sums_too,
          a_value_is_with_the_conventions_of_families_too,
          a_gradient_at_any_point_of_any_layer_is_the_origin,
          a_gradient_is_with_cross_attention_too,
          a_gradient_is_with_norms_after_the_sums_too,
          a_gradient_is_with_the_conventions_of_families_too,
          a_gradient_of_any_parameter_is_the_origin,
          a_value_comes_before_the_gradients_that_it_spoils)
