/* SPDX-License-Identifier: MIT
 *
 * Tokens that come one by one are the tokens of a prompt.
 */
#include "checks/experiments/continued.h"

static txd_status examine(txd_experiment *e, txd_result *result)
{
    static const txd_continued tokens = {.divide = txd_calls_of_tokens,
                                         .how = "token by token, with a cache"};

    return txd_continued_examine(e, result, &tokens);
}

const txd_check txd_check_prefill_decode = {
    .name = "prefill_decode",
    .law = "tokens one by one, with a cache, are those of a prompt in one piece",
    .formula = "|x_s(t) of the call with token t - x_s(t) of one pass| <= 16 noise_s "
               "|x_s(t)| at every point s, where up to 8 last tokens come in calls of "
               "their own",
    .causes = "another path for one token: only its first head is rotated, its own key "
              "is not in the cache yet, the mask shows a single key; positions that "
              "count earlier calls twice or not at all",
    .look_next = "the point named, of the first token that comes alone: its position, "
                 "then which keys it sees",
    .allowance = "16 times the measured noise of rounding",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"mask_top_left", "cache_newest_hidden",
                                    "cache_hole", "cache_position_twice", NULL},
    .inapplicable = txd_continued_inapplicable,
    .examine = examine,
};
