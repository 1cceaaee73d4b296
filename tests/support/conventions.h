/* SPDX-License-Identifier: MIT
 *
 * Conventions of families beyond those of the presets: what stands in the group `model`
 * beside sizes. Tests that hold for every model run over all of them.
 */
#ifndef TEST_CONVENTIONS_H
#define TEST_CONVENTIONS_H

#include <stdbool.h>

static const struct convention {
    const char *name, *model;
    bool is_cross; /* attends to a memory */
} conventions[] = {
    {"norms before and over the branches",
     "preset = \"llama\"; norm_placement = \"sandwich\"; n_kv_heads = 2;", false},
    {"layer norms over the branches alone",
     "preset = \"gpt2\"; norm_placement = \"branch\"; residual_scale = 0.8;", false},
    {"norms over gated branches",
     "preset = \"llama\"; norm_placement = \"branch\"; n_kv_heads = 1;", false},
    {"sandwiched cross-attention",
     "preset = \"mini\"; norm_placement = \"sandwich\"; cross = true;", true},
    {"cross-attention with norms over the branches",
     "preset = \"gpt2\"; norm_placement = \"branch\"; cross = true;", true},
    {"parallel, two norms",
     "preset = \"gpt2\"; parallel = true; positions = \"rotary\"; rope_width = 2; "
     "residual_scale = 0.7;",
     false},
    {"parallel, one norm",
     "preset = \"gpt2\"; parallel = true; shared_norm = true; positions = \"rotary\"; "
     "n_kv_heads = 1;",
     false},
    {"parallel, gated, sandwiched, one norm before",
     "preset = \"llama\"; parallel = true; shared_norm = true; norm_placement = "
     "\"sandwich\";",
     false},
    {"parallel, norms over the branches",
     "preset = \"llama\"; parallel = true; norm_placement = \"branch\"; norm_eps = "
     "1e-6;",
     false},
    {"gains from 1",
     "preset = \"llama\"; norm_offset = 1.0; norm_placement = \"sandwich\";", false},
    {"scaled tokens, no positions",
     "preset = \"llama\"; embed_scale = 4.9; norm_offset = 1.0;", false},
    {"scaled tokens beside positions from row 2",
     "preset = \"gpt2\"; embed_scale = 1.7; position_offset = 2; activation = "
     "\"gelu\"; tie_embeddings = false;",
     false},
    {"normalised embeddings",
     "preset = \"gpt2\"; embed_norm = true; positions = \"none\";", false},
    {"normalised embeddings, all but the last norm after sums",
     "preset = \"gpt2\"; embed_norm = true; norm_placement = \"post\"; "
     "position_offset = 1; cross = true;",
     true},
    {"positions slowed down, layer by layer otherwise",
     "preset = \"llama\"; rope_scaling = \"yarn\"; rope_factor = 4.0; "
     "rope_original_length = 8; rope_beta_fast = 3.0; rope_base = 30.0; layers = ( { "
     "range = \"1\"; rope_scaling = \"llama3\"; } );",
     false},
    {"a bias that falls with the distance",
     "preset = \"gpt2\"; positions = \"alibi\"; head_dim = 6;", false},
    {"capped scores with a bias, not in every layer",
     "preset = \"mini\"; positions = \"alibi\"; n_kv_heads = 2; score_softcap = 1.5; "
     "layers = ( { range = \"1\"; score_softcap = 0.0; } );",
     false},
    {"capped scores of a memory",
     "preset = \"gpt2\"; cross = true; score_softcap = 2.0;", true},
    {"queries and keys with a norm per head",
     "preset = \"llama\"; qk_norm = \"head\"; n_kv_heads = 2; norm_offset = 1.0; "
     "head_dim = 6;",
     false},
    {"queries and keys with a norm over all heads",
     "preset = \"llama\"; qk_norm = \"width\"; n_kv_heads = 2; norm_placement = "
     "\"branch\";",
     false},
    {"norms of queries and keys of a memory, which do not turn",
     "preset = \"gpt2\"; qk_norm = \"width\"; cross = true; n_kv_heads = 2;", true},
    {"capped logits",
     "preset = \"llama\"; logit_softcap = 2.5; embed_scale = 4.9; tie_embeddings = "
     "true;",
     false},
    {"scaled logits, a bias on the head",
     "preset = \"gpt2\"; logit_scale = 0.6; head_bias = true; parallel = true; "
     "shared_norm = true; tie_embeddings = false;",
     false},
    {"scaled and capped logits",
     "preset = \"mini\"; logit_scale = -1.7; logit_softcap = 3.0; head_bias = true;",
     false},
    {"token types, positions and a norm",
     "preset = \"gpt2\"; token_types = 3; embed_norm = true; norm_placement = "
     "\"post\"; head_transform = true; head_bias = true; activation = \"gelu\";",
     false},
    {"token types beside scaled tokens alone",
     "preset = \"llama\"; token_types = 2; embed_scale = 0.8; embed_dim = 8;", false},
    {"a head with a transform",
     "preset = \"gpt2\"; head_transform = true; head_bias = true; norm_placement = "
     "\"post\"; embed_norm = true; activation = \"gelu\";",
     false},
    {"narrower embeddings",
     "preset = \"gpt2\"; embed_dim = 6; position_offset = 2; embed_scale = 1.5;",
     false},
    {"wider embeddings, a transform",
     "preset = \"llama\"; embed_dim = 30; head_transform = true; logit_scale = 0.5;",
     false},
    {"gains of layer norms from elsewhere", "preset = \"gpt2\"; norm_offset = -0.25;",
     false},
    {"sinks", "preset = \"gpt2\"; sinks = true; head_dim = 6; qkv_bias = false;",
     false},
    {"sinks beside capped scores of grouped heads",
     "preset = \"llama\"; sinks = true; n_kv_heads = 2; score_softcap = 2.0; cross = "
     "true;",
     true},
    {"a table of ranges of distance",
     "preset = \"gpt2\"; positions = \"relative\"; relative_buckets = 6; "
     "relative_distance = 5; norm = \"rmsnorm\";",
     false},
    {"a table of ranges in an encoder and a decoder",
     "preset = \"mini\"; positions = \"relative\"; relative_buckets = 8; "
     "relative_distance = 6; cross = true; score_scale = 1.0; score_softcap = 3.0;",
     true},
};
enum { CONVENTIONS = sizeof conventions / sizeof *conventions };

#endif
