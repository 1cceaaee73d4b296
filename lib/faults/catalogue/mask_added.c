/* SPDX-License-Identifier: MIT
 *
 * Fault: the mask is added to the scores as a number. True is 1: where it means keep,
 * seen keys gain it; where it means hide (a strength below 0), hidden keys do. What is
 * added is a constant, so that the way back is that of no mask at all.
 */
#include "faults/wrap.h"

/* Row r of the arguments alone. */
static struct txd_mask_args one_row(const struct txd_mask_args *args, size_t r)
{
    struct txd_mask_args one = *args;
    size_t start = txd_wrap_bytes(&args->at, r * args->stride);

    one.rows = 1;
    one.at.first_query += (int)r;
    one.out = (char *)args->out + start;
    one.scores = (const char *)args->scores + start;
    one.visible = args->visible + r * args->stride;
    return one;
}

static void add_row(const struct txd_mask_args *args)
{
    double strength = txd_wrap_of(&args->at)->use->strength;

    for (size_t j = 0; j < args->keys; j++) {
        bool seen = txd_mask_hides(args->mask, (size_t)args->at.first_query,
                                   args->key_begin + j) == TXD_SEEN;
        double score = txd_wrap_get(&args->at, args->scores, j);

        if (seen == (strength > 0))
            score += strength > 0 ? strength : -strength;
        txd_wrap_set(&args->at, args->out, j, score);
    }
}

/* Operations on cells are given byte maps where one of them is replaced. */
static txd_status mask(txd_ctx *ctx, const struct txd_mask_args *args)
{
    if (args->at.point != TXD_POINT_ATTN_MASKED)
        return txd_below_mask(ctx, args);
    for (size_t r = 0; r < args->rows; r++) {
        struct txd_mask_args one = one_row(args, r);

        if (txd_wrap_has_row(&args->at, r))
            add_row(&one);
        else
            TXD_TRY(txd_below_mask(ctx, &one));
    }
    return TXD_OK;
}

static txd_status plant(txd_plan *plan, const txd_fault_use *use)
{
    static const struct txd_ops mine = {.mask = mask};

    TXD_TRY(txd_plan_sight(plan, use, txd_sight_everything));
    return txd_plan_wrap(plan, use, &mine, NULL);
}

const txd_fault txd_fault_mask_added = {
    .name = "mask_added",
    .sentence =
        "the mask is added as a number: strength (1) to the scores of seen keys; "
        "below 0, its size to those of hidden ones",
    .symptom = "rows sum to 1 and look blurred: hidden keys lose only a factor e",
    .example = "wrong: scores + mask                     # mask: True = may be seen\n"
               "right: scores.masked_fill(~mask, -inf)",
    .selectors = TXD_FAULT_TILES | TXD_FAULT_STRENGTH,
    .strength = 1,
    .inapplicable = txd_fault_needs_mask,
    .idle = txd_fault_idle_unmasked,
    .plant = plant,
};
