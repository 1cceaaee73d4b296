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
#include <unistd.h>

#include "cli/options.h"

static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
enum { FAULT_COUNT = sizeof faults / sizeof *faults, STACK_BYTES = 65536 };

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
    (void)number;
    say("txdiag: ");
    say(blamed);
    say(": reading it crashed the HDF5 library: the file is damaged; record it anew, "
        "or "
        "see what h5dump can still read\n");
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
}

void txd_guard_end(void)
{
#ifdef __SANITIZE_ADDRESS__
    return;
#endif
    for (size_t i = 0; i < FAULT_COUNT; i++)
        sigaction(faults[i], &before[i], NULL);
}
