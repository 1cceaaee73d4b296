/* SPDX-License-Identifier: MIT
 *
 * What becomes of scores before the softmax, against plain loops over the queries and
 * keys of the same pass: capping, biases by distance, and weights.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "observe.h"
#include "suite.h"

enum { BATCH = 2, LENGTH = 9, LANES = 4, MOST_HEADS = 12 };

static const double *values(observed *o, const char *site)
{
    const struct observed_site *s = observe_site(o, site);

    ck_assert_msg(s != NULL, "%s was not offered", site);
    return s->values;
}

/* A model of one layer, its second row padded on the left. */
static void run(observed *o, size_t heads, const char *model, const char *mask)
{
    char cfg[768];

    snprintf(cfg, sizeof cfg,
             "model : { preset = \"mini\"; vocab = 17; d_model = %zu; n_heads = %zu; "
             "head_dim = %d; n_layers = 1; d_ff = 8; max_seq_len = 16; %s }; mask : { "
             "evaluate_hidden = \"always\"; %s }; weights : { init = ( { params = "
             "\"*attn*\"; scheme = \"normal\"; std = 0.6; } ); };",
             heads * LANES, heads, LANES, model, mask);
    OK(observe_cfg(o, cfg, "ref64"));
    OK(observe_random(o, BATCH, LENGTH));
    for (size_t t = 0; t < 3; t++)
        o->inputs.valid[LENGTH + t] = 0;
    txd_inputs_count_positions(&o->inputs);
    OK(observe_pass(o));
}

static bool sees(const observed *o, size_t b, size_t q, size_t k)
{
    const int32_t *at = o->inputs.positions + b * LENGTH;

    return o->inputs.valid[b * LENGTH + k] &&
           (!o->config.layers[0].causal || at[k] <= at[q]);
}

/* Whatever the head adds for a distance. */
typedef double bias_of(size_t head, int distance);

static double nothing(size_t head, int distance)
{
    (void)head;
    (void)distance;
    return 0;
}

/* One cell: from q.k to what the softmax reads. */
static double masked_of(observed *o, const size_t at[4], bias_of *bias)
{
    const double *q = values(o, "layers.0.attn.q"), *k = values(o, "layers.0.attn.k");
    size_t heads = o->config.n_heads, head = at[0] * heads + at[1];
    const int32_t *where = o->inputs.positions + at[0] * LENGTH;
    double cap = o->config.layers[0].score_softcap, score = 0;

    for (size_t i = 0; i < LANES; i++)
        score += q[(head * LENGTH + at[2]) * LANES + i] *
                 k[(head * LENGTH + at[3]) * LANES + i];
    score /= sqrt(LANES);
    if (cap != 0)
        score = cap * tanh(score / cap);
    score += bias(at[1], where[at[3]] - where[at[2]]);
    return sees(o, at[0], at[2], at[3]) ? score : -INFINITY;
}

/* ---- tables of ranges of distance ---- */

enum { RANGES = 8, FARTHEST = 6 };
static const txd_tensor *table; /* (RANGES, heads) */

/* As Raffel et al. have it: near ones exactly, then by the logarithm. */
static int range_of(int distance, int ranges, bool both)
{
    int base = 0, near;

    if (both) {
        ranges /= 2;
        base = distance > 0 ? ranges : 0;
        distance = abs(distance);
    } else {
        distance = distance > 0 ? 0 : -distance;
    }
    near = ranges / 2;
    if (distance < near)
        return base + distance;
    near += (int)(log((double)distance / near) / log((double)FARTHEST / near) *
                  (ranges - near));
    return base + (near < ranges - 1 ? near : ranges - 1);
}

static double looks_back(size_t head, int distance)
{
    return txd_tensor_get(
        table, (size_t)range_of(distance, RANGES, false) * table->dims[1] + head);
}

static double looks_both_ways(size_t head, int distance)
{
    return txd_tensor_get(
        table, (size_t)range_of(distance, RANGES, true) * table->dims[1] + head);
}

/* What a head's sink adds to the sum of a row. */
static double sink_of(observed *o, size_t head)
{
    txd_param *sinks = txd_params_get(o->params, TXD_PARAM_SINK_WEIGHT, 0);

    return sinks ? exp(txd_tensor_get(&sinks->value, head)) : 0;
}

/* One row of one head. */
static void check_row(observed *o, size_t b, size_t h, size_t q, bias_of *bias)
{
    const double *masked = values(o, "layers.0.attn.masked");
    const double *weights = values(o, "layers.0.attn.weights");
    size_t row = ((b * o->config.n_heads + h) * LENGTH + q) * LENGTH;
    double expected[LENGTH], sum = 0;

    for (size_t k = 0; k < LENGTH; k++) {
        const size_t at[4] = {b, h, q, k};

        expected[k] = masked_of(o, at, bias);
        sum += exp(expected[k]);
    }
    if (sum > 0)
        sum += sink_of(o, h);
    for (size_t k = 0; k < LENGTH; k++) {
        double weight = sum > 0 ? exp(expected[k]) / sum : 0;

        if (!txd_close(masked[row + k], expected[k], 1e-13) ||
            !txd_close(weights[row + k], weight, 1e-13))
            ck_abort_msg("head %zu, query %zu, key %zu: %.17g, not %.17g", h, q, k,
                         masked[row + k], expected[k]);
    }
}

static void check_all(observed *o, bias_of *bias)
{
    for (size_t b = 0; b < BATCH; b++)
        for (size_t h = 0; h < o->config.n_heads; h++)
            for (size_t q = 0; q < LENGTH; q++)
                check_row(o, b, h, q, bias);
}

/* ---- ALiBi ---- */

/* The published slopes of 8 heads, and of 12: those of 8, then four of those of 16. */
static double alibi12(size_t head, int distance)
{
    static const double slopes[MOST_HEADS] = {1.0 / 2,
                                              1.0 / 4,
                                              1.0 / 8,
                                              1.0 / 16,
                                              1.0 / 32,
                                              1.0 / 64,
                                              1.0 / 128,
                                              1.0 / 256,
                                              0.70710678118654752,
                                              0.35355339059327376,
                                              0.17677669529663688,
                                              0.08838834764831844};

    return -slopes[head] * abs(distance);
}

static double alibi4(size_t head, int distance)
{
    static const double slopes[] = {0.25, 0.0625, 0.015625, 0.00390625};

    return -slopes[head] * abs(distance);
}

static double alibi6(size_t head, int distance)
{
    static const double slopes[] = {0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125};

    return -slopes[head] * abs(distance);
}

START_TEST(alibi_adds_its_slopes_times_the_distance)
{
    const struct {
        size_t heads;
        bias_of *bias;
    } cases[] = {{4, alibi4}, {6, alibi6}, {8, alibi12}, {12, alibi12}};
    const char *const masks[] = {"", "causal = false;"};

    for (size_t i = 0; i < 8; i++) {
        observed o = {0};
        const double *bias;

        run(&o, cases[i / 2].heads, "positions = \"alibi\";", masks[i % 2]);
        check_all(&o, cases[i / 2].bias);
        bias = values(&o, "layers.0.attn.bias");
        ck_assert(bias[0] == 0 && bias[LENGTH] == cases[i / 2].bias(0, 1));
        ck_assert_ptr_null(observe_site(&o, "layers.0.attn.capped"));
        ck_assert_ptr_null(observe_site(&o, "embed.pos"));
        observe_finish(&o);
    }
}
END_TEST

START_TEST(scores_are_capped_before_the_mask)
{
    observed o = {0};
    const double *scores, *capped;
    double most = 0;

    run(&o, 4, "score_softcap = 0.5;", "");
    check_all(&o, nothing);
    scores = values(&o, "layers.0.attn.scores");
    capped = values(&o, "layers.0.attn.capped");
    for (size_t i = 0; i < (size_t)BATCH * 4 * LENGTH * LENGTH; i++) {
        ck_assert(txd_close(capped[i], 0.5 * tanh(scores[i] / 0.5), 1e-15));
        most = fmax(most, fabs(scores[i]));
    }
    ck_assert(most > 0.6); /* else nothing was capped */
    ck_assert_ptr_null(observe_site(&o, "layers.0.attn.bias"));
    observe_finish(&o);
}
END_TEST

START_TEST(capped_scores_have_their_bias)
{
    observed o = {0};

    run(&o, 6, "score_softcap = 0.5; positions = \"alibi\";", "");
    check_all(&o, alibi6);
    observe_finish(&o);
}
END_TEST

START_TEST(a_sink_takes_its_share_of_every_row)
{
    const char *const models[] = {"sinks = true;",
                                  "sinks = true; positions = \"alibi\";"};

    for (int i = 0; i < 2; i++) {
        observed o = {.extra = TXD_ASK_ROWS};
        const struct observed_site *weights;
        double most = 0;

        run(&o, 4, models[i], "");
        check_all(&o, i == 0 ? nothing : alibi4);
        weights = observe_site(&o, "layers.0.attn.weights");
        for (size_t row = 0; row < (size_t)BATCH * 4 * LENGTH; row++) {
            const double *column = weights->rows + row * TXD_ROW_COUNT;
            double share = sink_of(&o, row / LENGTH % 4) / exp(column[TXD_ROW_LSE]);

            if (isnan(column[TXD_ROW_SUM])) /* a padded query */
                continue;
            most = fmax(most, share);
            ck_assert(txd_close(column[TXD_ROW_SUM], 1 - share, 1e-13));
        }
        ck_assert(most > 0.2);
        observe_finish(&o);
    }
}
END_TEST

START_TEST(relative_positions_add_a_number_of_their_range)
{
    for (int both = 0; both < 2; both++) {
        observed o = {0};
        const double *bias;

        run(&o, 6,
            "positions = \"relative\"; relative_buckets = 8; relative_distance = 6;",
            both ? "causal = false;" : "");
        table = &txd_params_find(o.params, "attn.relative.weight")->value;
        ck_assert_uint_eq(table->dims[0], RANGES);
        check_all(&o, both ? looks_both_ways : looks_back);
        bias = values(&o, "layers.0.attn.bias");
        /* keys behind the first query: of its own range, or of those of their side */
        ck_assert((bias[1] == bias[0]) == !both && (bias[8] == bias[0]) == !both);
        observe_finish(&o);
    }
}
END_TEST

START_TEST(a_layer_that_does_not_cap_shows_its_scores)
{
    observed o = {0};
    const struct observed_site *scores, *capped;

    OK(observe_cfg(&o,
                   "model : { preset = \"mini\"; vocab = 17; d_model = 8; n_heads = 2; "
                   "n_layers = 2; d_ff = 8; max_seq_len = 16; layers = ( { range = "
                   "\"0\"; score_softcap = 1e-3; } ); };",
                   "cpu32"));
    OK(observe_random(&o, 1, LENGTH));
    OK(observe_pass(&o));
    scores = observe_site(&o, "layers.1.attn.scores");
    capped = observe_site(&o, "layers.1.attn.capped");
    ck_assert_mem_eq(scores->values, capped->values, scores->count * sizeof(double));
    observe_finish(&o);
}
END_TEST

TEST_MAIN(alibi_adds_its_slopes_times_the_distance, scores_are_capped_before_the_mask,
          capped_scores_have_their_bias, a_sink_takes_its_share_of_every_row,
          relative_positions_add_a_number_of_their_range,
          a_layer_that_does_not_cap_shows_its_scores)
