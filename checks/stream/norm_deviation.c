/* SPDX-License-Identifier: MIT
 *
 * Standard deviations near 1 are what norms are for, but an rmsnorm promises nothing of
 * means, which narrow or equal tokens do have: alarms go by its root mean square.
 */
#include "checks/stream/norm_deviation.h"

#include <math.h>

static double farther(double a, double b)
{
    return isnan(a) || fabs(log(b)) > fabs(log(a)) ? b : a;
}

void txd_deviation_keep(txd_deviation *d, const double *stats, bool centred)
{
    double size;

    if (!stats)
        return;
    size = centred ? stats[TXD_STAT_STD]
                   : hypot(stats[TXD_STAT_STD], stats[TXD_STAT_MEAN]);
    if (stats[TXD_STAT_STD] > 0)
        d->std = farther(d->std, stats[TXD_STAT_STD]);
    if (size > 0)
        d->size = farther(d->size, size);
}

bool txd_deviation_is_outside(const txd_deviation *d,
                              const txd_deviation_limits *limits)
{
    return d->std < limits->low || d->std > limits->high;
}

static bool is_alarming(const txd_deviation *d, const txd_deviation_limits *limits)
{
    return limits->is_drawn &&
           (d->size < limits->alarm_low || d->size > limits->alarm_high);
}

bool txd_deviation_is_worse(const txd_deviation *d, const txd_deviation *than,
                            const txd_deviation_limits *limits)
{
    bool is_alarm = is_alarming(d, limits);

    if (is_alarm != is_alarming(than, limits))
        return is_alarm;
    return fabs(log(d->std)) > fabs(log(than->std));
}

void txd_deviation_say(txd_finding *finding, const txd_deviation *d,
                       const txd_deviation_limits *limits, const size_t counts[2])
{
    char std[32], size[32];

    finding->verdict = is_alarming(d, limits) ? TXD_VERDICT_WARN : TXD_VERDICT_INFO;
    finding->measured = d->std;
    finding->allowed = d->std < 1 ? limits->low : limits->high;
    txd_law_say(finding,
                "the output's standard deviation is %s; %zu of %zu norms are outside "
                "of %g to %g",
                txd_law_number(std, d->std), counts[0], counts[1], limits->low,
                limits->high);
    if (!limits->is_drawn)
        txd_law_say(finding, "; training moves the gains");
    else if (d->size < limits->low)
        txd_law_say(finding, ": eps is of the size of the variance, or the input has "
                             "collapsed");
    else if (d->std < limits->low)
        txd_law_say(finding,
                    ": tokens have means other than 0, as after an rmsnorm they may; "
                    "the root mean square is %s",
                    txd_law_number(size, d->size));
}
