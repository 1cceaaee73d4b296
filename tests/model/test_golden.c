/* SPDX-License-Identifier: MIT
 *
 * The decoder against real trained models: golden tensors that other programs computed
 * (PROVENANCE.txt beside the models). The suite only reads them.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "observe.h"
#include "suite.h"
#include "worst.h"

/* Largest error of a site's values against a golden array, over the largest golden
 * magnitude if relative. NaN if anything is not comparable. */
static double worst_error(observed *o, const double *got, size_t count,
                          const char *path, bool relative)
{
    double *golden, worst = 0, largest = 0;
    size_t expected;

    OK(observe_golden(&golden, &expected, o, path));
    ck_assert_msg(expected == count, "%s has %zu elements, the site %zu", path,
                  expected, count);
    for (size_t i = 0; i < count; i++) {
        double error =
            isinf(golden[i]) && golden[i] == got[i] ? 0 : fabs(got[i] - golden[i]);

        worst = worst_of(worst, error);
        if (isfinite(golden[i]))
            largest = fmax(largest, fabs(golden[i]));
    }
    return relative ? worst / largest : worst;
}

static void holds(observed *o, const char *site, const char *folder, const char *file,
                  double allowed)
{
    struct observed_site *s = observe_site(o, site);
    char path[512];
    double worst;

    ck_assert_msg(s != NULL, "%s was not offered", site);
    ck_assert_uint_eq(s->cells, s->count);
    snprintf(path, sizeof path, "%s/golden/%s.npy", folder, file);
    worst = worst_error(o, s->values, s->count, path, false);
    ck_assert_msg(worst <= allowed, "%s: off by %.3g from %s, allowed %.3g", site,
                  worst, file, allowed);
}

static void run_stories(observed *o, const char *backend, const char *ids)
{
    const char *folder = test_model("stories260K");
    char path[512];

    OK(observe_model(o, folder, backend));
    snprintf(path, sizeof path, "%s/golden/%s.npy", folder, ids);
    OK(observe_npy(o, path));
    OK(observe_pass(o));
}

/* Golden q and k are (t, h, e) with adjacent pairs; ours (h, t, e) turn halves: even
 * lanes first, then odd. */
static double *rearranged(observed *o, const struct observed_site *site, size_t heads,
                          size_t length, size_t width)
{
    double *out = txd_arena_alloc(o->arena, site->count, sizeof *out);

    for (size_t t = 0; t < length; t++)
        for (size_t h = 0; h < heads; h++)
            for (size_t e = 0; e < width; e++) {
                size_t lane = e % 2 == 0 ? e / 2 : width / 2 + e / 2;

                out[(t * heads + h) * width + e] =
                    site->values[(h * length + t) * width + lane];
            }
    return out;
}

static void holds_rotated(observed *o, const char *site, const char *file, size_t heads)
{
    const struct observed_site *s = observe_site(o, site);
    char path[512];

    snprintf(path, sizeof path, "%s/golden/%s.npy", test_model("stories260K"), file);
    ck_assert(worst_error(o, rearranged(o, s, heads, 27, 8), s->count, path, false) <=
              1e-11);
}

START_TEST(ref64_gives_the_golden_tensors_of_stories260K_within_1e_11)
{
    static const char *const first[][2] = {
        {"embed.out", "embed"},
        {"layers.0.norm1.out", "l0.attn_norm"},
        {"layers.0.attn.merged", "l0.attn_ctx"},
        {"layers.0.norm2.out", "l0.ffn_norm"},
        {"layers.0.mlp.act", "l0.ffn_act"},
        {"final.norm", "final_norm"},
        {"logits", "logits_fp64"},
    };
    const char *folder = test_model("stories260K");
    observed o = {0};
    char site[64], file[64];

    if (folder == NULL)
        test_skip(TEST_NO_MODEL);
    run_stories(&o, "ref64", "prompt_ids");
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        holds(&o, first[i][0], folder, first[i][1], 1e-11);
    for (int l = 0; l < 5; l++) {
        snprintf(site, sizeof site, "layers.%d.attn.weights", l);
        snprintf(file, sizeof file, "l%d.attn_prob", l);
        holds(&o, site, folder, file, 1e-11);
        snprintf(site, sizeof site, "layers.%d.resid.mid", l);
        snprintf(file, sizeof file, "l%d.resid_mid", l);
        holds(&o, site, folder, file, 1e-11);
        snprintf(site, sizeof site, "layers.%d.resid.post", l);
        snprintf(file, sizeof file, "l%d.resid_post", l);
        holds(&o, site, folder, file, 1e-11);
    }
    holds_rotated(&o, "layers.0.attn.q", "l0.q_rope", 8);
    holds_rotated(&o, "layers.0.attn.k", "l0.k_rope", 4);
    observe_finish(&o);
}
END_TEST

START_TEST(ref64_gives_the_golden_logits_of_a_text_out_of_domain)
{
    observed o = {0};

    if (test_model("stories260K") == NULL)
        test_skip(TEST_NO_MODEL);
    run_stories(&o, "ref64", "shakespeare_ids");
    holds(&o, "logits", test_model("stories260K"), "shakespeare_logits_fp64", 1e-11);
    observe_finish(&o);
}
END_TEST

START_TEST(cpu32_gives_the_golden_logits_of_stories260K_within_5e_5)
{
    observed o = {0};

    if (test_model("stories260K") == NULL)
        test_skip(TEST_NO_MODEL);
    run_stories(&o, "cpu32", "prompt_ids");
    holds(&o, "logits", test_model("stories260K"), "logits_fp64", 5e-5);
    observe_finish(&o);
}
END_TEST

START_TEST(the_loss_is_the_mean_of_the_golden_token_losses)
{
    const char *path = test_model("stories260K/golden/token_nll_fp64.npy");
    observed o = {0};
    double *golden, sum = 0;
    const struct observed_site *loss;
    size_t count;

    if (path == NULL)
        test_skip(TEST_NO_MODEL);
    run_stories(&o, "ref64", "prompt_ids");
    OK(observe_golden(&golden, &count, &o, path));
    loss = observe_site(&o, "loss.token");
    ck_assert_uint_eq(count, 26);
    for (size_t i = 0; i < count; i++) {
        ck_assert(txd_close(loss->values[i], golden[i], 1e-11));
        sum += golden[i];
    }
    ck_assert(isnan(loss->values[26]));
    ck_assert_double_eq(loss->stats[TXD_STAT_COUNT], 26);
    ck_assert(txd_close(txd_run_loss(o.run), sum / 26, 1e-11));
    observe_finish(&o);
}
END_TEST

/* 21 of the 24 shipped intermediates are points. */
static const char *const nano[][2] = {
    {"embed.tok", "ref_fp32_tok_emb"},
    {"embed.out", "ref_fp32_x"},
    {"layers.0.norm1.out", "ref_fp32_ln1"},
    {"layers.0.attn.q", "ref_fp32_q"},
    {"layers.0.attn.k", "ref_fp32_k"},
    {"layers.0.attn.v", "ref_fp32_v"},
    {"layers.0.attn.masked", "ref_fp32_att"},
    {"layers.0.attn.weights", "ref_fp32_attSm"},
    {"layers.0.attn.merged", "ref_fp32_y"},
    {"layers.0.attn.out", "ref_fp32_yProj"},
    {"layers.0.resid.mid", "ref_fp32_attnResid"},
    {"layers.0.norm2.out", "ref_fp32_ln2"},
    {"layers.0.mlp.up", "ref_fp32_fc"},
    {"layers.0.mlp.act", "ref_fp32_gelu"},
    {"layers.0.mlp.out", "ref_fp32_mlp"},
    {"layers.0.resid.post", "ref_fp32_mlpResid"},
    {"layers.1.resid.pre", "ref_fp32_block0"},
    {"layers.1.resid.post", "ref_fp32_block1"},
    {"layers.2.resid.post", "ref_fp32_block2"},
    {"final.norm", "ref_fp32_ln_f"},
    {"logits", "ref_fp32_lm_head"},
};

static void nano_holds(observed *o, const double *got, size_t count, const char *file)
{
    char path[512];
    double worst;

    snprintf(path, sizeof path, "%s/golden/%s.npy", test_model("gpt-nano-sort"), file);
    worst = worst_error(o, got, count, path, true);
    ck_assert_msg(worst <= 5e-6, "%s: relative error %.3g", file, worst);
}

/* qkv is (b, t, 3 * 48) with q, k and v side by side; ours are (b, h, t, 16) each. */
static double *joined(observed *o)
{
    static const char *const parts[3] = {"layers.0.attn.q_proj", "layers.0.attn.k_proj",
                                         "layers.0.attn.v"};
    double *out = txd_arena_alloc(o->arena, 3 * 11 * 144, sizeof *out);

    for (size_t part = 0; part < 3; part++)
        for (size_t i = 0; i < 3 * 3 * 11 * 16; i++) {
            size_t e = i % 16, t = i / 16 % 11, h = i / 176 % 3, b = i / 528;

            out[(b * 11 + t) * 144 + part * 48 + h * 16 + e] =
                observe_site(o, parts[part])->values[i];
        }
    return out;
}

static double *probabilities(observed *o)
{
    const struct observed_site *logits = observe_site(o, "logits");
    double *out = txd_arena_alloc(o->arena, logits->count, sizeof *out);

    for (size_t r = 0; r < logits->count; r += 3) {
        double sum = 0;

        for (size_t j = 0; j < 3; j++)
            sum += exp(logits->values[r + j]);
        for (size_t j = 0; j < 3; j++)
            out[r + j] = exp(logits->values[r + j]) / sum;
    }
    return out;
}

static void nano_all(const char *backend)
{
    const char *folder = test_model("gpt-nano-sort");
    observed o = {0};
    char path[512];

    OK(observe_model(&o, folder, backend));
    snprintf(path, sizeof path, "%s/golden/idx.npy", folder);
    OK(observe_npy(&o, path));
    OK(observe_pass(&o));
    for (size_t i = 0; i < sizeof nano / sizeof *nano; i++) {
        struct observed_site *s = observe_site(&o, nano[i][0]);

        ck_assert_msg(s != NULL && s->cells == s->count, "%s", nano[i][0]);
        nano_holds(&o, s->values, s->count, nano[i][1]);
    }
    nano_holds(&o, joined(&o), 3 * 11 * 144, "ref_fp32_qkv");
    nano_holds(&o, probabilities(&o), 99, "ref_fp32_probs");
    /* position embeddings are shipped for one row: ours repeat them for each */
    nano_holds(&o, observe_site(&o, "embed.pos")->values, 11 * 48, "ref_fp32_pos_emb");
    observe_finish(&o);
}

START_TEST(all_24_shipped_intermediates_of_gpt_nano_sort_hold_in_double)
{
    if (test_model("gpt-nano-sort") == NULL)
        test_skip(TEST_NO_MODEL);
    nano_all("ref64");
}
END_TEST

START_TEST(all_24_shipped_intermediates_of_gpt_nano_sort_hold_in_float)
{
    if (test_model("gpt-nano-sort") == NULL)
        test_skip(TEST_NO_MODEL);
    nano_all("cpu32");
    nano_all("ref32");
}
END_TEST

TEST_MAIN(ref64_gives_the_golden_tensors_of_stories260K_within_1e_11,
          ref64_gives_the_golden_logits_of_a_text_out_of_domain,
          cpu32_gives_the_golden_logits_of_stories260K_within_5e_5,
          the_loss_is_the_mean_of_the_golden_token_losses,
          all_24_shipped_intermediates_of_gpt_nano_sort_hold_in_double,
          all_24_shipped_intermediates_of_gpt_nano_sort_hold_in_float)
