/* SPDX-License-Identifier: MIT
 *
 * The laws of projections in cross-attention, on hand-made values: queries are of the
 * tokens, keys and values of a memory of another length.
 */
#include "driver.h"

#include <stdio.h>
#include <string.h>

enum { BATCH = 2, MEMORY = 5, D = HEADS * WIDTH, GROUPS = HEADS / 2 };

static const int lengths[BATCH] = {LENGTH, 6};
static const txd_point points[3] = {TXD_POINT_CROSS_Q_PROJ, TXD_POINT_CROSS_K_PROJ,
                                    TXD_POINT_CROSS_V};
static const char *const names[3] = {"cross.q.weight", "cross.k.weight",
                                     "cross.v.weight"};
static const size_t heads[3] = {HEADS, GROUPS, GROUPS};

static void start(driver *d, const char *law)
{
    driver_init(d);
    d->config.cross = true;
    driver_inputs(d, BATCH, lengths, false);
    ck_assert_int_eq(txd_inputs_make_memory(&d->inputs, d->arena, MEMORY, D, TXD_F64),
                     TXD_OK);
    driver_start(d, law);
}

/* Matrix `i` of a layer, drawn. */
static double *matrix(driver *d, int layer, int i)
{
    return driver_numbers(d, heads[i] * WIDTH * D,
                          100 * (uint64_t)(layer + 1) + (uint64_t)i);
}

/* (b, heads, t, WIDTH) = matrix times the rows of `from` (b, length, D). */
static double *project(driver *d, const double *w, size_t count, size_t length,
                       const double *from)
{
    double *out =
        txd_arena_alloc(d->arena, BATCH * count * length * WIDTH, sizeof *out);

    for (size_t n = 0; n < BATCH * count * length * WIDTH; n++) {
        size_t e = n % WIDTH, t = n / WIDTH % length, h = n / WIDTH / length % count;
        const double *x = from + (n / WIDTH / length / count * length + t) * D;

        for (size_t c = 0; c < D; c++)
            out[n] += w[(h * WIDTH + e) * D + c] * x[c];
    }
    return out;
}

/* In layer `layer` keys are made from the matrix of the values; of it, too, if
 * `shared`: then its parameter is W_v. */
static const txd_result *run(driver *d, const char *law, int layer, bool shared)
{
    double *x, *memory;

    start(d, law);
    for (int l = 0; l < LAYERS; l++)
        for (int i = 0; i < 3; i++) {
            char name[64];

            snprintf(name, sizeof name, "layers.%d.%s", l, names[i]);
            driver_offer_parameter(d, name, l,
                                   matrix(d, l, shared && l == layer && i == 1 ? 2 : i),
                                   heads[i] * WIDTH, D);
        }
    x = driver_random(d, TXD_POINT_NORM_CROSS_OUT, 50);
    memory = driver_random(d, TXD_POINT_INPUT_MEMORY, 51);
    driver_offer(d, TXD_POINT_INPUT_MEMORY, -1, memory);
    for (int l = 0; l < LAYERS; l++) {
        driver_offer(d, TXD_POINT_NORM_CROSS_OUT, l, x);
        for (int i = 0; i < 3; i++)
            driver_offer(d, points[i], l,
                         project(d, matrix(d, l, l == layer && i == 1 ? 2 : i),
                                 heads[i], i == 0 ? LENGTH : MEMORY,
                                 i == 0 ? x : memory));
    }
    return driver_result(d);
}

START_TEST(projections_of_a_memory_are_judged)
{
    for (int layer = -1; layer < LAYERS; layer++) {
        driver d;
        const txd_result *r = run(&d, "head_split", layer, false);
        char site[64];

        /* 15 valid tokens, 10 rows of memory for keys and values. */
        ck_assert_uint_eq(r->evaluated, LAYERS * (15 * D + 2 * 10 * GROUPS * WIDTH));
        ck_assert_int_eq(r->verdict, layer < 0 ? TXD_VERDICT_PASS : TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_count, layer >= 0);
        snprintf(site, sizeof site, "layers.%d.cross.k_proj", layer);
        if (layer >= 0) {
            ck_assert_str_eq(r->findings[0].site, site);
            ck_assert_ptr_nonnull(
                strstr(r->findings[0].message, "what the rows of cross.v, head"));
        }
        driver_finish(&d);
    }
}
END_TEST

START_TEST(keys_and_values_of_one_matrix_are_found)
{
    for (int shared = 0; shared < 2; shared++)
        for (int layer = -1; layer < LAYERS; layer++) {
            driver d;
            const txd_result *r = run(&d, "qkv_distinct", layer, shared);
            char site[64];

            ck_assert_uint_eq(r->evaluated, LAYERS * GROUPS * 3);
            ck_assert_int_eq(r->verdict,
                             layer < 0 ? TXD_VERDICT_PASS : TXD_VERDICT_FAIL);
            snprintf(site, sizeof site, "layers.%d.cross.v", layer);
            if (layer >= 0) {
                ck_assert_uint_eq(r->finding_total, GROUPS);
                ck_assert_str_eq(r->findings[0].site, site);
            }
            driver_finish(&d);
        }
}
END_TEST

TEST_MAIN(projections_of_a_memory_are_judged, keys_and_values_of_one_matrix_are_found)
