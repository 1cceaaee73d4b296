/* SPDX-License-Identifier: MIT
 *
 * Contexts of execution with stacks of their own, which give way to each other by name.
 */
#ifndef TXD_CUDA_HOST_FIBRE_H
#define TXD_CUDA_HOST_FIBRE_H

#include <stddef.h>

#ifdef __cplusplus
namespace emulated
{

struct fibre {
    void *point;       /* where it goes on; the stack pointer, or a ucontext_t */
    const char *stack; /* its lowest address; NULL: the thread's own stack, until
                        * something switched away from it */
    size_t bytes;
    void *fake;  /* the address sanitizer's */
    void *shade; /* the thread sanitizer's */
    unsigned valgrind;
};

/* What the calling thread runs on already. `point` is to be given to
 * fibre_free_point. */
fibre fibre_here();
void fibre_free_point(void *point);

/* A fibre that, once switched to, calls `body`, which must not return. NULL when there
 * is no memory. `place` spreads the stacks over the cache. */
fibre *fibre_new(void (*body)(), size_t place);

/* Of a fibre_new that does not run. NULL is allowed. */
void fibre_free(fibre *self);

/* Gives way to `to`; returns when something switches to `from`. Both belong to the
 * calling thread. */
void fibre_switch(fibre *from, fibre *to);

/* What `body` must call first. */
void fibre_begin();

} // namespace emulated
#endif

#endif
