/* SPDX-License-Identifier: MIT
 *
 * The handler only counts: everything else would not be safe in a handler.
 */
#include "cli/interrupt.h"

#include <signal.h>
#include <stddef.h>

static volatile sig_atomic_t arrived;

static void count(int number)
{
    (void)number;
    if (arrived < 100)
        arrived = arrived + 1;
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
    action.sa_handler = SIG_IGN;
    sigaction(SIGXFSZ, &action, NULL);
}

int txd_interrupt_count(void)
{
    return arrived;
}
