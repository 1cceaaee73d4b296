/* SPDX-License-Identifier: MIT
 *
 * A prompt that comes in chunks is the prompt in one piece.
 */
#include "checks/experiments/continued.h"

static txd_status examine(txd_experiment *e, txd_result *result)
{
    static const txd_continued chunks = {.divide = txd_calls_of_chunks,
                                         .how = "in chunks, with a cache"};

    return txd_continued_examine(e, result, &chunks);
}

const txd_check txd_check_chunked_prefill = {
    .name = "chunked_prefill",
    .law = "a prompt in chunks, with a cache, is the prompt in one piece",
    .formula =
        "|x_s(t) of the call with token t - x_s(t) of one pass| <= 16 noise_s "
        "|x_s(t)| at every point s, in calls of about a half, a quarter, and the "
        "rest of the tokens",
    .causes = "a causal mask aligned to the top left corner, which is right for the "
              "first chunk alone; positions that begin anew, or count earlier calls "
              "twice; a cache that loses, skips or overwrites keys",
    .look_next =
        "the point named, of the first token of the second call: its position, "
        "then which keys it sees",
    .allowance = "16 times the measured noise of rounding",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"mask_top_left", "cache_newest_hidden",
                                    "cache_hole", "cache_position_twice", NULL},
    .inapplicable = txd_continued_inapplicable,
    .examine = examine,
};
