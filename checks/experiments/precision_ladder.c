/* SPDX-License-Identifier: MIT
 *
 * How far the pass is from the same model in float64, by the claim and without faults,
 * site by site; how far it may be is measured in the same way: by the reference in
 * float32. The first site beyond that is where digits are lost. Other formats are told
 * for information.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "checks/experiments/rungs.h"

/* The allowance is so many times the measured error. */
#define FLOORS 3

typedef struct ladder {
    txd_rungs rungs;
    txd_result *result;
    double *floor, *own;
    double roundoff; /* of the own format, in units of float32's */
    double least;    /* what storing a value may come to by itself */
} ladder;

/* float32 and float64 are measured by the reference in float32; what rounds to fewer
 * digits has no other to be held against than itself, without faults. */
static const char *floor_of(const txd_experiment *e)
{
    txd_dtype format = txd_backend_format(e->setup->backend);

    return format == TXD_F64 || format == TXD_F32 ? "ref32"
                                                  : txd_backend_name(e->setup->backend);
}

/* Of few numbers an error may be small by chance: half of the largest before it, which
 * most values pass on, is the least that counts. */
static void smooth(ladder *l)
{
    double largest = 0;

    for (size_t i = 0; i < l->rungs.reference.count; i++) {
        if (l->floor[i] > largest)
            largest = l->floor[i];
        else if (l->floor[i] >= 0 && l->floor[i] < largest / 2)
            l->floor[i] = largest / 2;
    }
}

static double allowed_at(const ladder *l, size_t i)
{
    return FLOORS * fmax(l->floor[i] * l->roundoff, l->least);
}

static txd_status report(const ladder *l, size_t i)
{
    const txd_site *site = &l->rungs.reference.sites[i].site;
    const txd_law_place place = {0, -1, -1, -1, -1};
    txd_finding finding = txd_law_finding(site->point, site->layer, &place);
    char found[32], allowed[32];

    finding.measured = l->own[i];
    finding.allowed = allowed_at(l, i);
    txd_law_say(
        &finding,
        "here first the pass is farther from the model in float64 than rounding "
        "takes it: by %s of the value's own size, where %s is measured for such "
        "digits",
        txd_law_number(found, finding.measured),
        txd_law_number(allowed, finding.allowed / FLOORS));
    return txd_result_add(l->result, &finding);
}

static txd_status judge(ladder *l)
{
    const txd_capture *reference = &l->rungs.reference;
    size_t unknown = 0;

    for (size_t i = 0; i < reference->count; i++) {
        double allowed = allowed_at(l, i);

        if (l->own[i] == -1 || l->floor[i] == -1)
            continue;
        if (isnan(l->floor[i]) || isnan(l->own[i])) {
            unknown++;
            continue;
        }
        l->result->evaluated++;
        txd_law_raise(l->result, l->own[i], allowed);
        if (!(l->own[i] <= allowed))
            return report(l, i);
    }
    if (unknown > 0) {
        l->result->verdict = TXD_VERDICT_OPEN;
        snprintf(l->result->note, sizeof l->result->note,
                 "values are not finite: see `finite`");
    }
    return TXD_OK;
}

/* The error of the logits, and the first layer whose stream is off by a hundredth. */
static txd_status tell_rung(ladder *l, const char *backend)
{
    const txd_capture *reference = &l->rungs.reference;
    size_t used = strlen(l->result->note), room = sizeof l->result->note - used;
    double *errors, last = -1;
    int layer = -1;
    char number[32];

    TXD_TRY(txd_rungs_errors(&errors, &l->rungs, &(txd_rung_how){backend}));
    for (size_t i = 0; i < reference->count; i++) {
        const txd_site *site = &reference->sites[i].site;

        if (site->point == TXD_POINT_LOGITS)
            last = errors[i];
        if (site->layer >= 0 && layer < 0 && errors[i] > 0.01 &&
            txd_point_get(site->point)->place == TXD_PLACE_LAYER)
            layer = site->layer;
    }
    snprintf(l->result->note + used, room, "%s%s %s",
             used ? ", " : "logits are off by: ", backend,
             txd_law_number(number, last));
    used = strlen(l->result->note);
    room = sizeof l->result->note - used;
    if (layer >= 0)
        snprintf(l->result->note + used, room, " (beyond 0.01 from layer %d on)",
                 layer);
    return TXD_OK;
}

static txd_status tell(ladder *l)
{
    static const char *const rungs[] = {"cpu32", "bf16", "fp16"};

    for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++)
        TXD_TRY(tell_rung(l, rungs[i]));
    return TXD_OK;
}

static txd_status climb(ladder *l)
{
    txd_experiment *e = l->rungs.e;
    txd_roundoff u = txd_roundoff_of(e->setup->backend);
    const txd_rung_how floor = {floor_of(e)}, own = {NULL};

    l->roundoff = txd_backend_format(e->setup->backend) == TXD_F64 ? 0x1p-29 : 1;
    l->least = u.store / 2;
    TXD_TRY(txd_rungs_errors(&l->floor, &l->rungs, &floor));
    smooth(l);
    TXD_TRY(txd_rungs_errors(&l->own, &l->rungs, &own));
    TXD_TRY(judge(l));
    return l->result->verdict == TXD_VERDICT_PASS ? tell(l) : TXD_OK;
}

static txd_status examine(txd_experiment *e, txd_result *result)
{
    ladder l = {.result = result};
    txd_status status = txd_rungs_begin(&l.rungs, e);

    if (status == TXD_OK)
        status = climb(&l);
    txd_rungs_finish(&l.rungs);
    return status;
}

const txd_check txd_check_precision_ladder = {
    .name = "precision_ladder",
    .law = "the pass is as near to the model in float64 as its digits allow",
    .formula =
        "of every site s: |x_s - X_s| / |X_s|, X the claimed model in float64, is "
        "at most 3 times what the reference makes of it in float32 (of float64: "
        "times 2^-29; of bf16 and fp16: the same backend without faults)",
    .causes =
        "scores, a softmax or angles formed in half precision; a cast in the wrong "
        "place; a sum that is rounded in between; whatever makes it another model",
    .look_next =
        "the operation that forms the site named: everything it reads is as near "
        "as it should be",
    .unit = "sites",
    .allowance = "3 times the measured error of the reference in such digits",
    .faults = (const char *const[]){"fp16_scores", "softmax_bf16", "scale_missing",
                                    "residual_missing", NULL},
    .examine = examine,
};
