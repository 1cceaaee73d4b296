/* SPDX-License-Identifier: MIT */
/*
 * fake.c: a trace that adds metadata to the trace in memory.
 */
#include "fake.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void ignore_destroy(void *self)
{
    (void)self;
}

static size_t count_entries(void *self)
{
    return txd_trace_count(((fake *)self)->memory);
}

static txd_status info(void *self, txd_trace_info *out, size_t i)
{
    return txd_trace_get(((fake *)self)->memory, out, i);
}

static txd_status read_block(void *self, void *out, size_t i, const size_t *start,
                             const size_t *count, txd_dtype dtype)
{
    return txd_trace_read(((fake *)self)->memory, out, i, start, count, dtype);
}

static const char *meta(void *self, const char *key)
{
    const fake *recording = self;

    for (size_t i = 0; i < recording->meta_count; i++)
        if (strcmp(recording->keys[i], key) == 0)
            return recording->values[i];
    return NULL;
}

static txd_status strings(void *self, const char *const **out, size_t *count,
                          const char *name)
{
    const fake *recording = self;

    for (size_t i = 0; i < recording->list_count; i++) {
        if (strcmp(recording->names[i], name) == 0) {
            *out = recording->lists[i];
            *count = recording->lengths[i];
            return TXD_OK;
        }
    }
    return txd_fail(TXD_ERR_MISSING, "no strings \"%s\"", name);
}

static const txd_trace_methods methods = {
    .destroy = ignore_destroy,
    .count = count_entries,
    .info = info,
    .read = read_block,
    .meta = meta,
    .strings = strings,
};

void fake_open(fake *out)
{
    memset(out, 0, sizeof *out);
    ck_assert_int_eq(txd_arena_create(&out->arena), TXD_OK);
    ck_assert_int_eq(txd_trace_memory(&out->memory), TXD_OK);
    ck_assert_int_eq(txd_trace_create(&out->trace, &methods, out), TXD_OK);
}

void fake_close(fake *recording)
{
    txd_trace_destroy(recording->trace);
    txd_trace_destroy(recording->memory);
    txd_arena_destroy(recording->arena);
}

void fake_meta(fake *recording, const char *key, const char *value)
{
    ck_assert_uint_lt(recording->meta_count, FAKE_META);
    recording->keys[recording->meta_count] = key;
    recording->values[recording->meta_count++] = value;
}

void fake_strings(fake *recording, const char *name, const char *const *list,
                  size_t count)
{
    ck_assert_uint_lt(recording->list_count, FAKE_LISTS);
    recording->names[recording->list_count] = name;
    recording->lists[recording->list_count] = list;
    recording->lengths[recording->list_count++] = count;
}

void fake_add(fake *recording, const char *name, const char *axes, const double *values,
              const size_t *dims)
{
    double *copy;
    txd_tensor tensor;
    size_t count;

    tensor = txd_tensor_make(TXD_F64, NULL, (int)strlen(axes), dims);
    count = txd_tensor_count(&tensor);
    copy = malloc((count + 1) * sizeof *copy);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, values, count * sizeof *copy);
    tensor.data = copy;
    ck_assert_int_eq(txd_trace_memory_add(recording->memory, name, axes, &tensor),
                     TXD_OK);
    free(copy);
}

void fake_decoder(fake *recording, size_t tokens)
{
    const size_t dims[3] = {1, 1, tokens};
    double *ids = malloc(tokens * sizeof *ids);

    ck_assert_ptr_nonnull(ids);
    for (size_t i = 0; i < tokens; i++)
        ids[i] = 100 + (double)i;
    fake_add(recording, "input/tokens", "sbt", ids, dims);
    free(ids);
    fake_meta(
        recording, "config",
        "version = 1; model : { vocab = 512; d_model = 32; n_heads = 4; "
        "n_layers = 3; d_ff = 64; max_seq_len = 4096; }; mask : { causal = true; };");
    fake_meta(recording, "faults", "");
    fake_meta(recording, "backend", "ref64");
}

/* Weights that fall with the distance, and differ by layer and head. */
static void fill_head(double *weights, size_t tokens, size_t layer, size_t head)
{
    for (size_t q = 0; q < tokens; q++) {
        double sum = 0;

        for (size_t k = 0; k <= q; k++) {
            double distance = (double)(q - k);

            weights[q * tokens + k] =
                exp(-distance / (1 + (double)head * 3)) + (k == 0 ? (double)layer : 0);
            sum += weights[q * tokens + k];
        }
        for (size_t k = 0; k <= q; k++)
            weights[q * tokens + k] /= sum;
    }
}

void fake_weights(fake *recording, size_t tokens, const size_t place[4], double value)
{
    const size_t dims[5] = {1, 1, FAKE_HEADS, tokens, tokens};
    size_t plane = tokens * tokens;

    for (size_t layer = 0; layer < FAKE_LAYERS; layer++) {
        double *weights = calloc(FAKE_HEADS * plane, sizeof *weights);
        char name[64];

        ck_assert_ptr_nonnull(weights);
        for (size_t head = 0; head < FAKE_HEADS; head++)
            fill_head(weights + head * plane, tokens, layer, head);
        if (place && place[0] == layer)
            weights[place[1] * plane + place[2] * tokens + place[3]] = value;
        snprintf(name, sizeof name, "layers.%zu.attn.weights", layer);
        fake_add(recording, name, "sbhqk", weights, dims);
        free(weights);
    }
}
