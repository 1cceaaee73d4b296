/* SPDX-License-Identifier: MIT
 *
 * On x86-64 a switch is a few lines of assembly (20 times as fast as swapcontext, which
 * asks the kernel for the signal mask); elsewhere it is ucontext's. The sanitizers and
 * valgrind are told of stacks and switches.
 */
#include "fibre.h"

#include <new>
#include <stdint.h>
#include <sys/mman.h>

#if defined(__x86_64__) && !defined(EMULATED_UCONTEXT)
#define ASSEMBLY 1
#else
#define ASSEMBLY 0
#include <ucontext.h>
#endif

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef __SANITIZE_THREAD__
#include <sanitizer/tsan_interface.h>
#endif
#if __has_include(<valgrind/valgrind.h>)
#include <valgrind/valgrind.h>
#else
#define VALGRIND_STACK_REGISTER(from, to) 0
#define VALGRIND_STACK_DEREGISTER(stack) ((void)(stack))
#endif

#if ASSEMBLY
extern "C" void emulated_switch(void **from, void *to);

__asm__(".text\n"
        ".p2align 4\n"
        ".hidden emulated_switch\n"
        ".globl emulated_switch\n"
        ".type emulated_switch, @function\n"
        "emulated_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    popq %rcx\n" /* a `ret` would be foreseen to go to where it came from */
        "    jmp *%rcx\n"
        ".size emulated_switch, . - emulated_switch\n");
#endif

namespace emulated
{

/* Frames of the sanitizers are larger. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const size_t STACK_BYTES = 256 << 10;
#else
static const size_t STACK_BYTES = 64 << 10;
#endif
static const size_t GUARD = 4096;

#ifdef __SANITIZE_ADDRESS__
/* Who gave way last: its stack becomes known where the switch ends. */
static thread_local fibre *left;
#endif

void fibre_begin()
{
#ifdef __SANITIZE_ADDRESS__
    const void *stack;
    size_t bytes;

    __sanitizer_finish_switch_fiber(nullptr, &stack, &bytes);
    left->stack = static_cast<const char *>(stack);
    left->bytes = bytes;
#endif
}

fibre fibre_here()
{
    fibre here = {};

#if !ASSEMBLY
    here.point = new (std::nothrow) ucontext_t;
#endif
#ifdef __SANITIZE_THREAD__
    here.shade = __tsan_get_current_fiber();
#endif
    return here;
}

void fibre_free_point(void *point)
{
#if ASSEMBLY
    (void)point; /* in the stack */
#else
    delete static_cast<ucontext_t *>(point);
#endif
}

void fibre_free(fibre *self)
{
    if (!self)
        return;
#ifdef __SANITIZE_THREAD__
    if (self->shade)
        __tsan_destroy_fiber(self->shade);
#endif
    VALGRIND_STACK_DEREGISTER(self->valgrind);
    fibre_free_point(self->point);
    if (self->stack)
        (void)munmap(const_cast<char *>(self->stack) - GUARD, GUARD + STACK_BYTES);
    delete self;
}

/* Where the body begins: as if it were called, its return address 8 bytes below a
 * multiple of 16. */
static void *entry(char *top, void (*body)(), fibre *self)
{
#if ASSEMBLY
    enum { REGISTERS = 6, BODY = REGISTERS, RETURN, WORDS };
    uintptr_t *frame = reinterpret_cast<uintptr_t *>(top) - WORDS;

    (void)self;
    for (int i = 0; i < WORDS; i++)
        frame[i] = 0;
    frame[BODY] = reinterpret_cast<uintptr_t>(body);
    return frame;
#else
    ucontext_t *context = new (std::nothrow) ucontext_t;

    if (!context || getcontext(context) != 0)
        return nullptr;
    context->uc_stack.ss_sp = const_cast<char *>(self->stack);
    context->uc_stack.ss_size = static_cast<size_t>(top - self->stack);
    context->uc_link = nullptr;
    makecontext(context, body, 0);
    return context;
#endif
}

fibre *fibre_new(void (*body)(), size_t place)
{
    enum { LINE = 64, PLACES = 48 };
    fibre *self = new (std::nothrow) fibre();
    void *memory = mmap(nullptr, GUARD + STACK_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    char *stack = static_cast<char *>(memory) + GUARD;

    if (self && memory != MAP_FAILED) {
        self->stack = stack;
        self->bytes = STACK_BYTES;
        self->valgrind = VALGRIND_STACK_REGISTER(stack, stack + STACK_BYTES);
        self->point = entry(stack + STACK_BYTES - place % PLACES * LINE, body, self);
#ifdef __SANITIZE_THREAD__
        self->shade = __tsan_create_fiber(0);
#endif
        if (self->point && mprotect(memory, GUARD, PROT_NONE) == 0)
            return self;
    }
    fibre_free(self);
    return nullptr;
}

void fibre_switch(fibre *from, fibre *to)
{
#ifdef __SANITIZE_ADDRESS__
    const void *stack;
    size_t bytes;

    left = from;
    __sanitizer_start_switch_fiber(&from->fake, to->stack, to->bytes);
#endif
#ifdef __SANITIZE_THREAD__
    __tsan_switch_to_fiber(to->shade, 0);
#endif
#if ASSEMBLY
    emulated_switch(&from->point, to->point);
#else
    swapcontext(static_cast<ucontext_t *>(from->point),
                static_cast<ucontext_t *>(to->point));
#endif
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_finish_switch_fiber(from->fake, &stack, &bytes);
    left->stack = static_cast<const char *>(stack);
    left->bytes = bytes;
#endif
}

} // namespace emulated
