/* SPDX-License-Identifier: MIT
 *
 * Models, inputs, edits, and one pass with a backward half.
 */
#include "scene.h"

#include "suite.h"

#define SIZES                                                                          \
    "vocab = 19; d_model = 24; n_heads = 4; n_layers = 3; d_ff = 40; "                 \
    "max_seq_len = 512; "
#define DRAWN                                                                          \
    "weights : { init = ( { params = \"layers.*\"; scheme = \"normal\"; std = 0.3; } " \
    "); };"

static const char *const variants[SCENES] = {
    "model : { preset = \"mini\"; " SIZES "};" DRAWN,
    "model : { preset = \"gpt2\"; " SIZES "norm_placement = \"post\"; };" DRAWN,
    "model : { preset = \"llama\"; " SIZES
    "n_kv_heads = 2; residual_scale = 0.5; };" DRAWN,
    "model : { preset = \"llama\"; " SIZES
    "norm_placement = \"post\"; final_norm = false; };" DRAWN,
    "model : { preset = \"mini\"; " SIZES
    "positions = \"none\"; final_norm = false; };" DRAWN,
    "model : { preset = \"mini\"; " SIZES "cross = true; };" DRAWN,
    "model : { preset = \"gpt2\"; " SIZES
    "cross = true; norm_placement = \"post\"; };" DRAWN,
    "model : { preset = \"llama\"; " SIZES "cross = true; encoder_layers = 2; };" DRAWN,
    "model : { preset = \"mini\"; " SIZES
    "positions = \"alibi\"; score_softcap = 1.5; layers = ( { range = \"1\"; "
    "score_softcap = 0.0; } ); };" DRAWN,
};

#define LENGTH 9

static unsigned ask_to_edit(void *self, const txd_site *site)
{
    const char *const *globs = self;

    return site->kind == TXD_SITE_VALUE && txd_glob_list(*globs, site->name)
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status edit(void *self, txd_block *block)
{
    float *values = block->value.data;

    (void)self;
    for (size_t i = 0; i < txd_tensor_count(&block->value); i++)
        values[i] = 0.75f * values[i] + 0.01f;
    return TXD_OK;
}

static const char *const edits[SCENE_EDITS] = {
    "",
    "embed.out,layers.1.resid.pre,layers.*.attn.q,layers.0.mlp.branch",
    "layers.*.norm*,layers.*.mlp.act,layers.*.attn.branch",
    "layers.2.*.k,layers.*.resid.post,layers.1.cross.branch,final.norm",
};

void scene_begin(scene *s, size_t variant, size_t edited)
{
    const size_t real[2] = {7, 5};
    observed *o = &s->o;

    *s = (scene){.globs = edits[edited % SCENE_EDITS]};
    cross_start(o, variants[variant], "cpu32", LENGTH);
    for (size_t t = 0; t < 3; t++)
        o->inputs.valid[LENGTH + t] = 0;
    txd_inputs_count_positions(&o->inputs);
    if (o->config.cross && o->config.encoder)
        OK(observe_source(o, 7, real));
    else if (o->config.cross)
        OK(observe_memory(o, 7, real));
}

void scene_pass(scene *s, txd_tap *listening)
{
    observed *o = &s->o;

    s->editing =
        (txd_tap){.name = "edits", .self = &s->globs, .ask = ask_to_edit, .edit = edit};
    s->taps[0] = &s->editing;
    s->taps[1] = &o->tap;
    s->taps[2] = listening;
    s->options = (txd_run_options){.claimed = &o->config,
                                   .taps = s->taps,
                                   .tap_count = listening ? 3 : 2,
                                   .backward = true,
                                   .threads = 2};
    if (o->source.batch > 0) {
        OK(txd_encoder_create(&o->encoder, o->backend, &o->config, o->params,
                              &s->options));
        s->options.encoder = txd_encoder_run(o->encoder);
        OK(txd_encoder_pass(o->encoder, &o->inputs, &o->source, 0));
    }
    OK(txd_run_create(&o->run, o->model, &s->options));
    OK(txd_run_pass(o->run, &o->inputs, 0));
}
