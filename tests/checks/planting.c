/* SPDX-License-Identifier: MIT
 *
 * Models with one fault each.
 */
#include "planting.h"

#include <stdio.h>
#include <string.h>

#define DRAWN_OF(preset, heads, more)                                                  \
    "{ preset = \"" preset "\"; vocab = 97; d_model = 48; n_heads = " heads            \
    "; n_layers = 5; "                                                                 \
    "d_ff = 96; max_seq_len = 64; " more " }"
#define DRAWN(preset, more) DRAWN_OF(preset, "4", more)
#define TOKENS(more)                                                                   \
    "{ tokens = ([1, 5, 9, 2, 7, 3, 11, 40, 13, 14, 22], [4, 4, 8, 96, 17, 60], "      \
    "[3, 1, 2, 9, 60, 12, 33, 5]); " more " }"

const planted_model subjects[SUBJECTS] = {
    {"stories260K", NULL,
     "{ tokens = ([1, 403, 407, 261, 378, 269, 12, 500, 33, 2, 9], "
     "[1, 44, 301, 302, 303, 8, 77]); }",
     5},
    {"gpt-nano-sort", NULL,
     "{ tokens = ([0, 1, 2, 1, 0, 2, 0, 0, 1, 1, 2], [2, 1, 1, 0, 0, 2]); }", 3},
    {"mini", DRAWN("mini", ""), TOKENS(""), 5},
    {"gpt2", DRAWN("gpt2", ""), TOKENS(""), 5},
    {"llama", DRAWN("llama", "n_kv_heads = 2;"), TOKENS(""), 5},
    {"post", DRAWN("gpt2", "norm_placement = \"post\";"), TOKENS(""), 5},
    {"cross", DRAWN("gpt2", "cross = true;"),
     TOKENS("memory : { random : { length = 9; }; valid = [9, 7, 0]; };"), 5},
    {"sandwich",
     DRAWN("llama", "n_kv_heads = 2; rope_width = 8; norm_placement = \"sandwich\"; "
                    "norm_offset = 1.0; "
                    "embed_scale = 6.93; logit_softcap = 20.0; logit_scale = 0.5; "
                    "tie_embeddings = true;"),
     TOKENS(""), 5},
    {"branch",
     DRAWN(
         "gpt2",
         "norm_placement = \"branch\"; embed_norm = true; positions = \"sinusoidal\";"),
     TOKENS(""), 5},
    {"parallel",
     DRAWN("gpt2",
           "parallel = true; shared_norm = true; position_offset = 2; head_bias "
           "= true; tie_embeddings = false;"),
     TOKENS(""), 5},
    {"slopes",
     DRAWN_OF("gpt2", "6",
              "positions = \"alibi\"; sinks = true; score_softcap = 4.0; "
              "n_kv_heads = 2;"),
     TOKENS(""), 5},
    {"ranges", DRAWN("llama", "positions = \"relative\"; qk_norm = \"head\";"),
     TOKENS(""), 5},
    {"packed",
     DRAWN("llama",
           "n_kv_heads = 2; layers = ( { range = \"0\"; window = 3; }, "
           "{ range = \"2\"; window = 3; }, { range = \"4\"; window = 3; } );"),
     TOKENS("documents = ([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 1], "
            "[0, 0, 0, 0, 1, 1, 1, 1]);"),
     5},
    {"left", DRAWN("gpt2", ""),
     TOKENS("pad = \"left\"; documents = ([0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1], "
            "[0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 1, 1, 1]); positions = ([0, 1, 2, 3, "
            "4, 0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5], [0, 1, 2, 3, 0, 1, 2, 3]);"),
     5},
};

/* Only formed if asked for. */
static const char *const gradients = "record : ( { probe = \"grad_norm\"; } );";

bool has_subject(int number)
{
    return subjects[number].model || test_model(subjects[number].name);
}

/* The group faults, and what asks for gradients where the fault has to do with them. */
static void print_fault(char *text, size_t bytes, const trial *t)
{
    char layers[32] = "";

    text[0] = '\0';
    if (!t->fault)
        return;
    if (t->layer != ALL_LAYERS)
        snprintf(layers, sizeof layers, " layers = \"%d\";", t->layer);
    snprintf(text, bytes, "faults : ( { name = \"%s\";%s %s } ); %s", t->fault, layers,
             t->rest ? t->rest : "",
             txd_fault_is_backward(txd_fault_find(t->fault)) ? gradients : "");
}

bool trial_run_planted(live *l, const trial *t, const char *backend, const char *only,
                       const live_plant *planted)
{
    const planted_model *s = &subjects[t->subject];
    char text[2048], fault[512], from[1024] = "";

    print_fault(fault, sizeof fault, t);
    if (!s->model)
        snprintf(from, sizeof from, "{ from = \"%s\"; }", test_model(s->name));
    snprintf(
        text, sizeof text,
        "precision : { backend = \"%s\"; }; model : %s; mask : { %s }; input : %s; %s",
        backend, s->model ? s->model : from, t->mask ? t->mask : "", s->input, fault);
    live_run_planted(l, text, only, planted);
    return l->inapplicable == NULL;
}

bool trial_run_in(live *l, const trial *t, const char *backend, const char *only)
{
    static const live_plant nothing;

    return trial_run_planted(l, t, backend, only, &nothing);
}

const char *trial_backend(const char *fault)
{
    return fault && strcmp(fault, "stream_overflows") == 0 ? "fp16" : "cpu32";
}

bool trial_run(live *l, const trial *t, const char *only)
{
    return trial_run_in(l, t, trial_backend(t->fault), only);
}

int layers_for(int out[3], int subject, const char *fault)
{
    unsigned takes = txd_fault_selectors(txd_fault_find(fault));
    int last = subjects[subject].layers - 1;

    out[0] = takes & TXD_FAULT_LAYERS ? 0 : ALL_LAYERS;
    out[1] = last / 2;
    out[2] = last;
    return takes & TXD_FAULT_LAYERS ? 3 : 1;
}

bool law_names(const txd_check *law, const char *fault)
{
    for (const char *const *name = law->faults; name && *name; name++)
        if (strcmp(*name, fault) == 0)
            return true;
    return false;
}

/* The layer that a law must name: of what is information, among others, for a healthy
 * layer may have it too. */
static bool names_layer(const txd_result *r, int layer)
{
    bool informs = txd_check_find(r->check)->informs || txd_check_find(r->check)->warns;

    if (layer == ALL_LAYERS)
        return r->finding_count > 0;
    for (size_t i = 0; i < (informs ? r->finding_count : r->finding_count > 0); i++)
        if (r->findings[i].layer == layer)
            return true;
    return false;
}

txd_verdict tripped_verdict(const char *law)
{
    const txd_check *check = txd_check_find(law);

    if (check->informs)
        return TXD_VERDICT_INFO;
    return check->warns ? TXD_VERDICT_WARN : TXD_VERDICT_FAIL;
}

bool only_informs(const char *fault)
{
    for (size_t c = 0; txd_check_at(c); c++)
        if (law_names(txd_check_at(c), fault) && !txd_check_at(c)->informs)
            return false;
    return true;
}

bool trial_trips(const live *l, const trial *t, const char *law)
{
    const txd_result *r = live_result(l, law);

    return r->verdict == tripped_verdict(law) && names_layer(r, t->layer);
}

void expect_trip(const live *l, const trial *t, const char *law)
{
    const txd_result *r = live_result(l, law);
    txd_verdict verdict = tripped_verdict(law);

    ck_assert_msg(r->verdict == verdict, "%s in %s, layer %d: %s says %s %s", t->fault,
                  subjects[t->subject].name, t->layer, law,
                  txd_verdict_name(r->verdict), r->note);
    ck_assert_int_eq(txd_checks_exit(l->results, l->count, false),
                     verdict == TXD_VERDICT_FAIL ? 1 : 0);
    ck_assert_uint_gt(r->finding_count, 0);
    ck_assert_str_ne(r->findings[0].message, "");
    ck_assert_msg(names_layer(r, t->layer), "%s in %s, layer %d: %s names layer %d",
                  t->fault, subjects[t->subject].name, t->layer, law,
                  r->findings[0].layer);
}
