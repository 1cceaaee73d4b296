/* SPDX-License-Identifier: MIT
 *
 * An access that a kernel must not make is told with the kernel's place before it ends
 * the program. (The address sanitizer says as much by itself.)
 */
#include "block.h"

#include <mutex>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

namespace emulated
{

#ifdef __SANITIZE_ADDRESS__
void watch_signals()
{
}
#else
static struct sigaction before[2];

static void on_fault(int signal, siginfo_t *info, void *context)
{
    const char *what = describe(info->si_addr);

    (void)context;
    (void)sigaction(signal, &before[signal == SIGBUS], nullptr);
    if (!here.work)
        return; /* to the fault again, which is not ours */
    blame(block_thread(), "accessed %p: %s", info->si_addr,
          what ? what : "no memory that it may use, or its stack overflowed");
}

static void install()
{
    struct sigaction action = {};

    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGSEGV, &action, &before[0]);
    (void)sigaction(SIGBUS, &action, &before[1]);
}

/* Where a handler runs when a stack has overflowed: one per thread. */
struct other_stack {
    void *memory = nullptr;
    bool looked = false;

    void prepare()
    {
        stack_t other = {};

        if (looked)
            return;
        looked = true;
        if (sigaltstack(nullptr, &other) == 0 && !(other.ss_flags & SS_DISABLE))
            return;
        other = {};
        other.ss_size = 64 << 10;
        other.ss_sp = memory = malloc(other.ss_size);
        if (memory)
            (void)sigaltstack(&other, nullptr);
    }

    ~other_stack()
    {
        stack_t none = {};

        none.ss_flags = SS_DISABLE;
        if (memory)
            (void)sigaltstack(&none, nullptr);
        free(memory);
    }
};

void watch_signals()
{
    static std::once_flag once;
    static thread_local other_stack other;

    std::call_once(once, install);
    other.prepare();
}
#endif

} // namespace emulated
