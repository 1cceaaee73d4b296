/* SPDX-License-Identifier: MIT
 *
 * Masks that are one run of keys per query, by the data that they are made of. Where
 * the positions of the real keys ascend, "not after the query" and "not too far from
 * it" are ranges of them, whatever the queries' positions are.
 */
#include "ops/mask.h"

/* The real keys, if there is no padding between them. */
static bool real_keys(struct txd_hidden_sides *out, const txd_mask_view *mask,
                      size_t keys)
{
    size_t begin = 0, end = keys;

    while (begin < keys && !mask->key_valid[begin])
        begin++;
    while (end > begin && !mask->key_valid[end - 1])
        end--;
    out->real_begin = (int32_t)begin;
    out->real_end = (int32_t)end;
    for (size_t k = begin; k < end; k++)
        if (!mask->key_valid[k])
            return false;
    return true;
}

static bool is_one_document(const txd_mask_view *mask, const size_t shape[2])
{
    if (mask->key_document == NULL || shape[0] == 0)
        return true;
    for (size_t q = 0; q < shape[0]; q++)
        if (mask->query_document[q] != mask->query_document[0])
            return false;
    for (size_t k = 0; k < shape[1]; k++)
        if (mask->key_document[k] != mask->query_document[0])
            return false;
    return true;
}

static bool ascend(const int32_t *positions, const struct txd_hidden_sides *real)
{
    for (int32_t k = real->real_begin + 1; k < real->real_end; k++)
        if (positions[k] < positions[k - 1])
            return false;
    return true;
}

/* The first real key whose position is `least` or more. It is near `hint` as a rule:
 * the next query is one further. */
static int32_t first_from(const int32_t *positions, const struct txd_hidden_sides *real,
                          int64_t least, int32_t hint)
{
    int32_t low = real->real_begin, high = real->real_end;

    for (int32_t k = hint; k <= hint + 1; k++)
        if (k >= low && k <= high && (k == low || positions[k - 1] < least) &&
            (k == high || positions[k] >= least))
            return k;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;

        if (positions[middle] < least)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void ranges(int32_t *begin, int32_t *end, const struct txd_hidden_sides *real,
                   const txd_mask_view *mask, size_t queries)
{
    int32_t from = real->real_begin, to = from;

    for (size_t q = 0; q < queries; q++) {
        int64_t at = mask->query_positions[q];
        int64_t beyond = mask->causal ? at + 1 : at + (int64_t)mask->window;

        if (mask->window != 0)
            from = first_from(mask->key_positions, real, at - (int64_t)mask->window + 1,
                              from);
        to = first_from(mask->key_positions, real, beyond, to);
        begin[q] = from;
        end[q] = to;
    }
}

bool txd_mask_spans(int32_t *begin, int32_t *end, struct txd_hidden_sides *sides,
                    const txd_mask_view *mask, const size_t shape[2])
{
    bool ranged = mask->causal || mask->window != 0;

    if (shape[1] > INT32_MAX || !real_keys(sides, mask, shape[1]) ||
        !is_one_document(mask, shape) ||
        (ranged && !ascend(mask->key_positions, sides)))
        return false;
    sides->before = TXD_HIDDEN_WINDOW;
    sides->after = mask->causal ? TXD_HIDDEN_FUTURE : TXD_HIDDEN_WINDOW;
    if (ranged)
        ranges(begin, end, sides, mask, shape[0]);
    for (size_t q = 0; q < shape[0] && !ranged; q++) {
        begin[q] = sides->real_begin;
        end[q] = sides->real_end;
    }
    return true;
}
