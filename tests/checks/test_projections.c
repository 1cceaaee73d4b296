/* SPDX-License-Identifier: MIT
 *
 * The laws head_split and output_projection on hand-made projections.
 */
#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    BATCH = 2,
    D = HEADS * WIDTH,
    GROUPS = HEADS / 2,
    MAX_ROWS = D + 2 * GROUPS * WIDTH, /* of the fused matrix */
};

static const int lengths[BATCH] = {LENGTH, 6};

/* What is done wrong to the queries (or to attn.out) of one layer. */
typedef enum mistake {
    NOTHING,
    VIEW,       /* (t, h, e) taken for (h, t, e) */
    PERMUTED,   /* head h holds what head 3 - h should */
    SWAPPED,    /* head h holds key head h / 2 */
    NO_BIAS,    /* added to nothing */
    TRANSPOSED, /* x W */
    SCALED,     /* 1.001 times */
    ABSENT,     /* x */
    ONE_LANE,   /* one value is 1e-3 off */
    ONE_NAN,
} mistake;

typedef struct trial {
    int layer;
    mistake what;
    bool fused, post, biases;
    double u; /* roundoff; 0 = of float64 */
} trial;

/* (rows, D) times x, plus bias. */
static double row_of(const double *w, const double *bias, size_t row, const double *x)
{
    double sum = bias ? bias[row] : 0;

    for (size_t c = 0; c < D; c++)
        sum += w[row * D + c] * x[c];
    return sum;
}

/* The parameters of a layer, in the fused order. */
typedef struct layer_params {
    double *w, *bias, *o, *o_bias;
} layer_params;

static layer_params params_of(driver *d, int layer, bool biases)
{
    uint64_t seed = 1000 * (uint64_t)(layer + 1);
    layer_params p = {.w = driver_numbers(d, MAX_ROWS * D, seed + 1),
                      .o = driver_numbers(d, D * D, seed + 3)};

    if (biases) {
        p.bias = driver_numbers(d, MAX_ROWS, seed + 2);
        p.o_bias = driver_numbers(d, D, seed + 4);
    }
    return p;
}

static void offer(driver *d, int layer, const char *name, double *data, size_t first,
                  size_t rows, size_t columns)
{
    char full[64];

    snprintf(full, sizeof full, "layers.%d.%s", layer, name);
    if (data)
        driver_offer_parameter(d, full, layer, data + first * columns, rows, columns);
}

static void offer_params(driver *d, int layer, const layer_params *p, bool fused)
{
    const char *names[3][2] = {{"attn.q.weight", "attn.q.bias"},
                               {"attn.k.weight", "attn.k.bias"},
                               {"attn.v.weight", "attn.v.bias"}};
    const size_t rows[3] = {D, GROUPS * WIDTH, GROUPS * WIDTH};
    size_t first = 0;

    for (int i = 0; i < 3 && !fused; first += rows[i++]) {
        offer(d, layer, names[i][0], p->w, first, rows[i], D);
        offer(d, layer, names[i][1], p->bias, first, rows[i], 1);
    }
    if (fused) {
        offer(d, layer, "attn.qkv.weight", p->w, 0, MAX_ROWS, D);
        offer(d, layer, "attn.qkv.bias", p->bias, 0, MAX_ROWS, 1);
    }
    offer(d, layer, "attn.o.weight", p->o, 0, D, D);
    offer(d, layer, "attn.o.bias", p->o_bias, 0, D, 1);
}

/* Value (b, t) of row `row` of the fused matrix, wrong as `what` says. */
static double wrong(const layer_params *p, mistake what, size_t row, const double *x,
                    size_t b, size_t t)
{
    size_t h = row / WIDTH, e = row % WIDTH, piece = h * LENGTH + t;
    const double *here = x + (b * LENGTH + t) * D;
    double sum = 0;

    switch (what) {
    case VIEW:
        here = x + (b * LENGTH + piece / HEADS) * D;
        return row_of(p->w, p->bias, piece % HEADS * WIDTH + e, here);
    case PERMUTED:
        return row_of(p->w, p->bias, (HEADS - 1 - h) * WIDTH + e, here);
    case SWAPPED:
        return row_of(p->w, p->bias, D + h / 2 * WIDTH + e, here);
    case NO_BIAS:
        return row_of(p->w, NULL, row, here);
    case TRANSPOSED:
        for (size_t c = 0; c < D; c++)
            sum += here[c] * p->w[c * D + row];
        return sum + (p->bias ? p->bias[row] : 0);
    case SCALED:
        return 1.001 * row_of(p->w, p->bias, row, here);
    case ABSENT:
        return here[row];
    case ONE_LANE:
        return row_of(p->w, p->bias, row, here) +
               (b == 1 && t == 2 && row == 13 ? 1e-3 : 0);
    case ONE_NAN:
        return b == 1 && t == 2 && row == 13 ? (double)NAN
                                             : row_of(p->w, p->bias, row, here);
    default:
        return row_of(p->w, p->bias, row, here);
    }
}

static void offer_heads(driver *d, const layer_params *p, int layer, txd_point point,
                        const double *x, mistake what)
{
    size_t heads = point == TXD_POINT_ATTN_Q_PROJ ? HEADS : GROUPS;
    size_t first = point == TXD_POINT_ATTN_Q_PROJ
                       ? 0
                       : (point == TXD_POINT_ATTN_K_PROJ ? D : D + GROUPS * WIDTH);
    double *out =
        txd_arena_alloc(d->arena, BATCH * heads * LENGTH * WIDTH, sizeof *out);

    for (size_t b = 0; b < BATCH; b++)
        for (size_t h = 0; h < heads; h++)
            for (size_t t = 0; t < LENGTH; t++)
                for (size_t e = 0; e < WIDTH; e++)
                    out[((b * heads + h) * LENGTH + t) * WIDTH + e] =
                        wrong(p, what, first + h * WIDTH + e, x, b, t);
    driver_offer(d, point, layer, out);
}

static void offer_output(driver *d, const layer_params *p, int layer, const double *x,
                         mistake what)
{
    layer_params o = {.w = p->o, .bias = p->o_bias};
    double *out = txd_arena_alloc(d->arena, BATCH * LENGTH * D, sizeof *out);

    for (size_t i = 0; i < BATCH * LENGTH * D; i++)
        out[i] = wrong(&o, what, i % D, x, i / D / LENGTH, i / D % LENGTH);
    driver_offer(d, TXD_POINT_ATTN_OUT, layer, out);
}

static void start(driver *d, const char *law, const trial *t)
{
    driver_init(d);
    d->config.norm_placement = t->post ? TXD_PLACEMENT_POST : TXD_PLACEMENT_PRE;
    d->config.qkv = t->fused ? TXD_QKV_FUSED : TXD_QKV_SEPARATE;
    d->config.qkv_bias = d->config.out_bias = t->biases;
    if (t->u > 0)
        txd_pass_set_format(&d->pass, TXD_F32);
    driver_inputs(d, BATCH, lengths, false);
    driver_start(d, law);
}

/* `spoil` changes the input of layer 1 before anything reads it. */
static const txd_result *run_spoilt(driver *d, const char *law, const trial *t,
                                    void (*spoil)(double *x))
{
    start(d, law, t);
    for (int l = 0; l < LAYERS; l++) {
        layer_params p = params_of(d, l, t->biases);

        offer_params(d, l, &p, t->fused);
    }
    for (int l = 0; l < LAYERS; l++) {
        layer_params p = params_of(d, l, t->biases);
        double *x = driver_random(d, TXD_POINT_NORM1_OUT, 50 + (uint64_t)l);
        mistake what = l == t->layer ? t->what : NOTHING;

        if (l == 1 && spoil)
            spoil(x);
        driver_offer(d, t->post ? TXD_POINT_RESID_PRE : TXD_POINT_NORM1_OUT, l, x);
        offer_heads(d, &p, l, TXD_POINT_ATTN_Q_PROJ, x, what);
        offer_heads(d, &p, l, TXD_POINT_ATTN_K_PROJ, x, NOTHING);
        offer_heads(d, &p, l, TXD_POINT_ATTN_V, x, NOTHING);
        driver_offer(d, TXD_POINT_ATTN_MERGED, l, x);
        offer_output(d, &p, l, x, what == SWAPPED ? NOTHING : what);
    }
    return driver_result(d);
}

static const txd_result *run(driver *d, const char *law, const trial *t)
{
    return run_spoilt(d, law, t, NULL);
}

START_TEST(healthy_projections_pass_in_every_layout)
{
    for (int i = 0; i < 8; i++) {
        trial t = {-1, NOTHING, i & 1, i & 2, i & 4, 0};
        driver d;
        const txd_result *r = run(&d, "head_split", &t);

        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        /* All of 15 valid tokens. */
        ck_assert_uint_eq(r->evaluated, LAYERS * 15 * MAX_ROWS);
        ck_assert(r->allowed > 0 && r->worst <= r->allowed);
        driver_finish(&d);
        r = run(&d, "output_projection", &t);
        ck_assert_int_eq(r->verdict, TXD_VERDICT_PASS);
        ck_assert_uint_eq(r->evaluated, LAYERS * 15 * D);
        driver_finish(&d);
    }
}
END_TEST

static void expect(const char *law, const trial *t, const char *site, const char *words)
{
    driver d;
    const txd_result *r = run(&d, law, t);
    char name[64];

    snprintf(name, sizeof name, "layers.%d.%s", t->layer, site);
    ck_assert_msg(r->verdict == TXD_VERDICT_FAIL, "%s: mistake %d, layer %d: %s", law,
                  (int)t->what, t->layer, txd_verdict_name(r->verdict));
    ck_assert_uint_eq(r->finding_count, 1);
    ck_assert_str_eq(r->findings[0].site, name);
    ck_assert_msg(strstr(r->findings[0].message, words) != NULL, "%s",
                  r->findings[0].message);
    driver_finish(&d);
}

START_TEST(a_wrong_split_is_named_in_every_layer)
{
    const struct {
        mistake what;
        const char *words;
    } cases[] = {
        {VIEW, "a view without the transpose"},
        {PERMUTED, "what the rows of q, head"},
        {SWAPPED, "what the rows of k, head"},
        {NO_BIAS, "the bias is missing"},
        {TRANSPOSED, "the matrix is transposed"},
        {SCALED, "1 times what they should be"},
        {ABSENT, "it is the input itself"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layer = 0; layer < LAYERS; layer++)
            for (int fused = 0; fused < 2; fused++) {
                trial t = {layer, cases[i].what, fused, layer == 1, true, 0};

                expect("head_split", &t, "attn.q_proj", cases[i].words);
            }
}
END_TEST

START_TEST(a_wrong_output_projection_is_named_in_every_layer)
{
    const struct {
        mistake what;
        const char *words;
    } cases[] = {
        {NO_BIAS, "the bias is missing"},
        {TRANSPOSED, "the matrix is transposed"},
        {SCALED, "1 times what they should be"},
        {ABSENT, "it is the input itself, the projection is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int layer = 0; layer < LAYERS; layer++) {
            trial t = {layer, cases[i].what, false, false, true, 0};

            expect("output_projection", &t, "attn.out", cases[i].words);
        }
}
END_TEST

START_TEST(a_matrix_scaled_by_a_thousandth_is_seen_with_the_rounding_of_float32)
{
    trial t = {1, SCALED, false, false, true, 0x1p-24};

    expect("head_split", &t, "attn.q_proj", "times what they should be");
    expect("output_projection", &t, "attn.out", "times what they should be");
}
END_TEST

START_TEST(one_wrong_value_is_found_and_located)
{
    const mistake mistakes[] = {ONE_LANE, ONE_NAN};

    for (int i = 0; i < 2; i++) {
        trial t = {2, mistakes[i], false, false, false, 0};
        driver d;
        const txd_result *r = run(&d, "head_split", &t);

        ck_assert_int_eq(r->verdict, TXD_VERDICT_FAIL);
        ck_assert_uint_eq(r->finding_total, 1);
        ck_assert_int_eq(r->findings[0].batch, 1);
        ck_assert_int_eq(r->findings[0].query, 2);
        ck_assert_int_eq(r->findings[0].head, 13 / WIDTH);
        ck_assert_ptr_nonnull(strstr(r->findings[0].message, "token 2, lane 5 is"));
        ck_assert_ptr_null(strstr(r->findings[0].message, "are off:"));
        driver_finish(&d);
    }
}
END_TEST

static void put_nan(double *x)
{
    x[(1 * LENGTH + 3) * D + 7] = NAN;
}

START_TEST(a_nan_of_the_input_breaks_the_law)
{
    const char *laws[] = {"head_split", "output_projection"};
    trial t = {-1, NOTHING, false, false, false, 0};

    for (int i = 0; i < 2; i++) {
        driver d;
        const txd_result *r = run_spoilt(&d, laws[i], &t, put_nan);

        ck_assert_int_eq(r->verdict, TXD_VERDICT_OPEN);
        ck_assert_ptr_nonnull(strstr(r->note, "not finite"));
        driver_finish(&d);
    }
}
END_TEST

START_TEST(without_parameters_the_laws_are_skipped_with_the_reason)
{
    const char *laws[] = {"head_split", "output_projection"};
    trial t = {-1, NOTHING, false, false, false, 0};

    for (int i = 0; i < 2; i++) {
        driver d;
        layer_params p;
        double *x;

        start(&d, laws[i], &t);
        p = params_of(&d, 0, false);
        x = driver_random(&d, TXD_POINT_NORM1_OUT, 50);
        driver_offer(&d, TXD_POINT_NORM1_OUT, 0, x);
        offer_heads(&d, &p, 0, TXD_POINT_ATTN_Q_PROJ, x, VIEW);
        driver_offer(&d, TXD_POINT_ATTN_MERGED, 0, x);
        offer_output(&d, &p, 0, x, SCALED);
        ck_assert_int_eq(driver_result(&d)->verdict, TXD_VERDICT_SKIP);
        ck_assert_ptr_nonnull(
            strstr(driver_result(&d)->note, "the parameters are not at hand"));
        driver_finish(&d);
    }
}
END_TEST

TEST_MAIN(healthy_projections_pass_in_every_layout,
          a_wrong_split_is_named_in_every_layer,
          a_wrong_output_projection_is_named_in_every_layer,
          a_matrix_scaled_by_a_thousandth_is_seen_with_the_rounding_of_float32,
          one_wrong_value_is_found_and_located, a_nan_of_the_input_breaks_the_law,
          without_parameters_the_laws_are_skipped_with_the_reason)
