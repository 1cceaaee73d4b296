/* SPDX-License-Identifier: MIT
 *
 * What experiments are made of: inputs derived from others, passes kept and compared,
 * the part of an input that they take.
 */
#include <math.h>
#include <string.h>

#include "checks/experiments/capture.h"
#include "checks/experiments/derive.h"
#include "suite.h"

#define SMALL                                                                          \
    "model : { preset = \"mini\"; vocab = 9; d_model = 8; n_heads = 2; n_layers = 1; " \
    "max_seq_len = 100; };"

/* Two rows of four, the second padded by one on the left; a memory of two rows. */
static void make_inputs(txd_inputs *out, txd_arena *arena)
{
    OK(txd_inputs_make(out, arena, 2, 4));
    for (int i = 0; i < 8; i++) {
        out->tokens[i] = 10 + i;
        out->types[i] = i % 2;
    }
    out->valid[4] = 0;
    out->document[2] = out->document[3] = 1;
    txd_inputs_count_positions(out);
    OK(txd_inputs_make_memory(out, arena, 2, 1, TXD_F32));
    for (int i = 0; i < 4; i++)
        ((float *)out->memory.data)[i] = (float)i;
    out->memory_valid[3] = 0;
}

static void expect_ints(const int32_t *found, const int32_t *expected, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (found[i] != expected[i])
            ck_abort_msg("number %zu is %d, expected %d", i, found[i], expected[i]);
}

START_TEST(rows_are_picked_with_all_that_belongs_to_them)
{
    const size_t rows[3] = {1, 0, 1};
    const int32_t tokens[12] = {14, 15, 16, 17, 10, 11, 12, 13, 14, 15, 16, 17};
    const int32_t valid[12] = {0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1};
    const int32_t memory_valid[6] = {1, 0, 1, 1, 1, 0};
    const float memory[6] = {2, 3, 0, 1, 2, 3};
    txd_inputs from, out;
    txd_arena *arena;

    OK(txd_arena_create(&arena));
    make_inputs(&from, arena);
    OK(txd_derive_rows(&out, arena, &from, rows, 3));
    ck_assert_uint_eq(out.batch, 3);
    expect_ints(out.tokens, tokens, 12);
    expect_ints(out.valid, valid, 12);
    expect_ints(out.memory_valid, memory_valid, 6);
    ck_assert_mem_eq(out.memory.data, memory, sizeof memory);
    ck_assert_int_eq(out.types[1], 1);
    ck_assert_int_eq(out.positions[3], 2);
    ck_assert_int_eq(out.document[6], 1);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(parts_and_padding_keep_the_positions_that_tokens_had)
{
    const txd_padding padding = {.left = 1, .right = 2, .token = 9};
    const int32_t positions[4] = {1, 2, 0, 1};
    const int32_t tokens[14] = {9, 10, 11, 12, 13, 9, 9, 9, 14, 15, 16, 17, 9, 9};
    const int32_t valid[14] = {0, 1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0, 0};
    txd_inputs from, part, padded;
    txd_arena *arena;

    OK(txd_arena_create(&arena));
    make_inputs(&from, arena);
    OK(txd_derive_part(&part, arena, &from, 1, 2));
    ck_assert_uint_eq(part.length, 2);
    expect_ints(part.positions, positions, 4);
    OK(txd_derive_padded(&padded, arena, &from, &padding));
    ck_assert_uint_eq(padded.length, 7);
    expect_ints(padded.tokens, tokens, 14);
    expect_ints(padded.valid, valid, 14);
    ck_assert_int_eq(padded.positions[3], 2);
    ck_assert_uint_eq(padded.memory_length, 2);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(texts_are_taken_apart_and_packed_again)
{
    /* Two documents of row 0, one of row 1. */
    const int32_t separate[9] = {10, 11, 0, 12, 13, 0, 15, 16, 17};
    const int32_t valid[9] = {1, 1, 0, 1, 1, 0, 1, 1, 1};
    const int32_t positions[9] = {0, 1, 0, 0, 1, 0, 0, 1, 2};
    const int32_t packed[7] = {10, 11, 12, 13, 15, 16, 17};
    const int32_t document[7] = {0, 0, 1, 1, 2, 2, 2};
    const int32_t packed_at[7] = {0, 1, 0, 1, 0, 1, 2};
    txd_inputs from, apart, together;
    txd_arena *arena;
    size_t *origin;

    OK(txd_arena_create(&arena));
    make_inputs(&from, arena);
    OK(txd_derive_separate(&apart, &origin, arena, &from));
    ck_assert_uint_eq(apart.batch, 3);
    ck_assert_uint_eq(apart.length, 3);
    expect_ints(apart.tokens, separate, 9);
    expect_ints(apart.valid, valid, 9);
    expect_ints(apart.positions, positions, 9);
    ck_assert_uint_eq(origin[4], 3);
    ck_assert_uint_eq(origin[8], 7);
    OK(txd_derive_packed(&together, arena, &apart));
    ck_assert_uint_eq(together.batch, 1);
    ck_assert_uint_eq(together.length, 7);
    expect_ints(together.tokens, packed, 7);
    expect_ints(together.document, document, 7);
    expect_ints(together.positions, packed_at, 7);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(a_single_text_is_taken_apart_in_two_halves)
{
    txd_inputs from, apart, alone;
    txd_arena *arena;
    size_t *origin;

    OK(txd_arena_create(&arena));
    make_inputs(&from, arena);
    OK(txd_derive_alone(&alone, arena, &from, 1));
    ck_assert_uint_eq(alone.length, 3);
    ck_assert_int_eq(alone.tokens[0], 15);
    ck_assert_int_eq(alone.memory_valid[1], 0);
    OK(txd_derive_separate(&apart, &origin, arena, &alone));
    ck_assert_uint_eq(apart.batch, 2);
    ck_assert_int_eq(apart.tokens[0], 15);
    ck_assert_int_eq(apart.tokens[2], 17);
    ck_assert_int_eq(apart.positions[2], 0);
    txd_arena_destroy(arena);
}
END_TEST

/* ---- what is taken of an input ---- */

static txd_experiment *experiment_of(txd_experiment_setup *setup)
{
    static txd_check_context context;
    txd_experiment *e = NULL;

    context.claimed = setup->claimed;
    OK(txd_experiment_create(&e, setup, &context, 0));
    return e;
}

static void read_config(txd_config *out, txd_arena *arena, const char *cfg)
{
    txd_setting *root;

    OK(txd_cfg_parse(&root, arena, "test.cfg", cfg));
    OK(txd_config_read(out, arena, root, NULL));
}

START_TEST(of_a_large_input_a_part_is_taken_and_less_for_a_large_model)
{
    txd_config small, large;
    txd_inputs inputs;
    txd_experiment_setup setup = {.inputs = &inputs, .claimed = &small};
    txd_experiment *e;
    txd_arena *arena;

    OK(txd_arena_create(&arena));
    read_config(&small, arena, SMALL);
    read_config(&large, arena,
                "model : { preset = \"llama\"; vocab = 100000; d_model = 1024; n_heads "
                "= 8; n_layers = 1; d_ff = 64; };");
    OK(txd_inputs_make(&inputs, arena, 6, 200));
    e = experiment_of(&setup);
    ck_assert_uint_eq(e->inputs.batch, TXD_EXPERIMENT_ROWS);
    ck_assert_uint_eq(e->inputs.length, TXD_EXPERIMENT_TOKENS);
    ck_assert_uint_eq(e->first, 0);
    txd_experiment_destroy(e);
    setup.claimed = &large;
    e = experiment_of(&setup);
    ck_assert_uint_lt(e->inputs.length, TXD_EXPERIMENT_TOKENS);
    ck_assert_uint_ge(e->inputs.length, 8);
    txd_experiment_destroy(e);
    txd_arena_destroy(arena);
}
END_TEST

START_TEST(where_a_row_begins_with_padding_alone_the_last_tokens_are_taken)
{
    txd_inputs inputs;
    txd_config small;
    txd_experiment_setup setup = {.inputs = &inputs, .claimed = &small};
    const txd_site site = {.point = TXD_POINT_EMBED_OUT, .layer = -1};
    txd_experiment *e;
    txd_arena *arena;

    OK(txd_arena_create(&arena));
    read_config(&small, arena, SMALL);
    OK(txd_inputs_make(&inputs, arena, 2, 100));
    for (size_t t = 0; t < 70; t++)
        inputs.valid[100 + t] = 0;
    e = experiment_of(&setup);
    ck_assert_uint_eq(e->first, 36);
    ck_assert_int_eq(e->inputs.valid[64 + 33], 0);
    ck_assert_int_eq(e->inputs.valid[64 + 34], 1);
    ck_assert_int_eq(txd_experiment_finding(e, &site, 1, -1, 2).query, 38);
    txd_experiment_destroy(e);
    txd_arena_destroy(arena);
}
END_TEST

/* ---- two passes ---- */

/* One row of two tokens at two sites, of width 2. */
typedef struct made {
    txd_captured sites[2];
    float values[2][4];
    txd_capture capture;
} made;

static void make_capture(made *m)
{
    const size_t dims[3] = {1, 2, 2};

    *m = (made){.values = {{1, 2, 3, 4}, {3, 4, 0, 5}}};
    for (int i = 0; i < 2; i++)
        m->sites[i] = (txd_captured){
            {.kind = TXD_SITE_VALUE, .point = TXD_POINT_RESID_PRE, .layer = i},
            txd_tensor_make(TXD_F32, m->values[i], 3, dims)};
    m->capture = (txd_capture){
        .sites = m->sites, .count = 2, .capacity = 2, .batch = 1, .length = 2};
}

static double a_tenth(const void *self, const txd_captured *site)
{
    (void)self;
    (void)site;
    return 0.1;
}

static const txd_token_pair both[2] = {{0, 0}, {1, 1}};

static txd_difference compare(const made *a, const made *b, bool is_exact)
{
    const txd_capture_match match = {.a = &a->capture,
                                     .b = &b->capture,
                                     .pairs = both,
                                     .count = 2,
                                     .allowed = is_exact ? NULL : a_tenth};
    txd_difference d;

    OK(txd_capture_compare(&d, &match));
    return d;
}

START_TEST(the_first_site_that_differs_by_a_bit_is_named_with_its_element)
{
    made a, b;
    txd_difference d;

    make_capture(&a);
    make_capture(&b);
    d = compare(&a, &b, true);
    ck_assert(!d.is_found);
    ck_assert_uint_eq(d.rows, 4);
    b.values[1][0] = 9;
    b.values[0][3] = nextafterf(4, 5);
    d = compare(&a, &b, true);
    ck_assert(d.is_found);
    ck_assert_int_eq(d.site->site.layer, 0);
    ck_assert_uint_eq(d.pair, 1);
    ck_assert_uint_eq(d.lane, 1);
    ck_assert(d.a == 4 && d.b == (double)nextafterf(4, 5));
}
END_TEST

START_TEST(zeros_of_either_sign_are_one_number)
{
    made a, b;

    make_capture(&a);
    make_capture(&b);
    b.values[1][2] = -0.0F;
    ck_assert(!compare(&a, &b, true).is_found);
}
END_TEST

/* The row (3, 4) has the norm 5: half a unit is a tenth of it. */
START_TEST(a_row_may_be_off_by_its_share_and_no_more)
{
    made a, b;
    txd_difference d;

    make_capture(&a);
    make_capture(&b);
    b.values[1][1] = 4.4999F;
    d = compare(&a, &b, false);
    ck_assert(!d.is_found);
    ck_assert(d.worst > 0.4998 && d.worst <= d.worst_allowed);
    b.values[1][1] = 4.5001F;
    d = compare(&a, &b, false);
    ck_assert(d.is_found);
    ck_assert_int_eq(d.site->site.layer, 1);
    ck_assert(d.measured > d.allowed && d.allowed == 0.5);
}
END_TEST

START_TEST(what_is_not_finite_proves_nothing)
{
    made a, b;
    txd_result result = {0};
    txd_difference d;

    make_capture(&a);
    make_capture(&b);
    a.values[0][0] = b.values[0][0] = NAN;
    for (int exact = 0; exact < 2; exact++) {
        d = compare(&a, &b, exact);
        ck_assert(!d.is_found);
        ck_assert_uint_eq(d.not_finite, 1);
        result = (txd_result){0};
        txd_difference_count(&result, &d);
        ck_assert_int_eq(result.verdict, TXD_VERDICT_OPEN);
        ck_assert_uint_eq(result.evaluated, 3);
    }
}
END_TEST

START_TEST(layers_behind_the_given_one_are_not_compared)
{
    made a, b;
    txd_capture_match match = {
        .a = &a.capture, .b = &b.capture, .pairs = both, .count = 2, .layers = 1};
    txd_difference d;

    make_capture(&a);
    make_capture(&b);
    b.values[1][0] = 9;
    OK(txd_capture_compare(&d, &match));
    ck_assert(!d.is_found);
    ck_assert_uint_eq(d.rows, 2);
}
END_TEST

TEST_MAIN(rows_are_picked_with_all_that_belongs_to_them,
          parts_and_padding_keep_the_positions_that_tokens_had,
          texts_are_taken_apart_and_packed_again,
          a_single_text_is_taken_apart_in_two_halves,
          of_a_large_input_a_part_is_taken_and_less_for_a_large_model,
          where_a_row_begins_with_padding_alone_the_last_tokens_are_taken,
          the_first_site_that_differs_by_a_bit_is_named_with_its_element,
          zeros_of_either_sign_are_one_number,
          a_row_may_be_off_by_its_share_and_no_more, what_is_not_finite_proves_nothing,
          layers_behind_the_given_one_are_not_compared)
