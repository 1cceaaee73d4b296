/* SPDX-License-Identifier: MIT
 *
 * A sequence in several calls with a KV cache is the sequence in one: every value of
 * every layer, every row of attention weights and its statistics, whatever the calls'
 * lengths, padding, documents, windows and faults are.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "conventions.h"
#include "observe.h"
#include "suite.h"
#include "worst.h"

#define LENGTH 13
#define BATCH 2
#define WATCHED "layers.*.resid.post,layers.*.attn.weights,layers.*.attn.q,logits"
#define BASE                                                                           \
    "vocab = 17; d_model = 24; n_heads = 4; n_layers = 3; d_ff = 40; "                 \
    "max_seq_len = 64; "
#define DRAWN                                                                          \
    "weights : { init = ( { params = \"layers.*\"; scheme = \"normal\"; std = 0.3; } " \
    "); };"

static const char *const variants[] = {
    "model : { preset = \"mini\"; " BASE "};" DRAWN,
    "model : { preset = \"gpt2\"; " BASE "norm_placement = \"post\"; };" DRAWN,
    "model : { preset = \"llama\"; " BASE "n_kv_heads = 2; head_dim = 10; value_dim = "
    "7; }; mask : { window = 4; };" DRAWN,
    "model : { preset = \"llama\"; " BASE "n_kv_heads = 1; rope_pairing = "
    "\"adjacent\"; layers = ( { range = \"1\"; window = 3; rotary = false; } ); }; "
    "mask : { fill = -50.0; masked_row = \"uniform\"; };" DRAWN,
    "model : { preset = \"mini\"; " BASE "cross = true; };" DRAWN,
    "model : { preset = \"mini\"; " BASE
    "positions = \"alibi\"; score_softcap = 1.5; };" DRAWN,
    "model : { preset = \"mini\"; " BASE
    "positions = \"relative\"; relative_distance = 30; };" DRAWN,
    "model : { preset = \"llama\"; " BASE
    "sinks = true; n_kv_heads = 2; qk_norm = \"width\"; rope_scaling = \"linear\"; "
    "rope_factor = "
    "3.0; "
    "};" DRAWN,
};
#define VARIANTS (sizeof variants / sizeof *variants)

static const size_t schedules[][LENGTH + 1] = {
    {LENGTH},
    {7, 4, 1, 1},
    {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1},
    {1, 12},
};
#define SCHEDULES (sizeof schedules / sizeof *schedules)

/* A model, a whole pass over its inputs, and a second look at the same in calls. */
typedef struct split {
    observed whole, part;
    txd_cache *cache;
    txd_run_options options;
    txd_tap *taps[1];
    txd_run *run;
    double worst; /* difference over the largest magnitude of the site */
} split;

static void split_begin(split *s, const char *cfg, const char *backend)
{
    *s = (split){0};
    s->whole.only = s->part.only = WATCHED;
    OK(observe_cfg(&s->whole, cfg, backend));
    OK(observe_random(&s->whole, BATCH, LENGTH));
    if (s->whole.config.cross)
        OK(observe_memory(&s->whole, 5, NULL));
    OK(observe_cfg(&s->part, cfg, backend));
}

/* Made only now: faults bind another model. */
static void split_open(split *s)
{
    OK(txd_cache_create(&s->cache, s->part.model, BATCH, LENGTH + 3));
    s->taps[0] = &s->part.tap;
    s->options = (txd_run_options){.claimed = &s->part.config,
                                   .plan = s->part.plan,
                                   .taps = s->taps,
                                   .tap_count = 1,
                                   .threads = 2,
                                   .cache = s->cache};
    OK(txd_run_create(&s->run, s->part.model, &s->options));
}

static void split_end(split *s)
{
    txd_run_destroy(s->run);
    txd_cache_destroy(s->cache);
    observe_finish(&s->whole);
    observe_finish(&s->part);
}

/* Columns [first, first + count) of (b, t) data. */
static void take(int32_t *to, const int32_t *from, size_t first, size_t count)
{
    for (size_t b = 0; b < BATCH; b++)
        memcpy(to + b * count, from + b * LENGTH + first, count * sizeof *to);
}

static txd_inputs call_of(const split *s, size_t first, size_t count)
{
    const txd_inputs *all = &s->whole.inputs;
    txd_inputs call;

    OK(txd_inputs_make(&call, s->part.arena, BATCH, count));
    take(call.tokens, all->tokens, first, count);
    take(call.positions, all->positions, first, count);
    take(call.valid, all->valid, first, count);
    take(call.document, all->document, first, count);
    call.memory_length = all->memory_length;
    call.memory = all->memory;
    call.memory_valid = all->memory_valid;
    return call;
}

static void differ(split *s, double got, double expected, double largest)
{
    double error = isnan(got) && isnan(expected) ? 0 : fabs(got - expected) / largest;

    s->worst = worst_of(s->worst, error);
}

static double largest_of(const struct observed_site *site)
{
    double largest = 1e-30;

    for (size_t i = 0; i < site->count; i++)
        if (isfinite(site->values[i]))
            largest = fmax(largest, fabs(site->values[i]));
    return largest;
}

/* Keys that are still to come are hidden in the whole and not yet there in a call. */
static bool is_of_hidden(size_t column)
{
    return column >= TXD_ROW_FUTURE_COUNT ||
           (column >= TXD_ROW_HIDDEN_SUM && column <= TXD_ROW_HIDDEN_KEY);
}

/* Rows of heads: attention weights have as many columns as there are keys so far; of
 * the others, and of the statistics, all columns are compared. What padding computes
 * is nobody's. */
static void compare(split *s, size_t at, size_t first, size_t count)
{
    const struct observed_site *part = &s->part.site[at];
    const struct observed_site *whole = observe_site(&s->whole, part->name);
    bool weights = strstr(part->name, "attn.weights") != NULL;
    size_t keys = weights ? LENGTH : whole->count / BATCH / LENGTH;
    size_t outer = BATCH, width = weights ? first + count : keys;
    double largest = largest_of(whole);

    if (weights || strstr(part->name, "attn.q"))
        outer = BATCH * s->whole.config.n_heads;
    keys = whole->count / outer / LENGTH;
    width = weights ? width : keys;
    ck_assert_uint_eq(part->count, outer * count * width);
    ck_assert_uint_eq(part->cells, part->count);
    for (size_t o = 0; o < outer; o++)
        for (size_t t = 0; t < count; t++) {
            size_t to = o * LENGTH + first + t, from = o * count + t;

            if (!s->whole.inputs.valid[o * BATCH / outer * LENGTH + first + t])
                continue;
            for (size_t k = 0; k < width; k++)
                differ(s, part->values[from * width + k], whole->values[to * keys + k],
                       largest);
            for (size_t c = 0; weights && c < TXD_ROW_COUNT; c++)
                if (!is_of_hidden(c))
                    differ(s, part->rows[from * TXD_ROW_COUNT + c],
                           whole->rows[to * TXD_ROW_COUNT + c], 1);
        }
}

static void run_calls(split *s, const size_t *lengths)
{
    for (size_t first = 0; first < LENGTH; first += *lengths++) {
        txd_inputs call = call_of(s, first, *lengths);

        s->part.sites = 0;
        memset(s->part.site, 0, OBSERVE_SITES * sizeof *s->part.site);
        OK(txd_run_pass(s->run, &call, 0));
        ck_assert_uint_eq(txd_cache_length(s->cache), first + *lengths);
        ck_assert_uint_eq(s->part.sites, s->whole.sites);
        for (size_t i = 0; i < s->part.sites; i++)
            compare(s, i, first, *lengths);
    }
}

static void calls_are_the_whole(split *s, double allowed)
{
    OK(observe_pass(&s->whole));
    for (size_t i = 0; i < SCHEDULES; i++) {
        split_open(s);
        run_calls(s, schedules[i]);
        ck_assert_msg(s->worst <= allowed, "schedule %zu: off by %.3g, allowed %.3g", i,
                      s->worst, allowed);
        txd_run_destroy(s->run);
        txd_cache_destroy(s->cache);
        s->run = NULL;
        s->cache = NULL;
    }
}

/* Padding on the left of one row and on the right of the other; two documents. */
static void pad_and_pack(txd_inputs *inputs)
{
    for (size_t t = 0; t < 3; t++)
        inputs->valid[t] = inputs->valid[2 * LENGTH - 1 - t] = 0;
    txd_inputs_count_positions(inputs);
    for (size_t t = 8; t < LENGTH; t++) {
        inputs->document[t] = 1;
        inputs->positions[t] = (int32_t)t - 8;
    }
}

START_TEST(calls_with_a_cache_are_the_whole_sequence)
{
    for (size_t i = 0; i < VARIANTS; i++) {
        split s;

        split_begin(&s, variants[i], "ref64");
        calls_are_the_whole(&s, 1e-13);
        split_end(&s);
    }
}
END_TEST

START_TEST(so_they_are_by_the_conventions_of_every_family)
{
    for (size_t i = 0; i < CONVENTIONS; i++) {
        char cfg[1024];
        split s;

        snprintf(cfg, sizeof cfg, "model : { %s " BASE "};" DRAWN,
                 conventions[i].model);
        split_begin(&s, cfg, "ref64");
        pad_and_pack(&s.whole.inputs);
        calls_are_the_whole(&s, 1e-13);
        split_end(&s);
    }
}
END_TEST

START_TEST(so_they_are_on_every_backend)
{
    static const struct {
        const char *name;
        double allowed; /* some hundred roundoffs of the format */
    } backends[] = {{"ref32", 2e-5}, {"cpu32", 2e-5}, {"bf16", 0.1}, {"fp16", 0.02}};

    for (size_t i = 0; i < sizeof backends / sizeof *backends; i++) {
        split s;

        split_begin(&s, variants[2], backends[i].name);
        s.whole.only = s.part.only = "layers.*.resid.post,logits";
        calls_are_the_whole(&s, backends[i].allowed);
        split_end(&s);
    }
}
END_TEST

START_TEST(padding_and_documents_are_kept_with_the_keys)
{
    for (size_t i = 0; i < VARIANTS; i++) {
        split s;

        split_begin(&s, variants[i], "ref64");
        pad_and_pack(&s.whole.inputs);
        calls_are_the_whole(&s, 1e-13);
        split_end(&s);
    }
}
END_TEST

START_TEST(a_fault_does_in_calls_what_it_does_in_one)
{
    static const char *const faults[] = {
        "backend = \"ref64\"; faults = ( { name = \"mask_off_by_one\"; } );",
        "backend = \"ref64\"; faults = ( { name = \"mask_missing\"; } );",
        "backend = \"ref64\"; faults = ( { name = \"scale_missing\"; } );",
    };

    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        split s;

        split_begin(&s, variants[2], "ref64");
        s.part.inputs = s.whole.inputs;
        OK(observe_faults(&s.whole, faults[i]));
        OK(observe_faults(&s.part, faults[i]));
        OK(observe_pass(&s.whole));
        split_open(&s);
        run_calls(&s, schedules[0]);
        ck_assert_msg(s.worst <= 1e-13, "%s: off by %.3g", faults[i], s.worst);
        split_end(&s);
    }
}
END_TEST

START_TEST(what_is_cut_can_be_run_again)
{
    split s;
    txd_inputs call;
    double *first;

    split_begin(&s, variants[2], "cpu32");
    split_open(&s);
    call = call_of(&s, 0, 5);
    OK(txd_run_pass(s.run, &call, 0));
    call = call_of(&s, 5, 4);
    OK(txd_run_pass(s.run, &call, 0));
    first = observe_site(&s.part, "logits")->values;
    txd_cache_cut(s.cache, 9); /* more than there are */
    ck_assert_uint_eq(txd_cache_length(s.cache), 9);
    txd_cache_cut(s.cache, 5);
    ck_assert_uint_eq(txd_cache_length(s.cache), 5);
    s.part.sites = 0;
    OK(txd_run_pass(s.run, &call, 0));
    ck_assert(memcmp(first, observe_site(&s.part, "logits")->values,
                     BATCH * 4 * 17 * sizeof *first) == 0);
    split_end(&s);
}
END_TEST

START_TEST(a_full_cache_and_a_backward_half_are_refused)
{
    split s;
    txd_inputs call;
    txd_run *run;

    split_begin(&s, variants[0], "cpu32");
    split_open(&s);
    call = call_of(&s, 0, LENGTH);
    OK(txd_run_pass(s.run, &call, 0));
    call = call_of(&s, 0, 4);
    ck_assert_int_eq(txd_run_pass(s.run, &call, 0), TXD_ERR_CONFIG);
    ck_assert_msg(strstr(txd_message(), "3 of its 16 tokens left") != NULL, "%s",
                  txd_message());
    ck_assert_uint_eq(txd_cache_length(s.cache), LENGTH);
    call.batch = 1;
    ck_assert_int_eq(txd_run_pass(s.run, &call, 0), TXD_ERR_CONFIG);
    s.options.backward = true;
    ck_assert_int_eq(txd_run_create(&run, s.part.model, &s.options), TXD_ERR_ARGUMENT);
    split_end(&s);
}
END_TEST

START_TEST(its_bytes_are_counted_and_bounded)
{
    split s;
    size_t bytes = 0;

    split_begin(&s, variants[2], "cpu32");
    OK(txd_cache_bytes(&bytes, s.part.model, 2, 100));
    /* keys of 10 and values of 7 lanes, 2 heads, 3 layers; six words per key */
    ck_assert_uint_eq(bytes, 2 * 100 * (3 * 2 * (10 + 7) * sizeof(float) + 6 * 4));
    ck_assert_int_eq(txd_cache_bytes(&bytes, s.part.model, SIZE_MAX / 2, 100),
                     TXD_ERR_LIMIT);
    split_end(&s);
}
END_TEST

TEST_MAIN(calls_with_a_cache_are_the_whole_sequence,
          so_they_are_by_the_conventions_of_every_family, so_they_are_on_every_backend,
          padding_and_documents_are_kept_with_the_keys,
          a_fault_does_in_calls_what_it_does_in_one, what_is_cut_can_be_run_again,
          a_full_cache_and_a_backward_half_are_refused,
          its_bytes_are_counted_and_bounded)
