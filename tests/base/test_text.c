/* SPDX-License-Identifier: MIT
 *
 * Growing texts and the thread's message.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "base/text.h"
#include "suite.h"

START_TEST(a_text_grows_and_stays_terminated)
{
    txd_text text;

    txd_text_init(&text);
    ck_assert_str_eq(txd_text_get(&text), "");
    for (int i = 0; i < 1000; i++)
        txd_text_addf(&text, "%d,", i % 10);
    txd_text_add(&text, "end");
    txd_text_add_bytes(&text, "", 0);
    ck_assert_uint_eq(text.length, 2003);
    ck_assert_uint_eq(strlen(txd_text_get(&text)), 2003);
    ck_assert_int_eq(txd_text_status(&text), TXD_OK);
    txd_text_finish(&text);
    ck_assert_str_eq(txd_text_get(&text), "");
}
END_TEST

START_TEST(a_text_that_ran_out_of_memory_says_so_at_the_end)
{
    txd_text text;

    txd_text_init(&text);
    txd_text_add(&text, "kept");
    txd_text_add_bytes(&text, "x", SIZE_MAX / 2);
    txd_text_add(&text, "ignored");
    ck_assert_str_eq(txd_text_get(&text), "kept");
    ck_assert_int_eq(txd_text_status(&text), TXD_ERR_MEMORY);
    txd_text_finish(&text);
}
END_TEST

START_TEST(reals_read_back_exactly_in_few_digits)
{
    const double known[] = {0.1, 1e22, 5e-324, 1.7976931348623157e308, -0.0, 1.0 / 3};
    uint64_t key = txd_rng_key(1, "reals");
    txd_text text;

    txd_text_init(&text);
    txd_text_add_real(&text, 0.1);
    ck_assert_str_eq(txd_text_get(&text), "0.1");
    for (uint64_t i = 0; i < 100000; i++) {
        double value =
            i < 6 ? known[i] : txd_rng_normal(key, i) * pow(10, i % 600 - 300.0);

        text.length = 0;
        txd_text_add_real(&text, value);
        if (strtod(txd_text_get(&text), NULL) != value)
            ck_abort_msg("%a: %s", value, txd_text_get(&text));
    }
    text.length = 0;
    txd_text_add_real(&text, NAN);
    txd_text_add_real(&text, -INFINITY);
    ck_assert_str_eq(txd_text_get(&text), "nan-inf");
    txd_text_finish(&text);
}
END_TEST

START_TEST(a_message_may_quote_the_message_before_it)
{
    ck_assert_int_eq(txd_fail(TXD_ERR_IO, "disk %d", 1), TXD_ERR_IO);
    ck_assert_int_eq(txd_fail(TXD_ERR_FORMAT, "file: %s", txd_message()),
                     TXD_ERR_FORMAT);
    ck_assert_str_eq(txd_message(), "file: disk 1");
    ck_assert_int_eq(txd_fail_prefix(TXD_ERR_IO, "in %s", "a"), TXD_ERR_IO);
    ck_assert_str_eq(txd_message(), "in a: file: disk 1");
}
END_TEST

START_TEST(a_long_message_is_cut_not_overrun)
{
    char longer[5000];

    memset(longer, 'x', sizeof longer);
    longer[sizeof longer - 1] = '\0';
    txd_fail(TXD_ERR_IO, "%s", longer);
    ck_assert_uint_eq(strlen(txd_message()), 2047);
    txd_fail_prefix(TXD_ERR_IO, "%s", longer);
    ck_assert_uint_eq(strlen(txd_message()), 2047);
    txd_fail_prefix(TXD_ERR_IO, "p");
    ck_assert_uint_eq(strlen(txd_message()), 2047);
    ck_assert_str_eq(txd_status_text((txd_status)12345), "unknown status");
}
END_TEST

TEST_MAIN(a_text_grows_and_stays_terminated,
          a_text_that_ran_out_of_memory_says_so_at_the_end,
          reals_read_back_exactly_in_few_digits,
          a_message_may_quote_the_message_before_it, a_long_message_is_cut_not_overrun)
