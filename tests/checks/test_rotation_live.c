/* SPDX-License-Identifier: MIT
 *
 * The laws rotation_norm and rotation_angle on real passes, healthy and not.
 */
#include "planting.h"

#include <stdio.h>
#include <string.h>

static void expect(const trial *t, const char *law, const char *words)
{
    live l;

    ck_assert(trial_run(&l, t, law));
    expect_trip(&l, t, law);
    ck_assert_msg(strstr(live_result(&l, law)->findings[0].message, words) != NULL,
                  "%s: %s", t->fault, live_result(&l, law)->findings[0].message);
    live_finish(&l);
}

START_TEST(planted_faults_of_rotary_positions_are_named)
{
    const struct {
        const char *fault, *law, *words;
    } cases[] = {
        {"rope_wrong_pairing", "rotation_angle", "paired the other way"},
        {"rope_table_mismatch", "rotation_angle", "laid out for the other pairing"},
        {"rope_table_mismatch", "rotation_norm", "no rotation"},
        {"rope_over_heads", "rotation_angle", "the number of the head"},
        {"rope_wrong_base", "rotation_angle", "the base is 5e+05 instead of 1e+04"},
        {"rope_wrong_sign", "rotation_angle", "the wrong sign"},
        {"rope_half_precision", "rotation_angle", "formed in bfloat16"},
        {"position_offset", "rotation_angle", "positions are 3 too large"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layer = 0; layer < 5; layer += 2)
            expect(&(trial){SUBJECT_LLAMA, cases[i].fault, layer, NULL, NULL},
                   cases[i].law, cases[i].words);
    expect(&(trial){SUBJECT_SANDWICH, "rope_partial_ignored", 1, NULL, NULL},
           "rotation_angle", "all lanes of the head turn");
}
END_TEST

/* In float32 a slow pair's first angles tell a large base to two digits only. */
START_TEST(a_large_base_is_named_in_queries_and_keys_of_every_layer)
{
    const txd_result *r;
    live l;

    live_run(&l,
             "model : { preset = \"llama\"; vocab = 97; d_model = 32; n_heads = 4; "
             "n_layers = 3; d_ff = 32; }; "
             "input : { random = { batch = 2; length = 14; }; }; "
             "faults : ( { name = \"rope_wrong_base\"; strength = 100.0; } );",
             "rotation_angle");
    r = live_result(&l, "rotation_angle");
    ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(r->finding_count, 6);
    for (size_t i = 0; i < r->finding_count; i++)
        ck_assert_msg(strstr(r->findings[i].message, "the base is 1e+06 instead of"),
                      "%s: %s", r->findings[i].site, r->findings[i].message);
    live_finish(&l);
}
END_TEST

/* Every way in which positions can be scaled, and a norm before they turn. */
START_TEST(real_passes_turn_as_claimed)
{
    static const char *const models[] = {
        "rope_scaling = \"linear\"; rope_factor = 4.0;",
        "rope_scaling = \"llama3\"; rope_factor = 8.0; rope_original_length = 16;",
        "rope_scaling = \"yarn\"; rope_factor = 4.0; rope_original_length = 16;",
        "rope_width = 4; rope_pairing = \"adjacent\";",
        "qk_norm = \"head\"; rope_attention_factor = 1.5;",
    };
    static const char *const backends[] = {"cpu32", "ref64", "bf16", "fp16"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++)
        for (size_t b = 0; b < 4; b++) {
            char text[512];
            live l;

            snprintf(text, sizeof text,
                     "precision : { backend = \"%s\"; }; model : { preset = \"llama\"; "
                     "vocab = 97; d_model = 32; n_heads = 4; n_layers = 2; d_ff = 32; "
                     "%s }; input : { pad = \"left\"; tokens = ([1, 5, 9, 2, 7, 3, 8], "
                     "[4, 4]); };",
                     backends[b], models[i]);
            live_run(&l, text, "rotation_*");
            for (size_t r = 0; r < 2; r++)
                ck_assert_msg(l.results[r].verdict == TXD_VERDICT_PASS, "%s %s: %s",
                              models[i], backends[b],
                              l.results[r].finding_count > 0
                                  ? l.results[r].findings[0].message
                                  : l.results[r].note);
            live_finish(&l);
        }
}
END_TEST

TEST_MAIN(planted_faults_of_rotary_positions_are_named,
          a_large_base_is_named_in_queries_and_keys_of_every_layer,
          real_passes_turn_as_claimed)
