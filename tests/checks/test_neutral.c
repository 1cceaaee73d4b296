/* SPDX-License-Identifier: MIT
 *
 * Who looks changes nothing: under all laws, and with everything recorded that probes
 * can record, logits, losses and gradients of parameters are the same to the bit.
 */
#include "conventions.h"
#include "live.h"

#include <stdio.h>
#include <string.h>

#include "probes/probe.h"

/* Everything that the pass hands out, in order. */
typedef struct outcome {
    uint64_t hash;
    size_t values;
} outcome;

static unsigned ask(void *self, const txd_site *site)
{
    (void)self;
    if (site->kind == TXD_SITE_PARAMETER_GRADIENT)
        return TXD_ASK_VALUE;
    return site->kind == TXD_SITE_VALUE && (site->point == TXD_POINT_LOGITS ||
                                            site->point == TXD_POINT_LOSS_TOKEN)
               ? TXD_ASK_VALUE
               : 0;
}

static txd_status take(void *self, const txd_block *block, const void *slot)
{
    size_t count = txd_tensor_count(&block->value);
    const unsigned char *bytes = block->value.data;
    outcome *o = self;

    (void)slot;
    o->values += count;
    for (size_t i = 0; i < count * txd_dtype_bytes(block->value.dtype); i++)
        o->hash = (o->hash ^ bytes[i]) * 1099511628211u;
    return TXD_OK;
}

/* A unit in the last place of one embedding. */
static unsigned ask_embedding(void *self, const txd_site *site)
{
    (void)self;
    return site->kind == TXD_SITE_VALUE && site->point == TXD_POINT_EMBED_OUT
               ? TXD_ASK_EDIT
               : 0;
}

static txd_status nudge(void *self, txd_block *block)
{
    (void)self;
    *(unsigned char *)block->value.data ^= 1;
    return TXD_OK;
}

/* One law that reads next to nothing, no probe; or all of both. */
static outcome run(const char *cfg, bool is_watched, const txd_tap *edit)
{
    outcome o = {.hash = 14695981039346656037u};
    txd_tap watch = {
        .name = "outcome", .self = &o, .gradients = true, .ask = ask, .merge = take};
    live_plant planted = {.watch = &watch,
                          .tap = edit,
                          .record = is_watched ? test_file("all.h5") : NULL};
    live l;

    live_run_planted(&l, cfg, is_watched ? NULL : "position_norm", &planted);
    if (is_watched)
        for (size_t c = 0, i = 0; txd_check_at(c); c++)
            ck_assert_uint_eq(strcmp(l.results[i++].check, txd_check_at(c)->name), 0);
    live_finish(&l);
    ck_assert_uint_gt(o.values, 0);
    return o;
}

/* "record : ( { probe = ...; }, ... );" with every probe there is. */
static void add_probes(char *cfg, size_t bytes)
{
    size_t used = strlen(cfg);

    used += (size_t)snprintf(cfg + used, bytes - used, " record : ( ");
    for (size_t i = 0; txd_probe_at(i); i++) {
        const char *name = txd_probe_at(i)->name;

        used += (size_t)snprintf(cfg + used, bytes - used, "%s{ probe = \"%s\";%s }",
                                 i ? ", " : "", name,
                                 strcmp(name, "full") == 0 || strcmp(name, "stats") == 0
                                     ? " points = \"*,*@grad\";"
                                     : "");
    }
    snprintf(cfg + used, bytes - used, " );");
}

static void expect_same(const char *model, bool is_cross, const char *backend)
{
    outcome alone, watched;
    char cfg[2048];

    snprintf(cfg, sizeof cfg,
             "model : { %s vocab = 19; d_model = 16; n_heads = 4; n_layers = 2; d_ff = "
             "20; max_seq_len = 16; }; precision : { backend = \"%s\"; }; weights : { "
             "init = ( { params = \"*\"; scheme = \"normal\"; std = 0.2; } ); }; input "
             ": { tokens = ([1, 5, 9, 2, 7, 3, 11], [4, 4, 8]); %s%s };",
             model, backend,
             strstr(model, "token_types")
                 ? "types = ([0, 0, 1, 0, 1, 1, 1], [0, 1, 0]); "
                 : "",
             is_cross ? "memory : { random : { length = 5; }; valid = [5, 4]; };" : "");
    add_probes(cfg, sizeof cfg);
    alone = run(cfg, false, NULL);
    watched = run(cfg, true, NULL);
    ck_assert_uint_eq(alone.values, watched.values);
    ck_assert_msg(alone.hash == watched.hash, "%s: other bits\n%s", backend, cfg);
}

static const char *const presets[] = {"preset = \"mini\";", "preset = \"gpt2\";",
                                      "preset = \"llama\"; n_kv_heads = 2;"};

START_TEST(every_preset_in_every_backend_is_the_same_to_the_bit_unobserved)
{
    static const char *const backends[] = {"ref64", "ref32", "cpu32", "bf16", "fp16"};

    for (size_t i = 0; i < 15; i++)
        expect_same(presets[i % 3], false, backends[i / 3]);
}
END_TEST

/* Files take time: some of them. */
START_TEST(so_are_conventions_of_families)
{
    for (size_t i = 1; i < CONVENTIONS; i += 4)
        expect_same(conventions[i].model, conventions[i].is_cross, "cpu32");
}
END_TEST

START_TEST(a_unit_in_the_last_place_of_one_embedding_would_show)
{
    static const char cfg[] =
        "model : { preset = \"mini\"; vocab = 19; d_model = 16; n_heads = 4; n_layers "
        "= "
        "2; d_ff = 20; max_seq_len = 16; }; input : { tokens = [1, 5, 9]; }; weights : "
        "{ init = ( { params = \"*\"; scheme = \"normal\"; std = 0.2; } ); };";
    const txd_tap edit = {.name = "nudge", .ask = ask_embedding, .edit = nudge};
    outcome one = run(cfg, false, NULL), again = run(cfg, false, NULL);
    outcome other = run(cfg, false, &edit);

    ck_assert(one.hash == again.hash);
    ck_assert(one.hash != other.hash);
}
END_TEST

TEST_MAIN(every_preset_in_every_backend_is_the_same_to_the_bit_unobserved,
          so_are_conventions_of_families,
          a_unit_in_the_last_place_of_one_embedding_would_show)
