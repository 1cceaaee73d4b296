/* SPDX-License-Identifier: MIT
 *
 * Inputs beyond what laws look at in full: every fault is found all the same, in every
 * layer and head, and among the few real tokens of a sequence.
 */
#include "sampled.h"

#include <stdio.h>
#include <string.h>

#include "faults/fault.h"

/* In float32 an eps below rounding changes nothing; drawn biases are zeros; positions
 * of these models are no sinusoids; queries of several tiles have no softmax over them.
 */
static const char *const nothing =
    "norm_eps_tiny,bias_dropped,sinusoid_exponent,softmax_over_queries";

static bool names(const txd_check *law, const char *fault)
{
    for (const char *const *name = law->faults; *name; name++)
        if (strcmp(*name, fault) == 0)
            return true;
    return false;
}

/* The laws that name a fault and can fail, with commas; false if there is none.
 * Experiments make passes over a part of the input, as ever. */
static bool list_laws(char *out, size_t bytes, const char *fault)
{
    size_t used = 0;

    for (size_t c = 0; txd_check_at(c); c++)
        if (!txd_check_at(c)->informs && !txd_check_at(c)->warns &&
            !txd_check_at(c)->examine && names(txd_check_at(c), fault))
            used += (size_t)snprintf(out + used, bytes - used, "%s%s", used ? "," : "",
                                     txd_check_at(c)->name);
    return used > 0;
}

static void expect_found(const live *l, const sampled *s, int layer)
{
    for (size_t i = 0; i < l->count; i++) {
        const txd_result *r = &l->results[i];

        ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s, layer %d: %s says %s %s",
                      s->fault, layer, r->check, txd_verdict_name(r->verdict), r->note);
        ck_assert_msg(layer < 0 || r->findings[0].layer == layer,
                      "%s, layer %d: %s names layer %d", s->fault, layer, r->check,
                      r->findings[0].layer);
    }
}

/* False if the fault cannot act in a model. */
static bool is_found(const char *fault, const char *laws, int model)
{
    bool layers = (txd_fault_selectors(txd_fault_find(fault)) & TXD_FAULT_LAYERS) != 0;
    bool acted = false;

    for (int layer = layers ? 0 : -1; layer < (layers ? SAMPLED_LAYERS : 0); layer++) {
        char selectors[32] = "";
        sampled s = {model, fault, selectors, laws, 1};
        live l;

        if (layer >= 0)
            snprintf(selectors, sizeof selectors, "layers = \"%d\";", layer);
        sampled_run(&l, &s);
        if (!l.inapplicable) {
            expect_found(&l, &s, layer);
            acted = true;
        }
        live_finish(&l);
    }
    return acted;
}

START_TEST(the_laws_of_every_fault_find_it_in_every_layer)
{
    for (size_t f = 0; txd_fault_at(f); f++) {
        const char *fault = txd_fault_name(txd_fault_at(f));
        char laws[1024];
        bool acted = false;

        if (txd_glob_list(nothing, fault) || !list_laws(laws, sizeof laws, fault))
            continue;
        for (int model = 0; model < SAMPLED_MODELS && !acted; model++)
            acted = is_found(fault, laws, model);
        ck_assert_msg(acted, "%s acts in none of these models", fault);
    }
}
END_TEST

START_TEST(a_fault_of_one_head_is_found_in_the_first_a_middle_and_the_last)
{
    const int heads[] = {0, 3, SAMPLED_HEADS - 1};
    const char *const faults[][2] = {{"fp16_scores", "score_scale"},
                                     {"softmax_bf16", "softmax_precision"},
                                     {"mask_missing", "mask_fill"},
                                     {"softmax_jacobian_wrong", "grad_row_sum"}};

    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (size_t h = 0; h < 3; h++) {
            const txd_result *r;
            char selectors[64];
            live l;

            snprintf(selectors, sizeof selectors, "layers = \"1\"; heads = \"%d\";",
                     heads[h]);
            sampled_run(&l, &(sampled){0, faults[f][0], selectors, faults[f][1], 1});
            r = live_result(&l, faults[f][1]);
            ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s, head %d: %s says %s",
                          faults[f][0], heads[h], faults[f][1],
                          txd_verdict_name(r->verdict));
            ck_assert_int_eq(r->findings[0].head, heads[h]);
            live_finish(&l);
        }
}
END_TEST

START_TEST(a_fault_of_the_few_real_tokens_of_a_sequence_is_found)
{
    const char *const faults[][2] = {{"fp16_scores", "score_scale"},
                                     {"softmax_bf16", "softmax_precision"},
                                     {"mask_missing", "mask_fill"}};

    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        const txd_result *r;
        live l;

        sampled_run(&l, &(sampled){0, faults[f][0], "layers = \"1\"; batch = \"1\";",
                                   faults[f][1], 1});
        r = live_result(&l, faults[f][1]);
        ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s: %s says %s", faults[f][0],
                      faults[f][1], txd_verdict_name(r->verdict));
        ck_assert_int_eq(r->findings[0].batch, 1);
        live_finish(&l);
    }
}
END_TEST

START_TEST(nothing_is_found_where_nothing_is_wrong_and_not_all_is_looked_at)
{
    const struct {
        const char *law;
        double all; /* elements of a step that it could judge, in float32 */
    } cells[] = {
        {"residual_sum", SAMPLED_LAYERS * 3.0 * (SAMPLED_LONG + SAMPLED_SHORT) * 256},
        {"norm_output", (3.0 * SAMPLED_LAYERS + 1) * (SAMPLED_LONG + SAMPLED_SHORT)},
        {"score_scale",
         SAMPLED_LAYERS * 8.0 *
             (SAMPLED_LONG * (SAMPLED_LONG + 1) / 2 + SAMPLED_MEMORY * SAMPLED_LONG)},
        {"mask_fill",
         SAMPLED_LAYERS * 8.0 *
             (SAMPLED_LONG * (SAMPLED_LONG + 1) / 2 + SAMPLED_MEMORY * SAMPLED_LONG)},
        {"softmax_precision",
         SAMPLED_LAYERS * 8.0 *
             (SAMPLED_LONG * (SAMPLED_LONG + 1) / 2 + SAMPLED_MEMORY * SAMPLED_LONG)},
        {"head_merge", SAMPLED_LAYERS * 2.0 * (SAMPLED_LONG + SAMPLED_SHORT) * 256},
        {"loss_token", SAMPLED_LONG + SAMPLED_SHORT - 2},
        {"grad_row_sum", SAMPLED_LAYERS * 2.0 * 8 * (SAMPLED_LONG + SAMPLED_SHORT)}};
    live l;

    sampled_run(&l, &(sampled){.only = live_watching()});
    for (size_t i = 0; i < l.count; i++)
        ck_assert_msg(l.results[i].verdict != TXD_VERDICT_FAIL &&
                          l.results[i].verdict != TXD_VERDICT_OPEN,
                      "%s says %s %s", l.results[i].check,
                      txd_verdict_name(l.results[i].verdict), l.results[i].note);
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++) {
        const txd_result *r = live_result(&l, cells[i].law);

        ck_assert_uint_gt(r->evaluated, 0);
        ck_assert_msg((double)r->evaluated < cells[i].all, "%s judges all", r->check);
    }
    live_finish(&l);
}
END_TEST

TEST_MAIN(the_laws_of_every_fault_find_it_in_every_layer,
          a_fault_of_one_head_is_found_in_the_first_a_middle_and_the_last,
          a_fault_of_the_few_real_tokens_of_a_sequence_is_found,
          nothing_is_found_where_nothing_is_wrong_and_not_all_is_looked_at)
