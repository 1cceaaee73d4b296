/* SPDX-License-Identifier: MIT
 *
 * Every backward entry of ref64 is the derivative of its forward entry.
 */
#include "slope.h"
#include "suite.h"

static void (*const slopes[])(struct trial *) = {
#define TXD_OP(name, arguments) slope_##name,
    TXD_BACKWARD_OPS(TXD_OP)
#undef TXD_OP
};

static const char *const names[] = {
#define TXD_OP(name, arguments) #name,
    TXD_BACKWARD_OPS(TXD_OP)
#undef TXD_OP
};

#define COUNT (sizeof slopes / sizeof slopes[0])

static struct trial slopes_of(size_t op, size_t size)
{
    const txd_backend *ref64;
    struct trial trial = {.size = size, .ctx = {.threads = 1}};

    ck_assert_int_eq(txd_backend_find(&ref64, "ref64"), TXD_OK);
    trial.ops = &ref64->ops;
    trial.backend = ref64;
    slopes[op](&trial);
    trial_finish(&trial);
    ck_assert_uint_gt(trial.compared, 0);
    return trial;
}

/* Sizes 1, 3, 7 and 65. */
#define FIRST_SIZE 1
#define LAST_SIZE 4

START_TEST(every_backward_entry_agrees_with_finite_differences)
{
    for (size_t op = 0; op < COUNT; op++)
        for (size_t size = FIRST_SIZE; size <= LAST_SIZE; size++) {
            struct trial trial = slopes_of(op, size);

            ck_assert_msg(trial.failures == 0, "%s: %s", names[op], trial.first);
        }
}
END_TEST

START_TEST(an_element_off_by_one_in_ten_thousand_is_seen_in_every_gradient)
{
    slope_harmed = true;
    for (size_t op = 0; op < COUNT; op++)
        for (size_t size = FIRST_SIZE; size <= LAST_SIZE; size++) {
            struct trial trial = slopes_of(op, size);

            ck_assert_msg(trial.failures == trial.compared,
                          "%s, size %zu: %zu of %zu slopes were found wrong", names[op],
                          trial_sizes[size], trial.failures, trial.compared);
        }
}
END_TEST

TEST_MAIN(every_backward_entry_agrees_with_finite_differences,
          an_element_off_by_one_in_ten_thousand_is_seen_in_every_gradient)
