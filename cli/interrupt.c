/* SPDX-License-Identifier: MIT
 *
 * The handler only counts: everything else would not be safe in a handler. The first
 * signal lets the step end, the second the layer; to the third, nothing matters but to
 * be gone: what a recording has flushed survives that.
 */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t arrived;

static void count(int number)
{
    if (arrived < 100)
        arrived = arrived + 1;
    if (arrived > 2) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void txd_interrupt_watch(void)
{
    struct sigaction action = {0}, before;

    sigemptyset(&action.sa_mask);
    action.sa_handler = count;
    action.sa_flags = SA_RESTART; /* or a write of the recording could fail halfway */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL); /* nohup wants it ignored */
}

int txd_interrupt_count(void)
{
    return arrived;
}
