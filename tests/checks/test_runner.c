/* SPDX-License-Identifier: MIT
 *
 * The runner: which laws are evaluated, on what, and what the exit status says.
 */
#include "driver.h"

#include <math.h>
#include <string.h>

#include "checks/runner.h"

static txd_checks *make(driver *d, const char *only, const char *skip)
{
    txd_check_select select = {.only = only, .skip = skip};
    txd_check_context context = {.claimed = &d->config, .format = TXD_F64};
    txd_checks *checks = NULL;

    ck_assert_msg(txd_checks_create(&checks, &context, d->root, &select, d->offers,
                                    NULL) == TXD_OK,
                  "%s", txd_message());
    return checks;
}

/* Lines of the registry, and laws that have thresholds. */
enum {
#define TXD_CHECK(name) +1
    LAWS = 0
#include "checks/registry.def"
#undef TXD_CHECK
#define TXD_LAW_BEGIN(law) +1
#define TXD_THRESHOLD(id, law, key, fallback, low, high, unit, sentence, source)
#define TXD_LAW_END
    ,
    TABLES = 0
#include "checks/thresholds.def"
#undef TXD_LAW_BEGIN
#undef TXD_THRESHOLD
#undef TXD_LAW_END
};

static size_t count_of(txd_checks *checks, const txd_result **results)
{
    size_t count;

    ck_assert_int_eq(txd_checks_finish(results, &count, checks), TXD_OK);
    return count;
}

/* Laws that warn and inform alone: no fault can make them fail. */
static const char *const never_failing = "attention_collapse";

START_TEST(the_registry_is_complete)
{
    size_t count = 0;

    for (const txd_check *check; (check = txd_check_at(count)) != NULL; count++) {
        ck_assert_ptr_eq(txd_check_find(check->name), check);
        ck_assert_ptr_nonnull(check->law);
        ck_assert_ptr_nonnull(check->formula);
        ck_assert_ptr_nonnull(check->causes);
        ck_assert_ptr_nonnull(check->look_next);
        ck_assert_ptr_nonnull(check->unit);
        ck_assert(check->faults[0] || txd_glob_list(never_failing, check->name));
    }
    ck_assert_uint_eq(count, LAWS);
    ck_assert_ptr_null(txd_check_find("no_such_law"));
}
END_TEST

START_TEST(only_and_skip_choose_the_laws)
{
    driver d;
    const txd_result *results;
    txd_checks *checks;

    driver_init(&d);
    checks = make(&d, "row_sum, causality*", NULL);
    ck_assert_uint_eq(count_of(checks, &results), 2);
    ck_assert_str_eq(results[0].check, "row_sum");
    ck_assert_str_eq(results[1].check, "causality");
    txd_checks_destroy(checks);
    checks = make(&d, NULL, "*w_sum,finite");
    ck_assert_uint_eq(count_of(checks, &results), LAWS - 3);
    txd_checks_destroy(checks);
    checks = make(&d, NULL, "*");
    ck_assert_uint_eq(count_of(checks, &results), 0);
    ck_assert_int_eq(txd_checks_exit(results, 0, false), 77);
    txd_checks_destroy(checks);
    driver_finish(&d);
}
END_TEST

START_TEST(a_misspelt_law_is_an_error_that_names_the_nearest)
{
    driver d;
    txd_check_select select = {.only = "rowsum"};
    txd_check_context context = {0};
    txd_checks *checks = NULL;

    driver_init(&d);
    context.claimed = &d.config;
    ck_assert_int_eq(txd_checks_create(&checks, &context, NULL, &select, NULL, NULL),
                     TXD_ERR_ARGUMENT);
    ck_assert_ptr_null(checks);
    ck_assert_ptr_nonnull(strstr(txd_message(), "row_sum"));
    driver_finish(&d);
}
END_TEST

START_TEST(laws_that_saw_nothing_are_skipped_and_the_exit_says_so)
{
    driver d;
    txd_check_context context = {.format = TXD_F64};
    const txd_result *results;
    txd_checks *checks;
    size_t count;

    driver_init(&d);
    context.claimed = &d.config;
    d.config.cross = true; /* so that most could see something */
    checks = make(&d, NULL, NULL);
    count = count_of(checks, &results);
    ck_assert_uint_eq(count, LAWS);
    for (size_t i = 0; i < count; i++) {
        const txd_check *law = txd_check_find(results[i].check);
        const char *why;

        ck_assert_int_eq(results[i].verdict, TXD_VERDICT_SKIP);
        why = law->inapplicable ? law->inapplicable(&context) : NULL;
        if (why)
            ck_assert_str_eq(results[i].note, why);
        else if (law->examine)
            ck_assert_str_eq(results[i].note, txd_not_examined);
        else if (strncmp(results[i].note, "not recorded: ", 14) != 0)
            ck_assert_str_eq(results[i].note,
                             "the pass offered nothing that this law reads");
    }
    ck_assert_int_eq(txd_checks_exit(results, count, false), 77);
    txd_checks_destroy(checks);
    driver_finish(&d);
}
END_TEST

static unsigned offer_nothing(const void *self, txd_site_kind kind, txd_point point,
                              int layer)
{
    (void)kind;
    (void)self;
    (void)point;
    (void)layer;
    return 0;
}

static unsigned offer_all_but_branch(const void *self, txd_site_kind kind,
                                     txd_point point, int layer)
{
    (void)kind;
    (void)self;
    (void)layer;
    return point == TXD_POINT_ATTN_BRANCH || point == TXD_POINT_MLP_BRANCH
               ? 0
               : TXD_ASK_VALUE;
}

static unsigned offer_weights_of_layer_2(const void *self, txd_site_kind kind,
                                         txd_point point, int layer)
{
    (void)kind;
    (void)self;
    return point == TXD_POINT_ATTN_WEIGHTS && layer == 2 ? TXD_ASK_ROWS : 0;
}

static const txd_result *result_named(const txd_result *results, size_t count,
                                      const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(results[i].check, name) == 0)
            return &results[i];
    ck_abort_msg("no result of %s", name);
    return NULL;
}

START_TEST(what_is_not_recorded_is_named)
{
    driver d;
    const txd_result *results;
    txd_checks *checks;
    size_t count;

    driver_init(&d);
    d.offers = offer_all_but_branch;
    checks = make(&d, NULL, NULL);
    count = count_of(checks, &results);
    ck_assert_str_eq(result_named(results, count, "residual_sum")->note,
                     "not recorded: attn.branch");
    ck_assert_str_eq(result_named(results, count, "position_norm")->note,
                     "not recorded: embed.tok (stats), embed.pos (stats)");
    txd_checks_destroy(checks);
    d.offers = offer_nothing;
    checks = make(&d, NULL, NULL);
    count = count_of(checks, &results);
    ck_assert_str_eq(result_named(results, count, "row_sum")->note,
                     "not recorded: attn.weights (rows)");
    ck_assert_str_eq(result_named(results, count, "score_scale")->note,
                     "not recorded: attn.scores, attn.q, attn.k");
    ck_assert_int_eq(txd_checks_exit(results, count, false), 77);
    txd_checks_destroy(checks);
    driver_finish(&d);
}
END_TEST

static unsigned offer_gradients(const void *self, txd_site_kind kind, txd_point point,
                                int layer)
{
    (void)self;
    (void)point;
    (void)layer;
    return txd_site_is_gradient(kind) ? TXD_ASK_VALUE | TXD_ASK_STATS : 0;
}

/* A law of gradients, a law of both, and one that takes what comes. */
START_TEST(gradients_are_offered_and_allowed_apart_from_values)
{
    const struct txd_check_need needs[] = {
        {TXD_POINT_ATTN_MASKED, TXD_ASK_VALUE | TXD_NEED_GRADIENT},
        {TXD_POINT_COUNT, TXD_ASK_STATS | TXD_NEED_GRADIENT},
        {TXD_POINT_COUNT, 1}};
    const struct txd_check_need any[] = {{TXD_POINT_COUNT, TXD_ASK_STATS},
                                         {TXD_POINT_COUNT, 1}};
    const txd_site sites[] = {
        {.kind = TXD_SITE_VALUE, .point = TXD_POINT_ATTN_MASKED},
        {.kind = TXD_SITE_GRADIENT, .point = TXD_POINT_ATTN_MASKED},
        {.kind = TXD_SITE_PARAMETER_GRADIENT, .point = TXD_POINT_COUNT, .layer = -1},
        {.kind = TXD_SITE_GRADIENT, .point = TXD_POINT_ATTN_Q}};
    const unsigned bits = TXD_ASK_VALUE | TXD_ASK_STATS;
    txd_run_options forward = {.backward = false}, both = {.backward = true};
    const txd_check law = {.needs = needs}, all = {.needs = any};
    txd_choice choice;
    char text[240];
    driver d;

    driver_init(&d);
    choice = (txd_choice){.check = &law, .claimed = &d.config, .run = &forward};
    ck_assert_int_eq(txd_choice_make(&choice, d.arena), TXD_OK);
    ck_assert_uint_eq(choice.layers_given, 0);
    txd_choice_lacks(&choice, text, sizeof text);
    ck_assert_ptr_nonnull(strstr(text, "grad_norm"));
    choice = (txd_choice){.check = &law, .claimed = &d.config, .run = &both};
    ck_assert_int_eq(txd_choice_make(&choice, d.arena), TXD_OK);
    ck_assert_uint_eq(choice.layers_given, LAYERS);
    ck_assert_uint_eq(txd_choice_allows(&choice, &sites[0], bits), 0);
    ck_assert_uint_eq(txd_choice_allows(&choice, &sites[1], bits), TXD_ASK_VALUE);
    ck_assert_uint_eq(txd_choice_allows(&choice, &sites[2], bits), bits);
    ck_assert_uint_eq(txd_choice_allows(&choice, &sites[3], bits), 0);
    choice = (txd_choice){.check = &all, .claimed = &d.config, .run = &both};
    ck_assert_int_eq(txd_choice_make(&choice, d.arena), TXD_OK);
    for (size_t i = 0; i < 4; i++)
        ck_assert_uint_eq(txd_choice_allows(&choice, &sites[i], TXD_ASK_STATS),
                          TXD_ASK_STATS);
    choice.offers = offer_gradients;
    ck_assert_uint_eq(txd_choice_allows(&choice, &sites[0], TXD_ASK_STATS), 0);
    ck_assert_uint_eq(txd_choice_allows(&choice, &sites[3], TXD_ASK_STATS),
                      TXD_ASK_STATS);
    choice = (txd_choice){.check = &law, .claimed = &d.config, .offers = offer_nothing};
    ck_assert_int_eq(txd_choice_make(&choice, d.arena), TXD_OK);
    txd_choice_lacks(&choice, text, sizeof text);
    ck_assert_str_eq(text, "not recorded: attn.masked@grad, parameters@grad (stats)");
    driver_finish(&d);
}
END_TEST

START_TEST(a_law_judges_the_layers_that_are_recorded_and_says_how_many)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.offers = offer_weights_of_layer_2;
    r = driver_run_weights(&d, "row_sum", -1, NULL);
    ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(r->evaluated, HEADS * LENGTH);
    ck_assert_ptr_nonnull(strstr(r->note, "judged in 1 of 3 layers"));
    driver_finish(&d);
}
END_TEST

START_TEST(a_broken_threshold_is_an_error_that_names_its_place)
{
    driver d;
    txd_check_context context = {0};
    txd_checks *checks = NULL;

    driver_init(&d);
    context.claimed = &d.config;
    ck_assert_int_eq(txd_cfg_parse(&d.root, d.arena, "rules.cfg",
                                   "checks : {\n row_sum : { atol = -1.0; };\n};"),
                     TXD_OK);
    ck_assert_int_eq(txd_checks_create(&checks, &context, d.root, NULL, NULL, NULL),
                     TXD_ERR_CONFIG);
    ck_assert_ptr_nonnull(strstr(txd_message(), "rules.cfg:2: checks.row_sum.atol"));
    driver_finish(&d);
}
END_TEST

START_TEST(every_threshold_is_a_key_that_validates)
{
    const txd_key *const *tables;
    txd_arena *arena;
    txd_setting *root;
    size_t count;

    ck_assert_int_eq(txd_arena_create(&arena), TXD_OK);
    ck_assert_int_eq(txd_checks_keys(&tables, &count, arena), TXD_OK);
    ck_assert_uint_eq(count, TABLES);
    ck_assert_str_eq(tables[0][0].path, "checks.row_sum.atol");
    ck_assert_str_eq(tables[0][0].fallback, "1e-6");
    ck_assert_ptr_null(tables[0][1].path);
    ck_assert_int_eq(txd_cfg_parse(&root, arena, "rules",
                                   "checks : { row_sum : { atol = 1e-5; };\n"
                                   "position_norm : { factor = 20; }; };"),
                     TXD_OK);
    ck_assert_int_eq(txd_settings_validate(root, tables), TXD_OK);
    ck_assert_int_eq(
        txd_cfg_parse(&root, arena, "rules", "checks : { row_sum : { atl = 1; }; };"),
        TXD_OK);
    ck_assert_int_eq(txd_settings_validate(root, tables), TXD_ERR_CONFIG);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(the_exit_status_follows_the_worst_verdict)
{
    const struct {
        txd_verdict verdicts[3];
        bool strict;
        int exit;
    } cases[] = {
        {{TXD_VERDICT_PASS, TXD_VERDICT_SKIP, TXD_VERDICT_INFO}, false, 0},
        {{TXD_VERDICT_PASS, TXD_VERDICT_WARN, TXD_VERDICT_PASS}, false, 0},
        {{TXD_VERDICT_PASS, TXD_VERDICT_WARN, TXD_VERDICT_PASS}, true, 1},
        {{TXD_VERDICT_FAIL, TXD_VERDICT_OPEN, TXD_VERDICT_SKIP}, false, 1},
        {{TXD_VERDICT_PASS, TXD_VERDICT_OPEN, TXD_VERDICT_SKIP}, false, 2},
        {{TXD_VERDICT_SKIP, TXD_VERDICT_SKIP, TXD_VERDICT_SKIP}, false, 77},
        {{TXD_VERDICT_SKIP, TXD_VERDICT_INFO, TXD_VERDICT_SKIP}, false, 0},
    };

    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        txd_result results[3] = {0};

        for (int i = 0; i < 3; i++)
            results[i].verdict = cases[c].verdicts[i];
        ck_assert_int_eq(txd_checks_exit(results, 3, cases[c].strict), cases[c].exit);
    }
}
END_TEST

START_TEST(findings_beyond_the_limit_are_counted_but_not_kept)
{
    driver d;
    const txd_result *r;

    driver_init(&d);
    d.config.n_layers = 100;
    d.config.layers = txd_arena_alloc(d.arena, 100, sizeof *d.config.layers);
    for (int l = 0; l < 100; l++)
        d.config.layers[l] = (txd_layer_config){.causal = true, .score_scale = 1};
    driver_start(&d, "row_sum");
    for (int l = 0; l < 100; l++) {
        double *weights = driver_weights(&d, l);

        weights[driver_at(&d, 0, 0, 4, 0)] += 1;
        driver_offer(&d, TXD_POINT_ATTN_WEIGHTS, l, weights);
    }
    r = driver_result(&d);
    ck_assert_uint_eq(r->finding_count, 64);
    ck_assert_uint_eq(r->finding_total, 100);
    ck_assert_int_eq(r->findings[0].layer, 0);
    ck_assert_int_eq(r->findings[63].layer, 63);
    driver_finish(&d);
}
END_TEST

TEST_MAIN(the_registry_is_complete, gradients_are_offered_and_allowed_apart_from_values,
          only_and_skip_choose_the_laws,
          a_misspelt_law_is_an_error_that_names_the_nearest,
          laws_that_saw_nothing_are_skipped_and_the_exit_says_so,
          what_is_not_recorded_is_named,
          a_law_judges_the_layers_that_are_recorded_and_says_how_many,
          a_broken_threshold_is_an_error_that_names_its_place,
          every_threshold_is_a_key_that_validates,
          the_exit_status_follows_the_worst_verdict,
          findings_beyond_the_limit_are_counted_but_not_kept)
