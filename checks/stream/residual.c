/* SPDX-License-Identifier: MIT
 *
 * What a broken element may be instead is noted of broken elements alone: they are
 * rare.
 */
#include "checks/stream/residual.h"

#include <math.h>

/* What a broken element may be instead. */
static void add_evidence(txd_residual_tally *t, const txd_residual_element *x,
                         double unit)
{
    double d = x->out - x->in, e = x->out - x->branch;

    t->broken++;
    t->is_branch += fabs(e) <= unit * fabs(x->branch) + x->slack;
    t->is_input += fabs(d) <= unit * fabs(x->in);
    t->bb += x->branch * x->branch;
    t->db += d * x->branch;
    t->dd += d * d;
    t->ii += x->in * x->in;
    t->ei += e * x->in;
    t->ee += e * e;
}

bool txd_residual_add(txd_residual_tally *t, const txd_residual_element *x,
                      const txd_pass *pass)
{
    double sum = x->in + x->branch, largest = pass->largest;
    double unit = pass->u_store + 0x1p-53;
    double measured = fabs(x->out - sum);
    double allowed = unit * (fabs(sum) + x->slack) + x->slack;

    if (!isfinite(sum) || (isinf(x->out) && fabs(sum) + allowed > largest) ||
        (x->slack > 0 && fabs(x->branch) + x->slack > largest)) {
        t->inherited++;
        return false;
    }
    t->judged++;
    if (!txd_within(measured, allowed))
        add_evidence(t, x, unit);
    if (t->judged > 1 &&
        (!txd_law_may_be_worse(measured, allowed, t->ratio) ||
         !txd_law_is_worse(txd_law_ratio(measured, allowed), t->ratio)))
        return false;
    t->ratio = txd_law_ratio(measured, allowed);
    t->measured = measured;
    t->allowed = allowed;
    t->out = x->out;
    t->expected = sum;
    return true;
}

void txd_residual_join(txd_residual_tally *to, const txd_residual_tally *t)
{
    bool is_worse =
        t->judged > 0 && (to->judged == 0 || txd_law_is_worse(t->ratio, to->ratio));
    txd_residual_tally sum = is_worse ? *t : *to;

    sum.judged = to->judged + t->judged;
    sum.broken = to->broken + t->broken;
    sum.inherited = to->inherited + t->inherited;
    sum.is_branch = to->is_branch + t->is_branch;
    sum.is_input = to->is_input + t->is_input;
    sum.bb = to->bb + t->bb;
    sum.db = to->db + t->db;
    sum.dd = to->dd + t->dd;
    sum.ii = to->ii + t->ii;
    sum.ei = to->ei + t->ei;
    sum.ee = to->ee + t->ee;
    *to = sum;
}

/* The factor of x in y = factor x, if all but a millionth of y is explained. */
static bool fits(double *factor, double xx, double yx, double yy)
{
    if (!(xx > 0) || !(yy > 0))
        return false;
    *factor = yx / xx;
    return yy - yx * yx / xx <= 1e-6 * yy;
}

void txd_residual_say_cause(txd_finding *finding, const txd_residual_tally *t,
                            const char *in, const char *branch)
{
    char text[32];
    double factor;

    if (2 * t->broken <= t->judged)
        return;
    if (t->is_branch == t->broken)
        txd_law_say(finding, ": it is %s alone, the residual input %s is missing",
                    branch, in);
    else if (t->is_input == t->broken)
        txd_law_say(finding, ": it is %s alone, the branch %s is missing", in, branch);
    else if (fits(&factor, t->bb, t->db, t->dd) && fabs(factor - 1) > 1e-4)
        txd_law_say(finding, ": it is %s + %s x %s, the branch is scaled", in,
                    txd_law_number(text, factor), branch);
    else if (fits(&factor, t->ii, t->ei, t->ee) && fabs(factor - 1) > 1e-4)
        txd_law_say(finding, ": it is %s x %s + %s, the residual input is scaled",
                    txd_law_number(text, factor), in, branch);
}
