/* SPDX-License-Identifier: MIT
 *
 * Greedy continuation of one sequence, over a KV cache: the prompt in one call or in
 * chunks, then each token alone.
 */
#ifndef TXD_MODEL_GENERATE_H
#define TXD_MODEL_GENERATE_H

#include "model/cache.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct txd_generator txd_generator;

typedef struct txd_generate_options {
    size_t capacity; /* tokens of the whole sequence, prompt included */
    size_t chunk;    /* tokens per call of the prompt; 0 = all in one */
    bool from_start; /* run the whole sequence anew for every token: what the cache
                        must equal, slowly */
    int threads;     /* 0 = all */
    /* Called after every call; non-zero stops with ERR_INTERRUPTED. NULL = never. */
    int (*progress)(void *self, int step, size_t done, size_t total);
    void *progress_self;
} txd_generate_options;

/* ERR_INAPPLICABLE for a model that does not predict the next token of a sequence: an
 * encoder, one without causal mask, one that attends to a memory. `claimed` and the
 * model must outlive the generator. The caller owns *out. */
txd_status txd_generator_create(txd_generator **out, const txd_model *model,
                                const txd_config *claimed,
                                const txd_generate_options *options);
void txd_generator_destroy(txd_generator *generator); /* NULL is allowed */

/* Appends tokens to the sequence and runs them. ERR_CONFIG for ids that are not in the
 * vocabulary, and beyond the capacity or the model's positions. */
txd_status txd_generator_feed(txd_generator *generator, const int32_t *tokens,
                              size_t count);

/* The most likely token after the sequence so far (of equals the lowest id), which is
 * not yet fed. ERR_MISSING before the first token; ERR_CONFIG if a score is NaN. */
txd_status txd_generator_next(int32_t *token, const txd_generator *generator);

/* Scores of that next token, (vocab): owned by the generator, valid until it is fed. */
const double *txd_generator_logits(const txd_generator *generator);

#ifdef __cplusplus
}
#endif

#endif
