/* SPDX-License-Identifier: MIT
 *
 * Inputs beyond what laws look at in full: every fault is found all the same, in every
 * layer and head, on a sequence of few real tokens beside a long one, and the same on
 * any number of threads.
 */
#include "live.h"

#include <stdio.h>
#include <string.h>

#include "faults/fault.h"

/* Beyond every budget of checks/: tokens of the two rows of the batch. */
enum { LONG = 420, SHORT = 7, LAYERS = 3, HEADS = 8 };

static const char model[] = "model : { preset = \"gpt2\"; vocab = 256; d_model = 256; "
                            "n_heads = 8; n_layers = 3; "
                            "d_ff = 64; max_seq_len = 420; cross = true; }; "
                            "precision : { backend = \"cpu32\"; };";

/* Only formed if asked for. */
static const char gradients[] = "record : ( { probe = \"grad_norm\"; } );";

/* The group input: a long row, and a short one padded on the left. */
static void print_input(char *text, size_t bytes)
{
    size_t used =
        (size_t)snprintf(text, bytes, "input : { pad = \"left\"; tokens = ([");

    for (int i = 0; i < LONG; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", i > 0 ? ", " : "",
                                 (i * 97 + i * i % 31) % 256);
    used += (size_t)snprintf(text + used, bytes - used, "], [");
    for (int i = 0; i < SHORT; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", i > 0 ? ", " : "",
                                 13 * i + 1);
    snprintf(text + used, bytes - used,
             "]); memory : { random : { length = 300; }; valid = [300, 5]; }; };");
}

/* One fault, or none, under the laws `only`. */
static void run(live *l, const char *fault, const char *selectors, const char *only,
                int threads)
{
    live_plant planted = {.threads = threads};
    char input[4096], text[8192], faults[256] = "";

    print_input(input, sizeof input);
    if (fault)
        snprintf(faults, sizeof faults, "faults : ( { name = \"%s\"; %s } );", fault,
                 selectors);
    snprintf(text, sizeof text, "%s %s %s %s", model, input, faults,
             !fault || txd_fault_is_backward(txd_fault_find(fault)) ? gradients : "");
    live_run_planted(l, text, only, &planted);
}

static bool takes_layers(const char *fault)
{
    return (txd_fault_selectors(txd_fault_find(fault)) & TXD_FAULT_LAYERS) != 0;
}

/* False if the fault cannot act. */
static bool is_found(const txd_check *law, const char *fault, int layer)
{
    char selectors[32] = "";
    const txd_result *r;
    bool acted;
    live l;

    if (layer >= 0)
        snprintf(selectors, sizeof selectors, "layers = \"%d\";", layer);
    run(&l, fault, selectors, law->name, 1);
    acted = l.inapplicable == NULL;
    if (acted) {
        r = live_result(&l, law->name);
        ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s, layer %d: %s says %s %s",
                      fault, layer, law->name, txd_verdict_name(r->verdict), r->note);
        ck_assert_msg(layer < 0 || r->findings[0].layer == layer,
                      "%s, layer %d: %s names layer %d", fault, layer, law->name,
                      r->findings[0].layer);
    }
    live_finish(&l);
    return acted;
}

START_TEST(every_law_alone_finds_its_faults_in_every_layer)
{
    /* In float32 an eps below rounding changes nothing. */
    const char *const nothing = "norm_eps_tiny";

    for (size_t c = 0; txd_check_at(c); c++) {
        const txd_check *law = txd_check_at(c);
        int acted = 0, named = 0;

        for (const char *const *fault = law->faults; *fault; fault++) {
            bool layers = takes_layers(*fault);

            if (strcmp(*fault, nothing) == 0)
                continue;
            named++;
            for (int layer = layers ? 0 : -1; layer < (layers ? LAYERS : 0); layer++)
                acted += is_found(law, *fault, layer);
        }
        ck_assert_msg(named == 0 || acted > 0, "%s: none of its faults acts",
                      law->name);
    }
}
END_TEST

START_TEST(a_fault_of_one_head_is_found_in_the_first_a_middle_and_the_last)
{
    const int heads[] = {0, 3, HEADS - 1};
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
            run(&l, faults[f][0], selectors, faults[f][1], 1);
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

        run(&l, faults[f][0], "layers = \"1\"; batch = \"1\";", faults[f][1], 1);
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
        {"residual_sum", LAYERS * 3.0 * (LONG + SHORT) * 256},
        {"norm_output", (3.0 * LAYERS + 1) * (LONG + SHORT)},
        {"score_scale", LAYERS * 8.0 * (LONG * (LONG + 1) / 2 + 300 * LONG)},
        {"mask_fill", LAYERS * 8.0 * (LONG * (LONG + 1) / 2 + 300 * LONG)},
        {"softmax_precision", LAYERS * 8.0 * (LONG * (LONG + 1) / 2 + 300 * LONG)},
        {"head_merge", LAYERS * 2.0 * (LONG + SHORT) * 256},
        {"loss_token", LONG + SHORT - 2},
        {"grad_row_sum", LAYERS * 2.0 * 8 * (LONG + SHORT)}};
    live l;

    run(&l, NULL, "", NULL, 1);
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

START_TEST(threads_change_no_verdict_and_no_number)
{
    const char *const faults[] = {NULL, "fp16_scores", "residual_missing"};

    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        live one, two;

        run(&one, faults[f], "", NULL, 1);
        run(&two, faults[f], "", NULL, 2);
        ck_assert_uint_eq(one.count, two.count);
        for (size_t i = 0; i < one.count; i++) {
            const txd_result *a = &one.results[i], *b = &two.results[i];

            ck_assert_int_eq(a->verdict, b->verdict);
            ck_assert_uint_eq(a->evaluated, b->evaluated);
            ck_assert_uint_eq(a->finding_total, b->finding_total);
            ck_assert_mem_eq(&a->worst, &b->worst, sizeof a->worst);
            ck_assert_mem_eq(&a->allowed, &b->allowed, sizeof a->allowed);
            for (size_t j = 0; j < a->finding_count; j++)
                ck_assert_str_eq(a->findings[j].message, b->findings[j].message);
        }
        live_finish(&one);
        live_finish(&two);
    }
}
END_TEST

TEST_MAIN(every_law_alone_finds_its_faults_in_every_layer,
          a_fault_of_one_head_is_found_in_the_first_a_middle_and_the_last,
          a_fault_of_the_few_real_tokens_of_a_sequence_is_found,
          nothing_is_found_where_nothing_is_wrong_and_not_all_is_looked_at,
          threads_change_no_verdict_and_no_number)
