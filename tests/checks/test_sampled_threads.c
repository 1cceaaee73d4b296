/* SPDX-License-Identifier: MIT
 *
 * What laws say of an input that they look at in part does not depend on the threads.
 */
#include "sampled.h"

START_TEST(threads_change_no_verdict_and_no_number)
{
    const char *const faults[] = {NULL, "fp16_scores", "residual_missing"};

    for (size_t f = 0; f < sizeof faults / sizeof *faults; f++) {
        live one, two;

        sampled_run(
            &one,
            &(sampled){.fault = faults[f], .only = live_watching(), .threads = 1});
        sampled_run(
            &two,
            &(sampled){.fault = faults[f], .only = live_watching(), .threads = 2});
        ck_assert_uint_eq(one.count, two.count);
        for (size_t i = 0; i < one.count; i++) {
            const txd_result *a = &one.results[i], *b = &two.results[i];

            ck_assert_int_eq(a->verdict, b->verdict);
            ck_assert_uint_eq(a->evaluated, b->evaluated);
            ck_assert_uint_eq(a->finding_total, b->finding_total);
            ck_assert_mem_eq(&a->worst, &b->worst, sizeof a->worst);
            ck_assert_mem_eq(&a->allowed, &b->allowed, sizeof a->allowed);
            for (size_t j = 0; j < a->finding_count; j++)
                ck_assert_str_eq(a->findings[j].message, b->findings[j].message);
        }
        live_finish(&one);
        live_finish(&two);
    }
}
END_TEST

TEST_MAIN(threads_change_no_verdict_and_no_number)
