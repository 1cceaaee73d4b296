/* SPDX-License-Identifier: MIT
 *
 * Gradients of every family against autograd's in float64 (tests/fixtures/parity,
 * gradients.py): of every parameter and of what every block passes on, told by length,
 * sum and products with directions, as in test_backward_torch.c.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "parity.h"
#include "slopes.h"
#include "suite.h"
#include "worst.h"

/* Of a gradient's length. A gradient that is 0 by its nature (what is added to all keys
 * moves no weight) is measured by a thousandth of the longest. */
#define PRODUCTS 1e-12
enum { DIRECTIONS = 8, NUMBERS = DIRECTIONS + 2 };

static double product(const struct observed_site *site, int direction)
{
    uint64_t key = txd_rng_key((uint64_t)direction, site->name);
    double sum = 0;

    for (size_t i = 0; i < site->count; i++)
        sum += site->values[i] * (2 * txd_rng_uniform(key, i) - 1);
    return sum;
}

/* The largest error of a number. */
static double error_of(const struct observed_site *site, const double *numbers)
{
    double sum = 0, worst;

    for (size_t i = 0; i < site->count; i++)
        sum += site->values[i];
    worst = fabs(slopes_length(site->values, site->count) - numbers[0]);
    worst = worst_of(worst, fabs(sum - numbers[1]) / sqrt((double)site->count));
    for (int i = 0; i < DIRECTIONS; i++)
        worst = worst_of(worst, fabs(product(site, i) - numbers[2 + i]));
    return worst;
}

static void read_numbers(double *out, txd_trace_info *info, const txd_trace *golden,
                         size_t i)
{
    OK(txd_trace_get(golden, info, i));
    ck_assert_uint_eq(info->rank == 1 ? info->dims[0] : 0,
                      strcmp(info->name, "loss") == 0 ? 1 : NUMBERS);
    OK(txd_trace_read_all(golden, out, NUMBERS, i, TXD_F64));
}

static double longest_of(const txd_trace *golden)
{
    double numbers[NUMBERS], longest = 0;
    txd_trace_info info;

    for (size_t i = 0; i < txd_trace_count(golden); i++) {
        read_numbers(numbers, &info, golden, i);
        if (strcmp(info.name, "loss") != 0)
            longest = fmax(longest, numbers[0]);
    }
    return longest;
}

static void check_one(observed *o, const char *folder, const char *name,
                      const double *numbers, double longest)
{
    const struct observed_site *site = observe_site(o, name);
    double error, length = fmax(numbers[0], 1e-3 * longest);

    ck_assert_msg(site != NULL, "%s: %s was not offered", folder, name);
    ck_assert_uint_eq(site->cells, site->count);
    error = error_of(site, numbers) / length;
    ck_assert_msg(error <= PRODUCTS, "%s: %s: off by %.3g of its length", folder, name,
                  error);
}

/* How many of the lines are of parameters. */
static size_t check_lines(observed *o, const txd_trace *golden, const char *folder)
{
    double numbers[NUMBERS], longest = longest_of(golden);
    size_t params = 0;

    for (size_t i = 0; i < txd_trace_count(golden); i++) {
        txd_trace_info info;

        read_numbers(numbers, &info, golden, i);
        if (strcmp(info.name, "loss") == 0)
            ck_assert_msg(fabs(txd_run_loss(o->run) - numbers[0]) <= 1e-12 * numbers[0],
                          "%s: the loss is %.17g, expected %.17g", folder,
                          txd_run_loss(o->run), numbers[0]);
        else
            check_one(o, folder, info.name, numbers, longest);
        params += txd_glob_list("*.weight@grad,*.bias@grad", info.name);
    }
    return params;
}

static void check(const parity_case *which)
{
    parity p = {.which = which};
    observed o = {.backward = true, .only = "*@grad"};
    txd_trace *values, *golden;

    OK(txd_arena_create(&p.arena));
    OK(txd_safetensors_open(&values, parity_path(which, "golden.safetensors")));
    OK(txd_safetensors_open(&golden, parity_path(which, "gradients.safetensors")));
    parity_read_inputs(&p, values);
    parity_run(&o, &p, "ref64");
    ck_assert_uint_eq(check_lines(&o, golden, which->folder),
                      txd_params_count(o.params));
    observe_finish(&o);
    txd_trace_destroy(values);
    txd_trace_destroy(golden);
    parity_finish(&p);
}

START_TEST(ref64_has_the_gradients_of_transformers_for_every_family)
{
    size_t checked = 0;

    for (size_t i = 0; i < parity_count(); i++) {
        parity_case which = parity_at(i);

        if (which.file == NULL) {
            check(&which);
            checked++;
        }
    }
    ck_assert_uint_gt(checked, 20);
}
END_TEST

TEST_MAIN(ref64_has_the_gradients_of_transformers_for_every_family)
