/* SPDX-License-Identifier: MIT
 *
 * A model and an input beyond what laws look at in full.
 */
#include "sampled.h"
#include "planting.h"

#include <stdio.h>

#include "faults/fault.h"

#define MODEL_OF(preset, heads, more)                                                  \
    "model : { preset = \"" preset "\"; vocab = 256; d_model = 256; n_heads = " heads  \
    "; n_layers = 2; d_ff = 64; max_seq_len = 300; " more " }; "
#define MODEL(preset, more) MODEL_OF(preset, "8", more)

static const struct {
    const char *model, *input; /* the latter within the group input */
    bool is_packed;            /* the rows hold two documents each */
    bool is_anew;              /* positions begin anew in the second */
} models[SAMPLED_MODELS] = {
    {MODEL("gpt2", "cross = true;"),
     "memory : { random : { length = 200; }; valid = [190, 0]; };", false, false},
    {MODEL("llama",
           "n_kv_heads = 2; rope_width = 16; score_softcap = 20.0; logit_softcap = "
           "20.0; logit_scale = 0.5; norm_offset = 1.0; "
           "qk_norm = \"head\"; layers = ( { range = \"0\"; window = 250; } );"),
     "", false, false},
    {MODEL_OF("gpt2", "12",
              "head_dim = 16; positions = \"alibi\"; sinks = true; embed_scale = "
              "6.93;"),
     "", true, false},
    {MODEL("gpt2", ""), "", true, true},
};

/* Only formed if asked for. */
static const char gradients[] = "record : ( { probe = \"grad_norm\"; } );";

/* A list of lists, of the long and of the short row. */
static size_t print_rows(char *text, size_t bytes, int (*number)(int row, int place))
{
    const int lengths[2] = {SAMPLED_LONG, SAMPLED_SHORT};
    size_t used = (size_t)snprintf(text, bytes, "(");

    for (int row = 0; row < 2; row++)
        for (int i = 0; i < lengths[row]; i++)
            used += (size_t)snprintf(
                text + used, bytes - used, "%s%d%s", i > 0 ? ", " : "[", number(row, i),
                i + 1 < lengths[row] ? "" : (row == 0 ? "], " : "]); "));
    return used;
}

static int token(int row, int i)
{
    return row == 0 ? (i * 97 + i * i % 31) % 256 : 13 * i + 1;
}

static int document(int row, int i)
{
    return i >= (row == 0 ? SAMPLED_LONG : SAMPLED_SHORT) / 2;
}

static int position(int row, int i)
{
    int half = (row == 0 ? SAMPLED_LONG : SAMPLED_SHORT) / 2;

    return i < half ? i : i - half;
}

/* The group input: a long row, and a short one padded on the left. */
static void print_input(char *text, size_t bytes, int model)
{
    size_t used = (size_t)snprintf(text, bytes, "input : { pad = \"left\"; tokens = ");

    used += print_rows(text + used, bytes - used, token);
    if (models[model].is_packed) {
        used += (size_t)snprintf(text + used, bytes - used, "documents = ");
        used += print_rows(text + used, bytes - used, document);
    }
    if (models[model].is_anew) {
        used += (size_t)snprintf(text + used, bytes - used, "positions = ");
        used += print_rows(text + used, bytes - used, position);
    }
    snprintf(text + used, bytes - used, "%s };", models[model].input);
}

void sampled_run(live *l, const sampled *s)
{
    live_plant planted = {.threads = s->threads};
    char input[8192], text[12288], faults[256] = "";

    print_input(input, sizeof input, s->model);
    if (s->fault)
        snprintf(faults, sizeof faults, "faults : ( { name = \"%s\"; %s } );", s->fault,
                 s->selectors ? s->selectors : "");
    snprintf(text, sizeof text, "precision : { backend = \"%s\"; }; %s %s %s %s",
             s->fault ? trial_backend(s->fault) : "cpu32", models[s->model].model,
             input, faults,
             !s->fault || txd_fault_is_backward(txd_fault_find(s->fault)) ? gradients
                                                                          : "");
    live_run_planted(l, text, s->only, &planted);
}
