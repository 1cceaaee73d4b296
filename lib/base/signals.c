/* SPDX-License-Identifier: MIT
 *
 * By the thread's mask, which needs no handler: a library has no business replacing
 * those of its program.
 */
#include "base/signals.h"

#include <signal.h>
#include <stddef.h>

static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { ENDING_COUNT = sizeof ending / sizeof *ending };

void txd_signals_hold(txd_signals *out)
{
    sigset_t wanted, before;

    *out = (txd_signals){0};
    sigemptyset(&wanted);
    for (size_t i = 0; i < ENDING_COUNT; i++)
        sigaddset(&wanted, ending[i]);
    if (pthread_sigmask(SIG_BLOCK, &wanted, &before) != 0)
        return;
    for (size_t i = 0; i < ENDING_COUNT; i++)
        out->held |= sigismember(&before, ending[i]) == 0 ? 1u << i : 0u;
}

void txd_signals_release(const txd_signals *signals)
{
    sigset_t given;

    sigemptyset(&given);
    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (signals->held >> i & 1u)
            sigaddset(&given, ending[i]);
    (void)pthread_sigmask(SIG_UNBLOCK, &given, NULL);
}

bool txd_signals_waiting(void)
{
    sigset_t waiting;

    if (sigpending(&waiting) != 0)
        return false;
    for (size_t i = 0; i < ENDING_COUNT; i++)
        if (sigismember(&waiting, ending[i]) == 1)
            return true;
    return false;
}
