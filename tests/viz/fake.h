/* SPDX-License-Identifier: MIT */
/*
 * fake.h: a recording in memory, with metadata, for tests of figures: a small decoder
 * (config of 3 layers, 4 heads, causal) whose values the test writes itself.
 */
#ifndef TXD_TESTS_VIZ_FAKE_H
#define TXD_TESTS_VIZ_FAKE_H

#include "txd.h"

enum { FAKE_META = 12, FAKE_LISTS = 16, FAKE_LAYERS = 3, FAKE_HEADS = 4 };

typedef struct fake {
    txd_trace *trace;
    const char *keys[FAKE_META], *values[FAKE_META];
    size_t meta_count;
    const char *names[FAKE_LISTS];
    const char *const *lists[FAKE_LISTS];
    size_t lengths[FAKE_LISTS], list_count;
    txd_trace *memory;
    txd_arena *arena; /* for what a test makes and the recording refers to */
} fake;

/* An empty recording; everything belongs to `out` until fake_close. */
void fake_open(fake *out);
void fake_close(fake *recording);
void fake_meta(fake *recording, const char *key, const char *value);
void fake_strings(fake *recording, const char *name, const char *const *strings,
                  size_t count);
void fake_add(fake *recording, const char *name, const char *axes, const double *values,
              const size_t *dims);

/* The configuration and `tokens` ids 100, 101, ... of one step and one batch row. */
void fake_decoder(fake *recording, size_t tokens);

/* "layers.N.attn.weights" of every layer: causal, rows that sum to 1, except that
 * layer `layer`, head `head` has `value` at (query, key). */
void fake_weights(fake *recording, size_t tokens, const size_t place[4], double value);

#endif
