/* SPDX-License-Identifier: MIT
 *
 * Greedy continuation against the golden ids of a trained model, by every way through
 * the cache, and what it refuses.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"

#define BASE "vocab = 17; d_model = 24; n_heads = 4; n_layers = 2; max_seq_len = 32; "

/* Feeds `prompt`, then each next token; the whole sequence comes to `out`. */
static void continue_to(int32_t *out, observed *o, const txd_generate_options *options,
                        size_t prompt)
{
    txd_generator *g;

    OK(txd_generator_create(&g, o->model, &o->config, options));
    OK(txd_generator_feed(g, out, prompt));
    for (size_t t = prompt; t < options->capacity; t++) {
        OK(txd_generator_next(&out[t], g));
        OK(txd_generator_feed(g, &out[t], 1));
    }
    txd_generator_destroy(g);
}

START_TEST(the_golden_greedy_ids_follow_the_prompt)
{
    const char *folder = test_model("stories260K");
    const txd_generate_options ways[] = {
        {.capacity = 128},
        {.capacity = 60, .chunk = 5, .threads = 1},
        {.capacity = 40, .chunk = 1},
        {.capacity = 40, .from_start = true},
    };
    observed o = {0};
    double *golden;
    size_t count;
    char path[512];

    if (folder == NULL)
        test_skip(TEST_NO_MODEL);
    OK(observe_model(&o, folder, "cpu32"));
    snprintf(path, sizeof path, "%s/golden/greedy_ids_128.npy", folder);
    OK(observe_golden(&golden, &count, &o, path));
    ck_assert_uint_ge(count, 128);
    for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
        int32_t ids[128] = {0};

        for (size_t t = 0; t < 27; t++)
            ids[t] = (int32_t)golden[t];
        continue_to(ids, &o, &ways[w], 27);
        for (size_t t = 0; t < ways[w].capacity; t++)
            if (ids[t] != (int32_t)golden[t])
                ck_abort_msg("way %zu, token %zu: %d, expected %d", w, t, (int)ids[t],
                             (int)golden[t]);
    }
    observe_finish(&o);
}
END_TEST

START_TEST(its_scores_are_those_of_a_pass)
{
    observed o = {0};
    const txd_generate_options options = {.capacity = 9, .chunk = 4};
    const double *scores;
    txd_generator *g;
    double *passed;

    OK(observe_cfg(&o, "model : { preset = \"llama\"; " BASE "};", "ref64"));
    OK(observe_random(&o, 1, 9));
    OK(observe_pass(&o));
    passed = observe_site(&o, "logits")->values + (ptrdiff_t)8 * 17;
    OK(txd_generator_create(&g, o.model, &o.config, &options));
    OK(txd_generator_feed(g, o.inputs.tokens, 7));
    OK(txd_generator_feed(g, o.inputs.tokens + 7, 2));
    scores = txd_generator_logits(g);
    for (size_t v = 0; v < 17; v++)
        ck_assert(txd_close(scores[v], passed[v], 1e-13));
    txd_generator_destroy(g);
    observe_finish(&o);
}
END_TEST

START_TEST(what_cannot_go_on_is_refused)
{
    static const char *const cfgs[] = {
        "model : { preset = \"mini\"; " BASE "}; mask : { causal = false; };",
        "model : { preset = \"mini\"; " BASE "cross = true; };",
    };
    const txd_generate_options options = {.capacity = 3};
    const int32_t ids[4] = {1, 2, 3, 4}, foreign = 17;
    observed o = {0};
    txd_generator *g;
    int32_t next;

    for (size_t i = 0; i < 2; i++) {
        OK(observe_cfg(&o, cfgs[i], "cpu32"));
        ck_assert_int_eq(txd_generator_create(&g, o.model, &o.config, &options),
                         TXD_ERR_INAPPLICABLE);
        observe_finish(&o);
    }
    OK(observe_cfg(&o, "model : { preset = \"mini\"; " BASE "};", "cpu32"));
    OK(txd_generator_create(&g, o.model, &o.config, &options));
    ck_assert_int_eq(txd_generator_next(&next, g), TXD_ERR_MISSING);
    ck_assert_int_eq(txd_generator_feed(g, ids, 4), TXD_ERR_CONFIG);
    ck_assert_int_eq(txd_generator_feed(g, &foreign, 1), TXD_ERR_CONFIG);
    OK(txd_generator_feed(g, ids, 3));
    OK(txd_generator_next(&next, g));
    ck_assert_int_eq(txd_generator_feed(g, &next, 1), TXD_ERR_CONFIG);
    txd_generator_destroy(g);
    observe_finish(&o);
}
END_TEST

START_TEST(a_nan_is_no_token)
{
    const txd_generate_options options = {.capacity = 3};
    const int32_t ids[3] = {1, 2, 3};
    observed o = {0};
    txd_generator *g;
    int32_t next;

    OK(observe_cfg(&o, "model : { preset = \"mini\"; " BASE "};", "cpu32"));
    ((float *)txd_params_find(o.params, "final_norm.weight")->value.data)[3] = NAN;
    OK(observe_rebind(&o));
    OK(txd_generator_create(&g, o.model, &o.config, &options));
    OK(txd_generator_feed(g, ids, 3));
    ck_assert_int_eq(txd_generator_next(&next, g), TXD_ERR_CONFIG);
    ck_assert_msg(strstr(txd_message(), "is NaN") != NULL, "%s", txd_message());
    txd_generator_destroy(g);
    observe_finish(&o);
}
END_TEST

TEST_MAIN(the_golden_greedy_ids_follow_the_prompt, its_scores_are_those_of_a_pass,
          what_cannot_go_on_is_refused, a_nan_is_no_token)
