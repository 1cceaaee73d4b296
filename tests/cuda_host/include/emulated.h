/* SPDX-License-Identifier: MIT
 *
 * CUDA's launch model on the CPU: what a kernel sees (emulated_device.h), how it is
 * launched, and what tests may ask of the emulation.
 *
 * Blocks run one after another, on the thread that launches. The threads of a block are
 * fibres that give way only where they wait: at barriers, shuffles and votes. The
 * device's addresses are none of the host's: an access of the host dies, and so does an
 * access of a kernel to memory of the host, to what was freed, and beyond an
 * allocation. For that the pointers in a kernel's arguments are translated when it is
 * launched (in structs too, where they lie at multiples of 8 bytes); pointers that a
 * kernel reads from memory are not, and die.
 *
 * What a kernel does wrong ends the program, with a message that says which kernel,
 * block and thread: some threads of a block wait at a barrier, others have ended or
 * wait elsewhere; a shuffle or vote whose mask names lanes that take no part, or lacks
 * the lane itself; bytes changed beyond the shared memory of the launch.
 */
#ifndef TXD_EMULATED_H
#define TXD_EMULATED_H

#include <stddef.h>
#include <stdint.h>

#include "cuda_runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In what order threads and blocks start, and go on after a barrier. What a correct
 * kernel computes does not depend on it. 0: forward, as at the start; 1: backward;
 * others: shuffled, the number being the seed. For all launches that begin later, by
 * any thread. */
void emulated_order(uint64_t order);

/* Bytes of memory that the device has; as at the start with 0: 8 GiB, or what
 * TXD_EMULATED_MEMORY says. */
void emulated_memory_limit(size_t bytes);

/* Allocations of the device that are not freed. */
size_t emulated_allocations(void);

/* Kernels launched so far. */
size_t emulated_launches(void);

#ifdef __cplusplus
}

#include <tuple>
#include <type_traits>

#include "emulated_device.h"

/* As cuda/launch.h has them. Dynamic shared memory is NaN when a block begins. */
#define TXD_LAUNCH(kernel, blocks, threads, ...)                                       \
    emulated_launch(#kernel, kernel, blocks, threads, __VA_ARGS__)
#define TXD_SHARED(type, name)                                                         \
    type *const name = static_cast<type *>(emulated_shared_memory)

/* One launch: `call` runs the kernel for the thread that threadIdx names. */
struct emulated_work {
    const char *name;
    const void *kernel;
    dim3 grid, block;
    size_t shared;
    void (*call)(const void *self);
    const void *self;
};

/* Refused launches (cudaErrorInvalidConfiguration, cudaErrorInvalidValue) are the last
 * error. */
void emulated_run(const emulated_work &work);

/* Translates the pointers in an argument. */
void emulated_to_device(void *argument, size_t bytes);

template <class T> struct emulated_same {
    typedef T type;
};

template <class... P> struct emulated_call {
    void (*kernel)(P...);
    std::tuple<std::decay_t<P>...> arguments;

    template <class T> static void translate(T &argument)
    {
        if constexpr (!std::is_arithmetic<T>::value && alignof(T) >= alignof(void *))
            emulated_to_device(&argument, sizeof argument);
    }

    static void run(const void *self)
    {
        const emulated_call *call = static_cast<const emulated_call *>(self);

        std::apply(call->kernel, call->arguments);
    }
};

template <class... P>
void emulated_launch(const char *name, void (*kernel)(P...), dim3 grid, dim3 block,
                     size_t shared, typename emulated_same<P>::type... arguments)
{
    emulated_call<P...> call = {kernel, {arguments...}};

    std::apply([](auto &...each) { (emulated_call<P...>::translate(each), ...); },
               call.arguments);
    emulated_run({name, reinterpret_cast<const void *>(kernel), grid, block, shared,
                  emulated_call<P...>::run, &call});
}
#endif

#endif
