/* SPDX-License-Identifier: MIT
 *
 * Every probe on passes of a trained model: what each recorded must follow from the
 * values that `full` recorded of the same pass.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fake_pass.h"
#include "suite.h"

enum { BATCH = 2, LENGTH = 21, PADDING = 4, CELLS = 8 };

static const char everything[] =
    "record = ({probe = \"full\"; points = \"*\";}, {probe = \"rows\";},"
    " {probe = \"stats\";}, {probe = \"norms\";}, {probe = \"nonfinite\";},"
    " {probe = \"leaks\";}, {probe = \"pooled\"; cells = 8;});";

typedef struct session {
    fake_pass fake; /* only its configuration, order, parameters and inputs */
    txd_checkpoint *checkpoint;
    txd_trace *trace;
} session;

static void run_step(session *s, txd_recorder *recorder, const txd_backend *backend)
{
    txd_model *model = NULL;
    txd_run *run = NULL;
    size_t count;
    txd_run_options options = {.claimed = &s->fake.config, .params = s->fake.params};

    options.taps = txd_recorder_taps(recorder, &count);
    options.tap_count = count;
    ck_assert_msg(
        txd_model_create(&model, backend, &s->fake.config, s->fake.params, 1) == TXD_OK,
        "%s", txd_message());
    ck_assert_msg(txd_run_create(&run, model, &options) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_recorder_step_begin(recorder, &s->fake.inputs, 0), TXD_OK);
    ck_assert_msg(txd_run_pass(run, &s->fake.inputs, 0) == TXD_OK, "%s", txd_message());
    ck_assert_int_eq(txd_recorder_step_end(recorder, txd_run_loss(run), NAN), TXD_OK);
    txd_run_destroy(run);
    txd_model_destroy(model);
}

/* Runs the model in `folder` over made-up tokens, the last PADDING of row 1 padding. */
static void record(session *s, const char *folder, const char *backend_name)
{
    const char *path = test_file("real.h5");
    fake_pass *fake = &s->fake;
    const txd_backend *backend = NULL;
    txd_recorder *recorder;

    memset(s, 0, sizeof *s);
    ck_assert_int_eq(txd_backend_find(&backend, backend_name), TXD_OK);
    ck_assert_msg(txd_checkpoint_open(&s->checkpoint, folder) == TXD_OK, "%s",
                  txd_message());
    ck_assert_int_eq(txd_arena_create(&fake->arena), TXD_OK);
    ck_assert_int_eq(txd_config_copy(&fake->config, fake->arena,
                                     txd_checkpoint_config(s->checkpoint)),
                     TXD_OK);
    ck_assert_msg(
        txd_checkpoint_params(&fake->params, s->checkpoint, &fake->config, 0) == TXD_OK,
        "%s", txd_message());
    ck_assert_int_eq(
        txd_points_order(&fake->order, &fake->stops, fake->arena, &fake->config),
        TXD_OK);
    ck_assert_int_eq(txd_inputs_make(&fake->inputs, fake->arena, BATCH, LENGTH),
                     TXD_OK);
    for (size_t i = 0; i < BATCH * LENGTH; i++)
        fake->inputs.tokens[i] = (int32_t)((i * i * 7 + 3) % fake->config.vocab);
    for (size_t i = 0; i < PADDING; i++)
        fake->inputs.valid[BATCH * LENGTH - 1 - i] = 0;
    txd_inputs_count_positions(&fake->inputs);
    fake->dtype = txd_backend_dtype(backend);
    recorder = fake_record(fake, path, everything, 1);
    run_step(s, recorder, backend);
    s->trace = fake_finish(recorder, path);
}

static void finish(session *s)
{
    txd_trace_destroy(s->trace);
    txd_checkpoint_destroy(s->checkpoint);
    fake_free(&s->fake);
}

static bool is_real(const session *s, size_t batch, size_t token)
{
    return s->fake.inputs.valid[batch * LENGTH + token] != 0;
}

static void close_to(double value, double expected, double tolerance, const char *what)
{
    ck_assert_msg(txd_close(value, expected, tolerance * (1 + fabs(expected))),
                  "%s: %.17g, expected %.17g", what, value, expected);
}

static double *read_layer(const session *s, const char *point, int layer)
{
    char name[96];

    snprintf(name, sizeof name, "layers.%d.%s", layer, point);
    return fake_read(s->trace, name, NULL);
}

/* Sum, entropy, peak and its key of one row of recorded weights. */
static void check_row(const session *s, const double *row, size_t index, size_t query)
{
    double sum = 0, entropy = 0, peak = 0;
    size_t peak_key = 0;
    static const char *const names[] = {"sum", "entropy", "peak", "peak_key",
                                        "hidden_sum"};
    double expected[5], tolerance = s->fake.dtype == TXD_F32 ? 2e-6 : 1e-13;

    for (size_t k = 0; k < LENGTH; k++) {
        sum += row[k];
        entropy -= row[k] > 0 ? row[k] * log(row[k]) : 0;
        peak_key = row[k] > peak ? k : peak_key;
        peak = fmax(peak, row[k]);
    }
    (void)query;
    expected[0] = sum;
    expected[1] = entropy;
    expected[2] = peak;
    expected[3] = (double)peak_key;
    expected[4] = 0;
    for (int i = 0; i < 5; i++) {
        char name[32];
        double *column;

        snprintf(name, sizeof name, "rows/%s", names[i]);
        column = fake_read(s->trace, name, NULL);
        close_to(column[index], expected[i], tolerance, name);
        free(column);
    }
}

static void check_rows(const session *s)
{
    size_t heads = s->fake.config.n_heads, rows = BATCH * heads * LENGTH;

    for (int layer = 0; layer < (int)s->fake.config.n_layers; layer++) {
        double *weights = read_layer(s, "attn.weights", layer);
        double *sum = fake_read(s->trace, "rows/sum", NULL);

        for (size_t i = 0; i < rows; i++) {
            size_t batch = i / (heads * LENGTH), query = i % LENGTH;
            size_t index = (size_t)layer * rows + i;

            if (!is_real(s, batch, query))
                ck_assert(isnan(sum[index]));
            else if (i % 7 == 0)
                check_row(s, weights + i * LENGTH, index, query);
        }
        free(weights);
        free(sum);
    }
}

/* Statistics of a recorded value over tokens that are real (and seen cells). */
static void plain_stats(double out[TXD_STAT_COUNT_OF], const session *s,
                        txd_point point, int layer)
{
    const char *axes = txd_point_get(point)->axes;
    size_t dims[TXD_MAX_RANK], all = 0, width;
    char name[96];
    double *values, sum = 0, square = 0, count = 0, low = INFINITY, high = -INFINITY;
    int rank = txd_point_dims(dims, &s->fake.config, point,
                              &(txd_extent){BATCH, LENGTH, 0, 0});
    bool is_tile = txd_point_get(point)->place == TXD_PLACE_TILE;

    txd_point_name(name, sizeof name, point, layer);
    values = fake_read(s->trace, name, NULL);
    ck_assert_int_eq(txd_shape_count(&all, dims, rank), TXD_OK);
    width = strchr("tqk", axes[rank - 1]) && !is_tile ? 1 : dims[rank - 1];
    for (size_t i = 0; i < all; i++) {
        size_t batch = i / (all / BATCH), token = i / width % LENGTH;

        if (!is_real(s, batch, token))
            continue;
        if (is_tile) {
            txd_mask_view mask =
                txd_mask_of(&s->fake.config.layers[layer], &s->fake.inputs, batch);

            if (txd_mask_hides(&mask, token, i % LENGTH))
                continue;
        }
        count++;
        sum += values[i];
        square += values[i] * values[i];
        low = fmin(low, values[i]);
        high = fmax(high, values[i]);
    }
    out[TXD_STAT_COUNT] = count;
    out[TXD_STAT_MEAN] = sum / count;
    out[TXD_STAT_RMS] = sqrt(square / count);
    out[TXD_STAT_MIN] = low;
    out[TXD_STAT_MAX] = high;
    out[TXD_STAT_NONFINITE] = 0;
    free(values);
}

static void check_stats(const session *s)
{
    static const txd_stat checked[] = {TXD_STAT_COUNT, TXD_STAT_MEAN,
                                       TXD_STAT_RMS,   TXD_STAT_MIN,
                                       TXD_STAT_MAX,   TXD_STAT_NONFINITE};
    size_t dims[TXD_MAX_RANK], row = 0;
    double *values = fake_read(s->trace, "series/stats", dims);

    for (size_t i = 0; i < s->fake.stops; i++) {
        txd_point point = s->fake.order[i].point;
        double expected[TXD_STAT_COUNT_OF];
        char name[96];

        if (txd_point_get(point)->place == TXD_PLACE_INPUT)
            continue;
        txd_point_name(name, sizeof name, point, s->fake.order[i].layer);
        if (point != TXD_POINT_LOSS_TOKEN) { /* NaN where nothing follows */
            plain_stats(expected, s, point, s->fake.order[i].layer);
            for (size_t c = 0; c < sizeof checked / sizeof *checked; c++)
                close_to(values[row * TXD_STAT_COUNT_OF + checked[c]],
                         expected[checked[c]], 1e-11, name);
        }
        row++;
    }
    ck_assert_uint_eq(row, dims[1]);
    free(values);
}

/* The mean norm of the residual stream that leaves the last layer. */
static void check_norms(const session *s)
{
    int layer = (int)s->fake.config.n_layers - 1;
    size_t dims[TXD_MAX_RANK], width = s->fake.config.d_model, count = 0;
    double *stream = read_layer(s, "resid.post", layer), mean = 0;
    double *norms = fake_read(s->trace, "series/norms", dims);

    for (size_t i = 0; i < BATCH * LENGTH; i++) {
        double square = 0;

        for (size_t d = 0; d < width; d++)
            square += stream[i * width + d] * stream[i * width + d];
        if (is_real(s, i / LENGTH, i % LENGTH)) {
            mean += sqrt(square);
            count++;
        }
    }
    ck_assert(norms[(dims[1] - 1) * dims[2]] == (double)count);
    close_to(norms[(dims[1] - 1) * dims[2] + 1], mean / (double)count, 1e-12, "norms");
    free(stream);
    free(norms);
}

static void check_params(const session *s)
{
    size_t dims[TXD_MAX_RANK];
    double *values = fake_read(s->trace, "series/param", dims);

    ck_assert_uint_eq(dims[0], txd_params_count(s->fake.params));
    for (size_t i = 0; i < dims[0]; i++) {
        const txd_param *param = txd_params_at(s->fake.params, i);
        size_t count = txd_tensor_count(&param->value);
        double square = 0;

        for (size_t e = 0; e < count; e++) {
            double x = txd_tensor_get(&param->value, e);

            square += x * x;
        }
        ck_assert(values[i * dims[1] + TXD_STAT_COUNT] == (double)count);
        close_to(values[i * dims[1] + dims[1] - 1], sqrt(square), 1e-12, param->name);
    }
    free(values);
}

static void check_pooled(const session *s)
{
    size_t heads = s->fake.config.n_heads, per_layer = BATCH * heads * CELLS * CELLS;
    double *mean = fake_read(s->trace, "pooled/mean", NULL);
    double tolerance = s->fake.dtype == TXD_F32 ? 1e-6 : 1e-14;

    for (int layer = 0; layer < (int)s->fake.config.n_layers; layer++) {
        double *weights = read_layer(s, "attn.weights", layer);

        for (size_t i = 0; i < per_layer; i++) {
            size_t head = i / (CELLS * CELLS), row = i / CELLS % CELLS;
            size_t column = i % CELLS, count = 0;
            double sum = 0, value = mean[(size_t)layer * per_layer + i];

            for (size_t q = row * LENGTH / CELLS; q < (row + 1) * LENGTH / CELLS; q++)
                for (size_t k = column * LENGTH / CELLS;
                     k < (column + 1) * LENGTH / CELLS; k++)
                    if (is_real(s, head / heads, q)) {
                        sum += weights[(head * LENGTH + q) * LENGTH + k];
                        count++;
                    }
            if (count == 0)
                ck_assert(isnan(value));
            else
                close_to(value, sum / (double)count, tolerance, "pooled");
        }
        free(weights);
    }
    free(mean);
}

static void check_all(const char *folder, const char *backend)
{
    session s;

    record(&s, folder, backend);
    check_rows(&s);
    check_stats(&s);
    check_norms(&s);
    check_params(&s);
    check_pooled(&s);
    ck_assert(!fake_has(s.trace, "events/nonfinite/step"));
    ck_assert(!fake_has(s.trace, "events/leaks/step"));
    finish(&s);
}

START_TEST(probes_of_a_trained_llama_agree_with_its_values)
{
    const char *folder = test_model("stories260K");

    if (!folder)
        test_skip(TEST_NO_MODEL);
    check_all(folder, "ref64");
}
END_TEST

START_TEST(probes_of_a_trained_llama_on_the_fast_backend)
{
    const char *folder = test_model("stories260K");

    if (!folder)
        test_skip(TEST_NO_MODEL);
    check_all(folder, "cpu32");
}
END_TEST

TEST_MAIN(probes_of_a_trained_llama_agree_with_its_values,
          probes_of_a_trained_llama_on_the_fast_backend)
