/* SPDX-License-Identifier: MIT
 *
 * What every fault of the catalogue has in common: it changes the layer, head, query
 * and batch row that it is told to, and nothing else; and what acts on gradients leaves
 * the forward pass as it is.
 */
#include <stdio.h>
#include <string.h>

#include "planted.h"
#include "suite.h"

#define CROSS PLANTED_MODEL("cross = true; n_kv_heads = 2;")

#define SIX_HEADS                                                                      \
    "model : { preset = \"gpt2\"; vocab = 17; d_model = 24; n_heads = 6; n_layers = "  \
    "3; "                                                                              \
    "d_ff = 40; max_seq_len = 32; positions = \"alibi\"; }; "

/* They act where a cache has keys of earlier calls: test_cached.c. */
static const char *const cached = "mask_top_left,cache_*";

/* The model in which a fault can act: the first line that names it. */
/* They act on what training has made of the parameters. */
static const char *const trained = "bias_dropped";

/* The model in which a fault can act: the first line that names it. Faults with a
 * selector of heads need four heads. */
static const char *model_for(const char *fault)
{
    static const struct {
        const char *faults, *cfg;
    } models[] = {
        {"norm_offset_missing", PLANTED_MODEL("norm_offset = 0.5;")},
        {"kv_heads_tiled", PLANTED_MODEL("n_kv_heads = 2;")},
        {"kv_index_wrong", PLANTED_MODEL("")},
        {"softcap_missing", PLANTED_MODEL("score_softcap = 2.0;")},
        {"sinks_ignored", PLANTED_MODEL("sinks = true;")},
        {"qk_norm_missing", PLANTED_MODEL("qk_norm = \"head\";")},
        {"alibi_slopes_wrong", SIX_HEADS},
        {"rope_partial_ignored",
         PLANTED_MODEL("positions = \"rotary\"; rope_width = 4;")},
        {"rope_*,position_offset", PLANTED_MODEL("positions = \"rotary\";")},
        {"window_layers_swapped", PLANTED_MODEL("layers = ( { range = \"1\"; window = "
                                                "3; } );")},
        {"window_*", PLANTED_MODEL("") "mask : { window = 3; };"},
        {"mask_of_other_sample", PLANTED_MODEL("") "mask : { causal = false; };"},
        {"*", CROSS},
    };
    size_t i = 0;

    while (!txd_glob_list(models[i].faults, fault))
        i++;
    return models[i].cfg;
}

static bool takes(const txd_fault *fault, unsigned selector)
{
    return (txd_fault_selectors(fault) & selector) != 0;
}

START_TEST(a_fault_of_a_layer_changes_it_and_none_before_it)
{
    for (size_t f = 0; txd_fault_at(f); f++)
        for (int layer = 0; layer < 3; layer++) {
            const char *name = txd_fault_name(txd_fault_at(f));
            char use[128], prefix[32];
            size_t here = 0;
            planted p;

            if (!takes(txd_fault_at(f), TXD_FAULT_LAYERS) ||
                txd_glob_list(cached, name) || txd_glob_list(trained, name))
                continue;
            snprintf(use, sizeof use, "{ name = \"%s\"; layers = %d; }", name, layer);
            planted_run(&p, model_for(name), use);
            ck_assert_uint_eq(planted_differences_below(&p, "embed."), 0);
            for (int l = 0; l <= layer; l++) {
                snprintf(prefix, sizeof prefix, "layers.%d.", l);
                here = planted_differences_below(&p, prefix);
                if (l < layer || txd_fault_is_backward(txd_fault_find(name)))
                    ck_assert_msg(here == 0, "%s of layer %d: %zu at layer %d", name,
                                  layer, here, l);
            }
            if (!txd_fault_is_backward(txd_fault_find(name)))
                ck_assert_msg(here > 0, "%s of layer %d does nothing", name, layer);
            planted_finish(&p);
        }
}
END_TEST

/* Planted at layer 0 along one axis (b, h, q) of scores, masked and weights; of what
 * the heads give alone, where the fault acts later than these. */
static void expect_confined(const char *name, const char *selector, int axis)
{
    const bool late = strcmp(name, "head_dead") == 0;
    const char *const points[] = {late ? "heads" : "scores", "masked", "weights"};
    const bool padded = strcmp(name, "memory_padding_ignored") == 0; /* in row 2 */
    const bool cross = padded || strcmp(name, "cross_causal") == 0;
    const size_t heads = strcmp(name, "alibi_slopes_wrong") == 0 ? 6 : 4;
    size_t dims[4] = {PLANTED_BATCH, heads, PLANTED_LENGTH,
                      cross ? PLANTED_MEMORY : PLANTED_LENGTH};
    size_t changed = 0, chosen = axis == 0 && !padded ? 1 : 2;
    /* Of batch row 1, the last query is padding. */
    const bool last = strcmp(name, "fully_masked_row") == 0 && axis == 0;
    char use[128], site[64];
    planted p;

    snprintf(use, sizeof use, "{ name = \"%s\"; layers = 0; %s = %zu; %s }", name,
             selector, chosen, last ? "queries = 2;" : "");
    planted_run(&p, model_for(name), use);
    if (late)
        dims[3] = p.healthy.config.value_dim;
    for (int i = 0; i < (late ? 1 : 3); i++) {
        snprintf(site, sizeof site, "layers.0.%s.%s", cross ? "cross" : "attn",
                 points[i]);
        ck_assert_msg(planted_differences_along(&p, site, dims, axis, chosen, false) ==
                          0,
                      "%s with %s changes others at %s", name, selector, site);
        changed += planted_differences_along(&p, site, dims, axis, chosen, true);
    }
    ck_assert_msg((changed > 0) != txd_fault_is_backward(txd_fault_find(name)),
                  "%s with %s: %zu", name, selector, changed);
    planted_finish(&p);
}

START_TEST(a_fault_of_a_head_a_query_or_a_batch_row_changes_no_other)
{
    for (size_t f = 0; txd_fault_at(f); f++) {
        const char *name = txd_fault_name(txd_fault_at(f));

        if (txd_glob_list(cached, name))
            continue;
        if (takes(txd_fault_at(f), TXD_FAULT_HEADS))
            expect_confined(name, "heads", 1);
        if (takes(txd_fault_at(f), TXD_FAULT_QUERIES))
            expect_confined(name, "queries", 2);
        if (takes(txd_fault_at(f), TXD_FAULT_LAYERS) &&
            takes(txd_fault_at(f), TXD_FAULT_BATCH))
            expect_confined(name, "batch", 0);
    }
}
END_TEST

START_TEST(a_query_of_a_later_tile_is_the_one_that_changes)
{
    const size_t dims[4] = {1, 4, PLANTED_LONG, PLANTED_LONG};
    size_t faults = 0;

    for (size_t f = 0; txd_fault_at(f); f++) {
        const char *name = txd_fault_name(txd_fault_at(f));
        size_t changed = 0;
        char use[96];
        planted p;

        if (!takes(txd_fault_at(f), TXD_FAULT_QUERIES) ||
            txd_glob_list("padding_ignored,mask_of_other_sample,mask_on_queries",
                          name) ||
            txd_glob_list(cached, name) || txd_fault_is_backward(txd_fault_at(f)))
            continue;
        faults++;
        snprintf(use, sizeof use, "{ name = \"%s\"; layers = 0; queries = 290; }",
                 name);
        planted_run_long(&p, use);
        for (size_t i = 0; i < p.healthy.sites; i++) {
            const char *site = p.healthy.site[i].name;

            ck_assert_msg(planted_differences_along(&p, site, dims, 2, 290, false) == 0,
                          "%s changes other queries at %s", name, site);
            changed += planted_differences_along(&p, site, dims, 2, 290, true);
        }
        ck_assert_msg(changed > 0, "%s does nothing", name);
        planted_finish(&p);
    }
    ck_assert_uint_gt(faults, 5);
}
END_TEST

START_TEST(labels_of_a_batch_row_are_its_own)
{
    const size_t dims[4] = {PLANTED_BATCH, PLANTED_LENGTH, 1, 1};
    planted p;

    planted_run(&p, CROSS, "{ name = \"labels_shifted_twice\"; batch = 1; }");
    ck_assert_uint_eq(planted_differences_below(&p, "layers."), 0);
    ck_assert_uint_eq(planted_differences(&p, "logits"), 0);
    ck_assert_uint_eq(planted_differences_along(&p, "loss.token", dims, 0, 1, false),
                      0);
    ck_assert_uint_gt(planted_differences_along(&p, "loss.token", dims, 0, 1, true), 0);
    planted_finish(&p);
}
END_TEST

static void expect_zeros(observed *o, const char *name)
{
    const struct observed_site *site = planted_site(o, name);

    for (size_t i = 0; i < site->count; i++)
        ck_assert_msg(site->values[i] == 0, "%s is not all 0", name);
}

START_TEST(a_detached_layer_learns_nothing_and_those_above_it_do)
{
    static const char *const zeros[] = {
        "layers.1.attn.branch@grad",     "layers.1.cross.branch@grad",
        "layers.1.mlp.branch@grad",      "layers.1.attn.weights@grad",
        "layers.1.attn.qkv.weight@grad", "layers.1.cross.k.weight@grad",
        "layers.1.mlp.down.bias@grad",   "layers.1.norm1.weight@grad"};
    const struct observed_site *in, *out;
    planted p;

    planted_run_back(&p, CROSS, "{ name = \"grad_zeroed\"; layers = 1; }");
    for (size_t i = 0; i < sizeof zeros / sizeof *zeros; i++)
        expect_zeros(&p.faulty, zeros[i]);
    ck_assert_uint_eq(planted_differences(&p, "layers.2.mlp.up.weight@grad"), 0);
    ck_assert_uint_eq(planted_differences(&p, "layers.1.resid.post@grad"), 0);
    in = planted_site(&p.faulty, "layers.1.resid.pre@grad");
    out = planted_site(&p.faulty, "layers.1.resid.post@grad");
    ck_assert_mem_eq(in->values, out->values, in->count * sizeof(double));
    ck_assert_uint_gt(planted_differences(&p, "layers.0.attn.branch@grad"), 0);
    planted_finish(&p);
}
END_TEST

START_TEST(a_wrong_jacobian_of_a_head_a_query_or_a_batch_row_changes_no_other)
{
    static const char *const selectors[] = {"batch", "heads", "queries"};
    const size_t dims[4] = {PLANTED_BATCH, 4, PLANTED_LENGTH, PLANTED_LENGTH};
    const char *site = "layers.2.attn.masked@grad";

    for (int axis = 0; axis < 3; axis++) {
        char use[96];
        planted p;

        snprintf(use, sizeof use,
                 "{ name = \"softmax_jacobian_wrong\"; layers = 2; %s = 2; }",
                 selectors[axis]);
        planted_run_back(&p, PLANTED_MODEL(""), use);
        ck_assert_uint_eq(planted_differences(&p, "layers.2.attn.weights@grad"), 0);
        ck_assert_uint_eq(planted_differences_along(&p, site, dims, axis, 2, false), 0);
        ck_assert_uint_gt(planted_differences_along(&p, site, dims, axis, 2, true), 0);
        planted_finish(&p);
    }
}
END_TEST

START_TEST(labels_shifted_twice_ask_the_logits_for_another_token)
{
    planted p;

    planted_run_back(&p, CROSS, "{ name = \"labels_shifted_twice\"; }");
    ck_assert_uint_eq(planted_differences(&p, "logits"), 0);
    ck_assert_uint_gt(planted_differences(&p, "logits@grad"), 0);
    planted_finish(&p);
}
END_TEST

/* Two uses of one fault at the same layer add up. */
START_TEST(a_fault_may_be_used_twice)
{
    const size_t dims[4] = {PLANTED_BATCH, 4, PLANTED_LENGTH, PLANTED_LENGTH};
    planted p;

    planted_run(&p, CROSS,
                "{ name = \"softmax_bf16\"; layers = 0; heads = 1; }, "
                "{ name = \"softmax_bf16\"; layers = 0; heads = 3; }");
    for (size_t h = 0; h < 4; h++)
        ck_assert_int_eq(planted_differences_along(&p, "layers.0.attn.weights", dims, 1,
                                                   h, true) > 0,
                         h % 2 == 1);
    planted_finish(&p);
}
END_TEST

TEST_MAIN(a_fault_of_a_layer_changes_it_and_none_before_it,
          a_fault_of_a_head_a_query_or_a_batch_row_changes_no_other,
          a_query_of_a_later_tile_is_the_one_that_changes,
          a_detached_layer_learns_nothing_and_those_above_it_do,
          a_wrong_jacobian_of_a_head_a_query_or_a_batch_row_changes_no_other,
          labels_shifted_twice_ask_the_logits_for_another_token,
          labels_of_a_batch_row_are_its_own, a_fault_may_be_used_twice)
