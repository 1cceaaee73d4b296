/* SPDX-License-Identifier: MIT
 *
 * The handler runs on a stack of its own, since a damaged file can also lead HDF5 in
 * circles until the stack is full, and calls nothing but what is safe in a handler.
 * Nothing is tidied up: memory is not to be trusted any more.
 */
#include "cli/guard.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "cli/options.h"

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGVTALRM};
enum { FAULT_COUNT = sizeof faults / sizeof *faults, STACK_BYTES = 65536 };

/* Of computing; the index of a whole recording takes a hundredth of one. */
enum { OPENING_SECONDS = 10 };

static struct sigaction before[FAULT_COUNT];
static char stack[STACK_BYTES];
static char blamed[512];

static void say(const char *text)
{
    size_t length = strlen(text);
    ssize_t written = write(STDERR_FILENO, text, length);

    (void)written; /* there is nobody left to tell */
}

static void give_up(int number)
{
    say("txdiag: ");
    say(blamed);
    say(number == SIGVTALRM ? ": reading it has no end" : ": reading it crashes HDF5");
    say("; the file is damaged: record it anew, or see what h5dump can still read\n");
    _exit(TXD_EXIT_NO_ANSWER);
}

/* The name as it may be shown: the handler cannot call stdio. */
static void remember(const char *path)
{
    size_t i;

    for (i = 0; path[i] && i + 1 < sizeof blamed; i++)
        blamed[i] = (unsigned char)path[i] < 0x20 || path[i] == 0x7f ? '?' : path[i];
    blamed[i] = '\0';
}

static void limit_time(time_t seconds)
{
    const struct itimerval time = {.it_value.tv_sec = seconds};

    setitimer(ITIMER_VIRTUAL, &time, NULL);
}

void txd_guard_begin(const char *path)
{
    const stack_t own = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction action = {0};

#ifdef __SANITIZE_ADDRESS__
    return; /* whose report says more */
#endif
    remember(path);
    sigaltstack(&own, NULL);
    sigemptyset(&action.sa_mask);
    action.sa_handler = give_up;
    action.sa_flags = SA_ONSTACK;
    for (size_t i = 0; i < FAULT_COUNT; i++)
        sigaction(faults[i], &action, &before[i]);
    limit_time(OPENING_SECONDS);
}

void txd_guard_end(void)
{
#ifdef __SANITIZE_ADDRESS__
    return;
#endif
    limit_time(0);
    for (size_t i = 0; i < FAULT_COUNT; i++)
        sigaction(faults[i], &before[i], NULL);
}

txd_status txd_guard_open(txd_trace **out, const char *path, bool *partial)
{
    txd_status status;

    txd_guard_begin(path);
    status = txd_recording_open(out, path, partial);
    limit_time(0);
    return status;
}
