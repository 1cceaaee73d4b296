/* SPDX-License-Identifier: MIT
 *
 * Spans of a mask say of every cell what the rule says, wherever they say anything; and
 * the masks that are usual have them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "ops/mask.h"
#include "suite.h"

#define MOST 24

typedef struct data {
    int32_t positions[MOST], documents[MOST], valid[MOST];
    txd_mask_view mask;
} data;

static int64_t below(uint64_t key, size_t i, int64_t bound)
{
    return (int64_t)(txd_rng_bits(key, i) % (uint64_t)bound);
}

/* Right padding or none, positions that count from 0 on, one document. */
static void usual(data *d, size_t length, size_t real)
{
    *d = (data){.mask = {.causal = true}};
    for (size_t t = 0; t < length; t++) {
        d->positions[t] = t < real ? (int32_t)t : 0;
        d->valid[t] = t < real;
    }
    d->mask.query_positions = d->mask.key_positions = d->positions;
    d->mask.query_document = d->mask.key_document = d->documents;
    d->mask.key_valid = d->valid;
}

static txd_hidden told(const data *d, const int32_t *begin, const int32_t *end,
                       const struct txd_hidden_sides *sides, size_t q, size_t k)
{
    int32_t key = (int32_t)k;

    (void)d;
    if (key >= begin[q] && key < end[q])
        return TXD_SEEN;
    if (key < sides->real_begin || key >= sides->real_end)
        return TXD_HIDDEN_PADDING;
    return key < begin[q] ? sides->before : sides->after;
}

/* True if there are spans; they must be right. */
static bool has_spans(const data *d, size_t queries, size_t keys)
{
    const size_t shape[2] = {queries, keys};
    int32_t begin[MOST], end[MOST];
    struct txd_hidden_sides sides;

    if (!txd_mask_spans(begin, end, &sides, &d->mask, shape))
        return false;
    for (size_t q = 0; q < queries; q++)
        for (size_t k = 0; k < keys; k++)
            ck_assert_msg(told(d, begin, end, &sides, q, k) ==
                              txd_mask_hides(&d->mask, q, k),
                          "query %zu, key %zu", q, k);
    return true;
}

START_TEST(usual_masks_are_spans)
{
    for (size_t length = 0; length <= MOST; length++)
        for (size_t real = 0; real <= length; real++)
            for (size_t window = 0; window <= length + 1; window++)
                for (int causal = 0; causal < 2; causal++) {
                    data d;

                    usual(&d, length, real);
                    d.mask.causal = causal;
                    d.mask.window = window;
                    ck_assert(has_spans(&d, length, length));
                    d.mask.key_document = NULL;
                    ck_assert(has_spans(&d, length, length));
                }
}
END_TEST

START_TEST(padding_on_the_left_and_a_late_start_are_spans)
{
    for (size_t first = 0; first < 9; first++) {
        data d;

        usual(&d, 9, 9);
        for (size_t t = 0; t < 9; t++) {
            d.valid[t] = t >= first;
            d.positions[t] = t >= first ? (int32_t)(t - first) * 3 + 100 : 0;
            d.documents[t] = 7;
        }
        for (d.mask.window = 0; d.mask.window < 12; d.mask.window++)
            ck_assert(has_spans(&d, 9, 9));
    }
}
END_TEST

START_TEST(what_is_no_run_of_keys_has_no_spans)
{
    data d;

    usual(&d, 9, 9);
    d.valid[4] = 0;
    ck_assert(!has_spans(&d, 9, 9));
    usual(&d, 9, 9);
    d.documents[8] = 1;
    ck_assert(!has_spans(&d, 9, 9));
    usual(&d, 9, 9);
    d.positions[5] = 2;
    ck_assert(!has_spans(&d, 9, 9));
    d.mask.causal = false; /* nothing reads them */
    ck_assert(has_spans(&d, 9, 9));
}
END_TEST

/* Any data at all: positions that repeat, jump and fall, at the ends of their range. */
START_TEST(spans_are_right_wherever_there_are_any)
{
    uint64_t key = txd_rng_key(1, "masks");
    size_t found = 0, i = 0;

    for (size_t trial = 0; trial < 20000; trial++) {
        size_t length = (size_t)below(key, i++, MOST) + 1;
        int64_t step = below(key, i++, 3), place = below(key, i++, 5) - 2;
        data d;

        usual(&d, length, (size_t)below(key, i++, (int64_t)length) + 1);
        d.mask.causal = below(key, i++, 2) != 0;
        d.mask.window = (size_t)below(key, i++, 9);
        if (below(key, i++, 8) == 0)
            place = below(key, i++, 2) != 0 ? INT32_MAX - 60 : INT32_MIN + 2;
        for (size_t t = 0; t < length; t++) {
            place += below(key, i++, step + 1);
            place -= below(key, i++, 60) == 0;
            d.positions[t] = (int32_t)(place > INT32_MAX ? INT32_MAX : place);
            d.valid[t] ^= below(key, i++, 40) == 0;
            d.documents[t] = below(key, i++, 60) == 0;
        }
        found += has_spans(&d, length, length);
    }
    ck_assert_uint_gt(found, 3000);
    ck_assert_uint_lt(found, 17000);
}
END_TEST

TEST_MAIN(usual_masks_are_spans, padding_on_the_left_and_a_late_start_are_spans,
          what_is_no_run_of_keys_has_no_spans, spans_are_right_wherever_there_are_any)
