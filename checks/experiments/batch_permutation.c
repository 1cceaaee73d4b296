/* SPDX-License-Identifier: MIT
 *
 * Rows in another order have what they had, within rounding: products of matrices may
 * take the rows at their edge in another way.
 */
#include "checks/experiments/company.h"
#include "checks/experiments/derive.h"
#include "checks/experiments/versus.h"

static const char *cause(txd_point point, bool is_exact)
{
    (void)point;
    (void)is_exact;
    return "what forms it takes a row by its place in the batch, or what belongs to "
           "another row";
}

/* Each row goes to the place of the next, the last one to the first. */
static txd_status turn(txd_versus *v, txd_inputs *turned)
{
    size_t rows[TXD_EXPERIMENT_ROWS], batch = v->inputs->batch;
    size_t length = v->inputs->length;

    for (size_t b = 0; b < batch; b++)
        rows[(b + 1) % batch] = b;
    for (size_t i = 0; i < v->count; i++) {
        size_t a = v->pairs[i].a;

        v->pairs[i].b = (a / length + 1) % batch * length + a % length;
    }
    return txd_derive_rows(turned, v->e->arena, v->inputs, rows, batch);
}

/* A row that was added is not one to speak of. */
static void leave_out_added(txd_versus *v)
{
    size_t kept = 0;

    for (size_t i = 0; i < v->count; i++)
        if (v->pairs[i].a / v->inputs->length < v->e->inputs.batch)
            v->pairs[kept++] = v->pairs[i];
    v->count = kept;
}

static txd_status run(txd_versus *v, const txd_inputs *company)
{
    txd_inputs turned;

    TXD_TRY(txd_versus_begin(v, company, true));
    leave_out_added(v);
    TXD_TRY(turn(v, &turned));
    return txd_versus_try(v, &turned, false);
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    txd_versus v = {.e = e,
                    .result = result,
                    .how = "with the rows of the batch in another order",
                    .cause = cause};
    txd_inputs company;
    txd_status status;

    TXD_TRY(txd_company_make(&company, e));
    status = run(&v, &company);
    txd_versus_finish(&v);
    return status;
}

const txd_check txd_check_batch_permutation = {
    .name = "batch_permutation",
    .law = "rows of a batch in another order have what they had",
    .formula = "|x_s(t) of a row at its new place - x_s(t)| <= 16 noise_s |x_s(t)| at "
               "every point s",
    .causes =
        "masks, positions or a memory of one row that are used for others; a tile "
        "where an interleave is meant, and the other way round",
    .look_next = "the point named and what it reads, of that row, in both orders",
    .unit = "rows",
    .allowance = "16 times the measured noise of rounding",
    .exact = true,
    .faults = (const char *const[]){"positions_of_first_row", NULL},
    .examine = examine,
};
