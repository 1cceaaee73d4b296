/* SPDX-License-Identifier: MIT
 *
 * Sequences in several calls against the same in one: what is found, from which size
 * on, and where there is nothing to be found.
 */
#include <stdio.h>
#include <string.h>

#include "planting.h"

#define LAWS "chunked_prefill,prefill_decode"
#define SIZES                                                                          \
    "vocab = 13; d_model = 16; n_heads = 4; n_layers = 3; d_ff = 12; max_seq_len = "   \
    "16; "
#define TOKENS "input : { tokens = ([1, 2, 3, 4, 5, 6, 7, 8, 9], [8, 9, 10]); };"

/* Only calls with earlier keys: the heads of layer 1 by so much. */
typedef struct later {
    double factor;
    txd_tap tap;
} later;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_HEADS &&
                   site->layer == 1
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    const later *l = self;
    float *values = block->value.data;
    size_t count = txd_tensor_count(&block->value);

    for (size_t i = 0; block->pass->inputs->past > 0 && i < count; i++)
        values[i] = (float)(l->factor * (double)values[i]);
    return TXD_OK;
}

static void expect_all(const live *l, txd_verdict verdict)
{
    for (size_t i = 0; i < l->count; i++)
        ck_assert_msg(l->results[i].verdict == verdict, "%s: %s: %s",
                      l->results[i].check, txd_verdict_name(l->results[i].verdict),
                      l->results[i].note);
    ck_assert_uint_eq(l->count, 2);
}

static void run_moved(live *l, double factor)
{
    later moved = {factor, {.name = "later", .ask = ask, .edit = edit}};

    moved.tap.self = &moved;
    live_edit(l, "model : { preset = \"llama\"; n_kv_heads = 2; " SIZES "}; " TOKENS,
              LAWS, &moved.tap);
}

START_TEST(what_rounding_may_do_is_no_finding_and_a_little_more_is_one)
{
    live l;

    run_moved(&l, 1 + 0x1p-22);
    expect_all(&l, TXD_VERDICT_PASS);
    live_finish(&l);
    run_moved(&l, 1 + 0x1p-14);
    expect_all(&l, TXD_VERDICT_FAIL);
    for (size_t i = 0; i < 2; i++) {
        const txd_finding *finding = l.results[i].findings;

        ck_assert_uint_eq(l.results[i].finding_count, 1);
        ck_assert_str_eq(finding->site, "layers.1.attn.heads");
        ck_assert_double_gt(finding->measured, finding->allowed);
        /* The first token of the second call. */
        ck_assert_int_eq(finding->query, 5);
    }
    live_finish(&l);
}
END_TEST

START_TEST(positions_that_are_counted_twice_are_told_from_keys_that_are_not_seen)
{
    static const char *const faults[][2] = {{"cache_position_twice", "attn.q"},
                                            {"cache_hole", "attn.heads"}};

    for (int f = 0; f < 2; f++) {
        char cfg[512];
        live l;

        snprintf(cfg, sizeof cfg,
                 "model : { preset = \"llama\"; " SIZES "}; " TOKENS
                 " faults : ( { name = \"%s\"; } );",
                 faults[f][0]);
        live_run(&l, cfg, LAWS);
        expect_all(&l, TXD_VERDICT_FAIL);
        for (size_t i = 0; i < 2; i++)
            ck_assert_msg(strstr(l.results[i].findings[0].site, faults[f][1]) != NULL,
                          "%s: %s", faults[f][0], l.results[i].findings[0].site);
        live_finish(&l);
    }
}
END_TEST

START_TEST(conventions_and_formats_are_silent)
{
    static const char *const models[] = {
        "preset = \"mini\"; positions = \"alibi\"; sinks = true;",
        "preset = \"mini\"; positions = \"relative\"; qk_norm = \"head\";",
        "preset = \"gpt2\"; norm_placement = \"post\"; cross = true;",
        "preset = \"gpt2\"; positions = \"sinusoidal\"; parallel = true;"};
    static const char *const backends[] = {"ref64", "cpu32", "bf16", "fp16"};

    for (size_t m = 0; m < sizeof models / sizeof *models; m++)
        for (size_t b = 0; b < sizeof backends / sizeof *backends; b++) {
            char cfg[1024];
            live l;

            snprintf(cfg, sizeof cfg,
                     "model : { %s " SIZES "}; mask : { window = 3; }; precision : { "
                     "backend = \"%s\"; }; input : { pad = \"left\"; tokens = ([1, 2, "
                     "3, 4, 5, 6, 7, 8, 9], [8, 9, 10]); %s };",
                     models[m], backends[b],
                     strstr(models[m], "cross") ? "memory : { random : { length = 4; "
                                                  "}; };"
                                                : "");
            live_run(&l, cfg, LAWS);
            expect_all(&l, TXD_VERDICT_PASS);
            live_finish(&l);
        }
}
END_TEST

START_TEST(what_cannot_be_continued_is_skipped_and_nan_is_open)
{
    live l;

    live_run(&l, "model : { preset = \"mini\"; " SIZES "}; input : { tokens = [3]; };",
             LAWS);
    expect_all(&l, TXD_VERDICT_SKIP);
    live_finish(&l);
    live_run(&l,
             "model : { preset = \"mini\"; " SIZES
             "}; mask : { causal = false; }; " TOKENS,
             LAWS);
    expect_all(&l, TXD_VERDICT_SKIP);
    live_finish(&l);
    live_run(&l,
             "model : { preset = \"mini\"; " SIZES "}; " TOKENS
             " faults : ( { name = \"nan_in_weights\"; layers = \"0\"; } );",
             LAWS);
    expect_all(&l, TXD_VERDICT_OPEN);
    live_finish(&l);
}
END_TEST

TEST_MAIN(what_rounding_may_do_is_no_finding_and_a_little_more_is_one,
          positions_that_are_counted_twice_are_told_from_keys_that_are_not_seen,
          conventions_and_formats_are_silent,
          what_cannot_be_continued_is_skipped_and_nan_is_open)
