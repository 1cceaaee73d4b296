/* SPDX-License-Identifier: MIT
 *
 * What enters an element: the right operands, and of each the right part.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "suite.h"
#include "txd.h"

enum { BATCH = 2, LENGTH = 4, HEADS = 4, GROUPS = 2, WIDTH = 3, D = 12 };

typedef struct made {
    txd_arena *arena;
    txd_config config;
    txd_inputs inputs;
    txd_pass pass;
} made;

static void make(made *m, const char *rest)
{
    char text[512];
    txd_setting *root;

    snprintf(text, sizeof text,
             "model : { vocab = 11; d_model = 12; n_heads = 4; n_kv_heads = 2; "
             "n_layers = 2; d_ff = 5; max_seq_len = 9; %s };",
             rest);
    ck_assert_int_eq(txd_arena_create(&m->arena), TXD_OK);
    ck_assert_msg(txd_cfg_parse(&root, m->arena, "t.cfg", text) == TXD_OK, "%s",
                  txd_message());
    ck_assert_msg(txd_config_read(&m->config, m->arena, root, NULL) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_inputs_make(&m->inputs, m->arena, BATCH, LENGTH), TXD_OK);
    txd_inputs_count_positions(&m->inputs);
    m->pass = (txd_pass){.claimed = &m->config, .inputs = &m->inputs, .loss_scale = 1};
}

static bool holds(const txd_operand *list, size_t count, txd_point point,
                  bool is_gradient)
{
    for (size_t i = 0; i < count; i++)
        if (list[i].point == point && list[i].is_gradient == is_gradient)
            return true;
    return false;
}

/* The operands of a gradient by the definition: whatever reads the value. */
static size_t expect_readers(const made *m, const txd_operand *list, size_t count,
                             const txd_site *site)
{
    size_t readers = 0;

    for (int p = 0; p < TXD_POINT_COUNT; p++) {
        txd_operand operands[TXD_OPERANDS];
        txd_site reader = {.kind = TXD_SITE_VALUE, .point = (txd_point)p, .layer = 0};
        size_t of_reader;

        if (!txd_point_per_layer(reader.point))
            reader.layer = -1;
        if (!txd_point_exists(&m->config, reader.point) ||
            txd_point_per_layer(reader.point) != (site->layer >= 0))
            continue;
        of_reader = txd_operands_of(operands, &m->config, &reader);
        if (!holds(operands, of_reader, site->point, false))
            continue;
        ck_assert_msg(holds(list, count, reader.point, true), "%s lacks %s",
                      txd_point_get(site->point)->name,
                      txd_point_get(reader.point)->name);
        readers++;
    }
    return readers;
}

/* Whether the other factor of scores stands before the value itself: with queries their
 * keys, with keys their queries, and with nothing else. */
static size_t has_factor(const txd_operand *list, size_t count, const txd_site *site)
{
    static const txd_point pairs[][2] = {{TXD_POINT_ATTN_Q, TXD_POINT_ATTN_K},
                                         {TXD_POINT_CROSS_Q, TXD_POINT_CROSS_K}};

    for (size_t i = 0; i < 4; i++)
        if (site->point == pairs[i / 2][i % 2]) {
            ck_assert_uint_ge(count, 2);
            ck_assert_int_eq(list[count - 2].point, pairs[i / 2][1 - i % 2]);
            ck_assert(!list[count - 2].is_gradient && !list[count - 2].is_pointwise);
            return 1;
        }
    return 0;
}

START_TEST(no_model_has_a_point_with_more_operands_than_are_kept)
{
    const char *const rest[] = {
        "",
        "preset = \"llama\";",
        "norm_placement = \"post\"; gated = true;",
        "cross = true; gated = true;",
        "cross = true; norm_placement = \"post\";",
        "norm_placement = \"sandwich\"; cross = true;",
        "parallel = true; shared_norm = true; gated = true;",
        "parallel = true; gated = true; norm_placement = \"branch\";"};

    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++) {
        made m;

        make(&m, rest[i]);
        for (int p = 0; p < TXD_POINT_COUNT; p++) {
            txd_point needs[TXD_OPERAND_NEEDS];
            txd_operand list[TXD_OPERANDS];
            txd_site site = {.kind = TXD_SITE_GRADIENT, .point = (txd_point)p};
            size_t count, readers, named = 0;

            site.layer = txd_point_per_layer(site.point) ? 0 : -1;
            if (!txd_point_exists(&m.config, site.point) ||
                txd_point_get(site.point)->place == TXD_PLACE_INPUT)
                continue;
            count = txd_operands_of(list, &m.config, &site);
            readers = expect_readers(&m, list, count, &site);
            ck_assert_uint_eq(count, readers + has_factor(list, count, &site) + 1);
            ck_assert(list[count - 1].point == site.point &&
                      !list[count - 1].is_gradient);
            txd_operands_needs(needs, &m.config, site.point);
            while (needs[named] != TXD_POINT_COUNT)
                named++;
            ck_assert_uint_lt(named, TXD_OPERAND_NEEDS - 1);
            for (size_t o = 0; o < count; o++)
                for (size_t n = 0; n <= named; n++) {
                    ck_assert(n < named);
                    if (needs[n] == list[o].point)
                        break;
                }
        }
        txd_arena_destroy(m.arena);
    }
}
END_TEST

START_TEST(the_placement_of_norms_decides_what_reads_the_stream)
{
    const txd_site stream = {.kind = TXD_SITE_GRADIENT, .point = TXD_POINT_RESID_PRE};
    const txd_site up = {.kind = TXD_SITE_VALUE, .point = TXD_POINT_MLP_UP};
    txd_operand list[TXD_OPERANDS];
    made m;

    make(&m, "");
    ck_assert_uint_eq(txd_operands_of(list, &m.config, &stream), 3);
    ck_assert(holds(list, 3, TXD_POINT_NORM1_OUT, true));
    ck_assert(holds(list, 3, TXD_POINT_RESID_MID, true));
    ck_assert_uint_eq(txd_operands_of(list, &m.config, &up), 1);
    ck_assert_int_eq(list[0].point, TXD_POINT_NORM2_OUT);
    txd_arena_destroy(m.arena);
    make(&m, "norm_placement = \"post\";");
    ck_assert_uint_eq(txd_operands_of(list, &m.config, &stream), 5);
    ck_assert(holds(list, 5, TXD_POINT_ATTN_K_PROJ, true));
    ck_assert_uint_eq(txd_operands_of(list, &m.config, &up), 1);
    ck_assert_int_eq(list[0].point, TXD_POINT_NORM1_OUT);
    txd_arena_destroy(m.arena);
}
END_TEST

/* ---- parts ---- */

/* One operand, whose element number i is i + 1. */
static double numbers[4096];
static txd_tensor operand;

static void count_up(void)
{
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        numbers[i] = (double)(i + 1);
}

static txd_status give(txd_tensor *out, const txd_block *block, txd_point point)
{
    (void)block;
    (void)point;
    *out = operand;
    return TXD_OK;
}

static txd_operand_part read_part(const made *m, txd_point site, txd_point from,
                                  bool is_pointwise, const size_t *at)
{
    const txd_site where = {.kind = TXD_SITE_VALUE, .point = site, .layer = 0};
    const txd_extent extent = txd_inputs_extent(&m->inputs);
    const txd_operand which = {from, false, is_pointwise};
    txd_block block = {.site = &where, .pass = &m->pass, .earlier = give};
    size_t dims[TXD_MAX_RANK];
    txd_operand_part part;
    int rank = txd_point_dims(dims, &m->config, from, &extent);

    block.value.rank = txd_point_dims(block.dims, &m->config, site, &extent);
    operand = txd_tensor_make(TXD_F64, numbers, rank, dims);
    ck_assert_msg(txd_operand_read(&part, &which, &block, at) == TXD_OK, "%s",
                  txd_message());
    return part;
}

static void expect_part(txd_operand_part part, size_t count, size_t last)
{
    ck_assert_uint_eq(part.count, count);
    ck_assert_uint_eq(part.nonfinite, 0);
    ck_assert_msg(part.value == (double)(last + 1), "%g, expected %zu", part.value,
                  last + 1);
}

START_TEST(the_part_of_an_operand_is_that_of_the_token_the_head_and_the_key)
{
    const size_t cell[] = {1, 3, 2, 1}, token[] = {1, 2, 7};
    size_t head = (1 * HEADS + 3) * LENGTH, shared = (1 * GROUPS + 1) * LENGTH;
    made m;

    count_up();
    make(&m, "");
    /* A score: its query and, of the group's head, its key. */
    expect_part(read_part(&m, TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_Q, false, cell),
                WIDTH, (head + 2) * WIDTH + WIDTH - 1);
    expect_part(read_part(&m, TXD_POINT_ATTN_SCORES, TXD_POINT_ATTN_K, false, cell),
                WIDTH, (shared + 1) * WIDTH + WIDTH - 1);
    /* A masked score: the score. A weight: the row. */
    expect_part(read_part(&m, TXD_POINT_ATTN_MASKED, TXD_POINT_ATTN_SCORES, true, cell),
                1, (head + 2) * LENGTH + 1);
    expect_part(
        read_part(&m, TXD_POINT_ATTN_WEIGHTS, TXD_POINT_ATTN_MASKED, false, cell),
        LENGTH, (head + 2) * LENGTH + LENGTH - 1);
    /* A head's output: the row of weights, and one lane of every value. */
    expect_part(
        read_part(&m, TXD_POINT_ATTN_HEADS, TXD_POINT_ATTN_WEIGHTS, false, cell),
        LENGTH, (head + 2) * LENGTH + LENGTH - 1);
    expect_part(read_part(&m, TXD_POINT_ATTN_HEADS, TXD_POINT_ATTN_V, true, cell),
                LENGTH, (shared + LENGTH - 1) * WIDTH + 1);
    /* Lane 7 of the merged heads is lane 1 of head 2. */
    expect_part(read_part(&m, TXD_POINT_ATTN_MERGED, TXD_POINT_ATTN_HEADS, true, token),
                1, ((1 * HEADS + 2) * LENGTH + 2) * WIDTH + 1);
    /* A query: its token. A residual: its element. */
    expect_part(read_part(&m, TXD_POINT_ATTN_Q_PROJ, TXD_POINT_NORM1_OUT, false, cell),
                D, (1 * LENGTH + 2) * D + D - 1);
    expect_part(read_part(&m, TXD_POINT_RESID_MID, TXD_POINT_ATTN_BRANCH, true, token),
                1, (1 * LENGTH + 2) * D + 7);
    txd_arena_destroy(m.arena);
}
END_TEST

START_TEST(on_the_way_back_a_key_gets_from_all_heads_of_its_group)
{
    const size_t key[] = {0, 1, 2, 0}, head[] = {0, 2, 1, 2}, token[] = {0, 3, 0};
    made m;

    count_up();
    make(&m, "");
    /* attn.k@grad from attn.scores@grad: heads 2 and 3, all queries, key 2. */
    expect_part(read_part(&m, TXD_POINT_ATTN_K, TXD_POINT_ATTN_SCORES, false, key),
                2 * LENGTH, (3 * LENGTH + LENGTH - 1) * LENGTH + 2);
    /* attn.v@grad from attn.heads@grad: the same lane. */
    expect_part(read_part(&m, TXD_POINT_ATTN_V, TXD_POINT_ATTN_HEADS, true, key),
                2 * LENGTH, (3 * LENGTH + LENGTH - 1) * WIDTH);
    /* attn.heads@grad from attn.merged@grad: lane 8 of the token. */
    expect_part(read_part(&m, TXD_POINT_ATTN_HEADS, TXD_POINT_ATTN_MERGED, true, head),
                1, 1 * D + 8);
    /* norm1.out@grad from attn.k_proj@grad: the token as a key. */
    expect_part(read_part(&m, TXD_POINT_NORM1_OUT, TXD_POINT_ATTN_K_PROJ, false, token),
                GROUPS * WIDTH, (1 * LENGTH + 3) * WIDTH + WIDTH - 1);
    txd_arena_destroy(m.arena);
}
END_TEST

START_TEST(a_part_with_nan_says_so)
{
    const size_t token[] = {0, 0, 0};
    txd_operand_part part;
    made m;

    count_up();
    make(&m, "");
    numbers[3] = NAN;
    numbers[5] = INFINITY;
    part = read_part(&m, TXD_POINT_ATTN_Q_PROJ, TXD_POINT_NORM1_OUT, false,
                     (const size_t[]){0, 0, 0, 0});
    ck_assert(isnan(part.value));
    ck_assert_uint_eq(part.nonfinite, 2);
    numbers[3] = 4;
    part = read_part(&m, TXD_POINT_MLP_UP, TXD_POINT_NORM2_OUT, false, token);
    ck_assert(isinf(part.value));
    numbers[5] = 6;
    txd_arena_destroy(m.arena);
}
END_TEST

/* ---- what is judged ---- */

START_TEST(padding_and_hidden_cells_are_not_searched)
{
    const txd_site site = {
        .kind = TXD_SITE_GRADIENT, .point = TXD_POINT_ATTN_MASKED, .layer = 1};
    const size_t dims[] = {1, 1, 2, LENGTH};
    double tile[2 * LENGTH] = {0};
    size_t at[TXD_MAX_RANK];
    txd_block block;
    made m;

    make(&m, "");
    m.inputs.valid[1 * LENGTH + 0] = 0; /* padding on the left */
    block = (txd_block){.site = &site,
                        .pass = &m.pass,
                        .value = txd_tensor_make(TXD_F64, tile, 4, dims),
                        .start = {1, 2, 1, 0}};
    tile[0] = NAN;                          /* query 1, key 0: padding */
    tile[2] = tile[LENGTH + 3] = -INFINITY; /* in the future */
    ck_assert(!txd_block_nonfinite(at, &block));
    tile[LENGTH + 2] = NAN;
    ck_assert(txd_block_nonfinite(at, &block));
    ck_assert(at[0] == 1 && at[1] == 2 && at[2] == 2 && at[3] == 2);
    m.inputs.valid[1 * LENGTH + 2] = 0;
    ck_assert(!txd_block_nonfinite(at, &block));
    txd_arena_destroy(m.arena);
}
END_TEST

TEST_MAIN(no_model_has_a_point_with_more_operands_than_are_kept,
          the_placement_of_norms_decides_what_reads_the_stream,
          the_part_of_an_operand_is_that_of_the_token_the_head_and_the_key,
          on_the_way_back_a_key_gets_from_all_heads_of_its_group,
          a_part_with_nan_says_so, padding_and_hidden_cells_are_not_searched)
