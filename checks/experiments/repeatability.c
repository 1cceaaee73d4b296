/* SPDX-License-Identifier: MIT
 *
 * The same pass again, in the same run and in a new one, has the same bits.
 */
#include "checks/experiments/versus.h"

static const char *cause(txd_point point, bool is_exact)
{
    (void)point;
    (void)is_exact;
    return "what forms it does not follow from what it reads: something is drawn, "
           "counted or left over from an earlier pass";
}

/* Two passes of one run, of which the second is kept. */
static txd_status pass_twice(txd_capture *second, const txd_experiment *e)
{
    txd_experiment_how how = {.taps = second->taps, .tap_count = 1};
    txd_run *run;
    txd_status status;

    second->step = 1;
    TXD_TRY(txd_experiment_run(&run, e, &how));
    status = txd_run_pass(run, &e->inputs, 0);
    if (status == TXD_OK)
        status = txd_run_pass(run, &e->inputs, 1);
    txd_run_destroy(run);
    return status;
}

static txd_status try_again(txd_versus *v)
{
    txd_capture second;
    txd_status status = txd_capture_init(&second, v->e, v->plain.what);

    v->how = "in a second pass of the same run";
    if (status == TXD_OK)
        status = pass_twice(&second, v->e);
    if (status == TXD_OK)
        status = txd_versus_judge(v, &second, true);
    txd_capture_finish(&second);
    return status;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    txd_versus v = {.e = e, .result = result, .cause = cause};
    txd_status status = txd_versus_begin(&v, &e->inputs, false);

    if (status == TXD_OK)
        status = try_again(&v);
    v.how = "in a pass of another run";
    if (status == TXD_OK && result->finding_count == 0)
        status = txd_versus_try(&v, &e->inputs, true);
    txd_versus_finish(&v);
    return status;
}

const txd_check txd_check_repeatability = {
    .name = "repeatability",
    .law = "the same pass again has the same bits",
    .formula = "x_s(t) of a second pass over the same tokens = x_s(t), bit by bit, at "
               "every point s",
    .causes = "dropout that is active, with other units each time; statistics that a "
              "forward pass updates; memory that is read before it is written",
    .look_next = "the point named and what it reads: is the model in its mode for "
                 "evaluation?",
    .unit = "rows",
    .exact = true,
    .faults = (const char *const[]){"random_dropout", NULL},
    .examine = examine,
};
