/* SPDX-License-Identifier: MIT
 *
 * Padding of a memory: ignored by cross-attention, and as all that there is.
 */
#include <string.h>

#include "live.h"

#define CFG(valid, rest)                                                               \
    "model : { preset = \"mini\"; vocab = 16; d_model = 16; n_heads = 4; n_layers = "  \
    "2; "                                                                              \
    "d_ff = 32; max_seq_len = 8; cross = true; }; weights : { init = ( { params = "    \
    "\"*\"; scheme = \"xavier_normal\"; } ); }; input : { tokens = ( [1, 2], [4, 5, "  \
    "6] "                                                                              \
    "); memory : { random : { length = 5; }; valid = " valid "; }; };" rest

#define FAULT "faults : ( { name = \"memory_padding_ignored\"; layers = \"1\"; } );"

START_TEST(a_memory_of_padding_alone_is_told)
{
    static const char some[] = "in 1 of 2 batch rows all of the memory is padding";
    static const char all[] = "in 2 of 2 batch rows all of the memory is padding";
    live l;

    live_run(&l, CFG("[0, 3]", ""), "memory_seen");
    ck_assert_int_eq(live_result(&l, "memory_seen")->verdict, TXD_VERDICT_PASS);
    ck_assert_ptr_nonnull(strstr(live_result(&l, "memory_seen")->note, some));
    live_finish(&l);
    live_run(&l, CFG("[0, 0]", ""), "memory_seen");
    ck_assert_int_eq(live_result(&l, "memory_seen")->verdict, TXD_VERDICT_SKIP);
    ck_assert_ptr_nonnull(strstr(live_result(&l, "memory_seen")->note, all));
    live_finish(&l);
    live_run(&l, CFG("[1, 5]", ""), "memory_seen");
    ck_assert_int_eq(live_result(&l, "memory_seen")->verdict, TXD_VERDICT_PASS);
    ck_assert_str_eq(live_result(&l, "memory_seen")->note, "");
    live_finish(&l);
}
END_TEST

START_TEST(padding_that_cross_attention_sees_is_found_in_its_layer)
{
    const txd_finding *finding;
    live l;

    live_run(&l, CFG("[5, 2]", FAULT), NULL);
    ck_assert_ptr_null(l.inapplicable);
    finding = live_result(&l, "padding")->findings;
    ck_assert_int_eq(live_result(&l, "padding")->verdict, TXD_VERDICT_FAIL);
    ck_assert_uint_eq(live_result(&l, "padding")->finding_count, 1);
    ck_assert_str_eq(finding->site, "layers.1.cross.weights");
    ck_assert_int_eq(finding->batch, 1);
    ck_assert_int_ge(finding->key, 2);
    ck_assert_int_eq(live_result(&l, "mask_fill")->verdict, TXD_VERDICT_FAIL);
    ck_assert_int_eq(live_result(&l, "memory_seen")->verdict, TXD_VERDICT_PASS);
    live_finish(&l);
}
END_TEST

START_TEST(a_memory_without_padding_has_none_to_be_ignored)
{
    live l;

    live_run(&l, CFG("[5, 5]", FAULT), "padding");
    ck_assert_ptr_nonnull(l.inapplicable);
    ck_assert_ptr_nonnull(strstr(l.inapplicable, "needs a memory with padding"));
    live_finish(&l);
}
END_TEST

TEST_MAIN(a_memory_of_padding_alone_is_told,
          padding_that_cross_attention_sees_is_found_in_its_layer,
          a_memory_without_padding_has_none_to_be_ignored)
