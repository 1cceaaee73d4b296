/* SPDX-License-Identifier: MIT
 *
 * Gradients of real models against PyTorch's in float64 (make_gradients.py): every
 * parameter and what enters every layer. ref64 is held to them; what float32 may differ
 * by is measured: 4 times the worst of three passes of ref32 whose embeddings are moved
 * by one ULP each.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "slopes.h"
#include "suite.h"
#include "worst.h"

/* If a gradient's products with all 8 directions are off by at most `PRODUCTS` of its
 * length, it is off by at most 20 times that: see make_gradients.py for the odds. */
#define PRODUCTS 1e-12
#define CLAIM 1e-9
enum { DIRECTIONS = 8, NUMBERS = DIRECTIONS + 2 };

struct line {
    char name[96];
    size_t count;
    double numbers[NUMBERS]; /* length, sum, products */
};

struct fixture {
    const char *folder, *tokens;
    double loss;
    size_t count;
    struct line lines[96];
};

static void read_fixture(struct fixture *f, const char *folder, const char *tokens)
{
    char path[128], text[1024];
    struct line *line = f->lines;
    FILE *file;

    memset(f, 0, sizeof *f);
    f->folder = folder;
    f->tokens = tokens;
    snprintf(path, sizeof path, "tests/model/gradients_%s.txt", folder);
    file = fopen(test_source(path), "r");
    ck_assert_msg(file != NULL, "%s", path);
    while (fgets(text, sizeof text, file) != NULL) {
        int at = 0;

        if (text[0] == '#')
            continue;
        if (sscanf(text, "loss 1 %lf", &f->loss) == 1)
            continue;
        ck_assert_int_eq(sscanf(text, "%95s %zu%n", line->name, &line->count, &at), 2);
        for (int i = 0, used; i < NUMBERS; i++, at += used)
            ck_assert_int_eq(sscanf(text + at, "%lf%n", &line->numbers[i], &used), 1);
        line = &f->lines[++f->count];
    }
    fclose(file);
}

static void run(observed *o, const struct fixture *f, const char *backend)
{
    char path[256];

    OK(observe_model(o, test_model(f->folder), backend));
    snprintf(path, sizeof path, "%s/golden/%s", f->folder, f->tokens);
    OK(observe_npy(o, test_model(path)));
    o->backward = true;
    o->only = "*@grad";
    OK(observe_pass(o));
}

static const struct observed_site *site_of(observed *o, const struct line *line)
{
    const struct observed_site *site = observe_site(o, line->name);

    ck_assert_msg(site != NULL, "%s was not offered", line->name);
    ck_assert_uint_eq(site->count, line->count);
    ck_assert_uint_eq(site->cells, line->count);
    return site;
}

static double product(const struct observed_site *site, int direction)
{
    uint64_t key = txd_rng_key((uint64_t)direction, site->name);
    double sum = 0;

    for (size_t i = 0; i < site->count; i++)
        sum += site->values[i] * (2 * txd_rng_uniform(key, i) - 1);
    return sum;
}

/* The largest error of a number of the line, as a part of the gradient's length. */
static double error_of(observed *o, const struct line *line)
{
    const struct observed_site *site = site_of(o, line);
    double length = line->numbers[0], worst, sum = 0;

    for (size_t i = 0; i < site->count; i++)
        sum += site->values[i];
    worst = fabs(slopes_length(site->values, site->count) - length);
    worst = worst_of(worst, fabs(sum - line->numbers[1]) / sqrt((double)site->count));
    for (int i = 0; i < DIRECTIONS; i++)
        worst = worst_of(worst, fabs(product(site, i) - line->numbers[2 + i]));
    return worst / length;
}

/* Every parameter and every layer's input has a line. */
static void check_complete(observed *o, const struct fixture *f)
{
    ck_assert_uint_eq(f->count, txd_params_count(o->params) + o->config.n_layers);
    for (size_t i = 0; i < f->count; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(f->lines[i].name, f->lines[j].name);
}

static void check_exact(const char *folder, const char *tokens)
{
    struct fixture f;
    observed o = {0};

    read_fixture(&f, folder, tokens);
    run(&o, &f, "ref64");
    check_complete(&o, &f);
    ck_assert(fabs(txd_run_loss(o.run) - f.loss) <= 1e-12 * f.loss);
    for (size_t i = 0; i < f.count; i++) {
        double error = error_of(&o, &f.lines[i]);

        ck_assert_double_gt(f.lines[i].numbers[0], 1e-6);
        ck_assert_msg(error <= PRODUCTS, "%s: off by %.3g of its length",
                      f.lines[i].name, error);
    }
    ck_assert_double_le(20 * PRODUCTS, CLAIM);
    observe_finish(&o);
}

START_TEST(ref64_has_the_gradients_of_pytorch_for_stories260K)
{
    if (test_model("stories260K") == NULL)
        test_skip(TEST_NO_MODEL);
    check_exact("stories260K", "prompt_ids.npy");
}
END_TEST

START_TEST(ref64_has_the_gradients_of_pytorch_for_gpt_nano_sort)
{
    if (test_model("gpt-nano-sort") == NULL)
        test_skip(TEST_NO_MODEL);
    check_exact("gpt-nano-sort", "idx.npy");
}
END_TEST

/* ---- float32 ---- */

static double distance(observed *a, observed *b, const struct line *line)
{
    const double *x = site_of(a, line)->values, *y = site_of(b, line)->values;
    double squares = 0;

    for (size_t i = 0; i < line->count; i++)
        squares += (x[i] - y[i]) * (x[i] - y[i]);
    return sqrt(squares);
}

/* The noise floor of every line. */
static void measure(double *floors, observed *exact, const struct fixture *f)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        txd_tap tap = {.name = "ulp",
                       .self = &seed,
                       .ask = observe_ulp_ask,
                       .edit = observe_ulp_edit};
        observed moved = {.before = &tap};

        run(&moved, f, "ref32");
        for (size_t i = 0; i < f->count; i++)
            floors[i] = worst_of(floors[i], 4 * distance(&moved, exact, &f->lines[i]));
        observe_finish(&moved);
    }
}

static void check_float(const char *folder, const char *tokens)
{
    static const char *const backends[] = {"cpu32", "ref32"};
    double floors[96] = {0};
    observed exact = {0};
    struct fixture f;

    read_fixture(&f, folder, tokens);
    run(&exact, &f, "ref64");
    measure(floors, &exact, &f);
    for (int b = 0; b < 2; b++) {
        observed o = {0};

        run(&o, &f, backends[b]);
        for (size_t i = 0; i < f.count; i++) {
            double error = distance(&o, &exact, &f.lines[i]);

            ck_assert_msg(error <= floors[i], "%s: %s: off by %.3g, the floor is %.3g",
                          backends[b], f.lines[i].name, error, floors[i]);
            /* or the floor would hide what is wrong */
            ck_assert_double_le(floors[i], 1e-4 * f.lines[i].numbers[0]);
        }
        observe_finish(&o);
    }
    observe_finish(&exact);
}

START_TEST(float32_is_within_the_noise_of_one_ulp_for_stories260K)
{
    if (test_model("stories260K") == NULL)
        test_skip(TEST_NO_MODEL);
    check_float("stories260K", "prompt_ids.npy");
}
END_TEST

START_TEST(float32_is_within_the_noise_of_one_ulp_for_gpt_nano_sort)
{
    if (test_model("gpt-nano-sort") == NULL)
        test_skip(TEST_NO_MODEL);
    check_float("gpt-nano-sort", "idx.npy");
}
END_TEST

TEST_MAIN(ref64_has_the_gradients_of_pytorch_for_stories260K,
          ref64_has_the_gradients_of_pytorch_for_gpt_nano_sort,
          float32_is_within_the_noise_of_one_ulp_for_stories260K,
          float32_is_within_the_noise_of_one_ulp_for_gpt_nano_sort)
