/* SPDX-License-Identifier: MIT
 *
 * Laws over cross-attention: silent on healthy models, each with what breaks it planted
 * by hand, and with the fault that gives it a causal mask.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "live.h"

#define SIZES                                                                          \
    "vocab = 40; d_model = 32; n_heads = 4; n_layers = 3; d_ff = 48; max_seq_len = "   \
    "32; "                                                                             \
    "cross = true; "
#define DRAWN                                                                          \
    "weights : { init = ( { params = \"*\"; scheme = \"xavier_normal\"; gain = 1.5; "  \
    "} "                                                                               \
    "); }; "
#define PADDED                                                                         \
    "input : { tokens = ( [1, 7, 3, 9, 22, 31, 8], [4, 11, 2, 5, 39] ); "              \
    "memory : { random : { length = 9; }; valid = ( 6, 9 ); }; }; "
#define CFG "model : { preset = \"mini\"; " SIZES "}; " DRAWN PADDED

enum { HEADS = 4, LENGTH = 7, MEMORY = 9, LAYER = 1 };

/* An element of a value that is changed, in layer LAYER. */
struct plant {
    txd_point point;
    size_t batch, head, query, key;
    double add, times;
};

static unsigned ask(void *self, const txd_site *site)
{
    const struct plant *p = self;

    return site->kind == TXD_SITE_VALUE && site->point == p->point &&
                   (site->layer == LAYER || site->layer < 0)
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    const struct plant *p = self;
    const size_t *dims = block->value.dims;
    size_t flat = p->batch;
    float *data = block->value.data;

    if (block->value.rank == 4)
        flat = flat * dims[1] + p->head;
    flat =
        (flat * dims[block->value.rank - 2] + p->query) * dims[block->value.rank - 1] +
        p->key;
    data[flat] = (float)(data[flat] * p->times + p->add);
    return TXD_OK;
}

/* The finding of a law that one changed element breaks, in its layer alone. */
static txd_finding broken(const char *law, struct plant plant)
{
    txd_tap tap = {.name = "plant", .self = &plant, .ask = ask, .edit = edit};
    const txd_result *r;
    txd_finding finding;
    live l;

    live_edit(&l, CFG, law, &tap);
    r = live_result(&l, law);
    ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s: %s: %s", law,
                  txd_verdict_name(r->verdict), r->note);
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_msg(!strstr(r->look_next, "attn."), "%s", r->look_next);
    finding = r->findings[0];
    live_finish(&l);
    return finding;
}

/* One changed element is nothing to a law, and breaks another. */
static void passes(const char *law, const char *other, struct plant plant,
                   uint64_t evaluated)
{
    txd_tap tap = {.name = "plant", .self = &plant, .ask = ask, .edit = edit};
    char only[64];
    live l;

    snprintf(only, sizeof only, "%s,%s", law, other);
    live_edit(&l, CFG, only, &tap);
    ck_assert_int_eq(live_result(&l, other)->verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(live_result(&l, law)->verdict, TXD_VERDICT_PASS);
    ck_assert_uint_eq(live_result(&l, law)->evaluated, evaluated);
    live_finish(&l);
}

static void expect_site(const txd_finding *finding, const char *site)
{
    ck_assert_str_eq(finding->site, site);
    ck_assert_int_eq(finding->layer, LAYER);
}

START_TEST(weights_of_a_query_that_do_not_sum_to_one_are_found)
{
    txd_finding f =
        broken("row_sum", (struct plant){TXD_POINT_CROSS_WEIGHTS, 1, 2, 3, 0, 0.01, 1});

    expect_site(&f, "layers.1.cross.weights");
    ck_assert_int_eq(f.batch, 1);
    ck_assert_int_eq(f.head, 2);
    ck_assert_int_eq(f.query, 3);
}
END_TEST

START_TEST(weight_on_padding_of_the_memory_is_found)
{
    txd_finding f = broken(
        "padding", (struct plant){TXD_POINT_CROSS_WEIGHTS, 0, 3, 2, 7, 1e-20, 1});

    expect_site(&f, "layers.1.cross.weights");
    ck_assert_int_eq(f.batch, 0);
    ck_assert_int_eq(f.head, 3);
    ck_assert_int_eq(f.query, 2);
    ck_assert_int_eq(f.key, 7);
}
END_TEST

START_TEST(causality_does_not_judge_a_memory)
{
    passes("causality", "row_sum",
           (struct plant){TXD_POINT_CROSS_WEIGHTS, 1, 0, 0, 8, 0.5, 1},
           3 * HEADS * (LENGTH * 6 / 2 + 5 * 4 / 2));
}
END_TEST

START_TEST(a_score_that_is_not_the_scaled_product_is_found)
{
    txd_finding f = broken("score_scale",
                           (struct plant){TXD_POINT_CROSS_SCORES, 1, 1, 4, 8, 0.01, 1});

    expect_site(&f, "layers.1.cross.scores");
    ck_assert_int_eq(f.head, 1);
    ck_assert_int_eq(f.query, 4);
    ck_assert_int_eq(f.key, 8);
}
END_TEST

START_TEST(a_weight_that_is_not_the_softmax_is_found)
{
    txd_finding f = broken("softmax_precision", (struct plant){TXD_POINT_CROSS_WEIGHTS,
                                                               1, 3, 2, 7, 0, 1.001});

    expect_site(&f, "layers.1.cross.weights");
    ck_assert_int_eq(f.head, 3);
    ck_assert_int_eq(f.query, 2);
    ck_assert_int_eq(f.key, 7);
}
END_TEST

START_TEST(a_sum_that_is_not_stream_plus_branch_is_found)
{
    txd_finding f = broken("residual_sum",
                           (struct plant){TXD_POINT_RESID_CROSS, 1, 0, 3, 5, 0.5, 1});

    expect_site(&f, "layers.1.resid.cross");
    ck_assert_int_eq(f.query, 3);
    ck_assert_ptr_nonnull(strstr(f.message, "resid.mid + cross.branch"));
    /* and the sum of the MLP starts from there */
    f = broken("residual_sum",
               (struct plant){TXD_POINT_RESID_POST, 0, 0, 2, 1, 0.5, 1});
    expect_site(&f, "layers.1.resid.post");
    ck_assert_ptr_nonnull(strstr(f.message, "resid.cross + mlp.branch"));
}
END_TEST

START_TEST(a_hidden_real_row_is_found_wherever_it_is)
{
    for (size_t key = 0; key < MEMORY; key += 4) {
        txd_finding f = broken("memory_seen", (struct plant){TXD_POINT_CROSS_MASKED, 1,
                                                             2, 3, key, -INFINITY, 1});

        expect_site(&f, "layers.1.cross.masked");
        ck_assert_int_eq(f.batch, 1);
        ck_assert_int_eq(f.head, 2);
        ck_assert_int_eq(f.query, 3);
        ck_assert_int_eq(f.key, (int64_t)key);
        ck_assert(f.measured == 1);
        ck_assert_ptr_null(strstr(f.message, "causal"));
    }
    broken("memory_seen", (struct plant){TXD_POINT_CROSS_MASKED, 1, 2, 3, 0, -1e9, 0});
}
END_TEST

START_TEST(what_becomes_of_padding_is_none_of_its_business)
{
    passes("memory_seen", "mask_fill",
           (struct plant){TXD_POINT_CROSS_MASKED, 0, 1, 2, 7, 5, 0},
           3 * HEADS * (LENGTH * 6 + 5 * 9));
}
END_TEST

START_TEST(a_nan_of_the_memory_begins_at_the_memory)
{
    txd_finding f =
        broken("finite", (struct plant){TXD_POINT_INPUT_MEMORY, 1, 0, 4, 3, NAN, 1});

    ck_assert_ptr_nonnull(strstr(f.message, "the memory that was given holds it"));
    ck_assert_str_eq(f.site, "input.memory");
    ck_assert_int_eq(f.batch, 1);
    ck_assert_int_eq(f.key, 4);
}
END_TEST

/* ---- the fault ---- */

/* Live, and from a recording of statistics and rows alone. */
static void expect_causal_in(const char *model, const char *rest, int layer,
                             const char *words)
{
    const char *path = test_file("causal.h5");
    char cfg[1024], where[64];
    txd_checks *checks;
    const txd_result *again;
    txd_trace *trace;
    size_t count;
    live l;

    snprintf(cfg, sizeof cfg,
             "%s faults : ( { name = \"cross_causal\"; layers = \"%d\"; %s } ); "
             "record : ( { probe = \"rows\"; }, { probe = \"stats\"; } );",
             model, layer, rest);
    snprintf(where, sizeof where, "layers.%d.cross.masked", layer);
    live_record(&l, cfg, path);
    ck_assert_int_eq(live_result(&l, "memory_seen")->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(live_result(&l, "memory_seen")->finding_count, 1);
    ck_assert_str_eq(live_result(&l, "memory_seen")->findings[0].site, where);
    ck_assert_msg(strstr(live_result(&l, "memory_seen")->findings[0].message, words) !=
                      NULL,
                  "%s", live_result(&l, "memory_seen")->findings[0].message);
    ck_assert_int_eq(txd_recording_open(&trace, path, NULL), TXD_OK);
    ck_assert_msg(txd_checks_recording(&checks, trace, NULL,
                                       &(txd_check_select){.only = "memory_seen"}) ==
                      TXD_OK,
                  "%s", txd_message());
    ck_assert_int_eq(txd_checks_finish(&again, &count, checks), TXD_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_int_eq(again->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(again->findings[0].message,
                     live_result(&l, "memory_seen")->findings[0].message);
    txd_checks_destroy(checks);
    txd_trace_destroy(trace);
    live_finish(&l);
}

static void expect_causal(const char *rest, int layer, const char *words)
{
    expect_causal_in(CFG, rest, layer, words);
}

/* Of what no query sees nothing is computed, so that no value tells of it. */
START_TEST(a_causal_mask_is_found_by_what_is_not_even_computed)
{
    static const char never[] = " mask : { evaluate_hidden = \"never\"; }; ";
    char cfg[1024];

    snprintf(cfg, sizeof cfg, "%s%s", CFG, never);
    expect_causal_in(cfg, "", 1, "180 of 348 cells of real rows are hidden");
    snprintf(cfg, sizeof cfg, "%s%s",
             "model : { preset = \"mini\"; " SIZES "}; " DRAWN
             "input : { tokens = ( [1], [4] ); memory : { random : { length = 9; }; "
             "valid = ( 1, 9 ); }; }; ",
             never);
    expect_causal_in(cfg, "", 2,
                     "32 of 40 cells of real rows are hidden in this layer: they were "
                     "not even computed");
}
END_TEST

START_TEST(a_causal_mask_in_cross_attention_is_found_and_named)
{
    for (int layer = 0; layer < 3; layer++)
        expect_causal("", layer, "in 4 of 4 heads query q gives weight to q + 1 rows");
    expect_causal("heads = \"3\";", 1, "in 1 of 4 heads query q");
    expect_causal("queries = \"2\"; batch = \"1\";", 2,
                  "query 2 does not see row 3 of the memory");
}
END_TEST

/* ---- healthy models ---- */

/* Gradients too: some laws are about them. */
static void expect_silence(const char *cfg, const char *idle)
{
    char text[2048];
    live l;

    snprintf(text, sizeof text, "%s record : ( { probe = \"grad_norm\"; } );", cfg);
    live_run(&l, text, NULL);
    for (size_t i = 0; i < l.count; i++) {
        const txd_result *r = &l.results[i];
        bool skipped = r->verdict == TXD_VERDICT_SKIP;
        bool is_idle =
            txd_glob_list(idle, r->check) || live_is_inapplicable(&l, r->check);

        ck_assert_msg(skipped == is_idle &&
                          (skipped || r->verdict == TXD_VERDICT_PASS ||
                           r->verdict == TXD_VERDICT_INFO),
                      "%s: %s: %s\n%s", r->check, txd_verdict_name(r->verdict),
                      r->finding_count ? r->findings[0].message : r->note, cfg);
    }
    live_finish(&l);
}

START_TEST(healthy_models_with_cross_attention_break_no_law)
{
    static const char *const models[] = {
        "preset = \"mini\"; ",
        "preset = \"gpt2\"; norm_placement = \"post\"; ",
        "preset = \"llama\"; n_kv_heads = 2; value_dim = 5; residual_scale = 0.5; ",
    };
    static const char *const inputs[] = {
        PADDED,
        "input : { tokens = ( [1, 7, 3, 9, 22], [4, 11, 2] ); pad = \"left\"; memory : "
        "{ random : { length = 300; }; }; }; mask : { window = 2; fill = -1e4; }; ",
    };
    static const char *const backends[] = {"ref64", "cpu32", "bf16", "fp16"};

    for (size_t m = 0; m < 3; m++)
        for (size_t i = 0; i < 2; i++)
            for (size_t b = 0; b < 4; b++) {
                char cfg[1536];

                snprintf(cfg, sizeof cfg,
                         "model : { %s" SIZES "}; " DRAWN "%s precision : { backend = "
                         "\"%s\"; };",
                         models[m], inputs[i], backends[b]);
                expect_silence(cfg, m == 2 ? "documents,position_norm" : "documents");
            }
}
END_TEST

START_TEST(an_encoder_and_its_decoder_break_no_law)
{
    expect_silence("model : { preset = \"gpt2\"; " SIZES "encoder_layers = 2; }; " DRAWN
                   "input : { tokens = ( [1, 7, 3, 9, 22], [4, 11, 2] ); memory : { "
                   "tokens = ( [5, 6, 7, 8], [9, 10, 11, 12, 13, 14] ); }; };",
                   "documents");
}
END_TEST

START_TEST(an_encoder_that_no_gradient_reaches_is_found)
{
    const txd_result *r;
    live l;

    live_run(&l,
             "model : { preset = \"mini\"; " SIZES "encoder_layers = 2; }; weights : { "
             "init = ( { params = \"*\"; scheme = \"xavier_normal\"; }, { params = "
             "\"layers.*.cross.v.weight\"; scheme = \"constant\"; value = 0.0; } ); }; "
             "input : { tokens = ( [1, 7, 3] ); memory : { tokens = ( [5, 6] ); }; }; "
             "record : ( { probe = \"grad_norm\"; } );",
             "grad_range");
    r = live_result(&l, "grad_range");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_str_eq(r->findings[0].site, "encoder.layers.0@grad");
    ck_assert_ptr_nonnull(strstr(r->findings[0].message, "exactly 0"));
    live_finish(&l);
}
END_TEST

START_TEST(a_model_without_cross_attention_skips_the_law_by_name)
{
    live l;

    live_run(&l,
             "model : { preset = \"mini\"; vocab = 40; d_model = 32; n_heads = 4; "
             "n_layers = 1; max_seq_len = 8; }; input : { tokens = [1, 2, 3]; };",
             "memory_seen");
    ck_assert_int_eq(live_result(&l, "memory_seen")->verdict, TXD_VERDICT_SKIP);
    ck_assert_str_eq(live_result(&l, "memory_seen")->note,
                     "this model has no cross-attention");
    live_finish(&l);
}
END_TEST

TEST_MAIN(weights_of_a_query_that_do_not_sum_to_one_are_found,
          weight_on_padding_of_the_memory_is_found, causality_does_not_judge_a_memory,
          a_score_that_is_not_the_scaled_product_is_found,
          a_weight_that_is_not_the_softmax_is_found,
          a_sum_that_is_not_stream_plus_branch_is_found,
          a_hidden_real_row_is_found_wherever_it_is,
          what_becomes_of_padding_is_none_of_its_business,
          a_nan_of_the_memory_begins_at_the_memory,
          a_causal_mask_is_found_by_what_is_not_even_computed,
          a_causal_mask_in_cross_attention_is_found_and_named,
          healthy_models_with_cross_attention_break_no_law,
          an_encoder_and_its_decoder_break_no_law,
          an_encoder_that_no_gradient_reaches_is_found,
          a_model_without_cross_attention_skips_the_law_by_name)
