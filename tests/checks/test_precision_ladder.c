/* SPDX-License-Identifier: MIT
 *
 * Errors against the model in float64: which are found, from which size on, and that
 * every format is silent about its own rounding.
 */
#include <stdio.h>
#include <string.h>

#include "planting.h"

#define LAW "precision_ladder"
#define SIZES                                                                          \
    "vocab = 13; d_model = 16; n_heads = 4; n_layers = 3; d_ff = 12; max_seq_len = "   \
    "16; "
#define TOKENS "input : { tokens = ([1, 2, 3, 4, 5, 6, 7, 8, 9], [8, 9, 10]); }; "
#define LLAMA "model : { preset = \"llama\"; " SIZES "}; "

/* The heads of a layer by so much. */
typedef struct moved {
    double factor;
    int layer;
    txd_tap tap;
} moved;

static unsigned ask(void *self, const txd_site *site)
{
    const moved *m = self;

    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_ATTN_HEADS &&
                   site->layer == m->layer
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    const moved *m = self;
    float *values = block->value.data;
    size_t count = txd_tensor_count(&block->value);

    for (size_t i = 0; i < count; i++)
        values[i] = (float)(m->factor * (double)values[i]);
    return TXD_OK;
}

static void run_moved(live *l, double factor, int layer)
{
    moved m = {factor, layer, {.name = "moved", .ask = ask, .edit = edit}};

    m.tap.self = &m;
    live_edit(l, LLAMA TOKENS, LAW, &m.tap);
}

START_TEST(less_than_the_noise_is_none_and_some_times_the_noise_is_found_where_it_is)
{
    for (int layer = 0; layer < 3; layer++) {
        const txd_finding *finding;
        char site[64];
        live l;

        run_moved(&l, 1 + 0x1p-26, layer);
        ck_assert_int_eq(live_result(&l, LAW)->verdict, TXD_VERDICT_PASS);
        live_finish(&l);
        run_moved(&l, 1 + 0x1p-20, layer);
        ck_assert_int_eq(live_result(&l, LAW)->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(live_result(&l, LAW)->finding_count, 1);
        finding = live_result(&l, LAW)->findings;
        snprintf(site, sizeof site, "layers.%d.attn.heads", layer);
        ck_assert_str_eq(finding->site, site);
        ck_assert_double_gt(finding->measured, finding->allowed);
        /* It is what was done, but for the rounding of both. */
        ck_assert_double_gt(finding->measured, 0.8 * 0x1p-20);
        ck_assert_double_lt(finding->measured, 1.2 * 0x1p-20);
        live_finish(&l);
    }
}
END_TEST

START_TEST(every_format_is_silent_about_its_own_rounding)
{
    static const char *const models[] = {
        "preset = \"mini\"; positions = \"relative\"; sinks = true;",
        "preset = \"gpt2\"; norm_placement = \"post\"; cross = true;",
        "preset = \"llama\"; norm_placement = \"sandwich\"; qk_norm = \"head\"; "
        "score_softcap = 2.0; logit_softcap = 3.0; embed_scale = 2.0;"};
    static const char *const backends[] = {"ref64", "ref32", "cpu32", "bf16", "fp16"};

    for (size_t m = 0; m < 3; m++)
        for (size_t b = 0; b < 5; b++) {
            const txd_result *r;
            char cfg[1024];
            live l;

            snprintf(cfg, sizeof cfg,
                     "model : { %s " SIZES "}; precision : { backend = \"%s\"; }; "
                     "input : { pad = \"left\"; tokens = ([1, 2, 3, 4, 5, 6, 7, 8, 9], "
                     "[8, 9, 10]); %s };",
                     models[m], backends[b],
                     m == 1 ? "memory : { random : { length = 4; }; };" : "");
            live_run(&l, cfg, LAW);
            r = live_result(&l, LAW);
            ck_assert_msg(r->verdict == TXD_VERDICT_PASS, "%s: %s %s\n%s",
                          txd_verdict_name(r->verdict), r->note,
                          r->finding_count ? r->findings[0].message : "", cfg);
            live_finish(&l);
        }
}
END_TEST

START_TEST(the_errors_of_other_formats_are_told)
{
    static const char *const words[] = {"cpu32 ", "bf16 ", "fp16 "};
    live l;

    live_run(&l, LLAMA TOKENS, LAW);
    for (int i = 0; i < 3; i++)
        ck_assert_msg(strstr(live_result(&l, LAW)->note, words[i]) != NULL, "%s",
                      live_result(&l, LAW)->note);
    live_finish(&l);
}
END_TEST

START_TEST(nan_is_never_a_pass)
{
    live l;

    live_run(&l, LLAMA TOKENS "faults : ( { name = \"nan_in_weights\"; } );", LAW);
    ck_assert_int_eq(live_result(&l, LAW)->verdict, TXD_VERDICT_OPEN);
    live_finish(&l);
}
END_TEST

TEST_MAIN(less_than_the_noise_is_none_and_some_times_the_noise_is_found_where_it_is,
          every_format_is_silent_about_its_own_rounding,
          the_errors_of_other_formats_are_told, nan_is_never_a_pass)
