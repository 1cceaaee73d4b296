/* SPDX-License-Identifier: MIT
 *
 * A model and an input beyond what laws look at in full.
 */
#include "sampled.h"

#include <stdio.h>

#include "faults/fault.h"

#define MODEL(preset, more)                                                            \
    "model : { preset = \"" preset "\"; vocab = 256; d_model = 256; n_heads = 8; "     \
    "n_layers = 2; d_ff = 64; max_seq_len = 300; " more " }; "

static const struct {
    const char *model, *input; /* the latter within the group input */
} models[SAMPLED_MODELS] = {
    {MODEL("gpt2", "cross = true;"),
     "memory : { random : { length = 200; }; valid = [200, 5]; };"},
    {MODEL("llama",
           "n_kv_heads = 2; score_softcap = 20.0; logit_softcap = 20.0; "
           "qk_norm = \"head\"; layers = ( { range = \"0\"; window = 250; } );"),
     ""},
    {MODEL("gpt2", "positions = \"alibi\"; sinks = true; embed_scale = 7.0;"), ""},
};

/* Only formed if asked for. */
static const char gradients[] = "record : ( { probe = \"grad_norm\"; } );";

/* The group input: a long row, and a short one padded on the left. */
static void print_input(char *text, size_t bytes, const char *more)
{
    size_t used =
        (size_t)snprintf(text, bytes, "input : { pad = \"left\"; tokens = ([");

    for (int i = 0; i < SAMPLED_LONG; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", i > 0 ? ", " : "",
                                 (i * 97 + i * i % 31) % 256);
    used += (size_t)snprintf(text + used, bytes - used, "], [");
    for (int i = 0; i < SAMPLED_SHORT; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%d", i > 0 ? ", " : "",
                                 13 * i + 1);
    snprintf(text + used, bytes - used, "]); %s };", more);
}

void sampled_run(live *l, const sampled *s)
{
    live_plant planted = {.threads = s->threads};
    char input[4096], text[8192], faults[256] = "";

    print_input(input, sizeof input, models[s->model].input);
    if (s->fault)
        snprintf(faults, sizeof faults, "faults : ( { name = \"%s\"; %s } );", s->fault,
                 s->selectors ? s->selectors : "");
    snprintf(text, sizeof text, "precision : { backend = \"cpu32\"; }; %s %s %s %s",
             models[s->model].model, input, faults,
             !s->fault || txd_fault_is_backward(txd_fault_find(s->fault)) ? gradients
                                                                          : "");
    live_run_planted(l, text, s->only, &planted);
}
