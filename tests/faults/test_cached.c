/* SPDX-License-Identifier: MIT
 *
 * Faults of calls with a cache: nothing in a call without earlier keys; in a later one
 * the cells that their sentences name, in the layers, heads, queries and batch rows
 * that are selected, and no others.
 */
#include <stdio.h>
#include <string.h>

#include "../model/observe.h"
#include "suite.h"

enum {
    BATCH = 2,
    LENGTH = 7,
    PAST = 4,
    CALL = LENGTH - PAST,
    HEADS = 4,
    KEYS = LENGTH
};

#define MODEL                                                                          \
    "model : { preset = \"llama\"; vocab = 17; d_model = 24; n_heads = 4; n_layers = " \
    "2; d_ff = 8; max_seq_len = 16; };"

/* One sequence in two calls. */
typedef struct calls {
    observed o;
    txd_cache *cache;
    txd_run *run;
    txd_inputs call[2];
} calls;

static void take(calls *c, int which, size_t first, size_t count)
{
    const txd_inputs *all = &c->o.inputs;
    txd_inputs *call = &c->call[which];

    OK(txd_inputs_make(call, c->o.arena, BATCH, count));
    for (size_t i = 0; i < BATCH * count; i++) {
        size_t from = i / count * LENGTH + first + i % count;

        call->tokens[i] = all->tokens[from];
        call->positions[i] = all->positions[from];
        call->valid[i] = all->valid[from];
        call->document[i] = all->document[from];
    }
}

static void begin(calls *c, const char *cfg, const char *fault)
{
    static txd_tap *taps[1];
    txd_run_options options;

    *c = (calls){0};
    OK(observe_cfg(&c->o, cfg, "ref64"));
    OK(observe_random(&c->o, BATCH, LENGTH));
    if (fault)
        OK(observe_faults(&c->o, fault));
    take(c, 0, 0, PAST);
    take(c, 1, PAST, CALL);
    OK(txd_cache_create(&c->cache, c->o.model, BATCH, LENGTH));
    taps[0] = &c->o.tap;
    options = (txd_run_options){.claimed = &c->o.config,
                                .plan = c->o.plan,
                                .taps = taps,
                                .tap_count = 1,
                                .threads = 2,
                                .cache = c->cache};
    OK(txd_run_create(&c->run, c->o.model, &options));
}

static void make(calls *c, int which)
{
    c->o.sites = 0;
    OK(txd_run_pass(c->run, &c->call[which], which));
}

static void end(calls *c)
{
    txd_run_destroy(c->run);
    txd_cache_destroy(c->cache);
    observe_finish(&c->o);
}

/* A healthy sequence and a faulty one, both as far as call `which`. */
static void both(calls *healthy, calls *faulty, const char *fault, int which)
{
    begin(healthy, MODEL, NULL);
    begin(faulty, MODEL, fault);
    for (int call = 0; call <= which; call++) {
        make(healthy, call);
        make(faulty, call);
    }
}

static bool differ(calls *a, calls *b, const char *name)
{
    const struct observed_site *x = observe_site(&a->o, name);
    const struct observed_site *y = observe_site(&b->o, name);

    ck_assert_ptr_nonnull(x);
    ck_assert_ptr_nonnull(y);
    ck_assert_uint_eq(x->count, y->count);
    return memcmp(x->values, y->values, x->count * sizeof *x->values) != 0;
}

static const char *const faults[] = {"mask_top_left", "cache_newest_hidden",
                                     "cache_hole", "cache_position_twice"};
enum { FAULTS = sizeof faults / sizeof *faults, OF_CELLS = 3 };

START_TEST(the_first_call_is_right_and_the_second_is_not)
{
    for (int f = 0; f < FAULTS; f++)
        for (int call = 0; call < 2; call++) {
            calls healthy, faulty;
            char text[96];

            snprintf(text, sizeof text, "faults = ( { name = \"%s\"; } );", faults[f]);
            both(&healthy, &faulty, text, call);
            ck_assert_int_eq(differ(&healthy, &faulty, "logits"), call == 1);
            end(&healthy);
            end(&faulty);
        }
}
END_TEST

/* What query `q` of the second call sees of keys, by fault. */
static bool sees(int fault, size_t q, size_t key)
{
    if (key > PAST + q)
        return false;
    if (fault == 0)
        return key <= q;
    return fault == 1 ? key < PAST : key != PAST - 1;
}

START_TEST(the_cells_of_their_sentences_are_hidden_where_they_are_selected)
{
    for (int f = 0; f < OF_CELLS; f++) {
        const double *weights[2];
        calls healthy, faulty;
        char text[160];

        snprintf(
            text, sizeof text,
            "faults = ( { name = \"%s\"; layers = 1; heads = 2; queries = \"1:3\"; "
            "batch = 1; } );",
            faults[f]);
        both(&healthy, &faulty, text, 1);
        ck_assert(!differ(&healthy, &faulty, "layers.0.resid.post"));
        weights[0] = observe_site(&healthy.o, "layers.1.attn.weights")->values;
        weights[1] = observe_site(&faulty.o, "layers.1.attn.weights")->values;
        for (size_t i = 0; i < (size_t)BATCH * HEADS * CALL * KEYS; i++) {
            size_t key = i % KEYS, q = i / KEYS % CALL, h = i / KEYS / CALL % HEADS;
            bool chosen = i / KEYS / CALL / HEADS == 1 && h == 2 && q > 0;

            if (chosen && (weights[1][i] > 0) != sees(f, q, key))
                ck_abort_msg("%s: query %zu, key %zu: %g", faults[f], q, key,
                             weights[1][i]);
            if (!chosen && !(weights[1][i] == weights[0][i]))
                ck_abort_msg("%s: another cell moved: %zu", faults[f], i);
        }
        end(&healthy);
        end(&faulty);
    }
}
END_TEST

/* A second call at its positions plus 4: those of the fault, but for the mask, which
 * goes by what is claimed. */
START_TEST(positions_get_the_number_of_earlier_tokens_once_more)
{
    calls moved, faulty;

    begin(&moved, MODEL, NULL);
    begin(&faulty, MODEL,
          "faults = ( { name = \"cache_position_twice\"; batch = 0; } );");
    for (size_t i = 0; i < CALL; i++)
        moved.call[1].positions[i] += PAST;
    for (int call = 0; call < 2; call++) {
        make(&moved, call);
        make(&faulty, call);
    }
    ck_assert(!differ(&moved, &faulty, "layers.0.attn.q"));
    ck_assert(!differ(&moved, &faulty, "layers.0.attn.k"));
    ck_assert(!differ(&moved, &faulty, "layers.1.attn.weights"));
    end(&moved);
    end(&faulty);
}
END_TEST

START_TEST(positions_stay_among_those_that_the_model_has)
{
    calls c;

    begin(
        &c,
        "model : { preset = \"gpt2\"; vocab = 17; d_model = 24; n_heads = 4; n_layers "
        "= 1; d_ff = 8; max_seq_len = 8; };",
        "faults = ( { name = \"cache_position_twice\"; } );");
    make(&c, 0);
    make(&c, 1);
    for (size_t t = 0; t < CALL; t++)
        ck_assert_double_eq(observe_site(&c.o, "input.positions")->values[t], 7);
    end(&c);
}
END_TEST

START_TEST(they_are_refused_where_no_pass_has_earlier_keys)
{
    observed o = {0};

    OK(observe_cfg(&o, MODEL, "ref64"));
    OK(observe_random(&o, BATCH, LENGTH));
    for (int f = 0; f < FAULTS; f++) {
        const txd_fault *fault = txd_fault_find(faults[f]);
        txd_fault_scene scene = {.claimed = &o.config, .inputs = &o.inputs};

        ck_assert_ptr_null(txd_fault_inapplicable(fault, &scene));
        scene.no_cache = true;
        ck_assert_ptr_nonnull(
            strstr(txd_fault_inapplicable(fault, &scene), "txdiag check MODEL.cfg"));
        scene.no_cache = false;
        o.inputs.length = 1;
        ck_assert_ptr_nonnull(
            strstr(txd_fault_inapplicable(fault, &scene), "two tokens"));
        o.inputs.length = LENGTH;
    }
    observe_finish(&o);
}
END_TEST

TEST_MAIN(the_first_call_is_right_and_the_second_is_not,
          the_cells_of_their_sentences_are_hidden_where_they_are_selected,
          positions_get_the_number_of_earlier_tokens_once_more,
          positions_stay_among_those_that_the_model_has,
          they_are_refused_where_no_pass_has_earlier_keys)
