/* SPDX-License-Identifier: MIT
 *
 * Bugs of sequences that come in pieces, and of their cache. Values are of the last
 * piece.
 */
#include "bug.h"

#include "faults/wrap.h"

#define HEADS "layers.0.attn.heads"
#define WEIGHTS "layers.0.attn.weights"

/* One head, scores of 0, values 1, 2, 4, 8; tokens are unit vectors, which the norm
 * leaves as they are. */
#define UNIFORM(chunk)                                                                 \
    {                                                                                  \
        "model : { preset = \"llama\"; positions = \"none\"; norm_eps = 0.0; vocab = " \
        "4; d_model = 4; n_heads = 1; n_layers = 1; head_dim = 4; value_dim = 1; "     \
        "d_ff "                                                                        \
        "= 8; }; input : { tokens = [0, 1, 2, 3]; };",                                 \
            {{"embed.tok.weight", "diagonal=1"},                                       \
             {"layers.0.norm1.weight", "all=0.5"},                                     \
             {"layers.0.attn.q.weight", "all=0"},                                      \
             {"layers.0.attn.v.weight", "1 2 4 8"}},                                   \
            true, chunk                                                                \
    }
static const toy halves = UNIFORM(2);
static const toy last_alone = UNIFORM(3);

static const bug rows[] = {
    {7, "pytorch/pytorch#108108", &halves, "name = \"mask_top_left\";", NULL,
     "causal_alignment", "top left", .shown = {{HEADS, "2.333333 3.75", "1 1.5"}}},
    {8, "onnx/onnx#8068", &halves, "name = \"mask_top_left\";", NULL,
     "causal_alignment",
     .shown = {{WEIGHTS "[0,0,0,*]", "0.333333 0.333333 0.333333 0", "1 0 0 0"}}},
    {75, "onnxruntime/mobius#365", &last_alone, "name = \"cache_newest_hidden\";", NULL,
     "causal_alignment", .shown = {{HEADS, "3.75", "2.333333"}}},
};

#define LIST(X)                                                                        \
    X(b07_fewer_queries_than_keys_see_the_oldest)                                      \
    X(b08_a_chunk_sees_itself_alone)                                                   \
    X(b75_the_length_of_the_cache_is_that_before_the_call)

BUGS_MAIN(LIST, "bugs_cache.txt")
