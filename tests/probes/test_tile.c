/* SPDX-License-Identifier: MIT
 *
 * The probe `tile`: a block of each matrix is what `full` records at the same places.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

#define MODEL                                                                          \
    "model : { preset = \"llama\"; vocab = 11; d_model = 4; n_heads = 2;"              \
    " n_layers = 2; d_ff = 4; };"
#define USES                                                                           \
    "record = ({probe = \"full\"; points = \"*.attn.weights,*.attn.masked\";},"        \
    " {probe = \"tile\"; points = \"layers.1.attn.weights,layers.*.attn.masked\";"     \
    " heads = \"%s\"; queries = \"%zu:%zu\"; keys = \"%zu:%zu\";});"

enum { HEADS = 2 };

static const struct {
    size_t batch, length, padding, tile_rows;
    bool whole, skip_hidden;
    size_t queries[2], keys[2];
} trials[] = {
    {1, 9, 0, 256, false, false, {2, 5}, {0, 4}},
    {2, 9, 3, 4, false, true, {3, 9}, {1, 9}}, /* across the pass's tiles */
    {2, 130, 0, 64, false, true, {60, 130}, {120, 130}},
    {1, 130, 0, 64, true, false, {0, 130}, {129, 130}},
    {1, 130, 0, 128, false, true, {127, 129}, {0, 130}},
    {1, 20, 2, 7, false, true, {7, 14}, {14, 20}}, /* of hidden keys alone */
};

/* Every cell of a tile against `full`; heads that are not selected hold NaN. */
static size_t compare(const txd_trace *trace, const char *names[2], size_t first_query,
                      size_t first_key)
{
    size_t dims[TXD_MAX_RANK], whole[TXD_MAX_RANK], compared = 0;
    double *tile = fake_read(trace, names[0], dims);
    double *full = fake_read(trace, names[1], whole);

    for (size_t i = 0; i < dims[0] * dims[1] * dims[2] * dims[3] * dims[4]; i++) {
        size_t key = i % dims[4] + first_key;
        size_t query = i / dims[4] % dims[3] + first_query;
        size_t head = i / dims[4] / dims[3];

        if (head % HEADS == 0) {
            ck_assert(isnan(tile[i]));
            continue;
        }
        fake_same(tile[i], full[(head * whole[3] + query) * whole[4] + key], names[0],
                  i);
        compared++;
    }
    free(tile);
    free(full);
    return compared;
}

static void check_trial(size_t i, txd_dtype dtype)
{
    const size_t *queries = trials[i].queries, *keys = trials[i].keys;
    size_t cells = trials[i].batch * (queries[1] - queries[0]) * (keys[1] - keys[0]);
    const char *weights[] = {"tile/layers/1/attn/weights", "layers.1.attn.weights"};
    const char *masked[] = {"tile/layers/0/attn/masked", "layers.0.attn.masked"};
    char uses[512], place[128];
    fake_pass fake;
    txd_trace *trace;

    fake_make(&fake, MODEL, trials[i].batch, trials[i].length);
    fake_fill(&fake, trials[i].batch, trials[i].length, trials[i].padding, 2);
    fake.dtype = dtype;
    fake.tile_rows = trials[i].tile_rows;
    fake.whole = trials[i].whole;
    fake.skip_hidden = trials[i].skip_hidden;
    snprintf(uses, sizeof uses, USES, "1", queries[0], queries[1], keys[0], keys[1]);
    trace = fake_one_step(&fake, test_file("t.h5"), uses);
    ck_assert_uint_eq(compare(trace, weights, queries[0], keys[0]), cells);
    ck_assert_uint_eq(compare(trace, masked, queries[0], keys[0]), cells);
    ck_assert(!fake_has(trace, "tile/layers/0/attn/weights"));
    snprintf(place, sizeof place,
             "layers.1.attn.weights queries %zu:%zu of %zu keys %zu:%zu of %zu",
             queries[0], queries[1], trials[i].length, keys[0], keys[1],
             trials[i].length);
    ck_assert_msg(strstr(txd_trace_meta(trace, "tiles"), place) != NULL, "%s",
                  txd_trace_meta(trace, "tiles"));
    txd_trace_destroy(trace);
    fake_free(&fake);
}

START_TEST(a_tile_is_what_full_records_at_the_same_places)
{
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        check_trial(i, TXD_F32);
        check_trial(i, TXD_F64);
    }
}
END_TEST

/* Queries 4 to 6 of up to 7, keys 1 to 4: of 5 tokens one query is there, of 2 none. */
START_TEST(of_shorter_steps_a_tile_holds_what_there_is)
{
    const char *path = test_file("t.h5");
    const size_t lengths[3] = {2, 7, 5};
    fake_pass fake;
    txd_recorder *recorder;
    txd_trace *trace;
    size_t dims[TXD_MAX_RANK];
    double *tile;

    fake_make(&fake, MODEL, 1, 7);
    fake.dtype = TXD_F64;
    recorder = fake_record(&fake, path,
                           "record = ({probe = \"tile\"; layers = \"0\"; "
                           "queries = \"4:100\"; keys = \"1:5\";});",
                           3);
    for (int step = 0; step < 3; step++) {
        fake_fill(&fake, 1, lengths[step], 0, 4);
        fake_step(&fake, recorder, step);
    }
    trace = fake_finish(recorder, path);
    tile = fake_read(trace, "tile/layers/0/attn/weights", dims);
    ck_assert_uint_eq(dims[0], 3);
    ck_assert_uint_eq(dims[3], 3); /* cut where the input ends */
    ck_assert_uint_eq(dims[4], 4);
    for (size_t i = 0; i < 3 * HEADS * 3 * 4; i++) {
        size_t step = i / (HEADS * 3 * 4), query = i / 4 % 3 + 4;

        ck_assert_msg(isnan(tile[i]) == (query >= lengths[step]), "%zu: %g", i,
                      tile[i]);
    }
    free(tile);
    txd_trace_destroy(trace);
    fake_free(&fake);
}
END_TEST

static void refused(const char *record, const char *words)
{
    static const txd_key *const tables[] = {txd_record_keys, NULL};
    txd_recorder_cost cost;
    txd_probe_context context;
    txd_probe_use *uses = NULL;
    txd_setting *root = NULL;
    size_t count = 0;
    fake_pass fake;
    txd_text text;
    txd_status status;

    fake_make(&fake, MODEL, 1, 9);
    context = fake_context(&fake, 1);
    txd_text_init(&text);
    status = txd_cfg_parse(&root, fake.arena, "m.cfg", record);
    if (status == TXD_OK)
        status = txd_settings_validate(root, tables);
    if (status == TXD_OK)
        status = txd_record_read(&uses, &count, fake.arena, root, &context);
    if (status == TXD_OK)
        status = txd_recorder_plan(&text, &cost, &context, uses, count);
    ck_assert_int_eq(status, TXD_ERR_CONFIG);
    ck_assert_msg(strstr(txd_message(), words) != NULL, "no \"%s\" in: %s", words,
                  txd_message());
    txd_text_finish(&text);
    fake_free(&fake);
}

START_TEST(what_is_no_tile_is_refused)
{
    refused("record = ({probe = \"tile\"; queries = \"9:12\";});",
            "record.0.queries: queries selects none: there are queries 0 to 8");
    refused("record = ({probe = \"tile\"; keys = \"50:\";});",
            "record.0.keys: keys selects none: there are keys 0 to 8");
    refused("record = ({probe = \"tile\"; keys = \"0:2,4:6\";});",
            "a tile has one range of keys without gaps, such as \"31000:31256\"");
    refused("record = ({probe = \"tile\"; queries = \"0:8:2\";});",
            "a tile has one range of queries without gaps");
    refused("record = ({probe = \"rows\"; queries = \"0:2\";});",
            "the probe rows has no queries; leave it out");
    refused("record = ({probe = \"full\"; keys = \"0:2\";});",
            "the probe full has no keys; leave it out");
    refused("record = ({probe = \"tile\"; queries = \"0:2\";},"
            " {probe = \"tile\"; layers = \"1\"; queries = \"4:6\";});",
            "layers.1.attn.weights: the probe tile records one tile of a point, but "
            "two are asked for: queries 0:2, keys 0:9 and queries 4:6, keys 0:9");
    refused("record = ({probe = \"tile\"; points = \"logits\";});",
            "selects nothing that the probe tile records");
}
END_TEST

TEST_MAIN(a_tile_is_what_full_records_at_the_same_places,
          of_shorter_steps_a_tile_holds_what_there_is, what_is_no_tile_is_refused)
