/* SPDX-License-Identifier: MIT
 *
 * Faults against laws on real models: every law, with all others disabled, trips on
 * each of its faults in the first, a middle and the last layer, and says where.
 */
#include "planting.h"

#include <stdio.h>
#include <string.h>

static bool has_models(void)
{
    return has_subject(SUBJECT_STORIES) && has_subject(SUBJECT_SORT);
}

START_TEST(every_law_alone_trips_on_each_of_its_faults)
{
    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (size_t c = 0; txd_check_at(c); c++)
        for (const char *const *fault = txd_check_at(c)->faults; *fault; fault++) {
            int acted = 0, layers[3];

            ck_assert_msg(txd_fault_find(*fault), "there is no fault %s", *fault);
            /* In drawn models what cannot act in real ones. */
            for (int model = 0; model < (acted ? SUBJECT_REAL : SUBJECTS); model++)
                for (int i = layers_for(layers, model, *fault); i-- > 0;) {
                    trial t = {model, *fault, layers[i], NULL, NULL};
                    live l;

                    if (trial_run(&l, &t, txd_check_at(c)->name)) {
                        ck_assert_uint_eq(l.count, 1);
                        expect_trip(&l, &t, txd_check_at(c)->name);
                        acted++;
                    }
                    live_finish(&l);
                }
            ck_assert_msg(acted > 0, "%s acted on no model", *fault);
        }
}
END_TEST

/* Where the norms' input is of the order of 1, the claimed eps is below float32's
 * rounding. */
static const char *const below_rounding = "norm_eps_tiny,norm_eps_outside";

/* Nothing else is excused from being found. */
#define BUT_PACKED                                                                     \
    "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,sandwich,branch,parallel,"   \
    "slopes,ranges"
static const struct {
    const char *faults, *models;
} unable[] = {
    {"documents_ignored", BUT_PACKED},
    {"window_*", BUT_PACKED ",left"},
    {"softmax_over_queries", "slopes"}, /* sinks */
    {"positions_*", BUT_PACKED ",packed"},
    {"cross_causal,memory_padding_ignored,mask_fill_finite",
     "stories260K,gpt-nano-sort,mini,gpt2,llama,post,sandwich,branch,"
     "parallel,slopes,ranges,packed"}, /* no memory */
    {"embedding_too_large,position_too_small",
     "stories260K,llama,sandwich,branch,slopes,ranges,packed"}, /* no table */
    {"init_too_large", "stories260K,gpt-nano-sort"},            /* trained */
    {"head_init_too_large", "stories260K,gpt-nano-sort,gpt2,post,cross,sandwich,"
                            "branch,slopes,left"}, /* or tied */
    {"massive_channel", "sandwich,branch"},        /* norms over the branches */
    {"post_ln", "post,sandwich,branch,parallel"},
    {"embedding_scale_*", "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,"
                          "branch,parallel,slopes,ranges,packed"}, /* no scale */
    {"gelu_variant", "stories260K,llama,sandwich,ranges,packed"},  /* silu */
    {"bias_dropped", "stories260K,mini,gpt2,llama,post,cross,sandwich,branch,"
                     "parallel,slopes,ranges,packed"}, /* drawn as zeros */
    {"norm_offset_missing,logit_softcap_missing",
     "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,branch,parallel,slopes,"
     "ranges,packed"}, /* neither */
    {"logit_scale_missing", "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,"
                            "branch,parallel,slopes,ranges,packed"}, /* no scale */
    {"sinusoid_exponent", "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,"
                          "sandwich,parallel,slopes,ranges,packed"}, /* others */
    {"final_norm_missing", "post"},
    {"attention_dropped", "parallel"},
    {"tying_lost", "gpt-nano-sort,mini,llama,parallel,ranges,packed"}, /* not tied */
    {"softcap_missing,sinks_ignored,alibi_slopes_wrong",
     "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,sandwich,branch,"
     "parallel,ranges,packed"},
    {"qk_norm_missing", "stories260K,gpt-nano-sort,mini,gpt2,llama,post,cross,"
                        "sandwich,branch,parallel,slopes,packed"},
    {"rope_*,position_offset",
     "gpt-nano-sort,mini,gpt2,post,cross,branch,parallel,slopes,ranges"},
    {"rope_partial_ignored", "stories260K,llama,packed"}, /* all lanes turn */
    {"kv_heads_tiled",
     "gpt-nano-sort,mini,gpt2,post,cross,branch,parallel,ranges,left"}, /* no groups
                                                                         */
    {"kv_gradient_not_summed",
     "gpt-nano-sort,mini,gpt2,post,cross,branch,parallel,ranges"},
    {"kv_index_wrong", "llama,sandwich,packed"}, /* as many groups as heads in each */
};

static bool cannot_act(const trial *t)
{
    const char *model = subjects[t->subject].name;

    /* The same model, with other inputs. */
    if (t->subject == SUBJECT_LEFT &&
        !txd_glob_list("documents_ignored,positions_*", t->fault))
        model = subjects[SUBJECT_GPT2].name;
    for (size_t i = 0; i < sizeof unable / sizeof *unable; i++)
        if (txd_glob_list(unable[i].faults, t->fault) &&
            txd_glob_list(unable[i].models, model))
            return true;
    return false;
}

/* By one of the laws that name it, with every other one disabled. */
static bool is_found(const trial *t, bool in_double)
{
    bool found = false;

    for (size_t c = 0; txd_check_at(c) && !found; c++) {
        live l;

        if (!law_names(txd_check_at(c), t->fault))
            continue;
        if (trial_run_in(&l, t, in_double ? "ref64" : trial_backend(t->fault),
                         txd_check_at(c)->name))
            found = trial_trips(&l, t, txd_check_at(c)->name);
        else
            ck_assert_msg(cannot_act(t), "%s: %s", subjects[t->subject].name,
                          l.inapplicable);
        live_finish(&l);
    }
    return found;
}

START_TEST(every_fault_is_found_by_a_law_alone_in_every_model)
{
    for (size_t f = 0; txd_fault_at(f); f++)
        for (int subject = 0; subject < SUBJECTS; subject++) {
            const char *name = txd_fault_name(txd_fault_at(f));
            int layers[3], count = layers_for(layers, subject, name);

            if (!has_subject(subject))
                continue;
            for (int i = 0; i < count; i++) {
                trial t = {subject, name, layers[i], NULL, NULL};

                ck_assert_msg(is_found(&t, txd_glob_list(below_rounding, name)) !=
                                  cannot_act(&t),
                              "%s in %s, layer %d: no law finds it", name,
                              subjects[subject].name, layers[i]);
            }
        }
}
END_TEST

START_TEST(a_fault_of_one_head_is_found_in_the_first_a_middle_and_the_last_head)
{
    const char *const faults[][2] = {
        {"mask_missing", "causality"},     {"mask_off_by_one", "causality"},
        {"mask_inverted", "causality"},    {"padding_ignored", "padding"},
        {"mask_after_softmax", "row_sum"}, {"fully_masked_row", "row_sum"},
        {"softmax_bf16", "row_sum"},       {"fp16_scores", "score_scale"}};
    const int heads[] = {0, 3, 7};

    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++)
        for (size_t h = 0; h < 3; h++) {
            char rest[64];
            trial t = {0, faults[f][0], 2, rest, NULL};
            live l;

            snprintf(rest, sizeof rest, "heads = \"%d\";", heads[h]);
            ck_assert(trial_run(&l, &t, faults[f][1]));
            expect_trip(&l, &t, faults[f][1]);
            ck_assert_int_eq(live_result(&l, faults[f][1])->findings[0].head, heads[h]);
            ck_assert_uint_eq(live_result(&l, faults[f][1])->finding_count, 1);
            live_finish(&l);
        }
}
END_TEST

START_TEST(a_mask_off_by_one_at_query_5_alone_is_found_and_at_query_0_too)
{
    const int queries[] = {0, 5};

    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (int model = 0; model < SUBJECT_REAL; model++)
        for (size_t q = 0; q < 2; q++) {
            char rest[96];
            trial t = {model, "mask_off_by_one", 1, rest, NULL};
            const txd_finding *finding;
            live l;

            snprintf(rest, sizeof rest, "queries = \"%d\"; batch = \"0\";", queries[q]);
            ck_assert(trial_run(&l, &t, "causality"));
            expect_trip(&l, &t, "causality");
            finding = live_result(&l, "causality")->findings;
            ck_assert_int_eq(finding->batch, 0);
            ck_assert_int_eq(finding->query, queries[q]);
            ck_assert_int_eq(finding->key, queries[q] + 1);
            ck_assert_msg(strstr(finding->message, "off by one") != NULL, "%s",
                          finding->message);
            live_finish(&l);
        }
}
END_TEST

static void expect_words_in(const trial *t, const char *backend, const char *law,
                            const char *words)
{
    live l;

    ck_assert(trial_run_in(&l, t, backend, law));
    expect_trip(&l, t, law);
    ck_assert_msg(strstr(live_result(&l, law)->findings[0].message, words) != NULL,
                  "%s: %s", t->fault, live_result(&l, law)->findings[0].message);
    live_finish(&l);
}

static void expect_words(const trial *t, const char *law, const char *words)
{
    expect_words_in(t, trial_backend(t->fault), law, words);
}

START_TEST(findings_name_what_went_wrong)
{
    const struct {
        trial t;
        const char *law, *words;
    } cases[] = {
        {{0, "mask_missing", 2, NULL, NULL}, "causality", "the mask is missing"},
        {{1, "mask_missing", 0, NULL, NULL}, "causality", "the mask is missing"},
        {{0, "mask_inverted", 4, NULL, NULL}, "causality", "is inverted"},
        {{0, "mask_off_by_one", 0, NULL, NULL}, "causality", "off by one"},
        {{0, "padding_ignored", 4, NULL, NULL}, "padding", "padding is not masked"},
        {{1, "mask_inverted", 1, NULL, NULL}, "padding", "is inverted"},
        {{0, "scale_missing", 3, NULL, NULL}, "score_scale", "no scale at all"},
        {{0, "residual_missing", 3, NULL, NULL}, "residual_sum", "is missing"},
        {{0, "fully_masked_row", 3, NULL, NULL}, "row_sum", "all keys were masked"},
        {{0, "mask_after_softmax", 3, NULL, NULL}, "row_sum", "after the softmax"},
        {{1, "mask_after_softmax", 0, NULL, NULL}, "row_sum", "after the softmax"},
        {{0, "head_split_view", 1, NULL, NULL}, "head_split", "without the transpose"},
        {{1, "head_split_view", 2, NULL, NULL}, "head_split", "without the transpose"},
        {{0, "head_merge_view", 2, NULL, NULL}, "head_merge", "transpose is missing"},
        {{1, "strides_ignored", 0, NULL, NULL}, "head_merge", "strides were ignored"},
        {{0, "output_projection_missing", 4, NULL, NULL},
         "output_projection",
         "the projection is missing"},
        {{0, "shared_qkv", 3, NULL, NULL}, "qkv_distinct", "12 of 12 pairs"},
        {{1, "shared_qkv", 2, NULL, NULL}, "qkv_distinct", "9 of 9 pairs"},
        {{0, "heads_identical", 3, NULL, NULL}, "heads_distinct", "28 of 28 pairs"},
        {{1, "heads_identical", 1, NULL, NULL}, "heads_distinct", "3 of 3 pairs"},
        {{0, "mask_inverted", 2, NULL, NULL}, "finite", "that the claimed mask shows"},
        {{0, "fully_masked_row", 2, NULL, NULL}, "finite", "a fully masked row"},
        {{0, "norm_axis_tokens", 2, NULL, NULL}, "norm_output", "the tokens of each "},
        {{1, "norm_axis_tokens", 1, NULL, NULL}, "norm_output", "the tokens of each "},
        {{0, "norm_eps_huge", 4, NULL, NULL}, "norm_output", "eps were 0.001 instead"},
        {{1, "norm_eps_huge", 0, NULL, NULL}, "norm_output", "eps were 0.001 instead"},
        {{0, "post_ln", ALL_LAYERS, NULL, NULL}, "norm_output", "the other placement"},
        {{1, "post_ln", ALL_LAYERS, NULL, NULL}, "norm_output", "the other placement"},
        {{SUBJECT_CROSS, "mask_fill_finite", 1, NULL, NULL},
         "mask_fill",
         "the fill is -1e+09; 32 of 100 rows see no key"},
        {{1, "mask_fill_too_weak", 2, NULL, NULL}, "mask_fill", "get the weight"},
        {{1, "mask_inverted", 2, NULL, NULL}, "mask_fill", "the mask is inverted"},
        {{0, "mask_after_softmax", 2, NULL, NULL}, "mask_fill", "it is not masked"},
        {{SUBJECT_REAL, "init_too_large", 1, NULL, NULL},
         "projection_std",
         "times what it is drawn with"},
        {{1, "embedding_too_large", ALL_LAYERS, NULL, NULL},
         "position_norm",
         "positions are drowned"},
        {{1, "position_too_small", ALL_LAYERS, NULL, NULL},
         "position_norm",
         "positions are drowned"},
    };

    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        expect_words(&cases[i].t, cases[i].law, cases[i].words);
    /* float32 has no digits for it */
    expect_words_in(&(trial){1, "norm_eps_tiny", 1, NULL, NULL}, "ref64", "norm_output",
                    "eps were 1e-12 instead");
}
END_TEST

START_TEST(the_cause_of_a_nan_is_named)
{
    if (!has_models())
        test_skip(TEST_NO_MODEL);
    for (int layer = 0; layer < 5; layer += 2) {
        trial nan = {0, "nan_in_weights", layer, NULL, NULL};
        trial empty = {0, "fully_masked_row", layer, NULL, "masked_row = \"nan\";"};
        char words[96];
        live l;

        snprintf(words, sizeof words, "the parameter layers.%d.attn.q.weight holds NaN",
                 layer);
        ck_assert(trial_run(&l, &nan, "finite"));
        expect_trip(&l, &nan, "finite");
        ck_assert_uint_eq(live_result(&l, "finite")->finding_count, 2);
        ck_assert_ptr_nonnull(
            strstr(live_result(&l, "finite")->findings[1].message, words));
        live_finish(&l);
        expect_words(&empty, "finite", "a fully masked row");
        expect_words(&empty, "row_sum", "sum to NaN");
    }
}
END_TEST

TEST_MAIN(every_law_alone_trips_on_each_of_its_faults,
          every_fault_is_found_by_a_law_alone_in_every_model,
          a_fault_of_one_head_is_found_in_the_first_a_middle_and_the_last_head,
          a_mask_off_by_one_at_query_5_alone_is_found_and_at_query_0_too,
          findings_name_what_went_wrong, the_cause_of_a_nan_is_named)
