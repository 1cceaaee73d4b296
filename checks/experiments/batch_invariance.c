/* SPDX-License-Identifier: MIT
 *
 * What the other rows of a batch hold must not matter to one by a bit; whether there
 * are any, no more than rounding.
 */
#include "checks/experiments/company.h"
#include "checks/experiments/derive.h"
#include "checks/experiments/versus.h"

static const char *inapplicable(const txd_check_context *context)
{
    return context->claimed->vocab < 2
               ? "the vocabulary has one token: rows cannot have another content"
               : NULL;
}

static const char *cause(txd_point point, bool is_exact)
{
    if (txd_point_in_self(point) == TXD_POINT_ATTN_HEADS)
        return "it attends to another row";
    return is_exact
               ? "what forms it takes in other rows, and all that it reads had not "
                 "moved"
               : "what forms it goes by the number of rows, or by their order";
}

/* The real tokens of one row, each with itself or with its place in that row alone. */
static void pair_row(txd_versus *v, size_t row, bool is_alone)
{
    size_t length = v->inputs->length;

    v->count = 0;
    for (size_t i = row * length; i < (row + 1) * length; i++)
        if (v->inputs->valid[i])
            v->pairs[v->count++] = (txd_token_pair){i, is_alone ? i % length : i};
}

static txd_status try_neighbours(txd_versus *v, size_t kept)
{
    txd_inputs changed;

    v->how = "with other tokens in the other rows";
    pair_row(v, kept, false);
    TXD_TRY(txd_company_change(&changed, v->e, v->inputs, kept));
    return txd_versus_try(v, &changed, true);
}

static txd_status try_alone(txd_versus *v, size_t row)
{
    txd_inputs alone;

    v->how = "in a batch of its row alone";
    pair_row(v, row, true);
    TXD_TRY(txd_derive_rows(&alone, v->e->arena, v->inputs, &row, 1));
    return txd_versus_try(v, &alone, false);
}

static txd_status run(txd_versus *v, const txd_inputs *company)
{
    /* Where a row was added, there is nothing to say of it. */
    size_t last = v->e->inputs.batch - 1;

    TXD_TRY(txd_versus_begin(v, company, true));
    TXD_TRY(try_neighbours(v, 0));
    if (last > 0)
        TXD_TRY(try_neighbours(v, last));
    TXD_TRY(try_alone(v, 0));
    return last > 0 ? try_alone(v, last) : TXD_OK;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    txd_versus v = {.e = e, .result = result, .cause = cause};
    txd_inputs company;
    txd_status status;

    TXD_TRY(txd_company_make(&company, e));
    status = run(&v, &company);
    txd_versus_finish(&v);
    return status;
}

const txd_check txd_check_batch_invariance = {
    .name = "batch_invariance",
    .law = "the other rows of a batch make no difference to a row",
    .formula = "x_s(t) of a row has the same bits whatever tokens the other rows hold; "
               "|x_s(t) alone - x_s(t)| <= 16 noise_s |x_s(t)| at every point s",
    .causes =
        "norms with statistics over the batch; attention over the batch axis, as "
        "where (b, t) and (t, b) are mixed up; masks or positions of one row that "
        "are used for all",
    .look_next = "the point named and what it reads, of that row, with both batches",
    .unit = "rows",
    .allowance = "16 times the measured noise of rounding",
    .exact = true,
    .faults = (const char *const[]){"norm_over_batch", "positions_of_first_row",
                                    "mask_of_other_sample", NULL},
    .inapplicable = inapplicable,
    .examine = examine,
};
