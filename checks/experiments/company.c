/* SPDX-License-Identifier: MIT
 *
 * Rows beside one another.
 */
#include "checks/experiments/company.h"

#include "checks/experiments/derive.h"

static const size_t rows[TXD_EXPERIMENT_ROWS] = {0, 1, 2, 3};

static void change(txd_inputs *inputs, const txd_config *claimed, size_t kept)
{
    for (size_t i = 0; i < inputs->batch * inputs->length; i++)
        if (i / inputs->length != kept && inputs->valid[i])
            inputs->tokens[i] = txd_derive_other(claimed, inputs->tokens[i]);
}

txd_status txd_company_make(txd_inputs *out, const txd_experiment *e)
{
    static const size_t twice[2] = {0, 0};

    if (e->inputs.batch > 1)
        return txd_derive_rows(out, e->arena, &e->inputs, rows, e->inputs.batch);
    TXD_TRY(txd_derive_rows(out, e->arena, &e->inputs, twice, 2));
    change(out, e->setup->claimed, 0);
    return TXD_OK;
}

txd_status txd_company_change(txd_inputs *out, const txd_experiment *e,
                              const txd_inputs *company, size_t kept)
{
    TXD_TRY(txd_derive_rows(out, e->arena, company, rows, company->batch));
    change(out, e->setup->claimed, kept);
    return TXD_OK;
}
